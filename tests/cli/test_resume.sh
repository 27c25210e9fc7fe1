#!/usr/bin/env bash
# run: what is done stays done, and what is not is run, whatever happens to the file, the rows and the runner.
. "${0%/*}/lib.sh"
. "${0%/*}/logged_sweep.sh"

logged_run() { logged_sweep; expect_jobs_run 0 "1 10, 1 20, 2 10, 2 20"; }

# --- the file is edited ---

axis_values__added_removed_reordered__only_new_ones_run()
{
    logged_run
    expect_jobs_run 0 ""
    edit 's/x = \[1, 2\]/x = [2, 3, 1]/'
    expect_jobs_run 0 "3 10, 3 20"
    edit 's/y = \[10, 20\]/y = [20]/'
    expect_jobs_run 0 ""
    expect_sql 3 "SELECT jobs FROM current_sweep"
    edit 's/y = \[20\]/y = [10, 20]/; s/^x = .*/x = [1, 2, 3]/'
    expect_jobs_run 0 ""
    expect_sql "ok|6" "SELECT state, count(*) FROM results WHERE in_sweep GROUP BY 1"
}

axis_values__reordered_and_added__plan_knows_what_is_done()
{
    logged_sweep
    run_silently 0
    edit 's/x = \[1, 2\]/x = [2, 3, 1]/; s/y = \[10, 20\]/y = [20, 30, 10]/'
    run_meshsweep plan --json
    expect_only_stdout_matches 0 '"done":[[:space:]]*4' '"new":[[:space:]]*5' '"gone":[[:space:]]*0'
}

blocks__split_and_keys_moved_about__nothing_runs()
{
    logged_run
    toml parallel_spec:: y=20 parallel_spec:: y=10 training_spec:: x=2 training_spec:: x=1 >tail.toml
    edit '/^\[\[training_spec/,$d'
    cat tail.toml >>sweep.toml
    expect_jobs_run 0 ""
}

labels__changed__nothing_runs()
{
    logged_sweep
    edit 's/^x = /name = "first"\ndescription = "some words"\nx = /'
    expect_jobs_run 0 "1 10, 1 20, 2 10, 2 20"
    edit 's/"first"/"second"/; s/some words/other words/'
    expect_jobs_run 0 ""
    expect_sql second "SELECT DISTINCT name FROM results WHERE in_sweep"
}

# Every job is told its name, and may do something else under another.
names__that_alone_differ__are_jobs_of_their_own()
{
    toml sweep: objective=max:length job: command='["/bin/sh", "./job.sh"]' \
        job.metrics.length: key=length model:: name=one,three,seventeen >sweep.toml
    echo 'echo "length: ${#MESHSWEEP_SPEC}"' >job.sh
    run_meshsweep plan
    expect_only_stdout_contains 0 "3 jobs: + 3 new" "name=seventeen"
    run_silently 0
    expect_sql "one|0.0
three|2.0
seventeen|6.0" "SELECT name, length - min(length) OVER () FROM results ORDER BY job"
    expect_said only_stdout_contains 0 "3 jobs: + 0 new  = 3 done" plan
    expect_said only_stdout_contains 0 "seventeen" best --out winner
    expect_said only_stdout_contains 0 "1 job: + 0 new  = 1 done" plan -c winner/sweep.toml
    sed -i 's/^objective.*/&\ngroup_by = ["model.name"]/' sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 "model.name=three: " best
    expect "[ \$(grep -c '^model.name=' .stdout) = 3 ]"
    expect_sql 3 "SELECT count(*) FROM attempt"
}

# The first of jobs that differ in other labels alone is planned, and runs.
descriptions__that_alone_differ__are_the_first()
{
    logged_sweep
    edit 's/^x = .*/description = ["first", "second"]\nx = 1/'
    expect_said only_stdout_contains 0 "4 combinations, 4 matched, 2 duplicates" plan
    expect_jobs_run 0 "1 10, 1 20"
    expect_sql first "SELECT DISTINCT description FROM results"
}

label__that_the_command_names__is_content()
{
    logged_sweep
    edit 's/^x = /name = "first"\nx = /; s/"{y}"/"{y}", "{training_spec.name}"/'
    expect_jobs_run 0 "1 10 first, 1 20 first, 2 10 first, 2 20 first"
    edit 's/"first"/"second"/'
    run_meshsweep run --progress none
    expect_only_stderr_contains 0 'training_spec.name: "first" -> "second"; all jobs are new for that alone'
    expect_ran "1 10 second, 1 20 second, 2 10 second, 2 20 second"
}

derived_keys_rules_limits_readers__added__nothing_runs()
{
    logged_run
    edit 's/^\[job\]/[job]\ntimeout = "5m"/; s/^better = .*/better = "max"\ntake = "last"/'
    toml derive: z='x * y' rule:: name=not-forty require='z <> 40' why='forty is too much' >>sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 0 "meshsweep: score: its definition has changed; made anew from the samples of 3 runs"
    expect_ran ""
    expect_sql "10;20;20" "SELECT group_concat(z, ';') FROM (SELECT z FROM results WHERE in_sweep ORDER BY z)"
    expect_sql "not-forty|1" "SELECT rule, excluded FROM excluded WHERE excluded > 0"
    run_meshsweep plan --json
    expect_only_stdout_matches 0 '"done":[[:space:]]*3' '"gone":[[:space:]]*1'
}

command_or_environment__changed__all_run_as_new_jobs()
{
    logged_run
    edit 's/^command = .*/&\nenv = { MODE = "fast" }/'
    expect_said only_stderr_contains 0 'env: none -> MODE=fast; all jobs are new for that alone' run --progress none
    expect_ran "1 10, 1 20, 2 10, 2 20"
    run_meshsweep run --progress none -- /bin/sh job.sh '{x}' '{y}' more
    expect_only_stderr_contains 0 'all jobs are new for that alone'
    expect_ran "1 10 more, 1 20 more, 2 10 more, 2 20 more"
    expect_jobs_run 0 ""
    expect_sql 12 "SELECT count(*) FROM job"
}

two_files__taking_turns__nothing_reruns()
{
    logged_sweep
    sed 's/x = \[1, 2\]/x = [2, 3]/' sweep.toml >other.toml
    expect_jobs_run 0 "1 10, 1 20, 2 10, 2 20"
    expect_jobs_run 0 "3 10, 3 20" -c other.toml
    expect_jobs_run 0 ""
    expect_sql "4|4" "SELECT jobs, (SELECT count(*) FROM results WHERE in_sweep) FROM current_sweep"
    expect_jobs_run 0 "" -c other.toml
    expect_sql "4|4" "SELECT jobs, (SELECT count(*) FROM results WHERE in_sweep) FROM current_sweep"
    expect_sql "6|6" "SELECT count(*), (SELECT count(*) FROM attempt) FROM job"
}

# --- failures ---

failing_sweep()
{
    logged_sweep
    cat >job.sh <<'END'
echo "$*" >>ran.log
[ -e "fixed.$1.$2" ] && echo "score: 1" && exit 0
case $1.$2 in
1.10) exit 7 ;;
1.20) echo "CUDA out of memory"; exit 1 ;;
2.10) sleep 60 ;;
*) echo "score: 1" ;;
esac
END
    edit 's/^\[job\]/[job]\ntimeout = "200ms"/'
}

failing_run() { failing_sweep; expect_jobs_run 3 "1 10, 1 20, 2 10, 2 20"; }

failed__run_again__only_by_demand_and_by_class()
{
    failing_run
    expect_sql "exit,oom,timeout" \
        "SELECT group_concat(failure) FROM (SELECT failure FROM job ORDER BY 1) WHERE failure IS NOT NULL"
    expect_jobs_run 3 ""
    expect_jobs_run 3 "1 20, 2 10" --retry-failed=timeout,oom
    expect_jobs_run 3 "" --retry-failed=hang
    touch fixed.1.10 fixed.1.20 fixed.2.10
    expect_jobs_run 0 "1 10, 1 20, 2 10" --retry-failed -j 2
    expect_jobs_run 0 ""
    expect_sql "4|9" "SELECT count(*), (SELECT count(*) FROM attempt) FROM job WHERE state = 'ok'"
}

retry_failed__of_one_job__leaves_the_others_failed()
{
    failing_run
    expect_jobs_run 3 "1 10" --retry-failed --only 'y = 10 AND x = 1'
    expect_jobs_run 3 ""
}

retry_failed__of_an_unknown_class__hint()
{
    failing_sweep
    expect_run only_stderr 2 run --retry-failed=timeot
    expect_stderr 'meshsweep: --retry-failed: unknown failure class `timeot` (did you mean `timeout`?)'
    expect_run only_stderr 2 run --retry-failed=nonsense
    expect_stderr_matches 'unknown failure class `nonsense`; must be one of exit, .*, timeout, '
    expect_no_file results.db
}

retry__caps_attempts_per_class__and_raising_them_goes_on()
{
    failing_sweep
    printf '[retry]\nexit = 3\noom = 2\n' >>sweep.toml
    expect_jobs_run 3 "1 10, 1 10, 1 10, 1 20, 1 20, 2 10, 2 20"
    expect_jobs_run 3 ""
    edit 's/exit = 3/exit = 4/'
    expect_said only_stdout_matches 0 '"retry":[[:space:]]*1' plan --json
    expect_jobs_run 3 "1 10"
    expect_sql "4|2|1|1" \
        "SELECT sum(failure = 'exit'), sum(failure = 'oom'), sum(failure = 'timeout'), sum(state = 'ok') FROM attempt"
}

# --- rows are deleted by hand ---

job_rows__deleted__are_new()
{
    logged_run
    sqlite3 results.db 'DELETE FROM job WHERE id = 2'
    expect_sql "3|3|3" "SELECT count(*), (SELECT count(*) FROM metric), (SELECT count(*) FROM summary) FROM attempt"
    expect_said only_stdout_matches 0 '"new":[[:space:]]*1' plan --json
    expect_jobs_run 0 "1 20"
    sqlite3 results.db 'DELETE FROM job'
    expect_jobs_run 0 "1 10, 1 20, 2 10, 2 20"
    expect_sql "4|1|1" "SELECT count(*), min(number), max(number) FROM attempt"
    expect_sql "" "PRAGMA foreign_key_check"
}

attempt_rows__deleted__make_their_jobs_new()
{
    failing_run
    touch fixed.1.10
    sqlite3 results.db "DELETE FROM attempt WHERE failure = 'exit' OR state = 'ok'"
    run_meshsweep plan --json
    expect_only_stdout_matches 0 '"new":[[:space:]]*2' '"failed":[[:space:]]*2'
    expect_jobs_run 3 "1 10, 2 20"
    expect_jobs_run 3 "1 20" --retry-failed=oom
    # Nothing depends on an attempt that does not stand for its job.
    sqlite3 results.db "DELETE FROM attempt WHERE failure = 'oom' AND number = 1"
    expect_jobs_run 3 ""
}

job_row__deleted_while_it_runs__the_others_go_on()
{
    waiting_sweep
    printf '%s\n' 'echo "$*" >>ran.log' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: 1"' >job.sh
    start_until "[ \$(lines_of ran.log) = 1 ]" 20 run --progress none
    sql "DELETE FROM job WHERE id IN (1, 3)"
    touch go
    wait_command only_stderr_matches 0 \
        '^meshsweep: attempts not recorded, because their rows were deleted while they ran: [12]; '
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
}

job_rows__all_deleted_while_one_runs__not_nothing_matched()
{
    waiting_sweep
    printf '%s\n' 'echo "$*" >>ran.log' 'until [ -e go ]; do sleep 0.05; done' >job.sh
    start_until "[ \$(lines_of ran.log) = 1 ]" 20 run --progress none --limit 1
    sql "DELETE FROM job"
    touch go
    wait_command only_stderr 0 'meshsweep: attempts not recorded, because their rows were deleted while they ran: 1; '\
'the next run creates their jobs again'
}

numbers_come_again__files_of_before__are_not_read()
{
    logged_sweep
    echo '[ -e broken ] || echo "{\"value\": 5}" >"$MESHSWEEP_JOB_DIR/out.json"; echo "in $MESHSWEEP_JOB_DIR"' >job.sh
    edit "s/^regex = .*/json = \"value\"\nfile = \"out.json\"/"
    run_silently 0 --limit 1
    expect_sql "5.0" "SELECT value FROM summary"
    touch broken
    sqlite3 results.db 'DELETE FROM attempt'
    run_silently 3 --limit 1
    expect_sql "no-metric|1|2" "SELECT failure, number, substr(directory, -1) FROM attempt"
    expect_sql "" "SELECT * FROM summary"
    expect_file "results.db.d/$(sql 'SELECT directory FROM attempt')/output.log"
}

# --- which and how many ---

only__narrows__counts_and_status_too()
{
    failing_sweep
    expect_jobs_run 0 "2 20" --only 'x = 2 AND y = 20'
    expect_jobs_run 3 "1 10, 1 20" --only 'x = 1'
    expect_jobs_run 0 "" --only 'x = 2 AND y > 10'
    expect_said only_stderr_contains 4 'meshsweep: no job satisfies --only' run --only 'x = 5'
    expect_said only_stderr 2 'meshsweep: --only `xx = 5`: unknown key `xx` (did you mean `x`?)' run --only 'xx = 5'
}

limit__stops_after_as_many()
{
    logged_sweep
    expect_jobs_run 0 "1 10" --limit 1
    expect_jobs_run 0 "1 20, 2 10" --limit 2 -j 4
    expect_jobs_run 0 "2 20" --limit 2
}

max_fail__starts_nothing_after_that_many_failed()
{
    logged_sweep
    printf '%s\n' 'echo "$*" >>ran.log' 'exit 1' >job.sh
    edit 's/x = \[1, 2\]/x = [1, 2, 3, 4, 5, 6, 7, 8]/'
    expect_jobs_run 3 "1 10" --max-fail 1
    expect_jobs_run 3 "1 20, 2 10, 2 20" --max-fail 3 --keep-going
    run_silently 3 --max-fail 2 -j 2
    expect "[ \$(lines_of ran.log) -le 3 ]"
    expect_sql "pending" "SELECT DISTINCT state FROM job WHERE state <> 'failed'"
}

# --- repeats ---

# Job X Y prints the next of the scores in scores.X.Y.
repeated_sweep() # SCORES FOR 1 10
{
    logged_sweep
    printf '%s\n' 'echo "$*" >>ran.log' 'n=$(cat "count.$1.$2" 2>/dev/null || echo 0)' \
        'echo $((n + 1)) >"count.$1.$2"' 'set -- $(cat scores)' 'shift "$n"' 'echo "score: $1"' >job.sh
    echo "$1" >scores
    edit "s/x = \[1, 2\]/x = 1/; s/y = \[10, 20\]/y = 10/; s/(\[0-9.\]+)/([a-z0-9.]+)/; s/^\[job\]/[job]\nrepeat = 3/"
}

repeat__attempt_with_the_median_stands_for_the_job()
{
    repeated_sweep "30 10 20 5 6"
    expect_jobs_run 0 "1 10, 1 10, 1 10"
    expect_sql "20.0|3" "SELECT score, attempts FROM results"
    expect_sql "20.0" "SELECT score FROM ranking"
    expect_jobs_run 0 ""
}

repeat__raised__the_rest_is_run()
{
    repeated_sweep "30 10 20 5 6"
    expect_jobs_run 0 "1 10, 1 10, 1 10"
    edit 's/repeat = 3/repeat = 5/'
    expect_said only_stdout_matches 0 '"retry":[[:space:]]*1' plan --json
    expect_jobs_run 0 "1 10, 1 10"
    expect_sql "10.0|5" "SELECT score, attempts FROM results"
    sqlite3 results.db "DELETE FROM attempt WHERE number = 1"
    echo "0 0 0 0 0 7" >scores
    expect_jobs_run 0 "1 10"
    expect_sql "5" "SELECT attempts FROM results"
}

repeat__not_a_number__has_diverged()
{
    repeated_sweep "10 nan 20"
    run_silently 3
    expect_sql "failed|diverged|2" "SELECT state, failure, attempts FROM results"
    expect_sql "ok
failed" "SELECT state FROM attempt ORDER BY id"
}

plan__values_come_and_go__grouped_with_why()
{
    small_sweep
    echo '[ "$1 $2" != "2 20" ]' >>job.sh
    expect_said only_stdout_matches 0 '"reasons":[[:space:]]*\[\]' plan --json
    run_silently 3
    sed -i 's/^x = .*/x = [2, 3]/' sweep.toml
    printf '[retry]\nexit = 2\n' >>sweep.toml
    run_meshsweep plan
    expect_only_stdout_contains 0 '  + 2 new: x=3 not seen before' '  ~ 1 retry: exit, 1 of 2 attempts'
    expect_stdout_contains '  - 2 gone: x=1 is no longer in the file'
    expect_run only_stdout 0 plan --json --retry-failed=exit
    expect_json 'new|2|x=3 not seen before|retry|1|exit, requested again|gone|2|x=1 is no longer in the file|3' \
        reasons[{0,1,2}].{mark,jobs,why} reasons.#
}

plan__same_values_other_command_or_rule__says_so()
{
    small_run
    sed -i 's/"{y}"\]/"{y}", "more"]/' sweep.toml
    expect_said only_stdout_contains 0 '  + 4 new: known values in a new combination or with another command' plan
    expect_stdout_contains '  - 4 gone: excluded by a rule now, or run with another command'
    sed -i 's/", "more"\]/"]/' sweep.toml
    printf '[[rule]]\nname = "no"\nrequire = "x <> 1"\n' >>sweep.toml
    expect_said only_stdout_contains 0 '  - 2 gone: excluded by a rule now, or run with another command' plan
}

specs_alike__a_label_in_the_command__each_runs_its_own()
{
    toml job: command='["/bin/sh", "-c", "echo {name} >>ran"]' model:: name=a layers=2 \
        model:: name=b layers=2 >sweep.toml
    run_silently 0 -j 1
    expect "[ \"\$(xargs <ran)\" = 'a b' ]"
    expect_sql 'a|["/bin/sh","-c","echo a >>ran"]
b|["/bin/sh","-c","echo b >>ran"]' "SELECT r.name, a.command FROM results AS r JOIN attempt AS a ON a.job_id = r.job
    ORDER BY 1"
    sed -i 's/"b"/"c"/' sweep.toml
    run_silently 0
    expect "[ \"\$(xargs <ran)\" = 'a b c' ]"
}

run_cases "$@"
