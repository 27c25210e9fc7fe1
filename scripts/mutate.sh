#!/usr/bin/env bash
# Puts small faults into the source, one at a time, and says which of them no test notices:
#
#     scripts/mutate.sh [--seed N] [--only PATH] [--tests PATTERN] [COUNT]
#
# COUNT faults (60 unless said) are drawn by the seed (1 unless said) from the lines of src/ that can hold one; --only
# keeps to files whose path begins so, --tests to tests like PATTERN ('tests/unit/*'). A copy of the last commit in
# build-mutate is built twice: once with clang's coverage, which tells the tests that reach each line (kept until the
# commit changes), and once for the faults. Of each fault only the file is built again, and the tests that reach its
# line run, the quickest first, until one fails. A fault that stops the build is none, and another is drawn.
#
# Status: 0 when at least 85 of 100 were noticed; 1 when fewer; 2 wrong use or a build that fails.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
usage()
{
    echo "usage: scripts/mutate.sh [--seed N] [--only PATH] [--tests PATTERN] [COUNT]" >&2
    exit 2
}
seed=1 only=src/ tests='*' count=60
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=${2-} && shift ;;
    --only) only=${2-} && shift ;;
    --tests) tests=${2-} && shift ;;
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
tree=$work/tree
counts=$work/counts
commit=$(git rev-parse HEAD)
mkdir -p "$work"
if [ "$(cat "$work/commit" 2>/dev/null)" != "$commit" ]; then
    rm -rf "$tree" "$work/reached"
    mkdir -p "$tree"
    git archive HEAD | tar -x -m -C "$tree"
    echo "$commit" >"$work/commit"
fi

flags="-fprofile-instr-generate=$counts/%m%c.profraw -fcoverage-mapping -fprofile-update=atomic"
compile="-O1 $flags -mllvm -runtime-counter-relocation"
if [ ! -e "$work/reached" ]; then
    echo "mutate.sh: building for coverage" >&2
    cd "$tree"
    scripts/build.sh build-reach --enable-faults CC=clang CXX=clang++ CFLAGS="$compile" CXXFLAGS="$compile" \
        LDFLAGS="$flags" -- CFLAGS=-O2 LDFLAGS= meshsweep-trainer || exit 2
    scripts/build.sh build-reach -- all || exit 2
    scripts/build.sh build-reach -- check TESTS= || exit 2
    cd "$root"
fi
(cd "$tree" && scripts/build.sh build-faulty --enable-faults CFLAGS=-O0 CXXFLAGS=-O0 -- all &&
    scripts/build.sh build-faulty -- check TESTS=) || exit 2
exec python3 scripts/mutate.py "$work" "$seed" "$count" "$only" "$tests"
