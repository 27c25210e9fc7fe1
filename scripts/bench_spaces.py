#!/usr/bin/env python3
"""Random spaces against loops that test a rule as soon as its keys are bound: bench_spaces.py TOOL COUNT SEED [wide].

Axes of 1 to 200 values in any section, unions of blocks, tied groups, 1 to 8 rules over 1 to 4 keys each. `wide` adds
numbers that are no integers, strings, a key that only one of two blocks has, a derived key, named blocks that overlap,
and expressions that mean the same in SQL and, of such values, in Python. Both count the matches; the tool counts by
each rule, too, and hashes every match. A space over which the loops take longer than 5 s, of which more than 200,000
combinations match or that has more than 2^63 is drawn again. Prints the worst ratios: against the loops alone, and
against a program of them, which starts and ends as the tool does. Seconds are those of a processor, user's and
system's; of what takes less than half of one, the least of three runs. Standard library only.
"""
import itertools
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

SECTIONS = {"cluster_spec": "ab", "model": "cde", "training_spec": "fg", "parallel_spec": "hijk"}
RULES = (
    "{0} * {1} = {2}",
    "({0} + {1}) % 7 != 0",
    "{0} * {1} <= {2} + 20",
    "{0} + {1} = {2} + {3}",
    "{0} <= {1} or {2} > 30",
    "{2} % {0} = 0",
    "({0} + {1} + {2}) % 5 = {3} % 5",
    "{0} < {1}",
    "{0} * {1} = {1} * {2}",
    "{0} * {0} + {1} = {2} * {3}",
    "({0} | {1}) <= 40",
)
# In SQL and in Python, over keys of one kind: i an integer, x a number, s a string, n an integer or NULL, w derived.
WIDE_RULES = (
    ("{i0} / {i1} = {i2}", "{i0} // {i1} == {i2}"),
    ("{i0} % {i1} <= {i2} / 3", "{i0} % {i1} <= {i2} // 3"),
    ("CASE WHEN {i0} < 3 THEN {i1} ELSE {i2} END <= {i3}", "({i1} if {i0} < 3 else {i2}) <= {i3}"),
    ("{i0} IN (1, 2, 3, 5, 8, 13)", "{i0} in (1, 2, 3, 5, 8, 13)"),
    ("{i0} BETWEEN {i1} AND {i2}", "{i1} <= {i0} <= {i2}"),
    ("abs({i0} - {i1}) <= {i2}", "abs({i0} - {i1}) <= {i2}"),
    ("min({i0}, {i1}) * 2 >= {i2}", "min({i0}, {i1}) * 2 >= {i2}"),
    ("max({i0}, {i1}, {i2}) <= {i3} + 5", "max({i0}, {i1}, {i2}) <= {i3} + 5"),
    ("({i0} & {i1}) = 0", "({i0} & {i1}) == 0"),
    ("(({i0} << 2) | ({i1} >> 1)) % 3 <> 1", "(({i0} << 2) | ({i1} >> 1)) % 3 != 1"),
    ("length({i0}) + length({i1}) <> 3", "len(str({i0})) + len(str({i1})) != 3"),  # SQLite's to work out
    ("{x} * {i0} <= {i1}", "{x} * {i0} <= {i1}"),
    ("{x} + {i0} / 2.0 > {i1}", "{x} + {i0} / 2.0 > {i1}"),
    ("{s} = 'adam' OR {i0} < {i1}", "{s} == 'adam' or {i0} < {i1}"),
    ("{s} IN ('lion', 'sgd') OR {x} > 1", "{s} in ('lion', 'sgd') or {x} > 1"),
    ("coalesce({n}, 3) * {i0} <= {i1} + 20", "(3 if {n} is None else {n}) * {i0} <= {i1} + 20"),
    ("{n} IS NULL OR {n} % {i0} = 0", "{n} is None or {n} % {i0} == 0"),
    ("{n} + {i0} > {i1}", "{n} is None or {n} + {i0} > {i1}"),  # NULL is not false
    ("{w} % {i2} = 0", "(i * j + 1) % {i2} == 0"),
)
SECONDS, MATCHES = 5, 200_000
COMBINATIONS = 2**63 - 1  # more are refused
BRIEF, RUNS = 0.5, 3


def draw_block(rng, keys):
    """[(keys, rows)] of one block."""
    axes, keys = [], list(keys)
    while keys:
        if len(keys) > 1 and rng.random() < 0.2:
            names = (keys.pop(0), keys.pop(0))
            rows = list({(rng.randint(1, 200), rng.randint(1, 200)) for _ in range(rng.randint(1, 50))})
        else:
            names = (keys.pop(0),)
            rows = [(v,) for v in range(1, 1 + rng.choice((1, 2, 4, 8, 20, 60, 200)))]
            if rng.random() < 0.2:
                rng.shuffle(rows)
        axes.append((names, rows))
    return axes


def draw(rng):
    sections = {
        name: [draw_block(rng, keys) for _ in range(rng.choice((1, 1, 1, 2)))]
        for name, keys in SECTIONS.items()
        if name == "parallel_spec" or rng.random() < 0.9
    }
    keys = [k for name in sections for k in SECTIONS[name]]
    rules = []
    for _ in range(rng.randint(1, 8)):
        chosen = [rng.choice(keys) for _ in range(4)]
        rule = rng.choice(RULES).format(*chosen)
        rules.append((rule, python_of(rule)))
    return sections, rules


def widen(rng, sections, rules):
    """More of every kind of axis and rule than draw has."""
    models, trainings, parallels = (sections.get(s, []) for s in ("model", "training_spec", "parallel_spec"))
    for block in models:
        block.append((("s",), [(v,) for v in rng.sample(("adam", "lion", "sgd"), 2)]))
    if models and rng.random() < 0.5:
        models.append([*models[0][:-1], (("s",), [("sgd",), ("adamw",)])])
    for block in trainings:
        block.append((("x",), [(v / 4,) for v in range(1, rng.choice((2, 9, 40)))]))
    for i, block in enumerate(parallels):
        block.append((("n",), [(None,)] if i else [(v,) for v in range(1, rng.choice((2, 9, 60)))]))
    integers = [k for name in sections for k in SECTIONS[name]]
    kinds = {"x": bool(trainings), "s": bool(models), "n": True, "w": True}
    for _ in range(rng.randint(1, 5)):
        sql, python = rng.choice(WIDE_RULES)
        if any(f"{{{kind}}}" in sql and not there for kind, there in kinds.items()):
            continue
        chosen = {f"i{i}": rng.choice(integers) for i in range(4)} | {kind: kind for kind in kinds}
        rules.append((sql.format(**chosen), python.format(**chosen)))
    rng.shuffle(rules)


def combinations(sections):
    return math.prod(sum(math.prod(len(rows) for _, rows in axes) for axes in blocks) for blocks in sections.values())


def write(path, sections, rules):
    with open(path, "w") as out:
        out.write('[sweep]\nname = "x"\n[job]\ncommand = ["/bin/true"]\n')
        for name, blocks in sections.items():
            for axes in blocks:
                out.write(f"[[{name}]]\n")
                for names, rows in axes:
                    if rows == [(None,)]:
                        continue
                    if len(names) == 1:
                        out.write(f"{names[0]} = {[r[0] for r in rows]}\n")
                    else:
                        out.write(f'"({", ".join(names)})" = {[list(r) for r in rows]}\n')
        if any("w" in keys_of(rule) for rule, _ in rules):
            out.write('[derive]\nw = "i * j + 1"\n')
        for i, (rule, _) in enumerate(rules):
            out.write(f'[[rule]]\nname = "r{i}"\nrequire = "{rule}"\n')


def keys_of(rule):
    return set(re.findall(r"\b[a-z]\b", rule))


def python_of(rule):
    return rule.replace(" = ", " == ")


def loops(axes, rules):
    """The source of loops over the axes of one block of each section."""
    lines, depth, bound, left = ["def count():", " found = 0"], 1, set(), [python for _, python in rules]
    for i, (names, _) in enumerate(axes):
        lines.append(" " * depth + f"for {', '.join(names)}, in rows[{i}]:")
        depth += 1
        bound |= set(names)
        for rule in [r for r in left if keys_of(r) <= bound]:
            lines.append(" " * depth + f"if not ({rule}): continue")
            left.remove(rule)
    lines += [" " * depth + "found += 1", " " * depth + f"if found > {MATCHES}: return found", " return found"]
    return "\n".join(lines)


class Late(Exception):
    pass


def be_late(signum, frame):
    raise Late


def count_by_loops(sections, rules):
    """The matches and the seconds; None, 0 where either is too much."""
    total, start = 0, time.process_time()
    signal.signal(signal.SIGPROF, be_late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # most loops never come to a match
    try:
        for blocks in itertools.product(*sections.values()):
            axes = [axis for block in blocks for axis in block]
            scope = {"rows": [rows for _, rows in axes]}
            exec(loops(axes, rules), scope)
            total += scope["count"]()
            if total > MATCHES:
                return None, 0
    except Late:
        return None, 0
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return total, time.process_time() - start


def program(sections, rules):
    """The source of a program that counts as count_by_loops does."""
    lines, calls = [], []
    for i, blocks in enumerate(itertools.product(*sections.values())):
        axes = [axis for block in blocks for axis in block]
        lines.append(loops(axes, rules).replace("count()", f"count{i}(rows)"))
        calls.append(f"count{i}({[rows for _, rows in axes]})")
    return "\n".join([*lines, f"print({' + '.join(calls)})"])


def run(command, directory):
    """What it prints, and its seconds of a processor."""
    seconds = []
    while not seconds or (seconds[0] < BRIEF and len(seconds) < RUNS):
        p = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        text = p.stdout.read()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        p.stdout.close()
        seconds.append(used.ru_utime + used.ru_stime)
    return text, min(seconds)


def run_program(source, directory):
    with open(os.path.join(directory, "loops.py"), "w") as out:
        out.write(source)
    text, seconds = run([sys.executable, "-S", "-E", "loops.py"], directory)
    return int(text), seconds


def run_tool(meshsweep, directory):
    text, seconds = run([meshsweep, "plan", "-c", "s.toml", "-d", "r.db", "--json"], directory)
    return json.loads(text)["matched"], seconds


def print_worst(results):
    slower = [r for r in results if r["tool"] > r["loops"]]
    longer = [r for r in slower if r["tool"] > 0.05]
    behind = [r for r in results if r["tool"] > r["program"]]
    worst = max(r["tool"] / r["program"] for r in results)
    print(f"{len(results)} spaces; the tool takes longer than the loops in {len(slower)}, in {len(longer)} of them more")
    print(f"than 0.05 s; longer than a program of them in {len(behind)}, {worst:.2f} times as long at worst")
    print("\n| the tool / the program | the tool, s | the program, s | its loops, s | combinations matched | rules |")
    print("|---|---|---|---|---|---|")
    for r in sorted(results, key=lambda r: r["program"] / r["tool"])[:5]:
        print(f"| {r['tool'] / r['program']:.2f} | {r['tool']:.3f} | {r['program']:.3f} | {r['loops']:.3f} |", end="")
        print(f" {r['matched']} | {r['rules']} |")


def main(meshsweep, count, seed, wide):
    meshsweep = os.path.abspath(meshsweep)
    rng, results = random.Random(seed), []
    while len(results) < count:
        sections, rules = draw(rng)
        if wide:
            widen(rng, sections, rules)
        if combinations(sections) > COMBINATIONS:
            continue
        expected, loops_s = count_by_loops(sections, rules)
        if expected is None:
            continue
        with tempfile.TemporaryDirectory() as directory:
            write(os.path.join(directory, "s.toml"), sections, rules)
            matched, tool_s = run_tool(meshsweep, directory)
            counted, program_s = run_program(program(sections, rules), directory)
        if not matched == counted == expected:
            sys.exit(f"space {len(results)}: {matched} and {counted} matched, not {expected}: {rules}")
        results.append({"tool": tool_s, "loops": loops_s, "program": program_s, "matched": matched, "rules": len(rules)})
    print_worst(results)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "wide" in sys.argv[4:])
