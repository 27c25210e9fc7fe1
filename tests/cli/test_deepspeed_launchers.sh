#!/usr/bin/env bash
# meshsweep deepspeed: launchers, hosts and devices: the words that each gets, and what is refused at once.
. "${0%/*}/lib.sh"

PATH=$source_dir/tests/standin:$PATH

plain() # AUTOTUNING-MEMBERS MEMBERS
{
    echo "{ $2, \"autotuning\": { \"enabled\": true${1:+, $1} } }" >ds_config.json
    : >train.py
}

tune() # ARGUMENT...
{
    run_meshsweep deepspeed --autotuning=tune --progress none "$@"
}

launchers__their_words__and_one_of_ones_own()
{
    plain '"num_gpus": 2' '"zero_optimization": {"stage": 1}'
    for launcher in 'torchrun|"torchrun", "--nnodes={nodes}", "--nproc_per_node={gpus_per_node}", '\
'"--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0", "train.py"' \
        'accelerate|"accelerate", "launch", "--num_machines={nodes}", "--num_processes={gpus}", '\
'"--main_process_port={master_port}"' 'srun|"srun", "--nodes={nodes}"' \
        'deepspeed|"deepspeed", "--num_nodes={nodes}", "--num_gpus={gpus_per_node}", '\
'"--master_port={master_port}", "train.py"' \
        'mpirun -np {gpus} python3|"mpirun", "-np", "{gpus}", "python3", "train.py"'; do
        run_meshsweep deepspeed --print-config --launcher "${launcher%%|*}" train.py --deepspeed ds_config.json
        expect_only_stdout_contains 0 "command = [${launcher#*|}"
    done
    # Options of DeepSpeed's own launcher are handed on, or refused of another one.
    run_meshsweep deepspeed --print-config --module --no_local_rank --bind_cores_to_rank --master_addr w0 \
        --launcher_args '-f 8' --config_base64 pack.train --deepspeed=ds_config.json
    expect_only_stdout_contains 0 '"--master_port={master_port}", "--master_addr=w0", "--launcher_args=-f 8", '\
'"--bind_cores_to_rank", "--no_local_rank", "--module", "pack.train", "--deepspeed={ds_config_base64}"]'
    for option in --no_local_rank --bind_cores_to_rank '--ssh_port 2222'; do
        # shellcheck disable=SC2086 # words
        tune --launcher torchrun $option train.py --deepspeed ds_config.json
        expect_only_stderr_contains 2 "meshsweep: ${option% *}: only for DeepSpeed's own launcher"
    done
    run_meshsweep deepspeed --print-config --no_python --no_ssh_check --force_multi --ssh_port 2222 --venv_script v.sh \
        --log_level error -q --bind_core_list 0-3 --num_accelerators 2 train.sh --deepspeed ds_config.json
    expect_only_stdout_contains 0 '"--bind_core_list=0-3", "--no_python", "--no_ssh_check", "--force_multi", '\
'"--ssh_port=2222", "--venv_script=v.sh", "--log_level=error", "--quiet", "train.sh", "--deepspeed", "{ds_config}"]'
    # DeepSpeed's own words for how it reaches hosts are no programs.
    expect_run only_stdout 0 deepspeed --print-config train.py --deepspeed ds_config.json
    cp .stdout usual
    expect_run only_stdout 0 deepspeed --print-config --launcher pdsh train.py --deepspeed ds_config.json
    expect "cmp -s usual .stdout"
    for name in openmpi mpich impi mvapich slurm; do
        expect_after only_stderr 2 tune --launcher "$name" train.py --deepspeed ds_config.json
        expect_stderr_contains "meshsweep: --launcher $name: DeepSpeed cannot restrict it to the hosts and devices of "
        expect "[ ! -e results.db ]"
    done
}

launchers__several_hosts__one_on_each_or_refused()
{
    plain '"num_gpus": 2, "num_nodes": [1, 2]' '"zero_optimization": {"stage": 1}'
    for launcher in torchrun accelerate; do
        tune --launcher "$launcher" train.py --deepspeed ds_config.json
        expect_only_stderr_contains 2 "--launcher $launcher starts ranks only on this machine"
        expect "! [ -e results.db ]"
        # One host is no trouble, and a step of Slurm's has a launcher on each.
        run_meshsweep deepspeed --print-config --num_nodes 1 --launcher "$launcher" train.py --deepspeed ds_config.json
        expect_only_stdout_contains 0 "command = [\"$launcher\""
    done
    stand_in slurm/srun <<'END'
while [ "$1" != /bin/sh ]; do shift; done
SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NODELIST=a,b exec "$@"
END
    stand_in slurm/scontrol <<<'printf "a\nb\n"'
    stand_in slurm/torchrun <<<'echo "$@" >>torchrun.words'
    run_command env PATH="$PWD/slurm:$PATH" SLURM_JOB_ID=7 "$meshsweep" deepspeed --progress none \
        --launcher torchrun --master_port 29999 --launcher_args=--max_restarts=0 --module train \
        --deepspeed "$PWD/ds_config.json"
    expect_only_stderr 3
    expect "cat results.db.d/*/*/torchrun.words torchrun.words 2>/dev/null | grep -q -- \
        '--nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=7.1 --rdzv_endpoint=a:29999 --max_restarts=0'"
}

hosts() # HOST...
{
    export STANDIN_HOSTS=$PWD/network
    local host
    for host; do
        mkdir -p "$STANDIN_HOSTS/$host"
        echo "$host slots=4"
    done >hosts
}

# Asserts what a node was told: host, rank, devices, working directory, words.
expect_node() # RANK TEXT
{
    cat network/meeting.*/"$1" | grep -qF -e "$2" || fail "node $1 was told: $(cat network/meeting.*/"$1")"
}

hostfile__torchrun_and_accelerate__one_on_each_host_by_ssh()
{
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}'
    hosts w0 w1
    export HF_TOKEN=hf_secretsecret ODD=$'two\nlines "and" $quotes'
    for launcher in torchrun accelerate; do
        rm -rf network/meeting* network/*/commands
        tune -d "$launcher.db" --launcher "$launcher" -H hosts -i 'w0:0,1@w1:2,3' train.py --say "it's 5% of {x}" \
            --deepspeed ds_config.json
        expect_only_stderr_contains 0 'the best configuration is'
        expect_sql '' "SELECT failure, message, log_tail FROM attempt WHERE state = 'failed'" "$launcher.db"
        expect_sql 'ok|2|w0:0,1@w1:2,3' 'SELECT state, count(*), include FROM results GROUP BY 1' "$launcher.db"
        expect_node 0 "w0 0 0,1 $PWD torchrun --nnodes=2 --nproc_per_node=2 --node_rank=0 --master_addr=192.0.2.48 "
        expect_node 1 "w1 1 2,3 $PWD torchrun --nnodes=2 --nproc_per_node=2 --node_rank=1 --master_addr=192.0.2.48 "
        expect_node 1 "train.py --say it's 5% of {x} --deepspeed "
        # Settings go there, and not in a command line that everybody sees.
        expect "grep -qx HF_TOKEN=hf_secretsecret $launcher.db.d/*/1/environment"
        expect "grep -qx 'two' <(sed -n 's/^ODD=//p' $launcher.db.d/*/1/environment)"
        expect "grep -qx HOME=$STANDIN_HOSTS/w0 $launcher.db.d/*/1/environment"
        expect "grep -q 'exec bash -s' network/w1/commands && ! grep -rq hf_secret network/w?/commands"
    done
    # The winner's command needs nothing of ours.
    run_command sh autotuning_results/cmd_optimal.txt
    expect_only_stdout_contains 0 'training with stage 1, micro-batch 2 on 4 devices'
}

hostfile__a_node_fails_or_is_not_reached__its_status_and_the_others_end()
{
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    hosts w0 w1
    STANDIN_TORCHRUN=fail run_meshsweep deepspeed --progress none --launcher torchrun -H hosts train.py \
        --deepspeed ds_config.json
    expect_only_stderr 3
    expect_sql 'exit status 7: node 1 fails' "SELECT DISTINCT message FROM attempt"
    cat network/meeting.*/pid.* >pids
    while read -r pid; do
        wait_until "! kill -0 $pid 2>/dev/null" 20
    done <pids
    rm -r network/w1
    expect_after only_stderr 3 tune -d none.db --launcher torchrun -H hosts train.py --deepspeed ds_config.json
    expect_sql '1' "SELECT DISTINCT log_tail LIKE '%Could not resolve hostname w1%' FROM attempt" none.db
}

# Processes that ssh has started go on when its client is gone, but for the watch that is kept there.
hostfile__client_killed__nothing_goes_on_there()
{
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    hosts w0 w1
    tune --launcher torchrun --master_addr w0 --master_port 29999 -H hosts train.py --deepspeed ds_config.json
    expect_only_stderr 0
    rm -r network/meeting*
    export STANDIN_TORCHRUN=hang
    start_command sh -c "exec $(cat autotuning_results/cmd_optimal.txt)"
    wait_until '[ -s network/meeting.w0.29999/pid.0 ] && [ -s network/meeting.w0.29999/pid.1 ]' 20
    end_command KILL only_stderr 137
    # shellcheck disable=SC2046 # several numbers
    kill -KILL $(cat network/w?/client)
    for rank in 0 1; do
        wait_until "! kill -0 $(cat network/meeting.w0.29999/pid."$rank") 2>/dev/null" 20
    done
}

# A host with files of its own: its `stat` says so.
hostfile__a_host_does_not_see_the_files__jobs_get_the_ds_config_itself()
{
    plain '"num_gpus": 2' '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}'
    hosts w0 w1
    for launcher in torchrun deepspeed; do
        run_meshsweep deepspeed --print-config --launcher "$launcher" -H hosts train.py --deepspeed ds_config.json
        expect_only_stdout_contains 0 '"--deepspeed", "{ds_config}"]'
    done
    stand_in network/w1/bin/stat <<<'echo welcome; exit 1'
    for option in --deepspeed=ds_config.json --deepspeed_config=ds_config.json; do
        rm -rf results.db* autotuning_*
        expect_after only_stderr 0 tune --launcher torchrun -H hosts train.py "$option"
        expect_stderr_contains "meshsweep: w1 does not see $PWD/ds_config.json; each job gets its ds_config in its \
command instead (--config_base64)"
        expect_sql 'ok|2' 'SELECT state, count(*) FROM results GROUP BY 1'
    done
    run_command sh autotuning_results/cmd_optimal.txt
    expect_only_stdout_contains 0 'training with stage 1, micro-batch 2 on 4 devices'
}

accelerate_yaml() # LINE...
{
    printf '%s\n' 'compute_environment: LOCAL_MACHINE' 'debug: false' 'deepspeed_config:' "$@" \
        'distributed_type: DEEPSPEED # by accelerate config' 'downcast_bf16: "no"' 'fsdp_config: {}' \
        "main_training_function: 'main'" 'machine_rank: 0' 'same_network: true' 'tpu_env: []' 'use_cpu: false' \
        >accelerate.yaml
}

accelerate__its_configuration__names_devices_and_the_ds_config()
{
    plain '' '"train_micro_batch_size_per_gpu": [1, 2], "zero_optimization": {"stage": 1}'
    mv ds_config.json of_accelerate.json
    accelerate_yaml '  deepspeed_config_file: of_accelerate.json' '  zero3_init_flag: true' 'num_machines: 1' \
        'num_processes: 2' 'gpu_ids: 4,5' 'main_process_port: 29500'
    run_command env CUDA_VISIBLE_DEVICES=2,3,4,5 "$meshsweep" deepspeed --progress none --launcher accelerate \
        --config_file accelerate.yaml train.py
    expect_only_stderr_contains 0 'the best configuration is'
    expect_sql 'ok|2|1|2' 'SELECT state, count(*), num_hosts, num_devices_per_host FROM results GROUP BY 1'
    expect_sql '4,5' 'SELECT DISTINCT devices FROM attempt'
    expect "grep -qE -- '^accelerate launch --num_machines=1 --num_processes=2 --main_process_port=[0-9]+ '\
'--config_file=$PWD/accelerate.yaml --gpu_ids=all --deepspeed_config_file=$PWD/autotuning_results/'\
'ds_config_optimal.json train.py$' autotuning_results/cmd_optimal.txt"
    # The command line goes over it, and the script's own word over its file.
    printf '{"num_machines": 1, "num_processes": 2, "distributed_type": "MULTI_GPU"}' >accelerate.json
    mv of_accelerate.json ds_config.json
    run_meshsweep deepspeed --print-config --launcher accelerate --config_file accelerate.json --num_gpus 4 train.py \
        --deepspeed ds_config.json
    expect_only_stdout_contains 0 '"num_devices_per_host" = 4'
    expect_stdout_contains '"--config_file='"$PWD"'/accelerate.json", "--gpu_ids=all", "train.py", "--deepspeed", "{ds'
}

# As Accelerate's own plugin makes it (utils/dataclasses.py), and then without what Accelerate refuses beside one.
accelerate__keys_of_its_plugin__made_a_ds_config()
{
    local expected='{"train_batch_size":"auto","train_micro_batch_size_per_gpu":"auto",'\
'"zero_optimization":{"stage":2,"offload_optimizer":{"device":"cpu"},"offload_param":{"device":"none"},'\
'"stage3_gather_16bit_weights_on_model_save":true},"gradient_accumulation_steps":4,"gradient_clipping":"auto",'\
'"bf16":{"enabled":true}}'
    : >train.py
    accelerate_yaml '  gradient_accumulation_steps: 4' '  offload_optimizer_device: cpu' \
        '  offload_param_device: none' '  zero3_init_flag: false' \
        '  zero3_save_16bit_model: yes' '  offload_optimizer_nvme_path: /nvme' \
        '  zero_stage: 2' "mixed_precision: 'bf16'" 'num_processes: 2'
    expect_after only_stderr 0 tune --launcher accelerate --config_file accelerate.yaml train.py
    expect_sql "$expected" "SELECT json(cast(readfile('autotuning_exps/ds_config.json') AS TEXT))" :memory:
    expect "grep -q -- '--config_file=$PWD/autotuning_exps/accelerate.yaml ' autotuning_results/cmd_optimal.txt"
    expect "diff <(grep -vE 'zero_stage|offload_|gradient_|16bit|mixed_' accelerate.yaml) \
        autotuning_exps/accelerate.yaml"
    expect_sql '2|cpu|1' "SELECT c ->> '$.zero_optimization.stage',
        c ->> '$.zero_optimization.offload_optimizer.device', c ->> '$.train_micro_batch_size_per_gpu' > 1
        FROM (SELECT cast(readfile('autotuning_results/ds_config_optimal.json') AS TEXT) AS c)" :memory:
    expect_said_by only_stdout_contains 0 'training with stage 2' run_command sh autotuning_results/cmd_optimal.txt
    # The same on one line, as JSON, and with nothing but defaults.
    rm -rf autotuning_exps
    sed -n '/^[a-z]/p' accelerate.yaml | sed 's/^deepspeed_config:/& {zero_stage: 2, offload_optimizer_device: cpu, '\
'zero3_save_16bit_model: True, gradient_accumulation_steps: 4, zero3_init_flag: false}/' >flow.yaml
    expect_run only_stdout 0 deepspeed --print-config --launcher accelerate --config_file flow.yaml train.py
    expect_sql "$expected" "SELECT json(cast(readfile('autotuning_exps/ds_config.json') AS TEXT))" :memory:
    expect_file_contains autotuning_exps/accelerate.yaml '  zero3_init_flag: false'
    echo '{"distributed_type": "DEEPSPEED", "num_processes": 2, "mixed_precision": "fp16", "deepspeed_config":
        {"zero_stage": 3, "gradient_clipping": 0.5, "offload_param_device": "nvme", "offload_param_nvme_path": "/n"}}' \
        >accelerate.json
    expect_run only_stdout 0 deepspeed --print-config --launcher accelerate --config_file accelerate.json train.py
    expect_sql '3|/n|0.5|1' "SELECT c ->> '$.zero_optimization.stage',
        c ->> '$.zero_optimization.offload_param.nvme_path', c ->> '$.gradient_clipping', c ->> '$.fp16.enabled'
        FROM (SELECT cast(readfile('autotuning_exps/ds_config.json') AS TEXT) AS c)" :memory:
    expect_sql '{"distributed_type":"DEEPSPEED","num_processes":2,"deepspeed_config":{}}' \
        "SELECT json(cast(readfile('autotuning_exps/accelerate.yaml') AS TEXT))" :memory:
    accelerate_yaml 'num_processes: 2'
    expect_run only_stdout 0 deepspeed --print-config --launcher accelerate --config_file accelerate.yaml train.py
    expect_file_contains autotuning_exps/ds_config.json '"stage": 2'
}

accelerate__its_configuration__several_hosts()
{
    plain '' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    hosts w0 w1
    accelerate_yaml '  deepspeed_config_file: ds_config.json' "  deepspeed_hostfile: $PWD/hosts" \
        '  deepspeed_inclusion_filter: "w0:2,3@w1:0,1"' '  deepspeed_multinode_launcher: pdsh' 'num_machines: 2' \
        'num_processes: 4' 'main_process_ip: w0' 'main_process_port: 29999'
    expect_after only_stderr 0 tune --launcher accelerate --config_file accelerate.yaml train.py
    expect_sql 'ok|2|2|w0:2,3@w1:0,1' 'SELECT state, num_hosts, num_devices_per_host, include FROM results'
    expect_node 1 "w1 1 0,1 $PWD torchrun --nnodes=2 --nproc_per_node=2 --node_rank=1 --master_addr=w0 \
--master_port=29999"
}

accelerate__a_configuration_that_cannot_be_tuned__one_sentence()
{
    plain '"num_gpus": 2' '"zero_optimization": {"stage": 1}'
    while IFS='|' read -r line message; do
        accelerate_yaml "${line//;/$'\n'}"
        run_meshsweep deepspeed --launcher accelerate --config_file accelerate.yaml train.py
        expect_only_stderr_contains 2 "meshsweep: $message"
        expect_no_file results.db
    done <<'END'
  zero_stage: 2;  deepspeed_config_file: ds_config.json|accelerate.yaml: Accelerate refuses zero_stage beside deepsp
  zero_stage: two|accelerate.yaml:4: deepspeed_config.zero_stage must be a whole number or auto
  gradient_clipping: -1|accelerate.yaml:4: deepspeed_config.gradient_clipping must be a number or auto
mixed_precision: fp8|accelerate.yaml:4: mixed_precision fp8 cannot be combined
  deepspeed_config_file: other.json|other.json: 
num_processes: many|accelerate.yaml:4: num_processes must be a whole number
num_machines: 2;num_processes: 3|accelerate.yaml: 3 processes cannot be divided evenly among 2 machines
just a text|accelerate.yaml:4:1: could not find expected ':'
END
    echo just a text >accelerate.yaml
    run_meshsweep deepspeed --launcher accelerate --config_file accelerate.yaml train.py
    expect_only_stderr_contains 2 'meshsweep: accelerate.yaml:1: expected "KEY: VALUE"'
    accelerate_yaml 'mixed_precision: fp16'
    sed -i 's/DEEPSPEED/MULTI_GPU/' accelerate.yaml
    run_meshsweep deepspeed --launcher accelerate --config_file accelerate.yaml train.py
    expect_only_stderr_contains 2 'no ds_config is given; add --deepspeed FILE'
    accelerate_yaml
    sed -i 's/DEEPSPEED/FSDP/' accelerate.yaml
    run_meshsweep deepspeed --launcher accelerate --config_file accelerate.yaml train.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: accelerate.yaml: distributed_type FSDP uses no ds_config; '\
'`meshsweep run` tunes it: profiles fsdp and fsdp2'
    run_meshsweep deepspeed --launcher torchrun --config_file ds_config.json train.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: --config_file: needs --launcher accelerate'
}

hostfile__with_filters__as_many_as_are_left()
{
    plain '' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    printf '# two hosts\nw0 slots=4\n\nw1 slots=8\n' >hosts
    expect_after only_stderr 0 tune -H hosts -i 'w0:0,1@w1:4,5' train.py --deepspeed ds_config.json
    expect_sql '2|2' 'SELECT num_hosts, num_devices_per_host FROM results'
    tune -H hosts -e w1:9 train.py --deepspeed ds_config.json
    expect_only_stderr 2 'meshsweep: exclude: host w1 has no slot `9`'
}

# A rank too many would contradict the batch, in the stand-in as in DeepSpeed.
hostfile__uneven_hosts_and_lists__each_job_its_own_devices()
{
    plain '"num_gpus": [1, 2, 3], "num_nodes": [1, 2]' \
        '"train_micro_batch_size_per_gpu": [1], "train_batch_size": 24, "zero_optimization": {"stage": 1}'
    printf 'w0 slots=2\nw1 slots=8\n' >hosts
    expect_after only_stderr 0 tune -H hosts -i 'w0@w1:4,5,6' train.py --deepspeed ds_config.json
    expect_sql '1|1|w0:0
1|2|w0:0,1
1|3|w1:4,5,6
2|1|w0:0@w1:4
2|2|w0:0,1@w1:4,5' "SELECT num_hosts, num_devices_per_host, include FROM results WHERE state = 'ok' ORDER BY 1, 2"
    expect_sql 'devices.exist|1|the hostfile has 2 hosts with 5 devices in total' \
        "SELECT rule, excluded, reason FROM excluded WHERE excluded > 0"
    expect_file_contains autotuning_results/cmd_optimal.txt "--hostfile=$PWD/hosts --include=w0:0,1@w1:4,5"
}

# The launcher takes devices 0, 1, ... when it is told how many, whatever CUDA_VISIBLE_DEVICES says. Jobs that wait for
# each other can only do so side by side.
own_devices__side_by_side__each_job_with_those_that_it_is_given()
{
    plain '"num_gpus": 1, "model_info": {"num_params": 1000000}' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": [0, 1]}'
    stand_in bin/deepspeed <<END
touch $PWD/met.\$MESHSWEEP_JOB
for i in \$(seq 200); do
    [ \$(ls $PWD/met.* | wc -l) != 2 ] || exec $source_dir/tests/standin/deepspeed "\$@"
    sleep 0.1
done
exit 9
END
    run_command env PATH="$PWD/bin:$PATH" CUDA_VISIBLE_DEVICES=4,5 "$meshsweep" deepspeed --progress none \
        train.py --deepspeed ds_config.json
    expect_only_stderr 0
    expect_sql '4
5' 'SELECT devices FROM attempt ORDER BY 1'
    expect "grep -qE '^deepspeed --include=localhost:[45] --master_port=[0-9]+ train.py' \
        autotuning_results/cmd_optimal.txt"
    # All that one job has are more than the other can have beside it; one port is one job's.
    plain '"num_gpus": [1, 2]' '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": [0, 1]}'
    run_command env CUDA_VISIBLE_DEVICES=4,5,6 "$meshsweep" deepspeed --progress none --master_port 29999 -d two.db \
        -e localhost:6 train.py --deepspeed ds_config.json
    expect_only_stderr 0
    expect_sql '0' "SELECT count(*) FROM attempt AS a JOIN attempt AS b ON a.id < b.id AND a.ended > b.started" two.db
    expect_sql '2|localhost:4
2|localhost:4,5' 'SELECT count(*), include FROM results GROUP BY 2 ORDER BY 2' two.db
}

command_line__beside_the_ds_config__what_there_is_at_most()
{
    plain '"num_gpus": [2, 4], "num_nodes": [1, 2]' \
        '"train_micro_batch_size_per_gpu": [1], "zero_optimization": {"stage": 1}'
    expect_after only_stderr 0 tune --num_gpus 2 train.py --deepspeed ds_config.json
    expect_sql '1|2' 'SELECT num_hosts, num_devices_per_host FROM results'
    expect_sql 'num-gpus|--num_gpus gives no more devices of a host
one-machine|without a hostfile (-H FILE) the launcher uses only this machine' \
        "SELECT rule, reason FROM excluded WHERE excluded > 0 ORDER BY 1"
}

run_cases "$@"
