#!/usr/bin/env bash
# cli: models by the config.json of Hugging Face.
. "$(dirname "$0")/lib.sh"

configs=$tests_source_dir/hf_configs

models_sweep() # KEYS_OF_MODEL
{
    cat >sweep.toml <<END
[sweep]
name = "models"
[predict]
framework = "torchtitan"
device = "H100"
prune = "off"
[job]
command = ["true"]
[[model]]
$1
[cluster_spec]
num_hosts = 1
num_devices_per_host = 8
[training_spec]
seq = 4096
[parallel_spec]
micro_batch = 1
zero_stage = 3
END
}

hf_config__one_file__read_beside_the_sweep_file()
{
    mkdir sub
    cp "$configs/Meta-Llama-3-8B.json" sub/config.json
    models_sweep 'hf_config = "config.json"'
    mv sweep.toml sub/
    run_meshsweep plan -c sub/sweep.toml --only "predicted_params = 8030261248 AND layers = 32 AND family = 'llama'"
    expect_only_stdout_contains 0 "1 job"
}

hf_config__list_of_files__an_axis()
{
    cp "$configs/gpt2.json" "$configs/DeepSeek-V3.json" .
    models_sweep 'hf_config = ["gpt2.json", "DeepSeek-V3.json"]'
    run_meshsweep plan -c sweep.toml --only "predicted_params = iif(hf_config = 'gpt2.json', 124439808, 671026404352)"
    expect_only_stdout_contains 0 "2 jobs"
}

hf_config__keys_of_the_block__go_before()
{
    cp "$configs/gpt2.json" config.json
    models_sweep 'hf_config = "config.json"
layers = [1, 2]'
    run_meshsweep plan -c sweep.toml --only 'predicted_params = 124439808 - (12 - layers) * 7087872'
    expect_only_stdout_contains 0 "2 jobs"
}

# A profile's other names are known while the file is read; those of predictions are not, and may not be passed over.
hf_config__keys_by_other_names__go_before_or_are_refused()
{
    cp "$configs/gpt2.json" config.json
    models_sweep 'hf_config = "config.json"
num_layers = [1, 2]'
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 \
        'sweep.toml:11:1: `num_layers` is `layers`, which hf_config says; write `layers` to override it'
    sed -i '1i profile = "megatron"' sweep.toml
    run_meshsweep plan -c sweep.toml --only 'predicted_params = 124439808 - (12 - layers) * 7087872'
    expect_only_stdout_contains 0 "2 jobs"
}

hf_config__wrong_file__said_at_the_key()
{
    models_sweep 'hf_config = "config.json"'
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 "sweep.toml:10:13: "
    expect_stderr_contains "config.json"
    echo '{"model_type": "mixtral", "num_hidden_layers": 4}' >config.json
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 'sweep.toml:10:13: config.json lacks "hidden_size", which model_type mixtral needs'
    models_sweep 'hf_config = 3'
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 'hf_config must be the name of a config.json, or a list of such names'
    models_sweep 'layers = 2'
    sed -i 's/^seq = 4096/hf_config = "config.json"/' sweep.toml
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 'hf_config belongs in [[model]]'
}

# Rules divide heads by tp, also where nothing but mixers has them.
hf_config__mixers_alone__divide_over_tensor_parallelism()
{
    cp "$configs/mamba2-2.7b.json" "$configs/mamba-2.8b.json" .
    models_sweep 'hf_config = ["mamba2-2.7b.json", "mamba-2.8b.json"]'
    sed -i 's/^framework = .*/framework = "megatron"/; s/^zero_stage.*/tp = 8/' sweep.toml
    run_meshsweep plan -c sweep.toml --only 'predicted_params IN (2768345600, 2702599680)'
    expect_only_stdout_contains 0 "2 jobs"
}

hf_config__changed_file__another_sweep()
{
    cp "$configs/gpt2.json" config.json
    models_sweep 'hf_config = "config.json"'
    run_meshsweep run -c sweep.toml -d results.db --progress none
    expect_only_stdout 0
    sed -i 's/"n_layer": 12/"n_layer": 6/' config.json
    run_meshsweep plan -c sweep.toml -d results.db
    expect_only_stdout_contains 0 "1 new"
}

run_cases "$@"
