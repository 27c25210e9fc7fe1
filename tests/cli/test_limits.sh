#!/usr/bin/env bash
# Time limits of jobs, and signals to the runner: what ends when, how it is called, and that nothing is left.
. "${0%/*}/lib.sh"

# job.sh prints a score, then will not end: it, a child and a grandchild in a session of its own ignore TERM.
stubborn_sweep() # LINES FOR [job]
{
    toml sweep: objective=max:score job: command='["/bin/sh", "job.sh", "{x}"]' grace=100ms "$1" \
        job.metrics.score: regex='score: ([0-9.]+)' training_spec: x=1,2 >sweep.toml
    cat >job.sh <<'END'
trap '' TERM
sleep 600 &
echo $! >>pids
(setsid sh -c 'echo $$ >>pids; trap "" TERM; sleep 600 & echo $! >>pids; wait' >/dev/null 2>&1 &)
echo $$ >>pids
echo "score: $1"
wait
sleep 600
END
    : >pids
}

# --- limits ---

timeout__duration__ends_the_whole_tree_and_keeps_what_was_measured()
{
    stubborn_sweep 'timeout = "400ms"'
    run_silently 3 -j 2
    expect "all_are_gone" "[ \$(wc -l <pids) = 8 ]"
    expect_sql "timeout|timeout: still running after 400ms|400|2" \
        "SELECT failure, message, limit_ms, count(*) FROM attempt GROUP BY 1"
    expect_sql "1.0,2.0" "SELECT group_concat(value) FROM (SELECT value FROM metric ORDER BY 1)"
    expect_sql "1" "SELECT min(duration_ms) >= 400 AND max(duration_ms) < 30000 FROM attempt"
    # A job that ran into its limit has not won, and is marked.
    expect_sql 0 "SELECT count(*) FROM ranking"
    expect_sql "1|2" "SELECT partial, count(*) FROM results GROUP BY 1"
}

timeout__expression__differs_per_job()
{
    stubborn_sweep 'timeout = "CASE x WHEN 1 THEN 0.2 ELSE 0.3 END"'
    run_silently 3 -j 2
    expect_sql "1|200|200
2|300|300" "SELECT j.id, j.timeout_ms, a.limit_ms FROM job AS j JOIN attempt AS a ON a.job_id = j.id ORDER BY 1"
}

timeout__expression_of_durations__is_read_as_such()
{
    stubborn_sweep "timeout = \"CASE x WHEN 1 THEN '10m' ELSE '1h30m' END\""
    expect_said only_stdout_matches 0 '"device_hours_max":[[:space:]]*1.6666666' plan --json
    stubborn_sweep "timeout = \"CASE x WHEN 1 THEN '10m' ELSE 'long' END\""
    expect_said only_stderr_contains 2 "'long' is not a duration" plan
}

# Cut at the first attempt, again with more; one that fails otherwise is charged, one that is cancelled is not.
limits__that_know_the_attempt__are_recorded_with_it()
{
    stubborn_sweep 'timeout = "200ms * attempt"
idle_timeout = "CASE last_failure WHEN '"'timeout'"' THEN x * 1m ELSE '"'30s'"' END"'
    printf '[retry]\ntimeout = 3\nbackoff = 0\n' >>sweep.toml
    expect_said only_stdout_contains 0 'until its time limit, which is that of its first attempt' plan
    key=$(sed -nE 's/^\+ ([0-9a-f]{16}) .*/\1/p' .stdout | head -n 1)
    run_silently 3 -j 2
    expect_sql "1|200|200|30000
1|400|400|60000
1|600|600|60000
2|200|200|30000
2|400|400|120000
2|600|600|120000" "SELECT job_id, limit_ms, given ->> 'timeout_ms', given ->> 'idle_timeout_ms' FROM attempt
        ORDER BY 1, 2"
    expect_sql "1|200|30000
2|200|30000" "SELECT id, timeout_ms, idle_timeout_ms FROM job ORDER BY 1"
    expect_said only_stdout_contains 0 '{"timeout_ms":600,"idle_timeout_ms":60000}' show 1
    # The value of a limit does not make another job of it, and one that does not know the attempt is the job's.
    sed -i -e 's/200ms \* attempt/100ms/' -e '/^idle_timeout/d' sweep.toml
    run_silently 3 -j 2 --retry-failed
    expect_sql "2|4|100|" "SELECT count(*), number, max(limit_ms), max(given) FROM attempt WHERE number > 3"
    expect_sql "1" "SELECT count(*) FROM job WHERE lower(hex(key)) LIKE '$key%'"
    sed -i 's/timeout = "100ms"/timeout = "100ms * attempts"/' sweep.toml
    expect_said only_stderr_contains 2 'did you mean `attempt`?' plan
}

timeout__none_and_no_plan_bound__runs_without()
{
    stubborn_sweep ''
    echo 'echo "score: 1"' >job.sh
    run_silently 0
    expect_sql "600000" "SELECT DISTINCT timeout_ms FROM job"
    sed -i 's/^grace.*/timeout = "CASE x WHEN 1 THEN 5 END"/' sweep.toml
    expect_said only_stdout_contains 0 'no bound on device-hours' plan -d absent.db
}

manual_job_timeout__for_jobs_that_bind_a_plan()
{
    toml job: command='["/bin/true"]' timeout=5s parallel_spec:: micro_batch=4 \
        parallel_spec:: tp=1 >sweep.toml
    run_silently 0 --manual-job-timeout 77
    expect_sql "|5000
1|77000" "SELECT tp, timeout_ms FROM results JOIN job ON job.id = job ORDER BY 1"
    # Another limit is no reason to run anything again.
    run_silently 0 --manual-job-timeout 2m
    expect_sql "|5000|1
1|120000|1" "SELECT tp, timeout_ms, attempts FROM results JOIN job ON job.id = job ORDER BY 1"
    run_silently 0
    expect_sql "5000" "SELECT DISTINCT timeout_ms FROM job"
    expect_said only_stderr_contains 2 '--manual-job-timeout soon: must be a duration' run --manual-job-timeout soon
}

idle_timeout__silence__is_a_hang_and_words_are_none()
{
    toml job: command='["/bin/sh", "-c", "{c}"]' timeout=40s idle_timeout=1s training_spec: \
        c='["echo $$ >>pids; echo words; sleep 600",' '"for i in 1 2 3 4 5; do echo $i; sleep 0.3; done",' \
        '"for i in 1 2 3 4 5; do echo >>$MESHSWEEP_METRICS; sleep 0.3; done"]' >sweep.toml
    run_silently 3 -j 3
    expect "all_are_gone"
    expect_sql "failed|hang|idle_timeout: no output and no metric for 1.0s|1000
ok|||
ok|||" "SELECT state, failure, message, limit_ms FROM attempt ORDER BY job_id"
}

startup_timeout__no_first_metric__is_a_timeout()
{
    toml job: command='["/bin/sh", "-c", "{c}"]' timeout=40s startup_timeout=700ms job.metrics.v: \
        regex='v=([0-9]+)' training_spec: c='["while :; do echo words; sleep 0.05; done", "echo v=1; sleep 1.2",' \
        "\"echo '{\\\"w\\\": 1}' >>\$MESHSWEEP_METRICS; sleep 1.2\"]" >sweep.toml
    run_silently 3 -j 3
    expect_sql "failed|timeout|startup_timeout: no first metric within 700ms|700
ok|||
ok|||" "SELECT state, failure, message, limit_ms FROM attempt ORDER BY job_id"
}

leftovers__of_a_job_that_ended__are_ended_and_counted()
{
    stubborn_sweep ''
    cat >job.sh <<'END'
(setsid sh -c 'echo $$ >>pids; trap "" TERM; sleep 600 & echo $! >>pids; wait' >/dev/null 2>&1 &)
sleep 600 &
echo $! >>pids
until [ "$(wc -l <pids)" -ge $((3 * $1)) ]; do sleep 0.02; done
echo "score: $1"
END
    run_silently 0
    expect "all_are_gone" "[ \$(wc -l <pids) = 6 ]"
    expect_sql "ok|1" "SELECT state, min(leftovers) > 0 FROM attempt GROUP BY 1"
}

# --- signals ---

# Jobs that note their process ids and wait for the file go.
waiting_sweep()
{
    small_sweep sweep.toml
    printf '%s\n' 'echo $$ >>pids' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    : >pids
}

start_two_jobs() { start_until "[ \$(wc -l <pids) = 2 ]" 20 run --progress plain -j 2; }

interrupt()
{
    signal_command INT
    wait_until "grep -q 'waiting for the running ones' .stderr" 20
}

interrupt_two_jobs() { waiting_sweep; start_two_jobs; interrupt; }

interrupt__once__lets_running_jobs_end()
{
    interrupt_two_jobs
    expect "kill -0 \$(head -n 1 pids)"
    touch go
    wait_command only_stderr_contains 130 \
        'meshsweep: starting no more jobs; waiting for the running ones (interrupt again to stop them)'
    expect_sql "ok|2
pending|2" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql 2 "SELECT count(*) FROM attempt"
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM attempt GROUP BY 1"
}

interrupt__twice__stops_them_and_they_run_again()
{
    interrupt_two_jobs
    end_command INT only_stderr_contains 130 \
        'meshsweep: stopping the running jobs; they will run again next time (interrupt again to kill them)'
    expect "all_are_gone"
    expect_sql "pending|4" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "failed|cancelled|2" "SELECT state, failure, count(*) FROM attempt GROUP BY 1, 2"
    touch go
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
}

interrupt__three_times__waits_for_no_grace()
{
    stubborn_sweep ''
    sed -i 's/^grace.*/grace = "10m"/' sweep.toml
    start_until "[ \$(wc -l <pids) = 8 ]" 20 run --progress plain -j 2
    interrupt
    signal_command INT
    wait_until "grep -q 'stopping the running jobs' .stderr" 20
    end_command INT only_stderr_contains 130 'meshsweep: killing the running jobs; they will run again next time'
    expect "all_are_gone"
    expect_sql "pending|2" "SELECT state, count(*) FROM job GROUP BY 1"
}

terminate_and_hang_up__stop_at_once()
{
    waiting_sweep
    for name in TERM HUP; do
        : >pids
        start_two_jobs
        end_command "$name"
        number=$(kill -l "$name")
        expect_only_stderr $((128 + number))
        expect_stderr_contains 'meshsweep: stopping the running jobs'
        expect "all_are_gone"
        expect_sql "pending|4" "SELECT state, count(*) FROM job GROUP BY 1"
    done
    touch go
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "cancelled|4" "SELECT failure, count(*) FROM attempt WHERE state = 'failed' GROUP BY 1"
}

signal__with_nothing_running__status_all_the_same()
{
    waiting_sweep
    touch go
    sed -i "s/x = \[1, 2\]/x = [$(seq -s , 1 2000)]/" sweep.toml
    start_until "[ -s pids ]" 20 run --progress plain
    end_command TERM only_stderr 143
    expect_sql "0|1" "SELECT sum(state = 'running'), sum(state = 'pending') > 0 FROM job"
}

# One job of small_sweep that writes its process id to ./pid and ends when ./go is there.
started_job() # [SED]
{
    small_sweep
    sed -i 's/^x = .*/x = [1]/; s/^y = .*/y = [10]/; /^\[job\]/a timeout = "3s"\nidle_timeout = "2s"' sweep.toml
    [ $# -eq 0 ] || sed -i "$1" sweep.toml
    printf '%s\n' 'echo $$ >pid' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    start_until "[ -s pid ]" 20 run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
}

# How often the runner has waited.
waits() { awk '/^voluntary_ctxt/ { print $2 }' "/proc/$command_pid/status"; }

# Ctrl-Z, a container that is frozen, a virtual machine that is paused: what stood still did not use up its time. What
# it took is all the same the time from its start to its end.
runner_and_job__stopped_for_longer_than_the_limit__go_on()
{
    started_job
    job=$(cat pid)
    signal_command STOP
    kill -STOP "$job"
    # Longer than every limit; nothing else can tell that so much time has passed.
    sleep 4
    waited=$(waits)
    signal_command CONT
    # It looks at the job before that can end.
    wait_until "[ \$(waits) -gt $((waited + 2)) ]" 20
    kill -CONT "$job"
    touch go
    wait_command silent 0
    expect_sql "ok|1|" "SELECT state, duration_ms >= 4000, unwatched_ms FROM attempt"
}

# A measurement is no limit: the job went on while its runner did not.
runner__stopped_while_its_job_runs__duration_is_the_jobs_own()
{
    started_job 's/max:score/min:duration/; s/^y = .*/y = [10, 20]/'
    signal_command STOP
    sleep 3
    signal_command CONT
    touch go
    wait_command silent 0
    expect_sql "1|ok|1|
2|ok|0|" "SELECT job_id, state, duration_ms >= 3000, unwatched_ms FROM attempt ORDER BY job_id"
    expect_said only_stdout_contains 0 ", job 2 of sweep small" best
}

# It ends while its runner stands still for so long.
unwatched_job() # SECONDS SED
{
    started_job "$2"
    signal_command STOP
    touch go
    sleep "$1"
    end_command CONT silent 0
}

# When it ended nobody knows.
runner__stopped_while_its_job_ends__attempt_marked()
{
    unwatched_job 4 's/^x = .*/x = [1, 2]/'
    expect_sql "ok|1|1
ok||" "SELECT state, unwatched_ms >= 3000, duration_ms >= unwatched_ms FROM attempt ORDER BY job_id"
    expect_sql "1
0" "SELECT partial FROM results ORDER BY job"
    expect_said only_stdout_matches 0 '^  unwatched_ms +[0-9]{4,5}$' show 1
    expect_stdout_matches '^  left_out +milliseconds of its duration, in which its runner stood still: [0-9]{4,5}$'
}

# A duration that was to be measured is measured again.
runner__stopped_while_its_job_ends__no_duration_wins()
{
    unwatched_job 3 's/max:score/min:duration/; s/^y = .*/y = [10, 20]/'
    expect_sql "1|failed|lost|runner
1|ok||
2|ok||" "SELECT job_id, state, failure, blame FROM attempt ORDER BY job_id, number"
    expect_sql 1 "SELECT message GLOB 'it took between 0.* and 3.* s: *the runner stood still*' FROM failures"
    expect_sql "2" "SELECT count(*) FROM summary WHERE name = 'duration' AND value < 2"
}

# A metric that is computed from the duration has no number either.
runner__stopped_while_its_job_ends__nothing_is_computed_from_its_duration()
{
    unwatched_job 3 '$a [metrics.minutes]\nexpression = "duration / 60"'
    expect_sql "ok||1" "SELECT state, s.value, s.note <> '' FROM attempt JOIN summary AS s ON s.attempt_id = id AND
        s.name = 'minutes'"
}

# A freezer holds the jobs as well, and sends no SIGCONT: whether they went on, nobody knows.
runner__frozen__duration_is_not_known()
{
    local group=/sys/fs/cgroup/freezer/meshsweep-test.$$ state=freezer.state on=FROZEN off=THAWED
    [ -d /sys/fs/cgroup/freezer ] || group=/sys/fs/cgroup/meshsweep-test.$$ state=cgroup.freeze on=1 off=0
    mkdir "$group" 2>/dev/null || skip "no cgroup can be made here"
    started_job
    echo "$command_pid" >"$group/cgroup.procs" || { rmdir "$group"; skip "no process can be moved to a cgroup here"; }
    echo "$on" >"$group/$state"
    sleep 3
    echo "$off" >"$group/$state"
    touch go
    wait_command
    rmdir "$group"
    expect_silent 0
    expect_sql "ok|1|1" "SELECT state, unwatched_ms >= 2000, duration_ms >= unwatched_ms FROM attempt"
}

run_cases "$@"
