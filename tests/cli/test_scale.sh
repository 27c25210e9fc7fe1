#!/usr/bin/env bash
# cli: plans of a sweep on another number of hosts.
. "${0%/*}/lib.sh"

# Two plans on up to two nodes. With a batch of 64 the one without tensor parallelism has nothing to do on 64 devices
# but to exchange gradients.
two_plans()
{
    toml profile=megatron sweep: name=scaled job: command='["/bin/sh", "-c", "echo step 2.5"]' \
        job.metrics.step_time: regex='step ([0-9.]+)' unit=s predict: framework=megatron device=H100 \
        network_bandwidth=12.5e9 model: layers=32 hidden=4096 heads=32 vocab=32000 seq=4096 \
        cluster_spec:: num_hosts=1,2 num_devices_per_host=8 training_spec:: global_batch=256 parallel_spec:: \
        tp=2,8 pp=1,16 micro_batch=1 sequence_parallel=true use_distributed_optimizer=true >sweep.toml
}

scale_to__file__plans_there_beside_here()
{
    two_plans
    expect_said only_stdout_contains 0 'num_hosts=16, the best plans first' predict --scale-to num_hosts=16
    expect_stdout_matches '^1st  tp=[28] pp=1 on 128 devices; here (1st|2nd), on 16$'
    expect_stdout_matches '^    memory [0-9.]+ GiB .*\([0-9.]+ GiB to [0-9.]+ GiB\), fits; here [0-9.]+ GiB$'
    expect_stdout_matches '^    step [0-9.]+ s \(.* tokens/s \(.*\); efficiency [0-9]+ % \([0-9]+ to [0-9]+\)$'
    expect_stdout_matches '^4th  tp=8 pp=16 on 128 devices; not possible here$'
    expect_stdout_contains 'tp=2 pp=1 is the best'
    expect_stdout_contains '2 plans both here and there, 2 only there, 0 only here; 0 are predicted not to fit there'
    expect_stdout_contains 'nothing has been measured here'
    expect_no_file results.db
}

scale_to__as_a_table__columns_to_ask_of()
{
    two_plans
    expect_said only_stdout_contains 0 'tp,devices,devices_here,place_here' predict --scale-to num_hosts=16 --where \
        'place = 1' --columns tp,devices,devices_here,place_here --format csv
    expect_stdout_matches '^[28],128,16,[12]'
    meshsweep predict --scale-to num_hosts=16 --json >plans.json
    python3 - plans.json <<'END_OF_CHECK' || fail 'the document is not what it should be'
import json, sys
d = json.load(open(sys.argv[1]))
units = {c["name"]: c["unit"] for c in d["columns"]}
assert units["throughput"] == "tokens/s" and units["predicted_time_here"] == "s", units
rows = {(r["tp"], r["pp"]): r for r in d["records"]}
assert len(rows) == 4, rows
for r in rows.values():
    assert r["num_hosts"] == 16 and r["devices"] == 128
    assert r["throughput_low"] < r["throughput"] < r["throughput_high"]
    assert abs(r["throughput"] - 256 * 4096 / r["predicted_time"]) < 1e-3 * r["throughput"]
a = rows[2, 1]
wanted = a["predicted_time_here"] * 16 / (a["predicted_time"] * 128)
assert abs(a["efficiency"] - wanted) < 1e-9, (a["efficiency"], wanted)
assert rows[8, 16]["efficiency"] is None and rows[8, 16]["devices_here"] is None
assert sorted(r["place"] for r in rows.values()) == [1, 2, 3, 4]
END_OF_CHECK
}

# By how much the ends of an interval of time differ.
width_at() # KEY=VALUE
{
    meshsweep predict -d measured.db --scale-to "$1" --where 'tp = 2 and micro_batch = 1' \
        --columns time_low,time_high --format csv | awk -F, 'NR == 2 { print $2 / $1 }'
}

# Runs on 8 and 16 devices make the interval narrow there, and wider the farther away.
scale_to__measured__wider_beyond()
{
    two_plans
    sed -i 's/^num_hosts = .*/num_hosts = 1/' sweep.toml
    sed -i 's/^tp = .*/tp = [2, 4, 8]/; s/^pp = .*/pp = 1/; s/^micro_batch = .*/micro_batch = [1, 2]/' sweep.toml
    sed -i 's/^\[predict\]/[local]\ndevices = 8\n&/' sweep.toml
    expect_run only_status 0 run --progress none -d measured.db
    expect_run only_status 0 predict -d measured.db --scale-to num_hosts=2
    expect_stdout_matches 'measured on at most 8 devices; 16 are 2 times as many, so intervals of time are widened by'
    near=$(width_at num_hosts=2) far=$(width_at num_hosts=64)
    awk -v near="$near" -v far="$far" 'BEGIN { exit !(near > 1 && log(far) > 1.1 * log(near)) }' ||
        fail "an interval of factor $near on 16 devices, $far on 512"
}

# The data-parallel degree of the file follows the hosts, and its accumulation the batch that stays.
scale_to__explicit_degrees__follow()
{
    two_plans
    sed -i '/^pp = /d' sweep.toml
    printf 'dp = [1, 2, 4, 8]\ngradient_accumulation = [32, 64, 128, 256]\n' >>sweep.toml
    run_meshsweep predict --scale-to num_hosts=16 --columns tp,dp,gradient_accumulation,devices_here --format csv \
        --sort tp
    expect_only_stdout_matches 0 '^2,64,4,16' '^8,16,16,16'
    # A batch that cannot be divided further grows.
    sed -i 's/^dp = .*/dp = 4/; s/^tp = .*/tp = 2/; s/^num_hosts = .*/num_hosts = 1/' sweep.toml
    sed -i 's/^gradient_acc.*/gradient_accumulation = 2/; s/^global_batch = .*/global_batch = 8/' sweep.toml
    expect_said only_stdout_contains 0 'at a batch of 128, here 8' predict --scale-to num_hosts=16
}

scale_to__devices_of_a_host__no_more_hosts()
{
    two_plans
    sed -i 's/^num_hosts = .*/num_hosts = 1/; s/^num_devices_per_host = .*/num_devices_per_host = 4/' sweep.toml
    sed -i '/^pp = /d; s/^tp = .*/tp = 2/' sweep.toml
    printf 'dp = 2\n' >>sweep.toml
    run_meshsweep predict --scale-to num_devices_per_host=8 --columns num_hosts,tp,dp,devices,devices_here --format csv
    expect_only_stdout_matches 0 '^1,2,4,8,4'
}

scale_to__imported__jobs_of_the_table_there()
{
    toml sweep: name=measured objective=min:step_time job.metrics.step_time: unit=s \
        predict: framework=megatron device=H100 import: import.cluster_spec: num_hosts='gpus / 8' \
        num_devices_per_host=8 import.model: layers=24 hidden=2048 heads=16 vocab=32000 \
        import.training_spec: seq=2048 global_batch=256 import.parallel_spec: tp=tp dp='gpus / tp' micro_batch=2 \
        use_distributed_optimizer=true import.metrics: step_time=seconds >import.toml
    printf 'gpus,tp,seconds\n8,1,9\n16,1,4.7\n32,1,2.5\n8,2,9.9\n16,2,5.1\n' >table.csv
    expect_run only_status 0 import -c import.toml table.csv
    expect_run only_status 0 predict --scale-to num_hosts=8 --columns tp,dp,devices_here,place --format csv --sort tp
    expect_stdout_contains 'tp,dp,devices_here,place'
    expect_stdout_matches '^1,64,32,[12]' '^2,32,16,[12]'
    expect_said among_stdout 0 'measured on at most 32 devices; 64 are 2 times as many' predict --scale-to num_hosts=8
    expect_stdout_contains '2 plans both here and there, 0 only there, 0 only here'
}

scale_to__what_cannot_be__one_sentence()
{
    two_plans
    while IFS='|' read -r given status words; do
        expect_said only_stderr_contains "$status" "$words" predict --scale-to "$given"
    done <<'END_OF_CASES'
num_host=4|2|--scale-to: no spec has a key `num_host` (did you mean `num_hosts`?)
num_hosts|2|--scale-to: `num_hosts` is not of the form KEY=VALUE, such as num_hosts=64
=4|2|is not of the form KEY=VALUE
num_hosts=many|2|`many` is not a positive integer
num_hosts=0|2|`0` is not a positive integer
num_hosts=-3|2|`-3` is not a positive integer
num_hosts=1.5|2|`1.5` is not a positive integer
gpus=64|2|`gpus` is derived from `num_hosts`, `num_devices_per_host`
hidden=64|2|`hidden` does not determine the number of devices
num_hosts=3|4|num_hosts=3: no combination is left; rule
END_OF_CASES
    run_meshsweep predict --scale-to num_hosts=4 --accuracy
    expect_only_stderr_contains 2 'predict: --scale-to cannot be combined with --profile, --accuracy or --frontier'
    sed -i '/^\[predict\]/,/^network/d; /^profile/d' sweep.toml
    expect_said only_stderr_contains 2 'the file has no [predict] table' predict --scale-to num_hosts=4
}

run_cases "$@"
