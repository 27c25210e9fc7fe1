#!/usr/bin/env bash
# The machine disturbs a run: errors of the disk, no descriptors, no processes, clocks that are set. disturb.c is
# preloaded into the tool; jobs know nothing of it.
. "${0%/*}/lib.sh"

disturb=$build_dir/tests/cli/disturb.so
preloaded=(env LD_PRELOAD="$disturb" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0")

# Runs the tool so that CALL fails with ERRNO on files in whose path TEXT occurs.
run_disturbed() # CALL ERRNO TEXT ARGS
{
    [ -f "$disturb" ] || skip "there is no $disturb"
    touch broken
    run_command "${preloaded[@]}" DISTURB_CALL="$1" DISTURB_ERRNO="$2" DISTURB_PATH="$3" DISTURB_WHILE="$PWD/broken" \
        "$meshsweep" "${@:4}"
}

ENOENT=2 EIO=5 EMFILE=24 EFBIG=27 ENOSPC=28 EDQUOT=122

# The disturbance is over: the same command ends well, and each job has one result.
expect_recovered() # ARGS
{
    run_silently 0 "$@"
    expect_sql "ok
4|4" "PRAGMA integrity_check; SELECT count(*), (SELECT count(*) FROM attempt WHERE state = 'ok') FROM job
        WHERE state = 'ok'"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

begun_sweep()
{
    small_sweep sweep.toml
    printf '[retry]\nbackoff = "1ms"\n' >>sweep.toml
    run_silently 0 --limit 1
}

database__disk_error__said_and_gone_on_from()
{
    for call in pwrite pread sync; do
        for file in results.db results.db-wal; do
            [ "$call-$file" != pread-results.db-wal ] || continue # nothing is in it yet
            rm -rf results.db*
            begun_sweep
            expect_after only_stderr 1 run_disturbed "$call" "$EIO" "$file" run --progress none
            expect_stderr 'meshsweep: database results.db: disk I/O error: the disk reported an error; check the file '\
'system and start again: nothing recorded is lost'
            expect_recovered
        done
    done
}

# A begun sweep whose run is given up not after an hour, as one that pauses would be; nothing has failed then.
impatient_sweep()
{
    begun_sweep
    printf '[local]\ngive_up = "10ms"\n' >>sweep.toml
}

expect_no_failure()
{
    expect_sql "0|0" "SELECT (SELECT count(*) FROM attempt WHERE state = 'failed'), (SELECT count(*) FROM job WHERE \
state = 'failed')"
}

# A log that the machine cannot read says nothing about its job: the run pauses, and is given up.
log__disk_error_or_no_descriptors__is_lost_and_no_verdict()
{
    impatient_sweep
    run_disturbed pread "$EIO" output.log run --progress none
    expect_only_stderr_contains 5 'paused: the host cannot run jobs: its output cannot be read: Input/output error'
    expect_sql "lost|its output cannot be read: Input/output error|host|1" \
        "SELECT failure, message, blame, count(*) > 0 FROM attempt WHERE state = 'failed' GROUP BY 1, 2"
    run_disturbed open "$EMFILE" output.log run --progress none
    expect_only_stderr_contains 5 'giving up: the host cannot run jobs: its output cannot be read: Too many open files'
    expect_sql "0" "SELECT count(*) FROM job WHERE state = 'failed'"
    expect_recovered
}

log__that_cannot_be_made__job_is_not_started()
{
    impatient_sweep
    run_disturbed open "$EMFILE" /slots/ run --progress none
    expect_only_stderr_contains 5 'giving up: the host cannot run jobs: could not be started (log): Too many open files'
    expect_no_failure
    # A cleaner's doing is no job's, either.
    sed -i 's/^command.*/&\njob_dir = true/' sweep.toml
    run_disturbed open "$ENOENT" output.log run --progress none
    expect_only_stderr_contains 5 'giving up: the host cannot run jobs: could not be started (log): No such file or dir'
    expect_no_failure
    expect_recovered
}

# A user's quota is nothing that statvfs knows of: what the job wrote is cut off. On NFS that is told by the sync.
log__over_a_quota__is_lost_and_no_verdict()
{
    for call in pwrite sync; do
        for number in "$EDQUOT" "$ENOSPC"; do
            rm -rf results.db*
            impatient_sweep
            mv job.sh whole.sh
            echo 'echo cut' >job.sh
            expect_after only_stderr 5 run_disturbed "$call" "$number" /slots/room run --progress none
            expect_stderr_contains 'giving up: the host cannot run jobs: the disk or a quota is full, or a file cannot'
            expect_sql "0|lost|host" "SELECT (SELECT count(*) FROM job WHERE state = 'failed'), failure, blame
                FROM attempt WHERE state = 'failed' GROUP BY 2, 3"
            mv whole.sh job.sh
            expect_recovered
        done
    done
}

database__over_a_quota_or_the_largest_file__said_and_gone_on_from()
{
    begun_sweep
    # What is recorded can be read.
    run_disturbed pwrite "$EDQUOT" results.db- results --columns state
    expect_only_stdout_contains 0 pending
    run_disturbed pwrite "$EDQUOT" results.db-wal run --progress none
    expect_only_stderr_contains 1 'disk I/O error: the quota of the disk is reached; free some space and start again'
    expect_recovered
    rm -rf results.db*
    begun_sweep
    run_disturbed pwrite "$EFBIG" results.db-wal run --progress none
    expect_only_stderr_contains 1 'its file may not grow any further; raise the limit (ulimit -f) and start again'
    expect_recovered
    # As the shell sets it, with a signal.
    rm -rf results.db*
    small_sweep sweep.toml
    run_command bash -c 'ulimit -f 16; exec "$@"' run "$meshsweep" run --progress none
    expect_only_stderr_contains 1 '(ulimit -f)'
    expect_recovered
}

# A job that ignores the signal, as Python does, loses the end of what it prints.
log__as_large_as_files_may_get__is_lost_and_no_verdict()
{
    impatient_sweep
    mv job.sh whole.sh
    printf "trap '' XFSZ\n%s\nexit 0\n" 'yes | head -c 2000000' >job.sh
    run_command bash -c 'ulimit -f 1000; exec "$@"' run "$meshsweep" run --progress none
    expect_only_stderr_contains 5 'or a file cannot grow any further (ulimit -f), so its output may be cut off'
    expect_sql "0" "SELECT count(*) FROM job WHERE state = 'failed'"
    mv whole.sh job.sh
    expect_recovered
}

file__of_a_job_beyond_the_limit__said()
{
    begun_sweep
    echo 'exec head -c 2000000 /dev/zero >large' >job.sh
    expect_command only_status 3 bash -c 'ulimit -f 1000; exec "$@"' run "$meshsweep" run --progress none
    expect_sql "signal|killed by signal 25 (SIGXFSZ): a file grew beyond the limit (ulimit -f)" \
        "SELECT DISTINCT failure, message FROM attempt WHERE state = 'failed'"
}

export__disk_error_or_full__said_and_the_old_file_stays()
{
    begun_sweep
    mkdir place
    echo old >place/out.csv
    run_disturbed write "$ENOSPC" /place/ export -o place/out.csv
    expect_only_stderr_matches 1 '^meshsweep: place/out.csv: cannot write: No space left on device$'
    run_disturbed sync "$EIO" /place/ export -o place/out.csv
    expect_only_stderr_matches 1 '^meshsweep: place/out.csv: cannot write: Input/output error$'
    expect "[ \"\$(ls place; cat place/out.csv)\" = \$'out.csv\nold' ]"
}

descriptors__too_few__how_many_it_takes_is_said()
{
    small_sweep sweep.toml
    run_command bash -c 'ulimit -n 20; exec "$@"' run "$meshsweep" run --progress none -j 4
    expect_only_stderr_matches 1 \
        '^meshsweep: 4 slots need [0-9]+ open files, but only 20 are allowed; raise the limit with: ulimit -n [0-9]+$'
    expect_recovered
}

# The limit does not hold for root.
processes__none_left__jobs_are_not_started()
{
    # Nobody may not write a build's counters, and LeakSanitizer needs a process of its own.
    local as=(env GCOV_PREFIX="$PWD/counters" ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0")
    if [ "$(id -u)" = 0 ]; then
        type -P setpriv >/dev/null || skip "setpriv is not installed"
        as+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        chmod 777 . && chmod 755 ..
        "${as[@]}" test -x "$meshsweep" || skip "nobody may not run $meshsweep"
        "${as[@]}" test -w . || skip "nobody may not write here"
    fi
    small_sweep sweep.toml
    printf '[local]\ngive_up = "1500ms"\n' >>sweep.toml
    expect_command only_stderr 5 "${as[@]}" prlimit --nproc=1 "$meshsweep" run --progress none
    expect_stderr_contains 'giving up: the host cannot run jobs: could not be started (fork): Resource temporarily '\
'unavailable'
    expect_sql "0|pending" "SELECT (SELECT count(*) FROM attempt), group_concat(DISTINCT state) FROM job"
    expect_command silent 0 "${as[@]}" "$meshsweep" run --progress none
    expect_sql 4 "SELECT count(*) FROM job WHERE state = 'ok'"
}

# Nobody sees whose child a process of his own is where /proc is mounted with hidepid, as on shared machines.
processes__of_the_same_user_with_hidden_ancestors__left_alone()
{
    unshare -pf --mount-proc mount -o remount,hidepid=2 /proc 2>/dev/null || skip "no namespace to be had here"
    small_sweep sweep.toml
    # Longer than the common scan waits for.
    printf 'sleep 1.2\necho "score: 5"\n' >job.sh
    printf '%s\n' 'sleep 60 &' 'sleep 0.1' 'meshsweep run --progress none --limit 1' 'echo "status $?"' \
        'kill $! && echo "the other process was alive"' >as_nobody.sh
    cat >as_root.sh <<'END'
mount -o remount,hidepid=2 /proc
setpriv --reuid=65534 --regid=65534 --clear-groups env GCOV_PREFIX="$PWD/counters" \
    ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" sh as_nobody.sh
END
    chown 65534 . && chmod 711 ..
    setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$meshsweep" || skip "nobody may not run $meshsweep"
    run_command unshare -pf --mount-proc sh as_root.sh
    expect_only_stdout 0 $'status 0\nthe other process was alive'
}

start_is_recorded() # JOB
{
    [ "$(sql "SELECT count(*) FROM attempt WHERE job_id = $1 AND started > 0" 2>/dev/null)" = 1 ]
}

# A suspended machine is one whose wall clock jumps ahead while the monotonic one stands still.
clocks__set_either_way__no_limit_fires_and_durations_stay()
{
    [ -f "$disturb" ] || skip "there is no $disturb"
    toml sweep: objective=max:score job: command='["/bin/sh", "./job.sh", "{x}"]' timeout=40s idle_timeout=30s \
        startup_timeout=30s job.metrics.score: regex='score: ([0-9.]+)' training_spec: x=1,2,3 >sweep.toml
    printf '%s\n' 'until [ -e "go$1" ]; do sleep 0.05; done' 'echo "score: $1"' >job.sh
    echo "0 0" >clock
    start_command "${preloaded[@]}" DISTURB_CLOCK="$PWD/clock" "$meshsweep" run --progress none
    wait_until "start_is_recorded 1" 20
    echo "28800000 0" >clock # eight hours asleep
    touch go1
    wait_until "start_is_recorded 2" 20
    echo "-31536000000 0" >clock # a year back
    touch go2
    wait_until "start_is_recorded 3" 20
    touch go3
    wait_command silent 0
    expect_sql "ok|1|1.0
ok|1|2.0
ok|1|3.0" "SELECT j.state, a.duration_ms BETWEEN 0 AND 30000, s.value FROM job AS j JOIN attempt AS a ON a.job_id = j.id
        JOIN summary AS s ON s.attempt_id = a.id ORDER BY j.id"
    expect_sql 1 "SELECT ended < started FROM attempt WHERE job_id = 2"
    # Later runs are the current ones whatever the clock says.
    sed -i 's/^x = .*/x = [4]/; s/^objective.*/objective = "min:score"/' sweep.toml
    touch go4
    expect_command silent 0 "${preloaded[@]}" DISTURB_CLOCK="$PWD/clock" "$meshsweep" run --progress none
    expect_said only_stdout 0 $'x\r\n4\r' results --columns x --format csv
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

database__on_a_network_file_system__without_wal_and_said_so()
{
    [ -f "$disturb" ] || skip "there is no $disturb"
    printf '%s\n' '[job]' 'command = ["true"]' '[training_spec]' 'x = [1, 2, 3]' >sweep.toml
    # A database that was made elsewhere gives its log up.
    run_silently 0 --limit 1
    expect_sql wal "PRAGMA journal_mode"
    while read -r type name; do
        run_command "${preloaded[@]}" DISTURB_FILE_SYSTEM="$type" "$meshsweep" run --progress none --limit 1
        expect_only_stderr 0 \
            "meshsweep: results.db lies on $name, where SQLite's write-ahead log is unsafe: using a rollback journal"
        expect_sql delete "PRAGMA journal_mode"
        expect_no_file results.db-wal
    done <<'END'
0x6969 NFS
0x0bd00bd0 Lustre
END
    expect_sql 3 "SELECT count(*) FROM attempt WHERE state = 'ok'"
}

run_cases "$@"
