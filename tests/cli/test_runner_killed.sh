#!/usr/bin/env bash
# run: a runner that is killed, whatever it was doing, leaves nothing running and loses nothing.
. "${0%/*}/lib.sh"
. "${0%/*}/logged_sweep.sh"

kill_runner_at_work() # JOBS
{
    : >pids
    start_until "[ \$(lines_of pids) = $((3 * $1)) ]" 20 run --progress none -j 2
    wait_until "[ \$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\") = $1 ]" 20
    end_command KILL only_stderr 137
}

runner_killed__next_start__ends_what_is_left_and_runs_it_again()
{
    waiting_sweep
    kill_runner_at_work 2
    expect_ran "1 10, 1 20"
    run_meshsweep plan --json
    expect_only_stdout_matches 0 '"new":[[:space:]]*2' '"retry":[[:space:]]*2' '"running":[[:space:]]*0'
    touch go
    run_silently 0
    expect "all_are_gone"
    expect_ran "1 10, 1 20, 2 10, 2 20"
    expect_sql "1|failed|lost
1|ok|
2|failed|lost
2|ok|
3|ok|
4|ok|" "SELECT job_id, state, failure FROM attempt ORDER BY job_id, number"
    expect_sql "the runner died before it was known how this ended|2" \
        "SELECT message, count(*) FROM attempt WHERE failure = 'lost' GROUP BY 1"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

# Whatever befalls the runner, it is no fault of what it ran.
runner_killed__ten_times_with_the_defaults__nothing_failed()
{
    waiting_sweep
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill_runner_at_work 2
    done
    expect_said only_stdout_matches 0 '"failed":[[:space:]]*0' plan --json
    touch go
    run_ended 0
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "runner|1" "SELECT blame, count(*) > 9 FROM attempt WHERE failure = 'lost'"
}

# One that ran at each death is last in the queue, which is said; one at whose runner's death it did not run clears it.
runner_killed__by_the_same_job_each_time__that_one_is_last()
{
    small_sweep
    cat >job.sh <<'END'
echo "$1 $2" >>ran.log
[ "$1 $2" != "1 10" ] || [ -e tame ] || { kill -KILL "$PPID"; sleep 60; }
echo "score: $(($1 * $2))"
END
    for _ in 1 2 3; do
        expect_command only_stderr 137 bash -c '"$@"; exit $?' run "$meshsweep" run --progress none
    done
    expect_sql 2 "SELECT losses FROM job WHERE id = 1"
    : >ran.log
    run_command bash -c '"$@"; exit $?' run "$meshsweep" run --progress none
    expect_only_stderr_contains 137 "1 job was running each time the runner died, so it runs after all others"
    expect "[ \"\$(paste -s -d , ran.log)\" = '1 20,2 10,2 20,1 10' ]"
    expect_command only_status 137 bash -c '"$@"; exit $?' run "$meshsweep" run --progress none --release
    expect_sql 0 "SELECT losses FROM job WHERE id = 1"
    touch tame
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
}

run_cases "$@"
