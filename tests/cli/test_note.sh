#!/usr/bin/env bash
# note: what is said of jobs and attempts, and what is excluded.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

quietly() { expect_run only_status 0 "$@"; } # ARGS

# Jobs 1 to 4 score 10, 20, 20 and 40.
done_sweep()
{
    small_sweep sweep.toml
    quietly run --progress none
}

# Each job runs three times; attempt N of job J scores 100 J + N * N.
repeated_sweep()
{
    small_sweep sweep.toml
    sed -i 's/^\[job\.metrics/repeat = 3\n&/' sweep.toml
    echo "exec sh -c 'echo \"score: \$((100 * \$1 * \$2 + \$3 * \$3))\"' - \$1 \$2 \${MESHSWEEP_JOB_DIR##*/}" >job.sh
    quietly run --progress none
}

note__exclude__leaves_every_answer_and_is_counted()
{
    done_sweep
    expect_said only_stdout 0 'job 4: excluded; it has no value' note 4 --exclude 'the node was too warm'
    expect_said only_stdout_contains 0 'highest score 20, job 2 of sweep small' best
    expect_stdout_contains '1 excluded: job 4 (the node was too warm)'
    expect_said only_stdout_contains 0 '"excluded_jobs":	1' best --json
    expect_said only_stdout_contains 0 'best so far: score 20, job 2 (see meshsweep best)
1 excluded: job 4 (the node was too warm)' status
    expect_said only_stdout_contains 0 '2 against 1: 1 pair ran on both sides' compare --by x
    expect_stdout_contains '1 excluded: job 4 (the node was too warm)'
    expect_sql '1|2
1|3
3|1' "SELECT rank, job FROM ranking"
    expect_sql "ok||excluded: the node was too warm" \
        "SELECT state, value, note FROM job JOIN job_metric ON job_id = id WHERE id = 4"
    expect_said only_stdout_contains 0 ': excluded: the node was too warm' why 4
    expect_run only_status 0 report -o page.html
    expect_file_contains page.html '<p class=note>1 excluded: job 4 (the node was too warm)</p>' '"best":2'
    # It is done all the same.
    expect_run only_status 0 run --progress plain
    expect_sql 4 "SELECT count(*) FROM attempt"
    expect_run only_status 0 check
}

note__all_excluded__no_best_and_why()
{
    done_sweep
    for job in 1 2 3 4; do
        quietly note "$job" --exclude broken
    done
    expect_said only_stderr 3 'meshsweep: there is no best job: 4 are ok, but none has a value of score
meshsweep: 4 excluded: job 1 (broken), job 2 (broken), job 3 (broken), …' best
}

note__include__counts_again_and_both_are_kept()
{
    done_sweep
    quietly note 4 --exclude 'too warm'
    expect_said only_stdout 0 'job 4: included; its values come from 1 attempt' note 4 --include
    expect_said only_stdout_contains 0 'highest score 40, job 4' best
    expect_stdout_lacks excluded
    expect_said only_stdout_matches 0 ': exclude: too warm
  [0-9TZ:-]* [^ ]*@[^ ]*: include' show 4
    expect_said only_stdout_contains 0 '"said":	"too warm"' show 4 --json
    expect_sql 'exclude|too warm
include|' "SELECT kind, text FROM note"
}

note__exclude_one_attempt__the_median_is_that_of_the_rest()
{
    repeated_sweep
    expect_sql '1004.0|3' "SELECT value, attempts FROM job_metric WHERE job_id = 1"
    stands=$(sql "SELECT a.number FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id WHERE j.id = 1")
    expect "[ $stands = 2 ]"
    expect_said only_stdout 0 'job 1 attempt 2: excluded; its values come from 2 attempts' note 1/2 --exclude 'bad node'
    expect_sql '1005.0|2|1' "SELECT m.value, m.attempts, a.number FROM job_metric AS m JOIN job AS j ON j.id = m.job_id
        JOIN attempt AS a ON a.id = j.attempt_id WHERE j.id = 1"
    run_meshsweep results --where 'job = 1' --columns job,score,excluded --format csv
    expect_only_stdout_contains 0 '1,1005.0,attempt 2: bad node'
    expect_run only_status 0 run --progress none
    expect_sql 12 "SELECT count(*) FROM attempt"
    # The whole job, then one attempt of it: the last word stands.
    quietly note 1 --exclude 'wrong data'
    expect_said only_stdout 0 'job 1 attempt 3: included; its values come from 1 attempt' note 1/3 --include
    expect_sql '1009.0|1' "SELECT value, attempts FROM job_metric WHERE job_id = 1"
    expect_run only_status 0 check
}

note__job_excluded_and_run_again__the_new_attempt_counts()
{
    done_sweep
    quietly note 4 --exclude 'too warm'
    echo 'echo "score: 50"' >job.sh
    sql "DELETE FROM attempt WHERE job_id = 4"
    quietly run --progress none
    expect_sql '50.0|1|' "SELECT value, attempts, note FROM job_metric WHERE job_id = 4"
}

note__text_and_tags__columns_of_results_and_exports()
{
    done_sweep
    expect_said only_stderr_contains 2 'no such column: notes' results --columns notes
    expect_said only_stdout 0 'job 2: tagged' note 2 looks odd --tag flaky
    run_meshsweep note "$(sql "SELECT lower(hex(key)) FROM job WHERE id = 2")" 'so "odd", really'
    expect_only_stdout 0 'job 2: noted'
    quietly note 2 --tag flaky
    quietly note 2 --tag slow
    expect_said only_stdout_contains 0 ',notes,tags,excluded,' export --where 'tags IS NOT NULL'
    expect_stdout_contains '"looks odd; so ""odd"", really","flaky,slow",,'
    expect_said only_stdout_contains 0 '2,20.0' results --where "notes LIKE '%odd%'" --columns job,score --format csv
    expect_sql 'looks odd; so "odd", really|flaky,slow|' "SELECT notes, tags, excluded FROM ranking WHERE job = 2"
    expect_run only_status 0 report -o page.html
    expect_file_contains page.html 'looks odd; so' '"said":"flaky"'
}

note__bad_input__says_what_to_do()
{
    done_sweep
    for words in '9 x' '4/7 x' '4/x x' '4' 'seven x' '4 --include' '4 x --exclude y --include' '4 x -d none.db'; do
        # shellcheck disable=SC2086
        run_meshsweep note $words
        expect "[ $status -ne 0 ]"
        expect_no_stdout
        cat .stderr >>all
        expect_any_stderr
        expect_status "$status"
    done
    expect "[ ! -e none.db ]"
    mv all .stderr
    expect_stderr 'meshsweep: there is no job 9; `meshsweep results --all` lists them
meshsweep: job 4 has no attempt 7; `meshsweep show 4` lists them
meshsweep: 4/x: what follows the / must be the number of an attempt, as in 7/2
meshsweep: note: say what: meshsweep note 4 TEXT, or --exclude REASON, --include, --tag TAG
meshsweep: seven: must be a job'\''s number or at least 8 digits of its key
meshsweep: job 4 is not excluded; `meshsweep show 4` lists what is
meshsweep: note: --exclude and --include contradict each other; give one
meshsweep: database none.db: it does not exist yet; `meshsweep run` creates it'
    expect_said only_stderr 2 'meshsweep: note: --exclude is empty; say it in words' note 4 --exclude ' '
    run_meshsweep note 4 "$(printf 'two\nlines')"
    expect_only_stderr 2 'meshsweep: note: the text has a control character; write it in one line'
    expect_said only_stderr 2 'meshsweep: note: the text is not UTF-8' note 4 "$(printf '\377')"
    expect_sql 0 "SELECT count(*) FROM note"
    sql "DELETE FROM attempt WHERE job_id = 4"
    run_meshsweep note 4 --exclude y
    expect_only_stderr 4 'meshsweep: job 4 has no result to exclude; a rule excludes what is not to run'
}

merge__notes__come_once_and_hold()
{
    repeated_sweep
    cp results.db copy.db
    quietly note 4 --exclude 'too warm' -d copy.db
    quietly note 1/2 --exclude 'bad node' -d copy.db
    quietly note 1 'from the copy' -d copy.db
    quietly note 1 'from here'
    for merged in copy.db results.db copy.db; do
        quietly merge "$merged" -o all.db
    done
    expect_sql '4' "SELECT count(*) FROM note" all.db
    expect_sql '1|1005.0|attempt 2: bad node
2|2004.0|
3|2004.0|
4||too warm' "SELECT job, score, excluded FROM results" all.db
    expect_sql 'from the copy
from here' "SELECT text FROM note WHERE kind = 'note' ORDER BY text DESC" all.db
    expect_sql 'from here' "SELECT text FROM note WHERE kind = 'note'"
    quietly merge all.db -o results.db
    expect_sql '4' "SELECT count(*) FROM note"
    expect_sql '1005.0|2' "SELECT value, attempts FROM job_metric WHERE job_id = 1"
    # Taken back there later, it is taken back here.
    quietly note 4 --include -d copy.db
    quietly merge copy.db -o results.db
    expect_sql '4004.0' "SELECT value FROM job_metric WHERE job_id = 4"
    expect_run only_status 0 check
}

import_again__notes__stay_with_their_rows()
{
    toml sweep: name=measured objective=max:rate job.metrics.rate: better=max \
        import.model: layers=layers import.metrics: rate=rate >import.toml
    printf 'layers,rate\n2,10\n2,12\n4,30\n8,20\n' >table.csv
    quietly import -c import.toml table.csv
    quietly note 2 --exclude 'wrong tokenizer'
    quietly note 1/2 --exclude 'typing error'
    expect_sql '10.0|1' "SELECT value, attempts FROM job_metric WHERE job_id = 1"
    # The excluded row says something else now, and another one is gone.
    printf 'layers,rate\n2,10\n2,13\n4,30\n16,5\n' >table.csv
    quietly import -c import.toml table.csv
    expect_sql '3|typing error' "SELECT line, why FROM excluded_attempt JOIN attempt ON id = attempt_id
        WHERE number = 3"
    expect_sql '1|10.0|attempt 3: typing error
2||wrong tokenizer
4|5.0|' "SELECT job, rate, excluded FROM results"
    # A job of which all is excluded stays ok.
    printf 'layers,rate\n2,10\n2,13\n4,31\n16,5\n' >table.csv
    quietly import -c import.toml table.csv
    expect_sql 'ok||wrong tokenizer' "SELECT state, rate, excluded FROM results WHERE job = 2"
    quietly check
}

search__excluded__is_a_failure_to_it()
{
    done_sweep
    quietly note 4 --exclude 'too warm'
    quietly replay --seeds 1 --json
    expect_json 1 not_measured
    quietly run --strategy random --progress none
    expect_sql 'failed|excluded|' "SELECT outcome, failure, objective FROM trial WHERE job_id = 4"
    expect_sql 4 "SELECT count(*) FROM attempt"
}

run_cases "$@"
