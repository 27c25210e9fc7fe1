#!/usr/bin/env bash
# The progress of a run: lines for a log, objects for a program, a live line on a terminal.
. "${0%/*}/lib.sh"

# Job x=2 y=20 fails.
progress_sweep()
{
    small_sweep sweep.toml
    printf '[ "$1$2" != 220 ] || exit 7\necho "score: $(($1 * $2))"\n' >job.sh
}

plain__each_end__with_its_configuration_and_what_became_of_it()
{
    progress_sweep
    run_meshsweep run --progress plain -j 1
    expect_only_stderr_matches 3 '^small: 4 combinations, 0 excluded by rules, 4 jobs \(4 new\)$'
    expect_stderr_matches '^ok        job 1  +[0-9.]+m?s  score 10  x=1 y=10$'
    expect_stderr_matches '^ok        job [0-9]  +[0-9.]+m?s  score 20  x=2 y=10$'
    expect_stderr_matches '^exit      job 4  +[0-9.]+m?s  x=2 y=20  exit status 7$' \
        '^4/4 done \(100%\): 3 ok, 1 failed \(1 exit\); ' '^1 job stays failed: --retry-failed runs it again$' \
        '^best score: 20  job [0-9]+ ' '^results in results.db; '
}

plain__no_job_ok__no_best_to_look_at()
{
    progress_sweep
    echo 'exit 7' >job.sh
    run_meshsweep run --progress plain --limit 1
    expect_only_stderr_contains 3 "results in results.db; see meshsweep results, meshsweep status"
}

plain__second_run__tells_what_was_done_before_from_what_is_done_now()
{
    progress_sweep
    sed -i 's/^x = .*/x = [2, 1]/' sweep.toml
    printf '[retry]\nexit = 2\nbackoff = "0"\n' >>sweep.toml
    run_meshsweep run --progress plain -j 1 --limit 1
    expect_only_stderr_matches 0 '^1/4 done \(25%\): 1 ok, 3 pending; ' '^best score: 20  job 1 '
    # Job 2 fails twice, and is one job; the best is that of the first run until a better one comes.
    expect_said only_stderr_matches 3 '^exit .*  exit status 7  \(again\)$' run --progress plain -j 1
    expect_stderr_matches '^4/4 done \(100%\): 3 ok \(1 before\), 1 failed \(1 exit\); ' \
        '^1 job stays failed: --retry-failed runs it again$'
    run_meshsweep run --progress plain
    expect_only_stderr_matches 3 '^4/4 done \(100%\): 3 ok, 1 failed \(1 before\), nothing to run; '
    sqlite3 results.db "DELETE FROM job WHERE state = 'failed'"
    sed -i 's/^x = .*/x = [2]/; s/^y = .*/y = [10]/' sweep.toml
    expect_said only_stderr_matches 0 '^1/1 done \(100%\): 1 ok, nothing to run; ' run --progress plain
    expect_stderr_lacks 'stay'
}

# A job that has ended and is being recorded has left its slot to the next.
json__many_short_jobs__never_more_running_than_slots()
{
    toml job: command='["true"]' training_spec: a=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 \
        b=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 c=1,2,3,4,5 >sweep.toml
    run_meshsweep run --progress json -j 2
    expect_only_stderr_matches 0 '"total":2000,"done":2000,"ok":2000,"failed":0,"skipped":0,"pruned":0,"held":0,'
    expect_stderr_matches '"held":0,"running":0,"waiting":0,"being_recorded":0,"pending":0,'
    expect "grep -q '\"running\":[12],' .stderr" "! grep -E '\"running\":([3-9]|[0-9]{2})' .stderr"
    expect "! grep -E '\"skipped\":[1-9]' .stderr"
}

plain__interrupted__what_was_cancelled_is_neither_ok_nor_failed()
{
    progress_sweep
    echo '[ "$1$2" = 110 ] || { echo >ready; exec sleep 60; }; echo "score: 1"' >job.sh
    expect_run only_stderr 0 run --progress plain -j 1 --limit 1
    start_until "[ -e ready ]" 20 run --progress plain -j 1
    end_command TERM only_stderr_matches 143 '^1/4 done \(25%\): 1 ok \(1 before\), 3 pending; '
}

plain__another_database__hints_name_it()
{
    progress_sweep
    expect_said only_stderr_contains 0 "results in my results.db; see meshsweep best -d 'my results.db', meshsweep \
results -d 'my results.db', meshsweep status -d 'my results.db'" run --progress plain -d 'my results.db' --limit 1
    run_meshsweep status -d 'my results.db'
    expect_only_stdout_contains 0 "no runner is active; \`meshsweep run -d 'my results.db'\` continues from here"
    expect_stdout_contains "(see meshsweep best -d 'my results.db')"
    run_meshsweep plan -d 'my results.db'
    expect_only_stdout_contains 0 'at most 0.5 device-hours, if every job runs until its time limit'
    sed -i 's/^command.*/&\ntimeout = "2s"/' sweep.toml
    run_meshsweep plan -d 'my results.db'
    expect_only_stdout_contains 0 'at most 0.00167 device-hours, if every job runs until its time limit'
    # Whose third failure is its last, before or after a success of two.
    printf '[retry]\ntimeout = 3\nspawn = 9\n' >>sweep.toml
    sed -i 's/^timeout = "2s"/&\nrepeat = 2/' sweep.toml
    run_meshsweep plan -d absent.db
    expect_only_stdout_contains 0 'at most 0.00889 device-hours, if every job runs until its time limit'
}

json__every_line__an_object_that_a_program_reads()
{
    progress_sweep
    run_meshsweep run --progress json -j 1
    expect_only_stderr_matches 3 '^\{"event":"enumerated","schema_version":1,"combinations":4,"matched":4,"jobs":4,'
    expect "[ \"\$(grep -c '\"event\":\"attempt\"' .stderr)\" = 4 ]"
    while IFS= read -r line; do
        [ "$(sql "SELECT json_valid('${line//\'/\'\'}')" :memory:)" = 1 ] || fail "no JSON: $line"
    done <.stderr
    line=$(grep '"state":"failed"' .stderr)
    expect_sql 'exit|2|20||0' "SELECT j ->> 'failure', j ->> '\$.keys.training_spec.x', j ->> '\$.keys.parallel_spec.y',
        j ->> 'objective_value', j ->> 'will_retry' FROM (SELECT '${line//\'/\'\'}' AS j)" :memory:
}

terminal__a_live_line__and_the_ends_above_it()
{
    type -P script >/dev/null || skip "script (util-linux) is not installed"
    progress_sweep
    expect_command only_stdout 3 env TERM=xterm script -qec "'$meshsweep' run -j 1" typescript
    expect "grep -q \$'\\r.*4/4 .*\\033\\[K' typescript" "grep -q 'score 10  x=1 y=10' typescript"
    rm -r results.db*
    expect_command only_stdout 3 env TERM=xterm COLUMNS=30 NO_COLOR=1 script -qec "'$meshsweep' run -j 1" typescript
    expect "! grep -E '^(ok|exit) ' typescript | grep -q '.\{32\}'" "grep -q '^ok        job 2 ' typescript"
}

# The last job takes as long as its like, not as those before it did on average.
eta__last_job__of_its_kind()
{
    toml job: command='["/bin/sh", "-c", "sleep {seconds}"]' model:: seconds=0,3 \
        training_spec:: seed=1,2,3 >sweep.toml
    expect_run only_stderr 0 run --progress json -j 1
    # Two of three seconds each had ended when five of six jobs were done.
    expect_stderr_matches '"done": ?5,.*"eta_ms": ?[23][0-9]{3},'
    # It ends before those that it was not asked to start.
    expect_run only_stderr 0 run --progress json -d other.db --limit 3
    expect_stderr_matches '"event":"end".*"pending":3,.*"eta_ms":0,'
    # Four starts are left for two jobs, not five for each.
    sed -i 's/^command.*/&\nrepeat = 5/; s/^seconds.*/seconds = [2]/; s/^seed.*/seed = [1, 2]/' sweep.toml
    expect_run only_stderr 0 run --progress json -d repeated.db --limit 4 -j 1
    expect_stderr_matches '"running": ?1,.*"eta_ms": ?[1-4]?[0-9]{3},'
    expect "! grep -qE '\"eta_ms\": ?([6-9]|1[0-9])[0-9]{3}' .stderr"
}

# How it went, by what on_end got.
expect_told() # STATUS|OK|FAILED|BEST
{
    expect_json "$1" end.json exit_status status.states.ok status.states.failed best.value
    rm end.json
}

on_end__whatever_ended_the_run__gets_the_result()
{
    progress_sweep
    sed -i "s/^name.*/&\non_end = 'cat >end.json; touch {told}'/" sweep.toml
    run_ended 0 -j 1 --limit 1
    expect_told '0|1|0|10'
    expect "[ -e '{told}' ]"
    run_ended 3 -j 1
    expect_told '3|3|1|20'
    # It is of no job.
    sed -i 's/^on_end.*/on_end = ["tee", "end.json"]/' sweep.toml
    expect_said only_stderr_contains 3 ', nothing to run; ' run --progress plain
    expect_told '3|3|1|20'
    rm -r results.db*
    echo 'exit 7' >job.sh
    run_ended 6 -j 1
    expect_told '6|0|3|'
    rm -r results.db*
    echo 'touch ready; exec sleep 60' >job.sh
    start_until "[ -e ready ]" 20 run --progress none
    end_command TERM only_stderr 143
    expect_told '143|0|0|'
}

on_end__fails__said_and_nothing_else()
{
    progress_sweep
    echo 'echo "score: 1"' >job.sh
    sed -i "s/^name.*/&\non_end = 'echo first >\&2; echo no such host >\&2; echo; exit 9'/
        s/^objective.*/&\non_end_timeout = \"0.2s\"/" sweep.toml
    expect_said only_stderr 0 'meshsweep: on_end: echo first >&2; echo no such host >&2; echo; exit 9 ended with '\
'status 9: no such host; no result depends on it' run --progress none
    sed -i 's/^on_end = .*/on_end = ["sleep", "60"]/' sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 0 'meshsweep: on_end: sleep: no answer within 200 ms; no result depends on it'
    sed -i 's/^on_end = .*/on_end = ["no-such-program"]/' sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr_matches 0 '^meshsweep: on_end: no-such-program: cannot be started .*; no result depends on it$'
    sed -i 's/^on_end = .*/on_end = []/' sweep.toml
    expect_said only_stderr_contains 2 'on_end is empty; give the program and its arguments' run --progress none
}

run_cases "$@"
