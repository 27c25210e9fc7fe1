#!/usr/bin/env bash
# Real PyTorch jobs: configs/torch-cpu.toml and scripts/train_torch.py, where PyTorch is installed. They take most of a
# minute, so by hand and in scripts/check.sh --full only (MESHSWEEP_FULL=1). Each process that imports PyTorch takes two
# seconds of a processor: no more of them do than a case needs.
. "${0%/*}/lib.sh"

need_torch()
{
    [ -n "${MESHSWEEP_FULL-}" ] || skip "real PyTorch jobs run with MESHSWEEP_FULL=1"
    need_module torch
}

torch_cpu__run_for_real__winners_over_one_and_two_ranks()
{
    need_torch
    expect_run silent 0 run -c "$source_dir/configs/torch-cpu.toml" --progress none \
        --only 'micro_batch = 2 or zero_stage = 1'
    expect_sql '1|0|1
2|0|1
2|1|2' "SELECT gpus, zero_stage, count(*) FROM results WHERE state = 'ok' AND throughput > 0 AND peak_memory_bytes > 1e7
        GROUP BY 1, 2"
    # The same samples in whatever split: the same training.
    expect_sql 1 "SELECT max(loss) - min(loss) < 1e-3 FROM results"
    run_meshsweep best
    expect_only_stdout_contains 0 'highest throughput ' 'train_torch.py'
}

# They told each other "address already in use" where both took the port that torchrun takes when it is told none: it
# listens there itself, before it starts the ranks.
torchrun__two_jobs_side_by_side__both_ok()
{
    need_torch
    cat >train.py <<'END'
import os, time
open(os.environ["MESHSWEEP_JOB_DIR"] + "/began", "w").close()
deadline = time.time() + 60
while len([d for d, _, f in os.walk("results.db.d") if "began" in f]) < 2 and time.time() < deadline:
    time.sleep(0.05)
if os.environ["RANK"] == "0":
    print("ranks:", os.environ["WORLD_SIZE"], "port:", os.environ["MASTER_PORT"], flush=True)
END
    # The options --tee and --redirects ask for the default, which Debian's PyTorch cannot read.
    toml sweep: objective=max:ranks job: command='["/usr/bin/python3", "-m", "torch.distributed.run",' \
        '"--nproc_per_node=2", "--tee=1", "--redirects=1", "--log_dir={job_dir}/ranks", "train.py"]' \
        timeout=2m job.metrics.ranks: regex='ranks: ([0-9]+)' better=max \
        training_spec: n=1,2 cluster_spec: num_devices_per_host=1 local: devices=2 >sweep.toml
    run_silently 0
    expect_sql '2|2.0|2' "SELECT count(*), min(ranks),
        (SELECT count(DISTINCT substr(log_tail, instr(log_tail, 'port:'))) FROM attempt) FROM results
        WHERE state = 'ok'"
    expect_sql 1 "SELECT max(started) < min(ended) FROM attempt"
}

# Real words of real ranks.
torchrun__a_rank_fails__its_exception_not_that_of_the_others()
{
    need_torch
    cat >train.py <<'END'
import argparse, os, signal
parser = argparse.ArgumentParser()
parser.add_argument("--how")
how = parser.parse_args().how
import torch, torch.distributed as dist
dist.init_process_group("gloo")
t = torch.ones(1)
dist.all_reduce(t)
if dist.get_rank() == 1:
    if how == "exception":
        t.no_such_method()
    if how == "assert":
        assert t.shape == (2,)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
dist.all_reduce(t)
END
    toml job: command='["/usr/bin/python3", "-m", "torch.distributed.run", "--nproc_per_node=2", "--tee=1",' \
        '           "--redirects={redirects}", "--log_dir={job_dir}/ranks", "train.py", "--{option}={how}"]' \
        env='{ OMP_NUM_THREADS = 1 }' timeout=2m training_spec:: redirects=1,2 option=how how=exception \
        training_spec:: redirects='[2]' option=how how=assert training_spec:: redirects=1 option=how how=signal \
        training_spec:: redirects=1 option=what how=exception >sweep.toml
    run_silently 3 --keep-going
    # With --redirects=2 and --tee=1 what a rank says of its failure is in a file of its own.
    expect_sql "what=exception|1|exit status 1: train.py: error: unrecognized arguments: --what=exception
how=exception|2|exit status 1: AttributeError: 'Tensor' object has no attribute 'no_such_method'
how=assert|1|exit status 1: AssertionError at train.py:13: assert t.shape == (2,)" "SELECT
            json_extract(s.json, '\$.option') || '=' || json_extract(s.json, '\$.how') AS what, count(*),
            replace(a.message, '[default1]:', '') FROM job AS j JOIN spec AS s ON s.id = j.training_id
        JOIN attempt AS a ON a.id = j.attempt_id WHERE what <> 'how=signal' GROUP BY 1, 3 ORDER BY 1 DESC LIMIT 3"
    expect_sql 1 "SELECT count(*) FROM attempt
        WHERE message LIKE 'exit status 1: %Signal 11 (SIGSEGV) received by PID%'"
}

train_torch__what_cannot_be_done__said_in_a_sentence()
{
    need_torch
    cat >each.py <<'END'
import runpy, sys, torch
script, *each = sys.argv[1:]
for words in each if torch.__version__ < "2" else each[:2]:
    sys.argv[1:] = words.split()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        print(end.code, file=sys.stderr)
END
    run_command /usr/bin/python3 each.py "$source_dir/scripts/train_torch.py" --micro-batch=3 --data=nowhere \
        '--device=cpu --zero-stage=3' '--device=cpu --compile=true'
    expect_only_stderr_contains 0 'train_torch.py: a global batch of 16 is not a multiple of micro-batch 3 x 1 ranks
2
train_torch.py: nowhere: No such file or directory
2'
    /usr/bin/python3 -c 'import importlib.metadata as m, sys; sys.exit(m.version("torch") >= "2")' || return 0
    expect_stderr_contains 'ZeRO stage 3 is FullyShardedDataParallel, which PyTorch 1.13' 'has no torch.compile'
}

CASE_SECONDS=400
run_cases "$@"
