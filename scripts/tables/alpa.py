#!/usr/bin/env python3
"""Alpa's own results: tab-separated lines that end in a Python dict, with the section in a comment above."""
import ast
import statistics

import published

PATHS = ("benchmark/plots/result.tsv", "benchmark/plots/result_weak_scaling.tsv",
         "osdi22_artifact/results_e2e_ref.tsv", "osdi22_artifact/results_inter_ablation_ref.tsv",
         "osdi22_artifact/results_intra_ablation_ref.tsv")
COLUMNS = ("file", "exp", "instance", "n_hosts", "gpus_per_host", "gpus", "model", "method", "params_b", "tflops_gpu",
           "mem_gb", "latency_s", "status", "section")


def convert(path, line, section):
    exp, instance, hosts, devices, model, method, measured, *_ = line.split("\t")
    measured = ast.literal_eval(measured)
    latency = statistics.median(measured["latencies"]) if "latencies" in measured else None
    # A run that failed is kept with -1, and with figures computed from it.
    failed = latency == -1 and measured["tflops"] <= 0 or measured["tflops"] in (-1, 0)
    return {"file": path, "exp": exp, "instance": instance, "n_hosts": hosts, "gpus_per_host": devices,
            "gpus": int(hosts) * int(devices), "model": model, "method": method, "section": section,
            "params_b": measured.get("param_count"), "mem_gb": measured.get("alloc_mem", measured.get("peak_mem")),
            "latency_s": latency, "tflops_gpu": None if failed else measured["tflops"],
            "status": "fail_or_oom" if failed else "ok"}


def main():
    checkout = published.Checkout(__doc__)
    rows, section = [], ""
    for path in checkout.paths(*PATHS):
        for line in checkout.text(path).splitlines():
            if line.startswith("#"):
                section = line.strip("# ")
            elif line.strip():
                rows.append(convert(path, line, section))
    published.write(COLUMNS, rows)


main()
