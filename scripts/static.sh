#!/usr/bin/env bash
# Builds one program file that needs no library: scripts/static.sh [--try] [DIRECTORY]
#
#   DIRECTORY  where meshsweep-VERSION-linux-MACHINE, its SHA256SUMS and its SBOM are left (build-static)
#   --try      and runs it in an empty root that has nothing but /bin/sh, /dev and /proc: a sweep, the winner, a report;
#              as root
#
# Everything is of Debian: the C library and the C++ one, SQLite, RE2, xxHash, libcsv. libcjson-dev has no archive, and that
# of libmicrohttpd-dev wants GnuTLS, which has none: both are compiled from their Debian sources (apt-get source, into the
# build directory; or CJSON_SOURCE=DIRECTORY, MICROHTTPD_SOURCE=DIRECTORY), libmicrohttpd without TLS, which is not used.
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

# A Debian source, without a change to the machine's lists of packages: lists of its own, of the same archive, by the
# same keys.
fetch_source() # PACKAGE VARIABLE
{
    local lists=$out/lists to=$out/$1 release archive
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    archive=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' | sed -n "s/^$release //p" | sort -u | head -n 1)
    mkdir -p "$lists/partial" "$to"
    cat >"$out/source.sources" <<END
Types: deb-src
URIs: $archive
Suites: $release
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    (cd "$to" &&
        set -- "$1" -qq -o Dir::Etc::sourcelist="$out/source.sources" -o Dir::Etc::sourceparts=- \
            -o Dir::State::lists="$lists" -o APT::Sandbox::User=root &&
        package=$1 && shift && apt-get "$@" update && apt-get "$@" --download-only source "$package" &&
        tar --strip-components=1 -xf "${package}"_*.orig.tar.?z) >"$to/log" 2>&1 ||
        { tail -n 3 "$to/log" >&2; die "no source of $1: $to/log; $2=DIRECTORY names one"; }
}

# Archives that there is no package of: cJSON, libmicrohttpd without TLS, and a libdl that loads nothing. (That of the C
# library would want the very C library at run time that the program was built with.)
make_archives()
{
    local cjson=${CJSON_SOURCE:-$out/cjson} http=${MICROHTTPD_SOURCE:-$out/libmicrohttpd}
    [ -f "$cjson/cJSON.c" ] || fetch_source cjson CJSON_SOURCE
    [ -f "$http/configure" ] || fetch_source libmicrohttpd MICROHTTPD_SOURCE
    cat >"$out/no_libraries.c" <<'END'
#include <dlfcn.h>
void *dlopen(const char *file, int mode) { (void)file; (void)mode; return 0; }
void *dlsym(void *restrict handle, const char *restrict name) { (void)handle; (void)name; return 0; }
int dlclose(void *handle) { (void)handle; return 0; }
char *dlerror(void) { return "this program loads no libraries"; }
END
    (cd "$cjson" && gcc "${flags[@]}" -c cJSON.c -o "$out/cJSON.o")
    (cd "$out" && gcc "${flags[@]}" -c no_libraries.c && rm -f libcjson.a && ar Drc libcjson.a cJSON.o)
    [ -f "$out/libmicrohttpd.a" ] || make_microhttpd "$http"
}

make_microhttpd() # SOURCE
{
    mkdir -p "$out/http"
    (cd "$out/http" &&
        "$1/configure" -q --disable-https --disable-shared --disable-doc --disable-examples --disable-curl \
            CC="${CC:-gcc}" CFLAGS="${flags[*]}" ARFLAGS=Drc &&
        make -s -j "$(nproc)" -C src/microhttpd libmicrohttpd.la) >"$out/http.log" 2>&1 ||
        { tail -n 5 "$out/http.log" >&2; die "libmicrohttpd cannot be built: $out/http.log"; }
    cp "$out/http/src/microhttpd/.libs/libmicrohttpd.a" "$out"
}

# Paths of the build are in nothing that is compiled.
build()
{
    local build=$out/build
    mkdir -p "$build"
    { [ -f "$root/configure" ] && [ -f "$root/Makefile.in" ]; } || (cd "$root" && autoreconf -fi)
    (cd "$build" &&
        { [ -f Makefile ] || "$root/configure" -q --enable-linked-httpd CC="${CC:-gcc}" CXX="${CXX:-g++}" \
            CFLAGS="${flags[*]}" CXXFLAGS="${flags[*]}" LDFLAGS="-static -L$out -Wl,--gc-sections -Wl,-Map=$out/map $out/no_libraries.o" \
            MICROHTTPD_CFLAGS=" " MICROHTTPD_LIBS="-lmicrohttpd -lpthread" TOMLPLUSPLUS_CFLAGS=-DTOML_HEADER_ONLY=1 TOMLPLUSPLUS_LIBS=" "; } &&
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
        --compiled cJSON=libcjson-dev --compiled libmicrohttpd=libmicrohttpd-dev >"$program.spdx.json"
    (cd "$out" && sha256sum "${program##*/}" "${program##*/}.spdx.json" >SHA256SUMS)
    echo "$program: $size bytes, no libraries"
}

# An empty root: a shell (with what it is linked to), devices, processes.
try_in_empty_root()
{
    [ "$(id -u)" = 0 ] || die "--try wants root"
    fresh=$(mktemp -d)
    trap 'umount "$fresh/proc" "$fresh/dev" 2>/dev/null; rm -rf --one-file-system "$fresh"' EXIT
    mkdir -p "$fresh"/{bin,dev,proc,tmp,sweep}
    cp "$program" "$fresh/bin/meshsweep"
    for file in $(ldd /bin/sh | grep -o '/[^ ]*'); do
        mkdir -p "$fresh${file%/*}"
        cp -L "$file" "$fresh$file"
    done
    cp -L /bin/sh "$fresh/bin/sh"
    mount -t proc proc "$fresh/proc"
    mount --bind /dev "$fresh/dev"
    cat >"$fresh/sweep/sweep.toml" <<'END'
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
    cat >"$fresh/sweep/try" <<'END'
set -eu
cd /sweep
meshsweep --version
meshsweep check -c sweep.toml
meshsweep run -j 2 --progress none
meshsweep best --json
meshsweep report -o report.html
meshsweep best --out winner
sh winner/command.sh
END

    chroot "$fresh" /bin/sh -c 'PATH=/bin HOME=/sweep; export PATH HOME; exec sh /sweep/try' >"$out/try.log" 2>&1 ||
        { tail -n 20 "$out/try.log" >&2; die "it does not sweep in an empty root: $out/try.log"; }
    grep -q 'score: 32' "$out/try.log" || die "another winner than 32: $out/try.log"
    grep -q '</html>' "$fresh/sweep/report.html" || die "no report"
    echo "swept in an empty root"
}

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
flags=(-O2 -ffunction-sections -fdata-sections "-ffile-prefix-map=$root=." "-ffile-prefix-map=$out=build")
make_archives
build
check
[ -z "$try" ] || try_in_empty_root
