#!/usr/bin/env bash
# Several jobs on a device: shares of it, MIG instances, and what is said of what was measured so.
. "${0%/*}/lib.sh"

# Jobs that wait until NUMBER of them run, and fail where that does not come.
waiting_sweep() # NUMBER CLUSTER [WORD OF [local]...]
{
    cat >job.sh <<'END'
touch "started.$1"
for i in $(seq 300); do
    [ "$(ls started.* | wc -l)" -ge "$2" ] && exit 0
    sleep 0.1
done
exit 1
END
    toml job: "command = [\"/bin/sh\", \"job.sh\", \"{n}\", \"$1\"]" training_spec: n=1,2,3,4 \
        cluster_spec: "$2" local: "${@:3}" >sweep.toml
}

jobs_per_device__four__one_device_for_all()
{
    waiting_sweep 4 num_devices_per_host=1 'devices = [5]' jobs_per_device=4
    run_silently 0
    expect_sql "4|1|5|0.25|0.25|3" "SELECT count(*), count(DISTINCT devices), max(devices),
        min(device_condition ->> '\$.share'), max(device_condition ->> '\$.share'),
        max(device_condition ->> '\$.shared_with') FROM attempt WHERE state = 'ok'"
    # Half of a device for each: two at a time.
    rm -r results.db* started.*
    waiting_sweep 4 gpus=0.5 devices=2
    run_silently 0
    expect_sql "2|2|2" "SELECT count(DISTINCT devices), sum(devices = '0'), sum(devices = '1') FROM attempt"
    expect_sql "4" "SELECT sum(devices) FROM job"
}

# The sum of three shares and a whole device is never more than all of one.
gpus__shares_and_whole_devices__sum_to_one_at_most()
{
    printf '%s\n' 'echo "+ $1 $MESHSWEEP_DEVICES" >>order' 'sleep 0.1' 'echo "- $1 $MESHSWEEP_DEVICES" >>order' \
        >job.sh
    toml job: command='["/bin/sh", "job.sh", "{gpus}"]' training_spec: n=1,2,3,4 \
        cluster_spec: gpus=0.4,0.3,1,2 local: devices=2 >sweep.toml
    run_silently 0
    expect "[ \$(grep -c '^[+]' order) = 16 ]"
    awk '{
        n = split($3, d, ",")
        for (i = 1; i <= n; i++) {
            held[d[i]] += ($1 == "+" ? 1 : -1) * ($2 < 1 ? $2 : 1)
            if (held[d[i]] > 1.001) { print "device " d[i] " has " held[d[i]]; exit 1 }
        }
    }' order || fail "$(cat order)"
    expect_sql "0" "SELECT count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job_id
        WHERE (j.devices = 2) <> (a.devices = '0,1')"
}

gpus__no_share_and_no_whole_number__said_with_its_place()
{
    waiting_sweep 1 gpus=0.25,1.5 devices=1
    expect_said only_stderr 2 'meshsweep: sweep.toml:6:15: gpus must be a whole number, or the share of one device '\
'that a job takes, above 0 and below 1, not 1.5' check
    waiting_sweep 1 gpus=0.25 jobs_per_device=2 exclusive=true
    expect_said only_stderr 2 'meshsweep: sweep.toml:8:1: jobs cannot share a device where exclusive = true '\
'runs one at a time' check
}

# A quarter of an 80 GiB device is 20 GiB.
predictions__of_a_share__its_memory_and_no_time()
{
    toml job: command='["true"]' model:: layers=24 hidden=2048 heads=32 vocab=32000 \
        training_spec: seq=2048 expandable_segments=true global_batch=8 cluster_spec:: gpus=1,0.25 device=H100 \
        device_memory=80GiB parallel_spec:: zero_stage=0 micro_batch=1 predict: framework=megatron >sweep.toml
    run_meshsweep plan
    expect_only_stdout_contains 0 'excluded 1 by memory.fits' '+ ' 'gpus=1  predicted 25.1 GiB' \
        'step time is not predicted for jobs that share a device: how much others slow them down is not known'
    # A third may hold it.
    sed -i 's/^gpus.*/gpus = 0.34/' sweep.toml
    run_meshsweep plan
    expect_only_stdout_contains 0 '1 matched' 'predicted 25.1 GiB (may not fit)'
}

mig__instances_of_nvidia_smi__one_for_each_job()
{
    stand_in bin/nvidia-smi <<'END'
[ "$1" = -L ] || exit 1
echo "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5f)"
echo "  MIG 3g.20gb     Device  0: (UUID: MIG-6d31)"
echo "  MIG 3g.20gb     Device  1: (UUID: MIG-6d32)"
END
    waiting_sweep 2 num_devices_per_host=1,2
    PATH=$PWD/bin:$PATH
    run_silently 0
    expect_sql "MIG-6d31|MIG-6d32|4" "SELECT min(devices), max(devices), count(*) FROM attempt WHERE state = 'ok'"
    expect_sql "this machine has MIG instances (nvidia-smi), of which a job can use one" "SELECT reason FROM rule
        WHERE name = 'devices.exist'"
}

run_cases "$@"
