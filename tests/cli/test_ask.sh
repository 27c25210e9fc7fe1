#!/usr/bin/env bash
# `ask` and `tell`: proposals from outside, and what came of them.
. "${0%/*}/lib.sh"

a_sweep()
{
    toml sweep: objective=max:throughput subject_to='peak_memory <= 70 GiB' \
        job: command='["/bin/sh", "-c", "echo throughput: {micro_batch}; echo peak_memory: 1"]' \
        job.metrics.throughput: regex='throughput: ([0-9]+)' job.metrics.peak_memory: regex='peak_memory: ([0-9]+)' \
        unit=GiB rule:: name=small-batches require='micro_batch * layers <= 16' why='larger ones do not fit' \
        model: layers=2,4 parallel_spec: micro_batch=1,2,4,8 >sweep.toml
}

# Standard input: the proposals or results.
given() # COMMAND [OPTION...]
{
    cat >given.json
    run_meshsweep "$@" given.json
}

# A job that was asked for may have been started here as well.
ask__asked_for_and_running_here__the_others_are_left()
{
    a_sweep
    expect_said only_stdout_contains 0 '"left":	5' ask -n 2
    sql "UPDATE job SET state = 'running' WHERE id = 1"
    run_meshsweep ask --open
    expect_only_stdout_contains 0 '"open":	2' '"left":	5'
}

ask__next_ones__trials_in_order_until_none_is_left()
{
    a_sweep
    run_meshsweep ask -n 2 --by me --why first
    expect_only_stdout_contains 0 '"open":	2' '"left":	5'
    expect_sql "1|1|me|first|1|
2|2|me|first|2|" "SELECT t.id, t.job_id, json_extract(s.options, '$.by'), t.reason, t.asked, t.told FROM trial AS t
        JOIN search AS s ON s.id = t.search_id WHERE s.strategy = 'ask'"
    run_meshsweep status
    expect_only_stdout_contains 0 '2 jobs are asked for without a result yet; `meshsweep ask --open` lists them'
    given tell <<'END'
{"trial": 1, "metrics": {"throughput\u0000": 1}}
END
    expect_only_stderr 2 'meshsweep: given.json: a text with the character \u0000 cannot be taken'
    given tell <<'END'
{"trial": 1, "metrics": {"throughput": 1, "peak_memory": 1}}
END
    expect_only_stdout 0
    expect_said only_stdout_contains 0 '1 job is asked for without a result yet; `meshsweep ask --open` lists it' status
    expect_said only_stdout_contains 0 '"left":	0' ask -n 100
    expect_said only_stderr 4 'meshsweep: no job is left to ask for: all that have not run have been asked for (6 '\
'without a result; '\
'meshsweep ask --open lists them)' ask
    # Jobs that are asked for may be run as well: then the trials have what came of that.
    expect_run silent 0 run -j 1 --progress none
    expect_said only_stderr 4 'meshsweep: no job is left to ask for: every job of the sweep has an outcome' ask
    expect_sql "7|7|8.0" "SELECT count(*), sum(outcome = 'ok'), max(objective) FROM trial"
}

ask__excluded__rule_reason_and_nearest()
{
    a_sweep
    given ask <<'END'
[{"micro_batch": 8, "layers": 4}, {"keys": {"micro_batch": 3}}, {"micro_bach": 4}, {"micro_batch": 8}]
END
    expect_only_stdout 3
    expect_json 'small-batches|larger ones do not fit|{"micro_batch":8,"layers":4}|{"layers":4}|{"layers":2}' \
        'refused[0].'{rule,reason,proposal,keys.model,nearest.keys.model}
    expect_json '{"micro_batch":8}|{"micro_batch":4}|no combination has micro_batch = 3' \
        'refused['{0,1}'].nearest.keys.parallel_spec' 'refused[1].reason'
    expect_json '{"micro_bach":4}||unknown key `micro_bach` (did you mean `micro_batch`?)' \
        'refused[2].'{proposal,keys.parallel_spec,reason}
    # The last one is the job that is legal with it.
    expect_sql "8|2" "SELECT json_extract(p.json, '\$.micro_batch'), json_extract(m.json, '\$.layers') FROM trial AS t
        JOIN job AS j ON j.id = t.job_id JOIN spec AS p ON p.id = j.parallel_id JOIN spec AS m ON m.id = j.model_id"
}

# Keys as answers have them, by section: of all kinds, a derived one, and one name in two sections.
ask__keys_of_an_answer__may_be_proposed_again()
{
    toml sweep: objective=max:rate list_values='["sizes"]' job: command='["echo", "{model.x}"]' \
        job.metrics.rate: regex='([0-9]+)' model: name=small lr=0.001,0.1 x=1,2 \
        training_spec: fused=true,false sizes=1,2 note='["said \"so\"", "it'\''s"]' \
        parallel_spec: x=1,2 derive: third='model.lr / 3' rule:: name=one-x \
        require='model.x <> 2 OR parallel_spec.x <> 2' >sweep.toml
    expect_run only_stdout 0 ask -n 100
    cp .stdout asked.json
    sql "SELECT json_group_array(json_extract(value, '\$.keys')) FROM json_each(readfile('asked.json'), '\$.asked')" \
        >again.json
    expect_run only_stdout 0 ask -d another.db again.json
    sql "SELECT job_id FROM trial ORDER BY id" >first
    sql "SELECT job_id FROM trial ORDER BY id" another.db >second
    expect "[ -s first ]" "cmp first second"
    given ask -d another.db <<'END'
[{"keys": {"model": {"x": 2}, "parallel_spec": {"x": 2}, "training_spec": null}, "by": "me"}, {"parallel_spec.x": 2}]
END
    expect_only_stdout 3
    expect_json 'one-x|{"x":2}||1|1|1' 'refused[0].'{rule,keys.model,keys.training_spec} \
        "(j ->> '\$.refused[0].nearest.keys.model.x') + (j ->> '\$.refused[0].nearest.keys.parallel_spec.x') < 4" \
        "json_array_length(j, '\$."{asked,refused}"')"
}

ask__the_same_again__the_same_trial()
{
    a_sweep
    echo '{"micro_batch": 4, "layers": 2}' >one.json
    expect_run only_stdout 0 ask --by first one.json
    cp .stdout first
    expect_said only_stdout 0 "$(cat first)" ask --by second one.json
    expect_sql 1 "SELECT count(*) FROM trial"
}

ask__killed_before_it_prints__open_trials_are_listed()
{
    need_fault_points
    a_sweep
    expect_run only_stdout 0 ask
    expect_after only_stderr 137 run_killed trial-asked ask
    expect_sql 1 "SELECT count(*) FROM trial"
    run_meshsweep ask --open
    expect_only_stdout_contains 0 '"trial":	1' '"open":	1'
    echo '{"trial": 1, "metrics": {"throughput": 5, "peak_memory": 1}}' >told.json
    expect_after only_stderr 137 run_killed trial-told tell told.json
    expect_sql "1|" "SELECT id, told FROM trial"
    expect_sql 0 "SELECT count(*) FROM attempt"
    expect_said only_stdout_contains 0 '"outcome":	"ok"' tell told.json
    expect_sql "ok|5.0" "SELECT outcome, objective FROM trial"
}

tell__results__jobs_end_and_the_best_is_feasible()
{
    a_sweep
    expect_run only_stdout 0 ask -n 3
    given tell <<'END'
[{"trial": 1, "metrics": {"throughput": 10, "peak_memory": 20}, "duration": 2.5},
 {"job": 2, "metrics": {"throughput": 90, "peak_memory": 71}},
 {"trial": 3, "failure": "oom", "message": "out of it"}]
END
    expect_only_stdout_contains 0 '"does_not_meet":	"peak_memory <= 70 GiB"' '"open":	0'
    expect_sql "ok||10.0
failed|infeasible-memory|90.0
failed|oom|" "SELECT outcome, failure, objective FROM trial ORDER BY id"
    expect_sql "1" "SELECT job FROM ranking"
    expect_sql "1|ok||2500
2|ok||
3|failed|out of it|" "SELECT job_id, state, message, duration_ms FROM attempt ORDER BY id"
    # A failure without a message ends without one.
    sql "UPDATE attempt SET message = NULL"
    expect_said only_stdout_matches 0 '^  1 x oom, as job 3$' status
}

tell_fails() # ERROR, of the result in $2
{
    echo "$2" >wrong.json
    expect_said only_stderr 2 "meshsweep: $1" tell wrong.json
    expect_sql 0 "SELECT count(*) FROM attempt"
}

tell__wrong__clear_errors_and_nothing_recorded()
{
    local finite='must be a finite number; for a job that diverged, write "failure": "diverged" instead'
    a_sweep
    expect_run only_stdout 0 ask -n 2
    tell_fails 'job 5 was not asked for; meshsweep ask --open lists the jobs that were' '{"job": 5, "failure": "oom"}'
    tell_fails 'trial 9 was not asked for; meshsweep ask --open lists the jobs that were' '{"trial": 9, "failure": '\
'"oom"}'
    tell_fails 'it names no job; add "trial": N, "job": N or "key": "…"' '{"failure": "oom"}'
    tell_fails 'wrong.json: not valid JSON at byte 39 (JSON has no NaN)' \
        '{"trial": 1, "metrics": {"throughput":NaN}}'
    tell_fails "metric \"throughput\" $finite" '{"trial": 1, "metrics": {"throughput": 1e999}}'
    tell_fails "metric \"throughput\" $finite" '{"trial": 1, "metrics": {"throughput": "NaN"}}'
    tell_fails 'it lacks the metric "throughput", which is the objective; for a job that failed, write '\
'"failure": CLASS instead' \
        '{"trial": 1, "metrics": {"peak_memory": 1}}'
    tell_fails 'there is no failure class "oomm"; did you mean "oom"?' '{"trial": 1, "failure": "oomm"}'
    tell_fails 'result 2: trial 1 (job 1) already has an outcome: failed' \
        '[{"trial": 1, "failure": "oom"}, {"trial": 1, "failure": "oom"}]'
    # Twice in two calls.
    echo '{"trial": 1, "metrics": {"throughput": 10, "peak_memory": 20}}' >told.json
    expect_run only_stdout 0 tell told.json
    expect_said only_stderr 2 'meshsweep: trial 1 (job 1) already has an outcome: ok' tell told.json
}

a_measured_table()
{
    printf 'mb,z,rate\n' >table.csv
    for mb in 1 2 4 8; do
        for z in 0 1 2 3; do echo "$mb,$z,$((100 * mb - 10 * mb * mb + z))"; done
    done >>table.csv
    toml sweep: objective=max:rate import.metrics: rate=rate import.parallel_spec: micro_batch=mb zero_stage=z \
        >sweep.toml
    expect_run only_status 0 import -c sweep.toml table.csv
}

ask__measured_table__outcomes_at_once()
{
    a_measured_table
    echo '{"micro_batch": 4, "zero_stage": 3}' >one.json
    run_meshsweep ask --by sampler one.json
    expect_only_stdout_contains 0 '"outcome":	"ok"' '"objective_value":	243'
}

# Debian's python3-optuna proposes; the table answers.
ask__optuna__finds_the_best_of_a_measured_table()
{
    need_module optuna
    a_measured_table
    cat >sample.py <<'END'
import json, subprocess, sys, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
def objective(trial):
    keys = {"micro_batch": trial.suggest_categorical("micro_batch", [1, 2, 4, 8]),
            "zero_stage": trial.suggest_int("zero_stage", 0, 3)}
    asked = subprocess.run([sys.argv[1], "ask", "--by", "optuna", "-"], input=json.dumps(keys), text=True,
                           stdout=subprocess.PIPE, check=True)
    return json.loads(asked.stdout)["asked"][0]["objective_value"]
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(objective, n_trials=30)
print(study.best_value)
END
    expect_command only_status 0 /usr/bin/python3 sample.py "$meshsweep"
    expect_stdout "243.0"
    expect_sql "optuna" "SELECT DISTINCT json_extract(options, '\$.by') FROM search"
}

# 2 fails, and 8 with one of its seeds. By the first seed 4 is best, by the mean 5 is: odd ones gain by the others.
a_sweep_with_seeds() # SEARCH
{
    toml sweep: objective=max:rate replicate='["seed"]' search: "$1" job: \
        command='["/bin/sh", "job.sh", "{micro_batch}", "{seed}"]' job.metrics.rate: regex='rate: ([0-9]+)' \
        training_spec: seed=1,2,3 parallel_spec: micro_batch=1,2,3,4,5,6,7,8 >sweep.toml
    cat >job.sh <<'END'
[ "$1" != 2 ] && [ "$1 $2" != '8 2' ] || exit 3
echo "rate: $((1000 + 100 * $1 - 12 * $1 * $1 + $1 % 2 * ($2 - 1) * 200))"
END
}

# Asks for COUNT at a time and tells what came of each, until there is nothing more.
ask_and_tell() # DATABASE COUNT
{
    while "$meshsweep" ask -d "$1" -n "$2" >asked.json 2>asked.err; do
        sqlite3 "$1" "SELECT t.id, json_extract(p.json, '\$.micro_batch'), json_extract(c.json, '\$.seed')
            FROM json_each(readfile('asked.json'), '\$.asked') AS a JOIN trial AS t ON t.id = a.value ->> 'trial'
            JOIN job AS j ON j.id = t.job_id JOIN spec AS p ON p.id = j.parallel_id
            JOIN spec AS c ON c.id = j.training_id" >trials
        while IFS='|' read -r trial micro_batch seed; do
            if rate=$(sh job.sh "$micro_batch" "$seed"); then
                printf '{"trial": %s, "metrics": {"rate": %s}}' "$trial" "${rate#rate: }"
            else
                printf '{"trial": %s, "failure": "exit"}' "$trial"
            fi >told.json
            "$meshsweep" tell -d "$1" told.json >/dev/null || return 1
        done <trials
    done
}

# One after another, ask and tell come to the same jobs in the same order as a run.
expect_jobs_of_a_run() # SEARCH
{
    rm -f run.db ask.db
    a_sweep_with_seeds "$1"
    expect_run only_stderr 3 run -j 1 --progress none -d run.db
    expect "ask_and_tell ask.db 1"
    expect "[ '$(sql "SELECT group_concat(job_id) FROM (SELECT job_id FROM trial ORDER BY id)" ask.db)' = \
        '$(sql "SELECT group_concat(job_id) FROM (SELECT job_id FROM attempt ORDER BY id)" run.db)' ]"
}

ask__replicates__configurations_as_the_strategy_decides()
{
    expect_jobs_of_a_run 'strategy = "random"
max_trials = 4'
    expect "grep -q '^meshsweep: random has no more jobs to propose' asked.err"
    cp ask.db results.db
    expect_sql "4|random" "SELECT count(DISTINCT j.parallel_id), json_extract(s.options, '\$.by') FROM trial AS t
        JOIN search AS s ON s.id = t.search_id JOIN job AS j ON j.id = t.job_id"
    expect_sql 0 "SELECT count(*) FROM trial WHERE reason = 'replicate of job ' || job_id OR told IS NULL"
    expect_sql "$(sql "SELECT count(*) - 4 FROM trial")" \
        "SELECT count(*) FROM trial WHERE reason LIKE 'replicate of job %'"
}

ask__replicates_of_a_strategy_that_learns__the_mean_is_told()
{
    expect_jobs_of_a_run 'strategy = "binary"'
    expect_jobs_of_a_run 'strategy = "model"
early_stopping = 3'
    expect "[ '$(sql "SELECT count(*) < 24 FROM trial" ask.db)' = 1 ]"
}

ask__replicates__several_at_a_time_each_once_and_those_of_a_run_first()
{
    a_sweep_with_seeds 'strategy = "random"'
    expect "ask_and_tell results.db 5"
    expect_sql "22|22|8" "SELECT count(*), count(DISTINCT t.job_id), count(DISTINCT j.parallel_id) FROM trial AS t
        JOIN job AS j ON j.id = t.job_id"
    rm -rf results.db*
    # Configurations that a run has begun are gone on with: their other replicates come first.
    a_sweep_with_seeds 'strategy = "random"'
    run_ended 0 --only 'seed = 1 AND micro_batch = 5'
    expect_run only_stdout 0 ask -n 3
    expect_sql "5|2|replicate
5|3|replicate" "SELECT json_extract(p.json, '\$.micro_batch'), json_extract(c.json, '\$.seed'), substr(t.reason, 1, 9)
        FROM trial AS t JOIN job AS j ON j.id = t.job_id JOIN spec AS p ON p.id = j.parallel_id
        JOIN spec AS c ON c.id = j.training_id JOIN search AS s ON s.id = t.search_id
        WHERE s.strategy = 'ask' AND t.id < (SELECT max(id) FROM trial) ORDER BY t.id"
}

run_cases "$@"
