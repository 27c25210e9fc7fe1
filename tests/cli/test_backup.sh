#!/usr/bin/env bash
# The database as a file that people copy: what stands in it when a run has ended and while one writes, and `backup`.
. "${0%/*}/lib.sh"

# Opens the database in a process of its own, which goes on after each `ask`. Its input is descriptor 9.
start_reader() # [DATABASE]
{
    mkfifo words
    sqlite3 -batch -noheader "${1:-results.db}" <words >answers &
    exec 9>words
}

ask() # SQL
{
    : >asked
    printf '%s;\n.shell echo done >>asked\n' "$1" >&9
    wait_until "[ -s asked ]" 20
}

# A sweep whose runs hang on to nothing, with a database of some hundred rows in the log.
larger_sweep() # JOBS
{
    small_sweep sweep.toml
    sed -i "s/x = \[1, 2\]/x = [$(seq -s , 1 $(($1 / 2)))]/" sweep.toml
}

expect_whole() # JOBS DATABASE
{
    expect_sql "ok" "PRAGMA integrity_check" "$2"
    expect_sql "$1|$1" "SELECT count(*), sum(state = 'ok') FROM job" "$2"
}

# --- a plain copy ---

copy__after_a_run_beside_an_open_reader__has_everything()
{
    larger_sweep 40
    run_silently 0 --limit 1
    start_reader
    ask 'SELECT count(*) FROM job'
    run_silently 0 -j 2
    cp results.db copy.db
    exec 9>&-
    expect_whole 40 copy.db
}

# The reader's rows must stay: the file cannot be brought up to date, and that is said.
copy__after_a_run_beside_a_reader_in_a_transaction__said_to_lack_something()
{
    larger_sweep 4
    run_silently 0 --limit 1
    start_reader
    ask 'BEGIN; SELECT count(*) FROM job'
    expect_said only_stderr 0 "meshsweep: another program still reads results.db, so the newest records are only \
in results.db-wal; to copy the database, copy both files or use meshsweep backup" run --progress none
    expect_said only_stdout 0 'copy.db: 4 jobs, 4 attempts' backup copy.db
    exec 9>&-
    expect_whole 4 copy.db
}

copy__during_a_run__has_all_but_the_last_seconds()
{
    larger_sweep 200
    sed -i '1i sleep 0.3' job.sh
    start_until "[ \"\$(sql 'SELECT count(*) > 0 FROM job' 2>/dev/null)\" = 1 ]" 20 run --progress none
    start_reader
    ask 'SELECT count(*) FROM job'
    wait_until "cp results.db copy.db && [ \"\$(sqlite3 -batch copy.db \"SELECT count(*) FROM job WHERE state = \
'ok'\" 2>/dev/null || echo 0)\" -gt 0 ]" 20
    exec 9>&-
    end_command TERM only_stderr_contains 143 'stopping the running jobs'
}

# --- backup ---

backup__during_a_run__consistent_and_alone()
{
    larger_sweep 2000
    start_meshsweep run --progress none -j 2
    wait_until "[ \"\$(sql \"SELECT count(*) > 4 FROM attempt WHERE state = 'ok'\" 2>/dev/null)\" = 1 ]" 20
    for i in 1 2 3 4 5; do
        "$meshsweep" backup "copy$i.db" >/dev/null || fail "backup $i: status $?"
        expect_sql ok 'PRAGMA integrity_check' "copy$i.db"
        expect_sql 0 "SELECT count(*) FROM job WHERE state = 'ok' AND NOT EXISTS (SELECT 1 FROM attempt
            WHERE job_id = job.id AND state = 'ok')" "copy$i.db"
        expect_sql 1 "SELECT count(*) > 4 FROM job WHERE state = 'ok'" "copy$i.db"
    done
    expect "[ -z \"\$(find . -name 'copy*' ! -name 'copy?.db')\" ]"
    end_command TERM only_stderr_contains 143 'stopping the running jobs'
}

# Another one takes its place.
backup__of_a_finished_run__goes_on_where_it_stood()
{
    larger_sweep 4
    run_silently 0 --limit 2
    umask 022
    expect_said only_stdout 0 'copy.db: 4 jobs, 2 attempts' backup -d results.db copy.db
    expect "[ \"\$(stat -c %a copy.db)\" = 600 ]"
    rm -r results.db*
    cp copy.db results.db
    run_silently 0
    expect_said only_stdout 0 "copy.db: 4 jobs, 4 attempts" backup copy.db
    expect_sql 4 "SELECT count(*) FROM attempt WHERE state = 'ok'" copy.db
}

expect_refused() # STATUS SENTENCE ARGS
{
    local before
    before=$(find . -name '*.db*' -type f | sort | xargs md5sum)
    expect_said only_stderr "$1" "meshsweep: $2" backup "${@:3}"
    expect "[ \"\$(find . -name '*.db*' -type f | sort | xargs md5sum)\" = '$before' ]"
}

backup__over_the_database_or_another_file__refused()
{
    larger_sweep 4
    expect_refused 1 'database results.db: it does not exist yet; `meshsweep run` creates it' copy.db
    run_silently 0
    ln results.db hard.db
    ln -s results.db soft.db
    mkdir place
    echo "notes" >notes.db
    for name in results.db ./results.db hard.db soft.db; do
        expect_refused 2 "$name is the database itself; name another with backup FILE" "$name"
    done
    expect_refused 2 "results.db-wal is the database's write-ahead log; name another with backup FILE" results.db-wal
    expect_refused 2 "results.db.lock is the database's lock; name another with backup FILE" results.db.lock
    expect_refused 2 'sweep.toml is a sweep file of the database; name another with backup FILE' sweep.toml
    mkfifo pipe.html
    run_meshsweep report -o pipe.html
    expect_only_stderr_contains 2 'pipe.html is no regular file, which would be replaced by one; name another with -o'
    expect '[ -p pipe.html ]'
    for name in notes.db place; do
        expect_refused 1 "backup: $name exists already and is not a database of this version of meshsweep; name \
another file or remove it" "$name"
    done
    expect_refused 1 'backup: cannot create absent/copy.db: No such file or directory' absent/copy.db
    expect_refused 2 'backup: no file is given; name the file to write the copy to: meshsweep backup FILE'
    # One that is in use.
    cp results.db other.db
    start_reader other.db
    ask "PRAGMA journal_mode = WAL; UPDATE job SET priority = 0"
    expect_refused 1 'backup: other.db is in use: other.db-wal stands beside it; name another file' other.db
    exec 9>&-
}

run_cases "$@"
