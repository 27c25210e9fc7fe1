#!/usr/bin/env bash
# Other tools get: Optuna's storage, Prometheus' text, a page of Markdown.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

python=/usr/bin/python3

exported() # ARGS
{
    expect_run silent 0 export "$@"
}

# What a program of standard input prints, which may load a study of study.db.
expect_python() # TEXT
{
    {
        printf '%s\n' 'import optuna' 'def load(name, **more):' \
            '    return optuna.load_study(study_name=name, storage="sqlite:///study.db", **more)'
        cat
    } >check.py
    expect_said_by only_stdout 0 "$1" run_command env TZ=UTC "$python" -W ignore check.py
}

run_again()
{
    expect_run only_status 3 run --progress none -j 2
}

# Eight jobs of two models; those of micro-batch 4 run out of memory.
swept() # [LINE OF [sweep]]
{
    toml sweep: name=demo objective=max:throughput "${1-}" job: \
        command='["/bin/sh", "job.sh", "{micro_batch}", "{layers}", "{lr}"]' \
        job.metrics.throughput: regex='samples/s: ([0-9.]+)' take=last job.metrics.loss: regex='loss: ([0-9.a-z]+)' \
        model:: layers=2,12 lr=0.30000000000000004 parallel_spec:: micro_batch=1,2,4 compile=true tag='a|b' \
        parallel_spec:: micro_batch=1 >sweep.toml
    cat >job.sh <<'END'
for step in 1 2 3; do
    echo "samples/s: $(($1 * 10 * step + $2))"
    echo "loss: $step.5"
done
[ "$1" != 4 ] || { echo "CUDA out of memory" >&2; exit 1; }
END
    run_again
}

# --- Optuna ---

optuna__trials__are_what_the_jobs_came_to()
{
    need_module optuna
    swept
    exported --format optuna -o study.db
    expect_python "2 12 72.0" <<'END'
import sqlite3
from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState
study = load("demo")
assert [d.name for d in study.directions] == ["MAXIMIZE"]
assert study.user_attrs["constants"]["lr"] == 0.30000000000000004
assert study.user_attrs["sweep_file"] == open("sweep.toml").read()
db = sqlite3.connect("results.db")
db.row_factory = sqlite3.Row
jobs = {r["job"]: r for r in db.execute("SELECT * FROM results")}
assert len(study.trials) == len(jobs) == 8
for number, trial in enumerate(study.trials):
    row = jobs.pop(trial.user_attrs["job"])
    assert trial.number == number
    assert trial.user_attrs["key"] == row["key"]
    assert trial.user_attrs["command"][:2] == ["/bin/sh", "job.sh"]
    assert trial.user_attrs["command"][2:4] == [str(row["micro_batch"]), str(row["layers"])]
    assert trial.params["layers"] == row["layers"] and trial.params["micro_batch"] == row["micro_batch"]
    assert trial.params.get("compile") is (True if row["compile"] else None)
    assert trial.params.get("tag") == row["tag"]
    assert trial.distributions["layers"] == CategoricalDistribution((2, 12))
    assert trial.distributions["micro_batch"] == CategoricalDistribution((1, 2, 4))
    assert trial.datetime_complete >= trial.datetime_start
    assert trial.intermediate_values == {s: row["micro_batch"] * 10.0 * (s + 1) + row["layers"] for s in range(3)}
    assert trial.user_attrs["metric.loss"] == row["loss"]
    if row["state"] == "ok":
        assert trial.datetime_start.strftime("%Y-%m-%dT%H:%M:%SZ") == row["started"]
        assert trial.state == TrialState.COMPLETE and trial.value == row["throughput"]
    else:
        assert trial.state == TrialState.FAIL and trial.user_attrs["failure"] == "oom"
        assert "CUDA out of memory" in trial.user_attrs["message"]
assert not jobs
print(study.best_params["micro_batch"], study.best_params["layers"], study.best_value)
END
}

optuna__sampler__goes_on_from_the_trials()
{
    need_module optuna
    swept
    exported --format optuna -o study.db
    expect_python "14 [8, 9, 10, 11, 12, 13] True" <<'END'
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = load("demo", sampler=optuna.samplers.TPESampler(seed=1, n_startup_trials=1))
def objective(trial):
    batch = trial.suggest_categorical("micro_batch", [1, 2, 4])
    layers = trial.suggest_categorical("layers", [2, 12])
    return batch * 30 + layers
study.optimize(objective, n_trials=6)
again = load("demo")
new = again.trials[8:]
print(len(again.trials), [t.number for t in new], all(t.state.name == "COMPLETE" for t in new))
END
    # A trial that was added there stays: it is not written over.
    expect_said only_stderr_contains 2 "study.db is " export --format optuna -o study.db
    expect_sql 14 "SELECT count(*) FROM trials" study.db
}

optuna__states__of_a_sweep_that_runs()
{
    need_module optuna
    # Job 8 waits: job 4, which ran out of memory, has shown that it need not be tried.
    fixture_database "UPDATE job SET witness_id = 4 WHERE id = 8"
    exported --format optuna -o study.db
    expect_python "1:COMPLETE 2:COMPLETE 3:COMPLETE 4:FAIL 5:FAIL 6:FAIL 7:RUNNING 8:PRUNED
4 None None 2023" <<'END'
study = load("gpt")
print(*sorted("%d:%s" % (t.user_attrs["job"], t.state.name) for t in study.trials))
pruned = [t for t in study.trials if t.state.name == "PRUNED"][0]
running = [t for t in study.trials if t.state.name == "RUNNING"][0]
print(pruned.user_attrs["pruned_by_job"], pruned.value, running.datetime_complete, running.datetime_start.year)
END
    # A job that waits is no trial.
    fixture_database
    exported --format optuna -o without.db
    expect_sql 7 "SELECT count(*) FROM trials" without.db
    exported --format optuna --where "micro_batch = 1" -o some.db
    expect_sql "$(sql "SELECT count(*) FROM results WHERE in_sweep AND micro_batch = 1 AND state <> 'pending'")" \
        "SELECT count(*) FROM trials" some.db
}

optuna__several_objectives_and_conditions__are_told()
{
    need_module optuna
    swept 'subject_to = ["throughput <= 45"]'
    sed -i 's/^objective.*/objective = ["max:throughput", "min:loss"]/' sweep.toml
    run_again
    exported --format optuna -o study.db
    expect_python "['MAXIMIZE', 'MINIMIZE'] ['throughput', 'loss']
6 2" <<'END'
study = load("demo")
print([d.name for d in study.directions], study.user_attrs["objectives"])
complete = [t for t in study.trials if t.state.name == "COMPLETE"]
for t in complete:
    assert len(t.values) == 2, t
    assert (t.system_attrs["constraints"][0] > 0) == (t.values[0] > 45), t
print(len(complete), sum(t.system_attrs["constraints"][0] > 0 for t in complete))
END
}

optuna__imported__has_the_time_of_the_import()
{
    need_module optuna
    printf '%s\n' 'layers,micro_batch,status,tok_s' '24,1,done,100' '24,2,done,150.5' '24,4,oom,' >table.csv
    toml sweep: name=table objective=max:throughput job.metrics.throughput: unit=tokens/s \
        import: state=status import.states: done=ok import.model: layers=layers \
        import.parallel_spec: micro_batch=micro_batch import.metrics: throughput=tok_s >import.toml
    expect_run only_status 0 import -c import.toml table.csv
    exported --format optuna -o study.db
    expect_python "1:COMPLETE:100.0 2:COMPLETE:150.5 4:FAIL:None
True
150.5" <<'END'
import datetime
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = load("table")
print(*["%s:%s:%s" % (t.params["micro_batch"], t.state.name, t.value) for t in study.trials])
print(all(abs((t.datetime_complete - datetime.datetime.now()).total_seconds()) < 300 for t in study.trials))
copy = optuna.create_study(direction="maximize")
copy.add_trials(study.trials)
print(copy.best_value)
END
}

optuna__no_trial__makes_no_file()
{
    run_meshsweep export --format optuna
    expect_only_stderr 2 "meshsweep: export: --format optuna writes a database; name its file with -o FILE"
    fixture_database "DELETE FROM job WHERE state <> 'pending'"
    run_meshsweep export --format optuna -o none.db
    expect_only_stderr 4 "meshsweep: export: none of these jobs has been tried yet, so there are no trials"
    expect_no_file none.db
    fixture_database "UPDATE sweep SET objective = NULL"
    run_meshsweep export --format optuna -o none.db
    expect_only_stderr_contains 2 "an Optuna study needs an objective, and the sweep declares none"
    expect_no_file none.db
}

# --- Prometheus ---

prometheus__jobs_equal_under_the_first_objective__that_of_best()
{
    toml sweep: name=two objective='["max:a", "min:b"]' '' job: command='["/bin/sh", "-c", "echo a=5 b={y}"]' '' \
        job.metrics.a: regex='a=([0-9]+)' '' job.metrics.b: regex='b=([0-9]+)' '' training_spec:: y=9,2,7 >sweep.toml
    expect_run only_stdout 0 run --progress none
    expect_said only_stdout_contains 0 'meshsweep_best_job{sweep="two"} 2' export --format prometheus
    expect_sql 2 'SELECT job FROM ranking LIMIT 1'
}

prometheus__text__is_what_a_strict_parser_takes()
{
    need_module prometheus_client
    fixture_database "UPDATE sweep SET name = 'a\"b\\c' || char(10) || 'é' WHERE id = 2"
    exported --format prometheus -o sweep.prom
    expect_python "pending:1 running:1 waiting:0 ok:3 failed:3 pruned:0 held:0
throughput 100.0 1.0" <<'END'
import sqlite3
from prometheus_client.parser import text_fd_to_metric_families as parse
families = {f.name: f for f in parse(open("sweep.prom", encoding="utf-8"))}
assert all(f.documentation and f.type == "gauge" for f in families.values())
assert {s.labels["sweep"] for f in families.values() for s in f.samples} == {'a"b\\c\né'}
print(*["%s:%g" % (s.labels["state"], s.value) for s in families["meshsweep_jobs"].samples])
failed = {s.labels["failure"]: s.value for s in families["meshsweep_failed_jobs"].samples}
assert failed == dict(sqlite3.connect("results.db").execute(
    "SELECT failure, sum(jobs) FROM progress WHERE failure IS NOT NULL GROUP BY 1")), failed
best = families["meshsweep_best"].samples[0]
print(best.labels["metric"], best.value, families["meshsweep_best_job"].samples[0].value)
END
    # Whoever collects it may read it, and never finds a part of it.
    expect '[ "$(stat -c %a sweep.prom)" = 644 ]' '[ "$(ls)" = "$(printf "%s\n" check.py results.db sweep.prom)" ]'
    expect_said only_stderr_contains 2 "--format prometheus always covers all jobs; leave out --all, --succeeded, \
--failed and --where" export --format prometheus --failed
}

# --- Markdown ---

summary__page__has_winner_states_ranking_and_failures()
{
    swept
    sed -i 's/name = "demo"/name = "de|mo <b>"/' sweep.toml
    run_again
    run_meshsweep export --format summary
    expect_only_stdout_contains 0 '# de\|mo \<b\>' '**Highest throughput: 72**, job ' '| tag | a\|b |'
    expect_stdout_contains "/bin/sh job.sh 2 12 0.30000000000000004" '| ok | 6 |'
    expect_stdout_contains '| rank | job | throughput | layers | compile | micro_batch | tag |'
    expect_stdout_matches '^\| 1 \| [0-9]+ \| 72 \| 12 \| true \| 2 \| a\\\|b \|$'
    expect_stdout_matches '^\| oom \| 2 \| job [0-9]+ \| .*CUDA out of memory.* \|$'
    fixture_database "DELETE FROM job WHERE state <> 'failed'"
    run_meshsweep export --format summary
    expect_only_stdout_contains 0 "No winner: throughput has no value in any job that succeeded."
    expect_stdout_lacks "The ten best"
}

run_cases "$@"
