"""Changes one thing of a sweep file between two runs, at random, and recounts what is shown afterwards.

    changed_minds.py MESHSWEEP SEED CASES

Each case makes a sweep of jobs whose output is known, runs it, changes how one metric is read, taken, named or judged (or
loses the output of a job), and runs again with one more job. Then every figure of best, results, status, compare, export
and the page must be what the outputs come to under the newest definition, or be absent with a reason. Prints one line for
each figure that is not, and the number of figures; the status is 1 if any was wrong.
"""
import csv
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys

MESHSWEEP, SEED, CASES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
wrong = figures = 0


class Definition:
    def __init__(self, **keys):
        self.__dict__.update(dict(reader="time", warmup=0, take="median", scale=None, unit="ms", better="min", factor=1000,
                                    rate_take="median"), **keys)

    def toml(self):
        how = {"time": "regex = 'time ([0-9.]+)'", "total": "regex = 'total ([0-9.]+)'", "none": "regex = 'nothing ([0-9]+)'",
               "key": 'key = "latency"', "jsonl": 'jsonl = "t"'}[self.reader]
        lines = ["[job.metrics.t]", how, f'take = "{self.take}"', f"warmup = {self.warmup}", f'better = "{self.better}"']
        if self.unit:
            lines.append(f'unit = "{self.unit}"')
        if self.scale:
            lines.append(f"scale = {self.scale}")
        lines += ["[metrics.rate]", f'expression = "{self.factor}.0 / t"', f'take = "{self.rate_take}"']
        return "\n".join(lines) + "\n"

    def samples(self, text):
        """What the reader finds."""
        found = []
        for line in text.splitlines():
            if self.reader == "jsonl":
                if line.startswith("{"):
                    found.append(json.loads(line)["t"])
                continue
            pattern = {"time": r"time ([0-9.]+)", "total": r"total ([0-9.]+)", "none": "nothing ([0-9]+)",
                       "key": r"latency: ([0-9.]+) (ms|s)"}[self.reader]
            match = re.search(pattern, line)
            if match and self.reader == "key":
                found.append(convert(float(match[1]), match[2], self.unit))
            elif match:
                found.append(float(match[1]))
        return [v * (self.scale or 1) for v in found if v is not None]

    def taken(self, samples, take=None):
        if not samples:
            return None
        ordered = samples[self.warmup:] or samples[-1:]
        counted = sorted(ordered)
        return {"median": quantile(counted, 0.5), "mean": math.fsum(counted) / len(counted), "last": ordered[-1],
                "max": counted[-1], "min": counted[0], "p90": quantile(counted, 0.9)}[take or self.take]

    def both(self, samples):
        """The numbers of t and of rate, which is computed sample by sample."""
        return self.taken(samples), self.taken([self.factor / v for v in samples or []], self.rate_take)


def convert(value, unit, to):
    if not unit or not to or unit == to:
        return value
    return value * SECONDS[unit] / SECONDS[to] if unit in SECONDS and to in SECONDS else None


def quantile(values, share):
    at = share * (len(values) - 1)
    below = int(at)
    if below + 1 >= len(values):
        return values[-1]
    return (1 - at + below) * values[below] + (at - below) * values[below + 1]


def expected(text, made, now, log):
    """The numbers of one attempt, made under `made` (None: after the change)."""
    if made is None:
        return now.both(now.samples(text))
    relabelled = now.reader != "key" and made.scale == now.scale and made.unit and now.unit and made.unit != now.unit
    if made.reader != now.reader or made.scale != now.scale or relabelled:
        if log:
            return now.both(now.samples(text))
        if made.reader != now.reader or relabelled:
            return None, None
    if made.unit and now.unit and made.unit != now.unit and not (made.unit in SECONDS and now.unit in SECONDS):
        return None, None
    samples = [v / (made.scale or 1) * (now.scale or 1) for v in made.samples(text)]
    return now.both([convert(v, made.unit, now.unit) for v in samples])


CHANGES = {
    "warmup": lambda r, d: {"warmup": r.choice([1, 2, 9])},
    "take": lambda r, d: {"take": r.choice([t for t in ("mean", "last", "max", "min", "p90") if t != d.take])},
    "scale": lambda r, d: {"scale": r.choice([0.001, 8])},
    "unit": lambda r, d: {"unit": r.choice([u for u in ("s", "us", "ms", "tokens") + ("",) * (d.reader == "time") if u != d.unit])},
    "reader": lambda r, d: {"reader": r.choice([n for n in ("total", "jsonl", "none") + ("key",) * bool(d.unit)
                                                if n != d.reader])},
    "better": lambda r, d: {"better": "max"},
    "expression": lambda r, d: {"factor": 3000},
    "take of rate": lambda r, d: {"rate_take": r.choice(["mean", "max", "last"])},
}


def output(random_):
    lines = []
    for step in range(random_.randint(1, 6)):
        time = random_.choice([random_.randint(1, 50), round(random_.uniform(1, 50), 3)])
        lines.append(f"step {step} time {time} total {8 * time}")
        lines.append(json.dumps({"step": step, "t": time + 0.5}))
    lines.append(f"latency: {random_.randint(1, 900)} {random_.choice(['ms', 's'])}")
    return "\n".join(lines) + "\n"


def sweep_file(definition, xs, repeat):
    with open("s.toml", "w") as f:
        f.write(f'[sweep]\nobjective = "{definition.better}:t"\n[job]\ncommand = ["sh", "../job.sh", "{{x}}"]\ncwd = "work"\n'
                f"repeat = {repeat}\n{definition.toml()}[parallel_spec]\nx = {xs}\n")


def run(*words, statuses=(0,)):
    result = subprocess.run([MESHSWEEP, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    if result.returncode not in statuses:
        raise SystemExit(f"{words}: status {result.returncode}: {result.stderr}")
    return result.stdout


def differs(a, b, share):
    return (a is None) != (b is None) or (a is not None and abs(a - b) > share * max(abs(a), abs(b)))


def expect(case, what, shown, right, share=1e-9):
    global wrong, figures
    figures += 1
    if differs(shown, right, share):
        wrong += 1
        print(f"{case}: {what}: shown {shown}, recounted {right}")


def number(text):
    return float(text) if text not in ("", None) else None


def page_values():
    """The numbers of t by x, as the page's script has them."""
    text = open("report.html", encoding="utf-8").read()
    data = json.loads(re.search(r"<script[^>]*id=.?data.?>(.*?)</script>", text, re.S)[1])
    columns = {c["name"]: c for c in data["columns"]}
    xs = [int(columns["x"]["levels"][code]) for code in columns["x"]["codes"]]
    numbers = columns["t"]["numbers"] if "t" in columns else [number(data["constants"].get("t"))] * len(xs)
    return dict(zip(xs, numbers))


def check(case, values, rates, better):
    """`values` and `rates`: of x, what its job comes to."""
    ranked = sorted((v for v in values.values() if v is not None), reverse=better == "max")
    left_out = sum(v is None for v in values.values())
    rows = {r["x"]: r for r in json.loads(run("results", "--json"))["records"]}
    for x, value in values.items():
        expect(case, f"results x={x}", rows[x].get("t"), value)
        expect(case, f"rate x={x}", rows[x].get("rate"), rates[x])
    best = json.loads(run("best", "--json", statuses=(0,)) or "{}") if ranked else {}
    expect(case, "best", best.get("value"), ranked[0] if ranked else None)
    if ranked:
        expect(case, "best's job", values[rows_of_job(rows, best["job"])], ranked[0])
        expect(case, "best's metric", best["metrics"]["t"]["value"], ranked[0])
    status = json.loads(run("status", "--json"))
    expect(case, "status", (status["best"] or {}).get("value"), ranked[0] if ranked else None)
    expect(case, "left out", status["unranked_jobs"], left_out)
    expect(case, "left out with a reason", float(bool(status["unranked_why"])), float(left_out > 0))
    run("export", "--all", "-o", "out.csv")
    exported = {int(r["x"]): number(r["t"]) for r in csv.DictReader(open("out.csv"))}
    for x, value in values.items():
        expect(case, f"export x={x}", exported[x], value)
    pairs = sum(values[a] is not None and values[b] is not None for a, b in ((1, 2),))
    compared = json.loads(run("compare", "--by", "x=1,2", "--json"))["comparisons"][0]
    expect(case, "compare", compared["median"] if pairs else None, values[2] / values[1] if pairs else None)
    run("report", "-o", "report.html")
    on_page = page_values()
    for x, value in values.items():
        expect(case, f"page x={x}", on_page.get(x), value, 1e-5)  # it has six digits


def rows_of_job(rows, job):
    return next(x for x, r in rows.items() if r["job"] == job)


def one(case):
    r = random.Random(f"{SEED} {case}")
    before = Definition(take=r.choice(["median", "mean", "last"]), warmup=r.choice([0, 0, 1]), unit=r.choice(["ms", "s", ""]))
    before.reader = r.choice(["time", "time", "key"]) if before.unit else "time"
    kind = r.choice(sorted(CHANGES))
    now = Definition(**{**before.__dict__, **CHANGES[kind](r, before)})
    lost = r.choice([None, None, "gone", "cut"])
    repeat = r.choice([1, 1, 2])
    directory = f"case-{case}"
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory + "/work")
    os.chdir(directory)
    texts = {(x, n): output(r) for x in (1, 2, 3) for n in range(1, repeat + 1)}
    for (x, n), text in texts.items():
        open(f"out.{x}.{n}", "w").write(text)
    open("job.sh", "w").write("n=$(($(cat n.$1 2>/dev/null || echo 0) + 1)); echo $n >n.$1; cat ../out.$1.$n\n")
    sweep_file(before, [1, 2], repeat)
    run("run", "-c", "s.toml", "--progress", "none")
    logs = {}
    for d, _, names in os.walk("results.db.d"):
        if "output.log" in names:
            logs[os.path.join(d, "output.log")] = open(os.path.join(d, "output.log")).read()
    hit = sorted(logs)[0] if lost else None
    if lost == "gone":
        os.remove(hit)
    elif lost == "cut":
        open(hit, "a").write("cut\n")
    sweep_file(now, [1, 2, 3], repeat)
    run("run", "-c", "s.toml", "--progress", "none", statuses=(0, 3))
    values, rates = {}, {}
    for x in (1, 2, 3):
        attempts = []
        for n in range(1, repeat + 1):
            whole = not (hit and logs[hit] == texts[x, n])
            attempts.append(expected(texts[x, n], before if x < 3 else None, now, whole))
        for into, numbers in zip((values, rates), zip(*attempts)):
            counted = sorted(v for v in numbers if v is not None)
            into[x] = quantile(counted, 0.5) if counted else None
    if values[3] is None:
        values.pop(3)  # its job failed for want of the metric
    check(f"case {case} ({kind} {before.__dict__} -> {now.__dict__}, log {lost}, repeat {repeat})", values, rates, now.better)
    os.chdir("..")


for number_of_case in range(CASES):
    one(number_of_case)
print(f"# {figures} figures of {CASES} cases, {wrong} wrong")
sys.exit(wrong > 0)
