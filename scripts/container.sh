#!/usr/bin/env bash
# Builds the image of Containerfile with buildah on a Debian that debootstrap makes, without a registry, and sweeps in it:
# scripts/container.sh [DIRECTORY]
#
#   DIRECTORY  where images are kept, and meshsweep.oci.tar is left (build-container)
#
# As root. For an image of one's own it is `buildah build -t meshsweep .`; this is what tries it where there is no registry.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
out=${1:-$root/build-container}
mkdir -p "$out"
out=$(cd "$out" && pwd)

die()
{
    echo "container.sh: $*" >&2
    exit 1
}

# Nothing of it is left on the machine but what is in the directory.
images()
{
    buildah --storage-driver vfs --root "$out/images" --runroot "$out/run" "$@"
}

make_base()
{
    local base container
    images inspect --type image localhost/debian:bookworm-slim >/dev/null 2>&1 && return
    base=$(mktemp -d)
    trap 'rm -rf "$base"' EXIT
    debootstrap --variant=minbase bookworm "$base" >"$out/debootstrap.log" 2>&1 ||
        { tail -n 5 "$out/debootstrap.log" >&2; die "no base: $out/debootstrap.log"; }
    # Packages come from the sources of this machine.
    cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$base/etc/apt/" 2>/dev/null || true
    [ ! -s /etc/apt/sources.list ] || cp /etc/apt/sources.list "$base/etc/apt/"
    rm -rf "$base"/var/cache/apt/archives/*.deb
    container=$(images from scratch)
    images add -q "$container" "$base" / >/dev/null
    images commit -q "$container" localhost/debian:bookworm-slim >/dev/null
    images rm "$container" >/dev/null
    rm -rf "$base"
    trap - EXIT
}

for tool in buildah debootstrap git; do
    type -P "$tool" >/dev/null || die "$tool is not there: apt-get install $tool"
done
[ "$(id -u)" = 0 ] || die "wants root"
make_base
# The image is of what git has, and nothing of the builds that lie beside it.
rm -rf "$out/source"
mkdir "$out/source"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf -) | tar -C "$out/source" -xf -
images build -q --isolation chroot --pull-never --build-arg BASE=localhost/debian:bookworm-slim -t localhost/meshsweep \
    -f "$out/source/Containerfile" "$out/source" >"$out/build.log" 2>&1 ||
    { tail -n 20 "$out/build.log" >&2; die "it cannot be built: $out/build.log"; }
container=$(images from --pull-never localhost/meshsweep)
images copy -q "$container" "$root/debian/tests/sweep" /tmp/sweep >/dev/null
images run --isolation chroot "$container" -- sh /tmp/sweep >"$out/try.log" 2>&1 ||
    { tail -n 20 "$out/try.log" >&2; die "it does not sweep: $out/try.log"; }
images rm "$container" >/dev/null
rm -f "$out/meshsweep.oci.tar"
images push -q localhost/meshsweep "oci-archive:$out/meshsweep.oci.tar:meshsweep"
echo "built, and swept in it: $out/meshsweep.oci.tar, $(stat -c %s "$out/meshsweep.oci.tar") bytes"
