#!/usr/bin/env bash
# When a job that failed is tried again: back-off, its cap, and that it outlives the runner.
. "${0%/*}/lib.sh"

# Two jobs, x = 1 and x = 2, that run ./job.sh X; job 1 fails until the file "well" is there.
retry_sweep() # KEY=VALUE... OF [retry]
{
    toml job: command='["/bin/sh", "job.sh", "{x}"]' training_spec: x=1,2 \
        retry: "$@" >sweep.toml
    printf '%s\n' 'echo "$1" >>ran' '[ "$1" = 2 ] || [ -e well ]' >job.sh
    : >ran
}

backoff__doubles_up_to_its_cap_and_others_go_first()
{
    retry_sweep exit=4 backoff=100ms backoff_max=0.2
    run_silently 3 -j 1
    expect "[ \"\$(xargs <ran)\" = '1 2 1 1 1' ]"
    expect_sql "2|1
3|1
4|1" "SELECT number, started - (SELECT ended FROM attempt WHERE job_id = 1 AND number = a.number - 1) >=
            CASE number WHEN 2 THEN 100 ELSE 200 END FROM attempt AS a WHERE job_id = 1 AND number > 1"
    expect_sql "failed|exit|
ok||" "SELECT state, failure, due FROM job ORDER BY id"
}

backoff__none__at_once()
{
    retry_sweep exit=3 backoff=0
    run_silently 3 -j 1
    expect_sql 3 "SELECT count(*) FROM attempt WHERE job_id = 1"
}

start_waiting()
{
    start_meshsweep run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM job WHERE state = 'ok' OR due > 0\" 2>/dev/null)\" = 2 ]" 20
}

backoff__runner_killed__stands_in_the_database()
{
    retry_sweep exit=2 backoff=2h backoff_max=1h
    start_waiting
    due=$(sql "SELECT due FROM job WHERE id = 1")
    expect_sql "pending|1" "SELECT job.state, due - ended = 3600000 FROM job JOIN attempt ON job_id = job.id
        WHERE job.id = 1"
    wait_until "[ -s .stderr ]" 20
    end_command KILL
    expect_only_stderr_matches 137 '^meshsweep: nothing else to run now; a failed job is retried in (1h|59m.*)$'
    touch well
    # Another runner waits as long, and ends at once when it is asked to.
    start_until "grep -q 'nothing else to run now' .stderr" 20 run --progress none
    end_command INT
    expect_only_stderr_matches 130 '^meshsweep: nothing else to run now; a failed job is retried in (1h|59m.*)$'
    expect_sql "$due|1" "SELECT due, (SELECT count(*) FROM attempt WHERE job_id = 1) FROM job WHERE id = 1"
    sqlite3 -batch results.db "UPDATE job SET due = 1000 * strftime('%s') + 1500 WHERE id = 1"
    due=$(sql "SELECT due FROM job WHERE id = 1")
    run_silently 0
    expect_sql "ok||2|1" "SELECT job.state, due, number, started >= $due FROM job JOIN attempt
        ON attempt.id = job.attempt_id WHERE job.id = 1"
}

backoff__waiting__status_tells_when_it_is_due()
{
    retry_sweep exit=4 backoff=1h backoff_max=2h
    start_waiting
    end_command TERM only_stderr 143
    expect_said only_stdout_contains 0 'failed, to be retried' status
    expect_stdout_matches '^  job 1, attempt 2, in (1h|59m.*)$'
    expect_run only_stdout 0 status --json
    expect_json "1|1|2|1" retries_waiting retries[0].job retries[0].attempt \
        "j ->> '$.retries[0].due_in_ms' BETWEEN 3000000 AND 3600000"
    sqlite3 -batch results.db "UPDATE job SET due = 1 WHERE id = 1"
    expect_said only_stdout_contains 0 '  job 1, attempt 2, now' status
}

# A clock that was set back must not make a job wait for years.
backoff__due_beyond_what_the_policy_allows__at_once()
{
    retry_sweep exit=2 backoff=20s backoff_max=20s
    start_waiting
    end_command TERM only_stderr 143
    touch well
    sqlite3 -batch results.db "UPDATE job SET due = due + 1000 * 86400 * 365 WHERE id = 1"
    run_silently 0
    expect_sql 2 "SELECT count(*) FROM job WHERE state = 'ok'"
}

backoff__wrong__said_with_its_place()
{
    retry_sweep backoff=soon backoff_max=true backof=1
    expect_said only_stderr_matches 2 '^meshsweep: sweep.toml:6:11: backoff: "soon" is not a duration' check sweep.toml
    expect_stderr_matches '^meshsweep: sweep.toml:7:[0-9]+: .*backoff_max'
    expect_stderr_matches '^meshsweep: sweep.toml:8:1: unknown .*"backof"'
}

# Jobs 1 to 5 fail, each when it is run, until "well" is there; `ran` gets who ran.
failed_sweep() # OPTIONS OF run
{
    retry_sweep backoff=0
    sed -i 's/x = .*/x = [1, 2, 3, 4, 5]/' sweep.toml
    printf '[sweep]\nobjective = "max:score"\n[job.metrics.score]\nregex = "score: (.)"\n' >>sweep.toml
    echo 'echo "$1" >>ran; [ -e well ] && echo "score: $1"' >job.sh
    run_it 3 "$@"
    : >ran
    touch well
}

run_it() # STATUS OPTIONS
{
    expect_run only_status "$1" run --progress none --keep-going -j 1 "${@:2}"
}

expect_ran() # JOBS
{
    [ "$(xargs <ran)" = "$1" ] || fail "expected that these ran: $1; it were: $(xargs <ran)"
    : >ran
}

expect_jobs_run() # STATUS JOBS [OPTION...]
{
    run_it "$1" "${@:3}"
    expect_ran "$2"
}

retry_failed__with_a_limit__leaves_the_others_failed()
{
    failed_sweep
    expect_jobs_run 3 '1 2' --retry-failed=exit --limit 2
    expect_sql 'failed|3
ok|2' "SELECT state, count(*) FROM job GROUP BY 1"
    expect_jobs_run 3 ''
    # No job is of another class; the whole of what is asked for is run without a limit.
    expect_jobs_run 3 '' --retry-failed=timeout
    expect_jobs_run 0 '3 4 5' --retry-failed=timeout,exit
}

# They take the places of those that stand behind.
retry_failed__limit_and_jobs_never_run__in_the_order_of_the_file()
{
    failed_sweep --only 'x IN (2, 3, 5)'
    expect_jobs_run 3 '1 2' --retry-failed --limit 2
    expect_jobs_run 3 '3' --retry-failed --limit 1 --only 'x > 2'
    expect_jobs_run 3 '4'
    expect_sql 'failed|exit' "SELECT state, failure FROM job WHERE id = 5"
}

# A job that waits for its back-off is not run now, so that it takes nobody's place.
retry_failed__limit_and_a_job_that_waits__goes_to_the_others()
{
    failed_sweep
    sql "UPDATE job SET state = 'pending', failure = NULL WHERE id = 1;
        UPDATE job SET due = 1000 * strftime('%s') + 200000 WHERE id = 1"
    expect_jobs_run 3 '2 3' --retry-failed --limit 2
}

# A search tries them first, however many it has not come to.
retry_failed__limit_of_a_search__leaves_the_others_failed()
{
    failed_sweep --strategy random --max-trials 3 --only 'x > 2'
    run_it 3 --strategy random --max-trials 3 --retry-failed --limit 1
    expect_sql 'failed|2
ok|1
pending|2' "SELECT state, count(*) FROM job GROUP BY 1"
    expect "[ \"\$(wc -l <ran)\" = 1 ]"
}

# Jobs that were made pending were to be run: whoever comes next does it. The rest stands as it stood.
retry_failed__limit_and_killed__only_what_was_to_be_run_runs()
{
    failed_sweep
    echo 'echo "$1" >>ran; exec sleep 100' >job.sh
    start_until "[ -s ran ]" 20 run --progress none -j 1 --retry-failed --limit 2
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\")\" = 1 ]" 20
    end_command KILL only_stderr 137
    expect_sql 3 "SELECT count(*) FROM job WHERE state = 'failed' AND failure = 'exit'"
    : >ran
    echo 'echo "$1" >>ran; echo "score: $1"' >job.sh
    expect_jobs_run 3 '1 2'
}

search__trials_to_be_tried_again__waited_for_while_others_run()
{
    retry_sweep exit=2 backoff=300ms
    sed -i 's/x = .*/x = [1, 2, 3, 4]/' sweep.toml
    printf '[sweep]\nobjective = "max:score"\n[job.metrics.score]\nregex = "score: (.)"\n' >>sweep.toml
    echo 'echo "$1" >>ran; echo "score: $1"; [ "$1" -gt 2 ] || [ "$(grep -c "$1" ran)" -gt 1 ]' >job.sh
    run_meshsweep run --progress none -j 1 --strategy grid --max-trials 3
    expect_only_stderr_matches 0 '^meshsweep: search: 3 trials, 3 ok, '
    expect "[ \"\$(xargs <ran)\" = '1 2 3 1 2' ]"
    expect_sql "pending|1
ok|3
1|2
2|2
3|1" "SELECT state, count(*) FROM job GROUP BY 1 ORDER BY 2; SELECT job_id, count(*) FROM attempt GROUP BY 1"
}

# The first ok of several attempts that are wanted of each job tells that the command works: in this run, and in the one
# before it.
failures__alike_after_an_attempt_was_ok__no_pause()
{
    toml sweep: objective=max:v job: command='["/bin/sh", "-c", "[ {n} -gt 2 ] && exit 1; echo v: {n}"]' repeat=3 \
        job.metrics.v: regex='"v: ([0-9]+)"' training_spec: n=1,2,3,4,5,6,7,8 >sweep.toml
    for first in "" "--limit 2"; do
        rm -rf results.db*
        if [ -n "$first" ]; then
            # shellcheck disable=SC2086 # words
            run_ended 0 -j 1 $first
            expect_sql "2|ok" "SELECT count(*), state FROM attempt GROUP BY 2"
        fi
        run_ended 3 -j 1
        expect_sql "2|6" "SELECT sum(state = 'ok'), sum(state = 'failed') FROM job"
    done
}

# A mistake in the command fails every job: the first tell it as well as all.
failures__alike_before_any_is_ok__pause()
{
    toml sweep: objective=max:v job: command='["/bin/sh", "-c", "echo run $$ {n}: no such module; exit 1"]' \
        job.metrics.v: regex='"v: ([0-9]+)"' training_spec: \
        n=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30 >sweep.toml
    expect_said only_stderr_matches 6 '^meshsweep: 3 jobs failed the same way and none succeeded, so no more jobs are '\
'started ' run --progress none -j 1
    expect_stderr_matches '\(exit: exit status 1: run [0-9]+ [0-9]+: no such module\); to continue anyway: --keep-going'
    expect_sql "3|27" "SELECT sum(state = 'failed'), sum(state = 'pending') FROM job"
    expect_said only_stderr_contains 6 '20 jobs failed the same way' run --progress none -j 1 --pause-after 20
    expect_sql "7" "SELECT count(*) FROM job WHERE state = 'pending'"
    run_silently 3 -j 2 --keep-going
    expect_sql "30" "SELECT count(*) FROM job WHERE state = 'failed'"
}

# At a terminal somebody is asked.
failures__alike_at_a_terminal__asked()
{
    type -P script >/dev/null || skip "there is no script"
    toml job: command='["/bin/sh", "-c", "echo no such module; exit 1"]' training_spec: n=1,2,3,4,5,6 >sweep.toml
    run_command sh -c "echo n | TERM=dumb script -qec '$meshsweep run -j 1 --progress none' /dev/null"
    expect_only_stdout_contains 6 'continue with the rest? [y/N]'
    expect_sql "3" "SELECT count(*) FROM job WHERE state = 'failed'"
    rm -rf results.db*
    run_command sh -c "echo y | TERM=dumb script -qec '$meshsweep run -j 1 --progress none' /dev/null"
    expect_only_stdout_contains 3 'continue with the rest? [y/N]'
    expect_sql "6" "SELECT count(*) FROM job WHERE state = 'failed'"
}

failures__that_are_of_the_configurations__no_pause()
{
    toml job: command='["/bin/sh", "-c", "[ {n} = 1 ] || { echo out of luck; exit 1; }"]' \
        training_spec: n=1,2,3,4,5,6 >sweep.toml
    run_silently 3 -j 1 --pause-after 2
    expect_sql "1|5|0" "SELECT sum(state = 'ok'), sum(state = 'failed'), sum(state = 'pending') FROM job"
    sed -i 's/^command.*/command = ["\/bin\/sh", "-c", "echo CUDA out of memory; exit 1"]/' sweep.toml
    run_silently 3 -j 1 --pause-after 2 -d oom.db
    expect_sql "oom|6" "SELECT failure, count(*) FROM job GROUP BY 1" oom.db
}

# A search whose jobs report nothing but NaN does not end well, and stops asking.
search__all_diverged__pauses_and_fails()
{
    toml sweep: objective=min:loss job: command='["/bin/sh", "-c", "echo loss: nan"]' \
        job.metrics.loss: regex='"loss: ([0-9.na]+)"' training_spec: n=1,2,3,4,5,6,7,8 \
        search: strategy=random >sweep.toml
    expect_said only_stderr_contains 6 '3 jobs failed the same way and none succeeded, so no more jobs are started '\
'(diverged: ' run --progress none -j 1
    expect_stderr_contains ': loss is not a finite number'
    expect_sql "3" "SELECT count(*) FROM job WHERE failure = 'diverged'"
}

# A job's own script tells; another's does not.
script__changed_since_jobs_failed__said_and_with_changed_run_again()
{
    retry_sweep exit=1
    sed -i 's/"job.sh"/"job{x}.sh"/' sweep.toml
    echo '[ -e well ] && echo $1 >>ran' | tee job1.sh >job2.sh
    run_silently 3
    run_silently 3
    echo '# mended' >>job1.sh
    touch -d 12:03 job1.sh
    expect_said only_stderr 3 "meshsweep: 2 jobs stay failed; job1.sh (12:03) has changed since 1 of them ran: \
--retry-failed runs them again" run --progress none
    expect_said only_stderr 3 "meshsweep: 1 job stays failed; job1.sh (12:03) has changed since: \
--retry-failed runs them again" run --progress none --only 'x = 1'
    run_silently 3 --only 'x = 2'
    touch well
    echo 'changed = true' >>sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 3 "meshsweep: 1 failed job runs again; job1.sh (12:03) has changed since"
    expect_ran 1
    run_silently 3
    # One that is gone mends nothing.
    mv job2.sh kept.sh
    run_silently 3
    (echo; cat kept.sh) >job2.sh
    run_meshsweep run --progress none
    expect_only_stderr_matches 0 '^meshsweep: 1 failed job runs again; job2.sh \(..:..\) has changed since$'
    expect_ran 2
    expect_sql "ok|2" "SELECT state, count(*) FROM job GROUP BY 1"
}

run_cases "$@"
