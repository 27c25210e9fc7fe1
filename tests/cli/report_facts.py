"""What a report says, as lines to compare with what a database says: report_facts.py REPORT

    card NUMBER LABEL                  of the overview, counts alone
    cause JOBS CLASS example JOB       of the failures
    rule NAME EXCLUDED                 of the excluded combinations
    winner JOB VALUE                   as far as one is named
    rows N                             of the table of jobs
    data STATE N                       jobs by state, as the script has them"""

import collections
import html.parser
import json
import re
import sys


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.sections, self.id, self.data, self.in_data = collections.defaultdict(str), None, "", False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "section":
            self.id = attributes["id"]
        self.in_data = tag == "script" and attributes.get("id") == "data"
        if tag in ("p", "li", "tr", "div"):
            self.sections[self.id] += "\n"
        elif tag in ("td", "th", "b", "span"):
            self.sections[self.id] += "\t"

    def handle_endtag(self, tag):
        if tag == "section":
            self.id = None

    def handle_data(self, text):
        if self.in_data:
            self.data += text
        else:
            self.sections[self.id] += text.replace("\n", " ")


text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)


def lines(section, pattern):
    return [m.groups() for line in page.sections[section].split("\n") for m in [re.fullmatch(pattern, line.strip())] if m]


for number, label in lines("overview", r"(\d+)\s+(combinations|excluded by rules|duplicates|jobs?|ok|failed|running|pending|attempts?)(?:, not to come)?"):
    print("card", number, label.removesuffix("s") if label != "excluded by rules" else label)
for jobs, failure, example in lines("failures", r"(\d+) jobs?\s*([a-z-]+), as job (\d+): .*"):
    print("cause", jobs, failure, "example", example)
for name, excluded in lines("excluded", r"([^\t]+)\t(\d+)\t.*"):
    print("rule", name.replace(" (only a warning)", ""), excluded)
winner = re.search(r'<p class=best><b title="([^"]*)">.*?, <a href="#j(\d+)">job', text)
if winner:
    print("winner", winner[2], float(winner[1].split()[0]))
rows = len(re.findall(r"(?m)^<tr id=j\d", text))
print("rows", rows)
data = json.loads(page.data)
states = next((c for c in data["columns"] if c["name"] == "state"), None)
for state, count in sorted(collections.Counter(states["levels"][c] for c in states["codes"]).items() if states else []):
    print("data", state, count)
