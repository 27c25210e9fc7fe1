#!/usr/bin/env bash
# Results that stand for a job that is run in another way now: accept, its undoing, and [was]. Each job that runs leaves
# a line in `ran`; what need not run again does not.
. "${0%/*}/lib.sh"

export RAN=$PWD/ran

# Three jobs; the arguments change the file.
sweep() # [SED EXPRESSION...]
{
    toml sweep: objective=max:score job: \
        "command = [\"/bin/sh\", \"-c\", \"echo run >>\$RAN; echo score: \$0\", \"{n}\"]" pass_env='["RAN"]' \
        env='{ MODE = "fast" }' job.metrics.score: regex='score: ([0-9]+)' \
        training_spec: n=1,2,3 batch=4 >sweep.toml
    change "$@"
}

change() # [SED EXPRESSION...]
{
    local expression
    for expression in "$@"; do
        sed -i "$expression" sweep.toml
    done
}

ran()
{
    wc -l <ran
}

first_run()
{
    sweep "$@"
    run_silently 0
    expect '[ "$(ran)" = 3 ]'
}

blank_added() { first_run; change "$blank" "$@"; } # [SED EXPRESSION...]

standing="SELECT n, batch, state, score, attempts FROM results WHERE in_sweep ORDER BY n"
blank='s/echo score/echo  score/'

# Nothing runs, and every figure is what it was.
expect_done() # BATCH [JOBS]
{
    run_silently 0
    expect "[ \"\$(ran)\" = ${2:-3} ]"
    expect_sql "1|$1|ok|1.0|1
2|$1|ok|2.0|1
3|$1|ok|3.0|1" "$standing"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

accept()
{
    run_meshsweep accept --yes "$@"
    expect_only_stdout_matches 0 'results? stands? now; .meshsweep accept --undo. takes that back'
}

command_changed__plan_and_run__say_so_and_name_accept()
{
    blank_added
    run_meshsweep plan
    expect_only_stdout_contains 0 'all jobs are new for that alone: `meshsweep accept` lets 3 results stand for them'
    expect_stdout_matches 'command: /bin/sh -c .echo run .* -> /bin/sh -c '
    expect_said only_stderr_contains 0 '`meshsweep accept` lets 3 results stand' run --progress none
    expect '[ "$(ran)" = 6 ]'
    # They have results of their own now.
    run_meshsweep accept --yes
    expect_only_stderr_contains 4 'all jobs of sweep.toml that older results could stand for have their own (3)'
    run_silently 0
}

command_changed__accepted__nothing_runs()
{
    blank_added
    expect_said only_stdout_contains 0 '3 results were made otherwise than sweep.toml says now
  command
    was  /bin/sh -c ' accept --dry-run
    expect_sql 0 "SELECT count(*) FROM change"
    accept --why 'a blank more'
    expect_done 4
    expect_sql 'accept|a blank more|1' "SELECT kind, why, who GLOB '*@*' FROM change"
    expect_sql '3|3' "SELECT count(*), sum(was <> now) FROM replaced WHERE field = 'command'"
    expect_said only_stdout_contains 0 '0 of 3 results are stale' stale
    expect_stdout_matches '3 accepted by .*@.* although they were made otherwise \(change 1\), a blank more: command: '
    expect_run only_status 0 report -o page.html
    expect_file_contains page.html 'Results that were made otherwise and stand all the same: 3.'
}

environment_directory_and_key__each_alone__accepted()
{
    first_run
    change 's/"fast"/"slow"/'
    accept
    expect_stdout_contains '  env
    was  MODE=fast
    now  MODE=slow'
    expect_done 4
    change 's|^env|cwd = "/"\nenv|'
    accept
    expect_stdout_contains '  cwd
    was  none
    now  /'
    expect_done 4
    change 's/^batch = 4/batch = 8/'
    accept
    expect_stdout_contains '  training_spec.batch
    was  4
    now  8'
    expect_done 8
    change 's/^batch = 8/&\nepochs = 1/'
    accept epochs
    expect_done 8
}

# Pending jobs of the file as it is now give way.
new_jobs_pending__accepted__replaced()
{
    blank_added 's/^n = .*/n = [1, 2, 3, 4]/'
    expect_said only_stderr_contains 0 'lets 3 results stand' run --progress none --only 'n = 4'
    expect_sql '3' "SELECT count(*) FROM job WHERE state = 'pending'"
    accept
    run_silently 0
    expect '[ "$(ran)" = 4 ]'
    expect_sql '4' "SELECT count(*) FROM job"
}

several_differences__accepted_by_name_only()
{
    blank_added 's/^batch = 4/batch = 8/'
    expect_said only_stderr_contains 2 'the jobs with results differ in more than was said: command: ' accept --yes
    expect_stderr_contains 'training_spec.batch: 4 -> 8; to let them stand all the same, name everything: '
    expect_stderr_contains 'meshsweep accept command training_spec.batch'
    expect_said only_stderr_contains 2 'differ in more than was said' accept --yes batch
    run_meshsweep accept --yes score
    expect_only_stderr 2 'meshsweep: accept: score is not what differs; that is: command, training_spec.batch'
    expect_sql 0 "SELECT count(*) FROM change"
    accept batch command
    expect_done 8
}

asked__nobody_there_or_a_person__as_answered()
{
    blank_added
    expect_run only_status 2 accept
    expect_stderr 'meshsweep: accept: nobody can be asked here; --yes lets the results stand'
    run_command python3 "$source_dir/tests/cli/at_terminal.py" n -- "$meshsweep" accept
    expect_only_stdout_contains 1 'nothing was changed'
    expect_sql 0 "SELECT count(*) FROM change"
    run_command python3 "$source_dir/tests/cli/at_terminal.py" y -- "$meshsweep" accept
    expect_only_stdout_contains 0 'let 3 results stand? [y/N]'
    expect_done 4
}

# A key that the file sweeps is not constant, though one job alone lacks results and one result alone is left over.
value_of_a_swept_key__replaced__not_accepted()
{
    first_run
    change 's/^n = .*/n = [2, 3, 7]/'
    expect_said only_stderr_contains 4 'accept: no job of sweep.toml lacks results' accept --yes
    expect_sql '0' "SELECT count(*) FROM change"
}

nothing_to_accept__said()
{
    first_run
    expect_said only_stderr_contains 4 'accept: no job of sweep.toml lacks results' accept --yes
    rm -r results.db*
    expect_said only_stderr_contains 4 'there is no database results.db' accept --yes
    expect_no_file results.db
}

accepted__undone__as_before()
{
    local columns="id, hex(key), sweep_id, cluster_id, training_id, state, attempt_id" before
    first_run
    before=$(sql "SELECT $columns FROM job ORDER BY id")
    change "$blank" 's/^batch = 4/batch = 8/'
    accept command batch
    expect_said only_stdout 0 'change 1 is undone: 3 jobs are what they were' accept --undo
    expect_sql "$before" "SELECT $columns FROM job WHERE id <= 3 ORDER BY id"
    expect_sql '3' "SELECT count(*) FROM job WHERE state = 'pending'"
    expect_sql '1' "SELECT undone >= at FROM change"
    expect_said only_stderr 4 'meshsweep: no results stand for others: there is nothing to undo' accept --undo
    expect_said only_stderr 2 'meshsweep: change 1 is undone already' accept --undo 1
    expect_said only_stderr 4 'meshsweep: there is no change 7' accept --undo 7
    # The old file finds its results, and the new one may accept them once more.
    change 's/echo  score/echo score/' 's/^batch = 8/batch = 4/'
    expect_done 4
    change "$blank"
    accept
    expect_done 4
}

accepted__run_since__not_undone()
{
    blank_added
    accept
    change 's/^env/repeat = 2\nenv/'
    run_silently 0
    expect '[ "$(ran)" = 6 ]'
    run_meshsweep accept --undo
    expect_only_stderr 2 'meshsweep: change 1 cannot be undone: job 1 has run since; nothing was changed'
    expect_sql '3|2' "SELECT count(*), min(attempts) FROM results"
}

checksums__accepted_and_undone__hold()
{
    first_run 's/^objective/checksums = true\n&/'
    sql "UPDATE attempt SET exit_code = 7 WHERE job_id = 2"
    change "$blank"
    accept
    expect_said only_stdout_contains 1 'job 2 attempt 1' check -d results.db
    expect_stdout_lacks 'job 1 attempt 1'
    expect_run only_status 0 accept --undo
    expect_said only_stdout_contains 1 'job 2 attempt 1' check -d results.db
    expect_stdout_lacks 'job 1 attempt 1'
}

killed_in_the_middle__all_or_nothing()
{
    need_fault_points
    for point in sweep-recorded job-enumerated enumerated enumeration-committed; do
        rm -rf results.db* ran
        blank_added
        expect_after only_status 137 run_killed "$point" accept --yes
        expect_sql "$([ "$point" = enumeration-committed ] && echo 3 || echo 0)" \
            "SELECT count(*) FROM replaced WHERE field = 'key'"
        if [ "$point" != enumeration-committed ]; then
            accept
        fi
        expect_done 4
    done
}

was_file()
{
    change 's/^batch = 4/micro = 4\nepochs = [5, 10]/' 's/"{n}"\]/"{n}", "--epochs={epochs}"]/'
    toml was: epochs=5 micro='{ renamed_from = "batch" }' >>sweep.toml
}

was__plan_and_run__results_of_before()
{
    first_run
    was_file
    cp results.db before.db
    run_meshsweep plan
    expect_only_stdout_contains 0 '6 jobs: + 3 new  = 3 done  ~ 0 retry  ! 0 failed  > 0 running  - 0 no longer'
    expect 'cmp before.db results.db'
    run_meshsweep run --progress none
    expect_only_stderr 0 'meshsweep: 3 results stand for jobs of the sweep file now, as [was] says'
    expect '[ "$(ran)" = 6 ]'
    expect_sql '1|5|4|1.0|1
1|10|4|1.0|1
2|5|4|2.0|1
2|10|4|2.0|1
3|5|4|3.0|1
3|10|4|3.0|1' "SELECT n, epochs, micro, score, attempts FROM results ORDER BY n, epochs"
    expect_sql 'was|1' "SELECT kind, count(*) FROM change"
    # Once.
    run_silently 0
    expect_sql '1' "SELECT count(*) FROM change"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    expect_said only_stdout 0 'change 1 is undone: 3 jobs are what they were' accept --undo
}

was_dropped__run__results_with_that_value()
{
    sweep 's/^batch = 4/&\nseed = [1, 2]/'
    run_silently 0
    expect '[ "$(ran)" = 6 ]'
    change '/^seed/d'
    printf '[was]\ndropped = { seed = 2 }\n' >>sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 0 'meshsweep: 3 results stand for jobs of the sweep file now, as [was] says'
    expect_done 4 6
    expect_sql '3|2' "SELECT count(*), min(was ->> 'seed') FROM replaced WHERE field = 'training_spec'"
}

was__command_changed_too__left_to_accept()
{
    first_run
    was_file
    change "$blank" 's/^epochs = \[5, 10\]/epochs = 5/'
    expect_said only_stdout_contains 0 '`meshsweep accept` lets 3 results stand' plan
    accept
    run_silently 0
    expect '[ "$(ran)" = 3 ]'
}

# Results are of before and after a key was added, both older than its new name.
was_or_swept_key_gone__two_for_one__refused_and_named()
{
    first_run
    change 's/^batch = 4/&\nepochs = 5/'
    expect_run only_status 0 run --progress none
    change 's/^batch = 4/micro = 4/'
    printf '[was]\nepochs = 5\nmicro = { renamed_from = "batch" }\n' >>sweep.toml
    expect_said only_stderr_contains 2 'the results of job 1 and of job 4 would both stand for job ' plan
    expect_said only_stderr_contains 2 'the results of job 1 and of job 4 would both stand for job ' run --progress none
    expect '[ "$(ran)" = 6 ]'
    expect_sql 0 "SELECT count(*) FROM change"
    # A swept key that is gone.
    rm -rf results.db*
    sweep 's/^batch = 4/&\nseed = [1, 2]/'
    run_silently 0
    change '/^seed/d'
    expect_said only_stderr_contains 2 'the results of job 1 and of job 2 would both stand for job ' accept --yes
    expect_sql 0 "SELECT count(*) FROM change"
}

was__of_no_result_or_job__told()
{
    sweep 's/^batch = 4/&\nseed = 1/'
    run_silently 0
    change 's/^batch = 4/micro = 4/' '/^seed/d' '$a dropout = 0.0'
    cp sweep.toml now.toml
    toml was: micro='{ renamed_from = "bacth" }' dropped='{ seed = 1 }' dropout=0.0 >>sweep.toml
    expect_said only_stdout_contains 0 '[was] lets no result stand: no result has a key bacth' plan
    cp now.toml sweep.toml
    toml was: dropout=0 micro='"batch"' dropped='{ seed = 2 }' >>sweep.toml
    expect_said only_stderr 0 'meshsweep: [was] lets no result stand: no job has dropout = 0; no job has '\
'micro = "batch" (if it was called batch: micro = { renamed_from = "batch" }); no result has seed = 2' \
        run --progress none --limit 1
    run_silently 0 --limit 1
}

was__wrong__told_where()
{
    sweep
    toml was: bathc=3 epochs=5 batch='{ renamed_from = "n" }' dropped='{ n = 1 }' >>sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:13:1: [was]: no section has a key "bathc"; did you mean "batch"?
meshsweep: sweep.toml:14:1: [was]: no section has a key "epochs"
meshsweep: sweep.toml:15:11: [was]: training_spec still has a key "n" (line 10)
meshsweep: sweep.toml:16:13: [was]: training_spec still has a key "n" (line 10)' plan
    sweep
    printf '[was]\ndropped = ["seed"]\nbatch = { renamed_from = 3 }\n' >>sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:13:11: dropped must say which value the results have that stay' plan
    expect_stderr_contains 'sweep.toml:14:26: renamed_from must be the name that the key had'
}

merged__either_way__accepted_once()
{
    first_run
    cp results.db old.db
    change "$blank" 's/^batch = 4/batch = 8/'
    accept command batch
    expect_run only_status 0 merge old.db results.db -o one.db
    expect_run only_status 0 merge results.db old.db -o two.db
    for db in one.db two.db; do
        expect_sql '3' "SELECT count(*) FROM job" "$db"
        expect_sql '1|8|ok|1.0|1
2|8|ok|2.0|1
3|8|ok|3.0|1' "$standing" "$db"
        expect_run only_status 0 merge results.db old.db -o "$db"
        expect_sql '1|3' "SELECT (SELECT count(*) FROM change), count(*) FROM replaced WHERE field = 'key'" "$db"
        expect_run silent 0 run -d "$db" --progress none
        expect '[ "$(ran)" = 3 ]'
        expect_said only_stdout 0 'change 1 is undone: 3 jobs are what they were' accept --undo -d "$db"
        expect_sql '3' "SELECT count(*) FROM results JOIN job ON id = job WHERE batch = 8 AND job.state = 'pending'" \
            "$db"
    done
}

run_cases "$@"
