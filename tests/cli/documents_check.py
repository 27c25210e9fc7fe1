"""Whether documents have the names, defaults and statuses that the program has: documents_check.py MESHSWEEP"""
import os
import re
import subprocess
import sys
import tomllib

os.chdir(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "..", ".."))
wrong = []
read = lambda path: open(path, encoding="utf-8").read()
program = lambda *words: subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout
names = lambda text: re.findall(r"`([^`\s]+)`", text)
after = lambda text, start: re.split(r"\n##+ ", text.split(start, 1)[1])[0]

def same(what, said, there):
    if set(said) != set(there):
        wrong.append(f"{what}: only said: {sorted(set(said) - set(there))}; not said: {sorted(set(there) - set(said))}")

reference, usage, helped = read("docs/reference.md"), program("--help").split("Exit status")[1], program("help", "run")
profiles = {f[:-5]: tomllib.loads(read("configs/profiles/" + f)) for f in os.listdir("configs/profiles")}
predicts = {name: p.get("predict", {}) for name, p in profiles.items() if name != "predict"}
told, rows = after(reference, "\n## Profiles\n").split("| profile | predicted as")
rows = {name: row for row in rows.split("\n")[2:] if row for name in names(row.split("|")[1])}
same("profiles", rows, profiles)
for name, p in profiles.items():
    if name in rows and name != "model-info":
        metrics = [*p.get("job", {}).get("metrics", {}), *p.get("metrics", {})]
        same(f"metrics of {name}", [m for m in metrics if f"`{m}`" in rows[name].split("|")[3]], metrics)
same("asked for", names(re.search(r"a file\swith(.*?)needs none", told, re.S)[1]), [n for n in predicts if "framework" in predicts[n]])
same("frameworks", names(re.search(r"whose coefficients to use: (.*?) \(", reference)[1]), [n for n in predicts if "memory" in predicts[n]])
search = after(reference, "\n## `[search]`\n")
same("strategies", names(" ".join(re.findall(r"^\| (`.*?) \|", search.split("| strategy |")[1], re.M))),
     re.search(r"^\[search\]\tstrategy\t.*\t(.*)$", program("completion", "table-keys"), re.M)[1].split())
for key, default in re.findall(r"^\| `(\w+)` \| [^|]*\| ([\d.]+)\b", search, re.M):
    found = re.search(rf"--{key.replace('_', '-')} [^(]*\(default ([\d.]*\d)", re.sub(r"\s+", " ", helped))
    same(f"default of {key}", [float(default)], [float(found[1])] if found else [float(default)])
statuses = [s.replace(" ", "") for s in re.findall(r"[:,]\s+(128 \+ n|\d)\s", usage)]
same("statuses", re.findall(r"^\| ([\dn+]+) \|", after(read("docs/commands.md"), "\n## Exit status\n"), re.M), statuses)
same("statuses of the manual", re.findall(r"^\.B ([\dn+]+)$", program("manual"), re.M), statuses)
same("variables", names(re.search(r"\n\| (`PATH`.*?) \|", reference)[1]),
     re.findall(r"[\w*]+", re.search(r"passed_on\[\] = (.*?);", read("src/process/environment.c"), re.S)[1]))
which, below = after(reference, "\n## Which key\n"), reference.split("\n## Top level\n")[1]
questions = ("limit the time", "hang", "retry", "resume", "out of memory", "OOM", "exclude", "log file", "warm-up",
             "tokens per second", "several objectives", "Pareto", "constraint", "seeds", "GPUs", "environment variables",
             "working directory", "port", "password", "stop early", "Slurm")
same("questions", [words for words in questions if words in which], questions)
keys = re.findall(r"`([a-z_]+)`", "".join(row.split("|")[2] for row in which.split("\n")[2:] if row))
same("keys of answers", [key for key in keys if re.search(rf"[|,] `{key}`|`{key}`,", below)], keys)
sys.exit("\n".join(wrong) or print("as the program has them"))
