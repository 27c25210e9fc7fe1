#!/usr/bin/env bash
# cli: searches in stages: what each tries, what it leaves fixed, that a killed one goes on, and what stages lose.
. "${0%/*}/lib.sh"

# 40 jobs; a larger micro-batch is faster up to 8, from 16 on it does not fit; of stage 3 alone bucket 2 is faster.
staged_sweep()
{
    throughput_sweep stages micro_batch bucket zero_stage >sweep.toml
    toml training_spec: global_batch=64 parallel_spec:: zero_stage=0,1,2,3 '"(bucket, overlap)" = [[1, 0], [2, 1]]' \
        micro_batch=1,2,4,8,16 '' search.stage:: name=memory free=zero_stage,micro_batch strategy=random max_trials=10 \
        '' search.stage:: free='["bucket"]' strategy=grid max_trials=4 >>sweep.toml
    throughput_job '$1 * 10 + $3 * 3 + ($3 == 3 ? $2 * 50 : 0)'
}

keys_of_trials="SELECT p.json FROM trial AS t JOIN job AS j ON j.id = t.job_id JOIN spec AS p ON p.id = j.parallel_id"

stages__run__only_their_keys_differ_and_reasons_name_them()
{
    staged_sweep
    run_meshsweep run -j 1 --progress none
    expect_only_stderr_matches 3 '^meshsweep: search: 11 trials, [0-9]+ ok, .* failed; all 2 stages are done$'
    expect_sql "stage-by-stage" "SELECT strategy FROM search"
    expect_sql "10|1" "SELECT sum(reason LIKE 'stage 1 of 2, memory: draw %'),
                              sum(reason LIKE 'stage 2 of 2, bucket: number %') FROM trial"
    expect_sql "10" "SELECT count(*) FROM ($keys_of_trials WHERE t.id <= 10) WHERE json_extract(json, '$.bucket') = 1"
    # The last is the best of the ten with the other bucket, and with what moves together with that.
    expect_sql "1|2|1" "WITH keys AS ($keys_of_trials WHERE t.id = 11),
        best AS ($keys_of_trials WHERE t.id <= 10 AND t.outcome = 'ok' ORDER BY t.objective DESC LIMIT 1)
        SELECT json_extract(k.json, '$.micro_batch') = json_extract(b.json, '$.micro_batch')
               AND json_extract(k.json, '$.zero_stage') = json_extract(b.json, '$.zero_stage'),
               json_extract(k.json, '$.bucket'), json_extract(k.json, '$.overlap') FROM keys AS k, best AS b"
}

stages__stopped_and_killed__same_decisions()
{
    staged_sweep
    expect_run only_stderr 3 run -j 1 --progress none -d whole.db
    search_ended -j 1 -d pieces.db --limit 4
    runner_killed pieces.db
    expect_run only_stderr 3 run -j 1 --progress none -d pieces.db
    decisions whole.db >whole
    decisions pieces.db >pieces
    diff -u whole pieces >difference || fail "$(cat difference)"
    expect_sql 1 "SELECT count(*) FROM search" pieces.db
}

stages__side_by_side__the_same_trials()
{
    staged_sweep
    expect_run only_stderr 3 run -j 1 --progress none -d alone.db
    expect_run only_stderr 3 run -j 2 --progress none -d two.db
    sql "SELECT job_id, reason, objective FROM trial ORDER BY job_id" alone.db >alone
    sql "SELECT job_id, reason, objective FROM trial ORDER BY job_id" two.db >two
    diff -u alone two >difference || fail "$(cat difference)"
}

# Asked for one by one and told elsewhere: the trials of a run.
stages__asked_for__the_same_trials()
{
    staged_sweep
    expect_run only_stderr 3 run -j 1 --progress none -d run.db
    for _ in 1 2 3 4 5 6 7 8 9 10 11; do
        expect_said only_stdout_contains 0 '"by":	"stage-by-stage"' ask -d asked.db -c sweep.toml
        mv .stdout asked.json
        sql "SELECT json_array(iif(k ->> 'micro_batch' >= 16,
                json_object('trial', t, 'failure', 'oom'),
                json_object('trial', t, 'metrics', json_object('throughput', k ->> 'micro_batch' * 10
                    + k ->> 'zero_stage' * 3 + iif(k ->> 'zero_stage' = 3, k ->> 'bucket' * 50, 0)))))
             FROM (SELECT value ->> 'trial' AS t, value -> 'keys' -> 'parallel_spec' AS k
                   FROM json_each(readfile('asked.json'), '\$.asked'))" asked.db >told.json
        expect_run only_stdout 0 tell -d asked.db -c sweep.toml told.json
    done
    sql "SELECT hex(key), reason FROM trial AS t JOIN job AS j ON j.id = t.job_id ORDER BY t.id" run.db >run
    sql "SELECT hex(key), reason FROM trial AS t JOIN job AS j ON j.id = t.job_id ORDER BY t.id" asked.db >asked
    diff -u run asked >difference || fail "$(cat difference)"
    run_meshsweep ask -d asked.db -c sweep.toml
    expect_only_stderr 4 'meshsweep: stage-by-stage has no more jobs to propose: all 2 stages are done'
}

# Jobs that are asked for and not told hold up what follows from them.
stages__asked_for_and_not_told__waits()
{
    staged_sweep
    expect_said only_stdout_contains 0 '"open":	10' ask -d asked.db -c sweep.toml -n 30
    expect_said only_stderr_contains 4 'stage-by-stage waits for the results of jobs that were asked for: stage 1 of '\
'2, memory: ' ask -d asked.db -c sweep.toml
}

stages__replay__says_what_they_lose()
{
    staged_sweep
    expect_run only_status 3 run --progress none --strategy grid
    expect_run only_stdout 0 replay --strategy stage-by-stage,random --seeds 30
    expect_stdout_matches '^\| stage-by-stage \| '
    for against in random grid; do
        expect_stdout_matches \
            "^stage-by-stage finds [0-9.]+ % (worse|better) than $against among all keys at once with as many trials "
    done
    # With a grid of the whole of each stage: micro-batch 8 of stage 3, then the bucket. Nothing is lost.
    sed -i 's/"random"/"grid"/; s/max_trials = 10/max_trials = 20/' sweep.toml
    run_meshsweep replay -c sweep.toml --strategy stage-by-stage --seeds 2 --json
    expect_only_stdout_contains 0 '"loss_against_joint":	[{' '"strategy":	"grid"'
    run_meshsweep replay -c sweep.toml --strategy stage-by-stage --seeds 2
    expect_only_stdout_matches 0 '^\| stage-by-stage \|.* 21\.0 at 1\.00 \|'
}

expect_problem() # SED-SCRIPT MESSAGE
{
    sed "$1" sweep.toml >bad.toml
    expect_said only_stderr 2 "meshsweep: bad.toml:$2" check bad.toml
}

stages__mistakes__told_with_their_places()
{
    staged_sweep
    expect_problem 's/"grid"/"gird"/' '25:12: strategy must be "grid", "random", "binary", "asha", "model", "staged", '\
'"dsat-random", "dsat-binary", "dsat-asha", "deepspeed-grid", "deepspeed-random" or "deepspeed-model"; did you mean '\
'"grid"?'
    expect_problem 's/free = \["bucket"\]/free = ["bukcet"]/' \
        '24:9: free: no section has a key "bukcet"; did you mean "bucket"?'
    expect_problem 's/free = \["zero_stage", "micro_batch"\]/free = ["micro_batch"]/' '13:1: "zero_stage" has 4 '\
'values but is not free in any stage of [search], so only the first would be tried; add it to `free` of a stage'
    expect_problem 's/max_trials = 10/max_trials = 0/' '21:14: max_trials must be from 1 to 1000000000, not 0'
    expect_problem '/max_trials = 4/d' '23:1: [[search.stage]] lacks "max_trials"'
    expect_problem 's/name = "memory"/nmae = "memory"/' \
        '18:1: unknown key "nmae" in [[search.stage]]; did you mean "name"?'
    expect_problem '1s/^/[search]\nstrategy = "model"\n/' '2:12: strategy = "model" cannot be combined with '\
'[[search.stage]], where each stage has its own strategy; remove one of them'
    expect_problem '/^\[\[search/,$d; 1s/^/[search]\nstrategy = "stage-by-stage"\n/' '2:12: strategy = '\
'"stage-by-stage" needs [[search.stage]] tables with the free keys, the strategy and the number of trials of each stage'
    expect_problem 's/^name = "stages"/&\nreplicate = ["bucket", "overlap"]/' \
        '25:9: free: "bucket" is a replicate key, so its jobs are one configuration'
}

run_cases "$@"
