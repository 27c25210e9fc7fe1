#!/usr/bin/env bash
# Installs what is missing, builds what changed and runs the tool: ./run.sh [ARGUMENTS OF meshsweep]
#
# Without a sweep file (-c, or sweep.toml in the working directory) it runs configs/quickstart.toml, whose out-of-memory
# jobs do not count as failures. If a run crashes, it is started again after 1, 2, 4, 8 and 16 seconds and continues
# where it stopped; after a run that finished a job, the waits begin again. It is not restarted after exit status 0, 2,
# 3, 4, 5 or 6 (see `meshsweep --help`) or after a signal.
set -eu

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$root/build
restarts_most=5

say()
{
    echo "run.sh: $*" >&2
}

# What the arguments ask for, as far as it matters here.
command=run       # the first word that is no option; none is `run`
database=results.db
has_config=
only_asks=        # help or version
read_arguments()
{
    local previous='' word first=1
    for word; do
        case $previous in
        -d | --db) database=$word ;;
        esac
        case $word in
        -c | -c?* | --config | --config=*) has_config=1 ;;
        --db=*) database=${word#--db=} ;;
        -d?*) database=${word#-d} ;;
        -h | --help | --version) only_asks=1 ;;
        -*) ;;
        *) [ -z "$first" ] || command=$word ;;
        esac
        previous=$word
        first=
    done
}

# Jobs that came to an end so far, by the database: what counts as progress.
jobs_done()
{
    sqlite3 -readonly "$database" "SELECT count(*) FROM job WHERE state IN ('ok', 'failed')" 2>/dev/null || echo 0
}

# In the quickstart some configurations are too large on purpose: they show what running out of memory looks like.
# Nothing else may fail.
quickstart=
as_intended()
{
    local others
    [ "$quickstart" ] || return 1
    others=$(sqlite3 -readonly "$database" "SELECT count(*) FROM progress WHERE state = 'failed' AND failure <> 'oom'" \
        2>/dev/null) &&
        [ "$others" = 0 ] || return 1
    say "some jobs ran out of device memory on purpose: the quickstart shows what that looks like"
}

# After the quickstart the tool's hints name commands that a newcomer does not have. A wrong use has run nothing.
installed=$(type -P meshsweep || true)
end()
{
    [ -z "$quickstart" ] || [ "$installed" ] || [ ! -e "$database" ] || [ "$1" = 2 ] ||
        say "meshsweep is not installed; run its commands as $0 best, $0 status and so on"
    exit "$1"
}

# Runs the tool once and leaves its exit status in `status`. Signals for the script are the tool's: it ends its jobs in
# order, and the script waits for it. Ctrl-C at a terminal reaches the tool of itself.
child=
stopping=
interrupted=
pass_on()
{
    local process_group foreground_group
    stopping=1
    interrupted=1
    read -r _ _ _ _ process_group _ _ foreground_group _ <"/proc/$$/stat"
    if [ "$1" != INT ] || [ "$process_group" != "$foreground_group" ]; then
        [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null || true
    fi
}

run_once()
{
    # An asynchronous command has SIGINT ignored and no standard input unless both are given back.
    (
        trap - INT TERM HUP
        exec "$build/meshsweep" "$@"
    ) <&0 &
    child=$!
    while :; do
        interrupted=
        status=0
        wait "$child" || status=$?
        [ "$interrupted" ] || break
    done
    child=
}

keep_running()
{
    local restarts=0 done_before done_now
    trap 'pass_on INT' INT
    trap 'pass_on TERM' TERM
    trap 'pass_on HUP' HUP
    done_before=$(jobs_done)
    while :; do
        run_once "$@"
        case $status in
        3) ! as_intended || end 0 ;;&
        0 | 2 | 3 | 4 | 5 | 6) end "$status" ;;
        esac
        [ -z "$stopping" ] || end "$status"
        done_now=$(jobs_done)
        [ "$done_now" -le "$done_before" ] || restarts=0
        done_before=$done_now
        if [ "$restarts" -ge "$restarts_most" ]; then
            say "meshsweep ended with status $status again; giving up after $restarts_most restarts without progress"
            exit "$status"
        fi
        say "meshsweep ended with status $status; starting it again in $((1 << restarts)) s"
        sleep "$((1 << restarts))" &
        wait "$!" || true
        [ -z "$stopping" ] || exit "$status"
        restarts=$((restarts + 1))
    done
}

"$root/scripts/setup.sh" build
"$root/scripts/build.sh" build
read_arguments "$@"
# Jobs of the quickstart name the bundled trainer without a path.
PATH=$build:$PATH
case $command in
run | plan)
    if [ -z "$has_config$only_asks" ] && [ ! -e sweep.toml ]; then
        quickstart=1
        set -- "$@" -c "$root/configs/quickstart.toml"
    fi
    ;;
esac
if [ "$command" != run ] || [ "$only_asks" ]; then
    exec "$build/meshsweep" "$@"
fi
keep_running "$@"
