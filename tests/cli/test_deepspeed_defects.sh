#!/usr/bin/env bash
# Defects of DeepSpeed's tuner (0.13 to 0.19), each with the case that shows it absent here, on the stand-in for
# DeepSpeed.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

# The file and the case, and the defect in plain words.
table__every_case_is_there()
{
    # shellcheck disable=SC2162 # a row may go on
    while IFS='|' read place defect; do
        grep -q "^${place#* }()" "$source_dir/tests/cli/test_${place% *}.sh" || fail "$defect: no ${place#* }"
    done <<'END'
deepspeed_tuner full_mode__default_spaces__what_changes_nothing_is_one_job|\
    "fast": false crashes: no experiment of the full mode is run
deepspeed_tuner metrics__each_by_old_and_new_name__in_its_direction|latency is maximised: the slowest is the best
deepspeed_tuner metrics__each_by_old_and_new_name__in_its_direction|\
    the documented metrics FLOPS, forward and backward are no keys
deepspeed_tuner all_out_of_memory__nothing_is_optimal_any_more|out of memory everywhere is "optimal" and is launched
deepspeed_tuner all_out_of_memory__nothing_is_optimal_any_more|status 0 although nothing was found
deepspeed_defects stale_metrics__never_of_this_run|a metrics file left from before is read as the new one
deepspeed_tuner deberta_example__two_and_four_gpus__latency_made_small|\
    the own settings of zero_optimization are thrown away
deepspeed_defects one_step_of_metrics_json__is_not_the_measurement|one step is measured, and without its boundary
deepspeed_tuner deberta_example__two_and_four_gpus__latency_made_small|\
    a result is known by its name: another model gets the first one's
deepspeed_defects devices_precision_script__other_jobs|number of devices, precision and script are not in the identity
deepspeed_tuner failures__by_how_they_ended__not_by_the_word_error|the word "error" in a warning fails a good run
deepspeed_tuner failures__by_how_they_ended__not_by_the_word_error|a run that was killed had no error
deepspeed_tuner failures__by_how_they_ended__not_by_the_word_error|a run that hangs is waited for for ever
deepspeed_tuner failures__by_how_they_ended__not_by_the_word_error|what failed is never tried again
deepspeed_defects order__the_same_in_two_runs|the order of the grid is another one in each run
deepspeed_defects second_call__keeps_results_and_counts_each_once|results are deleted at the start, unless one knows
deepspeed_defects second_call__keeps_results_and_counts_each_once|experiments that are looked at twice count twice
deepspeed_defects config_word__in_each_form|--deepspeed_config=FILE is not seen
deepspeed_defects all_stages__as_documented|"zero_optimization": "all" of the documentation crashes
deepspeed_tuner bad_input__each__one_sentence_with_its_place|misspelt knobs are silently ignored
model_info deepspeed__engine_profiles_or_is_given_the_numbers|model_info given by hand crashes
model_info deepspeed__engine_profiles_or_is_given_the_numbers|the profile is of stage 3, which some models refuse
deepspeed_defects fp16_and_bf16__never_predicted_above_fp32|fp16 is estimated to need more memory than fp32
deepspeed_defects fp16_and_bf16__never_predicted_above_fp32|bf16 is estimated as fp32 is
deepspeed_defects include__reaches_the_launcher|slots named by --include become 0, 1, …
deepspeed_tuner arg_mappings__blanks_and_spellings__both_sides_agree|a blank in a key of arg_mappings loses the argument
deepspeed_tuner arg_mappings__blanks_and_spellings__both_sides_agree|flags written -x=value are not replaced
deepspeed_tuner deberta_example__two_and_four_gpus__latency_made_small|cmd_optimal.txt breaks arguments with blanks
deepspeed_defects invalid__excluded_before_it_costs_a_start|an invalid configuration costs a start to find out
deepspeed_launchers hostfile__uneven_hosts_and_lists__each_job_its_own_devices|\
    uneven hosts get the least of them, of the wrong slots
deepspeed_tuner global_batch__largest_and_least__what_lies_between|global batches that differ are compared
END
}

config() # AUTOTUNING-MEMBERS MEMBERS
{
    echo "{ $2, \"autotuning\": { \"enabled\": true${1:+, $1} } }" >ds.json
    : >train.py
}

tune() # STATUS ARGUMENT...
{
    local status=$1
    shift
    expect_run only_stderr "$status" deepspeed --progress none "$@"
}

tuned() { config "$2" "$3"; tune "$1" train.py --deepspeed ds.json "${@:4}"; } # STATUS and what config is given

one_step_of_metrics_json__is_not_the_measurement()
{
    config '"num_gpus": 2, "metric": "latency", "end_profile_step": 6' \
        '"train_micro_batch_size_per_gpu": [1, 8], "zero_optimization": {"stage": 1}, "steps_per_print": 2000'
    tune 0 train.py --deepspeed ds.json --mode last
    # metrics.json says 0.1 s and 0.0125 s. Of steps 3 to 7, which print their throughput, the fourth is slowed down by
    # the flops profiler.
    expect_sql '1|0.0111|3
8|0.0321|3' "SELECT r.train_micro_batch_size_per_gpu, round(r.latency, 4), s.count FROM results AS r
        JOIN job AS j ON j.id = r.job JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = 'latency'
        ORDER BY 1"
    expect_sql 1 "SELECT min(stddev > 0 AND maximum < 1.1 * minimum) FROM summary WHERE name = 'latency'"
    # The user's own word about how often to print is for the training.
    expect_file_contains autotuning_results/ds_config_optimal.json '"steps_per_print": 2000'
    expect_file_contains autotuning_results/ds_config_optimal.json '"train_micro_batch_size_per_gpu": 1,'
}

stale_metrics__never_of_this_run()
{
    tuned 0 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [2], "zero_optimization": {"stage": 1}'
    expect_file autotuning_results/z1_gas1_tmbspg2/metrics.json
    tune 3 train.py --deepspeed ds.json --mode silent
    expect_no_file autotuning_results/z1_gas1_tmbspg2/metrics.json
    expect_sql '1|no-metric' "SELECT throughput IS NULL, failure FROM results WHERE in_sweep"
}

devices_precision_script__other_jobs()
{
    local members='"train_micro_batch_size_per_gpu": [2], "zero_optimization": {"stage": 1}'
    tuned 0 '"num_gpus": 2' "$members"
    tuned 0 '"num_gpus": 4' "$members"
    tuned 0 '"num_gpus": 4' "$members, \"bf16\": {\"enabled\": true}"
    : >other.py
    tune 0 other.py --deepspeed ds.json
    expect_sql '4|4' "SELECT count(*), sum(attempts) FROM results"
}

order__the_same_in_two_runs()
{
    config '"num_gpus": 2, "fast": false' '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}'
    for db in one two; do
        tune 0 -d "$db/results.db" train.py --deepspeed ds.json
        sql "SELECT lower(hex(j.key)) FROM attempt AS a JOIN job AS j ON j.id = a.job_id ORDER BY a.id" \
            "$db/results.db" >"$db.keys"
    done
    expect "[ \$(wc -l <one.keys) -gt 5 ]" "cmp one.keys two.keys"
}

second_call__keeps_results_and_counts_each_once()
{
    tuned 0 '"num_gpus": 2, "overwrite": true' \
        '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": [1, 2]}'
    tune 0 train.py --deepspeed ds.json
    expect_sql 4 "SELECT sum(attempts) FROM results"
    expect_file_contains autotuning_results/summary.txt 'Total number of experiments: 4.'
}

config_word__in_each_form()
{
    config '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    for words in --deepspeed_config=ds.json --deepspeed=ds.json '--deepspeed_config ds.json' '--deepspeed ds.json' \
        '--deepspeed --deepspeed_config ds.json'; do
        # shellcheck disable=SC2086 # words
        expect_said only_stdout_contains 0 "{ds_config}" deepspeed --print-config train.py $words
    done
}

all_stages__as_documented()
{
    for stage in '"all"' '{"stage": "all"}' '{"stage": [0, 1, 2, 3]}'; do
        tuned 0 '"num_gpus": 2' "\"train_micro_batch_size_per_gpu\": [2], \"zero_optimization\": $stage"
        expect_sql 0,1,2,3 'SELECT group_concat("zero_optimization.stage") FROM results WHERE in_sweep'
    done
    tuned 2 '"num_gpus": 2' '"zero_optimization": {"stage": []}'
    expect_stderr_contains 'ds.json:1:25: zero_optimization.stage: the list is empty'
    # A truth value that is none.
    for value in '{}' '[]' '3' '"true"'; do
        tuned 2 "\"num_gpus\": 2, \"model_info\": {\"profile\": $value}" '"train_micro_batch_size_per_gpu": [2]'
        expect_stderr_contains 'autotuning.model_info.profile must be true or false'
    done
}

include__reaches_the_launcher()
{
    config '' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    printf 'w0 slots=8\nw1 slots=8\n' >hosts
    tune 0 -H hosts -i 'w0:0,1@w1:4,5' train.py --deepspeed ds.json
    expect_file_contains autotuning_results/cmd_optimal.txt '--include=w0:0,1@w1:4,5'
    # Without a hostfile there is this machine.
    run_command env CUDA_VISIBLE_DEVICES=0,1,2,3 "$meshsweep" deepspeed --print-config -i localhost:2,3 train.py \
        --deepspeed ds.json
    expect_only_stdout_contains 0 '"--include=localhost:{devices}"' 'devices = [2, 3]'
}

invalid__excluded_before_it_costs_a_start()
{
    tuned 0 '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1], "optimizer": {"type": "OneBitAdam"}, '\
'"zero_optimization": {"stage": [0, 1, 2, 3]}'
    expect_sql '1|0' 'SELECT count(*), max("zero_optimization.stage") FROM results'
    # A batch that contradicts itself: nothing is optimal, by which rule, status 3.
    tuned 3 '"num_gpus": 2' \
        '"train_micro_batch_size_per_gpu": [1, 4], "gradient_accumulation_steps": 1, "train_batch_size": 9'
    expect_stderr_contains 'no configuration can be run, so there is no best one and nothing to launch; meshsweep '\
'plan on the output of --print-config shows which rules exclude them'
    expect_stderr_contains '8 combinations are excluded by batch-triad: train_batch_size must equal micro-batch x '\
'gradient accumulation x data-parallel size'
    expect_no_file autotuning_results/ds_config_optimal.json autotuning_results/cmd_optimal.txt
}

# Predictions for the stages 0 to 3, one a line, into FILE.
predict_stages() # FILE SECTION
{
    config '"num_gpus": 4, "model_info": {"num_params": 3000000000, "activation_mem_per_gpu": 1000000000}' \
        "\"train_micro_batch_size_per_gpu\": [1], \"zero_optimization\": {\"stage\": \"all\"}${2:+, $2}"
    expect_run only_stdout 0 deepspeed --print-config train.py --deepspeed ds.json
    cp .stdout sweep.toml
    expect_run only_status 0 predict
    sed -n 's/^ *memory \([0-9.]*\) GiB.*/\1/p' .stdout >"$1"
    expect "[ \$(wc -l <$1) = 4 ]"
}

fp16_and_bf16__never_predicted_above_fp32()
{
    predict_stages fp16 '"fp16": {"enabled": true}'
    for section in '"bf16": {"enabled": true}' '"bfloat16": {"enabled": true}, "fp16": {"enabled": false}'; do
        predict_stages bf16 "$section"
        expect "cmp fp16 bf16"
    done
    for section in '' '"fp16": {"enabled": false}' '"bf16": {"enabled": false}, "fp16": {}'; do
        predict_stages fp32 "$section"
        expect "paste fp16 fp32 | awk '\$1 > \$2 { exit 1 }'"
        # Each rank of four holds 4 + 16 / 4 and 20 / 4 bytes a parameter at the stages 2 and 3, not 2 + 18 / 4 and 18 /
        # 4.
        expect "paste fp16 fp32 | awk 'NR > 2 && \$1 >= \$2 { exit 1 }'"
    done
}

run_cases "$@"
