#!/usr/bin/env bash
# report: what the page says is what the tables of the database say, asked in another way than the page does.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

report_tells_the_truth() # DATABASE
{
    command -v python3 >/dev/null || skip "there is no python3"
    expect_said only_stderr 0 'meshsweep: report in report.html' report -d "${1-results.db}" -o report.html
    python3 "$tests_source_dir/cli/report_facts.py" report.html >said 2>said.err || fail "$(cat said.err)"
    facts_of_database "${1-results.db}" >true
    local kind
    for kind in 'card' 'cause' 'rule' 'data' 'rows' 'winner'; do
        grep "^$kind " said | LC_ALL=C sort >said.one || true
        grep "^$kind " true | LC_ALL=C sort >true.one || true
        diff -u true.one said.one >difference || fail "$(cat difference)"
    done
}

# Each sentence below the plots, where all of the report's jobs are the database's.
sentences_are_true() # DATABASE
{
    command -v python3 >/dev/null || skip "there is no python3"
    expect_run only_stderr 0 report -d "$1" -o report.html
    expect_command only_stdout 0 python3 "$tests_source_dir/cli/report_sentences.py" report.html "$1"
}

sentences__fixture__true()
{
    fixture_database "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 300.0, 1),
        (2, 'peak_memory', 200.0, 1), (3, 'peak_memory', 250.0, 1)"
    sentences_are_true results.db
    expect_stdout_contains 'checked'
    # The sweep that was asked for before is another one.
    sqlite3 results.db "UPDATE sweep SET last_seen = 1800000000000 WHERE id = 1"
    sentences_are_true results.db
    # A job that does not meet the conditions is neither the best nor of the front.
    sqlite3 results.db "UPDATE sweep SET last_seen = 1900000000000 WHERE id = 2;
        INSERT INTO breach (attempt_id, position)
        SELECT attempt_id, 1 FROM job AS j JOIN summary AS s USING (attempt_id)
            WHERE s.name = 'throughput' AND j.sweep_id = 2 AND j.state = 'ok' ORDER BY s.value DESC LIMIT 1"
    sentences_are_true results.db
}

sentences__sweeps_that_ran__true()
{
    small_sweep
    echo 'echo "score: $1$2.5"; echo "peak_memory: $2"' >job.sh
    run_ended 0
    sentences_are_true results.db
    # All failed, beside it in one file.
    sed -i 's/"small"/"failing"/; s/job.sh/none.sh/' sweep.toml
    run_ended 3 --keep-going
    sentences_are_true results.db
    # A single job.
    sed -e 's/"failing"/"single"/; s/none.sh/job.sh/; s/^x = .*/x = [7]/; s/^y = .*/y = [7]/' sweep.toml >single.toml
    expect_run only_stderr 0 run -c single.toml -d single.db --progress none
    sentences_are_true single.db
}

# The jobs that an ended search left are no work to come; one of the file's other sweeps has only failed jobs.
sentences__a_search_that_ended_beside_other_sweeps__true()
{
    toml sweep: name='all failed' objective=max:rate job: command='["sh", "-c", "exit 3"]' \
        job.metrics.rate: regex='"rate: ([0-9]+)"' unit=tokens/s job.metrics.peak_memory: \
        regex='"peak_memory: ([0-9]+)"' unit=B training_spec:: x=1,2,3,4,5 y=1,2,4,8 device_memory='[16777216]' \
        >sweep.toml
    run_ended 3 --keep-going
    sentences_are_true results.db
    expect 'grep -q "No job has succeeded: 20 failed" report.html'
    sed -i 's/"all failed"/"searched"/' sweep.toml
    sed -i 's/"exit 3"/"echo rate: {x}{y}000; echo peak_memory: {y}00000"/' sweep.toml
    run_ended 0 --strategy random --max-trials 5
    sentences_are_true results.db
    expect 'grep -q "5 trials were made. 15 pending jobs will not run" report.html'
    expect 'grep -q "the database has 1 other: all failed" report.html'
    expect 'grep -q "<b>15</b><span>pending, will not run" report.html' '! grep -q "tied to" report.html'
    # A number of bytes is one in words too: among the winner's keys and those that all jobs have.
    grep -o '<dt>device_memory</dt><dd><data title="16777216 B">16 MiB</data>' report.html >sizes
    expect '[ "$(wc -l <sizes)" -eq 2 ]'
    sed -i 's/device_memory = .*/device_memory = [16777216, 25165824]/; s/"searched"/"sizes"/' sweep.toml
    run_ended 0 --strategy random --max-trials 5
    sentences_are_true results.db
    expect 'grep -q ">24 MiB</data>" report.html'
    # GiB under a name of its own are no bytes.
    sed -i 's/device_memory = .*/gpu_memory = [16, 24]/; s/"sizes"/"plain"/' sweep.toml
    expect_run only_status 0 run --progress none --limit 3
    sentences_are_true results.db
    expect '! grep -q "[0-9] B<" report.html'
}

# Replicates of configurations that compete in groups under a condition; of some, replicates fail or do not meet it.
sentences__replicates_in_groups_under_a_condition__true()
{
    toml sweep: name=before objective=max:rate replicate='["seed"]' group_by='["z"]' \
        subject_to='["peak_memory <= 60"]' job: "command = [\"sh\", \"-c\", '''[ {x}{seed} != 23 ] || exit 3
    echo rate: \$(({x} * 100 + {y} * {y} + {seed} * 7 % 5 * 3 + {z}))
    echo peak_memory: \$(({x} * 10 + {y} * 5 + {seed}))''']" job.metrics.rate: regex='"rate: ([0-9]+)"' \
        job.metrics.peak_memory: regex='"peak_memory: ([0-9]+)"' \
        training_spec:: x=1,2,4 y=1,3,4,5 z=1,2 seed=1,2,3 >sweep.toml
    expect_run only_stderr 3 run -j4 --progress none --keep-going
    sentences_are_true results.db
    expect 'grep -q "replicates" report.html'
    # Without groups, in the same file, interrupted, then finished.
    sed -i '/^group_by/d; s/"before"/"after"/; s/^x = .*/x = [1, 3, 5]/' sweep.toml
    expect_run only_status 0 run --progress none --keep-going --limit 9
    sentences_are_true results.db
    expect_run only_status 0 run -j4 --progress none --keep-going
    sentences_are_true results.db
}

# The lead in a group is by the samples of two jobs; one that is alone in its group is ahead of none.
sentences__jobs_in_groups__true()
{
    toml sweep: objective=min:time group_by='["layers"]' job: "command = [\"sh\", \"-c\", '''
    for i in 1 2 3 4 5; do echo time: \$(({x} * 50 + {layers} * 9 + i * {x})); done
    echo peak_memory: \$((100 * {layers} + {x} % 3))''']" job.metrics.time: regex='"time: ([0-9]+)"' \
        job.metrics.peak_memory: regex='"peak_memory: ([0-9]+)"' \
        rule:: name=alone require='layers < 4 or x = 2' model: layers=1,2,4 parallel_spec: x=1,2,3 >sweep.toml
    run_ended 0
    sentences_are_true results.db
    expect_file_contains report.html '<td class=n>46.1 %<td class=n>40.9 %<td class=n>51.2 %<td><a href="#j1">1</a>'
    expect_file_contains report.html '<td class=n><td class=n><td class=n><td><a href="#j7">7</a>'
    expect_file_contains report.html '7 jobs, 5 of them on the fronts of their groups'
}

# Large numbers and bytes stand as people read them, with all their digits in the title; of each group its command, what
# limits it and what more would cost.
sentences__groups_of_bytes_and_large_numbers__true()
{
    toml sweep: objective=max:rate group_by=device_memory,model.name job: \
        "command = [\"sh\", \"-c\", '''[ \$(({x} * {y})) -lt 12 ] || { echo CUDA out of memory; exit 1; }
    for i in 1 2 3 4; do echo rate: \$((6046000 + {x} * 7000 + {y} * 20000 + i * 300)).5; done
    echo peak_memory: \$(({x} * 2000000)) # {device_memory}''', \"it's\", \"{name}\"]" \
        job.metrics.rate: regex='"rate: ([0-9.]+)"' unit=tokens/s job.metrics.peak_memory: \
        regex='"peak_memory: ([0-9]+)"' unit=B cluster_spec: device_memory=16777216,8589934592 \
        model:: name='"a, b"' layers=2 model:: name='"<c>"' layers=3 parallel_spec: x=1,3,6 y=1,2 >sweep.toml
    expect_run only_stderr 3 run -j4 --progress none --keep-going
    sentences_are_true results.db
    expect_file_contains report.html '<td>device_memory=<data title="16777216 B">16 MiB</data>, model.name=a, b<td'
    expect_file_contains report.html '<td class=n title="6108750 tokens/s">6.11 M<'
    expect_file_contains report.html '<data title="8589934592 B">8 GiB</data>, model.name=&lt;c&gt;: 6.11 M tokens/s,'
    expect '[ "$(grep -c "<p>It uses 11.4 MiB of a device.s 16 MiB (72 %).</p>" report.html)" = 2 ]'
    expect '[ "$(grep -c "<p>Of 3 jobs that differ from it in one key, 1 failed: 1 oom.</p>" report.html)" = 4 ]'
    expect '[ "$(grep -c "One more run of each, one after the other, takes" report.html)" = 4 ]'
    cp results.db other.db
    sentences_are_true other.db
    expect_file_contains report.html 'best -d other.db --group &#39;device_memory=16777216, model.name=a, b&#39; --out'
}

# A job that a search had ended before its steps is not the winner, whatever it reported.
sentences__ended_early_by_a_search__do_not_win()
{
    many_jobs 60 10 "UPDATE attempt SET stopped_steps = 5 WHERE id = 139"
    sentences_are_true results.db
    expect_file_contains report.html '<p class=best><b title="1374.57">'
    # All that runs; none with a number.
    many_jobs 30 30 "INSERT INTO attempt (id, job_id, number, runner_id, state, started)
        SELECT id, id, 1, 1, 'running', 1 FROM job" "UPDATE job SET state = 'running'"
    sentences_are_true results.db
    many_jobs 60 10 "UPDATE summary SET value = NULL WHERE name = 'throughput'"
    sentences_are_true results.db
}

# Keys that rules tie to others: the best against the best, with the others free.
sentences__keys_that_follow_others__true()
{
    tied_sweep
    sentences_are_true results.db
    expect 'grep -q "dp (too few pairs: 0 of 6) with gas, tp" report.html'
}

# Long values of many jobs are cut so that the page stays small, and how many are cut is said.
sentences__long_values_of_many_jobs__cut_and_said()
{
    local i set=
    for i in 1 2 3 4 5 6 7 8 9; do set+=", '\$.k$i', printf('%.120c%d', 'a', id)"; done
    many_jobs 6000 10 "UPDATE spec SET json = json_set(json$set) WHERE id >= 100"
    sentences_are_true results.db
    expect '[ "$(grep -c "6000 of 6000 values are cut after 1[01][0-9] characters" report.html)" = 9 ]'
    expect '[ "$(wc -c <report.html)" -lt 8000000 ]'
}

# More than are drawn of anything.
sentences__2000_jobs__true()
{
    many_jobs 2000 100
    sentences_are_true results.db
}

sentences__imported_tables__true()
{
    for name in fms internevo ultrascale vtrain torchtitan; do
        python3 "$source_dir/scripts/tables/$name.py" "$tests_source_dir/data/$name" >table.csv
        expect_run only_status 0 import -c "$source_dir/configs/import/$name.toml" -d "$name.db" table.csv
        sentences_are_true "$name.db"
    done
}

# Hundreds of rows, where they are at hand.
sentences__published_tables__true()
{
    local name data=${MESHSWEEP_SHARED_DATA:-$source_dir/../shared/data}
    for name in fms-acceleration internevo torchtitan vtrain-single-node; do
        [ -e "$data/$name.csv" ] || skip "$data/$name.csv is not there"
        expect_run only_status 0 import -c "$source_dir/configs/import/${name%%-*}.toml" -d "$name.db" "$data/$name.csv"
        sentences_are_true "$name.db"
    done
}

# From the tables, not from the views that the page reads. Causes: here messages differ in nothing or are not compared.
facts_of_database()
{
    sqlite3 -batch -noheader -separator ' ' "$1" "
        CREATE TEMP TABLE s AS SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;
        CREATE TEMP TABLE j AS SELECT job.* FROM job JOIN s ON s.id = job.sweep_id;
        SELECT 'card', combinations, 'combination' FROM s WHERE combinations IS NOT NULL;
        SELECT 'card', combinations - matched, 'excluded by rules' FROM s WHERE matched IS NOT NULL;
        SELECT 'card', duplicates, 'duplicate' FROM s WHERE duplicates > 0;
        SELECT 'card', count(*), 'job' FROM j;
        SELECT 'card', count(*), state FROM j GROUP BY state;
        SELECT 'card', count(*), 'attempt' FROM attempt WHERE job_id IN (SELECT id FROM j) AND ended IS NOT NULL
            HAVING count(*) > 0;
        SELECT 'data', state, count(*) FROM j GROUP BY state;
        SELECT 'rows', count(*) FROM j;
        SELECT 'cause', count(*), j.failure, 'example', min(j.id) FROM j JOIN attempt AS a ON a.id = j.attempt_id
            WHERE j.state = 'failed' GROUP BY j.failure, a.message;
        SELECT 'rule', name, excluded FROM rule WHERE sweep_id = (SELECT id FROM s) AND excluded > 0;
        SELECT 'winner', id, value FROM (SELECT j.id, m.value, row_number() OVER
            (ORDER BY iif(s.maximise, -m.value, m.value), j.id) AS place FROM j JOIN s
            JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = s.objective
            WHERE j.state = 'ok' AND typeof(m.value) IN ('real', 'integer') AND abs(m.value) < 1e300
            AND NOT EXISTS (SELECT 1 FROM breach AS b WHERE b.attempt_id = j.attempt_id)) WHERE place = 1 ${WINNER-};"
}

# A run in progress, of the current of two sweeps; then of the other, which is asked for last.
truth__current_of_two_sweeps__that_one()
{
    fixture_database
    report_tells_the_truth
    fixture_database "UPDATE sweep SET last_seen = 1800000000000 WHERE id = 1"
    report_tells_the_truth
    expect_file_contains report.html '<h1>first</h1>'
}

truth__nothing_ran_or_all_values_are_none__no_winner()
{
    fixture_database "UPDATE job SET state = 'pending', failure = NULL, attempt_id = NULL WHERE state <> 'pending'" \
        "DELETE FROM summary" "DELETE FROM metric" "DELETE FROM attempt"
    report_tells_the_truth
    expect 'grep -qx "card 8 pending" said' '! grep -q "^winner" said'
    fixture_database "UPDATE summary SET value = NULL, mean = NULL, median = NULL, minimum = NULL, maximum = NULL"
    report_tells_the_truth
    expect '! grep -q "^winner" said'
}

truth__all_failed__no_winner()
{
    small_sweep
    echo '[ "$1" = 1 ] && exit 9; echo "ValueError: none"; exit 1' >job.sh
    run_ended 3 --keep-going
    report_tells_the_truth
    expect 'grep -qx "card 4 failed" said' '[ "$(grep -c "^cause 2 exit" said)" = 2 ]' '! grep -q "^winner" said'
}

# Jobs that differ in a seed alone are counted as jobs, and configurations compete.
truth__replicates__jobs_are_jobs()
{
    toml sweep: objective=min:loss replicate='["seed"]' job: \
        command='["sh", "-c", "[ {x}{seed} != 32 ] || exit 3; echo loss: $(({x} * 10 + {seed}))"]' \
        job.metrics.loss: regex='"loss: ([0-9]+)"' training_spec:: x=1,2,3 seed=1,2 >sweep.toml
    run_ended 3
    WINNER="AND 0" report_tells_the_truth # it names a configuration, and not a job, where these compete
}

truth__imported_table__every_row()
{
    printf '%s\n' layers,dp,mbs,seed,state,speed 2,1,1,1,ok,100.5 2,1,2,1,ok,150.25 2,1,4,1,oom, 2,1,8,1,oom, \
        4,1,1,1,ok,90 >table.csv
    toml sweep: name=table objective=max:speed job.metrics.speed: unit=tokens/s \
        import: state=state import.model: layers=layers import.training_spec: seed=seed \
        import.parallel_spec: dp=dp micro_batch=mbs import.metrics: speed=speed >import.toml
    expect_run only_status 0 import -c import.toml table.csv
    report_tells_the_truth
    expect 'grep -qx "winner 2 150.25" said' 'grep -qx "cause 2 oom example 3" said'
    # A second table in the same file is a sweep of its own.
    sed 's/"table"/"other"/; s/max:speed/min:speed/' import.toml >other.toml
    sed '2d' table.csv >other.csv
    expect_run only_status 0 import -c other.toml other.csv
    report_tells_the_truth
}

# The old page stays whole where a new one cannot be written.
report__file_cannot_be_written__the_old_one_stays()
{
    fixture_database
    expect_run only_stderr 0 report
    cp report.html before.html
    run_command sh -c "ulimit -f 8; trap '' XFSZ; exec '$meshsweep' report"
    expect_only_stderr_contains 1 'report.html'
    expect 'cmp -s before.html report.html'
    mkdir directory
    expect_said only_stderr_contains 1 'directory' report -o directory
    expect_said only_stderr_contains 1 'nowhere/report.html' report -o nowhere/report.html
    expect_said only_stderr_contains 2 'results.db' report -o results.db
    expect '[ "$(ls | grep -c report)" = 1 ]'
}

run_cases "$@"
