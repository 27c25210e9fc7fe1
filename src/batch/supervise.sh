# shellcheck shell=sh disable=SC2154
# The rest of a batch script (src/batch/script.h), behind src/batch/frame.sh and the settings that src/batch/script.c
# writes:
#
#   root, directory  of all attempts and of this one; attempt, array, nodes  as they are told; limit, grace, heartbeat
#   mark  of frames, empty: the runner sees the files; prepare  the function that makes the directory then
#   rank, hosts  where the system itself starts the command on each host, else empty
#   reserved  statuses that have a meaning of their own to the system

# The shell of the heartbeat and that of the end print in turn, never both: files tell how far.
ship()
{
    [ -n "$mark" ] || return 0
    for file in output.log metrics.jsonl; do
        sent=$(cat "slurm.sent.$file" 2>/dev/null) || sent=0
        ! frame "$mark $file $sent" "$file" "$sent" slurm.part >&3 || echo "$size" >"slurm.sent.$file"
    done
}

say() # LINE...
{
    [ ! -e slurm.closed ] || return 0
    {
        printf '%s\n' "attempt=$attempt" "array=$array" "nodes=$nodes" "started=$started" "$@"
        times
    } >slurm.result.tmp && mv -f slurm.result.tmp slurm.result
    [ -z "$mark" ] || frame "$mark slurm.result 0" slurm.result 0 slurm.part >&3
}

nap() # SECONDS
{
    sleep "$1" &
    nap=$!
    wait "$nap"
}

[ -z "$mark" ] || exec 3>&1
if [ -n "$hosts" ]; then
    export NODE_RANK="$rank" MESHSWEEP_HOSTS="$hosts" MASTER_ADDR="${hosts%%,*}"
    # All but the first have no supervisor's files.
    if [ "$rank" != 0 ]; then
        prepare && cd "$root/$directory" || exit 126
        MESHSWEEP_HOST="$(hostname)"
        export MESHSWEEP_HOST
        [ -n "$mark" ] || exec >>"output.$rank.log" 2>&1
        exec /bin/sh ./job.sh </dev/null 3>&-
    fi
fi
prepare || exit 126
cd "$root/$directory" || exit 72
# A controller that lost its last state starts again what has begun or ended.
if [ -e slurm.closed ] || [ -e slurm.result ] || ! (set -C && : >slurm.begun) 2>/dev/null; then
    : >slurm.again
    exit 75
fi
exec >>output.log 2>&1 </dev/null
terminated=0 command='' code=''
# Signals that Slurm sends at a time limit, a cancellation or a preemption go to every process of the step: the shell
# survives them to write how the command took them.
trap 'terminated=1 cut=1; [ -z "$command" ] || kill -TERM "$command" 2>/dev/null' TERM INT HUP
started=$(date +%s%3N)
say state=started
MESHSWEEP_HOST="$(hostname)"
export MESHSWEEP_HOST
: "${MASTER_ADDR:=$MESHSWEEP_HOST}"
export MASTER_ADDR
if [ "$limit" != 0 ]; then
    timeout -k "$grace" "$limit" /bin/sh ./job.sh 3>&- &
else
    /bin/sh ./job.sh 3>&- &
fi
command=$!
over='' busy=''
(
    # It prints to the end what it has begun to print.
    trap 'over=1; [ -n "$busy" ] || { kill "$nap" 2>/dev/null; exit; }' TERM
    # Not for a shell that was killed, nor once it waited for the command: a signal that comes before the trap is set
    # is forgotten.
    while kill -0 $$ && kill -0 "$command"; do
        # Given up while its node was frozen, and awake again.
        if [ -e slurm.closed ]; then
            kill -TERM "$command" 2>/dev/null
            nap "$grace"
            kill -KILL "$command" 2>/dev/null
            exit
        fi
        : >slurm.alive
        busy=1
        ship
        busy=
        [ -z "$over" ] || exit
        nap "$heartbeat"
    done
) >/dev/null 2>&1 &
beat=$!
# It was told to end before it was known whom to tell.
[ "$terminated" = 0 ] || kill -TERM "$command" 2>/dev/null
# The shell's own word about a command that was killed is no output of it.
while :; do
    cut=
    wait "$command" 2>/dev/null
    now=$?
    # A signal cuts a wait short, and says its own number then. 127 is also that there is nothing left to wait for.
    [ "$now" = 127 ] && [ -n "$code" ] || code=$now
    [ -n "$cut" ] || break
done
command=
ended=$(date +%s%3N)
kill "$beat" 2>/dev/null
# A signal cuts a wait short.
while kill -0 "$beat" 2>/dev/null; do wait "$beat" 2>/dev/null; done
ship
say state=ended "exit=$code" "terminated=$terminated" "ended=$ended" \
    "output=$(cat slurm.sent.output.log 2>/dev/null)" "metrics=$(cat slurm.sent.metrics.jsonl 2>/dev/null)"
case " $reserved " in *" $code "*) code=1 ;; esac
exit "$code"
