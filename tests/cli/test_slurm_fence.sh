#!/usr/bin/env bash
# A Slurm that forgets, requeues, freezes and cancels, by stand-ins (tests/cli/slurm_stand_ins.sh): an attempt begins
# once, and nothing of it is written over. tests/cli/test_slurm_cluster.sh does it with a real one.
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

# As a controller would that has lost its last state.
start_task_again() # ARRAY INDEX
{
    SLURM_JOB_ID=$(($1 * 1000 + $2)) SLURM_ARRAY_JOB_ID=$1 SLURM_ARRAY_TASK_ID=$2 sh "slurm/job.$1"
}

files_of_attempts()
{
    (cd results.db.d && find . \( -name output.log -o -name slurm.result \) -exec md5sum {} + | sort)
}

controller__that_lost_its_last_state__ended_attempts_stay_as_they_are()
{
    stand_in_sweep 4 'echo run >>"runs.{n}"; [ {n} != 2 ] || exit 7; echo "score: {n}"' </dev/null
    at_slurm 3
    before=$(files_of_attempts)
    for i in 0 1 2 3; do
        code=0
        start_task_again 1 "$i" || code=$?
        expect "[ $code = 75 ] && [ $(wc -l <"runs.$((i + 1))") = 1 ]"
    done
    expect "[ '$before' = '$(files_of_attempts)' ]"
    at_slurm 3
    expect_sql "exit|1
ok|3" "SELECT coalesce(failure, state), count(*) FROM attempt GROUP BY 1"
}

controller__that_starts_a_running_task_again__the_first_goes_on()
{
    stand_in_sweep 1 'echo run >>runs; while [ ! -f go ]; do sleep 0.05; done; echo "score: 1"' </dev/null
    start_until '[ -f runs ]' 20 run --executor slurm --progress none
    start_task_again 1 0 || true
    echo 'FAILED|NonZeroExitCode|n1' >slurm/state
    : >slurm/polls
    wait_until '[ "$(wc -l <slurm/polls)" -ge 8 ]' 10
    expect_sql running "SELECT state FROM attempt"
    touch go
    wait_command silent 0
    expect_sql "ok|1" "SELECT state, number FROM attempt"
    expect "[ $(wc -l <runs) = 1 ]"
}

task__ended_and_pending_again__interrupted_and_another_attempt()
{
    stand_ins hold
    echo 'RUNNING|None|n1' >slurm/state.1
    slurm_sweep 1 'echo run >>runs; [ "$MESHSWEEP_NUMBER" != 1 ] || sleep 300; echo "score: 1"' </dev/null
    start_until '[ -f slurm/job.1 ]' 20 run --executor slurm --progress none
    rm slurm/hold
    SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=0 sh slurm/job.1 &
    task=$!
    wait_until '[ -f runs ]' 20
    kill -TERM "$task"
    wait "$task" || true
    echo 'PENDING|BeginTime|' >slurm/state.1
    wait_command silent 0
    expect_sql "lost|Slurm job 1_0: PENDING (BeginTime); it was stopped to be requeued
ok|" "$ends"
    expect_file_contains slurm/cancelled 1_0
}

node__frozen_and_awake_again__late_attempt_writes_no_more()
{
    stand_ins hold
    echo 'RUNNING|None|n1' >slurm/state.1
    printf '%s\n' 'echo >>begun' 'until [ "$MESHSWEEP_NUMBER" != 1 ] || [ -f go ]; do sleep 0.1; done' \
        'echo "$MESHSWEEP_NUMBER" >shared' 'echo "score: 1"' >late.sh
    slurm_sweep 1 'sh ./late.sh' < <(toml heartbeat=1s)
    start_until '[ -f slurm/job.1 ]' 20 run --executor slurm --progress none
    rm slurm/hold
    SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=0 setsid sh slurm/job.1 &
    task=$!
    wait_until '[ -f begun ] && ls results.db.d/*/1/slurm.alive >/dev/null 2>&1' 20
    pids=$(ps -o pid= -s "$task")
    # shellcheck disable=SC2086 # numbers
    kill -STOP $pids
    wait_command silent 0
    expect_sql "lost|Slurm job 1_0: RUNNING on n1; it sent no sign of life for too long
ok|" "$ends"
    cp results.db.d/*/1/slurm.result result
    # shellcheck disable=SC2086
    kill -CONT $pids
    wait "$task" || true
    touch go
    wait_until "[ -z \"\$(ps -o pid= -s $task)\" ]" 20
    expect '[ "$(cat shared)" = 2 ] && cmp result results.db.d/*/1/slurm.result'
    expect "! grep -q score results.db.d/*/1/output.log"
}

task__given_up_while_pending__never_begins()
{
    stand_ins hold absent
    slurm_sweep 1 'echo run >>runs; echo "score: 1"' < <(toml retry: lost=1)
    at_slurm 5
    start_task_again 1 0 || true
    expect_no_file runs
}

tasks__cancelled_while_pending__not_tried_again()
{
    stand_ins hold
    echo 'PENDING|Priority|' >slurm/state
    slurm_sweep 3 </dev/null
    start_until '[ "$(wc -l <slurm/polls 2>/dev/null || echo 0)" -ge 2 ]' 20 run --executor slurm --progress none
    printf '1_0\n1_2\n' >slurm/removed
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'cancelled'\")\" = 2 ]" 20
    start_task_again 1 1
    wait_command silent 3
    expect_sql "cancelled|Slurm job 1_0: no longer in its array; it was cancelled by someone else
ok|
cancelled|Slurm job 1_2: no longer in its array; it was cancelled by someone else" "$ends"
    expect "[ $(jobs_submitted) = 1 ]"
}

tasks__all_cancelled_one_by_one__not_tried_again()
{
    stand_ins hold
    printf '1_0\n1_1\n' >slurm/removed
    slurm_sweep 2 </dev/null
    at_slurm 3
    expect_sql "cancelled|2" "SELECT failure, count(*) FROM attempt GROUP BY 1"
}

batch_shell__killed__told_with_its_signal()
{
    stand_in_sweep 1 'echo begun; kill -KILL "$(ps -o ppid= -p "$PPID" | tr -d " ")"; sleep 0.2' </dev/null
    at_slurm 3
    expect_sql "signal|9|FAILED (NonZeroExitCode) on n0; its batch shell ended before it could report how: begun" \
        "SELECT failure, signal, substr(message, instr(message, 'FAILED')) FROM attempt"
}

run_cases "$@"
