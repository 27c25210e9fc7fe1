#!/usr/bin/env python3
"""Megatron-LM's functional tests: each case's arguments in YAML, what they gave on each platform as JSON beside it."""
import json
import math
import re
import statistics
import subprocess

import published

CASES = "tests/functional_tests/test_cases"
RECIPES = "tests/test_utils/recipes"
COLUMNS = ("test_case", "suite", "file", "golden_date", "kind", "environment", "deterministic", "device", "devices_per_node", "nodes", "gpus",
           "model_family", "layers", "decoder_layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab",
           "vocab_multiple", "seq", "decoder_seq", "experts", "topk", "moe_ffn", "shared_ffn", "dense_layers",
           "mtp_layers", "q_lora_rank", "kv_lora_rank", "qk_rope_dim", "v_head_dim", "micro_batch", "global_batch",
           "tp", "pp", "vpp", "cp", "ep", "etp", "dp", "micro_batches", "first_stage_layers", "last_stage_layers", "account_embedding",
           "account_loss", "pipeline_layout", "optimizer_instances", "sequence_parallel", "precision", "gated_mlp",
           "biases", "rms_norm", "qk_norm", "tied_embeddings", "attention_dropout", "positions", "qk_head_dim", "moe_latent", "hybrid_pattern",
           "mamba_heads", "mamba_head_dim", "mamba_state", "mamba_groups", "distributed_optimizer", "recompute",
           "recompute_modules", "transformer_impl", "attention_backend", "cross_entropy_impl", "peak_bytes", "step_s")
# Our columns by Megatron-LM's arguments, and what it takes where one is not given.
ARGUMENTS = {
    "layers": "num-layers|encoder-num-layers", "decoder_layers": "decoder-num-layers", "hidden": "hidden-size",
    "heads": "num-attention-heads", "kv_heads": "num-query-groups", "head_dim": "kv-channels", "ffn": "ffn-hidden-size",
    "vocab_multiple": "make-vocab-size-divisible-by", "seq": "seq-length|encoder-seq-length",
    "decoder_seq": "decoder-seq-length", "experts": "num-experts", "topk": "moe-router-topk",
    "moe_ffn": "moe-ffn-hidden-size", "shared_ffn": "moe-shared-expert-intermediate-size",
    "mtp_layers": "mtp-num-layers", "q_lora_rank": "q-lora-rank", "kv_lora_rank": "kv-lora-rank",
    "qk_rope_dim": "qk-pos-emb-head-dim", "v_head_dim": "v-head-dim", "micro_batch": "micro-batch-size",
    "global_batch": "global-batch-size", "tp": "tensor-model-parallel-size", "pp": "pipeline-model-parallel-size",
    "cp": "context-parallel-size", "ep": "expert-model-parallel-size", "etp": "expert-tensor-parallel-size",
    "first_stage_layers": "decoder-first-pipeline-num-layers", "last_stage_layers": "decoder-last-pipeline-num-layers",
    "pipeline_layout": "pipeline-model-parallel-layout", "optimizer_instances": "num-distributed-optimizer-instances",
    "positions": "max-position-embeddings", "qk_head_dim": "qk-head-dim", "moe_latent": "moe-latent-size",
    "hybrid_pattern": "hybrid-layer-pattern|hybrid-override-pattern", "mamba_heads": "mamba-num-heads",
    "mamba_head_dim": "mamba-head-dim", "mamba_state": "mamba-state-dim", "mamba_groups": "mamba-num-groups",
    "recompute": "recompute-granularity", "recompute_modules": "recompute-modules",
    "transformer_impl": "transformer-impl", "attention_backend": "attention-backend",
    "attention_dropout": "attention-dropout",
}
DEFAULTS = {"vocab_multiple": 128, "mtp_layers": 0, "micro_batch": 1, "tp": 1, "pp": 1, "cp": 1, "ep": 1,
            "transformer_impl": "transformer_engine", "attention_dropout": 0.1}
FLAGS = {"sequence_parallel": "sequence-parallel", "account_embedding": "account-for-embedding-in-pipeline-split",
         "account_loss": "account-for-loss-in-pipeline-split", "gated_mlp": "swiglu", "qk_norm": "qk-layernorm",
         "distributed_optimizer": "use-distributed-optimizer"}
NOT_FLAGS = {"biases": "disable-bias-linear", "tied_embeddings": "untie-embeddings-and-output-weights"}
# Vocabularies by tokenizer, or by the suite where none is named; T5's has 100 words more for what is masked.
TOKENIZERS = {"gpt": 50257, "moe": 50257, "bert": 30522, "GPT2BPETokenizer": 50257, "BertWordPieceCase": 28996 + 100,
              "TikTokenizer": 131072, "GPTSentencePieceTokenizer": 256000}
GOLDEN = re.compile(r"golden_values_(dev|lts)_dgx_?(a100|h100|gb200).*\.json$")
DEVICES = {"a100": ("A100-80GB", 8), "h100": ("H100", 8), "gb200": ("GB200", 4)}


def dates_of(checkout):
    """When each file below the cases was changed last, where the checkout has a history."""
    log = subprocess.run(["git", "-C", checkout.root, "log", "--format=%cs", "--name-only", "--", CASES],
                         capture_output=True, text=True, check=False).stdout
    dates, date = {}, None
    for line in filter(None, log.splitlines()):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", line):
            date = line
        else:
            dates.setdefault(line, date)
    return dates


def is_deterministic(yaml):
    return bool(re.search(r"NVTE_ALLOW_NONDETERMINISTIC_ALGO: *0|--deterministic-mode: *true", yaml))


def arguments(yaml):
    """What stands below MODEL_ARGS: a flat list of `--name: value`."""
    found, inside = {}, False
    for line in yaml.splitlines():
        if re.match(r"\S", line) and not line.startswith("#"):
            inside = line.startswith("MODEL_ARGS")
        elif inside and (pair := re.match(r" +--([a-z0-9-]+): *(.*?) *$", line)):
            found[pair[1]] = pair[2].split(" #")[0].strip(" \"'")
    return found


def devices_of_cases(checkout):
    """(platform, test case) -> (nodes, devices of each), as the recipes ask for them."""
    found = {}
    for path in checkout.walk(RECIPES):
        text = checkout.text(path)
        asked = [re.search(rf"^  {name}: *([0-9]+)", text, re.MULTILINE) for name in ("nodes", "gpus")]
        for case in re.findall(r"test_case: *\[?([A-Za-z0-9_.,\- ]+)\]?", text) if all(asked) else ():
            for name in case.split(","):
                found.setdefault((path.split("/")[-2], name.strip()), tuple(int(n[1]) for n in asked))
    return found


def median_of(golden, name, later=1):
    """Of what was recorded after the first step."""
    values = golden.get(name, {}).get("values", {})
    numbers = [v for _, v in sorted(values.items(), key=lambda pair: int(pair[0])) if isinstance(v, (int, float))]
    return (statistics.median(numbers[later:] or numbers), max(numbers)) if numbers else (None, None)


def precision_of(given):
    if "fp8-format" in given or "fp8" in given:
        return "fp8"
    return next((name for name in ("bf16", "fp16") if given.get(name) == "true"), "fp32")


def dense_layers(given):
    """Layers without experts: the zeros of `([0]*3+[1]*24)`."""
    pattern = re.findall(r"\[0\] *\* *([0-9]+)", given.get("moe-layer-freq", ""))
    return sum(map(int, pattern)) if "num-experts" in given else None


def defaults(row):
    """What Megatron-LM takes where an argument is not given."""
    for column, other in (("kv_heads", "heads"), ("etp", "tp" if row["experts"] else None),
                          ("moe_ffn", "ffn" if row["experts"] else None)):
        row[column] = row[column] or row.get(other)
    if not row["ffn"] and row["hidden"]:
        row["ffn"] = 4 * int(row["hidden"])
    return row


def read(checkout, path):
    """The arguments and the golden values, or None: not every case has both."""
    config = path.rsplit("/", 1)[0] + "/model_config.yaml"
    try:
        yaml, golden = checkout.text(config), json.loads(checkout.text(path))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    if not all(isinstance(v, dict) for v in (golden, *golden.values())):
        return None
    return {**arguments(yaml), "deterministic": is_deterministic(yaml)}, golden


def devices_and_ranks(row, gpus):
    """The devices and the data-parallel ranks; without them where the recipe's devices cannot be those of the case."""
    ranks, experts = (math.prod(int(row[name] or 1) for name in names) for names in (("tp", "pp", "cp"), ("ep", "etp",
                                                                                                          "pp")))
    return (gpus, gpus // ranks) if gpus % ranks == 0 and gpus % experts == 0 else (None, None)


def convert(path, given, golden, devices):
    *_, suite, case, name = path.split("/")
    environment, platform = GOLDEN.match(name).groups()
    device, each = DEVICES[platform]
    nodes, each = devices.get(("gb200" if platform == "gb200" else "h100", case), (1, each))
    row = defaults({column: next((given[name] for name in names.split("|") if name in given), DEFAULTS.get(column))
                    for column, names in ARGUMENTS.items()})
    row.update({column: int(given.get(name) == "true") for column, name in FLAGS.items()})
    row.update({column: int(given.get(name) != "true") for column, name in NOT_FLAGS.items()})
    row["rms_norm"] = int(given.get("normalization") == "RMSNorm")
    if given.get("position-embedding-type", "learned_absolute") != "learned_absolute":
        row["positions"] = 0
    if given.get("cross-entropy-loss-fusion") == "true":
        row["cross_entropy_impl"] = given.get("cross-entropy-fusion-impl", "native")
    row["sequence_parallel"] &= int(row["tp"]) > 1  # as Megatron-LM does
    gpus, dp = devices_and_ranks(row, nodes * each)
    training = "train-iters" in given or "train-samples" in given
    batch = int(row["global_batch"] or 0)
    stage = given.get("num-layers-per-virtual-pipeline-stage")
    return {**row, "test_case": case, "suite": suite, "file": path, "deterministic": int(given["deterministic"]), "kind": "train" if training else "inference",
            "environment": environment, "device": device, "devices_per_node": each, "nodes": nodes, "gpus": gpus,
            "dp": dp,
            "model_family": suite if suite in ("bert", "t5", "hybrid") else "gpt", "precision": precision_of(given),
            "vocab": given.get("padded-vocab-size", given.get("vocab-size", TOKENIZERS.get(given.get("tokenizer-type",
                                                                                                     suite)))),
            "dense_layers": dense_layers(given),
            "vpp": int(row["layers"]) // int(row["pp"]) // int(stage) if stage and row["layers"] else
                   given.get("num-virtual-stages-per-pipeline-rank"),
            "micro_batches": batch // (dp * int(row["micro_batch"])) if dp and batch else None,
            "peak_bytes": int(median_of(golden, "mem-max-allocated-bytes")[1] or 0) or None,
            "step_s": median_of(golden, "iteration-time")[0]}


def main():
    checkout = published.Checkout(__doc__)
    devices, dates, rows, left_out = devices_of_cases(checkout), dates_of(checkout), [], 0
    for path in checkout.walk(CASES):
        if GOLDEN.match(path.rsplit("/", 1)[-1]):
            found = read(checkout, path)
            if found:
                rows.append({**convert(path, *found, devices), "golden_date": dates.get(path)})
            left_out += not found
    published.write(COLUMNS, rows, {"without arguments, or without values by step": left_out} if left_out else {})


main()
