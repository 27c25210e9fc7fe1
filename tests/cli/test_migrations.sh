#!/usr/bin/env bash
# Databases of older schema versions become the schema of a fresh file, one transaction per step, and go on from where
# they were. schemas/schema.sh says what they are made from.
#
# When a migration is added, the version before it is noted there, by schemas/dump.sh with the last program of that
# version.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fixture.sh"
. "$(dirname "$0")/schemas/schema.sh"

newest=$(cd "$source_dir/sql/migrations" && find . -name '*.sql' | sort | tail -n 1 | sed -E 's/^\.\/0*([0-9]+)_.*/\1/')

expect_tables_of() # VERSION
{
    [ "$(tables_of)" = "$(sed -n "s/^$1 //p" "$schemas/tables.md5")" ] ||
        fail "the migrations make other tables than version $1 wrote"
}

every_version__run__becomes_the_schema_of_a_fresh_file()
{
    local version
    small_sweep sweep.toml
    run_silently 0 -d fresh.db
    schema fresh.db >fresh
    for ((version = 1; version <= newest; version++)); do
        old_database "$version"
        [ "$version" = "$newest" ] || expect_tables_of "$version"
        run_meshsweep run --progress none
        expect_only_stderr 0
        schema results.db >upgraded
        diff -u fresh upgraded >difference || fail "upgraded from version $version: $(cat difference)"
        expect_sql "$newest" "PRAGMA user_version"
        expect_sql "ok" "PRAGMA integrity_check; PRAGMA foreign_key_check"
        # What was done is known by its content, what was not runs again.
        expect_sql "ok|ok|1|10.0
ok|ok|1|20.0
ok|ok|1|20.0
ok|failed|2|40.0
ok|ok|2|40.0" "SELECT j.state, a.state, (SELECT max(number) FROM attempt WHERE job_id = j.id), s.value FROM job AS j
            JOIN attempt AS a ON a.job_id = j.id JOIN summary AS s ON s.attempt_id = j.attempt_id ORDER BY j.id, a.id"
        expect_sql "lost" "SELECT failure FROM attempt WHERE state = 'failed'"
        expect_sql 0 "SELECT count(*) FROM failure_pattern WHERE pattern = 'a pattern of then'"
        run_meshsweep check -d results.db
        expect_only_stdout 0 'results.db: all well'
    done
}

# Versions before 21 subtracted from a duration what its runner stood still for, and the shortest won.
duration_with_a_pause_subtracted__of_an_older_version__wins_no_more()
{
    old_database 19
    sql "UPDATE sweep SET objective = 'duration', maximise = 0;
        UPDATE attempt SET duration_ms = 1960, unwatched_ms = 10040 WHERE id = 1;
        INSERT INTO summary (attempt_id, name, value, count, reported)
            SELECT id, 'duration', duration_ms / 1000.0, 1, 1 FROM attempt WHERE state = 'ok'"
    small_sweep
    sed -i 's/max:score/min:duration/' sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 0
    expect_sql "12000||1" "SELECT a.duration_ms, s.value, s.note <> '' FROM attempt AS a
        JOIN summary AS s ON s.attempt_id = a.id AND s.name = 'duration' WHERE a.id = 1"
    expect_sql 0 "SELECT count(*) FROM ranking WHERE job = 1"
}

# How matches are found has changed since: their keys and places must not have.
older_version__all_jobs_done__none_runs_again()
{
    old_database 12 "$schemas/listed.sql"
    sql "SELECT text FROM sweep" >sweep.toml
    sql "SELECT rank, hex(key), derived FROM job ORDER BY id" >before
    run_meshsweep run --progress none
    expect_only_stderr 0
    expect_sql 84 "SELECT count(*) FROM attempt"
    sql "SELECT rank, hex(key), derived FROM job ORDER BY id" >after
    diff -u before after >difference || fail "$(cat difference)"
    run_meshsweep plan --json
    expect_only_stdout_contains 0 '"done":	84,'
    expect_stdout_contains '"new":	0,'
    # Deleted by hand they are made anew, at their places.
    sql "DELETE FROM job WHERE id % 3 = 0"
    run_meshsweep run --progress none
    expect_only_stderr 0
    sql "SELECT rank, hex(key), derived FROM job ORDER BY rank" >anew
    sort -t '|' -k 1,1n before | diff -u - anew >difference || fail "$(cat difference)"
    expect_sql 84 "SELECT count(*) FROM attempt"
}

older_version__read__says_what_to_do_and_changes_nothing()
{
    local version before command
    for ((version = 1; version < newest; version++)); do
        old_database "$version"
        before=$(md5sum results.db)
        for command in status results "check -d results.db"; do
            # shellcheck disable=SC2086 # words
            run_meshsweep $command
            expect_status 1
            expect_no_stdout
            expect_stderr "meshsweep: database results.db: its schema version $version is older than this program's \
$newest; \`meshsweep run\` upgrades it"
        done
        expect "[ \"\$(md5sum results.db)\" = '$before' ]"
    done
}

migration__that_fails__leaves_the_version_before()
{
    [ "$newest" -gt 1 ] || skip "there is one version"
    small_sweep sweep.toml
    old_database 1
    sqlite3 -batch results.db 'CREATE TABLE observation (x); INSERT INTO observation VALUES (7)'
    schema results.db >before
    run_meshsweep run --progress none
    expect_only_stderr_matches 1 '^meshsweep: .*migrations/0002_predictions.sql.*observation'
    expect_sql 1 "PRAGMA user_version"
    expect_sql "7|4" "SELECT x, (SELECT count(*) FROM attempt) FROM observation"
    expect "schema results.db | cmp - before"
    sqlite3 -batch results.db 'DROP TABLE observation'
    run_meshsweep run --progress none
    expect_only_stderr 0
    expect_sql "4|0" "SELECT sum(state = 'ok'), (SELECT count(*) FROM observation) FROM job"
}

migration__killed_in_the_middle__leaves_the_version_before()
{
    local step
    need_fault_points
    small_sweep sweep.toml
    for ((step = 1; step < newest; step++)); do
        old_database 1
        run_killed "migration-applied:$step" run
        expect_only_stderr 137
        expect_sql "$step" "PRAGMA user_version"
        # Views come with the program, after the last step.
        schema results.db "type <> 'view'" >before
        old_database "$step"
        schema results.db "type <> 'view'" | cmp - before || fail "version $step differs from what wrote it"
        run_meshsweep run --progress none
        expect_only_stderr 0
        expect_sql "$newest" "PRAGMA user_version"
    done
}

run_cases "$@"
