#!/usr/bin/env bash
# archive: samples of jobs that have ended, compressed in the database and found by all that asks for them.
. "${0%/*}/lib.sh"

# Jobs of 300 steps: decimals, numbers of 17 digits, some of them not finite, and one that is reported now and then.
sampled_sweep() # X [MORE-LINES]
{
    cat >job.sh <<'END'
awk -v x="$1" 'BEGIN {
    srand(x)
    for (i = 0; i < 300; i++) {
        printf "{\"step\": %d, \"loss\": %.4f, \"norm\": %s, \"rate\": %.17g}\n", 10 * i, x + 100 / (i + 1),
            i % 50 == 49 ? "NaN" : sprintf("%.17g", rand() * 7), 3e-4 * i / 300
        if (i % 40 == 39)
            printf "{\"step\": %d, \"accuracy\": %.3f}\n", 10 * i, rand()
    }
}' >>"$MESHSWEEP_METRICS"
[ "$1" != 3 ] || { echo "the cable is out" >&2; exit 7; }
[ "$1" != 4 ] || until [ -e go ]; do sleep 0.05; done
END
    toml sweep: name=samples checksums=true objective=min:loss job: command='["sh", "job.sh", "{x}"]' \
        job.metrics.loss: json=loss better=min "${2-}" job.metrics.norm: json=norm \
        job.metrics.rate: json=rate job.metrics.accuracy: json=accuracy parallel_spec: "x = $1" >sweep.toml
}

sampled() { sampled_sweep "${@:2}"; run_ended "$1"; } # STATUS X [MORE-LINES]

# Every sample, to the last bit; without their attempts' numbers, which a merged database has its own of.
samples_of() # DATABASE [TABLE]
{
    sql "SELECT hex(j.key), a.number, s.name, s.sequence, s.step, typeof(s.value), hex(ieee754_to_blob(s.value))
        FROM ${2:-sample} AS s JOIN attempt AS a ON a.id = s.attempt_id JOIN job AS j ON j.id = a.job_id
        ORDER BY 1, 2, 3, 4" "$1"
}

# Prints what is answered from samples.
answers()
{
    local command
    for command in 'show 1' 'show 3' 'tail 1 --once' 'compare 1 2' 'reread --dry-run' 'check -d results.db' \
        'results --format json' 'export --long' 'status --json'; do
        echo "== $command"
        # shellcheck disable=SC2086 # words
        "$meshsweep" $command 2>&1 || echo "status $?"
    done
    rm -f study.db report.html
    "$meshsweep" export --format optuna -o study.db 2>/dev/null
    sql "SELECT * FROM trial_intermediate_values ORDER BY 1" study.db
    "$meshsweep" report -o report.html 2>/dev/null
    sed -n '/id=curve-data>/,/<.script>/p' report.html
    sql ".read $source_dir/sql/queries/noisy_metrics.sql"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source_dir/python" /usr/bin/python3 -c '
import meshsweep
with meshsweep.open("results.db") as db:
    print(db.metrics(1, "norm"), db.metrics(2, "loss")[-1])'
}

archived()
{
    sql "SELECT count(DISTINCT attempt_id) || ' ' || total(count) FROM archived_metric" "$@"
}

samples__archived__the_same_answers_and_brought_back()
{
    sampled 3 '[1, 2, 3]'
    sql "INSERT INTO attempt (job_id, number, runner_id, state, kind, started, ended)
        SELECT 1, 2, runner_id, 'ok', 'full', started, ended FROM attempt WHERE id = 1;
        INSERT INTO metric SELECT 4, name, sequence, step, value FROM metric WHERE attempt_id = 1;
        INSERT INTO attempt (id, job_id, number, runner_id, state, failure, kind)
        SELECT 0, 2, 2, runner_id, 'failed', 'exit', 'full' FROM attempt WHERE id = 1"
    answers >before
    samples_of results.db metric >samples
    expect '[ "$(wc -l <samples) $(grep -c null samples)" = "3628 24" ]'
    grep -q '"norm":.null' before || fail "the answers have no full training"
    grep -q '"norm":{' before || fail "the answers have no curves"
    expect_said only_stdout_contains 0 "3600 samples would be compressed" archive --dry-run
    expect '[ "$(archived)" = "0 0.0" ]'
    expect_said only_stdout_contains 0 '"sample_count":' archive --json
    expect '[ "$(archived)" = "4 3600.0" ]'
    expect_sql "accuracy" "SELECT DISTINCT name FROM metric"
    samples_of results.db | diff samples - || fail "samples differ"
    answers | diff -u before - || fail "the answers differ"
    expect_said only_stdout 0 "0 files compressed" archive
    expect_said only_stdout_contains 0 "the database of " archive --undo
    samples_of results.db metric | diff samples - || fail "samples that were brought back differ"
    expect '[ "$(archived)" = "0 0.0" ]'
}

archived_samples__other_definitions_and_readers__applied()
{
    sampled 0 '[1, 2]'
    cp results.db plain.db
    cp -r results.db.d plain.db.d
    "$meshsweep" archive >said || fail "archive: $(cat said)"
    sampled 0 '[1, 2]' 'take = "min"
unit = "nats"'
    run_ended 0 -d plain.db
    expect_sql "$(sql "SELECT name, value, mean, p90, reported FROM summary" plain.db)" \
        "SELECT name, value, mean, p90, reported FROM summary"
    samples_of plain.db | diff - <(samples_of results.db) || fail "samples differ under another definition"
    # Another reader of the kept output takes the place of what was archived.
    "$meshsweep" archive >said || fail "archive: $(cat said)"
    sampled_sweep '[1, 2]' 'scale = 10'
    expect_said only_stdout_contains 0 "loss: 2 values changed" reread -c sweep.toml
    expect_sql "2 600" "SELECT count(DISTINCT attempt_id) || ' ' || count(*) FROM sample WHERE name = 'loss'"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
    # A job that runs again.
    "$meshsweep" archive >said || fail "archive: $(cat said)"
    rm -r "results.db.d/$(sql "SELECT directory FROM attempt WHERE job_id = 1")"
    sql "DELETE FROM attempt WHERE job_id = 1"
    expect '[ "$(archived)" = "1 900.0" ]'
    run_ended 0
    expect_sql "1|907 2|907" "SELECT group_concat(x, ' ') FROM (SELECT a.job_id || '|' || count(*) AS x FROM sample
        JOIN attempt AS a ON a.id = attempt_id GROUP BY a.job_id)"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

archived_samples__merged_and_backed_up__as_raw_ones()
{
    sampled_sweep '[1, 2]'
    run_ended 0 -d a.db --only 'x = 1'
    run_ended 0 -d b.db
    expect_run only_status 0 merge a.db b.db -o raw.db
    "$meshsweep" archive -d b.db >said || fail "archive: $(cat said)"
    expect_run only_status 0 merge a.db b.db -o packed.db
    expect '[ "$(archived packed.db)" = "2 1800.0" ]'
    samples_of raw.db | diff - <(samples_of packed.db) || fail "merged samples differ"
    expect_said only_stdout 0 "packed.db: all well" check -d packed.db
    expect_run only_status 0 backup -d b.db copy.db
    samples_of b.db | diff - <(samples_of copy.db) || fail "samples of a copy differ"
}

running_job__archive_beside_it__its_samples_stay()
{
    sampled_sweep '[1, 4]'
    start_meshsweep run -j 1 --progress none
    wait_until '[ "$(sql "SELECT state FROM attempt WHERE job_id = 2" 2>/dev/null)" = running ]' 30
    "$meshsweep" archive >said 2>&1
    expect_file_contains said "samples stay as they are: another program is writing to results.db"
    expect '[ "$(archived)" = "0 0.0" ]'
    touch go
    wait_command only_stderr 0
    expect_said only_stdout_contains 0 "samples compressed: the database of " archive 1
    expect '[ "$(archived)" = "1 900.0" ]'
    expect_said only_stdout_contains 0 "samples compressed: the database of " archive
    expect '[ "$(archived)" = "2 1800.0" ]'
}

killed__at_each_step__nothing_lost_and_it_goes_on()
{
    need_fault_points
    sampled 3 '[1, 2, 3]'
    samples_of results.db metric >samples
    for way in '' --undo; do
        for point in archive-packed:1 archive-packed:3 archive-committed:1 archive-committed:2 archive-vacuumed:1; do
            [ "$way $point" != "--undo archive-vacuumed:1" ] || continue
            [ -z "$way" ] || "$meshsweep" archive >said || fail "archive after $point: $(cat said)"
            # shellcheck disable=SC2086 # a word or none
            expect_after only_status 137 run_killed "$point" archive $way
            samples_of results.db | diff samples - || fail "after $way $point samples differ"
            expect_said only_stdout 0 "results.db: all well" check -d results.db
            # shellcheck disable=SC2086 # a word or none
            "$meshsweep" archive $way >said || fail "archive $way after $point: $(cat said)"
            expect '[ "$(archived)" = "'"$([ -z "$way" ] && echo 3 2700.0 || echo 0 0.0)"'" ]'
            "$meshsweep" archive --undo >said || fail "undo after $way $point: $(cat said)"
            samples_of results.db metric | diff samples - || fail "after $way $point samples differ"
        done
    done
}

archived_samples__damaged__named_by_check()
{
    sampled 0 '[1, 2]'
    "$meshsweep" archive >said || fail "archive: $(cat said)"
    sql "UPDATE archived_metric SET json = zeroblob(length(json)) WHERE attempt_id = 2 AND name = 'loss'"
    run_meshsweep check -d results.db
    expect_among_stdout 1 "archived samples that cannot be read (1): job 2 attempt 1: loss" \
        "DELETE FROM archived_metric WHERE (attempt_id, name) = (2, 'loss')"
    expect_sql 600 "SELECT count(*) FROM sample WHERE attempt_id = 2 AND name <> 'loss' AND name <> 'accuracy'"
}

run_cases "$@"
