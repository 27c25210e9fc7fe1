#!/usr/bin/env bash
# cli: results and export, over a database in a known state.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

results__plain__columns_that_differ_of_the_current_sweep()
{
    fixture_database
    expect_said only_stdout 0 "job  layers  name  micro_batch  tp  zero_stage  dp  state   failure  attempts  \
loss  throughput (samples/s)  duration_ms  max_rss  error
───  ──────  ────  ───────────  ──  ──────────  ──  ──────  ───────  ────────  \
────  ──────────────────────  ───────────  ───────  ────────────────────
  1       2  tiny            1   1           0   8  ok                      1  \
 2.5                     100        10000  1048576
  2       2  tiny            2   1           0   8  ok                      1  \
                          99        10000  2097152
  3       2  tiny            4   2           1   4  ok                      1  \
                          50        10000
  4       2  tiny            8   2           3   4  failed  oom             1  \
                                     1000           device out of memory" results --limit 4
}

# Its columns are model.job and model.state: the job's own are always shown.
results__constant_key_called_as_a_column_of_a_job__does_not_hide_that()
{
    small_sweep sweep.toml
    printf '[[model]]\njob = "train"\nstate = "cold"\nhidden = 8\n' >>sweep.toml
    run_silently 0
    expect_said only_stdout_matches 0 '^job +x +y +state +failure +attempts +score +' results --limit 1
}

results__where_sort_columns__csv()
{
    fixture_database
    expect_said only_stdout 0 $'job,tp,throughput\r\n1,1,100.0\r\n2,1,99.0\r\n3,2,50.0\r\n8,2,\r' results --where \
        "throughput > 10 OR state = 'pending'" --sort throughput:desc --columns job,TP,throughput --format csv
}

# The order is the same whether or not an index gives the first rows: as many of them as are wanted. What a failed job
# reported (4) is no result.
results__sorted_by_a_metric__numbers_first()
{
    fixture_database "UPDATE summary SET value = NULL WHERE attempt_id = 2 AND name = 'throughput'" \
        "UPDATE summary SET value = 1e308 WHERE attempt_id = 3 AND name = 'throughput'" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (4, 'throughput', 100.0, 1)"
    for way in "desc 3 1 2 4 5 6 7 8" "asc 1 3 2 4 5 6 7 8"; do
        read -r way rows <<<"$way"
        for limit in 1 2 3 4 5 8; do
            run_meshsweep results --sort "throughput:$way" --limit "$limit" --columns job --format tsv
            expect_only_stdout 0 "job"$'\n'"$(tr ' ' '\n' <<<"$rows" | head -n "$limit")"
        done
    done
    run_meshsweep results --where 'tp = 1' --sort throughput:desc --limit 1 --columns job --format tsv
    expect_only_stdout 0 $'job\n1'
    expect_said only_stdout 0 $'job\n9\n1' results --all --sort throughput --limit 2 --columns job --format tsv
}

results__all__jobs_of_earlier_sweeps_too()
{
    fixture_database
    run_meshsweep results --all --where 'dp IS NULL' --columns job,sweep,in_sweep --format jsonl
    expect_only_stdout 0 '{"job":9,"sweep":"first","in_sweep":false}'
}

# SQLite has no type for them.
results__truth_and_lists__as_in_the_sweep_file()
{
    toml sweep: list_values='["sizes"]' job: command='["true"]' parallel_spec:: fused=true,false sizes=1,2 \
        rows=9007199254740993 >sweep.toml
    run_silently 0
    run_meshsweep results --columns fused,sizes,rows,in_sweep --format jsonl
    expect_only_stdout 0 '{"fused":true,"sizes":[1,2],"rows":9007199254740993,"in_sweep":true}
{"fused":false,"sizes":[1,2],"rows":9007199254740993,"in_sweep":true}'
    run_meshsweep results --columns fused,sizes --format tsv --where 'fused = false'
    expect_only_stdout 0 $'fused\tsizes\nfalse\t[1,2]'
    expect_said only_stdout_contains 0 '  1  true' results --columns job,fused --where 'fused = true'
    # In a document they are indented as the rest is, and lose no digit.
    run_meshsweep show 2 --json
    expect_only_stdout_contains 0 $'\t\t"parallel_spec":\t{\n\t\t\t"fused":\tfalse,\n\t\t\t"rows":\t9007199254740993,
\t\t\t"sizes":\t[1, 2]\n\t\t},'
}

results__every_format__its_own_shape()
{
    fixture_database
    expect_said only_stdout 0 $'job\tstate\n1\tok' results --limit 1 --columns job,state --format tsv
    expect_said only_stdout 0 $'[\n{"job":1,"state":"ok"}\n]' results --limit 1 --columns job,state --format json
    run_meshsweep results --limit 1 --columns job,throughput --format markdown
    expect_only_stdout 0 $'| job | throughput (samples/s) |\n| --- | --- |\n| 1 | 100 |'
}

results__nothing_matches__status_4()
{
    fixture_database
    expect_run status 4 results --where 'dp = 99' --columns job --format csv
    expect_stdout $'job\r'
    expect_stderr 'meshsweep: no job matches'
}

results__wrong_names__hints_and_status_2()
{
    fixture_database "UPDATE spec SET json = json_set(json, '\$.name', 'c') WHERE kind = 'cluster_spec'"
    run_meshsweep results --columns job,layer
    expect_only_stderr 2 'meshsweep: --columns: no such column: layer (did you mean layers?)'
    run_meshsweep results --sort troughput:desc
    expect_only_stderr 2 'meshsweep: --sort: no such column: troughput (did you mean throughput?)'
    run_meshsweep results --where 'layer = 2'
    expect_only_stderr 2 'meshsweep: --where: no such column: layer (did you mean layers?)'
    run_meshsweep results --where "name = 'tiny'"
    expect_only_stderr 2 'meshsweep: --where: no such column: name (did you mean "cluster_spec.name" or "model.name"?)'
    run_meshsweep results --where "\"model.name\" = tiny"
    expect_only_stderr 2 "meshsweep: --where: no such column: tiny (put strings in single quotes: 'tiny')"
    for where in "\"model.name\" = 'tiny" '(tp = 1' '"model.name = 1'; do
        run_meshsweep results --where "$where"
        expect_only_stderr 2 "meshsweep: --where \`$where\`: a quotation mark or parenthesis is not closed"
    done
    run_meshsweep results --where 'duration < 40GiB'
    expect_only_stderr_contains 2 '(a number has no unit there: write 40, or 42949672960 where the column is in bytes)'
    run_meshsweep results --where 'duration < .5 h'
    expect_only_stderr_contains 2 '(a number has no unit there: write 0.5, or 1800 where the column is in seconds)'
    run_meshsweep results --where 'duration < 1.5 h'
    expect_only_stderr_contains 2 '(a number has no unit there: write 1.5, or 5400 where the column is in seconds)'
    run_meshsweep results --where 'max_rss < 150 tokens/s'
    expect_only_stderr_contains 2 '(a number has no unit there: write 150)'
    run_meshsweep results --where "\"model.name\" = 'tiny'" --columns 'job,model.name' --limit 1 --format csv
    expect_only_stdout 0 $'job,model.name\r\n1,tiny\r'
    expect_said only_stderr_contains 2 "unknown format 'xml'" results --format xml
}

results__condition_that_is_none__refused()
{
    fixture_database
    run_meshsweep results --where '(SELECT max(tp) FROM results) > 1'
    expect_only_stderr 2 'meshsweep: --where: a subquery is not allowed here'
    run_meshsweep results --where "load_extension('x')"
    expect_only_stderr 2 'meshsweep: --where: the function load_extension is not allowed here'
    run_meshsweep results --where "1) UNION SELECT * FROM job --"
    expect_only_stderr_contains 2 'meshsweep: --where `1) UNION SELECT * FROM job --`: near'
    for command in results 'export --failed' 'export --toml'; do
        # shellcheck disable=SC2086 # a command and its option
        expect_said only_stderr 2 'meshsweep: --where `0) OR (1`: near ")": syntax error' $command --where '0) OR (1'
    done
    expect_said only_stderr 2 'meshsweep: --where `tp >`: it ends too early' results --where 'tp >'
    expect_sql 9 'SELECT count(*) FROM job'
}

results__database_without_a_sweep__status_4()
{
    cat "$source_dir"/sql/migrations/*.sql "$source_dir"/sql/views.sql | sqlite3 -batch results.db
    sqlite3 results.db "PRAGMA application_id = 1836279927;
        PRAGMA user_version = $(find "$source_dir/sql/migrations" -name "*.sql" | sort | tail -n 1 |
            sed -E 's/.*\/0*([0-9]+)_.*/\1/')"
    expect_said only_stderr 4 'meshsweep: this database has no sweep yet; `meshsweep run` records one' results
}

export__plain__every_job_in_a_stable_order()
{
    fixture_database
    expect_run only_stdout 0 export
    expect_stdout_contains 'job,key,sweep,in_sweep,num_devices_per_host,num_hosts,layers,name,'\
'micro_batch,tp,zero_stage,dp,state,failure,attempts,loss,throughput,'\
'duration_ms,max_rss,partial,not_finite,error,directory,started,ended'
    expect_stdout_contains '1,01000000000000000000000000000000,gpt,true,8,1,2,tiny,1,1,0,8,ok,,'\
'1,2.5,100.0,10000,1048576,false,0,,,2023-11-14T22:30:00Z,2023-11-14T22:30:10Z'
    expect "[ \$(wc -l <.stdout) = 10 ]"
}

export__succeeded_and_failed__those_rows()
{
    fixture_database
    expect_run only_stdout 0 export --succeeded
    expect "[ \$(wc -l <.stdout) = 5 ] && [ \$(grep -c ',ok,' .stdout) = 4 ]"
    expect_run only_stdout 0 export --failed
    expect "[ \$(wc -l <.stdout) = 4 ] && [ \$(grep -c ',failed,' .stdout) = 3 ]"
    run_meshsweep export --failed --succeeded
    expect_only_stderr 2 'meshsweep: export: give only one of --all, --succeeded and --failed'
}

export__to_a_file__whole_or_as_it_was()
{
    fixture_database
    echo before >out.csv
    expect_said only_stderr_contains 1 'it does not exist yet' export -d absent.db -o out.csv
    expect_file_contains out.csv before
    expect_run silent 0 export -o out.csv
    expect "[ \$(wc -l <out.csv) = 10 ]" "[ \$(ls | grep -c 'out.csv') = 1 ]"
    run_meshsweep export -o absent/out.csv
    expect_only_stderr 1 'meshsweep: absent/out.csv: cannot create: No such file or directory'
}

# As many columns as a line has room for; a pipe has all.
terminal__narrow__the_objective_and_keys()
{
    type -P script >/dev/null || skip "script (util-linux) is not installed"
    toml sweep: objective=min:score job: \
        command='["sh", "-c", "echo score $1 other_metric_with_a_long_name $1", "-", "{last}"]' \
        job.metrics.score: regex='score ([0-9]+)' job.metrics.other_metric_with_a_long_name: regex='name ([0-9]+)' \
        model:: a_key_with_a_name_that_is_long=1,2 parallel_spec:: last=3,4 >sweep.toml
    run_silently 0
    expect_command only_stdout 0 env COLUMNS=40 NO_COLOR=1 script -qec "'$meshsweep' results" typescript
    expect "grep -q '^job  last  state .* score' typescript" "grep -q 'more columns: --wide, or --columns ' typescript"
    expect "! grep -v -e meshsweep -e '^Script' typescript | grep -q '.\{42\}'" "! grep -q a_key_with typescript"
    expect_command only_stdout 0 env COLUMNS=40 NO_COLOR=1 script -qec "'$meshsweep' results --wide" typescript
    expect "grep -q a_key_with_a_name_that_is_long typescript" "! grep -q 'columns more' typescript"
    expect_said only_stdout_contains 0 a_key_with_a_name_that_is_long results
    expect_said_by among_stderr 0 'more columns: --wide, or --columns ' run_command env COLUMNS=40 "$meshsweep" results
    expect "[ \"\$(LC_ALL=C.UTF-8 wc -L <.stdout)\" -le 40 ]"
}

run_cases "$@"
