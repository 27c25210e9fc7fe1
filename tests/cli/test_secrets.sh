#!/usr/bin/env bash
# Secrets in commands, environments and output: the job gets them, nothing that is recorded has them.
. "${0%/*}/lib.sh"

secrets='opt-Alpha-1 opt-Beta-22 url-Gamma-3 sk-abcdefDELTA1234567890 Epsilon-Bearer-55 ghp_ZetaZeta0123456789 '\
'eta-Env-7 theta-Line-8 hf_IotaIota0123456789 AKIAKAPPA0123456789X lambda-Long-9'

# Each way to say a secret, once. The job writes what it was given to `given`, and all of it to its output.
secret_sweep()
{
    small_sweep sweep.toml
    printf '%s\n' '[retry]' 'lost = 1' >>sweep.toml
    sed -i '/^command/d; s|^\[job\]|[job]\
command = ["/bin/sh", "./job.sh", "{x}", "{y}", "--api-key", "opt-Alpha-1", "--password=opt-Beta-22",\
    "https://me:url-Gamma-3@host.example/x", "sk-abcdefDELTA1234567890",\
    "Authorization: Bearer Epsilon-Bearer-55", "--token", "lambda-Long-9"]\
env = { WANDB_API_KEY = "eta-Env-7", PLAIN = "--token theta-Line-8 ghp_ZetaZeta0123456789" }\
versions = { tool = "echo hf_IotaIota0123456789; : --api-key opt-Alpha-1" }|' sweep.toml
    cat >job.sh <<'END'
echo "$@ $WANDB_API_KEY $PLAIN" >>given
echo "$@ $WANDB_API_KEY $PLAIN hf_IotaIota0123456789 AKIAKAPPA0123456789X"
echo "score: $(($1 * $2))"
[ "$1" = 1 ] && exit
echo "error: cannot log in to https://me:url-Gamma-3@host.example/x with --api-key=opt-Alpha-1 opt-Beta-22" >&2
exit 1
END
}

# Nothing in FILES has one of the secrets.
expect_no_secrets() # FILE...
{
    local secret
    for secret in $secrets; do
        ! grep -aqF -e "$secret" "$@" || fail "$secret stands in $(grep -alF -e "$secret" "$@" | xargs)"
    done
}

# The database with what SQLite keeps beside it, and everything else that is recorded; the job's own files are its own.
expect_nothing_recorded()
{
    local files
    files=$(find . -path './results.db*' -type f ! -name output.log ! -name arguments)
    # shellcheck disable=SC2086 # a list
    expect_no_secrets $files
}

secrets__in_a_command_and_its_output__given_but_not_recorded()
{
    secret_sweep
    expect_said among_stderr 3 'failed' run --progress plain
    expect_no_secrets .stdout .stderr
    expect "[ \"\$(sed -n 1p given)\" = '1 10 --api-key opt-Alpha-1 --password=opt-Beta-22 \
https://me:url-Gamma-3@host.example/x sk-abcdefDELTA1234567890 Authorization: Bearer Epsilon-Bearer-55 --token \
lambda-Long-9 eta-Env-7 --token theta-Line-8 ghp_ZetaZeta0123456789' ]"
    expect_nothing_recorded
    expect_sql '["/bin/sh","./job.sh","1","10","--api-key","[redacted]","--password=[redacted]",'\
'"https://me:[redacted]@host.example/x","[redacted]","Authorization: Bearer [redacted]","--token","[redacted]"]' \
        "SELECT command FROM attempt WHERE id = 1"
    expect_sql 2 "SELECT count(*) FROM attempt WHERE log_tail LIKE '%cannot log in to \
https://me:[redacted]@host.example/x with --api-key=[redacted] [redacted]%'"
    # It is the same sweep when it is read again, and nothing is new.
    run_silently 3
    expect_sql "1|4" "SELECT (SELECT count(*) FROM sweep), count(*) FROM attempt"
    expect_nothing_recorded
}

secrets__of_a_runner_that_was_killed__not_recorded()
{
    need_fault_points
    secret_sweep
    sed -i 's/lost = 1/lost = 9/' sweep.toml
    for point in start-written outcome-taken samples-written closing; do
        expect_after only_status 137 run_killed "$point" run --progress none
        expect_nothing_recorded
    done
    run_silently 3
    expect_nothing_recorded
}

secrets__of_a_command_on_the_command_line__not_recorded()
{
    secret_sweep
    sed -i '/^command/,/lambda-Long-9"\]/d' sweep.toml
    run_silently 3 -- /bin/sh ./job.sh '{x}' '{y}' --api-key opt-Alpha-1 opt-Beta-22 --password opt-Beta-22 \
        --token=lambda-Long-9 --db-pass lambda-Long-9 https://me:url-Gamma-3@h
    expect "grep -q -e '--api-key opt-Alpha-1 opt-Beta-22' given"
    expect_nothing_recorded
    expect_said only_stderr_contains 0 'all jobs are new for that alone' run --progress none --command \
        "sh ./job.sh {x} {y} --api-key 'opt-Alpha-1' --password=\"opt-Beta-22\"; WANDB_KEY=theta-Line-8 true"
    expect_stderr_lacks Alpha Beta theta
    expect "tail -n 1 given | grep -q -e '--api-key opt-Alpha-1 --password=opt-Beta-22'"
    expect_nothing_recorded
}

best__where_secrets_were_left_out__says_so()
{
    secret_sweep
    run_silently 3
    expect_said only_stdout_contains 0 "--api-key '[redacted]' '--password=[redacted]' \
'https://me:[redacted]@host.example/x' '[redacted]'" best
    expect_stdout_contains "secrets are left out; fill them in before you run it: WANDB_API_KEY, PLAIN, --api-key, \
--password, https://me, argument 8, Bearer, --token"
    expect_no_secrets .stdout
    expect_said only_stdout_contains 0 '"secrets_left_out":' best --json
    expect_no_secrets .stdout
    expect_run only_status 0 best --out best
    expect_file_contains best/command.sh '# Secrets are left out; fill them in before you run it: WANDB_API_KEY'
    expect_no_secrets best/command.sh best/sweep.toml best/job.json
    expect_run only_stderr 0 report -o report.html
    expect_run only_stderr 0 export --all -o all.csv
    expect_run only_stderr 0 export --toml --all -o all.toml
    expect_no_secrets report.html all.csv all.toml
}

deepspeed__winner_whose_command_has_secrets__launched_with_them()
{
    PATH=$source_dir/tests/standin:$PATH
    : >train.py
    echo '{ "train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}, "autotuning": {"enabled": '\
'true, "num_gpus": 1} }' >ds_config.json
    printf '%s\n' '#!/bin/sh' 'echo "$@" >>given' 'exec deepspeed "$@"' >launch.sh
    chmod +x launch.sh
    expect_run status 7 deepspeed --autotuning=run --launcher ./launch.sh --progress none train.py --deepspeed \
        ds_config.json --api-key opt-Alpha-1 --password=opt-Beta-22 --mode exit-7
    expect_stdout_contains 'training with stage 1'
    expect_stderr_contains 'autotuning_results/cmd_optimal.txt, where its secrets are left out'
    expect "tail -n 1 given | grep -q -e '--api-key opt-Alpha-1 --password=opt-Beta-22 --mode exit-7$'"
    expect_nothing_recorded
    # shellcheck disable=SC2046 # a list
    expect_no_secrets $(find autotuning_results -type f ! -name arguments)
    expect "[ \"\$(stat -c %a autotuning_exps/sweep.toml)\" = 600 ]"
}

run_cases "$@"
