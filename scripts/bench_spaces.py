#!/usr/bin/env python3
"""Random spaces against loops that test a rule as soon as its keys are bound: bench_spaces.py MESHSWEEP COUNT SEED.

Axes of 1 to 200 values in any section, unions of blocks, tied groups, 1 to 8 rules over 1 to 4 keys each. Both count the
matches; the tool counts by each rule, too, and hashes every match. A space over which the loops take longer than 5 s
or of which more than 200,000 combinations match is drawn again. Prints the worst ratios: against the loops alone, and
against a program of them, which starts and ends as the tool does. Seconds are those of a processor, user's and
system's; of what takes less than half of one, the least of three runs. Standard library only.
"""
import itertools
import json
import os
import random
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
    "({0} | {1}) <= 40",  # SQLite's to work out
)
SECONDS, MATCHES = 5, 200_000
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
        rules.append(rng.choice(RULES).format(*chosen))
    return sections, rules


def write(path, sections, rules):
    with open(path, "w") as out:
        out.write('[sweep]\nname = "x"\n[job]\ncommand = ["/bin/true"]\n')
        for name, blocks in sections.items():
            for axes in blocks:
                out.write(f"[[{name}]]\n")
                for names, rows in axes:
                    if len(names) == 1:
                        out.write(f"{names[0]} = {[r[0] for r in rows]}\n")
                    else:
                        out.write(f'"({", ".join(names)})" = {[list(r) for r in rows]}\n')
        for i, rule in enumerate(rules):
            out.write(f'[[rule]]\nname = "r{i}"\nrequire = "{rule}"\n')


def keys_of(rule):
    return {c for c in "abcdefghijk" if c in rule.replace("or", "")}


def python_of(rule):
    return rule.replace(" = ", " == ")


def loops(axes, rules):
    """The source of loops over the axes of one block of each section."""
    lines, depth, bound, left = ["def count():", " n = 0"], 1, set(), list(rules)
    for i, (names, _) in enumerate(axes):
        lines.append(" " * depth + f"for {', '.join(names)}, in rows[{i}]:")
        depth += 1
        bound |= set(names)
        for rule in [r for r in left if keys_of(r) <= bound]:
            lines.append(" " * depth + f"if not ({python_of(rule)}): continue")
            left.remove(rule)
    lines += [" " * depth + "n += 1", " " * depth + f"if n > {MATCHES}: return n", " return n"]
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


def main(meshsweep, count, seed):
    meshsweep = os.path.abspath(meshsweep)
    rng, results = random.Random(seed), []
    while len(results) < count:
        sections, rules = draw(rng)
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
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
