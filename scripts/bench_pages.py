#!/usr/bin/env python3
"""What open pages cost a run: bench_pages.py MESHSWEEP [PAIRS [SECONDS [PAGES]]]   (10 pairs, 5 s, 100 pages)

Each pair runs jobs that compute twice, once without a server and once with `report --serve` and so many pages open, in
turns. A page waits for events and fetches what changed, as a browser does; all of them are one process of this script.
They would be on other machines: what they take makes jobs fewer here, which is not the server's doing. Counted over the same seconds: jobs that ended, processor time of
the runner with its jobs, of the server and of the readers. Printed per pair and then as means with 95 % intervals."""
import asyncio
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

SCRIPT = os.path.realpath(__file__)
sys.path.append(os.path.join(os.path.dirname(SCRIPT), "..", "tests", "cli"))
from report_statistics import mean_half_width  # noqa: E402
SETTLE_S = 12  # the first page, and the one after it that has the first results, are made at once
SWEEP = """[sweep]
name = "pages"
objective = "max:score"
[job]
command = ["sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; echo score: {x}"]
[job.metrics.score]
regex = "score: ([0-9]+)"
[parallel_spec]
x = { from = 1, to = 3000 }
"""


def processor_seconds(pid):
    """With that of children that have ended."""
    with open("/proc/%d/stat" % pid) as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def ended():
    try:
        with sqlite3.connect("file:results.db?mode=ro", uri=True, timeout=10) as db:
            return db.execute("SELECT count(*) FROM job WHERE state = 'ok'").fetchone()[0]
    except sqlite3.OperationalError:  # it is being made
        return 0


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("bench_pages.py: waited for 30 s")
        time.sleep(0.02)


# --- readers ---

async def fetch(parts, path):
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(("GET %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (parts.path, path, parts.netloc)).encode())
    while await reader.read(1 << 16):
        pass
    writer.close()


async def look(parts):
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(("GET %sevents HTTP/1.1\r\nHost: %s\r\n\r\n" % (parts.path, parts.netloc)).encode())
    version = rows = None
    while line := await reader.readline():
        if not line.startswith(b"data: "):
            continue
        told = json.loads(line[6:])
        if version is not None and told["version"] != version:
            await fetch(parts, "changes?since=%d" % version)
        elif rows is not None and told["rows"] != rows:
            await fetch(parts, "rows?since=%d" % rows)
        version, rows = told["version"], told["rows"]


async def look_all(url, pages):
    await asyncio.gather(*(look(urllib.parse.urlsplit(url)) for _ in range(pages)), return_exceptions=True)


# --- one run ---

def measure(meshsweep, seconds, pages):
    """Jobs, and the processor time of the run, the server and the readers; each a second."""
    started = [subprocess.Popen([meshsweep, "run", "-j", str(os.cpu_count()), "--progress", "none"],
                                stderr=subprocess.DEVNULL)]
    try:
        wait_until(lambda: ended() > 5)
        if pages:
            server = subprocess.Popen([meshsweep, "report", "--serve"], stdout=subprocess.PIPE, text=True)
            url = server.stdout.readline().strip()
            readers = subprocess.Popen([sys.executable, SCRIPT, "--readers", url, str(pages)])
            started += [server, readers]
            wait_until(lambda: len(os.listdir("/proc/%d/fd" % server.pid)) > pages)
        time.sleep(SETTLE_S)
        before = [time.monotonic(), ended(), *(processor_seconds(p.pid) for p in started)]
        time.sleep(seconds)
        after = [time.monotonic(), ended(), *(processor_seconds(p.pid) for p in started)]
    finally:
        for p in reversed(started):
            p.terminate()
        time.sleep(0.2)
        started[0].terminate()
        for p in started:
            p.wait()
    return [(b - a) / (after[0] - before[0]) for a, b in zip(before[1:], after[1:])]


def mean_with_interval(values):
    mean, half = statistics.mean(values), mean_half_width(values)
    return "%.2f" % mean + (" (95 %% interval %.2f to %.2f)" % (mean - half, mean + half) if half is not None else "")


def main(meshsweep, pairs=10, seconds=5, pages=100):
    processors, directory = os.cpu_count(), tempfile.mkdtemp()
    shares, jobs, costs, reading = [], [], [], []
    os.chdir(directory)
    for pair in range(pairs):
        arms = {}
        for count in (0, pages) if pair % 2 else (pages, 0):
            for name in os.listdir("."):
                shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
            with open("sweep.toml", "w") as file:
                file.write(SWEEP)
            arms[count] = measure(meshsweep, seconds, count)
        (plain_rate, plain_cost), (rate, cost, server, readers) = arms[0], arms[pages]
        shares.append(100 * server / processors)
        reading.append(100 * readers / processors)
        jobs.append(100 * (rate / plain_rate - 1))
        costs.append(100 * ((cost / rate) / (plain_cost / plain_rate) - 1))
        print("pair %d: %.1f jobs/s without, %.1f with; server %.2f %%, readers %.2f %%; processor time of a job %+.2f %%"
              % (pair + 1, plain_rate, rate, shares[-1], reading[-1], costs[-1]), flush=True)
    os.chdir("/")
    shutil.rmtree(directory)
    print("server, %% of %d processors: %s" % (processors, mean_with_interval(shares)))
    print("readers, the same: " + mean_with_interval(reading))
    print("jobs in the same time, with against without, %: " + mean_with_interval(jobs))
    print("processor time of the run and its jobs for each job, the same: " + mean_with_interval(costs))


if sys.argv[1] == "--readers":
    asyncio.run(look_all(sys.argv[2], int(sys.argv[3])))
else:
    main(os.path.realpath(sys.argv[1]), *map(int, sys.argv[2:]))
