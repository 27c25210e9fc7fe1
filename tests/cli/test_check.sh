#!/usr/bin/env bash
# cli: check, of sweep files and of databases.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fixture.sh"

# Of a runner that is not there any more nothing is left in this one.
quiet_database()
{
    fixture_database "UPDATE attempt SET state = 'ok' WHERE id = 8; UPDATE job SET state = 'ok', attempt_id = 8 WHERE id = 7" \
        "$@"
}

check_sweep__right__one_line()
{
    small_sweep sweep.toml
    run_meshsweep check sweep.toml
    expect_status 0
    expect_stdout_matches '^sweep\.toml: sweep small: 1 cluster_spec, 2 training_spec, 2 parallel_spec, 4 combinations, [0-9]+ rules$'
    expect_no_stderr
}

check_sweep__wrong__every_problem_with_its_place()
{
    small_sweep sweep.toml
    sed -i -e 's/objective = .*/objektive = "max:score"/' -e 's/{x}/{xx}/' sweep.toml
    run_meshsweep check -c sweep.toml
    expect_status 2
    expect_no_stdout
    expect_stderr_matches '^meshsweep: sweep\.toml:3:[0-9]+: .*objektive.*objective'
    sed -i '/objektive/d' sweep.toml
    echo '[derive]
z = "xy + 1"' >>sweep.toml
    run_meshsweep check -c sweep.toml
    expect_status 2
    expect_no_stdout
    expect_stderr_matches '^meshsweep: sweep\.toml:[0-9]+:[0-9]+: .*xx'
    expect_stderr_matches '^meshsweep: sweep\.toml:[0-9]+:[0-9]+: .*xy'
}

check_sweep__absent__said()
{
    run_meshsweep check -c absent.toml
    expect_status 2
    expect_no_stdout
    expect_stderr_contains 'absent.toml'
}

check__nothing_named_or_too_much__status_2()
{
    run_meshsweep check
    expect_status 2
    expect_no_stdout
    expect_stderr 'meshsweep: check: name a sweep file (-c FILE), a database (-d FILE) or both'
    run_meshsweep check a.db b.db
    expect_status 2
    expect_no_stdout
    expect_stderr 'meshsweep: check: one sweep file and one database at a time: b.db'
}

check_database__sound__all_well()
{
    quiet_database
    run_meshsweep check results.db
    expect_status 0
    expect_stdout 'results.db: all well'
    expect_no_stderr
}

check_database__runner_gone__said()
{
    fixture_database
    run_meshsweep check -d results.db
    expect_status 1
    expect_stdout 'jobs that run though no runner is at work (1): job 7
  `meshsweep run` takes them up again
attempts that are open though no runner is at work (1): job 7 attempt 1
  `meshsweep run` takes them up again'
    expect_no_stderr
}

check_database__states_that_contradict__each_said()
{
    quiet_database "UPDATE job SET attempt_id = NULL WHERE id IN (1, 2)" "UPDATE job SET failure = 'hang' WHERE id = 4"
    sqlite3 results.db "PRAGMA foreign_keys = OFF; UPDATE attempt SET runner_id = 77 WHERE id = 9"
    run_meshsweep check -d results.db
    expect_status 1
    expect_stdout_contains 'ok jobs without an attempt that is ok (2): job 1, job 2'
    expect_stdout_contains 'failed jobs whose attempt did not fail like that (1): job 4'
    expect_stdout_contains 'rows that refer to rows which are not there (1): attempt row 9 (runner)'
    expect_no_stderr
}

check_database__files__missing_and_unknown_ones()
{
    quiet_database "UPDATE attempt SET directory = '0300000000000000/1' WHERE id = 3" \
        "UPDATE attempt SET directory = '0400000000000000/1' WHERE id = 4"
    mkdir -p results.db.d/0300000000000000/1 results.db.d/0300000000000000/2 results.db.d/slots
    run_meshsweep check -d results.db
    expect_status 1
    expect_stdout "attempts whose files are gone (1): 0400000000000000/1
  nothing need be done: what they measured is in the database; their logs are lost
directories that no attempt has (1): 0300000000000000/2
  they may be deleted; they are in $PWD/results.db.d"
    expect_no_stderr
}

check_database__damaged__said_not_crashed()
{
    quiet_database "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO exclusion (sweep_id, position, rank, \"values\") SELECT 2, 1, i, json_object('i', i) FROM n"
    local page
    page=$(sql "SELECT rootpage FROM sqlite_schema WHERE name = 'exclusion'")
    head -c 4096 /dev/zero | tr '\0' 'x' | dd of=results.db bs=4096 seek="$((page - 1))" conv=notrunc 2>/dev/null
    run_meshsweep check -d results.db
    expect_status 1
    expect_stdout_contains 'damage that SQLite finds'
    expect_stdout_contains '.recover'
    expect_no_stderr
}

run_cases "$@"
