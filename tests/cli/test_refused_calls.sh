#!/usr/bin/env bash
# Kernels that are old and containers that refuse system calls: jobs end when their time is over, all of them.
. "${0%/*}/lib.sh"

refuse=$build_dir/tests/cli/refuse_calls
[ -x "$refuse" ] || skip "there is no $refuse"
"$refuse" strict true 2>/dev/null || skip "a filter of system calls cannot be set here"

# A job that says what ends it, beside a child in a session of its own.
lasting_sweep()
{
    toml job: timeout=1s command=sh,job.sh training_spec: x=1 >sweep.toml
    cat >job.sh <<'END'
trap 'echo asked to end; exit 3' TERM
setsid sh -c 'echo $$ >grandchild; exec sleep 300' &
sleep 300 & wait
END
}

is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; } # PID

timeout__calls_refused__asked_to_end_and_nothing_left()
{
    for profile in docker-19 no-pidfd-open no-pidfd-signal old-pidfd-signal strict; do
        rm -rf results.db* grandchild
        lasting_sweep
        expect_command only_status 3 "$refuse" "$profile" "$meshsweep" run --progress none
        expect_stderr_lacks subreaper
        expect_sql "timeout|asked to end" "SELECT failure, trim(log_tail, char(10)) FROM attempt"
        wait_until "is_gone $(cat grandchild)" 10
    done
}

start__no_subreaper__said_and_what_left_found_by_its_environment()
{
    lasting_sweep
    run_command "$refuse" no-subreaper "$meshsweep" run --progress none
    expect_among_stderr 3 'the kernel does not let this program adopt processes (PR_SET_CHILD_SUBREAPER), so'
    wait_until "is_gone $(cat grandchild)" 10
}

start__no_proc__said_and_the_group_ended()
{
    unshare -m mount -t tmpfs none /proc 2>/dev/null || skip "nothing can be mounted here"
    ! grep -q __asan_init "$meshsweep" || skip "a sanitizer reads /proc itself"
    lasting_sweep
    sed -i 's/^setsid.*/echo $$ >grandchild/' job.sh
    run_command unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$meshsweep" run --progress none
    expect_among_stderr 3 '/proc cannot be read, so what a job starts in sessions of its own is not found'
    expect_sql "timeout|asked to end" "SELECT failure, trim(log_tail, char(10)) FROM attempt"
    wait_until "is_gone $(cat grandchild)" 10
}

run_cases "$@"
