#!/usr/bin/env bash
# Jobs at a real Slurm of four emulated nodes (tests/cli/slurm_cluster.sh): what the stand-ins of test_slurm.sh cannot
# know. Part of scripts/check.sh --full; by hand: MESHSWEEP_FULL=1 tests/cli/test_slurm_cluster.sh.
CASE_SECONDS=150
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"
. "${0%/*}/slurm_cluster.sh"

# Starts it, once.
cluster()
{
    [ -z "$slurm_dir" ] || return 0
    [ "${MESHSWEEP_FULL-}" ] || skip "a real Slurm is started by scripts/check.sh --full"
    need_slurm
    start_slurm
}

# One on which jobs wait.
full_cluster() { cluster; scontrol update partitionname=main state=down; }

run_at_slurm()
{
    run_meshsweep run --executor slurm --progress none "$@"
    [ "$status" = 0 ] || [ "$status" = 3 ] || tail -n 20 "$slurm_dir"/log/slurmctld.log
}

# A sweep for a real queue: asked once a second, which knows a job for 300 s after its end.
cluster_sweep() # N COMMAND
{
    cluster </dev/null
    slurm_sweep "$@"
    sed -i 's/poll = "100ms"/poll = "1s"/; s/absence = "300ms"/absence = "20s"/' sweep.toml
}

wait_for_references() # N
{
    wait_until "[ \"\$(sql 'SELECT count(*) FROM attempt WHERE reference GLOB \"[0-9]*_*\"' 2>/dev/null)\" = $1 ]" 30
}

expect_each_once()
{
    expect_sql "ok|1|$1|$1" "SELECT state, max(number), count(*), count(DISTINCT job_id) FROM attempt GROUP BY state"
}

quickstart__through_slurm__as_at_home()
{
    cluster
    cp "$source_dir"/configs/quickstart.toml sweep.toml
    printf '\n[slurm]\ngpus = false\npoll = "1s"\n' >>sweep.toml
    run_at_slurm --only 'micro_batch <= 2' --limit 12
    expect "[ $status = 0 ] || [ $status = 3 ]"
    stated_status=1
    expect_no_stdout
    expect_no_stderr
    expect_sql "12|12|0" \
        "SELECT count(*), sum(coalesce(failure, state) IN ('ok', 'oom')), count(*) - count(host) FROM attempt"
    expect_sql 1 "SELECT count(*) > 0 FROM attempt WHERE state = 'ok' AND user_ms + system_ms > 0 AND duration_ms > 0"
}

two_nodes__srun__one_task_on_each()
{
    cluster_sweep 1 'srun hostname >hosts; srun printenv SLURMD_NODENAME | sort; echo "score: 1"' < <(toml \
        cluster_spec:: num_hosts=2 num_devices_per_host=1 tasks_per_node=1)
    at_slurm 0
    expect_sql "n[1-2]|n1
n2
score: 1" "SELECT host, log_tail FROM attempt"
}

many_jobs__in_arrays__each_once()
{
    cluster_sweep 200 < <(toml array_size=50)
    at_slurm 0
    expect_each_once 200
    expect_sql 4 "SELECT count(DISTINCT substr(reference, 1, instr(reference, '_') - 1)) FROM attempt"
}

node__killed__tried_again_elsewhere()
{
    cluster_sweep 1 'echo begun; [ "$MESHSWEEP_NUMBER" != 1 ] || sleep 100; echo "score: 1"' </dev/null
    start_until 'grep -qs begun results.db.d/*/1/output.log' 30 run --executor slurm --progress none
    node=$(squeue -h -o %N)
    kill_node "${node#n}"
    wait_command silent 0
    expect_sql "lost|$node|NODE_FAIL
ok|1|" "SELECT coalesce(failure, state), iif(failure IS NULL, host <> '$node', host),
              substr(message, instr(message, ': ') + 2, 9)
            FROM attempt ORDER BY id"
}

controller__away_for_a_while__nothing_lost()
{
    cluster_sweep 4 'while [ ! -f go ]; do sleep 0.1; done; echo "score: {n}"' </dev/null
    start_meshsweep run --executor slurm --progress none
    wait_until '[ "$(ls results.db.d/*/1/slurm.result 2>/dev/null | wc -l)" = 4 ]' 30
    stop_controller
    touch go
    wait_until '[ "$(sql "SELECT count(*) FROM attempt WHERE state = '"'ok'"'")" = 4 ] || ! kill -0 $command_pid' 60
    start_controller
    wait_command silent 0
    expect_each_once 4
}

job__cancelled_by_hand__not_tried_again()
{
    cluster_sweep 2 'echo begun; [ {n} = 1 ] && sleep 100; echo "score: {n}"' </dev/null
    start_meshsweep run --executor slurm --progress none
    wait_until '[ "$(cat results.db.d/*/1/output.log 2>/dev/null | grep -c begun)" = 2 ]' 30
    wait_for_references 2
    scancel "$(sql "SELECT reference FROM attempt ORDER BY id LIMIT 1")"
    wait_command silent 3
    expect_sql "cancelled|1
ok|1" "SELECT coalesce(failure, state), number FROM attempt ORDER BY id"
}

time_limit__of_slurm__a_timeout()
{
    cluster_sweep 1 'sleep 200' < <(toml options='["--time=1"]')
    sed -i '/^timeout/d' sweep.toml
    at_slurm 3
    expect_sql "timeout|1" "SELECT failure, message LIKE 'Slurm job 1_0: TIMEOUT (TimeLimit) on n_%' FROM attempt"
}

# sbatch that kills the runner before or after it has done its work, once.
deadly_sbatch() # before|after
{
    local real=/usr/bin/sbatch
    mkdir -p bin
    cat >bin/sbatch <<END
#!/bin/sh
[ ! -f $PWD/before ] || { rm $PWD/before; kill -KILL \$PPID; sleep 1; exit 1; }
id=\$($real "\$@") || exit
[ ! -f $PWD/after ] || { rm $PWD/after; kill -KILL \$PPID; }
echo "\$id"
END
    chmod +x bin/sbatch
    touch "$1"
    case $PATH in "$PWD"/bin:*) ;; *) PATH=$PWD/bin:$PATH ;; esac
}

runner__killed_around_the_submission__submitted_once()
{
    cluster
    for moment in before after; do
        rm -rf results.db* sweep.toml
        cluster_sweep 3 </dev/null
        deadly_sbatch "$moment"
        expect_after only_stderr 137 run_at_slurm
        at_slurm 0
        expect_each_once 3
    done
    # Two arrays in all: one for each moment.
    expect "[ \"\$(squeue -h -t all -r -o %F | sort -u | wc -l)\" = 2 ]"
}

runner__killed_while_jobs_run__collected()
{
    cluster_sweep 4 'while [ ! -f go ]; do sleep 0.1; done; echo "score: {n}"' </dev/null
    at_slurm 0 --detach
    start_meshsweep run --executor slurm --progress none
    wait_until '[ "$(ls results.db.d/*/1/slurm.result 2>/dev/null | wc -l)" = 4 ]' 30
    end_command KILL only_stderr 137
    touch go
    at_slurm 0
    expect_each_once 4
}

three_jobs() { cluster_sweep 3; }

runner__dying_at_each_fault_point__each_job_once()
{
    need_fault_points
    cluster
    dies_at_each three_jobs run_at_slurm "[ \"\$(squeue -h -t all -r -o %k | grep -c \"\$(sql \"SELECT value FROM meta
        WHERE name = 'identity'\")\")\" = 3 ]" attempt-claimed spawned submission-written submitted \
        submission-recorded start-written outcome-taken samples-written job-finished batch-written batch-committed \
        runner-ended
}

# --- the fence ---

# Puts back what the controller had kept on its disk, so that what came later is lost.
forget_since() # COMMAND...: run between the state that is kept and the loss of what came later
{
    end_process "$slurm_dir"/slurmctld.pid # which writes its state
    cp -a "$slurm_dir"/state "$slurm_dir"/state.kept
    start_controller
    "$@"
    stop_controller
    rm -rf "$slurm_dir"/state
    mv "$slurm_dir"/state.kept "$slurm_dir"/state
    start_controller
}

let_all_end()
{
    scontrol update partitionname=main state=up
    wait_until '[ "$(cat runs 2>/dev/null | wc -l)" = 16 ] && [ -z "$(squeue -h -t pending,running,completing)" ]' 60
}

controller__rolled_back_to_when_all_were_pending__each_once()
{
    full_cluster
    cluster_sweep 16 'echo {n} >>runs; echo "score: {n}"' </dev/null
    at_slurm 0 --detach
    forget_since let_all_end
    before=$(cat results.db.d/*/1/output.log results.db.d/*/1/slurm.result | md5sum)
    # Those that ran already are run again, and see it.
    wait_until '[ "$(ls results.db.d/*/1/slurm.again 2>/dev/null | wc -l)" = 16 ]' 60
    expect "[ '$before' = '$(cat results.db.d/*/1/output.log results.db.d/*/1/slurm.result | md5sum)' ]"
    at_slurm 0
    expect_each_once 16
    expect "[ $(wc -l <runs) = 16 ]"
}

directory__that_the_nodes_do_not_see__held_at_the_first_job()
{
    full_cluster
    cluster_sweep 3 </dev/null
    sed -i 's/absence = "20s"/absence = "3s"/' sweep.toml
    at_slurm 0 --detach
    mv results.db.d aside
    scontrol update partitionname=main state=up
    wait_until '[ -z "$(squeue -h -t pending,running,completing)" ]' 60
    mv aside results.db.d
    expect_said_by only_stderr_contains 2 "sees no directory $PWD/results.db.d/" run_at_slurm
    expect_sql "pending|3|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
    at_slurm 0
}

request__that_slurm_does_not_take__held_and_said_once()
{
    cluster_sweep 3 < <(toml partition=no-such)
    expect_said_by only_stderr_contains 2 'no-such' run_at_slurm
    expect_sql "pending|3|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
    sed -i '/no-such/d' sweep.toml
    at_slurm 0
    expect_each_once 3
}

node__frozen_and_awake_again__late_attempt_writes_no_more()
{
    cluster
    printf '%s\n' 'echo >>begun' 'until [ "$MESHSWEEP_NUMBER" != 1 ] || [ -f go ]; do sleep 0.1; done' \
        'echo "$MESHSWEEP_NUMBER" >shared' 'echo "score: 1"' >late.sh
    cluster_sweep 1 'sh ./late.sh' < <(toml heartbeat=1s)
    sed -i 's/absence = "20s"/absence = "3s"/' sweep.toml
    start_meshsweep run --executor slurm --progress none
    wait_until '[ -f begun ] && ls results.db.d/*/1/slurm.alive >/dev/null 2>&1' 30
    node=$(squeue -h -o %N)
    pids="$(step_pids "$node") $(cat "$slurm_dir/slurmd.$node.pid")"
    # shellcheck disable=SC2086 # numbers
    kill -STOP $pids
    wait_command
    # shellcheck disable=SC2086
    kill -CONT $pids
    expect_silent 0
    expect_sql "lost|1
ok|2" "SELECT coalesce(failure, state), number FROM attempt ORDER BY id"
    wait_until '[ -z "$(squeue -h -t running,completing)" ]' 60
    touch go
    expect '[ "$(cat shared)" = 2 ] && ! grep -q state=ended results.db.d/*/1/slurm.result'
    expect "! grep -q score results.db.d/*/1/output.log"
}

tasks__cancelled_while_pending__not_tried_again()
{
    full_cluster
    cluster_sweep 4 </dev/null
    sed -i 's/absence = "20s"/absence = "3s"/' sweep.toml
    start_meshsweep run --executor slurm --progress none
    wait_for_references 4
    scancel 1_1 1_2
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'cancelled'\")\" = 2 ]" 30
    scontrol update partitionname=main state=up
    wait_command silent 3
    expect_sql "cancelled|2
ok|2" "SELECT coalesce(failure, state), count(*) FROM attempt GROUP BY 1"
}

array__cancelled_while_pending__not_tried_again()
{
    full_cluster
    cluster_sweep 3 </dev/null
    start_meshsweep run --executor slurm --progress none
    wait_for_references 3
    scancel 1_0 1_1 1_2
    wait_command silent 3
    expect_sql "cancelled|3" "SELECT coalesce(failure, state), count(*) FROM attempt GROUP BY 1"
}

batch_shell__killed__told_with_its_signal()
{
    cluster_sweep 1 'kill -KILL "$(ps -o ppid= -p "$PPID" | tr -d " ")"; sleep 100' </dev/null
    sed -i 's/absence = "20s"/absence = "3s"/' sweep.toml
    at_slurm 3
    expect_sql "signal|9|FAILED (JobLaunchFailure)|its batch shell ended before it could report how" \
        "SELECT failure, signal, substr(message, 16, 25), substr(message, instr(message, 'its')) FROM attempt"
}

# --- in one allocation ---

run_in_allocation() # OPTIONS OF salloc
{
    salloc -Q -t 5 "$@" sh -c \
        '"$0" run --executor slurm --in-allocation --progress none >run.stdout 2>run.stderr; echo $? >run.status' \
        "$meshsweep" >salloc.log 2>&1
}

in_allocation__jobs__packed_as_steps()
{
    # One rank of the last job fails, and srun ends the others.
    cluster_sweep 4 'echo "$SLURMD_NODENAME $SLURM_NTASKS"; sleep 0.5; '\
'[ {n} != 4 ] || { [ "$SLURM_PROCID" = 0 ] || sleep 60; exit 7; }; echo "score: {n}"' < <(toml cpus_per_task=2 \
        cluster_spec:: num_devices_per_host=1,2 cluster_spec:: num_hosts=2 num_devices_per_host=4 tasks_per_node=2 \
        cluster_spec:: num_hosts=3)
    run_in_allocation -N2 --ntasks-per-node=4 -c2
    expect "[ $(cat run.status) = 3 ] && [ ! -s run.stdout ] && [ ! -s run.stderr ]"
    expect_sql "exit|7|3
ok|0|9" "SELECT coalesce(failure, state), exit_code, count(*) FROM attempt GROUP BY 1, 2"
    # On the nodes and with the tasks that were meant.
    expect_sql 0 "SELECT count(*) FROM attempt WHERE host NOT IN ('n1', 'n2', 'n1,n2')"
    expect_sql "n1,n2|n1 4,n1 4,n2 4,n2 4" \
        "SELECT host, (SELECT group_concat(v) FROM (SELECT value AS v FROM json_each('[\"'
            || replace(trim(replace(log_tail, 'score: 1' || char(10), ''), char(10)), char(10), '\",\"') || '\"]')
            ORDER BY 1))
         FROM attempt JOIN job AS j ON j.id = job_id JOIN summary AS m ON m.attempt_id = attempt.id
         WHERE host = 'n1,n2' AND m.value = 1"
    expect_sql "the allocation has 2 nodes with 8 devices in total (processors of the allocation)" \
        "SELECT reason FROM excluded WHERE rule = 'devices.exist'"
}

in_allocation__time_limit_and_dead_runner__no_step_left()
{
    cluster_sweep 2 'trap "echo told; exit 5" TERM; if [ {n} = 1 ]; then sleep 300 & wait; fi; echo "score: {n}"' \
        </dev/null
    sed -i 's/timeout = "60s"/timeout = "15s"/' sweep.toml
    salloc -Q -N1 -n2 -t 5 sh -c '
        "$0" run --executor slurm --in-allocation --progress none; echo $?
        sed -i "s/timeout = .*/timeout = \"100s\"/" sweep.toml
        "$0" run --executor slurm --in-allocation --progress none --retry-failed & pid=$!
        until [ -n "$(squeue --steps --me -h)" ]; do sleep 0.1; done
        kill -KILL "$pid"; wait "$pid"
        "$0" run --executor slurm --in-allocation --progress none --only "n = 2"; echo $?
        looks=0 # what is ended may be listed until its node has said so
        until [ -z "$(squeue --steps --me -h)" ] || [ $((looks += 1)) -gt 100 ]; do sleep 0.1; done
        squeue --steps --me -h' "$meshsweep" >salloc.out 2>salloc.err
    # The second job is not to meet the limit of the first, and no step is left.
    printf '3\n0\n' | diff - salloc.out >difference || fail "$(cat difference salloc.err)"
    expect_sql "timeout|told
ok|score: 2" "SELECT coalesce(failure, state),
              substr(log_tail, instr(log_tail, iif(failure IS NULL, 'score', 'told')), iif(failure IS NULL, 8, 4))
              FROM attempt WHERE number = 1 ORDER BY id"
    expect_sql lost "SELECT failure FROM attempt WHERE number = 2"
}

in_allocation__node_killed__tried_again_on_the_other()
{
    cluster_sweep 2 \
        'echo >begun.{n}; if [ "$SLURMD_NODENAME $MESHSWEEP_NUMBER" = "n2 1" ]; then sleep 300; fi; echo "score: {n}"' \
        < <(toml cluster_spec:: num_devices_per_host=4)
    salloc -Q --no-kill -N2 --ntasks-per-node=4 -t 5 sh -c \
        '"$0" run --executor slurm --in-allocation --progress none; echo $? >run.status' \
        "$meshsweep" >salloc.out 2>&1 &
    wait_until '[ -f begun.1 ] && [ -f begun.2 ]' 30
    kill_node 2
    wait "$!"
    expect "[ $(cat run.status) = 0 ]"
    expect_sql "lost|n2|Slurm: a node of the step failed
ok|n1|
ok|n1|" "SELECT coalesce(failure, state), host, message FROM attempt ORDER BY 1, id"
}

check_executor__real_slurm__each_witness_as_it_should_be()
{
    cluster
    expect_run only_status 0 check --executor slurm
    expect_stdout_matches '^true: job [0-9]+_0$' '^  queue: .*COMPLETED \(COMPLETED\)' '^  so it was cancelled$' \
        '^  its file: exit code 1 on n[12]$' "^wrong-option: refused: sbatch: unrecognized option"
}

run_cases "$@"
