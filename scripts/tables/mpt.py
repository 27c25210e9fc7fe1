#!/usr/bin/env python3
"""MosaicML's benchmarks of MPT: the Markdown tables of their README, one for each cluster."""
import published

PATH = "scripts/train/benchmarking/README.md"
NAMES = {"Model": "model", "SeqLen (T)": "seq_len", "# GPUs": "gpus", "GPU": "gpu", "MFU": "mfu_pct", "HFU": "hfu_pct",
         "MicroBatchSize": "mbs", "GradAccum": "grad_acc", "GlobalBatchSize": "gbs", "Throughput (S/s)": "samples_s",
         "Throughput (T/s)": "tok_s", "Throughput (T/s/GPU)": "tok_s_gpu", "GlobalBatchSize (T)": "gbs_tokens",
         "Precision": "precision", "MP Mode": "mp_mode", "Sharding Strategy": "sharding",
         "Activation Checkpointing": "act_ckpt", "Activation CPUOffload": "act_cpu_offload", "NumParams": "num_params"}
COLUMNS = (*NAMES.values(), "image", "section", "suspect")


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for _, section, cells in published.markdown_rows(checkout.text(checkout.paths(PATH)[0])):
        if "NumParams" not in cells:
            continue
        row = {name: cells[title] for title, name in NAMES.items()}
        # Batches that cannot be of that many devices, and half of the peak at most: the row is another model's.
        slip = int(row["gbs"]) != int(row["mbs"]) * int(row["grad_acc"]) * int(row["gpus"])
        rows.append({**row, "section": section, "suspect": int(slip)})
    published.write(COLUMNS, rows)


main()
