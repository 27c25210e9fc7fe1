#!/usr/bin/env bash
# report: the page stands whatever the database holds, and says what is missing.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

write_report()
{
    expect_said only_stderr 0 'meshsweep: report in report.html' report
    sections_stand
}

report_of() # SQL...
{
    fixture_database "$@"
    write_report
}

# Every section, once, and nothing that the browser would fetch.
sections_stand()
{
    local id
    for id in overview winner explore curves front effects heat parallel predicted learning timeline failures excluded \
        jobs; do
        expect "[ \"\$(grep -c '<section id=\"$id\"' report.html)\" = 1 ]"
    done
    expect "! grep -qiE '(src|href)=\"?(https?:)?//|@import' report.html" '! grep -q "url(" report.html'
    expect "tail -n 1 report.html | grep -qx '</body></html>'"
}

report__run_in_progress__all_of_it()
{
    report_of
    expect_file_contains report.html '<b title="100">100 samples/s</b> throughput, <a href="#j1">job 1</a>'
    expect_file_contains report.html "train --name &#39;it&#39;\\&#39;&#39;s tiny&#39; --tp=1"
    expect_file_contains report.html '<i class="x-exit"></i> 2 jobs</b> exit'
    expect_file_contains report.html '<th scope=row>world-size<td class=n>6<td class=n>7<td>the degrees must multiply'
    expect_file_contains report.html 'throughput (samples/s)'
    expect "[ \"\$(grep -c '^<tr id=j' report.html)\" = 8 ]"
}

# Their starts and ends are of a clock that can be set; how long they took is not.
report__clock_set_during_attempts__took_what_they_took()
{
    report_of "UPDATE attempt SET ended = started + 3600000, duration_ms = 2000"
    expect_file_contains report.html 'Z<td>2.0s<td>ok'
    expect '! grep -q "Z<td>1h" report.html'
}

report__standard_output__the_same_page()
{
    fixture_database
    expect_said only_stdout_contains 0 '<!DOCTYPE html>' report -o -
    cp .stdout report.html
    sections_stand
}

report__hostile_names__stay_text()
{
    local bad="</script><script>window.hostile=1</script>\"''>&<img src=x onerror=window.hostile=1>"
    fixture_database "UPDATE sweep SET name = '$bad', path = '$bad' WHERE id = 2" \
        "UPDATE spec SET name = '$bad', json = json_object('layers', 2, 'name', '$bad', '$bad', '=cmd()'
            || char(8238)) WHERE id = 2" \
        "UPDATE spec SET json = json_object('micro_batch', '$bad' || char(10), 'tp', printf('%.*c', 1000000, 'x'))
            WHERE id = 5" \
        "UPDATE attempt SET message = '$bad' || char(27) || '[31m', log_tail = '$bad', command = json_array('$bad')
            WHERE id < 8" \
        "UPDATE metric_definition SET unit = '$bad'" "UPDATE rule SET reason = '$bad', name = '$bad' || position" \
        "UPDATE runner SET host = '$bad'" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, '$bad', 1.0, 1)" \
        "INSERT INTO metric_definition (name, unit) VALUES ('$bad', '$bad')"
    write_report
    expect "! grep -qF '<script>window' report.html" "! grep -qF '<img' report.html"
    expect "! LC_ALL=C grep -q \$'\\x1b\\|\\xe2\\x80\\xae' report.html"
    expect_file_contains report.html '&lt;/script&gt;&lt;script&gt;window.hostile=1'
    expect "[ \"\$(wc -c <report.html)\" -lt 300000 ]"
}

# Whose memory it is stands with its unit.
report__memory_with_counter_and_rank__in_its_unit()
{
    for unit in "unit = 'GiB', counter = 'reserved'" "unit = 'GiB', rank = '0'" \
        "unit = 'GiB', counter = 'reserved', rank = 'first'"; do
        # The usual name goes before another with the word in it.
        report_of "INSERT INTO metric_definition (name, unit) VALUES ('cache_memory', 'B'), ('peak_memory', 'B')" \
            "UPDATE metric_definition SET $unit WHERE name = 'peak_memory'" \
            "INSERT INTO summary (attempt_id, name, value, count)
                VALUES (1, 'cache_memory', 5.0, 1), (1, 'peak_memory', 20.0, 1)" \
            "UPDATE spec SET json = json_set(json, '\$.device_memory', 85899345920) WHERE id = 1"
        expect_file_contains report.html "It uses 20 GiB of a device's 80 GiB (25 %)."
    done
    # The table scales bytes as well where they are of one rank.
    report_of "INSERT INTO metric_definition (name, unit, rank) VALUES ('peak_memory', 'B', '0')" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 2e10, 1),
            (2, 'peak_memory', 3e10, 1)"
    expect_file_contains report.html '>peak_memory (GiB, rank 0)<'
}

report__as_many_slots_and_more_than_are_drawn__said_of_the_latter()
{
    many_jobs 130 0 "UPDATE attempt SET slot = id % 64"
    write_report
    expect "! grep -q 'Only the first 64 slots are drawn' report.html"
    many_jobs 130 0 "UPDATE attempt SET slot = id % 65"
    write_report
    expect_file_contains report.html 'Only the first 64 slots are drawn'
}

# Each job takes more memory than the one before, and is better.
report__front_of_more_jobs_than_its_table__said()
{
    many_jobs 80 0 "UPDATE summary SET value = attempt_id * iif(name = 'peak_memory', 1e6, 1.0)"
    write_report
    expect_file_contains report.html '<caption>On the front, the first 50 of 72</caption>'
    many_jobs 50 0
    write_report
    expect_file_contains report.html '<caption>On the front</caption>'
}

report__one_value_or_none__said()
{
    report_of "UPDATE summary SET value = NULL"
    expect_file_contains report.html 'Some jobs succeeded, but none has a finite objective.'
    report_of "DELETE FROM job WHERE id > 1"
    expect_file_contains report.html 'This plot needs two keys with 2 to 24 values each.'
    expect_file_contains report.html 'No two successful jobs differ in only one key.' 'No job failed.'
}

report__job_that_its_batch_system_has_not_begun__waits()
{
    report_of "UPDATE attempt SET waits = 'Priority' WHERE state = 'running'"
    expect_file_contains report.html '<b>1</b><span>waiting at the batch system</span>'
    expect "! grep -q '<span>running</span>' report.html"
}

report__no_job_is_ok__failures_first()
{
    report_of "UPDATE job SET state = 'pending', attempt_id = NULL WHERE state = 'ok'"
    expect '[ "$(grep -o "<section id=\"[a-z]*" report.html | head -n 2 | tr "\n" " ")" = \
        "<section id=\"failures <section id=\"winner " ]'
}

report__no_objective__said()
{
    report_of "UPDATE sweep SET objective = NULL"
    expect_file_contains report.html 'The sweep declares no objective: add objective'
}

report__nothing_ran__said()
{
    report_of "DELETE FROM summary" "DELETE FROM attempt" "UPDATE job SET state = 'pending', failure = NULL"
    expect_file_contains report.html 'No job has succeeded yet.' 'No attempt has ended yet.' 'No job has ended yet.'
    expect "! grep -q parallel-plot report.html"
    report_of "DELETE FROM job" "UPDATE rule SET excluded = 0"
    expect_file_contains report.html 'The database has no jobs' 'No rule excluded any combination.'
}

report__no_sweep__says_so_and_writes_nothing()
{
    fixture_database "DELETE FROM summary" "DELETE FROM attempt" "DELETE FROM job" "DELETE FROM exclusion" \
        "DELETE FROM rule" "DELETE FROM sweep"
    expect_said only_stderr 4 'meshsweep: this database has no sweep yet; `meshsweep run` records one' report
    expect_no_file report.html
}

report__several_objectives__pareto_set()
{
    report_of "INSERT INTO further_objective VALUES (2, 1, 'loss', 0)" \
        "UPDATE summary SET value = 1.5 WHERE attempt_id = 2 AND name = 'loss'"
    expect_file_contains report.html 'Of 2 objectives: the 2 jobs that no other job beats in all of them (Pareto set)'
    expect_file_contains report.html '<th scope=col>highest throughput (samples/s)<th scope=col>lowest loss</thead>'
    expect_file_contains report.html '<tr><td><a href="#j2">2</a><td class=n>99<td class=n>1.5'
    expect_said only_stdout_contains 0 '2 jobs that none beats in throughput and loss: 1, 2 (see meshsweep best)' status
    expect_said only_stdout_contains 0 '"pareto_jobs":	[1, 2]' status --json
}

report__front__only_what_nothing_beats()
{
    fixture_database "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 300.0, 1),
        (2, 'peak_memory', 200.0, 1), (3, 'peak_memory', 250.0, 1)"
    write_report
    expect_file_contains report.html '3 jobs, 2 of them on the front'
    expect_file_contains report.html '<script type=application/json class=chart id=front-plot>{"fronts":[[2,1]]}'
}

# Rows that arrive on an open page have no other columns than the page.
report__no_failure_yet__a_column_for_the_first()
{
    small_sweep sweep.toml
    expect_run only_status 0 run --progress none --limit 1
    write_report
    expect_file_contains report.html '"name":"failure"' '"name":"error"'
    expect_run only_status 0 run --progress none
    write_report
    expect "! grep -q '\"name\":\"failure\"' report.html"
}

# Why the value is no average of all rows, and crosses only where there are some.
report__winner__its_value_as_sql()
{
    small_sweep sweep.toml
    sed -i 's/^\[job\]/&\nrepeat = 3/' sweep.toml
    expect_run only_status 0 run --progress none
    write_report
    expect_file_contains report.html "<p class=note>In SQL: <code>SELECT value FROM job_metric WHERE job_id = 4 AND \
name = &#39;score&#39;</code>, the median over 3 attempts, each the median of its samples;"
    expect "! grep -qi 'crosses at the bottom' report.html"
}

report__effects_and_predictions__in_words()
{
    kernel_sweep
    write_report
    expect_file_contains report.html 'worse by 33.3 % (7)' 'not told apart (8)'
    expect_file_contains report.html '<tr><td>kernel<td>fused, plain<td class=n>0<td class=n>1'
    expect_file_contains report.html 'class=chart id=predicted-memory>' 'class=chart id=predicted-time>'
    expect_file_contains report.html '23 runs; the mean error of the predictions made before each run is'
}

# The error is 2 / sqrt(20) * sqrt(pi / 2) each, sqrt(2) times that for the difference; times 2.334, the 98.75 %
# quantile for 38 degrees of freedom, because two others compete: 1.850.
report__winner__how_far_ahead_and_what_limits_it()
{
    report_of "UPDATE summary SET count = 20, stddev = 2.0 WHERE name = 'throughput'" \
        "INSERT INTO metric_definition (name, unit) VALUES ('peak_memory', 'MiB')" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 12.0, 1)" \
        "UPDATE spec SET json = json_set(json, '\$.device_memory', 16777216) WHERE id = 1"
    expect_file_contains report.html '<p>1 % ahead of <a href="#j2">job 2</a>, 95 % interval -0.86 to 2.9 % '\
'from the samples of single runs, which say nothing about how much runs differ.</p>'
    expect_file_contains report.html '<p>It cannot be told apart from 1 other (95 %): <a href="#j2">job 2</a>.'
    # 2 / sqrt(20) times 2.093, the 97.5 % quantile for 19.
    expect_file_contains report.html '"half_width":0.936029'
    expect_file_contains report.html ' One more run of each, one after the other, takes 20.0s and 0.044 device-hours.'
    expect_file_contains report.html "<p>It uses 12 MiB of a device's 16 MiB (75 %).</p>"
    expect_file_contains report.html '<p>Of 2 jobs that differ from it in one key, 1 failed: 1 exit.</p>'
    report_of
    expect_file_contains report.html '; one of the two was measured only once, so the uncertainty is not known.'
    expect "! grep -q 'cannot be told apart' report.html"
}

# Prints what SQL says of a part of the page that its script reads: PART EXPRESSION
embedded()
{
    sed -n "s/.*<script type=application\/json id=$1>//; t found; d; :found; :more; /<\/script>/! { N; b more }
        s/<\/script>.*//; p" report.html >"$1.json"
    sqlite3 :memory: "SELECT $2 FROM (SELECT readfile('$1.json') AS page)"
}

# PART PATH VALUE
expect_embedded()
{
    local value
    value=$(embedded "$1" "json_extract(page, '\$.$2')")
    expect "[ '$value' = '$3' ]"
}

report__data_of_the_script__are_those_of_the_database()
{
    report_of
    expect "[ \"\$(embedded data \"json_array_length(page, '\$.columns[0].numbers')\")\" = 8 ]"
    expect_embedded data 'best' '1'
    expect_embedded data 'columns[1].numbers' '[100,99,50,null,null,null,null,null]'
    expect_embedded details '5.attempts[1].message' 'exit status 1: no such file'
    expect_embedded details '1.environment' '["OMP_NUM_THREADS=1","NOTE=two words"]'
    expect_embedded curve-data '1.throughput.low' '[90,100]'
    expect_embedded curve-data '1.loss' ''
}

# 5,000 samples of which one is out of line, and one that is no number.
report__curve_of_many_samples__keeps_what_stands_out()
{
    fixture_database "DELETE FROM metric" "UPDATE metric_definition SET warmup = 100 WHERE name = 'loss'" \
        "WITH s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 4999) INSERT INTO metric (attempt_id, name,
            sequence, step, value) SELECT 1, 'loss', i, i * 10, CASE i WHEN 2500 THEN 77.5 WHEN 2501 THEN -3.25 WHEN 9
            THEN NULL ELSE 1.0 END FROM s" \
        "UPDATE summary SET reported = 5000 WHERE attempt_id = 1 AND name = 'loss'"
    write_report
    expect_embedded curve-data '1.loss.samples' '5000'
    expect_embedded curve-data '1.loss.warm' '1000'
    expect "[ \"\$(embedded curve-data \"json_array_length(page, '\$.1.loss.low')\")\" = 240 ]"
    expect "[ \"\$(embedded curve-data \"(SELECT max(value) FROM json_each(page, '\$.1.loss.high'))\")\" = 77.5 ]"
    expect "[ \"\$(embedded curve-data \"(SELECT min(value) FROM json_each(page, '\$.1.loss.low'))\")\" = -3.25 ]"
    expect "[ \"\$(wc -c <curve-data.json)\" -lt 6000 ]"
    expect_file_contains report.html \
        '<td>loss<td class=n>5000<td class=n>1<td class=n>1<td class=n>-3.25<td class=n>77.5'
}

# The page has the newest of one job's attempts, and how many there are besides.
report__job_of_thousands_of_attempts__bounded_and_said()
{
    fixture_database "WITH s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 20001)
        INSERT INTO attempt (job_id, number, runner_id, state, failure, started, ended, duration_ms, message)
        SELECT 4, 100 + i, 1, 'failed', 'exit', i, i + 1, 1, 'ValueError: ' || i FROM s"
    write_report
    expect '[ "$(wc -c <report.html)" -lt 1000000 ]'
    expect_embedded details 4.attempts_left_out "$(sqlite3 results.db \
        'SELECT count(*) - 100 FROM attempt WHERE job_id = 4')"
    expect "[ \"\$(embedded details \"json_array_length(page, '\$.4.attempts')\")\" = 100 ]"
    expect_embedded details '4.attempts[99].attempt' 20101
}

# More curves than there is room for: the best are there, and the page says how many are not.
report__curves_of_many_jobs__bounded_and_said()
{
    fixture_database "WITH s(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM s WHERE i < 2099) INSERT INTO job (id, key,
            sweep_id, rank, cluster_id, model_id, parallel_id, devices, state, attempt_id)
            SELECT i, CAST(printf('%016d', i) AS BLOB), 2, i, 1, 2, 4, 8, 'ok', i FROM s" \
        "INSERT INTO attempt (id, job_id, number, runner_id, state) SELECT id, id, 1, 1, 'ok' FROM job
            WHERE id >= 100" \
        "INSERT INTO summary (attempt_id, name, value, count, reported) SELECT id, 'throughput', id, 60, 60 FROM job
            WHERE id >= 100" \
        "WITH s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 59) INSERT INTO metric (attempt_id, name,
            sequence, step, value) SELECT j.id, 'throughput', i, i, j.id + i / 7.0 FROM s, job AS j WHERE j.id >= 100"
    write_report
    kept=$(embedded curve-data "(SELECT count(*) FROM json_each(page))")
    expect "[ '$kept' -gt 500 ] && [ '$kept' -lt 2000 ]"
    expect_file_contains report.html " This page has the curves of $kept of 2001 jobs"
    expect_embedded curve-data '2099.throughput.samples' '60'
    expect '[ "$(embedded curve-barred page)" = "[]" ]'
    sqlite3 results.db "INSERT INTO breach (attempt_id, position) VALUES (2099, 1), (2090, 1)"
    write_report
    expect '[ "$(embedded curve-barred page)" = "[2099,2090]" ]' "[ \"\$(wc -c <curve-data.json)\" -lt 800000 ]"
    expect "[ \"\$(grep -c '^<tr id=j' report.html)\" = 250 ]"
    expect "[ \"\$(grep -m 1 -o '^<tr id=j[0-9]*' report.html)\" = '<tr id=j2099' ]"
}

report__imported_jobs__predicted_beside_measured()
{
    fixture_database "INSERT INTO metric_definition (name, unit) VALUES ('peak_memory', 'GiB')" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 2.0, 1),
            (2, 'peak_memory', 4.0, 1)" \
        "UPDATE job SET predicted_memory = 3 * 1073741824.0 WHERE id IN (1, 2, 4)"
    write_report
    expect_file_contains report.html '2 jobs; the mean error of the predictions is 37.5 %.'
}

run_cases "$@"
