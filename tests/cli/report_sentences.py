"""Holds each sentence of a report's plots against its database: report_sentences.py REPORT DATABASE

Of the sections named below every sentence has to be one that is known here, and each number in it is counted anew,
from the tables rather than the views. Prints a line for each sentence that says something else, and "checked N
numbers"; status 1 when there is any."""

import collections
import functools
import html.parser
import json
import math
import re
import shlex
import sqlite3
import statistics
import sys

from report_statistics import lead_reach, mean_error, mean_half_width, median_interval

SECTIONS = ("winner", "overview", "learning", "timeline", "effects", "front", "predicted", "jobs")
POINTS_MOST = 1500
wrong, checked = [], 0
page_job = None  # whose details are read; None: what stands beside the only winner


class Page(html.parser.HTMLParser):
    """Paragraphs by section, with the job whose details they are of, rows of tables by section and title, where a number
    is cut all of it, and what the script is given."""

    def __init__(self):
        super().__init__()
        self.job, self.winners, self.commands = None, {}, collections.defaultdict(str)
        self.paragraphs, self.tables = collections.defaultdict(list), collections.defaultdict(list)
        self.section, self.inside, self.summary, self.data = None, None, "", ""

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "section":
            self.section = attributes["id"]
        elif tag == "p":
            self.inside = "p"
            self.paragraphs[self.section].append(("", self.job))
        elif tag == "details" and "data-job" in attributes:
            self.job = int(attributes["data-job"])
        elif tag == "summary":
            self.inside, self.summary = "summary", ""
        elif tag == "pre" and self.section == "winner":
            self.inside = "command"
        elif tag == "tr":
            self.tables[self.section, self.summary].append([])
        elif tag in ("td", "th"):
            self.inside = "all" if "title" in attributes else "cell"
            self.tables[self.section, self.summary][-1].append(attributes.get("title", "").split(" ")[0])
        elif tag == "script" and attributes.get("id") == "data":
            self.inside = "data"
        elif tag in ("svg", "script"):
            self.inside = None

    def handle_endtag(self, tag):
        if tag in ("p", "summary", "table", "script", "pre"):
            self.inside = None
        if tag == "details":
            self.job = None
        if tag in ("details", "section"):
            self.summary = ""

    def handle_data(self, text):
        if self.inside == "p":
            words, job = self.paragraphs[self.section][-1]
            self.paragraphs[self.section][-1] = words + text, job
        elif self.inside == "summary":
            self.summary += text
            if self.job:
                self.winners[self.job] = self.summary
        elif self.inside == "command":
            self.commands[self.job] += text
        elif self.inside == "cell":
            self.tables[self.section, self.summary][-1][-1] += text.strip("\n")
        elif self.inside == "data":
            self.data += text


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
data = json.loads(page.data)
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[2], uri=True)
SWEEP, OBJECTIVE, MAXIMISE = db.execute(
    "SELECT id, objective, maximise FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1").fetchone()


def same(what, said, true):
    global checked
    checked += 1
    if said != true:
        wrong.append("%s: the page says %s, the database %s" % (what, said, true))


def rows(sql, *values):
    return db.execute(sql, values).fetchall()


def finite(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def better(a, b):
    return a > b if MAXIMISE else a < b


# --- what the database has ---

# It meets the conditions, and was not ended before the steps that a search asked for.
MAY_WIN = ("(a.id NOT IN (SELECT attempt_id FROM breach) AND (a.stopped_steps IS NULL OR a.id IN (SELECT attempt_id FROM"
           " trial WHERE resource > 0 AND resource <= a.stopped_steps)))")


def attempts():
    """Those that ended, in that order: job, failure, value, whether the job may win."""
    return rows("SELECT a.job_id, a.failure, (SELECT value FROM summary WHERE attempt_id = a.id AND name = ?),"
                " " + MAY_WIN +
                " FROM attempt AS a WHERE a.job_id IN (SELECT id FROM job WHERE sweep_id = ?) AND a.ended IS NOT NULL"
                " ORDER BY a.ended, a.id", OBJECTIVE, SWEEP)


@functools.cache
def metric_of_jobs(name):
    if name == "max_rss":
        return dict(rows("SELECT j.id, a.max_rss FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
                         " WHERE j.sweep_id = ? AND j.state = 'ok'", SWEEP))
    attempts = collections.defaultdict(list)
    for job, steps, value in rows("SELECT j.id, a.stopped_steps, s.value FROM job AS j JOIN attempt AS a ON a.job_id = j.id"
                                  " JOIN summary AS s ON s.attempt_id = a.id WHERE j.sweep_id = ? AND j.state = 'ok'"
                                  " AND a.state = 'ok' AND a.superseded IS NULL AND s.name = ?", SWEEP, name):
        attempts[job].append((math.inf if steps is None else steps, value))
    found = {}
    for job, all_of_it in attempts.items():
        most = max(steps for steps, _ in all_of_it)
        values = [value for steps, value in all_of_it if steps == most and value is not None]
        found[job] = statistics.median(values) if values else None
    return found


@functools.cache
def jobs_may_win():
    return {job for job, in rows("SELECT j.id FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
                                 " WHERE j.sweep_id = ? AND " + MAY_WIN, SWEEP)}


@functools.cache
def states():
    return collections.Counter(state for state, in rows("SELECT state FROM job WHERE sweep_id = ?", SWEEP))


def ends():
    return states()["ok"] + states()["failed"]


@functools.cache
def jobs_with_keys():
    """Of each job its state, its derived keys and its values by section and key, as far as there are any."""
    specs = {id_: (kind, json.loads(text)) for id_, kind, text in rows("SELECT id, kind, json FROM spec")}
    return {job: (state, json.loads(derived or "{}"), {
        (kind, k): v for kind, keys in (specs[i] for i in ids if i is not None) for k, v in keys.items() if v is not None})
        for job, state, derived, *ids in rows(
            "SELECT id, state, derived, cluster_id, model_id, training_id, parallel_id FROM job WHERE sweep_id = ?"
            " ORDER BY id", SWEEP)}


def not_replicated(keys):
    return {place: v for place, v in keys.items() if "%s.%s" % place not in listed("replicate")}


def effect_tables():
    return [t for (section, s), t in page.tables.items() if section == "effects" and "by matched" in s]


# --- what kinds of sentences say; the short ones are judged in KNOWN ---

def best_so_far(crosses, count, failed, best):
    list_ = attempts()
    same("crosses are told of", crosses is not None, int(failed) > 0)
    same("attempts", int(count), len(list_))
    same("failed ones", int(failed), sum(f is not None for _, f, _, _ in list_))
    at, value = None, None
    for number, (_, failure, v, may) in enumerate(list_, 1):
        if failure is None and may and finite(v) and (value is None or better(v, value)):
            at, value = number, v
    same("the attempt of the best", best and int(best), at)


def statement(sql):
    same("the winner's value by its statement", [finite(v) for v, in db.execute(sql)], [True])


def nothing_ended(jobs):
    same("attempts that ended", 0, len(attempts()))
    same("whether jobs ended", jobs, ends() > 0)


def timed():
    return rows("SELECT coalesce(r.host, '?'), coalesce(a.slot, '?') FROM attempt AS a LEFT JOIN runner AS r"
                " ON r.id = a.runner_id WHERE a.job_id IN (SELECT id FROM job WHERE sweep_id = ?)"
                " AND a.started IS NOT NULL AND a.ended >= a.started ORDER BY a.started, a.id", SWEEP)


def bars_cut(shown, count):
    same("attempts with a time", int(count), len(timed()))
    same("bars", int(shown), min(2500, len(timed())))


def points(column):
    memory, objective = metric_of_jobs(column), metric_of_jobs(OBJECTIVE)
    return {job: (memory[job], objective[job]) for job in memory
            if job in objective and finite(memory[job]) and finite(objective[job])}


def groups_of_jobs():
    """The values of the keys of group_by by job: () where none are listed."""
    return {job: tuple(str(keys.get(tuple(k.split(".", 1)))) for k in listed("group_by"))
            for job, (_, _, keys) in jobs_with_keys().items()}


def front(which, count, on, grouped):
    all_ = points(data["memory"].removeprefix("metric."))
    groups, allowed, kept = groups_of_jobs(), jobs_may_win(), 0
    same("whether groups are told", grouped is not None and which.startswith("Each"), len(set(groups.values())) > 1)
    same("jobs with both", int(count), len(all_))
    for group in set(groups.values()):
        best, may = None, {all_[job] for job in all_ if job in allowed and groups[job] == group}
        for _, value in sorted(may, key=lambda p: (p[0], -p[1] if MAXIMISE else p[1])):
            if best is None or better(value, best):
                best, kept = value, kept + 1
    same("of the front", int(on), kept)


def observations(quantity):
    return rows("SELECT o.predicted, o.measured FROM observation AS o JOIN attempt AS a ON a.id = o.attempt_id"
                " WHERE a.job_id IN (SELECT id FROM job WHERE sweep_id = ?) AND o.quantity = ? AND o.kind = 'measured'"
                " AND o.measured > 0 AND o.predicted > 0", SWEEP, quantity)


predicted_seen = []


def predicted(count, off):
    """The paragraph does not say of what; memory comes first where both are there."""
    lists = [list_ for list_ in map(observations, ("memory", "time")) if list_]
    list_ = lists[len(predicted_seen)] if len(predicted_seen) < len(lists) else []
    predicted_seen.append(list_)
    same("runs predicted and measured", int(count), len(list_))
    if list_:
        same("the mean error in %", off, "%.1f" % (100 * sum(abs(p / m - 1) for p, m in list_) / len(list_)))


def predicted_of_table(count, off):
    """No attempt of ours was compared: at most as many as have a prediction, and that error for what the table shows."""
    quantity = "memory" if any("emory" in s for (section, s) in page.tables if section == "predicted") else "time"
    same("comparisons of attempts", 0, len(observations(quantity)))
    most, = rows("SELECT count(*) FROM job WHERE sweep_id = ? AND state = 'ok' AND coalesce(predicted_memory, predicted_time) > 0",
                 SWEEP)[0]
    same("no more than have a prediction", True, int(count) <= most)
    shown = [t[1:] for (section, s), t in page.tables.items() if section == "predicted" and s and len(t) - 1 == int(count)]
    errors = ["%.1f" % (100 * statistics.mean(abs(float(r[1]) / float(r[2]) - 1) for r in t)) for t in shown]
    if int(count) <= 250:
        same("the mean error in %", True, any(abs(float(e) - float(off)) <= 0.11 for e in errors))
    for table in shown:
        for job, said, *_ in table:
            true = rows("SELECT predicted_memory, predicted_time FROM job WHERE id = ?", job)[0]
            same("what was predicted of job " + job, True,
                 any(t and math.isclose(t, float(said), rel_tol=1e-5) for t in true))


def best_against_best(keys):
    for key, pairs, least in re.findall(r"(\S+) \(too few pairs: (\d+) of (\d+)\)", keys):
        same("too few pairs of " + key, True, int(pairs) < int(least))
        if key in plain_keys():
            same("pairs of %s alone" % key, int(pairs), most_pairs(key))


def apart(keys):
    for key in keys.rstrip("… ").split(", "):
        if key in plain_keys():
            same("pairs that differ in %s alone" % key, 0, sum(len(r) for r in ratios_of(key).values()))


@functools.cache
def plain_keys():
    """Keys that one section alone has, none of its labels: with these pairs are counted."""
    of = collections.defaultdict(set)
    for kind, text in rows("SELECT kind, json FROM spec"):
        for key in json.loads(text):
            of[key].add(kind)
    return {key for key, kinds in of.items() if len(kinds) == 1 and key not in ("name", "description")}


def text_of(value):
    return json.dumps(value) if isinstance(value, bool) else "%g" % value if isinstance(value, float) else str(value)


@functools.cache
def ratios_of(key, free=()):
    """(a, b) -> ratios b over a, of pairs that differ in the key alone and have the same batch; replicates are their
    mean. Of what differs in `free` keys alone, the best."""
    values, replicated = metric_of_jobs(OBJECTIVE), set(listed("replicate"))
    means, groups = collections.defaultdict(list), collections.defaultdict(list)
    for job, (state, derived, found) in jobs_with_keys().items():
        batch = derived.get("global_batch"), derived.get("train_batch_size")
        found = {place: v for place, v in found.items() if place[1] not in ("name", "description")
                 and ("%s.%s" % place not in replicated or place[1] == key)}
        own = [place for place in found if place[1] == key]
        rest = json.dumps(sorted((list(p), v) for p, v in found.items() if p not in own), sort_keys=True)
        if own and state == "ok" and finite(values.get(job)):
            means[rest, batch, text_of(found[own[0]])].append(values[job])
    best = {}
    for (rest, batch, value), list_ in means.items():
        mean = statistics.mean(list_)
        fixed = json.dumps([[place, v] for place, v in json.loads(rest) if place[1] not in free])
        if (fixed, batch, value) not in best or better(mean, best[fixed, batch, value]):
            best[fixed, batch, value] = mean
    for (fixed, batch, value), mean in best.items():
        if mean > 0:
            groups[fixed, batch].append((value, mean))
    ratios = collections.defaultdict(list)
    for group in groups.values():
        for a, x in group:
            for b, y in group:
                if a != b:
                    ratios[a, b].append(y / x)
    return ratios


def most_pairs(key):
    return max((len(r) for r in ratios_of(key).values()), default=0)


def effects_table():
    found = effect_tables()
    freed = {key: tuple(keys.split(", ")) for key, keys in re.findall(
        r"(\S+) \(too few pairs: \d+ of \d+\) with ([^;.]+)", " ".join(words for words, _ in page.paragraphs["effects"]))}
    for key, b, a, pairs, median, low, high, words in found[0][1:] if found else []:
        if key in plain_keys():
            ratios = ratios_of(key, freed.get(key, ())).get((a, b), [])
            same("pairs of %s, %s against %s" % (key, b, a), int(pairs), len(ratios))
            if key not in freed:
                same("their median ratio", median, "%.6g" % statistics.median(ratios) if ratios else "")
                interval(key, ratios, low, high)
        verdict(int(pairs), median, low, high, words)


def together(count):
    """How many intervals hold together: those of three pairs or more."""
    found = effect_tables()
    if found and len(found[0]) <= 200:
        same("intervals that hold together", int(count), sum(int(row[3]) >= 3 for row in found[0][1:]))


def interval(key, ratios, low, high):
    count = re.search(r"The (\d+) intervals hold together", " ".join(words for words, _ in page.paragraphs["effects"]))
    true = median_interval(ratios, int(count[1]) if count else 1)
    same("whether there is an interval for %s" % key, low != "", true is not None)
    for said, end in zip((low, high), true or ()):
        same("the interval's end for %s: %s for %g" % (key, said, end), math.isclose(float(said), end, rel_tol=1e-4), True)


def verdict(pairs, median, low, high, words):
    if pairs < 6:
        true = "too few pairs: %d of 6" % pairs
    elif float(low) <= 1 <= float(high):
        true = "not told apart (%d)" % pairs
    else:
        true = "%s by %.3g %% (%d)" % ("better" if (float(low) > 1) == bool(MAXIMISE) else "worse",
                                       abs(float(median) - 1) * 100, pairs)
    same("what that says", re.sub(r"[\d.]+ %", lambda m: "%.2g %%" % float(m[0][:-2]), words),
         re.sub(r"[\d.]+ %", lambda m: "%.2g %%" % float(m[0][:-2]), true))


# --- the winner ---

def ranked():
    values, may = metric_of_jobs(OBJECTIVE), jobs_may_win()
    found = [(-v if MAXIMISE else v, job) for job, v in values.items() if finite(v) and job in may]
    return [(job, values[job]) for _, job in sorted(found)]


def winner(value, objective, job):
    same("the winner", int(job), ranked()[0][0])
    same("what is sought", objective, OBJECTIVE)


def unranked(jobs, why):
    notes = collections.Counter(note for note, in rows(
        "SELECT s.note FROM job AS j JOIN summary AS s ON s.attempt_id = j.attempt_id WHERE j.sweep_id = ? AND j.state = 'ok'"
        " AND s.name = ? AND s.value IS NULL AND s.note IS NOT NULL", SWEEP, OBJECTIVE))
    same("jobs that are not compared", int(jobs), sum(notes.values()))
    same("why they are not", why, min(notes, key=lambda note: (-notes[note], note)))


def error_of_job(job):
    """Of what was measured of the job, (error, freedom): over its attempts, or over samples of the only one."""
    values = [v for v, in rows("SELECT s.value FROM attempt AS a JOIN summary AS s ON s.attempt_id = a.id AND s.name = ?"
                               " WHERE a.job_id = ? AND a.state = 'ok' AND s.value IS NOT NULL AND " + MAY_WIN, OBJECTIVE, job)]
    if len(values) > 1:
        value = metric_of_jobs(OBJECTIVE)[job]
        error = math.sqrt(sum((v - value) ** 2 for v in values) / (len(values) - 1) / len(values))
        return error * (math.sqrt(math.pi / 2) if len(values) > 2 else 1), len(values) - 1
    (count, deviation, take), = rows(
        "SELECT s.count, s.stddev, coalesce((SELECT take FROM metric_definition WHERE name = s.name), 'median')"
        " FROM job AS j JOIN summary AS s ON s.attempt_id = j.attempt_id WHERE j.id = ? AND s.name = ?", job, OBJECTIVE)
    if count < 2 or deviation is None or take not in ("mean", "median"):
        return None
    return deviation / math.sqrt(count) * (math.sqrt(math.pi / 2) if take == "median" and count > 2 else 1), count - 1


def near(what, said, true):
    """Two digits, of quantiles that are tables there."""
    same("%s: %s for %g" % (what, said, true), math.isclose(float(said), true, rel_tol=0.06, abs_tol=1e-9), True)


Rival = collections.namedtuple("Rival", "jobs values value")


def error_of(rival):
    """Of replicates by their values, of a job by what was measured of it."""
    return mean_error(rival.values) if listed("replicate") else error_of_job(min(rival.jobs))


def reach(first, other, rivals):
    return lead_reach(error_of(first), error_of(other), len(rivals) + 1)


def contest(of=None):
    """Who competes with the job, the winner first: jobs and the mean of their values; of=None: all jobs."""
    if of is None:
        return [Rival({job}, [value], value) for job, value in ranked()]
    configuration_of, group_of, _ = competitors()
    values, may = metric_of_jobs(OBJECTIVE), jobs_may_win()
    found = collections.defaultdict(set)
    for job, key in configuration_of.items():
        if group_of[key] == group_of[configuration_of[of]]:
            found[key].add(job)
    rivals = []
    for jobs in found.values():
        good = [values[j] for j in sorted(jobs) if j in may and finite(values.get(j))]
        if good:
            rivals.append(Rival(jobs, good, statistics.mean(good)))
    return sorted(rivals, key=lambda r: (-r.value if MAXIMISE else r.value, min(r.jobs)))


def second(job):
    """The winner and the one after it, which the page says to be that job, or another one as good."""
    first, next_, *others = contest(page_job)
    named = [r for r in [next_, *others] if int(job) in r.jobs]
    same("the second", [next_.value], [r.value for r in named])
    return first, named[0] if named else next_


def ahead(share, way, job, low, high):
    first, other = second(job)
    near("the lead in %", share, abs(first.value - other.value) / abs(other.value) * 100)
    same("which way", way, "ahead of" if MAXIMISE else "below")
    half = reach(first, other, contest(page_job)[1:])
    same("whether there is an interval", low is not None, half is not None)
    if low is not None:
        for said, sign in (low, -1), (high, 1):
            near("its interval", said, (abs(first.value - other.value) + sign * half) / abs(other.value) * 100)


def level(job):
    first, other = second(job)
    same("less than 0.01 %", abs(first.value - other.value) / abs(other.value) < 1e-4, True)


def are_alike(first, other, rivals):
    half = reach(first, other, rivals)
    return half is not None and abs(first.value - other.value) <= half


def alike(count, jobs, _, hours):
    first, *others = contest(page_job)
    true = [r for r in others if are_alike(first, r, others)]
    same("those that cannot be told apart", int(count), len(true))
    named = [int(job) for job in re.findall(r"job (\d+)", jobs)]
    same("the first of them", [r.value for r in true[:len(named)]],
         [r.value for job in named for r in true if job in r.jobs])
    if hours:
        own = page_job or min(first.jobs)
        taken, = rows("SELECT sum(a.duration_ms * j.devices) / 3600000.0 FROM job AS j JOIN attempt AS a ON a.id ="
                      " j.attempt_id WHERE j.id IN (%s)" % ",".join(map(str, [own, *named])))[0]
        near("device-hours", hours, taken)


def neighbours(count, ended, ended_and_failed, failed):
    jobs = {job: (state, {place: json.dumps(v) for place, v in not_replicated(keys).items() if place[1] != "description"})
            for job, (state, _, keys) in jobs_with_keys().items()}
    parts = set()
    for key in {k for _, found in jobs.values() for k in found}:
        numbers = {}
        parts.add(tuple(numbers.setdefault(found.get(key), len(numbers)) for _, found in jobs.values()))
    own = page_job or ranked()[0][0]
    at, group = list(jobs).index(own), groups_of_jobs()
    differ = [sum(p[i] != p[at] for p in parts) for i in range(len(jobs))]
    states = [state for i, (job, (state, _)) in enumerate(jobs.items()) if differ[i] == 1 and group[job] == group[own]]
    same("jobs that differ in one key", int(count), len(states))
    same("ended ones of them", int(ended or 0) if failed is None else len(states), states.count("ok") + states.count("failed"))
    same("failed ones of them", int(ended_and_failed or failed or 0), states.count("failed"))


def none_but_failed(still, failed):
    same("jobs that are ok", 0, states()["ok"])
    same("failed jobs", int(failed), states()["failed"])
    same("others", bool(still), sum(states().values()) > int(failed))


BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def rounded(size):
    """"9.22 MiB" of its bytes."""
    unit = max((u for u in BYTES if BYTES[u] <= size), key=BYTES.get)
    return "%s %s" % (float("%.3g" % (size / BYTES[unit])), unit)


def device_memory(taken, taken_unit, all_, all_unit, percent):
    winner_id = page_job or ranked()[0][0]
    capacity = [v for (_, k), v in jobs_with_keys()[winner_id][2].items() if k == "device_memory"][0]
    used, = rows("SELECT s.value FROM summary AS s JOIN job AS j USING (attempt_id) WHERE j.id = ? AND s.name LIKE"
                 " '%memory%' AND s.name <> 'device_memory_peak'", winner_id)[0]
    same("memory taken", "%s %s" % (float(taken), taken_unit), rounded(used))
    same("memory of a device", "%s %s" % (float(all_), all_unit), rounded(capacity))
    same("share of it", int(percent), round(100 * used / capacity))


def search(strategy, trials, ok, stopped, failed, running, ended, pending, command, most, of_pending):
    id_, name, finished, options = rows("SELECT id, strategy, finished, options FROM search WHERE sweep_id = ? ORDER BY id"
                                        " DESC LIMIT 1", SWEEP)[0]
    outcomes = [o for o, in rows("SELECT outcome FROM trial WHERE search_id = ? AND asked IS NOT NULL", id_)]
    waiting = states()["pending"]
    same("strategy", strategy, name)
    same("trials", [int(n or 0) for n in (trials, ok, stopped, failed, running)],
         [len(outcomes)] + [outcomes.count(o) for o in ("ok", "stopped", "failed", None)])
    same("why it ended", ended, finished)
    same("pending jobs", int(pending or of_pending or 0), waiting if finished is None or waiting else 0)
    if command is not None:
        limits = [n for n in ("max_trials", "early_stopping", "budget", "deadline") if json.loads(options).get(n, 0) > 0]
        words = shlex.split(command)
        same("how it begins", "meshsweep run", " ".join(words[:2]))
        same("what lifts the limits", words[words.index("--strategy"):],
             ["--strategy", "grid"] + [w for n in limits for w in ("--" + n.replace("_", "-"), "0")])
    if most is not None:
        same("trials to come", int(most), min(json.loads(options)["max_trials"] - len(outcomes), waiting))


def other_sweeps(count, names):
    others = [n for n, in rows("SELECT name FROM sweep WHERE id <> ? ORDER BY last_seen DESC, id DESC", SWEEP)]
    same("other sweeps", int(count), len(others))
    same("their names", names, ", ".join(others[:10]) + (", …" if len(others) > 10 else ""))


@functools.cache
def listed(name):
    return [k for text, in rows("SELECT value FROM meta WHERE name = ?", name) for k in json.loads(text)]


@functools.cache
def competitors():
    """The configuration of each job, and of configurations the group and the states of their jobs."""
    of, states_of, group_of = {}, collections.defaultdict(list), {}
    for job, (state, _, keys) in jobs_with_keys().items():
        of[job] = json.dumps(sorted((list(place), v) for place, v in not_replicated(keys).items()), sort_keys=True)
        states_of[of[job]].append(state)
        group_of[of[job]] = [(k, keys.get(tuple(k.split(".", 1)))) for k in listed("group_by")]
    return of, group_of, states_of


def winning_configurations():
    """The table of winners where replicates or groups compete: each row from the jobs of its configuration, and below
    it of each the sentences and the command."""
    table = next((t for (section, s), t in page.tables.items() if section == "winner" and t and "job" == t[0][-1]), None)
    if not table or not (listed("replicate") or listed("group_by")):
        return
    of, group_of, states = competitors()
    at = table[0].index(next(t for t in table[0] if OBJECTIVE in t))
    same("groups with a winner", len(table) - 1, len(ranked_groups()))
    same("groups with details", list(page.winners), [int(row[-1]) for row in table[1:]])
    for row in table[1:]:
        cells = dict(zip((title.split(" ")[0] for title in table[0]), row))
        job = int(cells["job"])
        first, *rivals = contest(job)
        same("whether job %d is of the winner" % job, job in first.jobs, True)
        near("the mean of job %d" % job, row[at], first.value)
        same("its group's name has the values of its keys", True, all(
            isinstance(v, int) and v >= 1 << 20 or "%s=%s" % (k.split(".", 1)[1], text_of(v)) in row[0]
            for k, v in group_of[of[job]]))
        half = mean_half_width(first.values)
        if listed("replicate"):
            same("replicates", int(cells["replicates"]), len(first.values))
            same("failed ones", int(cells["failed"]), states[of[job]].count("failed"))
            same("alike ones", int(cells["cannot"]), sum(are_alike(first, r, rivals) for r in rivals))
            if half is not None:
                near("their median", cells["median"], statistics.median(first.values))
                for said, true in (cells["from"], first.value - half), (cells["to"], first.value + half):
                    same("the interval's end %s for %g" % (said, true), math.isclose(float(said), true, rel_tol=1e-3), True)
        same("whether job %d is ahead of any" % job, cells["ahead"] != "", bool(rivals))
        sentences = " ".join(words for words, whose in page.paragraphs["winner"] if whose == job)
        same("whether a sentence says it", bool(re.search("ahead of job|below job|% from job", sentences)), bool(rivals))
        commands = [json.loads(c) for c, in rows("SELECT a.command FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
                                                 " WHERE j.id = ?", job) if c]
        for command in commands:
            same("whether its command is there", True, " ".join(map(shlex.quote, command)).split()[0] in page.commands[job])
            same("all of its words", command, shlex.split(page.commands[job])[-len(command):])
        if not rivals:
            continue
        reached = reach(first, rivals[0], rivals)
        near("its lead in %", cells["ahead"].removesuffix(" %"),
             abs(first.value - rivals[0].value) / abs(rivals[0].value) * 100)
        same("whether the lead has an interval", cells["by"] != "", reached is not None)
        if reached is not None:
            for said, sign in (cells["by"], -1), (cells["at"], 1):
                near("its interval", said.removesuffix(" %"), (abs(first.value - rivals[0].value)
                                                               + sign * reached) / abs(rivals[0].value) * 100)


def how_to_use(word):
    """The name by which `best` knows the group."""
    of, group_of, _ = competitors()
    name = ", ".join("%s=%s" % (k.split(".", 1)[1] if not k.endswith(".name") else k, "none" if v is None else text_of(v))
                     for k, v in group_of[of[page_job]])
    same("the group's name", shlex.split(word), [name])


def ranked_groups():
    of, group_of, _ = competitors()
    return {str(group_of[of[j]]) for j, v in metric_of_jobs(OBJECTIVE).items() if finite(v) and j in jobs_may_win()}


def groups_cut(shown, count):
    same("groups", int(count), len(ranked_groups()))
    same("those shown", int(shown), min(len(ranked_groups()), 100))


# --- overview ---

def cut(shown, count, what):
    """A note below a table that has not all rows."""
    true = {"jobs": lambda: len(points(data["memory"].removeprefix("metric."))), "attempts": lambda: len(attempts()),
            "runs": lambda: max(len(observations("memory")), len(observations("time"))), "rows": lambda: int(count)}
    same("all " + what, int(count), true[what]())
    same("a table of %s rows" % shown, True, any(len(t) - 1 == int(shown) for t in page.tables.values()))


def values_cut(key, cut, count, characters):
    values = {text_of(v) for _, _, keys in jobs_with_keys().values() for (_, k), v in keys.items() if k == key}
    same("values of " + key, int(count), len(values))
    same("longer ones", int(cut), sum(len(v) > int(characters) for v in values))
    levels = next(c["levels"] for c in data["columns"] if c["name"] == key)
    same("what is left of them", {len(level) for level in levels if level.endswith("…")}, {int(characters)})


def best_rows(shown, count):
    same("jobs", int(count), sum(states().values()))
    same("rows", int(shown), len(page.tables["jobs", ""]) - 1)


def nothing():
    """States no number of this database."""


no_objective = lambda: same("whether an objective is declared", "no", OBJECTIVE or "no")

KNOWN = [
    (r"Of (\S+) (\d+) of (\d+) values are cut after (\d+) characters; meshsweep export has them in full\.", values_cut),
    (r"Click a column's name to sort\. .*", nothing),
    (r"Show more rows(?: show all)?|show all|show unpin all", nothing),
    (r"There are no jobs\.", lambda: same("jobs", {}, states())),
    (r"Without JavaScript, only the best (\d+) of (\d+) jobs are shown\.", best_rows),
    (r"The sweep declares no objective\.", no_objective),
    (r"The line is the best so far(; crosses at the bottom are failed attempts)?\. (\d+) attempts?, (\d+) failed; "
     r"(?:attempt (\d+) was the best|none can win)\.", best_so_far),
    (r"No attempt has ended with a finite objective yet\.", lambda: same(
        "attempts with a finite objective", 0, sum(f is None and finite(v) for _, f, v, _ in attempts()))),
    (r"The times of attempts are not known, because these jobs come from a table\.",
     lambda: nothing_ended(True)),
    (r"No attempt has ended yet\.", lambda: nothing_ended(False)),
    (r"There are (\d+); one in (\d+) is drawn\.",
     lambda count, nth: same("one in so many", int(nth), math.ceil(int(count) / POINTS_MOST))),
    (r"Dotted lines mark idle times that were cut out\.", nothing),
    (r"Only the first 64 slots are drawn\.", lambda: same("whether there are more", True, len(set(timed())) > 64)),
    (r"The first (\d+) of (\d+) attempts are drawn\.", bars_cut),
    (r"(The line is the Pareto front|Each line is the Pareto front of a group): (\d+) jobs?, (\d+) of them on "
     r"(?:the front|the fronts of their groups): no other job (?:that may win )?(of the group )?both takes less memory and "
     r"is better\.", front),
    (r"No successful job has both a finite objective and a value for memory\.",
     lambda: same("jobs with both", 0, len(points(data["memory"].removeprefix("metric."))) if data["memory"] else 0)),
    (r"No job reports memory\. A metric with the word memory in its name, such as peak_memory_bytes, would be shown "
     r"here\.", lambda: same("a metric of memory", "", data["memory"])),
    (r"(\d+) runs; the mean error of the predictions made before each run is ([\d.]+) %\.", predicted),
    (r"(\d+) jobs; the mean error of the predictions is ([\d.]+) %\.", predicted_of_table),
    (r"On the line a prediction is right; above it, too high\.", nothing),
    (r"Nothing was both predicted and measured\. To get predictions, add a \[predict\] table to the sweep file\.",
     lambda: same("comparisons", 0, len(observations("memory")) + len(observations("time")))),
    (r"Pairs of jobs that are equal in everything else and in the global batch, the keys that surely change the objective "
     r"most first\. Thick line: the interval of the "
     r"median; thin line: the middle half of the pairs; in parentheses: the number of pairs\. With fewer than \d+ "
     r"pairs, no conclusion is drawn\.", nothing),
    (r"The (\d+) intervals hold together with 95 %, so they are wider than those of meshsweep compare, which shows one "
     r"key\.", together),
    (r"The first (\d+) of (\d+) are shown\.", lambda shown, _: same("rows that are shown", 80, int(shown))),
    (r"No two successful jobs differ in only one key\.", lambda: same("rows of effects", [], effect_tables())),
    (r"The best of each side is compared, chosen by the other half of the pairs, over the keys that rules and derived keys "
     r"tie to the key: (.*)\.",
     best_against_best),
    (r"No two successful jobs differ in only one of these keys, so their effects are not known: (.*)\.", apart),
    (r"(\d+) of (\d+) (jobs|runs|rows|attempts)(?:, those with the least memory; All jobs has both values of every job|"
     r", the first ones|: those that improved on the best so far)\.", cut),
    (r"(\S+ ?\S*(?: \S+)?) (\S+), job (\d+)", winner),
    (r"not compared: (\d+) ok jobs? without a number: (.*)", unranked),
    (r"([\d.e+-]+) % (ahead of|below) job (\d+)(?:; one of the two was measured only once, so the uncertainty is not known|"
     r", 95 % interval ([\d.e+-]+) to ([\d.e+-]+) %(?: from the samples of single runs, which say nothing about how much "
     r"runs differ)?)\.", ahead),
    (r"Less than 0\.01 % from job (\d+)(?:; one of the two was measured only once, so the uncertainty is not known|"
     r", 95 % interval \S+ to \S+ %(?: from the samples of single runs, which say nothing about how much runs differ)?)"
     r"\.", level),
    (r"It cannot be told apart from (\d+) others? \(95 %\): ((?:job \d+(?:, )?)+…?)\."
     r"(?: One more run of each, one after the other, takes (.*?) and (\S+) device-hours\.)?", alike),
    (r"Of (\d+) jobs? that differs? from it in one key, (?:none has ended|(\d+) ended and (\d+) of these failed|(\d+) failed)"
     r"(?:: [^.]*)?\.", neighbours),
    (r"No job has succeeded( yet)?: (\d+) failed \(why\)\.", none_but_failed),
    (r"It uses ([\d.]+) (\S+) of a device's ([\d.]+) (\S+) \((\d+) %\)\.", device_memory),
    (r"Search by (\S+): (\d+) trials?, (\d+) ok, (\d+) stopped early, (\d+) failed(?:, (\d+) open)?\."
     r"(?: It ended: (.*?)\.(?: (\d+) pending jobs? will not run: (.*?) runs what the search left out"
     r"\.)?| At most (\d+) more to come, of (\d+) pending\.)?", search),
    (r"This page shows the sweep that was run last; the database has (\d+) others?: (.*)\.", other_sweeps),
    (r"It has no command, because it was measured elsewhere \(.*\)\.", nothing),
    (r"To run it again:", nothing),
    (r"In SQL: (SELECT value FROM job_metric WHERE job_id = \d+ AND name = '.*'), (?:the median over \d+ attempts, each )?"
     r"(?:the \w+ of its samples(?: after \d+ of warm-up)?|worked out from other metrics|as recorded); an average over all "
     r"rows of a metric is another figure\.", statement),
    (r"No job has succeeded yet\.", lambda: same("jobs that are ok", 0, states()["ok"])),
    (r"Some jobs succeeded, but none has a finite objective\.",
     lambda: same("whether jobs are ok, and may win", (True, []), (states()["ok"] > 0, ranked()))),
    (r"The sweep declares no objective: add objective = \"max:METRIC\" or \"min:METRIC\" under \[sweep\] and run it once "
     r"more\.", no_objective),
    (r"The first (\d+) of (\d+) groups are shown\.", groups_cut),
    (r"Groups are not compared with each other\.", nothing),
    (r"Files to use it: meshsweep best(?: -d \S+)? --group (.*) --out DIR", how_to_use),
    (r"Values are means over replicates; the job shown is the median one\.", nothing),
    (r"No objective is declared, so there is no best job\..*", no_objective),
    (r"Sought: the (highest|lowest) (\S+)\. First run at .*", lambda way, objective: same(
        "what is sought", (way, objective), ("highest" if MAXIMISE else "lowest", OBJECTIVE))),
    (r"Jobs with metrics from only a part of their output \(partial\): (\d+), for example: .*", lambda count: same(
        "jobs with what caps left out", int(count), len(rows(
            "SELECT 1 FROM attempt JOIN job AS j ON j.attempt_id = attempt.id WHERE left_out IS NOT NULL AND sweep_id = ?",
            SWEEP)))),
    (r"Jobs with so many samples that only evenly spaced ones are kept: (\d+)\. Their summaries cover all samples\.",
     lambda count: same("jobs with samples that are not kept", int(count), len(rows(
         "SELECT DISTINCT attempt_id FROM summary WHERE kept IS NOT NULL AND attempt_id IN"
         " (SELECT attempt_id FROM job WHERE sweep_id = ?)", SWEEP)))),
]


def read(section, text):
    text = re.sub(r"\s+", " ", text).strip()
    while text:
        for pattern, check in KNOWN:
            found = re.match(pattern + r"(?= |$)", text)
            if found:
                check(*found.groups())
                text = text[found.end():].strip()
                break
        else:
            wrong.append("%s: nobody checks: %s" % (section, text))
            return


for name in SECTIONS:
    for paragraph, page_job in page.paragraphs[name]:
        read(name, paragraph)
effects_table()
winning_configurations()
print("\n".join(wrong + ["checked %d numbers" % checked]))
sys.exit(1 if wrong else 0)
