#!/usr/bin/env bash
# The database file: whose it is, who may write it, who reads meanwhile, and what becomes of it when things go wrong.
. "${0%/*}/lib.sh"

# A run that is refused: the status and the sentence.
expect_refused() # STATUS SENTENCE ARGS
{
    expect_said only_stderr "$1" "meshsweep: $2" "${@:3}"
}

# Jobs that wait for the file go.
waiting_sweep()
{
    small_sweep sweep.toml
    printf '%s\n' 'echo "$*" >>ran.log' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    : >ran.log
}

start_first_job()
{
    start_until "[ -s ran.log ]" 20 run --progress none
}

# --- readers ---

readers__leave_file_and_directory_as_they_were()
{
    small_sweep sweep.toml
    expect_said only_stdout_contains 0 '4 jobs: + 4 new' plan
    expect "! ls | grep results"
    run_silently 0
    before=$(ls -a && md5sum results.db && stat -c %Y.%s results.db)
    for command in plan "plan --json" status "status --json" results best "why x=1" export "check -d results.db" \
        "run --dry-run --retry-failed" "results -d ./results.db"; do
        # shellcheck disable=SC2086 # words
        expect_run only_stdout 0 $command
        expect "[ \"\$(ls -a && md5sum results.db && stat -c %Y.%s results.db)\" = '$before' ]"
    done
}

readers__beside_a_run__never_find_it_locked()
{
    small_sweep sweep.toml
    sed -i "s/x = \[1, 2\]/x = [$(seq -s , 1 3000)]/" sweep.toml
    start_until "[ \"\$(sql 'SELECT count(*) > 4 FROM attempt' 2>/dev/null)\" = 1 ]" 20 run --progress none -j 2
    for _ in $(seq 40); do
        sqlite3 -batch results.db 'SELECT count(*) FROM job; SELECT * FROM progress; SELECT * FROM ranking LIMIT 3' \
            >/dev/null 2>>errors || echo "sqlite3 failed" >>errors
        "$meshsweep" status >/dev/null 2>>errors || echo "status failed" >>errors
    done
    expect "[ ! -s errors ] || ! sed 's/^/# /' errors"
    end_command TERM only_stderr_contains 143 "stopping the running jobs"
    expect_sql 1 "SELECT count(*) > 40 FROM job WHERE state = 'ok'"
}

# --- names and kinds of files ---

database__no_name_a_directory_or_no_regular_file__refused()
{
    small_sweep sweep.toml
    mkdir place
    mkfifo pipe
    expect_refused 2 '-d: the file name is empty; name a database' run -d ''
    expect_refused 2 '-d: the file name is empty; name a database' status -d ''
    for command in run plan status; do
        expect_refused 1 'database place: it is a directory; name a file with -d' $command -d place
        expect_refused 1 'database pipe: it is not a regular file; name a file with -d' $command -d pipe
    done
    expect_refused 1 'database absent/x.db: its directory does not exist; create it, or name another file with -d' \
        run -d absent/x.db
    expect "! ls | grep -e '\.lock' -e '\.db'"
}

# To a disk that is not mounted: the link is needed again.
database__link_that_leads_nowhere__stays()
{
    small_sweep sweep.toml
    ln -s absent/results.db results.db
    expect_run only_stderr_contains 1 run
    expect '[ -L results.db ]'
    mkdir absent
    run_silently 0
    expect '[ -L results.db ]' '[ -s absent/results.db ]'
}

database__name_that_sqlite_takes_for_another_thing__is_a_file()
{
    small_sweep sweep.toml
    run_silently 0 -d :memory:
    expect_sql 4 "SELECT count(*) FROM job" ./:memory:
    run_silently 0 -d 'file:a?mode=memory#%41'
    expect_file 'file:a?mode=memory#%41'
    run_meshsweep results -d 'file:a?mode=memory#%41' --columns job --format csv
    expect_only_stdout 0 $'job\r\n1\r\n2\r\n3\r\n4\r'
    # An empty file is filled, and one that was truncated told.
    : >results.db
    run_silently 0
    expect_sql 4 "SELECT count(*) FROM job"
    head -c 30000 results.db >cut.db
    expect_said only_stderr_matches 1 'database cut.db: .*(damaged|malformed)' run -d cut.db
    expect_run only_status 1 check -d cut.db
}

database__path_longer_than_sqlite_takes__limit_said()
{
    local directory=$PWD name
    small_sweep sweep.toml
    while [ ${#directory} -lt 400 ]; do
        directory=$directory/a_directory_with_a_name_of_some_length
    done
    mkdir -p "$directory"
    name=$(printf '%0500d' 0)
    expect_run silent 0 run --progress none -d "$directory/${name:0:504-${#directory}-1}"
    run_meshsweep run --progress none -d "$directory/${name:0:505-${#directory}-1}"
    expect_only_stderr_contains 1 \
        ': its path has 505 bytes, and SQLite opens those of at most 504; name one with a shorter path with -d'
}

database__of_another_kind__refused_and_left_alone()
{
    small_sweep sweep.toml
    echo "no database" >text.db
    head -c 20000 /dev/urandom >noise.db
    sqlite3 -batch other.db 'CREATE TABLE t (x)'
    run_silently 0
    cp results.db newer.db
    sqlite3 -batch newer.db 'PRAGMA user_version = 99'
    before=$(md5sum ./*.db)
    for file in text noise; do
        expect_refused 1 \
            "database $file.db: file is not a database: it is not a SQLite database; name another file with -d" \
            run -d "$file.db"
    done
    expect_refused 1 'database other.db: it belongs to another program; name another file with -d' run -d other.db
    expect_refused 1 'database other.db: it belongs to another program; name another file with -d' plan -d other.db
    for file in run results; do
        expect_run only_stderr 1 "$file" -d newer.db
        expect_stderr_matches "^meshsweep: database newer.db: its schema version 99 is newer than this program's \
[0-9]+; use a newer meshsweep$"
    done
    expect "[ \"\$(md5sum ./*.db)\" = '$before' ]"
    expect "[ \"\$(ls -d *.db*)\" = \"\$(printf '%s\n' newer.db noise.db other.db results.db results.db.d \
results.db.lock text.db)\" ]"
}

# --- no right to write ---

database__in_a_read_only_directory_or_file__read_but_not_run()
{
    mkdir place
    cd place || exit
    small_run
    cd ..
    sed -i 's/y = \[10, 20\]/y = [10, 20, 30]/' place/sweep.toml
    expect_said_by only_stdout_contains 0 'best so far: score 40' run_read_only place -- status -d place/results.db
    run_read_only place -- plan -c place/sweep.toml -d place/results.db
    expect_only_stdout_contains 0 '6 jobs: + 2 new  = 4 done'
    rm place/results.db.lock
    run_read_only place -- run -c place/sweep.toml -d place/results.db
    expect_only_stderr_matches 1 '^meshsweep: database place/results.db: cannot create the lock file '\
'.*/place/results.db.lock: '\
'(Read-only file system|Permission denied)$'
    expect_sql 4 "SELECT count(*) FROM job" place/results.db
    # A file alone.
    small_run
    run_read_only results.db -- run
    expect_only_stderr_contains 1 'meshsweep: database results.db: attempt to write a readonly database: it cannot be '\
'written; check the permissions of the file and its directory'
    run_read_only results.db -- results --columns job --format csv
    expect_only_stdout 0 $'job\r\n1\r\n2\r\n3\r\n4\r'
}

# --- one runner ---

# A runner at work, beside which others are run.
start_beside()
{
    waiting_sweep
    "$meshsweep" run --progress none >beside 2>&1 </dev/null &
    runner=$!
    wait_until "[ -s ran.log ]" 20
    wait_until "[ \"\$(sqlite3 -batch results.db 'SELECT count(pid) FROM attempt')\" -gt 0 ]" 20
}

end_beside()
{
    touch go
    wait "$runner" || fail "the runner beside ended with status $?: $(cat beside)"
    expect "[ ! -s beside ]"
}

second_runner__refused_with_the_name_of_the_first()
{
    start_beside
    held="another runner is using it .process $runner on [^ ]+ since 20..-..-..T..:..:..\\....Z.; wait for it or \
stop it, \
then start again"
    ln -s results.db link.db
    expect_said only_stderr_matches 1 "^meshsweep: database results.db: $held$" run
    expect_said only_stderr_matches 1 "^meshsweep: database link.db: $held$" run -d link.db
    expect_said only_stdout_matches 0 '"running":[[:space:]]*1' plan --json
    # A job that is claimed ahead of time does not run.
    wait_until "[ \"\$(sql 'SELECT * FROM progress')\" = \$'pending||3\nrunning||1' ]" 20
    run_meshsweep status --json
    expect_only_stdout_matches 0 '"pending":[[:space:]]*3' '"running":[[:space:]]*1'
    expect_sql "running|1
pending|0" "SELECT state, attempts FROM results WHERE job < 3"
    end_beside
    expect_sql "4|4" "SELECT count(*), (SELECT count(*) FROM attempt WHERE state = 'ok') FROM job"
}

second_runner__lock_removed_or_database_copied__refused()
{
    start_beside
    sentence="process $runner is using this database, or the one that this is a copy of; wait for it or stop \
it, then start again"
    rm results.db.lock
    expect_refused 1 "database results.db: another runner is using this file, under another name (a hard link, another \
mount) or because its lock file was removed; wait for it or stop it, then start again" run --progress none
    sqlite3 -batch results.db "VACUUM INTO 'copy.db'"
    expect_refused 1 "$sentence" run --progress none -d copy.db
    end_beside
    expect_sql "4|0" "SELECT sum(state = 'ok'), sum(failure IS 'lost') FROM attempt"
    run_silently 0 -d copy.db
    expect_sql "4|1" "SELECT sum(state = 'ok'), sum(failure IS 'lost') FROM attempt" copy.db
}

# A person in the middle of a change, say. The runner goes on to watch its jobs and to listen meanwhile.
writer__in_the_middle_of_a_change__waited_for()
{
    waiting_sweep
    sed -i '1i echo $$ >>pids' job.sh
    start_first_job
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
    mkfifo words
    sqlite3 -batch results.db <words &
    exec 9>words
    printf '.timeout 5000\nBEGIN IMMEDIATE;\n.shell touch locked\n' >&9
    wait_until "[ -e locked ]" 20
    first=$(cat pids)
    touch go
    wait_until "[ ! -e /proc/$first ]" 20
    signal_command INT
    wait_until "grep -q 'starting no more jobs' .stderr" 5
    # Its job has ended, and that cannot be recorded.
    expect_sql "running" "SELECT state FROM attempt WHERE state <> 'claimed'"
    echo 'COMMIT;' >&9
    exec 9>&-
    wait_command only_stderr_contains 130 'starting no more jobs'
    expect_sql "ok" "SELECT state FROM attempt WHERE job_id = 1"
    run_silently 0
    expect_sql "ok|4" "SELECT state, count(*) FROM attempt GROUP BY 1"
}

# A reader holds up what the runner commits where the journal is a rollback journal, as on NFS, for longer than SQLite
# waits by itself. What is written by then is not lost, and the job that runs on is not ended.
reader__for_longer_than_sqlite_waits__commit_tried_again()
{
    waiting_sweep
    # shellcheck disable=SC2034 # for start_command
    start_command env LD_PRELOAD="$build_dir/tests/cli/disturb.so" DISTURB_FILE_SYSTEM=26985 \
        ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" "$meshsweep" run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
    expect_sql delete "PRAGMA journal_mode"
    mkfifo words
    sqlite3 -batch results.db <words >/dev/null &
    exec 9>words
    printf '.timeout 5000\nBEGIN;\nSELECT count(*) FROM job;\n.shell touch reading\n' >&9
    wait_until "[ -e reading ]" 20
    touch go
    wait_until "grep -q 'another program has locked the database' .stderr" 40
    echo 'COMMIT;' >&9
    exec 9>&-
    wait_command only_stderr 0
    expect_stderr_contains 'another program has locked the database; waiting, because nothing can be started or '\
'recorded until it is unlocked'
    expect_stderr_lacks 'close it and start again'
    expect_sql "ok|4|4" "SELECT state, count(*), max(id) FROM attempt GROUP BY 1"
}

# --- taken away during a run ---

# The run ends with a sentence; what was recorded is in FILE, and a run on it goes on.
expect_saved() # FILE
{
    wait_command only_stderr 1
    expect_stderr "meshsweep: database results.db: it was deleted, moved or replaced while in use; its contents are \
saved in $1; move that file back and start again"
    expect_sql "ok" "PRAGMA integrity_check" "$1"
    expect_sql 4 "SELECT count(*) FROM job" "$1"
    mv "$1" results.db
    run_silently 0
    expect_sql "ok" "PRAGMA integrity_check"
    expect_sql "4" "SELECT count(*) FROM job WHERE state = 'ok'"
}

# With its log and its lock, and alone, where something has the name already.
database__deleted_during_a_run__is_saved()
{
    for saved in results.db.saved results.db.saved-2; do
        rm -f go
        waiting_sweep
        start_first_job
        case $saved in
        results.db.saved) rm results.db results.db-wal results.db-shm results.db.lock ;;
        *) echo "taken" >results.db.saved && rm results.db ;;
        esac
        touch go
        expect_saved "$saved"
        rm results.db
    done
    expect_file_contains results.db.saved taken
}

database__replaced_during_a_run__is_saved()
{
    waiting_sweep
    start_first_job
    mv results.db old.db
    sqlite3 -batch new.db 'CREATE TABLE t (x); INSERT INTO t VALUES (7)'
    mv new.db results.db
    touch go
    wait_command only_stderr_contains 1 'its contents are saved in results.db.saved'
    # Neither is spoiled by the other's log.
    expect_sql 7 "SELECT x FROM t"
    expect_sql ok "PRAGMA integrity_check" old.db
    mv results.db.saved results.db
    run_silently 0
    expect_sql 4 "SELECT count(*) FROM job WHERE state = 'ok'"
}

job_files__deleted_during_a_run__made_again()
{
    waiting_sweep
    start_first_job
    rm -r results.db.d
    touch go
    wait_command silent 0
    expect_sql "4" "SELECT count(*) FROM job WHERE state = 'ok'"
    expect_file "results.db.d/$(sql "SELECT directory FROM attempt WHERE job_id = 4")/output.log"
}

# Modes of the database, of what stands beside it and of what is made for the attempts.
modes()
{
    find results.db results.db.d ! -path '*/slots*' -printf '%m %f\n' | sed 's/ [0-9a-f]\{16\}$/ KEY/' | sort -u | xargs
}

database__made_by_any_command_or_shared__its_owners_alone_or_as_the_umask_lets()
{
    local alone='600 output.log 600 results.db 700 1 700 KEY 700 results.db.d'
    small_sweep sweep.toml
    echo 'echo "score: 1"; [ "$1" = 1 ]' >job.sh
    umask 0
    run_silently 3
    expect "[ \"\$(modes)\" = '$alone' ]" "[ \"\$(find results.db.d -type d -printf '%m\n' | sort -u)\" = 700 ]"
    expect_run only_stdout 0 merge results.db -o all.db
    expect "[ \"\$(stat -c %a all.db)\" = 600 ]"
    # Permissions that a person has decided on stay.
    chmod 640 results.db
    run_silently 3
    expect "[ \"\$(stat -c %a results.db)\" = 640 ]"
    # One that is shared.
    rm -rf results.db* all.db*
    small_sweep sweep.toml
    echo 'echo "score: 1"; [ "$1" = 1 ]' >job.sh
    umask 022
    run_silently 3
    sed -i 's/^name = "small"/&\nshare = true/' sweep.toml
    run_silently 3 --retry-failed
    expect "[ \"\$(stat -c %a results.db)\" = 644 ]"
    rm -r results.db*
    run_silently 3
    expect "[ \"\$(modes)\" = '644 output.log 644 results.db 755 1 755 KEY 755 results.db.d' ]"
    rm -r results.db*
    umask 027
    run_silently 3
    expect "[ \"\$(modes)\" = '640 output.log 640 results.db 750 1 750 KEY 750 results.db.d' ]"
}

# To where a web server shows it, or another disk.
exports__to_a_link__written_where_it_leads()
{
    small_sweep sweep.toml
    run_silently 0
    mkdir www
    touch www/r.html www/r.csv
    ln -s www/r.html www/r.csv .
    expect_run only_stderr_contains 0 report -o r.html
    expect_run silent 0 export -o r.csv
    expect '[ -L r.html ]' '[ -L r.csv ]' 'grep -q "<html" www/r.html' 'grep -q "^job," www/r.csv'
}

exports__of_a_database__as_private_as_that()
{
    small_sweep sweep.toml
    umask 022
    run_silently 0
    for mode in 600 640 644; do
        chmod "$mode" results.db
        rm -rf out
        expect_said only_stderr 0 'meshsweep: report in page.html' report -o page.html
        expect_run silent 0 export -o rows.csv
        expect_said only_stdout_contains 0 'dir=$(mktemp -d)' best --out out
        expect "[ \"\$(stat -c %a page.html rows.csv out/job.json out/sweep.toml | sort -u)\" = $mode ]"
        expect "[ -x out/command.sh ] && [ \$((0\$(stat -c %a out/command.sh) & 0444)) = \$((0$mode & 0444)) ]"
    done
    # A strict umask is kept to.
    umask 077
    expect_run only_stderr 0 export --all -o all.csv
    expect "[ \"\$(stat -c %a all.csv)\" = 600 ]"
}

# --- the disk is full ---

disk__full_during_a_run__said_and_gone_on_from()
{
    [ "$(id -u)" = 0 ] || skip "only root can make a small file system"
    unshare -m sh -c 'mkdir -p probe && mount -t tmpfs -o size=1m none probe' 2>/dev/null ||
        skip "no small file system can be made here"
    small_sweep sweep.toml
    sed -i "s/x = \[1, 2\]/x = [$(seq -s , 1 40)]/" sweep.toml
    cat >job.sh <<'END'
head -c 20000 /dev/zero | tr '\0' x
echo
echo "score: $(($1 * $2))"
sleep 0.05 # so that ends are recorded one by one
END
    mkdir small
    run_command unshare -m sh -c '
        mount -t tmpfs -o size=1400k none small || exit
        "$0" run -d small/results.db --progress none
        echo "first $?"
        sqlite3 -batch small/results.db "PRAGMA integrity_check" "SELECT count(*) FROM job WHERE state = '\''ok'\''" |
            paste -s >held
        "$0" run -d small/results.db --progress none
        echo "second $?"
        mount -o remount,size=20m small
        "$0" run -d small/results.db --progress none
        echo "third $?"
        sqlite3 -batch small/results.db "PRAGMA integrity_check" \
            "SELECT count(*), sum(state = '\''ok'\''), (SELECT count(*) FROM attempt WHERE state = '\''ok'\'') FROM job"
        cat /dev/zero >small/fill 2>held.fill
        "$0" note 1 slow -d small/results.db
        "$0" status -d small/results.db | grep -c "^ok  *80"
        ' "$meshsweep"
    expect_only_status 0
    expect_stdout $'first 1\nsecond 1\nthird 0\nok\n80|80|80\n1'
    expect_stderr_contains 'results.db: disk I/O error: the disk is full; free some space and start again'
    expect "[ \"\$(grep -c 'database small/results.db: database or disk is full: the disk is full; free some space \
and start again: nothing recorded is lost' .stderr)\" = 2 ]"
    expect "grep -qE '^ok.[1-9][0-9]*$' held"
}

# Output that a job wrote to a full disk is cut off: a value that is missing, or made of some of the samples, is no
# verdict. The run pauses until there is room.
disk__of_the_output_full__is_lost_and_no_verdict()
{
    [ "$(id -u)" = 0 ] || skip "only root can make a small file system"
    unshare -m sh -c 'mkdir -p probe && mount -t tmpfs -o size=2m none probe' 2>/dev/null ||
        skip "no small file system can be made here"
    small_sweep sweep.toml
    printf '[local]\ngive_up = "10ms"\n' >>sweep.toml
    cat >job.sh <<'END'
echo "score: $(($1 * $2))"
head -c 1200000 /dev/zero | tr '\0' x
echo
echo "score: $(($1 * $2))"
exit $(($1 - 1))
END
    mkdir -p results.db.d
    run_command unshare -m bash -c '
        mount -t tmpfs -o size=2m,mode=700 none results.db.d || exit
        "$0" run --progress none
        echo "first $?"
        cp results.db full.db
        sed -i "s/give_up.*/give_up = \"30s\"/" sweep.toml
        "$0" run --progress none 2>errors &
        until grep -q paused: errors; do sleep 0.05; done
        mount -o remount,size=20m results.db.d
        wait $!
        echo "second $?"
        ' "$meshsweep"
    expect_status 0
    expect_stdout $'first 5\nsecond 3'
    expect_stderr_contains 'giving up: the host cannot run jobs: the disk or a quota is full, or a file cannot grow '
    expect_file_contains errors 'continuing: the host can run jobs again after '
    expect_sql "ok||
failed|lost|the disk or a quota is full, or" \
        "SELECT DISTINCT state, failure, substr(message, 1, 31) FROM attempt ORDER BY id" full.db
    expect_sql "1|1|0" "SELECT sum(state = 'ok'), count(*) > 1, (SELECT count(*) FROM job WHERE state = 'failed') \
FROM attempt" full.db
    # Half of the jobs succeed, the others fail of themselves.
    expect_sql "ok||2
failed|exit|2" "SELECT state, failure, count(*) FROM job GROUP BY 1, 2 ORDER BY 1 DESC"
}

renamed__with_or_without_its_directory__finds_its_files()
{
    small_sweep
    run_silently 0 --limit 2
    mv results.db other.db
    expect_said only_stdout 0 "score: 20" tail 2 -d other.db
    expect_said only_stdout 0 "other.db: all well" check -d other.db
    expect_said only_stderr 0 "meshsweep: database other.db: it was renamed; its job files went with it, from \
$PWD/results.db.d to $PWD/other.db.d" run -d other.db --progress none
    expect_said only_stdout 0 "other.db: all well" check -d other.db
    mv other.db third.db
    mv other.db.d third.db.d
    expect_said only_stdout 0 "third.db: all well" check --repair -d third.db
    # A copy leaves the first one its directory.
    cp third.db copy.db
    run_silently 0 -d copy.db
    expect_file third.db.d
}

run_cases "$@"
