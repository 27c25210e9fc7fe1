#!/usr/bin/env python3
"""Drawn landscapes for searches: what jobs of invented clusters would take, no measurement among them.

    landscapes.py --failing 0.7 [--seed 1] [--count 12] >landscapes.csv
    landscapes.py --strange [--seed 1] [--count 12] >strange.csv

Each landscape (column `tag`) is a model on a cluster: parameters, devices, memory, speeds, overlaps and latencies are drawn
from wide ranges, with terms of compute, launches, pipeline bubbles, collectives and gathered shards, a smooth remainder that
no term explains, and noise. The memory of a device is such that the share --failing of the layouts run out of it; 2 % of
the others fail of something else. --strange is a training script whose keys are no parallel degrees.
"""
import argparse
import csv
import itertools
import math
import random
import sys


def log_uniform(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def powers(most):
    return [2**i for i in range(int(math.log2(most)) + 1)]


class Remainder:
    """A smooth function of logarithms that no term explains: some sines of random directions."""

    def __init__(self, draw, names, size):
        self.waves = [({n: draw.gauss(0, 0.35) for n in names}, draw.uniform(0, 2 * math.pi)) for _ in range(6)]
        self.size = size / math.sqrt(3)

    def at(self, row):
        total = 0
        for direction, phase in self.waves:
            total += math.sin(sum(d * math.log2(1 + row[n]) for n, d in direction.items()) + phase)
        return self.size * total / math.sqrt(6) * math.sqrt(2)


class Cluster:
    def __init__(self, draw):
        self.layers = draw.choice([16, 24, 32, 40, 48, 64, 80])
        self.hidden = draw.choice([2048, 3072, 4096, 5120, 6144, 8192])
        self.heads = self.hidden // 128
        self.seq = draw.choice([1024, 2048, 4096, 8192])
        self.host = draw.choice([4, 8, 8])
        self.devices = self.host * draw.choice([1, 2, 4, 8, 16, 32])
        self.global_batch = self.devices * draw.choice([1, 2, 4, 8, 16])
        self.device, self.peak = draw.choice([("A100-80GB", 312e12), ("H100", 990e12), ("A100-40GB", 312e12)])
        self.share = draw.uniform(0.35, 0.7)
        self.link = log_uniform(draw, 50e9, 450e9)
        self.network = log_uniform(draw, 3e9, 60e9)
        self.latency = log_uniform(draw, 5e-6, 100e-6)
        self.launch = log_uniform(draw, 50e-6, 1e-3)
        self.half = log_uniform(draw, 100, 4000)
        self.overlap = {n: draw.uniform(0, 0.9) for n in ("tp", "dp", "shards")}
        self.recompute = draw.uniform(0.25, 0.4)
        self.states = draw.uniform(14, 20)
        self.activations = draw.uniform(14, 70)
        self.fixed = log_uniform(draw, 1e9, 6e9)
        self.slow_tp = draw.choice([None, 2, 4, 8])
        self.remainder = Remainder(draw, ("dp", "tp", "pp", "micro_batch", "zero_stage"), draw.uniform(0.03, 0.15))

    def parameters(self):
        return 12 * self.layers * self.hidden**2 + 50304 * self.hidden

    def layouts(self):
        for tp, pp in itertools.product(powers(min(16, self.devices)), powers(min(16, self.devices, self.layers))):
            if self.devices % (tp * pp) or self.layers % pp or self.heads % tp:
                continue
            dp = self.devices // (tp * pp)
            for micro_batch, zero, recompute in itertools.product(powers(32), (0, 1, 3), ("none", "full")):
                if self.global_batch % (dp * micro_batch) or (zero and dp == 1) or (zero == 3 and pp > 1):
                    continue
                yield {"dp": dp, "tp": tp, "pp": pp, "micro_batch": micro_batch, "zero_stage": zero,
                       "gradient_accumulation": self.global_batch // (dp * micro_batch), "recompute": recompute}

    def memory(self, r):
        shards = r["tp"] * r["pp"]
        share = {0: 1, 1: 0.3 + 0.7 / r["dp"], 3: 1 / r["dp"]}[r["zero_stage"]]
        flight = min(r["pp"], r["gradient_accumulation"])
        kept = 2 + (self.activations if r["recompute"] == "none" else 2)
        tokens = r["micro_batch"] * self.seq
        return (self.fixed + self.states * self.parameters() / shards * share +
                tokens * self.hidden * self.layers / shards * kept * flight + tokens * 50304 * 8 / r["tp"])

    def seconds(self, r):
        tokens, layers = r["micro_batch"] * self.seq, self.layers / r["pp"]
        speed = self.peak * self.share
        work = 72 * tokens * self.hidden**2 / r["tp"] * (1 + self.seq / 6 / self.hidden)
        work *= 1 + self.half * r["tp"] / (tokens * 8) + (self.recompute if r["recompute"] == "full" else 0)
        inside = r["tp"] <= self.host
        bytes_moved = 8 * tokens * self.hidden * 2 * (r["tp"] - 1) / r["tp"]
        tensor = bytes_moved / (self.link if inside else self.network * self.host) if r["tp"] > 1 else 0
        tensor += 8 * math.log2(r["tp"]) * (1 if inside else 5) * self.latency
        wire = self.link if self.devices <= self.host else self.network
        shards = 48 * self.hidden**2 / r["tp"] / wire if r["zero_stage"] == 3 else 0
        layer = work / speed + self.launch + tensor * (1 - self.overlap["tp"]) + shards * (1 - self.overlap["shards"])
        if r["tp"] == self.slow_tp:
            layer *= 1.15
        head = 6 * tokens * self.hidden * 50304 / r["tp"] / speed
        accumulation = r["gradient_accumulation"]
        step = (layers * layer + head) * (accumulation + r["pp"] - 1)
        gradients = 4 * self.parameters() / (r["tp"] * r["pp"]) * (r["dp"] - 1) / r["dp"] / wire
        return (step + gradients * (1 - self.overlap["dp"])) * math.exp(self.remainder.at(r))

    def rows(self, draw, failing):
        rows = list(self.layouts())
        draw.shuffle(rows)
        rows = rows[:500]
        needs = sorted(self.memory(r) for r in rows)
        limit = needs[max(0, int((1 - failing) * len(needs)) - 1)] * 1.001
        for r in rows:
            r.update(layers=self.layers, hidden=self.hidden, heads=self.heads, seq=self.seq, device=self.device,
                     num_hosts=self.devices // self.host, num_devices_per_host=self.host, memory=limit,
                     global_batch=self.global_batch)
            noise = math.exp(draw.gauss(0, 0.02))
            r["status"] = "oom" if self.memory(r) > limit else "exit" if draw.random() < 0.02 else "ok"
            r["rate"] = self.global_batch * self.seq / self.seconds(r) / noise if r["status"] == "ok" else ""
        return rows


class Script:
    """Of which nobody knows what its keys do."""

    keys = {"batch_size": powers(512), "num_workers": (0, 1, 2, 4, 8, 16), "compile": ("no", "default", "max-autotune"),
            "kind": ("fp32", "tf32", "bf16"), "pin": ("yes", "no"), "prefetch": (1, 2, 4)}

    def __init__(self, draw):
        self.speed = {"fp32": 1, "tf32": draw.uniform(1.2, 3), "bf16": draw.uniform(1.5, 6)}
        self.bytes = {"fp32": 1, "tf32": 1, "bf16": draw.uniform(0.5, 0.7)}
        self.compiled = {"no": 1, "default": draw.uniform(0.9, 1.6), "max-autotune": draw.uniform(0.8, 1.9)}
        self.half = log_uniform(draw, 2, 128)
        self.loader = log_uniform(draw, 0.1, 3)
        self.best_workers = draw.uniform(2, 12)
        self.pinned = draw.uniform(1, 1.25)
        self.remainder = Remainder(draw, ("batch_size", "num_workers", "prefetch"), draw.uniform(0.02, 0.1))

    def rows(self, draw, failing):
        rows = [dict(zip(self.keys, v)) for v in itertools.product(*self.keys.values())]
        rows = draw.sample(rows, 400)
        need = [r["batch_size"] * self.bytes[r["kind"]] * (1.1 if r["compile"] == "max-autotune" else 1) for r in rows]
        limit = sorted(need)[max(0, int((1 - failing) * len(need)) - 1)] * 1.001
        for r, bytes_needed in zip(rows, need):
            compute = self.speed[r["kind"]] * self.compiled[r["compile"]] / (1 + self.half / r["batch_size"])
            workers = r["num_workers"] or 0.5
            load = self.loader * workers / (1 + (workers / self.best_workers)**2) * (1 + 0.05 * r["prefetch"])
            load *= self.pinned if r["pin"] == "yes" else 1
            r["status"] = "oom" if bytes_needed > limit else "ok"
            rate = 1 / (1 / compute + 0.3 / load) * math.exp(self.remainder.at(r) + draw.gauss(0, 0.02))
            r["rate"] = 1000 * rate if r["status"] == "ok" else ""
        return rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--failing", type=float, default=0.3)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=12)
    arguments.add_argument("--strange", action="store_true")
    given = arguments.parse_args()
    out = None
    for i in range(given.count):
        draw = random.Random(f"{given.seed} {i} {given.strange}")
        landscape = (Script if given.strange else Cluster)(draw)
        for row in landscape.rows(draw, given.failing):
            row = {"tag": i, **row}
            if not out:
                out = csv.DictWriter(sys.stdout, row, lineterminator="\n")
                out.writeheader()
            out.writerow(row)


if __name__ == "__main__":
    main()
