#!/usr/bin/env bash
# Builds one program file that needs no library: scripts/static.sh [--try] [--noopt] [--take BUILD] [--host TRIPLET] [DIRECTORY]
#
#   DIRECTORY  where meshsweep-VERSION-linux-MACHINE, its SHA256SUMS and its SBOM are left (build-static, with --host
#              build-static-MACHINE)
#   --try      and runs it in an empty root that has nothing but /bin/sh, /dev and /proc: a sweep, the winner, a report;
#              as root
#   --noopt    as fast as it compiles, not as it runs: to see that it does
#   --take     the objects of a build that is there, where its flags do not matter (scripts/compiled_before.sh)
#   --host     for another machine: aarch64-linux-gnu for Grace, by Debian's cross compiler (gcc-aarch64-linux-gnu,
#              g++-aarch64-linux-gnu) and with the archives of Debian's packages for it, which are unpacked in the build
#              directory; --try runs it under qemu (qemu-user-static), without a root of its own
#
# Everything is of Debian: the C library and the C++ one, SQLite, RE2, xxHash, libcsv, libfyaml, zlib. libcjson-dev has no
# archive, and that of libmicrohttpd-dev wants GnuTLS, which has none: both are compiled from their Debian sources (apt-get source, into the
# build directory; or CJSON_SOURCE=DIRECTORY, MICROHTTPD_SOURCE=DIRECTORY), libmicrohttpd without TLS, which is not used.
#
# One thing is lost: libraries are not loaded while it runs, so that nvidia-smi is asked for GPUs and not NVML. The
# trainer of the quickstart is not in it.
#
# The same sources give the same bytes, wherever and whenever: scripts/package.sh --twice.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
most_bytes=12000000
try='' out='' host='' taken='' optimize=-O2
while [ $# -gt 0 ]; do
    case $1 in
    --try) try=1 ;;
    --noopt) optimize=-O0 ;;
    --take) taken="$root/scripts/compiled_before.sh $root/${2:?--take wants a build} "; shift ;;
    --host) host=${2:?--host wants a triplet}; shift ;;
    -*) echo "static.sh: unknown option $1" >&2; exit 2 ;;
    *) out=$1 ;;
    esac
    shift
done
machine=$(uname -m)
[ -z "$host" ] || machine=${host%%-*}
out=${out:-$root/build-static${host:+-$machine}}
prefix=${host:+$host-}
export CC=${CC:-${prefix}gcc} CXX=${CXX:-${prefix}g++}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^AC_INIT(\[meshsweep\], \[\(.*\)\])$/\1/p' "$root/configure.ac")
program=$out/meshsweep-$version-linux-$machine

die()
{
    echo "static.sh: $*" >&2
    exit 1
}

# apt-get without a change to the machine's lists of packages: with lists of its own, of the same archive, by the same
# keys.
own_apt() # TYPE APT-ARGUMENT...
{
    local lists=$out/lists-$1 sources=$out/$1.sources release archive
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    archive=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' | sed -n "s/^$release //p" | sort -u | head -n 1)
    mkdir -p "$lists/partial"
    printf '%s\n' "Types: $1" "URIs: $archive" "Suites: $release" 'Components: main' \
        'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$sources"
    shift
    apt-get -qq -o Dir::Etc::sourcelist="$sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$lists" \
        -o APT::Sandbox::User=root "$@"
}

fetch_source() # PACKAGE VARIABLE
{
    local to=$out/$1
    mkdir -p "$to"
    (cd "$to" && own_apt deb-src update && own_apt deb-src --download-only source "$1" &&
        tar --strip-components=1 -xf "$1"_*.orig.tar.?z) >"$to/log" 2>&1 ||
        { tail -n 3 "$to/log" >&2; die "no source of $1: $to/log; $2=DIRECTORY names one"; }
}

# Headers and archives for the other machine, unpacked.
fetch_libraries()
{
    local to=$out/packages architecture
    architecture=$(dpkg-architecture -t "$host" -qDEB_HOST_ARCH 2>/dev/null) || die "Debian knows no $host"
    mkdir -p "$to" "$sysroot"
    (cd "$to" &&
        set -- -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::Cache::pkgcache= \
            -o Dir::Cache::srcpkgcache= &&
        own_apt deb "$@" update &&
        own_apt deb "$@" download libsqlite3-dev libre2-dev libxxhash-dev libcsv-dev libfyaml-dev libtomlplusplus-dev \
            libcjson-dev libmicrohttpd-dev zlib1g-dev &&
        for package in *.deb; do dpkg -x "$package" "$sysroot"; done) >"$to/log" 2>&1 ||
        { tail -n 3 "$to/log" >&2; die "no libraries for $host: $to/log"; }
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
    (cd "$cjson" && "$CC" "${flags[@]}" -c cJSON.c -o "$out/cJSON.o")
    (cd "$out" && "$CC" "${flags[@]}" -c no_libraries.c && rm -f libcjson.a && "${prefix}ar" Drc libcjson.a cJSON.o)
    [ -f "$out/libmicrohttpd.a" ] || make_microhttpd "$http"
}

make_microhttpd() # SOURCE
{
    mkdir -p "$out/http"
    (cd "$out/http" &&
        "$1/configure" -q --disable-https --disable-shared --disable-doc --disable-examples --disable-curl \
            ${host:+"--host=$host"} CFLAGS="${flags[*]}" ARFLAGS=Drc &&
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
        { [ -f Makefile ] || "$root/configure" -q --enable-linked-httpd --without-xlsx ${host:+"--host=$host"} \
            ${taken:+CC="$taken$CC" CXX="$taken$CXX"} \
            CFLAGS="${flags[*]}" CXXFLAGS="${flags[*]}" \
            LDFLAGS="-static -L$out ${host:+-L$sysroot/usr/lib/$host} -Wl,--gc-sections -Wl,-Map=$out/map $out/no_libraries.o" \
            MICROHTTPD_CFLAGS=" " MICROHTTPD_LIBS="-lmicrohttpd -lpthread" TOMLPLUSPLUS_CFLAGS=-DTOML_HEADER_ONLY=1 TOMLPLUSPLUS_LIBS=" "; } &&
        make -s -j "$(nproc)" meshsweep) >"$out/build.log" 2>&1 ||
        { tail -n 20 "$out/build.log" >&2; die "it cannot be built: $out/build.log"; }
    "${prefix}strip" -o "$program" "$build/meshsweep"
}

check()
{
    local size
    file -b "$program" 2>/dev/null | grep -q 'dynamically linked' && die "$program wants libraries"
    ldd "$program" >/dev/null 2>&1 && die "$program wants libraries"
    size=$(stat -c %s "$program")
    [ "$size" -le "$most_bytes" ] || die "$program has $size bytes, more than $most_bytes"
    "$root/scripts/sbom.py" "$program" --map "$out/map" ${host:+--root "$sysroot/"} --header-only libtomlplusplus-dev \
        --compiled cJSON=libcjson-dev --compiled libmicrohttpd=libmicrohttpd-dev >"$program.spdx.json"
    (cd "$out" && sha256sum "${program##*/}" "${program##*/}.spdx.json" >SHA256SUMS)
    echo "$program: $size bytes, no libraries"
}

# Writes what is tried: a sweep, the winner and its command, a report.
write_sweep() # DIRECTORY
{
    cat >"$1/sweep.toml" <<'END'
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
    cat >"$1/try" <<'END'
set -eu
meshsweep --version
meshsweep check -c sweep.toml
meshsweep run -j 2 --progress none
meshsweep best --json
meshsweep report -o report.html
meshsweep best --out winner
sh winner/command.sh
END
}

check_sweep() # DIRECTORY
{
    grep -q 'score: 32' "$out/try.log" || die "another winner than 32: $out/try.log"
    grep -q '</html>' "$1/report.html" || die "no report"
}

# Jobs are those of this machine.
try_under_qemu()
{
    local qemu=qemu-$machine-static directory
    type -P "$qemu" >/dev/null || die "--try wants $qemu (qemu-user-static)"
    directory=$(mktemp -d)
    write_sweep "$directory"
    (cd "$directory" && sed -i "s,^meshsweep,$qemu $program," try && sh -eu try) >"$out/try.log" 2>&1 ||
        { tail -n 20 "$out/try.log" >&2; die "it does not sweep under $qemu: $out/try.log"; }
    check_sweep "$directory"
    rm -rf "$directory"
    echo "swept under $qemu"
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
    write_sweep "$fresh/sweep"
    chroot "$fresh" /bin/sh -c 'PATH=/bin HOME=/sweep; export PATH HOME; cd /sweep && exec sh try' >"$out/try.log" 2>&1 ||
        { tail -n 20 "$out/try.log" >&2; die "it does not sweep in an empty root: $out/try.log"; }
    check_sweep "$fresh/sweep"
    echo "swept in an empty root"
}

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
flags=("$optimize" -ffunction-sections -fdata-sections "-ffile-prefix-map=$root=." "-ffile-prefix-map=$out=build")
if [ -n "$host" ]; then
    sysroot=$out/sysroot
    type -P "$CC" >/dev/null || die "there is no $CC; on Debian: apt-get install gcc-${host//_/-} g++-${host//_/-}"
    [ -d "$sysroot/usr/lib/$host" ] || fetch_libraries
    flags+=("-I$sysroot/usr/include" "-I$sysroot/usr/include/$host")
    export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$host/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sysroot
fi
make_archives
build
check
if [ -n "$try" ] && [ -n "$host" ]; then
    try_under_qemu
elif [ -n "$try" ]; then
    try_in_empty_root
fi
