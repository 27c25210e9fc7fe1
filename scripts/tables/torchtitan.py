#!/usr/bin/env python3
"""torchtitan's benchmarks: Markdown tables whose titles say model, GPUs, batch and recompute."""
import re

import published

PATHS = ("benchmarks/llama3_h100_202412_torchtitan.md", "benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md")
COLUMNS = ("file", "line", "device", "model", "layers", "hidden", "heads", "kv_heads", "ffn", "vocab", "seq", "gpus",
           "dp", "tp", "pp", "cp", "batch", "mbs", "grad_acc", "recompute", "compile", "fp8", "recipe", "async_tp",
           "tps", "memory_gib", "step_s")
# Published config.json: layers, hidden, heads, KV heads, ffn.
SHAPES = {"8B": (32, 4096, 32, 8, 14336), "70B": (80, 8192, 64, 8, 28672), "405B": (126, 16384, 128, 8, 53248)}
RECOMPUTE = {"selective": "selective-op", "full": "full", "per op sac": "selective-op", "full ac": "full"}


def said(pattern, text, otherwise=None):
    found = re.search(pattern, text, re.IGNORECASE)
    return found[1] if found else otherwise


def row_of(path, line, title, words, seq, tps, memory, **more):
    """`words` are the title's and the row's; a degree of the row goes before one of the title."""
    degree = {key: int(said(rf"\b{word}[ =]*([0-9]+)", words, 0)) for key, word in
              (("dp", "FSDP"), ("tp", "TP"), ("pp", "PP"), ("cp", "CP"))}
    gpus = int(said(r"([0-9]+) (?:H100|GPU)s", title))
    rest = {key: degree[key] or 1 for key in ("tp", "pp", "cp")}
    dp = degree["dp"] or gpus // (rest["tp"] * rest["pp"] * rest["cp"])
    size = said(r"Llama ?3(?:\.1)? ([0-9]+b)", title).upper()
    batch = int(said(r"local batch size ([0-9]+)", title))
    recompute = said(r"(selective|full) activation checkpointing", title) or said(r"(full AC|per op SAC)", title)
    return {"file": path.rsplit("/", 1)[-1], "line": line, "device": "H100-96GB", "model": f"llama-3.1-{size}",
            **dict(zip(("layers", "hidden", "heads", "kv_heads", "ffn"), SHAPES[size])), "vocab": 128256, "seq": seq,
            "gpus": gpus, "dp": dp, **rest, "batch": batch, "mbs": 1 if rest["pp"] > 1 else batch, "grad_acc": batch if
            rest["pp"] > 1 else 1, "recompute": RECOMPUTE[recompute.lower()], "tps": tps, "memory_gib": memory,
            "step_s": round(batch * dp * seq / (tps * gpus), 6), **more}


def of_techniques(path, line, title, cells):
    first = next(iter(cells.values()))
    words = f"{first} {title}"
    told = words.lower()
    return row_of(path, line, title, words, published.number(cells.get("Sequence Length", "8192")),
                  published.number(cells["TPS/GPU"]), published.number(cells["Memory(GiB)"]),
                  compile=int("torch.compile" in told), fp8=int("float8" in told), async_tp=int("asynctp" in told))


def of_async(path, line, title, cells):
    recipe = said(r"float8 (\w+)", cells["Quantization"])
    for name, async_tp in (("Vanilla TP tokens/sec", 0), ("Async TP tokens/sec", 1)):
        yield row_of(path, line, title, title, 8192, published.number(cells[name]), None, compile=1,
                     fp8=int(bool(recipe)),
                     recipe=recipe, async_tp=async_tp)


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for path in checkout.paths(*PATHS):
        lines = checkout.text(path).splitlines()
        for line, heading, cells in published.markdown_rows("\n".join(lines)):
            title = next((text for text in reversed(lines[:line]) if text.startswith("**Table")), heading)
            if "TPS/GPU" in cells:
                rows.append(of_techniques(path, line, title, cells))
            elif "Async TP tokens/sec" in cells:
                rows += of_async(path, line, heading, cells)
    published.write(COLUMNS, rows)


main()
