"""Whether schemas/sweep.json takes what the program takes: sweep_schema_check.py SCHEMA REFERENCE FILE...

Takes: the files, the examples of the reference, and what the schema itself gives as examples and defaults. Refuses:
slips of people.
"""
import json
import re
import sys
import tomllib

import jsonschema

SLIPS = ("[swep]", "[job]\ncomand = 'true'", "[job.metrics.rate]\nregexx = 'a'", "[job]\nrepeat = 'twice'",
         "[job]\nrepeat = 0", "[slurm]\narray_size = 5000000", "[predict]\ncertain = 11", "[predict]\nprune = 'some'",
         "[[rule]]\nname = 'a'", "[search]\nstrategy = 'gird'", "[search]\nconfidence = 1.5", "[slurm]\npoll = 0.01",
         "[[search.stage]]\nfree = 'tp'", "[retry]\nspan = 2", "[retry]\noom = 0", "[sweep]\nshare = 'yes'",
         "[[device]]\nname = 'x'\nlink_domain = 0")


def below(schema):
    """A schema and all that are in it."""
    yield schema
    for part in list(schema.get("properties", {}).values()) + schema.get("anyOf", []):
        yield from below(part)
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from below(part)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    validator, wrong = jsonschema.Draft7Validator(schema), []
    with open(sys.argv[2], encoding="utf-8") as f:
        texts = {f"example {i}": text for i, text in enumerate(re.findall(r"```toml\n(.*?)```", f.read(), re.S), 1)}
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as f:
            texts[path] = f.read()
    for name, text in texts.items():
        for error in validator.iter_errors(tomllib.loads(text)):
            wrong.append(f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    for part in below(schema):
        for value in part.get("examples", []) + [part[name] for name in ("default",) if name in part]:
            if not jsonschema.Draft7Validator(part).is_valid(value):
                wrong.append(f"{json.dumps(value)} is no {part.get('description', '')[:80]}")
    wrong += [f"not refused: {slip}" for slip in SLIPS if validator.is_valid(tomllib.loads(slip))]
    print("\n".join(wrong) or f"{len(texts)} files and {len(SLIPS)} slips")
    return 1 if wrong or len(texts) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
