#!/usr/bin/env bash
# cli: which steps of a job count, and when a search has it ended because they are all there.
. "${0%/*}/lib.sh"

# One job, whose throughput is the mean of the steps that count.
steps_sweep() # [LINE OF [search]...]
{
    {
        echo '[search]'
        [ $# -eq 0 ] || printf '%s\n' "$@"
        throughput_sweep steps micro_batch bucket
        toml take=mean parallel_spec: zero_stage=1 bucket=1 micro_batch=1
    } >sweep.toml
}

start_profile_step__samples_before__do_not_count()
{
    steps_sweep
    sed -i '/^better/a warmup = 1' sweep.toml
    printf '%s\n' 'for value in 1000 100 3 5; do' '    echo "throughput: $value"' 'done' >job.sh
    run_ended 0 -d none.db
    expect_sql "36.0|3" "SELECT value, count FROM summary" none.db
    # Two of them, and the last alone where the first that counts never comes; all are kept as samples.
    run_ended 0 --start-profile-step 2 -d two.db
    expect_sql "4.0|2|4|0" "SELECT value, count, (SELECT count(*) FROM metric), (SELECT count(*) FROM search) FROM \
summary" two.db
    sed -i '1i start_profile_step = 9' sweep.toml
    sed -i '1i [search]' sweep.toml
    sed -i '3{/^\[search\]$/d}' sweep.toml
    run_ended 0 -d nine.db
    expect_sql "5.0|1" "SELECT value, count FROM summary" nine.db
}

dsat_sweep() # SECONDS_OF_A_STEP KEY...
{
    local pause=$1
    shift
    steps_sweep 'strategy = "dsat-binary"' 'max_trials = 1' "$@"
    cat >job.sh <<END
for step in \$(seq 0 599); do
    echo "throughput: \$step"
    [ "\$step" -lt 3 ] || sleep $pause
done
END
}

# dsat measures steps 3 to 5; the job is ended thereafter, whenever that is seen.
end_profile_step__of_dsat__ends_the_job_and_later_samples_do_not_count()
{
    dsat_sweep 0.05 'end_profile_step = 5'
    expect_said only_stderr_contains 0 "search: 1 trial, 1 ok, 0 stopped early, 0 failed" run --progress none
    expect_sql "4.0|3|1" "SELECT value, count, (SELECT count(*) < 600 FROM metric) FROM summary"
    expect_sql "ok|4.0||" "SELECT outcome, objective, steps, (SELECT stopped_steps FROM attempt) FROM trial"
    dsat_sweep 0.05
    run_ended 0 --start-profile-step 7 --end-profile-step 8 -d option.db
    expect_sql "7.5|2" "SELECT value, count FROM summary" option.db
}

# The median of three steps says little where 50 more cost less than the start of the job did.
end_profile_step__of_dsat_not_given__more_steps_where_they_are_short()
{
    dsat_sweep 0.05
    expect_said only_stderr_contains 0 "search: 1 trial, 1 ok, 0 stopped early, 0 failed" run --progress none
    expect_sql "28.0|51|1" "SELECT value, count, (SELECT count(*) < 600 FROM metric) FROM summary"
    expect_sql "ok|28.0||" "SELECT outcome, objective, steps, (SELECT stopped_steps FROM attempt) FROM trial"
    # As far as five seconds go, and no fewer than Determined's three.
    dsat_sweep 0.4
    run_ended 0 -d fair.db
    expect_sql "ok|1|1" "SELECT t.outcome, s.count BETWEEN 10 AND 40, a.stopped_steps IS NULL
        FROM trial AS t JOIN attempt AS a ON a.job_id = t.job_id JOIN summary AS s ON s.attempt_id = a.id" fair.db
    dsat_sweep 3.5
    run_ended 0 -d long.db
    expect_sql "4.0|3|" "SELECT value, count, (SELECT stopped_steps FROM attempt) FROM summary" long.db
    # A later first step has as many after it.
    dsat_sweep 0.05
    run_ended 0 --start-profile-step 20 -d later.db
    expect_sql "45.0|51" "SELECT value, count FROM summary" later.db
}

# A job is measured once the steps that a search asked for are: the winner is launched to its end.
end_profile_step__of_any_strategy__the_job_is_best_and_launched_to_its_end()
{
    for strategy in dsat-binary random; do
        steps_sweep "strategy = \"$strategy\"" 'max_trials = 2' 'start_profile_step = 1' 'end_profile_step = 3' \
            'racing = false'
        sed -i 's/^bucket.*/bucket = [1, 2]/' sweep.toml
        cat >job.sh <<'END'
for step in $(seq 0 120); do
    echo "throughput: $(($2 * 1000 + step))"
    [ -e to-the-end ] || sleep 0.05
done
END
        run_meshsweep run -j 2 --progress none -d "$strategy.db"
        expect_only_stderr_contains 0 "search: 2 trials, 2 ok, 0 stopped early, 0 failed"
        expect_sql '1|2002.0|2
2|1002.0|1' 'SELECT rank, throughput, bucket FROM ranking ORDER BY 1' "$strategy.db"
        expect_said only_stdout_contains 0 '"value":	2002' best --json -d "$strategy.db"
        expect_sql "ended as planned: it has measured all steps up to end_profile_step|2" \
            "SELECT message, count(*) FROM attempt GROUP BY 1" "$strategy.db"
        touch to-the-end
        run_meshsweep run -j 2 --progress none -d "$strategy.db" --run-full-experiment
        expect_only_stderr_contains 0 'launching the winner'
        expect_sql '2|2|121' "SELECT a.number, json_extract(p.json, '\$.bucket'), count(*) FROM attempt AS a
            JOIN metric AS m ON m.attempt_id = a.id JOIN job AS j ON j.id = a.job_id
            JOIN spec AS p ON p.id = j.parallel_id WHERE a.number = 2 GROUP BY a.id" "$strategy.db"
        rm to-the-end
    done
}

run_cases "$@"
