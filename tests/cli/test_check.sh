#!/usr/bin/env bash
# cli: check, of sweep files and of databases.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# Makes a database in which nothing is left of a runner that no longer exists.
quiet_database()
{
    fixture_database \
        "UPDATE attempt SET state = 'ok' WHERE id = 8; UPDATE job SET state = 'ok', attempt_id = 8 WHERE id = 7" \
        "$@"
}

check__one_that_is_right_none_or_too_many__one_line()
{
    expect_run only_stderr 2 check
    expect_stderr 'meshsweep: check: there is neither sweep.toml nor results.db here; name a sweep file (-c FILE), '\
'a database (-d FILE) or both'
    expect_said only_stderr_contains 2 'absent.toml' check -c absent.toml
    run_meshsweep check a.db b.db
    expect_only_stderr 2 'meshsweep: check: give at most one sweep file and one database; one too many: b.db'
    small_sweep sweep.toml
    expect_said only_stdout_matches 0 '^sweep' check
    run_meshsweep check sweep.toml
    expect_only_stdout_matches 0 \
        '^sweep\.toml: sweep small: 1 cluster_spec, 2 training_spec, 2 parallel_spec, 4 combinations, [0-9]+ rules$'
}

check_sweep__wrong__every_problem_with_its_place()
{
    small_sweep sweep.toml
    sed -i -e 's/objective = .*/objektive = "max:score"/' -e 's/{x}/{xx}/' sweep.toml
    expect_said only_stderr_matches 2 '^meshsweep: sweep\.toml:3:[0-9]+: .*objektive.*objective' check -c sweep.toml
    sed -i '/objektive/d' sweep.toml
    echo '[derive]
z = "xy + 1"' >>sweep.toml
    expect_said only_stderr_matches 2 '^meshsweep: sweep\.toml:[0-9]+:[0-9]+: .*xx' check -c sweep.toml
    expect_stderr_matches '^meshsweep: sweep\.toml:[0-9]+:[0-9]+: .*xy'
}

check_sweep__objective_that_nobody_reads__noted_or_wrong()
{
    toml sweep: objective=max:speed job: command='["true"]' >sweep.toml
    expect_run only_status 0 check sweep.toml
    expect_stderr 'meshsweep: sweep.toml: no reader is given for speed: each job must write it to '\
'$MESHSWEEP_METRICS or fails as no-metric; to read it from output or a file, add [job.metrics.speed]'
    printf '[job.metrics.sped]\n' >>sweep.toml
    expect_run only_status 0 check sweep.toml
    expect_stderr_contains 'is given for speed; did you mean "sped"? each job must'
    sed -i '$ d' sweep.toml
    # Nothing is noted of a metric that the job is said to write, that every attempt has, or worked out from such.
    printf '[job.metrics.speed]\n' >>sweep.toml
    expect_run only_stdout 0 check sweep.toml
    toml sweep: objective=min:twice job: command='["true"]' metrics.twice: expression='2 * duration' >sweep.toml
    expect_run only_stdout 0 check sweep.toml
    # A search cannot say anything of that while a job runs.
    printf '[search]\nstrategy = "random"\n' >>sweep.toml
    expect_run only_status 0 check sweep.toml
    expect_stderr 'meshsweep: sweep.toml: [search] racing cannot end a job early: twice is computed from duration, '\
'which '\
'is known only once a job has ended'
    printf 'racing = false\n' >>sweep.toml
    expect_run only_stdout 0 check sweep.toml
    # A table has what it has.
    toml sweep: objective=max:speed import.parallel_spec: x=x import.metrics: rate=rate >sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:2:13: objective: jobs come from a table, but [import.metrics] '\
'has no "speed"' check sweep.toml
}

# A runner that was killed between making a directory and recording it leaves an empty one.
check_database__sound__all_well_and_nothing_to_repair()
{
    local everything="SELECT * FROM job; SELECT * FROM attempt; SELECT * FROM meta WHERE name <> 'path'"
    quiet_database
    expect_said only_stdout 0 'results.db: all well' check
    expect_said only_stdout 0 'results.db: all well' check results.db
    before=$(sql "$everything")
    expect_said only_stdout 0 'results.db: all well' check --repair -d results.db
    expect_sql "$before" "$everything"
    expect_no_file results.db.d
    mkdir -p results.db.d/0300000000000000/2 results.db.d/0300000000000000/3
    expect_said only_stdout_contains 0 'results.db: all well' check -d results.db
}

check_database__runner_gone__said_and_left_to_the_run()
{
    fixture_database
    for repair in '' --repair; do
        expect_said only_stdout 1 'running jobs without an active runner (1): job 7
  `meshsweep run` continues them
open attempts without an active runner (1): job 7 attempt 1
  `meshsweep run` continues them' check $repair -d results.db
    done
    expect_sql "running|running" \
        "SELECT j.state, a.state FROM job AS j JOIN attempt AS a ON a.job_id = j.id WHERE j.id = 7"
}

check_database__states_that_contradict__each_said()
{
    quiet_database "UPDATE job SET attempt_id = NULL WHERE id IN (1, 2)" "UPDATE job SET failure = 'hang' WHERE id = 4"
    sqlite3 results.db "PRAGMA foreign_keys = OFF; UPDATE attempt SET runner_id = 77 WHERE id = 9"
    expect_said only_stdout_contains 1 'ok jobs without an ok attempt (2): job 1, job 2' check -d results.db
    expect_stdout_contains 'failed jobs whose attempt did not fail in the same way (1): job 4'
    expect_stdout_contains 'attempts whose runner is missing (1): job 9 attempt 1'
}

check_database__files__missing_and_unknown_ones()
{
    quiet_database "UPDATE attempt SET directory = '0300000000000000/1' WHERE id = 3" \
        "UPDATE attempt SET directory = '0400000000000000/1' WHERE id = 4"
    mkdir -p results.db.d/0300000000000000/1 results.db.d/0300000000000000/2 results.db.d/slots
    echo "kept" >results.db.d/0300000000000000/2/output.log
    run_meshsweep check -d results.db
    expect_only_stdout 1 "attempts whose files are missing (1): 0400000000000000/1
  nothing needs to be done: their measurements are in the database, only their logs are lost
directories that belong to no attempt (1): 0300000000000000/2
  they can be deleted; they are in $PWD/results.db.d; \`meshsweep check --repair -d results.db\` moves them aside"
}

# A page of a table is overwritten.
damaged_database() # [SQL...]
{
    quiet_database "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO exclusion (sweep_id, position, rank, \"values\") SELECT 2, 1, i, json_object('i', i) FROM n" "$@"
    page=$(sql "SELECT rootpage FROM sqlite_schema WHERE name = 'exclusion'")
    head -c 4096 /dev/zero | tr '\0' 'x' | dd of=results.db bs=4096 seek="$((page - 1))" conv=notrunc 2>/dev/null
}

check_database__damaged_or_broken__said_not_crashed()
{
    damaged_database
    run_meshsweep check -d results.db
    expect_only_stdout_contains 1 'damage that SQLite finds' '.recover'
    # Integrity is looked at beside everything else, and said before it. The rows of a table that is its own index are
    # not compared by SQLite's quick check.
    quiet_database "INSERT INTO meta VALUES ('zz_a', '1'), ('zz_b', '2'), ('zz_c', '3')"
    LC_ALL=C sed -i 's/zz_b/zz_d/' results.db
    expect_said only_stdout_contains 1 'row not in PRIMARY KEY order for meta' check
    quiet_database "UPDATE job SET attempt_id = NULL WHERE id = 1" "PRAGMA ignore_check_constraints = 1" \
        "UPDATE spec SET hash = 'short' WHERE id = 1"
    expect_said only_stdout_contains 1 'CHECK constraint failed in spec' check
    expect "[ \"\$(grep -v '^ ' .stdout | cut -d '(' -f 1 | paste -sd,)\" = \
        'damage that SQLite finds ,ok jobs without an ok attempt ,specs that are not what their jobs were made of ' ]"
    # quick_check says nothing of it.
    quiet_database ""
    set_unique() # FROM TO
    {
        sqlite3 -cmd '.dbconfig defensive off' results.db "PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = replace(sql, '$1', '$2') WHERE name = 'spec_hash'" >/dev/null
    }
    set_unique 'CREATE UNIQUE' 'CREATE'
    columns=$(sql "SELECT group_concat(name) FROM pragma_table_info('spec') WHERE name <> 'id'")
    sql "INSERT INTO spec (id, $columns) SELECT 9, $columns FROM spec WHERE id = 1"
    set_unique 'CREATE' 'CREATE UNIQUE'
    expect_said only_stdout_contains 1 'non-unique entry in index spec_hash' check
}

# Shorter ones than any hash are read as none: under the sanitizers nothing behind them is.
hashes__too_short__read_all_the_same()
{
    quiet_database "PRAGMA ignore_check_constraints = 1" "UPDATE job SET key = x'01' WHERE id = 2" \
        "UPDATE spec SET hash = x'02' WHERE id = 1"
    for command in status "results --all" "show 2" "compare --by tp" export check; do
        # shellcheck disable=SC2086 # words
        run_meshsweep $command
        stated_status=1 stated_stdout=1 stated_stderr=1
        [ "$status" -le 4 ] || fail "status $status of $command"
    done
}

flip_byte() # FILE OFFSET
{
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf '%b' "\\0$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# 20.125 as SQLite stores it, and the end of the output: wherever they stand.
check_database__flipped_byte_of_a_result__said_of_which_attempt()
{
    local pattern offset found=0
    small_sweep sweep.toml
    sed -i 's/^name = .*/&\nchecksums = true/' sweep.toml
    echo 'echo "score: $(($1 * $2)).125"; echo "ended $1 of $2"' >job.sh
    run_silently 0 --limit 2
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    for pattern in '\x40\x34\x20\x00\x00\x00\x00\x00' 'ended 1 of 20'; do
        LC_ALL=C grep -obaUP "$pattern" results.db | cut -d : -f 1 >offsets
        while read -r offset; do
            cp results.db flipped.db
            cp -r results.db.d flipped.db.d
            flip_byte flipped.db $((offset + 2))
            expect_run status 1 check -d flipped.db
            # Its index's copy of it is SQLite's to find.
            expect_stdout_matches \
                '^attempts whose records have been changed \(1\): job 2 attempt 1$|^indexes that do'
            expect_no_stderr
            found=$((found + 1))
        done <offsets
    done
    expect "[ $found -ge 8 ]"
    # Deleted is not changed, and the sweep goes on with sums or without.
    rm -r "results.db.d/$(sql "SELECT directory FROM attempt WHERE job_id = 2")"
    sql "DELETE FROM attempt WHERE job_id = 2"
    sed -i '/checksums/d' sweep.toml
    run_silently 0
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    expect_sql "1" "SELECT count(*) FROM attempt_sum"
}

# As a power cut leaves it; one that meshsweep itself has cut says so.
check_database__cut_log__said()
{
    small_sweep sweep.toml
    run_silently 0 --limit 2
    log=results.db.d/$(sql "SELECT directory FROM attempt WHERE id = 1")/output.log
    truncate -s 4 "$log"
    expect_run only_stdout 1 check -d results.db
    expect_stdout_contains "attempts whose logs were cut (1): $(sql "SELECT directory FROM attempt WHERE id = 1")"
    printf '…\n[… 5 bytes cut by meshsweep …]\n' >"$log"
    sql "UPDATE attempt SET log_bytes = 1000000 WHERE id = 1"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

check_database__schema_changed__said()
{
    quiet_database
    sqlite3 results.db "DROP TRIGGER job_state; DROP INDEX job_failed; CREATE TABLE mine (x);
        ALTER TABLE metric ADD COLUMN more"
    expect_run only_stdout 1 check -d results.db
    expect_stdout 'indexes and triggers that are missing (2): index job_failed (missing), trigger job_state (missing)
  `meshsweep check --repair -d results.db` creates them again
parts of the schema that are not as meshsweep makes them (1): table metric (changed)
  `meshsweep check --repair -d results.db` brings it back to what meshsweep makes, and keeps all rows'
    mv results.db 'my FILE.db'
    run_meshsweep check -d 'my FILE.db'
    expect_only_stdout_contains 1 "\`meshsweep check --repair -d 'my FILE.db'\` creates them again"
}

# --- rows deleted and edited by hand ---

check_database__rows_without_what_they_refer_to__statements_that_delete_them()
{
    quiet_database
    sqlite3 results.db "DROP TRIGGER job_deleted; DELETE FROM job WHERE id = 9; INSERT INTO metric VALUES
        (77, 'loss', 0, 0, 1.0), (77, 'loss', 1, 1, 1.0); DELETE FROM rule WHERE sweep_id = 2"
    expect_said only_stdout_contains 1 'rows that refer to missing rows (4): ' check -d results.db
    advice=$(grep '^  delete them: sqlite3 ' .stdout)
    eval "${advice#*: }"
    expect_sql "" "PRAGMA foreign_key_check"
    expect_sql "8|5|0" "SELECT (SELECT count(*) FROM attempt), (SELECT count(*) FROM metric),
        (SELECT count(*) FROM exclusion)"
}

spec_rows__deleted__made_again_by_the_run()
{
    local before specs="SELECT kind, json FROM spec ORDER BY 1, 2"
    local keys="SELECT job, x, y, score FROM results ORDER BY 1"
    small_run
    before=$(sql "$specs; $keys")
    # The last one's number is free for the next.
    sqlite3 results.db "DELETE FROM spec WHERE kind = 'parallel_spec'"
    run_meshsweep check -d results.db
    expect_only_stdout 1 'jobs whose specs are missing (4): job 1, job 2, job 3, job 4
  `meshsweep check --repair -d results.db`, then `meshsweep run`: it makes them again from the sweep file'
    run_silently 0
    expect_sql "$before" "$specs; $keys"
    # Whatever the database was when they were deleted.
    sqlite3 results.db "DROP TRIGGER spec_deleted; DELETE FROM spec WHERE kind = 'training_spec'"
    expect_said only_stdout_contains 1 'repaired: jobs whose specs are missing (4): job 1, job 2, job 3, job 4
  the next run of their sweep makes them again from its file' check --repair -d results.db
    run_silently 0
    expect_sql "$before" "$specs; $keys"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

spec_rows__edited__told_and_made_again()
{
    local advice before specs="SELECT kind, json FROM spec ORDER BY 1, 2"
    small_sweep sweep.toml
    # Labels do not count, whatever they are called; those that a command reads do.
    sed -i -e 's/^name = .*/&\nnote = ["owner", '"'seed_note'"']/' -e 's/"{y}"/"{y}", "{description}"/' sweep.toml
    printf '%s\n' 'seed_note = 3' 'owner = "me"' 'name = "slow"' '[[model]]' 'owner = "you"' 'layers = 2' \
        'description = "deep"' >>sweep.toml
    run_silently 0
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    before=$(sql "$specs")
    sqlite3 results.db "UPDATE spec SET json = json_set(json, '\$.owner', 'she') WHERE kind = 'parallel_spec'"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    sqlite3 results.db "UPDATE spec SET json = json_set(json, '\$.y', 30) WHERE json ->> 'y' = 10;
        UPDATE spec SET json = json_set(json, '\$.description', 'flat') WHERE kind = 'model'"
    expect_said only_stdout_contains 1 'specs that are not what their jobs were made of (2): ' check -d results.db
    advice=$(grep '^  delete them: sqlite3 ' .stdout)
    advice=${advice#*: }
    eval "${advice%%, and *}"
    run_silently 0
    expect_sql "$before" "$specs"
    expect_sql "4" "SELECT count(*) FROM attempt"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

# --- repair ---

repair__states_rows_and_schema__said_and_right_again()
{
    quiet_database "UPDATE job SET attempt_id = NULL WHERE id IN (1, 2)" \
        "UPDATE job SET failure = 'hang' WHERE id = 4" \
        "UPDATE job SET attempt_id = 1 WHERE id = 5"
    sqlite3 results.db "PRAGMA foreign_keys = OFF; UPDATE attempt SET runner_id = 77 WHERE id = 9;
        PRAGMA ignore_check_constraints = ON; UPDATE attempt SET failure = NULL WHERE id = 6;
        DELETE FROM attempt WHERE id = 2; UPDATE job SET state = 'pending' WHERE id = 2;
        UPDATE job SET state = 'running'
        WHERE id = 2; UPDATE job SET state = 'ok' WHERE id = 2; UPDATE sweep SET jobs = 99 WHERE id = 1;
        DELETE FROM meta; DROP TRIGGER job_state; DROP INDEX job_failed"
    expect_said only_stdout 0 'repaired: indexes and triggers that were missing (2): job_failed, job_state
  they were created again
repaired: attempts whose runner is missing (1): job 9 attempt 1
  they now have a runner on an unknown host
repaired: failed attempts without a failure class (1): job 5 attempt 2
  their class was set from their exit status or signal, or to `lost` without either
repaired: ok jobs without an ok attempt (2): job 1, job 2
  each job now has its last ok attempt, or is pending if it has none
repaired: failed jobs whose attempt did not fail in the same way (2): job 4, job 5
  each job now has its last failed attempt, or is pending if it has none
repaired: sweeps with missing jobs (1): sweep 1: 1 of 99
  the next run of the sweep creates them again
results.db: all well' check --repair -d results.db
    expect_sql "1|ok||1
2|pending||
4|failed|oom|4
5|failed|exit|6" "SELECT id, state, failure, attempt_id FROM job WHERE id IN (1, 2, 4, 5)"
    expect_sql "32|unknown|0" "SELECT length(value), (SELECT host FROM runner WHERE id = 77),
        (SELECT enumerated FROM sweep WHERE id = 1) FROM meta WHERE name = 'identity'"
    expect_said only_stdout 0 'results.db: all well' check --repair results.db
}

repair__index_that_lies__made_again()
{
    quiet_database
    # A job fails otherwise while its index is not known to SQLite.
    sql "SELECT 'INSERT INTO sqlite_schema VALUES (' || quote(type) || ',' || quote(name) || ',' || quote(tbl_name) ||
        ',' || rootpage || ',' || quote(sql) || ')' FROM sqlite_schema WHERE name = 'job_failed'" >back
    sqlite3 results.db "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'job_failed'"
    sqlite3 results.db "UPDATE job SET failure = 'exit', attempt_id = 6 WHERE id = 4;
        UPDATE attempt SET job_id = 4, number = 7 WHERE id = 6;
        UPDATE job SET attempt_id = 7 WHERE id = 5; UPDATE attempt SET job_id = 5, number = 7 WHERE id = 7;
        UPDATE job SET state = 'pending', failure = NULL WHERE id = 6"
    sqlite3 results.db "PRAGMA writable_schema = ON; $(cat back)"
    expect_said only_stdout_contains 1 'indexes that do not agree with their tables' check -d results.db
    expect_stdout_lacks 'damage that SQLite finds'
    run_meshsweep check --repair -d results.db
    expect_only_stdout_contains 0 'the indexes were rebuilt from the tables' 'results.db: all well'
    expect_sql "4|exit
5|exit" "SELECT id, failure FROM job INDEXED BY job_failed WHERE sweep_id = 2 AND state = 'failed' ORDER BY id"
}

repair__directories__moved_aside_or_removed()
{
    quiet_database "UPDATE attempt SET directory = '0300000000000000/1' WHERE id = 3"
    mkdir -p results.db.d/0300000000000000/{1,2,3} results.db.d/orphans/0300000000000000-2
    echo "kept" >results.db.d/0300000000000000/2/output.log
    run_meshsweep check --repair -d results.db
    expect_only_stdout_matches 0 \
        '^repaired: directories that belong to no attempt \(2\): 0300000000000000/[23], 0300000000000000/[23]$'
    expect_stdout_contains 'results.db: all well'
    expect_file_contains results.db.d/orphans/0300000000000000-2.2/output.log kept
    expect "[ \"\$(ls results.db.d/0300000000000000)\" = 1 ]"
}

repair__damaged_absent_or_in_use__refused()
{
    run_meshsweep check --repair -c sweep.toml
    expect_only_stderr 2 'meshsweep: check: --repair needs a database; name it with -d FILE'
    run_meshsweep check --repair -d absent.db
    expect_only_stderr 1 'meshsweep: database absent.db: it does not exist; name another with -d FILE'
    expect_no_file absent.db.lock
    damaged_database "UPDATE job SET attempt_id = NULL WHERE id = 1"
    run_meshsweep check --repair -d results.db
    expect_only_stderr 1 'meshsweep: database results.db: it is damaged, so nothing was repaired; `meshsweep check '\
'-d results.db` says what is wrong and what to do'
    expect_sql "" "SELECT attempt_id FROM job WHERE id = 1"
}

# A batch system that cannot be reached: what it says is told, and nobody waits for jobs that it never took.
executor__unreachable__said_at_once()
{
    stand_in bin/kubectl <<<'echo "Connection to x:1 was refused; was it" >&2; exit 1'
    PATH=$PWD/bin:$PATH
    small_sweep sweep.toml
    expect_command status 1 timeout 60 "$meshsweep" check --executor kubernetes
    expect_stdout_contains 'true: refused: kubectl: Connection to x:1 was refused; was it'
    expect_stderr_contains 'submitting three small jobs to Kubernetes'
    expect_said only_stderr_contains 2 '--executor tries a batch system' check --executor ssh
    start_meshsweep run --executor kubernetes
    wait_until '[ -s results.db ] && sql "SELECT waits FROM attempt" | grep -q "submitted yet: .*refused, was it"' 30
    end_command TERM among_stderr 143 'waiting (not submitted yet: '
}

run_cases "$@"
