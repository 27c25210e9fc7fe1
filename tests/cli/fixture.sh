# shellcheck shell=bash
# shellcheck disable=SC2154 # the directories are lib.sh's
# Sourced after lib.sh: databases in a known state.

# results.db with so many jobs of one sweep, of which the last ones are pending; further arguments are SQL.
many_jobs() # JOBS PENDING [SQL...]
{
    local pending="id >= 100 + $1 - $2"
    fixture_database "DELETE FROM metric" "DELETE FROM summary" "DELETE FROM attempt" "DELETE FROM job" \
        "INSERT INTO metric_definition (name, unit) VALUES ('peak_memory', 'B')" \
        "WITH s(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM s WHERE i < 99 + $1)
            INSERT INTO spec (id, kind, hash, json)
            SELECT i, 'parallel_spec', CAST(printf('%016d', i) AS BLOB), json_object('micro_batch', 1 << i % 5, 'tp',
            1 << i / 5 % 4, 'pp', 1 << i / 20 % 4, 'zero_stage', i / 80 % 4, 'bucket', i / 320) FROM s" \
        "INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, parallel_id, devices, state, failure,
            attempt_id) SELECT id, hash, 2, id, 1, 2, id, 8,
            iif($pending, 'pending', iif(id % 9, 'ok', 'failed')), iif($pending OR id % 9, NULL, 'oom'),
            iif($pending, NULL, id) FROM spec WHERE id >= 100" \
        "INSERT INTO attempt (id, job_id, number, runner_id, state, failure, started, ended, duration_ms, command)
            SELECT id, id, 1, 1, state, failure, id * 1000, id * 1000 + 900, 900, '[\"train\"]' FROM job
            WHERE state <> 'pending'" \
        "INSERT INTO summary (attempt_id, name, value, count) SELECT id, 'throughput', abs(id * 7919 % 10007) / 7.0, 1
            FROM job WHERE state = 'ok'" \
        "INSERT INTO summary (attempt_id, name, value, count) SELECT id, 'peak_memory', id * 104729.0 % 80000000000, 1
            FROM job WHERE state = 'ok'" "${@:3}"
}

# Writes results.db as fixture.sql says it is, which is made once for all cases; each argument is SQL that changes it.
fixture_database()
{
    [ -e "$fixture_made" ] || make_fixture
    rm -f results.db
    cp "$fixture_made" results.db
    [ $# -eq 0 ] || change_fixture "$@"
}

fixture_made=${PWD%/*}/fixture.db

make_fixture()
{
    local versions=("$source_dir"/sql/migrations/*.sql)
    {
        echo 'PRAGMA synchronous = OFF;'
        cat "${versions[@]}" "$source_dir"/sql/views.sql "$tests_source_dir"/cli/fixture.sql
        echo "PRAGMA user_version = $(sed -E 's/.*\/0*([0-9]+)_.*/\1/' <<<"${versions[-1]}");"
    } | sqlite3 -batch -bail "$fixture_made"
    "$build_dir"/tests/cli/refresh_views "$fixture_made"
}

change_fixture() # SQL...
{
    printf '%s;\n' 'PRAGMA synchronous = OFF' "$@" | sqlite3 -batch -bail results.db
    "$build_dir"/tests/cli/refresh_views results.db
}

# tp, dp and gas move together; the micro-batch need not. A higher tp is better, a larger micro-batch worse.
tied_sweep()
{
    toml sweep: objective=max:rate job: \
        command='["sh", "-c", "echo rate $((100 + 10 * {tp} - {micro_batch} * 3 + {layers}))"]' \
        job.metrics.rate: regex='rate ([0-9.]+)' model: layers=1,2,3,4,5,6 \
        training_spec: global_batch=16 cluster_spec: num_hosts=1 num_devices_per_host=4 \
        parallel_spec: tp=1,2 dp=2,4 micro_batch=1,2 gas=2,4,8 derive: batch='micro_batch * dp * gas' \
        rule:: name=world require='tp * dp = gpus' rule:: name=batch require='batch = global_batch' >sweep.toml
    run_silently 0
}

# sweep.toml begins with the quickstart's trainer: its metrics, model and cluster, out of memory above 20 MiB.
begin_trainer_sweep()
{
    toml profile=trainer job.metrics.step_time: regex='step ([0-9.]+)' unit=ms \
        job.metrics.peak_memory_bytes: regex='peak ([0-9.]+)' predict: prune=off keys.steps=10 \
        model: layers=4 hidden=96 heads=6 seq=64 cluster_spec: num_hosts=1 num_devices_per_host=1 \
        device_memory=20MiB >sweep.toml
}

# Jobs are a third faster with one kernel, the same with two others, and one of them fails.
kernel_sweep()
{
    begin_trainer_sweep
    toml sweep: objective=max:speed job: command='["/bin/sh", "job.sh", "{micro_batch}", "{kernel}"]' \
        job.metrics.speed: regex='speed ([0-9.]+)' parallel_spec: micro_batch=1,2,3,4,5,6,7,8 \
        kernel=fused,plain,other >>sweep.toml
    cat >job.sh <<'END'
[ "$1$2" != 5fused ] || exit 1
case $2 in fused) by=3 ;; *) by=2 ;; esac
echo "speed $(($1 * by * 10))"
echo "step $((10 + $1 * 20))"
echo "peak $((8600000 + $1 * 2090000))"
END
    run_silently 3
}
