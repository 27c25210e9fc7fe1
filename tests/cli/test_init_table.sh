#!/usr/bin/env bash
# cli: what init --from-table makes of a table's columns: rates and times, devices, and what tells rows apart.
. "${0%/*}/lib.sh"

# NAME of a column | objective | unit. Whole numbers and fractions are read alike.
rates__in_whole_numbers_and_fractions__more_is_better()
{
    local name objective unit numbers kinds="100:200:300 100.5:200.25:300.75"
    while IFS='|' read -r name objective unit; do
        for numbers in $kinds; do
            IFS=: read -r a b c <<<"$numbers"
            printf 'attention,%s\nflash,%s\nsdpa,%s\neager,%s\n' "$name" "$a" "$b" "$c" >t.csv
            rm -f t.toml t.db*
            expect_run only_stderr 0 init --from-table t.csv -o t.toml
            expect "grep -q '^objective = \"$objective\"' t.toml" "grep -q '^unit = \"$unit\"\$' t.toml"
            expect_run status 0 import -c t.toml -d t.db t.csv
            expect_stdout 't.csv: 3 rows: 3 ok, 0 failed, 0 refused; 3 jobs (3 new), 3 attempts added, 0 already there'
            expect_stderr_contains "best: job 3 (t.csv:4): ${objective#max:} " " $unit, the highest"
        done
        kinds=${kinds#* } # whole numbers for the first alone
    done <<'END'
tokens/s|max:throughput|tokens/s
toks/s|max:toks_s|toks/s
token/s|max:token_s|token/s
avg toks/s|max:avg_toks_s|toks/s
avg tok_s|max:avg_tok_s|tok/s
avg_tokens_s|max:avg_tokens_s|tokens/s
step_tokens_s|max:step_tokens_s|tokens/s
time steps/s|max:throughput|steps/s
throughput_tok_s|max:throughput|tok/s
it_s|max:it_s|it/s
tok_per_sec_per_gpu|max:throughput|tok/s/gpu
tokens_per_gpu_per_sec|max:throughput|tokens/s/gpu
tokens/gpu/s|max:tokens_gpu_s|tokens/s/gpu
steps/s|max:throughput|steps/s
iter/s|max:throughput|iter/s
TFLOP/s|max:flops|TFLOP/s
GB/s|max:gb_s|gb/s
samples per second|max:throughput|samples/s
END
    printf 'attention,tput\nflash,3.5\nsdpa,4.5\n' >t.csv
    expect_run only_stderr 0 init --from-table t.csv -o tput.toml
    expect "grep -q '^objective = \"max:throughput\"' tput.toml"
}

averages__of_what_is_no_time__are_no_step_times()
{
    while IFS='|' read -r name objective; do
        printf 'attention,%s\nflash,0.15\nsdpa,0.25\neager,0.35\n' "$name" >t.csv
        expect_said only_stdout_contains 0 "objective = \"$objective\"" init --from-table t.csv -o -
    done <<'END'
WinoGAViL avg jaccard score|max:winogavil_avg_jaccard_score
avg|min:avg
avg latency|min:step_time
avg (ms)|min:step_time
END
}

# A page of a repository, which begins with a tag, has tables of its own.
markdown__second_table_of_other_columns__no_rows_of_the_first()
{
    printf '%s\n' '<div align="center">' '# Results' '' '| tp | tok/s |' '|---|---|' '| 1 | 10.5 |' '| 2 | 20.5 |' '' \
        'Where `a|b` stands for both:' >page.md
    expect_said only_stdout_contains 0 'objective = "max:throughput"' init --from-table page.md -o -
    printf '%s\n' '' '| key | meaning |' '|:--|:--|' '| tp | degree |' >>page.md
    run_meshsweep init --from-table page.md -o -
    expect_only_stderr 2 'meshsweep: page.md:11: another table begins here; give one alone, the first by: sed -n 4,7p '\
'page.md >table.md'
    sed -n 4,7p page.md >table.md
    expect_said only_stdout_contains 0 'objective = "max:throughput"' init --from-table table.md -o -
    # The same columns again are more rows.
    printf '%s\n' '' '| tp | tok/s |' '|---|---|' '| 4 | 40.5 |' >>table.md
    expect_run only_stdout 0 init --from-table table.md -o -
    printf '<table><tr><td>1|2</td></tr></table>\n' >page.html
    run_meshsweep init --from-table page.html -o -
    expect_only_stderr 2 'meshsweep: page.html: it is HTML or XML, and tables are CSV, Markdown or JSON: in pandas '\
'pd.read_html(FILE)[0].to_csv("table.csv", index=False)'
}

# As FastChat publishes it.
truths__with_marks_for_neither__one_type()
{
    printf '%s\n' '| LLaMA | Bits | mem(MiB) | PPL(c4) | act-order |' '|---|---|---|---|---|' \
        '| FP16 | 16 | 26634 | 6.96 | - |' '| GPTQ | 4 | 8699 | 6.97 | true |' \
        '| GPTQ | 4 | 8590 | 7.03 | False |' >table.md
    expect_run only_stderr 0 init --from-table table.md -o truth.toml
    expect_stderr_contains 'best: job 3 (table.md:5): peak_memory 8590 MiB, the lowest'
    expect_run status 0 import -c truth.toml table.md
    expect_any_stdout
    expect_any_stderr
    expect_sql '3|2' "SELECT count(*), count(act_order) FROM results"
    # What a metric without units has in brackets is none.
    expect "! grep -q '^unit = .c4' truth.toml"
}

times__stay_times()
{
    for name in step_s step_time_s 'time (s)' 's/step'; do
        printf 'attention,%s\nflash,1.5\nsdpa,2.5\neager,3.5\n' "$name" >t.csv
        expect_said only_stdout_contains 0 'objective = "min:' init --from-table t.csv -o -
    done
    # Not of a step: nothing is to be predicted of it.
    sed -i '1s/.*/attention,ttft_ms/' t.csv
    expect_said only_stdout_contains 0 'objective = "min:ttft"' init --from-table t.csv -o -
    for name in goodput bandwidth gbps; do
        sed -i "1s/.*/attention,$name/" t.csv
        expect_said only_stdout_contains 0 "[job.metrics.$name]"$'\nbetter = "max"' init --from-table t.csv -o -
    done
}

# COLUMNS | objective | a metric, its unit and column. A part of a step or a whole run is no step, a spread no figure.
times__of_several_columns__those_of_a_step_are_the_steps()
{
    while IFS='|' read -r columns objective metric unit column; do
        printf 'batch,%s\n1,1.5,2.5,3.5\n2,2.5,1.5,4.5\n' "$columns" >t.csv
        expect_said only_stdout_contains 0 "objective = \"$objective\"" init --from-table t.csv -o -
        expect_stdout_contains "[job.metrics.$metric]"$'\n'"unit = \"$unit\"" "$metric = \"$column\""
    done <<'END'
forward_time_ms,backward_time_ms,step_time_ms|min:step_time|step_time|ms|step_time_ms
wall_time_min,train_time_sec,iter_time_ms|min:step_time|total_time|min|wall_time_min
comm_time_ms,step_time_s,x_std|min:step_time|step_time|s|step_time_s
tokens_per_sec,throughput,samples_per_sec|max:throughput|tokens_per_sec|tokens/s|tokens_per_sec
step_time_ms_std,step_time_ms_mean,mem_mb_max|min:step_time|step_time|ms|step_time_ms_mean
delta,rouge_l,train_time_s|min:total_time|total_time|s|train_time_s
END
    printf 'method,delta,exact_match\na,0.25,0.5\nb,0.5,0.75\n' >t.csv
    expect_said only_stdout_contains 0 $'[job.metrics.exact_match]\nbetter = "max"' init --from-table t.csv -o -
}

# A word of a state makes no column of states, and a unit in some cells is no key without a word of it.
columns__that_look_like_others__said_or_left()
{
    printf 'config,mbs,tps (tok/s)\nbase,1,10\nfused,1,20\noom,1,1.5K\n' >t.csv
    expect_said only_stdout_contains 0 'but not all of its cells are numbers of a kind.
tps_tok_s = ' init --from-table t.csv -o -
    expect_stdout_contains 'config = "config"'
    expect_stdout_lacks 'state = '
    printf 'mbs,step time,loss\n1,1.5 s,1.5\n2,900 ms,2.5\n4,0.8,3.5\n' >t.csv
    expect_said only_stdout_contains 0 'but not all of its cells are numbers of a kind.
step_time = ' init --from-table t.csv -o -
}

# What meshsweep's own export has beside keys and metrics tells no jobs apart that are pairs, and says how they ended.
columns__of_an_export__keys_alone_are_keys()
{
    small_sweep sweep.toml
    expect_run only_stdout 0 run --progress none
    sqlite3 results.db 'UPDATE attempt SET max_rss = 1000000 + id / 2'
    expect_run only_status 0 note 2 --exclude 'a slow node'
    expect_run only_stdout 0 export -o t.csv
    sed -i '2s/,ok,,/,failed,timeout,/' t.csv
    imported t.csv
    expect_said only_stdout_contains 0 '20 against 10: 1 pair ran on both sides' compare --by y -d t.db
    expect_sql 'timeout ok ok' "SELECT group_concat(coalesce(failure, state), ' ') FROM job" t.db
    expect_file_contains t.toml 'because an export has them beside keys and metrics: job, key, sweep, in_sweep, failure'
}

# A flag that some rows have sets something; a dash does not, and no column goes unsaid.
columns__of_one_word__keys_unless_they_are_dashes()
{
    printf 'mbs,flag,note,tok/s\n1,,-,1.5\n1,--offload,-,2.5\n2,--offload,,3.5\n2,,-,4.5\n' >t.csv
    imported t.csv
    expect_sql 4 "SELECT count(*) FROM job" t.db
    expect_file_contains t.toml 'flag = "flag"' '# Left out, because they are empty: note'
}

imported() # TABLE
{
    rm -f t.toml t.db*
    expect_run only_stderr 0 init --from-table "$1" -o t.toml
    expect_run only_status 0 import -c t.toml -d t.db "$1"
}

# COLUMNS; ROWS; the label that is a key because nothing else tells rows apart ("none", and another key), jobs.
labels__what_tells_rows_apart__is_a_key()
{
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
    done <<'END'
variant,batch,tok/s;flash,8,1.5 sdpa,8,2.5 eager,8,3.5 compile,8,4.5;none variant;4
name,tok/s;a,1.5 b,2.5 c,3.5 d,4.5;name;4
run,date,tok/s;a,2025-01-01,1.5 b,2025-01-02,2.5 c,2025-01-03,3.5;run;3
date,tok/s;2025-01-01,1.5 2025-01-02,2.5 2025-01-03,3.5;date;3
variant,batch,tok/s;flash,8,1.5 sdpa,8,2.5 eager,16,3.5 compile,16,4.5;none variant;4
variant,batch,tok/s;flash,1,1.5 sdpa,2,2.5 eager,4,3.5 compile,8,4.5;none variant;4
run_name,batch,tok/s;a,8,1.5 b,8,2.5 c,16,3.5 d,16,4.5;none;2
id,variant,batch,tok/s;1,flash,8,1.5 2,sdpa,8,2.5 3,eager,16,3.5 4,compile,16,4.5;none variant;4
END
    printf 'run_name,batch,tok/s\na,8,1.5\nb,8,2.5\nc,16,3.5\nd,16,4.5\n' >t.csv
    imported t.csv
    expect_file_contains t.toml 'all have the same: run_name
# Rows that differ in these alone are repeats of one job.'
}

# COLUMNS; ROWS; hosts × devices per host = devices of each job. Never none, never fewer than the table says.
devices__of_hosts_and_degrees__at_least_one_each()
{
    while IFS=';' read -r columns rows counts; do
        { echo "$columns"; tr ' ' '\n' <<<"$rows"; } >t.csv
        imported t.csv
        expect_sql "$counts" "SELECT group_concat(hosts || 'x' || each || '=' || devices, ' ') FROM
            (SELECT coalesce(c.json ->> '\$.num_hosts', 1) AS hosts, c.json ->> '\$.num_devices_per_host' AS each,
             j.devices FROM attempt AS a JOIN job AS j ON j.id = a.job_id JOIN spec AS c ON c.id = j.cluster_id
             ORDER BY a.line)" t.db
    done <<'END'
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

# A row of a kind that the table had no example of is refused when it comes, and not divided to nothing.
devices__rows_that_come_later__refused_where_hosts_differ()
{
    printf 'nodes,gpus,tok/s\n2,16,1.5\n4,32,2.5\n' >t.csv
    imported t.csv
    printf '4,6,3.5\n8,4,4.5\n1,8,5.5\n' >>t.csv
    expect_run status 0 import -c t.toml -d t.db t.csv
    expect_stdout_contains '5 rows: 3 ok, 0 failed, 2 refused'
    expect_stderr_contains 'rows refused: 2 of 5'
    expect_stderr_contains 'refused 2 rows, the first at t.csv:4: its hosts would not have the same number of devices'
    expect_sql 0 "SELECT count(*) FROM job WHERE devices < 1" t.db
}

# Twelve devices are on two hosts, as usual ones have eight.
# What is said to go on with can be typed.
table__name_with_a_blank__quoted_for_a_shell()
{
    printf 'bs,throughput\n1,10.5\n2,20.5\n' >"a 1.csv"
    expect_said among_stderr 0 "wrote a b.toml; check it, then: meshsweep import -c 'a b.toml' 'a 1.csv'" \
        init --from-table "a 1.csv" -o "a b.toml"
    expect_said only_stderr_contains 2 "meshsweep init --from-table 'a 1.csv' writes one" import "a 1.csv"
    expect_said among_stdout 0 '2 rows: 2 ok' import -c "a b.toml" "a 1.csv" -d "a b.db"
    cp "a 1.csv" "a 2.csv"
    expect_said among_stderr 0 "if it is a copy: meshsweep import --undo 'a 2.csv' -d 'a b.db'" \
        import -c "a b.toml" "a 2.csv" -d "a b.db"
    small_sweep "a c.toml"
    expect_said only_stderr_contains 4 "meshsweep run -c 'a c.toml'" reread -c "a c.toml" -d "a b.db"
}

table__devices_without_hosts__the_usual_node_as_a_guess()
{
    printf '%s\n' layers,gpu,gpus,mbs,tokens_per_sec 2,H100,16,1,50 2,H100,8,1,26 2,B200,12,1,60 2,B200,4,1,20 \
        >table.csv
    expect_run only_status 0 init --from-table table.csv
    expect "grep -q '^# A guess: no column has the hosts; 8 of these devices are usual in one.$' sweep.toml"
    expect_run only_status 0 import -c sweep.toml table.csv
    expect_sql '2 8|1 8|2 6|1 4' "SELECT group_concat(num_hosts || ' ' || num_devices_per_host, '|') FROM results"
}

# FILE | the winner, of a batch of 16 | what printf writes there. The second row is the winner.
tables__in_other_forms__read_and_their_winner_shown()
{
    while IFS='|' read -r file number text; do
        printf %b "$text" >"$file"
        [ "$text" ] || printf 'batch,tokens/s\n8,100.5\n16,200.5\n' | iconv -t "${file%.csv}" >"$file"
        rm -f t.toml t.db*
        run_meshsweep init --from-table "$file" -o t.toml
        expect_only_stderr_matches 0 "best: job 2 .$file:[0-9]+.: [a-z_]+ $number (tokens|tok)/s, the highest"
        expect_run only_status 0 import -c t.toml -d t.db "$file"
        expect_sql 16 "SELECT batch FROM ranking LIMIT 1" t.db
    done <<'END'
utf16.csv|200.5|
utf16le.csv|200.5|
utf16be.csv|200.5|
mark.csv|200.5|\0357\0273\0277batch,tokens/s\n8,100.5\n16,200.5\n
pandas.csv|200.5|,batch,tokens/s\n0,8,100.5\n1,16,200.5\n2,32,150.5\n
title.csv|200.5|Results of March\n\nbatch,tokens/s\n8,100.5\n16,200.5\n
title-cells.csv|200.5|Results,,\n,,\nbatch,x,tokens/s\n8,1,100.5\n16,1,200.5\n
title-semicolons.csv|200.5|Results of March\nbatch;tokens/s\n8;100,5\n16;200,5\n
excel.csv|200.5|sep=;\nbatch;tokens/s\n8;100.5\n16;200.5\n
comments.csv|200.5|# torch 2.1, H100\n#\nbatch,tokens/s\n8,100.5\n# a pause\n16,200.5\n
numpy.csv|200.5|# run 3\n# batch,tokens/s\n8,100.5\n16,200.5\n
tabs.tsv|200.5|batch\ttokens/s\n8\t100.5\n16\t200.5\n
crlf.csv|200.5|batch,tokens/s\r\n8,100.5\r\n16,200.5\r\n
mac.csv|200.5|batch,tokens/s\r8,100.5\r16,200.5\r
semicolons.csv|200.5|batch;tokens/s\n8;100,5\n16;200,5\n
points.csv|1200.5|batch;tokens/s\n8;1.100,5\n16;1.200,5\n
thousands.csv|1200.5|batch,tokens/s\n8,"1,100.5"\n16,"1,200.5"\n
powers.csv|200.5|batch,tokens/s\n8,1.005e2\n16,2.005e+02\n
brackets.csv|200.5|batch,throughput [tokens/s],mem [GiB]\n8,100.5,10.5\n16,200.5,20.5\n
units.csv|200.5|batch,throughput\n8,100.5 tokens/s\n16,200.5 tokens/s\n
percent.csv|200.5|batch,tokens/s,mfu\n8,100.5,10.5%\n16,200.5,20.5%\n
absent.csv|200.5|batch,note,tokens/s\n8,,100.5\n16,x,200.5\n32,,NaN\n64,,n/a\n128,,-\n
dates.csv|200.5|date,batch,tokens/s\n2025-01-02,8,100.5\n2025-01-03,16,200.5\n
sum.csv|200.5|batch,model,tokens/s\n8,a,100.5\n16,b,200.5\nTotal,,301.0\n
sums.csv|200.5|model,batch,tokens/s\na,8,100.5\nb,16,200.5\nmean,,250.5\nmax,,300.5\n
lines.csv|200.5|batch,note,tokens/s\n8,"a\n# b",100.5\n16,"c",200.5\n
spread.csv|200.5|batch,tokens/s\n8,100.5±2.59\n16,200.5 +/- 3\n
name.csv|200.5|batch,"note\nof it","a\r\nb",tokens/s\n8,,1.5,100.5\n16,,1.5,200.5\n
spread-units.csv|200.5|batch,throughput\n8,100.5tokens/s ± 2.59tokens/s\n16,200.5 tokens/s +/- 3 tokens/s\n
padded.csv|200.5|batch, note   , tokens/s\n8    , "a, b" ,  100.5\n16   , c     ,   200.5\n
fit.csv|200.5|batch,tokens/s,Memory\n8,100.5,FIT\n16,200.5,FIT\n32,,OOM\n
table.md|200.5|| batch | tokens/s |\n|---|---:|\n| 8 | 100.5 |\n| 16 | **200.5 ± 1.5** |\n\nMore text.\n
readme.md|200.5|# Runs\n\nOf March, on H100:\n\n| batch | tokens/s |\n|---|---:|\n| 8 | 100.5 |\n| 16 | 200.5 |\n\nA.\n
bare.md|200.5|batch | tokens/s\n--- | ---:\n8 | 100.5\n16 | 200.5\n
bars.txt|200.5|batch|tokens/s\n8|100.5\n16|200.5\n
psql.txt|200.5| batch | tokens/s \n-------+----------\n     8 |    100.5\n    16 |    200.5\n(2 rows)\n
grid.txt|200.5|+----+-------+\n| batch | tok/s |\n+====+=======+\n| 8  | 100.5 |\n+----+-------+\n| 16 | 200.5 |\n
width.txt|200.5|batch  tokens/s\n8      100.5\n16     200.5\n
printed.txt|200.5|   batch  tokens/s\n0      8     100.5\n1     16     200.5\n
list.json|200.5|[{"batch": 8, "cfg": {"lr": 1}, "tok/s": 100.5},\n {"batch": 16, "cfg": {"lr": 1}, "tok/s": 200.5}]
lines.jsonl|200.5|{"batch": 8, "tokens/s": 100.5}\n{"batch": 16, "tokens/s": 200.5, "note": null}\n
member.json|200.5|{"title": "t", "results": [{"batch": 8, "tokens/s": 100.5}, {"batch": 16, "tokens/s": 200.5}]}
columns.json|200.5|{"batch": [8, 16], "tokens/s": [100.5, 200.5]}
pandas.json|200.5|{"batch": {"0": 8, "1": 16}, "tokens/s": {"0": 100.5, "1": 200.5}}
index.json|200.5|{"0": {"batch": 8, "tokens/s": 100.5}, "1": {"batch": 16, "tokens/s": 200.5}}
split.json|200.5|{"columns": ["batch", "tokens/s"], "index": [0, 1], "data": [[8, 100.5], [16, 200.5]]}
arrays.json|200.5|[["batch", "tokens/s"], [8, 100.5], [16, 200.5]]
END
}

# FILE | its status | what init says | what printf writes there.
tables__that_cannot_be_read__told_how_to_make_them()
{
    while IFS='|' read -r file status words text; do
        rm -f sweep.toml
        printf %b "$text" >"$file"
        expect_said only_stderr_contains "$status" "$words" init --from-table "$file"
    done <<'END'
values.csv|2|`8` and `16` are named by values; make a row of each value first|model,8,16\na,1.5,2.5\nb,1.6,2.6\n
wide.csv|2|columns `seq512` and `seq1024` differ in a value alone|batch,seq512,seq1024\n8,1.5,2.5\n16,3.5,4.5\n
headless.csv|2|headless.csv: the first line must name the columns, and has `8`|8,100.5\n16,200.5\n
units.csv|2|the line below the columns' names has `tok/s` under `speed`|batch,speed\n,tok/s\n8,1.5\n16,2.5\n
two.csv|2|`mean` under `a`, and numbers come below: make one line of the header|m,a,b\n,mean,peak\na,1.5,2\nb,2.5,3\n
twice.csv|0|it cannot be imported yet: twice.csv:1: columns 2 and 3 are both called|a,tok/s,tok/s\n1,1.5,2\n2,2.5,3\n
nameless.csv|0|it cannot be imported yet: nameless.csv:1: column 3 has no name|a,tok/s,\n1,1.5,\n2,2.5,\n
uneven.csv|2|uneven.csv: line 3: it has 3 cells, but the first line has 2|a,tok/s\n1,1.5\n2,2.5,3\n
latin1.csv|2|line 2: not UTF-8 text; make it so: iconv -f LATIN1|a,tok/s\nd\0351j\0340,1.5\n
width.txt|2|no comma, tab, semicolon or bar stands between the columns|a      tok/s\nx y    1.5\nz      2.5\n
book.xlsx|2|it is a spreadsheet, and tables are CSV, Markdown or JSON: save it as CSV|PK\0003\0004\0024\0
runs.parquet|2|in pandas pd.read_parquet(FILE).to_csv(|PAR1\0025\0004
runs.csv.gz|2|it is compressed, and tables are CSV, Markdown or JSON: gzip -dc FILE|\0037\0213\0010\0
runs.db|2|sqlite3 -header -csv FILE|SQLite format 3\0
page.html|2|in pandas pd.read_html(FILE)[0]|<table><tr><th>a</th></tr></table>\n
paper.tex|2|paper.tex: it is LaTeX|\\begin{tabular}{lr}\na & tok/s \\\\\\\\\n1 & 1.5 \\\\\\\\\n\\end{tabular}\n
zeros.bin|2|zeros.bin: it is no text|a,b\n\0\0\0\0\0001\n
named.json|2|named.json: a table in JSON is a list of objects|{"a": {"b": 8, "c": 1.5}, "b": {"b": 16, "c": 2.5}}
torn.jsonl|2|torn.jsonl:2: what begins here is no JSON|{"batch": 8}\n{"batch": \n
END
}

# Words of sums, headers or values in names are none of these.
tables__of_such_words__read_whole()
{
    printf 'reduce,tokens/s\nmean,100.5\nsum,200.5\n' >reduce.csv
    run_meshsweep init --from-table reduce.csv -o reduce.toml
    expect_only_stderr_contains 0 'best: job 2 (reduce.csv:3)' 'rows refused: 0 of 2'
    printf 'batch,p50,p99\n8,1.5,2.5\n16,1.25,2.25\n' >quantiles.csv
    expect_said only_stderr_contains 0 'best: job 2 (quantiles.csv:3)' init --from-table quantiles.csv -o quantiles.toml
    printf 'model,tokens/s\na,OOM\nb,1.5\nc,2.5\n' >oom.csv
    run_meshsweep init --from-table oom.csv -o oom.toml
    expect_only_stderr_contains 0 'best: job 3 (oom.csv:4)' 'rows refused: 0 of 3'
}

run_cases "$@"
