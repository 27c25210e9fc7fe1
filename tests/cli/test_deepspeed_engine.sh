#!/usr/bin/env bash
# meshsweep deepspeed on DeepSpeed's own launcher and engine: two ranks on CPUs, over gloo. Skipped unless
# MESHSWEEP_DEEPSPEED_SOURCE names a tree of DeepSpeed's source and the system's Python has PyTorch.
# Starting PyTorch and DeepSpeed takes tens of seconds on a busy machine.
: "${CASE_SECONDS:=600}"
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
source=${MESHSWEEP_DEEPSPEED_SOURCE-}
[ -n "$source" ] || skip "MESHSWEEP_DEEPSPEED_SOURCE names no source of DeepSpeed"
[ -f "$source/deepspeed/launcher/runner.py" ] || skip "$source has no deepspeed/launcher/runner.py"
"$python" -c 'import torch, packaging, psutil, pydantic, tqdm, cpuinfo' 2>/dev/null ||
    skip "$python lacks python3-torch or what DeepSpeed imports: python3-packaging, -psutil, -pydantic, -tqdm, -cpuinfo"

engine()
{
    mkdir bin
    cat >bin/deepspeed <<END
#!/bin/sh
exec $python -c 'from deepspeed.launcher.runner import main; main()' "\$@"
END
    chmod +x bin/deepspeed
    cp "$source_dir/tests/standin/engine/train.py" .
    export PATH="$PWD/bin:$PATH" PYTHONPATH="$source_dir/tests/standin/engine:$source"
    export DS_ACCELERATOR=cpu LOCAL_SIZE=2
}

tune__two_stages_on_two_ranks__measured_by_the_engine_and_a_winner_that_trains()
{
    engine
    cat >ds_config.json <<'END'
{ "train_micro_batch_size_per_gpu": [2], "zero_optimization": { "stage": [1, 3] },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-3, "torch_adam": true } },
  "autotuning": { "enabled": true, "num_gpus": 2, "model_info": { "num_params": 16640 } } }
END
    run_meshsweep deepspeed --ds_version 0.14.5 --autotuning=run --progress none train.py --deepspeed \
        --deepspeed_config ds_config.json
    expect_among_stdout 0 'trained 12 steps'
    expect_sql '1|ok|1|
3|ok|1|' "SELECT \"zero_optimization.stage\", state, throughput > 0, coalesce(error, '') FROM results ORDER BY 1"
    # From the step after the first that is profiled on, as the engine counts them: up to the eighth, or, where the job
    # before it was recorded by then, as many as there are.
    expect_sql '1|1' "SELECT min(s.count) = 5, max(s.count) IN (5, 9) FROM results AS r JOIN job AS j ON j.id = r.job
        JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = 'throughput'"
}

# What the engine refuses is an error here, or excluded by a rule; what is said to be refused, it refuses. Errors about
# values that it takes for something else say so.
random_ds_configs__of_every_type__judged_as_by_the_engines_own_classes()
{
    local release config verdict said status i=0
    release=$(cat "$source/version.txt")
    engine
    "$python" "$source_dir/tests/standin/engine/random_configs.py" "$source_dir/configs/knowledge/words.toml" \
        "$release" 500 >configs
    "$python" "$source_dir/tests/standin/engine/accepts.py" configs verdicts >/dev/null 2>loading ||
        fail "the engine's classes cannot be loaded: $(tail -n 1 loading)"
    printf 'profile = "deepspeed"\n[job]\ncommand = ["true", "{ds_config}"]\n[deepspeed]\nversion = "%s"\n%s\n' \
        "$release" 'config = "c.json"' >sweep.toml
    printf '[cluster_spec]\nnum_hosts = 1\nnum_devices_per_host = 1\n[parallel_spec]\nx = 1\n' >>sweep.toml
    while IFS= read -r config <&3 && IFS= read -r verdict <&4; do
        i=$((i + 1)) status=0
        printf '%s\n' "$config" >c.json
        said=$("$meshsweep" plan -c sweep.toml 2>&1) || status=$?
        case $verdict in
        takes) [[ $said != *'DeepSpeed refuses it'* ]] || printf '%s: %s\n%s\n' "$i" "$config" "$said" ;;
        *) [ "$status" != 0 ] || printf '%s: %s\n%s\n' "$i" "$config" "$verdict" ;;
        esac
    done 3<configs 4<verdicts >differences
    [ "$i" = 500 ] || fail "$i of 500 were judged"
    [ ! -s differences ] || fail "$(cat differences)"
    [ "$(grep -c '^takes' verdicts)" -gt 100 ] || fail 'hardly any is taken'
}

run_cases "$@"
