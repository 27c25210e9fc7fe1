#!/usr/bin/env bash
# run --run-full-experiment: the full training of the winner is an execution of its own kind. Neither its limits nor
# what is made of its output are those of a trial, and nothing that is said of the search changes with it.
. "${0%/*}/lib.sh"

# small_sweep, in which the fourth job wins with 40. A job that runs for the second time is the full training: it does
# what ./full says, and prints no score.
training_sweep() # COMMANDS [TABLES]
{
    small_sweep
    printf '%s\n' "${@:2}" >>sweep.toml
    printf '%s\n' "$1" >full
    printf '%s\n' '[ ! -e "ran.$1.$2" ] || exec sh ./full' 'touch "ran.$1.$2"' 'echo "score: $(($1 * $2))"' >job.sh
}

# A run with the full training, of which is said how it went.
train() # STATUS TEXT [ARGS]
{
    expect_said only_stderr_contains "$1" "$2" run --progress none --run-full-experiment "${@:3}"
}

expect_winner_untouched()
{
    expect_sql "ok|1|40.0" "SELECT j.state, a.number, s.value FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id
        JOIN summary AS s ON s.attempt_id = a.id WHERE j.id = 4"
    expect_sql "4|4" "SELECT (SELECT count(*) FROM attempt WHERE kind = 'trial' AND state = 'ok'),
        (SELECT count(*) FROM job WHERE state = 'ok')"
    expect_said only_stdout_contains 0 "highest score 40, job 4 of sweep small" best
}

last_training() # COLUMNS
{
    sql "SELECT $1 FROM attempt WHERE kind = 'full' ORDER BY id DESC LIMIT 1"
}

# What is said at the end is of the search: four jobs in its time, not one in that of the training.
full_training__longer_than_the_search__rate_of_the_search()
{
    training_sweep 'sleep 2'
    expect_run only_status 0 run --progress json --run-full-experiment
    mv .stderr events
    run_command python3 -c '
import json
end = [json.loads(line) for line in open("events") if "\"end\"" in line][-1]
print(round(end["jobs_per_second"] * end["elapsed_ms"] / 1000, 3))'
    expect_only_stdout 0 4.0
}

full_training__without_the_objective__ok_and_the_winner_stays()
{
    training_sweep 'echo "loss: 0.25"' '[job.metrics.loss]' 'key = "loss"'
    train 0 "launching the winner: the full training of job 4"
    expect_stderr_contains "full training of job 4 (attempt 2): ok after "
    expect_winner_untouched
    expect_stdout_matches '^full training of job 4 \(attempt 2\): ok after '
    expect_said only_stdout_contains 0 "best so far: score 40, job 4 " status
    expect_stdout_matches '^full training of job 4 \(attempt 2\): ok after '
    expect_stdout_contains "total  4"
    expect_said only_stdout_matches 0 '^full training of job 4 \(attempt 2\): ok after ' show 4
    expect "[ \$(grep -c '^attempt\$' .stdout) = 1 ]"
    # The metrics that it reported are there, and no result has a column of them.
    for document in "status" "best" "show 4"; do
        # shellcheck disable=SC2086 # words
        expect_run only_stdout 0 $document --json
        expect_json 'ok|4|2|0.25|1' 'full_trainings[0].'{state,job,attempt,values.loss} \
            "json_array_length(j, '\$.full_trainings')"
    done
    expect_sql "" "SELECT loss FROM results WHERE loss IS NOT NULL"
    expect_said only_stdout_contains 0 "loss: 0.25" tail --once 4
    # It is done: the next run has nothing to do.
    train 0 "the full training of job 4 has been done"
    expect_sql 5 "SELECT count(*) FROM attempt"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

full_training__longer_than_a_limit__of_a_trial_goes_on_of_its_own_ends()
{
    training_sweep 'sleep 1.5; echo trained' '[search]' 'run_full_experiment = true'
    sed -i 's/^command.*/&\ntimeout = "400ms"\nidle_timeout = "300ms"\nstartup_timeout = "300ms"/' sweep.toml
    expect_said only_stderr_contains 0 "full training of job 4 (attempt 2): ok after 1." run --progress none
    expect_winner_untouched
    # Past a limit of its own it is ended, and the status says so.
    rm -rf results.db* ran.*
    training_sweep 'sleep 100' '[search]' 'full_timeout = "200ms"'
    train 3 "full training of job 4 (attempt 2): failed (timeout) after "
    expect_winner_untouched
    expect_stdout_contains "full training of job 4 (attempt 2): failed (timeout) after "
    expect_sql "200" "SELECT limit_ms FROM attempt WHERE kind = 'full'"
}

full_training__failed__told_and_started_again_by_the_next_run()
{
    training_sweep 'echo "RuntimeError: no data"; exit 7' '[retry]' 'exit = 5'
    run_meshsweep run --progress plain --run-full-experiment
    expect_only_stderr_contains 3 "full training of job 4 (attempt 2): failed (exit) after "
    expect_stderr_matches '^exit .*  full training  .*RuntimeError: no data'
    expect_winner_untouched
    expect_said only_stdout_matches 0 '"failed":[[:space:]]*0' status --json
    expect_sql "" "SELECT * FROM failures"
    # Without being asked for it, a run has nothing to do; asked, it starts it again.
    run_silently 0
    train 3 "full training of job 4 (attempt 3): failed (exit) after " --retry-failed
    echo 'echo trained' >full
    run_meshsweep run --progress json --run-full-experiment
    expect_only_stderr_matches 0 '"event":"attempt".*"attempt":4,"state":"ok".*"full_training":true'
    expect_winner_untouched
    expect_stdout_contains "full training of job 4 (attempt 4): ok after "
}

full_training__its_runner_killed__the_next_run_starts_it_again()
{
    training_sweep 'echo $$ >>begun; while [ ! -e go ]; do sleep 0.05; done; echo trained'
    start_until "[ -s begun ] && [ \"\$(last_training state)\" = running ]" 20 run --progress none --run-full-experiment
    end_command KILL only_stderr_contains 137 "launching the winner"
    expect_said only_stdout_contains 0 "full training of job 4 (attempt 2): running" status
    touch go
    train 0 "full training of job 4 (attempt 3): ok after "
    expect_sql "2|failed|lost
3|ok|" "SELECT number, state, failure FROM attempt WHERE kind = 'full' ORDER BY id"
    # A death at which a full training ran says nothing of the job.
    expect_sql "0|0" "SELECT sum(losses), sum(aside) FROM job"
    expect_winner_untouched
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

full_training__interrupted__the_signal_is_the_status()
{
    training_sweep 'echo $$ >>begun; exec sleep 100'
    start_until "[ -s begun ] && [ \"\$(last_training state)\" = running ]" 20 run --progress none --run-full-experiment
    end_command TERM only_stderr_contains 143 "full training of job 4 (attempt 2): failed (cancelled) after "
    expect_winner_untouched
}

full_training__deleted_by_hand__its_job_is_done_as_before()
{
    training_sweep 'echo trained'
    train 0 "ok after "
    sql "DELETE FROM attempt WHERE kind = 'full'"
    expect_winner_untouched
    train 0 "full training of job 4 (attempt 2): ok after "
    # The attempt after it has the third number, and is the second of its job.
    sed -i 's/max:score/min:attempts/; s/^command.*/&\nrepeat = 2/' sweep.toml
    run_ended 0
    expect_sql "3|2.0|2" "SELECT a.number, s.value, r.attempts FROM attempt AS a JOIN results AS r ON r.job = a.job_id
        JOIN summary AS s ON s.attempt_id = a.id AND s.name = 'attempts' WHERE a.job_id = 4"
}

full_training__nobody_wins__nothing_is_launched()
{
    training_sweep 'echo trained'
    sed -i 's/^objective.*//' sweep.toml
    train 2 "a full training is that of the winner, and without an objective there is none"
    small_sweep
    echo 'exit 1' >job.sh
    train 3 "there is no best job, so there is no full training" --keep-going
}

full_training__merged__is_one_there()
{
    training_sweep 'exit 3'
    train 3 "failed (exit)"
    expect_run only_status 0 merge results.db -o all.db
    expect_sql "4|ok|trial
4|failed|full" "SELECT job_id, state, kind FROM attempt WHERE job_id = 4 ORDER BY number" all.db
    expect_sql "ok|0" "SELECT state, (SELECT count(*) FROM failures) FROM job WHERE id = 4" all.db
}

# --- whatever is asked ---

ask_everything() # DIRECTORY
{
    local command file n=0
    mkdir "$1"
    while read -r command; do
        n=$((n + 1))
        # shellcheck disable=SC2086 # words
        "$meshsweep" $command >"$1/$n" 2>&1 </dev/null || echo "status $?: $command" >>"$1/$n"
    done <<'END'
status
status --json
results --all
results --all --json
best --json
best
show 1 --json
show 4
why x=1 y=10
why x=2 y=20 --json
plan
plan --json
plan --retry-failed
compare --by x
compare --by y --json
compare results.db other.db
stale
replay
predict
export --all
export --failed
export --format prometheus
export --format markdown
report -o page.html
check -d results.db
END
    mv page.html "$1/page"
    for file in "$source_dir"/sql/queries/*.sql; do
        sqlite3 -batch results.db ".read $file" >"$1/${file##*/}"
    done
    sql "SELECT * FROM progress; SELECT * FROM failures; SELECT * FROM results; SELECT * FROM ranking" >"$1/views"
}

# Takes out the lines that tell of full trainings, and what is of the moment.
without_trainings() # DIRECTORY
{
    sed -i -E -e '/^full training of job/d' -e '/"full_trainings":[[:space:]]*\[\]/d' -e '/^$/d' \
        -e '/"full_trainings":/,/^\t\t\}\],?$/d' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+( ?UTC|Z)?//g' \
        -e '/^meshsweep_written_timestamp/d' "$1"/*
}

# Each job has three, whose numbers would turn everything upside down: good, bad, and of a runner that is at work.
nothing_that_is_said__with_full_trainings_of_every_job__changes()
{
    small_sweep
    printf '%s\n' '[job.metrics.loss]' 'key = "loss"' '[metrics.twice]' 'expression = "2 * score"' '[retry]' \
        'exit = 2' >>sweep.toml
    printf '%s\n' 'echo "loss: 0.$1"' '[ "$1$2" != 110 ] || { echo "ValueError: bad batch"; exit 1; }' \
        'echo "score: $(($1 * $2))"' >job.sh
    expect_run only_status 3 run --progress none --keep-going
    cp results.db other.db
    ask_everything before
    sql "INSERT INTO attempt (job_id, number, runner_id, state, failure, message, command, environment, slot, started,
            ended, duration_ms, exit_code, user_ms, system_ms, max_rss, log_bytes, log_tail, host, devices, scripts,
            kind)
        SELECT j.id, 10 + k.value, 1, iif(k.value % 2, 'ok', 'failed'), iif(k.value % 2, NULL, 'oom'),
            iif(k.value % 2, NULL, 'absurd'), '[\"absurd\"]', '{}', 7, 1, 9e12, 9e12, 0, 9e9, 9e9, 9e15, 6, 'absurd',
            'absurd', '5', '{\"/absurd\": \"00\"}', 'full'
        FROM job AS j, json_each('[1, 2, 3, 4]') AS k;
        INSERT INTO metric SELECT a.id, n.value, 0, 1, 9e12 FROM attempt AS a, json_each('[\"score\", \"loss\"]') AS n
            WHERE a.kind = 'full'"
    ask_everything after
    without_trainings before
    without_trainings after
    diff -ru before after >difference || fail "$(cat difference)"
    expect_run only_status 0 export --format optuna -o study.db
    run_command sqlite3 study.db "SELECT count(*), max(value) FROM trials LEFT JOIN trial_values USING (trial_id)"
    expect_only_stdout 0 '4|40.0'
    # Nor does what a run makes of it: retries, repeats and derived metrics are those of the trials.
    sed -i 's/2 \* score/3 * score/; s/^exit = 2/exit = 3/; s/^command.*/&\nrepeat = 2/' sweep.toml
    expect_run only_status 3 run --progress none --keep-going
    expect_sql "1|failed|3|
2|ok|2|60.0
3|ok|2|60.0
4|ok|2|120.0" "SELECT job, state, attempts, twice FROM results ORDER BY job"
}

run_cases "$@"
