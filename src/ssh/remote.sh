# shellcheck shell=sh disable=SC2154,SC2013
# What runs on a host reached by ssh, in POSIX shell: nothing of this program has to be there. Read by `sh` from the
# connection, behind the settings that src/ssh/executor.c writes, and before the one line that calls `serve_host` or
# `serve_job`: a text that was cut off does nothing.
#
#   state  name of this database's directory on the host, of which `place` makes $d; run  of this runner's connection
#   grace, lease  in tenths of a second, in seconds; cwd; probe, proof  a file that is seen where files are shared
#   token, number  of a job's attempt; metrics  its metrics file, empty: not shared; hosts, devices  "a,b", "a:0,b:0"
#   prepare, job  functions: the files that the job finds; the job itself
#
# An attempt announces itself ($d/NUMBER) before it looks whose connection is the last one ($d/run), and a connection
# says that it is before it looks for attempts of others: so none begins that is not found.

place()
{
    d=${TMPDIR:-/tmp}/meshsweep-$(id -u)
    (umask 077 && mkdir -p "$d/$state") 2>/dev/null
    [ ! -L "$d" ] && [ -O "$d" ] && d=$d/$state && [ -d "$d" ]
}

nap()
{
    sleep 0.1 2>/dev/null || sleep 1
}

# What is left of a job, in $left: what has its token in the environment, and its session.
look()
{
    left='' marked=' '
    for f in $(grep -lsF "MESHSWEEP_ATTEMPT=$token" /proc/[0-9]*/environ 2>/dev/null); do
        f=${f#/proc/}
        marked="$marked${f%/environ} "
    done
    for f in /proc/[0-9]*/stat; do
        { read -r line <"$f"; } 2>/dev/null || continue
        f=${f#/proc/} f=${f%/stat}
        # shellcheck disable=SC2086
        set -- ${line##*) }
        case $1 in [ZX]) continue ;; esac
        case $marked in *" $f "*) ;; *) [ "$4" = "$session" ] || continue ;; esac
        left="$left $f"
    done
}

# TERM, the grace period, KILL; false when something does not go.
finish()
{
    tries=0
    look
    # shellcheck disable=SC2086
    [ -z "$left" ] || kill -TERM $left 2>/dev/null
    while [ -n "$left" ]; do
        # shellcheck disable=SC2086
        [ "$tries" -lt "$grace" ] || kill -KILL $left 2>/dev/null
        # shellcheck disable=SC2086
        kill -CONT $left 2>/dev/null
        [ "$tries" -lt $((grace + 100)) ] || return 1
        nap
        tries=$((tries + 1))
        look
    done
}

# One for each connection. Ends what earlier ones left; then notes the runner's signs of life.
serve_host()
{
    place || { echo "meshsweep: cannot write into ${TMPDIR:-/tmp}" && exit 1; }
    cd -- "$cwd" 2>/dev/null || { echo "meshsweep: there is no directory $cwd" && exit 1; }
    printf '%s\n' "$run" >"$d/run"
    token="$state/" session=none waits=0
    finish || { echo "meshsweep: processes of an earlier run do not end:$left" && exit 1; }
    while set -- "$d"/[0-9]* && [ -e "$1" ] && [ "$waits" -lt 50 ]; do
        nap
        finish
        waits=$((waits + 1))
    done
    rm -rf "$d"/[0-9]*
    [ "$(cat "$probe" 2>/dev/null)" != "$proof" ] || echo meshsweep:shared
    echo meshsweep:ready
    while read -r beat; do
        printf '%s\n' "$beat" >"$d/beat"
    done
    [ "$(cat "$d/run")" != "$run" ] || rm -f "$d/run" "$d/beat"
    rmdir "$d" 2>/dev/null
}

refuse()
{
    echo "meshsweep:refused $1" >&2
    exit 0
}

# How much the metrics file has grown by.
ship()
{
    ! frame meshsweep:metrics "$metrics" "$sent" "$own/part" >&2 || sent=$size
}

# What a job gets of its hosts: the devices of the first, where it runs.
give()
{
    first=${hosts%%,*} MASTER_ADDR=127.0.0.1
    CUDA_VISIBLE_DEVICES=$(sed -n "s/^$first://p" "$own/devices" | paste -s -d , -)
    [ "$first" = "$hosts" ] || MASTER_ADDR=${first#*@}
    export MASTER_ADDR CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES" MESHSWEEP_HOSTS="$hosts" \
        MESHSWEEP_HOSTFILE="$own/hostfile" MESHSWEEP_ATTEMPT="$token" MESHSWEEP_METRICS="$metrics"
}

oom_kills()
{
    kills=$(grep '^oom_kill ' /proc/vmstat 2>/dev/null) || kills='- 0'
    kills=${kills#* }
}

# Runs the job with its output on descriptor 1; on descriptor 2, in lines that begin with "meshsweep:", what becomes
# of it.
serve_job()
{
    place || refuse "the job cannot write into ${TMPDIR:-/tmp}"
    own=$d/$number
    mkdir "$own" 2>/dev/null || refuse "the attempt has begun before"
    trap 'rm -rf "$own"' EXIT
    [ "$(cat "$d/run" 2>/dev/null)" = "$run" ] || refuse "another run has begun on this host"
    cd -- "$cwd" 2>/dev/null || refuse "there is no directory $cwd"
    shipped=$metrics metrics=${metrics:-$own/metrics.jsonl}
    printf '%s\n' "$devices" | tr , '\n' >"$own/devices"
    sed 's/:[^:]*$//; s/^.*@//' "$own/devices" | uniq -c | while read -r count name; do
        echo "$name slots=$count"
    done >"$own/hostfile"
    prepare || refuse "the job's files cannot be written below $cwd"
    session='' stop='' over='' code='' sent=0
    trap 'stop=1' USR1 TERM INT HUP
    trap : PIPE
    exec 3<&0 </dev/null
    oom_kills
    before=$kills began=$(date +%s%3N)
    echo meshsweep:begun >&2
    job 3<&- &
    session=$!
    # A line or the end of the connection: the job is to end. Told until it is heard, as a shell that is about to wait
    # may be deaf.
    {
        while read -r line && [ -z "$line" ]; do :; done
        while kill -USR1 $$; do nap; done
    } <&3 >/dev/null 2>&1 &
    reader=$!
    {
        trap 'kill "$nap" 2>/dev/null; exit' TERM
        seen=$(cat "$d/beat" 2>/dev/null)
        while :; do
            sleep "$lease" 3<&- &
            nap=$!
            wait "$nap"
            now=$(cat "$d/beat" 2>/dev/null)
            [ "$now" != "$seen" ] || break
            seen=$now
        done
        while kill -USR1 $$; do nap; done
    } 3<&- >/dev/null 2>&1 &
    watch=$!
    exec 3<&-
    if [ -z "$shipped" ]; then
        (
            trap - USR1
            while [ ! -e "$own/over" ]; do
                ship
                sleep 1
            done
            ship
        ) &
        shipper=$!
    fi
    while :; do
        if [ -n "$stop" ] && [ -z "$over" ]; then
            over=1
            finish
            kill "$reader" "$watch" 2>/dev/null
        fi
        stop=
        wait "$session" 2>/dev/null
        now=$?
        # A signal cuts a wait short, and says its own number then. 127 is also that there is nothing left to wait for.
        [ "$now" = 127 ] && [ -n "$code" ] || code=$now
        [ -n "$stop" ] || break
    done
    ended=$(date +%s%3N)
    times >"$own/times"
    { read -r used && read -r used; } <"$own/times"
    look
    [ -z "$left" ] || { nap && look; }
    # shellcheck disable=SC2086
    set -- $left
    [ $# = 0 ] || finish
    kill "$reader" "$watch" 2>/dev/null
    if [ -z "$shipped" ]; then
        : >"$own/over"
        wait "$shipper" 2>/dev/null
    fi
    oom_kills
    echo "meshsweep:end $code ${over:-0} $# $((kills > before)) $began $ended $used" >&2
}
