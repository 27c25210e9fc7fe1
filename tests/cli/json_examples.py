"""Compares the examples of docs/json.md with documents: json_examples.py PAGE DIRECTORY [--update]

An example follows a line `<!-- example: NAME -->` and is DIRECTORY/NAME.json, or each line of NAME.jsonl. What differs
from run to run and from machine to machine has the value in VOLATILE. With --update the page gets what is there.
"""
import json
import os
import re
import sys

VOLATILE = {"elapsed_ms": 1520, "duration_ms": 1204}
# Values of the counts of a run, which also depend on when they are taken.
VOLATILE_COUNTS = {"progress": {"done": 0, "ok": 0, "failed": 0, "running": 1, "being_recorded": 0, "pending": 1,
                                "jobs_per_second": None, "eta_ms": None, "best": None, "failure_classes": {}},
                   "end": {"jobs_per_second": 0.8, "eta_ms": 0}}
COLUMNS = 116


def settled(value):
    if isinstance(value, list):
        return [settled(v) for v in value]
    if not isinstance(value, dict):
        return value
    counts = VOLATILE_COUNTS.get(value.get("event"), {})
    return {n: counts[n] if n in counts else VOLATILE[n] if n in VOLATILE and v is not None else settled(v)
            for n, v in value.items()}


def laid_out(value, indent=0, taken=0):
    """JSON with what fits on one line on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + taken + len(flat) <= COLUMNS or not isinstance(value, (dict, list)) or not value:
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        inner = [json.dumps(n, ensure_ascii=False) + ": " + laid_out(v, indent + 2, len(n) + 4) for n, v in value.items()]
    else:
        inner = [laid_out(v, indent + 2) for v in value]
    lines, line = [], ""
    for part in inner:
        if line and ("\n" in part or "\n" in line or len(pad) + len(line) + len(part) + 3 > COLUMNS):
            lines.append(line + ",")
            line = part
        else:
            line = line + ", " + part if line else part
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    body = "\n".join(pad + part for part in lines + [line])
    return opening + "\n" + body + "\n" + " " * indent + closing


def example(directory, name):
    path = os.path.join(directory, name + ".json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            return laid_out(settled(json.load(f)))
    with open(path + "l", encoding="utf-8") as f:
        lines = {}
        for text in f:
            document = json.loads(text)
            lines.setdefault(document["event"], document)
        return "\n".join(laid_out(settled(d)) for d in lines.values())


def main():
    page, directory = sys.argv[1:3]
    with open(page, encoding="utf-8") as f:
        old = f.read()
    new = re.sub(r"(<!-- example: ([\w.-]+) -->\n```json\n).*?(```\n)",
                 lambda m: m[1] + example(directory, m[2]) + "\n" + m[3], old, flags=re.S)
    if "--update" in sys.argv:
        with open(page, "w", encoding="utf-8") as f:
            f.write(new)
    elif new != old:
        sys.stdout.writelines(line + "\n" for line in new.splitlines() if line not in old.splitlines())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
