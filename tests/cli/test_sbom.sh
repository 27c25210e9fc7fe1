#!/usr/bin/env bash
# scripts/sbom.py: what the program is linked to and carries, as SPDX.
. "$(dirname "$0")/lib.sh"

make_sbom()
{
    command -v dpkg-query >/dev/null || skip "libraries are told by Debian's packages"
    run_command env SOURCE_DATE_EPOCH=86400 python3 "$source_dir/scripts/sbom.py" "$meshsweep"
    expect_status 0
    expect_stdout_contains '"created": "1970-01-02T00:00:00Z"'
    expect_no_stderr
    cp .stdout sbom.json
}

check_sbom() # FILE
{
    run_command python3 "$source_dir/tests/cli/check_spdx.py" "$1"
    expect_no_stdout
}

# Value of the document, by a Python expression on it.
of_sbom() # EXPRESSION
{
    python3 -c "import json; d = json.load(open('sbom.json')); print($1)"
}

sbom__program__every_library_and_text()
{
    local file count
    make_sbom
    check_sbom sbom.json
    expect_status 0
    expect_no_stderr
    # Each library of ldd's, by the package of its own file.
    ldd "$meshsweep" | grep -oE '(/[^ ]+)' | while IFS= read -r file; do
        dpkg-query -S "$(realpath "$file")" "$file" "/usr$file" 2>/dev/null | head -n 1 | cut -d : -f 1
    done | sort -u >packages
    expect '[ $(wc -l <packages) -ge 5 ]'
    while IFS= read -r file; do
        expect_file_contains sbom.json "\"name\": \"$file\""
    done <packages
    count=$(of_sbom "sum(r['relationshipType'] == 'DYNAMIC_LINK' for r in d['relationships'])")
    [ "$count" = "$(wc -l <packages)" ] || fail "$count libraries, not those of: $(cat packages)"
    # A text of the program's, with its checksum.
    expect_file_contains sbom.json "$(sha256sum <"$source_dir/sql/rules.sql" | cut -d ' ' -f 1)"
    expect_file_contains sbom.json "$(sha256sum <"$meshsweep" | cut -d ' ' -f 1)"
    count=$(of_sbom "[p['name'] for p in d['packages'] if p['licenseConcluded'] == 'NOASSERTION']")
    [ "$count" = "[]" ] || fail "without a licence: $count"
}

sbom__made_again__same_bytes()
{
    make_sbom
    mv sbom.json first.json
    make_sbom
    expect "cmp -s first.json sbom.json"
}

# A check that finds nothing would pass everything.
check_spdx__broken__refused()
{
    local change
    make_sbom
    while IFS= read -r change; do
        python3 -c "import json; d = json.load(open('sbom.json')); $change; json.dump(d, open('broken.json', 'w'))"
        check_sbom broken.json
        expect_status 1
        expect_stderr_matches '.'
    done <<'END'
del d['dataLicense']
d['packages'][1]['licenseConcluded'] = 'Public'
d['packages'].pop()
d['files'][0]['checksums'].pop(0)
d['relationships'].pop()
d['creationInfo']['created'] = 'today'
d['packages'][2]['SPDXID'] = d['packages'][1]['SPDXID']
d['hasExtractedLicensingInfos'] = []
END
}

run_cases "$@"
