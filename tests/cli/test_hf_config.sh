#!/usr/bin/env bash
# cli: models by the config.json of Hugging Face.
. "${0%/*}/lib.sh"

configs=$tests_source_dir/hf_configs

models_sweep() # KEYS_OF_MODEL
{
    toml sweep: name=models predict: framework=torchtitan device=H100 prune=off \
        job: command='["true"]' model:: "$1" cluster_spec: num_hosts=1 num_devices_per_host=8 \
        training_spec: seq=4096 parallel_spec: micro_batch=1 zero_stage=3 >sweep.toml
}

# So many jobs meet the condition.
expect_planned() # JOBS CONDITION
{
    expect_said only_stdout_contains 0 "$1" plan -c sweep.toml --only "$2"
}

expect_wrong() # TEXT...
{
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 "$@"
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
    expect_planned "2 jobs" "predicted_params = iif(hf_config = 'gpt2.json', 124439808, 671026404352)"
    # Keys of the block go before.
    models_sweep $'hf_config = "gpt2.json"\nlayers = [1, 2]'
    expect_planned "2 jobs" 'predicted_params = 124439808 - (12 - layers) * 7087872'
    # Rules divide heads by tp, also where nothing but mixers has them.
    cp "$configs/mamba2-2.7b.json" "$configs/mamba-2.8b.json" .
    models_sweep 'hf_config = ["mamba2-2.7b.json", "mamba-2.8b.json"]'
    sed -i 's/^framework = .*/framework = "megatron"/; s/^zero_stage.*/tp = 8/' sweep.toml
    expect_planned "2 jobs" 'predicted_params IN (2768345600, 2702599680)'
}

# A profile's other names are known while the file is read; those of predictions are not, and may not be passed over.
hf_config__keys_by_other_names__go_before_or_are_refused()
{
    cp "$configs/gpt2.json" config.json
    models_sweep $'hf_config = "config.json"\nnum_layers = [1, 2]'
    expect_wrong 'sweep.toml:11:1: `num_layers` is `layers`, which hf_config says; write `layers` to override it'
    sed -i '1i profile = "megatron"' sweep.toml
    expect_planned "2 jobs" 'predicted_params = 124439808 - (12 - layers) * 7087872'
}

file_or_field__wrong_needed_or_refused__said_at_the_key()
{
    models_sweep 'hf_config = "config.json"'
    expect_wrong "sweep.toml:10:13: " "config.json"
    echo '{"model_type": "mixtral", "num_hidden_layers": 4}' >config.json
    expect_wrong 'sweep.toml:10:13: config.json lacks "hidden_size", which model_type mixtral needs'
    models_sweep 'hf_config = 3'
    expect_wrong 'hf_config must be the name of a config.json, or a list of such names'
    models_sweep 'layers = 2'
    sed -i 's/^seq = 4096/hf_config = "config.json"/' sweep.toml
    expect_wrong 'hf_config belongs in [[model]]'
    # A field that a type needs or refuses.
    sed 's/"llama"/"ours"/' "$configs/Meta-Llama-3-8B.json" >config.json
    types_sweep 'name = "ours"' 'like = "llama"' 'keys.layers = "depth | n_layer"'
    expect_wrong 'sweep.toml:10:13: config.json lacks "depth", which model_type ours needs'
    types_sweep 'name = "ours"' 'like = "llama"' 'refused = "it has gates"'
    expect_wrong 'the parameters of model_type "ours" cannot be counted: it has gates'
    types_sweep 'name = "ours"' 'like = "llama"' 'only = { vocab_size = 1 }'
    expect_wrong '"vocab_size" is 128256, but for model_type ours only 1 is known'
}

hf_config__changed_file__another_sweep()
{
    cp "$configs/gpt2.json" config.json
    models_sweep 'hf_config = "config.json"'
    expect_run only_stdout 0 run -c sweep.toml -d results.db --progress none
    sed -i 's/"n_layer": 12/"n_layer": 6/' config.json
    expect_said only_stdout_contains 0 "1 new" plan -c sweep.toml -d results.db
}

# LINE...: [[model_type]] of a sweep over config.json
types_sweep()
{
    models_sweep 'hf_config = "config.json"'
    printf '%s\n' '[[model_type]]' "$@" >>sweep.toml
}

model_type__like_a_known_one_or_changed__read_as_that()
{
    sed 's/"llama"/"our_llama"/; s/num_hidden_layers/depth/' "$configs/Meta-Llama-3-8B.json" >config.json
    types_sweep 'name = "our_llama"' 'like = "llama"' 'keys.layers = "n_layer | depth"' 'keys.mtp_layers = "mtp | 0"' \
        'always = { qk_norm = "head" }'
    expect_planned "1 job" "layers = 32 AND qk_norm = 'head' AND mtp_layers = 0 AND hidden = 4096"
    # A key that sets the rest of a type also sets that of those like it.
    sed 's/"deepseek_v3"/"ours"/' "$configs/DeepSeek-V3.json" >config.json
    types_sweep 'name = "ours"' 'like = "deepseek_v3"'
    expect_planned "1 job" "predicted_params = 671026404352"
    # A known one is changed in a profile and the file.
    sed 's/"tie_word_embeddings": false/"x": 0/; s/num_key_value_heads/groups/' "$configs/Meta-Llama-3-8B.json" \
        >config.json
    types_sweep 'name = "llama"' 'keys.kv_heads = "groups"' 'keys.mlp_bias = "none"' \
        'keys.shared_ffn = "none"'
    printf '[[model_type]]\nname = "llama"\nkeys.kv_heads = "none_such | 4"\nkeys.tied_embeddings = "tied | 1"\n' \
        >our.toml
    sed -i '1i profile = ["./our.toml"]' sweep.toml
    expect_planned "1 job" "kv_heads = 8 AND tied_embeddings = 1"
}

model_type__wrong_rows__told_with_their_places()
{
    cp "$configs/Meta-Llama-3-8B.json" config.json
    types_sweep 'name = "lama"' 'windows = "half"' '[[model_type]]' 'name = "x"' 'like = "lama"' '[[model_type]]' \
        'name = "llama"' 'windows = "al"' 'only = { a = "b" }' '[model_type.keys]' 'kv_head = "groups"' 'layers = 3' \
        'hidden = " | 7"' 'ffn = "width | -2"' \
        '[[model_type]]' 'name = "llama"' '[[model_type]]' 'famly = "gpt"' 'name = "y"'
    expect_wrong 'sweep.toml:20:8: no model_type "lama" is known: a new one needs family and keys, or like, '\
'a type that it is like; did you mean "llama"?'
    expect_stderr_contains 'sweep.toml:24:8: no model_type "lama" is known; did you mean "llama"?'
    expect_stderr_contains 'sweep.toml:27:11: windows must be "none", "all", "where-asked", "pattern", "of-four", '\
'"half" or "mixed"; did you mean "all"?'
    expect_stderr_contains 'sweep.toml:28:14: a must be an integer, not a string'
    expect_stderr_contains 'sweep.toml:30:1: no model_type has a key "kv_head"; did you mean "kv_heads"?'
    expect_stderr_contains 'sweep.toml:31:10: layers must be a string, not an integer'
    expect_stderr_contains 'sweep.toml:32:10: hidden must be the names of fields, then perhaps a whole number or none'
    expect_stderr_contains 'sweep.toml:33:7: ffn must be the names of fields'
    expect_stderr_contains 'sweep.toml:35:8: "llama" is given twice (first on line 25)'
    expect_stderr_contains 'sweep.toml:37:1: unknown key "famly" in [[model_type]]; did you mean "family"?'
}

run_cases "$@"
