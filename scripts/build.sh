#!/usr/bin/env bash
# Builds what changed, out of tree, quiet unless it fails:
#
#     scripts/build.sh DIRECTORY [CONFIGURE-ARGUMENT...] [-- MAKE-ARGUMENT...]
#
# DIRECTORY lies in the root of the source tree. The configure arguments count where it was not configured yet. Output
# goes to DIRECTORY/build.log, and to standard error when the build fails. Builds of one tree wait for each other.
set -eu

[ $# -gt 0 ] || { echo "usage: scripts/build.sh DIRECTORY [CONFIGURE-ARGUMENT...] [-- MAKE-ARGUMENT...]" >&2; exit 2; }
self=$(readlink -f "${BASH_SOURCE[0]}")
cd "${self%/scripts/*}"
directory=$1
shift
configure_arguments=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    configure_arguments+=("$1")
    shift
done
[ $# -eq 0 ] || shift
mkdir -p "$directory"
exec 9<"$self"
flock 9
if ! (
    { [ -f configure ] && [ -f Makefile.in ]; } || autoreconf -fi || exit
    cd "$directory" || exit
    [ -f Makefile ] || ../configure -q "${configure_arguments[@]}" || exit
    make -s -j "$(nproc)" "$@"
) >"$directory/build.log" 2>&1 9<&-; then
    cat "$directory/build.log" >&2
    echo "the build failed; its output is above and in $PWD/$directory/build.log" >&2
    exit 1
fi
