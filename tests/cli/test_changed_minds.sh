#!/usr/bin/env bash
# Thirty changes of mind, one of a kind: each ends with the right numbers, recounted from the samples by SQL, and no job
# runs that need not. tests/cli/changed_minds.py changes definitions at random; what a command says is held where it is
# tested.
. "${0%/*}/lib.sh"

# Jobs x = 1, 2, 3: each adds a line to `ran`, prints two warm-up steps and two steps of 10 x ms, and a loss of x.
# A case changes a variable here, or a line by sed.
write_sweep()
{
    local usual_command='["/bin/sh", "job.sh", "{x}"]' usual_env='A = "1"'
    toml sweep: name=minds "objective = \"${objective-min:t}\"" "${sweep-}" \
        job: "command = ${command-$usual_command}" "cwd = \"${cwd-.}\"" "env = { ${env-$usual_env} }" "${job-}" \
        job.metrics.t: "regex = '${regex-step ([0-9]+) ms}'" "unit = \"${unit-ms}\"" "better = \"${better-min}\"" \
        "warmup = ${warmup-2}" "take = \"${take-median}\"" "${metrics-}" training_spec: "${constant-}" \
        parallel_spec: "${axis-x = [1, 2, 3]}" "${rest-}" >s.toml
}

write_job() # LINES-BEFORE
{
    cat >job.sh <<END
echo "\$1" >>"$PWD/ran"
$*
for ms in 900 800 \${1}0 \${1}0; do echo "step \$ms ms"; done
echo "loss \$1"
END
}

run_all()
{
    write_sweep
    expect_run only_status "${expected-0}" run -c s.toml --progress none "$@"
}

# The first run of a case: of three jobs that need 3 executions.
begin()
{
    write_job "${@-:}"
    run_all
    expect_ran "${runs-3}"
}

command_of() # ARGS
{
    expect_run only_status 0 "$@"
}

expect_ran() # N
{
    [ "$(wc -l <ran)" = "$1" ] || fail "expected $1 executions, got $(wc -l <ran)"
}

# "x:value …" as `results` has it, and each value as SQL makes it of the samples that are kept.
expect_values() # TEXT [METRIC]
{
    local m=${2-t}
    expect_sql "$1" "SELECT group_concat(x || ':' || iif($m IS NULL, 'none', printf('%.8g', $m)), ' ')
        FROM (SELECT * FROM results ORDER BY x)"
}

# As many executions, and the values of the first run.
expect_kept() # [N]
{
    expect_ran "${1-3}"
    expect_values "1:10 2:20 3:30"
}

# Runs on what is accepted.
accept_and_run() # OPTIONS OF accept
{
    write_sweep
    command_of accept -c s.toml --yes "$@"
    run_all
}

expect_winner() # X
{
    command_of best
    expect_stdout_matches "^ *x +$1$"
    expect_sql "$1" "SELECT x FROM ranking ORDER BY rank LIMIT 1"
}

expect_recounted() # STEPS-LEFT-OUT
{
    expect_sql "" "SELECT j.id, s.value, avg(m.value)
        FROM job AS j JOIN job_metric AS s ON s.job_id = j.id AND s.name = 't'
        JOIN metric AS m ON m.attempt_id = j.attempt_id AND m.name = 't'
        WHERE m.step > $1 GROUP BY j.id HAVING round(s.value - avg(m.value), 9) <> 0"
}

# --- how a number is read ---

regex__mended__read_again_from_output()
{
    regex='stop ([0-9]+) ms' expected=3 begin
    expect_values "1:none 2:none 3:none"
    run_all
    expect_kept
    expect_recounted 1
}

warmup__forgotten__left_out_of_samples()
{
    warmup=0 begin
    expect_values "1:405 2:410 3:415"
    run_all
    expect_kept
    expect_recounted 1
}

take__changed__taken_anew()
{
    begin
    warmup=0 take=max run_all
    expect_ran 3
    expect_values "1:900 2:900 3:900"
}

unit__changed__converted()
{
    begin
    unit=s run_all
    expect_ran 3
    expect_sql "0.01 s|0.02 s|0.03 s" "SELECT group_concat(v, '|') FROM (SELECT round(t, 6) || ' ' ||
        (SELECT unit FROM metric_definition WHERE name = 't') AS v FROM results ORDER BY x)"
}

scale__added__every_number_scaled()
{
    begin
    metrics=$'scale = 0.5' run_all
    expect_ran 3
    expect_values "1:5 2:10 3:15"
    expect_recounted 1
}

metric__added_later__filled_in_from_output()
{
    begin
    metrics=$'[job.metrics.loss]\nregex = \'loss ([0-9]+)\'\nbetter = "min"' run_all
    expect_ran 3
    expect_values "1:1 2:2 3:3" loss
}

metric__computed_later__from_samples()
{
    begin
    metrics=$'[metrics.rate]\nexpression = "1000.0 / t"' run_all
    expect_ran 3
    expect_values "1:100 2:50 3:33.333333" rate
}

better__the_other_way__another_winner()
{
    objective=max:t better=max begin
    expect_winner 3
    run_all
    expect_winner 1
    expect_ran 3
}

objective__another_metric__ranked_by_it()
{
    metrics=$'[job.metrics.loss]\nregex = \'loss ([0-9]+)\'\nbetter = "max"' begin
    metrics=$'[job.metrics.loss]\nregex = \'loss ([0-9]+)\'\nbetter = "max"' objective=max:loss run_all
    expect_ran 3
    expect_sql "3" "SELECT x FROM ranking ORDER BY rank LIMIT 1"
}

# --- what ran ---

command__changed__old_results_accepted()
{
    begin
    command='["/bin/sh", "job.sh", "{x}", "--quiet"]' accept_and_run --why "only quieter"
    expect_kept
    expect_recounted 1
}

environment__changed__old_results_accepted()
{
    begin
    env='A = "2"' accept_and_run
    expect_kept
}

directory__changed__old_results_accepted()
{
    begin
    mkdir elsewhere && cp job.sh elsewhere/
    cwd=elsewhere accept_and_run
    expect_kept
}

constant_key__changed__old_results_accepted()
{
    constant='epochs = 5' begin
    constant='epochs = 6' accept_and_run
    expect_kept
}

accepted__after_all_not__undone()
{
    begin
    command='["/bin/sh", "job.sh", "{x}", "--quiet"]' write_sweep
    command_of accept -c s.toml --yes
    command_of accept --undo
    command='["/bin/sh", "job.sh", "{x}", "--quiet"]' run_all
    expect_ran 6
    run_all
    expect_ran 6
    expect_sql 6 "SELECT count(t) FROM results"
}

key__added__what_runs_had_before()
{
    begin
    constant='epochs = 5' rest=$'[was]\nepochs = 5' run_all
    expect_kept
}

axis__added__what_runs_had_before_and_only_the_rest_runs()
{
    begin
    constant='epochs = [5, 6]' rest=$'[was]\nepochs = 5' run_all
    expect_ran 6
    expect_sql "5:3 6:3" \
        "SELECT group_concat(v, ' ') FROM (SELECT epochs || ':' || count(t) AS v FROM results GROUP BY epochs)"
}

key__renamed__its_runs_stay()
{
    axis='mbs = [1, 2, 3]' command='["/bin/sh", "job.sh", "{mbs}"]' begin
    rest=$'[was]\nx = { renamed_from = "mbs" }' run_all
    expect_kept
}

key__dropped__its_runs_stay()
{
    constant='seed_note = 1' begin
    rest=$'[was]\ndropped = { seed_note = 1 }' run_all
    expect_kept
}

# --- what failed ---

script__mended__failed_jobs_run_again()
{
    expected=3 begin '[ "$1" != 2 ] || exit 1'
    write_job ':'
    expected=3 run_all
    expect_stderr_contains "--retry-failed"
    expect_ran 3
    run_all --retry-failed
    expect_kept 4
}

script__mended__failed_jobs_run_again_by_themselves()
{
    rest=$'[retry]\nchanged = true' expected=3 begin '[ "$1" != 2 ] || exit 1'
    write_job ':'
    rest=$'[retry]\nchanged = true' run_all
    expect_kept 4
}

script__its_numbers_were_wrong__stale_ones_run_again()
{
    begin
    sed -i 's/1}0/1}1/g' job.sh
    run_all
    expect_ran 3
    run_all --stale
    expect_ran 6
    expect_values "1:11 2:21 3:31"
}

failure__another_pattern__classified_anew()
{
    expected=3 begin '[ "$1" != 2 ] || { echo "no more blocks on the card"; exit 1; }'
    rest=$'[[failure]]\nclass = "oom"\npattern = "no more blocks on the card"' write_sweep
    command_of reread -c s.toml
    expect_sql "oom" "SELECT failure FROM job WHERE state = 'failed'"
    expect_ran 3
}

limit__too_short__grows_with_the_attempt()
{
    job='timeout = "1s * (1 + 9 * (last_failure = '"'timeout'"'))"' rest=$'[retry]\ntimeout = 2' runs=4 \
        begin '[ "$1" != 1 ] || sleep 2'
    expect_values "1:10 2:20 3:30"
}

# --- what counts ---

result__not_trusted__excluded()
{
    begin
    command_of note "$(sql "SELECT job FROM results WHERE x = 1")" --exclude "another job was on the card"
    expect_winner 2
    run_all
    expect_ran 3
    expect_values "1:none 2:20 3:30"
}

result__trusted_after_all__included()
{
    begin
    command_of note 1 --exclude "another job was on the card"
    command_of note 1 --include
    expect_values "1:10 2:20 3:30"
    expect_winner 1
}

repeat__one_of_two_not_trusted__the_other_one()
{
    job='repeat = 2' runs=6 begin "[ \"\$1 \$(grep -cx 1 '$PWD/ran')\" != '1 2' ] || set -- 5"
    expect_values "1:30 2:20 3:30"
    command_of note 1/2 --exclude "the fan had stopped"
    expect_kept 6
}

# --- which jobs there are ---

axis__one_value_more__only_it_runs()
{
    begin
    axis='x = [1, 2, 3, 4]' run_all
    expect_ran 4
    expect_values "1:10 2:20 3:30 4:40"
}

axis__one_value_fewer_and_back__nothing_runs()
{
    begin
    axis='x = [2, 3]' run_all
    expect_winner 2
    run_all
    expect_winner 1
    expect_ran 3
}

rule__added__what_it_excludes_wins_no_more()
{
    begin
    rest=$'[[rule]]\nname = "few"\nrequire = "x > 1"\nwhy = "one is too few"' run_all
    expect_ran 3
    expect_winner 2
}

job__deleted_by_hand__only_it_runs()
{
    begin
    sql "PRAGMA foreign_keys = ON; DELETE FROM job WHERE id = (SELECT job FROM results WHERE x = 2)"
    run_all
    expect_kept 4
}

spec__deleted_by_hand__its_jobs_are_mended()
{
    begin
    sql "DELETE FROM spec WHERE id = (SELECT parallel_id FROM job WHERE id = 2)"
    run_all
    expect_values "1:10 2:20 3:30"
}

database__renamed__its_logs_are_found()
{
    regex='stop ([0-9]+) ms' expected=3 begin
    mv results.db other.db
    run_all -d other.db
    expect_ran 3
    cp other.db results.db
    expect_values "1:10 2:20 3:30"
}

run_cases "$@"
