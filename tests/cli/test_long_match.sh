#!/usr/bin/env bash
# A match that takes long is printed as it is found, told of, and interrupted at once.
. "${0%/*}/lib.sh"

numbers() { seq -s ', ' 1 "$1"; } # COUNT

# 10^9 jobs whose cost is not the same for all.
endless_sweep()
{
    toml sweep: name=endless job: command='["/bin/true", "{a}", "{b}", "{c}"]' timeout='a * 60' \
        model:: "a = [$(numbers 1000)]" training_spec:: "b = [$(numbers 1000)]" \
        parallel_spec:: "c = [$(numbers 1000)]" >sweep.toml
}

# One in a million of 20^10, and nothing can be told before nearly all keys are bound.
tangled_sweep()
{
    local key section sum='' factor=7919
    printf '[sweep]\nname = "tangled"\n\n[job]\ncommand = ["/bin/true"]\n' >sweep.toml
    for key in a b c d e f g h i j; do
        section=model
        [[ $key < f ]] || section=parallel_spec
        case $key in a | f) printf '\n[[%s]]\n' "$section" >>sweep.toml ;; esac
        echo "$key = [$(numbers 20)]" >>sweep.toml
        sum+="${sum:+ + }$key * $key * $factor"
        factor=$((factor * 31 % 999983))
    done
    printf '\n[[rule]]\nname = "one-in-a-million"\nrequire = "(%s) %% 1000003 = 0"\nwhy = "rare"\n' "$sum" >>sweep.toml
}

# How much slower than an idle one the machine is just now, in percent, at least 100: the version is printed in 5 ms.
slowness()
{
    local before=${EPOCHREALTIME/./} percent
    "$meshsweep" --version >/dev/null
    percent=$(((${EPOCHREALTIME/./} - before) * 100 / 5000))
    echo $((percent > 100 ? percent : 100))
}

# Starts the tool up to five times, as the machine may be busy with other things: it must end within 100 ms of SIGINT
# (or $most_us) at least once, and always by it. What has work to do before it ends has $busy_most_us on a slow machine.
expect_interrupted() # KIND CONDITION ARGS...: once the shell command succeeds
{
    local kind=$1 condition=$2 most_us=${most_us-100000} try before after most
    shift 2
    for ((try = 0; try < 5; try++)); do
        rm -rf results.db*
        start_until "$condition" 30 "$@"
        before=${EPOCHREALTIME/./}
        end_command INT
        after=${EPOCHREALTIME/./}
        [ "$status" = 130 ] || fail "status $status"
        most=$most_us
        if [ -n "${busy_most_us-}" ]; then
            most=$((most * $(slowness) / 100))
            [ "$most" -lt "$busy_most_us" ] || most=$busy_most_us
        fi
        [ $((after - before)) -gt "$most" ] || break
        stated_status=1 stated_stdout=1 stated_stderr=1 # of a try that a busy machine held up
    done
    [ "$try" -lt 5 ] || fail "SIGINT took $((after - before)) us"
    "expect_$kind" 130
}

plan__all_of_many_jobs__printed_as_they_are_found()
{
    endless_sweep
    run_command bash -c "'$meshsweep' plan --all | head -n 3"
    expect_only_stdout_matches 0 '^endless: 1000000000 combinations, 1000000000 matched, 0 duplicates'
    expect_stdout_matches '^\+ [0-9a-f]{16}  a=1 b=1 c=2'
}

plan__all_of_many_jobs__interrupted()
{
    endless_sweep
    expect_interrupted only_stdout '[ -s .stdout ]' plan --all
}

plan__json_of_many_jobs__begun_and_interrupted()
{
    endless_sweep
    expect_interrupted only_stdout 'grep -q duplicates .stdout' plan --json
    expect_stdout_matches '^	"matched":	1000000000,'
    expect_stdout_lacks '"new"'
}

# The first jobs start while the others are listed: those that run end first, and what came of them is recorded. What
# was listed by then is given up, and not written to the disk before that.
run__many_jobs__interrupted_while_they_are_listed()
{
    endless_sweep
    local most_us=100000 busy_most_us=1000000
    ! grep -q __asan_init "$meshsweep" || most_us=1000000
    expect_interrupted only_stderr '[ "$(stat -c %s results.db-wal 2>/dev/null || echo 0)" -gt 8000000 ]' \
        run --progress none
    expect_stderr 'meshsweep: starting no more jobs; waiting for the running ones (interrupt again to stop them)'
    expect_sql '4096|0' "SELECT count(*), sum(state = 'running') FROM job"
}

export__many_jobs__interrupted()
{
    small_sweep
    expect_run only_stdout 0 run --progress none
    sql "INSERT INTO job (key, sweep_id, rank, model_id, state, attempt_id)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000)
         SELECT randomblob(16), sweep_id, 10 + i, model_id, 'ok', attempt_id FROM n, job WHERE job.id = 1;
         ANALYZE"
    mv results.db many.db
    expect_interrupted only_stdout '[ -s .stdout ]' export -d many.db
}

rule__ties_everything_together__told_with_its_name_and_interrupted()
{
    tangled_sweep
    expect_interrupted only_stderr 'grep -q one-in-a-million .stderr' plan
    expect_stderr_matches '^meshsweep: rule `one-in-a-million` leaves many values of 10 keys to combine \(a, b, c, d,'
    expect_stderr_matches 'takes (about [0-9]+[dhm][0-9]+[hms]|more than a year) more; .*\[derive\].* or tie keys'
    expect "[ \"\$(wc -l <.stderr)\" = 1 ]"
}

terminal__a_second_and_more__a_line_with_an_estimate()
{
    type -P script >/dev/null || skip "script (util-linux) is not installed"
    endless_sweep
    start_command env TERM=xterm script -fqec "'$meshsweep' plan" typescript
    wait_until "grep -saqE 'looking at jobs: [0-9]+ of 1000000000, .* left' typescript" 30
    end_command TERM
    expect_only_status "$status"
}

dumb_terminal__a_second_and_more__no_line()
{
    type -P script >/dev/null || skip "script (util-linux) is not installed"
    tangled_sweep
    start_command env TERM=dumb script -fqec "'$meshsweep' plan" typescript
    wait_until "grep -saq 'one-in-a-million' typescript" 30
    end_command TERM
    expect_only_status "$status"
    expect "! grep -aq 'counting:' typescript"
}

run_cases "$@"
