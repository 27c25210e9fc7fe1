#!/usr/bin/env bash
# The metrics that a job is said to have measured, and the names of failures.
. "${0%/*}/lib.sh"

# A sweep with one job per line of standard input, in that order: a shell line.
# Standard input has a job's command a line; one that ends in \ goes on in the next.
job_lines() # OBJECTIVE WORD...: of [job.metrics]
{
    toml sweep: "$1" job: command='["/bin/sh", "-c", "{c}"]' timeout=20s "${@:2}" training_spec: 'c = [' >sweep.toml
    while IFS= read -r line; do
        while [ "${line%\\}" != "$line" ] && IFS= read -r rest; do
            line=${line%\\}$rest
        done
        printf "'''%s''',\n" "$line"
    done >>sweep.toml
    echo ']' >>sweep.toml
}

regex_metric() { printf '[job.metrics.%s]\nregex = "%s: ([-+.0-9a-zA-Z]+)"\n' "$1" "$1"; }

# --- readers ---

# A database that is new may stand beside the directory of one that was removed.
metrics_file__of_another_database__is_nobodys()
{
    mkdir -p results.db.d/slots
    echo '{"v": 5}' >results.db.d/slots/attempt-1.metrics.jsonl
    job_lines '' <<<'echo nothing to report'
    run_silently 0
    expect_sql "ok|0" "SELECT state, (SELECT count(*) FROM metric) FROM job"
}

# As Lightning's CSVLogger and Keras' write them; a last row without line end is one if it has as many cells as others.
csv_file__a_column__samples_with_their_steps()
{
    job_lines '' job.metrics.train_loss: csv=train_loss file='logs/*/metrics.csv' take=last job.metrics.speed: \
        csv=it/s file=speed.csv job.metrics.absent: csv=absent file=speed.csv job.metrics.large: csv=large \
        file=large.csv <<'END'
cd $MESHSWEEP_JOB_DIR; mkdir -p logs/v0; \
printf 'epoch,step,train_loss,val_loss\n0,9,"2,500",\n0,19,,3.5\n1,29,"2.25",\n1,39,nan,\n2,4' >logs/v0/metrics.csv; \
printf '\357\273\277it/s ; step \r\n10.5;1\r\n\r\n12.5;2;99\r\n1,5;7\r\n1,500;7' >speed.csv; \
printf '\r\n1,234,567;8\r\nx;"a ""b"""\r\n 13.5;3\r\n14;4' >>speed.csv; \
{ echo large; yes 1 | head -c 20000000; } >large.csv
END
    run_silently 0
    expect_sql "9=2500.0;29=2.25;39=none" "SELECT group_concat(step || '=' || coalesce(value, 'none'), ';')
        FROM (SELECT * FROM metric WHERE name = 'train_loss' ORDER BY sequence)"
    expect_sql "10.5;12.5;1234567.0;13.5;14.0" \
        "SELECT group_concat(value, ';') FROM (SELECT value FROM metric WHERE name = 'speed' ORDER BY sequence)"
    expect_sql '0|numbers of which only a part is matched, as in "speed: 1 of 1,5": 2; JSON and CSV files over 16 '\
'MiB: 1' "SELECT count(*), (SELECT left_out FROM attempt)
        FROM summary WHERE name IN ('absent', 'large')"
    sed -i '/^file = "speed.csv"/d' sweep.toml
    expect_said only_stderr_contains 2 "csv needs file, because the job's output is not a table" check
}

# --- the objective ---

objective__ends_as_no_number__diverged_and_never_winning()
{
    job_lines 'objective = "max:v"' "$(regex_metric v)" <<'END'
echo v: nan
echo v: inf
echo v: -inf
echo v: 5
echo v: -7
echo v: 9; echo v: nan
echo v: inf; echo v: 1
END
    run_silently 3 --keep-going
    expect_sql "failed;failed;failed;ok;ok;failed;ok" \
        "SELECT group_concat(state, ';') FROM (SELECT state FROM job ORDER BY id)"
    expect_sql "none;none;none;5.0;-7.0;9.0;1.0" \
        "SELECT group_concat(coalesce(v, 'none'), ';') FROM (SELECT v FROM results ORDER BY job)"
    expect_sql "1;1;1;0;0;1;1" "SELECT group_concat(not_finite, ';') FROM (SELECT not_finite FROM results ORDER BY job)"
    expect_sql "diverged|v is not a finite number: 1 of 2 samples are NaN or infinite" \
        "SELECT failure, error FROM results WHERE job = 6"
    expect_sql "1|5.0|4
2|1.0|7
3|-7.0|5" "SELECT rank, v, job FROM ranking"
    expect_said only_stdout_contains 0 'highest v 5, job 4' best
    expect_run only_stdout 0 results --columns job,v --sort v --format json
    expect_sql "5 7 4 6 1 2 3|-7.0 1.0 5.0 9.0" "SELECT group_concat(value->>'job', ' '), group_concat(value->>'v', ' ')
        FROM json_each(cast(readfile('.stdout') AS TEXT))"
    expect_said only_stdout_contains 0 ',v,,' export --long
    # Asked for again, it runs again, and nothing else does.
    run_silently 3 --retry-failed=diverged
    expect_sql "1|2
2|2
3|2
4|1
5|1
6|2
7|1" "SELECT job_id, count(*) FROM attempt GROUP BY 1"
}

objective__computed_from_what_ends_as_no_number__diverged()
{
    job_lines 'objective = "max:rate"' "$(regex_metric v)
$(toml metrics.rate: expression='10 / v')" <<'END'
echo v: nan
echo v: 1; echo v: nan
echo v: nan; echo v: 2
END
    run_silently 3 --keep-going
    expect_sql "diverged;diverged;" "SELECT group_concat(failure, ';') || ';' FROM job"
    expect_said only_stdout_contains 0 'highest rate 5, job 3' best
}

# A unit belongs to a value.
not_finite__all_samples__no_unit_without_a_value()
{
    job_lines 'objective = "max:speed"' "$(regex_metric speed)
unit = \"samples/s\"" <<'END'
echo speed: nan
END
    run_silently 3
    expect_said only_stdout_contains 0 '  speed, samples 0, not_finite 1' show 1
}

# SQL and whoever reads the table compute with what is there.
not_finite__losses__unknown_in_every_view()
{
    job_lines '' <<'END'
printf '{"loss": %s}\n' 1 0.5 NaN >$MESHSWEEP_METRICS
END
    run_silently 0
    expect_sql "0.75|1.0|real,real,null" "SELECT avg(value), max(value), group_concat(typeof(value)) FROM metric"
    expect_sql "2|1|3|0.75|0.75" "SELECT count, not_finite, reported, value, mean FROM summary"
    run_meshsweep export --format jsonl
    expect_only_stdout_contains 0 '"loss":0.75,' '"not_finite":1,'
    expect_said only_stdout_contains 0 'samples 2, not_finite 1' show 1
    expect_run only_status 0 report
    expect "! grep -q '>NaN<' report.html"
}

nothing_but_not_a_number__no_winner_and_why()
{
    job_lines 'objective = "max:v"' "$(regex_metric v)" <<'END'
echo v: nan
echo v: inf
END
    run_silently 3
    expect_said only_stderr 3 'meshsweep: no job has succeeded: 2 failed (2 diverged), 0 running, 0 pending; see '\
'meshsweep status' best
    run_meshsweep status
    expect_only_stdout_contains 0 'no best: v: no job has succeeded yet' 'diverged'
}

# A job of very many steps: what is kept is even, what is not kept is said.
steps__a_million__thinned_and_said()
{
    job_lines 'objective = "min:loss"' job.metrics.loss: take=min <<<'awk -f steps.awk >$MESHSWEEP_METRICS'
    cat >steps.awk <<'END'
BEGIN { for (i = 0; i < 1e6; i++) printf "{\"step\": %d, \"loss\": %d, \"b\": 1}\n", i, i == 77777 ? -5 : 1 }
END
    sed -i 's/"20s"/"60s"/' sweep.toml
    run_silently 0
    expect_sql "-5.0|1000000|1000000" "SELECT value, count, reported FROM summary WHERE name = 'loss'"
    expect_sql "1|1|0|999999" \
        "SELECT count(*) <= 100001, count(*) > 50000, min(step), max(step) FROM metric WHERE name = 'loss'"
    expect_sql "1" "SELECT max(gap) = min(gap) FROM (SELECT step - lag(step) OVER (ORDER BY step) AS gap FROM metric
        WHERE name = 'loss' AND step < 999999)"
    # It is marked, and no summary lacks anything.
    expect_sql "1|1000000|1" "SELECT s.kept = (SELECT count(*) FROM metric AS m WHERE m.name = s.name), s.reported,
        a.left_out IS NULL AND a.message IS NULL FROM summary AS s, attempt AS a WHERE s.name = 'loss'"
    expect_said only_stdout_matches 0 ', kept [0-9]+, mean ' show 1
}

objective__missing__reported_with_what_there_is_instead()
{
    job_lines 'objective = "max:speed"' "$(regex_metric loss)" <<'END'
echo '{"sped": 3, "step": 1}' >"$MESHSWEEP_METRICS"; echo loss: 2
printf '%s\n' '{"speed": 3' 'speed 4' '' '{"speed": "fast"}' >"$MESHSWEEP_METRICS"
echo '{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}' >"$MESHSWEEP_METRICS"
END
    run_silently 3
    expect_sql "exit status 0, but the objective speed was not reported; it reported loss, sped
exit status 0, but the objective speed was not reported; lines of its metrics file that are not JSON objects: 2
exit status 0, but the objective speed was not reported; it reported a, b, c, d, e" \
        "SELECT message FROM attempt WHERE failure = 'no-metric' ORDER BY job_id"
}

# "1,234" is not 1: the expression is wrong, and what it reads is another number.
regex__part_of_a_number__no_sample_and_the_number_shown()
{
    job_lines 'objective = "max:tps"' job.metrics.tps: regex='tps: ([0-9]+)' <<'END'
echo tps: 1,234; echo tps: 2,345
echo tps: 987; echo tps: 1,234
END
    run_silently 3
    expect_sql "exit status 0, but the objective tps was not reported; only a part of a number is \
matched: tps: 1 of 1,234 (2)" "SELECT message FROM attempt WHERE failure = 'no-metric'"
    expect_sql '987.0|1|numbers of which only a part is matched, as in "tps: 1 of 1,234": 1' \
        "SELECT tps, partial, (SELECT left_out FROM attempt WHERE state = 'ok') FROM results WHERE tps IS NOT NULL"
}

objective__missing__is_a_failure_only_where_one_is_declared()
{
    job_lines 'objective = "min:latency"' "$(regex_metric latency)" <<'END'
echo nothing
echo latency: 4
echo latency: words
echo latency: 2; exit 3
END
    run_silently 3
    expect_sql "failed|no-metric|exit status 0, but the objective latency was not reported
ok||
failed|no-metric|exit status 0, but the objective latency was not reported
failed|exit|exit status 3: latency: 2" "SELECT state, failure, message FROM attempt ORDER BY job_id"
    # A job that failed has not won, whatever it measured.
    expect_sql "1|4.0|2" "SELECT rank, latency, job FROM ranking"
    expect_said only_stdout_contains 0 'lowest latency 4, job 2' best
    sed -i '/^objective/d' sweep.toml
    run_silently 3 -d other.db
    expect_sql "ok|ok|ok|failed" "SELECT group_concat(state, '|') FROM (SELECT state FROM attempt ORDER BY job_id)" \
        other.db
}

# Memory of three counters is three things.
memory__counter_and_rank__named_wherever_it_is_shown()
{
    job_lines '' "$(regex_metric peak)
unit = \"MiB\"
means = \"reserved-memory\"
rank = \"last\"" <<'END'
echo peak: 5
echo peak: 6
END
    run_silently 0
    expect_said only_stdout_contains 0 'peak (MiB reserved, rank last)' results
    expect_said only_stdout_contains 0 'peak  5 MiB reserved, rank last' show 1
    expect_said only_stdout_contains 0 ',peak,MiB,reserved,last,' export --long
    expect_run only_status 0 report
    expect_file_contains report.html 'MiB reserved, rank last'
    sed -i 's/reserved-memory/reservd-memory/' sweep.toml
    expect_said only_stderr_contains 2 'did you mean "reserved-memory"?' plan
}

# A metric of every attempt needs no table to be the objective, and has a unit; the job's own word goes before it.
objective__seen_from_outside__without_a_table()
{
    toml sweep: objective=duration job: command='["/bin/sh", "-c", "sleep 0.{x}; [ {x} != 3 ]"]' \
        training_spec: x=7,1,3,4 >sweep.toml
    run_silently 3
    expect_run only_status 0 best
    expect_stdout_matches '^lowest duration 0\.[1-6][0-9]* s, job 2 of sweep'
    expect_sql "1|exit|" "SELECT count(*), failure, duration FROM results WHERE state = 'failed'"
    expect_sql "s" "SELECT unit FROM metric_definition WHERE name = 'duration'"
    sed -i 's/^objective.*/objective = ["min:cpu_time", "min:max_rss"]/
        s/sleep 0/dd if=\/dev\/zero of=\/dev\/null bs=1 count=200000 2>\/dev\/null; sleep 0/' sweep.toml
    rm -rf results.db*
    run_silently 3
    # Both of its parts: what dd costs is the system's time.
    expect_sql "3|1" "SELECT sum(abs(c.value - (a.user_ms + a.system_ms) / 1000.0) < 0.0015), min(a.system_ms) > 2
        FROM attempt AS a JOIN summary AS c ON c.attempt_id = a.id AND c.name = 'cpu_time' WHERE a.state = 'ok'"
    expect_sql "3|3|3" "SELECT count(*), sum(cpu_time >= 0), sum(\"metric.max_rss\" > 100000) FROM results
        WHERE state = 'ok'"
    sed -i 's/^objective.*/objective = "min:duration"/; s/sleep.*3 \]/exec sh said.sh {x}/' sweep.toml
    echo 'echo "{\"duration\": $1}" >>"$MESHSWEEP_METRICS"' >said.sh
    rm -rf results.db*
    run_silently 0
    expect_sql "1.0|7.0" "SELECT min(duration), max(duration) FROM results"
}

# Neither a table nor a metric of the same name gives what is seen from outside another unit.
objective__seen_from_outside__in_its_own_unit()
{
    toml sweep: objective=max_rss job: command='echo rss {x}' job.metrics.max_rss: unit=MiB \
        training_spec: x=1,2 >sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:6:8: every attempt has a built-in metric "max_rss" in B; one'\
' in another unit needs another name' check -c sweep.toml
    # Nor does it give one to the column of its name.
    sed -i 's/^unit.*/unit = "bytes"/' sweep.toml
    run_silently 0
    expect_run among_stdout 0 results
    expect_stdout_matches ' metric\.max_rss \(bytes\)  duration_ms  *max_rss  error$'
}

# --- output ---

# More bytes than 32 bits count; a hole is as long as what is written out, and costs nothing.
output__of_gigabytes__bounded_and_said()
{
    truncate -s 5G probe 2>/dev/null || skip "no file of 5 GiB can be made here"
    rm probe
    job_lines 'objective = "max:v"' job.metrics.v: regex='"v: ([0-9.]+)"' take=max <<'END'
echo v: 3; truncate -s 5G /proc/self/fd/1; echo; echo v: 4; echo the end
echo v: 1
END
    run_silently 0
    expect_sql "4.0|5368709134|2
1.0|5|1" "SELECT v, log_bytes, (SELECT count(*) FROM metric WHERE attempt_id = attempt.id) FROM results
        JOIN attempt ON job_id = job ORDER BY job"
    expect_sql "1" "SELECT log_tail LIKE '%v: 4' || char(10) || 'the end' || char(10) AND length(log_tail) <= 4096
        FROM attempt WHERE log_bytes > 5"
    expect "[ \"\$(stat -c %s results.db.d/*/1/output.log | sort -n | tail -n 1)\" -lt 70000000 ]"
    expect "grep -aqE '[0-9]{10} bytes cut by meshsweep' results.db.d/*/1/output.log"
    expect "[ \"\$(ls -S results.db.d/*/1/output.log | head -n 1 | xargs head -qn 1)\" = 'v: 3' ]"
    expect "[ \"\$(ls -S results.db.d/*/1/output.log | head -n 1 | xargs tail -qn 1)\" = 'the end' ]"
    expect "[ \$(stat -c %s results.db) -lt 500000 ]"
}

# The failure says which file was not read; `file` reads it, by regex and by key, and not what the output says.
log_in_a_file__not_read__said_and_read_by_file()
{
    job_lines 'objective = "max:v"' "$(regex_metric v)" <<'END'
echo "v: 3" >{job_dir}/train.log; echo "saved model.bin"
echo "logs are in /tmp/runs/out.txt."
echo "nothing was logged"
END
    run_silently 3
    expect_sql "1|exit status 0, but the objective v was not reported; it may be in train.log, which is not read; \
if the job \
writes that file to {job_dir}, set file = \"train.log\" under [job.metrics.v]
2|exit status 0, but the objective v was not reported; it may be in out.txt, which is not read; if the job \
writes that file to {job_dir}, set file = \"out.txt\" under [job.metrics.v]
3|exit status 0, but the objective v was not reported" "SELECT job_id, message FROM attempt ORDER BY job_id"
    run_meshsweep why 3
    expect_only_stdout_contains 0 'numbers are read from the output, or from the file in {job_dir} that `file` under'
    printf '[job.metrics.w]\nfile = "train.log"\nkey = "w"\n' >>sweep.toml
    expect_run only_status 3 run --progress none -d w.db
    expect_sql 1 "SELECT count(*) FROM attempt WHERE message LIKE '%which is not read%'" w.db
    rm -r results.db*
    job_lines 'objective = "max:v"' "$(regex_metric v)
file = \"tr*.log\"
take = \"max\"
[job.metrics.speed]
key = \"speed\"
file = \"train.log\"
unit = \"ms\"" <<'END'
printf "v: 3\nspeed: 2 s\nv: 4\n" >$MESHSWEEP_JOB_DIR/train.log; echo v: 9; echo speed: 7 s
END
    run_silently 0
    expect_sql "4.0|2000.0|2" "SELECT v, speed, (SELECT count(*) FROM metric WHERE name = 'v') FROM results"
}

# A pattern means what the job wrote itself, not its output, which is still written to when its own files are closed.
file__a_pattern_that_what_was_captured_matches__the_jobs_own()
{
    job_lines "" separate_streams=true job.metrics.v: regex='v: ([0-9.]+)' file='*.log' job.metrics.w: jsonl=w \
        file='*.jsonl' job.metrics.deep: regex='v: ([0-9.]+)' file='*/output.log' job.metrics.named: \
        regex='v: ([0-9.]+)' file=stdout.log <<'END'
cd $MESHSWEEP_JOB_DIR; echo "v: 3" >train.log; echo '{"w": 4}' >w.jsonl; mkdir own; echo "v: 5" >own/output.log; \
sleep 0.05; echo "v: 9"; echo "v: 8" >&2; echo '{"x": 7}' >>$MESHSWEEP_METRICS
END
    run_silently 0
    expect_sql "3.0|4.0|5.0|9.0" "SELECT v, w, deep, named FROM results"
}

output__binary__does_no_harm()
{
    job_lines 'objective = "max:v"' "$(regex_metric v)" <<'END'
head -c 200000 /dev/urandom; printf 'a\0b\377\376\n'; echo v: 6; printf '\377\0\376'
printf '\377\376 CUDA out of memory \0\n'; exit 1
END
    run_silently 3
    expect_sql "6.0" "SELECT v FROM results WHERE state = 'ok'"
    expect_sql 0 "SELECT count(*) FROM attempt WHERE instr(log_tail, char(0)) OR instr(message, char(0))"
    expect_run only_stdout 0 status --json
    expect "iconv -f UTF-8 -t UTF-8 .stdout >/dev/null" "cp .stdout status.json"
    expect_sql 1 "SELECT json_valid(cast(readfile('status.json') AS TEXT))"
    expect_run only_stdout 0 export
    expect "iconv -f UTF-8 -t UTF-8 .stdout >/dev/null"
}

# Jobs are ok without it, so that it would be missed when all are done.
metric__that_no_job_reports__told_while_jobs_are_left()
{
    toml sweep: objective=max:speed job: \
        command='["sh", "-c", "echo speed {x}; echo '\''{{\"val\": 1}'\''; [ {x} -lt 5 ] || echo loss nan"]' \
        job.metrics.speed: regex='"speed ([0-9]+)"' job.metrics.loss: regex='"loss ([0-9]+|nan)"' \
        job.metrics.own: unit=s training_spec: x=1,2,3,4,5 >sweep.toml
    run_meshsweep run
    expect_only_stderr_contains 0 'sweep.toml:7: 3 jobs succeeded and reported no loss; see what the output has'
    # A metric that a job may write itself is not read by the file.
    expect '[ "$(grep -c "reported no" .stderr)" = 1 ]'
    expect '[ "$(grep -n "reported no loss" .stderr | cut -d: -f1)" -lt "$(grep -n "^ok.*x=5" .stderr | cut -d: -f1)" ]'
    # Whose loss is none may be the best; that is told with it.
    expect_said only_stdout_contains 0 'warning: 1 of 1 samples of its loss are NaN or infinite' best
    sed -i 's/^x = .*/x = [6]/' sweep.toml
    expect_run only_stderr 0 run
    expect_stderr_lacks 'reported no loss'
}

# A document is not a line.
objective__json_where_lines_are_json__names_jsonl()
{
    toml sweep: objective=max:speed job: command='["sh", "-c", "echo begin; echo '\''{{\"speed\": {x}}'\''"]' \
        job.metrics.speed: json=speed training_spec: x=7 >sweep.toml
    expect_run only_status 3 run
    expect_sql 'exit status 0, but the objective speed was not reported; the output has lines of JSON, which `jsonl` '\
'reads; `json` reads one whole document' "SELECT message FROM attempt"
    sed -i 's/^json/jsonl/' sweep.toml
    expect_run only_status 0 run --retry-failed
    expect_sql 7.0 "SELECT speed FROM results"
}

run_cases "$@"
