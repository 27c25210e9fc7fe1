#!/usr/bin/env bash
# Devices of this machine: who gets which, what is excluded, what waits. They are declared, or those of a stand-in for
# nvidia-smi.
. "${0%/*}/lib.sh"

# Jobs of 1, 2 and 4 devices that leave what they were given in a file of their own.
device_sweep() # WORD OF [local]...
{
    printf '%s\n' 'echo "$MESHSWEEP_DEVICES" "$CUDA_VISIBLE_DEVICES" "$MASTER_PORT" >got."$1"' \
        'echo "+ $1 $MESHSWEEP_DEVICES" >>order' 'sleep 0.2' 'echo "- $1 $MESHSWEEP_DEVICES" >>order' >job.sh
    toml job: command='["/bin/sh", "job.sh", "{n}"]' training_spec: n=1,2,3,4,5,6 \
        cluster_spec:: num_devices_per_host=1 local: "$@" >sweep.toml
}

# No device is with two jobs at a time, by what the jobs noted in `order`.
expect_devices_apart()
{
    awk '{
        n = split($3, d, ",")
        for (i = 1; i <= n; i++) {
            if ($1 == "+" && held[d[i]]++) { print "device " d[i] " is shared: " $0; exit 1 }
            if ($1 == "-") held[d[i]]--
        }
    }' order || fail "$(cat order)"
}

jobs__beside_each_other__have_their_own_devices_and_ports()
{
    device_sweep devices=4
    run_silently 0
    expect_devices_apart
    expect "[ \"\$(awk '{ print (\$1 == \$2) }' got.* | sort -u)\" = 1 ]"
    expect "[ \"\$(awk '{ print \$3 }' got.* | sort -u | wc -l)\" = 6 ]"
    expect "[ \"\$(awk '{ print \$1 }' got.* | sort -u | wc -l)\" -ge 2 ]"
    expect_sql "6|0" "SELECT count(*), sum(devices IS NULL) FROM attempt"
}

# torchrun reads PET_MASTER_PORT.
jobs__without_devices__have_their_own_ports_too()
{
    toml job: command='["/bin/sh", "-c", '\''echo "$MASTER_PORT $PET_MASTER_PORT {master_port}" >port.{n}'\'']' \
        training_spec: n=1,2,3,4,5,6 local: devices=0 >sweep.toml
    run_silently 0 -j 3
    expect "[ \"\$(sort -u port.* | wc -l)\" = 6 ]"
    expect "awk '\$1 != \$2 || \$1 != \$3 || \$1 < 10000 || \$1 >= 29400 { exit 1 }' port.*"
}

env__says_port_address_and_devices__its_word_counts()
{
    device_sweep devices='[3]'
    cat >job.sh <<'END'
echo "$MASTER_ADDR:$MASTER_PORT:$PET_MASTER_PORT:$CUDA_VISIBLE_DEVICES:$MESHSWEEP_DEVICES:$MESHSWEEP_NUMBER" >got
END
    sed -i 's/^command.*/&\nenv = { MASTER_ADDR = "10.0.0.1", MASTER_PORT = "4711", CUDA_VISIBLE_DEVICES = "7", '\
'MESHSWEEP_NUMBER = "9" }/; s/^n = .*/n = 1/' sweep.toml
    run_silently 0
    expect "[ \"\$(cat got)\" = 10.0.0.1:4711:4711:7:3:1 ]"
}

port__the_same_for_jobs_side_by_side__warned()
{
    toml job: command='["true"]' env='{ MASTER_PORT = 4711 }' training_spec: n=1,2 \
        local: devices=0 >sweep.toml
    run_meshsweep run --progress none -j 2
    expect_only_stderr 0 'meshsweep: warning: MASTER_PORT of [job] env is 4711 for every job, so jobs that run at the '\
'same time on one machine would collide; leave it out, or run one job at a time with -j 1'
    # One at a time meets nobody, nor do ports that differ.
    rm -rf results.db*
    run_silently 0 -j 1
    rm -rf results.db*
    sed -i 's/4711/"471{n}"/' sweep.toml
    run_silently 0 -j 2
}

launcher__not_told_its_port__warned()
{
    for launcher in '"deepspeed"' '"accelerate", "launch"'; do
        stand_in "bin/$(cut -d '"' -f 2 <<<"$launcher")" </dev/null
        toml job: "command = [$launcher, \"train.py\"]" training_spec: n=1,2 local: devices=0 >sweep.toml
        rm -rf results.db*
        PATH=$PWD/bin:$PATH run_meshsweep run --progress none -j 2
        expect_only_stderr 0
        expect_stderr_matches '^meshsweep: warning: (deepspeed|accelerate) uses port 29500 by default, so jobs that '\
'run at'\
' .*; give it --(master|main_process)_port=\{master_port\}, or run one job at a time with -j 1$'
        sed -i -E 's/"train.py"/"--master_port={master_port}", "--main_process_port", "{master_port}", &/' sweep.toml
        rm -rf results.db*
        PATH=$PWD/bin:$PATH run_silently 0 -j 2
    done
}

# In a word of the command, or the variable that the runner would set.
command__names_port_or_devices_of_all_jobs__warned()
{
    local env words devices said
    stand_in bin/deepspeed </dev/null
    stand_in bin/torchrun </dev/null
    while IFS='|' read -r words env devices said; do
        toml job: "command = [$words, \"train.py\"]" env="{ $env }" training_spec: n=1,2 \
            cluster_spec:: num_devices_per_host=1 local: devices="$devices" >sweep.toml
        rm -rf results.db*
        PATH=$PWD/bin:$PATH run_meshsweep run --progress none -j 2
        expect_only_stderr 0
        if [ "$said" ]; then
            expect_stderr_contains "meshsweep: warning: $said" 'jobs that run at the same time'
        else
            expect_stderr ''
        fi
    done <<'END'
"torchrun", "--master_port=20001"||2|--master_port is 20001 for every job, so
"torchrun", "--rdzv-endpoint", "localhost:29501"||2|--rdzv-endpoint is localhost:29501 for every job, so
"torchrun", "--rdzv-endpoint=localhost:0"||2|
"torchrun", "--rdzv-endpoint=localhost:{master_port}", "--local-ranks-filter", "0"||2|
"torchrun"|CUDA_VISIBLE_DEVICES = "0,1"|2|CUDA_VISIBLE_DEVICES of [job] env is 0,1 for every job, so
"torchrun"|CUDA_VISIBLE_DEVICES = ""|2|
"torchrun"|HIP_VISIBLE_DEVICES = "{devices}"|2|
"deepspeed", "--num_gpus=1", "--master_port={master_port}"||2|deepspeed --num_gpus takes devices 0, 1, …, whichever the
"deepspeed", "--num_gpus=1", "--master_port={master_port}"||0|
"deepspeed", "--include=localhost:{devices}", "--master_port={master_port}"||2|
END
}

gang__of_its_size__whole_or_not_at_all()
{
    device_sweep devices='["0", "2", "5", "GPU-9"]'
    sed -i 's/^num_devices_per_host = 1/num_devices_per_host = [1, 2, 4]/' sweep.toml
    run_silently 0 --only 'n <= 3'
    expect_devices_apart
    expect_sql "1|3|1
2|3|2
4|3|4" "SELECT j.devices, count(*), max(length(a.devices) - length(replace(a.devices, ',', '')) + 1) FROM attempt AS a
            JOIN job AS j ON j.id = job_id GROUP BY 1"
    expect_sql "0,2,5,GPU-9" \
        "SELECT DISTINCT a.devices FROM attempt AS a JOIN job AS j ON j.id = job_id WHERE j.devices = 4"
}

more_than_there_are__excluded_by_a_rule()
{
    device_sweep devices=2
    sed -i 's/^num_devices_per_host = 1/num_devices_per_host = [2, 3]/' sweep.toml
    run_silently 0
    expect_sql "devices.exist|6|this machine has 2 devices ([local] devices)" \
        "SELECT rule, excluded, reason FROM excluded WHERE excluded > 0"
    # Elsewhere they are not.
    sed -i 's/^devices = 2/devices = 3/' sweep.toml
    run_silently 0
    expect_sql 12 "SELECT count(*) FROM attempt WHERE state = 'ok'"
}

hostfile__uneven__excludes_what_it_cannot_hold()
{
    printf 'big slots=4\nsmall slots=2 # old\nother slots=4\n' >hosts
    device_sweep devices=0 several_hosts=true hostfile=hosts 'exclude = "other:0,1"'
    sed -i 's/^num_devices_per_host = 1/num_devices_per_host = [2, 4]\nnum_hosts = [1, 2, 3]/' sweep.toml
    run_silently 0 --only 'n = 1'
    expect_sql "1|2
1|4
2|2
3|2" "SELECT num_hosts, num_devices_per_host FROM results WHERE state = 'ok' ORDER BY 1, 2"
    expect_sql "the hostfile has 3 hosts with 8 devices in total" "SELECT reason FROM excluded WHERE rule = \
'devices.exist'"
    sed -i 's/other:0,1/elsewhere/' sweep.toml
    expect_said only_stderr 2 'meshsweep: exclude: the hostfile has no host `elsewhere`' run --progress none
}

# Results of one machine are none of two.
several_hosts__on_this_machine__excluded_unless_the_command_reaches_them()
{
    device_sweep devices=0
    sed -i 's/^num_devices_per_host = 1/num_hosts = [1, 2]/; s/^n = .*/n = [1, 2]/' sweep.toml
    expect_said only_stdout_contains 0 "excluded 2 by hosts.reached: a job runs on this machine alone; for several \
hosts, use --executor ssh or slurm, or a command that itself starts processes on them (mpirun, ssh, deepspeed \
--hostfile) and [local] several_hosts = true" plan
    expect_said only_stdout_contains 0 '4 jobs: + 4 new' plan --executor slurm
    run_silently 0 --several-hosts --limit 1 --only 'num_hosts = 1'
    run_silently 0
    expect_sql '1|ok|2
2|pending|2' 'SELECT num_hosts, state, count(*) FROM results GROUP BY 1, 2'
    run_silently 0 --several-hosts --limit 1
    run_meshsweep run --progress none
    expect_only_stderr 2 "meshsweep: the database has results of several hosts (1), which would no longer be of this \
sweep, because a job runs on this machine alone; use --executor ssh or slurm, or run the rest here with \
--several-hosts --only 'num_hosts = 1'"
    run_silently 0 --several-hosts --only 'num_hosts = 1'
    rm -r results.db*
    sed -i 's/^num_hosts = .*/num_nodes = [1, 2]/' sweep.toml
    expect_said only_stdout_contains 0 'excluded 2 by hosts.reached' plan
    echo 'several_hosts = true' >>sweep.toml
    run_silently 0
    expect_sql 2 'SELECT count(*) FROM results WHERE num_nodes = 2'
    sed -i '/^\[job\]/,/^command/d' sweep.toml
    expect_said only_stdout_contains 0 '4 jobs: + 4 new' plan
}

# Of all names by which predictions know them.
devices_and_hosts__by_their_other_names__are_those_of_the_job()
{
    while read -r hosts devices; do
        toml job: 'command = "echo $MESHSWEEP_DEVICES {gpus} {nodes} {gpus_per_node}"' local: devices=2 \
            cluster_spec: "$hosts=1,2" "$devices=2" parallel_spec: dp=2,4 >sweep.toml
        expect_said only_stdout_contains 0 'excluded 2 by world-size' plan --several-hosts
        run_silently 0
        expect_sql '2|0,1 2 1 2' 'SELECT j.devices, log_tail FROM job AS j JOIN attempt ON attempt.job_id = j.id'
        rm -r results.db*
    done < <(printf '%s\n' num_hosts\ num_devices_per_host num_nodes\ gpus_per_node nodes\ devices_per_node)
    toml cluster_spec: 'nodes="a,b"' >sweep.toml
    expect_said only_stderr_contains 2 'nodes must be an integer of at least 1' check
}

exclusive_none_or_visible__those_devices_alone()
{
    device_sweep devices=2 exclusive=true
    run_silently 0 -j 4 --limit 3
    expect_devices_apart
    expect_sql "0,1" "SELECT DISTINCT devices FROM attempt"
    # Without devices nothing is given but the port, which needs none.
    rm -rf results.db* got.* order
    device_sweep devices=0
    run_silently 0 --limit 1
    expect "grep -qE '^  [0-9]+$' got.1"
    expect_sql 1 "SELECT devices IS NULL FROM attempt"
    # Those alone that the runner sees.
    rm -rf results.db* got.* order
    device_sweep
    CUDA_VISIBLE_DEVICES=3,7 run_silently 0
    expect_devices_apart
    expect_sql "3
7" "SELECT DISTINCT devices FROM attempt ORDER BY 1"
}

retry__of_a_failed_job__on_other_devices()
{
    device_sweep devices=2 retry: exit=2 backoff=0
    sed -i 's/^command.*/command = ["\/bin\/sh", "-c", "exit 1"]/' sweep.toml
    run_silently 3 --limit 2 --only 'n = 1'
    expect_sql "0
1" "SELECT devices FROM attempt ORDER BY id"
}

cpus__bound__shared_out_evenly()
{
    [ "$(nproc)" -ge 2 ] || skip "one processor"
    device_sweep devices=2 bind_cpus=true
    sed -i "s/^command.*/command = [\"\/bin\/sh\", \"-c\", 'nproc >cpus.{n}; sleep 0.1']/" sweep.toml
    run_silently 0 --limit 2
    expect "[ $(($(cat cpus.1) + $(cat cpus.2))) = $(nproc) ]"
}

# An nvidia-smi that lists two devices, whose memory in use stands in the files used.0 and used.1, in MiB.
stand_in_smi()
{
    stand_in bin/nvidia-smi <<END
cd "$PWD" || exit
if [ "\$1" = -L ]; then
    echo "GPU 0: one"
    echo "GPU 1: other"
    exit
fi
echo "0, GPU-a, \$(cat used.0)"
echo "1, GPU-b, \$(cat used.1)"
END
    echo 3 | tee used.0 >used.1
    PATH=$PWD/bin:$PATH
}

memory__in_use_while_a_job_runs_or_others_wait__its_metric()
{
    stand_in_smi
    device_sweep sample=50ms
    sed -i "s/^command.*/command = [\"\/bin\/sh\", \"-c\", 'echo 2048 >used.0; sleep 2; echo 3 >used.0']/" sweep.toml
    run_silently 0 --limit 1
    expect_sql "device_memory_peak|$((2048 << 20))" "SELECT name, CAST(value AS INTEGER) FROM summary"
    rm -rf results.db* got.*
    # While others wait the devices are looked at every second, whatever `sample` says: that counts as well.
    echo 2048 >used.0
    echo 1024 >used.1
    device_sweep sample=2500ms dirty_memory=60GiB
    sed -i "s/^command.*/command = [\"sleep\", \"4\"]/" sweep.toml
    expect_run only_stderr 0 run --progress json --only 'n <= 3' -j 3
    expect_sql "0|$((2048 << 20))
1|$((1024 << 20))" "SELECT devices, max(CAST(value AS INTEGER)) FROM attempt JOIN summary ON attempt_id = attempt.id
        WHERE attempt.job_id <= 2 GROUP BY 1"
}

dirty_device__passed_over_or_clean_again__reported_or_waited_for()
{
    stand_in_smi
    echo 40000 >used.0
    device_sweep wait_clean=1ms sample=0
    run_meshsweep run --progress plain --limit 3
    expect_among_stderr 0 'device 0 is in use by others (39.1 GiB of memory): waiting for it'
    expect_stderr_contains 'device 0 is in use by others (39.1 GiB of memory): doing without it'
    expect_sql "1|3" "SELECT devices, count(*) FROM attempt WHERE state = 'ok' GROUP BY 1"
    # One that is clean again is waited for.
    rm -rf results.db* got.*
    echo 40000 | tee used.0 >used.1
    device_sweep sample=0
    start_until 'grep -q "waiting for it" .stderr' 20 run --progress plain --limit 1
    expect "[ ! -f got.1 ]"
    echo 3 >used.1
    wait_command only_status 0
    expect_sql "ok|1" "SELECT state, devices FROM attempt"
}

devices__all_in_use_by_others__left_after_a_while()
{
    stand_in_smi
    echo 40000 | tee used.0 >used.1
    device_sweep wait_clean=1ms give_up=1500ms sample=0
    expect_said among_stderr 3 'the jobs that are left need devices that others still use: 0,1; they stay pending for '\
'another run' run --progress plain
    expect_sql "pending|6|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job GROUP BY state"
    echo 3 >used.1
    expect_said only_stderr_contains 0 'device 0 is in use by others' run --progress none
    expect_sql "ok|6|1" "SELECT state, count(*), devices FROM attempt GROUP BY 1, 3"
}

# --- by the driver's library ---

with_nvml() # COMMAND ARGS: device N is the file devices/N
{
    local library=$build_dir/tests/cli/nvml/libnvidia-ml.so.1
    [ -f "$library" ] || skip "there is no $library"
    NVML_DEVICES=$PWD/devices LD_LIBRARY_PATH=${library%/*} "$@"
}

library__memory_and_processes__reported_by_device()
{
    mkdir devices
    echo "3145728 0" >devices/0
    echo "3145728 1" >devices/1
    device_sweep devices=GPU-a,1 sample=50ms wait_clean=1ms
    sed -i "s/^command.*/command = [\"\/bin\/sh\", \"-c\", 'echo $((5 << 30)) 1 >devices\/0; sleep 0.6; echo 3145728 0 \
>devices\/0']/" sweep.toml
    with_nvml run_meshsweep run --progress none --limit 2
    expect_only_stderr_contains 0 'device 1 is in use (3.0 MiB of memory, 1 other processes): waiting for it'
    expect_stderr_lacks 'GPU-a is not clean'
    expect_sql "GPU-a|$((5 << 30))" "SELECT DISTINCT devices, CAST(value AS INTEGER) FROM attempt JOIN summary ON
        attempt_id = attempt.id WHERE name = 'device_memory_peak'"
}

# A device that is at 1000 mJ when its job begins and at 31000 when it ends, and slows down half way.
condition__of_a_device__metrics_of_the_attempt()
{
    mkdir devices
    echo "3145728 0 1700 50 300000 1000 4 7" >devices/0
    device_sweep devices='[0]' sample=50ms wait_clean=0 metrics.per_joule: expression='tokens / energy' better=max \
        metrics.per_watt: expression='tokens / power' better=max job.metrics.tokens: key=tokens
    printf '%s\n' 'echo "tokens: 3000"' 'sleep 0.3' 'echo "3145728 0 1100 81 500000 31000 96 9" >devices/0' \
        'sleep 0.3' >job.sh
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --limit 1
    expect_sql "1100.0|81.0|30.0|2.0|100.0" "SELECT device_clock_least, device_temperature, device_energy, device_ecc,
        per_joule FROM results WHERE state = 'ok'"
    expect_sql "1|1|1|1" "SELECT device_clock > 1100 AND device_clock < 1700, device_power > 300 AND device_power < 500,
        device_throttled > 0 AND device_throttled < 1, abs(per_watt * device_power - 3000) < 0.01
        FROM results WHERE state = 'ok'"
    expect_sql 'NVIDIA Stand-in|NVIDIA Stand-in|1100|["power cap","software thermal","thermal"]' "SELECT device_model,
        device_condition ->> '\$.0.model', device_condition ->> '\$.0.clock_least', device_condition ->> '\$.0.reasons'
        FROM attempt"
    expect_sql "W|J|degC" "SELECT (SELECT unit FROM metric_definition WHERE name = 'device_power'),
        (SELECT unit FROM metric_definition WHERE name = 'device_energy'),
        (SELECT unit FROM metric_definition WHERE name = 'device_temperature')"
}

# Two attempts as they should be, and then two of a device at half of its power: they teach memory, and no time,
# unless the plan says that the device is limited.
condition__limit_of_power__no_time_is_learned()
{
    mkdir devices
    echo "3145728 0 1700 50 300000 1000 4 7 700000" >devices/0
    toml job: command='["/bin/sh", "-c", "echo step_time: 0.5; echo peak: 20"]' \
        job.metrics.step_time: key=step_time job.metrics.peak_memory: key=peak unit=GiB \
        local: devices='[0]' sample=50ms wait_clean=0 model: layers=24 hidden=2048 heads=16 vocab=32000 seq=1024 \
        training_spec: seed=1,2,3,4,5,6 cluster_spec:: num_hosts=1 num_devices_per_host=1 device=H100 \
        parallel_spec:: micro_batch=1 predict: framework=fsdp prune=off >sweep.toml
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --limit 2
    echo "3145728 0 1100 50 300000 1000 4 7 350000" >devices/0
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --limit 2
    expect_sql "memory|4
time|2" "SELECT quantity, count(*) FROM observation GROUP BY 1"
    expect_sql "350.0|700.0" "SELECT min(value), max(value) FROM summary WHERE name = 'device_power_limit'"
    sed -i 's/^micro_batch = 1/&\npower_limit = 350/' sweep.toml
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --limit 2
    expect_sql "4" "SELECT count(*) FROM observation WHERE quantity = 'time'"
}

condition__not_to_be_had__null_with_the_reason()
{
    mkdir devices
    echo "3145728 0 1700 -1 -1 -1 0" >devices/0
    device_sweep devices='[0]' sample=50ms wait_clean=0 metrics.per_joule: expression='n / energy' better=max
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --limit 1
    expect_sql "1700.0|0.0|1" "SELECT device_clock, device_throttled, per_joule IS NULL FROM results WHERE state = 'ok'"
    expect_sql '|not supported|not supported' "SELECT device_condition ->> '\$.0.power',
        device_condition ->> '\$.0.why.power', device_condition ->> '\$.0.why.ecc' FROM attempt"
    expect_sql 1 "SELECT note LIKE '%device_energy%' FROM summary WHERE name = 'per_joule'"
}

# Eight devices of one model, of which the last is hot. Seven jobs have run on the others; the eighth is to run on
# DEVICES.
slowed_sweep() # DEVICES LINES
{
    local i
    mkdir devices
    for i in 0 1 2 3 4 5 6; do echo "0 0 $((1700 + i)) 60 300000 1000 4 0" >"devices/$i"; done
    echo "0 0 900 88 200000 1000 64 0" >devices/7
    toml sweep: objective=max:rate job: command='["/bin/sh", "-c", "echo rate: {x}"]' \
        job.metrics.rate: key=rate parallel_spec: x=1,2,3,4,5,6,7,8 local: wait_clean=0 devices=0,1,2,3,4,5,6 "$2" \
        >sweep.toml
    expect_after only_stderr 0 with_nvml run_meshsweep run --progress none --only 'x < 8' -j 7
    expect_sql "7|0" "SELECT count(DISTINCT devices), count(device_note) FROM attempt"
    sed -i "s/^devices = .*/devices = $1/" sweep.toml
}

clock__lower_than_of_its_peers__marked_and_said()
{
    slowed_sweep '[7]' ''
    with_nvml run_meshsweep run --progress none
    expect_only_stderr 0 'meshsweep: job 8 was measured on a slow device (7 of NVIDIA Stand-in): clock 900 MHz, 1703 '\
'MHz usually; slowed down 100 % of the time, 0 % usually'
    expect_sql "8|clock 900 MHz, 1703 MHz usually; slowed down 100 % of the time, 0 % usually" \
        "SELECT job, device_note FROM results WHERE device_note IS NOT NULL"
    expect_said among_stderr 0 'job 8 was measured on a slow device: clock 900 MHz, 1703 MHz usually; slowed' best
    expect_said among_stderr 0 'job 8 was measured on a slow device: clock' compare --by x
}

# On another device where there is one, and not for ever.
clock__lower_than_of_its_peers__measured_again_where_asked()
{
    slowed_sweep '[7, 3]' 'repeat_throttled = 1'
    with_nvml run_meshsweep run --progress none
    expect_only_stderr_contains 0 '0 % usually; it is measured again'
    expect_sql "7|1
3|0" "SELECT devices, count(device_note) FROM attempt WHERE job_id = 8 GROUP BY id"
    expect_sql "0|8" "SELECT count(device_note), count(*) FROM attempt JOIN job ON attempt_id = attempt.id"
    rm -rf results.db* devices
    slowed_sweep '[7]' 'repeat_throttled = 1'
    with_nvml run_meshsweep run --progress none
    expect_only_stderr_contains 0 'job 8 was measured on a slow device (7 of NVIDIA Stand-in)'
    expect_sql "8|2|2" "SELECT job_id, count(*), count(device_note) FROM attempt GROUP BY job_id HAVING count(*) > 1"
    expect_sql "ok|8" "SELECT state, count(*) FROM job GROUP BY 1"
}

library__without_a_driver__nvidia_smi_asked()
{
    stand_in_smi
    echo 40000 >used.0
    device_sweep wait_clean=1ms
    LD_LIBRARY_PATH=$build_dir/tests/cli/nvml run_meshsweep run --progress none --limit 1
    expect_only_stderr_contains 0 'device 0 is in use by others (39.1 GiB of memory): waiting for it'
    expect_sql 1 "SELECT devices FROM attempt"
}

run_cases "$@"
