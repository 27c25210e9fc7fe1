#!/usr/bin/env bash
# cli: jobs that get a ds_config.json.
. "${0%/*}/lib.sh"

configs=$(cd "$(dirname "$0")/../../configs" && pwd)

base='{"zero_optimization": {"stage": 1, "reduce_bucket_size": 2e8}, "train_batch_size": 8}'

# A ds_config that is there stays.
sweep_file() # [LINE...]
{
    [ -e ds.json ] || echo "$base" >ds.json
    printf '%s\n' 'profile = "deepspeed"' '[sweep]' 'objective = "min:m"' '[deepspeed]' 'config = "ds.json"' \
        '[deepspeed.arg_mappings]' 'train_micro_batch_size_per_gpu = "bs"' '[job]' \
        "command = [\"sh\", \"-c\", 'printf %s \"\$2\" | tr _- /+ | base64 -d | cmp - \"\$1\" && echo \"bs \$4\" && \
echo \"{\\\"m\\\": 1}\" >>\"\$MESHSWEEP_METRICS\"', \"x\", \"{ds_config}\", \"{ds_config_base64}\", \"--bs\", \"9\"]" \
        "$@" >s.toml
}

run__base_and_specs__each_job_has_its_own_file()
{
    sweep_file '[parallel_spec]' 'micro_batch = [4, 3]' '"zero_optimization.stage" = 2'
    expect_run only_status 0 run -c s.toml --progress none
    expect_sql 'ok|bs 4' "select job.state, trim(log_tail, char(10)) from job join attempt on attempt.job_id = job.id"
    expect_sql 1 "select excluded from rule where name = 'batch-divides'"
    [ "$(cat results.db.d/*/1/ds_config.json)" = '{
  "zero_optimization": {
    "stage": 2,
    "reduce_bucket_size": 2e8
  },
  "train_batch_size": 8,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 2
}' ] || fail "another ds_config.json: $(cat results.db.d/*/1/ds_config.json)"
    expect_run only_stdout 0 best --out winner
    expect "cmp winner/ds_config.json results.db.d/*/1/ds_config.json"
    # With the base that it names.
    expect "cmp winner/ds.json ds.json"
    expect_said only_stdout_contains 0 "1 job: + 0 new  = 1 done" plan -c winner/sweep.toml
}

run__steps_to_measure_without_an_objective__run()
{
    sweep_file '[parallel_spec]' 'micro_batch = 4'
    sed -i '/^objective/d; s/^config.*/&\nprofile_steps = [1, 2, 9]/' s.toml
    expect_run only_status 0 run -c s.toml --progress none
    expect_sql ok "SELECT state FROM job"
}

run__base_edited__another_job_and_laid_out_anew__the_same()
{
    sweep_file '[parallel_spec]' 'micro_batch = 4'
    expect_run only_status 0 run -c s.toml --progress none
    echo "${base//: /:  }" >ds.json
    expect_said among_stdout 0 '= ' plan -c s.toml
    echo "${base/2e8/5e8}" >ds.json
    expect_said among_stdout 0 '+ ' plan -c s.toml
}

run__batch_that_no_rule_judges__the_job_fails_and_the_sweep_goes_on()
{
    sweep_file '[parallel_spec]' 'micro_batch = [3, 4]'
    sed -i '/^objective/a disable_rules = ["batch-triad", "batch-divides"]' s.toml
    expect_run only_status 3 run -c s.toml --progress none
    expect_sql 'failed|spawn
ok|' 'select state, failure from job order by rank'
    expect_sql 'could not be started: its files cannot be created: the batch sizes contradict each other: '\
'train_batch_size 8, '\
'train_micro_batch_size_per_gpu 3, data-parallel size 1 (the first must be the product of the others)' \
        "select message from failures limit 1"
}

check__base_with_a_slip_and_the_example__said_with_its_place_or_complete()
{
    echo '{"zero_optimization": {"stage": 1, "stage": 2}}' >ds.json
    sweep_file '[parallel_spec]' 'micro_batch = 4'
    expect_said only_stderr_contains 2 'ds.json:1:36: "stage" is given twice (first on line 1)' check -c s.toml
    expect_said only_stdout_contains 0 '80 combinations' check -c "$configs/deepspeed.toml"
    run_meshsweep plan -c "$configs/deepspeed.toml"
    expect_among_stdout 0 '56 jobs: + 56 new' 'offload-optimizer-stage'
}

run_cases "$@"
