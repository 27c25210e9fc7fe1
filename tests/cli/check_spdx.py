#!/usr/bin/env python3
"""Whether a file is an SPDX 2.3 document in JSON, as far as meshsweep's use of it goes: check_spdx.py FILE. Says each
breach on standard error; status 1 when there is one."""
import json
import re
import sys

LICENCES = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "LGPL-2.1-or-later", "GPL-2.0-or-later", "GPL-3.0-or-later",
            "GCC-exception-3.1", "NCSA", "NOASSERTION", "NONE"}
DOCUMENT = {"spdxVersion": r"SPDX-2\.3", "dataLicense": r"CC0-1\.0", "SPDXID": "SPDXRef-DOCUMENT", "name": ".+",
            "documentNamespace": r"[a-z][a-z0-9+.-]*:[^#]+"}
PACKAGE = {"SPDXID": r"SPDXRef-[A-Za-z0-9.-]+", "name": ".+", "downloadLocation": ".+",
           "licenseConcluded": ".+", "licenseDeclared": ".+", "copyrightText": ".+"}
FILE = {"SPDXID": r"SPDXRef-[A-Za-z0-9.-]+", "fileName": r"\./.+", "licenseConcluded": ".+", "copyrightText": ".+"}
DIGITS = {"SHA1": 40, "SHA256": 64}
RELATIONS = {"DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "STATIC_LINK"}

breaches = []


def breach(text):
    breaches.append(text)
    print(text, file=sys.stderr)


def fields(thing, wanted, what):
    for name, pattern in wanted.items():
        value = thing.get(name)
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
            breach(f"{what}: {name} is {value!r}")


def licences(expression, defined, what):
    for word in re.findall(r"[A-Za-z0-9.+-]+", expression):
        if word not in {"AND", "OR", "WITH"} and word not in LICENCES and word not in defined:
            breach(f"{what}: no licence {word}")


def checksums(thing, wanted, what):
    found = {c["algorithm"]: c["checksumValue"] for c in thing.get("checksums", [])}
    for name in wanted:
        if not re.fullmatch(rf"[0-9a-f]{{{DIGITS[name]}}}", found.get(name, "")):
            breach(f"{what}: {name} is {found.get(name)!r}")


def check(document):
    fields(document, DOCUMENT, "document")
    creation = document.get("creationInfo", {})
    fields(creation, {"created": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}, "creationInfo")
    if not creation.get("creators") or not all(re.match("(Tool|Person|Organization): .", c) for c in creation["creators"]):
        breach("creationInfo: no creators")
    defined = {info.get("licenseId") for info in document.get("hasExtractedLicensingInfos", []) if info.get("extractedText")}
    identifiers = ["SPDXRef-DOCUMENT"]
    for package in document.get("packages", []):
        what = f"package {package.get('name')}"
        fields(package, PACKAGE, what)
        licences(package.get("licenseConcluded", ""), defined, what)
        if not package.get("versionInfo") and not package.get("checksums"):
            breach(f"{what}: neither version nor checksum")
        if package.get("filesAnalyzed") is not False:
            breach(f"{what}: files were not analyzed")
        identifiers.append(package.get("SPDXID"))
    for file in document.get("files", []):
        what = f"file {file.get('fileName')}"
        fields(file, FILE, what)
        checksums(file, ("SHA1", "SHA256"), what)
        licences(file.get("licenseConcluded", ""), defined, what)
        identifiers.append(file.get("SPDXID"))
    if len(set(identifiers)) != len(identifiers):
        breach("identifiers are not unique")
    related = {"SPDXRef-DOCUMENT"}
    for relation in document.get("relationships", []):
        if relation.get("relationshipType") not in RELATIONS:
            breach(f"no relationship {relation.get('relationshipType')}")
        for end in (relation.get("spdxElementId"), relation.get("relatedSpdxElement")):
            related.add(end)
            if end not in identifiers:
                breach(f"no element {end}")
    for one in set(identifiers) - related:
        breach(f"{one} has no relationship")


with open(sys.argv[1], encoding="utf-8") as given:
    check(json.load(given))
sys.exit(1 if breaches else 0)
