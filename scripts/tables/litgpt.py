#!/usr/bin/env python3
"""LitGPT's table of fine-tuning: Markdown with cells such as "16.69 GB" and OOM."""
import published

PATH = "config_hub/finetune/README.md"
COLUMNS = ("config", "model", "method", "epochs", "max_seq_len", "mbs", "machine", "runtime_min", "peak_mem_gb",
           "status", "raw_mem", "raw_runtime")


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for _, _, cells in published.markdown_rows(checkout.text(checkout.paths(PATH)[0])):
        if "Peak memory" not in cells:
            continue
        failed = cells["Training runtime"] == "OOM"
        rows.append({"config": cells["Config"], "model": cells["Model"],
                     "method": cells["Config"].rsplit("/", 1)[-1].removesuffix(".yaml"), "epochs": cells["Epochs"],
                     "max_seq_len": cells["Max seq length"], "mbs": cells["Micro batch size"],
                     "machine": cells["Machine"], "runtime_min": published.number(cells["Training runtime"]),
                     "peak_mem_gb": published.number(cells["Peak memory"]), "status": "oom" if failed else "ok",
                     "raw_mem": cells["Peak memory"], "raw_runtime": cells["Training runtime"]})
    published.write(COLUMNS, rows)


main()
