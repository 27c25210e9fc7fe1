#!/usr/bin/env bash
# Frameworks that take their settings from a file: the recipes in configs/cookbook, and what init makes of their
# commands, with stand-ins that take no option and no key that the real ones have not.
. "${0%/*}/lib.sh"
/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"

recipes="nanotron litgpt torchtune axolotl llama-factory nemo gpt-neox accelerate"

# The words, options and settings of the sources that docs/cookbook.md names, and the keys that their examples need not
# have.
known_to() # RECIPE
{
    case $1 in
    nanotron) echo --nproc_per_node= --rdzv_backend= --rdzv_endpoint= run_train.py --config-file ;;
    litgpt) echo pretrain --config --out_dir= ;;
    torchtune) echo run --nproc_per_node full_finetune_distributed --config output_dir= ;;
    axolotl) echo train --launcher torchrun --output-dir= -- --nproc_per_node= --master_port= max_steps:int \
        save_strategy:str eval_strategy:str ;;
    llama-factory) echo train output_dir= max_steps:int ;;
    nemo) echo --nproc_per_node= --rdzv_backend= --rdzv_endpoint= megatron_gpt_pretraining.py --config-path= \
        --config-name= exp_manager.exp_dir= model.data.data_prefix= ;;
    gpt-neox) echo train.py gradient_accumulation_steps:int ;;
    accelerate) echo launch --config_file --main_process_port= run_clm.py --model_name_or_path= --dataset_name= \
        --dataset_config_name= --do_train --block_size= --bf16 --per_device_train_batch_size= \
        --gradient_accumulation_steps= --max_steps= --logging_steps= --save_strategy= --report_to= --output_dir= ;;
    esac
}

# The framework's example, and its launchers. They print the lines that the recipe shows.
lay_framework() # RECIPE
{
    local name
    mkdir "$1" && cd "$1" && mkdir bin
    cp -r "$source_dir/tests/standin/frameworks/$1/." .
    cp "$source_dir/tests/standin/framework" bin/
    for name in torchrun litgpt tune axolotl llamafactory-cli accelerate; do
        ln -s framework "bin/$name"
    done
    ln -s bin/framework deepy.py
    echo "$source_dir/tests/standin/frameworks/$1" "$(known_to "$1")" >bin/known
    sed -n 's/^# //p' "$source_dir/configs/cookbook/$1.toml" >bin/printed
}

# Runs sweep.toml. Adds to ../given what the jobs' files had in place of the base's: "RECIPE: KEY = VALUE...".
run_framework() # RECIPE
{
    expect_command silent 0 env PATH="$PWD/bin:$PATH" "$meshsweep" run --progress none
    cat results.db.d/*/*/output.log | sed -n 's/^given //p' | sort -uV |
        awk -F ' = ' -v name="$1" '
            $1 != key { if (key) print line; key = $1; line = name ": " key " =" }
            { line = line " " $2 }
            END { print line }' >>../given
    cd ..
}

# Prints what is missing or too much.
expect_given() { diff -u - given || fail "the files of the jobs are not as expected"; }

each_recipe__run__its_axes_reach_the_files()
{
    for name in $recipes; do
        lay_framework "$name"
        cp "$source_dir/configs/cookbook/$name.toml" sweep.toml
        expect_said only_stdout_contains 0 'sweep.toml: ' check sweep.toml
        run_framework "$name"
    done
    expect_given <<END
nanotron: checkpoints.checkpoint_interval = 100000
nanotron: parallelism.dp = 2 4 8
nanotron: parallelism.pp = 2 4
nanotron: parallelism.tp = 2
nanotron: tokens.batch_accumulation_per_replica = 2 3 4 6 8 12 24
nanotron: tokens.micro_batch_size = 2 3 6
nanotron: tokens.train_steps = 20
litgpt: precision = "bf16-mixed" "bf16-true"
litgpt: train.global_batch_size = 64
litgpt: train.max_steps = 20
litgpt: train.micro_batch_size = 4 8 16
litgpt: train.save_interval = 100000
torchtune: batch_size = 2 4 8
torchtune: compile = true
torchtune: enable_activation_checkpointing = true
torchtune: gradient_accumulation_steps = 4 16
torchtune: max_steps_per_epoch = 20
axolotl: eval_strategy = "no"
axolotl: fsdp_config.fsdp_offload_params = false
axolotl: gradient_accumulation_steps = 2 4
axolotl: max_steps = 20
axolotl: micro_batch_size = 1 2 4
axolotl: save_strategy = "no"
axolotl: sequence_len = 2048 4096
llama-factory: deepspeed = "examples/deepspeed/ds_z0_config.json" "examples/deepspeed/ds_z2_config.json" \
"examples/deepspeed/ds_z3_config.json"
llama-factory: gradient_accumulation_steps = 4 8 16
llama-factory: max_steps = 20
llama-factory: per_device_train_batch_size = 1 2 4
llama-factory: save_steps = 100000
nemo: exp_manager.create_checkpoint_callback = false
nemo: model.data.data_impl = "mock"
nemo: model.global_batch_size = 64
nemo: model.micro_batch_size = 1 2 4 8
nemo: model.pipeline_model_parallel_size = 1 2
nemo: model.sequence_parallel = true
nemo: model.tensor_model_parallel_size = 1 2 4
nemo: trainer.devices = 8
nemo: trainer.max_steps = 20
gpt-neox: checkpoint_factor = 100000
gpt-neox: gradient_accumulation_steps = 1 2 4 8
gpt-neox: log_interval = 1
gpt-neox: model_parallel_size = 1 2
gpt-neox: train_iters = 20
gpt-neox: train_micro_batch_size_per_gpu = 2 4 8
gpt-neox: zero_optimization.stage = 0 1
accelerate: distributed_type = "FSDP" "MULTI_GPU"
accelerate: fsdp_config.fsdp_reshard_after_forward = false
accelerate: num_processes = 2 4 8
END
}

# Commands as the frameworks' pages have them, and keys of their files.
commands() # RECIPE
{
    case $1 in
    nanotron) echo 'tp=1,2 tokens.micro_batch_size=2,4 -- torchrun --nproc_per_node=8 run_train.py --config-file
        examples/config_tiny_llama.yaml' ;;
    litgpt) echo 'micro_batch_size=2,4 precision=bf16-true,bf16-mixed -- litgpt pretrain --config
        config_hub/pretrain/debug.yaml' ;;
    torchtune) echo 'batch_size=2,4 compile=true,false -- tune run --nproc_per_node=2 full_finetune_distributed --config
        1B_full.yaml' ;;
    axolotl) echo 'micro_batch_size=2,4 fsdp_offload_params=false,true -- axolotl train
        examples/llama-3/fft-8b-liger-fsdp.yaml --launcher torchrun -- --nproc_per_node=8' ;;
    llama-factory) echo 'per_device_train_batch_size=2,4 learning_rate=1e-4,2e-5 -- NPROC_PER_NODE=4 llamafactory-cli
        train examples/train_full/qwen3_full_sft.yaml' ;;
    gpt-neox) echo 'train_micro_batch_size_per_gpu=2,4 stage=0,1 save=a,b -- python3 deepy.py train.py configs/125M.yml
        configs/local_setup.yml' ;;
    accelerate) echo 'fsdp_reshard_after_forward=true,false num_processes=2,4 -- accelerate launch --config_file
        configs/tp_hsdp.yaml run_clm.py' ;;
    esac
}

each_framework__init__its_axes_reach_the_files()
{
    for name in $recipes; do
        read -r -d '' -a words < <(commands "$name") || [ "$name" != nemo ] || continue
        lay_framework "$name"
        expect_said only_stderr_contains 0 'wrote sweep.toml' init "${words[@]}"
        expect '! grep "TO DO" sweep.toml'
        run_framework "$name"
    done
    expect_given <<END
nanotron: parallelism.dp = 4 8
nanotron: parallelism.tp = 2
nanotron: tokens.micro_batch_size = 2 4
litgpt: precision = "bf16-mixed" "bf16-true"
litgpt: train.micro_batch_size = 2 4
torchtune: batch_size = 2 4
torchtune: compile = true
axolotl: fsdp_config.fsdp_offload_params = false
axolotl: micro_batch_size = 2 4
llama-factory: learning_rate = 0.0001 2e-05
llama-factory: per_device_train_batch_size = 2 4
gpt-neox: save = "a" "b"
gpt-neox: train_micro_batch_size_per_gpu = 2 4
gpt-neox: zero_optimization.stage = 0 1
accelerate: fsdp_config.fsdp_reshard_after_forward = false
accelerate: num_processes = 2 4
END
}

run_cases "$@"
