#!/usr/bin/env bash
# cli: status and best, over a database in a known state.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

status__interrupted_run__all_of_it()
{
    fixture_database
    expect_run only_stdout 0 status
    sed -i 's/started .* ago/started LONG ago/' .stdout
    expect_stdout 'sweep gpt (gpt.toml)
combinations 16: excluded 7, duplicate 1, jobs 8

ok       3   37.5%
failed   3   37.5%
  exit   2   25.0%
  oom    1   12.5%
running  1   12.5%
pending  1   12.5%
total    8

no runner is active; `meshsweep run -c gpt.toml` continues from here
  slot 0: job 7, attempt 1, started LONG ago; it is not known whether it has ended  layers=4 name=small '\
'micro_batch=4 tp=2 '\
'zero_stage=1

0.0758 device-hours so far, about 0.021 more

best so far: throughput 100 samples/s, job 1 (see meshsweep best)

failures
  2 x exit, as job 5: exit status 1: no such file
      all 2 with layers=4; none of 4 without
  1 x oom, as job 4: device out of memory

excluded by rule
  6  world-size: the degrees must multiply to the number of devices
  1  batch-divides: the batch must divide
  2  tp-within-node (only a warning): slow across nodes'
}

# Other than what the statement leaves to the program.
status__the_statement_in_a_shell__the_same_document()
{
    local filled="winners subject_to pareto_jobs failures unranked_jobs unranked_why excluded_jobs"
    fixture_database "UPDATE sweep SET model_info = '{\"job\":3,\"num_params\":2.5e9}'"
    meshsweep status --json >program.json
    sqlite3 -batch -readonly results.db <"$source_dir/sql/answers/status.sql" >shell.txt
    expect_said_by only_stdout 0 "True 33" run_command python3 -c '
import json, sys
filled = sys.argv[1].split()
told = json.JSONDecoder().raw_decode(open("shell.txt").read())[0]
told["running_attempts"][0]["elapsed_ms"] = 0
printed = json.load(open("program.json"))
printed["running_attempts"][0]["elapsed_ms"] = 0
drop = lambda document: [(name, value) for name, value in document.items() if name not in filled]
print(drop(told) == drop(printed), len(drop(told)))
' "$filled"
}

status__very_many_wait__keys_of_those_that_ended()
{
    many_jobs 600 500 "UPDATE spec SET json = json_set(json, '$.seed', iif(id < 200, id % 9 = 0, id)) WHERE id > 99"
    expect_said only_stdout_contains 0 'all 11 with seed=1; none of 89 without' status
}

status__runner_at_work__what_runs_and_how_long_it_takes()
{
    small_sweep sweep.toml
    printf '%s\n' '[ "$2" = 10 ] || while [ ! -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    start_until "[ \"\$(sql \"SELECT count(*) FROM job WHERE state = 'ok'\" 2>&1)\" = 2 ]" 20 -j 2 --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\")\" = 2 ]" 20
    meshsweep status >status.txt
    meshsweep status --json >status.json
    meshsweep check results.db >check.txt
    touch go
    wait_command only_status 0
    expect_file_contains status.txt 'running now, all done in '
    expect "grep -qE '^  slot [01]: job [24], attempt 1, for [0-9.]+m?s  x=[12] y=20\$' status.txt"
    expect_file_contains status.txt 'best so far: score 20'
    expect_json '1|2|2|2' status.json runner_alive states.ok states.running running_attempts.#
    expect "[ \"\$(cat check.txt)\" = 'results.db: all well' ]"
}

# Of the jobs that wait a limit lets none begin: what runs has only itself before it.
status__run_with_a_limit__until_that_is_reached()
{
    small_sweep sweep.toml
    printf '%s\n' '[ "$2" = 10 ] || while [ ! -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    start_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running' AND job_id = 2\" 2>&1)\" = 1 ]" 20 \
        -j 1 --limit 2 --progress none
    sql "UPDATE attempt SET duration_ms = 3600000 WHERE job_id = 1"
    meshsweep status >status.txt
    meshsweep status --json >status.json
    touch go
    wait_command only_status 0
    expect_file_contains status.txt 'running now, the limit reached in '
    expect_json '2|1|1' status.json states.pending states.running \
        "(j ->> '$.eta_ms') BETWEEN 3000000 AND 3600000"
}

status__json__the_same_for_programs()
{
    fixture_database
    expect_run only_stdout 0 status --json
    expect_json 'gpt|8|3|2|0|7|1|100|2|6||exit|oom|2' sweep jobs states.failed failure_classes.exit runner_alive \
        running_attempts[0].job best.job best.value failures[0].jobs rules[0].combinations eta_ms \
        failures[0].class failures[1].class failures.#
}

status__next_to_nothing_left__said_once()
{
    small_sweep
    run_silently 0 --limit 2
    expect_said only_stdout_contains 0 'under 0.001 device-hours so far, under 0.001 more' status
}

# A search runs few of thousands of candidates: what it does not run is no work that is left.
status__search__how_far_it_is_and_why_it_ended()
{
    toml sweep: name=drawn objective=max:score job: command='["sh", "-c", "echo score: $(({x} * {y}))"]' \
        job.metrics.score: regex='score: ([0-9]+)' parallel_spec: x='{ from = 1, to = 30 }' \
        y='{ from = 1, to = 30 }' >drawn.toml
    run_meshsweep run -c drawn.toml --strategy random --max-trials 4
    expect_among_stderr 0 'search: 4 trials, 4 ok, 0 stopped early, 0 failed; max_trials: 4 trials were made'
    expect "! grep -q 'eta' .stderr"
    expect_run only_stdout 0 status
    expect_stdout_contains 'search by random: 4 trials, 4 ok, 0 stopped early, 0 failed; ended: max_trials: 4'
    expect_stdout_contains '; `meshsweep run -c drawn.toml --strategy grid --max-trials 0` runs what the search left'
    expect "! grep -q 'device-hours so far, ' .stdout"
    meshsweep status --json >status.json
    expect_json 'random|4|4|0|max_trials: 4 trials were made|' status.json search.strategy search.trials_made \
        search.ok search.trials_to_come search.why_it_ended device_hours_left
    # Jobs that have run are known to the next one, and neither a trial of it nor a sign that nothing better is found.
    expect_run only_status 0 run -c drawn.toml --strategy random --random-seed 7 --max-trials 0 --early-stopping 2
    expect_stderr_matches \
        'search: ([2-9]|[1-9][0-9]+) trials, .*, 4 known without a trial; early_stopping: 2 trials without a better one'
    # As if it had been killed.
    sql 'UPDATE search SET finished = NULL WHERE id = (SELECT max(id) FROM search)'
    expect_said only_stdout_contains 0 'run -c drawn.toml --strategy random` continues from here; give it the same '\
'other options as before' status
    sql "UPDATE search SET finished = 'all candidates have been tried' WHERE finished IS NULL"
    # All the others, without a search.
    expect_run only_status 0 run -c drawn.toml --only x=30
    expect_run only_stdout 0 status
    expect "! grep -q 'search by' .stdout"
    expect_stdout_contains 'no runner is active; `meshsweep run -c drawn.toml` continues from here'
}

# The advice then does that, whichever limits stand in the sweep file; the page of another database says the same.
status__search_that_has_ended__what_it_left_out_runs_as_advised()
{
    small_sweep sweep.toml
    sed 's/^x = .*/x = [1, 2, 3, 4, 5, 6]/' sweep.toml >plain.toml
    echo '[ ! -e slow ] || sleep 0.3; echo "score: $1$2"' >job.sh
    for limit in 'max_trials = 2' 'early_stopping = 1' 'budget = 1e-9' 'deadline = "1s"'; do
        rm -rf other.db*
        [[ $limit != deadline* ]] || touch slow
        { cat plain.toml; printf '[search]\nstrategy = "random"\n%s\n' "$limit"; } >sweep.toml
        expect_run only_status 0 run -d other.db --progress none -j 1
        rm -f slow
        meshsweep status -d other.db >stood
        advised=$(sed -En 's/.*`(meshsweep run .*)` runs what the search left out$/\1/p' stood)
        expect '[ -n "$advised" ]'
        meshsweep report -d other.db 2>/dev/null
        expect 'grep -qF "will not run: <code>$advised</code> runs what the search left out." report.html'
        eval "$advised --progress none" >/dev/null 2>&1
        expect '[ "$(sqlite3 other.db "SELECT count(*) FROM job WHERE state <> '"'ok'"'")" = 0 ]'
    done
}

# A search that was interrupted is not what a run without one goes on with, nor is what `ask` proposed.
status__search__not_that_of_another_run()
{
    small_sweep sweep.toml
    run_ended 0 --strategy random --max-trials 2
    sql 'UPDATE search SET finished = NULL'
    run_ended 0 --limit 1
    meshsweep ask >asked.json <<<'[{}]'
    expect_run only_stdout 0 status
    expect "! grep -q 'search by\|--strategy' .stdout"
    expect_stdout_contains 'no runner is active; `meshsweep run` continues from here'
}

# Two jobs at a time that take a second each, and end together: two a second, whatever an earlier runner did.
status__rate__of_the_newest_runner_from_its_first_start()
{
    fixture_database "INSERT INTO runner (id, host, boot_id, pid, start_ticks, started, tool_version, provenance)
            VALUES (100, 'h', 'b', 1, 1, 5000000, 'x', '{}')" \
        "UPDATE attempt SET runner_id = 100, state = 'ok', failure = NULL, started = 5000000, ended = 5001000 + id
            WHERE id IN (1, 2)"
    expect_run only_stdout 0 status --json
    expect_json 2.0 "round(j ->> 'jobs_per_second', 1)"
    # The clock was set back while they ran: nothing is known.
    sql 'UPDATE attempt SET ended = 4000000 WHERE runner_id = 100'
    expect_run only_stdout 0 status --json
    expect_json '' jobs_per_second
}

status__all_done__no_word_of_running()
{
    fixture_database \
        "DELETE FROM attempt WHERE id = 8; DELETE FROM job WHERE id IN (4, 5, 6, 7, 8); DELETE FROM rule;" \
        "UPDATE sweep SET objective = NULL, combinations = NULL"
    expect_said only_stdout 0 'sweep gpt (gpt.toml)

ok     3  100.0%
total  3

0.0669 device-hours so far' status
}

status__no_sweep_or_no_database__said()
{
    expect_said only_stderr 1 'meshsweep: database results.db: it does not exist yet; `meshsweep run` creates it' status
    fixture_database "DELETE FROM job; DELETE FROM sweep"
    expect_said only_stderr 4 'meshsweep: this database has no sweep yet; `meshsweep run` records one' status
}

best__some_ok__winner_command_and_those_close_behind()
{
    local place='dir=$(mktemp -d) && MESHSWEEP_JOB_DIR="$dir" MESHSWEEP_METRICS="$dir"'"'/metrics.jsonl'" spec
    spec='{"cluster_spec":{"num_devices_per_host":8,"num_hosts":1},"model":{"layers":2,"name":"tiny"},'
    spec+='"training_spec":null,"parallel_spec":{"micro_batch":1,"tp":1,"zero_stage":0},"derived":{"dp":8}}'
    fixture_database
    expect_said only_stdout 0 "$(
        cat <<END
highest throughput 100 samples/s, job 1 of sweep gpt
  num_devices_per_host  8
  num_hosts             1
  layers                2
  name                  tiny
  micro_batch           1
  tp                    1
  zero_stage            0
  dp                    8

command
$place MESHSWEEP_SPEC='$spec' OMP_NUM_THREADS=1 NOTE='two words' train --name 'it'\''s tiny' --tp=1

files: none were kept

within 2 %
  job 2: 99 samples/s, micro_batch 2
END
    )" best
}

best__minimised__lowest_one()
{
    fixture_database "UPDATE sweep SET maximise = 0" "UPDATE attempt SET directory = '0300000000000000/1' WHERE id = 3"
    expect_said only_stdout_contains 0 'lowest throughput 50 samples/s, job 3 of sweep gpt' best
    expect_stdout_contains "files: $PWD/results.db.d/0300000000000000/1"
    expect_stdout_lacks 'within'
}

best__out__files_that_run()
{
    fixture_database \
        "UPDATE attempt SET command = '[\"sh\",\"-c\",\"echo \\\"\$NOTE\\\" \$1\",\"x\",\"a b\"]' WHERE id = 1" \
        "UPDATE attempt SET environment = json_set(environment, '\$.TOKEN', '[redacted]') WHERE id = 1" \
        "UPDATE sweep SET text = '[[model]]' || char(10) || 'layers = 2'"
    expect_said only_stdout_contains 0 'secrets are left out; fill them in before you run it: TOKEN' best --out a/winner
    expect_file_contains a/winner/command.sh '# throughput 100 samples/s, job 1 of sweep gpt'
    expect_file_contains a/winner/command.sh '# Secrets are left out; fill them in before you run it: TOKEN'
    expect_said_by only_stdout 0 'two words a b' run_command a/winner/command.sh
    expect_json '1|8|tiny' a/winner/job.json job keys.derived.dp keys.model.name
    expect_json '100|samples/s' a/winner/metrics.json throughput.value throughput.unit
}

best__json__for_programs()
{
    fixture_database
    expect_run only_stdout 0 best --json
    expect_json 'throughput|max|1|train|2|2' objective better job command[0] close[0].job \
        'close[0].differs."parallel_spec.micro_batch"'
}

# What is deleted from the fixture, the status, and why there is no best job.
best__none__status_and_why()
{
    while IFS='|' read -r change code said; do
        fixture_database "DELETE FROM $change"
        expect_said only_stderr "$code" "meshsweep: $said" best
    done <<'END'
job WHERE state = 'ok'|3|no job has succeeded: 3 failed (2 exit, 1 oom), 1 running, 1 pending; see meshsweep status
summary|3|there is no best job: 3 are ok, but none has a value of throughput
job WHERE state IN ('ok', 'failed')|4|no job has finished yet: 1 running, 1 pending; see meshsweep status
job|4|the database has no jobs, because no combination matched; meshsweep plan shows why
END
    fixture_database "UPDATE sweep SET objective = NULL"
    expect_said only_stderr 2 'meshsweep: gpt.toml: the sweep has no objective, so there is no best job; add '\
'objective = "max:METRIC" or "min:METRIC" under [sweep] and run it again (metrics: loss, throughput)' best
}

status__watch__ends_when_all_is_done()
{
    small_sweep sweep.toml
    printf '%s\n' 'while [ ! -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    "$meshsweep" run -j 2 --progress none >run.out 2>run.err </dev/null &
    runner=$!
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>&1)\" = 2 ]" 20
    start_until "[ \"\$(grep -c '^sweep small' .stdout)\" -gt 1 ]" 20 status --watch=0.1
    touch go
    wait_command only_stdout_contains 0 'ok     4  100.0%'
    wait "$runner"
    expect_said only_stderr 2 'meshsweep: --watch never: must be a duration from 100ms to 1h' status --watch=never
}

node__slower_with_jobs_of_the_same_specs__named()
{
    toml job: command='["true"]' parallel_spec:: n=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 >sweep.toml
    run_silently 0
    # Plans differ by up to a third; every second job is on another node, which takes half as long again.
    sqlite3 results.db "UPDATE attempt SET host = 'node-' || (job_id % 2),
        duration_ms = (900 + job_id / 2 % 4 * 100) * (1 + 0.5 * (job_id % 2))"
    expect_said only_stdout_matches 0 'slow node node-1: takes 1\.[45][0-9]* times as long as matched jobs on other '\
'nodes \(10 compared\)' status
    expect_stdout_lacks 'slow node node-0'
    # No more than plans differ by: nothing is said.
    sqlite3 results.db "UPDATE attempt SET duration_ms = 500 + job_id * 7 % 20 * 100"
    expect_run only_stdout 0 status
    expect_stdout_lacks 'slow node'
}

node__slower_than_others_with_the_same_jobs__named()
{
    toml job: command='["true"]' repeat=2 training_spec: n=1,2,3 >sweep.toml
    run_silently 0
    sqlite3 results.db "UPDATE attempt SET host = 'node-' || number, duration_ms = 1000 * number"
    expect_said only_stdout_contains 0 'slow node node-2: takes 2.00 times as long as matched jobs on other nodes (3 '\
'compared)' status
    expect_stdout_lacks 'slow node node-1'
    expect_said only_stdout_matches 0 '"pairs":[[:space:]]*3' status --json
}

# Jobs took 100 s each before: two wait, and one runs, half of which is counted.
run__progress__time_left_from_jobs_alike()
{
    small_sweep sweep.toml
    printf '%s\n' 'while [ -e hold ]; do sleep 0.05; done' 'echo score: 1' >job.sh
    expect_run only_stdout 0 run --limit 3 --progress none
    sql "UPDATE attempt SET duration_ms = 100000"
    : >hold
    start_until "grep -qE '\"eta_ms\":(100000|9[0-9]{4}),' .stderr" 30 run -j 1 --limit 1 --progress json
    rm hold
    wait_command only_stderr_matches 0 '"eta_ms":(100000|9[0-9]{4}),'
}

# As everywhere else: what is true in the file is true here.
running__key_that_is_true_or_false__in_these_words()
{
    printf '%s\n' '[job]' 'command = ["sh", "-c", "sleep 60"]' '[parallel_spec]' 'offload = [true, false]' >sweep.toml
    start_until "\"$meshsweep\" status 2>/dev/null | grep -q ' offload=true$'" 30 run --progress none -j1
    end_command TERM only_stderr 143
}

run_cases "$@"
