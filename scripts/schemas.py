#!/usr/bin/env python3
"""Makes the JSON Schemas of what commands print: scripts/schemas.py [--check]

schemas/contract.toml says what a document is made of; what is made from it is schemas/COMMAND.json. With --check nothing
is written: what is not as it would be made is named, and the status is 1. schemas/sweep.json is sweep_schema.py's.
"""
import json
import os
import re
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCHEMAS = os.path.join(ROOT, "schemas")
TYPES = {"integer", "number", "string", "boolean", "object", "list", "map", "any"}
COLUMNS = 120
CLOSING = {"{": "}", "[": "]", "<": ">"}


def read_key(name, text):
    """A key's type, the type of what it holds, whether it may be null, and what it means."""
    words, meaning = text.split(": ", 1)
    of_type, nullable = re.fullmatch(r"(.*?)( or null)?", words).groups()
    outer, _, inner = of_type.partition(" of ")
    if outer not in TYPES or (inner and inner not in TYPES) or (inner and outer not in ("list", "map")):
        sys.exit(f"contract.toml: {name}: no type: {words}")
    return {"type": outer, "of": inner or None, "null": bool(nullable), "words": words, "meaning": meaning}


def typed(kind, nullable):
    if kind == "any":
        return {}
    name = {"list": "array", "map": "object"}.get(kind, kind)
    return {"type": [name, "null"] if nullable else name}


class Notation:
    """The keys of a document: name, name?, name{…}, name[…], name<…>, name=constant."""

    def __init__(self, text, keys, where):
        self.tokens = re.findall(r"[\w-]+|[?=\[\]{}<>]", text)
        self.keys = keys
        self.where = where
        self.at = 0
        self.used = []

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def value(self, name):
        key = self.keys.get(name) or sys.exit(f"contract.toml: {self.where}: {name} is not in [keys]")
        self.used.append(name)
        schema = {"description": key["meaning"], **typed(key["type"], key["null"])}
        if self.peek() == "=":
            self.take()
            return {"const": self.take(), **schema}
        inner = typed(key["of"], False) if key["of"] else None
        if self.peek() in CLOSING:
            opening = self.take()
            wanted = {"{": "object", "[": "list", "<": "map"}[opening]
            if key["type"] != wanted:
                sys.exit(f"contract.toml: {self.where}: {name} is no {wanted}")
            inner = self.object(CLOSING[opening])
            if wanted == "object":
                return {**schema, **{k: v for k, v in inner.items() if k != "type"}}
        if key["type"] == "list":
            schema["items"] = inner or {}
        elif key["type"] == "map":
            schema["additionalProperties"] = inner or {}
        return schema

    def object(self, end=None):
        properties, required = {}, []
        while self.peek() != end:
            name = self.take()
            optional = self.peek() == "?"
            if optional:
                self.take()
            properties[name] = self.value(name)
            if not optional:
                required.append(name)
        if end:
            self.take()
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def read_contract():
    with open(os.path.join(SCHEMAS, "contract.toml"), "rb") as f:
        contract = tomllib.load(f)
    keys = {name: read_key(name, text) for name, text in contract["keys"].items()}
    with open(os.path.join(ROOT, "src", "results", "json.h"), encoding="utf-8") as f:
        version = int(re.search(r"#define JSON_SCHEMA_VERSION (\d+)", f.read()).group(1))
    documents, used = {}, set()
    for command, text in contract["documents"].items():
        forms, names = [], []
        for form in text.split("\n---\n"):
            notation = Notation("schema_version " + form, keys, command)
            schema = notation.object()
            schema["properties"]["schema_version"]["const"] = version
            forms.append(schema)
            names += [n for n in notation.used if n not in names]
        used |= set(names)
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": command + ".json",
                "title": f"meshsweep {command}" + (" --progress json, line by line" if command == "run" else " --json")}
        documents[command] = ({**head, **forms[0]} if len(forms) == 1 else {**head, "oneOf": forms}, names)
    for name in sorted(set(keys) - used):
        sys.exit(f"contract.toml: [keys] {name} is in no document")
    return documents


def printed(value, indent=0, room=COLUMNS):
    """JSON with a value on one line wherever it fits: mostly a key to a line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= room or not isinstance(value, (dict, list)) or not value:
        return line
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    names = [json.dumps(name) + ": " for name in value] if isinstance(value, dict) else [""] * len(value)
    inner = value.values() if isinstance(value, dict) else value
    lines = [" " * (indent + 1) + name + printed(item, indent + 1, COLUMNS - indent - 2 - len(name))
             for name, item in zip(names, inner)]
    return opening + "\n" + ",\n".join(lines) + "\n" + " " * indent + closing


def made(documents):
    """What files there are to be, and with what text."""
    files = {os.path.join(SCHEMAS, command + ".json"): printed(schema) + "\n"
             for command, (schema, _) in documents.items()}
    return files


def main():
    files = made(read_contract())
    there = {os.path.join(SCHEMAS, name) for name in os.listdir(SCHEMAS)
             if name.endswith(".json") and name != "sweep.json"}
    wrong = sorted(there - set(files))
    for path, text in files.items():
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == text:
            continue
        wrong.append(path)
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    if "--check" in sys.argv:
        for path in wrong:
            print(f"{os.path.relpath(path, ROOT)}: not as scripts/schemas.py makes it")
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
