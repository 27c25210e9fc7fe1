#!/usr/bin/env python3
"""How long a run lives after SIGINT while it lists a million jobs: bench_interrupts.py MESHSWEEP COUNT SEED.

Each time the sweep of scripts/bench.sh is run into a new database, once with --limit 1, which ends by itself when all
are listed, and once without, where two jobs at a time run meanwhile. SIGINT comes at a random moment until the listing
ends. Prints how long the process lived after it: half of the times, 95 % and all are within so many seconds. Then the
next run has to list every job. BENCH_DIR says where databases are made. Standard library only.
"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

KEYS = {"model": "a", "training_spec": "b", "parallel_spec": "c"}
FIRST, JOBS = 0.02, 1_000_000  # seconds; sooner the program is only being started


def write(directory):
    with open(os.path.join(directory, "sweep.toml"), "w") as out:
        out.write('[sweep]\nname = "million"\n[job]\ncommand = ["/bin/true", "{a}", "{b}", "{c}"]\n')
        for section, key in KEYS.items():
            out.write(f"[[{section}]]\n{key} = {list(range(100))}\n")


def start(meshsweep, directory, *options):
    command = [meshsweep, "run", "-c", "sweep.toml", "-d", "results.db", "-j2", "--progress", "none", *options]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def new_directory():
    return tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR"))


def seconds_of_listing(meshsweep):
    with new_directory() as directory:
        write(directory)
        begun = time.monotonic()
        start(meshsweep, directory, "--limit", "1").wait()
        return time.monotonic() - begun


def check(meshsweep, directory):
    start(meshsweep, directory, "--limit", "1").wait()
    db = sqlite3.connect(os.path.join(directory, "results.db"))
    found = db.execute("SELECT count(DISTINCT key) FROM job").fetchone()[0]
    sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    if (found, sound) != (JOBS, "ok"):
        sys.exit(f"the next run has {found} jobs in a database that is {sound}")


def sample(meshsweep, at, options, checks):
    """The seconds that it lived after SIGINT at so many; None where it had ended."""
    with new_directory() as directory:
        write(directory)
        process = start(meshsweep, directory, *options)
        time.sleep(at)
        if process.poll() is not None:
            return None
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait()
        lived = time.monotonic() - begun
        if checks:
            check(meshsweep, directory)
        return lived


def main(meshsweep, count, seed):
    meshsweep = os.path.abspath(meshsweep)
    rng, whole = random.Random(seed), seconds_of_listing(meshsweep)
    print(f"a million jobs are listed in {whole:.2f} s; the process lived after SIGINT meanwhile\n")
    print("| | times | half within, s | 95 % within, s | all within, s | over 0.1 s |\n|---|---|---|---|---|---|")
    for name, options in (("run --limit 1", ("--limit", "1")), ("run", ())):
        moments = [rng.uniform(FIRST, whole) for _ in range(count)]
        times = [sample(meshsweep, at, options, i % 10 == 0) for i, at in enumerate(moments)]
        times = sorted(t for t in times if t is not None)
        within = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.95, 1)]
        late = sum(t > 0.1 for t in times)
        print(f"| {name} | {len(times)} | {within[0]:.3f} | {within[1]:.3f} | {within[2]:.3f} | {late} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
