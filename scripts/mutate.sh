#!/usr/bin/env bash
# Puts small faults into the source, one at a time, and says which of them no test notices:
#
#     scripts/mutate.sh [--seed N] [--only PATH] [--tests PATTERN] [--again] [COUNT]
#
# COUNT faults (60 unless said) are drawn by the seed (1 unless said) from the lines of src/ that can hold one; --only
# keeps to files whose path begins so, --tests to tests like PATTERN ('tests/unit/*'). The last commit is built in
# build-mutate: once for each processor, for the faults, and where unit tests have not been run there once with clang's
# coverage, which tells the functions that each reaches. That map is kept over commits, since functions seldom move:
# what is new goes by its file, and --again makes the map anew. Of each fault only the file is built again, and the unit
# tests that reach its function run, then the black-box tests of its room, until one fails twice. A fault that stops the
# build is none, and another is drawn.
#
# Status: 0 when at least 85 of 100 were noticed; 1 when fewer; 2 wrong use or a build that fails.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
usage()
{
    echo "usage: scripts/mutate.sh [--seed N] [--only PATH] [--tests PATTERN] [--again] [COUNT]" >&2
    exit 2
}
seed=1 only=src/ tests='*' again='' count=60
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=${2-} && shift ;;
    --only) only=${2-} && shift ;;
    --tests) tests=${2-} && shift ;;
    --again) again=1 ;;
    -*) usage ;;
    *) count=$1 ;;
    esac
    shift || usage
done
[[ $seed =~ ^[0-9]+$ && $count =~ ^[1-9][0-9]*$ ]] || usage
for tool in clang llvm-profdata llvm-cov; do
    type -P $tool >/dev/null || {
        echo "mutate.sh: $tool is needed; on Debian: apt-get install clang llvm" >&2
        exit 2
    }
done

work=$root/build-mutate
compilers=(CC=clang CXX=clang++)
! type -P ccache >/dev/null || compilers=(CC="ccache clang" CXX="ccache clang++")
mkdir -p "$work"
[ -z "$again" ] || rm -rf "$work/reached"

# The last commit in a directory of its own: only what changed is written there, so that only that is built again.
take_out() # DIRECTORY
{
    mkdir -p "$1"
    GIT_INDEX_FILE=$work/index-${1##*/} git --work-tree="$1" read-tree --reset -u HEAD
}

for n in $(seq "$(nproc)"); do
    take_out "$work/faulty-$n"
    cd "$work/faulty-$n"
    scripts/build.sh build-faulty --enable-faults "${compilers[@]}" CFLAGS=-O0 CXXFLAGS=-O0 -- all || exit 2
    cd "$root"
done
if [ ! -d "$work/reached" ]; then
    echo "mutate.sh: building for coverage" >&2
    flags="-fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic"
    compile="-O1 $flags -mllvm -runtime-counter-relocation"
    take_out "$work/tree"
    cd "$work/tree"
    # The trainer is not counted: its loops would wait for each other's counters.
    scripts/build.sh build-reach --enable-faults "${compilers[@]}" CFLAGS="$compile" CXXFLAGS="$compile" \
        LDFLAGS="$flags" -- CFLAGS=-O2 LDFLAGS= meshsweep-trainer \
        tests/unit/test_trainer_model tests/unit/test_trainer_ops || exit 2
    scripts/build.sh build-reach -- all || exit 2
    scripts/build.sh build-reach -- check TESTS= || exit 2
    cd "$root"
fi
exec python3 scripts/mutate.py "$work" "$seed" "$count" "$only" "$tests"
