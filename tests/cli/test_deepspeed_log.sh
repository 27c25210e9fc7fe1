#!/usr/bin/env bash
# meshsweep deepspeed: what it says and prints of a tuning, on the stand-in for DeepSpeed.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

config() # MEMBERS [AUTOTUNING-MEMBERS]
{
    echo "{ $1, \"autotuning\": { \"enabled\": true, \"num_gpus\": 8${2:+, $2} } }" >ds.json
    : >train.py
}

print_config__many_micro_batches__a_range()
{
    while IFS='|' read -r members range; do
        config '"train_micro_batch_size_per_gpu": "auto"' "$members"
        run_meshsweep deepspeed --print-config train.py --deepspeed ds.json
        expect_only_stdout_contains 0 "\"train_micro_batch_size_per_gpu\" = $range"
        cp .stdout sweep.toml
        expect_said among_stdout 0 'parallel_spec' check -c sweep.toml
    done <<'END'
"fast": true|{ from = 1, to = 1024 }
"metric": "latency"|{ from = 1, to = 1024, factor = 2 }
"max_train_micro_batch_size_per_gpu": 5|[1, 2, 3, 4, 5]
END
    # Of a search is said how many are tried.
    config '"train_micro_batch_size_per_gpu": "auto"' '"fast": false'
    run_meshsweep deepspeed --dry-run train.py --deepspeed ds.json
    expect_among_stdout 0 'the search staged tries at most 64 of them: first what saves memory, then speed, last the '\
'largest micro-batch' 'at most 256.0 device-hours, if every job runs until its time limit'
}

profile__stages_that_a_rule_takes_out__said_with_it()
{
    config '"train_micro_batch_size_per_gpu": [4, 8], "zero_optimization": {"stage": [0, 1]}, "optimizer": {"type": '\
'"OneBitAdam"}'
    run_meshsweep deepspeed --progress none train.py --deepspeed ds.json
    expect_only_stderr_contains 0 'meshsweep: ZeRO stage 1: excluded by zero-tested-optimizer: ZeRO accepts only'
    config '"train_micro_batch_size_per_gpu": [4, 8], "zero_optimization": {"stage": [0, 3]}'
    run_meshsweep deepspeed --progress none train.py --deepspeed ds.json
    expect_only_stderr_contains 0 'meshsweep: model information: 1000000000 parameters, 476.8 MiB of activations' \
        'meshsweep: ZeRO stage 0: 15.4 GiB a device without activations'
    expect_said among_stdout 0 '  ZeRO stage 3: 2.9 GiB a device without activations' status
}

summary__only_the_model_job__under_the_tunings_objective()
{
    config '"train_micro_batch_size_per_gpu": "auto"'
    run_meshsweep deepspeed --progress none --launcher 'python3 missing.py' train.py --deepspeed ds.json
    expect_only_stderr_contains 6 'the command is the same for all jobs, so correct it first'
    expect_file_contains autotuning_results/summary.txt 'Metric: throughput.' 'Total number of experiments: 0.' \
        'Only the model-information job has run (profile_model_info).'
    expect_file_contains autotuning_results/profile_model_info/reason.txt "can't open file"
}

byte_order_mark__of_each_file__read_over()
{
    local mark=$'\xef\xbb\xbf'
    config '"train_micro_batch_size_per_gpu": [1]'
    sed -i "1s/^/$mark/" ds.json
    echo "${mark}w0 slots=8" >hosts
    expect_said only_stdout_contains 0 '{ds_config}' deepspeed --print-config -H hosts train.py --deepspeed ds.json
    printf '%s\n' "${mark}distributed_type: DEEPSPEED" 'deepspeed_config:' '  deepspeed_config_file: ds.json' \
        >accelerate.yaml
    run_meshsweep deepspeed --print-config --launcher accelerate --config_file accelerate.yaml train.py
    expect_only_stdout_contains 0 '{ds_config}'
}

fsdp__beside_a_ds_config__refused_with_the_reason()
{
    config '"train_micro_batch_size_per_gpu": [1]'
    for words in '--fsdp full_shard' --fsdp=full_shard --fsdp; do
        # shellcheck disable=SC2086 # words
        run_meshsweep deepspeed --progress none train.py --deepspeed ds.json $words
        expect_only_stderr_contains 2 "meshsweep: the script has --fsdp beside a ds_config: both share out the model, \
and Hugging Face's Trainer refuses them together; leave --fsdp out, or tune FSDP with \`meshsweep run\` and the \
profile fsdp or fsdp2"
    done
    expect_run only_stdout 0 deepspeed --print-config train.py --deepspeed ds.json --fsdp ''
}

run_cases "$@"
