#!/usr/bin/env bash
# meshsweep deepspeed: DeepSpeed's autotuning, on a stand-in for DeepSpeed (tests/standin/deepspeed).
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

# The DeBERTa example.
deberta()
{
    cat >ds_config.json <<'END'
{
  "train_micro_batch_size_per_gpu": [8],
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "zero_optimization": {
    "stage": 2,
    "allgather_partitions": true,
    "allgather_bucket_size": 2e8,
    "overlap_comm": true,
    "reduce_scatter": true,
    "reduce_bucket_size": 2e8,
    "contiguous_gradients": true,
    "cpu_offload": true
  },
  "optimizer": { "type": "AdamW", "params": { "lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto" } },
  "scheduler": { "type": "WarmupLR",
    "params": { "warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto" } },
  "autotuning": { "enabled": true, "start_step": 5, "end_step": 10, "num_nodes": 1, "num_gpus": [2, 4],
    "metric": "latency", "arg_mappings": { "train_micro_batch_size_per_gpu": "per_device_train_batch_size" } }
}
END
    : >run_glue.py
}

# A smaller ds_config.
plain() # AUTOTUNING-MEMBERS MEMBERS
{
    echo "{ $2, \"autotuning\": { \"enabled\": true${1:+, $1} } }" >ds_config.json
    : >train.py
}

# Attempts of the sweep itself: the model-information job is none of its results.
own="job_id IN (SELECT job FROM results)"

tune() # ARGUMENT...
{
    run_meshsweep deepspeed --autotuning=tune --progress none "$@"
}

# The same of train.py and ds_config.json, which says nothing or whatever on standard error.
tuned() # STATUS [ARGUMENT...]
{
    tune train.py --deepspeed ds_config.json "${@:2}"
    expect_only_stderr "$1"
}

# The same of a ds_config.
tuned_of() { plain "$2" "$3"; tuned "$1" "${@:4}"; } # STATUS AUTOTUNING-MEMBERS MEMBERS [ARGUMENT...]

optimal() # PATH
{
    sqlite3 :memory: "SELECT json_extract(cast(readfile('autotuning_results/ds_config_optimal.json') AS TEXT), '$.$1')"
}

deberta_example__two_and_four_gpus__latency_made_small()
{
    deberta
    run_meshsweep deepspeed --autotuning tune --progress none run_glue.py --deepspeed_config ds_config.json \
        --model_name_or_path microsoft/deberta-v2-xxlarge --task_name mrpc --do_train --max_seq_length 256 \
        --per_device_train_batch_size 4 --learning_rate 13e-6 --output_dir "/tmp/mrpc out" --save_steps 0
    expect_only_stderr_contains 0 'the global batch differs between configurations'
    # The median of steps 7 to 10, after the one that is profiled: the batch is the script's, so by the timers of each.
    expect_sql '2|0.0332755|4
4|0.0362755|4' "SELECT num_devices_per_host, latency, count FROM results AS r JOIN job AS j ON j.id = r.job
        JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = 'latency' ORDER BY 1"
    expect_file_contains autotuning_results/summary.txt \
        '| global       |               2 |       0.0332755 | z2_tmbspg8_n1g2 |'
    # Nothing of the user's is lost, numbers keep their spelling, and the tuner's own section is gone.
    expect_sql 1 "SELECT json(cast(readfile('autotuning_results/ds_config_optimal.json') AS TEXT)) =
        json_set(json_remove(cast(readfile('ds_config.json') AS TEXT), '$.autotuning'),
                 '$.train_micro_batch_size_per_gpu', 8)" :memory:
    expect_file_contains autotuning_results/ds_config_optimal.json '"reduce_bucket_size": 2e8'
    # Both sides agree, and an argument with a blank stays one.
    expect_file_contains autotuning_results/cmd_optimal.txt \
        "run_glue.py --deepspeed_config $PWD/autotuning_results/ds_config_optimal.json"
    expect_file_contains autotuning_results/cmd_optimal.txt \
        "--per_device_train_batch_size 8 --learning_rate 13e-6 --output_dir '/tmp/mrpc out'"
    for file in cmd.txt ds_config.json exp.json metrics.json stdout.log stderr.log; do
        expect_file "autotuning_results/z2_tmbspg8_n1g4/$file"
    done
    expect_file_contains autotuning_results/profile_model_info/model_info.json '"num_params": 1000000000'
    expect_file_contains autotuning_exps/z2_tmbspg8_n1g4.json '"num_gpus": 4'
    # Again: nothing runs twice, and with another model everything is new (DeepSpeed would take the first one's
    # results).
    expect_run only_stderr 0 deepspeed --progress none run_glue.py --deepspeed_config ds_config.json \
        --model_name_or_path microsoft/deberta-v2-xxlarge --task_name mrpc --do_train --max_seq_length 256 \
        --per_device_train_batch_size 4 --learning_rate 13e-6 --output_dir "/tmp/mrpc out" --save_steps 0
    expect_sql 2 "SELECT count(*) FROM attempt WHERE $own"
    expect_after only_stderr 0 tune run_glue.py --deepspeed_config ds_config.json --model_name_or_path gpt2
    expect_sql 4 "SELECT count(*) FROM attempt WHERE $own"
}

print_config__run_as_a_sweep__the_same_jobs()
{
    deberta
    run_meshsweep deepspeed --print-config run_glue.py --deepspeed=ds_config.json
    expect_only_stdout_contains 0 '"num_devices_per_host" = [2, 4]'
    expect_no_file results.db
    cp .stdout sweep.toml
    expect_after only_stderr 0 tune run_glue.py --deepspeed=ds_config.json
    expect_said among_stdout 0 '2 jobs: + 0 new  = 2 done' plan -c sweep.toml
}

run__winner__launched_with_its_status()
{
    plain '"num_gpus": 2' \
        '"train_micro_batch_size_per_gpu": [1, 2], "train_batch_size": 8, "zero_optimization": {"stage": [1, 2]}'
    expect_run status 7 deepspeed --autotuning=run --progress none train.py --deepspeed ds_config.json --mode exit-7
    expect_stdout 'training with stage 1, micro-batch 2 on 2 devices'
    expect_stderr_contains 'the best configuration is'
    expect_sql 4 "SELECT count(*) FROM attempt WHERE $own"
    # At one global batch: the accumulation follows.
    [ "$(optimal gradient_accumulation_steps)" = 2 ] || fail "accumulation $(optimal gradient_accumulation_steps)"
}

# An attempt's own ds_config has the engine stop after the profile and write into the attempt's directory.
winner__launched_in_every_way__trains_and_leaves_its_attempt_alone()
{
    tuned_of 0 '"num_gpus": 2, "metric": "forward"' \
        '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}, "steps_per_print": 5' --mode train
    find . -name metrics.json -exec md5sum {} + >before
    expect_said only_stdout_contains 0 'ds_config_train.json' best --json
    sqlite3 :memory: "SELECT json_extract(cast(readfile('.stdout') AS TEXT), '\$.shell')" >shell.sh
    run_command sh shell.sh
    expect_only_stdout_contains 0 'training with stage 1, micro-batch 1 on 2 devices' 'global_step=5,'
    expect_said only_stdout_contains 0 'ds_config_train.json' best --out winner
    expect_file_contains winner/command.sh "--deepspeed \"\$dir\"'/ds_config.json'"
    cmp winner/ds_config.json autotuning_results/ds_config_optimal.json || fail 'another recipe'
    run_command winner/command.sh
    expect_only_stdout_contains 0 'training with stage 1, micro-batch 1 on 2 devices'
    expect_run only_stderr 0 report -o report.html
    expect_file_contains report.html 'ds_config_train.json'
    md5sum -c before >/dev/null || fail 'a launch wrote into an attempt that has ended'
    run_meshsweep run -c autotuning_exps/sweep.toml --metric max:throughput --progress none --run-full-experiment
    expect_only_stderr_contains 0 'launching the winner'
    expect_sql 1 "SELECT log_tail LIKE 'training with stage 1, micro-batch%' FROM attempt ORDER BY id DESC LIMIT 1"
    md5sum -c before >/dev/null || fail 'a launch wrote into an attempt that has ended'
}

all_out_of_memory__nothing_is_optimal_any_more()
{
    tuned_of 0 '"num_gpus": 1' '"train_micro_batch_size_per_gpu": [1, 4], "zero_optimization": {"stage": "all"}'
    expect_file autotuning_results/ds_config_optimal.json
    expect_run only_stderr 3 deepspeed --autotuning=run --progress none train.py --deepspeed ds_config.json --gpu-gib 1
    expect_stderr_contains 'no configuration could be run and measured, so there is no best one and nothing to launch'
    expect_no_file autotuning_results/ds_config_optimal.json autotuning_results/cmd_optimal.txt
    # The larger micro-batch needs no less than what ran out of memory.
    expect_sql 'oom|4
pruned|4' "SELECT iif(witness_id IS NULL, failure, 'pruned'), count(*) FROM job
        WHERE sweep_id = (SELECT id FROM current_sweep) GROUP BY 1"
    expect_file_contains autotuning_results/summary.txt 'none was measured'
    grep -q 'out of memory' autotuning_results/z3_*/stderr.log || fail "the reason is not in stderr.log"
    ! grep -q 'out of memory' autotuning_results/z3_*/stdout.log || fail "what went to stderr is in stdout.log"
}

metrics__each_by_old_and_new_name__in_its_direction()
{
    for metric in FLOPS FLOPS_per_gpu throughput forward fwd backward bwd latency step; do
        plain "\"num_gpus\": 2, \"metric\": \"$metric\"" \
            '"train_micro_batch_size_per_gpu": [1, 8], "zero_optimization": {"stage": 1}'
        expect_after only_stderr 0 tune -d "$metric/results.db" train.py --deepspeed ds_config.json
        case $metric in
        FLOPS* | throughput) best=8 ;;
        step) continue ;; # the same of both
        *) best=1 ;;
        esac
        expect_file_contains "$metric/autotuning_results/ds_config_optimal.json" \
            "\"train_micro_batch_size_per_gpu\": $best"
    done
    # The timers leave out the slow first steps and the one that is profiled, whatever the objective is.
    expect_sql 2 "SELECT count(*) FROM results WHERE abs(fwd + bwd + step - latency) < 0.001" throughput/results.db
}

# A fault that every job would fail of costs one start, with or without the job that asks for model information.
failures__of_the_command__cost_one_start()
{
    for info in '' ', "model_info": {"num_params": 1000000000}'; do
        rm -rf results.db* autotuning_*
        tuned_of 6 '"num_gpus": 2'"$info" '"zero_optimization": {"stage": "all"}' --mode flag
        expect_stderr_contains 'unrecognized arguments: --mode flag'
        expect_sql 1 "SELECT count(*) FROM attempt"
        expect "! [ -e autotuning_results/ds_config_optimal.json ]"
    done
    plain '"num_gpus": 2' \
        '"train_micro_batch_size_per_gpu": [1, 2, 4, 8], "zero_optimization": {"stage": [0, 1, 2, 3]}'
    expect_after only_stderr 6 tune -j 2 train.py --deepspeed ds_config.json --mode flag
    expect_sql 2 "SELECT count(*) FROM attempt"
}

# No other micro-batch is tried of a configuration that fails otherwise, and few others at all.
failures__alike__few_starts_pause_and_limit()
{
    tuned_of 6 '"num_gpus": 2' '"zero_optimization": {"stage": "all"}' --mode fail
    expect_sql 1 "SELECT count(*) <= 5 FROM attempt"
    rm -rf results.db* autotuning_*
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1, 2, 4, 8], "zero_optimization": {"stage": [0, 1]}'
    tune --pause-after 2 -j 1 train.py --deepspeed ds_config.json --mode fail
    expect_only_stderr_contains 6 '2 jobs failed the same way and none succeeded, so no more jobs are started'
    expect_sql "2" "SELECT count(*) FROM attempt WHERE $own"
    expect_after only_stderr 3 tune --max-fail 1 -j 1 train.py --deepspeed ds_config.json --mode fail
    expect_sql "3" "SELECT count(*) FROM attempt WHERE $own"
}

failures__by_how_they_ended__not_by_the_word_error()
{
    tuned_of 0 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [2], "zero_optimization": {"stage": 1}' --mode warn
    for mode in kill silent fail; do
        tuned 3 --mode "$mode"
    done
    expect_after only_stderr 3 tune --timeout 300ms train.py --deepspeed ds_config.json --mode hang
    expect_sql '|
signal|
no-metric|
exit|exit status 1: RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 768x768)
timeout|' "SELECT failure, iif(failure = 'exit', message, '') FROM attempt WHERE $own ORDER BY id"
    # The tuner's files say it in a sentence.
    grep -q 'still running after' \
        autotuning_results/*/reason.txt || fail "no reason in reason.txt"
    # A failure is tried again when one asks for it.
    expect_after only_stderr 3 tune --timeout 300ms --retry-failed train.py --deepspeed ds_config.json --mode silent
    expect_sql 6 "SELECT count(*) FROM attempt WHERE $own"
}

full_mode__default_spaces__what_changes_nothing_is_one_job()
{
    plain '"num_gpus": 2, "fast": false' '"train_micro_batch_size_per_gpu": [1], "zero_optimization":
        {"stage": 3, "allgather_bucket_size": [2e8, 5e8]}'
    run_meshsweep deepspeed --dry-run train.py --deepspeed ds_config.json
    expect_among_stdout 0 '24 combinations, 24 matched, 12 duplicates'
    # The ds_config's values stay, its own lists are axes, and the knobs make a difference.
    tuned_of 0 '"num_gpus": 2, "fast": false' '"train_micro_batch_size_per_gpu": [1], "zero_optimization":
        {"stage": 1, "allgather_bucket_size": 3e8, "reduce_bucket_size": [1e7, 9e8], "offload_optimizer": {"device": '\
'["none", "cpu"]}}'
    expect_sql 8 'SELECT count(*) FROM results'
    [ "$(optimal zero_optimization.reduce_bucket_size)" = 900000000 ] || fail "another bucket is best"
    [ "$(optimal zero_optimization.allgather_bucket_size)" = 300000000.0 ] || fail "the user's bucket is lost"
}

# Every micro-batch and accumulation within them, whatever the number of devices.
global_batch__largest_and_least__what_lies_between()
{
    tuned_of 0 '"num_gpus": 6, "max_train_batch_size": 32, "min_train_batch_size": 13' \
        '"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
        "zero_optimization": {"stage": 1}'
    expect_stderr_contains 'the global batch differs between configurations' 'are compared per sample'
    expect_sql '1x3 1x4 1x5 2x2 3x1 4x1 5x1' "SELECT group_concat(m || 'x' || g, ' ') FROM
        (SELECT train_micro_batch_size_per_gpu AS m, gradient_accumulation_steps AS g FROM results ORDER BY 1, 2)"
    [ "$(optimal train_micro_batch_size_per_gpu)x$(optimal gradient_accumulation_steps)" = 5x1 ] ||
        fail "another batch is best"
    plain '"num_gpus": 6, "max_train_batch_size": 4096' '"zero_optimization": {"stage": 1}'
    expect_said among_stdout 0 ' matched' deepspeed --dry-run train.py --deepspeed ds_config.json
    tuned_of 2 '"num_gpus": 2, "max_train_batch_size": 8, "min_train_batch_size": 9' '"zero_optimization": {"stage": 1}'
    expect_stderr_contains 'max_train_batch_size, 8, is smaller than min_train_batch_size, 9'
}

# One that cannot be shared out evenly is tried at the nearest that each micro-batch can have on each cluster; none that
# is listed is left out, and only then is it said that batches differ.
global_batch__one__or_the_nearest()
{
    local batches="SELECT group_concat(m || 'x' || g || '@' || d, ' ')
        FROM (SELECT train_micro_batch_size_per_gpu AS m, gradient_accumulation_steps AS g, num_devices_per_host AS d
              FROM results WHERE state = 'ok' AND in_sweep ORDER BY 3, 1)"
    tuned_of 0 '"num_gpus": [2, 4]' \
        '"train_micro_batch_size_per_gpu": [2, 4], "train_batch_size": 16, "zero_optimization": {"stage": 1}'
    expect_stderr_lacks 'global batch'
    tuned_of 0 '"num_gpus": 6' \
        '"train_micro_batch_size_per_gpu": [1, 2, 4, 8, 16], "train_batch_size": 256, "zero_optimization": {"stage": 1}'
    expect_stderr_lacks 'set train_batch_size'
    expect_stderr_contains 'train_batch_size 256 cannot be divided evenly among the data-parallel ranks; each '\
'micro-batch is tried at the nearest batch that can, and global batches differ: compared per sample'
    expect_sql '1x43@6 2x21@6 4x11@6 8x5@6 16x3@6' "$batches"
    expect_said only_stdout_contains 0 'gradient_accumulation_steps=11: ok' why train_micro_batch_size_per_gpu=4
    # Four devices divide 64, but not by micro-batches of 3.
    plain '"num_gpus": 4' \
        '"train_micro_batch_size_per_gpu": [2, 3], "train_batch_size": 64, "zero_optimization": {"stage": 1}'
    tune train.py --deepspeed ds_config.json
    expect_among_stderr 0 'evenly among the data-parallel ranks by micro-batches of 3; each micro-batch is tried'
    expect_sql '2x8@4 3x5@4' "$batches"
    tuned_of 0 '"num_gpus": [2, 3, 4, 6]' \
        '"train_micro_batch_size_per_gpu": [4], "train_batch_size": 64, "zero_optimization": {"stage": 1}'
    expect_sql '4x8@2 4x5@3 4x4@4 4x3@6' "$batches"
    tuned_of 0 '"num_gpus": 6' \
        '"train_micro_batch_size_per_gpu": "auto", "train_batch_size": 64, "zero_optimization": {"stage": 1}'
    expect_sql 1 "SELECT count(*) > 5 AND min(abs(train_micro_batch_size_per_gpu * gradient_accumulation_steps * 6 - 64)
        <= 8) FROM results WHERE in_sweep"
    # A list of micro-batches under a limit, with accumulations.
    rm -rf results.db* autotuning_*
    tuned_of 0 '"num_gpus": 2, "max_train_batch_size": 16' \
        '"train_micro_batch_size_per_gpu": [2, 4], "zero_optimization": {"stage": 1}'
    expect_sql '2x1 2x2 2x3 2x4 4x1 4x2' "SELECT group_concat(m || 'x' || g, ' ') FROM
        (SELECT train_micro_batch_size_per_gpu AS m, gradient_accumulation_steps AS g FROM results
        WHERE state = 'ok' ORDER BY 1, 2)"
}

# Each value that nothing goes with is named once where accumulations are given or batches have limits.
global_batch__listed_and_never_possible__named()
{
    while IFS='|' read -r knobs listed said; do
        listed=${listed//MICRO/\"train_micro_batch_size_per_gpu\"}
        plain "\"num_gpus\": 4$knobs" "${listed//STEPS/\"gradient_accumulation_steps\"}"
        expect_run only_status 0 deepspeed --dry-run train.py --deepspeed ds_config.json
        [ "$(sed -n 's/^meshsweep: [a-z]*_\([a-z]*\)_[a-z_]* \([0-9]*\) is not tried: .*/\1 \2/p' .stderr |
            paste -s -d ,)" = "$said" ] || fail "expected of $listed: $said"
    done <<'END'
|"train_batch_size": 64, MICRO: [3, 4], STEPS: [4, 5]|micro 3,accumulation 5
|"train_batch_size": 64, STEPS: [4, 5]|accumulation 5
|"train_batch_size": [64, 66], MICRO: [1, 3]|batch 66,micro 3
|"train_batch_size": 64, MICRO: 3|micro 3
, "max_train_batch_size": 16|MICRO: [1, 4, 8]|micro 8
, "min_train_batch_size": 9|MICRO: [1, 2, 3], STEPS: 1|micro 1,micro 2
, "min_train_batch_size": 9|MICRO: [1, 2, 3]|
END
    plain '"num_gpus": 4, "max_train_batch_size": 16' \
        '"train_micro_batch_size_per_gpu": [4, 8], "zero_optimization": {"stage": 1}'
    tune train.py --deepspeed ds_config.json
    expect_among_stderr 0 'train_micro_batch_size_per_gpu 8 is not tried: micro-batch x accumulation x 4 data-'\
'parallel ranks is then never max_train_batch_size 16 or less'
    expect_said only_stdout_contains 0 'excluded 1 by rule max_train_batch_size' why train_micro_batch_size_per_gpu=8
}

tuners__fewer_trials__the_same_files()
{
    local config='"train_micro_batch_size_per_gpu": [1, 2, 4, 8], "train_batch_size": 16, "zero_optimization": '\
'{"stage": "all"}'
    tuned_of 0 '"num_gpus": 2, "tuner_type": "random", "tuner_num_trials": 3' "$config"
    expect_sql 3 "SELECT count(*) FROM attempt WHERE $own"
    expect_file_contains autotuning_results/summary.txt 'Total number of experiments: 3.'
    plain '"num_gpus": 2, "tuner_type": "model_based", "tuner_early_stopping": 5, "exps_dir": "e", "results_dir": "r"' \
        "$config"
    expect_after only_stderr 0 tune -d model.db train.py --deepspeed ds_config.json
    expect_sql 1 "SELECT count(*) BETWEEN 5 AND 15 FROM attempt WHERE $own" model.db
    expect_file r/cmd_optimal.txt e/sweep.toml
}

arg_mappings__blanks_and_spellings__both_sides_agree()
{
    plain '"num_gpus": 2, "arg_mappings": {"train_micro_batch_size_per_gpu ": " --per-device-train-batch-size ", '\
'"gradient_accumulation_steps": "gas"}' \
        '"train_micro_batch_size_per_gpu": [2], "train_batch_size": 16, "zero_optimization": {"stage": 1}'
    expect_after only_stderr 0 tune train.py --per_device_train_batch_size=4 --deepspeed ds_config.json
    expect_file_contains autotuning_results/cmd_optimal.txt 'train.py --per_device_train_batch_size=2 ' ' --gas 4'
}

bad_input__each__one_sentence_with_its_place()
{
    plain '"num_gpus": 2, "tuner_typ": "random", "metric": "speed", "fast": 1' '"train_batch_size": 8'
    tune train.py --deepspeed ds_config.json
    expect_only_stderr 2 \
        'meshsweep: ds_config.json:1:74: autotuning has no key "tuner_typ"; did you mean "tuner_type"?
meshsweep: ds_config.json:1:97: autotuning.metric must be "throughput", "latency", "FLOPS", "FLOPS_per_gpu", '\
'"forward", "fwd", "backward", "bwd" or "step"
meshsweep: ds_config.json:1:116: autotuning.fast must be true or false'
    plain '"num_gpus": 2' '"train_batch_size": 8'
    tune nowhere.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: nowhere.py: no such script; give its path, or --module for a Python module'
    tune train.py --lr 1
    expect_only_stderr 2 'meshsweep: no ds_config is given; add --deepspeed FILE or --deepspeed_config FILE to the '\
'script'"'"'s arguments'
    tune train.py --deepspeed nowhere.json
    expect_only_stderr 2 'meshsweep: nowhere.json: cannot open: No such file or directory'
    expect_said_by only_stderr_contains 2 'no script is given' tune
    tune --launcher ' ' train.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: --launcher: the name is empty; give torchrun, accelerate, srun or a command '\
'line of your own'
    tune --timeout never train.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: --timeout never: must be a duration such as 90, 90s, 10m or 1h30m'
    plain '' '"train_batch_size": 8'
    CUDA_VISIBLE_DEVICES='' tune train.py --deepspeed ds_config.json
    expect_only_stderr_contains 2 'this machine has no devices; give the number of devices per host with --num_gpus N'
    printf '{ /* comment\n}' >ds_config.json
    tuned 2
    expect_stderr_contains 'ds_config.json:1:3: '
    echo '{"train_batch_size": 8,,}' >ds_config.json
    tuned 2
    expect_stderr_contains 'ds_config.json:1:24: '
    tuned_of 2 '"num_gpus": 2, "fast": 1' '"train_batch_size": 0, "zero_optimization": {"stage": 1}'
    expect_stderr_contains 'autotuning.fast must be true or false'
    expect_stderr_contains 'train_batch_size must be a whole number above 0'
    tuned_of 2 '"num_gpus": 2' '"zero_optimization": {"stage": [4]}'
    expect_stderr_contains 'zero_optimization.stage must be 0, 1, 2 or 3, not 4; DeepSpeed refuses it'
    echo '{"train_batch_size": 4, "autotuning": 4}' >ds_config.json
    tune train.py --deepspeed ds_config.json
    expect_only_stderr 2 \
        'meshsweep: ds_config.json:1:25: autotuning must be a table, not 4; DeepSpeed refuses it (runtime/config.py)'
    # A list of tables, each of which would do.
    tuned_of 2 '"num_gpus": 2' '"zero_optimization": [{"stage": 1}, {"stage": 2}]'
    expect_stderr_contains '/ds_config.json:1:3: zero_optimization must be a table, or "all" for every stage'
}

trainers_arguments__nothing_mapped__both_sides_agree()
{
    plain '"num_gpus": 2' \
        '"train_micro_batch_size_per_gpu": [2, 4], "train_batch_size": 16, "zero_optimization": {"stage": 1},
        "amp": {"enabled": false, "opt_level": "O2"}'
    expect_after only_stderr 0 tune train.py --per-device-train-batch-size=1 --deepspeed ds_config.json
    expect_sql 'ok|2' 'SELECT state, count(*) FROM results GROUP BY 1'
    expect_file_contains autotuning_results/cmd_optimal.txt 'train.py --per-device-train-batch-size=4 '
    expect_file_contains autotuning_results/cmd_optimal.txt ' --gradient_accumulation_steps 2' ' --fp16_opt_level O2'
}

trainers_learning_rate__twice_and_different__refused_before_it_starts()
{
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [2], "zero_optimization": {"stage": 1},
        "optimizer": {"type": "AdamW", "params": {"lr": [1e-5, 3e-5]}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 3e-5}}'
    run_meshsweep deepspeed --dry-run train.py --per_device_train_batch_size 1 --deepspeed ds_config.json
    expect_among_stdout 0 '2 combinations, 1 matched' trainer-learning-rate
    expect_said among_stdout 0 '2 combinations, 2 matched' deepspeed --dry-run train.py --deepspeed ds_config.json
}

# A pipeline's stages share no samples, and ZeRO 2 is none for them.
pipeline__of_the_ds_config__counts_in_rules_and_batches()
{
    tuned_of 0 '"num_gpus": 4' '"train_micro_batch_size_per_gpu": [2], "zero_optimization": {"stage": [1, 2]},
        "gradient_accumulation_steps": 3, "pipeline": {"stages": 2}'
    expect_stderr_contains 'excluded by pipeline-zero-stage' 'the best configuration is'
    expect_sql '1|ok' 'SELECT "zero_optimization.stage", state FROM results'
    expect_file_contains autotuning_results/ds_config_optimal.json '"train_batch_size": 12'
    # Six samples are shared out among the two ranks of each stage.
    plain '"num_gpus": 4' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1},
        "train_batch_size": 6, "pipeline": {"stages": 2}'
    run_meshsweep deepspeed --print-config train.py --deepspeed ds_config.json
    expect_only_stdout_contains 0 'train_batch_size = 6'
}

# Whatever the script looks like: its own words say what it is, or its parser. The argument's default is 8, whatever the
# ds_config says.
trainers_script__known_by_what_it_says_or_its_parser__given_arguments()
{
    tuned_of 0 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [2, 4], "zero_optimization": {"stage": 1}' \
        --mode trainer
    expect_stderr_contains "meshsweep: the script is one of Hugging Face's Trainer, whose arguments must say \
what the ds_config says; trying once more with --per_device_train_batch_size" \
        'the best configuration is'
    expect_file_contains autotuning_results/cmd_optimal.txt ' --per_device_train_batch_size '
    expect_sql 2 "SELECT count(*) FROM results WHERE state = 'ok'"
    rm -rf results.db* autotuning_*
    echo 'parser = HfArgumentParser(TrainingArguments)' >train.py
    tuned 0
    expect_stderr_contains 'the best configuration is'
    expect_file_contains autotuning_results/cmd_optimal.txt ' --per_device_train_batch_size '
}

# Ranks that share a sequence share its batch, too.
batch__divided_among_sequence_parallel_ranks__each_degree_is_tried()
{
    plain '"num_gpus": 2' '"train_batch_size": 16, "sequence_parallel_size": [1, 2], "zero_optimization": {"stage": 1}'
    run_meshsweep deepspeed --dry-run train.py --deepspeed ds_config.json
    expect_among_stdout 0 '9 matched' 'train_micro_batch_size_per_gpu=16 sequence_parallel_size=2'
    tuned 0
    expect_sql '1|8
2|8' "SELECT sequence_parallel_size, max(train_micro_batch_size_per_gpu) FROM results WHERE state = 'ok' GROUP BY 1"
}

metrics_file__none_of_the_engines__made_in_its_names_and_units()
{
    tuned_of 0 '"num_gpus": 2, "metric": "latency"' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}' --mode lines
    expect_sql '1|1|1' \
        "SELECT json_extract(m, '\$.latency') BETWEEN 11000 AND 12000, json_extract(m, '\$.step') BETWEEN 2000 AND 3000,
        json_extract(m, '\$.step_time') IS NULL FROM
        (SELECT cast(readfile('autotuning_results/z1_gas1_tmbspg1/metrics.json') AS TEXT) AS m)" :memory:
}

lists__anywhere__axes_with_each_value_once()
{
    plain '"num_gpus": 4' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1, "offload_optimizer": {"device":
        ["none", "cpu"]}}, "tensor_parallel": {"autotp_size": [1, 2]}, "gradient_accumulation_steps": [1, 2],
        "optimizer": {"type": "AdamW", "params": {"lr": [1e-5, 3e-5], "betas": [0.9, 0.95]}}'
    expect_said among_stdout 0 '16 combinations, 16 matched' deepspeed --dry-run train.py --deepspeed ds_config.json
    tuned_of 0 '"num_gpus": 4' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1},
        "optimizer": {"type": "AdamW", "params": {"betas": [[0.9, 0.95], [0.8, 0.99]]}}'
    expect_sql '[0.8,0.99]
[0.9,0.95]' "SELECT DISTINCT json_extract(s.json, '\$.\"optimizer.params.betas\"') FROM job AS j JOIN spec AS s
        ON s.id = j.parallel_id ORDER BY 1"
    expect_file_contains autotuning_results/ds_config_optimal.json '"betas": ['
    tuned_of 2 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [8, 4, 8.0], "zero_optimization": {"stage": 1}'
    expect_stderr_contains 'ds_config.json:1:3: "train_micro_batch_size_per_gpu": 8.0 is listed twice'
    tuned_of 2 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [0, 8], "zero_optimization": {"stage": [1, 1]}'
    expect_stderr_contains 'train_micro_batch_size_per_gpu must be a whole number above 0, not 0'
    tuned_of 2 '"num_gpus": 2' '"train_batch_size": -4, "zero_optimization": {"stage": 1}'
    expect_stderr_contains 'ds_config.json:1:3: train_batch_size must be a whole number above 0'
}

model_info__without_parameters__still_asked_for()
{
    plain '"num_gpus": 2, "model_info": {"hidden_size": 64, "num_layers": 2}' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    run_meshsweep deepspeed --print-config train.py --deepspeed ds_config.json
    expect_only_stdout_contains 0 '[model_info.with]' 'hidden = 64'
    plain '"num_gpus": 2, "model_info": {"profile": false}' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    expect_run only_stdout 0 deepspeed --print-config train.py --deepspeed ds_config.json
    expect_stdout_lacks '[model_info]'
}

# The stand-in itself says what DeepSpeed says.
standin__what_deepspeed_refuses__in_its_words()
{
    echo '{"train_batch_size": 9, "train_micro_batch_size_per_gpu": 2}' >ds.json
    run_command deepspeed --num_gpus=2 train.py --deepspeed ds.json
    expect_only_stderr_contains 1 \
        'train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 9 != 2 * 1 * 2'
    echo '{"fp16": {"enabled": true}, "bf16": {"enabled": true}}' >ds.json
    run_command deepspeed train.py --deepspeed ds.json
    expect_only_stderr_contains 1 'bfloat16 and fp16 modes cannot be simultaneously enabled'
    run_command deepspeed --include=a:0 --num_gpus=2 train.py --deepspeed ds.json
    expect_only_stderr_contains 1 'Cannot specify num_nodes/gpus with include/exclude'
    echo 'w0 slot=2' >hosts
    run_command deepspeed --hostfile=hosts train.py --deepspeed ds.json
    expect_only_stderr_contains 1 'Hostfile contains a bad entry: w0 slot=2, unable to proceed with launching'
}

run_cases "$@"
