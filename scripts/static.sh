#!/usr/bin/env bash
# Builds one program file that needs no library: scripts/static.sh [--try] [DIRECTORY]
#
#   DIRECTORY  where meshsweep-VERSION-linux-MACHINE, its SHA256SUMS and its SBOM are left (build-static)
#   --try      and runs it in an empty root that has nothing but /bin/sh, /dev and /proc: a sweep, the winner, a report;
#              as root
#
# Everything is of Debian: the C library and the C++ one, SQLite, RE2, xxHash, libcsv. libcjson-dev has no archive, so that
# cJSON is compiled from its Debian source (apt-get source, into the build directory; or CJSON_SOURCE=DIRECTORY).
#
# What is lost: libraries are not loaded while it runs, so that GPUs are asked for by nvidia-smi and not through NVML.
# Nothing else. The trainer of the quickstart is not in it.
#
# The same sources give the same bytes, wherever and whenever: scripts/package.sh --twice.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
most_bytes=12000000
try='' out=
for argument; do
    case $argument in
    --try) try=1 ;;
    -*) echo "static.sh: unknown option $argument" >&2; exit 2 ;;
    *) out=$argument ;;
    esac
done
out=${out:-$root/build-static}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^AC_INIT(\[meshsweep\], \[\(.*\)\])$/\1/p' "$root/configure.ac")
program=$out/meshsweep-$version-linux-$(uname -m)

die()
{
    echo "static.sh: $*" >&2
    exit 1
}

# cJSON's Debian source, without a change to the machine's lists of packages: lists of its own, by the same keys.
fetch_cjson()
{
    local lists=$out/cjson/lists
    mkdir -p "$lists/partial"
    cat >"$out/cjson/source.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $(. /etc/os-release && echo "$VERSION_CODENAME")
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    (cd "$out/cjson" &&
        set -- -qq -o Dir::Etc::sourcelist="$PWD/source.sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$lists" \
            -o APT::Sandbox::User=root &&
        apt-get "$@" update && apt-get "$@" --download-only source cjson &&
        tar --strip-components=1 -xzf cjson_*.orig.tar.gz) >"$out/cjson/log" 2>&1 ||
        { tail -n 3 "$out/cjson/log" >&2; die "no source of cJSON: $out/cjson/log; CJSON_SOURCE=DIRECTORY names one"; }
}

# Archives that there is no package of: cJSON, and a libdl that loads nothing. (That of the C library would want the very
# C library at run time that the program was built with.)
make_archives()
{
    local cjson=${CJSON_SOURCE:-$out/cjson}
    [ -f "$cjson/cJSON.c" ] || { mkdir -p "$cjson" && fetch_cjson; }
    cat >"$out/no_libraries.c" <<'END'
#include <dlfcn.h>
void *dlopen(const char *file, int mode) { (void)file; (void)mode; return 0; }
void *dlsym(void *restrict handle, const char *restrict name) { (void)handle; (void)name; return 0; }
int dlclose(void *handle) { (void)handle; return 0; }
char *dlerror(void) { return "this program loads no libraries"; }
END
    (cd "$cjson" && gcc "${flags[@]}" -c cJSON.c -o "$out/cJSON.o")
    (cd "$out" && gcc "${flags[@]}" -c no_libraries.c && rm -f libcjson.a && ar Drc libcjson.a cJSON.o)
}

# Paths of the build are in nothing that is compiled.
build()
{
    local build=$out/build
    mkdir -p "$build"
    { [ -f "$root/configure" ] && [ -f "$root/Makefile.in" ]; } || (cd "$root" && autoreconf -fi)
    (cd "$build" &&
        { [ -f Makefile ] || "$root/configure" -q CC="${CC:-gcc}" CXX="${CXX:-g++}" \
            CFLAGS="${flags[*]}" CXXFLAGS="${flags[*]}" LDFLAGS="-static -L$out -Wl,--gc-sections -Wl,-Map=$out/map $out/no_libraries.o" \
            TOMLPLUSPLUS_CFLAGS=-DTOML_HEADER_ONLY=1 TOMLPLUSPLUS_LIBS=" "; } &&
        make -s -j "$(nproc)" meshsweep) >"$out/build.log" 2>&1 ||
        { tail -n 20 "$out/build.log" >&2; die "it cannot be built: $out/build.log"; }
    strip -o "$program" "$build/meshsweep"
}

check()
{
    local size
    file -b "$program" 2>/dev/null | grep -q 'dynamically linked' && die "$program wants libraries"
    ldd "$program" >/dev/null 2>&1 && die "$program wants libraries"
    size=$(stat -c %s "$program")
    [ "$size" -le "$most_bytes" ] || die "$program has $size bytes, more than $most_bytes"
    "$root/scripts/sbom.py" "$program" --map "$out/map" --header-only libtomlplusplus-dev \
        --compiled cJSON=libcjson-dev >"$program.spdx.json"
    (cd "$out" && sha256sum "${program##*/}" "${program##*/}.spdx.json" >SHA256SUMS)
    echo "$program: $size bytes, no libraries"
}

# An empty root: a shell (with what it is linked to), devices, processes.
try_in_empty_root()
{
    [ "$(id -u)" = 0 ] || die "--try wants root"
    fresh=$(mktemp -d)
    trap 'umount "$fresh/proc" "$fresh/dev" 2>/dev/null; rm -rf --one-file-system "$fresh"' EXIT
    mkdir -p "$fresh"/{bin,dev,proc,tmp,work}
    cp "$program" "$fresh/bin/meshsweep"
    for file in $(ldd /bin/sh | grep -o '/[^ ]*'); do
        mkdir -p "$fresh${file%/*}"
        cp -L "$file" "$fresh$file"
    done
    cp -L /bin/sh "$fresh/bin/sh"
    mount -t proc proc "$fresh/proc"
    mount --bind /dev "$fresh/dev"
    cat >"$fresh/work/sweep.toml" <<'END'
[sweep]
name = "empty-root"
objective = "max:score"
[job]
command = ["sh", "-c", "echo score: $(({a} * 10 + {b}))"]
[job.metrics.score]
regex = 'score: ([0-9]+)'
[parallel_spec]
a = [1, 2, 3]
b = [1, 2]
END
    cat >"$fresh/work/try" <<'END'
set -eu
cd /work
meshsweep --version
meshsweep check -c sweep.toml
meshsweep run -j 2 --progress none
meshsweep best --json
meshsweep report -o report.html
meshsweep best --out winner
sh winner/command.sh
END

    chroot "$fresh" /bin/sh -c 'PATH=/bin HOME=/work; export PATH HOME; exec sh /work/try' >"$out/try.log" 2>&1 ||
        { tail -n 20 "$out/try.log" >&2; die "it does not sweep in an empty root: $out/try.log"; }
    grep -q 'score: 32' "$out/try.log" || die "another winner than 32: $out/try.log"
    grep -q '</html>' "$fresh/work/report.html" || die "no report"
    echo "swept in an empty root"
}

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
flags=(-O2 -ffunction-sections -fdata-sections "-ffile-prefix-map=$root=." "-ffile-prefix-map=$out=build")
make_archives
build
check
[ -z "$try" ] || try_in_empty_root
