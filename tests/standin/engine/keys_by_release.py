"""Holds the keys of configs/knowledge/words.toml against a repository of DeepSpeed's sources: keys_by_release.py
REPOSITORY. Prints the releases that keys came with, or went, and ends with 1 where these, or types, are others."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

TABLE = Path(__file__).parents[3] / "configs/knowledge/words.toml"
# Places where keys are read without a model: their names stand in quotes.
PLACES = ("deepspeed/runtime/", "deepspeed/profiling/c", "deepspeed/nebula/", "deepspeed/elasticity/", "deepspeed/utils/c",
          "deepspeed/monitor/c", "deepspeed/compile/c", "deepspeed/compression/c", "deepspeed/module_inject/auto_ep_c",
          "deepspeed/comm/config", "deepspeed/datastates/c", "deepspeed/autotuning/c")
# The models' words for the table's types, in any of Optional, List and Union.
DECLARED = {"int": r"\bint\b", "float": r"\bfloat\b", "bool": r"\bbool\b", "str": r"\bstr\b|\bPath\b",
            "list": r"\blist\b|\bList\[", "any": "", "table": r"\b[dD]ict\b|Config\b"}


def number(release):
    return tuple(int(part) for part in (release + ".0.0").split(".")[:3])


def found(repository, tag, pattern, *paths):
    run = subprocess.run(["git", "--git-dir", repository, "grep", "-oE", pattern, tag, "--", *paths],
                         capture_output=True, text=True, check=False)
    return (line.split(":", 2)[1:] for line in run.stdout.splitlines())


def words_of(repository, tag, sources):
    """The words in quotes of all places, as None, and every word of each model's file, by its path."""
    quoted = found(repository, tag, "[\"'][a-z_0-9A-Z]+[\"']", *(f"{p}*.py" for p in PLACES))
    words = {None: {word.strip("\"'") for _, word in quoted}}
    for path, word in found(repository, tag, "[A-Za-z_0-9]+", *(f"deepspeed/{source}" for source in sources)):
        words.setdefault(path.removeprefix("deepspeed/"), set()).add(word)
    return words


def other_types(key, row, models, lines):
    """What the key's model declares, if that is not the table's; words may be an enumeration, aliases are stage3_…."""
    section, _, name = key.rpartition(".")
    path = "deepspeed/" + models.get(section, {}).get("source", "")
    names = (f"    {name}: ", f"    {name.removeprefix('stage3_')}: ")
    declared = [line.strip() for at, line in lines if at == path and line.startswith(names)]
    pattern = "" if "words" in row else DECLARED[row["is"]]
    return [] if any(re.search(f": .*({pattern})", line) for line in declared) else declared


def has(words, key, models):
    section, _, name = key.rpartition(".")
    source = models.get(section, {}).get("source")
    return name in words[source if source in words else None]


def since_of(rows, key):
    """The latest of the key's own and its sections'."""
    parts = key.split(".")
    above = (rows.get(".".join(parts[:i + 1]), {}).get("since", "0.9.0") for i in range(len(parts)))
    return max(above, key=number)


def main():
    repository = next((p for p in (f"{sys.argv[1]}/.git", sys.argv[1]) if Path(p, "HEAD").exists()), sys.argv[1])
    tags = subprocess.run(["git", "--git-dir", repository, "tag"], capture_output=True, text=True, check=True).stdout
    tags = sorted((t for t in tags.split() if re.fullmatch(r"v0\.\d+\.\d+", t) and number(t[1:]) >= (0, 9, 0)),
                  key=lambda t: number(t[1:]))
    table = tomllib.loads(TABLE.read_text())["ds_config"]
    sources = sorted({model["source"] for model in table["models"].values()})
    there, wrong = {}, 0
    for tag in tags:
        words = words_of(repository, tag, sources)
        lines = list(found(repository, tag, "^    [a-z_0-9]+: [^=]+", *(f"deepspeed/{source}" for source in sources)))
        for key, row in table["keys"].items():
            if has(words, key, table["models"]):
                there.setdefault(key, []).append(tag[1:])
            for other in other_types(key, row, table["models"], lines):
                wrong += 1
                print(f"{key} is {row['is']}, in {tag[1:]} {other}")
    for key in table["keys"]:
        had, since = there.get(key, []), since_of(table["keys"], key)
        first = had[0] if had else None
        if first != tags[0][1:] or had[-1] != tags[-1][1:]:
            print(f"{key}: {first or 'none'} to {had[-1] if had else tags[-1][1:]}")
        # A name in quotes may be that of something else before; none is where the key is not read yet.
        is_early = number(since) <= number(tags[-1][1:]) and (first is None or number(first) > number(since))
        if is_early:
            wrong += 1
            print(f"  the table says {since}")
    print(f"{len(table['keys'])} keys, {len(tags)} releases, {wrong} differences")
    return wrong > 0


sys.exit(main())
