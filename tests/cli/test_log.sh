#!/usr/bin/env bash
# The write-ahead log and its index, cut by another program.
. "${0%/*}/lib.sh"

# Jobs that wait for the file go, of which some have ended: stopped where it writes nothing. What is committed is looked
# at in a copy of both files, for a reader would keep the log from being copied whole.
start_cut_run()
{
    small_sweep sweep.toml
    sed -i "s/x = \[1, 2\]/x = [$(seq -s , 1 20)]/" sweep.toml
    printf '%s\n' 'until [ "$1" -lt 15 ] || [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    start_until has_28_ok 30 run --progress none -j 2
    wait_until stopped_idle 30
}

has_28_ok()
{
    rm -f seen.db*
    cp results.db seen.db && cp results.db-wal seen.db-wal &&
        [ "$(sql "SELECT sum(state = 'ok') || ' ' || sum(state = 'running') FROM attempt" seen.db)" = "28 2" ]
} 2>/dev/null

# Nothing was written or copied for half a second.
stopped_idle()
{
    local before
    before=$(cksum results.db results.db-wal results.db-shm)
    sleep 0.5
    signal_command STOP
    wait_until "grep -q '^State:.T' /proc/$command_pid/status" 20
    [ "$(cksum results.db results.db-wal results.db-shm)" != "$before" ] || return 0
    signal_command CONT
    return 1
}

expect_ended_for_cut() # SENTENCE [END]
{
    touch go
    end_command CONT only_stderr 1 "meshsweep: database results.db: another program has truncated $1; start again${2-}"
    run_ended 0
    expect_sql "ok" "PRAGMA integrity_check"
    expect_sql "40|40" "SELECT count(*), sum(state = 'ok') FROM job"
}

log__cut_during_a_run__said_and_gone_on_from()
{
    for bytes in 0 100 30000; do
        rm -rf results.db* go
        start_cut_run
        truncate -s "$bytes" results.db-wal
        expect_ended_for_cut "results.db-wal; the newest records may be lost" ", and their jobs run again"
    done
}

log_index__cut_during_a_run__no_bus_error_and_nothing_lost()
{
    for bytes in 0 4096 30000; do
        rm -rf results.db* go
        start_cut_run
        truncate -s "$bytes" results.db-shm
        expect_ended_for_cut 'results.db-shm; no records are lost'
        expect_sql 40 "SELECT count(*) FROM attempt WHERE state = 'ok'"
    done
}

# A change that a person may make is no cut.
log__emptied_by_a_checkpoint_during_a_run__goes_on()
{
    start_cut_run
    signal_command CONT
    expect_sql "0|0|0" "PRAGMA wal_checkpoint(TRUNCATE)"
    expect "[ ! -s results.db-wal ]"
    touch go
    wait_command silent 0
    expect_sql "40" "SELECT count(*) FROM job WHERE state = 'ok'"
}

log__cut_after_a_runner_was_killed__said_and_gone_on_from()
{
    need_fault_points
    small_sweep sweep.toml
    for bytes in 0 4000; do
        rm -rf results.db*
        expect_after only_status 137 run_killed runner-ended run --progress none
        truncate -s "$bytes" results.db-wal
        expect_said only_stderr 0 'meshsweep: another program has truncated results.db-wal since the last run; the '\
'newest records are lost, and their jobs run again' run --progress none
        expect_sql "ok" "PRAGMA integrity_check"
        expect_sql "4" "SELECT count(*) FROM job WHERE state = 'ok'"
    done
}

# It is repaired where things went wrong: there it must be said.
log__cut_after_a_killed_run__said_by_a_repair()
{
    need_fault_points
    small_sweep sweep.toml
    expect_after only_status 137 run_killed runner-ended run --progress none
    truncate -s 0 results.db-wal
    expect_said among_stderr 0 'another program has truncated results.db-wal since the last run; the newest records '\
'are lost' check --repair -d results.db
}

# Gives SQL to the program that reads from descriptor FD, and waits until it is done.
ask_on() # FD SQL
{
    rm -f answered
    printf '%s;\n.shell touch answered\n' "$2" >&"$1"
    wait_until "[ -e answered ]" 20
}

# SQLite copies only the newest of a page's versions: where a reader holds on to an older one, what is copied needs the
# log.
log__cut_when_copied_in_part__damage_said_each_time()
{
    small_run
    mkfifo writes reads
    sqlite3 -batch results.db <writes >/dev/null &
    writer=$!
    exec 8>writes
    sqlite3 -batch results.db <reads >/dev/null &
    reader=$!
    exec 9>reads
    ask_on 8 "CREATE TABLE a (x, y); CREATE INDEX by_y ON a (y); WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c \
LIMIT 5000) INSERT INTO a SELECT x, x FROM c; PRAGMA wal_checkpoint(RESTART); PRAGMA wal_autocheckpoint = 0"
    ask_on 8 "UPDATE a SET y = -y"
    ask_on 9 "BEGIN; SELECT count(*) FROM a"
    ask_on 8 "UPDATE a SET x = 0 WHERE rowid = 1; PRAGMA wal_checkpoint"
    kill -9 "$writer" "$reader"
    wait "$writer" "$reader" 2>/dev/null || true
    exec 8>&- 9>&-
    truncate -s 0 results.db-wal
    for _ in 1 2; do
        expect_said only_stderr_contains 1 'another program has truncated results.db-wal while it was being copied '\
'into the database: the database' run --progress none
    done
}

run_cases "$@"
