#!/usr/bin/env bash
# One database has one runner, by whatever name it is reached; what is not the database's lock is left alone.
. "${0%/*}/lib.sh"

held_message='another runner is using this file, under another name'

# A sweep whose jobs wait for the file "go"; leaves it running.
waiting_run()
{
    small_sweep
    printf '%s\n' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    start_meshsweep run --progress none
    wait_until '[ "$(sql "SELECT count(*) FROM attempt WHERE state = '\''running'\''" 2>/dev/null)" = 1 ]' 20
}

let_go()
{
    touch go
    wait_command silent 0
    expect_sql "4|ok" "SELECT count(*), state FROM job GROUP BY state"
}

hard_link__runner_at_work__refused()
{
    waiting_run
    ln results.db hard.db
    for command in "run --progress none -d hard.db" "merge results.db -o hard.db"; do
        # shellcheck disable=SC2086 # words
        "$meshsweep" $command >out 2>err </dev/null && fail "$command: was let in"
        [ "${command%% *}" = merge ] || expect_file_contains err "$held_message"
    done
    expect_no_file hard.db-wal hard.db.lock
    let_go
    run_silently 0 -d hard.db
    expect_sql "4|1" "SELECT count(*), max(number) FROM attempt" hard.db
}

bind_mount__runner_at_work__refused()
{
    mkdir elsewhere
    touch elsewhere/other.db
    unshare -rm true 2>/dev/null || skip "no mount namespace of one's own may be made here"
    waiting_run
    unshare -rm sh -c 'mount --bind results.db elsewhere/other.db && exec "$0" run --progress none -d '\
'elsewhere/other.db' \
        "$meshsweep" >out 2>err </dev/null && fail "was let in"
    ! grep -q "^mount" err || { touch go; skip "nothing may be mounted here"; }
    expect_file_contains err "$held_message"
    let_go
}

# The runner's last records lie beside the name by which it was called.
hard_link__dead_runner_left_its_log__other_name_named()
{
    waiting_run
    end_command KILL only_stderr 137
    touch go
    expect "[ -s results.db-wal ]"
    ln results.db hard.db
    expect_said only_stderr 1 "meshsweep: database hard.db: it is also $PWD/results.db, and its newest records are \
next to that name; start again with -d $PWD/results.db" run --progress none -d hard.db
    expect_no_file hard.db-wal
    run_ended 0
    expect_sql "4|ok" "SELECT count(*), state FROM job GROUP BY state"
}

lock__symbolic_link__not_followed()
{
    small_sweep
    echo precious >file
    ln -s file results.db.lock
    expect_said only_stderr 1 "meshsweep: database results.db: $PWD/results.db.lock is not a lock file of meshsweep; \
name another database with -d, or remove that file" run --progress none
    expect_file_contains file precious
    expect_no_file results.db
    rm results.db.lock
    ln -s nowhere results.db.lock
    expect_said only_stderr_contains 1 "is not a lock file of meshsweep" run --progress none
    expect_no_file nowhere
}

lock__pipe__refused_at_once()
{
    small_sweep
    mkfifo results.db.lock
    expect_said only_stderr_contains 1 "is not a lock file of meshsweep" run --progress none
}

deleted_database__next_run__points_to_what_was_saved()
{
    waiting_run
    rm results.db
    touch go
    wait_command only_stderr_contains 1 "its contents are saved in results.db.saved"
    expect_said only_stderr 0 "meshsweep: new database results.db: results.db.saved has the contents of the earlier \
database of this name, which was deleted, moved or replaced while in use; to continue from it, stop, move it to the \
name of the new one and start again" run --progress none
    expect_sql "4|ok" "SELECT count(*), state FROM job GROUP BY state"
    run_silently 0
    mv results.db.saved results.db
    run_silently 0
    expect_sql "4|ok" "SELECT count(*), state FROM job GROUP BY state"
}

run_cases "$@"
