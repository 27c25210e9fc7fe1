#!/usr/bin/env python3
"""DLPerf's GPT reports: for each framework a table of the cases' shapes and one of what was measured, by case."""
import re

import published

PATHS = ("OneFlow/LanguageModeling/GPT/README.md", "Megatron-LM/README.md")
COLUMNS = ("framework", "case", "gpu", "nodes", "gpus", "dp", "tp", "pp", "mbs", "grad_acc", "gbs", "hidden", "n_heads",
           "n_layers", "seq_len", "latency_ms", "mem_mib")
CASE = re.compile(r"(?:DP|MP|2D|PP|_)+_[0-9]+x[0-9]+x[0-9]+_[0-9]+_[0-9]+x[0-9]+")
SHAPE = ("nodes", "per_node", "dp", "tp", "pp", "mbs", "micro_gbs", "grad_acc", "gbs", "hidden", "n_heads", "n_layers")


def main():
    checkout = published.Checkout(__doc__)
    rows = []
    for path in checkout.paths(*PATHS):
        shapes, measured = {}, {}
        for line in checkout.text(path).splitlines():
            found = published.cells(line)
            at = next((i for i, cell in enumerate(found or ()) if CASE.fullmatch(cell)), None)
            if at is None:
                continue
            values = [published.number(cell) for cell in found[at + 1:]]
            if len(values) == len(SHAPE) and None not in values:
                shapes[found[at]] = dict(zip(SHAPE, values))
            elif values and "ms" in found[at + 1]:
                memory = next((published.number(cell) for cell in found[at + 1:] if "MiB" in cell), None)
                measured[found[at]] = {"latency_ms": values[0], "mem_mib": memory}
        for case, shape in shapes.items():
            if case in measured:
                rows.append({"framework": path.split("/")[0], "case": case, "gpu": "V100-SXM2-16GB", "seq_len": 2048,
                             "gpus": shape["dp"] * shape["tp"] * shape["pp"], **shape, **measured[case]})
    published.write(COLUMNS, rows)


main()
