#!/usr/bin/env bash
# [deepspeed] version: rules hold for the releases whose sources say so, and the installed package is asked which it is.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

write() # RELEASE KEYS
{
    {
        printf 'profile = "deepspeed"\n[job]\ncommand = ["true", "{ds_config}"]\n[deepspeed]\n'
        [ -z "$1" ] || printf 'version = "%s"\n' "$1"
        printf '[cluster_spec]\nnum_hosts = 1\nnum_devices_per_host = 2\n'
        printf '[parallel_spec]\ntrain_micro_batch_size_per_gpu = 1\n%s\n' "${2//;/$'\n'}"
    } >sweep.toml
}

matched() # COUNT STATUS RELEASE KEYS
{
    write "$3" "$4"
    expect_said among_stdout "$2" " $1 matched" plan -c sweep.toml
}

release__what_it_lacks_or_refuses__excluded_there_alone()
{
    while IFS='|' read -r refusing release keys; do
        matched 0 4 "$refusing" "$keys"
        matched 1 0 "$release" "$keys"
    done <<'END'
0.9.2|0.14.5|"zero_optimization.stage" = 1;"optimizer.type" = "Lion"
0.10.1|0.10.2|"zero_optimization.stage" = 0;"optimizer.type" = "MuAdam"
0.17.5|0.17.6|"zero_optimization.stage" = 1;"optimizer.type" = "Muon"
0.14|0.18|"zero_optimization.stage" = 2;"optimizer.type" = "Muon"
0.14|0.19.5|"zero_optimization.stage" = 0;"optimizer.type" = "Muon"
0.19.3|0.19.2|"zero_optimization.stage" = 1;"fp16.enabled" = true;"fp16.min_loss_scale" = 0
0.12.2|0.12.3|"scheduler.type" = "WarmupCosineLR"
0.10.0|0.10.1|"zero_optimization.stage" = 2;"bf16.enabled" = true;"data_types.grad_accum_dtype" = "fp32"
0.14.5|0.18.3|zero_stage = 3;"fp16.fp16_master_weights_and_grads" = true;fp16 = true;offload_optimizer = "cpu"
0.17.5|0.17.6|"zero_optimization.stage" = 0;"bf16.enabled" = true;"data_types.grad_accum_dtype" = "bf16"
0.19|0.17.5|"zero_optimization.stage" = 0;"bf16.enabled" = true;"data_types.grad_accum_dtype" = "fp32"
0.16.4|0.19.4|"zero_optimization.stage" = 3;"tensor_parallel.autotp_size" = 2
0.19.3|0.19.4|"zero_optimization.stage" = 3;"tensor_parallel.autotp_size" = 2
0.14.0|0.14.1|communication_data_type = "bf16"
0.14.1|0.9.5|communication_data_type = "bfp16"
END
}

release__key_that_it_does_not_know__an_error_with_its_place()
{
    while IFS='|' read -r refusing release key; do
        write "$refusing" "\"zero_optimization.stage\" = 3;\"zero_optimization.$key"
        run_meshsweep plan -c sweep.toml
        expect_only_stderr_contains 2 "sweep.toml:12:1: \`zero_optimization.${key%%\"*}\`: DeepSpeed knows the key of"
        matched 1 0 "$release" "\"zero_optimization.stage\" = 3;\"zero_optimization.$key"
        matched 1 0 '' "\"zero_optimization.stage\" = 3;\"zero_optimization.$key"
    done <<'END'
0.9|0.10|zero_hpz_partition_size" = 2
0.12.2|0.12.3|offload_optimizer.ratio" = 0.5
0.17.4|0.18|zenflow.topk_ratio" = 0.1
0.17|0.18|offload_optimizer.super_offload" = true
0.18.8|0.18.9|save_muon_momentum_buffer_in_memory" = true
END
    write 0.14x '"zero_optimization.stage" = 1'
    run_meshsweep plan -c sweep.toml
    expect_only_stderr_contains 2 'version must be a release of DeepSpeed, such as "0.14" or "0.14.5"'
}

# From 0.17.6 on lines of steps are below the level of the log, which a key raises from 0.19.3 on.
release__prints_no_line_of_a_step__its_level_raised_or_that_said()
{
    while IFS='|' read -r release level warned; do
        write "$release" ''
        sed -i -e 's/^\[deepspeed\]$/&\nprofile_steps = [3, 5]/' -e 's/"true", /"cat", /' sweep.toml
        rm -rf results*
        run_meshsweep run -c sweep.toml --progress none
        expect_any_stdout
        expect_status 0
        case $warned in
            yes) expect_stderr_contains 'throughput, latency and timers rest on the one step of its metrics.json' ;;
            *) expect_stderr_lacks 'one step' ;;
        esac
        expect_run only_status 0 tail 1
        expect '[ "$(grep -c "log_level.*info" .stdout)" = '"$level ]"
    done <<'END'
0.17.5|0|no
0.17.6|0|yes
0.19.2|0|yes
0.19.3|1|no
|1|no
END
}

# A package of that release for a Python that a launcher is run by.
install() # RELEASE
{
    mkdir -p packages/deepspeed-1.dist-info
    printf 'Metadata-Version: 2.1\nName: deepspeed\nVersion: %s\n' "$1" >packages/deepspeed-1.dist-info/METADATA
    stand_in bin/python3.99 <<<"PYTHONPATH=$PWD/packages exec python3 \"\$@\""
}

tuning() # ARGUMENT...
{
    echo '{"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": [0, 1]}, "bf16": {"enabled": true},
        "data_types": {"grad_accum_dtype": "fp32"}, "autotuning": {"enabled": true, "num_gpus": 2}}' >ds_config.json
    : >train.py
    run_meshsweep deepspeed "$@" train.py --deepspeed ds_config.json
}

# The launcher's first line, or a word of it, says which Python that is.
version__not_given__the_package_of_the_launchers_python_is_asked()
{
    install 0.14.5+cu118
    printf '#!%s/bin/python3.99\n' "$PWD" >bin/torchrun
    printf "#!/bin/sh\n'''exec' \"%s/bin/python3.99\" \"\$0\" \"\$@\"\n' '''\n" "$PWD" >bin/accelerate
    chmod +x bin/torchrun bin/accelerate
    PATH=$PWD/bin:$PATH
    for launcher in torchrun accelerate "$PWD/bin/python3.99" "mpirun -np {gpus} python3.99"; do
        tuning --print-config --launcher "$launcher"
        expect_only_stdout_matches 0 '^version = "0\.14\.5" # as (/.*/)?python3\.99 says$'
    done
    # bf16 without ZeRO accumulates in fp32 up to 0.17.5.
    expect_said_by among_stdout 0 ' 2 matched' tuning --dry-run --launcher torchrun
    install 0.19.2.dev0
    expect_after status 0 tuning --dry-run --launcher torchrun
    expect_stdout_contains ' 1 matched'
    expect_stderr_lacks 'has no package'
    expect_said_by among_stdout 0 ' 1 matched' tuning --dry-run --launcher torchrun --ds_version 0.17
    tuning --dry-run --ds_version new
    expect_only_stderr 2 'meshsweep: --ds_version new: must be a release such as 0.14 or 0.14.5'
}

# bf16 without ZeRO accumulates in fp32 up to 0.17.5.
version__of_a_sweep_file_not_given__the_package_of_the_commands_python_is_asked()
{
    local command said='meshsweep: using rules and keys of DeepSpeed 0.14.5, which '
    install 0.14.5
    printf '#!%s/bin/python3.99\n' "$PWD" >bin/torchrun
    chmod +x bin/torchrun
    PATH=$PWD/bin:$PATH
    write '' '"zero_optimization.stage" = 0;"bf16.enabled" = true;"data_types.grad_accum_dtype" = "fp32"'
    echo '{}' >ds_config.json
    sed -i 's/^\[deepspeed\]$/&\nconfig = "ds_config.json"/' sweep.toml
    for command in '["torchrun", "train.py", "python3", "{ds_config}"]' '"python3.99 train.py {ds_config}"' \
        '["srun", "python3.99", "train.py", "{ds_config}"]'; do
        sed -i "s/^command = .*/command = $command/" sweep.toml
        expect_run status 0 plan -c sweep.toml
        expect_stdout_contains ' 1 matched'
        expect_stderr_contains "$said"
        expect_said among_stderr 0 "$said" check sweep.toml
    done
    # A version that the file says is not asked for, and without a package the newest refuse it.
    sed -i 's/^\[deepspeed\]$/&\nversion = "0.17.5"/' sweep.toml
    expect_run status 0 plan -c sweep.toml
    expect_stdout_contains ' 1 matched'
    expect_stderr_lacks 'rules and keys'
    sed -i '/^version/d' sweep.toml
    printf '#!/bin/sh\nexit 1\n' >bin/python3.99
    expect_run status 4 plan -c sweep.toml
    expect_stdout_contains ' 0 matched'
    expect_stderr_lacks 'rules and keys'
}

version__no_package__said_and_gone_on_with_the_newest()
{
    stand_in bin/python3 <<<'exit 1'
    PATH=$PWD/bin:$PATH
    expect_after only_stderr 0 tuning --progress none
    expect_sql 1 'SELECT count(*) FROM results'
    expect_stderr_contains 'meshsweep: python3 has no package deepspeed, so the rules of its newest release '\
'apply; to choose a release, set [deepspeed] version or --ds_version'
    expect_said_by only_stdout_contains 0 '# version: python3 has no package deepspeed' tuning --print-config
}

base() # JSON [LINE...]
{
    echo "$1" >ds.json
    printf '%s\n' 'profile = "deepspeed"' '[job]' 'command = ["true", "{ds_config}"]' '[deepspeed]' \
        'config = "ds.json"' "${@:2}" >sweep.toml
}

section__unknown__a_warning_with_what_may_be_meant()
{
    base '{"train_batch_size": 4,
 "gradient_cliping": 1.0, "my_own": {}}'
    for command in check plan; do
        expect_said among_stderr 0 'ds.json:2:2: warning: DeepSpeed has no section "gradient_cliping" and ignores it; '\
'did you mean "gradient_clipping"?' "$command" -c sweep.toml
        expect_stderr_matches '^meshsweep: .*:2:27: warning: DeepSpeed has no section "my_own" and ignores it$'
    done
    # The tuner's documents themselves put this key wrongly.
    base '{"train_batch_size": 4, "arg_mappings": {"train_batch_size": "--batch"}}'
    run_meshsweep check -c sweep.toml
    expect_among_stderr 0 'DeepSpeed has no section "arg_mappings" and ignores it; it belongs in "autotuning"'
    # A key that later releases have under another name.
    base_of 0.16.5 '"seq_parallel_comm_data_type": "fp32"'
    expect_among_stderr 0 '"seq_parallel_comm_data_type" and ignores it; did you mean "seq_parallel_communication_data'
    expect_after only_stdout 0 base_of 0.16.4 '"seq_parallel_comm_data_type": "fp32"'
    base '{"train_batch_size": 4, "my_own": {}, "log_level": "warning"}' 'sections = ["my_own"]'
    expect_run only_stdout 0 check -c sweep.toml
}

batch__none_at_all__refused_before_anything_starts()
{
    base '{"gradient_accumulation_steps": 2}'
    expect_said only_stderr_contains 2 'sweep.toml:5:10: no job has a batch size; DeepSpeed needs train_batch_size or '\
'train_micro_batch_size_per_gpu in the ds_config ("auto" if the script sets it)' run -c sweep.toml --progress none
    expect_no_file results.db
    for given in '{"train_micro_batch_size_per_gpu": "auto"}' '{"elasticity": {"enabled": true}}'; do
        base "$given"
        expect_run only_stdout 0 check -c sweep.toml
    done
    for given in '[parallel_spec]|micro_batch = 1' '[derive]|train_batch_size = "gpus"'; do
        base '{}' "${given%|*}" "${given#*|}"
        expect_run only_stdout 0 check -c sweep.toml
    done
}

values__that_no_release_takes__excluded_before_anything_starts()
{
    while IFS='|' read -r rule member; do
        base "{\"train_batch_size\": 4, $member}"
        expect_said among_stderr 4 "$rule" run -c sweep.toml --progress none
        expect_sql 0 'SELECT count(*) FROM attempt'
    done <<'END'
bucket-sizes|"zero_optimization": {"stage": 1, "reduce_bucket_size": 0}
optimizer-known|"optimizer": {"type": "AdamX"}
scheduler-known|"scheduler": {"type": "Warmup"}
steps-per-print|"steps_per_print": 0
END
}

base_of() # RELEASE JSON
{
    base "{\"train_batch_size\": 4, $2}"
    sed -i "s/^config = .*/&\nversion = \"$1\"/" sweep.toml
    run_meshsweep check -c sweep.toml
}

values__of_another_type__errors_with_place_remedy_and_what_the_engine_does()
{
    while IFS='|' read -r release member said; do
        base_of "$release" "$member"
        if [ -n "$said" ]; then
            expect_only_stderr_contains 2 "ds.json:1:" "$said"
        else
            expect_only_stdout 0
        fi
    done <<'END'
0.14.5|"zero_optimization": {"reduce_bucket_size": "5e8"}|not "5e8"; write 5e8 without quotes; DeepSpeed refuses it
0.14.5|"zero_optimization": {"reduce_bucket_size": 5e8}|
0.14.5|"zero_optimization": {"reduce_bucket_size": 1.5}|DeepSpeed cuts the fraction off
0.16.0|"zero_optimization": {"reduce_bucket_size": 1.5}|DeepSpeed refuses it
0.14.5|"zero_optimization": {"allgather_bucket_size": -2}|must be a whole number, 0 or more, not -2
0.14.5|"zero_optimization": {"overlap_comm": "perhaps"}|must be true or false, not "perhaps"; DeepSpeed refuses it
0.14.5|"zero_optimization": {"overlap_comm": "yes"}|
0.14.5|"fp16": {"enabled": "false"}|write false without quotes; DeepSpeed takes any text but ""
0.18.0|"fp16": {"enabled": "false"}|
0.18.0|"bf16": {"enabled": "perhaps"}|DeepSpeed refuses it (runtime/precision_config.py)
0.14.5|"bf16": {"enabled": "auto"}|
0.14.5|"csv_monitor": "auto", "zero_optimization": {"offload_param": "auto"}|
0.14.5|"fp16": "auto"|fp16 must be a table, not "auto"
0.17.6|"zero_optimization": {"zenflow": {"select_strategy": "steps"}}|"epoch", not "steps"; did you mean "step"?
0.16.9|"compile": {"passes": []}|DeepSpeed knows the key of compile "passes" since 0.18.9 only
0.14.5|"fp16": true|fp16 must be a table, not true; write {"enabled": true}; DeepSpeed
0.14.5|"zero_optimization": {"offload_param": "cpu"}|must be a table, not "cpu"; write {"device": "cpu"}
0.14.5|"zero_optimization": {"offload_param": {"device": "cup"}}|"cpu" or "nvme", not "cup"; did you mean "cpu"?
0.14.5|"zero_optimization": true|DeepSpeed takes true as stage 1, and false as stage 0
0.14.5|"gradient_accumulation_steps": 2.0|must be a whole number above 0, not 2.0; write 2; DeepSpeed keeps the fraction
0.14.5|"optimizer": "Adam"|must be a table, not "Adam"; write {"type": "Adam"}
0.14.5|"compile": true|
0.17.0|"compile": true|compile must be a table, not true; write {"deepcompile": true}
0.19.2|"fp16": {"min_loss_scale": true}|DeepSpeed takes true as 1
0.19.3|"fp16": {"min_loss_scale": true}|must be a whole number, not true; DeepSpeed refuses it
0.14.5|"timers": "7"|timers must be a table, not "7"; DeepSpeed ignores it
0.14.5|"timers": "throughput"|timers must be a table, not "throughput"; DeepSpeed refuses it
0.14.5|"wall_clock_breakdown": -1|true or false, not -1; DeepSpeed takes any whole number but 0 as true
0.14.5|"checkpoint": {"parallel_write": {"pipeline_stage": 1.0}}|
0.14.5|"tensorboard": ""|tensorboard must be a table, not ""; DeepSpeed ignores it
0.14.5|"comms_logger": {"verbose": [true, false]}|must be true or false, not [true,false]; DeepSpeed refuses it
0.14.5|"steps_per_print": [10, 20]|must be a whole number, not [10,20]
0.14.5|"comms_logger": {"verbose": "auto"}|must be true or false, not "auto"; DeepSpeed refuses it
0.16.4|"seq_parallel_comm_data_type": "fp61"|"bf16" or "fp32", not "fp61"; did you mean "fp16"?; DeepSpeed refuses it
0.18.7|"fp16": {"loss_scale": -1}|
0.18.8|"fp16": {"loss_scale": -1}|must be a number, 0 or more, not -1; DeepSpeed refuses it
0.18.8|"fp16": {"loss_scale": true}|must be a number, 0 or more, not true; DeepSpeed refuses it
0.18.0|"zero_optimization": {"leaf_module": null}|
0.18.0|"zero_optimization": {"leaf_module": {"names": "mlp"}}|
0.17.0|"bf16": null|bf16 must be a table, not null; DeepSpeed refuses it
0.17.6|"bf16": null|
0.17.6|"vocabulary_size": {}|must be a whole number, not {}; DeepSpeed ignores it
0.17.6|"torch_autocast": {"lower_precision_safe_modules": null}|must be a list, not null; DeepSpeed refuses it
0.14.5|"hybrid_engine": {"enable": true}|DeepSpeed has no key hybrid_engine "enable"; did you mean "enabled"?
END
}

# As in a ds_config; each value once, be it of a short name, of a pair or within a table.
values__of_a_sweep_files_specs__errors_with_their_place()
{
    while IFS='|' read -r release keys said; do
        write "$release" "$keys"
        run_meshsweep check sweep.toml
        if [ -n "$said" ]; then
            expect_only_stderr_contains 2 'sweep.toml:11:1: ' "$said"
            expect '[ "$(grep -cF -- "$said" .stderr)" = 1 ]'
        else
            expect_only_stdout 0
        fi
    done <<'END'
0.14.5|zero_stage = [1, 5]|: `zero_stage`: zero_optimization.stage must be 0, 1, 2 or 3, not 5; DeepSpeed refuses it
0.14.5|"zero_optimization.overlap_comm" = "perhaps"|.overlap_comm must be true or false, not "perhaps"
0.14.5|"zero_optimization.reduce_bucket_size" = [5e8, 1.5]|not 1.5; DeepSpeed cuts the fraction off
0.18.0|"zero_optimization.reduce_bucket_size" = [5e8, 1.5]|not 1.5; DeepSpeed refuses it
0.14.5|"zero_optimization.reduce_bucket_size" = [5e8, 2e8]|
0.14.5|"(fp16.enabled, fp16.hysteresis)" = [["false", 1], ["false", 2]]|not "false"; write false without quotes
0.14.5|"zero_optimization.offload_param" = [{ device = "cup" }]|"cpu" or "nvme", not "cup"; did you mean "cpu"?
0.14.5|"optimizer.params.betas" = [[0.9, 0.95], [0.9, 0.99]]|
0.14.5|activation_checkpointing = true|activation_checkpointing must be a table, not true
0.14.5|"zero_optimization.stage" = [[1, 2]]|zero_optimization.stage must be 0, 1, 2 or 3, not [1,2]
0.14.5|"bf16.enabled" = "auto"|
END
}

run_cases "$@"
