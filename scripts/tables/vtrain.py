#!/usr/bin/env python3
"""vTrain's ground truth: a CSV of GPT on one node of eight A100; its README says how it was measured."""
import csv

import published

PATH = "data/ground_truth_single.csv"
COLUMNS = ("n_layers", "hidden", "n_heads", "seq_len", "gpus", "dp", "tp", "pp", "mbs", "grad_acc", "gbs", "iter_ms",
           "tok_s_gpu", "act_ckpt", "status")
NAMES = {"# GPUs": "gpus", "global batch": "gbs", "micro batch": "mbs", "hidden size": "hidden",
         "attention heads": "n_heads", "# layers": "n_layers", "sequence length": "seq_len", "tensor parallelism": "tp",
         "data parallelism": "dp", "pipeline parallelism": "pp", "iteration time (ms)": "iter_ms"}


def main():
    checkout = published.Checkout(__doc__)
    rows, left_out = [], {}
    for cells in csv.DictReader(checkout.text(checkout.paths(PATH)[0]).splitlines()):
        row = {NAMES[name]: float(value) if name.endswith("(ms)") else int(value) for name, value in cells.items()}
        each = row["dp"] * row["mbs"]
        if row["gbs"] % each:
            left_out["the batch is no multiple"] = left_out.get("the batch is no multiple", 0) + 1
            continue
        # config/validation/single/ has use_checkpoint for all of them.
        rows.append({**row, "grad_acc": row["gbs"] // each, "act_ckpt": "True", "status": "ok",
                     "tok_s_gpu": round(row["gbs"] * row["seq_len"] * 1000 / row["iter_ms"] / row["gpus"], 3)})
    published.write(COLUMNS, rows, left_out)


main()
