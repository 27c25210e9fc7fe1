#!/usr/bin/env bash
# A new sweep file: from a command and axes, from a log; what is written passes check. No question in a pipe.
. "${0%/*}/lib.sh"

nanogpt_log()
{
    cat <<'END'
number of parameters: 0.80M
step 0: train loss 4.2874, val loss 4.2823
iter 0: loss 4.2664, time 1412.49ms, mfu -100.00%
iter 1: loss 4.2604, time 102.49ms, mfu -100.00%
iter 2: loss 4.2504, time 112.49ms, mfu -100.00%
iter 3: loss 4.2404, time 112.50ms, mfu 0.01%
END
}

# One run of a benchmark prints a summary, and each number once.
vllm_log()
{
    cat <<'END'
============ Serving Benchmark Result ============
Successful requests:                     100
Benchmark duration (s):                  31.34
Request throughput (req/s):              3.19
Output token throughput (tok/s):         693.53
Total Token throughput (tok/s):          1420.91
---------------Time to First Token----------------
Mean TTFT (ms):                          123.45
P99 TTFT (ms):                           456.78
END
}

script_of_that_log__written__checks_runs_and_measures()
{
    nanogpt_log >train.log
    printf '#!/bin/sh\ncat train.log\n' >train.sh
    run_meshsweep init --from-log train.log batch_size=4,8 'dtype=bf16,"a b"' note=true,false rate=1,1e-4 \
        -- sh train.sh '--bs={batch_size}'
    expect_only_stderr 0 'meshsweep: wrote sweep.toml; check it, then: meshsweep plan
meshsweep: in train.log it finds mfu 0.01 %, the median of 1 number: 0.01
meshsweep: in train.log it finds val_loss 4.2823, the last of 1 number: 4.2823
meshsweep: in train.log it finds loss 4.2404, the last of 4 numbers: 4.2664, 4.2604, 4.2504, 4.2404
meshsweep: in train.log it finds step_time 112.495 ms, the median of 4 numbers: 1412.49, 102.49, 112.49, 112.5 '\
'(without the first 2)'
    expect_file_contains sweep.toml 'command = ["sh", "train.sh", "--bs={batch_size}", "--dtype={dtype}", "--note={'
    expect_file_contains sweep.toml 'batch_size = [4, 8]' 'dtype = ["bf16", "\"a b\""]' 'note = [true, false]'
    expect_file_contains sweep.toml 'rate = [1, 1e-4]' 'name = "train"' 'objective = "min:step_time"'
    expect_file_contains sweep.toml '# sure: 4 lines of train.log: 1412.49, 102.49, 112.49, 112.5'
    expect_said only_stdout_contains 0 '16 combinations' check sweep.toml
    run_silently 0
    # The first samples are left out; the loss is not the validation's.
    expect_sql '112.495|4.2404|16' "SELECT step_time, loss, count(*) FROM results WHERE state = 'ok'"
    run_meshsweep init batch_size=4 -- true
    expect_only_stderr 2 'meshsweep: init: sweep.toml exists already; name another file with -o FILE'
    expect_said only_stdout_contains 0 'objective = "min:duration"' init -o - batch_size=4 -- true
}

# The log of each framework that is here brings its profile.
log__of_a_framework__its_profile()
{
    while read -r log profile; do
        run_meshsweep init --from-log "$source_dir/tests/readers/$log.log"
        expect_only_stdout_contains 0 '# sure: it reads ' "profile = \"$profile\""
    done <<'END'
colossalai colossalai
deepspeed deepspeed
deepspeed-flops-profiler deepspeed
huggingface huggingface
lightning lightning
lightning-profiler lightning
lingua lingua
litgpt litgpt
llm-foundry llm-foundry
maxtext maxtext
megatron megatron
megatron-deepspeed megatron
nanotron nanotron
nemo-rl nemo-rl
olmo olmo
olmo-core olmo-core
picotron picotron
torchtitan torchtitan
torchtitan-old torchtitan
torchtune torchtune
verl verl
END
}

log__of_no_framework__patterns_and_how_sure()
{
    vllm_log >bench.log
    expect_said only_stdout_contains 0 '# sure: 1 line of bench.log: 693.53
[job.metrics.throughput]
regex = '\''^Output token throughput \(tok/s\): +([0-9.]+)'\''
unit = "tok/s"
better = "max"' init --from-log bench.log
    expect_stdout_contains '[job.metrics.time_to_first_token]'
    sed -i 1d bench.log
    expect_said only_stdout_contains 0 '# likely; please check: 1 line of bench.log: 1420.91
[job.metrics.throughput]
regex = '\''^ *Total *Token *throughput *\(tok/s\): *([0-9.eE+-]+)'\''
unit = "tok/s"
better = "max"' init --from-log bench.log
    expect_stdout_contains '# or, on 1 line: 693.53; regex = ' '[job.metrics.step_time]'
    printf 'hello\n10:00:00 nothing to see, 3 files\n' >empty.log
    expect_said only_stdout_contains 0 '# Nothing in empty.log looks like' init --from-log empty.log
    printf '\xff\xfel\0o\0s\0s\0' >wide.log
    expect_said only_stderr_contains 2 'iconv -f UTF-16 -t UTF-8 wide.log' init --from-log wide.log
    head -c 100000 /dev/urandom >noise.log
    expect_run only_stdout 0 init --from-log noise.log
}

unit_is() # METRIC UNIT SWEEP-FILE
{
    local table=${3#*"[job.metrics.$1]"}
    [[ ! $2 || ${table%%$'\n['*} = *$'\n'"unit = \"$2\""* ]]
}

# A line as each of several trainers writes it, twice: which metric is read, with which number and in which unit.
log__unseen_trainers__what_they_name()
{
    local metric value unit line seen='' wanted='' n=0 text
    while IFS=';' read -r metric value unit line; do
        if [ "$line" != "$seen" ]; then
            seen=$line n=$((n + 1))
            printf '%s\n%s\n' "$line" "$line" >unseen.log
            expect_run only_stderr 0 init --from-log unseen.log -o "$n.toml" a=1,2 -- sh -c "cat unseen.log # {a}"
            expect_run silent 0 run -c "$n.toml" -d "$n.db" --only a=1 --progress none
            read_text "$n.toml"
            echo ".open $n.db" >>values.sql
        fi
        wanted="$wanted"$'\n'"$n $metric|$value"
        echo "SELECT '$n $metric', (SELECT value FROM summary WHERE name = '$metric');" >>values.sql
        unit_is "$metric" "$unit" "$text" || fail "$metric is not in $unit: $text"
    done <<'END'
throughput;120345.25;;{"train/loss": 11.5, "throughput/mfu": 48.5, "throughput/tokens_per_second": 120345.25}
mfu;48.5;;{"train/loss": 11.5, "throughput/mfu": 48.5, "throughput/tokens_per_second": 120345.25}
step_time;3018.5;ms;step    2/19560 | loss 10.96 | lr 1.71e-06 | 3018.5 ms | 46.9% bf16 MFU | 173690 tok/s
throughput;173690.0;tok/s;step    2/19560 | loss 10.96 | lr 1.71e-06 | 3018.5 ms | 46.9% bf16 MFU | 173690 tok/s
step_time;1.25;seconds;done step: 1, seconds: 1.25, TFLOP/s/gpu: 251.4, Tokens/s/gpu: 1787.5, loss: 12.1
throughput;1787.5;tokens/s/gpu;done step: 1, seconds: 1.25, TFLOP/s/gpu: 251.4, Tokens/s/gpu: 1787.5
step_time;5.125;s;iteration 10/99 | lr: 3e-06 | memory_allocated: 41943040000 | train_step_timing in s: 5.125
peak_memory;62914560000.0;B;iteration 10/99 | memory_allocated: 41943040000 | peak_memory_usage: 62914560000 | loss: 1
step_time;12.5;ms;{"step": 7, "step_time_ms": 12.5, "loss": 3}
throughput;361.5;img/sec;Epoch 1/3, Batch 10/99: loss=2.5, 45.25 img/sec/GPU, 361.5 img/sec total, ETA 0:01:20
throughput;1.02;Steps/Sec;(step=0000100) Train Loss: 0.1889, Train Steps/Sec: 1.02
loss;0.1889;;(step=0000100) Train Loss: 0.1889, Train Steps/Sec: 1.02
throughput;1.02;steps/sec;step 5: loss 2.1, speed: 1.02 steps/sec
step_time;0.12;seconds;epoch 1, batch 3, seconds per iteration: 0.12
step_time;0.12;sec/step;step 3, sec/step: 0.12
step_time;1.5;s;Epoch: [0]  [  20/2502]  eta: 1:02:56  loss: 1.25 (1.5)  time: 1.5  data: 0.01  max mem: 10611
loss;1.25;;Epoch: [0]  [  20/2502]  eta: 1:02:56  loss: 1.25 (1.5)  time: 1.5  data: 0.01  max mem: 10611
peak_memory;10611.0;MiB;Epoch: [0]  [  20/2502]  eta: 1:02:56  loss: 1.25 (1.5)  time: 1.5  data: 0.01  max mem: 10611
throughput;2828.5;tokens/s;{"step": 7, "perf": {"tokens_per_sec": 2828.5, "gpu_mem_gb": 12.5}}
peak_memory;12.5;GB;{"step": 7, "perf": {"tokens_per_sec": 2828.5, "gpu_mem_gb": 12.5}}
throughput;2.5;steps/s;epoch 1 train_steps_per_second=2.5 loss=3
throughput;1163.5;/s;Train: 0 [  50/5004 (  1%)]  Loss: 6.93 (6.94)  Time: 0.22s, 1163.5/s  (0.25s, 1024.0/s)  LR: 1e-05
step_time;0.22;s;Train: 0 [  50/5004 (  1%)]  Loss: 6.93 (6.94)  Time: 0.22s, 1163.5/s  (0.25s, 1024.0/s)  LR: 1e-05
step_time;1223.5;ms;step 3: train loss 4.57 (took 1223.5 ms)
step_time;0.25;;10:00:01 - Epoch(train) [1][ 50/391]  eta: 0:10:01  time: 0.25  data_time: 0.01  memory: 1234
peak_memory;1234.0;;10:00:01 - Epoch(train) [1][ 50/391]  eta: 0:10:01  time: 0.25  data_time: 0.01  memory: 1234
loss;10.5;;    train/CrossEntropyLoss=10.5
throughput;2.5;;epoch 1 trainStepsPerSecond=2.5 loss=3
throughput;12101.0;tokens/s/gpu;    throughput/device/tokens_per_second=12,101
throughput;52500.0;tok/s;step 7 | loss 9.5 | tok/s: 52.5K | tok/s/GPU: 6.5K
throughput;6500.0;tok/s/gpu;step 7 | loss 9.5 | tok/s/GPU: 6.5K
throughput;52500.0;tokens/s;rank 0 at step 7 | loss 9.5 | Tokens/s 52.5K | Tokens/s/GPU 6.5K | MFU 38.5%
step_time;971.25;ms/batch;| epoch 1 | 200/ 2983 batches | lr 20.00 | ms/batch 971.25 | loss 8.2 | ppl 900
perplexity;900.0;;| epoch 1 | 200/ 2983 batches | lr 20.00 | ms/batch 971.25 | loss 8.2 | ppl 900
val_loss;6.5;;| end of epoch 1 | time: 58.20s | valid loss 6.5 | valid ppl 660
step_time;;;| end of epoch 1 | time: 58.20s | valid loss 6.5 | valid ppl 660
val_loss;2.5;;step 250: train loss 2.25, val loss 2.5
loss;2.25;;step 250: train loss 2.25, val loss 2.5
accuracy;91.5;%;Epoch 3 - accuracy: 91.5%
throughput;35.5;samples/sec;step 3: 35.5 samples/sec
flops;251.5;TFLOP/s;step 3: 251.5 TFLOP/s
bandwidth;10.5;GB/s;allreduce of 1 MiB: bw 10.5 GB/s
iops;45300.0;;  read: IOPS=45.3k, BW=177MiB/s (185MB/s)(10.3MiB/1001msec)
bandwidth;185.0;;  read: IOPS=45.3k, BW=177MiB/s (185MB/s)(10.3MiB/1001msec)
bandwidth;22345.5;;Triad:           22345.5     0.0108     0.0107     0.0109
events_per_second;812.5;;    events per second:   812.5
events_per_second;152.25;;    transactions:                        4567   (152.25 per sec.)
bogo_ops_per_second;1234.5;;stress-ng: metrc: [70] cpu       12345   10.00   39.90    0.01    1234.50    309.10
tokens_per_second;12.25;;| llama 7B Q4_0 | 3.56 GiB | 6.74 B | CPU | 8 | tg128 | 12.25 ± 0.05 |
auc;0.75;;[1]	train-auc:0.98	eval-auc:0.75
auc;0.75;;[1]	training's auc: 0.95	valid_0's auc: 0.75	valid_0's binary_logloss: 0.25
logloss;0.25;;[1]	training's auc: 0.95	valid_0's auc: 0.75	valid_0's binary_logloss: 0.25
mfu;46.5;%;step    2/19560 | loss 10.96 | lr 1.71e-06 | 3018.5 ms | 46.5% bf16 MFU | 173690 tok/s
END
    expect_said_by only_stdout 0 "${wanted#?}" run_command sqlite3 -batch :memory: '.read values.sql'
}

# Its bar alone, from which Lightning's profile reads two metrics, does not make a script one of Lightning's.
log__a_script_with_bars_like_lightnings__its_own_lines()
{
    for i in 1 2 3 4 5; do
        echo "Epoch 0:  ${i}0%|#####     | $i/10 [00:01<00:01,  4.9${i}it/s, loss=0.5]"
        echo "{\"step\": $i, \"train\": {\"tokens_per_sec\": 100$i, \"peak_mem_gb\": 12.5}}"
    done >bars.log
    run_meshsweep init --from-log bars.log
    expect_only_stdout_contains 0 "regex = '\"tokens_per_sec\": *([0-9.eE+-]+)'" '[job.metrics.peak_memory]'
    expect_stdout_lacks profile
    sed -i 's|it/s, loss=0.5|it/s, v_num=0, train_loss_step=0.5|' bars.log
    expect_said only_stdout_contains 0 'profile = "lightning"' init --from-log bars.log
}

# The file that Lightning's CSVLogger writes.
log__a_csv_file__its_columns()
{
    printf 'epoch,step,train_loss,step_time_ms,val_loss\n0,9,2.5,12.5,\n0,19,2.25,13.5,\n0,19,,,2.5\n' >metrics.csv
    expect_run only_stderr 0 init --from-log metrics.csv -o csv.toml a=1 -- sh -c 'cp metrics.csv {job_dir}/ # {a}'
    expect_file_contains csv.toml 'objective = "min:step_time"'
    expect_run silent 0 run -c csv.toml -d csv.db --progress none
    expect '[ "$(sqlite3 csv.db "SELECT group_concat(value) FROM summary WHERE name IN ('"'loss', 'step_time'"')
        ORDER BY name")" = "2.25,13.0" ]'
}

# A number that only grows is a clock; where there is nothing else, it is no step time either.
log__time_since_the_start__is_no_step_time()
{
    for i in 1 2 3 4 5 6; do
        echo "step:$i/20 train_loss:9.5 train_time:$((350 * i))ms step_avg:350.25ms"
    done >clock.log
    expect_said only_stdout_contains 0 "regex = '\\bstep_avg:([0-9.eE+-]+)ms'" init --from-log clock.log
    expect_stdout_lacks train_time
    sed -i 's/ step_avg.*//' clock.log
    expect_run only_stdout 0 init --from-log clock.log
    expect_stdout_lacks step_time
    # Steps that become slower for a while are steps, whether the name says so or they do not grow evenly.
    printf 'took %sms\n' 0.5 76.5 95.5 119.5 120.5 >rising.log
    expect_said only_stdout_contains 0 '[job.metrics.step_time]' init --from-log rising.log
}

# The same word in lines of different things is no metric, and no objective.
log__lines_that_name_different_things__not_read()
{
    printf '%s: min=73, avg=%s, stdev=9\n' 'clat (us)' 378.25 'lat (us)' 378.5 'bw (KiB/s)' 9972 iops 2493 >mixed.log
    expect_run status 0 init --from-log mixed.log a=1 -o - -- sh -c 'cat mixed.log # {a}'
    expect_stderr 'meshsweep: in mixed.log it finds no number; say in [job.metrics] how to read what counts
meshsweep: the shortest job will win, as nothing in mixed.log says what counts; else write objective = "max:NAME" or '\
'"min:NAME" in [sweep]'
    expect_stdout_contains 'objective = "min:duration"' \
        '# not read: 2 lines of mixed.log that name different things: 378.25, 378.5.'
    expect_any_stdout
    expect "! grep -q '^.job.metrics' .stdout"
}

# Dashes for underscores, switches that take no value, variables of the environment.
script__takes_its_settings_otherwise__written_as_it_takes_them()
{
    cat >train.py <<'END'
import argparse, os
p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int)
p.add_argument("--lr", type=float)
p.add_argument("--fused", action="store_true")
p.add_argument("--bf16", action=argparse.BooleanOptionalAction)
p.add_argument("--pad_to", type=int)
a = p.parse_args()
print(a.batch_size, a.lr, a.fused, a.bf16, a.pad_to, os.environ["WORKERS"], "took: 3 ms")
END
    expect_run only_stderr 0 init batch_size=4,8 lr=1e-3 fused=true,false bf16=false,true WORKERS=2 \
        -- python3 train.py --pad_to=8
    expect_file_contains sweep.toml 'command = "python3 train.py --pad_to=8 --batch-size={batch_size} --lr={lr} '\
'{fused!r} {bf16!r}"' 'env = { WORKERS = "{WORKERS}" }' 'fused = ["--fused", ""]' 'bf16 = ["--no-bf16", "--bf16"]'
    run_silently 0
    expect_sql '8|ok' "SELECT count(*), min(state) FROM job WHERE state = 'ok'"
    expect '[ "$(cat results.db.d/*/*/output.log | sort | head -n 1)" = "4 0.001 False False 8 2 took: 3 ms" ]'
    # Hydra and OmegaConf take assignments; the script may be a module.
    mkdir -p apps/main
    echo 'cfg = OmegaConf.from_cli()' >apps/main/train.py
    run_meshsweep init -o - optim.lr=1e-4,1e-3 -- python3 -m apps.main.train
    expect_only_stdout_contains 0 'command = ["python3", "-m", "apps.main.train", "optim.lr={optim.lr}"]'
    # A case of a shell script takes the next word.
    cat >bench.sh <<'END'
while [ $# -gt 0 ]; do
    case $1 in --threads|-t) t=$2; shift ;; --block=*) b=$1 ;; esac
    shift
done
echo "took: $((t + 1)) ms $b"
END
    expect_run only_stderr 0 init -o bench.toml threads=1,2 block=4,8 -- sh bench.sh
    expect_file_contains bench.toml 'command = ["sh", "bench.sh", "--threads", "{threads}", "--block={block}"]'
    # An option with values of its own is no switch, and without switches the command is words.
    run_meshsweep init -o - fused=1,2 batch_size=4 -- python3 train.py
    expect_only_stdout_contains 0 'command = ["python3", "train.py", "--fused={fused}", "--batch-size={batch_size}"]'
}

# As launch scripts of public projects name them: what is the same for all jobs would bring them together.
command__names_port_and_devices__each_job_has_its_own()
{
    local words command rest
    while IFS='|' read -r words command rest; do
        read -ra words <<<"$words"
        run_meshsweep init -o - a=1,2 -- "${words[@]}"
        expect_only_stdout_contains 0 "$command"
        [ -z "$rest" ] || expect_stdout_contains "$(echo -e "$rest")"
    done <<'END'
torchrun --master_port=20001 t.py|"--master_port={master_port}", "t.py", "--a={a}"]
torchrun --rdzv-endpoint localhost:29501 t.py|"--rdzv-endpoint", "localhost:{master_port}", "t.py",
torchrun --rdzv-endpoint=localhost:0 t.py|"--rdzv-endpoint=localhost:0", "t.py",
X=1 CUDA_VISIBLE_DEVICES=0,1 MASTER_PORT=29501 torchrun t.py|env = { X = "1", MASTER_PORT = "{master_port}" }
CUDA_VISIBLE_DEVICES=0,1 python3 t.py|command = ["python3", "t.py", "--a={a}"]|host = 2
CUDA_VISIBLE_DEVICES= python3 t.py|env = { CUDA_VISIBLE_DEVICES = "" }
accelerate launch --gpu_ids 0,1 t.py --gpu_ids 7|["accelerate", "launch", "t.py", "--gpu_ids", "7",|host = 2
accelerate launch --gpu_ids 0,1 --num_processes 1 t.py|["accelerate", "launch", "--num_processes", "{gpus}",|host = 1
deepspeed --include localhost:4,5,6,7 t.py|["deepspeed", "t.py", "--a={a}"]|host = 4
deepspeed --include=w0:4,5 t.py|["deepspeed", "--include=w0:4,5", "t.py",
deepspeed --num_gpus 2 t.py|["deepspeed", "--num_gpus", "{gpus_per_node}", "t.py",|[local]\nexclusive = true
torchrun --nproc_per_node 2 t.py --device 0,1|"t.py", "--device", "0,1",|[local]\nexclusive = true
yolo train device=0,1,2 epochs=1|["yolo", "train", "device=0,1,2", "epochs=1", "a={a}"]|host = 3
python3 t.py --device 0|["python3", "t.py", "--device", "0", "--a={a}"]
fabric run --devices=8 --num-nodes=2 t.py|"--devices={gpus_per_node}", "--num-nodes={nodes}", "t.py",|host = 8
python3 -m accelerate.commands.launch --num_processes 4 t.py|"--num_processes", "{gpus}", "t.py",|host = 4
END
    run_meshsweep init -o - CUDA_VISIBLE_DEVICES=0,1 -- CUDA_VISIBLE_DEVICES=0 python3 t.py
    expect_only_stdout_contains 0 'env = { CUDA_VISIBLE_DEVICES = "{CUDA_VISIBLE_DEVICES}" }'
    run_meshsweep init -o - a=1,2 -- CUDA_VISIBLE_DEVICES=0,1 deepspeed --include=localhost:3 t.py
    expect_only_stdout_contains 0 '# Without --include=localhost:3 CUDA_VISIBLE_DEVICES=0,1: each job gets devices of '\
'its own; [local] devices says of which.'
}

# No shell reads the command, and one that is given as a text takes no options behind it.
command__words_of_a_shell__said()
{
    local line
    for line in 'cd src && python3 t.py' 'python3 t.py 2>&1 | tee log' 'python3 t.py > log'; do
        run_meshsweep init -o - a=1,2 --script "$line"
        expect_only_stderr_contains 2 'is for a shell, and none reads the command: leave it out, as'
    done
    expect_said only_stdout_contains 0 '"--x", "a | b", "--a={a}"]' init -o - a=1,2 --script 'python3 t.py --x "a | b"'
    expect_said only_stdout_contains 0 '# TO DO: bash -c takes no words behind its text. Write into that: {a}, {b}' \
        init -o - a=1,2 b=3 -- bash -c 'python3 t.py'
    expect_said only_stdout_contains 0 'command = ["sh", "-c", "t {a}"]' init -o - a=1,2 -- sh -c 't {a}'
    expect_stdout_lacks 'TO DO'
}

keys__as_other_tools_write_them__refused_or_read()
{
    run_meshsweep init -o - a=1 -- A=1
    expect_only_stderr_contains 2 'meshsweep: init: which command should be run?'
    run_meshsweep init -o - 'a=[1,2]' -- t
    expect_only_stderr 2 'meshsweep: init: a=[1,2]: write an axis as KEY=VALUE,VALUE,…, for example micro_batch=1,2,4'
    run_meshsweep init -o - 'a b=1,2' -- t
    expect_only_stderr 2 'meshsweep: init: a b=1,2: a key is letters, digits, _, - and inner dots'
    expect_said only_stdout_contains 0 'a = [1, 2, "[3]"]' init -o - 'a=1, 2,[3]' -- t
}

# Axes replace what the command gives one value for, and what its launcher starts, in their places.
command__gives_a_value_of_an_axis__takes_its_place()
{
    run_meshsweep init -o - micro-batch-size=1,2 lr=1,2 tensor_parallel=1 \
        -- torchrun --nnodes 2 --nproc-per-node 8 train.py --micro-batch-size 4 --lr=3e-4 --bf16
    expect_only_stdout_contains 0 '["torchrun", "--nnodes", "{nodes}", "--nproc-per-node", "{gpus_per_node}", "train.'
    expect_stdout_contains '"--micro-batch-size", "{micro_batch_size}", "--lr={lr}", "--bf16", "--tensor-parallel={ten'
    expect_stdout_contains 'num_hosts = 2
num_devices_per_host = 8'
    # A switch that is swept is a word or none; options with underscores stay as they are.
    run_meshsweep init -o - bf16=true,false num_layers=2 -- accelerate launch --num_processes 4 train.py --bf16 --a_b c
    expect_only_stdout_contains 0 '"accelerate launch --num_processes {gpus} train.py --a_b c {bf16!r} '\
'--num_layers={num_layers}"' 'bf16 = ["--bf16", ""]' 'num_devices_per_host = 4'
    # Devices may be swept, and a launcher's option is not the program's.
    run_meshsweep init -o - nproc_per_node=1,2 optim.lr=1,2 -- torchrun --nproc_per_node 8 -m a.train optim.lr=3
    expect_only_stdout_contains 0 '"--nproc_per_node", "{gpus_per_node}", "-m", "a.train", "optim.lr={optim.lr}"]'
    expect_stdout_contains 'num_devices_per_host = [1, 2]' 'name = "a.train"'
    expect_said only_stdout_contains 0 '"--mixed_precision", "{mixed_precision}", "train.py", "--lr", "1"]' init -o - \
        mixed_precision=fp16,bf16 -- accelerate launch --num_processes 2 --mixed_precision fp16 train.py --lr 1
    run_meshsweep init -o - n=5,6 -- mpirun -np 4 ./train -n 3
    expect_only_stdout_contains 0 'command = ["mpirun", "-np", "{gpus}", "./train", "-n", "{n}"]'
    # Some scripts start their processes themselves.
    run_meshsweep init -o - a=1 -- python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8 trainer.nnodes=2
    expect_only_stdout_contains 0 '"trainer.n_gpus_per_node={gpus_per_node}", "trainer.nnodes={nodes}", "a={a}"]'
    expect_stdout_contains 'num_hosts = 2'
    run_meshsweep init -o - trainer.devices=1,2 -- python3 main.py fit --trainer.devices 4
    expect_only_stdout_contains 0 '"--trainer.devices", "{gpus_per_node}"]' 'num_devices_per_host = [1, 2]'
    # Data parallelism takes the devices that the other degrees leave, unless the command says how many.
    expect_run only_stderr 0 init tensor_parallel_size=1,2,3 pp=1,2 -- torchrun --nproc_per_node=8 train.py
    expect_file_contains sweep.toml 'dp = "gpus / (tp * pp)"'
    expect_said only_stdout_contains 0 '6 combinations, 4 matched' plan
    expect_run only_status 0 init -o - tp=1,2 dp=4 -- torchrun --nproc_per_node=8 train.py
    expect_stdout_lacks '[derive]'
    # A word that is no number of devices says nothing.
    run_meshsweep init -o - x=1 -- torchrun --nnodes 1:4 --nproc_per_node gpu train.py
    expect_only_stdout_contains 0 '"--nnodes", "1:4", "--nproc_per_node", "gpu", "train.py", "--x={x}"]'
    expect_stdout_contains '# [[cluster_spec]]'
}

# As the documentation of ms-swift, LLaMA-Factory, torchtune, Colossal-AI, Composer and axolotl has them: the number of
# processes as a variable or behind "--", a verb behind the launcher, settings of a configuration as assignments.
command__of_a_framework__as_its_launcher_takes_it()
{
    run_meshsweep init -o - per_device_train_batch_size=1,2 -- PYTORCH_CUDA_ALLOC_CONF='a:"b"' NPROC_PER_NODE=8 \
        swift sft --model Q --per_device_train_batch_size 1
    expect_only_stdout_contains 0 '["swift", "sft", "--model", "Q", "--per_device_train_batch_size", "{per_device_tr'
    expect_stdout_contains 'env = { PYTORCH_CUDA_ALLOC_CONF = "a:\"b\"", NPROC_PER_NODE = "{gpus_per_node}" }'
    expect_stdout_contains 'num_devices_per_host = 8' 'name = "sft"'
    expect_said only_stdout_contains 0 'command = ["llamafactory-cli", "train", "a.yaml", "lr={lr}"]' init -o - lr=1,2 \
        NPROC_PER_NODE=4,8 --script 'env NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train a.yaml'
    expect_stdout_contains 'env = { NNODES = "{nodes}", NPROC_PER_NODE = "{gpus_per_node}" }' 'num_hosts = 2
num_devices_per_host = [4, 8]'
    run_meshsweep init -o - batch_size=1,2 -- tune run --nproc_per_node 8 full_finetune --config llama3/8B_full
    expect_only_stdout_contains 0 '"full_finetune", "--config", "llama3/8B_full", "batch_size={batch_size}"]'
    expect_stdout_contains 'name = "full_finetune"'
    expect_said only_stdout_contains 0 '["colossalai", "run", "--nproc_per_node", "{gpus_per_node}", "benchmark.py", '\
'"-p", "3d", "--tp", "{tp}"]' init -o - tp=1,2 -- colossalai run --nproc_per_node 8 benchmark.py -p 3d --tp 4
    run_meshsweep init -o - lr=1,2 -- composer -n 8 train.py 7b.yaml batch=512
    expect_only_stdout_contains 0 '["composer", "-n", "{gpus_per_node}", "train.py", "7b.yaml", "batch=512", "lr={lr}"]'
    expect_said only_stdout_contains 0 '"axolotl train a.yml --launcher torchrun '\
'--micro-batch-size={micro_batch_size} {flash!r} -- --nproc_per_node={gpus_per_node}"' init -o - micro_batch_size=1,2 \
        flash=true,false -- axolotl train a.yml --flash --launcher torchrun -- --nproc_per_node=8
    # A variable may be the axis.
    expect_said only_stdout_contains 0 'command = ["./train"]
env = { OMP_NUM_THREADS = "{OMP_NUM_THREADS}" }' init -o - OMP_NUM_THREADS=1,4 -- OMP_NUM_THREADS=2 ./train
    # The command need not set it.
    expect_said only_stdout_contains 0 'command = ["./absent", "--n={n}"]
env = { OMP_NUM_THREADS = "{OMP_NUM_THREADS}" }' init -o - OMP_NUM_THREADS=1,4 n=1 -- ./absent
    # A compiled program may have no text of an option.
    expect_said only_stdout_contains 0 '# TO DO: nothing in sort shows an option --block-size; see its help.
command = ' init -o - buffer-size=1,2 block-size=1,2 -- sort file
    expect_stdout_contains '"--buffer-size={buffer_size}"'
    expect_stdout_lacks 'option --buffer'
}

# A script has no option for what DeepSpeed reads from the file that the command names.
command__names_a_ds_config__its_keys_are_swept_there()
{
    cat >train.py <<'END'
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--deepspeed", type=str)
parser.add_argument("--steps", type=int)
a = parser.parse_args()
c = json.load(open(a.deepspeed))
print(c["zero_optimization"]["stage"], c["train_batch_size"], a.steps)
END
    echo '{"train_batch_size": 8, "fp16": {"enabled": "auto"}, "zero_optimization": {"stage": "auto"}}' >ds_config.json
    expect_run only_stderr 0 init zero_stage=1,2 steps=3,4 -- python3 train.py --deepspeed ds_config.json
    expect_file_contains sweep.toml 'command = ["python3", "train.py", "--deepspeed", "{ds_config}", "--steps={steps}"]'
    expect_file_contains sweep.toml 'config = "ds_config.json"' 'profile = "deepspeed"'
    expect_run only_status 0 run --progress none
    expect '[ "$(cat results.db.d/*/*/output.log | sort | tr "\n" " ")" = "1 8 3 1 8 4 2 8 3 2 8 4 " ]'
    # From another directory, by the other name, with a dotted key; "auto" is left to the script, outside of ZeRO.
    mkdir sub
    expect_run only_stderr 0 init -o sub/sweep.toml zero_optimization.stage=1,2 fp16=true,false \
        -- deepspeed other.py --deepspeed --deepspeed_config=ds_config.json
    expect_file_contains sub/sweep.toml '"--deepspeed_config={ds_config}", "--fp16={fp16}"]'
    expect_file_contains sub/sweep.toml "config = \"$PWD/ds_config.json\""
    expect_said among_stdout 0 '4 combinations' check sub/sweep.toml
    # With a framework's profile beside it.
    run_meshsweep init -o - zero_stage=1,2 -- deepspeed pretrain_gpt.py --deepspeed --deepspeed_config ds_config.json \
        --num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 --vocab-size 512 --micro-batch-size 1
    expect_only_stdout_contains 0 'profile = ["deepspeed", "megatron'
    # The script may have an option for it, or there may be no such file.
    sed -i 's/steps/zero_stage/' train.py
    run_meshsweep init -o - zero_stage=1,2 -- python3 train.py --deepspeed ds_config.json
    expect_only_stdout_contains 0 '"--deepspeed", "ds_config.json", "--zero_stage={zero_stage}"]'
    run_meshsweep init -o - zero_stage=1,2 -- python3 train.py --deepspeed absent.json
    expect_only_stdout_contains 0 '"--deepspeed", "absent.json", "--zero_stage={zero_stage}"]'
}

# A trainer that takes its settings from a file alone, and says of which type they are.
file_trainer()
{
    mkdir conf
    cat >conf/c.yaml <<'END'
data:
  batch-size: 8   # of a device
  seq: 512
  packed: false
optim: { lr: 2.0e-05, name: adam }
eval:
  seq: 64
release: "3"
layers:
  - size: 16
  - size: 16
    width: null
END
    printf '%s\n' 'import sys, yaml' 'c = yaml.safe_load(open(sys.argv[sys.argv.index("--config") + 1]))' \
        'print(c["data"], c["optim"], c["eval"], repr(c["release"]), c["layers"])' >train.py
}

command__names_a_configuration__its_keys_are_swept_there()
{
    file_trainer
    run_meshsweep init batch_size=2,4 data.seq=64,128 lr=1,1e-4 packed=true,false release=1,2 layers.1.size=1,2 \
        width=8 -- python3 train.py --config conf/c.yaml
    expect_only_stderr 0
    expect_file_contains sweep.toml 'command = ["python3", "train.py", "--config", "{file.c.yaml}"]' \
        'lr = [1.0, 1e-4]' 'release = ["1", "2"]' 'batch_size = [2, 4]' \
        'data.seq = [64, 128]' 'size = [1, 2]' '[[job.file]]
path = "c.yaml"
base = "conf/c.yaml"
[job.file.set]
"data.batch-size" = "batch_size"
"data.seq" = "data.seq"
"optim.lr" = "lr"
"data.packed" = "packed"
"release" = "release"
"layers.1.size" = "size"
"layers.1.width" = "width"
'
    expect '! grep -q "TO DO" sweep.toml'
    run_meshsweep run --progress none --only 'batch_size = 4 AND data.seq = 128 AND lr = 1 AND packed AND size = 2' -j 2
    expect_silent 0
    cat results.db.d/*/*/output.log | sort | head -n 1 >first
    expect_file_contains first "{'batch-size': 4, 'seq': 128, 'packed': True} \
{'lr': 1.0, 'name': 'adam'} {'seq': 64} '1' [{'size': 16}, {'size': 2, 'width': 8}]"
    # However the command names it, whatever its name; a sweep file elsewhere names it by its whole path.
    mv conf/c.yaml 7b.yaml
    mkdir sub
    echo '{"steps": 3}' >c.json
    run_meshsweep init -o sub/sweep.toml batch_size=2 steps=1,2 -- CONF=7b.yaml ./train.sh conf=7b.yaml --c=c.json \
        7b.yaml
    expect_only_stderr 0
    expect_file_contains sub/sweep.toml '"conf={file.config.yaml}", "--c={file.c.json}", "{file.config.yaml}"]' \
        'env = { CONF = "{file.config.yaml}" }' 'path = "config.yaml"' "base = \"$PWD/7b.yaml\"" \
        "base = \"$PWD/c.json\""
}

command__names_a_configuration__what_is_not_clear_said()
{
    file_trainer
    expect_said only_stderr 2 'meshsweep: init: seq may be data.seq of conf/c.yaml, eval.seq of conf/c.yaml; name the '\
'whole path, for example data.seq=…' init -o - seq=64 -- python3 train.py --config conf/c.yaml
    run_meshsweep init -o - name=1 -- python3 train.py --config conf/c.yaml --copy conf/d.yaml
    expect_only_stdout_contains 0 'name = ["1"]'
    cp conf/c.yaml conf/d.yaml
    run_meshsweep init -o - optim.name=1 -- python3 train.py --config conf/c.yaml --copy conf/d.yaml
    expect_only_stderr 2 'meshsweep: init: optim.name may be optim.name of conf/c.yaml, optim.name of conf/d.yaml; '\
'leave it out of all files but one'
    # A word for a number, and a number with a fraction where the file has none.
    expect_said only_stdout_contains 0 '# TO DO: data.batch-size of conf/c.yaml is an integer, and auto is not.
# TO DO: optim.lr of conf/c.yaml is a float, and x is not.
# TO DO: data.packed of conf/c.yaml is a boolean, and no is not.
# TO DO: data.seq of conf/c.yaml is an integer, and 1.5 is not.
command = ' init -o - batch_size=2,auto lr=x packed=no data.seq=1.5 -- python3 train.py --config conf/c.yaml
    # A key that no file has is an option as ever; the nearest is told.
    run_meshsweep init -o - batch-sise=2 x=1 -- python3 train.py --config conf/c.yaml
    expect_only_stdout_contains 0 '"--config", "conf/c.yaml", "--batch_sise={batch_sise}", "--x={x}"]' \
        '# TO DO: no file has batch_sise; the nearest is data.batch-size of conf/c.yaml.
command = '
    # An option of the command or its script comes first.
    echo 'parser.add_argument("--batch-size"); parser.add_argument("--config")' >>train.py
    run_meshsweep init -o - lr=1,2 batch_size=2,4 -- python3 train.py --config conf/c.yaml --lr 3
    expect_only_stdout_contains 0 '["python3", "train.py", "--config", "conf/c.yaml", "--lr", "{lr}", "--batch-size={' \
        "# lr: the command's own is swept, not optim.lr of conf/c.yaml.
# batch_size: the command's own is swept, not data.batch-size of conf/c.yaml.
command = "
    expect_stdout_lacks 'job.file'
    # One that does not parse is no file of keys.
    echo '{' >conf/c.yaml
    run_meshsweep init -o - lr=1,2 -- python3 train.py --config conf/c.yaml
    expect_only_stdout_contains 0 '"--config", "conf/c.yaml", "--lr={lr}"]'
}

script__has_no_such_option__told()
{
    cat >train.py <<'END'
parser = argparse.ArgumentParser()
parser = deepspeed.add_config_arguments(parser)
parser.add_argument("--learning-rate", type=float)
parser.add_argument("--warmup_steps", "--warmup", type=int)
parser.add_argument("--train_batch", "--t", type=int)
END
    run_meshsweep init -o - lr=1,2 warmup_step=1 warmup_stops=1 tp=1 batch=1 -- python3 train.py
    expect_only_stdout_contains 0 '# TO DO: train.py has no option --lr; the nearest that it has is --learning-rate.
# TO DO: train.py has no option --warmup_stops; the nearest that it has is --warmup_steps.
# TO DO: train.py has no option --tp.
# TO DO: train.py has no option --batch; the nearest that it has is --train_batch.
command = '
    # Options may come from elsewhere.
    echo 'add_model_arguments(parser)' >>train.py
    expect_run only_status 0 init -o - lr=1,2 -- python3 train.py
    expect_stdout_lacks 'TO DO'
    # The command's own options are known of a script that is not here.
    run_meshsweep init -o - lr=1,2 adam-beta2=1,2 -- python3 absent.py --learning-rate 3 --adam-beta1 0.9
    expect_only_stdout_contains 0 '# TO DO: the command gives --learning-rate. If --lr is the same, name the key so.
command = '
}

# All jobs would be alike, whatever the axis: the sweep file says so.
shell_script__does_not_listen__told()
{
    cat >train.sh <<'END'
BATCH_SIZE=4   # of a device
export LR=1e-4
SEED=${SEED:-1}
if [ -z "$STEPS" ]; then
    STEPS=10
fi
torchrun pretrain.py --micro-batch-size $BATCH_SIZE --lr $LR --seed $SEED --steps $STEPS
END
    run_meshsweep init -o - BATCH_SIZE=1,2 LR=1,2 SEED=1,2 STEPS=1,2 micro_batch_size=1,2 -- bash train.sh
    expect_only_stdout_contains 0 '# TO DO: train.sh sets BATCH_SIZE itself, whatever its environment says. Write there:
#   BATCH_SIZE=${BATCH_SIZE:-4}
# TO DO: train.sh sets LR itself, whatever its environment says. Write there:
#   LR=${LR:-1e-4}
# TO DO: train.sh passes no arguments on, so that it would not see micro_batch_size. Write "$@" behind the
# arguments of the program that it starts.
command = '
    sed -i 's/^BATCH_SIZE=4/BATCH_SIZE=${BATCH_SIZE:-4}/; s/^torchrun.*/& "$@"/; s/LR=1/LR=${LR:-1}/' train.sh
    expect_run only_status 0 init -o - BATCH_SIZE=1,2 LR=1,2 micro_batch_size=1,2 -- bash train.sh
    expect_stdout_lacks 'TO DO'
    # What follows its own arguments, unless it is the first; and settings that it writes as KEY=VALUE.
    printf 'DATA=$1\npython3 -m main trainer.batch=4 data=$DATA\n' >own.sh
    expect_said only_stdout_contains 0 'TO DO: own.sh passes no arguments' init -o - trainer.batch=1,2 -- bash own.sh x
    expect_stdout_contains '"own.sh", "x", "trainer.batch={trainer.batch}"'
    expect_run only_status 0 init -o - trainer.batch=1,2 -- bash own.sh
    expect_stdout_lacks 'TO DO'
}

# What submits ends at once, and the shortest job would be the one that was submitted first.
command__that_submits__told()
{
    printf '#!/bin/sh\n#SBATCH --nodes=2\nsrun python3 train.py "$@"\n' >job.sbatch
    expect_said only_stdout_contains 0 '# TO DO: sbatch ends when it has submitted the job' \
        init -o - lr=1,2 -- sbatch job.sbatch
}

# The launcher's file says how many processes it starts; an axis of it is one of devices.
launcher_file__number_of_processes__devices()
{
    printf 'num_machines: 2\nnum_processes: 8\nfp8: false\n' >launch.yaml
    expect_said only_stdout_contains 0 $'num_hosts = 2\nnum_devices_per_host = 4\n' \
        init -o - lr=1,2 -- accelerate launch --config_file launch.yaml train.py
    sed -i 1d launch.yaml
    expect_said only_stdout_contains 0 $'num_hosts = 1\nnum_devices_per_host = [2, 4]\n' \
        init -o - num_processes=2,4 -- accelerate launch --config_file launch.yaml train.py
    expect_stdout_contains '"num_processes" = "gpus"'
    expect_said only_stdout_contains 0 $'num_hosts = 1\nnum_devices_per_host = [2, 4]\n' \
        init -o - num_processes=2,4 -- accelerate launch --config_file launch.yaml --num_processes 8 train.py
}

# By its options' names it is of a framework: predictions are made before anything has run.
command__of_a_framework__predicted()
{
    run_meshsweep init tensor-model-parallel-size=1,8 -- torchrun --nproc_per_node=8 pretrain_gpt.py --num-layers 80 \
        --hidden-size 8192 --num-attention-heads 64 --seq-length 4096 --vocab-size 32000 --micro-batch-size 1 \
        --global-batch-size 64 --bf16 --use-distributed-optimizer --lr 1e-4
    expect_only_stderr 0
    expect_file_contains sweep.toml 'profile = "megatron'
    expect_file_contains sweep.toml '"--num-layers", "{num_layers}", "--hidden-size", "{hidden_size}"'
    expect_file_contains sweep.toml '"--bf16", "--use-distributed-optimizer", "--lr", "1e-4"'
    expect_file_contains sweep.toml 'bf16 = true   # as in the command'
    sed -i 's/^# device/device/' sweep.toml
    expect_said only_stdout_contains 4 'excluded 2 by memory.fits' plan
    # Missing keys are told, and a value that predictions do not know is left to the command.
    run_meshsweep init -o - tp=1,2 \
        -- torchrun --nproc_per_node=2 train.py --layers=2 --hidden=64 --seq 512 --precision odd
    expect_only_stdout_contains 0 '# Predictions also need: heads, vocab, micro_batch.' '"--precision", "odd"'
    run_meshsweep init -o - micro_batch=1 -- python3 train.py --n_layer=2 --n_head=2 --n_embd=64 --block_size=256
    expect_only_stdout_contains 0 '"--n_embd={n_embd}", "--block_size={block_size}"' '# Predictions also need: vocab.'
    # No framework, no model: no predictions.
    run_meshsweep init -o - batch=1 -- accelerate launch --num_processes 2 train.py --model gpt2 --bf16 True --hidden 3
    expect_only_status 0
    expect_stdout_lacks '[predict]' profile
}

# Tables as trackers and people write them, each with what its import says; what is a guess says so.
table__of_a_tracker__drafted_and_imported()
{
    cat >wandb.csv <<'END'
"Name","State","Notes","User","Created","Runtime","batch_size","lr","train/loss","throughput/tokens_per_sec"
"dandy-1","finished","-","anna","2025-01-02T10:00:00.000Z","123","8","0.001","2.31","12345.5"
"dandy-2","crashed","-","anna","2025-01-02T10:10:00.000Z","12","16","0.001","",""
"dandy-3","running","-","anna","2025-01-02T10:20:00.000Z","130","8","0.0001","2.51","12301.5"
END
    draft wandb.csv '3 rows: 1 ok, 1 failed, 1 refused'
    expect_sql '12345.5|2.31|8|0.001|123000' "SELECT throughput, loss, batch_size, lr,
        (SELECT max(duration_ms) FROM attempt WHERE state = 'ok') FROM results WHERE state = 'ok'"
    expect_file_contains wandb.toml 'objective = "max:throughput"' '# Left out, because every row has its own value '\
'or all have the same: Name, User, Created'
    rm -f results.db*
    cat >optuna.csv <<'END'
number,value,datetime_start,duration,params_batch_size,params_lr,state
0,-2.31,2025-01-02 10:00:00,0 days 00:02:00,8,0.001,COMPLETE
1,,2025-01-02 10:00:00,0 days 00:02:00,16,0.001,FAIL
2,-2.11,2025-01-02 10:00:00,0 days 00:02:00,8,0.0001,COMPLETE
3,2.9,2025-01-02 10:00:00,0 days 00:02:00,32,0.0001,PRUNED
END
    draft optuna.csv '4 rows: 2 ok, 1 failed, 1 refused'
    expect_sql '-2.31|0.001' "SELECT value, lr FROM results WHERE value IS NOT NULL ORDER BY value LIMIT 1"
    expect_file_contains optuna.toml 'objective = "min:value"   # a guess'
}

table__of_a_person__numbers_as_they_are_written()
{
    printf '\xef\xbb\xbfModel;Micro Batch;Peak memory (GB);step time (s);Status\n%s\n%s\n%s\n' \
        '7B;1;40,25;1,25;ok' '7B;2;79,5;1,5;fine' '7B;4;;;OOM' >commas.csv
    draft commas.csv '3 rows: 1 ok, 2 failed, 0 refused'
    expect_sql '40.25|1.25|7B|1' "SELECT peak_memory, step_time, model, micro_batch FROM results WHERE state = 'ok'"
    expect_file_contains commas.toml '"fine" = "exit"   # a guess'
    rm -f results.db*
    printf 'dp\ttp\tgroup\ttokens/s\tmemory\n%s\n%s\n%s\n' '1	8	a	1,234.5	16.5 GB' '2	4	a	2,345	17.5 GB' \
        '8	1	b	OOM	OOM' >tabs.csv
    draft tabs.csv '3 rows: 2 ok, 1 failed, 0 refused'
    expect_sql '1234.5|16.5|8|a' "SELECT throughput, peak_memory,
        num_devices_per_host, \"group\" FROM results WHERE dp = 1"
    # The table's other cells say what a comma is, and one column may be in points; memory is in one unit.
    rm -f results.db*
    printf '%s\n' 'GPUs;TP;ZeRO;lr;Peak Mem;Tokens/s;Step Time (s);MFU [%];Status' \
        '8;1;ZeRO-0;0.001;512 MiB;1.234,5;1,234;39,3 %;ok' '8;1;ZeRO-0;0.001;1.024 MiB;2.000;1,5e+00;38,1 %;ok' \
        '8;2;ZeRO-3;0.002;1,5 GiB;3.456;9,876;-;ok' '8;2;ZeRO-2;0.002;-;OOM;N/A;-;OOM' >mixed.csv
    draft mixed.csv '4 rows: 3 ok, 1 failed, 0 refused; 3 jobs'
    expect_sql 'mfu|38.1 39.3
peak_memory|1024.0 1536.0 512.0
step_time|1.234 1.5 9.876
throughput|1234.5 2000.0 3456.0' "SELECT name, group_concat(value, ' ') FROM
        (SELECT * FROM metric ORDER BY name, CAST(value AS TEXT)) GROUP BY name"
    expect_sql '0.001|8|0
0.002|4|3
0.002|4|2' 'SELECT lr, dp, zero FROM results'
    printf 'x,rate\n1,"1,234"\n2,"2,345"\n3,"3,456"\n4,"4,567"\n' >open.csv
    run_meshsweep init --from-table open.csv -o -
    expect_only_stdout_contains 0 '# a guess: 1,234 of rate is a number with commas between thousands'
    # A number that is in neither notation of all cells is refused and not misread.
    rm -f results.db*
    printf 'x,tokens/s\n1,12.5\n2,13.5\n3,14.5\n4,"15,5"\n' >both.csv
    draft both.csv '4 rows: 3 ok, 0 failed, 1 refused'
    # The columns of a cluster have the names that rules and predictions know.
    printf 'gpu,nodes,gpus,tp,tok_s_gpu,result\nH100,2,16,2,900,✓\nH100,1,8,2,1000,✓\nH100,1,8,4,1100,✓\n' >nodes.csv
    expect_said only_stdout_contains 0 '[import.cluster_spec]
num_devices_per_host = "(gpus) / (nodes)"
device = "gpu"
num_hosts = "nodes"
gpus = "gpus"
[import.parallel_spec]' init --from-table nodes.csv -o -
    expect_stdout_contains '[job.metrics.tok_s_gpu]
unit = "tokens/s/gpu"'
    expect_said only_stderr_contains 1 'absent.csv' init --from-table absent.csv
    : >empty.csv
    run_meshsweep init --from-table empty.csv
    expect_only_stderr_contains 2 'the table is empty; its first line must name the columns'
    expect_said only_stderr_contains 2 '--from-table cannot be combined' init --from-table tabs.csv a=1 -- true
}

draft() # TABLE COUNTS
{
    expect_said only_stderr_contains 2 "meshsweep init --from-table $1 writes one" import "$1"
    run_meshsweep init --from-table "$1" -o "${1%.csv}.toml"
    expect_only_stderr_contains 0 'meshsweep: best: ' \
        "meshsweep: wrote ${1%.csv}.toml; check it, then: meshsweep import -c ${1%.csv}.toml $1"
    expect_said among_stdout 0 "$1: $2" import -c "${1%.csv}.toml" "$1"
}

nobody_to_ask__what_is_missing__said()
{
    expect_said only_stderr_contains 2 'meshsweep: init: which command should be run? For example: meshsweep init ' init
    expect_said only_stderr_contains 2 'init: which values should be tried?' init --script 'python3 train.py'
    echo loss,size >runs.csv
    expect_said only_stderr 2 'meshsweep: init: runs.csv is a file; did you mean meshsweep init --from-table '\
'runs.csv?' init runs.csv
    expect_said only_stderr 2 'meshsweep: init: micro_batch: write an axis as KEY=VALUE,VALUE,…, for example '\
'micro_batch=1,2,4' init micro_batch -- true
    for range in 0..4 1,2...8 -3..-1; do
        expect_said only_stderr 2 "meshsweep: init: workers=$range: ranges such as ${range#1,} are not understood; \
name each value, for example workers=1,2,4" init -o - "workers=$range" -- true
    done
    expect_said only_stdout_contains 0 'data = ["a..b", "../x", "v1..2"]' init -o - data=a..b,../x,v1..2 -- true
    expect_said only_stderr_contains 2 'a boolean in one place' init -o - a=true,2 -- true
    expect_run only_stderr 2 init 1x=2 -- true
    expect '[ ! -e sweep.toml ]'
    expect_said only_stderr_contains 1 'none.log' init --from-log none.log a=1 -- true
}

# init at a terminal, where somebody types these answers.
answer() # ANSWER... -- [ARGUMENT...]
{
    local answers=()
    while [ "$1" != -- ]; do
        answers+=("$1")
        shift
    done
    run_command python3 "$source_dir/tests/cli/at_terminal.py" "${answers[@]}" -- "$meshsweep" init "${@:2}"
    expect_no_stderr
}

terminal__answers__written()
{
    vllm_log >serve.log
    expect_after status 0 answer "sh -c 'echo batch {batch}; echo done'" 'batch=1,2,4 lr=1e-3,1e-4' serve.log --
    expect_stdout_contains 'Which command runs the training?' 'Which values should be tried?'
    expect_stdout_contains 'wrote sweep.toml; check it, then: meshsweep plan'
    expect_file_contains sweep.toml 'command = ["sh", "-c", "echo batch {batch}; echo done", "--lr={lr}"]' 'serve.log'
    expect_said among_stdout 0 '6 jobs' plan
    # Values that are given are not asked for.
    expect_after status 0 answer a=1,2 '' -- -o other.toml -- true
    expect_stdout_contains 'Which values'
    expect_stdout_lacks 'Which command'
    expect_after status 0 answer '' -- -o second.toml a=1,2 -- true
    expect_stdout_lacks 'Which'
    expect_after status 0 answer -- --from-log serve.log
    expect_stdout_lacks '?'
}

terminal__answers_that_will_not_do__asked_again()
{
    mkdir directory
    answer "it's" '' 'python3 train.py' micro_batch micro_batch=1,,2 a=true,2 '1x=2' 'a=1 a=2' \
        'micro_batch=1,2' none.log directory '' --
    expect_status 0
    for rest in "it's: a quote is not closed" 'micro_batch: write an axis as KEY=VALUE' 'micro_batch=1,,2: there is '\
'an empty value' \
        'a boolean in one place' 'none.log: ' 'directory: '; do
        expect_stdout_contains "$rest"
    done
    expect '[ "$(grep -c "Which command" .stdout)" = 3 ]'
    expect_file_contains sweep.toml 'micro_batch = [1, 2]'
    expect '! grep -q "1x\|true" sweep.toml'
    # A file that stands there is told before anything is asked.
    cp sweep.toml before.toml
    expect_after status 2 answer 'python3 other.py' --
    expect_stdout 'meshsweep: init: sweep.toml exists already; name another file with -o FILE'
    expect 'cmp -s before.toml sweep.toml'
}

# A number that is one in two lines, and nothing says whether more of it is better.
terminal__objective_unknown__asked()
{
    printf 'grad_norm: %s\nmemory: %s GiB\n' 1.5 10 2.5 10 3.5 10 >odd.log
    expect_after status 0 answer max:speed min:peak_memory -- --from-log odd.log a=1,2 -- true
    expect_stdout_contains 'in odd.log it finds peak_memory 10 GiB' 'Which metric counts? (max:NAME or min:NAME' \
        'max:speed: no reader finds that'
    expect '[ "$(grep -c "Which metric" .stdout)" = 2 ]'
    expect_file_contains sweep.toml 'objective = "min:peak_memory"'
    expect_after status 0 answer '' -- --from-log odd.log -o other.toml a=1,2 -- true
    expect_stdout_contains 'the shortest job will win, as nothing in odd.log says what counts'
    expect_file_contains other.toml 'objective = "min:duration"'
}

terminal__ended_or_interrupted__no_file()
{
    for before in "" "true" "true a=1,2"; do
        for after in ^C ^D; do
            # shellcheck disable=SC2086 # answers
            answer $before "$after" --
            if [ "$after" = ^C ]; then
                expect_status 130
                expect_any_stdout
            else
                expect_status 1
                expect_stdout_contains 'meshsweep: init: the input ended before all questions were answered; '\
'nothing was written'
            fi
            expect '[ -z "$(ls)" ]'
        done
    done
}

run_cases "$@"
