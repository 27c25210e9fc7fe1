"""What scripts/mutate.sh does once both builds are there: python3 mutate.py WORK SEED COUNT ONLY TESTS"""

import fnmatch
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

WANTED_PERCENT = 85
UNIT_SECONDS_MOST = 100  # of a line, as they took under coverage; more would prove little
# The black-box tests of a room, of each those that are quick; unit tests are known by what they reach.
ROOM_TESTS = {
    "answers": "stale status show",
    "ask": "ask",
    "cli": "command_line pager quoting",
    "commands": "show resume results command_line outputs",
    "compare": "compare compare_databases configurations",
    "config": "check problems definitions",
    "database": "database backup migrations",
    "deepspeed": "deepspeed deepspeed_defects deepspeed_releases deepspeed_tuner",
    "device": "devices places",
    "draft": "init init_table",
    "expression": "input problems measures",
    "huggingface": "hf_config",
    "import": "import import_again import_tables",
    "join": "resume long_match check",
    "measures": "measures definitions merge learning pruning",
    "metrics": "metrics definitions reader_formats",
    "models": "search_model",
    "page": "report report_serve",
    "pattern": "metrics",
    "plan": "resume show check",
    "predict": "predict learning scale",
    "process": "limits environment runner_killed",
    "report": "results export show progress",
    "results": "status results configurations compare",
    "run": "hold retry limits resume full_training outputs runner_killed",
    "search": "search stages replay search_side_by_side",
    "secrets": "secrets",
    "serve": "report_serve",
    "slurm": "slurm slurm_allocation",
    "space": "resume check problems deepspeed",
    "store": "retry resume places runner_killed merge",
    "sweep_file": "problems check input",
    "toml": "problems input",
    "util": "export input metrics",
}
NOT_TESTED = re.compile(r"/trainer/|\.h$")  # the trainer is not counted, as in coverage.sh
# Texts to replace, and by what: one place of a line each.
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
    """Every fault there is: (file, line, function, column, old text, new text)."""
    found = []
    for path in sorted(subprocess.check_output(["git", "ls-files", "src"], text=True).split()):
        if not path.endswith(".c") or NOT_TESTED.search(path) or not path.startswith(only):
            continue
        with open(os.path.join(tree, path), encoding="utf-8") as f:
            lines = f.read().split("\n")
        in_comment, function = False, ""
        for number, line in enumerate(lines, 1):
            in_comment = in_comment or line.lstrip().startswith("/*")
            head = re.match(r"\w[^;=]*?(\w+)\(", line)
            function = head.group(1) if head else function
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
                    found.append((path, number, function, m.start(), line[m.start() : m.end()], new))
    return found


def run_test(build, test, limit, **more):
    """Status and seconds of a test of the build, run as `make check` runs it."""
    env = dict(os.environ, BUILD=os.path.basename(build), abs_top_builddir=build, **more)
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


def is_unit(test):
    return test.startswith("tests/unit/")


def tests_of(build, pattern):
    text = subprocess.check_output(
        ["make", "-s", "-C", build, "--eval=list_tests: ; @echo $(TESTS)", "list_tests"], text=True
    )
    tests = [re.sub(r"\.sh$", "", t.replace("../", "")) for t in text.split()]
    return [t for t in tests if fnmatch.fnmatch(t, pattern)]


def reached_file(work, test):
    return os.path.join(work, "reached", test.replace("/", "+"))


def functions_reached(build, test, counts):
    """path:function of each that the test ran; of statics llvm-cov names the file, too."""
    program = os.path.join(build, test if os.path.exists(os.path.join(build, test)) else "meshsweep")
    profile = counts + "/merged"
    subprocess.check_call(["llvm-profdata", "merge", "-o", profile, counts])
    export = subprocess.run(
        ["llvm-cov", "export", "-format=lcov", program, "-instr-profile=" + profile],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ).stdout
    path, functions = "", set()
    for line in export.split("\n"):
        if line.startswith("SF:"):
            path = os.path.relpath(line[3:], os.path.dirname(build))
        elif line.startswith("FNDA:") and path.startswith("src/"):
            times, name = line[5:].split(",", 1)
            if times != "0":
                functions.add(f"{path}:{name.split(':')[-1]}")
    return functions


def reach(work, tests):
    """Runs the unit tests that were not yet under coverage: WORK/reached/TEST has its seconds and what it reached."""
    build = os.path.join(work, "tree", "build-reach")
    os.makedirs(os.path.join(work, "reached"), exist_ok=True)

    def run_one(test):
        out = reached_file(work, test)
        counts = out + ".counts"
        os.makedirs(counts, exist_ok=True)
        # %m is the program's signature, %c that its processes share one file: a killed one counts, too.
        status, seconds = run_test(build, test, 600, LLVM_PROFILE_FILE=counts + "/%m%c.profraw")
        # A test that fails or is skipped without a fault notices none.
        functions = functions_reached(build, test, counts) if status == 0 and os.listdir(counts) else []
        print(f"{test}: {seconds:.1f} s, status {status}, {len(functions)} functions", file=sys.stderr, flush=True)
        with open(out + ".new", "w", encoding="utf-8") as f:
            f.write("\n".join([str(seconds), *sorted(functions)]))
        os.rename(out + ".new", out)
        shutil.rmtree(counts)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run_one, [t for t in tests if not os.path.exists(reached_file(work, t))]))


class Reached:
    """Tests of a place of the source: unit tests, first those that are quick and reach little else, then its room's."""

    def __init__(self, work, tests):
        self.seconds, self.size, self.tests, self.all = {}, {}, {}, tests
        for test in filter(is_unit, tests):
            with open(reached_file(work, test), encoding="utf-8") as f:
                first, *functions = f.read().split("\n")
            self.seconds[test], self.size[test] = float(first), len(functions)
            for function in functions:
                self.tests.setdefault(function, set()).add(test)
                self.tests.setdefault(function.split(":")[0], set()).add(test)

    def tests_of(self, path, function):
        """Of a function that nobody knew when the tests were run, those that reach its file."""
        found = self.tests.get(f"{path}:{function}", self.tests.get(path, ()))
        name = os.path.basename(path)[:-2]
        by_use, units, seconds = sorted(found, key=lambda t: (name not in t, self.seconds[t] * self.size[t])), [], 0
        for test in by_use:
            seconds += self.seconds[test]
            if not units or seconds < UNIT_SECONDS_MOST:
                units.append(test)
        room = ["tests/cli/test_" + t for t in ROOM_TESTS[path.split("/")[1]].split()]
        return units + [t for t in room if t in self.all]


class Builder:
    """A build that faults are put into, of its own copy of the source."""

    def __init__(self, tree, reached):
        self.tree, self.build_directory, self.reached = tree, os.path.join(tree, "build-faulty"), reached

    def build(self, tests):
        programs = [t for t in tests if is_unit(t)]
        return subprocess.call(
            ["make", "-s", "-C", self.build_directory, "meshsweep", *programs],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) == 0

    def noticed_by(self, tests):
        """The first test that fails, or None."""
        for at in range(0, len(tests), 4):
            self.build(tests[at : at + 4])
            for test in tests[at : at + 4]:
                limit = 10 * self.reached.seconds.get(test, 50) + 20
                # A test that fails once may have waited too long beside others.
                if all(run_test(self.build_directory, test, limit)[0] not in (0, 77) for _ in range(2)):
                    return test
        return None

    def judge(self, mutant):
        """None when the fault does not build, else what to print and whether it was noticed."""
        path, number, function, column, old, new = mutant
        source = os.path.join(self.tree, path)
        with open(source, encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n")
        was = lines[number - 1]
        lines[number - 1] = was[:column] + new + was[column + len(old) :]
        tests = self.reached.tests_of(path, function)
        with open(source, "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        try:
            if not self.build([]):
                return None
            test = self.noticed_by(tests)
        finally:
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
        verdict = f"noticed by {test}" if test else f"SURVIVED {len(tests)} tests"
        return f"{path}:{number}: {was.strip()} -> {lines[number - 1].strip()}: {verdict}", test is not None


def main(work, seed, count, only, pattern):
    trees = sorted(os.path.join(work, d) for d in os.listdir(work) if d.startswith("faulty-"))
    tests = tests_of(os.path.join(trees[0], "build-faulty"), pattern)
    reach(work, list(filter(is_unit, tests)))
    reached = Reached(work, tests)
    if not reached.tests:
        sys.exit("mutate.py: no test of the pattern reaches a function; see build-mutate/reached")
    candidates = mutants(trees[0], only)
    random.Random(int(seed)).shuffle(candidates)
    left, lock, said = iter(candidates), threading.Lock(), []

    def work_off(tree):
        builder = Builder(tree, reached)
        while True:
            with lock:
                mutant = next(left, None) if len(said) < int(count) else None
            judged = mutant and builder.judge(mutant)
            with lock:
                if not mutant or len(said) >= int(count):
                    break
                if judged:
                    said.append(judged)
                    print(f"[{len(said)}/{count}] {judged[0]}", flush=True)
        builder.build([])

    with ThreadPoolExecutor(len(trees)) as pool:
        list(pool.map(work_off, trees))
    killed = sum(noticed for _, noticed in said)
    percent = 100 * killed / len(said) if said else 0
    print(f"{killed} of {len(said)} faults noticed ({percent:.0f} %), seed {seed}")
    return 0 if said and percent >= WANTED_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
