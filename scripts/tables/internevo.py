#!/usr/bin/env python3
"""InternEvo's train_performance.md: InternLM 7B, tokens per GPU and second, by layout and number of GPUs."""
import re

import published

PATH = "doc/en/train_performance.md"
COLUMNS = ("part", "line", "model", "layers", "hidden", "heads", "ffn", "vocab", "seq", "gpus", "dp", "tp", "pp",
           "zero1", "shard_ranks", "mbs", "grad_acc", "gbs", "recompute", "packed", "tgs", "tflops", "step_s")
# configs/7B_sft.py
SHAPE = {"model": "internlm-7B", "layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "vocab": 103168, "seq": 2048,
         "pp": 1}


def row_of(part, line, gpus, tp, zero1, mbs, grad_acc, tgs, **more):
    dp = gpus // tp
    gbs = dp * mbs * grad_acc
    return {**SHAPE, "part": part, "line": line, "gpus": gpus, "dp": dp, "tp": tp, "zero1": zero1,
            "shard_ranks": dp if zero1 == -1 else zero1, "mbs": mbs, "grad_acc": grad_acc, "gbs": gbs, "tgs": tgs,
            "step_s": round(gbs * SHAPE["seq"] / (tgs * gpus), 6), **more}


def layouts(line, cells):
    """One row of the table for each number of GPUs; micro_bsz and micro_num are in the table of hyperparameters."""
    found = re.fullmatch(r"\(tp=([0-9]+), zero1=(-?[0-9]+)\)", cells.get("Parallel Configuration", ""))
    for title, tgs in cells.items():
        if found and title.endswith(" GPUs"):
            yield row_of("grid", line, int(title.split()[0]), int(found[1]), int(found[2]), 2 * int(found[1]), 4,
                         int(tgs), recompute="none", packed=0)


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for line, _, cells in published.markdown_rows(checkout.text(checkout.paths(PATH)[0])):
        rows += layouts(line, cells)
        if "Activation Ckpt" in cells:
            rows.append(row_of("flops", line, int(cells["GPU Num"]), int(cells["TP"]), int(cells["Zero1"]),
                               int(cells["Micro Bsz"]), int(cells["Micro Num"]), int(cells["TGS"]),
                               recompute="full" if cells["Activation Ckpt"] == "TRUE" else "none",
                               packed=int(cells["Pack Sample Into One"] == "TRUE"), tflops=cells["TFLOPS"]))
    published.write(COLUMNS, rows)


main()
