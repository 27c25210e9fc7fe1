#!/usr/bin/env bash
# Builds the Debian packages, meshsweep and python3-meshsweep: scripts/package.sh [--try] [--twice] [DIRECTORY]
#
#   DIRECTORY  where meshsweep-VERSION.tar.xz, the source package and the .debs are left (build-package)
#   --try      and installs them in a fresh root made by debootstrap, sweeps there and reads the results in Python,
#              upgrades them to a later version, purges them, and compares the files before and after; as root
#   --twice    and builds packages and static program (scripts/static.sh) again from the tarball, in another directory, time
#              zone and umask: they must be the same bytes
#
# Wants debhelper and dh-python, and debootstrap for --try; looks at the result with lintian where that is installed, and ends with
# status 1 when it finds an error or a warning.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
try='' twice='' out=
for argument; do
    case $argument in
    --try) try=1 ;;
    --twice) twice=1 ;;
    -*) echo "package.sh: unknown option $argument" >&2; exit 2 ;;
    *) out=$argument ;;
    esac
done
out=${out:-$root/build-package}
mkdir -p "$out"
out=$(cd "$out" && pwd)

die()
{
    echo "package.sh: $*" >&2
    exit 1
}

need() # TOOL PACKAGE
{
    type -P "$1" >/dev/null || die "$1 is not there: apt-get install $2"
}

# Two builds of one commit are the same bytes: everything has its time.
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null) ||
    SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$root/debian/changelog" -S Timestamp)

make_tarball()
{
    "$root/scripts/build.sh" build-dist -- dist AMTAR='tar --sort=name --owner=0 --group=0 --numeric-owner' am__tar="tar --format=ustar \
--sort=name --owner=0 --group=0 --numeric-owner --mtime=@$SOURCE_DATE_EPOCH -chf - \"\$\$tardir\"" >/dev/null
    version=$(sed -n 's/^AC_INIT(\[meshsweep\], \[\(.*\)\])$/\1/p' "$root/configure.ac")
    mv "$root/build-dist/meshsweep-$version.tar.xz" "$out/"
}

build_package() # DIRECTORY
{
    rm -rf "$1"
    mkdir -p "$1"
    cp "$out/meshsweep-$version.tar.xz" "$1/meshsweep_$version.orig.tar.xz"
    tar -C "$1" -xf "$1/meshsweep_$version.orig.tar.xz"
    cp -r "$root/debian" "$1/meshsweep-$version/"
    (cd "$1/meshsweep-$version" && dpkg-buildpackage -us -uc) >"$1/build.log" 2>&1 ||
        { tail -n 30 "$1/build.log"; die "the package cannot be built: $1/build.log"; }
}

# A binary package again, of a later version, as an upgrade would find it.
later_version() # DEB LATER-DEB
{
    rm -rf "$out/later"
    dpkg-deb -R "$1" "$out/later"
    sed -i 's/^Version: .*/&+later/' "$out/later/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$out/later" "$2" >/dev/null
    rm -rf "$out/later"
}

in_root()
{
    chroot "$fresh" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

files_of_root()
{
    (cd "$fresh" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/cache -o -path ./var/log -o \
        -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./dev \) -prune -o -print | sort)
}

try_in_fresh_root()
{
    [ "$(id -u)" = 0 ] || die "--try wants root"
    need debootstrap debootstrap
    fresh=$(mktemp -d)
    trap 'umount "$fresh/proc" 2>/dev/null; rm -rf "$fresh"' EXIT
    debootstrap --variant=minbase bookworm "$fresh" >"$out/debootstrap.log" 2>&1 ||
        { tail -n 5 "$out/debootstrap.log"; die "no fresh root: $out/debootstrap.log"; }
    mount -t proc proc "$fresh/proc"
    cp /etc/resolv.conf "$fresh/etc/"
    cp /etc/apt/sources.list "$fresh/etc/apt/" 2>/dev/null || true
    cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$fresh/etc/apt/" 2>/dev/null || true
    cp "$deb" "$fresh/tmp/meshsweep.deb"
    cp "$python_deb" "$fresh/tmp/python3-meshsweep.deb"
    later_version "$deb" "$fresh/tmp/later-meshsweep.deb"
    later_version "$python_deb" "$fresh/tmp/later-python3-meshsweep.deb"
    cp "$root"/debian/tests/{sweep,python} "$fresh/tmp/"
    in_root apt-get -qq update
    # Files that Python brings and recommends are others', and may stay.
    in_root apt-get -qq -y install sqlite3 python3 >/dev/null 2>&1
    files_of_root >"$out/files.before"
    in_root apt-get -qq -y install /tmp/meshsweep.deb >/dev/null 2>&1 || die "it cannot be installed"
    in_root sh /tmp/sweep || die "the installed package does not sweep"
    in_root apt-get -qq -y install /tmp/python3-meshsweep.deb >/dev/null 2>&1 || die "the module cannot be installed"
    in_root sh /tmp/python || die "the installed module does not read results"
    in_root apt-get -qq -y install /tmp/later-meshsweep.deb /tmp/later-python3-meshsweep.deb >/dev/null 2>&1 || die "they cannot be upgraded"
    in_root meshsweep --version >/dev/null || die "it does not run after the upgrade"
    in_root apt-get -qq -y --purge --autoremove purge meshsweep python3-meshsweep >/dev/null 2>&1 || die "they cannot be purged"
    files_of_root >"$out/files.after"
    diff "$out/files.before" "$out/files.after" || die "purging leaves or takes files"
    echo "installed, swept, read in Python, upgraded and purged in a fresh root"
}

# Once more from the tarball, which has no git beside it: in another directory, time zone and with another umask.
build_again()
{
    local again=$out/again
    rm -rf "$again"
    mkdir -p "$again"
    "$root/scripts/static.sh" "$out/static" >/dev/null
    (
        umask 077
        export TZ=Asia/Tokyo
        tar -C "$again" -xf "$out/meshsweep-$version.tar.xz"
        "$again/meshsweep-$version/scripts/static.sh" "$again/static" >/dev/null
        DEB_BUILD_OPTIONS=nocheck build_package "$again/deb"
    )
    for pair in "static/meshsweep-$version-linux-$(uname -m) again/static" "${deb##*/} again/deb" "${python_deb##*/} again/deb"; do
        cmp "$out/${pair% *}" "$out/${pair#* }/$(basename "${pair% *}")" || die "two builds are not the same bytes"
    done
    echo "packages and static program: two builds, the same bytes"
}

need dh debhelper
need dh_python3 dh-python
rm -f "$out"/*.deb
make_tarball
build_package "$out/deb"
find "$out/deb" -maxdepth 1 -type f ! -name build.log -exec cp {} "$out/" \;
(cd "$out" && sha256sum -- *.deb *.tar.xz >SHA256SUMS)
deb=$(find "$out" -maxdepth 1 -name "meshsweep_*.deb")
python_deb=$(find "$out" -maxdepth 1 -name "python3-meshsweep_*.deb")
if type -P lintian >/dev/null; then
    lintian --fail-on error,warning --allow-root "$out"/meshsweep_*.changes
fi
[ -z "$try" ] || try_in_fresh_root
[ -z "$twice" ] || build_again
ls -l "$deb" "$python_deb"
