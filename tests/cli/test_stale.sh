#!/usr/bin/env bash
# stale and run --stale: results that today's surroundings might not give again.
. "$(dirname "$0")/lib.sh"

# Four jobs that are done; the recorded start lies in the future of job.sh, so that nothing is stale but what a case makes.
done_sweep()
{
    small_sweep sweep.toml
    touch -d '2001-01-01' job.sh
    run_meshsweep run --progress none
    expect_status 0
    expect_any_stdout
    expect_no_stderr
}

stale__nothing_changed__none()
{
    done_sweep
    run_meshsweep stale
    expect_status 0
    expect_stdout '0 of 4 results are stale'
    expect_no_stderr
    run_meshsweep run --stale --progress none
    expect_status 0
    expect_any_stdout
    expect_stderr 'meshsweep: 0 of 4 results are stale and run again'
    expect_sql 4 "SELECT count(*) FROM attempt"
}

stale__script_changed__its_jobs_run_again()
{
    done_sweep
    touch -d '2100-01-01' job.sh
    run_meshsweep stale
    expect_status 0
    expect_stdout_contains '4 of 4 results are stale'
    expect_stdout_contains 'job.sh was changed after they began (job 1)'
    expect_no_stderr
    run_meshsweep run --stale --progress none
    expect_status 0
    expect_any_stdout
    expect_stderr 'meshsweep: 4 of 4 results are stale and run again'
    expect_sql '4|8' "SELECT (SELECT count(*) FROM job WHERE state = 'ok'), (SELECT count(*) FROM attempt)"
}

stale__other_commit_or_driver__told_apart()
{
    done_sweep
    sql "UPDATE runner SET provenance = json_set(provenance, '\$.cpu', 'another processor')"
    run_meshsweep stale --json
    expect_status 0
    expect_any_stdout
    expect_no_stderr
    mv .stdout stale.json
    expect_sql '4|4|processor|another processor' "WITH s (j) AS (SELECT readfile('stale.json')) SELECT j->>'\$.results',
        j->>'\$.stale', j->>'\$.differences[0].what', j->>'\$.differences[0].was' FROM s"
    run_meshsweep run --stale --progress none
    expect_status 0
    expect_any_stdout
    expect_stderr_contains '4 of 4 results are stale and run again'
    run_meshsweep stale
    expect_status 0
    expect_stdout '0 of 4 results are stale'
    expect_no_stderr
}

stale__unknown_of_then__no_difference()
{
    done_sweep
    sql "UPDATE runner SET provenance = '{}'"
    run_meshsweep stale
    expect_status 0
    expect_stdout '0 of 4 results are stale'
    expect_no_stderr
}

run_cases "$@"
