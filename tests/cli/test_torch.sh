#!/usr/bin/env bash
# Real PyTorch jobs: configs/torch-cpu.toml and scripts/train_torch.py, where PyTorch is installed. They take most of a
# minute, so by hand and in scripts/check.sh --full only (MESHSWEEP_FULL=1).
. "$(dirname "$0")/lib.sh"

need_torch()
{
    [ -n "${MESHSWEEP_FULL-}" ] || skip "real PyTorch jobs run with MESHSWEEP_FULL=1"
    /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed for /usr/bin/python3"
}

torch_cpu__run_for_real__winners_over_one_and_two_ranks()
{
    need_torch
    run_meshsweep run -c "$source_dir/configs/torch-cpu.toml" --progress none
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    expect_sql '1|0|2
2|0|2
2|1|2' "SELECT gpus, zero_stage, count(*) FROM results WHERE state = 'ok' AND throughput > 0 AND peak_memory_bytes > 1e7
        GROUP BY 1, 2"
    # The same samples in whatever split: the same training.
    expect_sql 1 "SELECT max(loss) - min(loss) < 1e-3 FROM results"
    run_meshsweep best
    expect_status 0
    expect_stdout_contains 'highest throughput '
    expect_stdout_contains 'train_torch.py'
    expect_no_stderr
}

train_torch__what_cannot_be_done__said_in_a_sentence()
{
    need_torch
    run_command /usr/bin/python3 "$source_dir/scripts/train_torch.py" --micro-batch=3
    expect_status 2
    expect_no_stdout
    expect_stderr 'train_torch.py: a global batch of 16 is no multiple of micro-batch 3 x 1 ranks'
    run_command /usr/bin/python3 "$source_dir/scripts/train_torch.py" --data=nowhere
    expect_status 2
    expect_no_stdout
    expect_stderr 'train_torch.py: nowhere: No such file or directory'
    /usr/bin/python3 -c 'import sys, torch; sys.exit(torch.__version__ >= "2")' || return 0 # has what 1.13 lacks
    run_command /usr/bin/python3 "$source_dir/scripts/train_torch.py" --device=cpu --zero-stage=3
    expect_status 2
    expect_no_stdout
    expect_stderr_contains 'ZeRO stage 3 is FullyShardedDataParallel, which PyTorch 1.13'
    run_command /usr/bin/python3 "$source_dir/scripts/train_torch.py" --device=cpu --compile=true
    expect_status 2
    expect_no_stdout
    expect_stderr_contains 'has no torch.compile'
}

CASE_SECONDS=400
run_cases "$@"
