#!/usr/bin/env bash
# Metrics that are SQL over others ([metrics.NAME]), and conditions on what was measured ([sweep] subject_to).
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# A training script that prints what many print; the first step is slow.
trainer()
{
    cat >train.sh <<'END'
echo "iter 0: loss 4.0000, time 900.00ms, mfu -100.00%"
for i in 1 2 3 4; do echo "iter ${i}0: loss 3.$i, time $((20 + 5 * $1)).00ms, mfu 1.2%"; done
echo "peak memory: $(($1 * 10)).5 GiB"
echo run >>../runs
END
    mkdir -p work
    toml sweep: objective=tokens_per_second job: command='["/bin/sh", "../train.sh", "{micro_batch}", "{seq}"]' \
        cwd=work job.metrics.iter_ms: regex='time ([0-9.]+)ms' unit=ms warmup=1 \
        job.metrics.peak_memory: regex='peak memory: ([0-9.]+) GiB' unit=GiB \
        metrics.tokens_per_second: expression='1000.0 * micro_batch * seq / iter_ms' unit=tokens/s better=max \
        training_spec: seq=100 parallel_spec: micro_batch=1,2,4,8 >sweep.toml
}

run_quietly() { expect_run silent 0 run -j 1 --progress none; }

# The trainer's sweep with conditions.
trainer_under() # CONDITIONS
{
    trainer
    sed -i "s|^objective = .*|&\\nsubject_to = $1|" sweep.toml
}

derived__of_samples_that_are_not_finite__counted_once()
{
    toml job: command='["printf", "ms: %s\\n", "20", "nan", "40"]' job.metrics.ms: key=ms \
        metrics.rate: expression='1000.0 / ms' metrics.twice: expression='2 * rate' >sweep.toml
    run_quietly
    expect_sql "1|30.0|37.5|1" "SELECT not_finite, ms, rate, (SELECT not_finite FROM summary WHERE name = 'rate')
        FROM results"
}

derived__of_samples__objective_per_step()
{
    trainer
    run_quietly
    expect_sql "1|4000.0|4|0.0
2|6666.66666666667|4|0.0
3|10000.0|4|0.0
4|13333.3333333333|4|0.0" "SELECT j.id, s.value, s.count, s.stddev FROM job AS j JOIN summary AS s
        ON s.attempt_id = j.attempt_id WHERE s.name = 'tokens_per_second' ORDER BY 1"
    expect_sql 4 "SELECT job FROM ranking LIMIT 1"
    expect_said only_stdout_contains 0 '"unit":	"tokens/s"' best --json
    expect_stdout_matches '"value":	13333\.3'
    run_meshsweep results --columns micro_batch,tokens_per_second --where "job = 4" --format csv
    expect_only_stdout_contains 0 "8,13333.333333333334"
}

derived__added_when_all_is_done__no_job_runs()
{
    trainer
    sed -i 's/^objective = .*/objective = "min:iter_ms"/; /^\[metrics/,/^better/d' sweep.toml
    run_quietly
    expect_sql 1 "SELECT job FROM ranking LIMIT 1"
    trainer
    run_quietly
    expect "[ \$(wc -l <runs) = 4 ]"
    expect_sql 4 "SELECT job FROM ranking LIMIT 1"
    expect_sql 4 "SELECT count(DISTINCT key) FROM job"
    # Another expression of the same name takes the place of the first; a name that is gone takes its values along.
    sed -i 's/1000.0 \* micro/2000.0 * micro/' sweep.toml
    run_quietly
    expect_sql 8000.0 "SELECT value FROM summary WHERE name = 'tokens_per_second' AND attempt_id = 1"
    sed -i 's/tokens_per_second/seqs/' sweep.toml
    run_quietly
    expect_sql "iter_ms
peak_memory
seqs" "SELECT DISTINCT name FROM summary ORDER BY 1"
    expect_sql 0 "SELECT count(*) FROM metric_definition WHERE name = 'tokens_per_second'"
    expect "[ \$(wc -l <runs) = 4 ]"
}

derived__of_what_every_attempt_has__known()
{
    trainer
    echo 'dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null' >>train.sh
    toml metrics.attempts_of_it: expression='attempts * gpus' metrics.rate: \
        expression='"tokens_per_second / gpus + 0 * (duration + cpu_time + max_rss)"' \
        metrics.worked_ms: expression='1000 * cpu_time' metrics.took_ms: expression='1000 * duration' \
        metrics.kept: expression=max_rss >>sweep.toml
    run_quietly
    # As the attempt's own columns have them.
    expect_sql "worked_ms|1
took_ms|1
kept|1" "SELECT s.name, min(abs(s.value - CASE s.name WHEN 'worked_ms' THEN a.user_ms + a.system_ms
            WHEN 'took_ms' THEN a.duration_ms ELSE a.max_rss END) < 0.001)
        FROM summary AS s JOIN attempt AS a ON a.id = s.attempt_id WHERE s.name IN ('worked_ms', 'took_ms', 'kept')
        GROUP BY 1 ORDER BY 1 DESC"
    expect_sql "1.0|1.0" "SELECT min(value), max(value) FROM summary WHERE name = 'attempts_of_it'"
    expect_sql "4000.0|13333.3333333333" "SELECT min(value), max(value) FROM summary WHERE name = 'rate'"
}

derived__divides_by_zero_or_lacks_an_input__null_with_the_reason()
{
    trainer
    toml metrics.broken: expression='"iter_ms / (micro_batch - 1)"' metrics.by_nothing: expression='iter_ms / gone' \
        metrics.by_zero: expression='1 / zero' job.metrics.gone: regex='nobody prints ([0-9])' \
        job.metrics.zero: regex='iter (0): ' >>sweep.toml
    expect_said only_stderr_contains 0 '3 jobs succeeded and reported no gone' run -j 1 --progress none
    expect_sql "1|broken||it is NULL: a division by zero, or a key that this job lacks
1|by_nothing||gone was not reported
1|by_zero||division by zero: zero is 0" \
        "SELECT attempt_id, name, value, note FROM summary WHERE attempt_id = 1 AND note IS NOT NULL"
    expect_said only_stdout_contains 0 '  by_zero  none: division by zero: zero is 0' show 1
}

derived__objective_lacks_an_input__failure_names_it()
{
    trainer
    sed -i "s/time (/tume (/" sweep.toml
    expect_run only_stderr 3 run -j 1 --progress none --keep-going
    expect_sql "no-metric" "SELECT DISTINCT failure FROM attempt"
    expect_sql "exit status 0, but the objective tokens_per_second (computed from iter_ms) was not reported;\
 it reported peak_memory" "SELECT DISTINCT substr(message, 1, instr(message, '; this line nearly matches: ') - 1)
        FROM attempt"
    # What measured nothing is no measurement of a part.
    sed -i "s/peak memory: (/pick memory: (/" sweep.toml
    expect_run only_stderr 3 run -j 1 --progress none --keep-going --retry-failed
    expect_sql "|" "SELECT DISTINCT partial, not_finite FROM results"
}

derived__samples_of_different_steps__of_the_summaries_and_said()
{
    trainer
    toml job.metrics.first: regex='iter 0: loss ([0-9.]+)' metrics.mixed: expression='iter_ms + first' >>sweep.toml
    run_quietly
    expect_sql "29.0|of the summaries: iter_ms and first were reported at different steps" \
        "SELECT value, note FROM summary WHERE name = 'mixed' AND attempt_id = 1"
}

check_says() # TEXT, of the expression in $2
{
    trainer
    sed -i "s|^expression = .*|expression = \"$2\"|" sweep.toml
    expect_said only_stderr 2 "meshsweep: sweep.toml:14:14: metric \`tokens_per_second\`: $1" check sweep.toml
}

# The median of the ratios is 50 where the ratio of median and maximum is 1.
derived__read_by_another_or_a_condition__with_its_own_value()
{
    toml sweep: objective=max:ratio subject_to='ratio >= 10' job: command='printf "a=%s b=%s\\n" 1 {v} 100 2 100 2' \
        job.metrics.a: regex='a=([0-9]+)' job.metrics.b: regex='b=([0-9]+)' take=max \
        metrics.ratio: expression='a / b' better=max metrics.double: expression='2 * ratio' take=min \
        metrics.beside: expression='ratio + 0 * max_rss' parallel_spec: v=100,1 >sweep.toml
    run_quietly
    expect_sql "1|50.0|0.02|50.0
2|50.0|2.0|50.0" "SELECT job, ratio, double, beside FROM results"
    expect_sql "" "SELECT * FROM breach"
    sed -i 's/ >= 10/ >= 51/' sweep.toml
    run_quietly
    expect_sql "1|50.0|51.0
2|50.0|51.0" "SELECT attempt_id, value, bound FROM breach"
    sed -i 's|"a / b"|"a / c"|' sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:12:14: metric `ratio`: unknown metric or key `c`; for a metric'\
' that jobs write to $MESHSWEEP_METRICS, add a table [job.metrics.NAME]' check sweep.toml
}

derived__wrong_expression__told_at_check_with_its_place()
{
    check_says "unknown metric or key \`iter_mss\` (did you mean \`iter_ms\`?)" "1 / iter_mss"
    check_says "unknown metric or key \`micro_bach\` (did you mean \`micro_batch\`?)" "micro_bach / iter_ms"
    check_says "unknown metric or key \`metric.iter_m\` (did you mean \`metric.iter_ms\`?)" "metric.iter_m"
    check_says "the function load_extension is not allowed here" "load_extension('x')"
    check_says "a subquery is not allowed here" "(SELECT 1)"
    check_says "metric \`tokens_per_second\` is defined later (an expression can use only metrics defined above it)" \
        "tokens_per_second + 1"
    trainer
    sed -i 's/^micro_batch = /iter_ms = 2\n&/' sweep.toml
    expect_run only_stderr 2 check sweep.toml
    expect_stderr_contains "\`iter_ms\` is a key and a metric (write metric.iter_ms for the metric, SECTION.iter_ms"
    sed -i 's|/ iter_ms|/ metric.iter_ms|' sweep.toml
    expect_run only_stdout 0 check sweep.toml
    trainer
    echo '[metrics.iter_ms]' >>sweep.toml
    echo 'expression = "1"' >>sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:21:1: "iter_ms" is given twice (first on line 6)' check sweep.toml
}

derived__imported_table__computed_without_a_run()
{
    printf 'mb,ms,gib\n1,25,10\n4,40,42\n8,60,84\n2,0,21\n' >table.csv
    toml sweep: objective=max:rate subject_to='gib < 80' import.metrics: ms=ms gib=gib \
        import.parallel_spec: micro_batch=mb metrics.rate: expression='1000.0 * micro_batch / ms' >sweep.toml
    expect_run only_status 0 import -c sweep.toml table.csv
    expect_sql "2|100.0" "SELECT job, rate FROM ranking LIMIT 1"
    expect_sql "division by zero: ms is 0" "SELECT note FROM summary WHERE note IS NOT NULL"
    sed -i 's/"gib < 80"/"gib < 90"/' sweep.toml
    expect_run only_status 0 replay -c sweep.toml --strategy grid --json
    expect_stdout_matches '"infeasible":	0'
}

objective__divides_by_zero_in_all_jobs__said_by_best()
{
    toml sweep: objective=max:ratio job: command='["sh", "-c", "echo a 1; echo b 0"]' \
        job.metrics.a: regex='a ([0-9]+)' job.metrics.b: regex='b ([0-9]+)' \
        metrics.ratio: expression='a / b' parallel_spec: x=1,2 >sweep.toml
    run_quietly
    expect_said only_stderr 3 'meshsweep: there is no best job: 2 are ok, but none has a value of ratio: division by '\
'zero: b is 0' best
    expect_said only_stderr_contains 4 'no job that succeeded has a value of ratio, so there is nothing to find' replay
}

condition__keeps_the_fastest_out__cannot_win_and_binds()
{
    trainer_under '["peak_memory <= 45056 MiB", "iter_ms < 1 s"]'
    run_quietly
    expect_sql "4|0|80.5|44.0" "SELECT attempt_id, position, value, bound FROM breach"
    expect_sql 3 "SELECT job FROM ranking LIMIT 1"
    expect_sql 4 "SELECT count(*) FROM results WHERE state = 'ok'"
    expect_said only_stdout_contains 0 'highest tokens_per_second 10000 tokens/s, job 3 of sweep sweep' best
    expect_stdout_contains 'peak_memory <= 45056 MiB: binds, excludes 1 better job, the best of them job 4 with 133'
    expect_stdout_contains ' (80.5, the bound is 44)' '  iter_ms < 1 s: not binding, every job meets it'
    run_meshsweep status
    expect_only_stdout_contains 0 'bound by peak_memory <= 45056 MiB, which excludes 1 better job (see meshsweep best)'
    expect_said among_stdout 0 '"infeasible":	1' replay --strategy model --seeds 3 --json
}

# Each job looked at for each job would take minutes.
condition__met_by_none_of_20000__told_at_once()
{
    many_jobs 20000 0 "INSERT INTO subject_to VALUES (0, 'peak_memory < 1', 'memory')" \
        "INSERT INTO breach SELECT id, 0, 5, 1, 4, NULL FROM attempt WHERE state = 'ok'"
    expect_command only_stderr 3 timeout 40 "$meshsweep" best
    expect_stderr_contains 'no job meets all conditions of [sweep] subject_to; the nearest is job 100: peak_memory '\
'< 1 is missed'
}

condition__not_met_in_a_search__not_called_failed()
{
    trainer_under '"peak_memory <= 8 GiB"'
    expect_said only_stderr_contains 3 'search: 3 trials, 0 ok, 0 stopped early, 0 failed, 3 that do not meet [sweep] '\
'subject_to' run --strategy random --max-trials 3 --progress none
    expect_stderr_contains 'there is no best job: no job meets all conditions of [sweep] subject_to; the nearest is '\
'job '
    expect_said only_stdout_contains 0 'search by random: 3 trials, 0 ok, 0 stopped early, 0 failed, 3 that do not '\
'meet [sweep] subject_to; ended: ' status
    expect_run only_status 0 report
    expect_file_contains report.html '0 failed, 3 that do not meet [sweep] subject_to. It ended: '
}

condition__met_by_what_has_no_objective__said_so()
{
    trainer_under '"peak_memory <= 44 GiB"'
    run_quietly
    sed -i 's|^expression.*|expression = "peak_memory / (iter_ms - iter_ms)"|' sweep.toml
    run_quietly
    expect_run only_stderr 3 best
    expect_stderr_contains 'best job: 4 are ok, but none that meets [sweep] subject_to has a value of tokens_per_second'
    expect_said only_stdout_contains 0 'no best: tokens_per_second has no value in any job that succeeded' status
}

condition__met_by_none__nearest_miss_and_status_3()
{
    trainer_under '"peak_memory <= 8 GiB"'
    run_quietly
    expect_said only_stderr_contains 3 'meshsweep: there is no best job: no job meets all conditions of [sweep] '\
'subject_to; the nearest is job 1: ' best
    expect_stderr_contains ': peak_memory <= 8 GiB is missed by 31 % (10.5, the bound is 8)'
    run_meshsweep status
    expect_only_stdout_contains 3 'no best: no job meets all conditions of [sweep] subject_to; the nearest is job 1'
    expect_run only_stderr 4 replay
    expect_stderr_contains 'meets [sweep] subject_to, so there is nothing to find (meshsweep best names the nearest)'
    expect_said only_stderr_contains 3 'job 1: peak_memory <= .5 GiB is missed: 2' best \
        --subject-to 'peak_memory <= .5 GiB'
    # By far: in times, not in a power of ten of per cent.
    sed -i 's/^subject_to.*/subject_to = "peak_memory <= 1 MiB"/' sweep.toml
    run_quietly
    expect_said only_stderr_contains 3 ': peak_memory <= 1 MiB is missed: 11,000 times the bound (' best
    # Without it, the jobs that ran may win.
    sed -i '/^subject_to/d' sweep.toml
    run_quietly
    expect_sql 4 "SELECT job FROM ranking LIMIT 1"
    expect "[ \$(wc -l <runs) = 4 ]"
}

condition__metric_was_not_reported__cannot_be_told()
{
    trainer_under '"gone < 5"'
    printf '[job.metrics.gone]\nregex = "nobody prints ([0-9])"\n' >>sweep.toml
    expect_said only_stderr_contains 0 '3 jobs succeeded and reported no gone' run -j 1 --progress none
    expect_said only_stderr_contains 3 'the nearest is job 1: gone < 5 unknown: gone was not reported' best
}

condition__search__infeasible_is_a_failed_trial()
{
    for strategy in model random binary; do
        rm -rf results.db* runs
        trainer_under '"peak_memory <= 44 GiB"'
        expect_run only_stderr 0 run -j 1 --progress none --strategy "$strategy"
        expect_sql "4|failed|infeasible-memory" \
            "SELECT DISTINCT job_id, outcome, failure FROM trial WHERE outcome <> 'ok'"
        expect_sql 3 "SELECT job FROM ranking LIMIT 1"
    done
}

condition__wrong__told_at_check_with_its_place()
{
    for condition in "peak_memory <= 70 Gib" "peak_memory <= 70 s" "micro_batch < 4" "peak_mem < 70"; do
        trainer_under "[\"iter_ms < 1\", \"$condition\"]"
        expect_said only_stderr_contains 2 "sweep.toml:3:30: subject_to \`$condition\`: " check sweep.toml
    done
}

own_metric__attempts_as_objective__counted()
{
    trainer
    sed -i 's/^objective = .*/objective = "min:attempts"/' sweep.toml
    run_quietly
    expect_sql "4|1.0" "SELECT count(*), max(value) FROM summary WHERE name = 'attempts'"
}

# Steps of two metrics, 50 ms each; the larger micro-batch comes first, takes longer for one, and gives more a second.
racing_sweep() # EXPRESSION
{
    cat >race.sh <<'END'
steps=3
[ "$1" -eq 8 ] || steps=1000
for _ in $(seq "$steps"); do
    echo "compute $((10 + $1))"
    sleep 0.05
    echo "wait 2"
done
END
    toml sweep: objective=max:rate job: command='["/bin/sh", "race.sh", "{micro_batch}"]' \
        job.metrics.compute: regex='compute ([0-9]+)' warmup=1 job.metrics.waits: regex='wait ([0-9]+)' \
        metrics.total: expression='compute + waits' metrics.rate: "expression = \"$1\"" \
        search: strategy=grid racing=true \
        parallel_spec: micro_batch=8,1 >sweep.toml
}

derived__raced__ended_early_by_what_each_step_comes_to()
{
    racing_sweep "1000.0 * micro_batch / total"
    expect_run only_stdout 0 check
    expect_said only_stderr_contains 0 "search: 2 trials, 1 ok, 1 stopped early, 0 failed" run --progress none
    expect_sql "8|ok|400.0|
1|stopped|76.9|1" "SELECT r.micro_batch, t.outcome, round(t.objective, 1), t.steps > 5 AND t.steps < 1000
        FROM trial AS t JOIN results AS r ON r.job = t.job_id ORDER BY t.id"
    expect_sql "1|400.0" "SELECT count(*), max(rate) FROM ranking"
}

# The other way round it is the better one: of what it reads alone one would say so of neither.
derived__better_than_the_best__goes_on()
{
    racing_sweep "1000.0 / micro_batch / (compute + waits)"
    sed -i 's/1000$/30/' race.sh
    expect_said only_stderr_contains 0 "search: 2 trials, 2 ok, 0 stopped early, 0 failed" run --progress none
}

derived__of_what_is_known_at_the_end__not_ended_early()
{
    racing_sweep "micro_batch / (compute + waits) + 0 * duration"
    sed -i 's/1000$/30/' race.sh
    expect_run only_status 0 check
    expect_stderr 'meshsweep: sweep.toml: [search] racing cannot end a job early: rate is computed from duration, '\
'which is known only once a job has ended'
    expect_said only_stderr_contains 0 "search: 2 trials, 2 ok, 0 stopped early, 0 failed" run --progress none
}

run_cases "$@"
