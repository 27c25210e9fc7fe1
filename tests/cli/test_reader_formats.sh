#!/usr/bin/env bash
# Profiles read what frameworks print and write: tests/readers/ has samples of each format.
. "${0%/*}/lib.sh"

samples=$source_dir/tests/readers

# Runs one job that prints LOG and puts the files into its directory; a file "a.json:out/b.json" becomes out/b.json.
read_sample() # PROFILE LOG [FILE:NAME]...
{
    local profile=$1 log=$2 file
    shift 2
    for file in "$@"; do
        echo "mkdir -p \"\$(dirname \"\$MESHSWEEP_JOB_DIR/${file#*:}\")\"; cp '$samples/${file%%:*}' \
\"\$MESHSWEEP_JOB_DIR/${file#*:}\""
    done >job.sh
    [ "$log" = - ] || echo "cat '$samples/$log'" >>job.sh
    printf '%s\n' "profile = \"$profile\"" '[job]' 'command = ["sh", "./job.sh"]' 'env = { X = "{job_dir}" }' \
        '[training_spec]' 'x = 1' >sweep.toml
    rm -f results.db
    run_ended 0
}

reads() # PROFILE "LOG [FILE:NAME]..." METRICS
{
    # shellcheck disable=SC2086 # words
    read_sample "$1" $2
    expect_metrics "$3"
}

# "NAME VALUE COUNT; ..."
expect_metrics()
{
    expect_sql "$1" "SELECT group_concat(name || ' ' || printf('%.6g', value) || ' ' || count, '; ')
        FROM (SELECT * FROM summary ORDER BY name)"
}

# By profile and log, or files: the metrics.
every_format__its_sample__read()
{
    # Those of steps go before metrics.json, micro-steps count as no step, the first two samples are warm-up. No
    # ds_config says the batch, so the latency is what the timers of a step come to; the FLOPS of the one profiled step,
    # which took 0.0705 s, are those of a step of that.
    reads deepspeed 'deepspeed.log deepspeed-metrics.json:metrics.json' 'bwd 0.042 1; flops_per_gpu 4.34589e+13 1; '\
'fwd 0.021 1; host_memory 61.5 1; latency 0.073 1; peak_memory 3.75 4; profiled_flops_per_gpu 4.5e+13 1; '\
'profiled_latency 0.0705 1; reserved_memory 4 1; step 0.01 1; throughput 101.5 2'
    reads deepspeed '- deepspeed-metrics.json:metrics.json' 'bwd 0.041 1; flops_per_gpu 4.5e+13 1; fwd 0.0205 1; '\
'latency 0.0705 1; profiled_flops_per_gpu 4.5e+13 1; profiled_latency 0.0705 1; step 0.009 1; throughput 113.475 1'
    # Without FLOPS of the profiled step there are none of the job.
    reads deepspeed '- deepspeed-metrics-old.json:metrics.json' 'bwd 3.94104 1; flops_per_gpu 0 0; fwd 1.31416 1; '\
'latency 5.25973 1; profiled_latency 5.25973 1; step 0.00453712 1; throughput 13.3 1'
    reads deepspeed deepspeed-flops-profiler.log 'bwd 0.10802 1; flops_per_gpu 1.0198e+14 1; fwd 0.07667 1; '\
'fwd_flops_per_gpu 6.27986e+12 1; latency 0.18473 1; params_per_gpu 3.3623e+08 1; '\
'profiled_flops_per_gpu 1.0198e+14 1; profiled_latency 0.18473 1; step 3.409e-05 1; step_time 0.18473 1'
    reads deepspeed deepspeed-flops-profiler-old.log 'bwd 3.04 1; flops_per_gpu 1.94e+12 1; fwd 1.52 1; '\
'fwd_flops_per_gpu 3.24e+12 1; latency 5 1; params_per_gpu 1.34e+09 1; profiled_flops_per_gpu 1.94e+12 1; '\
'profiled_latency 5 1; step 0.44 1; step_time 5 1'
    reads megatron megatron.log 'flops_per_gpu 4e+13 3; grad_norm 26 5; loss 10.5 5; peak_memory 5120.25 1; '\
'reserved_memory 5600 1; skipped_iterations 1 5; step_time 0.5 3'
    reads megatron megatron-deepspeed.log 'flops_per_gpu 2.531e+13 1; grad_norm 28 1; loss 10.7 1; '\
'skipped_iterations 0 1; step_time 0.5234 1; throughput 30.569 1'
    reads torchtitan torchtitan.log 'flops_per_gpu 1.0415e+15 1; grad_norm 2.5 2; loss 9.75 2; peak_memory 12.34 2; '\
'reported_mfu 0.425 1; tokens_per_second_per_gpu 7310 1'
    reads torchtitan torchtitan-old.log 'loss 9.75 1; peak_memory 12.34 1; reported_mfu 0.351 1; '\
'tokens_per_second_per_gpu 6120 1'
    reads gpt-neox gpt-neox.log 'flops_per_gpu 6.29e+13 3; loss 9.25 5; step_time 0.508 3; throughput 63 3'
    reads maxtext maxtext.log 'flops_per_gpu 1.34912e+14 3; loss 11.11 5; step_time 5.668 3; '\
'tokens_per_second_per_gpu 8671.98 3'
    reads lingua lingua.log 'flops_per_gpu 4.23e+14 1; loss 9.1203 3; step_time 0.8559 1; '\
'tokens_per_second_per_gpu 9570 1'
    reads litgpt litgpt.log 'loss 1.402 5; peak_memory 19.77 1; step_time 0.2995 1'
    reads verl verl.log 'peak_memory 43.62 3; throughput 1507.1 2; time_per_step 81.4 2; update_time 27.1 2'
    reads nemo-rl nemo-rl.log 'total_step_time 81.4 2; training_time 27.1 2'
    reads llm-foundry llm-foundry.log 'loss 9.6044 3; peak_memory 38.014 3; reported_mfu 0.4064 1; '\
'tokens_per_second_per_gpu 2811.03 1'
    reads olmo-core olmo-core.log 'loss 10.57 3; peak_memory 60.27 3; tokens_per_second_per_gpu 7411 1'
    reads colossalai colossalai.log 'flops_per_gpu 202.82 1; peak_memory 41250.3 1; samples_per_second 9.01 1'
    reads olmo olmo.log 'loss 10.98 3; peak_memory 61304 3; tokens_per_second_per_gpu 9480 1'
    reads picotron picotron.log 'loss 9.742 3; reported_mfu 0.3465 1; reserved_memory 41.5 3; '\
'tokens_per_second 220000 1; tokens_per_second_per_gpu 27500 1'
    reads torchtune torchtune.log 'grad_norm 2.75 3; loss 1.11329 3; peak_memory 18.604 3; reserved_memory 19.25 3; '\
'tokens_per_second_per_gpu 2099.5 1'
    reads torchtune '- torchtune.log:logs/log_1.txt' 'grad_norm 2.75 3; loss 1.11329 3; peak_memory 18.604 3; '\
'reserved_memory 19.25 3; tokens_per_second_per_gpu 2099.5 1'
    reads nanotron nanotron.log 'flops_per_gpu 2.28e+14 1; grad_norm 8.2 3; hardware_flops_per_gpu 2.3e+14 1; '\
'loss 10.4 3; peak_memory 5.25e+09 3; reserved_memory 3.1e+10 3; step_time 1.2 1; tokens_per_second 218000 1; '\
'tokens_per_second_per_gpu 109000 1'
    reads nanotron nanotron-2026.log 'flops_per_gpu 2.28e+14 1; grad_norm 8.2 3; loss 10.4 3; '\
'peak_memory 3.14701e+10 4; reserved_memory 3.2552e+10 4; step_time 1.2 1; tokens_per_second 218000 1; '\
'tokens_per_second_per_gpu 109000 1'
    reads lightning lightning.log 'loss 1.5 3; step_time 1.2 3; steps_per_second 0.833333 3; val_loss 1.75 1'
    reads lightning lightning-profiler.log 'step_time 0.25 1'
}

# The step that is profiled is a single one, and noisy: which job is best follows from all steps.
deepspeed_flops__of_two_jobs__operations_over_the_median_latency()
{
    toml profile=deepspeed sweep: objective=max:flops_per_gpu job: \
        command='["/bin/sh", "./job.sh", "{micro_batch}"]' deepspeed: profile_steps=3,8 \
        parallel_spec: train_micro_batch_size_per_gpu=1,2 >sweep.toml
    # The first steps are slow, and so is the one that is profiled.
    cat >job.sh <<'END'
for step in 1 2 3 4 5 6 7 8; do
    fwd=$(($1 * 10)) bwd=$(($1 * 20))
    [ "$step" -gt 4 ] || { fwd=900; bwd=900; }
    echo "time (ms) | fwd: $fwd.00 | bwd: $bwd.00 | bwd_inner: 1.00 | step: $1.00"
done
profiled=20000
[ "$1" = 2 ] || profiled=80000
echo "{\"latency\": $profiled.0, \"FLOPS_per_gpu\": $((10000000000 / profiled)).0}" \
    >"$MESHSWEEP_JOB_DIR/metrics.json"
END
    run_ended 0
    expect_sql '1|0.01|0.02|0.001|125000.0
2|0.02|0.04|0.002|500000.0' "SELECT job, fwd, bwd, step, profiled_flops_per_gpu FROM results ORDER BY job"
    # 10,000 operations a step, of 31 and 62 ms.
    expect_sql '1|1|322581
2|2|161290' "SELECT rank, job, CAST(round(flops_per_gpu) AS INTEGER) FROM ranking ORDER BY 1"
}

huggingface__log_dictionaries__numbers_quoted_or_not()
{
    read_sample huggingface huggingface.log
    expect_sql 'eval_loss 0.58 1
train_loss 0.615 1
train_runtime 40.25 1
train_steps_per_second 0.497 1
throughput 182.26 1' "SELECT name || ' ' || printf('%.6g', value) || ' ' || count FROM summary WHERE name <> 'loss'
        ORDER BY name = 'throughput', name"
    expect_sql '4' "SELECT count(*) FROM metric WHERE name = 'loss'"
}

# axolotl and ms-swift add to the dictionaries, Megatron-Bridge has a line of its own.
others_on_a_profile__their_own_numbers__read()
{
    printf '%s' "{'loss': 1.5, 'memory/max_active (GiB)': 12.75, 'memory/max_allocated (GiB)': 12.5, " \
        "'memory/device_reserved (GiB)': 14.5, 'tokens/train_per_sec_per_gpu': 2345.5, 'epoch': 0.1}" >axolotl.log
    read_sample huggingface "../../$(realpath --relative-to="$samples/../.." axolotl.log)"
    expect_metrics 'loss 1.5 1; peak_memory 12.5 1; reserved_memory 14.5 1; tokens_per_second_per_gpu 2345.5 1'
    echo "{'loss': 1.5, 'token_acc': 0.61, 'memory(GiB)': 62.5, 'train_speed(s/it)': 8.125}" >swift.log
    read_sample huggingface "../../$(realpath --relative-to="$samples/../.." swift.log)"
    expect_metrics 'loss 1.5 1; reserved_memory 62.5 1; step_time 8.125 1'
    echo 'Step Time : 12.57s GPU utilization: 712.5MODEL_TFLOP/s/GPU' >bridge.log
    read_sample megatron "../../$(realpath --relative-to="$samples/../.." bridge.log)"
    expect_metrics 'flops_per_gpu 7.125e+14 1'
}

huggingface__trainer_state__with_its_steps()
{
    read_sample huggingface - huggingface-trainer_state.json:out/checkpoint-20/trainer_state.json
    expect_metrics 'loss 0.65 2; throughput 146.72 1; train_loss 0.65 1; train_runtime 50 1; '\
'train_steps_per_second 0.4 1'
    expect_sql '10 0.7
20 0.6' "SELECT step || ' ' || value FROM metric WHERE name = 'loss' ORDER BY step"
}

huggingface__table_alone__no_number_that_it_only_begins_with()
{
    printf '%s\n' '***** train metrics *****' '  train_loss               =    1.2e-05' \
        '  train_runtime            = 0:01:40.25' '  train_samples_per_second =     182.26' \
        '  train_steps_per_second   =      0.497' >table.log
    read_sample huggingface "../../$(realpath --relative-to="$samples/../.." table.log)"
    expect_metrics 'throughput 182.26 1; train_loss 1.2e-05 1; train_steps_per_second 0.497 1'
}

huggingface__two_checkpoints__the_one_written_last()
{
    sed 's/146.72/99/' "$samples/huggingface-trainer_state.json" >older.json
    read_sample huggingface - huggingface-trainer_state.json:out/checkpoint-9/trainer_state.json \
        "../../$(realpath --relative-to="$samples/../.." older.json):out/checkpoint-10/trainer_state.json"
    rm results.db
    echo 'touch -d 2001-01-01 "$MESHSWEEP_JOB_DIR/out/checkpoint-10/trainer_state.json"' >>job.sh
    run_ended 0
    expect_sql 146.72 "SELECT value FROM summary WHERE name = 'throughput'"
}

nanotron__small_numbers__with_their_exponents()
{
    echo \
        'iteration: 3 / 15 | elapsed_time_per_iteration_ms: 4.71K | model_tflops_per_gpu: 1.87e-05 | '\
'lm_loss: 9.5e-04 |' \
        >small.log
    read_sample nanotron "../../$(realpath --relative-to="$samples/../.." small.log)"
    expect_metrics 'flops_per_gpu 1.87e+07 1; loss 0.00095 1; step_time 4.71 1'
}

lightning__bar_of_rich__read()
{
    echo 'Epoch 0/4  ━━━━━━━━━━ 10/10 0:00:02 • 0:00:00 4.00it/s v_num: 0.000 train_loss_step: 0.512 val_loss: 1.5' \
        >rich.log
    read_sample lightning "../../$(realpath --relative-to="$samples/../.." rich.log)"
    expect_metrics 'loss 0.512 1; step_time 0.25 1; steps_per_second 4 1; val_loss 1.5 1'
}

key__text_number_unit__converted_and_others_left()
{
    printf '%s\n' '[job]' "command = [\"cat\", \"$samples/key-value.log\"]" '[job.metrics.step_time]' \
        'key = "step time"' \
        'unit = "ms"' '[job.metrics.memory]' 'key = "memory (peak)"' 'unit = "GB"' '[job.metrics.throughput]' \
        'key = "throughput"' 'unit = "samples/s"' '[job.metrics.loss]' 'key = "loss"' '[training_spec]' 'x = 1' \
        >sweep.toml
    run_ended 0
    # "max step time" is matched by its end too; a throughput in milliseconds is none.
    expect_sql '120 110 900 0.1 130' "SELECT group_concat(printf('%.6g', value), ' ') FROM (SELECT value FROM metric
        WHERE name = 'step_time' ORDER BY step)"
    expect_sql 'loss 2.5 1
memory 12.3455 1
throughput 2000 1' "SELECT name || ' ' || printf('%.6g', value) || ' ' || count FROM summary WHERE name <> 'step_time'
        ORDER BY name"
}

# A job that prints what every framework prints and writes its own numbers too, of every metric that there is.
speaks_twice() # FILE...
{
    grep -hoE '^\[job\.metrics\.[a-z_0-9]+' "$@" "$source_dir"/configs/profiles/*.toml | sed 's/.*\.//' |
        grep -vx step | sort -u >names # "step" is no metric there
    {
        printf 'cat %q/tests/readers/*.log\n' "$source_dir"
        for step in 1 2 3 4 5 6; do
            printf 'echo '"'"'{%s, "step": %s}'"'"' >>"$MESHSWEEP_METRICS"\n' \
                "$(sed "s/.*/\"&\": 1000$step/" names | paste -sd ,)" "$step"
        done
    } >job.sh
}

expect_own_samples() # DATABASE
{
    expect_sql "$(wc -l <names)|6|6|10001.0|10006.0" "SELECT count(DISTINCT name), min(n), max(n), min(low), max(high)
        FROM (SELECT name, count(*) AS n, min(value) AS low, max(value) AS high FROM metric WHERE name <> 'step'
              GROUP BY name)" "$1"
}

# The job's own word is the most specific source: a step that is told of twice is one sample.
metrics_file__beside_the_log__each_sample_once()
{
    export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
    speaks_twice "$source_dir"/configs/*.toml
    for file in "$source_dir"/configs/profiles/*.toml; do
        printf 'profile = "%s"\n[job]\ncommand = ["sh", "job.sh"]\n[training_spec]\nx = 1\n' \
            "$(basename "$file" .toml)" >sweep.toml
        run_ended 0 -d "$(basename "$file").db"
        expect_own_samples "$(basename "$file").db"
    done
    for file in torch-cpu torch-gpu deepspeed huggingface megatron; do
        expect_run only_status 0 run -c "$source_dir/configs/$file.toml" --limit 1 --progress none -d "$file.db" -- \
            sh "$PWD/job.sh"
        expect_own_samples "$file.db"
    done
}

profiles__every_metric__has_a_direction()
{
    for file in "$source_dir"/configs/profiles/*.toml; do
        awk -v file="${file##*/}" '
            function judge() { if (name && !better) { print file ": " name " has no direction"; bad = 1 } }
            /^\[/ { judge(); name = ""; better = 0 }
            /^\[job\.metrics\./ { name = $0 }
            /^better = / { better = 1 }
            END { judge(); exit bad }' "$file" || fail "see above"
    done
}

objective__against_the_direction__refused()
{
    printf '%s\n' 'profile = "deepspeed"' '[sweep]' 'objective = "max:latency"' '[job]' 'command = ["true"]' \
        '[training_spec]' 'x = 1' >sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:3:13: objective: "max:latency" contradicts better = "min" of '\
'"latency" (profile deepspeed:' check -c sweep.toml
}

profile_metric__warm_up_changed__still_read()
{
    printf '%s\n' 'profile = "megatron"' '[job]' "command = [\"cat\", \"$samples/megatron.log\"]" \
        '[job.metrics.step_time]' 'warmup = 0' 'take = "max"' '[training_spec]' 'x = 1' >sweep.toml
    run_ended 0
    expect_sql '9.0005|5' "SELECT value, count FROM summary WHERE name = 'step_time'"
}

missing_value__other_job_measured__never_wins()
{
    printf '%s\n' 'profile = "deepspeed"' '[sweep]' 'objective = "latency"' '[job]' \
        'command = ["sh", "-c", "[ {x} = 1 ] || cp '"$samples"'/deepspeed-metrics.json {job_dir}/metrics.json"]' \
        '[training_spec]' 'x = [1, 2]' >sweep.toml
    run_ended 3
    expect_sql '1|no-metric
2|' "SELECT x, failure FROM results ORDER BY x"
    expect_said among_stdout 0 'lowest latency 0.0705' best
}

run_cases "$@"
