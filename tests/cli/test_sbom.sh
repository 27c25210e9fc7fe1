#!/usr/bin/env bash
# scripts/sbom.py: what the program is linked to and carries, as SPDX.
. "${0%/*}/lib.sh"

make_sbom()
{
    command -v dpkg-query >/dev/null || skip "libraries are told by Debian's packages"
    run_command env SOURCE_DATE_EPOCH=86400 python3 "$source_dir/scripts/sbom.py" "$meshsweep"
    expect_only_stdout_contains 0 '"created": "1970-01-02T00:00:00Z"'
    cp .stdout sbom.json
}

check_sbom() # FILE
{
    run_command python3 "$source_dir/tests/cli/check_spdx.py" "$1"
    expect_no_stdout
}

# Value of the document, by a Python expression on it.
of_sbom() { python3 -c "import json; d = json.load(open('sbom.json')); print($1)"; } # EXPRESSION

# Packages without a licence, although their copyright is on this machine.
unlicensed()
{
    local package
    of_sbom "'\\n'.join(p['name'] for p in d['packages'] if p['licenseConcluded'] == 'NOASSERTION')" |
        while IFS= read -r package; do
            [ ! -e "/usr/share/doc/$package/copyright" ] || printf '%s ' "$package"
        done
}

# Paths of the program's libraries by ldd, and of those that it loads by itself.
libraries()
{
    local name loaded=()
    # shellcheck disable=SC2207 # paths of one word, or none
    for name in libmicrohttpd.so.12 "$(grep -aoE -m 1 'libxlsxwriter\.so\.[0-9]+' "$meshsweep")"; do
        loaded+=($(PATH=$PATH:/sbin ldconfig -p | sed -n "s/^\t$name .* => //p" | head -n 1))
    done
    ldd "$meshsweep" "${loaded[@]}" | grep -oE '(/[^ ]+) \(' | tr -d ' (' | sort -u
    printf '%s\n' "${loaded[@]}"
}

# With what was seen.
fail_of() # WHAT
{
    echo "# by ldd: $(tr '\n' ' ' <packages)"
    echo "# told: $(of_sbom "*(p['name'] for p in d['packages'])")"
    libraries | sed 's/^/#/'
    fail "$1"
}

sbom__program__every_library_and_text()
{
    make_sbom
    expect_after only_stdout 0 check_sbom sbom.json
    # Each library, by the package of its own file.
    libraries | while IFS= read -r file; do
        dpkg-query -S "$(realpath "$file")" "$file" "/usr$file" 2>/dev/null | grep -v '^diversion by' | head -n 1 |
            cut -d : -f 1 | grep . || basename "$(realpath "$file")"
    done | sort -u >packages
    [ "$(wc -l <packages)" -ge 5 ] || fail_of "fewer than 5 libraries"
    while IFS= read -r file; do
        grep -qF "\"name\": \"$file\"" sbom.json || fail_of "no $file"
    done <packages
    count=$(of_sbom "sum(r['relationshipType'] == 'DYNAMIC_LINK' for r in d['relationships'])")
    [ "$count" = "$(wc -l <packages)" ] || fail_of "$count libraries"
    # A text of the program's, with its checksum.
    expect_file_contains sbom.json "$(sha256sum <"$source_dir/sql/rules.sql" | cut -d ' ' -f 1)"
    expect_file_contains sbom.json "$(sha256sum <"$meshsweep" | cut -d ' ' -f 1)"
    [ -z "$(unlicensed)" ] || fail_of "without a licence: $(unlicensed)"
}

# Two libraries as other machines have them: diverted and of several machines, and put there by hand; no copyright.
sbom__other_machines__told_as_they_are()
{
    mkdir bin
    echo "by hand" >libhand.so.1
    cat >bin/ldd <<END
#!/bin/sh
echo "	libdiverted.so.3 => /lib/libdiverted.so.3 (0x00007f0000000000)"
echo "	libhand.so.1 => $PWD/libhand.so.1 (0x00007f0000000000)"
END
    cat >bin/dpkg-query <<'END'
#!/bin/sh
case $1 in
-S)
    shift
    for name; do
        if [ "$name" = /usr/lib/libdiverted.so.3 ]; then
            echo "diversion by others from: $name"
            echo "diversion by others to: $name.distrib"
            echo "libdiverted3:amd64, libdiverted3:i386: $name"
        else
            echo "dpkg-query: no path found matching pattern $name" >&2
        fi
    done
    exit 1 ;;
-W)
    shift 3
    for name; do
        [ "$name" != libdiverted3 ] || echo "libdiverted3:i386 3.0 i386"
        echo "libdiverted3:amd64 3.1 amd64"
    done ;;
esac
END
    printf '#!/bin/sh\nexit 0\n' >bin/ldconfig
    chmod +x bin/*
    run_command env PATH="$PWD/bin:$PATH" python3 "$source_dir/scripts/sbom.py" "$meshsweep"
    expect_only_stdout_contains 0 "pkg:deb/debian/libdiverted3@3.1?arch=amd64"
    cp .stdout sbom.json
    expect_after only_stdout 0 check_sbom sbom.json
    of_sbom "*(p['name'] + '=' + p['licenseConcluded'] for p in d['packages'])" >told
    expect_file_contains told "meshsweep=MIT libdiverted3=NOASSERTION libhand.so.1=NOASSERTION"
    expect_file_contains sbom.json "$(sha256sum <libhand.so.1 | cut -d ' ' -f 1)"
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
    make_sbom
    while IFS= read -r change; do
        python3 -c "import json; d = json.load(open('sbom.json')); $change; json.dump(d, open('broken.json', 'w'))"
        expect_after status 1 check_sbom broken.json
        expect_stderr_matches '.'
    done <<'END'
del d['dataLicense']
d['packages'][1]['licenseConcluded'] = 'Public'
d['packages'].pop()
d['files'][0]['checksums'].pop(0)
d['relationships'].pop()
d['creationInfo']['created'] = 'today'
d['packages'][2]['SPDXID'] = d['packages'][1]['SPDXID']
d['packages'][1]['licenseConcluded'] = 'LicenseRef-without-text'
END
}

run_cases "$@"
