#!/usr/bin/env bash
# Jobs at a real Grid Engine of one host (tests/cli/gridengine_cluster.sh), through configs/executors/gridengine.toml.
# Part of scripts/check.sh --full; by hand: MESHSWEEP_FULL=1 tests/cli/test_gridengine.sh.
CASE_SECONDS=400
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"
. "${0%/*}/gridengine_cluster.sh"

# Once in a case.
cluster()
{
    [ -z "${cluster_is_up-}" ] || return 0
    [ "${MESHSWEEP_FULL-}" ] || skip "a real Grid Engine is started by scripts/check.sh --full"
    need_gridengine
    start_gridengine
    cluster_is_up=1
}

# Standard input has lines for [executor] and more.
cluster_sweep() # N COMMAND
{
    cluster </dev/null
    slurm_sweep "$@"
    sed -i 's/^\[slurm\]/[executor]\nname = "gridengine"/; s/poll = "100ms"/poll = "500ms"/
        s/absence = "300ms"/absence = "4s"\nheartbeat = "1s"/' sweep.toml
}

run_at_engine()
{
    run_meshsweep run --progress none "$@"
}

ends="SELECT coalesce(failure, state), exit_code, number FROM attempt ORDER BY id"

expect_each_once()
{
    expect_sql "ok|1|$1|$1" "SELECT state, max(number), count(*), count(DISTINCT job_id) FROM attempt GROUP BY state"
}

run_each_once() { expect_after silent 0 run_at_engine && expect_each_once "$1"; } # N

# Waits until as many attempts are in that state at the engine, as qstat's letters say.
wait_for_tasks() # N PATTERN
{
    wait_until "[ \"\$(qstat -u root -g d 2>/dev/null | awk -v p='$2' 'NR > 2 && \$5 ~ p' | wc -l)\" = $1 ]" 30
}

# A qsub of the case's own; $real is Grid Engine's.
own_qsub()
{
    mkdir -p bin
    {
        printf '#!/bin/sh\nreal=/usr/bin/qsub\n'
        cat
    } >bin/qsub
    chmod +x bin/qsub
    PATH=$PWD/bin:$PATH
}

# --- what becomes of jobs ---

sweep__of_all_kinds_of_ends__classified()
{
    cluster_sweep 8 'case {n} in 2) exit 7 ;; 3) sleep 100 ;; 4) kill -KILL $$ ;; 5) exit 99 ;; 6) exit 100 ;; '\
'7) exit 0 ;; 8) exit 255 ;; esac; echo "score: {n}"' </dev/null
    sed -i 's/timeout = "60s"/timeout = "8s"/' sweep.toml
    expect_after silent 3 run_at_engine
    expect_sql "ok|0|1
exit|7|1
timeout||1
signal||1
exit|99|1
exit|100|1
no-metric|0|1
exit|255|1" "$ends"
    expect_sql "gridengine|node|1.1" "SELECT executor, host, reference FROM attempt ORDER BY id LIMIT 1"
    # Neither requeued (99) nor kept in an error state (100).
    expect '[ -z "$(qstat -u root)" ]'
}

request__slots_and_options__asked_for()
{
    cluster_sweep 1 'echo "$NSLOTS $PE"; echo "score: 1"' < <(toml queue=all.q options='["-p -5"]' \
        cluster_spec:: cpus_per_task=4)
    expect_after silent 0 run_at_engine
    expect_sql "4 smp
score: 1" "SELECT log_tail FROM attempt"
}

time_limit__of_the_engine__a_timeout()
{
    cluster_sweep 1 'sleep 100' < <(toml options='["-l h_rt=3"]')
    sed -i '/^timeout/d' sweep.toml
    expect_after silent 3 run_at_engine
    expect_sql "timeout|1|1" "SELECT failure, number, message LIKE 'Grid Engine job 1.1: TIMEOUT%on node%' FROM attempt"
}

task__deleted_while_it_runs__not_tried_again()
{
    cluster_sweep 2 'echo begun; [ {n} = 1 ] && sleep 100; echo "score: {n}"' </dev/null
    start_until '[ "$(cat results.db.d/*/1/output.log 2>/dev/null | grep -c begun)" = 2 ]' 30 run --progress none
    qdel 1.1 >/dev/null
    wait_command silent 3
    expect_sql "cancelled||1
ok|0|1" "$ends"
}

tasks__deleted_while_they_wait__not_tried_again()
{
    cluster
    configure 's/^slots .*/slots 0/' -mq all.q
    cluster_sweep 4 </dev/null
    start_meshsweep run --progress none
    wait_for_tasks 4 qw
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE reference LIKE '1.%'\")\" = 4 ]" 20
    sleep 1.5 # the queue has been asked
    qdel 1.2 1.3 >/dev/null
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'cancelled'\")\" = 2 ]" 40
    configure 's/^slots .*/slots 8/' -mq all.q
    wait_command silent 3
    expect_sql "cancelled|2
ok|2" "SELECT coalesce(failure, state), count(*) FROM attempt GROUP BY 1"
}

directory__missing__an_error_state_that_is_told_and_removed()
{
    cluster_sweep 2 < <(toml options='["-wd /nonexistent"]')
    expect_after only_status 3 run_at_engine
    expect_sql "spawn|2" "SELECT failure, count(DISTINCT job_id) FROM attempt GROUP BY 1"
    expect_sql 1 "SELECT message LIKE '%Grid Engine job 1._: FAILED (error state Eqw)%' FROM attempt LIMIT 1"
    expect '[ -z "$(qstat -u root)" ]'
}

wrong_words__held_and_said_once()
{
    cluster_sweep 3 < <(toml queue=no-such.q)
    expect_said_by only_stderr_contains 2 'unknown queue "no-such.q"' run_at_engine
    expect_sql "pending|3|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
    sed -i 's/^queue = .*/options = ["-l nosuch=1"]/' sweep.toml
    expect_said_by only_stderr_contains 2 'unknown resource "nosuch"' run_at_engine
    sed -i '/nosuch/d' sweep.toml
    run_each_once 3
}

limit__on_jobs__the_rest_later()
{
    cluster_sweep 5 < <(toml array_size=1)
    set_global max_u_jobs 2
    run_each_once 5
}

limit__on_tasks_of_an_array__halved()
{
    cluster_sweep 8 </dev/null
    set_global max_aj_tasks 3
    run_each_once 8
}

# --- answers that are lost or lie ---

answer__unable_to_run_and_submitted__taken()
{
    cluster
    configure 's/^user_lists .*/user_lists deadlineusers/' -mq all.q
    cluster_sweep 3 </dev/null
    start_meshsweep run --progress none
    wait_for_tasks 3 qw
    configure 's/^user_lists .*/user_lists NONE/' -mq all.q
    wait_command silent 0
    expect_each_once 3
    # The jobs' own reports are there before.
    wait_until '[ "$(qacct -j 1 2>/dev/null | grep -c ^taskid)" = 3 ]' 20
    expect '! qacct -j 2 >/dev/null 2>&1'
}

answer__lost__found_by_its_token()
{
    cluster
    configure 's/^slots .*/slots 0/' -mq all.q
    cluster_sweep 3 </dev/null
    own_qsub <<'END'
$real "$@" >/dev/null
echo "error: failed receiving gdi request response for mid=1 (got syncron message receive timeout error)." >&2
exit 1
END
    start_meshsweep run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE reference LIKE '1.%'\" 2>/dev/null)\" = 3 ]" 30
    configure 's/^slots .*/slots 8/' -mq all.q
    wait_command silent 0
    expect_each_once 3
    expect '! qacct -j 2 >/dev/null 2>&1'
}

qmaster__away_when_it_submits__later()
{
    cluster_sweep 3 </dev/null
    stop_qmaster
    start_until "[ \"\$(sql 'SELECT count(*) FROM attempt' 2>/dev/null)\" = 3 ]" 30 run --progress none
    sleep 2
    start_qmaster
    wait_command silent 0
    expect_each_once 3
}

# --- who dies ---

qmaster__killed_while_jobs_run__nothing_lost()
{
    cluster_sweep 4 'while [ ! -f go ]; do sleep 0.1; done; echo "score: {n}"' </dev/null
    start_until '[ "$(ls results.db.d/*/1/*.begun 2>/dev/null | wc -l)" = 4 ]' 30 run --progress none
    stop_qmaster
    touch go
    wait_until '[ "$(sql "SELECT count(*) FROM attempt WHERE state = '"'ok'"'")" = 4 ] || ! kill -0 $command_pid' 60
    start_qmaster
    wait_command silent 0
    expect_each_once 4
}

host__dead_with_its_jobs__tried_again()
{
    cluster_sweep 3 'echo begun; [ "$MESHSWEEP_NUMBER" != 1 ] || sleep 300; echo "score: {n}"' </dev/null
    start_until '[ "$(cat results.db.d/*/1/output.log 2>/dev/null | grep -c begun)" = 3 ]' 30 run --progress none
    kill_execd
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'lost'\")\" = 3 ]" 40
    start_execd
    wait_command silent 0
    expect_sql "lost|1|3
ok|2|3" "SELECT coalesce(failure, state), number, count(*) FROM attempt GROUP BY 1"
}

runner__killed_around_the_submission__submitted_once()
{
    cluster
    for moment in before after; do
        rm -rf results.db* sweep.toml
        cluster_sweep 3 </dev/null
        own_qsub <<END
[ ! -f $PWD/before ] || { rm $PWD/before; kill -KILL \$PPID; sleep 1; exit 1; }
id=\$(\$real "\$@") || exit
[ ! -f $PWD/after ] || { rm $PWD/after; kill -KILL \$PPID; }
echo "\$id"
END
        touch "$moment"
        expect_after only_stderr 137 run_at_engine
        expect_after silent 0 run_at_engine
        expect_each_once 3
    done
    # Two arrays in all: one for each moment.
    wait_until '[ "$(qacct -j 2 2>/dev/null | grep -c ^taskid)" = 3 ]' 20
    expect '! qacct -j 3 >/dev/null 2>&1'
}

three_jobs() { cluster_sweep 3 'echo "$MESHSWEEP_NUMBER" >>runs.{n}; echo "score: {n}"'; }

runner__dying_at_each_fault_point__each_job_once()
{
    need_fault_points
    cluster
    dies_at_each three_jobs run_at_engine '[ "$(cat runs.* | wc -l)" = 3 ]' attempt-claimed spawned submission-written \
        submitted submission-recorded start-written outcome-taken samples-written job-finished batch-written \
        batch-committed runner-ended
}

# --- 300 jobs, while all three die ---

# Each execution appends its attempt's number to the job's own file: "JOB NUMBER" of all, which are to be the attempts
# of the database, each once. One that was lost may have been so before its command began.
expect_counts_agree() # N
{
    local n
    for ((n = 1; n <= $1; n++)); do
        sed "s/^/$n /" "runs/$n"
    done | sort >counted
    sql "SELECT s.json ->> '\$.n' || ' ' || a.number || iif(a.failure IS 'lost', ' lost', '')
         FROM attempt AS a JOIN job AS j ON j.id = a.job_id JOIN spec AS s ON s.id = j.training_id" | sort >recorded
    expect '[ -z "$(uniq -d counted)" ]' '[ -z "$(sed "s/ lost//" recorded | sort | comm -23 counted -)" ]' \
        '[ -z "$(grep -v lost recorded | comm -13 counted -)" ]'
    expect_sql "$1|$1" "SELECT count(*), sum(state = 'ok') FROM job"
}

jobs__120_while_runner_host_and_qmaster_die__counted_by_themselves()
{
    cluster
    configure 's/^slots .*/slots 20/' -mq all.q
    mkdir runs
    cluster_sweep 120 'echo "$MESHSWEEP_NUMBER" >>runs/{n}; echo begun; sleep 1; echo "score: {n}"' < <(toml \
        array_size=30 retry: lost=9)
    for i in 1 2 3 4 5; do
        start_until "[ \"\$(ls runs | wc -l)\" -ge $((i * 19)) ]" 60 run --progress none
        case $i in
        2 | 4) kill_execd ;;
        3) stop_qmaster ;;
        esac
        end_command KILL only_stderr 137
        case $i in
        2 | 4) start_execd ;;
        3) start_qmaster ;;
        esac
    done
    expect_after silent 0 run_at_engine
    expect_counts_agree 120
    echo "# $(sql "SELECT count(*) || ' attempts, ' || sum(failure IS 'lost') || ' lost' FROM attempt")," \
        "$(cat runs/* | wc -l) executions"
}

run_cases "$@"
