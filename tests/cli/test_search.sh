#!/usr/bin/env bash
# cli: searches: what runs, what is recorded, and that a search that was stopped or killed decides as one that was not.
. "${0%/*}/lib.sh"

# 40 jobs; a larger micro-batch is faster up to 8, and from 16 on it does not fit.
search_sweep() # [LINE OF [search]...]
{
    {
        echo '[search]'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        throughput_sweep search micro_batch bucket
        toml training_spec: global_batch=64 parallel_spec:: zero_stage=0,1,2,3 bucket=1,2 micro_batch=1,2,4,8,16
    } >sweep.toml
    throughput_job '$1 * 10 + $2'
}

random__max_trials__so_many_and_each_a_row()
{
    search_sweep 'strategy = "random"' 'max_trials = 7'
    search_ended
    expect_stderr_matches \
        '^meshsweep: search: 7 trials, [0-9]+ ok, 0 stopped early, [0-9]+ failed; max_trials: 7 trials were made$'
    expect_sql "7|7|7" "SELECT count(*), count(DISTINCT job_id), (SELECT count(*) FROM attempt) FROM trial"
    expect_sql "random|max_trials: 7 trials were made" "SELECT strategy, finished FROM search"
    expect_sql "33" "SELECT count(*) FROM job WHERE state = 'pending'"
    decisions results.db >first
    search_ended
    decisions results.db | cmp first - || fail "a finished search went on"
    search_ended --max-trials 9
    expect_stderr_contains "search: 9 trials"
    expect_sql "16" "SELECT count(DISTINCT attempt.job_id) FROM attempt"
    expect_sql "0" "SELECT count(*) FROM (SELECT job_id FROM attempt GROUP BY 1 HAVING count(*) > 1)"
}

# In pieces, and killed with a job running: the decisions of an undisturbed search.
plan__after_some_trials__what_is_left()
{
    search_sweep 'strategy = "random"' 'max_trials = 6'
    echo 'echo "throughput: $1"' >job.sh
    run_ended 0 --limit 2
    expect_stderr_contains 'search: 2 trials'
    expect_said only_stdout_contains 0 'the search random tries at most 4 of them' plan
    run_ended 0
    expect_stderr_contains 'search: 6 trials'
    expect_said only_stdout_contains 0 'the search random has ended: max_trials: 6 trials were made' plan
    expect_stdout_contains 'at most 0 device-hours'
    expect_said only_stdout_contains 0 'the search random tries at most 7 of them' plan --max-trials 7
}

stopped_and_killed__resumed__same_decisions()
{
    for strategy in random binary asha model dsat-asha deepspeed-model; do # the others: test_faults.sh
        search_sweep "strategy = \"$strategy\"" 'max_trials = 12'
        search_ended -j 1 -d "$strategy-whole.db"
        search_ended -j 1 -d "$strategy-pieces.db" --limit 2
        runner_killed "$strategy-pieces.db"
        search_ended -j 1 -d "$strategy-pieces.db"
        decisions "$strategy-whole.db" >whole
        decisions "$strategy-pieces.db" >pieces
        diff -u whole pieces >difference || fail "$strategy: $(cat difference)"
        expect_sql 1 "SELECT count(*) FROM search" "$strategy-pieces.db"
    done
}

model__known_micro_batches__no_larger_one_after_out_of_memory()
{
    search_sweep 'strategy = "model"'
    expect_said only_stderr_contains 3 "no step time is predicted for any candidate: strategy \`model\` learns only \
from what it measures" run --progress none
    expect_sql "82.0" "SELECT max(objective) FROM trial"
    expect_sql "1" "SELECT count(*) < 30 FROM trial"
}

# Rates of one spec and batches of another: each rate has its own best, which no search of a few jobs can find.
model__many_small_groups__said_unless_the_file_says_what_competes()
{
    toml sweep: objective=min:loss job: command='["echo", "loss: {lr}"]' job.metrics.loss: regex='loss: ([0-9.]+)' \
        search: strategy=model training_spec: lr=1,2,3,4 parallel_spec: micro_batch=1,2 >groups.toml
    expect_said only_stderr_contains 0 "4 groups of 2 jobs compete separately, by training_spec.lr; with [sweep] \
group_by = [] all jobs" run -c groups.toml --progress none
    expect_run only_stderr 0 run -c groups.toml -d other.db --progress none --strategy random
    expect_stderr_lacks "compete apart"
    sed -i 's/^\[job\]/group_by = []\n[job]/' groups.toml
    expect_run only_stderr 0 run -c groups.toml -d one.db --progress none
    expect_stderr_lacks "compete apart"
}

# A strategy that tries every job has as many to come as wait.
random__no_limit__status_says_how_many_are_to_come()
{
    toml sweep: objective=min:loss job: command='["echo", "loss: {lr}"]' job.metrics.loss: regex='loss: ([0-9.]+)' \
        training_spec: lr=1,2,3,4,5 >sweep.toml
    expect_run only_stderr 0 run --progress none --strategy random --limit 2
    run_meshsweep status
    expect_only_stdout_contains 0 "search by random: 2 trials, 2 ok, 0 stopped early, 0 failed; at most 3 more"
}

retry_failed__after_a_search__tried_again()
{
    search_sweep 'strategy = "grid"' 'max_trials = 5'
    run_ended 3
    expect_sql "1" "SELECT count(*) FROM trial WHERE failure = 'oom'"
    run_ended 3 --retry-failed
    expect_sql "requested again|failed|oom" "SELECT reason, outcome, failure FROM trial WHERE id = 6"
    expect_sql "2" "SELECT count(*) FROM attempt WHERE failure = 'oom'"
}

deadline__over__starts_nothing_new()
{
    search_sweep 'strategy = "random"' 'deadline = 0.001'
    expect_said only_stderr_contains 3 "deadline: 0.001 s have passed" run --progress none
    expect_stderr_contains 'there is no best job: no job ran to its end and reported a finite throughput'
    expect_sql "1" "SELECT count(*) < 40 FROM attempt"
}

bad_values__file_and_command_line__status_2_at_once()
{
    search_sweep 'strategy = "modle"' 'divisor = 1' 'max_slot = 3' 'zero_stages = [4]' 'racing = 1'
    run_meshsweep run --progress none
    expect_only_stderr_contains 2 'sweep.toml:2:12: strategy must be' "divisor: 1 is less than 2"
    expect_stderr_contains 'unknown key "max_slot" in [search]; did you mean "max_slots"?'
    expect_stderr_contains "zero_stages: a ZeRO stage must be 0, 1, 2 or 3" "racing must be"
    search_sweep
    local -a wrong=("--strategy gird" "--max-slots 0" "--divisor x" "--zero-stages 4" "--metric latncy" "--budget -1")
    local -a said=("did you mean \`grid\`?" "max_slots: 0 is less than 1" "\`x\` is not a number" "not a ZeRO stage"
        "latncy" "budget: -1 is less than 0")
    for i in "${!wrong[@]}"; do
        # shellcheck disable=SC2086 # an option and its value
        expect_said only_stderr_contains 2 "${said[i]}" run --progress none ${wrong[i]}
    done
    printf '%s\n' '[[cluster_spec]]' 'num_hosts = 1' 'num_devices_per_host = 4' >>sweep.toml
    run_meshsweep run --progress none --strategy random --max-slots 2
    expect_only_stderr_contains 2 "max_slots: a trial needs 4 devices, but at most 2 may be in use"
    expect_no_file results.db
}

# A number that is none, no number at all, no job at all: ends, with a sentence.
nothing_to_win__search_ends_and_says_why()
{
    for strategy in binary asha model dsat-random deepspeed-model; do
        search_sweep "strategy = \"$strategy\"" 'max_trials = 4'
        echo 'echo "throughput: nan"' >job.sh
        sed -i "s/^regex.*/regex = 'throughput: ([0-9.na]+)'/" sweep.toml
        expect_run only_stderr 3 run --progress none --keep-going -d "nan-$strategy.db"
        expect_stderr_contains "search: 4 trials, 0 ok, 0 stopped early, 4 failed; max_trials: 4 trials were made"
    done
    expect_said only_stderr_matches 3 '^meshsweep: no job has succeeded: 4 failed \(4 diverged\), 0 running, [0-9]+ '\
'pending; see meshsweep ' best -d nan-model.db
    echo 'echo "speed: 3"' >job.sh
    run_meshsweep run --progress none --keep-going
    expect_only_stderr_contains 3 "search: 4 trials, 0 ok, 0 stopped early, 4 failed" \
        'there is no best job: no job ran to its end and reported a finite throughput'
    expect_sql "failed|no-metric|4" "SELECT state, failure, count(*) FROM job WHERE state <> 'pending' GROUP BY 1, 2"
    expect_run only_stderr 4 replay
    expect_stderr_contains "results.db: no job that succeeded has a value of throughput, so there is nothing to find"
    printf '[[rule]]\nname = "none"\nrequire = "micro_batch > 100"\nwhy = "too few"\n' >>sweep.toml
    run_ended 4 -d empty.db
    expect_said only_stdout_contains 4 "excluded 40 by none: too few" plan -d empty.db
}

# As with `run`, and before it.
impossible_searches__plan_and_check__status_2_and_nothing_made()
{
    search_sweep 'strategy = "random"' 'max_slots = 2'
    printf '[[cluster_spec]]\nnum_hosts = 1\nnum_devices_per_host = 4\n' >>sweep.toml
    for command in "plan" "run --dry-run" "plan --only micro_batch=1" "check sweep.toml"; do
        # shellcheck disable=SC2086 # words
        expect_said only_stderr 2 "meshsweep: max_slots: a trial needs 4 devices, but at most 2 may be in use" $command
    done
    expect_said only_stdout_contains 0 "40 jobs: + 40 new" plan --max-slots 4
    expect_said only_stderr 2 "meshsweep: --divisor: divisor: 1 is less than 2" plan --max-slots 4 --divisor 1
    sed -i -e '/^max_slots/d' -e '/^zero_stage/s/=.*/= [0]/' sweep.toml
    expect_said only_stderr_contains 2 "no candidate has one of the requested ZeRO stages" plan --zero-stages 1
    sed -i -e '/^micro_batch/d' -e 's/, "{micro_batch}"//' -e 's/"random"/"binary"/' sweep.toml
    expect_said only_stderr_contains 2 "strategy binary bisects the micro-batch, but no spec has one" check sweep.toml
    sed -i '/^objective/d' sweep.toml
    expect_said only_stderr_contains 2 "a search needs an objective" check sweep.toml
    expect "[ \"\$(echo *)\" = 'job.sh sweep.toml' ]"
}

nothing_to_search__said()
{
    search_sweep 'strategy = "random"' 'zero_stages = [1]'
    sed -i '/^zero_stage = /s/.*/zero_stage = [0]/' sweep.toml
    expect_said only_stderr_contains 2 "no candidate has one of the requested ZeRO stages" run --progress none
    search_sweep 'strategy = "random"'
    sed -i '/^objective/d' sweep.toml
    expect_said only_stderr_contains 2 "a search needs an objective" run --progress none -d other.db
    search_ended -d other.db --metric max:throughput --max-trials 1
}

# Jobs report a step every 50 ms; the first is the fastest, so the others are over before they are done.
racing__slower_than_the_best__ended_early_with_what_it_measured()
{
    search_sweep 'strategy = "grid"' 'racing = true'
    sed -i -e '/^zero_stage/s/=.*/= [0]/' -e '/^bucket/s/=.*/= [9, 1]/' -e '/^micro_batch/s/=.*/= [1]/' sweep.toml
    cat >job.sh <<'END'
steps=3
[ "$2" -eq 9 ] || steps=1000
for _ in $(seq "$steps"); do
    echo "throughput: $2$2"
    sleep 0.05
done
END
    expect_said only_stderr_contains 0 "search: 2 trials, 1 ok, 1 stopped early, 0 failed" run --progress none
    expect_sql "ok|99.0|
stopped|11.0|1" "SELECT outcome, objective, steps > 5 AND steps < 1000 FROM trial ORDER BY id"
    expect_sql "ok|2" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "1|99.0" "SELECT count(*), max(throughput) FROM ranking"
    run_ended 0
    expect_sql 2 "SELECT count(*) FROM attempt"
}

# However late a job is looked at, it is still in its two steps. Of two that ended before the others the better goes on.
asha__rungs_of_steps__the_best_run_whole()
{
    search_sweep 'strategy = "asha"' 'min_steps = 2' 'max_rungs = 2' 'racing = false'
    sed -i -e '/^zero_stage/s/=.*/= [0]/' -e '/^bucket/s/=.*/= [1, 2, 3, 4]/' -e '/^micro_batch/s/=.*/= [1]/' sweep.toml
    cat >job.sh <<'END'
steps=600 pause=0.05
[ ! -e "begun.$2" ] || steps=40 pause=0
touch "begun.$2"
for _ in $(seq "$steps"); do
    echo "throughput: $2"
    sleep "$pause"
done
END
    # What goes on is counted once.
    expect_said only_stderr_contains 0 '"end","schema_version":1,"total":4,"done":4,"ok":4,"failed":0,"skipped":0,\
"pruned":0,"held":0,"running":0,"waiting":0,"being_recorded":0,"pending":0' run -j 4 --progress json
    expect_sql "1|4" \
        "SELECT min(steps >= 2 AND steps < 600), count(*) FROM trial WHERE outcome = 'stopped' AND resource = 2"
    expect_sql "ended as planned: it has measured the steps of its trial|4" \
        "SELECT message, count(*) FROM attempt WHERE stopped_steps IS NOT NULL GROUP BY 1"
    expect_sql "1|2" "SELECT min(r.bucket > 1), sum(r.bucket > 2)
                      FROM trial AS t JOIN results AS r ON r.job = t.job_id WHERE t.resource IS NULL"
    expect_sql "4.0" "SELECT max(throughput) FROM ranking"
    expect_sql "0" "SELECT count(*) FROM job WHERE state <> 'ok'"
}

best_again__confirmed_and_launched__attempts_of_the_best_alone()
{
    search_sweep 'strategy = "grid"' 'max_trials = 40'
    sed -i -e '/^zero_stage/s/=.*/= [0]/' -e '/^micro_batch/s/=.*/= [4, 8]/' sweep.toml
    expect_said only_stderr_contains 0 "launching the winner" run --progress none --confirm 3 --run-full-experiment
    # 81 and 82 are within 2 %: three runs each, and one more of the winner.
    expect_sql "1|41.0
1|42.0
3|81.0
4|82.0" "SELECT count(*), r.throughput FROM attempt AS a JOIN results AS r ON r.job = a.job_id GROUP BY a.job_id
        ORDER BY 2"
    expect_run only_stdout 0 best --out winner
    expect_run only_status 0 plan -c winner/sweep.toml -d none.db
    expect_stdout_matches '.*1 job'
}

# Five jobs: 2 and 3 measure the same, 1 is as fast and larger, 4 slower and smaller, 5 slower and larger.
several_sweep()
{
    toml sweep: name=several objective='["max:speed", "min:memory"]' job: command='["/bin/sh", "./job.sh", "{x}"]' \
        job.metrics.speed: regex='speed: ([0-9.]+)' unit=samples/s job.metrics.memory: regex='memory: ([0-9.]+)' \
        unit=GiB training_spec: global_batch=64 parallel_spec:: x=1,2,3,4,5 >sweep.toml
    printf '%s\n' 'set -- $(echo "100 30,100 20,100 20,60 10,50 40" | cut -d , -f "$1")' 'echo "speed: $1"' \
        'echo "memory: $2"' >job.sh
}

best__several_objectives__the_pareto_set_with_ties()
{
    several_sweep
    expect_run only_stderr 0 run -j 1 --progress none
    expect_run only_stdout 0 best
    # As fast as job 1 and smaller.
    expect_stdout_contains 'highest speed 100 samples/s, job 2 of sweep several'
    expect_stdout_contains 'in all objectives and better in one (Pareto set): highest speed, lowest memory
  job 2: speed 100 samples/s, memory 20 GiB
  job 3: speed 100 samples/s, memory 20 GiB, tied with job 2, x 3
  job 4: speed 60 samples/s, memory 10 GiB, x 4'
    expect_stdout_lacks 'job 5'
    expect_said only_stdout_contains 0 'best so far: speed 100 samples/s, job 2 ' status
    expect_run only_stdout 0 best --json
    expect_json '2||100|20|3|2|100|20|4||60|10|3' pareto[{0,1,2}].{job,tie,values.speed,values.memory} pareto.#
    # A job that did not say its memory takes no part.
    sql "DELETE FROM summary WHERE name = 'memory' AND attempt_id <= 2"
    run_meshsweep best
    expect_only_stdout_contains 0 'highest speed 100 samples/s, job 3 of sweep several' '2 ok jobs lack one of these'
}

best__several_global_batches__said()
{
    several_sweep
    sed -i -e '/^global_batch/s/=.*/= [32, 64]/' -e '/^objective/s/=.*/= "max:speed"/' sweep.toml
    expect_run only_stderr 0 run -j 1 --progress none
    expect_run status 0 best
    expect_stdout_lacks 'Pareto'
    expect_stderr "meshsweep: the winner's global batch is 32, but other jobs have 64; to compare at an equal one, \
use meshsweep results --where"
    expect_said among_stdout 0 '"pareto":	[]' best --json
}

dsats_spellings__stages_metrics_and_steps__as_its_documents_have_them()
{
    search_sweep
    search_ended --strategy dsat-random --zero-stages 2 3 --max-trials 3 -j 1
    expect_sql '2,3' "SELECT group_concat(DISTINCT s) FROM (SELECT json_extract(o.value, '\$') AS s
        FROM search, json_each(options, '\$.zero_stages') AS o)"
    run_meshsweep run --progress none --strategy dsat-random --start-profile-step 6 --end-profile-step 5
    expect_only_stderr_contains 2 'end_profile_step: 5 is before start_profile_step, 6, so no step would count'
    sed -i '1i profile = "deepspeed"' sweep.toml
    for metric in FLOPS_per_gpu:flops_per_gpu forward:fwd backward:bwd latency:latency throughput:throughput; do
        expect_run only_status 0 plan --json --metric "${metric%:*}"
    done
    expect_run only_stderr 3 run --progress none --metric forward --limit 1 -d forward.db
    expect_sql 'fwd|0' 'SELECT objective, maximise FROM sweep' forward.db
}

# As many lineages as there are candidates find all that there is to be found.
max_concurrent_trials__a_great_many__as_a_few()
{
    search_sweep 'strategy = "dsat-binary"' 'max_trials = 3'
    search_ended -j 1 --max-concurrent-trials 100000
    expect_stderr_contains 'search: 3 trials'
}

# Too few candidates for any to reach the highest rung, the whole job. Each reports as many steps as its rung and waits.
asha__rungs_measured_as_asked__one_of_them_is_best()
{
    search_sweep 'strategy = "asha"' 'racing = false'
    sed -i -e '/^zero_stage/s/=.*/= [0]/' -e '/^bucket/s/=.*/= [1, 2, 3]/' -e '/^micro_batch/s/=.*/= [1]/' sweep.toml
    cat >job.sh <<'END'
echo >>"begun.$2"
for step in $(seq $((2 << $(wc -l <"begun.$2")))); do
    echo "throughput: $(($2 * 1000))"
done
exec sleep 60
END
    run_meshsweep run -j 3 --progress none
    expect_only_stderr_matches 0 '^meshsweep: search: [3-6] trials, 0 ok, [3-6] stopped early, 0 failed'
    expect_sql '1|3000.0|3' 'SELECT rank, throughput, bucket FROM ranking WHERE rank = 1'
    expect_sql 3 'SELECT count(*) FROM trial WHERE resource = 4'
    # A whole run is not of the same steps.
    sed -i '/^bucket/s/=.*/= [1, 2, 3, 4]/' sweep.toml
    echo 'echo "throughput: 4"' >job.sh
    search_ended --strategy grid --max-trials 0
    expect_said among_stderr 0 "meshsweep: the winner was ended after $(sql 'SELECT max(stopped_steps) FROM attempt
        WHERE job_id = (SELECT job FROM ranking WHERE rank = 1)') steps, as its trial asked, but 1 other job ran to \
the end; run --confirm 2 runs the winner, and what comes close, to the end, too" best
}

confirm__intervals_of_the_samples__those_that_overlap_run_again()
{
    search_sweep
    sed -i -e '/^zero_stage/s/=.*/= [0]/' -e '/^bucket/s/=.*/= [1, 2, 3, 4]/' -e '/^micro_batch/s/=.*/= [1]/' sweep.toml
    # The second is within 2 % and surely slower; the third is slower and may well be as fast; the fourth is slower.
    cat >job.sh <<'END'
echo "90 90.01 89.99,89 89.01 88.99,60 100 80,70 70.1 69.9" | cut -d , -f "$2" | tr ' ' '\n' | sed 's/^/throughput: /'
END
    run_ended 0 --confirm 3
    expect_sql "90.0|3
89.0|1
80.0|3
70.0|1" "SELECT r.throughput, count(*) FROM attempt AS a JOIN results AS r ON r.job = a.job_id GROUP BY a.job_id
        ORDER BY a.job_id"
}

why__a_trial__its_reason()
{
    search_sweep 'strategy = "random"' 'max_trials = 40'
    run_ended 3
    run_meshsweep why zero_stage=2 bucket=1 micro_batch=8
    expect_only_stdout_matches 0 'chosen by random: draw [0-9]+ of 40 with seed 42'
}

# A machine that gets warmer is no property of the jobs that come last.
repeats__of_a_shuffled_grid__alternate_between_jobs()
{
    toml sweep: objective=min:loss job: command='echo loss: {x}' repeat=3 \
        job.metrics.loss: key=loss parallel_spec: x='{ from = 1, to = 6 }' \
        local: devices=0 search: strategy=grid order=shuffled >sweep.toml
    expect_run only_status 0 run --progress none -j 1
    expect_sql "1|3
2|3
3|3" "SELECT turn, count(DISTINCT job_id) / 2 FROM (SELECT job_id, (row_number() OVER (ORDER BY id) + 5) / 6 AS turn
        FROM attempt) GROUP BY 1"
}

run_cases "$@"
