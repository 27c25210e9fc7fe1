#!/usr/bin/env bash
# From a published table to the best of its rows: the commands at the head of each configs/import/*.toml, with the
# checkouts in small of tests/data.
. "${0%/*}/lib.sh"

# As in a clone.
clone()
{
    mkdir bin tests
    ln -s "$meshsweep" bin/meshsweep
    ln -s "$source_dir/configs" "$source_dir/scripts" .
    ln -s "$source_dir/tests/data" tests/data
    PATH=$PWD/bin:$PATH
}

# Rows, of them failed and refused, and jobs of each sample.
expected()
{
    cat <<'END'
alpa 4 2 0 4
bigscience 5 1 1 4
dlperf 4 0 0 4
fms 4 1 0 4
internevo 6 0 0 6
litgpt 4 1 0 4
megatron-bridge 5 0 0 5
megatron-golden 3 0 0 3
mpt 3 0 0 3
torchtitan 7 0 0 7
ultrascale 5 2 0 5
vtrain 6 0 0 6
END
}

heads__commands__work()
{
    clone
    [ "$(expected | wc -l)" = "$(find configs/import/ -name '*.toml' | wc -l)" ] ||
        fail "a file has no sample"
    while read -r name rows failed refused jobs; do
        sed -n '/^[^#]/q; s/^#   //p' "configs/import/$name.toml" >commands
        grep -q '^python3 scripts/tables/' commands || fail "$name: no converter at its head"
        : >printed
        while IFS= read -r command; do
            timeout 150 bash -c "$command" >>printed 2>said </dev/null || fail "$name: $command: $(cat said)"
        done <commands
        grep -qF ": $rows rows: $((rows - failed - refused)) ok, $failed failed, $refused refused; $jobs jobs" \
            printed || fail "$name: $(cat printed)"
    done < <(expected)
}

# Imports a table that is known for its form, which is then looked for in the database.
convert_and_import() # NAME
{
    clone
    python3 "scripts/tables/$1.py" "tests/data/$1" >table.csv 2>said
    expect_run only_status 0 import -c "configs/import/$1.toml" table.csv
}

alpa__sentinels__no_measurements()
{
    convert_and_import alpa
    expect_sql 'oom||40.0
oom||' "SELECT failure, throughput, peak_memory FROM results WHERE state = 'failed' ORDER BY 3 DESC"
    expect_sql '45.0|0.8' "SELECT throughput, latency FROM results WHERE num_devices_per_host = 4"
}

bigscience__seconds_and_flops_exchanged__refused()
{
    convert_and_import bigscience
    expect_stderr_contains 'refused 1 row, the first at table.csv:6: seconds and FLOP/s are exchanged'
    expect 'grep -q "left out: 1 rows: repeated" said'
    # The seconds of the first table are in the log above it alone.
    expect_sql '8|800.0' "SELECT layers, step_time FROM results WHERE num_hosts = 1"
}

ultrascale__packed_failures__read()
{
    convert_and_import ultrascale
    expect_sql '64|exit
8|exit' "SELECT micro_batch, failure FROM results WHERE state = 'failed' ORDER BY 1 DESC"
    expect 'grep -q "left out: 1 rows: the model" said'
}

megatron_bridge__two_figures_in_a_cell__two_rows()
{
    convert_and_import megatron-bridge
    expect_sql 'mxfp8|104000.0
tensorwise|112000.0' "SELECT fp8_recipe, throughput FROM results WHERE name = 'Llama-3-8B' ORDER BY 1"
}

megatron_golden__arguments__as_columns()
{
    convert_and_import megatron-golden
    expect_sql '2048|2|8|4|1|4000000000.0|0.5' \
        "SELECT expert_ffn, dense_layers, experts, ep, etp, peak_memory, step_time FROM results WHERE experts > 0"
    expect_sql '0|1
1|2' "SELECT dropout, count(*) FROM results GROUP BY 1"
    expect_sql 'A100-80GB|8
H100|8' "SELECT device, num_hosts * num_devices_per_host FROM results WHERE experts IS NULL ORDER BY 1"
    expect_said only_stdout_contains 0 'memory of megatron on H100' predict -d results.db
    expect_sql '0' "SELECT count(*) FROM results WHERE predicted_memory IS NULL AND predicted_time IS NULL"
}

# Predictions use what is mapped: without these keys a LoRA run is predicted as full fine-tuning, or not at all.
fine_tuning__adapters__predicted()
{
    convert_and_import fms
    expect_sql 'lora|16|q_proj k_proj v_proj o_proj||1
lora|16|q_proj k_proj v_proj o_proj|nf4-dq|1' "SELECT peft, lora_rank, lora_targets, quantization,
        predicted_memory BETWEEN 0.7 * peak_memory AND 1.3 * peak_memory FROM results WHERE peft = 'lora' ORDER BY 4"
    rm results.db
    rm -r bin tests configs scripts
    convert_and_import litgpt
    expect_sql 'lora|32|q_proj v_proj||1
qlora|32|q_proj v_proj|nf4|1' "SELECT peft, lora_rank, lora_targets, quantization,
        predicted_memory BETWEEN 0.6e9 * peak_memory AND 1.2e9 * peak_memory FROM results
        WHERE name = 'llama-2-7b' AND peft <> 'full' ORDER BY 1"
}

converter__no_checkout__says_what_is_missing()
{
    clone
    mkdir empty
    while read -r name _; do
        run_command python3 "scripts/tables/$name.py"
        expect_only_stderr_contains 2 "usage: scripts/tables/$name.py CHECKOUT"
        run_command python3 "scripts/tables/$name.py" empty
        expect_no_stdout
        expect_any_stderr
        expect_stderr_lacks Traceback
        [ "$status" = 1 ] || [ "$status" = 2 ] || fail "$name: status $status of an empty folder"
        expect_status "$status"
    done < <(expected)
}

run_cases "$@"
