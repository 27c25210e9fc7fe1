"""Looks at a served report while its database changes: check_live.py CHROMIUM URL DATABASE SERVER_PID [rows]

With "rows" the page is of too many jobs to be made anew at each change.

Prints one line per thing that is not as it should be; status 1 when there is any. Ends the server."""

import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

from check_report import Browser, expect, filter_by, press, wait, wrong

SHOWN_VERSION = "document.documentElement.dataset.version"


def change(database, sql):
    connection = sqlite3.connect(database, timeout=10)
    connection.executescript("BEGIN;%s;COMMIT" % sql)  # at once, as a runner does: a look in between would have half
    connection.close()


def wait_for(page, what, expression, wanted, seconds=60):
    deadline = time.monotonic() + seconds
    while (got := page.value(expression)) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    expect(what, got, wanted)


def text(page, selector):
    return "document.querySelector(%r)?.textContent" % selector


def watch(page, database, server):
    live = "document.getElementById('live')?.textContent"
    wait_for(page, "the page says that it is live", live, "Live")
    page.value("void (window.stays = true)")
    filter_by(page, "zero_stage=3")
    kept = page.value("document.getElementById('shown').textContent")
    page.value("scrollTo(0, 600)")
    wait(page)
    at = page.value("[scrollY, location.hash]")
    change(database, "UPDATE sweep SET name = 'renamed <b>&amp;</b>'")
    wait_for(page, "a new name is shown", text(page, "h1"), "renamed <b>&amp;</b>")
    expect("without loading the page again", page.value("window.stays"), True)
    expect("where one was, with what one asked for", page.value("[scrollY, location.hash]"), at)
    expect("the filter stands", page.value("document.getElementById('words').value"), "zero_stage=3")
    expect("and holds", page.value("document.getElementById('shown').textContent"), kept)
    change(database, "UPDATE summary SET value = 4711 WHERE name = 'throughput' AND value ="
                     " (SELECT max(value) FROM summary WHERE name = 'throughput')")
    wait_for(page, "a new value has come", "document.getElementById('data').textContent.includes('4711')", True)
    filter_by(page, "")
    wait_for(page, "the table works on", "document.querySelectorAll('#table tbody tr').length > 3", True)
    page.value("document.getElementById('theme').click()")
    expect("each listener runs once", page.value("document.documentElement.classList.contains('dark') !=="
                                                 " document.documentElement.classList.contains('light')"))
    fetched = [e["params"]["request"]["url"] for e in page.events if e.get("method") == "Network.requestWillBeSent"]
    expect("nothing was asked of anybody else", {u.split("/")[2] for u in fetched if u.startswith("http")},
           {sys.argv[2].split("/")[2]})
    expect("the page was sent once", sum(u == sys.argv[2] for u in fetched), 1)
    os.kill(server, signal.SIGINT)
    wait_for(page, "an end is told", live, "Not live: the server does not answer. What is shown may be out of date.")


ENDS = """INSERT INTO attempt (id, job_id, number, runner_id, state, started) VALUES (90000, {0}, 1, 1, 'claimed', 1);
UPDATE attempt SET state = 'running' WHERE id = 90000; UPDATE job SET state = 'running' WHERE id = {0};
UPDATE attempt SET state = 'ok', ended = 5, duration_ms = 4 WHERE id = 90000;
INSERT INTO summary (attempt_id, name, value, count) VALUES (90000, 'throughput', 4711.5, 1);
UPDATE job SET state = 'ok', attempt_id = 90000 WHERE id = {0};"""


# A job of a run that began later, of combinations that the page has not seen.
ADDED = """INSERT INTO spec (id, kind, hash, json) SELECT max(id) + 1, 'parallel_spec', randomblob(16), '{"micro_batch": 3, "tp": 4711}'
FROM spec; INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, parallel_id, devices, state)
SELECT max(id) + 1, randomblob(16), 2, max(rank) + 1, 1, 2, (SELECT max(id) FROM spec), 8, 'pending' FROM job"""


def watch_rows(page, database, server):
    wait_for(page, "the page says that it is live", "document.getElementById('live')?.textContent", "Live")
    version = page.value(SHOWN_VERSION)
    ok = int(page.value("document.querySelector('.card.ok b').textContent"))
    page.value("void (document.querySelector('.card.ok span').textContent = 'of a search that had ended')")
    filter_by(page, "state=ok")
    press(page, "#more button")
    shown = page.value("document.querySelectorAll('#table tbody tr').length")
    job = sqlite3.connect(database).execute("SELECT min(id) FROM job WHERE state = 'pending'").fetchone()[0]
    change(database, ENDS.format(job))
    wait_for(page, "what ended is in the table, first", "document.querySelector('#table tbody tr').id", "j%d" % job)
    expect("of the same page", page.value(SHOWN_VERSION), version)
    expect("the count follows", page.value("document.querySelector('.card.ok b').textContent"), str(ok + 1))
    expect("and what it is of", page.value("document.querySelector('.card.ok span').textContent"), "ok")
    expect("so does the bar's", page.value("document.querySelector('#overview .legend').textContent.includes('ok %d')" % (ok + 1)))
    expect("with its title", page.value("document.querySelector('#overview .bar .x-ok title').textContent"), "%d ok" % (ok + 1))
    expect("the filter holds", page.value("document.getElementById('shown').textContent").split()[0], str(ok + 1))
    expect("as many rows are shown as before", page.value("document.querySelectorAll('#table tbody tr').length"), shown)
    told = page.value("document.getElementById('since').textContent")
    expect("what is not of this moment is told", (told.startswith("1 job has changed since "), "Job %d is ahead" % job in told),
           (True, True))
    page.value("void (location.hash = '#job=%d')" % job)
    wait_for(page, "of its details, too", text(page, "#chosen-note"), "The page was made before the last change of job %d: "
             "meshsweep show has its attempts, command and output." % job)
    filter_by(page, "tp=4711")
    expect("no job is there before it is listed", page.value("document.querySelectorAll('#table tbody tr').length"), 0)
    change(database, ADDED)
    wait_for(page, "a job that a later run lists is in the table", "document.querySelectorAll('#table tbody tr').length", 1)
    expect("of a page made anew", page.value(SHOWN_VERSION) != version)
    expect("the filter holds then, too", page.value("document.getElementById('words').value"), "tp=4711")
    os.kill(server, signal.SIGINT)


def main():
    program, url, database, server = sys.argv[1:5]
    profile = tempfile.mkdtemp(dir="/tmp")
    page = Browser(program, profile)
    try:
        page.open(url)
        (watch_rows if sys.argv[5:] == ["rows"] else watch)(page, database, int(server))
        for e in page.events:
            if e.get("method") == "Runtime.exceptionThrown":
                wrong.append("an exception: %s" % e["params"]["exceptionDetails"].get("exception", {}).get("description"))
    finally:
        page.process.kill()
        page.process.wait()
        shutil.rmtree(profile, ignore_errors=True)
    print("\n".join(wrong) or "as it should be")
    sys.exit(1 if wrong else 0)


main()
