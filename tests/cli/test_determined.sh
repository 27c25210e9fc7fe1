#!/usr/bin/env bash
# docs/determined.md: its script under both of its sweeps, with a stand-in for the module and the launcher of DeepSpeed.
. "${0%/*}/lib.sh"

# The N-th example of a language.
example() # LANGUAGE N
{
    awk -v opening="\`\`\`$1" -v n="$2" '
        inside && /^```/ { exit }
        inside
        $0 == opening && ++seen == n { inside = 1 }' "$source_dir/docs/determined.md"
}

# One rank of what the script calls. Larger micro-batches are faster; the loss is the rate's distance from 1e-3. With a
# section autotuning the engine prints its steps and ends, and else trains.
stand_in_deepspeed()
{
    stand_in bin/deepspeed <<'END'
while [ "${1#--}" != "$1" ]; do shift; done
exec python3 "$@"
END
    mkdir modules
    cat >modules/task.py <<'END'
class Batch(list):
    def to(self, device):
        return self


class Net:
    def parameters(self):
        return [0.0]


def net():
    return Net()


def training_data():
    return [Batch([1, 2]), Batch([3, 4])]


def validation_data():
    return [Batch([5, 6]), Batch([7, 8]), Batch([9, 10])]
END
    cat >modules/deepspeed.py <<'END'
import itertools
import json
import sys
import types

utils = types.SimpleNamespace(RepeatingLoader=itertools.cycle)
comm = types.SimpleNamespace(all_reduce=lambda value: None)


class Loss(float):
    def detach(self):
        return self

    def __add__(self, other):
        return Loss(float(self) + other)

    __radd__ = __add__

    def item(self):
        return float(self)


class Engine:
    device, world_size, global_rank, global_steps, micro_steps = "cpu", 1, 0, 0, 0

    def __init__(self, config):
        self.config = config
        self.accumulation = config["gradient_accumulation_steps"]

    def __call__(self, batch):
        assert len(batch) == 2
        rate = self.config.get("optimizer", {}).get("params", {}).get("lr", 0)
        return Loss(abs(rate - 1e-3))

    def backward(self, loss):
        assert isinstance(loss, Loss)

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % self.accumulation:
            return
        self.global_steps += 1
        tuning = self.config.get("autotuning")
        if tuning is None:
            return
        if self.global_steps % self.config["steps_per_print"] == 0:
            rate = 10 * self.config["train_micro_batch_size_per_gpu"] - self.config["zero_optimization"]["stage"]
            step = f"global_step={self.global_steps}, RunningAvgSamplesPerSec=1.0"
            print(f"{step}, CurrSamplesPerSec={rate}.0,", flush=True)
        if self.global_steps > tuning["end_profile_step"]:
            sys.exit()

    def eval(self):
        pass

    def deepspeed_io(self, data, route):
        assert route == "eval"
        return data


def add_config_arguments(parser):
    parser.add_argument("--deepspeed_config")
    return parser


def initialize(args, model, model_parameters, training_data):
    assert model_parameters == model.parameters()
    with open(args.deepspeed_config) as file:
        return Engine(json.load(file)), None, training_data, None
END
    example python 1 >train.py
    expect "grep -q deepspeed.initialize train.py"
    export PATH="$PWD/bin:$PATH" PYTHONPATH="$PWD/modules"
}

# As many devices as the examples ask for, whatever the machine has.
sweep_of_example() # N
{
    example toml "$1" >sweep.toml
    printf '%s\n' '' '[local]' 'devices = 8' >>sweep.toml
    sed -i 's/^command = \[/pass_env = ["PYTHONPATH"]\n&/' sweep.toml
}

script__under_both_sweeps__the_fastest_and_the_least_loss_win()
{
    stand_in_deepspeed
    sweep_of_example 1
    run_ended 0
    expect_sql "1|32|319.0" 'SELECT "zero_optimization.stage", train_micro_batch_size_per_gpu, throughput FROM ranking
        ORDER BY rank LIMIT 1'
    rm -r results.db*
    sweep_of_example 2
    echo '{ "optimizer": { "type": "AdamW", "params": { "lr": 0.1, "eps": 1e-8 } } }' >ds_config.json
    run_ended 0
    expect_sql "6|6" "SELECT count(*), sum(state = 'ok') FROM results"
    expect_sql "0.001|0.0" 'SELECT "optimizer.params.lr", val_loss FROM ranking ORDER BY rank LIMIT 1'
    # The rest of the base file stands, and the batch is complete.
    for file in results.db.d/*/1/ds_config.json; do
        expect_file_contains "$file" '"eps": 1e-8' '"train_batch_size": 32' '"gradient_accumulation_steps": '
    done
}

run_cases "$@"
