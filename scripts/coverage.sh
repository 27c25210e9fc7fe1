#!/usr/bin/env bash
# Says which lines and branches of src/ the tests reach, without the trainer: scripts/coverage.sh [TEST...]
#
# Builds in build-coverage with gcc's counters and fault points, runs every test (or those named, as `make check
# TESTS=` has them), and prints a table with the totals last. build-coverage/coverage.html has the lines. What the tests
# kill with SIGKILL leaves no counts.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
type -P gcovr >/dev/null || {
    echo "coverage.sh: gcovr is needed; on Debian: apt-get install gcovr" >&2
    exit 1
}

scripts/build.sh build-coverage --enable-faults CFLAGS='-g -O0 --coverage -fprofile-update=atomic' \
    CXXFLAGS='-g -O0' LDFLAGS=--coverage -- all
find build-coverage -name '*.gcda' -delete
make -s -C build-coverage -j "$(nproc)" check ${1+TESTS="$*"} >build-coverage/check.log 2>&1 || {
    echo "coverage.sh: tests failed; see build-coverage/check.log" >&2
    failed=1
}
gcovr --root . --object-directory build-coverage --filter src/ --exclude src/trainer/ --exclude-unreachable-branches \
    --exclude-throw-branches --print-summary --txt build-coverage/coverage.txt \
    --html-details build-coverage/coverage.html build-coverage >build-coverage/summary 2>build-coverage/gcovr.log || {
    cat build-coverage/gcovr.log >&2
    exit 1
}
cat build-coverage/coverage.txt build-coverage/summary
exit "${failed-0}"
