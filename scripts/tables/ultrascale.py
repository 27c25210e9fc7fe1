#!/usr/bin/env python3
"""The benchmark of the Ultra-Scale Playbook: the points of a Plotly figure in HTML, whose tooltips say what each is."""
import base64
import json
import struct

import published

PATH = "assets/data/benchmarks/banner.html"
COLUMNS = ("model", "n_layers", "hidden", "n_heads", "n_kv_heads", "ffn", "vocab", "tied_emb", "seq_len", "nodes",
           "gpus", "dp", "tp", "pp", "zero", "mbs", "grad_acc", "gbs", "oom_label", "mfu_pct", "tok_s_gpu", "tok_s",
           "gpu_mem_gb")
# As "Model: ...B" in the tooltip has it; the figure does not give shapes.
SHAPES = {1.34: ("1B", 16, 2048, 32, 32, 8192, 1), 8.86: ("8B", 32, 4096, 32, 32, 14336, 0)}


def figure(html):
    """The traces that Plotly.newPlot is called with."""
    start = html.find("[{", html.find("Plotly.newPlot("))
    return json.JSONDecoder().raw_decode(html[start:])[0] if start >= 0 else []


def points(trace):
    """What the tooltips of a trace are filled from: a list of lists, or Plotly's packed array of doubles."""
    data = trace.get("customdata", [])
    if isinstance(data, dict):
        count, width = (int(n) for n in data["shape"].split(","))
        values = struct.unpack(f"<{count * width}d", base64.b64decode(data["bdata"]))
        data = [values[i * width:(i + 1) * width] for i in range(count)]
    return data


def convert(point, failed):
    size, nodes, mbs, grad_acc, dp, pp, tp, zero, mfu, each, total, memory = point[:12]
    name, layers, hidden, heads, kv_heads, ffn, tied = SHAPES[size]
    return {"model": name, "n_layers": layers, "hidden": hidden, "n_heads": heads, "n_kv_heads": kv_heads, "ffn": ffn,
            "vocab": 131072, "tied_emb": tied, "seq_len": 4096, "nodes": int(nodes), "gpus": int(nodes) * 8,
            "dp": int(dp),
            "tp": int(tp), "pp": int(pp), "zero": int(zero), "mbs": int(mbs), "grad_acc": int(grad_acc),
            "gbs": int(mbs * grad_acc * dp),
            "oom_label": "failed" if failed else "fits",
            **({} if failed else {"mfu_pct": mfu, "tok_s_gpu": each, "tok_s": total, "gpu_mem_gb": memory})}


def main():
    checkout = published.Checkout(__doc__)
    rows, unknown = [], 0
    for trace in figure(checkout.text(checkout.paths(PATH)[0])):
        failed = "Run failed" in trace.get("hovertemplate", "")
        for point in points(trace):
            if point[0] in SHAPES:
                rows.append(convert(point, failed))
            else:
                unknown += 1
    published.write(COLUMNS, rows, {"the model's shape is not published with them": unknown} if unknown else {})


main()
