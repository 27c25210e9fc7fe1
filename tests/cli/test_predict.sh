#!/usr/bin/env bash
# cli: predictions beside measurements, of a job that measures what it is told.
. "$(dirname "$0")/lib.sh"

# Memory 3 % above what the formula says would be for the quickstart's trainer; out of memory above 20 MiB.
predicted_sweep()
{
    cat >sweep.toml <<'END'
profile = "trainer"
[sweep]
name = "predicted"
objective = "min:step_time"
[job]
command = ["/bin/sh", "job.sh", "{micro_batch}"]
[job.metrics.step_time]
regex = 'step ([0-9.]+)'
unit = "ms"
[job.metrics.peak_memory_bytes]
regex = 'peak ([0-9.]+)'
[predict]
prune = "off"
keys.steps = 10
[model]
layers = 4
hidden = 96
heads = 6
seq = 64
[cluster_spec]
num_hosts = 1
num_devices_per_host = 1
device_memory = "20MiB"
[[parallel_spec]]
micro_batch = [1, 2, 3, 4, 8, 16]
END
    cat >job.sh <<'END'
bytes=$((8600000 + $1 * 2090000))
if [ $bytes -gt 20971520 ]; then
    echo 'CUDA out of memory'
    exit 1
fi
echo "step $((10 + $1 * 20))"
echo "peak $bytes"
END
}

predict__before_any_run__predictions_alone()
{
    predicted_sweep
    run_meshsweep predict
    expect_status 0
    expect_stdout_contains 'micro_batch=16'
    expect_stdout_matches 'memory [0-9.]+ MiB \([0-9.]+ MiB to [0-9.]+ MiB\), fits'
    expect_stdout_contains ', certain, out of memory with'
    expect_stdout_matches 'step [0-9.e-]+ s \([0-9.e-]+ to [0-9.e-]+, uncalibrated\), MFU'
    expect_stdout_lacks measured
    expect_no_stderr
    expect_no_file results.db
}

predict__after_a_run__residuals_calibration_and_mfu()
{
    predicted_sweep
    run_meshsweep run --progress none
    expect_status 3
    expect_any_stdout
    expect_any_stderr
    expect_sql '4|2' "SELECT sum(state = 'ok'), sum(failure = 'oom') FROM job"
    expect_sql 'at-least|2
measured|4' "SELECT kind, count(*) FROM observation WHERE quantity = 'memory' GROUP BY kind"
    expect_sql '0.03|0.09' "SELECT min(measured), max(measured) FROM observation WHERE quantity = 'time'"
    expect_sql 4 "SELECT count(*) FROM results WHERE mfu > 0"
    expect_sql 6 "SELECT count(*) FROM results WHERE predicted_memory > 0 AND predicted_time > 0"
    expect_sql 'memory|4|0
time|4|0' "SELECT quantity, measured, prior FROM calibration ORDER BY quantity"
    run_meshsweep predict
    expect_status 0
    expect_stdout_matches 'micro_batch=4  ok'
    expect_stdout_matches '; measured [0-9.]+ MiB \([-+][0-9]\.[0-9] %\)'
    expect_stdout_contains 'predicted over measured, by axis'
    expect_stdout_contains 'memory of trainer on cpu: calibrated, from 4 measured'
    expect_no_stderr
}

# The line reaches to twice the largest that ran.
predict__two_micro_batches_measured__line_goes_before_the_model()
{
    predicted_sweep
    sed -i 's/^bytes=.*/bytes=$((9000000 + $1 * 1900000))/' job.sh
    run_meshsweep run --progress none --only 'micro_batch <= 2'
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    run_meshsweep predict
    expect_status 0
    # 9 and 4 times 1.9 MB are 15.8 MiB.
    expect_stdout_matches 'memory 15\.8 MiB \(.*, by the line through runs\), (fits|risk), out of memory with'
    expect_stdout_matches 'memory [0-9.]+ MiB \([0-9.]+ MiB to [0-9.]+ MiB\), certain'
    expect_no_stderr
    sed -i 's/"job.sh"/".\/job.sh"/' sweep.toml
    run_meshsweep predict
    expect_status 0
    expect_stdout_lacks 'by the line'
    expect_stderr 'meshsweep: sweep.toml, or what it includes, has changed since results.db recorded it; this goes by what it is now'
}

predict__frontier__largest_and_smallest()
{
    predicted_sweep
    run_meshsweep run --progress none
    expect_status 3
    expect_any_stdout
    expect_any_stderr
    run_meshsweep predict --frontier micro_batch
    expect_status 0
    # Through what was measured: 8.6 and 2.09 MB for each of the micro-batch, of 20 MiB.
    expect_stdout_matches '^ +4 +8 +5 '
    expect_no_stderr
    run_meshsweep predict --frontier nothing
    expect_status 4
    expect_no_stdout
    expect_stderr_contains 'no two combinations differ in a number `nothing`'
}

predict__accuracy__errors_and_thresholds()
{
    predicted_sweep
    run_meshsweep run --progress none
    expect_status 3
    expect_any_stdout
    expect_any_stderr
    run_meshsweep predict --accuracy
    expect_status 0
    expect_stdout_matches '^memory +4 runs, each predicted before it ran: MAPE [0-9.]+ %, median'
    expect_stdout_contains '2 failed, 4 ran'
    expect_stdout_matches '^ +90 % +2 \(100 %\) +0 \(  0 %\)'
    expect_stdout_contains 'audit of pruning: nothing run yet'
    expect_no_stderr
}

predict__profile__next_sweep_starts_calibrated()
{
    predicted_sweep
    run_meshsweep run --progress none
    expect_status 3
    expect_any_stdout
    expect_any_stderr
    meshsweep predict --profile >learned.toml
    expect_file_contains learned.toml '[predict.memory]'
    sed -i 's/^profile = .*/profile = ["trainer", ".\/learned.toml"]/' sweep.toml
    run_meshsweep plan -d other.db
    expect_status 0
    expect_stdout_contains 'predicted: '
    expect_no_stderr
}

predict__pruning__excluded_with_audit()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0/' sweep.toml
    run_meshsweep plan
    expect_status 0
    expect_stdout_contains 'by memory.fits: needs more device memory than there is'
    expect_no_stderr
    sed -i 's/^audit = 0/audit = 1/' sweep.toml
    run_meshsweep run --progress none
    expect_status 3
    expect_any_stdout
    expect_any_stderr
    run_meshsweep predict --accuracy
    expect_status 0
    expect_stdout_contains 'audit of pruning: 0 of 2 would have run: wrong in 0 % (0 to 66 %)'
    expect_no_stderr
}

timed_sweep()
{
    predicted_sweep
    sed -i 's/^layers = .*/layers = [2, 8]/; s/^micro_batch = .*/micro_batch = [1, 2, 3, 4, 5, 6, 7, 8]/
            s/"{micro_batch}"/"{layers}", "{micro_batch}", "{predicted_flops}"/' sweep.toml
}

predict__time_in_proportion_to_flops__constant_mfu_takes_over()
{
    timed_sweep
    cat >job.sh <<'END'
awk -v flops="$3" 'BEGIN { printf "step %.6f\n", flops / 2.4e7 }'
END
    run_meshsweep run --progress none
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    run_meshsweep predict
    expect_status 0
    expect_stdout_matches 'a constant MFU does better over the last runs \(off by 0\.0 %, the model by [0-9.]+ %\): it is used'
    expect_stdout_matches 'by a constant MFU\), MFU 50\.0 %; measured [0-9.]+ s \([-+]0\.0 %\), MFU 50\.0 %'
    expect_no_stderr
}

predict__one_run_ten_times_slower__left_out_and_told()
{
    timed_sweep
    cat >job.sh <<'END'
ms=$(($1 * $2 * 7 + $2 * 4))
[ "$1 $2" != '8 6' ] || ms=$((ms * 10))
echo "step $ms"
END
    run_meshsweep run --progress none
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    run_meshsweep predict
    expect_status 0
    expect_stdout_contains 'time of trainer on cpu: calibrated, from 15 measured, 0 out of memory, 1 broken runs left out'
    expect_no_stderr
}

# The job's memory depends on its layers less than is predicted.
predict__calibrated__next_run_brings_predictions_up_to_date()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0/; s/^micro_batch = .*/micro_batch = [1, 2, 3, 4, 5, 6]/
            s/^layers = .*/layers = [1, 2, 3, 4]/' sweep.toml
    sed -i 's/^bytes=.*/bytes=$((6000000 + $1 * 2400000))/' job.sh
    run_meshsweep run --progress none --limit 8
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    sql "CREATE TABLE before AS SELECT key, state, predicted_memory AS bytes FROM job" results.db
    run_meshsweep run --progress none --limit 1
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    # What had run keeps what was predicted before; all that had not is predicted anew.
    expect_sql '8|0' "SELECT count(*), sum(j.predicted_memory <> b.bytes) FROM before AS b JOIN job AS j USING (key)
                      WHERE b.state = 'ok'"
    expect_sql 0 "SELECT count(*) FROM before AS b JOIN job AS j USING (key) WHERE b.state = 'pending'
                  AND j.predicted_memory = b.bytes"
    expect_sql '' "SELECT 'rank' FROM job WHERE rank < 0"
}

# Of 20 MiB, micro-batch 4 is predicted to take 80 %, and 3 70 %; predictions off by 5 % are compared at 0.5^(5/12), 75 %.
predict__risky__run_last()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0\nrisky = 0.5/; s/^micro_batch = .*/micro_batch = [4, 3, 2, 1]/' sweep.toml
    run_meshsweep run --progress none
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    expect_sql '3,2,1,4' "SELECT group_concat(micro_batch) FROM (SELECT r.micro_batch FROM attempt AS a
                          JOIN results AS r ON r.job = a.job_id ORDER BY a.id)"
    expect_sql 1 "SELECT excluded FROM rule WHERE name = 'memory.risky'"
}

predict__nothing_asked_or_keys_missing__said()
{
    predicted_sweep
    sed -i '/^heads/d' sweep.toml
    run_meshsweep plan
    expect_status 0
    expect_stdout_contains 'nothing is predicted: the specs lack heads'
    expect_no_stderr
    small_sweep sweep.toml
    run_meshsweep predict
    expect_status 2
    expect_no_stdout
    expect_stderr_contains 'the file has no [predict] table'
}

run_cases "$@"
