#!/usr/bin/env bash
# Every file in configs/ is planned and checked, and the quickstart is run: interrupted once, gone on with, won by
# something.
. "${0%/*}/lib.sh"

# Those that need a framework's own file beside them are tried in tests/cli/test_recipes.sh.
every_file__is_planned_and_right()
{
    for file in "$source_dir"/configs/*.toml "$source_dir"/configs/cookbook/*.toml; do
        ! grep -qxF '[[job.file]]' "$file" || continue
        models=''
        ! grep -q '^\[model_space\]' "$file" || models=--search-model
        # shellcheck disable=SC2086 # an option or none
        expect_run status 0 plan --json -c "$file" $models
        expect_any_stdout
        expect_stderr_lacks "$file" # of the models that were found it may speak
        expect_json 1 "(j ->> 'jobs' > 0 AND j ->> 'new' = j ->> 'jobs' AND j ->> 'matched' <= j ->> 'combinations')"
        # shellcheck disable=SC2086
        expect_said among_stdout 0 ' combinations, ' plan -c "$file" $models
        expect_said only_stdout_contains 0 "$file: " check "$file"
    done
    expect "! ls | grep results"
}

# The log lines that each file of the cookbook shows are read: a job that prints them has the objective.
cookbook__lines_that_it_shows__are_read()
{
    for file in "$source_dir"/configs/cookbook/*.toml; do
        ! grep -qxE '\[\[(job\.file|fixture)\]\]' "$file" || continue
        rm -rf results.db*
        expect_run only_stderr 0 run -c "$file" --limit 1 --progress none -- sed -n 's/^# //p' "$file"
        # Without the objective it would be a failure.
        expect_sql 1 "SELECT count(*) FROM attempt WHERE state = 'ok'"
    done
}

# The options that a recipe's command may give, as the sources of Megatron-LM and torchtitan (August 2026), Lightning
# 2.6, Transformers 5, DeepSpeed 0.19 and PyTorch's FSDP2 example have them. Words that are no options are let through,
# but for torchtitan's subcommands.
known_options() # RECIPE
{
    local torchrun="--nnodes --nproc_per_node --rdzv_backend --rdzv_endpoint"
    local trainer="--do_train --per_device_train_batch_size --gradient_accumulation_steps --gradient_checkpointing
        --bf16 --fp16 --fsdp --deepspeed --learning_rate --max_steps --logging_steps --save_strategy --report_to
        --output_dir --max_grad_norm --adam_beta1 --adam_beta2 --adam_epsilon --weight_decay"
    local run_clm="--model_name_or_path --dataset_name --dataset_config_name --block_size"
    case $1 in
    fsdp2) echo "$torchrun --mixed-precision --explicit-prefetching" ;;
    huggingface) echo "$torchrun $trainer $run_clm" ;;
    deepspeed) echo "--num_gpus --master_port --model_name_or_path --task_name --max_seq_length $trainer" ;;
    megatron) echo "$torchrun --num-layers --hidden-size --num-attention-heads --seq-length
        --max-position-embeddings --bf16 --tensor-model-parallel-size --pipeline-model-parallel-size
        --num-layers-per-virtual-pipeline-stage
        --sequence-parallel --use-distributed-optimizer --recompute-activations --micro-batch-size --global-batch-size
        --mock-data --tokenizer-type --vocab-size --train-iters --lr --min-lr --lr-decay-style --log-interval
        --log-throughput --eval-iters" ;;
    torchtitan) echo "$torchrun --local-ranks-filter --role --tee --module --config --dump_folder --training.steps
        --training.max_context_length --training.num_tokens_per_microbatch_per_dp_rank
        --training.num_tokens_per_train_step --training.dtype --training.enable_cpu_offload
        --parallelism.data_parallel_shard_degree --parallelism.data_parallel_replicate_degree
        --parallelism.tensor_parallel_degree --parallelism.pipeline_parallel_degree --parallelism.num_pp_microbatches
        --parallelism.pipeline_parallel_schedule --parallelism.context_parallel_degree
        --parallelism.expert_parallel_degree --compile.enable --metrics.log_freq activation-checkpoint:none
        activation-checkpoint:selective activation-checkpoint:full activation-checkpoint:memory-budget" ;;
    lightning) echo "--trainer.accelerator --trainer.devices --trainer.num_nodes --trainer.strategy --trainer.precision
        --trainer.max_steps --trainer.enable_checkpointing --trainer.limit_val_batches --trainer.default_root_dir
        --trainer.callbacks+ --trainer.accumulate_grad_batches --trainer.profiler --data.batch_size" ;;
    esac
}

# Makes what such a run prints; those of the cookbook show it themselves.
printed_by() # RECIPE FILE
{
    case $1 in
    megatron)
        for _ in 1 2 3 4; do
            echo " [2026-08-22 10:00:00.123456] iteration        1/      12 | consumed samples:          128 |\
 elapsed time per iteration (ms): 523.4 | throughput per GPU (TFLOP/s/GPU): 210.5 | global batch size:   128 |"
        done ;;
    deepspeed)
        for _ in 1 2 3 4 5 6 7; do
            echo "[INFO] [timer.py:264:stop] epoch=0/micro_step=1/global_step=1, RunningAvgSamplesPerSec=20.5, \
CurrSamplesPerSec=21.5, MemAllocated=1.2GB, MaxMemAllocated=3.4GB"
        done ;;
    huggingface)
        for _ in 1 2 3; do
            echo "{'train_runtime': '61.2', 'train_samples_per_second': '20.9', 'train_loss': '2.9', 'epoch': '1.0'}"
        done ;;
    *) sed -n 's/^# //p' "$2" ;;
    esac
}

# The commands as they stand, with stand-ins of the launchers, which take no option that the real ones have not.
recipes__their_commands__run_by_stand_ins()
{
    stand_in bin/launcher <<'END'
for word; do
    case $word in
    --* | activation*:*) grep -qx -e "${word%%=*}" HERE/known || { echo "no option $word" >&2; exit 2; } ;;
    *[{}]*) echo "a placeholder is left: $word" >&2; exit 2 ;;
    esac
done
cat HERE/printed
[ ! -e HERE/saves ] || mkdir -p checkpoints
END
    sed -i "s:HERE:$PWD:" bin/launcher
    for launcher in torchrun deepspeed python3; do
        cp bin/launcher "bin/$launcher"
    done
    for name in cookbook/fsdp2 huggingface deepspeed megatron cookbook/torchtitan cookbook/lightning; do
        file=$source_dir/configs/$name.toml
        name=${name#cookbook/}
        known_options "$name" | tr -s ' ' '\n' >known
        printed_by "$name" "$file" >printed
        cp "$file" "$name.toml"
        cp "$source_dir/configs/deepspeed.json" .
        limit=16
        # Each of its twelve jobs runs three times, in turn.
        [ "$name" != fsdp2 ] || { : >saves && limit=36; }
        run_command env PATH="$PWD/bin:$PATH" "$meshsweep" run -c "$name.toml" -d "$name.db" -j 4 \
            --order shuffled --limit "$limit" --progress none
        expect_only_stderr 0
        expect_sql "0|1" "SELECT sum(state = 'failed'), sum(state = 'ok') >= 4 FROM job" "$name.db"
    done
    # The FSDP2 example says nothing but a line where there are no two GPUs.
    rm -rf saves fsdp2.db*
    run_command env PATH="$PWD/bin:$PATH" "$meshsweep" run -c fsdp2.toml -d fsdp2.db --limit 1 --progress none
    expect_only_stderr 3
}

serving__one_server_per_setting_under_each_load__best_within_the_limit()
{
    local file=$source_dir/configs/cookbook/vllm.toml
    expect_command silent 0 env PATH="$source_dir/tests/standin:$PATH" "$meshsweep" run -c "$file" --progress none
    expect_sql '6|6|6' "SELECT count(*), count(DISTINCT given), sum(state = 'ended' AND failure IS NULL)
        FROM fixture_start"
    expect_sql '4|4|ok' "SELECT min(n), max(n), state FROM (SELECT count(*) AS n, max(a.state) AS state
        FROM attempt_fixture AS u JOIN attempt AS a ON a.id = u.attempt_id GROUP BY u.fixture_id)"
    # Faster ones answer too late.
    expect_sql '25600.0' "SELECT max(output_tokens_per_second) FROM results"
    run_meshsweep best
    expect_among_stdout 0 'highest output_tokens_per_second 12800 tokens/s' '--max-concurrency=32'
    # The lines that the file shows are read as those of the stand-in are.
    rm -r results.db*
    run_command env PATH="$source_dir/tests/standin:$PATH" "$meshsweep" run -c "$file" --limit 1 --progress none \
        -- sed -n 's/^# //p' "$file"
    expect_silent 0
    expect_sql '2104.37|148.29|13.52|0.0' \
        "SELECT output_tokens_per_second, p99_ttft, mean_tpot, failed_requests FROM results WHERE state = 'ok'"
}

# Every analysis of sql/queries has an answer; nothing was tried twice.
analyses_of_it()
{
    local file rows
    for file in "$source_dir"/sql/queries/*.sql; do
        expect_command only_stdout 0 sh -c 'exec sqlite3 -batch -bail results.db <"$1"' sh "$file"
        rows=$(wc -l <.stdout)
        case ${file##*/} in
        retried_jobs.sql) expect "[ $rows = 0 ]" ;;
        *) expect "[ $rows -gt 0 ]" ;;
        esac
    done
}

# The lines of docs/database.md for other tools, with what Python has of its own: pandas reads the same through the same
# modules.
other_programs_read_it()
{
    expect_run silent 0 export --succeeded -o results.csv
    run_command python3 -c '
import csv, sqlite3
view = sqlite3.connect("results.db").execute("SELECT * FROM results WHERE state = ?", ("ok",)).fetchall()
file = list(csv.DictReader(open("results.csv", newline="")))
print(len(view) == len(file) > 0, float(file[0]["throughput"]) > 0, {r["state"] for r in file})'
    expect_only_stdout 0 "True True {'ok'}"
}

quickstart__interrupted_and_gone_on_with__has_a_winner()
{
    local config=$source_dir/configs/quickstart.toml done_before
    # Its worth is in what it measures; for this fewer and shorter steps do.
    sed -e 's/--steps=[0-9]*/--steps=3/; s/--warmup-steps=[0-9]*/--warmup-steps=1/; s/^warmup = .*/warmup = 1/' \
        -e 's/^seq = .*/seq = 4/' "$config" >quickstart.toml
    expect "! cmp -s quickstart.toml '$config'"
    start_meshsweep run -c quickstart.toml --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) >= 3 FROM job WHERE state <> 'pending'
        AND state <> 'running'\" 2>/dev/null)\" = 1 ]" 60
    end_command INT only_stderr_contains 130 'waiting for the running ones'
    done_before=$(sql "SELECT count(*) FROM job WHERE state IN ('ok', 'failed')")
    expect_run silent 3 run -c quickstart.toml --progress none
    # Nothing ran twice; some are too large for their devices, and nothing else went wrong.
    expect_sql "1|1" "SELECT count(*) > $done_before, min(attempts) = 1 AND max(attempts) = 1 FROM results"
    expect_sql "|1
oom|1" "SELECT failure, count(*) > 0 FROM job GROUP BY 1"
    expect_sql 1 "SELECT count(*) > 0 FROM excluded WHERE excluded > 0"
    # The loss does not depend on how the state is partitioned.
    expect_sql 1 "SELECT min(same) FROM (SELECT max(loss) - min(loss) < 0.001 AS same FROM results WHERE state = 'ok'
        GROUP BY \"layers\", num_devices_per_host, micro_batch)"
    run_meshsweep best
    expect_only_stdout_contains 0 'highest throughput ' 'meshsweep-trainer --steps=3'
    analyses_of_it
    other_programs_read_it
}

CASE_SECONDS=300
run_cases "$@"
