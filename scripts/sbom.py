#!/usr/bin/env python3
"""What a program of meshsweep's is made of, as SPDX 2.3 in JSON on standard output.

    scripts/sbom.py PROGRAM
    scripts/sbom.py PROGRAM --map LINKER-MAP [--root DIRECTORY] [--header-only PACKAGE] [--compiled NAME=PACKAGE]

Libraries are those that the program is really linked to: of ldd, or of the linker's map for a static one, with those
that it loads to serve a page and to write a workbook, if installed, and what they are linked to. Each is the Debian package that its file belongs to, with version and with the licence of /usr/share/doc/PACKAGE/copyright. A file
of no package is named by itself, with its checksum. One that was compiled from its source (--compiled), or is all
headers (--header-only), is named by the package that has its copyright. Texts that the program carries are files, with
their checksums.

The same program gives the same document: its time is SOURCE_DATE_EPOCH, else 1970. A licence that cannot be told (small
images leave /usr/share/doc out) is NOASSERTION; nothing is guessed.
"""
import argparse
import datetime
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LOADED = rb"(?<=\0)lib(?:microhttpd|xlsxwriter)\.so\.\d+(?=\0)"  # by library_load()
# Debian's names, where SPDX has another. Those of no list are given with their text (LicenseRef-).
SPDX_NAMES = {"Expat": "MIT", "MIT": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
              "BSD-3-google": "BSD-3-Clause", "GPL-2+": "GPL-2.0-or-later", "LGPL-2.1+": "LGPL-2.1-or-later"}
# Copyright files that are no table: packages, what the file says, and the licence that it is.
PROSE = [(r"libc6(-dev)?", "GNU Lesser General Public", "LGPL-2.1-or-later"),
         (r"libgnutls30(t64)?", "GNU Lesser", "LGPL-2.1-or-later"),
         (r"libtasn1-6", "GNU Lesser", "LGPL-2.1-or-later"),
         (r"libcsv3(t64)?", "GNU Lesser General Public", "LGPL-2.1-or-later"),
         (r"libstdc\+\+(6|-\d+-dev)", "GCC Runtime Library Exception", "GPL-3.0-or-later WITH GCC-exception-3.1"),
         (r"libgcc-(s1|\d+-dev)", "GCC Runtime Library Exception", "GPL-3.0-or-later WITH GCC-exception-3.1"),
         # These are of a build with sanitizers. Either of two licences, by libsanitizer/LICENSE.TXT of GCC.
         (r"lib[alt]san\d+|libubsan\d+", "The libsanitizer libraries", "NCSA OR MIT")]


def run(*command, may_fail=False):
    return subprocess.run(command, check=not may_fail, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def owners_of(paths):
    """Of each path the package with its machine, as libc6:amd64; None for a file of no package. Libraries lie below /lib
    or /usr/lib, which are one directory; packages name one of them."""
    names = {}
    for path in paths:
        real = os.path.realpath(path)
        names[path] = (path, real, "/usr" + path, real.removeprefix("/usr"))
    owners = {}
    # All at once, since each query reads the lists of all packages; it fails when one of the names is in none.
    for line in run("dpkg-query", "-S", *dict.fromkeys(sum(names.values(), ())), may_fail=True).splitlines():
        # "PACKAGE[:MACHINE][, PACKAGE...]: PATH", and lines of their own for what was diverted.
        if not line.startswith("diversion by "):
            packages, name = line.rsplit(": ", 1)
            owners.setdefault(name, packages.split(", ")[0])
    return {path: next((owners[name] for name in names[path] if name in owners), None) for path in paths}


def versions_of(packages):
    """Version and machine of each, by its name with the machine and by the bare one."""
    versions = {}
    for line in run("dpkg-query", "-W", "-f", "${binary:Package} ${Version} ${Architecture}\n", *packages).splitlines():
        name, version, machine = line.split(" ")
        for key in (name, f"{name.split(':')[0]}:{machine}", name.split(":")[0]):
            versions.setdefault(key, (version, machine))
    return versions


def linked(program, linker_map, root):
    """Paths of the libraries."""
    if not linker_map:
        ldconfig = shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin")
        known = dict(reversed(re.findall(r"^\t(\S+) .* => (/\S+)$", run(ldconfig, "-p"), re.MULTILINE)))
        with open(program, "rb") as file:
            loaded = {known[name.decode()] for name in re.findall(LOADED, file.read()) if name.decode() in known}
        return sorted({*loaded, *re.findall(r"(/\S+) \(0x", "".join(run("ldd", of) for of in (program, *loaded)))})
    with open(linker_map, encoding="utf-8", errors="replace") as file:
        members = re.findall(r"^(/\S+\.a)\(", file.read(), re.MULTILINE)
    return sorted({os.path.realpath(path) for path in members if path.startswith(("/usr/", root))})


def licence_of(package, texts):
    """The SPDX expression; what has no name in SPDX is added to texts."""
    path = f"/usr/share/doc/{package}/copyright"
    if not os.path.exists(path):
        return "NOASSERTION"
    with open(path, encoding="utf-8", errors="replace") as file:
        said = file.read()
    found = re.search(r"^Files: *\*.*?^License: *(\S[^\n]*)\n((?: [^\n]*\n)*)", said, re.MULTILINE | re.DOTALL)
    if not found:
        return next((licence for names, phrase, licence in PROSE if re.fullmatch(names, package) and phrase in said),
                    "NOASSERTION")
    name = found[1].strip()
    if name in SPDX_NAMES:
        return SPDX_NAMES[name]
    reference = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package}-{name}")
    paragraph = re.search(rf"^License: *{re.escape(name)}\n((?: [^\n]*\n)+)", said, re.MULTILINE)
    texts[reference] = ((paragraph and paragraph[1]) or found[2] or name).strip()
    return reference


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def library(owner, versions, texts, name=None):
    """A package, as owners_of() gives it, under another name if it is to have one."""
    version, machine = versions[owner]
    package = owner.split(":")[0]
    licence = licence_of(package, texts)
    return {"SPDXID": identifier("Package", name or package), "name": name or package, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": "LIBRARY",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{version}?arch={machine}"}]}


def foreign_library(path):
    """One that somebody put there: what is known of it are its name and its bytes."""
    name = os.path.basename(os.path.realpath(path))
    return {"SPDXID": identifier("Package", name), "name": name, "packageFileName": name,
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest(path, "sha256")}],
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY"}


def libraries_of(options, texts):
    owners = owners_of(linked(options.program, options.map, options.root))
    packages = sorted({*filter(None, owners.values()), *options.header_only})
    compiled = [pair.split("=") for pair in options.compiled]
    versions = versions_of([*packages, *(package for _, package in compiled)])
    found = [library(package, versions, texts) for package in packages]
    found += {os.path.realpath(path): foreign_library(path) for path, owner in owners.items() if not owner}.values()
    return found + [library(package, versions, texts, name) for name, package in compiled]


def digest(path, algorithm):
    with open(path, "rb") as file:
        return hashlib.new(algorithm, file.read()).hexdigest()


def embedded():
    """The texts that Makefile.am has the program carry."""
    with open(os.path.join(ROOT, "Makefile.am"), encoding="utf-8") as file:
        patterns = re.search(r"^embedded_texts = ((?:.*\\\n)*.*)", file.read(), re.MULTILINE)[1]
    found = (glob.glob(pattern, root_dir=ROOT) for pattern in re.findall(r"[\w/*.]+\.\w+", patterns))
    for name in sorted(name for names in found for name in names):
        path = os.path.join(ROOT, name)
        yield {"SPDXID": identifier("File", name), "fileName": "./" + name, "fileTypes": ["TEXT"],
               "checksums": [{"algorithm": a.upper(), "checksumValue": digest(path, a)} for a in ("sha1", "sha256")],
               "licenseConcluded": "MIT", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"}


def document(options):
    with open(os.path.join(ROOT, "configure.ac"), encoding="utf-8") as file:
        version = re.search(r"AC_INIT\(\[meshsweep\], \[(.*)\]\)", file.read())[1]
    with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as file:
        holder = re.search(r"^Copyright .*", file.read(), re.MULTILINE)[0]
    checksum = digest(options.program, "sha256")
    program = {"SPDXID": identifier("Package", "meshsweep"), "name": "meshsweep", "versionInfo": version,
               "packageFileName": os.path.basename(options.program), "downloadLocation": "NOASSERTION",
               "filesAnalyzed": False, "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
               "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": holder,
               "primaryPackagePurpose": "APPLICATION"}
    texts = {}
    libraries = libraries_of(options, texts)
    files = list(embedded())
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), datetime.timezone.utc)
    relation = "STATIC_LINK" if options.map else "DYNAMIC_LINK"
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"meshsweep-{version}", "documentNamespace": f"urn:meshsweep:sbom:{version}:{checksum}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: meshsweep-sbom"]},
            "packages": [program, *libraries], "files": files,
            "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": text} for name, text in texts.items()],
            "relationships": [
                {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                 "relatedSpdxElement": program["SPDXID"]},
                *({"spdxElementId": program["SPDXID"], "relationshipType": kind, "relatedSpdxElement": each["SPDXID"]}
                  for kind, all_of in ((relation, libraries), ("CONTAINS", files)) for each in all_of)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("--map", help="the linker's map of a static program")
    parser.add_argument("--root", default="/usr/", help="where libraries for another machine lie")
    parser.add_argument("--header-only", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--compiled", action="append", default=[], metavar="NAME=PACKAGE")
    json.dump(document(parser.parse_args()), sys.stdout, indent=1)
    print()


main()
