#!/usr/bin/env bash
# One unit-test program under valgrind: scripts/memcheck.sh PROCESSOR-SECONDS PROGRAM
#
# Status 77, a skip to the test harness, when the program needs more processor time than that: valgrind makes some
# tests fifty times slower. What it finds ends with status 99.
set -eu

limit=$1
program=$2
status=0
(
    ulimit -S -t "$limit"
    exec timeout -k 10 1200 valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --child-silent-after-fork=yes "$program"
) || status=$?
if [ "$status" -eq $((128 + $(kill -l XCPU))) ]; then
    echo "# SKIP over $limit s of processor time under valgrind"
    exit 77
fi
exit "$status"
