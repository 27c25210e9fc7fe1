"""What scripts/mutate.sh does once both builds are there: python3 mutate.py WORK SEED COUNT ONLY TESTS"""

import fnmatch
import os
import random
import re
import subprocess
import sys
import time

WANTED_PERCENT = 85
# They visit every step of a run, or hundreds of kills: minutes each, for lines that others reach too.
LONG_TESTS = {"tests/cli/test_" + name for name in ("faults", "failed_calls", "power_cuts", "selftest")}
NOT_TESTED = re.compile(r"/trainer/|\.h$")  # the trainer is not counted, as in coverage.sh
# What is replaced, and by what: one place of a line each.
OPERATORS = [
    (r"(?<=\w) == (?=\w)", " != "),
    (r" != ", " == "),
    (r"(?<!fd) < ", " <= "),  # no descriptor that is kept is 0
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ 1\b(?!\.)", ""),
    (r" - 1\b(?!\.)", ""),
    (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    (r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    (r"(?<=[\w)\]]) \* (?=[\w(])", " / "),
    (r"(?<=\()!(?=\w)", ""),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\+\+", "--"),
    (r" \|= ", " = "),
    (r" \+= ", " = "),
    (r"\breturn 0;", "return -1;"),
    (r"^\s+continue;$", ";"),
    (r"^\s+break;$", ";"),
    (r"^    +[a-z]\w*\([^;]*\);$", ";"),  # a call for its effect alone
]
OF_NO_EFFECT = re.compile(
    r"^\s*(/?\*|//|#|free\(|FAULT\(|\w*_free\(|close\(|fclose\()|_INIT\b|"
    r"^\s*(static )?(const )?(struct|enum|union) \w+ \w+;"
)


def mutants(tree, only):
    """Every fault there is: (file, line, column, old text, new text)."""
    found = []
    for path in sorted(subprocess.check_output(["git", "ls-files", "src"], text=True).split()):
        if not path.endswith(".c") or NOT_TESTED.search(path) or not path.startswith(only):
            continue
        with open(os.path.join(tree, path), encoding="utf-8") as f:
            lines = f.read().split("\n")
        in_comment = False
        for number, line in enumerate(lines, 1):
            in_comment = in_comment or line.lstrip().startswith("/*")
            skip = in_comment or OF_NO_EFFECT.search(line) or not line.startswith(" ")
            in_comment = in_comment and "*/" not in line
            if skip:
                continue
            # Text in quotes and comments behind code are not code.
            blank = lambda m: "\0" * len(m.group())
            code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|/\*.*', blank, line)
            for pattern, new in OPERATORS:
                if pattern.startswith("^    +") and (code.count("(") != code.count(")") or "return" in code):
                    continue
                for m in re.finditer(pattern, code):
                    found.append((path, number, m.start(), line[m.start() : m.end()], new))
    return found


def run_test(build, test, limit):
    """Status and seconds of a test of the build, run as `make check` runs it."""
    env = dict(os.environ, BUILD=os.path.basename(build), abs_top_builddir=build)
    script = os.path.join(os.path.dirname(build), test + ".sh")
    command = ["bash", script] if os.path.exists(script) else [os.path.join(build, test)]
    began = time.monotonic()
    cwd = os.path.dirname(build) if os.path.exists(script) else build
    env["srcdir"] = ".." if cwd == build else "."
    status = subprocess.call(
        ["timeout", "-k", "5", str(int(limit)), *command],
        cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    return status, time.monotonic() - began


def tests_of(build):
    text = subprocess.check_output(
        ["make", "-s", "-C", build, "--eval=list_tests: ; @echo $(TESTS)", "list_tests"], text=True
    )
    return [re.sub(r"\.sh$", "", t.replace("../", "")) for t in text.split()]


def reach(work, pattern):
    """Runs every test like the pattern once under coverage: WORK/reached/TEST has its seconds and the lines reached."""
    tree, reached = os.path.join(work, "tree"), os.path.join(work, "reached")
    build, counts = os.path.join(tree, "build-reach"), os.path.join(work, "counts")
    os.makedirs(reached, exist_ok=True)
    tests = [t for t in tests_of(build) if fnmatch.fnmatch(t, pattern) and "/style/" not in t and t not in LONG_TESTS]
    for i, test in enumerate(tests, 1):
        out = os.path.join(reached, test.replace("/", "+"))
        if os.path.exists(out):
            continue
        subprocess.call(["rm", "-rf", counts])
        os.makedirs(counts)
        status, seconds = run_test(build, test, 600)
        print(f"[{i}/{len(tests)}] {test}: {seconds:.1f} s, status {status}", file=sys.stderr)
        lines = set()
        # What fails or is skipped without a fault notices none.
        if status == 0 and os.listdir(counts):
            profile = os.path.join(work, "counts.profdata")
            program = os.path.join(build, test if os.path.exists(os.path.join(build, test)) else "meshsweep")
            subprocess.check_call(["llvm-profdata", "merge", "-o", profile, counts])
            export = subprocess.run(
                ["llvm-cov", "export", "-format=lcov", program, "-instr-profile=" + profile],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            ).stdout
            path = None
            for line in export.split("\n"):
                if line.startswith("SF:"):
                    path = os.path.relpath(line[3:], tree)
                elif line.startswith("DA:") and path.startswith("src/"):
                    number, times = line[3:].split(",")[:2]
                    if times != "0":
                        lines.add(f"{path}:{number}")
        with open(out + ".new", "w", encoding="utf-8") as f:
            f.write("\n".join([str(seconds), *sorted(lines)]))
        os.rename(out + ".new", out)
    return tests


def load_reached(work, tests):
    """Tests of each line, the quickest first."""
    reached, seconds, of_line = os.path.join(work, "reached"), {}, {}
    for test in tests:
        with open(os.path.join(reached, test.replace("/", "+")), encoding="utf-8") as f:
            first, *lines = f.read().split("\n")
        seconds[test] = float(first)
        for line in lines:
            of_line.setdefault(line, []).append(test)
    for tests in of_line.values():
        tests.sort(key=seconds.get)
    return of_line, seconds


def build(faulty, tests):
    programs = [t for t in tests if t.startswith("tests/unit/")]
    return subprocess.call(
        ["make", "-s", "-C", faulty, "-j", str(os.cpu_count()), "meshsweep", *programs],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) == 0


def noticed_by(faulty, tests, seconds):
    """The first test that fails, or None."""
    for at in range(0, len(tests), 8):
        some = tests[at : at + 8]
        build(faulty, some)
        for test in some:
            status, _ = run_test(faulty, test, 10 * seconds[test] + 10)
            if status not in (0, 77):
                return test
    return None


def main(work, seed, count, only, pattern):
    tree = os.path.join(work, "tree")
    faulty = os.path.join(tree, "build-faulty")
    of_line, seconds = load_reached(work, reach(work, pattern))
    if not of_line:
        sys.exit("mutate.py: no test of the pattern reaches a line; see build-mutate/reached")
    candidates = mutants(tree, only)
    random.Random(int(seed)).shuffle(candidates)
    tried = killed = 0
    survivors = []
    for path, number, column, old, new in candidates:
        if tried == int(count):
            break
        source = os.path.join(tree, path)
        with open(source, encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n")
        was = lines[number - 1]
        lines[number - 1] = was[:column] + new + was[column + len(old) :]
        tests = of_line.get(f"{path}:{number}", [])
        with open(source, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        try:
            if not build(faulty, []):
                continue
            tried += 1
            test = noticed_by(faulty, tests, seconds)
        finally:
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        killed += test is not None
        verdict = f"noticed by {test}" if test else f"SURVIVED ({len(tests)} tests reach it)"
        print(f"[{tried}/{count}] {path}:{number}: {was.strip()} -> {lines[number - 1].strip()}: {verdict}", flush=True)
        if not test:
            survivors.append(f"{path}:{number}: {was.strip()} -> {lines[number - 1].strip()}")
    build(faulty, [])
    percent = 100 * killed / tried if tried else 0
    print(f"{killed} of {tried} faults noticed ({percent:.0f} %), seed {seed}")
    for survivor in survivors:
        print("survived:", survivor)
    return 0 if tried and percent >= WANTED_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
