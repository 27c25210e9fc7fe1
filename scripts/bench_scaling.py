#!/usr/bin/env python3
"""What `meshsweep predict --scale-to` says of runs that were held back: bench_scaling.py MESHSWEEP CONFIGS TABLES

Imports of each table the runs on few devices, asks for more of them, and compares with what ran there. Prints rows of a
Markdown table.
"""
import csv
import io
import math
import subprocess
import sys
import tempfile
from pathlib import Path

# File of configs/import, table, column with the number scaled, of what is here, of each there, key that is scaled; the
# devices of a unit of it; keys left out. The batches of InternEvo and MPT grow with their devices: without the key, so
# does that of a plan that is scaled.
TABLES = (
    ("internevo", "internevo.csv", "gpus", (8,), (16, 32), "num_hosts", 8, ("global_batch",)),
    ("mpt", "llm-foundry-mpt.csv", "gpus", (8, 16), (32, 64, 128, 256, 512), "num_hosts", 8, ("global_batch", "container")),
    ("vtrain", "vtrain-single-node.csv", "gpus", (2,), (4, 8), "num_devices_per_host", 1, ()),
    ("ultrascale", "ultrascale-1B-8B.csv", "nodes", (1, 2, 4, 8), (16, 32, 64), "num_hosts", 1, ()),
)


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: an import refused rows that the table itself marks as wrong
        sys.exit(f"bench_scaling.py: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def predicted(meshsweep, database, *options):
    text = run(meshsweep, "predict", "-d", database, "--format", "csv", *options)
    return list(csv.DictReader(io.StringIO(text)))


def import_rows(meshsweep, config, table, rows):
    """Returns a database of these rows of the table."""
    folder = Path(tempfile.mkdtemp(dir=config.parent))
    path = folder / table
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    run(meshsweep, "import", "-c", config, "-d", folder / "runs.db", path)
    return folder / "runs.db"


def plan(row):
    """The keys, which stand between those of the job and what became of it."""
    names = list(row)
    return tuple(row[name] for name in names[names.index("key") + 1 : names.index("state")])


def compare(ratios, inside):
    residuals = sorted(abs(math.log(r)) for r in ratios)
    bias = math.expm1(-sum(math.log(r) for r in ratios) / len(ratios))
    error = sum(abs(1 / r - 1) for r in ratios) / len(ratios)
    return (f"{len(ratios)} | {100 * error:.1f} % | {100 * bias:+.1f} % | {100 * inside / len(ratios):.0f} % | "
            f"{100 * math.expm1(residuals[len(residuals) // 2]):.0f} % | {100 * math.expm1(residuals[-1]):.0f} %")


def scale(meshsweep, configs, tables, folder, spec):
    name, table, column, here, there, key, devices, without = spec
    config = folder / f"{name}.toml"
    lines = (configs / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    config.write_text("\n".join(line for line in lines if line.split(" = ")[0] not in without) + "\n", encoding="utf-8")
    with (tables / table).open(newline="", encoding="utf-8") as source:
        rows = [row for row in csv.DictReader(source) if row.get("pp") == "1" or name != "ultrascale"]
    few = import_rows(meshsweep, config, table, [row for row in rows if float(row[column]) in here])
    for number in there:
        held = import_rows(meshsweep, config, table, [row for row in rows if float(row[column]) == number])
        measured = {plan(row): float(row["measured_time"]) for row in predicted(meshsweep, held) if row["measured_time"]}
        ratios, inside = [], 0
        for row in predicted(meshsweep, few, "--scale-to", f"{key}={number // devices}"):
            seconds = measured.get(plan(row))
            if seconds and row["predicted_time_here"]:
                ratios.append(seconds / float(row["predicted_time"]))
                inside += float(row["time_low"]) <= seconds <= float(row["time_high"])
        if ratios:
            print(f"| {name} | {column} {here[0]}{f' to {here[-1]}' if len(here) > 1 else ''} | {number} | "
                  f"{compare(ratios, inside)} |")


def main():
    meshsweep, configs, tables = map(Path, sys.argv[1:])
    for spec in TABLES:
        if (tables / spec[1]).exists():
            with tempfile.TemporaryDirectory() as folder:
                scale(meshsweep, configs, tables, Path(folder), spec)


main()
