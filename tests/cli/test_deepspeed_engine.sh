#!/usr/bin/env bash
# meshsweep deepspeed on DeepSpeed's own launcher and engine: two ranks on CPUs, over gloo. Skipped unless
# MESHSWEEP_DEEPSPEED_SOURCE names a tree of DeepSpeed's source and the Python has PyTorch: the system's, or, for
# release 0.16 and later, MESHSWEEP_DEEPSPEED_PYTHON (scripts/engine_python.sh).
# Starting PyTorch and DeepSpeed takes tens of seconds on a busy machine.
: "${CASE_SECONDS:=600}"
. "${0%/*}/lib.sh"

python=${MESHSWEEP_DEEPSPEED_PYTHON:-/usr/bin/python3}
source=${MESHSWEEP_DEEPSPEED_SOURCE-}
[ -n "$source" ] || skip "MESHSWEEP_DEEPSPEED_SOURCE names no source of DeepSpeed"
[ -f "$source/deepspeed/launcher/runner.py" ] || skip "$source has no deepspeed/launcher/runner.py"
"$python" -c 'import torch, packaging, psutil, pydantic, tqdm, cpuinfo' 2>/dev/null ||
    skip "$python lacks python3-torch or what DeepSpeed imports: python3-packaging, -psutil, -pydantic, -tqdm, -cpuinfo"

engine()
{
    stand_in bin/deepspeed <<<"exec $python -c 'from deepspeed.launcher.runner import main; main()' \"\$@\""
    cp "$source_dir/tests/standin/engine/train.py" .
    export PATH="$PWD/bin:$PATH" PYTHONPATH="$source_dir/tests/standin/engine:$source"
    # Debian's PyTorch 2 has no libuv.
    export DS_ACCELERATOR=cpu LOCAL_SIZE=2 USE_LIBUV=0
    release=$(cat "$source/version.txt")
}

tune__two_stages_on_two_ranks__measured_by_the_engine_and_a_winner_that_trains()
{
    engine
    cat >ds_config.json <<'END'
{ "train_micro_batch_size_per_gpu": [2], "zero_optimization": { "stage": [1, 3] },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-3, "torch_adam": true } },
  "autotuning": { "enabled": true, "num_gpus": 2, "model_info": { "num_params": 16640 } } }
END
    local tuning=(deepspeed --ds_version "$release" --autotuning=run --progress none)
    # From 0.17.6 to 0.19.2 the script itself must raise the level of the log: as the warning says.
    expect_run status 0 "${tuning[@]}" --dry-run train.py --deepspeed --deepspeed_config ds_config.json
    expect_any_stdout
    case $release in
        0.17.[6-9]* | 0.18.* | 0.19.[0-2]*)
            expect_stderr_contains 'rest on the one step of its metrics.json'
            sed -n 's/^ *\(for each in .*\)/\1/p' .stderr >level
            sed -i '/^import deepspeed/r level' train.py
            ;;
        *) expect_stderr_lacks 'one step' ;;
    esac
    expect_said among_stdout 0 'trained 12 steps' "${tuning[@]}" train.py --deepspeed --deepspeed_config ds_config.json
    expect_sql '1|ok|1|
3|ok|1|' "SELECT \"zero_optimization.stage\", state, throughput > 0, coalesce(error, '') FROM results ORDER BY 1"
    # From the step after the first that is profiled on, as the engine counts them: up to the eighth, or, where the job
    # before it was recorded by then, as many as there are.
    expect_sql '1|1' "SELECT min(s.count) = 5, max(s.count) IN (5, 9) FROM results AS r JOIN job AS j ON j.id = r.job
        JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = 'throughput'"
}

# Judges each line of configs: whether the engine takes it, and the status of plan, "refused" where it says it does.
judge()
{
    local config verdict said status
    "$python" "$source_dir/tests/standin/engine/accepts.py" <configs 2>engine.err | grep -xE 'yes|no' >verdicts
    expect '[ "$(wc -l <verdicts)" = "$(wc -l <configs)" ]'
    printf '%s\n' 'profile = "deepspeed"' '[job]' 'command = ["true", "{ds_config}"]' '[deepspeed]' \
        "version = \"$release\"" 'config = "ds.json"' '[cluster_spec]' 'num_hosts = 1' 'num_devices_per_host = 1' \
        >sweep.toml
    while IFS='|' read -r verdict config; do
        printf '%s\n' "$config" >ds.json
        said=$("$meshsweep" plan -c sweep.toml 2>&1) && status=0 || status=$?
        [[ $said != *'DeepSpeed refuses it'* ]] || status=refused
        printf '%s %s %s\n' "$verdict" "$status" "$config"
    done < <(paste -d '|' verdicts configs) >judged
}

ds_configs__each__taken_by_plan_where_the_engine_takes_it()
{
    engine
    cat >configs <<'END'
{"train_batch_size": 8}
{"train_batch_size": 8, "zero_optimization": {"stage": 3, "stage3_prefech_bucket_size": 1}}
{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}
{"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}}
{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 3}
{"gradient_accumulation_steps": 2}
{"train_batch_size": 8, "fp16": {"enabled": true, "min_loss_scale": 0}}
{"train_batch_size": 8, "fp16": {"loss_scale_window": 0}}
END
    # Two names of one key.
    python3 - "$source_dir/configs/knowledge/words.toml" >>configs <<'END'
import json, sys, tomllib
for key, row in tomllib.load(open(sys.argv[1], "rb"))["ds_config"]["keys"].items():
    section, _, name = key.rpartition(".")
    value = {"int": 1, "bool": True, "table": {}}.get(row["is"])
    if "keep" in row:
        kept = {} if "offload" in row["keep"] else value
        print(json.dumps({"train_batch_size": 8, section: {name: value, row["keep"]: kept}}))
END
    judge
    ! grep -vE '^(yes 0|no [^0])' judged >differences || fail "$(cat differences)"
}

# Random ones of every type, from one seed: what the engine refuses is an error here, or excluded by a rule; what is
# said to be refused, it refuses.
random_ds_configs__of_every_type__judged_as_by_the_engines_own_classes()
{
    engine
    python3 "$source_dir/tests/standin/engine/random_configs.py" "$source_dir/configs/knowledge/words.toml" \
        "$release" 500 >configs
    judge
    expect '[ "$(grep -c ^yes judged)" -gt 100 ]'
    ! grep -E '^(yes refused|no 0) ' judged >differences || fail "$(cat differences)"
}

run_cases "$@"
