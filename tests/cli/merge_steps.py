#!/usr/bin/env python3
"""Imports, undoes and merges at random, in three databases, and recounts each from what was done.

merge_steps.py MESHSWEEP SEED STEPS, in an empty directory. Of a table, a database has to have the rows of the step that
changed them last, of all that reached it.
"""
import os
import random
import sqlite3
import subprocess
import sys

FILE = """[sweep]
name = "measured"
objective = "max:score"
[job.metrics.score]
better = "max"
[import.model]
n = "n"
[import.metrics]
score = "score"
"""
ROWS = """SELECT p.json ->> '$.n', s.value, a.line, substr(a.log_tail, 1, 1), j.state,
       j.sweep_id = (SELECT id FROM current_sweep)
FROM attempt AS a JOIN job AS j ON j.id = a.job_id JOIN spec AS p ON p.id = j.model_id
JOIN summary AS s ON s.attempt_id = a.id"""
OWNERS = {1: "a.db", 2: "a.db", 3: "b.db", 4: "b.db"}  # who imports a table first

meshsweep, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
known = {"a.db": {}, "b.db": {}, "all.db": {}}  # of each database: table → (step of its last change, rows)


def run(*arguments):
    done = subprocess.run([meshsweep, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"seed {seed}: {arguments}: {done.stdout}{done.stderr}")


def recount(step, database):
    tables = known[database].items()
    wanted = sorted((n, float(score), line + 2, str(table), "ok", 1)
                    for table, (_, rows) in tables for line, (n, score) in enumerate(rows))
    connection = sqlite3.connect(database)
    found = sorted(connection.execute(ROWS).fetchall())
    jobs = connection.execute("SELECT count(*) FROM job").fetchone()[0]
    connection.close()
    if found != wanted or jobs != len({row[0] for row in wanted}):
        sys.exit(f"seed {seed}, step {step}, {database}: {jobs} jobs\n{found}\nand not\n{wanted}")
    run("check", "-d", database)


def change(step, database, table):
    rows = [(random.randint(1, 4), random.randint(1, 6)) for _ in range(random.randint(1, 5))]
    with open(f"{table}.csv", "w", encoding="utf-8") as file:
        file.write("n,score\n" + "".join(f"{n},{score}\n" for n, score in rows))
    run("import", "-c", "import.toml", "-d", database, f"{table}.csv")
    before = known[database].get(table)
    known[database][table] = before if before and before[1] == rows else (step, rows)


def merge(source, database):
    run("merge", source, "-o", database)
    for table, state in known[source].items():
        known[database][table] = max(state, known[database].get(table, (0, [])))


with open("import.toml", "w", encoding="utf-8") as sweep_file:
    sweep_file.write(FILE)
for number in range(1, steps + 1):
    target, csv, kind = random.choice(list(known)), random.randint(1, 4), random.random()
    if kind < 0.35 and (OWNERS[csv] == target or csv in known[target]):
        change(number, target, csv)
    elif kind < 0.5 and known[target].get(csv, (0, []))[1]:
        run("import", "--undo", f"{csv}.csv", "-d", target)
        known[target][csv] = (number, [])
    else:
        other = random.choice([name for name in known if name != target])
        if os.path.exists(other):
            merge(other, target)
    if os.path.exists(target):
        recount(number, target)
