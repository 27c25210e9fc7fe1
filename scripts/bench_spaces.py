#!/usr/bin/env python3
"""Random spaces against loops that test a rule as soon as its keys are bound: bench_spaces.py MESHSWEEP COUNT SEED.

Axes of 1 to 200 values in any section, unions of blocks, tied groups, 1 to 8 rules over 1 to 4 keys each. Both count the
matches; the tool counts by each rule, too, and hashes every match. A space over which the loops take longer than 20 s
or of which more than 200,000 combinations match is drawn again. Prints the worst ratios: against the loops alone, and
against a program of them, which starts and ends as the tool does. Standard library only.
"""
import itertools
import json
import os
import random
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
)
SECONDS, MATCHES = 20, 200_000


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
        if i < 2:  # most loops never come to a match: the outer ones look at the clock, too
            lines.append(" " * depth + "if late(n): return None")
        bound |= set(names)
        for rule in [r for r in left if keys_of(r) <= bound]:
            lines.append(" " * depth + f"if not ({python_of(rule)}): continue")
            left.remove(rule)
    lines += [" " * depth + "n += 1", " " * depth + "if n & 1023 == 0 and late(n): return None", " return n"]
    return "\n".join(lines)


def count_by_loops(sections, rules):
    total, start = 0, time.monotonic()
    for blocks in itertools.product(*sections.values()):
        axes = [axis for block in blocks for axis in block]
        late = lambda n: time.monotonic() - start > SECONDS or total + n > MATCHES
        scope = {"rows": [rows for _, rows in axes], "late": late}
        exec(loops(axes, rules), scope)
        found = scope["count"]()
        if found is None:
            return None, 0
        total += found
    return total, time.monotonic() - start


def program(sections, rules):
    """The source of a program that counts as count_by_loops does."""
    lines, calls = ["late = lambda n: False"], []
    for i, blocks in enumerate(itertools.product(*sections.values())):
        axes = [axis for block in blocks for axis in block]
        lines.append(loops(axes, rules).replace("count()", f"count{i}(rows)"))
        calls.append(f"count{i}({[rows for _, rows in axes]})")
    return "\n".join([*lines, f"print({' + '.join(calls)})"])


def run_program(source, directory):
    path = os.path.join(directory, "loops.py")
    with open(path, "w") as out:
        out.write(source)
    start = time.monotonic()
    p = subprocess.run([sys.executable, "-S", "-E", path], capture_output=True)
    return int(p.stdout), time.monotonic() - start


def run_tool(meshsweep, directory):
    start = time.monotonic()
    p = subprocess.run([meshsweep, "plan", "-c", "s.toml", "-d", "r.db", "--json"], cwd=directory, capture_output=True)
    return json.loads(p.stdout)["matched"], time.monotonic() - start


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
        results.append((tool_s / loops_s, tool_s, loops_s, program_s, rules))
    results.sort(reverse=True, key=lambda r: r[0])
    slower = [r for r in results if r[0] > 1]
    longest = [r for r in slower if r[1] > 0.05]
    worst = max(r[1] / r[3] for r in results)
    behind = sum(r[1] > r[3] for r in results)
    print(f"{len(results)} spaces; the tool takes longer than the loops in {len(slower)}, in {len(longest)} of them more")
    print(f"than 0.05 s; longer than a program of them in {behind}, {worst:.2f} times as long at worst")
    print("\n| the tool / the loops | the tool, s | the loops, s | as a program, s | rules |\n|---|---|---|---|---|")
    for ratio, tool_s, loops_s, program_s, rules in (longest or results)[:5]:
        print(f"| {ratio:.2f} | {tool_s:.3f} | {loops_s:.3f} | {program_s:.3f} | {len(rules)} |")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
