#!/usr/bin/env bash
# Says which lines and branches of src/ the tests reach, without the trainer: scripts/coverage.sh [TEST...]
#
# Builds in build-coverage with clang's source-based coverage and fault points, runs every test (or those named, as
# `make check TESTS=` has them), and prints a table with the totals last. build-coverage/lines/index.html has the lines.
# COVERAGE_ADD=1 adds to what earlier runs reached.
#
# Each program counts in one file that all its processes map and share, so that those count too that are killed with
# SIGKILL, leave by _exit(), run beside each other or without an environment.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
for tool in clang llvm-profdata llvm-cov; do
    type -P $tool >/dev/null || {
        echo "coverage.sh: $tool is needed; on Debian: apt-get install clang llvm" >&2
        exit 1
    }
done

# %m is the program's signature, %c the sharing; relocation of counters is what %c takes on Linux.
counts=$root/build-coverage/counts
flags="-fprofile-instr-generate=$counts/%m%c.profraw -fcoverage-mapping -fprofile-update=atomic"
compile="-g -O1 $flags -mllvm -runtime-counter-relocation"
# The trainer is not counted: its loops would wait for each other's counters.
scripts/build.sh build-coverage --enable-faults CC=clang CXX=clang++ CFLAGS="$compile" CXXFLAGS="$compile" \
    LDFLAGS="$flags" -- CFLAGS=-O2 LDFLAGS= meshsweep-trainer \
    tests/unit/test_trainer_model tests/unit/test_trainer_ops
scripts/build.sh build-coverage -- all
scripts/build.sh build-coverage -- check TESTS=
[ "${COVERAGE_ADD-}" ] || rm -rf "$counts"
mkdir -p "$counts"
make -s -C build-coverage -j "$(nproc)" check ${1+TESTS="$*"} >build-coverage/check.log 2>&1 || {
    echo "coverage.sh: tests failed; see build-coverage/check.log" >&2
    failed=1
}

cd build-coverage
llvm-profdata merge -o counts.profdata counts
# The unit tests have what of the library is not in the program; a function in several is one.
look=(meshsweep "-instr-profile=counts.profdata"
    "-ignore-filename-regex=(^/usr/|/tests/|src/trainer/|embedded_files)")
for program in tests/unit/test_*; do
    [ ! -x "$program" ] || look+=(-object "$program")
done
rm -rf lines
llvm-cov show "${look[@]}" -format=html -show-branches=count -output-dir=lines 2>cov.log
llvm-cov report "${look[@]}" -show-region-summary=false 2>>cov.log | grep -v '\.h  *0 \|^Files which\|^$' | tee coverage.txt
exit "${failed-0}"
