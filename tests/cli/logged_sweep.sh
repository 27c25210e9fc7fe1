# shellcheck shell=bash
# Sourced after lib.sh.

# A sweep whose jobs append their arguments to ran.log.
logged_sweep()
{
    small_sweep sweep.toml
    printf '%s\n' 'echo "$*" >>ran.log' 'echo "score: $(($1 * $2))"' >job.sh
    : >ran.log
}

# Compares what ran since the last call, in any order, on one line: "1 10, 2 20".
expect_ran()
{
    local got
    got=$(sort ran.log | paste -s -d , | sed 's/,/, /g')
    [ "$got" = "$1" ] || fail "expected to have run: '$1', not '$got'"
    : >ran.log
}

# A run that says nothing, and what ran.
expect_jobs_run() # STATUS JOBS [OPTION...]
{
    run_silently "$1" "${@:3}"
    expect_ran "$2"
}

edit()
{
    sed -i "$@" sweep.toml
}

# Jobs that note their process ids and wait for the file go; all that they start ignores TERM.
waiting_sweep()
{
    logged_sweep
    printf '%s\n' 'echo "$*" >>ran.log' '[ ! -e go ] || { echo "score: 1"; exit; }' "trap '' TERM" 'sleep 600 &' \
        'echo $! >>pids' '(setsid sleep 600 & echo $! >>pids)' 'echo $$ >>pids' wait >job.sh
    edit 's/^\[job\]/[job]\ngrace = "100ms"/'
    : >pids
}

lines_of()
{
    wc -l <"$1"
}
