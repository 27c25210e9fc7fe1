#!/usr/bin/env bash
# cli: searches whose trials are the same however many of them run at a time.
. "${0%/*}/lib.sh"

# 1,920 jobs; a larger micro-batch is faster up to a peak, and what fits grows with the stage.
search_sweep() # STRATEGY
{
    throughput_sweep 'side by side' micro_batch bucket zero_stage >sweep.toml
    toml search: "strategy = \"$1\"" parallel_spec:: zero_stage=0,1,2,3 bucket=1,2,3,4,5,6,7,8,9,10 \
        micro_batch='{ from = 1, to = 48, step = 1 }' >>sweep.toml
    cat >job.sh <<'END'
if [ "$1" -gt $((12 * ($3 + 1))) ]; then
    echo "CUDA out of memory. Tried to allocate 20.00 GiB"
    exit 1
fi
echo "throughput: $((1000 * $1 / (10 + $1) + 3 * $2 - 20 * $3))"
echo "step 5 throughput: $((1000 * $1 / (10 + $1) + 3 * $2 - 20 * $3))"
END
}

# Prints the trials that were asked for, in order.
trials()
{
    sql "SELECT hex(j.key), t.lineage, t.draw FROM trial AS t JOIN job AS j ON j.id = t.job_id
        WHERE t.asked IS NOT NULL ORDER BY t.asked"
}

search() # STRATEGY WIDTH OPTION...
{
    local strategy=$1 width=$2
    shift 2
    rm -rf results.db*
    search_sweep "$strategy"
    search_ended -j "$width" "$@"
    trials >"$strategy.$width"
}

same_at_two() # STRATEGY TRIALS OPTION...
{
    local strategy=$1 most=$2
    shift 2
    search "$strategy" 1 "$@"
    [ -z "$most" ] || expect_sql "$most" "SELECT count(*) FROM trial WHERE asked IS NOT NULL"
    search "$strategy" 2 "$@"
    expect "cmp $strategy.1 $strategy.2" "[ -s $strategy.1 ]"
}

dsat__two_at_a_time__same_trials_as_one_at_a_time()
{
    same_at_two dsat-random 50
    same_at_two dsat-binary 50
    same_at_two dsat-asha 50
}

dsat__max_trials__so_many()
{
    same_at_two dsat-random 9 --max-trials 9
    same_at_two dsat-binary 9 --max-trials 9
    same_at_two dsat-asha 9 --max-trials 9 --random-seed 7
}

staged__two_at_a_time__same_trials_and_the_winner()
{
    same_at_two staged ''
    expect_sql '3|10|48|797.0' "SELECT zero_stage, bucket, micro_batch, throughput FROM results WHERE state = 'ok'
        ORDER BY throughput DESC LIMIT 1"
}

# Two that are asked for in one go: each of them waits until the other has begun.
staged__keys_of_one_configuration__side_by_side()
{
    search_sweep staged
    cat >>job.sh <<'END'
touch "begun.$2"
[ "$2" = 1 ] || timeout 30 sh -c 'until [ -e begun.2 ] && [ -e begun.3 ]; do sleep 0.01; done'
END
    search_ended -j 2
    expect_sql 0 "SELECT count(*) FROM results WHERE failure = 'exit'"
    expect_sql 1 "SELECT count(*) > 8 FROM results WHERE bucket > 1 AND state = 'ok'"
}

run_cases "$@"
