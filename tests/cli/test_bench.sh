#!/usr/bin/env bash
# The benchmarks' contestants do the work that is measured.
. "${0%/*}/lib.sh"

plan_and_jobs__once__the_work_is_done()
{
    BENCH_PROGRAM=$build_dir/meshsweep BENCH_RUNS=1 BENCH_SPACES=0 BENCH_JOBS=20 BENCH_DIR=$PWD/bench \
        "$source_dir/scripts/bench.sh" plan jobs >out 2>err || fail "$(tail -n 3 err)"
    grep -q '^| meshsweep plan | ' out || fail "no row of the program in $(cat out)"
}

run_cases "$@"
