#!/usr/bin/env python3
"""BigScience's chronicles of its 176-billion model: tables of layouts in running text that says the shapes."""
import re

import published

PATH = "train/tr11-176B-ml/chronicles-prequel.md"
COLUMNS = ("section", "line", "layers", "hidden", "heads", "vocab", "seq", "nodes", "gpus", "dp", "tp", "pp", "mbs",
           "gbs", "grad_acc", "zero_stage", "precision", "split", "outcome", "mem_gb", "step_s", "tflops", "suspect")
VOCAB = 250880
SAID = {"layers": "LAYERS", "hidden": "HIDDEN", "heads": "HEADS", "gbs": "GBS"}
LOG = re.compile(r"elapsed time per iteration \(s\): ([0-9.]+).*TFLOPs: ([0-9.]+)")


def layers_of(size, hidden, pp):
    """Layers of a model of so many billions: the multiple of the stages that comes nearest."""
    layers = (size * 1e9 - VOCAB * hidden) / (12 * hidden ** 2)
    return pp * round(layers / pp)


class Text:
    """What the text has said so far."""

    def __init__(self):
        self.shape, self.logs, self.began = {}, {}, False

    def line(self, line):
        # Shapes are not said of what comes before.
        self.began = self.began or line.strip() == "### fp16"
        if line.startswith("## "):
            self.shape = {}
        if not line.startswith("|"):
            said = {key: int(found[1]) for key, name in SAID.items()
                    if (found := re.search(rf"\bN?{name} ?= ?([0-9]+)", line))}
            self.shape = said if {"layers", "hidden"} <= set(said) else {**self.shape, **said}
        found = LOG.search(line)
        if found:
            self.logs[found[2]] = (found[1], dict(self.shape))


def convert(text, number, heading, cells):
    step, shape = cells.get("Sec/it"), text.shape
    if step is None:
        step, shape = text.logs.get(cells["TFLOPs"], (None, {}))
    tp, pp, mbs = (int(cells[name]) for name in ("TP", "PP", "MBS"))
    gpus = int(cells["Nodes"]) * 8 if "Nodes" in cells else int(cells["GPUs"])
    dp = gpus // (tp * pp)  # one table has another in its column
    hidden = int(cells.get("NHIDDEN") or shape.get("hidden", 14400))
    layers = int(cells.get("Layers") or shape.get("layers") or
                 layers_of(published.number(cells["Size"]), hidden, pp))
    gbs = shape.get("gbs") or int(cells["GBS"])
    oom = cells["Mem"] == "OOM"
    # From there on gradients are accumulated in fp32, and the embeddings count as a layer each.
    rebalanced = heading.startswith("Rebalancing")
    return {"section": heading, "line": number, "layers": layers, "hidden": hidden,
            "heads": int(cells.get("NHEADS") or shape.get("heads", 64)), "vocab": VOCAB, "seq": 2048,
            "nodes": gpus // 8, "gpus": gpus, "dp": dp, "tp": tp, "pp": pp, "mbs": mbs, "gbs": gbs,
            "grad_acc": gbs // (dp * mbs), "zero_stage": cells.get("ZS", 1),
            "precision": "bf16" if heading == "bf16" else "bf16-fp32-gradients" if rebalanced else "fp16",
            "split": "embedding" if rebalanced else "uniform",
            "outcome": "oom" if oom else "ok", "mem_gb": None if oom else published.number(cells["Mem"]),
            "step_s": None if oom else float(step), "tflops": None if oom else float(cells["TFLOPs"])}


def main():
    checkout = published.Checkout(__doc__)
    source = checkout.text(checkout.paths(PATH)[0])
    lines, text, read, seen, rows, left_out = source.splitlines(), Text(), 0, set(), [], {}
    for number, heading, cells in published.markdown_rows(source):
        for line in lines[read:number]:
            text.line(line)
        read = number
        if not text.began or not {"Size", "TP", "PP", "MBS", "Mem"} <= set(cells):
            continue
        if cells["Mem"] != "OOM" and published.number(cells["TFLOPs"]) is None:
            left_out["without a figure"] = left_out.get("without a figure", 0) + 1
            continue
        row = convert(text, number, heading, cells)
        layout = tuple(row[name] for name in ("layers", "hidden", "heads", "dp", "tp", "pp", "mbs", "gbs"))
        if row["outcome"] == "ok" and (layout, row["step_s"], row["tflops"]) in seen:
            left_out["repeated from a table before"] = left_out.get("repeated from a table before", 0) + 1
            continue
        seen.add((layout, row["step_s"], row["tflops"]))
        # Seconds and TFLOP/s exchanged: the same layout has them the other way round in another table.
        rows.append({**row, "suspect": int((layout, row["tflops"],
                                            row["step_s"]) in seen and row["step_s"] is not None)})
    published.write(COLUMNS, rows, left_out)


main()
