#!/usr/bin/env bash
# A database of measured tables is a database: every command works on it, by the keys that stand in it.
. "${0%/*}/lib.sh"

# A table of six runs, two of which failed alike; models A and B differ in their names alone.
small_table()
{
    printf '%s\n' model,layers,nodes,dp,mbs,status,tok_s,gib,mfu A,24,1,8,1,done,100,10,0.31 \
        A,24,1,8,2,done,150,14,0.40 A,24,1,8,4,oom,,, B,24,1,8,4,oom,,, B,24,1,8,1,done,90,9,0.30 \
        B,24,2,16,1,done,170,9,1.4 >table.csv
    toml profile='["megatron"]' sweep: name=table objective=max:throughput \
        job.metrics.throughput: unit=tokens/s better=max job.metrics.peak_memory: unit=GiB better=min \
        import: state=status import.states: done=ok import.cluster_spec: num_hosts=nodes num_devices_per_host='"8"' \
        import.model: name=model layers=layers hidden='"1024"' heads='"16"' vocab='"50257"' \
        import.training_spec: seq='"2048"' precision='"iif(nodes = 2, '\''fp8'\'', '\''bf16'\'')"' \
        import.parallel_spec: dp=dp micro_batch=mbs import.metrics: throughput=tok_s peak_memory=gib mfu=mfu \
        predict: framework=megatron device=H100 rule:: name=few-layers require='layers < 100 AND dp >= num_hosts' \
        >import.toml
}

import_small()
{
    small_table
    expect_said among_stdout 0 '6 rows: 4 ok, 2 failed, 0 refused; 6 jobs (6 new)' import -c import.toml table.csv
}

# Runs a command; expects the status and says what it printed otherwise.
works() # STATUS ARGS
{
    expect_run only_status "$1" "${@:2}"
    expect_stderr_lacks 'unknown key'
}

# Each command on the database in results.db, imported with the file.
every_command() # FILE
{
    works 0 check -c "$1"
    works 0 check -d results.db
    works 0 status
    expect_stdout_lacks ':2:'
    works 0 status --json
    works 0 results --limit 3
    works 0 why 1
    expect_stdout_contains '1 of ' 'attempt 1: ok' ', measured elsewhere ('
    expect_stdout_lacks '0ms' 'it runs again'
    works 0 why
    works 0 show 1
    expect_stdout_contains 'measured elsewhere'
    # The host is that of the import.
    expect_stdout_lacks '  host  '
    works 0 tail --once 1
    works 0 stale
    works 0 plan -c "$1"
    expect_stdout_contains ' + 0 new'
    works 0 best
    expect_stdout_contains 'measured elsewhere'
    works 0 best --json
    expect_stdout_contains '"host":	null'
    works 0 best --out winner
    expect_no_file winner/command.sh
    works 0 check -c winner/sweep.toml
    expect_stdout_contains ' 1 combination'
    works 0 export --toml -o subset.toml
    works 0 check -c subset.toml
    works 0 plan -c subset.toml
    # Each of its jobs is known; those that rules exclude are no jobs.
    expect_stdout_contains ' + 0 new'
    works 0 export --long -o long.csv
    works 0 report
    expect_file_contains report.html 'measured elsewhere'
    expect "! grep -q '<b>0</b><span>attempts' report.html"
    if grep -q '^\[predict\]' "$1"; then
        works 0 predict
        expect_stdout_contains 'measured '
    else
        works 2 predict
        expect_stderr_contains 'the file has no [predict] table'
    fi
    works 0 replay --seeds 1 --strategy random
    run_meshsweep compare --by num_hosts
    expect_any_stdout
    expect_any_stderr
    expect '[ "$status" = 0 ] || [ "$status" = 4 ]'
    expect_status "$status"
    works 2 run -c "$1"
    expect_stderr_contains 'there is no [job] command, so there is nothing to run'
    works 0 merge results.db -o merged.db
    works 0 why -c "$1" -d merged.db 1
}

small__every_command__works()
{
    import_small
    every_command import.toml
}

small__keys__come_from_the_database()
{
    import_small
    works 0 why micro_batch=4
    expect_stdout_contains '2 of 6 combinations have these values; 2 matched' 'failed/oom'
    works 0 why name=A micro_batch=1
    expect_stdout_contains '1 of 6 combinations'
    works 0 predict --only 'num_hosts = 2'
    expect_stdout_contains 'measured 9.0 GiB'
    # Keys that a table alone knows are not known without it; that is said once.
    expect_run only_stdout 4 plan -c import.toml -d none.db
    sed -i 's/layers < 100/layerz < 100/' import.toml
    expect_said only_stderr_contains 2 'unknown key `layerz`' check -c import.toml
}

small__failures_alike__one_cause()
{
    import_small
    works 0 status
    expect_stdout_contains '2 x oom, as job 3: the table says oom'
    expect_sql 'table.csv:4
table.csv:5' "SELECT log_tail FROM attempt WHERE failure = 'oom'"
}

small__a_condition_supposed__the_winner_under_it()
{
    import_small
    expect_said only_stdout_contains 0 'without it: job 6, 170 tokens/s; it loses 11.8 %' best \
        --subject-to 'peak_memory > 9 GiB'
    expect_said only_stdout_contains 0 'without it the same job wins' best --memory 90%
}

small__models_that_differ_in_name_alone__are_two()
{
    import_small
    expect_sql "A|B" "SELECT group_concat(name, '|') FROM (SELECT name FROM spec WHERE kind = 'model' ORDER BY name)"
    expect_said among_stdout 0 '0 attempts added, 6 already there' import -c import.toml table.csv
}

small__share_of_the_peak__of_the_precision()
{
    small_table
    sed -i 's/^A,24,1,8,2,done,150,14,0.40/A,24,1,8,2,done,150,14,1.4/' table.csv
    expect_run status 0 import -c import.toml table.csv
    expect_stdout_contains '6 rows: 3 ok, 2 failed, 1 refused'
    expect_stderr_contains 'mfu is above 100 %'
    expect_sql 1.4 "SELECT mfu FROM results WHERE precision = 'fp8'"
}

# The rate of a device, named as what measures time or found by its meaning, is no number of seconds.
import__tokens_of_a_device__measure_the_step()
{
    small_table
    sed -i 's/^better = "max"/better = "max"\nmeans = "tokens\/s"/' import.toml
    expect_run only_status 0 import -c import.toml table.csv
    expect_run only_stdout 0 predict
    grep -o 'measured [0-9.e+]* s' .stdout >whole
    for metric in '' 'time_metric = "throughput"'; do
        small_table
        sed -i 's/^better = "max"/better = "max"\nmeans = "tokens\/s\/device"/' import.toml
        sed -i 's/^throughput = .*/throughput = "1.0 * tok_s \/ (8 * nodes)"/' import.toml
        sed -i "s/^framework = .*/&\n$metric/" import.toml
        rm -f results.db
        expect_run only_status 0 import -c import.toml table.csv
        expect_run only_stdout 0 predict
        grep -o 'measured [0-9.e+]* s' .stdout >of_a_device
        { [ -s whole ] && diff whole of_a_device; } || fail 'rates of a device say another time'
    done
}

# That it ran is known: what is off about it is to be seen.
predict__ran_and_should_not_have_fitted__shown_and_counted()
{
    small_table
    sed -i 's/^framework = "megatron"/framework = "megatron"\ncertain = 0.1\nrisky = 0.1/; s/H100/T4/' import.toml
    sed -i "s/1024/8192/; s/'fp8'/'bf16'/" import.toml
    expect_said among_stderr 0 'violate the rule memory.fits' import -c import.toml table.csv
    expect_said only_stdout_contains 0 '2 jobs failed, 3 ran' predict --accuracy
}

# Values that are missing or have the rules' own marks in them are taken for no others.
export_toml__jobs_of_a_table__those_and_no_other()
{
    toml sweep: name=t job.metrics.step: better=min import.model: name=model import.training_spec: seq=seq \
        import.parallel_spec: p=p q=q import.metrics: step=step >import.toml
    for rows in 'A,1,1,2,1 A,1,4,4,2 B,1,2,,3 B,2,1,2,4' 'A,1,a|b,c,1 B,1,a,b|c,2 B,2,x,y,3 B,1,x,y,4' \
        'A!,1,a!b,c,1 B|,1,a,b!0|c,2 B,2,x,y,3 B,2,x,,4' 'A,1,x,!0,1 A,2,x,,2 B,1,x,,3 B,2,y,!0,4'; do
        rm -f results.db
        printf '%s\n' model,seq,p,q,step "${rows// /$'\n'}" >table.csv
        expect_run among_stdout 0 import -c import.toml table.csv
        expect_run silent 0 export --toml -o subset.toml
        expect_said only_stdout_contains 0 '4 matched, 0 duplicates' plan -c subset.toml
        expect_stdout_contains '4 jobs: + 0 new  = 4 done'
    done
}

# The tables are measured data that the project does not hold.
shipped_import() # NAME TABLE
{
    local data=${MESHSWEEP_SHARED_DATA:-$source_dir/../shared/data}
    [ -f "$data/$2.csv" ] || skip "the measured tables are not here: $data"
    cp "$source_dir/configs/import/$1.toml" import.toml
    expect_run only_status 0 import -c import.toml "$data/$2.csv"
    every_command import.toml
}

alpa__every_command__works() { shipped_import alpa alpa-results; }
dlperf__every_command__works() { shipped_import dlperf dlperf-gpt-v100; }
litgpt__every_command__works() { shipped_import litgpt litgpt-finetune; }
mpt__every_command__works() { shipped_import mpt llm-foundry-mpt; }
ultrascale__every_command__works() { shipped_import ultrascale ultrascale-1B-8B; }
vtrain__every_command__works() { shipped_import vtrain vtrain-single-node; }

run_cases "$@"
