#!/usr/bin/env bash
# JSON is a contract: what every command prints with --json is as its schema says, and the same everywhere.
. "$(dirname "$0")/lib.sh"

schemas=$source_dir/docs/schemas

# meshsweep with --json into COMMAND.WHICH.json; it may find nothing or something wrong, but prints a document.
document() # WHICH COMMAND ARGUMENT...
{
    local which=$1 command=$2 code=0
    shift 2
    "$meshsweep" "$command" "$@" >"$command.$which.json" 2>"$command.$which.err" || code=$?
    [ -s "$command.$which.json" ] || fail "$command of $which (status $code): $(head -3 "$command.$which.err")"
}

progress_lines() # WHICH ARGUMENT...
{
    local which=$1
    shift
    "$meshsweep" run --progress json "$@" 2>"run.$which.jsonl" >/dev/null || true
}

# Keys of all types; x = 2 fails, and of y the speed comes.
typed_sweep()
{
    cat >typed.toml <<'END'
[sweep]
objective = "max:rate"
list_values = ["sizes"]
subject_to = ["rate <= 60"]
[job]
command = ["/bin/sh", "job.sh", "{x}", "{y}"]
versions = { shell = "echo 1" }
[job.metrics.rate]
regex = 'rate ([0-9.]+)'
unit = "samples/s"
[[model]]
name = "small"
lr = [0.001, 1.0]
[training_spec]
fused = [true, false]
sizes = [1, 2]
note = "said \"so\""
[parallel_spec]
x = [1, 2]
y = 3
[derive]
both = "x * y"
[[rule]]
name = "not-all"
require = "NOT (x = 2 AND fused AND lr < 0.5)"
why = "an example"
END
    cat >job.sh <<'END'
[ ! -e slow ] || sleep 1.2
[ "$1" = 1 ] || { echo "no such thing"; exit 3; }
echo "rate $((50 * $1))"; echo "rate $((50 * $1 + $$ % 7))"
END
}

table()
{
    cat >table.toml <<'END'
[sweep]
objective = "max:tokens"
group_by = ["model.layers"]
[job.metrics.tokens]
unit = "tokens/s"
better = "max"
[import]
state = "state"
[import.cluster_spec]
num_hosts = "hosts"
num_devices_per_host = 1
[import.model]
layers = "layers"
[import.parallel_spec]
tp = "tp"
[import.metrics]
tokens = "tps"
[[import.refuse]]
when = "tps < 0"
why = "not measured"
END
    cat >table.csv <<'END'
layers,hosts,tp,state,tps
2,1,1,ok,100
2,1,2,ok,140
2,2,1,oom,
4,1,1,ok,60
4,1,2,ok,75
4,2,1,ok,-1
END
}

every_document__valid_and_of_one_type_each()
{
    python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
    typed_sweep
    document typed plan --json -c typed.toml -d typed.db
    document typed plan --json --all -c typed.toml -d typed.db
    document open ask -c typed.toml -d open.db -n 2
    document open status --json -d open.db
    document open show --json -d open.db 1
    document open plan --json -c typed.toml -d open.db
    document refused ask -c typed.toml -d open.db <(echo '[{"x": 2, "fused": true, "lr": 0.001}, {"x": 7}, {"y": 3}]')
    document open tell -d open.db <(echo '{"trial": 1, "metrics": {"rate": 5.5}}')
    progress_lines typed -c typed.toml -d typed.db -j2
    progress_lines again -c typed.toml -d typed.db
    progress_lines wrong -c nothing.toml -d typed.db
    for command in status best stale; do
        document typed "$command" --json -d typed.db
    done
    document typed show --json -d typed.db 1
    document failed show --json -d typed.db "$(sql "SELECT min(id) FROM job WHERE state = 'failed'" typed.db)"
    document typed compare --json -d typed.db --by lr
    document self compare --json typed.db typed.db --by x --fail-slower 5%
    document done plan --json -c typed.toml -d typed.db
    document typed replay --json -d typed.db --strategy grid,random --seeds 2
    "$meshsweep" run -c typed.toml -d failed.db --progress none --only 'x = 2' >/dev/null 2>&1 || true
    for command in status stale; do
        document failed "$command" --json -d failed.db
    done
    sed 's/^objective.*/objective = ["max:rate", "min:duration"]\nreplicate = ["fused"]/' typed.toml >searched.toml
    touch slow
    progress_lines searched -c searched.toml -d searched.db -j4 --strategy random --max-trials 8
    rm slow
    for command in status best; do
        document searched "$command" --json -d searched.db
    done
    sed 's/^objective.*/objective = ["max:rate", "min:duration"]/' typed.toml >several.toml
    "$meshsweep" run -c several.toml -d several.db --progress none --only 'x = 1' >/dev/null 2>&1 || true
    for command in status best; do
        document several "$command" --json -d several.db
    done
    table
    document table import --json -c table.toml -d table.db table.csv
    for command in status best stale; do
        document table "$command" --json -d table.db
    done
    document table show --json -d table.db 1
    document table compare --json -d table.db --by tp
    document table replay --json -c table.toml -d table.db --strategy grid --group-by layers
    document table ask -c table.toml -d table.db <(echo '{"tp": 2, "layers": 4}')
    document models search-model --json --count -c "$source_dir/configs/zhen-search.toml"
    python3 "$tests_source_dir/cli/json_check.py" "$schemas" ./*.*.json* >found || fail "$(grep -v '^#' found)"
    cat found
}

contract__and_what_is_made_from_it__are_the_same()
{
    python3 -c 'import tomllib' 2>/dev/null || skip "Python 3.11 is not installed"
    run_command python3 "$source_dir/scripts/schemas.py" --check
    expect_status 0
    expect_no_stdout
    expect_no_stderr
}

run_cases "$@"
