#!/usr/bin/env python3
"""Makes schemas/sweep.json, by which editors complete and check sweep files: sweep_schema.py [--check] MESHSWEEP

Which keys there are, and what their values must be, is what the program reads them by: `meshsweep completion
table-keys` prints its rows. What they mean, their defaults and examples stand in the tables of docs/reference.md. A key
that lacks a row there, and a row of a key that there is not, are errors. With --check nothing is written: the status is
1 where the file is not as it would be made.
"""
import os
import re
import subprocess
import sys
import tomllib

from schemas import ROOT, SCHEMAS, printed

PATH = os.path.join(SCHEMAS, "sweep.json")
TYPES = {"a string": {"type": "string"}, "an integer": {"type": "integer"}, "a float": {"type": "number"},
         "true or false": {"type": "boolean"}, "a table": {"type": "object"}, "a list": {"type": "array"},
         "a list of strings": {"type": "array", "items": {"type": "string"}},
         "a list of tables": {"type": "array", "items": {"type": "object"}}}
# Tables whose keys the reference describes in words and not in a table.
IN_WORDS = {"the file", "[[import.refuse]]", "[[model_space.filter]]"}
ALSO = {"a fallback": "[job.metrics]", "[[model_space.sample]]": "[model_space]",
        "[[model_space.filter]]": "[model_space]"}
COLUMNS = {"": "meaning", "takes": "type"}


def plain(markdown):
    """Links without their targets, and what is quoted without its marks."""
    text = re.sub(r"\[(`[^`]*`|[^\]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"\s+", " ", text.replace("`", "").replace("\\|", "|")).strip()


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def value_of(text):
    """What a text is as TOML; None where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def read_reference(text):
    """What docs/reference.md says: {(table, key): {"meaning": …, "default": …, "example": …}}, with the table's name
    as it stands in headings, without brackets: job.metrics."""
    rows, classes, table, columns = {}, {}, "the file", None
    for line in text.split("\n"):
        heading = re.match(r"##+ (.*)", line)
        if heading:
            name = re.search(r"`\[+([\w.]+)\]+`", heading[1])
            table = name[1].removesuffix(".NAME") if name else "the file" if heading[1] == "Top level" else None
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = [COLUMNS.get(name, name) for name in (re.sub(r" \(default\)", "", cell) for cell in cells(line))]
        elif table and columns[0] == "class":
            names, meanings = re.findall(r"`([^`]+)`", line), cells(line)[1].split("; ")
            classes.update({(table, name): {"meaning": f"how many attempts a job may have if it {meaning}"}
                            for name, meaning in zip(names, meanings)})
        elif table and columns[0] == "key" and "meaning" in columns and not line.startswith("|--"):
            row = dict(zip(columns, cells(line)))
            keys, defaults = re.findall(r"`([^`]+)`", row["key"]), row.get("default", "").split(", ")
            for i, key in enumerate(keys):
                said = {name: row[name] for name in ("meaning", "default", "example") if row.get(name)}
                if len(keys) > 1 and len(defaults) == len(keys):
                    said["default"] = defaults[i]
                rows.setdefault((table, key.strip("[]").split(".")[-1]), said)
    return rows, classes


def described(name, said):
    """Description, default and examples of a key, as far as they are said."""
    default = said.get("default", "")
    text = plain(said.get("meaning", ""))
    begins_with_code = said.get("meaning", "").startswith("`")
    sentences = [text if begins_with_code else text[:1].upper() + text[1:],
                 f"Default: {plain(default)}" if default else ""]
    out = {"description": ". ".join(sentence.rstrip(".") for sentence in sentences if sentence) + "."}
    constant = value_of("x = " + default.strip("`")) if re.fullmatch(r"`[^`]+`|[\d.]+|true|false", default) else None
    if constant:
        out["default"] = constant["x"]
    example = value_of(said.get("example", "").strip("`").replace("\\|", "|"))
    if example and name in example:
        out["examples"] = [example[name]]
    return out if text or default else {}


def read_rows(program):
    output = subprocess.run([program, "completion", "table-keys"], capture_output=True, text=True, check=True).stdout
    tables = {}
    for line in output.splitlines():
        table, name, types, required, of, bounds, words = line.split("\t")
        tables.setdefault(table, []).append((name, types, required, of, bounds, words))
    return tables


class Maker:
    def __init__(self, tables, rows, classes, text):
        self.tables = tables
        self.text = text
        self.rows = {**classes, **rows}
        self.used = set()

    def said(self, table, name):
        for title in (table, ALSO.get(table)):
            key = (title.strip("[]") if title else None, name)
            if key in self.rows:
                self.used.add(key)
                return self.rows[key]
        tables = {row[0] for row in self.tables[table] if "table" in row[1]}
        in_words = table in IN_WORDS or name in tables
        if not in_words or not re.search(rf"[`\[{{. ]{name}(?:[`\].}}]| = )", self.text):
            sys.exit(f"docs/reference.md: nothing of {name} in {table}")
        return {}

    def form(self, kind, of, bounds, words):
        form = dict(TYPES[kind])
        if kind == "a string" and words:
            form["enum"] = words.split()
        elif kind == "a string" and bounds == "text":
            form["pattern"] = "\\S"
        elif kind in ("an integer", "a float") and bounds not in ("", "text"):
            least, most = (float(number) for number in bounds.split())
            form.update({"minimum": int(least) if least == int(least) else least})
            if most != float("inf"):
                form.update({"maximum": int(most) if most == int(most) else most})
        elif of and kind in ("a table", "a list of tables"):
            inner = self.table(of.removeprefix("named "))
            inner = {"type": "object", "additionalProperties": inner} if of.startswith("named ") else inner
            form = inner if kind == "a table" else {"type": "array", "items": inner}
        return form

    def key(self, table, row):
        name, types, _, of, bounds, words = row
        kinds = types.replace("true or false", "truth").split(" or ")
        forms = [self.form("true or false" if kind == "truth" else kind, of, bounds, words) for kind in kinds]
        if any(form["type"] == "number" for form in forms):
            forms = [form for form in forms if form["type"] != "integer"]
        if any(form == {"type": "array"} for form in forms):
            forms = [form for form in forms if form["type"] != "array" or form == {"type": "array"}]
        said = described(name, self.said(table, name))
        return {**said, **(forms[0] if len(forms) == 1 else {"anyOf": forms})}

    def table(self, table):
        rows = self.tables[table]
        required = [row[0] for row in rows if row[2]]
        return {"type": "object", "properties": {row[0]: self.key(table, row) for row in rows},
                **({"required": required} if required else {}), "additionalProperties": False}


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    if len(arguments) != 1:
        sys.exit("usage: scripts/sweep_schema.py [--check] MESHSWEEP")
    with open(os.path.join(ROOT, "docs", "reference.md"), encoding="utf-8") as f:
        text = f.read()
    rows, classes = read_reference(text)
    maker = Maker(read_rows(arguments[0]), rows, classes, text)
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "sweep.json",
              "title": "A sweep file of meshsweep", **maker.table("the file")}
    for table, key in sorted(set(rows) - maker.used):
        sys.exit(f"docs/reference.md: there is no {key} in [{table}]")
    text = printed(schema) + "\n"
    old = open(PATH, encoding="utf-8").read() if os.path.exists(PATH) else None
    if "--check" in sys.argv:
        if old != text:
            print("schemas/sweep.json: not as scripts/sweep_schema.py makes it")
        return old != text
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
