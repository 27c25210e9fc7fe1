#!/usr/bin/env bash
# Every call fails in turn: of a small sweep each call to the kernel about files, pipes, processes and threads, and each
# chain of callers that allocates memory, fails once (fail_call.c). Nothing may be lost, nothing may crash, a run that
# cannot go on must say why, nothing of others may be ended, and the next run finishes the sweep.
#
# A sample, by a seed (SEED=N): 30 of each; under MESHSWEEP_FULL as many as fit into a minute for each. One
# by hand: POINTS="17 4093" on this script.
sample=30 seconds=60
[ -z "${MESHSWEEP_FULL-}" ] || sample=100000
CASE_SECONDS=$((seconds + 300))
. "${0%/*}/lib.sh"

# The tool alone is in there, with what it starts.
export FAIL_KIND

preload() # COMMAND
{
    env LD_PRELOAD="$library" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" FAIL_SAID="$PWD/said" "$@"
}

what_is_there()
{
    sqlite3 -batch -noheader results.db "SELECT j.id, j.state, s.value,
        (SELECT count(*) FROM attempt WHERE job_id = j.id AND state = 'ok') FROM job AS j
        LEFT JOIN summary AS s ON s.attempt_id = j.attempt_id ORDER BY 1; PRAGMA integrity_check" 2>&1
}

all_there=$'1|ok|10.0|1\n2|ok|20.0|1\n3|ok|20.0|1\n4|ok|40.0|1\nok'
export all_there

# Prints what is wrong after the N-th call failed; nothing when all is well.
judge_failed_run() # STATUS
{
    case $1 in
    0) [ "$(what_is_there)" = "$all_there" ] || echo "status 0, but: $(what_is_there)" ;;
    1 | 2 | 5) grep -qE '^meshsweep: ..|^{"event":"error"' failed.stderr || echo "status $1 without a word" ;;
    *) echo "status $1" ;;
    esac
    # RE2 says where it was left.
    ! grep -v -e '^meshsweep: ' -e '^{' -e '^[^ ]*/re2/[^ ]*: ' failed.stderr || echo "on standard error"
}

# Looks for what was announced as recorded.
judge_announced()
{
    local job attempt
    grep -q '^{"event":"attempt"' failed.stderr || return 0
    sed -n 's/^{"event":"attempt",[^{]*"job":\([0-9]*\),.*"attempt":\([0-9]*\),"state":"ok".*/\1 \2/p' failed.stderr |
        while read -r job attempt; do
            [ "$(sqlite3 results.db "SELECT state FROM attempt WHERE job_id = $job AND number = $attempt")" = ok ] ||
                echo "job $job was announced and is lost"
        done
}

judge_next_run() # NUMBER
{
    local rc=0
    timeout 30 "$meshsweep" run --progress none >next.out 2>&1 </dev/null || rc=$?
    [ "$rc" = 0 ] || echo "the next run ended with status $rc: $(cat next.out)"
    [ "$(what_is_there)" = "$all_there" ] || echo "after the next run: $(what_is_there)"
    [ $(($1 % 4)) -gt 0 ] || "$meshsweep" check -d results.db >next.out 2>&1 || echo "check: $(cat next.out)"
    find . -maxdepth 1 ! -name results.db ! -name results.db.d ! -name results.db.lock ! -name said ! -name '*.out' \
        ! -name failed.stderr ! -name sweep.toml ! -name job.sh ! -name . -printf '%f was left '
}

try_points() # NUMBER...
{
    local number rc scarce bystander wrong
    sleep infinity &
    bystander=$!
    for number; do
        [ "$SECONDS" -lt "$seconds" ] || break
        echo tried >>"tried-$FAIL_KIND"
        mkdir "$FAIL_KIND-$number"
        cd "$FAIL_KIND-$number" || exit 1
        cp ../sweep.toml ../job.sh .
        rc=0 scarce=''
        [ $((number % 2)) = 0 ] || scarce=FAIL_SCARCE=1
        # shellcheck disable=SC2086 # one word or none
        preload FAIL_AT="$number" $scarce timeout 30 "$meshsweep" run --progress json \
            >failed.out 2>failed.stderr </dev/null || rc=$?
        wrong=$(judge_failed_run "$rc"; judge_announced; judge_next_run "$number")
        kill -0 "$bystander" 2>/dev/null || wrong="$wrong; a process of somebody else's was ended"
        [ ! -e said ] || echo failed >>"../failed-$FAIL_KIND"
        cd ..
        if [ -n "$wrong" ]; then
            echo "$(cat "$FAIL_KIND-$number/said" 2>/dev/null || echo "$number"): $wrong" | tr '\n' ' '
            sed 's/^/# /' "$FAIL_KIND-$number/failed.stderr" | head -n 3
        fi
        rm -rf "$FAIL_KIND-$number"
    done
    kill "$bystander"
}
export -f preload what_is_there judge_failed_run judge_announced judge_next_run try_points

# In a world of its own: a fault that ends others' processes is to be found, not felt.
apart=(unshare -pf --kill-child --mount-proc)
"${apart[@]}" true 2>/dev/null || apart=()

# A processor each.
try_beside() # NUMBERS
{
    local worker workers=2
    for ((worker = 0; worker < workers; worker++)); do
        # shellcheck disable=SC2046 # numbers
        "${apart[@]}" bash -c 'try_points "$@"' try $(awk "NR % $workers == $worker" "$1") >"wrong-$worker" 2>&1 &
    done
    wait
    cat wrong-*
}

# As many of the lines of standard input, by the seed.
choose() # COUNT
{
    awk -v seed="${SEED:-1}" 'BEGIN { srand(seed) } { print rand(), $0 }' | sort | head -n "$1" | cut -d ' ' -f 2
}

# A run without a failure tells which calls there are.
every_call_fails() # KIND LIBRARY
{
    FAIL_KIND=$1
    library=$build_dir/tests/cli/$2
    [ -f "$library" ] || skip "there is no $library"
    small_sweep sweep.toml
    export meshsweep library seconds
    expect_command silent 0 "${apart[@]}" bash -c 'preload "$@"' preload "$meshsweep" run --progress none
    if [ -n "${POINTS-}" ]; then
        tr ' ' '\n' <<<"$POINTS" >numbers
    elif [ "$1" = calls ]; then
        seq "$(tail -n 1 said | cut -d ' ' -f 1)" | choose "$sample" >numbers
    else
        cut -d ' ' -f 1 said | choose "$sample" >numbers
    fi
    rm -rf results.db* said
    try_beside numbers >wrong
    [ ! -s wrong ] || fail "$(cat wrong)"
    # A run that is a little shorter has none of the last ones.
    expect "[ \$((10 * \$(wc -l <failed-$1))) -ge \$((6 * \$(wc -l <tried-$1))) ]"
    echo "# $(wc -l <"failed-$1") of $1 failed, each in a run of its own, of $(wc -l <numbers) that were drawn"
}

call__fails_once__nothing_lost_and_gone_on_from()
{
    every_call_fails calls fail_call.so
}

allocation__fails_once__nothing_lost_and_gone_on_from()
{
    ! grep -q __asan_init "$meshsweep" || skip "a sanitizer has an allocator of its own"
    every_call_fails memory fail_memory.so
}

run_cases "$@"
