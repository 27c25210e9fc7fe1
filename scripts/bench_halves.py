#!/usr/bin/env python3
"""What one half of a table teaches about the other: bench_halves.py MESHSWEEP CONFIGS TABLES

Imports one half of each table's rows, drawn at random, then the other half, once into an empty database and once behind
the first. Prints rows of a Markdown table: the second half's errors in both.
"""
import csv
import math
import random
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

SEED = 5  # of the draw
FEW = 10  # rows whose number is told

# File of configs/import, table.
TABLES = (
    ("ultrascale", "ultrascale-1B-8B.csv"),
    ("bigscience", "bigscience-tr11.csv"),
    ("torchtitan", "torchtitan.csv"),
    ("megatron-bridge", "megatron-bridge.csv"),
    ("internevo", "internevo.csv"),
    ("mpt", "llm-foundry-mpt.csv"),
    ("vtrain", "vtrain-single-node.csv"),
)


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def import_table(meshsweep, config, database, table):
    command = (meshsweep, "import", "-c", config, "-d", database, table)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_halves.py: {table.name}: {done.stderr.strip()}")


def last_attempt(database):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT max(id) FROM attempt").fetchone()[0]


def errors(database, after):
    """By quantity: how many attempts after that one were observed, and exp(mean |ln(predicted / measured)|) - 1 of these."""
    logarithms = {}
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT quantity, predicted, measured FROM observation WHERE attempt_id > ? AND kind = 'measured'"
        for quantity, predicted, measured in connection.execute(query, (after,)):
            logarithms.setdefault(quantity, []).append(abs(math.log(predicted / measured)))
    return {q: (len(several), math.expm1(sum(several) / len(several))) for q, several in logarithms.items()}


def compare(meshsweep, config, table, folder):
    with table.open(newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    random.Random(SEED).shuffle(rows)
    first, second = folder / "first.csv", folder / "second.csv"
    write(first, rows[: len(rows) // 2])
    write(second, rows[len(rows) // 2 :])
    import_table(meshsweep, config, folder / "alone.db", second)
    import_table(meshsweep, config, folder / "both.db", first)
    taught = last_attempt(folder / "both.db")
    import_table(meshsweep, config, folder / "both.db", second)
    return errors(folder / "alone.db", 0), errors(folder / "both.db", taught)


def cells(before, after, quantity):
    if quantity not in before or quantity not in after:
        return " | "
    return f"{100 * before[quantity][1]:.1f} % | {100 * after[quantity][1]:.1f} %"


def main():
    meshsweep, configs, tables = map(Path, sys.argv[1:])
    for name, file in TABLES:
        if not (tables / file).exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            before, after = compare(meshsweep, configs / f"{name}.toml", tables / file, Path(folder))
        rows = max(count for count, _ in after.values())
        told = f"{name} ({rows} rows)" if rows < FEW else name
        print(f"| {told} | {cells(before, after, 'memory')} | {cells(before, after, 'time')} |")


main()
