#!/usr/bin/env bash
# cli: measured tables as jobs that have been run.
. "${0%/*}/lib.sh"

# A table of five rows and a file that maps it; the sections are those of the sweep that would have measured it.
small_table()
{
    printf '%s\n' layers,gpus,mbs,result,rate,mem,secs 2,1,1,fine,10.5,3,60 2,1,2,fine,20,5,30 2,1,2,fine,22,5,31 \
        4,1,1,fine,6,6,70 '4,1,2,cuda oom,-1,-0.0,' >table.csv
    toml sweep: name=measured objective=max:throughput job: \
        command='["/bin/sh", "-c", "echo throughput {micro_batch}"]' job.metrics.throughput: \
        regex='throughput ([0-9]+)' unit=samples/s better=max import: state=result duration=secs \
        import.states: fine=ok '"cuda oom" = "oom"' import.cluster_spec: num_hosts=1 num_devices_per_host=gpus \
        import.model: layers=layers import.parallel_spec: micro_batch=mbs \
        import.metrics: throughput=rate memory='mem * 1073741824' >import.toml
}

import__small_table__jobs_repeats_metrics_and_provenance()
{
    small_table
    expect_run status 0 import -c import.toml table.csv
    expect_stdout "table.csv: 5 rows: 4 ok, 1 failed, 0 refused; 4 jobs (4 new), 5 attempts added, 0 already there"
    expect_stderr "meshsweep: best: job 2 (table.csv:3): throughput 21 samples/s, the highest
meshsweep: columns not used: none
meshsweep: rows refused: 0 of 5
meshsweep: dropped 2 numbers of failed rows, which are not measurements"
    expect_sql 'ok||3
failed|oom|1' "SELECT state, failure, count(*) FROM job GROUP BY state ORDER BY state DESC"
    # The one with the lower median of two repeats stands for the job.
    expect_sql '10.5|1|60000
21|2|30000
6|1|70000' "SELECT printf('%g', throughput), attempts, (SELECT duration_ms FROM attempt WHERE job_id = job)
            FROM results WHERE state = 'ok' ORDER BY job"
    expect_sql 'the table says cuda oom' "SELECT message FROM attempt WHERE failure = 'oom'"
    expect_sql 'table.csv|5|1' "SELECT replace(json_extract(provenance, '\$.imported.file'), rtrim(
        json_extract(provenance, '\$.imported.file'), 'abcdefghijklmnopqrstuvwxyz.'), ''),
        json_extract(provenance, '\$.imported.rows'), ended IS NOT NULL FROM runner"
    expect_run only_stdout 0 check -d results.db
}

import__twice_and_with_a_further_row__adds_what_is_new()
{
    small_table
    expect_run only_status 0 import -c import.toml table.csv
    before=$(sql "SELECT count(*), (SELECT count(*) FROM metric), (SELECT count(*) FROM runner) FROM attempt")
    expect_said among_stdout 0 "4 jobs (0 new), 0 attempts added, 5 already there" import -c import.toml table.csv
    expect_sql "$before" "SELECT count(*), (SELECT count(*) FROM metric), (SELECT count(*) FROM runner) FROM attempt"
    echo '4,1,2,fine,11,7,50' >>table.csv
    expect_said among_stdout 0 "4 jobs (0 new), 1 attempt added, 5 already there" import -c import.toml table.csv
    # One of its attempts is ok now, so the job is.
    expect_sql 'ok|2' "SELECT state, (SELECT count(*) FROM attempt WHERE job_id = id) FROM job ORDER BY id DESC LIMIT 1"
}

# Rows with the same numbers are repeats, however many; the same table again adds none of them.
import__hundreds_of_equal_rows__each_once()
{
    small_table
    yes '4,1,1,fine,6,6,70' | head -n 300 >>table.csv
    run_meshsweep import -c import.toml table.csv
    expect_among_stdout 0 '305 rows: 304 ok, 1 failed, 0 refused; 4 jobs (4 new), 305 attempts added'
    expect_sql '301|301' \
        "SELECT count(*), count(DISTINCT reference) FROM attempt GROUP BY job_id ORDER BY 1 DESC LIMIT 1"
    yes '4,1,1,fine,6,6,70' | head -n 7 >>table.csv
    expect_said among_stdout 0 '7 attempts added, 305 already there' import -c import.toml table.csv
}

import__same_configuration_as_a_run__same_job()
{
    small_table
    expect_run only_status 0 import -c import.toml table.csv
    sed '/^\[import\]/,$d' import.toml >sweep.toml
    toml cluster_spec: num_hosts=1 num_devices_per_host=1 model: layers=2,4 \
        parallel_spec: micro_batch=1,2,4 >>sweep.toml
    run_meshsweep plan --json
    expect_only_stdout_contains 0 '"new":	2' '"done":	3'
}

# As spreadsheets write them where the comma is the decimal point, and as `export --format tsv` does.
import__semicolons_or_tabs__the_same_table()
{
    small_table
    tr , ';' <table.csv >semicolons.csv
    tr , '\t' <table.csv | sed 's/\t$/\t\\N/' >tabs.tsv
    for table in semicolons.csv tabs.tsv; do
        expect_run only_status 0 import -c import.toml -d "$table.db" "$table"
        expect_stdout "$table: 5 rows: 4 ok, 1 failed, 0 refused; 4 jobs (4 new), 5 attempts added, 0 already there"
    done
}

# A column of measured values has whole numbers by chance.
import__measured_whole_numbers__divided_as_others()
{
    small_table
    sed -i 's/= "rate"/= "rate \/ 4"/; s/= "secs"/= "secs \/ 4"/; s/= "layers"/= "layers \/ 4"/' import.toml
    expect_run only_status 0 import -c import.toml table.csv
    expect_sql '2.625|0|15000
5.25|0|7500
1.5|1|17500
|1|' "SELECT throughput, layers, duration_ms FROM results"
}

# SQL takes 0 of "nan" and 1 of "1,234": the row would be the fastest.
import__text_computed_with__refused_unless_it_is_a_number()
{
    local form
    printf '%s\n' mb,ms 1,250 2,nan 3,'"1,234"' 4,2.5s 5,-0.0 6, >table.csv
    while read -r form; do
        toml sweep: objective=min:t import: duration='ms * 60' import.parallel_spec: mb=mb \
            import.metrics: "t = '''$form'''" >import.toml
        expect_run only_status 0 import -c import.toml -d t.db table.csv
        expect_stderr_contains 'table.csv:3: t is `nan`, which is not a number' 'table.csv:4: t is `1,234`, which' \
            'table.csv:5: t is `2.5s`, which is not' 'table.csv:6: t is -0.0, which marks a missing value'
        expect_sql "1|0.25|15000000|
6|||no-metric" "SELECT mb, t, duration_ms, failure FROM results" t.db
        rm t.db
    done <<'END'
ms / 1000
(ms) / 1e3 -- of ms
round(ms) / CAST(1000 AS REAL)
0.001 * "ms"
-coalesce(ms, NULL) / -1000.0
CASE WHEN mb > 9 THEN ms ELSE replace(ms, 'x', '') / 1000 END
ms + 0 / mb - 0.999 * [ms] /* of ms */
END
    sed -i "s|^t = .*|t = \"CASE WHEN ms = 'nan' THEN 7 ELSE ms + 0.0 END\"|" import.toml
    expect_run only_status 0 import -c import.toml -d t.db table.csv
    expect_sql "1|250.0 2|7.0 3|1234.0 4|2.5 6|" "SELECT group_concat(mb || '|' || coalesce(t, ''), ' ')
        FROM results" t.db
}

import__many_numbers_alike__told_once()
{
    small_table
    printf '%s\n' layers,gpus,mbs,result,rate,mem,secs '2,1,1,fine,"1,234.5",3,60' '2,1,2,fine,"2,345",3,60' \
        2,1,4,fine,43.8%,3,60 2,1,8,fine,45%,3,60 >table.csv
    expect_said only_stderr_contains 4 "refused 2 rows, the first at table.csv:2: throughput is \`1,234.5\`, which is \
not a number; to remove commas: " import -c import.toml table.csv
    expect_stderr_contains "refused 2 rows, the first at table.csv:4: throughput is \`43.8%\`, which is not a number; \
to remove percent signs: "
}

# The writer decides whether 1,234 is more than a thousand or less than two.
import__commas_in_numbers__refused_with_the_way_to_read_them()
{
    small_table
    printf 'layers,gpus,mbs,result,rate,mem,secs\n2,1,1,fine,"1,234.5",3,60\n' >table.csv
    expect_said only_stderr_contains 4 'refused 1 row, the first at table.csv:2: throughput is `1,234.5`, which is '\
'not a number; to remove commas: ' import -c import.toml table.csv
    sed -i "s/^throughput = .*/throughput = \"replace(rate, ',', '')\"/" import.toml
    expect_run only_status 0 import -c import.toml table.csv
    expect_stdout "table.csv: 1 row: 1 ok, 0 failed, 0 refused; 1 job (1 new), 1 attempt added, 0 already there"
    expect_sql 1234.5 "SELECT throughput FROM results"
}

# A sweep file can say that it is less than two; other cells of the column stay what they are.
import__columns_with_decimal_commas__read()
{
    small_table
    printf '%s\n' 'layers;gpus;mbs;result;rate;mem;secs' '2;1;1;fine;1.234,5;3;60' '2;1;2;fine;2.000;5,5 %;60' \
        '2;1;4;fine;12.5;3;60' '2;1;8;cuda oom;-0,0;3;60' >table.csv
    sed -i '/^state/i decimal_comma = ["rate", "MEM"]' import.toml
    sed -i "s/^memory = .*/memory = \"replace(mem, ' %', '')\"/" import.toml
    expect_run status 0 import -c import.toml table.csv
    expect_stdout "table.csv: 4 rows: 3 ok, 1 failed, 0 refused; 4 jobs (4 new), 4 attempts added, 0 already there"
    expect_stderr_contains 'meshsweep: dropped 1 number of failed rows, which are not measurements'
    expect_sql '1234.5|3.0
2000.0|5.5
12.5|3.0
|3.0' "SELECT throughput, memory FROM results"
    sed -i 's/"MEM"/"mems"/' import.toml
    run_meshsweep import -c import.toml table.csv
    expect_only_stderr_contains 2 'import.toml:11:26: [import] decimal_comma: no such column: mems (did you mean `mem`'
}

import__sentinels_in_ok_rows__refused_with_counts()
{
    small_table
    printf '%s\n' layers,gpus,mbs,result,rate,mem,secs 2,1,1,fine,-1,3,60 2,1,2,fine,-0.0,5,30 2,1,3,fine,NaN,5,31 \
        2,1,4,fine,,5,31 2,1,5,fine,7,5,31 2,1,6,fine,-3,5,31 2,1,7,fine,8,5,0 >table.csv
    printf '%s\n' '[[import.refuse]]' 'when = "secs = 0"' 'why = "took no time"' >>import.toml
    expect_run status 0 import -c import.toml table.csv
    expect_stdout "table.csv: 7 rows: 1 ok, 1 failed, 5 refused; 2 jobs (2 new), 2 attempts added, 0 already there"
    expect_stderr "meshsweep: best: job 2 (table.csv:6): throughput 7 samples/s, the highest
meshsweep: columns not used: none
meshsweep: rows refused: 5 of 7
meshsweep: refused 2 rows, the first at table.csv:2: throughput is negative, which marks a missing value
meshsweep: refused 1 row, the first at table.csv:3: throughput is -0.0, which marks a missing value
meshsweep: refused 1 row, the first at table.csv:4: throughput is \`NaN\`, which is not a number
meshsweep: refused 1 row, the first at table.csv:8: took no time"
    expect_sql 'no-metric' "SELECT failure FROM job WHERE state = 'failed'"
}

# A log-likelihood is below 0; one number below 0 among others is a mark still, and so is any of a rate.
import__several_numbers_below_zero__measured_where_they_can_be()
{
    small_table
    printf '%s\n' layers,gpus,mbs,result,rate,mem,secs 2,1,1,fine,-1.5,3,60 2,1,2,fine,-2.5,5,30 2,1,3,fine,7,5,31 \
        2,1,4,unheard-of,7,5,0 >table.csv
    printf '%s\n' '[[import.refuse]]' 'when = "secs = 0"' 'why = "took no time"' >>import.toml
    expect_run status 0 import -c import.toml table.csv
    expect_stdout_contains '4 rows: 1 ok, 0 failed, 3 refused'
    expect_stderr_contains 'refused 2 rows, the first at table.csv:2: throughput is negative, which marks a missing '\
'value'
    sed -e '3s/-2.5/2.5/' table.csv >one.csv
    sed 's/throughput/tokens_change/; /^unit/d' import.toml >change.toml
    expect_said among_stdout 0 '4 rows: 3 ok, 0 failed, 1 refused' import -c change.toml -d change.db one.csv
    expect_stderr_contains 'rows refused: 1 of 4'
    sed -i 's/throughput/likelihood/; /^unit/d' import.toml
    expect_run status 0 import -c import.toml -d likelihood.db table.csv
    expect_stdout_contains '4 rows: 3 ok, 0 failed, 1 refused'
    expect_stderr "meshsweep: best: job 3 (table.csv:4): likelihood 7, the highest
meshsweep: columns not used: none
meshsweep: rows refused: 1 of 4
meshsweep: refused 1 row, the first at table.csv:5: took no time"
    sed -i 's/-2.5/-1.5/' table.csv
    expect_said among_stdout 0 '4 rows: 1 ok, 0 failed, 3 refused' import -c import.toml -d mark.db table.csv
}

import__mfu_above_the_peak__refused()
{
    small_table
    sed -i 's/^throughput = "rate"/mfu = "rate"/; s/max:throughput/max:mfu/' import.toml
    expect_run status 0 import -c import.toml table.csv
    expect_stdout_contains "0 ok, 1 failed, 4 refused"
    expect_stderr_contains "refused 4 rows, the first at table.csv:2: mfu is above 100 %"
    expect_stderr_contains "no row of table.csv is ok, so there is nothing to rank or to search"
}

import__every_row_refused__no_database()
{
    small_table
    sed -i '2,$d; s/$/\n2,1,1,fine,-1,3,60/' table.csv
    expect_said only_stderr_contains 4 'refused 1 row, the first at table.csv:2: throughput is negative, which marks '\
'a missing value' import -c import.toml table.csv
    expect_no_file results.db results.db.lock
}

import__wrong_expressions__all_reported_with_their_places()
{
    small_table
    sed -i 's/^layers = "layers"/layers = "layer"/; s/^throughput = "rate"/throughput = "rate +"/
            s/^micro_batch = "mbs"/micro_batch = "(SELECT 1)"/; s/^memory = .*/memory = "joules"/' import.toml
    expect_run only_stderr 2 import -c import.toml table.csv
    expect_stderr_matches 'import.toml:20:1: \[import.model\] layers: no such column: layer \(did you mean `layers`\?\)'
    expect_stderr_matches 'import.toml:22:1: \[import.parallel_spec\] micro_batch: a subquery is not allowed here'
    expect_stderr_matches 'import.toml:24:1: \[import.metrics\] throughput: near '
    expect_stderr_matches 'import.toml:25:1: .* memory: no such column: joules; table.csv has layers, gpus, mbs'
    expect_no_file results.db
}

import__wrong_tables__one_sentence_each()
{
    small_table
    : >empty.csv
    run_meshsweep import -c import.toml empty.csv
    expect_only_stderr_contains 2 "empty.csv: the table is empty; its first line must name the columns"
    head -n 1 table.csv >header.csv
    expect_said only_stderr_contains 4 "header.csv: the table has a header but no rows" import -c import.toml header.csv
    { cat table.csv; echo '1,2'; } >short.csv
    expect_said only_stderr_contains 2 "short.csv: line 7: " import -c import.toml short.csv
    printf 'a,,b\n1,2,3\n' >unnamed.csv
    expect_said only_stderr_contains 2 "unnamed.csv:1: column 2 has no name" import -c import.toml unnamed.csv
    { cat table.csv; echo '8,1,1,mystery,1,1,1'; echo '8,1,2,mystery,1,1,1'; } >states.csv
    expect_said only_stderr 2 'meshsweep: states.csv:7: state `mystery` is neither ok nor a failure class, and '\
'[import.states] does not map it' import -c import.toml states.csv
    printf 'a,b,a\n1,2,3\n' >twice.csv
    run_meshsweep import -c import.toml twice.csv
    expect_only_stderr_contains 2 "twice.csv:1: columns 1 and 3 are both called \`a\`"
    sed '/^\[import.metrics\]/,$d' import.toml >keys.toml
    run_meshsweep import -c keys.toml table.csv
    expect_only_stderr_contains 2 "keys.toml: [import] does not map any column to a metric ([import.metrics])"
    sed '/^\[import.cluster_spec\]/,/^\[import.metrics\]/{/metrics/!d}' import.toml >metrics.toml
    expect_said only_stderr_contains 2 "metrics.toml: [import] does not map any column to a key ([import.model], \
[import.parallel_spec], …)" import -c metrics.toml table.csv
    expect_said only_stderr_contains 1 "absent.csv: cannot open" import -c import.toml absent.csv
    expect_said only_stderr_contains 2 "import: name exactly one table" import -c import.toml
}

import__values_of_every_kind__keep_it()
{
    small_table
    sed -i 's/^layers = "layers"/&\nflag = "flag"\nshare = "share"\nword = "word"\nleft = "left"/' import.toml
    sed -i '1s/^layers/flag,share,word,left,layers/; 2,$s/^/TRUE,0.5,plain,,/' table.csv
    sed -i '2s/TRUE,0.5,plain,,/false,2.25,"a, b",7,/' table.csv
    run_meshsweep import -c import.toml table.csv
    expect_among_stderr 0 'meshsweep: dropped 2 numbers of failed rows, which are not measurements'
    expect_sql '{"flag":false,"layers":2,"left":7,"share":2.25,"word":"a, b"}
{"flag":true,"layers":2,"share":0.5,"word":"plain"}
{"flag":true,"layers":4,"share":0.5,"word":"plain"}' "SELECT json FROM spec WHERE kind = 'model' ORDER BY id"
}

import__failed_import__database_as_before()
{
    small_table
    expect_run only_status 0 import -c import.toml table.csv
    before=$(sql "SELECT count(*), (SELECT count(*) FROM sweep) FROM attempt")
    { cat table.csv; echo '8,1,1,mystery,1,1,1'; } >states.csv
    expect_run only_stderr 2 import -c import.toml states.csv
    expect_sql "$before" "SELECT count(*), (SELECT count(*) FROM sweep) FROM attempt"
}

import__rows_that_break_a_rule__kept_and_reported()
{
    small_table
    printf '%s\n' '[[rule]]' 'name = "small"' 'require = "layers < 4"' '[[rule]]' 'name = "less"' \
        'require = "layers < 3"' >>import.toml
    expect_run status 0 import -c import.toml --json table.csv
    expect_stdout_contains '"attempts_added":	5'
    expect_stderr_contains "warning: 1 row that ran violates the rule small, the first at table.csv:5" " rule less, "
}

import__without_import_table__said()
{
    echo '[model]
layers = 1' >plain.toml
    small_table
    expect_said only_stderr_contains 2 "plain.toml: there is no [import] table" import -c plain.toml table.csv
    printf '[import]\nstat = "x"\n[import.states]\na = "okay"\n[import.models]\n[[import.refuse]]\nwhen = "1"\n' \
        >wrong.toml
    run_meshsweep import -c wrong.toml table.csv
    expect_only_stderr_contains 2 'wrong.toml:2:1: unknown key "stat" in [import]; did you mean "state"?'
    expect_stderr_contains 'wrong.toml:4:5:' 'did you mean "model"?' '[[import.refuse]] lacks "why"'
}

# The yield of each published table: rows, ok, failed, refused, jobs.
import__published_tables__all_rows_accounted_for()
{
    data=${MESHSWEEP_SHARED_DATA:-$source_dir/../shared/data}
    [ -d "$data" ] || skip "the measured tables are not here: $data"
    while read -r name table counts; do
        run_meshsweep import -c "$source_dir/configs/import/$name.toml" -d "$name.db" "$data/$table"
        expect_among_stdout 0 ": $counts"
    done <<'END'
ultrascale ultrascale-1B-8B.csv 1623 rows: 1004 ok, 619 failed, 0 refused; 1611 jobs
vtrain vtrain-single-node.csv 736 rows: 736 ok, 0 failed, 0 refused; 736 jobs
mpt llm-foundry-mpt.csv 460 rows: 455 ok, 0 failed, 5 refused; 349 jobs
dlperf dlperf-gpt-v100.csv 36 rows: 36 ok, 0 failed, 0 refused; 32 jobs
litgpt litgpt-finetune.csv 53 rows: 46 ok, 7 failed, 0 refused; 51 jobs
alpa alpa-results.csv 245 rows: 205 ok, 40 failed, 0 refused; 213 jobs
END
    expect_sql 'ok|1003
oom|359
exit|249' "SELECT coalesce(failure, state) AS s, count(*) FROM job GROUP BY s ORDER BY 2 DESC" ultrascale.db
    expect_sql 40 "SELECT count(*) FROM attempt WHERE failure = 'oom'" alpa.db
    expect_sql 0 "SELECT count(*) FROM job WHERE predicted_time IS NULL" mpt.db
    expect_sql 0 "SELECT count(*) FROM job WHERE predicted_time IS NULL" vtrain.db
}

# NAME TABLE COUNT of rows that ran.
check__published_layouts__no_rule_is_contradicted()
{
    data=${MESHSWEEP_SHARED_DATA:-$source_dir/../shared/data}
    [ -d "$data" ] || skip "the measured tables are not here: $data"
    while read -r name table count; do
        run_meshsweep check -c "$source_dir/configs/import/$name.toml" --against "$data/$table"
        expect_among_stdout 0 "$table: no rule excludes any of the $count rows that ran"
    done <<'END'
megatron-bridge megatron-bridge.csv 180
megatron-golden megatron-golden.csv 428
bigscience bigscience-tr11.csv 130
internevo internevo.csv 18
torchtitan torchtitan.csv 16
fms fms-acceleration.csv 77
fms fms-acceleration-moe.csv 14
ultrascale ultrascale-1B-8B.csv 1004
vtrain vtrain-single-node.csv 736
dlperf dlperf-gpt-v100.csv 36
mpt llm-foundry-mpt.csv 455
END
}

check__rows_that_break_rules__listed_by_rule()
{
    small_table
    toml rule:: name=shallow require='layers < 3 OR micro_batch > 1' why='deep ones do not run' \
        rule:: name=single require='micro_batch = 1' why='one at a time' rule:: name=large level=warn \
        require='micro_batch > 4' why='small ones are slow' >>import.toml
    expect_said only_stdout 1 "import.toml: sweep measured: its jobs come from a table (meshsweep import), 3 rules
single: excludes 2 rows that ran: one at a time
  table.csv:3 table.csv:4
shallow: excludes 1 row that ran: deep ones do not run
  table.csv:5" check -c import.toml --against table.csv
    expect "! ls | grep results"
}

check__keys_that_predictions_do_not_read__named_as_on_sweeps()
{
    small_table
    printf '%s\n' '[predict]' 'device = "H100"' '[predict.keys]' 'hidden = "64"' 'heads = "4"' \
        'vocab = "1000"' 'seq = "64"' >>import.toml
    sed -i 's/^micro_batch = "mbs"/&\nfused = "mbs"/' import.toml
    expect_said only_stdout 0 "import.toml: sweep measured: its jobs come from a table (meshsweep import), 2 rules
fused: predictions do not use these keys" check -c import.toml
}

check__against_without_a_sweep_file_or_import__said()
{
    small_table
    expect_said only_stderr 2 'meshsweep: check: --against compares a table with a sweep file; name the sweep file '\
'with -c FILE' check -d results.db --against table.csv
    printf '[job]\ncommand = ["true"]\n[model]\nlayers = 2\n' >sweep.toml
    expect_run only_status 2 check -c sweep.toml --against table.csv
    expect_stderr 'meshsweep: sweep.toml: there is no [import] table to map the columns of table.csv; meshsweep '\
'init --from-table writes one'
}

import__many_rows__said_before_they_are_recorded()
{
    { echo batch,tokens/s; seq 20000 | sed 's/.*/&,&.5/'; } >many.csv
    expect_run only_stderr 0 init --from-table many.csv
    run_meshsweep import --dry-run many.csv
    expect_among_stderr 0 'many.csv: 20000 rows are read and are recorded now; a million take half a minute'
}

# Many rows are put in together: of every three two are of one job, a fifth of the jobs lack a key; some fail.
import__many_rows__each_in_its_job()
{
    small_table
    { echo layers,gpus,mbs,result,rate,mem,secs
      seq 21000 | awk '{ job = int($1 / 3) * 2 + ($1 % 3 > 0); mbs = job % 5 ? job : ""
                         state = $1 % 11 ? "fine" : "cuda oom"
                         print job ",1," mbs "," state "," $1 % 7 % 3 + job ",1," job }'; } >table.csv
    expect_run only_status 0 import -c import.toml table.csv
    sqlite3 -batch :memory: ".mode csv" ".import table.csv t" ".mode list" "SELECT layers, count(*),
        avg(CAST(rate AS REAL)) FILTER (WHERE result = 'fine') AS value
        FROM t GROUP BY CAST(layers AS INTEGER) HAVING value" >expected.txt
    sqlite3 -batch results.db "SELECT m.json ->> 'layers', (SELECT count(*) FROM attempt WHERE job_id = j.id), v.value
        FROM job AS j JOIN spec AS m ON m.id = j.model_id JOIN job_metric AS v ON v.job_id = j.id
        WHERE j.state = 'ok' AND v.name = 'throughput' ORDER BY 1" >got.txt
    cmp expected.txt got.txt || fail "$(diff expected.txt got.txt | head)"
    expect_sql '14000|21000|1909' "SELECT count(*), (SELECT count(*) FROM attempt), (SELECT count(*) FROM attempt
        WHERE failure = 'oom' AND message = 'the table says cuda oom') FROM job"
    expect_run only_stdout 0 check -d results.db
}

# Every file in configs/import is read, with or without its table.
import__files_for_published_tables__read()
{
    printf 'nothing\n1\n' >other.csv
    for file in "$source_dir"/configs/import/*.toml; do
        expect_said only_stderr_contains 2 "no such column" import -c "$file" other.csv
        expect_stderr_lacks "unknown key"
    done
}

run_cases "$@"
