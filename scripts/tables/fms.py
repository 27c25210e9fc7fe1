#!/usr/bin/env python3
"""The reference results of fms-acceleration's benchmarks: CSV with one run per row, by model and accelerations."""
import csv
import re

import published

PATHS = tuple(f"scripts/benchmarks/refs/a100_80gb{name}.csv" for name in ("", "_granite", "_moe"))
COLUMNS = ("table", "line", "model", "checkpoint", "family", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab",
           "tied", "experts", "topk", "shared_ffn", "seq", "gpus", "mbs", "grad_acc", "ep", "kernels", "liger",
           "padding_free", "peft", "rank", "quantization", "dtype", "amp", "outcome", "reserved_mib", "alloc_bytes",
           "peak_bytes", "tokens_per_s_gpu", "samples_per_s")
SHAPE = ("family", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "tied", "experts", "topk", "shared_ffn",
         "seq")
# The checkpoints' config.json; seq as scripts/benchmarks asks for, or the model's most.
MIXTRAL = ("Mixtral-8x7B-Instruct-v0.1", ("llama", 32, 4096, 32, 8, 14336, 32000, 0, 8, 2, 0, 4096))
LLAMA = ("Llama-2-70b-hf", ("llama", 80, 8192, 64, 8, 28672, 32000, 0, 0, 0, 0, 4096))
CHECKPOINTS = {
    "bigcode/gpt_bigcode-santacoder":
        ("gpt_bigcode-santacoder", ("gpt", 24, 2048, 16, 1, 8192, 49280, 1, 0, 0, 0, 2048)),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": MIXTRAL,
    "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": MIXTRAL,
    "NousResearch/Llama-2-70b-hf": LLAMA,
    "TheBloke/Llama-2-70B-GPTQ": LLAMA,
    "ibm/PowerLM-3b": ("PowerLM-3b", ("llama", 40, 2304, 36, 36, 9216, 49152, 1, 0, 0, 0, 4096)),
    "ibm-granite/granite-4.0-tiny-preview":
        ("granite-4.0-tiny-preview", ("hybrid", 40, 1536, 12, 4, 512, 49160, 1, 62, 6, 1024, None)),
}


def convert(path, line, cells):
    table = path.rsplit("/", 1)[-1].removesuffix(".csv")
    model, shape = CHECKPOINTS[cells["model_name_or_path"]]
    kernels = cells["framework_config"] or "none"
    ep = re.search(r"-ep([0-9]+)", kernels)
    row = {"table": table, "line": line, "model": model, "checkpoint": cells["model_name_or_path"],
           **dict(zip(SHAPE, shape)), "gpus": cells["num_gpus"], "mbs": cells["per_device_train_batch_size"],
           "grad_acc": cells.get("gradient_accumulation_steps") or 1, "ep": ep[1] if ep else None, "kernels": kernels,
           "liger": int("liger" in kernels), "padding_free": int("padding-free" in kernels),
           "peft": cells.get("peft_method") or "none", "rank": cells.get("r"), "dtype": cells["torch_dtype"],
           "quantization": "bnb-nf4" if "bnb" in kernels else "gptq" if "gptq" in kernels else "none",
           "amp": next((name for name in ("bf16", "fp16") if (cells.get(name) or "").lower() == "true"), "none"),
           # Runs without figures: the benchmark keeps what memory they had, and they had all of it.
           "outcome": "ok" if cells["train_tokens_per_second"] else "oom",
           "reserved_mib": cells["mem_nvidia_mem_reserved"], "tokens_per_s_gpu": cells["train_tokens_per_second"],
           "alloc_bytes": cells.get("mem_torch_mem_alloc_in_bytes"), "samples_per_s": cells["train_samples_per_second"],
           "peak_bytes": cells.get("mem_peak_torch_mem_alloc_in_bytes")}
    if "moe" in table and row["outcome"] == "ok":
        # Unpacked samples: as many tokens as they had on average.
        each = float(cells["train_tokens_per_second"]) * int(cells["num_gpus"])
        row["seq"] = round(each / float(cells["train_samples_per_second"]))
    return row


def main():
    checkout = published.Checkout(__doc__)
    rows, unknown = [], 0
    for path in checkout.paths(*PATHS):
        for line, cells in enumerate(csv.DictReader(checkout.text(path).splitlines()), 2):
            if cells["model_name_or_path"] in CHECKPOINTS:
                rows.append(convert(path, line, cells))
            else:
                unknown += 1
    published.write(COLUMNS, rows, {"scripts/tables/fms.py has no shape of their model": unknown} if unknown else {})


main()
