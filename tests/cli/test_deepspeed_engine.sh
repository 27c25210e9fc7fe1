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

run_cases "$@"
