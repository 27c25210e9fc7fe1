#!/usr/bin/env bash
# Power cuts, as SQLite's own tests make them: what a sweep writes and syncs is recorded (record_disk.c), and from it
# what a disk may hold after a cut at a random moment is rebuilt (cut_disk.c): what was not synced is lost, torn at a
# sector or out of order, as a seed says. What had been announced must be there, and the next run must finish the sweep.
#
# A sample (SEED=N); 260 cuts under MESHSWEEP_FULL. One by hand: POINTS="17 421" on this script.
cuts=12
[ -z "${MESHSWEEP_FULL-}" ] || CASE_SECONDS=600 cuts=130
. "${0%/*}/lib.sh"

network_file_system=26985 # NFS, for statfs(2): a rollback journal instead of a log

# Two runs, the second of which goes on. 12 jobs: what more of them write is cut alike.
record_sweep() # FILE-SYSTEM-TYPE (may be "")
{
    local limit
    [ -f "$build_dir/tests/cli/record_disk.so" ] || skip "there is no record_disk.so"
    ! grep -q __asan_init "$meshsweep" || skip "a sanitizer's runtime has to come first"
    mkdir recorded
    cd recorded
    small_sweep sweep.toml
    sed -i "s/^x = .*/x = [$(seq -s , 6)]/" sweep.toml
    for limit in 5 100; do
        run_command env DISTURB_FILE_SYSTEM="$1" RECORD_BELOW="$PWD" RECORD_TO="$PWD/../acts" \
            LD_PRELOAD="${1:+$build_dir/tests/cli/disturb.so }$build_dir/tests/cli/record_disk.so" \
            "$meshsweep" run --progress json -j 2 --limit "$limit"
        expect_only_stderr_contains 0 '"event":"attempt"'
    done
    cd ..
}

# Prints what was announced by then and is not there.
judge_announced() # ANNOUNCED
{
    sed -n 's/^{"event":"attempt".*"job":\([0-9]*\),"key":"\([0-9a-f]*\)","attempt":\([0-9]*\),"state":"ok".*/\2 \3/p' \
        "$1" | sort >announced.txt
    sqlite3 -separator ' ' results.db "SELECT lower(hex(j.key)), a.number FROM attempt AS a JOIN job AS j
        ON j.id = a.job_id WHERE a.state = 'ok'" | sort >recorded.txt
    comm -23 announced.txt recorded.txt | sed 's/$/ was announced and is lost/'
}

# Everything once, and the file sound. But for files of attempts: none is synced, and those are here of all attempts.
judge_end() # SEED
{
    sqlite3 results.db "SELECT 'job ' || j.id || ' is ' || j.state || ' by ' || sum(a.state = 'ok') FROM job AS j
        LEFT JOIN attempt AS a ON a.job_id = j.id LEFT JOIN results AS r ON r.job = j.id
        GROUP BY j.id HAVING j.state <> 'ok' OR sum(a.state = 'ok') <> 1 OR r.score IS NOT r.x * r.y
        UNION ALL SELECT count(*) || ' jobs' FROM job HAVING count(*) <> 12
        UNION ALL SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'" 2>&1
    [ $(($1 % 4)) -gt 1 ] || "$meshsweep" check -d results.db 2>&1 | grep -v -e '^  ' -e ': all well' \
        -e '^attempts whose \(files are missing\|logs were cut\)' -e '^directories that belong to no attempt' || true
}

try_cuts() # SEED...
{
    local seed rc wrong
    for seed; do
        mkdir "cut-$seed"
        "$build_dir/tests/cli/cut_disk" acts "$seed" "cut-$seed" >"announced-$seed" 2>"acts-$seed" ||
            echo "seed $seed: $(cat "acts-$seed")"
        cd "cut-$seed" || exit 1
        cp ../recorded/sweep.toml ../recorded/job.sh .
        # The jobs' files, of which nothing is synced: gone, or cut anywhere.
        if [ $((seed % 2)) = 0 ] && [ -d results.db.d ]; then
            cp -r ../recorded/results.db.d/* results.db.d
            RANDOM=$seed
            find results.db.d -name output.log -exec sh -c 'truncate -s $1 $2' cut $((RANDOM % 9)) {} \;
        fi
        rc=0
        timeout 50 "$meshsweep" run --progress none -j 2 >next.out 2>&1 </dev/null || rc=$?
        [ "$rc" = 0 ] || echo "seed $seed: status $rc: $(cat next.out)"
        wrong=$(judge_announced "../announced-$seed"; judge_end "$seed")
        cd ..
        grep -c '"event":"attempt"' "announced-$seed" >>"counts-$1" || true
        [ -z "$wrong" ] || echo "seed $seed, $(cat "acts-$seed"): $wrong"
        rm -rf "cut-$seed"
    done
}
export -f judge_announced judge_end try_cuts
export build_dir meshsweep

every_cut_is_survived()
{
    local worker workers=2 seeds
    seeds=${POINTS-$(seq "$((${SEED:-1} * 1000))" $((${SEED:-1} * 1000 + cuts - 1)))}
    for ((worker = 0; worker < workers; worker++)); do
        # shellcheck disable=SC2046 # numbers
        bash -c 'try_cuts "$@"' try $(tr ' ' '\n' <<<"$seeds" | awk "NR % $workers == $worker") >"wrong-$worker" 2>&1 &
    done
    wait
    cat wrong-* >wrong
    [ ! -s wrong ] || fail "$(cat wrong)"
    expect "[ \$(cat counts-* | wc -l) = $(wc -w <<<"$seeds") ]"
    echo "# $(cat counts-* | awk '{ n += $1 } END { print NR " cuts, " n }') announced results, none lost"
}

power__cut_with_a_write_ahead_log__nothing_announced_is_lost()
{
    record_sweep ''
    expect_sql wal "PRAGMA journal_mode" recorded/results.db
    every_cut_is_survived
}

power__cut_with_a_rollback_journal__nothing_announced_is_lost()
{
    record_sweep "$network_file_system"
    expect_sql delete "PRAGMA journal_mode" recorded/results.db
    every_cut_is_survived
}

run_cases "$@"
