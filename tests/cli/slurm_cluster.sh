# shellcheck shell=bash
# A whole Slurm on this machine, for black-box tests: a controller and four emulated nodes of 16 processors each, on
# loopback, with ports and directories of its own. Sourced after lib.sh. Needs root and Debian's slurm-wlm and munge.
#
#   need_slurm                       skips the case where that cannot be had
#   start_slurm [LINE...]            starts it, with lines added to slurm.conf; SLURM_CONF is exported
#   stop_slurm                       ends jobs and daemons, also after a failure
#   start_controller                 after `stop_controller`
#   kill_node N                      the node's daemon and what it runs, as if the power went
#
# Nothing in /etc is touched.

slurm_dir=''

need_slurm()
{
    local program
    [ "$(id -u)" -eq 0 ] || skip "a Slurm can be started by root only"
    for program in slurmctld slurmd munged sbatch squeue scancel srun; do
        PATH=$PATH:/usr/sbin type -P "$program" >/dev/null || skip "$program is not installed (scripts/setup.sh full)"
    done
}

# Five neighbouring ports that nobody listens on.
free_ports()
{
    local first
    for ((first = 20000 + RANDOM % 8000; ; first = 20000 + RANDOM % 8000)); do
        if ! ss -Htln 2>/dev/null | awk -v first="$first" '
            { n = split($4, a, ":"); p = a[n]; if (p >= first && p < first + 6) found = 1 }
            END { exit !found }'; then
            echo "$first"
            return
        fi
    done
}

start_slurm()
{
    local host port n
    # Sockets have short names only.
    slurm_dir=$(mktemp -d /tmp/ms-slurm.XXXXXX)
    trap 'stop_slurm; end_case' EXIT
    host=$(hostname)
    port=$(free_ports)
    mkdir -p "$slurm_dir"/state "$slurm_dir"/spool "$slurm_dir"/log
    mkdir -m 700 "$slurm_dir"/munge
    head -c 128 /dev/urandom >"$slurm_dir"/munge/key
    chmod 400 "$slurm_dir"/munge/key
    chmod 711 "$slurm_dir"
    {
        cat <<END
ClusterName=meshsweep
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm_dir/munge/sock
SlurmctldPort=$port
SlurmdPort=$((port + 1))
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool/%n
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
SlurmctldLogFile=$slurm_dir/log/slurmctld.log
SlurmdLogFile=$slurm_dir/log/slurmd.%n.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1,sched_interval=1,sched_max_job_start=0,\
default_queue_depth=1000
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MaxArraySize=2001
KillWait=2
SlurmctldTimeout=60
InactiveLimit=0
Epilog=/bin/true
SlurmdParameters=config_overrides
END
        printf '%s\n' "SlurmdTimeout=60" "MinJobAge=300" "$@"
        for n in 1 2 3 4; do
            echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1 + n)) CPUs=16 RealMemory=500"
        done
        echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"
    } >"$slurm_dir"/slurm.conf
    export SLURM_CONF=$slurm_dir/slurm.conf PATH=$PATH:/usr/sbin
    munged --force --key-file="$slurm_dir"/munge/key --socket="$slurm_dir"/munge/sock \
        --pid-file="$slurm_dir"/munge/pid --log-file="$slurm_dir"/munge/log --seed-file="$slurm_dir"/munge/seed \
        2>/dev/null
    chmod 755 "$slurm_dir"/munge
    slurmctld -c 2>/dev/null
    for n in 1 2 3 4; do
        slurmd -N "n$n" 2>/dev/null
    done
    wait_until '[ "$(timeout 5 sinfo -h -o %T 2>/dev/null | sort -u)" = idle ]' 30
}

start_controller()
{
    slurmctld 2>/dev/null
    wait_until 'timeout 5 squeue -h >/dev/null 2>&1' 30
}

# Asks a daemon to end, and kills it when it has not within five seconds. Never fails: it is part of the tidying up.
end_process() # PIDFILE [SIGNAL]
{
    local pid n
    pid=$(cat "$1" 2>/dev/null) || return 0
    kill "-${2-TERM}" "$pid" 2>/dev/null || return 0
    for ((n = 0; n < 100; n++)); do
        if ! kill -0 "$pid" 2>/dev/null || grep -qs '^State:.Z' "/proc/$pid/status"; then
            return 0
        fi
        [ "$n" != 50 ] || kill -KILL "$pid" 2>/dev/null || true
        sleep 0.1
    done
}

stop_controller()
{
    end_process "$slurm_dir"/slurmctld.pid KILL
}

# The pids of what jobs of this Slurm run, all or those of one node, and of the daemons of their steps.
step_pids() # [NODE]
{
    local file
    grep -lszx "SLURM_CONF=$slurm_dir/slurm.conf" /proc/[0-9]*/environ 2>/dev/null | while read -r file; do
        if [ -z "${1-}" ] || grep -qszx "SLURMD_NODENAME=$1" "$file" 2>/dev/null; then
            if grep -qsz '^SLURM_JOB_ID=' "$file" 2>/dev/null ||
                grep -qsa '^slurmstepd' "${file%environ}cmdline" 2>/dev/null; then
                file=${file#/proc/}
                echo "${file%/environ}"
            fi
        fi
    done
}

# It is declared down between the end of its daemon and that of its jobs: the daemons of the steps would tell of those.
kill_node() # N
{
    local pids
    end_process "$slurm_dir/slurmd.n$1.pid" KILL
    scontrol update nodename="n$1" state=down reason=power
    pids=$(step_pids "n$1")
    # shellcheck disable=SC2086 # numbers
    kill -STOP $pids 2>/dev/null || true
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null || true
}

stop_slurm()
{
    local file pid n
    [ "$slurm_dir" ] || return 0
    trap end_case EXIT
    timeout 5 scancel -u root 2>/dev/null || true
    for ((n = 0; n < 20; n++)); do
        [ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    for file in "$slurm_dir"/slurmd.*.pid "$slurm_dir"/slurmctld.pid "$slurm_dir"/munge/pid; do
        end_process "$file"
    done
    for pid in $(step_pids); do
        [ "$pid" = "$$" ] || kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$slurm_dir"
    slurm_dir=''
}
