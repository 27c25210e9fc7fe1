#!/usr/bin/env bash
# Curves: one job that measures itself at several loads, and the best point under a service limit.
. "${0%/*}/lib.sh"

# A server whose throughput and latency rise with the load; the larger batch is faster where few ask.
curve_sweep() # WORD OF toml...
{
    cat >bench.sh <<'END'
cd "$MESHSWEEP_JOB_DIR" || exit
for c in 1 4 16 64; do
    echo "concurrency: $c throughput: $(($1 * 10 + c * 5)) p99: $((c * 10 + $1))"
    echo "{\"load\": {\"concurrency\": $c}, \"rate\": $(($1 * 10 + c * 5)), \"p99\": $((c * 10 + $1))}" >>bench.jsonl
done
printf '{"runs": [{"concurrency": 4, "rate": 7}, {"concurrency": 16, "rate": 9}, {"rate": 99}]}\n' >bench.json
END
    toml sweep: objective=max:throughput subject_to='p99_ttft <= 200' job: \
        command='["/bin/sh", "{config_dir}/bench.sh", "{batch}"]' job_dir=true \
        training_spec: batch=10,20 "$@" >sweep.toml
}

# 64 has the most throughput and is too slow: 16 counts, with its own latency.
curve__under_a_limit__the_best_point_that_meets_it()
{
    curve_sweep job.metrics.throughput: jsonl=rate file=bench.jsonl per=load.concurrency better=max unit=tokens/s \
        job.metrics.p99_ttft: jsonl=p99 file=bench.jsonl per=load.concurrency \
        metrics.per_ms: expression='throughput / p99_ttft'
    run_silently 0
    expect_sql "10|180.0|170.0|16|16
20|280.0|180.0|16|16" "SELECT batch, throughput, p99_ttft, s.point, (SELECT point FROM summary AS p WHERE p.attempt_id =
        s.attempt_id AND p.name = 'p99_ttft') FROM results JOIN job AS j ON j.id = results.job
        JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = 'throughput' ORDER BY batch"
    expect_sql "4|1|4|16|64" "SELECT count(*), min(step), max(step > 3) * 4, max(iif(step = 16, 16, 0)), max(step)
        FROM metric WHERE name = 'throughput' AND attempt_id = 1"
    expect_sql 1 "SELECT abs(per_ms - 280.0 / 180) < 1e-9 FROM results WHERE batch = 20"
    expect_said only_stdout_contains 0 'highest throughput 280 tokens/s at load.concurrency 16, job 2' best
    run_meshsweep show 2
    expect_only_stdout_contains 0 'throughput  280 tokens/s at load.concurrency 16' \
        'throughput at load.concurrency 64: 520 tokens/s'
    run_meshsweep show 2 --json
    expect_only_stdout_contains 0 $'"point":\t"load.concurrency 16"' $'"per_value":\t64' $'"value":\t520'
    run_meshsweep export --long
    expect_only_stdout_matches 0 '^2,.*,throughput,.*,520.0,.*,64' '^2,.*,throughput,.*,280.0,.*,16'
    expect_said only_stdout_contains 0 'results.db' check results.db
    expect_run only_status 0 report -o report.html
    expect_file_contains report.html '"throughput":"load.concurrency"'
    # Another limit is asked of what was measured, without a run.
    sed -i 's/<= 200/<= 100/' sweep.toml
    run_silently 0
    expect_sql "4|4" "SELECT min(point), max(point) FROM summary WHERE name = 'throughput'"
    # A condition that no point meets leaves the others.
    sed -i 's/^subject_to.*/subject_to = ["p99_ttft <= 100", "max_rss < 1"]/' sweep.toml
    expect_run only_status 0 run --progress none
    expect_sql "4|4" "SELECT min(point), max(point) FROM summary WHERE name = 'throughput'"
    sed -i 's/<= 100/<= 1/' sweep.toml
    expect_run only_status 0 run --progress none
    expect_sql "2" "SELECT count(DISTINCT attempt_id) FROM breach"
}

# A server that is asked three times at each load.
curve__several_samples_of_a_point__one_row()
{
    curve_sweep job.metrics.throughput: jsonl=rate file=bench.jsonl per=load.concurrency better=max take=max \
        job.metrics.p99_ttft: jsonl=p99 file=bench.jsonl per=load.concurrency
    sed -i 's/^for c in .*/for c in 1 16 64 16 1 16; do set -- $(($1 + 2))/' bench.sh
    run_silently 0
    run_meshsweep show 1
    expect_only_stdout_contains 0 $'\npoints\n  p99_ttft at load.concurrency 1: 26\n  p99_ttft at load.'\
$'concurrency 16: 178\n  p99_ttft at load.concurrency 64: 656\n  throughput at load.concurrency 1: 205\n  throughput '\
$'at load.concurrency 16: 300\n  throughput at load.concurrency 64: 480\n' \
        '  300 at load.concurrency 16, samples 3, mean 260, median 260, minimum 220, maximum 300, stddev 40, p90 292'
    run_meshsweep export --long --where 'job = 1'
    expect_only_stdout_contains 0 ',throughput,,,,2,0,205.0,165.0,165.0,125.0,205.0,56.568542494923804,197.0,1' \
        ',throughput,,,,3,0,300.0,260.0,260.0,220.0,300.0,40.0,292.0,16' \
        ',throughput,,,,1,0,480.0,480.0,480.0,480.0,480.0,0'
    expect "[ \$(wc -l <.stdout) = 7 ]"
}

curve__by_regex_and_json__the_second_group_and_the_member()
{
    curve_sweep job.metrics.throughput: regex='throughput: ([0-9]+) p99: ([0-9]+)' per=p99 better=max \
        job.metrics.p99_ttft: regex='p99: ([0-9]+)' job.metrics.rate: json='runs.*.rate' file=bench.json \
        per=concurrency better=max
    run_silently 0
    expect_sql "9.0|16|2" "SELECT value, point, reported FROM summary WHERE name = 'rate' AND attempt_id = 1"
    expect_sql "20|170|650|4" "SELECT min(step), sum(iif(value = 180, step, 0)), max(step), count(*) FROM metric
        WHERE name = 'throughput' AND attempt_id = 1"
}

# A curve that the file reads otherwise is another definition.
curve__that_becomes_one__read_anew()
{
    curve_sweep job.metrics.throughput: jsonl=rate file=bench.jsonl better=max \
        job.metrics.p99_ttft: jsonl=p99 file=bench.jsonl
    expect_run only_status 0 run --progress none
    expect_sql "1" "SELECT count(*) FROM definition WHERE name = 'throughput'"
    sed -i 's/^file = .*/&\nper = "load.concurrency"/' sweep.toml
    expect_run only_status 0 run --progress none
    expect_sql "2|16|280.0" "SELECT (SELECT count(*) FROM definition WHERE name = 'throughput'), max(point), max(value)
        FROM summary WHERE name = 'throughput'"
}

curve__with_what_it_cannot_have__said()
{
    curve_sweep job.metrics.throughput: regex='throughput: ([0-9]+) p99: [0-9]+' better=max \
        job.metrics.p99_ttft: regex='p99: ([0-9]+)' per=concurrency warmup=1
    run_meshsweep check
    expect_only_stderr_contains 2 'per cannot be combined with warmup' 'group'
}

run_cases "$@"
