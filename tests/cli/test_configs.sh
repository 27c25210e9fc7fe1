#!/usr/bin/env bash
# Every file in configs/ is planned and checked, and the quickstart is run: interrupted once, gone on with, won by
# something.
. "$(dirname "$0")/lib.sh"

every_file__is_planned_and_right()
{
    local file models
    for file in "$source_dir"/configs/*.toml "$source_dir"/configs/cookbook/*.toml; do
        models=''
        ! grep -q '^\[model_space\]' "$file" || models=--search-model
        # shellcheck disable=SC2086 # an option or none
        run_meshsweep plan --json -c "$file" $models
        expect_status 0
        expect_any_stdout
        expect_stderr_lacks "$file" # of the models that were found it may speak
        cp .stdout plan.json
        expect_sql 1 "SELECT p ->> 'jobs' > 0 AND p ->> 'new' = p ->> 'jobs' AND p ->> 'matched' <= p ->> 'combinations'
            FROM (SELECT cast(readfile('plan.json') AS TEXT) AS p)" :memory:
        # shellcheck disable=SC2086
        run_meshsweep plan -c "$file" $models
        expect_status 0
        expect_stdout_contains ' combinations, '
        expect_any_stderr
        run_meshsweep check "$file"
        expect_status 0
        expect_stdout_contains "$file: "
        expect_no_stderr
    done
    expect "! ls | grep results"
}

# What each file of the cookbook shows of a log is read: a job that prints it has the objective.
cookbook__lines_that_it_shows__are_read()
{
    local file
    for file in "$source_dir"/configs/cookbook/*.toml; do
        rm -rf results.db*
        run_meshsweep run -c "$file" --limit 1 --progress none -- sed -n 's/^# //p' "$file"
        expect_status 0
        expect_no_stdout
        expect_any_stderr
        # Without the objective it would be a failure.
        expect_sql 1 "SELECT count(*) FROM attempt WHERE state = 'ok'"
    done
}

every_profile__is_read()
{
    local file
    for file in "$source_dir"/configs/profiles/*.toml; do
        printf 'profile = "%s"\n[job]\ncommand = ["true"]\n[training_spec]\nx = 1\n' "$(basename "$file" .toml)" \
            >sweep.toml
        run_meshsweep plan --json
        expect_status 0
        expect_stdout_matches '"jobs":[[:space:]]*1'
        expect_no_stderr
    done
}

# Every analysis of sql/queries has an answer; nothing was tried twice.
analyses_of_it()
{
    local file rows
    for file in "$source_dir"/sql/queries/*.sql; do
        run_command sh -c 'exec sqlite3 -batch -bail results.db <"$1"' sh "$file"
        expect_status 0
        expect_any_stdout
        expect_no_stderr
        rows=$(wc -l <.stdout)
        case ${file##*/} in
        retried_jobs.sql) expect "[ $rows = 0 ]" ;;
        *) expect "[ $rows -gt 0 ]" ;;
        esac
    done
}

# The lines of docs/database.md for other tools, with what Python has of its own: pandas reads the same through the same
# modules.
other_programs_read_it()
{
    type -P python3 >/dev/null || return 0
    run_meshsweep export --succeeded -o results.csv
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    run_command python3 -c '
import csv, sqlite3
view = sqlite3.connect("results.db").execute("SELECT * FROM results WHERE state = ?", ("ok",)).fetchall()
file = list(csv.DictReader(open("results.csv", newline="")))
print(len(view) == len(file) > 0, float(file[0]["throughput"]) > 0, {r["state"] for r in file})'
    expect_status 0
    expect_stdout "True True {'ok'}"
    expect_no_stderr
}

quickstart__interrupted_and_gone_on_with__has_a_winner()
{
    local config=$source_dir/configs/quickstart.toml done_before
    # Its worth is in what it measures; for this fewer steps do.
    sed 's/--steps=[0-9]*/--steps=6/' "$config" >quickstart.toml
    expect "! cmp -s quickstart.toml '$config'"
    start_meshsweep run -c quickstart.toml --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) >= 3 FROM job WHERE state <> 'pending'
        AND state <> 'running'\" 2>/dev/null)\" = 1 ]" 60
    signal_command INT
    wait_command
    expect_status 130
    expect_no_stdout
    expect_stderr_contains 'waiting for the running jobs'
    done_before=$(sql "SELECT count(*) FROM job WHERE state IN ('ok', 'failed')")
    run_meshsweep run -c quickstart.toml --progress none
    expect_status 3
    expect_no_stdout
    expect_no_stderr
    # Nothing ran twice; some are too large for their devices, and nothing else went wrong.
    expect_sql "1|1" "SELECT count(*) > $done_before, min(attempts) = 1 AND max(attempts) = 1 FROM results"
    expect_sql "|1
oom|1" "SELECT failure, count(*) > 0 FROM job GROUP BY 1"
    expect_sql 1 "SELECT count(*) > 0 FROM excluded WHERE excluded > 0"
    # The loss does not depend on how the state is partitioned.
    expect_sql 1 "SELECT min(same) FROM (SELECT max(loss) - min(loss) < 0.001 AS same FROM results WHERE state = 'ok'
        GROUP BY \"layers\", num_devices_per_host, micro_batch)"
    run_meshsweep best
    expect_status 0
    expect_stdout_contains 'highest throughput '
    expect_stdout_contains 'meshsweep-trainer --steps=6'
    expect_no_stderr
    analyses_of_it
    other_programs_read_it
}

CASE_SECONDS=300
run_cases "$@"
