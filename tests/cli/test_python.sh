#!/usr/bin/env bash
# python/meshsweep.py: what it gives is what the sweep file says and the jobs reported.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

python=/usr/bin/python3

# Reads the program from standard input.
run_python() # [WHAT IT PRINTS]
{
    { echo 'import meshsweep' && cat; } >program.py
    run_command env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source_dir/python" "$python" -W ignore::DeprecationWarning \
        program.py
    expect_only_stdout 0 "$@"
}

typed_sweep()
{
    toml sweep: name=typed objective=min:loss list_values='["tokens"]' job: \
        command='["/bin/sh", "-c", "for i in 3 2 1; do echo loss: $i.{micro_batch}; done; [ {micro_batch} != 4 ]"]' \
        job.metrics.loss: regex='loss: ([0-9.]+)' unit=nats take=last model:: lr=0.30000000000000004 tokens=1,2 \
        whole=2.0 tag='"é|\n"' parallel_spec:: micro_batch=1,2 state=true \
        parallel_spec:: micro_batch=4 derive: double='2 * micro_batch' >sweep.toml
    run_ended 3
}

values__of_keys__typed_as_in_the_sweep_file()
{
    typed_sweep
    run_python all <<'END'
with meshsweep.open("results.db") as db:
    rows = db.results()
    assert [r["job"] for r in rows] == [1, 2, 3]
    for row, batch in zip(rows, (1, 2, 4)):
        assert repr(row["lr"]) == "0.30000000000000004" and repr(row["whole"]) == "2.0", row
        assert row["tokens"] == [1, 2] and row["tag"] == "é|\n" and row["micro_batch"] == batch
        assert row["parallel_spec.state"] is (True if batch < 4 else None)
        assert row["double"] == 2 * batch
        assert row["in_sweep"] is True and len(row["key"]) == 32
    assert [r["state"] for r in rows] == ["ok", "ok", "failed"]
    assert rows[0]["started"] <= rows[0]["ended"] and rows[0]["started"].utcoffset().seconds == 0
    assert db.job(2) == rows[1] and db.job(99) is None
    best = db.best()
    assert (best["rank"], best["job"], best["loss"], best["parallel_spec.state"]) == (1, 1, 1.1, True), best
    assert [r["job"] for r in db.ranking()] == [1, 2] and len(db.ranking(1)) == 1
    assert db.metrics(2, "loss") == [(0, 3.2), (1, 2.2), (2, 1.2)]
    assert db.metrics(3, "loss") and db.metric_names() == ["loss"] and db.units() == {"loss": "nats"}
    assert db.command(2)[:2] == ["/bin/sh", "-c"]
    sweep = db.sweep()
    assert (sweep.name, sweep.objective, sweep.maximise) == ("typed", "loss", False)
    assert sweep.text == open("sweep.toml").read()
print("all")
END
}

pandas__frame__has_the_rows()
{
    need_module pandas
    typed_sweep
    run_python "3 7 1.1
float64 datetime64[ns, UTC]
['step', 'value'] 6.300000000000001" <<'END'
import pandas
with meshsweep.open("results.db") as db:
    frame = pandas.DataFrame(db.results())
    curve = pandas.DataFrame(db.metrics(1, "loss"))
print(len(frame), frame["micro_batch"].sum(), frame[frame.state == "ok"].loss.min())
print(frame.lr.dtype, frame.started.dtype)
print(list(curve.columns), curve.value.sum())
END
}

names__unknown__the_nearest_is_named()
{
    typed_sweep
    run_python "[2]
no column micro_bach; did you mean micro_batch?
no column los; did you mean loss?
no metric lss; did you mean loss?
no column nothing_like_it" <<'END'
with meshsweep.open("results.db") as db:
    print([r["job"] for r in db.results(where="micro_batch > 1 AND state = 'ok' -- a note")])
    for question in (lambda: db.results(where="micro_bach = 1"), lambda: db.best()["los"], lambda: db.metrics(1, "lss"),
                     lambda: db.results()[0]["nothing_like_it"]):
        try:
            question()
        except KeyError as error:
            print(error.args[0])
END
}

attempts_configurations__rows()
{
    typed_sweep
    run_python "1 trial ok True {'loss': 1.1} True
failed exit 1 False []
[]" <<'END'
with meshsweep.open("results.db") as db:
    one, = db.attempts(1)
    print(one["attempt"], one["kind"], one["state"], one["counts"], one["metrics"], one["ended"] >= one["started"])
    failed, = db.attempts(3)
    print(failed["state"], failed["failure"], failed["exit_code"], failed["counts"], db.attempts(99))
    print(db.configurations())
END
    rm results.db
    sed -i 's/^name = "typed"/&\nreplicate = ["micro_batch"]/' sweep.toml
    run_ended 3
    run_python "1 1 1.15 2 0" <<'END'
with meshsweep.open("results.db") as db:
    for row in db.configurations():
        print(row["rank"], row["job"], row["value"], row["replicates"], row["replicates_failed"])
END
}

ask_tell__next_and_proposed__by_the_program()
{
    typed_sweep
    rm results.db
    export MESHSWEEP=$meshsweep
    run_python <<'END'
first = meshsweep.ask(config="sweep.toml", why="the next")["asked"][0]
print(first["job"], first["keys"]["parallel_spec"]["micro_batch"], first["why"])
answer = meshsweep.ask([{"micro_batch": 4}, {"micro_batch": 3}], by="me", db="results.db")
print([(t["job"], t["by"]) for t in answer["asked"]], len(answer["refused"]))
meshsweep.tell([{"job": first["job"], "metrics": {"loss": 2.5}}])
with meshsweep.open("results.db") as db:
    print(db.best()["loss"])
try:
    meshsweep.tell([{"job": 99, "metrics": {"loss": 1}}])
except RuntimeError as error:
    print(str(error).split(":")[0])
END
    expect_stdout_contains "1 1 the next" "[(3, 'me')] 1" 2.5 meshsweep
}

databases__imported_failed_and_empty__are_read()
{
    printf '%s\n' 'micro_batch,tok_s' '1,100' '2,150.5' >table.csv
    toml sweep: name=table objective=max:throughput import.parallel_spec: micro_batch=micro_batch \
        import.metrics: throughput=tok_s >import.toml
    expect_run only_status 0 import -d imported.db -c import.toml table.csv
    fixture_database "DELETE FROM job WHERE state <> 'failed'"
    mv results.db failed.db
    fixture_database "DELETE FROM job"
    run_python "[(1, 100.0, None), (2, 150.5, None)] 2 None
['failed'] None []
[] None gpt" <<'END'
with meshsweep.open("imported.db") as db:
    print([(r["micro_batch"], r["throughput"], r["started"]) for r in db.results()], db.best()["job"], db.command(1))
with meshsweep.open("failed.db") as db:
    print(sorted({r["state"] for r in db.results()}), db.best(), db.ranking())
with meshsweep.open("results.db") as db:
    print(db.results(), db.best(), db.sweep().name)
END
}

one_runs() { [ "$(sql "SELECT count(*) FROM attempt WHERE state = 'running'" 2>/dev/null)" = 1 ]; }

# A run goes on meanwhile, and nothing can be written.
open__read_only__beside_a_run()
{
    toml job: command='["/bin/sh", "-c", "until [ -e go ]; do sleep 0.05; done; echo {n}"]' \
        model:: n=1,2 >sweep.toml
    start_until one_runs 20 run --progress none -j 1
    cat >program.py <<'END'
import meshsweep, sqlite3
with meshsweep.open("results.db") as db:
    print([r["state"] for r in db.results()], db.best())
    try:
        db._connection.execute("DELETE FROM job")
    except sqlite3.OperationalError as error:
        print(error)
END
    env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source_dir/python" "$python" program.py >seen
    touch go
    wait_command only_status 0
    expect '[ "$(cat seen)" = "['"'running', 'pending'"'] None
attempt to write a readonly database" ]'
}

open__other_schema_or_file__told()
{
    fixture_database
    expect '[ "$(sed -n "s/^SCHEMA = //p" "$source_dir/python/meshsweep.py")" = "$(sql "PRAGMA user_version")" ]'
    cp results.db old.db
    cp results.db new.db
    sqlite3 old.db "PRAGMA user_version = 3"
    sqlite3 new.db "PRAGMA user_version = 999"
    echo "no database at all, but a file that is long enough" >text.db
    sqlite3 other.db "CREATE TABLE x (y)"
    run_python <<'END'
import warnings
for name in ("old.db", "text.db", "other.db", "absent.db"):
    try:
        meshsweep.open(name)
    except (meshsweep.SchemaError, FileNotFoundError) as error:
        print(type(error).__name__, error)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(len(meshsweep.open("new.db").results()), told[0].category.__name__)
END
    expect_stdout_contains "SchemaError old.db has schema 3, and this is for "
    expect_stdout_contains "SchemaError text.db cannot be read: file is not a database"
    expect_stdout_contains "SchemaError other.db is not a meshsweep database"
    expect_stdout_contains "FileNotFoundError absent.db does not exist" "8 SchemaWarning"
}

types__strict__hold()
{
    type -P mypy >/dev/null || skip "there is no mypy"
    expect_command only_stdout 0 mypy --strict --cache-dir="$PWD/cache" "$source_dir/python/meshsweep.py"
}

run_cases "$@"
