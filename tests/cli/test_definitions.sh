#!/usr/bin/env bash
# A number carries how it was read: what changes of a metric's definition do to what was measured before, and what
# several attempts of a job come to.
#
# Changes at random by a seed (SEED=N): 15 of them; 200 under MESHSWEEP_FULL.
. "${0%/*}/lib.sh"

changes=15
[ -z "${MESHSWEEP_FULL-}" ] || CASE_SECONDS=600 changes=200

# Jobs x = 1, 2 print a first step that is slow, then three that are alike.
step_sweep() # VALUES-OF-X WORD-OF-METRIC...
{
    toml sweep: name=steps objective=min:t job: command='sh ../steps.sh {x}' cwd=work job_dir=true \
        job.metrics.t: "${@:2}" parallel_spec: "x = [$1]" >s.toml
    mkdir -p work
    cat >steps.sh <<'END'
for i in 900 100 100 100; do echo "step $i ms total ${i}0 ms"; done
echo '{"deep": [{"t": 7}]}' >"$MESHSWEEP_JOB_DIR/o.json"
printf 'n,t\n1,5\n2,6\n' >"$MESHSWEEP_JOB_DIR/o.csv"
END
}

# The present sweep file, run again: what is said of a metric whose definition has changed.
expect_renewed() # METRIC TEXT [ARGS]
{
    expect_said only_stderr 0 "meshsweep: $1: its definition has changed; $2" run --progress none -c s.toml "${@:3}"
}

# Another definition of t for the same jobs: what is said, and the values.
expect_changed() # TEXT VALUES VALUES-OF-X WORD-OF-METRIC...
{
    step_sweep "${@:3}"
    expect_renewed t "$1"
    expect_values "$2"
}

# The sweep is run, and has nothing to say.
measured() # VALUES-OF-X WORD-OF-METRIC...
{
    step_sweep "$@"
    run_silently 0 -c s.toml
}

values() # [DATABASE]
{
    sql "SELECT group_concat(x || ':' || coalesce(round(t, 6), 'none'), ' ')
        FROM (SELECT * FROM results ORDER BY x)" "${1-results.db}"
}

expect_values() # TEXT [DATABASE]
{
    local got
    got=$(values "${2-results.db}")
    [ "$got" = "$1" ] || fail "expected the values $1, got $got"
}

regex="regex = 'step ([0-9]+) ms'"

# Each changes one thing; jobs that print the same have the same number, whichever way it was read first.
changed_definition__jobs_that_print_the_same__have_the_same_number()
{
    measured 1,2 "$regex" take=mean
    expect_values "1:300.0 2:300.0"
    mkdir first && mv results.db* first/
    while IFS='|' read -r change value said; do
        rm -rf results.db*
        cp -r first/. .
        expect_changed "$said of 2 runs" "1:$value 2:$value 3:$value" 1,2,3 "$(printf '%b' "$change")"
        # A second time there is nothing to do, and nothing to say.
        run_silently 0 -c s.toml
        expect_said only_stdout_contains 0 "lowest t ${value%.0}" best
    done <<'END'
regex = 'step ([0-9]+) ms'\ntake = "mean"\nwarmup = 1|100.0|made anew from the samples
regex = 'step ([0-9]+) ms'\ntake = "max"|900.0|made anew from the samples
regex = 'step ([0-9]+) ms'\ntake = "last"|100.0|made anew from the samples
regex = 'step ([0-9]+) ms'\ntake = "mean"\nscale = 8|2400.0|read again from the output
regex = 'total ([0-9]+) ms'\ntake = "mean"|3000.0|read again from the output
regex = 'step ([0-9]+) (ms)'\nwritten_unit = true\nunit = "s"\ntake = "mean"|0.3|read again from the output
regex = 'step ([0-9]+) ms total ([0-9]+)'\nsum = true\ntake = "mean"|3300.0|read again from the output
json = "deep.0.t"\nfile = "o.json"\ntake = "mean"|7.0|read again from the output
csv = "t"\nfile = "o.csv"\ntake = "mean"|5.5|read again from the output
END
}

# These keys say nothing of how the number is read or taken. Where the text has no unit, another one says of the same
# text what the next job's number will be in, too.
unit_or_other_keys__changed__as_the_next_job_is_read()
{
    measured 1,2 "$regex"
    for change in 'better = "min"' 'means = "step-time"' 'unit = "ms"'; do
        measured 1,2 "$regex" "$change"
        expect_values "1:100.0 2:100.0"
    done
    expect_changed "read again from the output of 2 runs, in s instead of ms" "1:100.0 2:100.0 3:100.0" \
        1,2,3 "$regex" unit=s
    expect_sql "900.0|100.0|s" "SELECT max(value), min(value), (SELECT unit FROM metric_definition) FROM metric"
    expect_changed "read again from the output of 3 runs, in tokens/s instead of s" "1:100.0 2:100.0 3:100.0" \
        1,2,3 "$regex" unit=tokens/s
    # Where the output is gone nothing tells whether the old unit was meant or the new one.
    mv results.db.d kept
    step_sweep 1,2,3 "$regex" unit=ms
    run_ended 0 -c s.toml
    expect_stderr_contains "left out, of 3 runs: it was read in another way, and its output "
    expect_values "1:none 2:none 3:none"
    cp -r kept/. results.db.d/
    expect_renewed t "read again from the output of 3 runs, in ms instead of tokens/s"
    expect_values "1:100.0 2:100.0 3:100.0"
}

# What a text says of its unit is converted, also from samples.
unit__of_a_reader_of_units__converted()
{
    unit_sweep()
    {
        toml sweep: objective=min:t job: command='echo "t: 900 ms"; : {x}' job.metrics.t: key=t unit="$1" \
            parallel_spec: "x = [$2]" >s.toml
    }
    unit_sweep ms 1,2
    run_silently 0 -c s.toml
    rm -r results.db.d/"$(sql "SELECT directory FROM attempt WHERE id = 1")"
    unit_sweep s 1,2,3
    expect_renewed t "made anew from the samples of 1 run, in s instead of ms; read again from the output of 1 run, \
in s instead of ms"
    expect_values "1:0.9 2:0.9 3:0.9"
    unit_sweep tokens/s 1,2
    run_ended 0 -c s.toml
    expect_stderr_contains "left out, of 2 runs: it was measured in s, which cannot be converted to tokens/s"
    # Nothing is lost: the samples are there for the next change of mind.
    unit_sweep ms 1,2
    run_ended 0 -c s.toml
    expect_values "1:900.0 2:900.0 3:900.0"
}

# Whoever changes a scale says what unit comes of it: the text has none.
scale_and_unit__changed_at_once__the_same_from_output_and_samples()
{
    measured 1,2 "$regex" unit=ms
    cp results.db a.db
    rm -r results.db.d/"$(sql "SELECT directory FROM attempt WHERE id = 1")"
    expect_changed "made anew from the samples of 1 run; read again from the output of 1 run" "1:0.1 2:0.1" \
        1,2 "$regex" unit=s scale=0.001
    step_sweep 3 "$regex" unit=s scale=0.001
    run_silently 0 -c s.toml -d b.db
    expect_run only_status 0 merge a.db b.db -o all.db
    expect_values "1:0.1 2:0.1 3:0.1" all.db
    step_sweep 2 regex='total ([0-9]+) ms' unit=tokens
    expect_renewed t "read again from the output of 1 run"
    expect_sql 1000.0 "SELECT t FROM results WHERE x = 2"
}

unit__taken_out_of_the_file__stays_what_it_was()
{
    measured 1,2 "$regex" unit=s
    measured 1,2,3 "$regex"
    expect_sql s "SELECT unit FROM metric_definition"
    expect_changed "read again from the output of 3 runs, in ms instead of s" \
        "1:100.0 2:100.0 3:100.0" 1,2,3 "$regex" unit=ms
    # The number was right and its label was not: the page on the database has the line.
    rm -rf results.db*
    measured 1,2 "$regex" unit=ms
    sql "UPDATE definition SET unit = 's' WHERE name = 't'"
    measured 1,2 "$regex" unit=s
    expect_values "1:100.0 2:100.0"
    expect_sql s "SELECT unit FROM metric_definition"
}

# Neither a table nor a job of another sweep file is brought under a unit that its own text was not read in.
unit__changed_for_runs_and_tables__the_same_in_either_order()
{
    both_sweep()
    {
        toml sweep: objective=min:t job: command='echo "t {x}00"' job.metrics.t: regex='t ([0-9]+)' unit="$1" \
            parallel_spec: "x = [1, 2, 3]" import.parallel_spec: x=x import.metrics: t=t >s.toml
    }
    printf 'x,t\n1,110\n2,210\n' >t.csv
    both_sweep ms
    expect_run only_status 0 import -c s.toml t.csv
    run_silently 0 -c s.toml
    cp results.db other.db
    cp -r results.db.d other.db.d
    both_sweep s
    expect_renewed t "read again from the output of 1 run, in s instead of ms; left out, of 2 runs: its table was \
imported as \`t\` in ms; import the table again"
    expect_values "1:none 2:none 3:300.0"
    expect_run only_status 0 import -c s.toml t.csv
    expect_values "1:110.0 2:210.0 3:300.0"
    expect_run only_status 0 import -c s.toml t.csv -d other.db
    expect_values "1:110.0 2:210.0 3:none" other.db
    expect_renewed t "read again from the output of 1 run, in s instead of ms" -d other.db
    expect_values "1:110.0 2:210.0 3:300.0" other.db
}

# A reader that looks at the unit beside a number cannot do so without one to convert it to.
unit__taken_from_a_reader_of_units__output_read_again()
{
    step_sweep 1 key=t unit=s
    sed -i 's/^command.*/command = ["echo", "t: 900 ms", "{x}"]/' s.toml
    run_silently 0 -c s.toml
    expect_values "1:0.9"
    sed -i '/^unit/d' s.toml
    expect_renewed t "left out, of 1 run: it was read in another way, and the present reader finds nothing in its \
output"
    expect_values "1:none"
}

reader__changed_and_the_output_is_gone__left_out_with_the_reason()
{
    measured 1,2 "$regex"
    mv results.db.d kept
    step_sweep 1,2,3 regex='total ([0-9]+) ms'
    run_ended 0 -c s.toml
    expect_stderr_contains "meshsweep: t: its definition has changed; left out, of 2 runs: it was read in another way, \
and its output "
    expect_stderr_contains "/output.log is gone"
    expect_values "1:none 2:none 3:1000.0"
    expect_each only_stdout_contains 0 <<'END'
best|not compared: 2 ok jobs without a number: it was read in another way, and its output 
status|not compared: 2 ok jobs without a number: it was read in another way, and its output 
compare --by x|not compared: 2 ok jobs without a number: it was read in another way, and its output 
END
    expect_run only_stderr 0 report -o report.html
    expect_file_contains report.html "not compared: 2 ok jobs without a number: it was read in another way"
    expect_said only_stdout_contains 0 '"unranked_jobs":	2' best --json
    # It is read as soon as it is there.
    cp -r kept/. results.db.d/
    expect_renewed t "read again from the output of 2 runs"
    expect_values "1:1000.0 2:1000.0 3:1000.0"
}

output__cut__is_no_base_for_a_number()
{
    measured 1,2 "$regex"
    log=$(find results.db.d -name output.log | sort | head -n 1)
    head -n 2 "$log" >short
    cp short "$log"
    step_sweep 1,2 regex='total ([0-9]+) ms'
    run_ended 0 -c s.toml
    expect_stderr_contains "read again from the output of 1 run; left out, of 1 run: it was read in another way, \
and its output "
    expect_stderr_contains " was cut"
}

# Figures that were made of all samples when they were read stand where fewer are kept.
thinned_samples__definition_changed__as_if_read_under_it()
{
    local lines value
    thinned_sweep()
    {
        toml sweep: objective=min:t job: command='["seq", "-f", "t %.0f s", "1", "210000"]' \
            job.metrics.t: regex='"t ([0-9]+) (s)"' written_unit=true "$1" >s.toml
    }
    thinned_sweep 'take = "max"
unit = "s"'
    run_silently 0 -c s.toml
    mv results.db.d kept
    while IFS='|' read -r lines value; do
        thinned_sweep "$(printf '%b' "$lines")"
        run_ended 0 -c s.toml
        expect_stderr_contains "meshsweep: t: its definition has changed; made anew from the samples of 1 run"
        expect_sql "$value" "SELECT t FROM results"
    done <<'END'
take = "mean"\nunit = "s"|105000.5
take = "last"\nunit = "s"|210000.0
take = "min"\nunit = "ms"|1000.0
take = "mean"\nunit = "ms"|105000500.0
take = "max"\nunit = "s"|210000.0
END
    # Only the output tells which of them count after the warm-up.
    thinned_sweep 'take = "mean"
warmup = 140000
unit = "s"'
    run_ended 0 -c s.toml
    expect_stderr_matches "left out, of 1 run: other samples count, only 105001 of its 210000 are kept, and its output \
.*/output.log is gone"
    cp -r kept/. results.db.d/
    expect_renewed t "read again from the output of 1 run"
    expect_sql 175000.5 "SELECT t FROM results"
}

metric__added__is_read_from_the_output_of_jobs_that_are_done()
{
    measured 1,2 "$regex"
    step_sweep 1,2 "$regex" job.metrics.total: regex='total ([0-9]+) ms'
    expect_renewed total "read again from the output of 2 runs"
    expect_sql "1000.0|1000.0" "SELECT min(total), max(total) FROM results"
    expect_sql 2 "SELECT count(*) FROM attempt"
}

# There is no log of a job that prints nothing.
job__silent_with_a_file_of_its_own__is_read_again_from_it()
{
    step_sweep 1 csv=n file=o.csv job.metrics.total: regex='total ([0-9]+)'
    sed -i 's/^for/exec >o.log\n&/' steps.sh
    run_silently 0 -c s.toml
    sed -i 's/"n"/"t"/' s.toml
    expect_renewed t "read again from the output of 1 run"
    expect_values 1:5.5
    rm -r results.db.d
    sed -i 's/"t"/"n"/' s.toml
    run_ended 0 -c s.toml
    expect_stderr_contains "/output.log is gone"
}

# A job that the sweep file left out for a while, when a metric was added.
job__asked_for_again__has_the_metrics_that_were_added_meanwhile()
{
    measured 1,2 "$regex"
    local total="$regex
[job.metrics.total]
regex = 'total ([0-9]+) ms'"
    step_sweep 1 "$total"
    run_ended 0 -c s.toml
    step_sweep 1,2 "$total"
    expect_renewed total "read again from the output of 1 run"
    expect_sql "1000.0|1000.0" "SELECT group_concat(total, '|') FROM results"
    run_silently 0 -c s.toml
}

metric__computed_for_a_while_or_added__left_out_with_the_reason_where_the_output_is_gone()
{
    local why="it was not read when its job ran, and its output "
    measured 1,2 "$regex"
    step_sweep 1,2 regex='total ([0-9]+) ms' metrics.t: expression='u * 2'
    sed -i 's/^\[job.metrics.t/[job.metrics.u/' s.toml
    run_ended 0 -c s.toml
    expect_values "1:2000.0 2:2000.0"
    rm -r results.db.d
    step_sweep 1,2,3 "$regex" job.metrics.v: regex='total ([0-9]+) ms'
    run_ended 0 -c s.toml
    expect_stderr_contains "meshsweep: t: its definition has changed; left out, of 2 runs: $why"
    expect_stderr_contains "meshsweep: v: its definition has changed; left out, of 2 runs: $why"
    expect_values "1:none 2:none 3:100.0"
    expect_said only_stdout_contains 0 "not compared: 2 ok jobs without a number: $why" best
    expect_said only_stdout_contains 0 "not compared: 2 ok jobs without a number: $why" status
}

derived_metric__of_a_changed_one__follows()
{
    local rate='[metrics.rate]
expression = "1000.0 / t"
better = "max"'
    measured 1,2 "$regex" take=mean "$rate"
    step_sweep 1,2 "$regex" take=mean warmup=1 "$rate"
    run_ended 0 -c s.toml
    expect_sql "100.0|10.0
100.0|10.0" "SELECT t, rate FROM results"
}

runner_killed__while_numbers_are_made_anew__all_or_none()
{
    need_fault_points
    measured 1,2 "$regex"
    step_sweep 1,2 regex='total ([0-9]+) ms'
    expect_after only_stderr 137 run_killed numbers-renewed run -c s.toml --progress none
    expect_values "1:100.0 2:100.0"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
    expect_renewed t "read again from the output of 2 runs"
    expect_values "1:1000.0 2:1000.0"
}

two_sweep_files__one_name_read_differently__do_not_share_a_column()
{
    measured 1,2 "$regex"
    step_sweep 7 regex='total ([0-9]+) ms'
    sed -i 's/"steps"/"totals"/' s.toml
    run_silently 0 -c s.toml
    expect_sql "1|
2|
7|1000.0" "SELECT x, t FROM results ORDER BY x"
    expect_sql "another sweep file of this database reads it in another way" \
        "SELECT DISTINCT note FROM job_metric WHERE value IS NULL"
    step_sweep 1,2 "$regex"
    run_ended 0 -c s.toml
    expect_sql "1|100.0
2|100.0
7|" "SELECT x, t FROM results ORDER BY x"
}

# A reader that found nothing, mended: what was printed is there.
no_metric__reader_mended__ok_without_running_again()
{
    step_sweep 1,2 regex='no such ([0-9]+)'
    run_ended 3 -c s.toml
    expect_sql "no-metric|2" "SELECT failure, count(*) FROM job GROUP BY 1"
    mv "$(find results.db.d -name output.log | sort | head -n 1)" kept.log
    step_sweep 1,2 "$regex"
    run_ended 3 -c s.toml
    expect_stderr "meshsweep: 1 job had failed as no-metric and is ok: the output has what is read now"
    expect_sql "failed|no-metric|
ok||100.0" "SELECT state, failure, t FROM results ORDER BY state"
    # One that is missing is read when it is there.
    mv kept.log "$(find results.db.d -mindepth 2 -type d | sort | head -n 1)/output.log"
    run_ended 0 -c s.toml
    expect_stderr "meshsweep: 1 job had failed as no-metric and is ok: the output has what is read now"
    expect_values "1:100.0 2:100.0"
    expect_sql "2|2" "SELECT count(*), sum(state = 'ok') FROM attempt"
    expect_sql "read again with other readers: it had been no-metric" "SELECT DISTINCT message FROM attempt"
    run_silently 0 -c s.toml
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

no_metric__of_a_computed_objective__ok_when_all_it_reads_is_there()
{
    step_sweep 1,2 regex='no such ([0-9]+)' metrics.rate: expression='1000.0 / t' better=max
    sed -i 's/min:t/max:rate/; s/^x = .*/x = [1]/' s.toml
    run_ended 3 -c s.toml
    sed -i "s/^regex.*/$regex/" s.toml
    run_ended 0 -c s.toml
    expect_stderr "meshsweep: 1 job had failed as no-metric and is ok: the output has what is read now"
    expect_sql "ok|100.0|10.0" "SELECT state, t, rate FROM results"
    expect_said only_stdout_contains 0 "highest rate 10, job 1" best
}

# Not one reader has changed, but what is asked for.
no_metric__another_objective__ok_when_that_is_there()
{
    toml sweep: objective=max:a job: command='test {x} = 2 || echo a: {x}; echo b: {x}' job.metrics.a: key=a \
        better=max job.metrics.b: key=b better=max parallel_spec: x=1,2 >s.toml
    run_silently 3 -c s.toml
    sed -i s/max:a/max:b/ s.toml
    expect_said only_stderr 0 "meshsweep: 1 job had failed as no-metric and is ok: the output has what is read now" \
        run --progress none -c s.toml
    expect_said only_stdout_contains 0 "highest b 2, job 2" best
}

# Ok by its speed, and by its loss it would have failed: it does not win by the samples before.
objective__changed_to_one_that_ended_in_nan__cannot_win()
{
    toml sweep: objective=min:t job: command='["printf", "t: %s\nloss: %s\nloss: %s\n", "{x}", "{x}", "{last}"]' \
        job.metrics.t: key=t job.metrics.loss: key=loss parallel_spec: '"(x, last)" = [[1, "nan"], [2, "3"]]' \
        >s.toml
    run_silently 0 -c s.toml
    expect_sql "1|1.0
2|2.5" "SELECT x, loss FROM results ORDER BY x"
    sed -i 's/min:t/min:loss/' s.toml
    expect_renewed loss "left out, of 1 run: its last sample is not a finite number, and a job with such an objective \
fails as diverged"
    expect_said only_stdout_contains 0 "lowest loss 2.5, job 2" best
    expect_stdout_contains "not compared: 1 ok job without a number: its last sample is not a finite number"
    run_silently 0 -c s.toml
    sed -i 's/min:loss/min:t/' s.toml
    run_ended 0 -c s.toml
    expect_sql "1|1.0
2|2.5" "SELECT x, loss FROM results ORDER BY x"
    run_silently 0 -c s.toml
}

# NaN at the end is a failure of another kind, which reading does not mend.
no_metric__output_that_ends_in_nan__stays_failed()
{
    step_sweep 1 regex='no such ([0-9]+)'
    sed -i 's/^command.*/command = ["printf", "t: 5\\\\nt: nan\\\\n", "{x}"]/' s.toml
    run_ended 3 -c s.toml
    expect "[ $(cat results.db.d/*/*/output.log | grep -c '^t: ') = 2 ]"
    sed -i 's/^regex.*/key = "t"/' s.toml
    run_silently 3 -c s.toml
    expect_sql "failed|diverged" "SELECT state, failure FROM job"
}

# --- several attempts of a job ---

# The value of attempt N of job x is the N-th word of its line.
repeated_sweep() # REPEAT
{
    toml sweep: objective=min:t job: command='["sh", "../job.sh", "{x}"]' cwd=work "repeat = $1" \
        job.metrics.t: key=t job.metrics.u: key=u parallel_spec: x=1,2 >s.toml
    mkdir -p work
    printf '%s\n' 'n=$(($(cat n.$1 2>/dev/null || echo 0) + 1))' 'echo $n >n.$1' \
        'set -- $1 $(sed -n "$1p" ../values)' 'shift $n' 'echo "t: $1"' 'echo "u: $((100 - $1))"' >job.sh
    printf '10 30 50 70\n25 26 27 28\n' >values
}

even_repeats__everywhere__their_median()
{
    repeated_sweep 2
    run_silently 0 -c s.toml
    expect_values "1:20.0 2:25.5"
    expect_sql "80.0|74.5" "SELECT group_concat(u, '|') FROM (SELECT u FROM results ORDER BY x)"
    expect_said only_stdout_contains 0 "lowest t 20, job 1" best
    expect_said only_stdout_matches 0 '"value":	20,' best --json
    expect_said only_stdout_contains 0 "best so far: t 20, job 1" status
    expect_sql "20.0" "SELECT t FROM ranking LIMIT 1"
    expect_said only_stdout_contains 0 '"value":	20,' show --json 1
    expect_said only_stdout 0 "x	t
1	20.0
2	25.5" results --columns x,t --sort x --format tsv
    # Wanted more often, the median is of all.
    repeated_sweep 3
    run_silently 0 -c s.toml
    expect_values "1:30.0 2:26.0"
    # A row that a person deletes does not count any more.
    sql "DELETE FROM attempt WHERE job_id = 1 AND number = 3"
    expect_values "1:20.0 2:26.0"
}

check__values_edited_by_hand__told_and_repaired()
{
    repeated_sweep 1
    run_silently 0 -c s.toml
    sql "UPDATE job_metric SET value = 5 WHERE job_id = 2 AND name = 't'"
    expect_said only_stdout 1 "values of jobs that are not those of their attempts (1): job 2
  \`meshsweep check --repair -d results.db\` repairs that" check -d results.db
    expect_run only_status 0 check --repair -d results.db
    expect_values "1:10.0 2:25.0"
    # Whoever changes a summary changes the job's value, which its samples tell.
    sql "UPDATE summary SET value = 7 WHERE attempt_id = 2 AND name = 't'"
    expect_values "1:10.0 2:7.0"
    run_meshsweep check -d results.db
    expect_only_stdout 1 "values that are not what their samples come to (1): job 2 attempt 1: t is 7.0, its samples \
come to 25.0
  \`meshsweep check --repair -d results.db\` repairs that"
    expect_said only_stdout_contains 0 "they were made anew from the samples" check --repair -d results.db
    expect_values "1:10.0 2:25.0"
}

# Each way to take a number, after warm-up and within steps, is recounted as it was counted.
check__every_take__agrees_with_the_samples()
{
    toml job: command='["sh", "-c", "for i in 7 3 9 4 8 1 5; do echo v: $((i * {x})); done"]' \
        parallel_spec: x=1,10,100 >s.toml
    for take in median mean min max last p90; do
        printf '[job.metrics.%s]\nregex = "v: ([0-9]+)"\ntake = "%s"\nwarmup = %d\n' \
            "$take" "$take" $((RANDOM % 9)) >>s.toml
    done
    run_silently 0 -c s.toml
    expect_said only_stdout 0 "results.db: all well" check -d results.db
    sql "UPDATE summary SET value = value + 0.5"
    expect_said only_stdout_matches 1 '^values that are not what their samples come to \(18\): ' check -d results.db
}

# --- databases that are merged ---

one_of() # NAME X OUTPUT DIRECTION WORD-OF-METRIC...
{
    toml sweep: name=merged "objective = \"$4:t\"" job: "command = [\"echo\", \"time: $3\", \"{x}\"]" \
        job.metrics.t: "${@:5}" parallel_spec: "x = [$2]" >"$1.toml"
    run_silently 0 -c "$1.toml" -d "$1.db"
}

merge__other_unit_or_take__converted_or_derived_from_the_samples()
{
    one_of a 1 120 min key=time unit=s
    one_of b 2 110000 min key=time unit=ms
    expect_run only_status 0 merge a.db b.db -o all.db
    expect_stdout "all.db: 2 new jobs, 2 new attempts"
    expect_values "1:120000.0 2:110000.0" all.db
    expect_sql ms "SELECT unit FROM metric_definition" all.db
    expect_run only_status 0 merge b.db a.db -o other.db
    expect_values "1:120000.0 2:110000.0" other.db
    rm -rf ./*.db*
    step_sweep 1 "$regex" take=mean
    run_silently 0 -c s.toml -d a.db
    step_sweep 2 "$regex" take=max
    run_silently 0 -c s.toml -d b.db
    expect_run only_status 0 merge a.db b.db -o all.db
    expect_values "1:900.0 2:900.0" all.db
}

merge__what_cannot_stand_together__refused_with_both_names()
{
    one_of a 1 120 min key=time unit=s better=min
    one_of b 2 110 min key=time unit=tokens/s
    one_of c 2 110 max key=time unit=s better=max
    one_of d 2 110 min regex='time: ([0-9]+)' unit=s
    one_of e 2 110 min key=time
    while IFS='|' read -r name said; do
        expect_said only_stderr_contains 2 "merging $name.db: $name.db $said" merge a.db "$name.db" -o all.db
        expect_stderr_contains "; rename the metric in one of the two sweep files, or run, or import, by the newer \
file in both databases first"
        expect_sql 1 "SELECT count(*) FROM job" all.db
        rm -f all.db*
    done <<'END'
b|has metric `t` in tokens/s, which cannot be converted to s
c|has metric `t` with better = "max", and here it is "min"
e|has metric `t` without a unit, and here it is in s
d|read metric `t` in another way ({"reader":"regex","pattern":"time: ([0-9]+)"}) than here (
END
}

# The definition of each name that was declared last counts, whatever else is newer, and in whichever order they come.
merge__three_databases__every_order_agrees()
{
    one_of a 1 120 min key=time unit=s job.metrics.v: key=time unit=s
    one_of b 2 110000 min key=time unit=ms take=max job.metrics.v: key=time unit=ms
    one_of c 3 3 min key=time unit=min
    for order in "a b c" "a c b" "b a c" "b c a" "c a b" "c b a"; do
        rm -f all.db* pair.db*
        # shellcheck disable=SC2086 # words
        set -- $order
        expect_run only_status 0 merge "$1.db" "$2.db" "$3.db" -o all.db
        expect_values "1:2.0 2:1.833333 3:3.0" all.db
        expect_sql "1|120000.0
2|110000.0
3|" "SELECT x, v FROM results ORDER BY x" all.db
        expect_run only_status 0 merge "$2.db" "$3.db" -o pair.db
        expect_run only_status 0 merge "$1.db" -o pair.db
        said=$(sql "SELECT x, t, v FROM results ORDER BY x" all.db)
        expect_sql "$said" "SELECT x, t, v FROM results ORDER BY x" pair.db
    done
}

merge__computed_in_two_ways__no_value_until_the_next_run()
{
    for name in 1000 1; do
        toml sweep: objective=min:rate job: command='["echo", "time: 100", "{x}"]' \
            job.metrics.t: key=time metrics.rate: "expression = \"$name.0 / t\"" \
            parallel_spec: "x = [$name]" >"$name.toml"
        run_silently 0 -c "$name.toml" -d "$name.db"
    done
    expect_run only_status 0 merge 1000.db 1.db -o results.db
    expect_sql "|the next run computes it again
|the next run computes it again" "SELECT value, note FROM job_metric WHERE name = 'rate'"
    run_silently 0 -c 1000.toml
    expect_sql "1|
1000|10.0" "SELECT x, rate FROM results ORDER BY x"
}

merge__two_sites_measured_the_same_job__median_of_both()
{
    toml sweep: objective=min:t job: command='["sh", "-c", "cat value; : $0", "{x}"]' \
        job.metrics.t: key=t parallel_spec: x='[1]' >s.toml
    for site in 10 40 20; do
        echo "t: $site" >value
        run_silently 0 -c s.toml -d "$site.db"
    done
    expect_said only_stdout 0 "all.db: 1 new job, 2 new attempts" merge 10.db 40.db -o all.db
    expect_values "1:25.0" all.db
    expect_said only_stdout 0 "all.db: 0 new jobs, 1 new attempt" merge 20.db -o all.db
    expect_values "1:20.0" all.db
    expect_sql 20.0 "SELECT m.value FROM job AS j JOIN summary AS m ON m.attempt_id = j.attempt_id" all.db
}

compare_databases__read_in_another_way__refused()
{
    step_sweep 1,2 "$regex"
    run_silently 0 -c s.toml -d before.db
    step_sweep 1,2 "$regex" warmup=1
    run_silently 0 -c s.toml -d now.db
    expect_said only_stderr 2 'meshsweep: t: its warm-up was "0" and is now "1", so the databases cannot be compared; '\
'run the newer sweep file on the earlier one, which makes its numbers anew' compare before.db now.db
    run_ended 0 -c s.toml -d before.db
    expect_run only_status 0 compare before.db now.db
    expect_no_stderr
}

# --- at random ---

one_thing_changed__every_figure__as_recounted()
{
    local seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "# SEED=$seed"
    python3 "$tests_source_dir/cli/changed_minds.py" "$meshsweep" "$seed" "$changes" >found ||
        fail "SEED=$seed: $(head -n 20 found)"
    grep '^#' found
}

run_cases "$@"
