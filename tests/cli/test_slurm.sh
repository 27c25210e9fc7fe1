#!/usr/bin/env bash
# Jobs at Slurm, with stand-ins for its commands (tests/cli/slurm_stand_ins.sh): what is submitted, what becomes of each
# state, and what survives the runner. tests/cli/test_slurm_cluster.sh does it with a real one.
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

sweep__run__recorded_with_places()
{
    stand_in_sweep 5 'case {n} in 2) exit 7 ;; 3) echo "CUDA out of memory. Tried to allocate" >&2; exit 1 ;; '\
'4) exit 0 ;; 5) kill -KILL $$ ;; esac; echo "score: {n}"' </dev/null
    at_slurm 3
    expect_sql "ok||1_0|n0|0
exit|exit status 7|1_1|n1|7
oom|exit status 1: CUDA out of memory. Tried to allocate|1_2|n2|1
no-metric|exit status 0, but the objective score was not reported|1_3|n3|0
signal|killed by signal 9 (SIGKILL)|1_4|n4|" \
        "SELECT coalesce(failure, state), message, reference, host, exit_code FROM attempt ORDER BY id"
    expect_sql "slurm|5|0" "SELECT DISTINCT executor, count(*) OVER (), min(duration_ms) OVER () < 0 FROM attempt"
    expect "[ $(jobs_submitted) = 1 ]"
    expect_sql 1.0 "SELECT value FROM summary"
    at_slurm 3
    expect "[ $(jobs_submitted) = 1 ]"
}

# A shell forgets a signal that comes before it has set its trap: that of the heartbeat, where the job is short.
heartbeat__not_told_to_end__ends_with_its_job()
{
    [ -f "$build_dir/tests/cli/disturb.so" ] || skip "there is no disturb.so"
    stand_ins
    printf '#!/bin/sh\nLD_PRELOAD=%s DISTURB_CALL=kill exec /bin/sh "$@"\n' "$build_dir/tests/cli/disturb.so" >bin/sh
    chmod +x bin/sh
    slurm_sweep 1 'echo "score: {n}"' <<<'heartbeat = "1s"'
    at_slurm 0
}

# A shell may count in ticks of 10 ms: then a short job took none of them, and that is its measurement.
objective__cpu_time_of_short_jobs__measured()
{
    stand_in_sweep 4 ':' </dev/null
    sed -i '/^\[job.metrics.score\]/,+1d; s/^objective.*/objective = "min:cpu_time"/' sweep.toml
    at_slurm 0
    expect_sql "4|4|1" "SELECT count(*), count(cpu_time), min(cpu_time >= 0) FROM results WHERE state = 'ok'"
    sed -i 's/"min:cpu_time"/"min:max_rss"/' sweep.toml
    rm -rf results.db*
    at_slurm 3
    expect_sql "no-metric|4" "SELECT failure, count(*) FROM results GROUP BY 1"
}

environment__of_the_runner__does_not_leak()
{
    stand_in_sweep 1 'env | grep -E "^(SLURM_CPUS|SBATCH|CUDA)" | sort | tr "\n" " "; '\
'[ "$MASTER_PORT" = "$PET_MASTER_PORT" ] && [ "$MASTER_PORT" -ge 10000 ] && [ "$MASTER_PORT" -lt 29400 ] && '\
'echo "its port $OWN $MESHSWEEP_NUMBER"; pwd; echo "score: 1"' < <(toml job.env: OWN="it's \$x")
    SLURM_CPUS_ON_NODE=3 SBATCH_PARTITION=x CUDA_VISIBLE_DEVICES=5 at_slurm 0
    expect_sql "its port it's \$x 1
$PWD
score: 1" "SELECT log_tail FROM attempt"
}

script__from_specs__options()
{
    stand_in_sweep 1 < <(toml partition=gpu account=me memory=80G options='["--licenses=a:1", "--exclusive"]' \
        margin=2m cluster_spec:: num_hosts=2 num_devices_per_host=4 constraint='a100&big' tasks_per_node=4)
    sed -i 's/gpus = false//' sweep.toml
    at_slurm 0
    sed -n 's/^#SBATCH //p' slurm/job.1 | grep -v '^--comment' >options
    expect_file_contains options '--job-name="meshsweep-at_slurm"
--array=0-0
--output=/dev/null
--no-requeue
--partition="gpu"
--account="me"
--constraint="a100&big"
--nodes=2
--ntasks-per-node=4
--gpus-per-node=4
--mem="80G"
--time=4
--licenses=a:1
--exclusive'
    expect "grep -q '^#SBATCH --comment=\"meshsweep:$(
        sql "SELECT value FROM meta WHERE name = 'identity'"):1-1 attempts 1 to 1 of' slurm/job.1"
}

held_sweep() { stand_ins hold; slurm_sweep "$@"; } # N [COMMAND]: what is submitted waits

# Slurm's states of a job that never wrote a word, and what those come to.
states__of_a_silent_job__as_the_table_says()
{
    while IFS='/' read -r state class message; do
        rm -rf results.db* slurm bin
        held_sweep 1 < <(toml retry: lost=1 spawn=1)
        echo "$state" >slurm/state
        if [ "${class##*/}" = lost ]; then
            at_slurm 5
            expect_sql "$class|$message
$class|${message/1_0/2_0}" "$ends"
            expect_sql "pending||2|1|node" "SELECT j.state, j.failure, j.losses, held LIKE 'lost 2 times in a row%',
                a.blame FROM job AS j JOIN attempt AS a ON a.id = j.attempt_id"
        else
            at_slurm 3
            expect_sql "$class|$message" "$ends"
        fi
    done <<'END'
TIMEOUT|TimeLimit|n1/timeout/Slurm job 1_0: TIMEOUT (TimeLimit) on n1
OUT_OF_MEMORY|OutOfMemory|n1/oom-host/killed by signal 9 (SIGKILL): killed by the kernel: the host ran out of memory
NODE_FAIL|NodeDown|n1/lost/Slurm job 1_0: NODE_FAIL (NodeDown) on n1
BOOT_FAIL|None|n1/lost/Slurm job 1_0: BOOT_FAIL on n1
CANCELLED|None|/cancelled/Slurm job 1_0: CANCELLED; it was cancelled by someone else
DEADLINE|DeadLine|/timeout/Slurm job 1_0: DEADLINE (DeadLine); it ran until its deadline
FAILED|JobLaunchFailure|n1/spawn/could not be started: Slurm job 1_0: FAILED (JobLaunchFailure) on n1
COMPLETED|None|n1/lost/Slurm job 1_0: COMPLETED on n1; it sent no sign of life for too long
END
}

# However often: its place was wanted for another.
# Preemption changes nothing, time that ran out gives more time, memory that ran out more memory.
limits__that_know_the_attempt__grow_by_what_failed()
{
    stand_in_sweep 1 < <(toml margin=0 memory='"1.5G * (1 + (last_failure = '\''oom-host'\'')) + n * 1024"' \
        retry: timeout=4 oom-host=4 backoff=0)
    sed -i "s/\"60s\"/\"10m * CASE last_failure WHEN 'timeout' THEN attempt ELSE 1 END\"/" sweep.toml
    echo 'PREEMPTED|None|n1' >slurm/state.1
    echo 'OUT_OF_MEMORY|OutOfMemory|n1' >slurm/state.2
    echo 'TIMEOUT|TimeLimit|n1' >slurm/state.3
    touch slurm/hold
    start_until '[ -f slurm/job.4 ]' 30 run --executor slurm --progress none
    SLURM_ARRAY_JOB_ID=4 SLURM_ARRAY_TASK_ID=0 sh slurm/job.4
    wait_command silent 0
    expect_sql "lost|600000|2560
oom-host|600000|2560
timeout|600000|4096
|1800000|2560" "SELECT failure, given ->> 'timeout_ms', given ->> 'memory_mib' FROM attempt ORDER BY number"
    for i in 2 3 4; do
        sed -nE 's/^#SBATCH --(mem|time)=//p' "slurm/job.$i" | xargs
    done >asked
    expect_file_contains asked '2560M 11
4096M 11
2560M 31'
}

preempted__more_often_than_a_job_may_be_lost__again_and_again()
{
    held_sweep 1 < <(toml retry: lost=1 backoff=1ms)
    for i in 1 2 3 4; do
        echo 'PREEMPTED|None|n1' >"slurm/state.$i"
    done
    start_until '[ -f slurm/job.5 ]' 30 run --executor slurm --progress none
    SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=0 sh slurm/job.5
    wait_command silent 0
    expect_sql "failed|lost|preemption|4
ok|||1" "SELECT state, failure, blame, count(*) FROM attempt GROUP BY 1 ORDER BY 1"
}

states__that_pass__waited_for()
{
    for state in 'PENDING|Priority|' 'CONFIGURING|None|' 'REQUEUED|None|' 'SUSPENDED|None|n1' 'COMPLETING|None|n1' \
        'A_NEW_STATE|None|n1'; do
        rm -rf results.db* slurm bin
        held_sweep 1 </dev/null
        echo "$state" >slurm/state
        start_until '[ "$(wc -l <slurm/polls 2>/dev/null || echo 0)" -ge 5 ]' 10 run --executor slurm --progress none
        expect_sql "running" "SELECT state FROM attempt"
        SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=0 sh slurm/job.1 || true
        wait_command silent 0
        expect_sql "ok" "SELECT state FROM attempt"
    done
}

job__unknown_for_a_moment__not_lost()
{
    stand_in_sweep 1 'while [ ! -f go ]; do sleep 0.05; done; echo "score: 1"' </dev/null
    sed -i 's/absence = "300ms"/absence = "30s"/' sweep.toml
    touch slurm/absent
    start_until '[ "$(wc -l <slurm/polls 2>/dev/null || echo 0)" -ge 5 ]' 10 run --executor slurm --progress none
    rm slurm/absent
    touch slurm/silent
    wait_until '[ "$(wc -l <slurm/polls)" -ge 10 ]' 10
    rm slurm/silent
    touch go
    wait_command silent 0
    expect_sql "ok|1" "SELECT state, number FROM attempt"
}

job__unknown_for_good__lost_and_tried_again()
{
    held_sweep 1 < <(toml retry: lost=1)
    touch slurm/absent
    at_slurm 5
    expect_sql "lost|Slurm job 1_0: unknown to Slurm; it sent no sign of life for too long
lost|Slurm job 2_0: unknown to Slurm; it sent no sign of life for too long" "$ends"
}

accounting__where_the_queue_has_forgotten__believed()
{
    held_sweep 1 </dev/null
    touch slurm/absent
    echo 'TIMEOUT|0:15' >slurm/account
    at_slurm 3
    expect_sql "timeout|Slurm job 1_0: TIMEOUT on n1" "$ends"
}

queue__whose_lines_nobody_can_read__asked_for_json()
{
    stand_ins hold
    cat >bin/squeue <<'END'
#!/bin/sh
case $* in
*--json*) echo '{"jobs": [{"job_id": 5, "array_job_id": 1, "array_task_id": 0, "job_state": ["TIMEOUT"],
    "state_reason": "TimeLimit", "nodes": "n1", "comment": ""}]}' ;;
*) echo "a site's own table" ;;
esac
END
    slurm_sweep 1 </dev/null
    at_slurm 3
    expect_sql "timeout|Slurm job 1_0: TIMEOUT (TimeLimit) on n1" "$ends"
}

completion_log__where_accounting_is_disabled__believed()
{
    held_sweep 1 < <(toml retry: lost=1)
    touch slurm/absent
    echo "JobId=7 UserId=x($(id -u)) GroupId=x(0) Name=meshsweep-at_slurm JobState=NODE_FAIL Partition=main \
NodeList=n3 NodeCnt=1 WorkDir=/ Tres=cpu=1 ArrayJobId=1 ArrayTaskId=0 DerivedExitCode=0:0 ExitCode=0:0 " \
        >slurm/completions
    sed -i 's/absence = "300ms"/absence = "30s"/' sweep.toml
    start_meshsweep run --executor slurm --progress none
    wait_until '[ "$(sql "SELECT count(*) FROM attempt WHERE failure = '\''lost'\''" 2>/dev/null)" = 1 ]' 20
    expect_sql "lost|Slurm job 1_0: NODE_FAIL on n3" "$ends LIMIT 1"
    end_command TERM only_stderr 143
}

node__that_failed__excluded_from_the_next_attempt()
{
    held_sweep 1 </dev/null
    echo 'NODE_FAIL|NodeDown|n1' >slurm/state.1
    start_until '[ -f slurm/job.2 ]' 20 run --executor slurm --progress none
    expect_file_contains slurm/job.2 '#SBATCH --exclude="n1"'
    SLURM_ARRAY_JOB_ID=2 SLURM_ARRAY_TASK_ID=0 sh slurm/job.2
    wait_command silent 0
    expect_sql "failed|lost|n1
ok||n0" "SELECT state, failure, host FROM attempt ORDER BY id"
}

job__out_of_time__once_more_with_a_longer_limit()
{
    held_sweep 1 < <(toml timeout_factor=3 margin=0 retry: timeout=2)
    echo 'TIMEOUT|TimeLimit|n1' >slurm/state
    at_slurm 3
    expect_sql "timeout|120000
timeout|240000" "SELECT failure, limit_ms FROM attempt ORDER BY id"
    expect_file_contains slurm/job.1 'limit=60 '
    expect_file_contains slurm/job.2 'limit=180 '
    expect "[ $(jobs_submitted) = 2 ]"
}

limit__of_the_job__kept_on_the_node()
{
    stand_in_sweep 1 'sleep 30' </dev/null
    sed -i 's/timeout = "60s"/timeout = "300ms"/' sweep.toml
    at_slurm 3
    expect_sql "timeout|timeout: still running after 300ms" "$ends"
}

job__without_output__cancelled_as_hanging()
{
    stand_in_sweep 1 'echo begun; sleep 3' </dev/null
    sed -i 's/timeout = "60s"/idle_timeout = "600ms"/' sweep.toml
    at_slurm 3
    expect_sql "hang|idle_timeout: no output and no metric for 600ms" "$ends"
    expect_file_contains slurm/cancelled 1_0
}

arrays__bounded__by_options()
{
    stand_in_sweep 7 < <(toml array_size=3)
    at_slurm 0
    expect "[ $(jobs_submitted) = 3 ]"
    expect_sql 7 "SELECT count(*) FROM attempt WHERE state = 'ok'"
}

submit_limit__reached__smaller_arrays_later()
{
    stand_ins
    echo 'sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, '\
'users size)' >slurm/refuse
    echo 2 >slurm/refuse-more-than
    slurm_sweep 4 </dev/null
    at_slurm 0
    expect "[ $(jobs_submitted) = 2 ]"
    expect_sql "4|4" "SELECT count(*), count(DISTINCT reference) FROM attempt WHERE state = 'ok'"
}

submission__refused__said_once_and_no_attempt_is_charged()
{
    stand_ins
    printf 'sbatch: error: %s\n' 'invalid partition specified: gpux' \
        'Batch job submission failed: Invalid partition name specified' >slurm/refuse
    slurm_sweep 4 </dev/null
    expect_said among_stderr 2 "could not be started: sbatch: invalid partition specified: gpux; Batch job submission \
failed: Invalid partition name specified; correct [slurm] or cluster_spec" run --executor slurm --progress plain
    expect "[ $(grep -c gpux .stderr) = 1 ]"
    expect_sql "pending|4|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
    rm slurm/refuse
    at_slurm 0
    expect_sql "4|4|1" "SELECT count(*), sum(state = 'ok'), max(number) FROM attempt"
}

submission__refused_for_one_kind_of_job__the_others_run()
{
    stand_in_sweep 2 < <(toml cluster_spec:: partition=good,bad)
    mv bin/sbatch bin/sbatch.real
    printf '%s\n' '#!/bin/sh' 'for script; do :; done' "! grep -q 'partition=\"bad\"' \"\$script\" || {" \
        'echo "sbatch: error: invalid partition specified: bad" >&2; exit 1; }' 'exec "$0.real" "$@"' >bin/sbatch
    chmod +x bin/sbatch
    expect_after only_status 2 run_at_slurm
    expect_sql "bad|held|2
good|ok|2" "SELECT partition, state, count(*) FROM results GROUP BY 1, 2"
}

policy__that_is_never_met__refused_the_second_time()
{
    stand_ins
    printf 'sbatch: error: %s\n' QOSMaxWallDurationPerJobLimit "Batch job submission failed: Job violates \
accounting/QOS policy (job submit limit, user's size)" >slurm/refuse
    slurm_sweep 2 </dev/null
    expect_after only_status 2 run_at_slurm
    expect_sql "pending|2|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
}

directory__that_the_node_does_not_see__held_and_not_charged()
{
    held_sweep 1 </dev/null
    echo 72 >slurm/rc.1.0
    echo 'FAILED|NonZeroExitCode|n1' >slurm/state
    expect_said only_stderr_matches 2 "could not be started: Slurm job 1_0: n1 sees no directory \
$PWD/results.db.d/[0-9a-f]*/1; keep the database on a file system of all nodes" run --executor slurm --progress none
    expect_sql "pending|0" "SELECT state, (SELECT count(*) FROM attempt) FROM job"
}

# Pending, then without an answer, then begun.
queue__that_does_not_begin_them__waiting_and_not_running()
{
    held_sweep 2 </dev/null
    echo 'PENDING|PartitionTimeLimit|' >slurm/state
    start_meshsweep run --executor slurm --progress plain
    wait_until "[ \"\$(sql \"SELECT min(waits) FROM attempt\" 2>/dev/null)\" = 'PartitionTimeLimit; ask for less time \
([job] timeout) or for another partition' ]" 20
    expect_sql "2|2" "SELECT count(*), count(waits) FROM attempt WHERE state = 'running'"
    wait_until 'grep -q "0 ok, 2 waiting (PartitionTimeLimit)" .stderr' 20
    cp .stderr said
    "$meshsweep" status >text
    "$meshsweep" status --json >status.json
    rm slurm/state
    echo 'PENDING|Resources|' >slurm/state
    touch slurm/silent
    wait_until "[ \"\$(sql \"SELECT min(waits) FROM attempt\")\" = 'Slurm does not answer' ]" 20
    rm slurm/silent slurm/state
    echo 'RUNNING|None|n0' >slurm/state
    wait_until "[ \"\$(sql \"SELECT count(waits) FROM attempt WHERE state = 'running'\")\" = 0 ]" 20
    # A runner that leaves says what they wait for.
    echo 'PENDING|Resources|' >slurm/state
    wait_until "[ \"\$(sql \"SELECT count(waits) FROM attempt WHERE state = 'running'\")\" = 2 ]" 20
    signal_command TERM
    wait_command among_stderr 143 '0 ok, 2 waiting (Resources)'
    expect "[ $(grep -c 'jobs wait at Slurm: PartitionTimeLimit; ask for less time' said) = 1 ]"
    expect_file_contains text '  2  as job 1: PartitionTimeLimit; ask for less time ([job] timeout)'
    expect_json '0|2|2' status.json states.running states.waiting waits[0].jobs
    expect_said only_stdout_contains 0 'meshsweep run --executor slurm' status
}

runner__killed_before_or_after_the_submission__submitted_once()
{
    for moment in kill-before kill-after; do
        rm -rf results.db* slurm bin
        stand_ins
        touch "slurm/$moment"
        [ "$moment" = kill-after ] || touch slurm/stop-before
        slurm_sweep 3 </dev/null
        expect_after only_stderr 137 run_at_slurm
        rm -f slurm/stop-before
        at_slurm 0
        expect "[ $(jobs_submitted) = 1 ]"
        expect_sql "ok|1|3|3" "SELECT state, max(number), count(*), count(DISTINCT job_id) FROM attempt GROUP BY state"
    done
}

# Jobs that wait for the file go, and are submitted.
start_submitted() # N
{
    stand_in_sweep "$1" 'while [ ! -f go ]; do sleep 0.05; done; echo "score: {n}"' </dev/null
    start_until "[ \"\$(sql 'SELECT count(reference) FROM attempt' 2>/dev/null)\" = $1 ]" 20 \
        run --executor slurm --progress none
}

runner__killed_while_jobs_run__collected_by_the_next()
{
    start_submitted 3
    end_command KILL only_stderr 137
    expect_said only_stderr 1 'meshsweep: 3 attempts were submitted to slurm; collect them with `meshsweep run '\
'--executor slurm`, then start again' run --progress none
    touch go
    at_slurm 0
    expect "[ $(jobs_submitted) = 1 ]"
    expect_sql "ok|1|3" "SELECT state, max(number), count(*) FROM attempt GROUP BY state"
    at_slurm 0
    expect "[ -z \"\$(ls results.db.d/slurm)\" ]"
}

# It is submitted without the limit of a trial, and its end is collected as what it is.
full_training__its_runner_killed__collected_by_the_next()
{
    stand_in_sweep 2 '[ -e ran.{n} ] || { touch ran.{n}; while [ ! -f detached ]; do sleep 0.05; done; '\
'echo "score: {n}"; exit; }; while [ ! -f go ]; do sleep 0.05; done' </dev/null
    run_at_slurm --detach --run-full-experiment
    expect_only_stderr_contains 0 "the full training follows once all jobs have ended"
    touch detached
    start_meshsweep run --executor slurm --progress none --run-full-experiment
    wait_until '[ -n "$(sql "SELECT reference FROM attempt WHERE kind = '"'full'"'" 2>/dev/null)" ]' 20
    end_command KILL only_stderr_contains 137 "launching the winner"
    touch go
    expect_said_by only_stderr_contains 0 "the full training of job 2 has been done" run_at_slurm --run-full-experiment
    expect "[ $(jobs_submitted) = 2 ]" "[ $(grep -l '^#SBATCH --time' slurm/job.* | wc -l) = 1 ]"
    expect_sql "1|trial|ok
2|trial|ok
2|full|ok" "SELECT job_id, kind, state FROM attempt ORDER BY id"
    expect_sql "2|ok|2" "SELECT count(*), state, max(attempt_id) FROM job GROUP BY state"
}

run__detached__collected_later()
{
    stand_in_sweep 2 'while [ ! -f go ]; do sleep 0.05; done; echo "score: {n}"' </dev/null
    at_slurm 0 --detach
    expect_run only_stdout 0 status
    expect_sql "running|1_0
running|1_1" "SELECT state, reference FROM attempt ORDER BY id"
    touch go
    at_slurm 0
    expect_sql "ok|2" "SELECT state, count(*) FROM attempt GROUP BY state"
}

runner__asked_to_end__leaves_its_jobs()
{
    start_submitted 2
    end_command TERM only_stderr 143
    expect_no_file slurm/cancelled
    touch go
    at_slurm 0
}

runner__interrupted_twice__cancels_its_jobs()
{
    start_submitted 2
    signal_command INT
    sleep 0.3
    end_command INT only_stderr 130
    expect_file_contains slurm/cancelled 1
    expect_sql "pending|2" "SELECT state, count(*) FROM job GROUP BY state"
    touch go
}

check_executor__four_jobs__what_each_witness_said()
{
    stand_ins
    echo 'TIMEOUT|0:0' >slurm/account
    expect_run status 0 check --executor slurm
    expect_stderr_contains "submitting four small jobs to Slurm"
    expect_stdout "true: job 1_0
  its file: exit code 0 on n0
  queue: COMPLETED (COMPLETED)
  accounting: TIMEOUT (TIMEOUT)
  so it ended as its file says
false: job 2_0
  its file: exit code 1 on n0
  queue: FAILED (FAILED)
  accounting: TIMEOUT (TIMEOUT)
  so it ended as its file says
cancelled: job 3_0
  its file: it began on n0
  queue: RUNNING (RUNNING), CANCELLED (CANCELLED)
  accounting: TIMEOUT (TIMEOUT)
  so it was cancelled
wrong-option: refused: sbatch: unrecognized option '--meshsweep-no-such-option'"
    end_what_sleeps
    expect_no_file meshsweep-check.*
}

check_executor__option_that_is_not_refused__said()
{
    stand_ins
    sed -i 's/no-such-option/unheard-of/' bin/sbatch
    echo 'COMPLETED|None|n0' >slurm/state
    expect_said among_stdout 1 "wrong-option: job 4_0: the option was not refused" check --executor slurm
    end_what_sleeps
    expect "[ -d meshsweep-check.*/false ]"
    expect_said only_stderr_contains 2 "takes but a sweep file besides" check --executor slurm -d results.db
}

# The system of the stand-ins under another name, without what only Slurm has.
other_system()
{
    sed -e 's/^title = .*/title = "Other"\nunverified = true/' \
        -e 's/^#SBATCH --partition={partition/#SBATCH --partition={queue/' \
        -e 's/^#SBATCH --mem=.*/#SBATCH --mem={memory_mib?@M:}{pe:none}/' "$source_dir/configs/executors/slurm.toml"
}

executor__by_a_file__submitted_to_as_its_table_says()
{
    stand_ins
    mkdir systems
    other_system >systems/other.toml
    slurm_sweep 2 </dev/null
    sed -i -e 's|^\[slurm\]|[executor]\nname = "systems/other.toml"\nqueue = "long"\nmemory = "2G"|' \
        -e 's|^poll|set = { pe = "mpi" }\npoll|' sweep.toml
    expect_said only_stderr 0 "meshsweep: Other: this description was written from manuals and has not been run \
against the real one; meshsweep check --executor tries it" run --progress none
    expect_sql "ok|other|2" "SELECT state, executor, count(*) FROM attempt GROUP BY 1, 2"
    expect_file_contains slurm/job.1 '#SBATCH --partition="long"' '#SBATCH --mem=2048M:mpi'
}

accounting__job_by_job_and_without_an_answer__asked_once_a_poll()
{
    stand_ins
    other_system | sed 's/{jobs}/{job}/' >other.toml
    slurm_stand_in sacct <<<'echo "$*" >>asked; exit 1'
    slurm_sweep 3 'sleep 1; echo "score: {n}"' </dev/null
    sed -i 's/^absence = .*/absence = "60s"/; s/^\[slurm\]/[executor]/' sweep.toml
    touch slurm/absent
    expect_said among_stderr 0 "has not been run against the real one" run --executor ./other.toml --progress none
    expect_file_contains slurm/asked " -j 1_0"
    expect "[ $(wc -l <slurm/asked) -le $(wc -l <slurm/polls) ]"
}

executor__that_there_is_not__names_those_there_are()
{
    slurm_sweep 1 </dev/null
    run_meshsweep run --executor slrum
    expect_only_stderr_contains 2 'there is no executor "slrum"; there are local, ssh, ' 'slurm' './slrum.toml'
    run_meshsweep run --executor ./local.toml
    expect_only_stderr_contains 2 "./local.toml: attempts are recorded under the file's name" "rename the file"
    run_meshsweep run --executor ./none.toml
    expect_only_stderr_contains 2 "none.toml" "No such file"
    echo '[executor]
name = "nowhere"' >>sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:16:8: there is no executor "nowhere"' plan
}

executor_file__mistakes__all_said_with_their_places()
{
    slurm_sweep 1 </dev/null
    toml title=Bad submit: command='["qsub", "{script"]' id='^([0-9]+' head='#$ -N {name|upper}' submit.refusals: \
        "'too many' = \"later\"" queue: command='["qstat"]' columns=id,state fields.task=tsak queue.states: \
        qw=WAITING >bad.toml
    run_meshsweep run --executor ./bad.toml
    expect_only_stderr_contains 2 './bad.toml:1:1: the file lacks "cancel"' \
        './bad.toml:2:1: [submit] lacks "task_variable"' './bad.toml:3:20: a word: expected {key}' \
        './bad.toml:4:6: the pattern cannot be used' './bad.toml:5:8: head: expected {key}' \
        "./bad.toml:7:14: too many must be \"limit\", \"policy\" or \"no answer\"" \
        './bad.toml:8:1: fields: ' 'no such column: tsak' './bad.toml:13:6: a state must be one of PENDING'
    sed 's/^columns = .*/json = "$.jobs"/; s/^separator.*//' "$source_dir/configs/executors/slurm.toml" >bad.toml
    expect_said only_stderr_contains 2 '[queue] lacks fields.state, or a column "state"' run --executor ./bad.toml
}

run_cases "$@"
