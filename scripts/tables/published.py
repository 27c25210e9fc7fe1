"""What the converters of published tables share: reading a checkout, tables in Markdown, writing CSV.

A converter is scripts/tables/NAME.py CHECKOUT >NAME.csv: it reads what a project has published, from a checkout of its
repository (tests/data/NAME is one in small), and writes the CSV that configs/import/NAME.toml maps. What is published
without a cell stays an empty cell. What cannot be converted is left out and counted on standard error. Ends with
status 1 when there is nothing to convert, 2 when the checkout lacks the files.
"""
import csv
import os
import re
import sys


class Checkout:
    """A directory, asked for files by the paths they have in the repository."""

    def __init__(self, usage):
        if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
            print(f"usage: {sys.argv[0]} CHECKOUT >TABLE.csv\n{usage.strip()}", file=sys.stderr)
            sys.exit(2)
        self.root = sys.argv[1]

    def paths(self, *wanted):
        """Those of the paths that are there; one at least has to be."""
        found = [path for path in wanted if os.path.isfile(os.path.join(self.root, path))]
        if not found:
            print(f"{sys.argv[0]}: {self.root} has no {' and no '.join(wanted)}; is it a checkout of the release that "
                  "the head of the file in configs/import names?", file=sys.stderr)
            sys.exit(2)
        return found

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8-sig") as file:
            return file.read()

    def walk(self, path):
        """All files below, as paths in the repository, sorted."""
        top = os.path.join(self.root, path)
        return sorted(os.path.relpath(os.path.join(directory, name), self.root)
                      for directory, _, names in os.walk(top) for name in names)


def cells(line):
    """The cells of a line of a Markdown table; None for any other line."""
    line = line.strip()
    if "|" not in line or len(line) < 3:
        return None
    return [cell.strip() for cell in line.strip("|").split("|")]


def markdown_rows(text):
    """Yields (line number, heading, row as a dict) of each row of each table; one of empty cells is none."""
    heading, names, previous = "", None, None
    for number, line in enumerate(text.splitlines(), 1):
        found = cells(line)
        if line.startswith("#"):
            heading, names = line.lstrip("# ").strip(), None
        elif found is None:
            names = None
        elif all(re.fullmatch(r":?-+:?", cell) for cell in found):
            names = previous
        elif names and any(found):
            yield number, heading, dict(zip(names, found))
        previous = found


def number(text):
    """The number that a cell begins with ("67GB", "2,590", "24.84 min"); None where there is none."""
    found = re.match(r"\$?(-?[0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)", (text or "").strip())
    if not found:
        return None
    value = float(found[1].replace(",", ""))
    return int(value) if value.is_integer() else value


def write(columns, rows, left_out=None):
    """The rows (dicts) as CSV on standard output; left_out maps reasons to numbers of rows."""
    for reason, count in (left_out or {}).items():
        print(f"left out: {count} rows: {reason}", file=sys.stderr)
    if not rows:
        print("nothing to convert", file=sys.stderr)
        sys.exit(1)
    out = csv.DictWriter(sys.stdout, columns, extrasaction="ignore", lineterminator="\n")
    out.writeheader()
    for row in rows:
        out.writerow({name: "" if row.get(name) is None else row[name] for name in columns})
