#!/usr/bin/env bash
# Sweep files of the ZHEN codesign toolkit: its spelling, its counts, its limits; without a command of their own.
. "${0%/*}/lib.sh"

# 3 clusters x 3 models (two of them alike but for their descriptions) x 5 plans (two automatic, three that are given).
zhen_file()
{
    toml training_spec: avg_batch_size_per_device=64 num_iters=5 model:: num_features=16 tokens=DOT,LINEAR \
        model:: description=nested num_features=16 tokens='[["DOT", "DOT"], ["LINEAR"], ["ATTENTION", "DOT"]]' \
        model:: description='the same again' num_features=16 \
        tokens='[["DOT", "DOT"], ["LINEAR"], ["ATTENTION", "DOT"]]' cluster_spec:: num_hosts=1 \
        num_devices_per_host=1,8 transport=NVLink cluster_spec:: num_hosts=2 num_devices_per_host=8 transport=TCPx4 \
        parallel_spec:: description='searched for' num_micro_batches=1,2 num_auto_layers=4 remat_layer=false \
        parallel_spec:: description='one plan' num_micro_batches=1 '"(pp, dp, op)" = [1, 8, 1]' \
        physical_mesh_shape=1,8 auto_sharding_option="{ 'force_batch_dim_to_mesh_dim' = 0 }" num_auto_layers=2 \
        remat_layer=false parallel_spec:: description='two plans' num_micro_batches=1 \
        '"(pp, dp, op)" = [[2, 8, 1], [1, 1, 1]]' num_auto_layers=2 remat_layer=false >zhen.toml
}

# Numbers of a plan as JSON: "combinations matched jobs duplicates".
expect_counts() # FILE COUNTS
{
    expect_run only_stdout 0 plan --json -c "$1"
    expect_json "${2// /|}" combinations matched jobs duplicates
}

own_copy__loads__with_its_counts_and_limits()
{
    zhen_file
    expect_counts zhen.toml "45 27 18 9"
    expect_json "18|0|18|58.333" excluded.world-size 'done' new "round(j ->> 'device_hours_max', 3)"
    expect_run only_stdout 0 plan -c zhen.toml --all
    expect_stdout_contains 'excluded 18 by world-size: the parallel degrees must multiply to the number of devices'
    expect_stdout_contains 'the file has no [job] command; `run` needs one, in the file or with --command'
    expect "! ls | grep results"
    expect_said only_stderr 2 "meshsweep: zhen.toml: there is no [job] command, so there is nothing to run; add one, \
or give it with --command 'LINE' or after --" run -c zhen.toml
}

own_copy__with_a_command__runs()
{
    zhen_file
    expect_run silent 0 -c zhen.toml --progress none -j 2 --command "echo {num_features} '{tokens}' >>ran.log"
    expect_sql "1|12" "SELECT num_hosts, count(*) FROM results"
    # A program that reaches all hosts by itself, as Alpa does through Ray.
    run_meshsweep -c zhen.toml --progress none -j 2 --several-hosts --command "echo {num_features} '{tokens}' >>ran.log"
    expect_silent 0
    expect "[ \$(sort -u ran.log | wc -l) = 2 ] && [ \$(wc -l <ran.log) = 18 ]"
    expect_file_contains ran.log '16 [["DOT","DOT"],["LINEAR"],["ATTENTION","DOT"]]'
    expect_sql "600|6
1000|4
1500|4
2000|4" "SELECT timeout_ms / 1000, count(*) FROM job GROUP BY 1"
    # The options of the original do as they stand.
    expect_said only_stdout_contains 0 '18 jobs: + 0 new  = 18 done' -D -c zhen.toml --several-hosts --command \
        "echo {num_features} '{tokens}' >>ran.log" --manual-job-timeout 60
}

originals__load_unmodified__with_their_counts()
{
    local folder=$source_dir/../shared/data/zhen
    [ -d "$folder" ] || skip "the original files are not here"
    expect_counts "$folder/config.toml" "112 46 46 0"
    expect_counts "$folder/uniform_model.toml" "148 74 70 4"
    expect_counts "$folder/10_models_rand.toml" "40 20 20 0"
    expect "! ls | grep results"
}

run_cases "$@"
