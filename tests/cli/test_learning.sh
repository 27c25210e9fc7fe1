#!/usr/bin/env bash
# cli: what tables and other databases teach the predictions of the next sweep.
. "${0%/*}/lib.sh"


# The sweep that is to come, and the file of a table of the same model.
next_sweep()
{
    toml sweep: objective=min:step_time job: command='["/bin/true"]' \
        job.metrics.step_time: regex='step ([0-9.]+)' unit=s predict: framework=fsdp \
        model: layers=24 hidden=2048 heads=16 vocab=32000 training_spec: seq=2048 cluster_spec: num_hosts=1 \
        num_devices_per_host=8 device=A100-80GB parallel_spec:: dp=8 zero_stage=3 micro_batch=1,2,4,8 >sweep.toml
    toml sweep: name=measured objective=min:step_time job.metrics.step_time: unit=s \
        job.metrics.peak_memory_bytes: unit=B predict: framework=fsdp import: state=state \
        import.model: layers=layers hidden=2048 heads=16 vocab=32000 import.training_spec: seq=2048 \
        import.cluster_spec: num_hosts=1 num_devices_per_host=8 device='"'\''A100-80GB'\''"' \
        import.parallel_spec: dp=8 zero_stage=3 micro_batch=mbs import.metrics: step_time=secs \
        peak_memory_bytes=bytes >import.toml
}

# Prints what is predicted of the sweep's largest micro-batch: bytes, seconds.
predicted() # DATABASE
{
    meshsweep predict -c sweep.toml -d "$1" --format csv --columns predicted_memory,predicted_time \
        --where 'micro_batch = 8' |
        tail -n 1 | tr -d '\r' | tr , ' '
}

# As predicted for 12 layers, times 1.2 and 1.5.
measured_rows() # MICRO-BATCH...
{
    local mbs
    sed 's/^layers = 24/layers = 12/' sweep.toml >smaller.toml
    for mbs; do
        sed "s/^micro_batch = .*/micro_batch = $mbs/" smaller.toml >one.toml
        meshsweep predict -c one.toml -d none.db --format csv --columns predicted_memory,predicted_time |
            awk -F, -v mbs="$mbs" 'NR == 2 { printf "12,%d,ok,%.6f,%.0f\n", mbs, $2 * 1.5, $1 * 1.2 }'
    done
}

# RATIO of memory and of time to what no measurement taught, in percent.
grown() # DATABASE
{
    local before after
    before=$(predicted none.db)
    after=$(predicted "$1")
    echo "$before $after" | awk '{ printf "%.0f %.0f\n", 100 * $3 / $1, 100 * $4 / $2 }'
}

expect_grown() # DATABASE LEAST-MEMORY MOST-MEMORY LEAST-TIME MOST-TIME
{
    local ratios
    ratios=$(grown "$1")
    # shellcheck disable=SC2086 # two numbers
    set -- $ratios "$@"
    if [ "$1" -lt "$4" ] || [ "$1" -gt "$5" ] || [ "$2" -lt "$6" ] || [ "$2" -gt "$7" ]; then
        fail "$3: memory and time are $ratios % of what they were"
    fi
}

import_rows() # DATABASE MICRO-BATCH...
{
    local db=$1
    shift
    {
        echo "layers,mbs,state,secs,bytes"
        measured_rows "$@"
    } >"table-$1.csv"
    expect_run only_status 0 import -c import.toml -d "$db" "table-$1.csv"
}

table__imported__next_sweep_is_calibrated()
{
    next_sweep
    import_rows measured.db 1 2 3 4 6
    expect_sql 'memory|fsdp|A100-80GB|5|0
time|fsdp|A100-80GB|5|0' "SELECT quantity, framework, device, measured, prior FROM calibration ORDER BY 1" measured.db
    expect_grown measured.db 112 124 135 152
    run_meshsweep predict -d measured.db -c sweep.toml
    expect_only_stdout_contains 0 'memory of fsdp on A100-80GB: calibrated, from 5 measurements'
    expect_stdout_contains 'time of fsdp on A100-80GB: calibrated, from 5 measurements'
    # Predictions for a second table are those that the first taught, before its own rows teach anything.
    import_rows measured.db 5 8
    expect_sql '2|1' "SELECT count(*), max(abs(ln(predicted / measured))) < 0.06 FROM observation
        WHERE quantity = 'memory' AND attempt_id > 5" measured.db
}

databases__merged__calibrated_from_all()
{
    next_sweep
    import_rows a.db 1 2
    import_rows b.db 3 4
    expect_sql "2|1" "SELECT measured, prior FROM calibration WHERE quantity = 'memory'" a.db
    expect_grown a.db 100 100 100 100
    # Rows that one file read are one sweep.
    expect_said only_stdout 0 'all.db: 4 new jobs, 4 new attempts' merge a.db b.db -o all.db
    expect_sql 4 "SELECT count(*) FROM results WHERE in_sweep" all.db
    expect_grown all.db 112 124 130 152
    run_meshsweep predict -d all.db -c sweep.toml
    expect_only_stdout_contains 0 'memory of fsdp on A100-80GB: calibrated, from 4 measurements'
    expect_said only_stdout_contains 0 '# From 4 measurements.' predict -d all.db -c sweep.toml --profile
}

# A row without a number of memory says that it took no more than there is; one that ran out, that it took more.
rows__without_memory__bounds()
{
    next_sweep
    printf '%s\n' layers,mbs,state,secs,bytes 12,1,ok,1.5, 12,64,oom,, 12,2,exit,, >table.csv
    expect_run only_status 0 import -c import.toml -d measured.db table.csv
    expect_sql '1|at-most|1
64|at-least|1' "SELECT r.micro_batch, o.kind, o.measured > 70e9 FROM observation AS o
        JOIN results AS r ON r.job = (SELECT job_id FROM attempt WHERE id = o.attempt_id)
        WHERE o.quantity = 'memory' ORDER BY 1" measured.db
}

# A sweep that ran without [predict] and gets it later: its runs are measurements all the same.
runs__before_predict_was_asked_for__measured_and_learned_from()
{
    next_sweep
    cp sweep.toml asks.toml
    sed -e '/^\[predict\]/,/^framework/d' -e 's|"/bin/true"|"/bin/sh", "-c", "echo step $((1 + {micro_batch}))"|' \
        asks.toml >sweep.toml
    expect_run only_status 0 run --progress none
    expect_sql 0 'SELECT count(*) FROM observation'
    sed 's|"/bin/true"|"/bin/sh", "-c", "echo step $((1 + {micro_batch}))"|' asks.toml >sweep.toml
    expect_run status 0 predict --format tsv --columns micro_batch,measured_time
    expect_stdout 'micro_batch	measured_time
1	2.0
2	3.0
4	5.0
8	9.0'
    expect_stderr_contains 'sweep.toml, or a file that it includes, has changed'
    expect_run only_status 0 run --progress none
    expect_sql 4 'SELECT count(*) FROM attempt'
    expect_sql 'memory|at-most|4
time|measured|4' 'SELECT quantity, kind, count(*) FROM observation GROUP BY 1, 2'
    expect_sql 4 "SELECT count(*) FROM summary WHERE name = 'mfu'"
    expect_said only_stdout_contains 0 'time of fsdp on A100-80GB: calibrated, from 4 measurements' predict
    expect_run only_status 0 run --progress none
    expect_sql 8 'SELECT count(*) FROM observation'
}

run_cases "$@"
