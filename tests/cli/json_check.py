"""Checks documents against the contract: json_check.py SCHEMAS FILE...

A file is named COMMAND.WHICH.json, or COMMAND.WHICH.jsonl with a document on each line. Each is validated against its
schema, and all against one another: a name that is not a user's has one type in all of them. Every form of a document is
to be seen, and every key of each command with a value, but for those of UNSEEN. Prints what is wrong.
"""
import json
import os
import sys

import jsonschema

USERS_OWN = {"keys", "proposal", "differs", "values", "metrics", "failure_classes", "excluded", "warned_by",
             "environment", "scripts", "versions", "model_info", "records"}
# Keys that have no value in these documents, and why.
UNSEEN = {
    "gpus": "of /proc/driver/nvidia, which nothing stands in for",
    "unwatched_ms": "a runner that stood still for seconds: test_limits.sh has one",
}


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f] if path.endswith("l") else [json.load(f)]


def kind(value):
    return {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def collect(value, where, types, valued):
    if isinstance(value, list):
        for item in value:
            collect(item, where, types, valued)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if inner is not None:
                types.setdefault(name, {}).setdefault(kind(inner), where)
                valued.add(name)
            if name == "metrics" and isinstance(inner, dict):
                for metric in inner.values():
                    collect(metric, where, types, valued)
            elif name not in USERS_OWN:
                collect(inner, where, types, valued)


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
    schemas, types, valued, wrong, seen = sys.argv[1], {}, {}, 0, set()
    validators = {}
    for name in os.listdir(schemas):
        if name.endswith(".json") and name != "sweep.json":
            with open(os.path.join(schemas, name), encoding="utf-8") as f:
                schema = json.load(f)
            jsonschema.Draft202012Validator.check_schema(schema)
            validators[name[:-5]] = jsonschema.Draft202012Validator(schema)
    for path in sys.argv[2:]:
        name = os.path.basename(path)
        command = name.split(".")[0]
        for document in read(path):
            collect(document, name, types, valued.setdefault(command, set()))
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
        for name in sorted(set(all_names(validator.schema)) - valued.get(command, set()) - set(UNSEEN)):
            wrong += 1
            print(f"{command}: {name} never had a value")
    for name in sorted(set(UNSEEN) & set(types) - {"gpus"}):
        wrong += 1
        print(f"{name} has a value in {', '.join(types[name].values())}: it is not to stand in UNSEEN")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
