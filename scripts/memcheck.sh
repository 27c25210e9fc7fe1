#!/usr/bin/env bash
# One unit-test program under valgrind: scripts/memcheck.sh SECONDS|any PROGRAM
#
# Status 77, a skip to the test harness, when the program by itself takes more processor time than that, or three times as
# long: under valgrind it takes some fifty times as long. What valgrind finds ends with status 99.
set -eu

limit=$1
program=$2
takes_too_long()
{
    local status=0 TIMEFORMAT='%U %S' used patience
    patience=$(awk -v limit="$limit" 'BEGIN { print 3 * limit }')
    used=$({ time timeout -k 10 "$patience" "$program" >/dev/null 2>&1; } 2>&1) || status=$?
    [ "$status" -eq 124 ] || awk -v limit="$limit" '{ exit $1 + $2 <= limit }' <<<"$used"
}
if [ "$limit" != any ] && takes_too_long; then
    echo "# SKIP by itself it takes over $limit s"
    exit 77
fi
export MESHSWEEP_FEW_ROUNDS=1
exec timeout -k 10 1200 valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions="$(dirname "$0")/memcheck.supp" --child-silent-after-fork=yes "$program"
