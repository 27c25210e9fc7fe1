#!/usr/bin/env bash
# The ready-made analyses of sql/queries, and the export scripts.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

run_query() # NAME
{
    expect_command only_stdout 0 sh -c 'exec sqlite3 -batch -bail results.db <"$1"' sh "$source_dir/sql/queries/$1.sql"
}

# What a query says of the fixture, once the SQL has changed it.
answers() # NAME TEXT [SQL...]
{
    fixture_database "${@:3}"
    run_query "$1"
    expect_stdout "$2"
}

queries__every_one__has_a_case_here_and_says_what_it_is()
{
    for file in "$source_dir"/sql/queries/*.sql; do
        name=$(basename "$file" .sql)
        expect "grep -qE '^    (run_query|answers) $name( |\$)' '$tests_source_dir/cli/test_queries.sh'"
        expect "head -n 1 '$file' | grep -q '^-- [A-Z]'"
    done
}

queries__of_an_empty_database__no_error()
{
    fixture_database "DELETE FROM summary" "DELETE FROM attempt" "DELETE FROM job" "DELETE FROM exclusion" \
        "DELETE FROM rule" "DELETE FROM sweep" "DELETE FROM spec"
    for file in "$source_dir"/sql/queries/*.sql; do
        run_query "$(basename "$file" .sql)"
        expect_no_stdout
    done
}

best_by_model__best_of_each()
{
    answers best_by_model 'small|throughput|50.0|3|{"micro_batch":4,"tp":2,"zero_stage":1}|1
tiny|throughput|100.0|1|{"micro_batch":1,"tp":1,"zero_stage":0}|2' "UPDATE job SET model_id = 3 WHERE id = 3"
}

excluded_by_rule__counts_and_an_example()
{
    answers excluded_by_rule \
        'world-size|exclude|6|7|the degrees must multiply to the number of devices|{"dp":1,"gpus":8,"tp":2}|built in
batch-divides|exclude|1|2|the batch must divide||sweep file
tp-within-node|warn|2|2|slow across nodes||built in'
}

failures_grouped__alike_together()
{
    answers failures_grouped 'exit|2|exit status 1: no such file|5|x/6
oom|1|device out of memory|4|x/4' "UPDATE attempt SET directory = 'x/' || id"
}

fast_and_small__none_beaten_in_both()
{
    # Job 3 is slower than job 1 and larger; job 2 is slower and smaller.
    answers fast_and_small 'tiny|2|99.0|10.0|{"micro_batch":2,"tp":1,"zero_stage":0}
tiny|1|100.0|20.0|{"micro_batch":1,"tp":1,"zero_stage":0}' \
        "UPDATE attempt SET max_rss = 1048576 * CASE id WHEN 1 THEN 20 WHEN 2 THEN 10 ELSE 30 END"
}

key_effects__keys_that_differ()
{
    fixture_database
    run_query key_effects
    expect_stdout_contains 'parallel_spec.zero_stage|0|4|2|0|2|99.5|99.0|100.0' 'parallel_spec.zero_stage|3|2|0|1|0|||'
    expect_stdout_lacks num_hosts
}

memory_frontier__ran_and_did_not_fit()
{
    answers memory_frontier 'small|{"tp":1,"zero_stage":0}|||2
tiny|{"tp":1,"zero_stage":0}|4|8|0' \
        "UPDATE spec SET json = json_set(json, '\$.tp', 1, '\$.zero_stage', 0) WHERE kind = 'parallel_spec'"
}

# Job 1 alternates, job 2 falls along a curve, job 3 is a straight line after its warm-up.
noisy_metrics__scatter_is_noise_and_a_curve_is_none()
{
    answers noisy_metrics '1|throughput|1|100.0|16.33|16.3
2|throughput|1|99.0|0.764|0.8' \
        "DELETE FROM metric" "UPDATE metric_definition SET warmup = 1 WHERE name = 'throughput'" \
        "INSERT INTO metric SELECT job, 'throughput', value, value, CASE job WHEN 1 THEN 100 + 20 * (value % 2)
            WHEN 2 THEN 99 + 200.0 / (1 + value) ELSE iif(value = 0, 1e6, value) END
            FROM generate_series(0, 99), (SELECT value AS job FROM generate_series(1, 3))"
}

predictions__ranges_of_both_outcomes()
{
    answers predictions 'ran|3|1.0|2.0|3.0
out of memory|1|4.0|4.0|4.0' "UPDATE job SET predicted_memory = id * 1073741824 WHERE id <= 6"
}

progress_by_hour__ended_attempts()
{
    answers progress_by_hour '2023-11-14 22:00|6|3|3|5.5
2023-11-14 23:00|2|1|1|1.0' "UPDATE attempt SET ended = ended + 3600000 WHERE id IN (4, 9)"
}

retried_jobs__with_their_history()
{
    answers retried_jobs '5|2|failed|lost > exit|2.0'
}

slowest_jobs__longest_first()
{
    fixture_database "UPDATE attempt SET duration_ms = 540000 WHERE id = 4"
    run_query slowest_jobs
    expect_stdout_contains '4|1|540.0|600.0|90.0|failed|oom|tiny|{"micro_batch":8,"tp":2,"zero_stage":3}'
    expect "[ \"\$(head -c 2 .stdout)\" = '4|' ]"
}

sweeps__oldest_first()
{
    answers sweeps '1|first|first.toml|2023-11-14 22:13:20|2023-11-14 22:13:20|1|1|1|1|0
2|gpt|gpt.toml|2023-11-14 22:30:00|2023-11-14 22:30:00|16|9|8|3|3'
}

time_by_outcome__hours_and_shares()
{
    fixture_database "UPDATE attempt SET duration_ms = 3600000 WHERE duration_ms IS NOT NULL"
    run_query time_by_outcome
    expect_stdout_contains 'ok|4|4.0|25.0|50.0' 'exit|2|2.0|16.0|25.0'
}

zero_stage__side_by_side()
{
    answers zero_stage 'small|{"micro_batch":1,"tp":1}|exit|exit|running|pending
tiny|{"micro_batch":1,"tp":1}|100.0|99.0|50.0|oom' \
        "UPDATE spec SET json = json_set(json, '\$.tp', 1, '\$.micro_batch', 1, '\$.zero_stage', id - 4)
            WHERE kind = 'parallel_spec'"
}

export_scripts__from_any_directory__files_as_named()
{
    fixture_database
    expect_command silent 0 "$source_dir/scripts/export_all.sh"
    expect "[ \$(wc -l <results_all.csv) = 10 ]"
    mkdir elsewhere
    expect_command silent 0 sh -c "cd elsewhere && '$source_dir/scripts/export_succeeded.sh' ../results.db -o ok.csv"
    expect "[ \$(wc -l <elsewhere/ok.csv) = 5 ]"
    run_command "$source_dir/scripts/export_succeded.sh" absent.db
    expect_only_stderr 1 'meshsweep: database absent.db: it does not exist yet; `meshsweep run` creates it'
    expect_no_file results_succeeded.csv
    run_command "$source_dir/scripts/export_all.sh" --nonsense
    expect_only_stderr 2 'usage: export_all.sh [DATABASE] [-o FILE]'
}

run_cases "$@"
