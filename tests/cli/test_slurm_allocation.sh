#!/usr/bin/env bash
# Jobs as steps of an allocation that the runner is in, with stand-ins for Slurm's commands.
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

allocated_sweep() { stand_in_sweep "$@"; in_allocation; } # N [COMMAND]

run_in_allocation() { run_at_slurm --in-allocation; }

in_allocation__jobs__packed_as_steps()
{
    allocated_sweep 2 \
        'echo "$SLURMD_NODENAME ${CUDA_VISIBLE_DEVICES-none} $SLURM_CPUS_ON_NODE $MASTER_ADDR"; echo "score: {n}"' \
        < <(toml cluster_spec:: num_devices_per_host=4 cluster_spec:: num_hosts=2 num_devices_per_host=2 \
            tasks_per_node=2 cluster_spec:: num_hosts=2 num_devices_per_host=3)
    SLURM_CPUS_ON_NODE=3 CUDA_VISIBLE_DEVICES=0,1,2,3 run_in_allocation
    expect_silent 0
    expect_sql "4|n1|n1:0,n1:1,n1:2,n1:3|slurm-step
4|n1,n2|n1:0,n1:1,n2:0,n2:1|slurm-step" \
        "SELECT count(*) * 2, host, devices, executor FROM attempt WHERE state = 'ok' GROUP BY 2, 3, 4 ORDER BY 2"
    expect_sql "n1 none  n1" "SELECT DISTINCT substr(log_tail, 1, 11) FROM attempt"
    expect_sql "the allocation has 2 nodes with 6 devices in total (GPUs of the allocation)" \
        "SELECT reason FROM excluded WHERE rule = 'devices.exist'"
    sed "s/--job-name=[^ ]*/NAME/; s| /bin/sh .*||" slurm/sruns | sort -u >options
    expect_file_contains options "--jobid=1 --exact --nodes=1 --nodelist=n1 --ntasks=1 --ntasks-per-node=1 \
--cpus-per-task=8 --gpus-per-node=4 --mem=800M NAME --kill-on-bad-exit=1 --quiet"
    expect_file_contains options "--jobid=1 --exact --nodes=2 --nodelist=n1,n2 --ntasks=4 --ntasks-per-node=2 \
--cpus-per-task=2 --gpus-per-node=2 --mem=400M NAME --kill-on-bad-exit=1 --quiet"
}

in_allocation__ends_of_steps__told_apart()
{
    allocated_sweep 6 'case {n} in 2) exit 7 ;; 3) echo "CUDA out of memory. Tried to allocate"; exit 1 ;; '\
'4) exit 137 ;; 5) echo "slurmstepd: error: Detected 1 oom_kill event in StepId=1.4."; exit 137 ;; '\
'6) echo "srun: error: Node failure on n2" ;; esac; echo "score: {n}"' < <(toml retry: lost=1)
    expect_after silent 5 run_in_allocation
    expect_sql "ok|
exit|exit status 7
oom|exit status 1: CUDA out of memory. Tried to allocate
signal|killed by signal 9 (SIGKILL)
oom-host|killed by signal 9 (SIGKILL): slurmstepd: error: Detected 1 oom_kill event in StepId=1.4.
lost|Slurm: a node of the step failed
lost|Slurm: a node of the step failed" "$ends"
}

in_allocation__time_limit__step_asked_to_end()
{
    allocated_sweep 1 'trap "echo told; exit 5" TERM; while :; do sleep 0.05; done' </dev/null
    sed -i 's/timeout = "60s"/timeout = "400ms"/' sweep.toml
    expect_after silent 3 run_in_allocation
    expect_sql "timeout|timeout: still running after 400ms|told" \
        "SELECT failure, message, trim(log_tail, char(10)) FROM attempt"
    expect "[ -z \"\$(ls slurm/steps)\" ]" "grep -q '^TERM 1' slurm/cancelled"
}

in_allocation__runner_killed__its_steps_ended_by_the_next()
{
    allocated_sweep 1 'if [ "$MESHSWEEP_NUMBER" = 1 ]; then touch begun; sleep 100; fi; echo "score: {n}"' </dev/null
    start_until '[ -f begun ]' 20 run --executor slurm --in-allocation --progress none
    end_command KILL only_stderr 137
    # The process stands for a step on another node: it does not notice.
    sleep 100 &
    echo "1.77|$(sql "SELECT value FROM meta WHERE name = 'identity'"):1:1 $!" >slurm/steps/1.77
    expect_after silent 0 run_in_allocation
    expect "! kill -0 $! 2>/dev/null"
    expect_sql "lost
ok" "SELECT coalesce(failure, state) FROM attempt ORDER BY id"
}

in_allocation__step_refused__not_started()
{
    stand_ins
    echo "Requested node configuration is not available" >slurm/refuse-step
    slurm_sweep 1 < <(toml retry: spawn=1)
    in_allocation
    expect_after silent 3 run_in_allocation
    expect_sql spawn "SELECT failure FROM attempt"
}

in_allocation__without_one__said()
{
    stand_in_sweep 1 </dev/null
    unset SLURM_JOB_ID
    run_in_allocation
    expect_only_stderr 2 'meshsweep: --in-allocation: SLURM_JOB_ID is not set; start meshsweep inside salloc or sbatch'
    expect_said only_stderr 2 'meshsweep: --in-allocation needs --executor slurm' run --in-allocation
}

run_cases "$@"
