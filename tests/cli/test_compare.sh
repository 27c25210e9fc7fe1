#!/usr/bin/env bash
# compare: pairs that differ in one key only.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# zero_stage and micro_batch over 8 models, whose scores are such that stage 1 is 1.1 times stage 0 (more or less), and
# micro_batch makes no difference that could be told; stage 3 fails for two models.
paired_database()
{
    fixture_database "DELETE FROM summary" "DELETE FROM attempt" "DELETE FROM job" "DELETE FROM spec" \
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)
         INSERT INTO spec (id, kind, hash, name, json) SELECT i, 'model', randomblob(16), 'm' || i,
             json_object('layers', i, 'name', 'm' || i) FROM n" \
        "INSERT INTO spec (id, kind, hash, json) VALUES
             (11, 'parallel_spec', randomblob(16), '{\"micro_batch\":1,\"zero_stage\":0}'),
             (12, 'parallel_spec', randomblob(16), '{\"micro_batch\":1,\"zero_stage\":1}'),
             (13, 'parallel_spec', randomblob(16), '{\"micro_batch\":2,\"zero_stage\":0}'),
             (14, 'parallel_spec', randomblob(16), '{\"micro_batch\":1,\"zero_stage\":3}')" \
        "INSERT INTO job (key, sweep_id, rank, model_id, parallel_id, derived, state, failure, attempt_id)
             SELECT randomblob(16), 2, 0, m.id, p.id, '{\"global_batch\":64}',
                 iif(p.id = 14 AND m.id > 6, 'failed', 'ok'), iif(p.id = 14 AND m.id > 6, 'oom', NULL),
                 100 * m.id + p.id
             FROM spec AS m CROSS JOIN spec AS p WHERE m.kind = 'model' AND p.kind = 'parallel_spec'" \
        "INSERT INTO attempt (id, job_id, number, runner_id, state, failure)
             SELECT attempt_id, id, 1, 1, state, failure FROM job" \
        "INSERT INTO summary (attempt_id, name, value, count) SELECT attempt_id, 'throughput', 100.0 * model_id *
             CASE parallel_id WHEN 11 THEN 1 WHEN 12 THEN 1.1 + 0.01 * (model_id % 3)
                 WHEN 13 THEN iif(model_id % 2, 0.95, 1.05) ELSE 0.5 END, 1 FROM job WHERE state = 'ok'" "$@"
}

compare__one_is_faster_or_several__says_by_how_much_together()
{
    paired_database
    run_meshsweep compare --by zero_stage=0,1
    expect_only_stdout_contains 0 \
        'throughput (higher is better) by zero_stage: pairs equal in everything else and in the global batch'
    expect_stdout_contains '1 against 0: 8 pairs ran on both sides'
    expect_stdout_contains \
        '  ratio: median 1.11, 95 % interval 1.1 to 1.12; smallest 1.1, quartiles 1.107 and 1.12, largest 1.12'
    expect_stdout_contains '  1 is higher by 11 %: better'
    # Ten comparisons of equal values would otherwise find a difference in every other database.
    expect_said only_stdout_contains 0 '1 against 0: 8 pairs ran on both sides' compare --by zero_stage
    expect_stdout_contains 'The 3 intervals hold together: with 95 % probability no verdict is by chance.'
    # Six pairs are too few for ranks where each of three may miss 1.67 % only.
    expect_stdout_contains "  ratio: median 0.5, 95 % interval 0.5 to 0.5 (Student's t over logarithms); smallest 0.5"
    run_meshsweep compare --by zero_stage=0,3
    expect_only_stdout_contains 0 '  ratio: median 0.5, 95 % interval 0.5 to 0.5; smallest 0.5' \
        '  3 is lower by 50 %: worse'
    expect "! grep -q 'hold together' .stdout"
}

# What is done to the database; below it the key and what is said.
compare__pairs__each_by_how_both_sides_ran()
{
    while read -r change && IFS='|' read -r by pairs said; do
        paired_database "$change"
        run_meshsweep compare --by "$by"
        expect_only_stdout_contains 0 "$pairs ran on both sides" "$said"
    done <<'END'
SELECT 1 WHERE 0
micro_batch|2 against 1: 8 pairs|  cannot be told apart: the interval contains 1
SELECT 1 WHERE 0
zero_stage=0,3|3 against 0: 6 pairs|  only 0 runs: 2 (the other side failed as job 
SELECT 1 WHERE 0
model=m1,m2|m2 against m1: 4 pairs|
UPDATE job SET derived = '{"global_batch":128}' WHERE parallel_id = 12 AND model_id > 3
zero_stage=0,1|1 against 0: 3 pairs|  too few pairs: 3; it takes 6 to tell a difference from chance
UPDATE summary SET value = CASE attempt_id WHEN 112 THEN NULL WHEN 212 THEN -1.0 WHEN 312 THEN 0.0 ELSE value END
zero_stage=0,1|1 against 0: 5 pairs|  no ratio, because a value is missing, infinite, zero or negative: 3
END
}

compare__json__the_same_for_programs()
{
    paired_database
    expect_run only_stdout 0 compare --by parallel_spec.zero_stage --json
    expect_json 'max|parallel_spec|zero_stage|3|2|0|1|8|1|higher|ranks|3|0.9833' better section by together \
        'comparisons[1].only_a' 'comparisons[0].'{a,b,pairs,told_apart,verdict,interval} \
        "json_array_length(j, '\$.comparisons')" "round(j ->> '\$.comparisons[0].confidence', 4)"
    # Two pairs have no interval.
    paired_database "DELETE FROM job WHERE model_id > 2"
    run_meshsweep compare --by zero_stage=0,1
    expect_only_stdout_contains 0 '  ratio: median 1.115, no interval, which takes 3 pairs; smallest 1.11'
    expect_run only_stdout 0 compare --by zero_stage=0,1 --json
    expect_json '||fewer than 3 pairs|0' 'comparisons[0].'{low,interval,no_interval} together
}

rank__all_keys__the_one_that_surely_matters_most_first()
{
    paired_database
    run_meshsweep compare --rank
    expect_only_stdout_contains 0 'throughput (higher is better), by what it surely changes between two values'
    expect_stdout_matches \
        '^ 1\. zero_stage: 3 against 1 is worse by 5[0-9.]+ % \([0-9]+\), 95 % interval of the ratio 0\.4' \
        '^ 2\. micro_batch: 2 against 1 is not told apart \(8\), 95 % interval of the ratio 0\.9'
    sed -n 's/^ *[0-9]*\. //p' .stdout >told.txt
    expect_run only_status 0 report -o report.html
    sed -n '/<ol class=ranked>/,/<\/ol>/s/^<li>//p' report.html >shown.txt
    expect 'cmp told.txt shown.txt && [ "$(wc -l <told.txt)" -ge 2 ]'
    expect_run only_stdout 0 compare --rank --json
    expect_json 'zero_stage|1|3|lower|1|micro_batch|same' 'ranked[0].'{by,a,b,verdict,told_apart} \
        'ranked[1].'{by,verdict}
    run_meshsweep compare --rank --by tp
    expect_only_stderr 2 'meshsweep: compare: --rank is of all keys and the objective; give only -d and --json'
    expect_said only_stderr 2 'meshsweep: compare: --rank is of one database, which -d names' compare --rank 1 2
}

compare__wrong_use__one_sentence()
{
    paired_database
    expect_said only_stderr 2 'meshsweep: compare: name the key to compare by: --by KEY or --by KEY=A,B; or two '\
'jobs, or two databases: meshsweep compare BEFORE.db NOW.db' compare
    expect_said only_stderr 2 'meshsweep: --by zero_stag: no such key (did you mean zero_stage?)' compare --by zero_stag
    expect_each only_stderr 2 <<'END'
compare --by zero_stage=0,7|meshsweep: --by zero_stage: no job has the value 7; its values are 0, 1, 3
compare --by zero_stage=0|meshsweep: --by zero_stage=0: must be of the form KEY or KEY=A,B
compare --by zero_stage=1,1|meshsweep: --by zero_stage=1,1: a value cannot be compared with itself
END
    expect_said only_stderr_contains 2 'it is derived from other keys' compare --by global_batch
    run_meshsweep compare --by zero_stage --metric speed
    expect_only_stderr_contains 2 'meshsweep: --metric speed: no such metric; its metrics are '
    paired_database "UPDATE sweep SET objective = NULL"
    run_meshsweep compare --by zero_stage
    expect_only_stderr 2 'meshsweep: the sweep has no objective; name the metric to compare with --metric'
    expect_said only_stdout_contains 0 '  1 is higher by 11 %' compare --by zero_stage=0,1 --metric throughput
}

compare__nothing_to_compare__says_why()
{
    paired_database "DELETE FROM job WHERE parallel_id <> 11"
    run_meshsweep compare --by zero_stage
    expect_only_stderr 4 'meshsweep: --by zero_stage: all jobs that have it have the same value, so there is nothing '\
'to compare'
    paired_database "DELETE FROM job WHERE (parallel_id = 11) = (model_id > 4)"
    expect_said only_stderr_contains 4 'no two jobs differ only in it' compare --by zero_stage=0,1
    rm results.db*
    small_sweep sweep.toml
    printf '[[rule]]\nname = "none"\nrequire = "x > 5"\n' >>sweep.toml
    expect_run only_stderr 4 run
    run_meshsweep compare --by x
    expect_only_stderr 4 'meshsweep: --by x: the database has no jobs, so there is nothing to compare'
}

batches__what_pairs_have_in_common__said()
{
    toml sweep: objective=max:rate job: command='["echo", "rate {micro_batch}"]' \
        job.metrics.rate: regex='rate ([0-9]+)' training_spec: global_batch=8,16 \
        parallel_spec: micro_batch=1,2 >sweep.toml
    run_meshsweep run --progress plain
    expect_only_stderr_contains 0 "meshsweep: the winner's global batch is 8, but other jobs have 16; to compare at an \
equal one"
    run_meshsweep compare --by micro_batch
    expect_only_stdout_contains 0 \
        'rate (higher is better) by micro_batch: pairs equal in everything else and in the global batch'
    run_meshsweep compare --by global_batch
    expect_only_stdout_contains 0 \
        'by global_batch: pairs equal in everything else; their global batches differ, so their steps do different '\
'amounts of work'
    # The global batch may follow the micro-batch where nothing says it.
    sed -i '/^global_batch/d' sweep.toml
    run_silently 0
    run_meshsweep compare --by micro_batch
    expect_only_stdout_contains 0 \
        'by micro_batch: pairs equal in everything else; no key gives the global batch, so it may differ'
}

free__keys_that_must_follow__found_and_said()
{
    tied_sweep
    expect_run only_stdout 0 compare --by tp
    expect_stdout_contains 'by tp: too few pairs differ in it alone (0, at least 6 are needed), so it compares the '\
'best of each \
side over: dp, gas (tied to it by rules and derived keys): pairs equal in everything else'
    expect_stdout_contains '2 against 1: 12 pairs ran on both sides'
    run_meshsweep compare --by tp --free gas,dp
    expect_only_stdout_contains 0 'by tp, the best of each side over: gas, dp: pairs equal in everything else'
    expect_stdout_contains '2 against 1: 12 pairs ran on both sides'
    # The micro-batch, too: the best of either side is one with 1.
    expect_run only_stdout 0 compare --by tp --free gas,dp,micro_batch --json
    expect_json '6|0|3|1.0926' 'comparisons[0].pairs' free_was_found "json_array_length(j, '\$.free')" \
        "(SELECT round(max(value), 4) FROM json_each(j, '\$.comparisons[0].ratios'))"
    expect_run only_status 0 report -o report.html
    expect "grep -q 'dp (too few pairs: 0 of 6) with gas, tp' report.html"
    expect_said only_stderr_contains 4 'no two jobs differ only in it' compare --by tp --free ''
    expect_said only_stderr 2 'meshsweep: --free dpp: no such key (did you mean dp?)' compare --by tp --free dpp
    expect_said only_stderr 2 'meshsweep: --free tp: it is the key to compare by' compare --by tp --free tp
}

# Ten jobs of each model have mode = 1 and one has mode = 2; all are equal but for noise. The best of the ten is 2 %
# better than the one, which says nothing about mode.
free__best_of_ten_equal_jobs__no_difference()
{
    toml sweep: objective=max:rate job: \
        command='["sh", "-c", "echo rate 20.$(echo {layers} {bucket} | md5sum | tr -dc 0-9 | cut -c1-3)"]' \
        job.metrics.rate: regex='rate ([0-9.]+)' model: layers=1,2,3,4,5,6,7,8,9,10,11,12 \
        parallel_spec: mode=1,2 bucket=1,2,3,4,5,6,7,8,9,10,11 rule:: name=tied \
        require='"(mode = 1) = (bucket <= 10)"' >sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 'so it compares the best of each side over: bucket' compare --by mode
    expect_stdout_contains '2 against 1: 12 pairs ran on both sides' '  cannot be told apart: the interval contains 1'
    expect_stdout_contains 'The best of several was chosen by the other half of the pairs, not by what is compared.'
    # With one model there is no other half.
    sqlite3 results.db "DELETE FROM job WHERE model_id > (SELECT min(model_id) FROM job)"
    expect_said only_stdout_contains 0 '2 against 1: 0 pairs ran on both sides' compare --by mode --free bucket
    expect_stdout_contains '  no choice, because the other half of the pairs has none of the free settings: 1'
}

# A comparison of each value with each other one takes minutes for these.
compare__thousands_of_values__in_time_that_grows_with_their_number()
{
    many_jobs 30000 0 "UPDATE spec SET json = json_object('path', '/data/' || id) WHERE id >= 100"
    local limit="ulimit -t $((5 * SLOW_MACHINE))"
    expect_command only_stdout 0 sh -c "$limit; exec '$meshsweep' compare --by path --metric throughput"
    expect_command only_stderr 0 sh -c "$limit; exec '$meshsweep' report"
}

# 1 and "1" of another key are two values. Labels of the key's own section do not count.
compare__values_of_other_types_or_written_otherwise__told_apart_or_the_same()
{
    many_jobs 2 0 "UPDATE spec SET json = json_object('tp', 1, 'x', 1, 'name', 'a') WHERE id = 100" \
        "UPDATE spec SET json = json_object('tp', 2, 'x', 1, 'name', 'b') WHERE id = 101"
    expect_said only_stdout_contains 0 '2 against 1: 1 pair ran on both sides' compare --by tp --free ''
    sqlite3 results.db "UPDATE spec SET json = json_set(json, '\$.x', '1') WHERE id = 101"
    expect_said only_stderr_contains 4 'no two jobs differ only in it' compare --by tp --free ''
    # Specs of plain keys and values are read without SQLite's help; what stands there is the same.
    many_jobs 4 0
    printf '%s\n' '{"tp":1,"s":"é 1","a b":null,"r":0.001,"t":true,"i":-12,"z":0,"e":""}' \
        '{"tp":2, "s":"\u00e9 1","a\u0020b":null,"r":1e-3,"t":true,"i":-12,"z":0,"e":""}' \
        '{"tp":4,"l":[1,{"a":"},"}],"q":"a\"b","i":12345678901234567890}' \
        '{"tp":8,"l":[1, {"a":"},"}],"q":"a\u0022b","i":12345678901234567890.0}' >specs
    sqlite3 results.db '.separator |' 'CREATE TEMP TABLE t (json)' '.import specs t' \
        'UPDATE spec SET json = t.json FROM t WHERE spec.id = 99 + t.rowid'
    expect_said only_stdout_contains 0 '2 against 1: 1 pair ran on both sides' compare --by tp --free ''
    expect_stdout_contains '8 against 4: 1 pair ran on both sides'
    sqlite3 results.db 'PRAGMA ignore_check_constraints = ON; UPDATE spec SET json = substr(json, 1, 7) WHERE id = 101'
    expect_said only_stderr_contains 1 'malformed JSON' compare --by tp --free ''
}

# Jobs 1 and 2 differ in y alone, of which their output tells; job 1 ran twice.
two_runs()
{
    small_sweep sweep.toml
    cat >job.sh <<'END'
printf 'loading 1.%s s\ncompiled\n' "$2"
[ "$2" = 10 ] && echo 'kernel: fast' || echo 'kernel: slow'
echo "score: $(($1 * $2))"
END
    sed -i 's/^command.*/&\nrepeat = 3\nenv = { OMP = "{y}" }/' sweep.toml
    expect_run only_stdout 0 run --progress none
}

compare_jobs__two_runs__all_that_differs()
{
    two_runs
    expect_said only_stdout_contains 0 'job 1 | job 2

figures
  score: 10 (3 runs, 95 % 10 to 10) | 20 (3 runs, 95 % 20 to 20), ratio 2

keys
  y: 10 | 20

started as
  command: /bin/sh ./job.sh 1 10 | /bin/sh ./job.sh 1 20

environment
  OMP: 10 | 20
' compare 1 2
    expect_stdout_contains 'first lines in which the logs differ
  line 1: loading 1.10 s | loading 1.20 s
  line 3: kernel: fast | kernel: slow
  line 4: score: 10 | score: 20'
    expect_run only_stdout 0 compare 1 "$(sql "SELECT lower(hex(key)) FROM job WHERE id = 2")" --json
    expect_json '[1]|[2]|2|1|3|keys|y|10|20|3' first_jobs second_jobs 'figures[0].'{ratio,told_apart,first.runs} \
        'apart[0].'{part,what,of_first,of_second} 'log_lines[1].line'
    # A job and itself.
    expect_said only_stdout 0 'job 1 | job 1

figures
  score: 10 (3 runs, 95 % 10 to 10) | 10 (3 runs, 95 % 10 to 10), ratio 1 (cannot be told apart)

nothing else that was recorded differs

logs: equal' compare 1 1
    # Sets of jobs, by conditions.
    expect_said only_stdout_contains 0 '2 jobs (the first is 1) | 2 jobs (the first is 3)' compare 'x = 1' 'x=2'
    expect_stdout_contains '  score: 15 (6 runs' '  x: 1 | 2'
    expect_stdout_lacks '  y: '
    # What cannot be compared.
    expect_said only_stderr 4 'meshsweep: there is no job 9; `meshsweep results --all` lists them' compare 1 9
    expect_said only_stderr 4 'meshsweep: x = 7: no job of the current sweep is like that' compare 1 'x = 7'
    expect_said only_stderr_contains 2 'no such column: z' compare 1 'z = 7'
    run_meshsweep compare 1 2 --by x
    expect_only_stderr 2 'meshsweep: compare: two jobs are compared in everything; give no option but -d and --json'
    run_meshsweep compare 1
    expect_only_stderr_contains 2 'meshsweep: compare: name two jobs, or two databases: meshsweep compare 4 7,'
    rm -r results.db.d
    expect_said only_stdout_contains 0 'logs: there is no log of job 1, or it has more than 16 MiB' compare 1 2
}

# Samples of one run say how sure their middle is, not their last one.
compare_jobs__one_run__interval_of_the_middle_only()
{
    small_sweep sweep.toml
    printf 'for i in 9 7 %s; do echo "score: $i"; done\n' '$2' >job.sh
    sed -i 's/^regex.*/&\ntake = "last"/' sweep.toml
    expect_run only_stdout 0 run --progress none
    expect_said only_stdout_contains 0 '  score: 10 | 20, ratio 2' compare 1 2
    sed -i 's/"last"/"mean"/' sweep.toml
    expect_run only_status 0 run --progress none
    expect_said only_stdout_contains 0 '  score: 8.66667 (95 % by its samples ' compare 1 2
}

compare_jobs__number_and_text_of_it__differ()
{
    small_sweep sweep.toml
    sed -i 's/^y = .*/y = [10, "10"]/; s/^x = .*/x = 1/' sweep.toml
    echo 'echo score: 1' >job.sh
    expect_run only_status 0 run --progress none
    expect_said only_stdout_contains 0 'keys
  y: 10 | "10"' compare 1 2
}

run_cases "$@"
