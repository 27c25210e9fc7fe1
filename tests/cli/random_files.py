"""Changes random YAML, TOML and JSON files and reads them back with other libraries: random_files.py CHANGE_FILES COUNT

Each file has values of every type, comments and several layouts. Of each, some values are set, some left out and some
added; what PyYAML, tomllib and json then read must be the same objects, of the same types, but for what was asked for.
"""
import datetime
import json
import math
import random
import subprocess
import sys
import tomllib

import yaml

ODD = ["null", "1e5", "1.5e-3", "a: b", "007", "0x1F", "yes", "No", "on", "~", "", " padded ", "2026-01-02", "12:30:00",
       "true", "False", "- a", "#c", "a #b", "x: ", "{", "[1]", "é", "日本", "tab\there", "line\nbreak", "quote\"'", "\\",
       ".inf", ".nan", "nan", "inf", "!tag", "&a", "*a", "%x", "@x", "`x", "|", ">", "=", "<<", "1_000", "0o7", "0b1",
       "1.", ".5", "+1", "-", "--- ", "...", "?", "? x", ",", "plain", "two words", "/data/x-1.bin", "😀", "1e+5", "9" * 30]
KEYS = ["lr", "batch_size", "a.b", "with space", "true", "007", "é", "data", "model", "layers", "x-y", "_z", "1", "null",
        "quo\"te", "on", "n"]


def scalar(r, form):
    kind = r.randrange(9)
    if kind == 0:
        return r.choice([True, False])
    if kind == 1:
        return r.choice([0, 1, -7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)] + ([] if form == "toml" else [2**63, 10**40]))
    if kind == 2:
        return r.choice([0.1, 1.0, -2.5, 1e-5, 6.02e23, 1e300, 3.0000000000000004, r.uniform(-1, 1)])
    if kind == 3 and form != "toml":
        return None
    if kind == 4 and form != "json":
        return r.choice([datetime.date(2026, 1, 2), datetime.datetime(2025, 12, 31, 23, 59, 58)])
    return r.choice(ODD)


def tree(r, form, depth=0):
    kind = r.randrange(4) if depth < 4 else 3
    if depth == 0 or kind == 0:
        return {k: tree(r, form, depth + 1) for k in r.sample(KEYS, r.randrange(1 if depth == 0 else 0, 6))}
    if kind == 1:
        return [tree(r, form, depth + 1) for _ in range(r.randrange(0, 4))]
    return scalar(r, form)


# --- writers: other layouts than the libraries' ---

def yaml_scalar(r, v, flow):
    if isinstance(v, str):
        styles = [json.dumps(v, ensure_ascii=r.random() < 0.5)]
        if "\n" not in v and "\t" not in v:
            styles.append("'" + v.replace("'", "''") + "'")
        try:
            plain = yaml.safe_load(("[%s]" if flow else "k: %s") % v)
            if (plain[0] if flow else plain["k"]) == v and v.strip() == v and v and "\n" not in v and "#" not in v:
                styles.append(v)
        except (yaml.YAMLError, TypeError, KeyError, ValueError, IndexError):
            pass
        return r.choice(styles)
    if v is None:
        return r.choice(["null", "~"] if flow else ["null", "~", ""])
    if isinstance(v, bool):
        return r.choice(["true", "True", "yes"] if v else ["false", "off", "FALSE"])
    if isinstance(v, float):
        text = repr(v)
        return text if "e" not in text else text if "." in text else text.replace("e", ".0e")
    return str(v)


def yaml_flow(r, v):
    if isinstance(v, dict):
        return "{" + ", ".join("%s: %s" % (yaml_scalar(r, k, True), yaml_flow(r, x)) for k, x in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ", ".join(yaml_flow(r, x) for x in v) + "]"
    return yaml_scalar(r, v, True)


def comment(r):
    return r.choice(["", "", "", "  # a comment: with {things}"])


def yaml_block(r, v, indent, out):
    pad = " " * indent
    items = v.items() if isinstance(v, dict) else enumerate(v)
    for k, x in items:
        if r.random() < 0.1:
            out.append(r.choice([pad + "# before", "", "# at the edge"]))
        head = pad + (yaml_scalar(r, k, False) + ":" if isinstance(v, dict) else "-")
        if isinstance(x, (dict, list)) and x and r.random() < 0.8:
            if isinstance(v, list) and r.random() < 0.5 and isinstance(x, dict):
                inner = []
                yaml_block(r, x, indent + 2, inner)
                while inner and not inner[0].strip().strip("#").strip() or inner[0].lstrip().startswith("#"):
                    inner.pop(0)
                out.append(pad + "- " + inner[0][indent + 2:])
                out.extend(inner[1:])
                continue
            out.append(head + comment(r))
            yaml_block(r, x, indent + (0 if isinstance(v, dict) and isinstance(x, list) and r.random() < .3 else 2), out)
        elif isinstance(x, str) and r.random() < 0.15 and x.strip() == x and x and "\t" not in x:
            out.append(head + " |" + ("" if r.random() < 0.5 else "-"))
            out.extend(pad + "  " + line for line in x.split("\n"))
        else:
            text = yaml_flow(r, x)
            out.append(head + (" " + text if text else "") + comment(r))


def write_yaml(r, v):
    out = r.choice([[], ["# top"], ["---"]])
    yaml_block(r, v, 0, out)
    return "\n".join(out) + r.choice(["", "\n", "\n# end\n"])


def toml_key(r, k):
    bare = k and all(c.isascii() and (c.isalnum() or c in "-_") for c in k)
    return k if bare and r.random() < 0.8 else json.dumps(k, ensure_ascii=False)


def toml_value(r, v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        if "'" not in v and "\n" not in v and "\t" not in v and r.random() < 0.4:
            return "'" + v + "'"
        if "\n" in v and '"' not in v and "\\" not in v and r.random() < 0.7:
            return '"""' + v + '"""'
        return json.dumps(v, ensure_ascii=False)
    if isinstance(v, list):
        inner = ", ".join(toml_value(r, x) for x in v)
        return "[" + (r.choice(["", "\n  "]) + inner + r.choice(["", ",\n"]) if v else "") + "]"
    if isinstance(v, dict):
        return "{ " + ", ".join(toml_key(r, k) + " = " + toml_value(r, x) for k, x in v.items()) + " }"
    return v.isoformat() if isinstance(v, datetime.date) else repr(v)


def toml_table(r, v, path, out):
    later = []
    for k, x in v.items():
        if isinstance(x, dict) and r.random() < 0.7:
            later.append((k, x))
        elif isinstance(x, dict) and x and path and r.random() < 0.3:
            for inner, y in x.items():
                out.append("%s.%s = %s" % (toml_key(r, k), toml_key(r, inner), toml_value(r, y)))
        else:
            out.append(r.choice(["", "  "]) + toml_key(r, k) + r.choice([" = ", "="]) + toml_value(r, x) + comment(r))
    for k, x in later:
        out.append("")
        out.append("[" + ".".join(toml_key(r, p) for p in path + [k]) + "]" + comment(r))
        toml_table(r, x, path + [k], out)


def write_toml(r, v):
    out = r.choice([[], ["# top"]])
    toml_table(r, v, [], out)
    return "\n".join(out) + r.choice(["", "\n"])


def write_json(r, v):
    return json.dumps(v, indent=r.choice([None, 2, 4, "\t"]), ensure_ascii=r.random() < 0.5,
                      separators=r.choice([None, (",", ":"), (" , ", " : ")])) + r.choice(["", "\n"])


WRITERS = {"yaml": write_yaml, "toml": write_toml, "json": write_json}
READERS = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}


# --- what is asked for ---

def paths(v, at=()):
    for k, x in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        yield at + (k,), x
        yield from paths(x, at + (k,))


def spelt(path):
    def part(k):
        return str(k) if not isinstance(k, str) or k and not set(k) & set(".\"\\ \t'") else (
            '"' + k.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return ".".join(part(k) for k in path)


def asked_value(r, form):
    kind = r.choice(["int", "float", "text", "text", "bool", "json"] + ([] if form == "toml" else ["null"]))
    if kind == "int":
        return kind, r.choice([0, 1, -5, 2**53 + 1, 2**63 - 1])
    if kind == "float":
        return kind, r.choice([1e-5, 0.5, 1.0, 1e22, -3.25e-300])
    if kind == "text":
        return kind, r.choice(ODD)
    if kind == "bool":
        return kind, r.choice([True, False])
    return kind, None if kind == "null" else r.choice([[0.9, 0.95], [], [1, "x"], {"k": [1]}])


def wire(kind, v):
    return {"int": str, "float": repr, "text": str, "null": str,
            "bool": lambda x: "true" if x else "false", "json": lambda x: json.dumps(x, separators=(",", ":"))}[kind](v)


def put(v, path, value):
    for i, k in enumerate(path[:-1]):
        if isinstance(v, dict) and k not in v:
            v[k] = {}
        v = v[k]
    if isinstance(v, list) and path[-1] == len(v):
        v.append(value)
    else:
        v[path[-1]] = value


def at(v, path):
    for k in path:
        v = v[k]
    return v


def asked(r, form, wanted):
    """Changes that can be made one after the other; `wanted` becomes what comes of them."""
    changes = []
    for _ in range(r.randrange(1, 4)):
        there = list(paths(wanted))
        kind = r.choice(["set", "set", "set", "unset", "add"])
        leaves = [p for p, x in there if not isinstance(x, (dict, list))]
        tables = [p for p, x in there if isinstance(x, dict)] + [()]
        if kind == "add":
            p = r.choice(tables) + r.choice([("new key",), ("added",), ("n", "e", "w")])
            if p in [q for q, _ in there] or (p[-2:] == ("e", "w") and p[:-2] in [q for q, _ in there]):
                continue
        elif leaves:
            p = r.choice(leaves)
        else:
            continue
        change = {"kind": kind, "path": spelt(p)}
        if kind == "unset":
            parent = at(wanted, p[:-1])
            del parent[p[-1]]
        else:
            type_, value = asked_value(r, form)
            change.update(type=type_, value=wire(type_, value))
            put(wanted, p, json.loads(json.dumps(value)))
        changes.append(change)
    return changes


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(sorted(map(repr, a))) == list(sorted(map(repr, b))) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def cases(form, count):
    r = random.Random("files " + form)
    made = 0
    while made < count:
        text = WRITERS[form](r, tree(r, form))
        try:
            base = READERS[form](text)
        except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
            continue
        # Keys that YAML reads as other types than text have no path of their own here.
        if not isinstance(base, dict) or any(not isinstance(k, str) for p, _ in paths(base) for k in p[-1:]
                                             if not isinstance(at(base, p[:-1]), list)):
            continue
        wanted = READERS[form](text)
        changes = asked(r, form, wanted)
        made += 1
        yield text, changes, base, wanted


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    wrong = 0
    for form in sorted(WRITERS):
        all_cases = list(cases(form, count))
        lines = "".join(json.dumps({"format": form, "text": t, "changes": c}) + "\n" for t, c, _, _ in all_cases)
        answers = subprocess.run([program], input=lines, capture_output=True, text=True,
                                 check=True).stdout.split("\n")[:-1]
        refused = 0
        for (text, changes, _, wanted), line in zip(all_cases, answers, strict=True):
            answer = json.loads(line)
            try:
                good = "error" in answer or same(READERS[form](answer["text"]), wanted)
            except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
                good = False
            refused += "error" in answer
            if not good or ("error" in answer and "-v" in sys.argv):
                wrong += not good
                print("--- %s\n%s\n--- %s\n--- %s" % (form, text, changes, answer.get("text", answer.get("error"))))
        print("%s: %d files, %d refused" % (form, len(all_cases), refused))
    sys.exit(wrong > 0)


main()
