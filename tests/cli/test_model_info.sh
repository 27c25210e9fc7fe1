#!/usr/bin/env bash
# [model_info]: one short profiling attempt whose facts predictions are made from.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

# A job that runs out of nothing; the model-information job says what $1 is.
sweep_file() # OUTPUT [LINE...]
{
    toml profile=deepspeed sweep: objective=max:throughput job: \
        "command = [\"sh\", \"-c\", '''if [ \"\${MESHSWEEP_ROLE-}\" = model-info ]; then $1
    else echo \"{\\\"throughput\\\": {micro_batch}}\" >>\"\$MESHSWEEP_METRICS\"; fi''']" \
        job.metrics.throughput: predict: audit=0 cluster_spec: num_devices_per_host=1,4 \
        parallel_spec: zero_stage=0,3 micro_batch=1,4 model_info: "${@:2}" >sweep.toml
}

facts='echo "{\"params\": 4e9, \"activation_memory\": 2e9, \"device_memory\": 4e10, \"fwd_flops\": 1e12}" '\
'>>"$MESHSWEEP_METRICS"'

run_all() { expect_run only_stderr "$1" run --progress none; } # STATUS

job__run_first_and_once__predictions_are_made_from_it()
{
    sweep_file "$facts" 'with = { zero_stage = 3, num_devices_per_host = 4 }'
    expect_said only_stdout_contains 0 'nothing can be predicted until the model-information job has run' plan
    run_all 0
    expect_only_stderr_contains 0 'meshsweep: model information: 4000000000 parameters, 1.9 GiB of activations per '\
'sample' 'meshsweep: ZeRO stage 0: excluded by memory.fits: ' 'meshsweep: ZeRO stage 3: 17.4 GiB a device without '\
'activations, so that a micro-batch of 8 fits at most'
    # 4e9 parameters take 20 bytes each at stage 0, more than there is, and 20 / 4 at stage 3 on four devices.
    expect_sql '4|3|1
4|3|4' 'SELECT num_devices_per_host, zero_stage, micro_batch FROM results ORDER BY 3'
    expect_sql '6' "SELECT excluded FROM excluded WHERE rule = 'memory.fits'"
    expect_sql 'model-info|4|3|1|1' "SELECT s.role, json_extract(c.json, '$.num_devices_per_host'),
        json_extract(p.json, '$.zero_stage'), json_extract(p.json, '$.micro_batch'), min(a.id)
        FROM sweep AS s JOIN job AS j ON j.sweep_id = s.id JOIN spec AS c ON c.id = j.cluster_id
        JOIN spec AS p ON p.id = j.parallel_id JOIN attempt AS a ON a.job_id = j.id WHERE s.role IS NOT NULL"
    expect_said only_stdout_contains 0 'jobs 2' status
    expect_stdout_contains 'model information (job 1): 4000000000 parameters, 1.9 GiB of activations per sample, 37.3 '\
'GiB a device, 1000000000000 forward FLOPs per sample'
    expect_said only_stdout_matches 0 '"activation_memory":[[:space:]]*2000000000' status --json
    expect_sql '["memory.fits",3,8]' "SELECT json_extract(readfile('.stdout'), '\$.model_info.stages[0].rule',
        '\$.model_info.stages[1].zero_stage', '\$.model_info.stages[1].micro_batch')" :memory:
    expect_said only_stdout_contains 0 'highest throughput 4' best
    # Other changes in the file make no new profile.
    sed -i 's/^micro_batch = .*/micro_batch = [1, 4, 8]/' sweep.toml
    run_meshsweep plan
    expect_only_stdout_contains 0 '3 jobs: + 1 new  = 2 done' ' - 0 no longer in the file'
    run_all 0
    expect_any_stderr
    expect_sql 4 'SELECT count(*) FROM attempt'
}

given_by_hand__not_run__and_used()
{
    sweep_file "$facts" 'params = 4e9' 'activation_memory = "1.9GiB"' 'device_memory = "40GB"'
    run_all 0
    expect_no_stderr
    expect_sql '2|2|0' "SELECT count(*), sum(num_devices_per_host = 4 AND zero_stage = 3),
        (SELECT count(*) FROM sweep WHERE role IS NOT NULL) FROM results"
    expect_said only_stdout_contains 0 $'1.9 GiB of activations per sample\n  ZeRO stage 0: excluded by ' status
}

failure__explained__the_sweep_goes_on_without()
{
    sweep_file 'echo "RuntimeError: no such profile"; exit 3'
    run_all 0
    expect_stderr_contains 'meshsweep: model information: job 1 failed (exit): exit status 3: RuntimeError: no such '\
'profile; the sweep continues without it'
    expect_sql 8 'SELECT count(*) FROM results'
    run_meshsweep status
    expect_only_stdout_contains 0 'model information (job 1): exit, exit status 3: RuntimeError: no such profile'
    # It is not tried again by itself, but with the others that failed.
    run_all 0
    expect_any_stderr
    expect_sql 9 'SELECT count(*) FROM attempt'
    run_ended 0 --retry-failed=exit
    expect_sql 10 'SELECT count(*) FROM attempt'
}

nothing_said__no_metric__and_excluded__the_rule()
{
    sweep_file true
    run_all 0
    expect_stderr_contains 'model information: job 1 failed (no-metric): '
    rm -r results.db*
    sweep_file "$facts" 'with = { zero_stage = 4 }'
    run_all 0
    expect_stderr_contains 'model information: the job that measures it is excluded by zero-stage-range: ZeRO has the '\
'stages 0 to 3; the sweep continues without it'
}

flops_profiler__text_of_it__read()
{
    sweep_file "cat $source_dir/tests/readers/deepspeed-flops-profiler.log"
    run_all 0
    expect_any_stderr
    expect_sql '1|1' "SELECT json_extract(model_info, '$.params') > 3e8, json_extract(model_info, '$.fwd_flops') > 6e12
        FROM current_sweep"
}

several_models__refused_with_its_place()
{
    sweep_file "$facts" '[[model]]' 'layers = [1, 2]'
    expect_said only_stderr 2 'meshsweep: sweep.toml:15:2: [model_info] describes one model, but this file has '\
'several; give each [[model]] its own params and activation_memory' check -c sweep.toml
    sweep_file "$facts" 'activation_memory = "much"' 'withot = 1'
    run_meshsweep check -c sweep.toml
    expect_only_stderr_contains 2 'sweep.toml:16:21: activation_memory must be a size ("300MiB", bytes) above 0'
    expect_stderr_contains 'withot'
}

device__nvidia_smi_says_how_large()
{
    mkdir bin
    cat >bin/nvidia-smi <<'END'
#!/bin/sh
case $* in
*memory.total*) printf '0, GPU-a, 24576\n1, GPU-b, 16384\n' ;;
*memory.used*) printf '0, GPU-a, 0\n1, GPU-b, 0\n' ;;
-L) printf 'GPU 0: X (UUID: GPU-a)\nGPU 1: X (UUID: GPU-b)\n' ;;
esac
END
    chmod +x bin/nvidia-smi
    sweep_file 'echo "{\"params\": 1e6, \"activation_memory\": 1e6}" >>"$MESHSWEEP_METRICS"'
    sed -i 's/^num_devices_per_host.*/num_devices_per_host = 1/' sweep.toml
    run_command env PATH="$PWD/bin:$PATH" bash -c '"$@"; exit $?' run "$meshsweep" run --progress none
    expect_only_stderr_contains 0 'ZeRO stage 3: ' ', so that a micro-batch of '
    expect_sql 17179869184 "SELECT CAST(json_extract(model_info, '$.device_memory') AS INTEGER) FROM current_sweep"
}

deepspeed__engine_profiles_or_is_given_the_numbers()
{
    : >train.py
    local \
        config='"train_micro_batch_size_per_gpu": [2, 4], "train_batch_size": 8, "zero_optimization": {"stage": [1, 2]}'
    echo "{$config, \"autotuning\": {\"enabled\": true, \"num_gpus\": [1, 2]}}" >ds.json
    expect_run only_stderr 0 deepspeed --progress none train.py --deepspeed ds.json
    # One sample at the highest stage that is asked for, on the most devices.
    expect_sql '2|1|2|{"profile":true}' "SELECT json_extract(c, '$.zero_optimization.stage'),
        json_extract(c, '$.train_micro_batch_size_per_gpu'), json_extract(c, '$.train_batch_size'),
        json_extract(c, '$.autotuning.model_info') FROM (SELECT cast(readfile('results.db.d/' || directory
        || '/ds_config.json')
        AS TEXT) AS c FROM attempt WHERE id = 1)"
    expect_sql 8 'SELECT count(*) FROM results WHERE predicted_memory > 6e9'
    expect_file_contains autotuning_results/summary.txt 'Total number of experiments: 8.'
    expect_file autotuning_results/profile_model_info/model_info.json
    for info in '{"profile": false}' '{"num_params": 1000000000, "activation_mem_per_gpu": 500000000}'; do
        echo "{$config, \"autotuning\": {\"enabled\": true, \"num_gpus\": 2, \"model_info\": $info}}" >ds.json
        expect_run only_stderr 0 deepspeed --progress none -d told.db train.py --deepspeed ds.json
        expect_sql 0 'SELECT count(*) FROM sweep WHERE role IS NOT NULL' told.db
    done
    expect_sql 4 'SELECT count(*) FROM results WHERE predicted_memory > 6e9' told.db
}

run_cases "$@"
