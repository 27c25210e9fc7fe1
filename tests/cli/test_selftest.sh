#!/usr/bin/env bash
# cli: selftest, which proves by killing itself; and what a runner that was killed leaves behind.
CASE_SECONDS=120
[ -z "${MESHSWEEP_FULL-}" ] || CASE_SECONDS=400
. "${0%/*}/lib.sh"

selftest__20_kills__nothing_lost_and_nothing_left()
{
    expect_run status 0 selftest --kills 20 --jobs 60 --seed 1
    expect_stdout_matches '^20 kills survived in [1-9][0-9]* sweeps? of 60 jobs \(seed 1, [0-9.]+ s\):$' \
        '^[0-9]*[1-9]0 jobs, each in one final state with its own number; [0-9]+ attempts, of which [0-9]+ were lost'
    expect_stderr_contains 'meshsweep: 20 of 20 kills'
    expect "! ls -d meshsweep-selftest.* 2>/dev/null"
}

selftest__no_kills__a_plain_sweep()
{
    expect_said only_stdout_contains 0 '0 kills survived in 1 sweep of 5 jobs' selftest --kills 0 --jobs 5
    expect_stdout_contains '5 jobs, each in one final state with its own number; 5 attempts, of which 0 were lost'
}

selftest__directory_absent__said()
{
    expect_said only_stderr_contains 1 'absent/meshsweep-selftest' selftest --dir absent
}

# A runner that does not do what it should: its jobs' numbers are wrong in one place, which must be found.
selftest__wrong_results__found_and_kept()
{
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'echo "score: 1"' >bin/sleep
    chmod +x bin/sleep
    run_command env PATH="$PWD/bin:$PATH" "$meshsweep" selftest --kills 0 --jobs 4 --dir .
    expect_only_stderr_matches 1 'results.db: results that are not the job.s number: [1-9]'
    expect_stderr_matches 'the files of the test are kept in /.*/meshsweep-selftest'
    expect "[ -f ./meshsweep-selftest.*/sweep-1/results.db ]"
}

killed_runner__grandchild_in_its_own_session__ended_without_a_next_start()
{
    small_sweep sweep.toml
    sed -i 's/^command = .*/&\ngrace = "100ms"/' sweep.toml
    cat >job.sh <<'END'
setsid sh -c 'echo $$ >grandchild; exec sleep 300' &
sleep 300
END
    start_until "[ -s grandchild ]" 20 run --progress none
    end_command KILL only_stderr 137
    wait_until "! kill -0 $(cat grandchild) 2>/dev/null || grep -q '^State:.Z' /proc/$(cat grandchild)/status" 10
}

# The cgroup that this is in, where one can be made below it.
find_group()
{
    group=/sys/fs/cgroup
    [ -e "$group/cgroup.procs" ] || group=$group/unified
    group=$group$(sed -n 's/^0:://p' /proc/self/cgroup)
    # shellcheck disable=SC2015 # one or the other
    [ -w "$group/cgroup.procs" ] && mkdir "$group/meshsweep-test.$$" 2>/dev/null && rmdir "$group/meshsweep-test.$$" ||
        skip "no cgroup can be made here"
}

# The group is of a runner that was killed with all that watched over it, and whose database is gone.
killed_runner__nobody_comes_after_it__its_empty_group_is_removed()
{
    find_group
    # A group of its own, where no runner beside this test, which may not see our processes, looks for the dead.
    above=$group group=$group/meshsweep-test.$$
    mkdir "$group"
    echo "$BASHPID" >"$group/cgroup.procs"
    small_sweep sweep.toml
    true &
    dead=$!
    wait "$dead"
    sleep 300 &
    mkdir "$group/meshsweep:gone:1-$dead:" "$group/meshsweep:alive:1-$$:" "$group/meshsweep:full:1-$dead:" \
        "$group/other:1-$dead:"
    echo $! >"$group/meshsweep:full:1-$dead:/cgroup.procs"
    run_meshsweep run --progress none --limit 1
    ls "$group" >groups
    kill $!
    wait $! || :
    wait_until "rmdir '$group/meshsweep:full:1-$dead:'" 10
    rmdir "$group/meshsweep:gone:1-$dead:" 2>/dev/null || :
    rmdir "$group/meshsweep:alive:1-$$:" "$group/other:1-$dead:"
    echo "$BASHPID" >"$above/cgroup.procs"
    rmdir "$group"
    expect_silent 0
    expect "! grep -q 'meshsweep:gone:1-$dead:' groups"
}

# Jobs whose grandchild has neither environment nor session nor parent in common with the runner.
lone_grandchild()
{
    small_sweep sweep.toml
    sed -i 's/^command = .*/&\ngrace = "100ms"/' sweep.toml
    cat >job.sh <<'END'
env -i setsid sh -c 'sh -c "echo \$\$ >grandchild; exec /bin/sleep 300" & exit' &
exec sleep 300
END
}

# Nothing tells whose it is but the cgroup that it is in.
killed_runner__grandchild_without_environment__ended()
{
    find_group
    lone_grandchild
    start_until "[ -s grandchild ]" 20 run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
    pid=$(cat grandchild)
    expect "! grep -qz MESHSWEEP /proc/$pid/environ"
    end_command KILL only_stderr 137
    wait_until "! kill -0 $pid 2>/dev/null || grep -q '^State:.Z' /proc/$pid/status" 10
    wait_until "! ls '$group' | grep -q 'meshsweep:$(sql "SELECT value FROM meta WHERE name = 'identity'"):'" 10
}

# An ordinary user's runner, who can make no cgroup, with a grandchild that has neither environment nor session nor
# parent in common with it.
start_without_cgroup()
{
    local user=65534
    [ "$(id -u)" -eq 0 ] || user=$(id -u)
    [ "$user" != 65534 ] || { chown "$user" . && chmod 711 ..; }
    lone_grandchild
    as_ordinary_user=(setpriv --reuid="$user" --regid="$user" --clear-groups)
    [ "$(id -u)" -eq 0 ] || as_ordinary_user=()
    "${as_ordinary_user[@]}" true 2>/dev/null || skip "no other user can be taken on"
    start_command "${as_ordinary_user[@]}" "$meshsweep" run --progress none
    wait_until "[ -s grandchild ]" 20
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
    grandchild=$(cat grandchild)
    expect "! grep -qz MESHSWEEP /proc/$grandchild/environ" "! grep -q meshsweep: /proc/$grandchild/cgroup"
}

# It holds the other end of one of the runner's pipes.
guardian_pid()
{
    local pipe pid
    for pipe in $(readlink /proc/"$command_pid"/fd/* | grep '^pipe:'); do
        for pid in $(pgrep -x meshsweep-guard); do
            [ "$(readlink "/proc/$pid/fd/3")" != "$pipe" ] || echo "$pid"
        done
    done
}

expect_grandchild_ended()
{
    wait_until "! kill -0 $grandchild 2>/dev/null || grep -q '^State:.Z' /proc/$grandchild/status" 10
}

killed_runner__ordinary_user_and_nothing_in_common__ended_by_the_guardian()
{
    start_without_cgroup
    end_command KILL only_stderr 137
    expect_grandchild_ended
}

killed_runner__its_guardian_too__ended_by_the_next_start()
{
    start_without_cgroup
    kill -KILL "$(guardian_pid)"
    end_command KILL only_stderr 137
    expect "kill -0 $grandchild"
    echo 'echo "score: 1"' >job.sh
    expect_command only_stderr 0 "${as_ordinary_user[@]}" "$meshsweep" run --progress none
    expect_grandchild_ended
}

killed_runner__next_start_at_once__takes_the_lock()
{
    small_sweep sweep.toml
    echo 'sleep 300' >job.sh
    start_meshsweep run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'running'\" 2>/dev/null)\" = 1 ]" 20
    end_command KILL only_stderr 137
    echo 'echo "score: $(($1 * $2))"' >job.sh
    run_ended 0
    expect_sql 'ok|4' "SELECT state, count(*) FROM job GROUP BY state"
    expect_sql 'lost|1' "SELECT failure, count(*) FROM attempt WHERE failure IS NOT NULL GROUP BY 1"
}

# 1,000 jobs and 100 kills under `scripts/check.sh --full`.
killed_at_random__results__as_of_an_undisturbed_run()
{
    local jobs=80 kills=6 i pid
    [ -z "${MESHSWEEP_FULL-}" ] || jobs=1000 kills=100
    toml sweep: objective=max:score job: \
        "command = [\"/bin/sh\", \"-c\", \"sleep 0.02; echo score: \$(({x} * 7 % 1009)); exit \$(({x} % 50 == 0))\"]" \
        job.metrics.score: regex='score: ([0-9.]+)' training_spec: "x = [$(seq -s , "$jobs")]" >sweep.toml
    run_silently 3 -j 4 -d undisturbed.db
    RANDOM=7
    for ((i = 0; i < kills; i++)); do
        "$meshsweep" run --progress none -j 4 2>>errors </dev/null &
        pid=$!
        sleep "0.$((RANDOM % 200 + 120))"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    # All that may be said is that some ran at several deaths in a row.
    expect "! grep -v 'running each time the runner died' errors"
    run_ended 3 -j 4
    expect "! grep -v 'running each time the runner died' .stderr"
    for i in undisturbed results; do
        expect_run only_stdout 0 results -d "$i.db" --columns key,x,state,failure,score --format csv
        mv .stdout "$i.csv"
    done
    expect "cmp undisturbed.csv results.csv" "[ \$(wc -l <results.csv) = $((jobs + 1)) ]"
    expect_sql "$((jobs - jobs / 50))|$((jobs / 50))" "SELECT sum(state = 'ok'), sum(failure IS 'exit') FROM attempt"
}

is_running() # DATABASE RUNNER
{
    [ "$(sql "SELECT count(*) FROM attempt WHERE state = 'running' AND runner_id = $2" "$1" 2>/dev/null)" = 1 ]
}

# Copies have one identity, and number their runners alike.
killed_runner__copy_of_the_database_at_work__its_jobs_go_on()
{
    small_sweep sweep.toml
    printf '%s\n' 'until [ -e go ]; do sleep 0.05; done' 'echo "score: $(($1 * $2))"' >job.sh
    touch go
    run_silently 0 --limit 1
    rm go
    cp results.db copy.db
    "$meshsweep" run --progress none -d copy.db >copy.out 2>&1 </dev/null &
    copy=$!
    wait_until "is_running copy.db 2" 20
    start_until "is_running results.db 2" 20 run --progress none
    end_command KILL only_stderr 137
    start_until "is_running results.db 3" 20 run --progress none
    touch go
    wait_command only_stderr 0
    wait "$copy" || fail "the run on the copy ended with status $?: $(cat copy.out)"
    expect_sql "ok|4" "SELECT state, count(*) FROM attempt GROUP BY 1" copy.db
    expect_sql "ok|4" "SELECT state, count(*) FROM job GROUP BY 1"
}

run_cases "$@"
