"""Checks documents against the contract: json_check.py SCHEMAS FILE...

A file is named COMMAND.WHICH.json, or COMMAND.WHICH.jsonl with a document on each line. Each is validated against its
schema, and all against one another: a name that is not a user's has one type in all of them. Prints what is wrong and
what was not seen at all: forms of documents, and keys that never had a value.
"""
import json
import os
import sys

import jsonschema

USERS_OWN = {"keys", "proposal", "differs", "values", "metrics", "failure_classes", "excluded_by", "warned_by",
             "environment", "scripts", "versions", "model_info", "records"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f] if path.endswith("l") else [json.load(f)]


def kind(value):
    return {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def collect(value, where, types):
    if isinstance(value, list):
        for item in value:
            collect(item, where, types)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if inner is not None:
                types.setdefault(name, {}).setdefault(kind(inner), where)
            if name == "metrics" and isinstance(inner, dict):
                for metric in inner.values():
                    collect(metric, where, types)
            elif name not in USERS_OWN:
                collect(inner, where, types)


def all_names(schema):
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from all_names(inner)
    for inner in schema.get("oneOf", []):
        yield from all_names(inner)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from all_names(schema[part])


def main():
    schemas, types, wrong, seen = sys.argv[1], {}, 0, set()
    validators = {}
    for name in os.listdir(schemas):
        if name.endswith(".json"):
            with open(os.path.join(schemas, name), encoding="utf-8") as f:
                schema = json.load(f)
            jsonschema.Draft202012Validator.check_schema(schema)
            validators[name[:-5]] = jsonschema.Draft202012Validator(schema)
    for path in sys.argv[2:]:
        name = os.path.basename(path)
        command = name.split(".")[0]
        for document in read(path):
            collect(document, name, types)
            for i, form in enumerate(validators[command].schema.get("oneOf", [validators[command].schema])):
                if jsonschema.Draft202012Validator(form).is_valid(document):
                    seen.add((command, i))
            for error in validators[command].iter_errors(document):
                wrong += 1
                best = jsonschema.exceptions.best_match([error]) or error
                print(f"{name}: {'.'.join(map(str, best.absolute_path))}: {best.message[:300]}")
    for name, kinds in sorted(types.items()):
        if len(kinds) > 1:
            wrong += 1
            print(f"{name}: " + ", ".join(f"{k} in {where}" for k, where in kinds.items()))
    for command, validator in sorted(validators.items()):
        for i, _ in enumerate(validator.schema.get("oneOf", [None])):
            if (command, i) not in seen:
                wrong += 1
                print(f"{command}: no document of form {i + 1} was seen")
        for name in sorted(set(all_names(validator.schema)) - set(types)):
            print(f"# {command}: {name} never had a value")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
