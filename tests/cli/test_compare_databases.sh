#!/usr/bin/env bash
# compare BEFORE.db NOW.db: matched by job key, with a verdict that a script can go by.
. "${0%/*}/lib.sh"

# before.db and now.db: eight jobs, each three times and a little off each time; now FACTOR times as long.
two_databases() # FACTOR
{
    cat >job.sh <<'END'
echo "$1 $MESHSWEEP_NUMBER $(cat factor)" | awk '{ print "time", $1 * (1 + ($2 * 7 + $1) % 5 / 1000) * $3 }'
END
    toml sweep: objective=min:time job: command='["sh", "job.sh", "{x}"]' repeat=3 \
        job.metrics.time: regex='time ([0-9.]+)' unit=s model: layers=1,2 \
        parallel_spec: x=1,2,3,4 >sweep.toml
    rm -rf before.db* now.db*
    echo 1 >factor
    expect_run silent 0 run -j2 -d before.db --progress none
    echo "$1" >factor
    expect_run silent 0 run -j2 -d now.db --progress none
}

# now.db against before.db: the status, and what is said.
expect_verdict() # STATUS TEXT...
{
    run_meshsweep compare before.db now.db --fail-slower 5%
    expect_only_stdout_contains "$@"
}

slower__status_1()
{
    two_databases 1.08
    expect_verdict 1 'time (lower is better), now.db against before.db: 8 jobs in common' \
        '8 jobs, 3 runs of each on each side' '  ratio 1.08 (above 1 is slower), at least 1.07' \
        '  slower by 8 %, and certainly by more than the limit'
    # Without the option there are figures and no verdict.
    expect_said only_stdout_contains 0 '  ratio 1.08 (above 1 is slower)' compare before.db now.db
    expect "! grep -q 'slower by' .stdout"
    # A table for a summary.
    sqlite3 now.db "DELETE FROM job WHERE id = 2"
    run_meshsweep compare before.db now.db --fail-slower 5% --markdown
    expect_only_stdout_contains 1 '### time (s, lower is better): now.db against before.db'
    expect_stdout_contains \
        '| | jobs | runs of each | ratio (above 1 is slower) | at least (99.5 % sure) | at most (95 % sure) | |' \
        '| all | 7 | 3 | 1.08 | 1.07' '| slower by 8 %, and certainly by more than the limit |' \
        '| slowest jobs | time before | now | ratio |' '- in only one database: 1 before, 0 now'
}

as_fast__status_0()
{
    two_databases 1.01
    expect_said only_stdout_contains 0 '  not slower by 5 %' compare before.db now.db --fail-slower 5%
    expect_said only_stdout_contains 0 '  ratio 1 (above 1 is slower)' compare before.db before.db --fail-slower 5%
}

too_few_repeats__status_3_and_how_many()
{
    two_databases 1.02
    sqlite3 now.db "UPDATE summary SET value = value * (1 + ((attempt_id % 3) - 1) * 0.3)"
    expect_verdict 3 '  too few repeats to tell whether it is more than 5 % slower: about '
    # One job, once.
    sqlite3 now.db "DELETE FROM job WHERE id > 1; DELETE FROM attempt WHERE id <> (SELECT attempt_id FROM job)"
    sqlite3 before.db "DELETE FROM attempt WHERE id NOT IN (SELECT attempt_id FROM job)"
    expect_verdict 3 '1 job, 1 run of each on each side' \
        'one run on each side does not show how much runs vary; set [job] repeat = 3'
}

by_a_key__a_verdict_each()
{
    two_databases 1
    sqlite3 now.db "UPDATE summary SET value = value * 1.2 WHERE attempt_id IN (SELECT a.id FROM attempt AS a
        JOIN results AS r ON r.job = a.job_id WHERE r.x = 3)"
    run_meshsweep compare before.db now.db --fail-slower 5% --by x
    expect_only_stdout_contains 1 'x 2: 2 jobs, 3 runs of each on each side' '  slower by 20 %'
    expect "[ \"\$(grep -c 'not slower by 5 %' .stdout)\" = 3 ]"
    expect_run only_stdout 1 compare before.db now.db --by x --fail-slower 5% --json
    expect_json 'time|x|3|slower|not slower|8' metric by 'groups[2].'{group,verdict} 'groups[3].verdict' \
        "json_array_length(j, '\$.job_ratios')"
}

a_rate__less_is_slower()
{
    two_databases 1.1
    sqlite3 before.db "UPDATE sweep SET maximise = 1; ATTACH 'now.db' AS now; UPDATE now.sweep SET maximise = 1"
    run_meshsweep compare now.db before.db --fail-slower 5%
    expect_only_stdout_contains 1 'time (higher is better), before.db against now.db'
    expect_said only_stdout_contains 0 '  not slower by 5 %' compare before.db now.db --fail-slower 5%
}

# Both databases learn what the sweep file says now; nothing runs again.
take_up_file()
{
    local db
    for db in before now; do
        expect_run silent 0 run -d "$db.db" --progress none
    done
}

constraint__all_compared_and_what_breaches_it_now_said()
{
    two_databases 1.08
    # The condition is met by x = 4 before and not now, by x = 3 never.
    sed -i 's/^objective = .*/&\nsubject_to = ["time <= 4.1", "time <= 1000 - 1000 * (x = 3)"]/' sweep.toml
    take_up_file
    expect_said only_stdout_contains 1 '8 jobs, 3 runs of each on each side' compare before.db now.db --fail-slower 5%
    expect_stdout_contains 'met [sweep] subject_to before, but not now: 2 (for example job '
    expect "! grep -q 'not measured' .stdout"
    expect_said only_stdout_contains 0 '"breached_now":	2' compare before.db now.db --json
}

own_metric__made_one_by_an_expression()
{
    two_databases 1
    run_meshsweep compare before.db now.db --metric duration
    expect_only_stderr_contains 2 'add [metrics.duration_seen] with expression = "duration" and better = "min" to the '\
'sweep file'
    printf '[metrics.duration_seen]\nexpression = "duration"\n' >>sweep.toml
    take_up_file
    run_meshsweep compare before.db now.db --metric duration_seen
    expect_only_stderr_contains 2 'set better = "min" or "max" under [metrics.duration_seen]'
    echo 'better = "min"' >>sweep.toml
    take_up_file
    run_meshsweep compare before.db now.db --metric duration_seen
    expect_only_stdout_contains 0 'duration_seen (lower is better), now.db against before.db: 8 jobs in common'
    # Of the objective, one that has failed since.
    sqlite3 now.db "UPDATE job SET state = 'pending' WHERE id = 3; UPDATE job SET state = 'running' WHERE id = 3;
        UPDATE job SET state = 'failed', failure = 'oom' WHERE id = 3"
    expect_verdict 0 'ok before, failed now: 1 (for example job 3)'
}

nothing_in_common_or_wrong_use__one_sentence()
{
    two_databases 1
    sed -i 's/^x = .*/x = [7, 8]/' sweep.toml
    expect_run silent 0 run -d other.db --progress none
    run_meshsweep compare before.db other.db --fail-slower 5%
    expect_only_stderr 4 "meshsweep: the databases have no job in common (8 in the first, 4 in the second); jobs are \
matched by key, so use the same sweep file with the same command"
    sqlite3 now.db "DELETE FROM summary"
    run_meshsweep compare before.db now.db --fail-slower 5%
    expect_only_stderr_contains 4 'no job has a value of time in both databases; of 8 jobs in common'
    # What cannot be compared at all.
    expect_said only_stderr 2 'meshsweep: compare: name two jobs, or two databases: meshsweep compare 4 7, meshsweep '\
'compare BEFORE.db NOW.db' compare before.db --fail-slower 5%
    for wrong in 5 -5% 0% % x%; do
        run_meshsweep compare before.db now.db "--fail-slower=$wrong"
        expect_only_stderr 2 "meshsweep: --fail-slower $wrong: must be a percentage above 0, such as 5%"
    done
    run_meshsweep compare before.db now.db --metric speed
    expect_only_stderr_contains 2 'meshsweep: --metric speed: no such metric; its metrics are '
    expect_said only_stderr_contains 2 '--by' compare before.db now.db --by y
    run_meshsweep compare --by x --fail-slower 5%
    expect_only_stderr 2 'meshsweep: compare: --fail-slower is for two databases: meshsweep compare BEFORE.db NOW.db'
    sqlite3 before.db "UPDATE metric_definition SET unit = 'ms'"
    run_meshsweep compare before.db now.db
    expect_only_stderr 2 'meshsweep: time: its unit was "ms" and is now "s", so the databases cannot be compared; '\
'run the newer sweep file on the earlier one, which makes its numbers anew'
    expect_run only_stderr 1 compare before.db absent.db
}

run_cases "$@"
