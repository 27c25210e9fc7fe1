#!/usr/bin/env bash
# cli: what init --from-table makes of a table's columns: rates and times, devices, and what tells rows apart.
. "$(dirname "$0")/lib.sh"

# NAME of a column | objective | unit. Whole numbers and fractions are read alike.
rates()
{
    cat <<'END'
tokens/s|max:throughput|tokens/s
toks/s|max:toks_s|toks/s
token/s|max:token_s|token/s
avg toks/s|max:avg_toks_s|toks/s
avg tok_s|max:avg_tok_s|tok/s
avg_tokens_s|max:avg_tokens_s|tokens/s
step_tokens_s|max:step_tokens_s|tokens/s
time steps/s|max:throughput|steps/s
tok_per_sec_per_gpu|max:throughput|tok/s/gpu
steps/s|max:throughput|steps/s
iter/s|max:throughput|iter/s
TFLOP/s|max:flops|TFLOP/s
GB/s|max:gb_s|gb/s
samples per second|max:throughput|samples/s
END
}

rates__in_whole_numbers_and_fractions__more_is_better()
{
    local name objective unit numbers
    while IFS='|' read -r name objective unit; do
        for numbers in 100:200:300 100.5:200.25:300.75; do
            IFS=: read -r a b c <<<"$numbers"
            printf 'attention,%s\nflash,%s\nsdpa,%s\neager,%s\n' "$name" "$a" "$b" "$c" >t.csv
            rm -f t.toml t.db*
            expect_run only_stderr 0 init --from-table t.csv -o t.toml
            expect "grep -q '^objective = \"$objective\"' t.toml" "grep -q '^unit = \"$unit\"\$' t.toml"
            run_meshsweep import -c t.toml -d t.db t.csv
            expect_status 0
            expect_stdout 't.csv: 3 rows: 3 ok, 0 failed, 0 refused; 3 jobs (3 new), 3 attempts added, 0 already there'
            expect_stderr_contains "best: job 3 (t.csv:4): ${objective#max:} " " $unit, the highest"
        done
    done < <(rates)
}

times__stay_times()
{
    local name
    for name in step_s step_time_s 'time (s)' 's/step'; do
        printf 'attention,%s\nflash,1.5\nsdpa,2.5\neager,3.5\n' "$name" >t.csv
        run_meshsweep init --from-table t.csv -o -
        expect_only_stdout_contains 0 'objective = "min:'
    done
}

imported() # TABLE
{
    rm -f t.toml t.db*
    expect_run only_stderr 0 init --from-table "$1" -o t.toml
    expect_run only_status 0 import -c t.toml -d t.db "$1"
}

# COLUMNS; ROWS; the label that is a key because nothing else tells rows apart ("none", and another key), jobs.
labels()
{
    cat <<'END'
variant,batch,tok/s;flash,8,1.5 sdpa,8,2.5 eager,8,3.5 compile,8,4.5;none variant;4
name,tok/s;a,1.5 b,2.5 c,3.5 d,4.5;name;4
run,date,tok/s;a,2025-01-01,1.5 b,2025-01-02,2.5 c,2025-01-03,3.5;run;3
date,tok/s;2025-01-01,1.5 2025-01-02,2.5 2025-01-03,3.5;date;3
variant,batch,tok/s;flash,8,1.5 sdpa,8,2.5 eager,16,3.5 compile,16,4.5;none variant;4
variant,batch,tok/s;flash,1,1.5 sdpa,2,2.5 eager,4,3.5 compile,8,4.5;none variant;4
run_name,batch,tok/s;a,8,1.5 b,8,2.5 c,16,3.5 d,16,4.5;none;2
id,variant,batch,tok/s;1,flash,8,1.5 2,sdpa,8,2.5 3,eager,16,3.5 4,compile,16,4.5;none variant;4
END
}

labels__what_tells_rows_apart__is_a_key()
{
    local columns rows key jobs
    while IFS=';' read -r columns rows key jobs; do
        { echo "$columns"; tr ' ' '\n' <<<"$rows"; } >t.csv
        imported t.csv
        expect_sql "$jobs" "SELECT count(*) FROM job" t.db
        if [ "${key% *}" = none ]; then
            expect "! grep -q 'nothing else tells' t.toml"
            [ "$key" = none ] || expect_file_contains t.toml "${key#* } = \"${key#* }\""
        else
            expect "[ \"\$(grep -A 1 'nothing else tells' t.toml | tail -n 1)\" = '$key = \"$key\"' ]"
        fi
    done < <(labels)
    printf 'run_name,batch,tok/s\na,8,1.5\nb,8,2.5\nc,16,3.5\nd,16,4.5\n' >t.csv
    imported t.csv
    expect_file_contains t.toml 'all have the same: run_name
# Rows that differ in these alone are repeats of one job.'
}

# COLUMNS; ROWS; hosts × devices per host = devices of each job. Never none, never fewer than the table says.
devices()
{
    cat <<'END'
nodes,tp,pp,tok/s;4,1,1,1.5 4,2,1,2.5;4x1=4 4x1=4
nodes,tp,pp,tok/s;4,8,4,1.5 2,8,1,2.5;4x8=32 2x4=8
nodes,dp,tp,tok/s;2,4,2,1.5 4,4,4,2.5;2x4=8 4x4=16
nodes,gpus,tok/s;2,16,1.5 4,32,2.5;2x8=16 4x8=32
nodes,gpus,tok/s;2,8,1.5 4,8,2.5;2x4=8 4x2=8
nodes,gpus,tok/s;4,1,1.5 4,8,2.5;4x1=4 4x8=32
nodes,gpus,tok/s;16,8,1.5 4,8,2.5;16x8=128 4x8=32
nodes,gpus_per_node,tok/s;4,8,1.5 2,4,2.5;4x8=32 2x4=8
gpus,tok/s;4,1.5 8,2.5;1x4=4 1x8=8
tp,pp,tok/s;2,2,1.5 4,2,2.5;1x4=4 1x8=8
END
}

devices__of_hosts_and_degrees__at_least_one_each()
{
    local columns rows counts
    while IFS=';' read -r columns rows counts; do
        { echo "$columns"; tr ' ' '\n' <<<"$rows"; } >t.csv
        imported t.csv
        expect_sql "$counts" "SELECT group_concat(hosts || 'x' || each || '=' || devices, ' ') FROM
            (SELECT coalesce(c.json ->> '\$.num_hosts', 1) AS hosts, c.json ->> '\$.num_devices_per_host' AS each,
             j.devices FROM attempt AS a JOIN job AS j ON j.id = a.job_id JOIN spec AS c ON c.id = j.cluster_id
             ORDER BY a.line)" t.db
    done < <(devices)
}

# What the table had no example of is refused when it comes, and not divided to nothing.
devices__rows_that_come_later__refused_where_hosts_differ()
{
    printf 'nodes,gpus,tok/s\n2,16,1.5\n4,32,2.5\n' >t.csv
    imported t.csv
    printf '4,6,3.5\n8,4,4.5\n1,8,5.5\n' >>t.csv
    run_meshsweep import -c t.toml -d t.db t.csv
    expect_status 0
    expect_stdout_contains '5 rows: 3 ok, 0 failed, 2 refused'
    expect_stderr_contains 'rows refused: 2 of 5'
    expect_stderr_contains 'refused 2 rows, the first at t.csv:4: its hosts would not have the same number of devices'
    expect_sql 0 "SELECT count(*) FROM job WHERE devices < 1" t.db
}

# Twelve devices are on two hosts, as usual ones have eight.
table__devices_without_hosts__the_usual_node_as_a_guess()
{
    printf '%s\n' layers,gpu,gpus,mbs,tokens_per_sec 2,H100,16,1,50 2,H100,8,1,26 2,B200,12,1,60 2,B200,4,1,20 \
        >table.csv
    run_meshsweep init --from-table table.csv
    expect_status 0
    expect_any_stdout
    expect_any_stderr
    expect "grep -q '^# A guess: no column has the hosts; 8 of these devices are usual in one.$' sweep.toml"
    run_meshsweep import -c sweep.toml table.csv
    expect_status 0
    expect_any_stdout
    expect_any_stderr
    expect_sql '2 8|1 8|2 6|1 4' "SELECT group_concat(num_hosts || ' ' || num_devices_per_host, '|') FROM results"
}

# FILE | what printf writes there. Three jobs at most; the winner is 200.5 of a batch of 16.
forms()
{
    cat <<'END'
utf16.csv|
pandas.csv|,batch,tokens/s\n0,8,100.5\n1,16,200.5\n2,32,150.5\n
title.csv|Results of March\n\nbatch,tokens/s\n8,100.5\n16,200.5\n
title-cells.csv|Results,,\n,,\nbatch,x,tokens/s\n8,1,100.5\n16,1,200.5\n
table.md|| batch | tokens/s |\n|---|---:|\n| 8 | 100.5 |\n| 16 | **200.5 ± 1.5** |\n\nMore text.\n
list.json|[{"batch": 8, "cfg": {"lr": 0.1}, "tokens/s": 100.5},\n {"batch": 16, "cfg": {"lr": 0.1}, "tokens/s": 200.5}]
lines.jsonl|{"batch": 8, "tokens/s": 100.5}\n{"batch": 16, "tokens/s": 200.5, "note": null}\n
member.json|{"title": "t", "results": [{"batch": 8, "tokens/s": 100.5}, {"batch": 16, "tokens/s": 200.5}]}
spread.csv|batch,tokens/s\n8,100.5±2.59\n16,200.5 +/- 3\n
fit.csv|batch,tokens/s,Memory\n8,100.5,FIT\n16,200.5,FIT\n32,,OOM\n
END
}

tables__in_other_forms__read_and_their_winner_shown()
{
    local file text
    while IFS='|' read -r file text; do
        printf %b "$text" >"$file"
        [ "$file" != utf16.csv ] || printf 'batch,tokens/s\n8,100.5\n16,200.5\n' | iconv -t UTF-16 >"$file"
        rm -f t.toml t.db*
        run_meshsweep init --from-table "$file" -o t.toml
        expect_only_stderr_matches 0 "best: job 2 .$file:[0-9]+.: throughput 200.5 tokens/s, the highest"
        expect_run only_status 0 import -c t.toml -d t.db "$file"
        expect_sql 16 "SELECT batch FROM results WHERE throughput = 200.5" t.db
    done < <(forms)
}

tables__that_cannot_be_read__told_how_to_make_them()
{
    printf 'model,8,16\na,1.5,2.5\nb,1.6,2.6\n' >wide.csv
    run_meshsweep init --from-table wide.csv
    expect_only_stderr_contains 2 'wide.csv: columns `8` and `16` are named by values' 'df.melt('
    printf '{"batch": {"0": 8, "1": 16}, "tokens/s": {"0": 1.5, "1": 2.5}}' >turned.json
    run_meshsweep init --from-table turned.json
    expect_only_stderr_contains 2 'turned.json: a table in JSON is a list of objects' 'orient="records"'
    printf '{"batch": 8}\n{"batch": \n' >torn.jsonl
    run_meshsweep init --from-table torn.jsonl
    expect_only_stderr 2 'meshsweep: torn.jsonl:2: what begins here is no JSON'
    printf 'model,tok/s,tok/s\n,mean,std\na,1.5,2\nb,2.5,3\n' >heads.csv
    run_meshsweep init --from-table heads.csv
    expect_only_stderr_contains 0 'it cannot be imported yet: heads.csv:1: columns 2 and 3 are both called' 'join them'
}

run_cases "$@"
