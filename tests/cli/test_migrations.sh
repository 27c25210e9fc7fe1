#!/usr/bin/env bash
# Databases of older schema versions become the schema of a fresh file, one transaction per step, and go on from where
# they were. schemas/schema.sh says what they are made from.
#
# When a migration is added, the version before it is noted there, by schemas/dump.sh with the last program of that
# version.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"
. "${0%/*}/schemas/schema.sh"

newest=$(cd "$source_dir/sql/migrations" && find . -name '*.sql' | sort | tail -n 1 | sed -E 's/^\.\/0*([0-9]+)_.*/\1/')

# The first one, the newest and some between: each of them leads through the migrations behind it.
drawn_versions() # [N]: one in four or in N
{
    echo 1
    seq 2 $((newest - 1)) | draw_lines "${1-4}"
    echo "$newest"
}

expect_tables_of() # VERSION
{
    [ "$(tables_of)" = "$(sed -n "s/^$1 //p" "$schemas/tables.md5")" ] ||
        fail "the migrations make other tables than version $1 wrote"
}

every_version__run__becomes_the_schema_of_a_fresh_file()
{
    small_sweep sweep.toml
    run_silently 0 -d fresh.db
    schema fresh.db >fresh
    for version in $(drawn_versions); do
        old_database "$version"
        [ "$version" = "$newest" ] || expect_tables_of "$version"
        expect_run only_stderr 0 run --progress none
        [ "$version" != "$newest" ] || expect_no_stderr
        [ "$version" = "$newest" ] || expect_stderr_contains "meshsweep: database results.db: upgraded from schema \
version $version to $newest; as it was, it is kept in results.db.schema-$version"
        schema results.db >upgraded
        diff -u fresh upgraded >difference || fail "upgraded from version $version: $(cat difference)"
        expect_sql "$newest" "PRAGMA user_version"
        expect_sql "ok" "PRAGMA integrity_check; PRAGMA foreign_key_check"
        # A job that was done is known by its content, one that was not runs again.
        expect_sql "ok|ok|1|10.0
ok|ok|1|20.0
ok|ok|1|20.0
ok|failed|2|40.0
ok|ok|2|40.0" "SELECT j.state, a.state, (SELECT max(number) FROM attempt WHERE job_id = j.id), s.value FROM job AS j
            JOIN attempt AS a ON a.job_id = j.id JOIN summary AS s ON s.attempt_id = j.attempt_id ORDER BY j.id, a.id"
        expect_sql "lost" "SELECT failure FROM attempt WHERE state = 'failed'"
        expect_sql 0 "SELECT count(*) FROM failure_pattern WHERE pattern = 'a pattern of then'"
        expect_said only_stdout 0 'results.db: all well' check -d results.db
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
    run_ended 0
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
    expect_said only_stderr_contains 0 'upgraded from schema version 12' run --progress none
    expect_sql 84 "SELECT count(*) FROM attempt"
    sql "SELECT rank, hex(key), derived FROM job ORDER BY id" >after
    diff -u before after >difference || fail "$(cat difference)"
    run_meshsweep plan --json
    expect_only_stdout_contains 0 '"done":	84,' '"new":	0,'
    # Deleted by hand they are made anew, at their places.
    sql "DELETE FROM job WHERE id % 3 = 0"
    run_ended 0
    sql "SELECT rank, hex(key), derived FROM job ORDER BY rank" >anew
    sort -t '|' -k 1,1n before | diff -u - anew >difference || fail "$(cat difference)"
    expect_sql 84 "SELECT count(*) FROM attempt"
}

# All that reads an old database reads what `upgrade` makes of it, and changes nothing.
older_version__read__as_if_upgraded_and_unchanged()
{
    for version in $(drawn_versions 8); do
        old_database "$version"
        rm -rf new
        mkdir new
        "$meshsweep" upgrade -o new/results.db >/dev/null 2>&1 || fail "no upgrade from version $version"
        before=$(ls -a && md5sum results.db)
        for command in status "results --all" best "why x=1" "show 1" "export --all" check; do
            # shellcheck disable=SC2086 # words
            { env -C new "$meshsweep" $command || true; } >expected 2>&1
            # shellcheck disable=SC2086 # words
            "$meshsweep" $command 2>&1 | diff expected - >difference ||
                fail "version $version, $command: $(cat difference)"
            rm -f expected difference
        done
        expect "[ \"\$(ls -a && md5sum results.db)\" = '$before' ]"
    done
}

older_version__backup__as_it_is()
{
    old_database 7
    expect_said only_stdout 0 'copy.db: 4 jobs, 4 attempts' backup copy.db
    expect_sql 7 "PRAGMA user_version" copy.db
    schema results.db >before
    expect "schema copy.db | cmp - before"
}

older_version__merged__says_what_to_do()
{
    old_database 7
    expect_said only_stderr 1 "meshsweep: merging results.db: database results.db: its schema version 7 is older than \
this program's $newest; \`meshsweep upgrade results.db\` upgrades it, and keeps a copy" merge results.db -o all.db
}

# One that is too large to be copied for each reader.
large_database() # VERSION
{
    old_database "$1"
    sqlite3 -batch results.db "INSERT INTO meta VALUES ('ballast', zeroblob(70 << 20))"
}

older_version__large__says_what_to_do_and_that_works()
{
    large_database 12
    mv results.db 'my old.db'
    for command in status results "check" "export"; do
        expect_said only_stderr 1 "meshsweep: database my old.db: its schema version 12 is older than this program's \
$newest; \`meshsweep upgrade 'my old.db'\` upgrades it, and keeps a copy" "$command" -d 'my old.db'
    done
    expect_run status 0 upgrade 'my old.db'
    expect_stdout_contains "my old.db: schema version 12 is now $newest, which has more of:
  13: What a failed attempt is put down to, what others said of its end, and jobs that wait for their host"
    expect_stderr "meshsweep: database my old.db: upgraded from schema version 12 to $newest; as it was, it is kept in \
my old.db.schema-12"
    expect_said only_stdout_contains 0 'ok       3' status -d 'my old.db'
    expect_sql "12" "PRAGMA user_version" 'my old.db.schema-12'
    expect_sql "4" "SELECT count(*) FROM job" 'my old.db.schema-12'
    expect "[ \"\$(stat -c %a 'my old.db.schema-12')\" = 600 ]"
}

older_version__large_and_not_to_be_written__advice_that_works()
{
    large_database 12
    mkdir archive
    mv results.db archive
    run_read_only archive -- status -d archive/results.db
    expect_only_stderr 1 "meshsweep: database archive/results.db: its schema version 12 is older than this program's \
$newest; it may not be written, but \`meshsweep upgrade -o NEW archive/results.db\` makes an upgraded copy NEW"
    run_read_only archive -- upgrade -o new.db archive/results.db
    expect_status 0
    expect_any_stdout
    expect_stderr "meshsweep: database new.db: upgraded from schema version 12 to $newest"
    expect_said only_stdout_contains 0 'ok       3' status -d new.db
}

older_version__not_to_be_written__read()
{
    old_database 12
    mkdir archive
    mv results.db archive
    expect_said_by only_stdout_contains 0 'ok       3' run_read_only archive -- status -d archive/results.db
}

# --- upgrade ---

upgrade__newest_absent_or_in_the_way__said()
{
    small_sweep sweep.toml
    run_meshsweep upgrade
    expect_only_stderr 1 'meshsweep: database results.db: it does not exist yet; `meshsweep run` creates it'
    run_silently 0
    expect_said only_stdout 0 "results.db: its schema version is $newest, this program's: nothing to do" upgrade
    expect_no_file "results.db.schema-$newest"
    expect_said only_stderr 2 'meshsweep: results.db is the database itself; name another with -o' upgrade -o results.db
    cp results.db other.db
    expect_said only_stderr 2 'meshsweep: upgrade: other.db exists already; name another with -o' upgrade -o other.db
}

upgrade__twice_of_one_name_or_without_a_copy__as_asked()
{
    for _ in 1 2; do
        old_database 3
        cp results.db.schema-3 first 2>/dev/null || true
        expect_run status 0 upgrade --json -d results.db
        expect_stdout_contains '"schema_before":	3'
        expect_stderr_contains 'upgraded from schema version 3'
        # old_database takes them away.
        mkdir -p kept
        mv results.db.schema-3* kept
        cp kept/* .
    done
    old_database 3
    printf 'not ours' >results.db.schema-3
    expect_said among_stderr 0 'as it was, it is kept in results.db.schema-3-2' upgrade
    expect_file_contains results.db.schema-3 'not ours'
    expect_sql "lost" "SELECT coalesce((SELECT failure FROM attempt WHERE state = 'failed'), 'lost')"
    # Nothing has run, and what was running then is not judged.
    expect_sql "3|running" "SELECT sum(j.state = 'ok'), max(iif(a.state = 'running', 'running', ''))
        FROM job AS j JOIN attempt AS a ON a.job_id = j.id"
    old_database 3
    expect_run status 0 upgrade --no-copy
    expect_any_stdout
    expect_stderr "meshsweep: database results.db: upgraded from schema version 3 to $newest"
    expect "[ \"\$(echo results.db*)\" = 'results.db results.db.lock' ]"
}

# As a program leaves it that dies while it makes a new one.
half_made_file__run__goes_on_without_a_copy()
{
    small_sweep sweep.toml
    for version in 1 12 $((newest - 1)); do
        old_database "$version"
        sqlite3 results.db 'DELETE FROM attempt; DELETE FROM job; DELETE FROM sweep; DELETE FROM runner'
        run_silently 0
        expect "[ \"\$(echo results.db*)\" = 'results.db results.db.d results.db.lock' ]"
        expect_sql 4 "SELECT count(*) FROM job WHERE state = 'ok'"
    done
}

upgrade__no_room_for_a_copy__not_upgraded()
{
    [ "$(id -u)" = 0 ] || skip "only root may mount"
    mkdir small
    mount -t tmpfs -o size=400k tmpfs small 2>/dev/null || skip "no mounts here"
    old_database 5
    cp results.db small/
    head -c 180000 /dev/zero >small/ballast
    run_meshsweep upgrade small/results.db
    umount -l small
    expect_only_stderr_matches 1 '^meshsweep: database small/results\.db: it is not upgraded, for no copy of it as it '\
'is can be kept: .*disk is full.*; `meshsweep upgrade --no-copy small/results\.db` upgrades it without one$'
}

foreign_trigger__in_an_older_version__refused_before_it_runs()
{
    small_sweep sweep.toml
    old_database 5
    sqlite3 results.db "CREATE TRIGGER evil AFTER UPDATE ON job BEGIN UPDATE job SET rank = 999; END"
    for command in status run check upgrade; do
        run_meshsweep "$command" -d results.db
        expect_only_stderr 1 'meshsweep: database results.db: its schema is not as meshsweep makes it: trigger evil '\
'on job; `meshsweep check --repair -d results.db` brings it back to that, and keeps all rows'
    done
    expect_run status 1 check --repair -d results.db
    expect_stdout_contains 'schema that were not as meshsweep makes them (1): trigger evil on job'
    expect_stderr_contains 'upgraded from schema version 5'
    expect_sql 0 "SELECT count(*) FROM job WHERE rank = 999"
}

migration__that_fails__leaves_the_version_before()
{
    [ "$newest" -gt 1 ] || skip "there is one version"
    small_sweep sweep.toml
    old_database 1
    sqlite3 -batch results.db 'CREATE TABLE observation (x); INSERT INTO observation VALUES (7)'
    schema results.db >before
    expect_said only_stderr_matches 1 '^meshsweep: .*migrations/0002_predictions.sql.*observation' run --progress none
    expect_sql 1 "PRAGMA user_version"
    expect_sql "7|4" "SELECT x, (SELECT count(*) FROM attempt) FROM observation"
    expect "schema results.db | cmp - before"
    sqlite3 -batch results.db 'DROP TABLE observation'
    run_ended 0
    expect_sql "4|0" "SELECT sum(state = 'ok'), (SELECT count(*) FROM observation) FROM job"
}

migration__killed_in_the_middle__leaves_the_version_before()
{
    need_fault_points
    small_sweep sweep.toml
    for ((step = 1; step < newest; step++)); do
        old_database 1
        expect_after only_stderr 137 run_killed "migration-applied:$step" run
        expect_sql "$step" "PRAGMA user_version"
        # Views come with the program, after the last step.
        schema results.db "type <> 'view'" >before
        old_database "$step"
        schema results.db "type <> 'view'" | cmp - before || fail "version $step differs from what wrote it"
        run_ended 0
        expect_sql "$newest" "PRAGMA user_version"
    done
}

run_cases "$@"
