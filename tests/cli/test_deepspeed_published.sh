#!/usr/bin/env bash
# meshsweep deepspeed on memory and time made of what DeepSpeed published of its tuner on eight models
# (tests/standin/published): the winner is at least as fast as the published one, in at most half the trials.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

configure() # AUTOTUNING-MEMBERS FP16
{
    cat >ds_config.json <<END
{ "train_micro_batch_size_per_gpu": "auto", "zero_optimization": { "stage": "all" }, "fp16": { "enabled": $2 },
  "autotuning": { "enabled": true, "num_gpus": 16${1:+, $1} } }
END
    : >train.py
}

# The model-information job is none of the trials, as it is none of DeepSpeed's experiments.
tune() # MODEL
{
    rm -rf results.db* autotuning_*
    expect_run only_stderr 0 deepspeed --progress none train.py --deepspeed ds_config.json --published "$1"
}

winner() # STAGE MICRO-BATCH RATE MOST-TRIALS
{
    expect_sql "$1|$2|1" "SELECT \"zero_optimization.stage\", train_micro_batch_size_per_gpu, throughput >= $3
        FROM results WHERE state = 'ok' ORDER BY throughput DESC LIMIT 1"
    expect_stderr_matches 'search: [0-9]+ trials, [0-9]+ ok, 0 stopped early, [0-9] failed(, [0-9]+ not tried '\
'because they need too much memory)?; all stages are done$'
    expect_sql 1 "SELECT count(*) <= $4 FROM trial WHERE asked IS NOT NULL"
    expect_sql 1 "SELECT count(*) = count(DISTINCT job_id) FROM trial WHERE asked IS NOT NULL"
}

# Lines of: MODEL FP16 STAGE MICRO-BATCH RATE EXPERIMENTS AUTOTUNING-MEMBERS, as published.
each_model__published__as_fast_in_half_the_trials()
{
    while read -r model fp16 stage micro rate experiments limits; do
        configure "\"model_info\": { \"gpu_mem\": 34359738368 }${limits:+, $limits}" "$fp16"
        tune "$model"
        winner "$stage" "$micro" "$rate" $((experiments / 2))
    done <<'END'
distilbert false 0 256 5305.067 11 "max_train_batch_size": 4096
bert-base false 0 235 2736.561 34 "max_train_batch_size": 4096
bert-large false 1 93 808.168 22
gpt2 true 1 14 431.586 17
gpt2-medium true 1 6 163.3 15
gpt2-large true 1 3 69.061 13
gpt2-xl true 1 1 27.497 9
deberta true 1 11 162.395 12
END
}

# Neither how much memory a device has is known, so failures alone show the limit.
device_memory__unknown__the_winner_all_the_same()
{
    configure '' true
    tune gpt2
    winner 1 14 431.586 17
    tune deberta
    winner 1 11 162.395 12
}

# num_tuning_micro_batch_sizes is how many are tried between half of the largest and it.
deberta__more_sizes_asked_for__tried()
{
    configure '"model_info": { "gpu_mem": 34359738368 }, "num_tuning_micro_batch_sizes": 3' true
    tune deberta
    winner 1 11 162.395 9
    expect_sql '5,7,9,11' "SELECT group_concat(m) FROM (SELECT train_micro_batch_size_per_gpu AS m FROM results
        WHERE state = 'ok' AND \"zero_optimization.stage\" = 1 AND m IN (5, 7, 9, 11) ORDER BY m)"
}

run_cases "$@"
