# shellcheck shell=bash
# sbatch, squeue, sacct and scancel that keep a Slurm of a few files in ./slurm, for black-box tests. Sourced after
# lib.sh. What is submitted runs at once, in the background, unless there is a file "hold".
#
#   end_what_sleeps           ends the jobs that only sleep: scancel ends nobody
#   stand_ins                 makes them, first in PATH; stand_in_sweep: with a sweep, as slurm_sweep writes it
#   slurm/job.N               the script of job N (from 1); slurm/rc.N.I what its task I exited with
#   slurm/state               "STATE|REASON|NODES" for every task, in place of what it does; slurm/state.N for one job's
#   slurm/removed             tasks ("1_0") that the queue knows no longer
#   slurm/absent              the queue knows no job; slurm/silent: the controller does not answer
#   slurm/account             "STATE|CODE" for every task, told by sacct; without it accounting is disabled
#   slurm/completions         the completion log
#   slurm/refuse              sbatch says this and fails; slurm/refuse-more-than: N, for larger arrays
#   slurm/kill-before, kill-after   sbatch kills the runner before or after it has taken the job, once
#   slurm/polls, slurm/cancelled    a line for each question, each cancelled job
#   slurm/allocation          what scontrol tells of the job that the runner is in
#   slurm/sruns, slurm/steps/ID     the words of each srun; the name and the process of each step that runs

end_what_sleeps()
{
    local process
    for process in $(pgrep -x sleep); do
        case $(readlink "/proc/$process/cwd") in "$PWD"*) kill "$process" 2>/dev/null || : ;; esac
    done
}

stand_ins() # [FILE OF slurm/...]: with these, too
{
    local file
    mkdir -p slurm/steps bin
    echo 1 >slurm/next
    for file in polls "$@"; do
        touch "slurm/$file"
    done
    slurm_stand_in sbatch <<'END'
for script; do :; done
held=''; [ ! -f hold ] || held=1 # tests end it once the job is there
kill_runner() { if [ -f "$1" ]; then rm "$1"; kill -KILL "$PPID"; fi; }
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
if [ -f refuse ] && [ "$last" -ge "$(cat refuse-more-than 2>/dev/null || echo 0)" ]; then
    cat refuse >&2
    exit 1
fi
if grep -q no-such-option "$script"; then
    echo "sbatch: unrecognized option '--meshsweep-no-such-option'" >&2
    exit 1
fi
kill_runner kill-before && [ ! -f stop-before ] || exit 1
n=$(cat next)
echo $((n + 1)) >next
cp "$script" taken && mv taken "job.$n" # whole at once: tests wait for it
# The nodes are n0, n1 and so on, but for what is excluded.
excluded=,$(sed -n 's/^#SBATCH --exclude="\(.*\)"$/\1/p' "$script"),
node=0
if [ ! "$held" ]; then
    for i in $(seq 0 "$last"); do
        while [ "${excluded#*,n$node,}" != "$excluded" ]; do node=$((node + 1)); done
        on=n$node
        node=$((node + 1))
        (
            SLURM_JOB_ID=$((n * 1000 + i)) SLURM_ARRAY_JOB_ID=$n SLURM_ARRAY_TASK_ID=$i SLURM_JOB_NODELIST=$on \
                sh "job.$n"
            echo $? >"rc.$n.$i"
        ) >/dev/null 2>&1 &
    done
fi
kill_runner kill-after
echo "$n"
END
    slurm_stand_in squeue <<'END'
if [ "$1" = --steps ]; then
    cat steps/* 2>/dev/null | cut -d ' ' -f 1
    exit 0
fi
echo >>polls
if [ -f silent ]; then
    echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
    exit 1
fi
[ ! -f absent ] || exit 0
for job in job.*; do
    [ -f "$job" ] || continue
    n=${job#job.}
    comment=$(sed -n 's/^#SBATCH --comment="\(.*\)"$/\1/p' "$job")
    last=$(sed -n 's/^#SBATCH --array=0-//p' "$job")
    if [ "$(grep -c "^${n}_" removed 2>/dev/null)" -gt "$last" ]; then
        echo "$n|N/A|CANCELLED|None||$comment"
        continue
    fi
    for i in $(seq 0 "$last"); do
        ! grep -qx "${n}_$i" removed 2>/dev/null || continue
        state="RUNNING|None|n$i"
        if [ -f "state.$n" ]; then
            state=$(cat "state.$n")
        elif [ -f state ]; then
            state=$(cat state)
        elif grep -qx "$n" cancelled 2>/dev/null || grep -qx "${n}_$i" cancelled 2>/dev/null; then
            state="CANCELLED|None|n$i"
        elif [ -f "rc.$n.$i" ]; then
            [ "$(cat "rc.$n.$i")" = 0 ] && state="COMPLETED|None|n$i" || state="FAILED|NonZeroExitCode|n$i"
        fi
        echo "$n|$i|$state|$comment"
    done
done
END
    slurm_stand_in sacct <<'END'
if [ ! -f account ]; then
    echo "Slurm accounting storage is disabled" >&2
    exit 1
fi
for jobs; do :; done
for job in $(echo "$jobs" | tr , ' '); do
    echo "$job|$(cat account)|n1"
done
END
    slurm_stand_in scancel <<'END'
case $1 in --signal=*)
    signal=${1#--signal=}
    shift
    for step; do
        echo "$signal $step" >>cancelled
        kill "-$signal" "$(cut -d ' ' -f 2 "steps/$step")"
        [ "$signal" != KILL ] || rm -f "steps/$step"
    done
    exit 0
    ;;
esac
for job; do
    echo "$job" >>cancelled
done
END
    slurm_stand_in scontrol <<'END'
case $2 in
config)
    [ ! -f completions ] ||
        printf 'JobCompLoc              = %s\nJobCompType             = jobcomp/filetxt\n' "$PWD/completions"
    ;;
hostnames) echo "$3" | tr , '\n' ;;
job)
    case $3 in
    -o)
        code=$(cat "rc.$(echo "$4" | tr _ .)") || exit 1
        [ "$code" -le 128 ] && echo "JobId=1 ExitCode=$code:0" || echo "JobId=1 ExitCode=0:$((code - 128))"
        ;;
    *) cat allocation ;;
    esac
    ;;
esac
END
    slurm_stand_in srun <<'END'
echo "$*" >>sruns
name='' nodes=''
while :; do
    case $1 in
    --job-name=*) name=${1#*=} ;;
    --nodelist=*) nodes=${1#*=} ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
if [ -f refuse-step ]; then
    echo "srun: error: Unable to create step for job 1: $(cat refuse-step)" >&2
    exit 1
fi
step=1.$$
(cd "$OLDPWD" && SLURMD_NODENAME=${nodes%%,*} exec setsid "$@") &
echo "$step|$name $!" >"steps/$step"
wait "$!"
code=$?
rm -f "steps/$step"
exit "$code"
END
    PATH=$PWD/bin:$PATH
}

slurm_stand_in() # NAME: the script, which runs in the directory of the files, from standard input
{
    { echo 'cd "$(dirname "$0")/../slurm" || exit 1'; cat; } | stand_in "bin/$1"
}

# A sweep of N jobs that print a score, for Slurm; lines for [slurm] and more follow it on standard input.
slurm_sweep() # N [COMMAND]
{
    local command=${2-'echo "score: {n}"'}
    {
        toml sweep: 'name = "at slurm"' objective=max:score job: "command = [\"/bin/sh\", \"-c\", '$command']" \
            timeout=60s job.metrics.score: regex='score: ([0-9]+)' training_spec: "n = [$(seq -s ', ' 1 "$1")]" \
            slurm: poll=100ms absence=300ms gpus=false
        cat
    } >sweep.toml
}

stand_in_sweep() # N [COMMAND]: and the stand-ins for it
{
    stand_ins
    slurm_sweep "$@"
}

run_at_slurm()
{
    run_meshsweep run --executor slurm --progress none "$@"
}

at_slurm() # STATUS ARGS
{
    run_at_slurm "${@:2}"
    expect_silent "$1"
}

# How the attempts ended: "class|message" each.
# shellcheck disable=SC2034 # of the files that source this one
ends="SELECT coalesce(failure, state), message FROM attempt ORDER BY id"

jobs_submitted()
{
    find slurm -name 'job.*' | wc -l
}

# Makes an allocation of two nodes, uneven ones.
in_allocation()
{
    echo "JobId=1 NodeList=n[1-2]   Nodes=n1 CPU_IDs=0-7 Mem=800 GRES=gpu:4(IDX:0-3)   Nodes=n2 CPU_IDs=0-3 Mem=400 \
GRES=gpu:a100:2(IDX:0-1) MinCPUsNode=1" \
        >slurm/allocation
    export SLURM_JOB_ID=1
    sed -i 's/^gpus = false/gpus = true/' sweep.toml
}

# Three jobs, each of which is to run once: BEGIN writes their sweep, RUN runs it and dies at a point, RUN goes on.
dies_at_each() # BEGIN RUN STATEMENT POINT...
{
    local point
    for point in "${@:4}"; do
        rm -rf results.db* sweep.toml runs*
        "$1" </dev/null
        MESHSWEEP_FAULT=$point "$2"
        # A point may not be passed here if what it stands for is not: then the run is an ordinary one.
        # shellcheck disable=SC2154 # lib.sh's
        [ "$status" -eq 137 ] || expect_status 0
        expect_only_stderr "$status"
        "$2"
        expect_only_stderr 0
        expect_sql "3|3|3" "SELECT count(*), count(DISTINCT job_id), sum(state = 'ok') FROM attempt
            WHERE state <> 'failed' OR failure <> 'lost'"
        expect "$3"
    done
}
