#!/usr/bin/env bash
# Jobs that write a great deal: nothing of it is left out of a summary, and nobody waits for it to be read.
. "${0%/*}/lib.sh"

log_of_140_megabytes__maximum_in_its_middle__is_the_maximum()
{
    toml job: command='["/bin/sh", "job.sh", "{x}"]' job.metrics.v: regex='^v=([0-9]+)$' take=max \
        training_spec: x='[1]' >sweep.toml
    cat >job.sh <<'END'
noise() { yes "$(printf '%099d' 0)" | head -c 70000000; }
echo v=1
noise
echo v=99
noise
echo v=2
END
    run_silently 0
    expect_sql "99.0|1.0|3|3|2.0" "SELECT value, minimum, count, reported,
        (SELECT value FROM metric WHERE name = 'v' ORDER BY sequence DESC LIMIT 1) FROM summary WHERE name = 'v'"
    expect_sql "140000013|1" "SELECT log_bytes, log_tail LIKE '%v=2%' FROM attempt"
    log=$(find results.db.d -name output.log)
    expect "[ $(stat -c %s "$log") -le 67200000 ]" "grep -q 'bytes cut by meshsweep' '$log'"
}

line_of_100_megabytes__number_at_its_end__is_read()
{
    toml job: command='["/bin/sh", "-c", "head -c 100000000 /dev/zero | tr '\''\\0'\'' x; echo '\'' v=42'\''"]' \
        job.metrics.v: regex='v=([0-9]+)' training_spec: x='[1]' >sweep.toml
    run_silently 0
    expect_sql "42.0|1|100000006" "SELECT value, count, (SELECT log_bytes FROM attempt) FROM summary"
}

# A job that says nothing is ended in time beside one that writes all that the machine can.
beside_a_silent_one() # COMMAND [READER]
{
    toml job: command='["/bin/sh", "-c", "{c}"]' idle_timeout=2s grace=100ms "${2-}" \
        training_spec: "c = [\"$1\", \"echo silent; sleep 30\"]" >sweep.toml
    run_silently 3 -j 2
    expect_sql "ok||1
failed|hang|1" "SELECT state, failure, state = 'ok' OR duration_ms BETWEEN 2000 AND 2600 FROM attempt
        ORDER BY job_id"
}

idle_limit__beside_a_job_that_prints_samples__fires_in_time()
{
    beside_a_silent_one 'yes loss=0.125 | head -n 6000000; sleep 1; yes loss=0.125 | head -n 1000' \
        "metrics.loss.regex = 'loss=([0-9.]+)'"
    expect_sql "6001000|6001000|0.125" "SELECT count, reported, value FROM summary"
}

idle_limit__while_an_ended_job_is_read__fires_in_time()
{
    beside_a_silent_one "yes '{\\\"loss\\\": 1}' | head -n 4000000 >\$MESHSWEEP_METRICS"
    expect_sql "4000000|4000000" "SELECT count, reported FROM summary"
}

# One way after another, a matcher would try for years.
pathological_pattern__on_long_lines__interrupt_is_heard()
{
    toml failure:: class=hang pattern='(x+x+)+y' job: command='["/bin/sh", "-c", "{c}"]' \
        job.metrics.v: regex='((x+x+)+y|(x*)*z|((x?){50}x{50})+w) ([0-9]+)' \
        training_spec: \
        c='["for i in $(seq 100); do head -c 60000 /dev/zero | tr '\''\\0'\'' x; echo; done; exit 7", "sleep 30"]' \
        >sweep.toml
    start_meshsweep run -j 2 --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'exit'\" 2>/dev/null)\" = 1 ]" 30
    end_command TERM only_stderr 143
}

startup_limit__first_metric_in_a_stream_of_output__is_seen()
{
    toml job: command='["/bin/sh", "-c", "{c}"]' startup_timeout=1500ms grace=100ms job.metrics.v: \
        regex='v=([0-9]+)' training_spec: \
        c='["yes words of no use | head -c 8000000; echo v=3; sleep 1.5; yes more words | head -c 8000000; echo v=4",' \
        '"yes words of no use | head -c 8000000; sleep 4"]' >sweep.toml
    run_silently 3 -j 2
    expect_sql "ok||1
failed|timeout|1" "SELECT state, failure, state = 'ok' OR duration_ms BETWEEN 1500 AND 2100 FROM attempt
        ORDER BY job_id"
    expect_sql "2|4.0" "SELECT reported, maximum FROM summary"
}

many_metrics__each_step__last_values_are_exact()
{
    toml job: command='["/bin/sh", "job.sh", "{x}"]' training_spec: x='[1]' >sweep.toml
    cat >job.sh <<'END'
awk 'BEGIN {
    for (i = 0; i <= 50000; i++) {
        printf "{\"step\": %d", i
        for (m = 0; m < 21; m++)
            printf ", \"m%d\": %d", m, i
        print "}"
    }
}' >"$MESHSWEEP_METRICS"
END
    run_silently 0
    expect_sql "21|50000.0|0.0|50001|50001" \
        "SELECT count(*), min(maximum), max(minimum), min(count), min(reported) FROM summary"
    expect_sql "50000.0" "SELECT min(value) FROM (SELECT value, max(sequence) FROM metric GROUP BY name)"
    expect_sql "1" "SELECT max(abs(median - 25000)) < 0.005 * 50001 FROM summary"
}

json_line__too_long__left_out_and_said()
{
    toml job: command='["/bin/sh", "job.sh", "{x}"]' training_spec: x='[1]' >sweep.toml
    cat >job.sh <<'END'
printf '{"v": 1}\n{"v": 9, "text": "' >"$MESHSWEEP_METRICS"
head -c 5000000 /dev/zero | tr '\0' x >>"$MESHSWEEP_METRICS"
printf '"}\n{"v": 2}\n' >>"$MESHSWEEP_METRICS"
END
    run_silently 0
    expect_sql "2|2.0|lines of JSON over 4 MiB: 1|1" "SELECT s.reported, s.maximum, a.left_out, r.partial
        FROM summary AS s, attempt AS a, results AS r"
    expect_said only_stdout_contains 0 'lines of JSON over 4 MiB: 1' show 1
    expect_run only_status 0 report -o report.html
    expect_file_contains report.html 'lines of JSON over 4 MiB: 1'
}

run_cases "$@"
