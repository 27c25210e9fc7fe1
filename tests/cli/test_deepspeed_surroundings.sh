#!/usr/bin/env bash
# meshsweep deepspeed: what jobs are given beside their ds_config (environment, arguments), and results of another
# time, on the stand-in for DeepSpeed.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

tuning() # [AUTOTUNING-MEMBERS [MEMBERS [MICRO-BATCHES]]]
{
    echo "{ \"train_micro_batch_size_per_gpu\": ${3-[1, 2]}, \"zero_optimization\": {\"stage\": 1}${2:+, $2},
        \"autotuning\": { \"enabled\": true, \"num_gpus\": 2${1:+, $1} } }" >ds_config.json
    echo 'print("first")' >train.py
}

tune() # ARGUMENT...
{
    run_meshsweep deepspeed --progress none "$@" train.py --deepspeed ds_config.json
}

# The environment of the attempt that began last, or of the training.
expect_given() # DIRECTORY SETTING
{
    grep -qxF -e "$2" "$1/environment" || fail "not given to the job: $2"
}

last_attempt()
{
    echo "results.db.d/$(sql 'SELECT directory FROM attempt ORDER BY id DESC LIMIT 1')"
}

environment__of_the_caller__given_to_jobs_and_to_the_training()
{
    tuning
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True WANDB_MODE=offline HF_TOKEN=hf_secretsecret MY_OWN=1
    expect_after status 0 tune --autotuning=run
    expect_stdout_contains 'training with stage 1'
    expect_stderr_lacks 'the environment'
    for directory in "$(last_attempt)" autotuning_results; do
        expect_given "$directory" PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
        expect_given "$directory" WANDB_MODE=offline
        expect_given "$directory" HF_TOKEN=hf_secretsecret
        expect_given "$directory" MY_OWN=1
    done
    expect_sql 'offline|[redacted]|' "SELECT json_extract(provenance, '\$.environment.WANDB_MODE'),
        json_extract(provenance, '\$.environment.HF_TOKEN'), json_extract(provenance, '\$.environment.PWD')
        FROM runner ORDER BY id DESC LIMIT 1"
    ! grep -aq hf_secretsecret results.db || fail 'the secret is in the database'
    # The usual variables alone, where that is asked for.
    export HF_HOME=/hf
    rm -rf results.db* autotuning_*
    expect_after only_stderr 0 tune --env-clean
    expect_given "$(last_attempt)" HF_HOME=/hf
    ! grep -q WANDB_MODE "$(last_attempt)/environment" || fail 'WANDB_MODE is given'
}

environment__another_than_before__told_once_per_variable()
{
    tuning
    export WANDB_MODE=offline OMP_NUM_THREADS=4 HF_TOKEN=one
    expect_after only_stderr 0 tune
    expect_stderr_lacks 'the environment'
    export WANDB_MODE=online HF_TOKEN=two NEW=1
    unset OMP_NUM_THREADS
    tune
    expect_only_stderr_contains 0 'meshsweep: the environment has changed since the last run: NEW was not set, is 1; '\
'OMP_NUM_THREADS was 4, is not set; WANDB_MODE was offline, is online'
}

arg_mappings__partial_or_a_key_of_no_ds_config__over_the_trainers_own_or_told()
{
    tuning '"arg_mappings": {"gradient_clipping": "--clip"}' '"train_batch_size": 16, "gradient_clipping": 0.5'
    run_meshsweep deepspeed --progress none train.py --per_device_train_batch_size=4 --deepspeed ds_config.json
    expect_only_stderr 0
    expect_sql 'ok|2' 'SELECT state, count(*) FROM results GROUP BY 1'
    expect_file_contains autotuning_results/cmd_optimal.txt 'train.py --per_device_train_batch_size=2 '
    expect_file_contains autotuning_results/cmd_optimal.txt ' --gradient_accumulation_steps 4' ' --clip 0.5'
    ! grep -q max_grad_norm autotuning_results/cmd_optimal.txt || fail 'mapped twice'
    # A key that no ds_config has.
    tuning '"arg_mappings": {"optimiser.params.lr": "--lr"}'
    tune
    expect_only_stderr_contains 2 "ds_config.json:2:74: autotuning.arg_mappings: a ds_config has no key "\
'"optimiser.params.lr"; did you mean "optimizer"?'
    expect_stderr_lacks sweep.toml
    tuning '"arg_mappings": {"train_micro_batch_size": "--batch"}'
    tune
    expect_only_stderr_contains 2 "ds_config.json:2:74: autotuning.arg_mappings: a ds_config has no key "\
'"train_micro_batch_size"'
    expect_stderr_lacks sweep.toml
}

# The script's own batch is under another name, so that all but one contradict it.
most_fail_alike__said_before_what_is_best__status_3()
{
    tuning '' '"gradient_accumulation_steps": [1, 2]' '[1, 2, 4]'
    cp "$source_dir/tests/standin/deepspeed" deepspeed
    sed -i 's/--per_device_train_batch_size)/--batch)/' deepspeed
    PATH=$PWD:$PATH run_meshsweep deepspeed --autotuning=run --progress none train.py --batch 2 \
        --deepspeed ds_config.json
    expect_only_stderr_contains 3 "4 of 6 configurations failed the same way, so the best one may not have been \
found:"
    expect_stderr_contains 'mismatch TrainingArguments values'
    expect_stderr_contains 'meshsweep: of what is left the best configuration is autotuning_results/'
    tail -n 1 .stderr | grep -q 'of what is left the best' || fail 'it is not said first'
}

# A number is where the search begins, and may be what fits another machine.
micro_batch__too_large_to_begin_at__smaller_ones_are_tried()
{
    tuning '"model_info": {"num_params": 1000000000}' '' 64
    run_meshsweep deepspeed --progress none train.py --params-millions 1000 --gpu-gib 18 --deepspeed ds_config.json
    expect_only_stderr_contains 0 'meshsweep: nothing runs at the given micro-batch; trying smaller ones'
    expect_stderr_contains 'meshsweep: the best configuration is autotuning_results/ds_config_optimal.json'
    expect_sql 12 "SELECT max(train_micro_batch_size_per_gpu) FROM results WHERE state = 'ok'"
    # A list is tried as it stands.
    rm -rf results.db* autotuning_*
    tuning '"model_info": {"num_params": 1000000000}' '' '[64]'
    run_meshsweep deepspeed --progress none train.py --params-millions 1000 --gpu-gib 18 --deepspeed ds_config.json
    expect_only_stderr 3
    expect_stderr_lacks 'smaller ones'
}

is_hanging()
{
    [ -n "$(sqlite3 results.db "SELECT 1 FROM attempt AS a JOIN results AS r ON r.job = a.job_id
        WHERE a.state = 'running' AND train_micro_batch_size_per_gpu = 2" 2>/dev/null)" ]
}

interrupted__half_way__the_best_so_far_is_called_so()
{
    tuning
    start_until is_hanging 30 deepspeed -j 1 --progress none train.py --deepspeed ds_config.json --mode hang-2
    signal_command INT
    wait_until "grep -q 'waiting for the running ones' .stderr" 20
    end_command INT only_stderr_contains 130 'interrupted: the best configuration so far is '\
'autotuning_results/ds_config_best_so_far.json'
    expect_file autotuning_results/cmd_best_so_far.txt
    expect_no_file autotuning_results/ds_config_optimal.json autotuning_results/cmd_optimal.txt
    expect_file_contains autotuning_results/summary.txt 'Interrupted: not everything was tried'
    expect_after only_stderr 0 tune
    expect_file autotuning_results/ds_config_optimal.json
}

names__several_alike__tell_the_knobs()
{
    tuning '' '"fp16": {"enabled": [true, false]}, "optimizer": {"type": "Adam", "params": {"lr": [1e-5, 3e-5]}}' '[1]'
    expect_after only_stderr 0 tune
    for name in fp16-true_lr-1e-05 fp16-true_lr-3e-05 fp16-false_lr-1e-05 fp16-false_lr-3e-05; do
        expect_file "autotuning_results/z1_gas1_tmbspg1_$name/exp.json" "autotuning_exps/z1_gas1_tmbspg1_$name.json"
    done
}

files__of_a_job_that_failed__its_own_words_and_the_reason()
{
    tuning
    expect_run only_stderr 3 deepspeed --progress none train.py --deepspeed ds_config.json --mode fail
    expect_file_contains autotuning_results/z1_gas1_tmbspg1/stderr.log 'Traceback (most recent call last):'
    expect_file_contains autotuning_results/z1_gas1_tmbspg1/reason.txt 'exit status 1: RuntimeError: mat1 and mat2'
}

# As many as are least while nothing is known, then 5 seconds of them, by the longest one of the nearest batch. A job
# that starts before the one before it is recorded knows nothing of it.
profiled_steps__where_they_are_short__more_and_the_same_jobs()
{
    steps() # LAST: how many attempts measured to there
    {
        grep -l "\"end_profile_step\": $1," results.db.d/*/*/ds_config.json | wc -l
    }
    tuning '"model_info": {"num_params": 1000000}' '' '[1, 2, 4, 8, 16]'
    expect_after only_stderr 0 tune -j 1
    expect "[ $(steps 8) -ge 1 ] && [ $(steps 53) -ge 3 ] && [ $(($(steps 8) + $(steps 53))) = 5 ]"
    expect_sql '5|50' "SELECT min(count), max(count) FROM summary WHERE name = 'throughput'"
    # They are the same jobs again, whatever is known now, and side by side.
    before=$(sql 'SELECT group_concat(lower(hex(key))) FROM job')
    expect_after only_stderr 0 tune -j 2
    expect_sql "$before|5" 'SELECT (SELECT group_concat(lower(hex(key))) FROM job), count(*) FROM attempt'
    # A job that is new here finds the others' steps; what one says oneself holds.
    sql 'DELETE FROM job WHERE id IN (SELECT min(id) FROM job)'
    rm -r results.db.d/*/*/ds_config.json
    expect_after only_stderr 0 tune -j 2
    expect "[ $(steps 53) = 1 ]"
    expect_sql 5 'SELECT count(*) FROM attempt'
    rm -r results.db*
    # Values that are in metrics.json alone are there after the last step, to which a script may not come.
    tuning '"model_info": {"num_params": 1000000}, "metric": "FLOPS"' '' '[1, 2, 4, 8, 16]'
    expect_after only_stderr 0 tune
    expect "[ $(steps 8) = 5 ]"
    rm -r results.db*
    tuning '"model_info": {"num_params": 1000000}, "end_profile_step": 6'
    expect_after only_stderr 0 tune
    expect "[ $(steps 6) = 2 ]"
}

# A job that writes to both, and more to its standard error than a pipe holds.
streams__of_each_job__apart_and_in_one_log()
{
    tuning
    printf '%s\n' '#!/bin/bash' 'echo "to stdout"' 'sleep 0.3' 'echo "to stderr" >&2' 'sleep 0.3' '"$@"' \
        'yes warning | head -c 200000 >&2' >both
    chmod +x both
    expect_after only_stderr 0 tune --launcher "$PWD/both deepspeed --num_gpus 2"
    for result in autotuning_results/z?_*/; do
        expect "[ \"\$(head -n 1 $result/stdout.log)\" = 'to stdout' ]"
        expect "[ \"\$(head -n 1 $result/stderr.log)\" = 'to stderr' ]"
        expect "[ \$(grep -c CurrSamplesPerSec= $result/stdout.log) -gt 2 ]"
        expect "[ \$(grep -c warning $result/stderr.log) = 25000 ]" "! grep -qE 'to stderr|warning' $result/stdout.log"
        expect "! grep -qE 'to stdout|CurrSamplesPerSec' $result/stderr.log"
    done
    for log in results.db.d/*/*/output.log; do
        expect "[ \"\$(grep '^to std' $log | paste -sd ,)\" = 'to stdout,to stderr' ]"
        expect "[ \$(cat ${log%/*}/std*.log | wc -c) = \$(stat -c %s $log) ]"
    done
}

script__edited__said_and_run_again_with_stale()
{
    tuning
    expect_after only_stderr 0 tune
    expect_stderr_lacks 'results were made with a different'
    echo 'print("second")' >train.py
    tune
    expect_only_stderr_contains 0 "meshsweep: 2 of 2 results were made with a different $PWD/train.py than now; \
--stale runs them again"
    expect_sql 2 "SELECT count(*) FROM attempt WHERE job_id IN (SELECT job FROM results)"
    expect_said_by only_stderr_contains 0 '2 of 2 results are stale; running them again' tune --stale
    expect_sql 4 "SELECT count(*) FROM attempt WHERE job_id IN (SELECT job FROM results)"
    expect_after only_stderr 0 tune
    expect_stderr_lacks 'results were made with a different'
}

run_cases "$@"
