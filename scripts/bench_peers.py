"""What one would write in Python instead: the peers of scripts/bench.sh. Standard library only.

plan                  match the product of 20 models, 16 clusters and 32,768 parallel specs under five rules; prints
                      the number that remains
section               the same for one section of 8,388,608 plans of one model, testing as soon as keys are bound
enumerate DB          hash a million combinations and insert them into a new database
resume DB             find among the same million those that are not done
jobs DB COUNT SLOTS   run /bin/true COUNT times from a thread pool, one durable SQLite row per job
models                walk through the 13,528,268 DHEN models of twelve mixers of four kinds in one to four layers, one
                      at a time, and print how many are within a tenth of the base's parameters
"""
import concurrent.futures
import hashlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

LAYERS = (2, 4, 6, 8, 12, 16, 24, 32, 40, 48)
SHAPES = ((1024, 16), (5120, 40))
DEVICES = (1, 2, 4, 8)
DEGREES = (1, 2, 3, 4, 6, 8, 12, 16)
MICRO_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)


def plan():
    remaining = 0
    parallel = list(itertools.product(DEGREES, DEGREES, DEGREES, MICRO_BATCHES, (0, 1, 2, 3), (0, 1)))
    for layers, (hidden, heads) in itertools.product(LAYERS, SHAPES):
        for hosts, devices in itertools.product(DEVICES, DEVICES):
            gpus = hosts * devices
            for tp, pp, dp, micro_batch, zero_stage, recompute in parallel:
                if (
                    tp * pp * dp == gpus
                    and layers % pp == 0
                    and heads % tp == 0
                    and 96 % (micro_batch * dp) == 0
                    and not (zero_stage >= 2 and pp > 1)
                ):
                    remaining += 1
    return remaining


def section():
    remaining = 0
    for dp in range(1, 129):
        for tp in range(1, 33):
            if dp * tp > 128 or 32 % tp:
                continue
            for pp in range(1, 33):
                if dp * tp * pp != 128 or 32 % pp:
                    continue
                for _, micro_batch in itertools.product(range(4), range(1, 17)):
                    remaining += 1024 % (micro_batch * dp) == 0
    return remaining


def million():
    """(key, JSON) of each of 100 x 100 x 100 combinations."""
    for a, b, c in itertools.product(range(100), range(100), range(100)):
        text = json.dumps({"a": a, "b": b, "c": c}, separators=(",", ":"))
        yield hashlib.blake2b(text.encode(), digest_size=16).digest(), text


def open_database(path):
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS job (key BLOB PRIMARY KEY, spec TEXT, state TEXT, seconds REAL)")
    return database


def enumerate_all(path):
    database = open_database(path)
    database.execute("BEGIN")
    database.executemany("INSERT INTO job VALUES (?, ?, 'ok', NULL)", million())
    database.execute("COMMIT")
    return database.execute("SELECT count(*) FROM job").fetchone()[0]


def resume(path):
    done = {key for (key,) in open_database(path).execute("SELECT key FROM job WHERE state = 'ok'")}
    return sum(key not in done for key, _ in million())


def jobs(path, count, slots):
    database = open_database(path)
    lock = threading.Lock()

    def one(number):
        start = time.monotonic()
        code = subprocess.run(["/bin/true", str(number)], check=False).returncode
        with lock:
            database.execute(
                "INSERT INTO job VALUES (?, ?, ?, ?)",
                (number.to_bytes(8, "big"), None, "failed" if code else "ok", time.monotonic() - start),
            )

    with concurrent.futures.ThreadPoolExecutor(slots) as pool:
        list(pool.map(one, range(count)))
    return database.execute("SELECT count(*) FROM job WHERE state = 'ok'").fetchone()[0]


FEATURES, DIMENSION, OUTPUTS = 512, 160, 50
MIXERS = {
    "DOT": lambda p: 512 * p * p + 512 + 512 * OUTPUTS * DIMENSION + OUTPUTS * DIMENSION,
    "LINEAR": lambda p: OUTPUTS * p + OUTPUTS,
    "ATTENTION": lambda p: 4 * DIMENSION**2 + 4096 * DIMENSION + 2048 + 6 * DIMENSION + OUTPUTS * p + OUTPUTS,
    "CONVOLUTION": lambda p: 26 + OUTPUTS * p + OUTPUTS,
}


def layer_parameters(mixers, inputs, skip):
    matcher = inputs * skip + inputs if inputs != skip else 0
    return 2 * DIMENSION + matcher + sum(MIXERS[mixer](inputs) for mixer in set(mixers))


def stacks(left, layers, inputs, skip, parameters):
    """The parameters of every stack of `layers` layers that uses up `left` mixers."""
    sizes = [left] if layers == 1 else range(1, left - layers + 2)
    for size in sizes:
        for mixers in itertools.combinations_with_replacement(MIXERS, size):
            total = parameters + layer_parameters(mixers, inputs, skip)
            if layers == 1:
                yield total
            else:
                yield from stacks(left - size, layers - 1, OUTPUTS * size, inputs, total)


def models():
    base = 215334328
    kept = 0
    for layers in range(1, 5):
        for parameters in stacks(12, layers, FEATURES, FEATURES, 0):
            kept += abs(parameters - base) <= 0.1 * max(parameters, base)
    return kept


def main(arguments):
    if arguments == ["plan"]:
        print(plan())
    elif arguments == ["section"]:
        print(section())
    elif arguments == ["models"]:
        print(models())
    elif len(arguments) == 2 and arguments[0] == "enumerate":
        if os.path.exists(arguments[1]):
            os.unlink(arguments[1])
        print(enumerate_all(arguments[1]))
    elif len(arguments) == 2 and arguments[0] == "resume":
        print(resume(arguments[1]))
    elif len(arguments) == 4 and arguments[0] == "jobs":
        print(jobs(arguments[1], int(arguments[2]), int(arguments[3])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
