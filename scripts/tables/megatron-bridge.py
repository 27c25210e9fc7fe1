#!/usr/bin/env python3
"""Megatron-Bridge's performance summary: Markdown tables under headings of release, task, and model or system."""
import re

import published

PATHS = ("docs/performance-summary.md", "docs/performance-summary-archive.md")
SHAPE = ("family", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated_mlp", "biases", "rms_norm",
         "tied_embeddings", "vocab", "vocab_multiple", "experts", "topk", "moe_ffn", "shared_ffn", "dense_layers",
         "mtp_layers", "q_lora_rank", "kv_lora_rank", "qk_rope_dim", "v_head_dim")
# The recipes' settings, which are in the repository's code and not in its tables, stay empty.
RECIPES = ("recompute", "recompute_modules", "grad_bytes", "moment_bytes", "cpu_offload_layers", "account_embedding",
           "account_loss", "etp", "hybrid_pattern", "mamba_heads", "mamba_head_dim", "mamba_state", "mamba_groups",
           "moe_latent", "recompute_num_layers", "recompute_method", "dispatcher", "dispatcher_backend", "ep_overlap",
           "cuda_graph")
COLUMNS = ("release", "doc", "line", "task", "system", "device", "devices_per_node", "nvlink_domain", "nodes", "gpus",
           "model", "variant", "precision", "fp8_recipe", "global_batch", "micro_batch", "seq", "fsdp", "tp", "pp",
           "cp", "vpp", "ep", "dp", "micro_batches", "zero_stage", "shard_ranks", "sequence_parallel", "suspect",
           "tokens_per_s_per_gpu", "tokens_per_s", "step_s", *SHAPE, *RECIPES)
# Devices of a node, and those that NVLink joins.
SYSTEMS = {"H100": (8, 8), "B200": (8, 8), "B300": (8, 8), "GB200": (4, 72), "GB300": (4, 72)}
# Published config.json; of the others only what the table says.
MODELS = {
    "LLAMA3_8B": ("Llama-3-8B", ("llama", 32, 4096, 32, 8, 128, 14336, 1, 0, 1, 0, 128256, 128)),
    "LLAMA3_70B": ("Llama-3-70B", ("llama", 80, 8192, 64, 8, 128, 28672, 1, 0, 1, 0, 128256, 128)),
    "DeepSeekV3": ("DeepSeek-V3", ("llama", 61, 7168, 128, 128, 128, 18432, 1, 0, 1, 0, 129280, 1280, 256, 8, 2048,
                                   2048, 3, 1, 1536, 512, 64, 128)),
    "Qwen3_30B_a3B": ("Qwen3-30B-A3B", ("llama", 48, 2048, 32, 4, 128, 6144, 1, 0, 1, 0, 151936, 128, 128, 8, 768)),
}
PRECISIONS = {"BF16": ("bf16", None), "FP8": ("fp8", "tensorwise"), "FP8-CS": ("fp8", "tensorwise"),
              "FP8-MX": ("fp8", "mxfp8"), "MXFP8": ("fp8", "mxfp8"), "NVFP4": ("fp4", "nvfp4")}
TASKS = {"Pre-Training": "pretrain", "SFT": "sft", "LoRA": "lora"}


def layouts(cells):
    """A row with a second throughput in parentheses is two: of one kind of fp8, and in parentheses of the other."""
    again = {name: found[2] for name, cell in cells.items() if name != "Model"
             and (found := re.fullmatch(r"(\S+) \((\S+)\)", cell))}
    first = {name: cell.split(" (")[0] if name in again else cell for name, cell in cells.items()}
    label = "FP8" if "Precision" not in cells else None
    yield {"Precision": "FP8-CS", **first} if label else first
    if "Tokens / sec / GPU" in again:
        yield {**({"Precision": "FP8-MX"} if label else {}), **cells, **again}


def whole(text):
    """Of "8" and "n/a"."""
    found = re.match(r"[0-9,]+", text)
    return int(found[0].replace(",", "")) if found else None


def model_of(name):
    """The name, the variant in parentheses, the shape."""
    name, variant = re.fullmatch(r"([^(]*?) *(?:\((.*)\))?", name).groups()
    known, shape = MODELS.get(name.strip(), (name.strip(), ()))
    shape = dict(zip(SHAPE, shape))
    if variant == "w/o MTP":
        shape["mtp_layers"] = 0
    return {"model": known, "variant": variant, **shape}


def layout(cells):
    gpus, gbs, mbs = (whole(cells[name]) for name in ("#-GPUs", "GBS", "MBS"))
    degree = {key: whole(cells[key.upper()]) or 1 for key in ("tp", "pp", "cp")}
    dp = gpus // (degree["tp"] * degree["pp"] * degree["cp"])
    fsdp = whole(cells.get("FSDP", "0")) or 0
    ep = whole(cells["EP"])
    return {"gpus": gpus, "global_batch": gbs, "micro_batch": mbs, "seq": whole(cells["Sequence Length"]), **degree,
            "vpp": whole(cells["VP"]), "ep": ep, "fsdp": fsdp, "dp": dp, "zero_stage": 3 if fsdp else 1,
            "shard_ranks": fsdp or None, "sequence_parallel": int(degree["tp"] > 1), "micro_batches": gbs // (dp * mbs),
            "suspect": "ep times pp exceeds the devices" if (ep or 1) * degree["pp"] > gpus else None}


def convert(heads, path, line, cells):
    titled = heads["####"].split(":", 1)[1].strip() if ":" in heads["####"] else ""
    system = (cells.get("System") or titled).strip()
    device = system.removeprefix("DGX-")
    name = cells.get("Model") or titled
    each, domain = SYSTEMS[device]
    tokens = published.number(cells["Tokens / sec / GPU"])
    plan = layout(cells)
    precision, recipe = PRECISIONS[cells["Precision"]]
    return {"release": heads["##"].split()[0], "doc": path, "line": line, "system": system, "device": device,
            "task": next((TASKS[word] for word in TASKS if heads["###"].startswith(word)), None),
            "nvlink_domain": domain,
            "devices_per_node": each, "nodes": -(-plan["gpus"] // each), **model_of(name), "precision": precision,
            "fp8_recipe": recipe, **plan, "tokens_per_s_per_gpu": tokens, "tokens_per_s": tokens * plan["gpus"],
            "step_s": round(plan["global_batch"] * plan["seq"] / (tokens * plan["gpus"]), 6)}


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for path in checkout.paths(*PATHS):
        source = checkout.text(path)
        lines, heads, read = source.splitlines(), {"##": "", "###": "", "####": ""}, 0
        for line, _, cells in published.markdown_rows(source):
            for text in lines[read:line]:
                mark = text.split(" ", 1)[0]
                if mark in heads:
                    heads[mark] = text[len(mark) + 1:]
            read = line
            if "Tokens / sec / GPU" in cells and published.number(cells["Tokens / sec / GPU"]) is not None:
                rows += [convert(heads, path, line, each) for each in layouts(cells)]
    published.write(COLUMNS, rows)


main()
