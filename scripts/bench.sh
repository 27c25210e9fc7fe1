#!/usr/bin/env bash
# Measures the tool against its peers, in one run on one machine: scripts/bench.sh [PART...]
#
#   plan       products under rules: 10,485,760 of which 69,120 match; one section of 8,388,608 of which 596 match;
#              20 models x 16 clusters of which 47,680 match; 10^12 of which 10,000 match; 10^15 of which none matches;
#              40 spaces drawn from BENCH_SEED (1) against loops in Python that test a rule as soon as its keys are bound;
#              until the first job of the second has run
#   enumerate  1,000,000 jobs enumerated into a new database until the first has run, and the second run, when all
#              are done
#   interrupts  how long a run lives after SIGINT while it lists a million jobs: BENCH_SAMPLES (30) moments drawn from
#              BENCH_SEED (1), with --limit 1 and without; only when it is asked for
#   jobs       10,000 trivial jobs at two in flight, everything recorded
#   models     13,528,268 model candidates filtered by their parameters: by the preset, by an SQL expression
#   views      a million jobs that are done: results, status and best, and all as CSV against the sqlite3 shell; the report
#              over 10,000
#   imported   a measured table of BENCH_ROWS (1000000) rows, each a job with two metrics and a spec of its own: import,
#              check, compare, plan, export, report; only when it is asked for
#   slurm      10,000 jobs queued at once at stand-ins for Slurm's commands, and collected: processor time of the runner
#              and the commands together, memory, questions to the queue; only when it is asked for
#   memory     the largest resident size of each of these (run once more where it was not measured above)
#
#   accuracy   predictions against published measurements, where their tables are (MESHSWEEP_SHARED_DATA); only when
#              it is asked for
#
#   search     search strategies against published measurements, where their tables are; only when it is asked for
#
#   decisions  how long the strategy `model` takes to decide among BENCH_CANDIDATES (1000 10000 100000 1000000); only when
#              it is asked for: a million rows are imported for minutes
#
# Without a PART, all others. Prints a Markdown table: the median of BENCH_RUNS (3) runs, the tool and its peers in
# turns, and how many times longer than the tool each peer took. Figures of other days or machines cannot be compared;
# the ratios can. BENCH_JOBS and BENCH_SLOTS set the size of the part `jobs`, BENCH_SPACES (40) how many spaces are drawn
# of each kind, BENCH_DIR where files are made (its file system counts: every result is committed durably). BENCH_PROGRAM
# is measured in place of one that is built for it.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
: "${BENCH_CANDIDATES:=1000 10000 100000 1000000}" "${BENCH_ROWS:=1000000}" "${BENCH_RUNS:=3}" "${BENCH_JOBS:=10000}" "${BENCH_SLOTS:=2}" "${BENCH_DIR:=$root/build-bench}"
meshsweep=${BENCH_PROGRAM-$root/build-bench/meshsweep}
peers=$root/scripts/bench_peers.py

die()
{
    echo "bench.sh: $*" >&2
    exit 1
}

has()
{
    type -P "$1" >/dev/null
}

# --- measuring ---

# Every contestant of a part is a function run_NAME: it does the work once in an empty directory, prints nothing on
# standard output, and fails when the work was not done. Before it, and not measured, runs prepare_NAME where there
# is one.
declare -A seconds_of kib_of

# Appends seconds and, where GNU time is installed, KiB to those of the contestant.
measure_once() # NAME
{
    local directory start end
    directory=$(mktemp -d "$BENCH_DIR/run.XXXXXX")
    (
        cd "$directory"
        ! declare -F "prepare_$1" >/dev/null || "prepare_$1" >prepared
    ) || die "$1: could not be prepared"
    start=$EPOCHREALTIME
    (cd "$directory" && "run_$1" 2>errors) || { tail -n 20 "$directory/errors" >&2; die "$1 failed"; }
    end=$EPOCHREALTIME
    (cd "$directory" && "verify_$1") || die "$1 did not do the work"
    seconds_of[$1]+=" $(awk -v a="$start" -v b="$end" 'BEGIN { print b - a }')"
    [ ! -s "$directory/kib" ] || kib_of[$1]+=" $(tail -n 1 "$directory/kib")"
    rm -rf "$directory"
}

# Runs the command under GNU time, which leaves the peak of its memory in ./kib: that of the largest process among the
# command and what it waited for.
timed()
{
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -q -f %M -o kib "$@"
    else
        "$@"
    fi
}

median() # NUMBER...
{
    printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# In turns, so that a slow minute of the machine meets all of them.
measure() # NAME...
{
    local round name
    for ((round = 0; round < BENCH_RUNS; round++)); do
        for name; do
            echo "bench.sh: $name, run $((round + 1)) of $BENCH_RUNS" >&2
            measure_once "$name"
        done
    done
}

# One row per contestant. The first one is the tool.
table() # TITLE OPERATIONS NAME...
{
    local title=$1 operations=$2 name reference='' seconds
    shift 2
    printf '\n### %s\n\n| | seconds | per second | against meshsweep |\n|---|---|---|---|\n' "$title"
    for name; do
        # shellcheck disable=SC2086 # a list of numbers
        seconds=$(median ${seconds_of[$name]})
        : "${reference:=$seconds}"
        awk -v name="${labels[$name]}" -v s="$seconds" -v n="$operations" -v r="$reference" \
            'BEGIN { printf "| %s | %.3f | %.0f | %.2f× |\n", name, s, n / s, s / r }'
    done
}

# Leaves in `contestants` the names of the list whose program is installed; says which are left out.
contestants=()
choose() # NAME:PROGRAM...
{
    local pair
    contestants=()
    for pair; do
        if has "${pair#*:}"; then
            contestants+=("${pair%%:*}")
        else
            echo "bench.sh: left out, not installed: ${pair#*:}" >&2
        fi
    done
}

declare -A labels

# --- plan ---

labels[plan]="meshsweep plan"
labels[plan_sqlite]="the join alone, in the sqlite3 shell"
labels[plan_python]="loops in Python"

write_plan_sweep()
{
    cat >sweep.toml <<'END'
[sweep]
name = "ten-million"

[job]
command = ["/bin/true", "{layers}", "{tp}", "{pp}", "{dp}"]

[local]
several_hosts = true

[[model]]
layers = [2, 4, 6, 8, 12, 16, 24, 32, 40, 48]
"(hidden, heads)" = [[1024, 16], [5120, 40]]

[[cluster_spec]]
num_hosts = [1, 2, 4, 8]
num_devices_per_host = [1, 2, 4, 8]

[[parallel_spec]]
tp = [1, 2, 3, 4, 6, 8, 12, 16]
pp = [1, 2, 3, 4, 6, 8, 12, 16]
dp = [1, 2, 3, 4, 6, 8, 12, 16]
micro_batch = [1, 2, 4, 8, 16, 32, 64, 128]
zero_stage = [0, 1, 2, 3]
recompute = [0, 1]

[[rule]]
name = "world-size"
require = "tp * pp * dp = num_hosts * num_devices_per_host"
why = "degrees must multiply to the number of devices"

[[rule]]
name = "layers-divide-by-pp"
require = "layers % pp = 0"
why = "layers must be a multiple of pipeline stages"

[[rule]]
name = "heads-divide-by-tp"
require = "heads % tp = 0"
why = "attention heads must be a multiple of the tensor-parallel degree"

[[rule]]
name = "batch-divides"
require = "96 % (micro_batch * dp) = 0"
why = "the batch must be a multiple of micro-batch and data-parallel degree"

[[rule]]
name = "zero-or-pipeline"
require = "NOT (zero_stage >= 2 AND pp > 1)"
why = "ZeRO stages 2 and 3 do not combine with a pipeline"
END
}

prepare_plan() { write_plan_sweep; }
run_plan() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out; }
verify_plan() { grep -Eq '\b69120\b' out; }

prepare_plan_sqlite()
{
    cat >plan.sql <<'END'
CREATE TABLE degree AS SELECT value AS v FROM json_each('[1,2,3,4,6,8,12,16]');
CREATE TABLE model AS SELECT l.value AS layers, s.value ->> 0 AS hidden, s.value ->> 1 AS heads
    FROM json_each('[2,4,6,8,12,16,24,32,40,48]') AS l, json_each('[[1024,16],[5120,40]]') AS s;
CREATE TABLE cluster AS SELECT h.value * d.value AS gpus FROM json_each('[1,2,4,8]') AS h, json_each('[1,2,4,8]') AS d;
CREATE TABLE parallel AS
    SELECT t.v AS tp, p.v AS pp, d.v AS dp, m.value AS micro_batch, z.value AS zero_stage, r.value AS recompute
    FROM degree AS t, degree AS p, degree AS d, json_each('[1,2,4,8,16,32,64,128]') AS m, json_each('[0,1,2,3]') AS z,
        json_each('[0,1]') AS r;
SELECT count(*) FROM model, cluster, parallel
    WHERE tp * pp * dp = gpus AND layers % pp = 0 AND heads % tp = 0 AND 96 % (micro_batch * dp) = 0
        AND NOT (zero_stage >= 2 AND pp > 1);
END
}
run_plan_sqlite() { timed sqlite3 :memory: <plan.sql >out; }
verify_plan_sqlite() { grep -qx 69120 out; }

run_plan_python() { timed python3 "$peers" plan >out; }
verify_plan_python() { grep -qx 69120 out; }

labels[plan_minizinc]="MiniZinc with Gecode, all solutions"
prepare_plan_minizinc()
{
    cat >model.mzn <<'END'
set of int: degrees = {1, 2, 3, 4, 6, 8, 12, 16};
array [1..2] of int: heads = [16, 40];
var {2, 4, 6, 8, 12, 16, 24, 32, 40, 48}: layers;
var 1..2: shape;
var {1, 2, 4, 8}: hosts;
var {1, 2, 4, 8}: devices;
var degrees: tp;
var degrees: pp;
var degrees: dp;
var {1, 2, 4, 8, 16, 32, 64, 128}: micro_batch;
var 0..3: zero_stage;
var 0..1: recompute;
constraint tp * pp * dp = hosts * devices;
constraint layers mod pp = 0;
constraint heads[shape] mod tp = 0;
constraint 96 mod (micro_batch * dp) = 0;
constraint not (zero_stage >= 2 /\ pp > 1);
solve satisfy;
END
}
solve_all() { timed minizinc --solver gecode --all-solutions model.mzn | grep -c -e '^----------$' >out; }
run_plan_minizinc() { solve_all; }
verify_plan_minizinc() { grep -qx 69120 out; }

plan_contestants=(plan:sqlite3 plan_sqlite:sqlite3 plan_python:python3 plan_minizinc:minizinc)
part_plan()
{
    choose "${plan_contestants[@]}"
    measure "${contestants[@]}"
    table "Matching 10,485,760 combinations under five rules" 10485760 "${contestants[@]}"
    choose "${shape_contestants[@]}"
    measure "${contestants[@]}"
    table "Other shapes" 1 "${contestants[@]}"
    random_spaces
}

# --- plan: other shapes ---

numbers() # COUNT [FIRST]
{
    seq -s ', ' "${2:-1}" "$(($1 + ${2:-1} - 1))"
}

write_sweep_start()
{
    printf '[sweep]\nname = "%s"\n[job]\ncommand = ["/bin/true"]\n[local]\nseveral_hosts = true\n' "$1"
}

write_section_sweep()
{
    write_sweep_start one-section
    cat <<END
[[model]]
layers = 32
heads = 32
[[cluster_spec]]
num_hosts = 16
num_devices_per_host = 8
[[training_spec]]
global_batch = 1024
[[parallel_spec]]
dp = [$(numbers 128)]
tp = [$(numbers 32)]
pp = [$(numbers 32)]
zero_stage = [0, 1, 2, 3]
micro_batch = [$(numbers 16)]
END
}

write_models_sweep()
{
    local i host devices
    write_sweep_start models
    for i in $(seq 0 19); do
        printf '[[model]]\nname = "m%d"\nlayers = %d\nheads = %d\n' "$i" $((4 + 2 * i)) $((8 * (1 + i % 4)))
    done
    for host in 1 2 4 8; do
        for devices in 1 2 4 8; do
            printf '[[cluster_spec]]\nnum_hosts = %d\nnum_devices_per_host = %d\n' "$host" "$devices"
        done
    done
    cat <<END
[[training_spec]]
global_batch = 4096
[[parallel_spec]]
dp = [$(numbers 64)]
tp = [1, 2, 4, 8]
pp = [1, 2, 4, 8]
zero_stage = [0, 1, 2, 3]
micro_batch = [$(numbers 8)]
END
}

write_rules() # PREDICATE...
{
    local i=0 rule
    for rule; do
        printf '[[rule]]\nname = "r%d"\nrequire = "%s"\n' $((++i)) "$rule"
    done
}

write_trillion_sweep()
{
    write_sweep_start trillion
    printf '[[cluster_spec]]\na = [%s]\nb = [%s]\n' "$(numbers 100)" "$(numbers 100)"
    printf '[[model]]\nc = [%s]\nd = [%s]\n' "$(numbers 100)" "$(numbers 100)"
    printf '[[parallel_spec]]\ne = [%s]\nf = [%s]\n' "$(numbers 100)" "$(numbers 100)"
    write_rules 'e = a' 'f = b' 'c = a' 'd = b'
}

write_quadrillion_sweep()
{
    write_sweep_start quadrillion
    printf '[[cluster_spec]]\na = [%s]\n' "$(numbers 1000)"
    printf '[[model]]\nb = [%s]\nc = [%s]\n' "$(numbers 1000)" "$(numbers 1000)"
    printf '[[parallel_spec]]\nd = [%s]\ne = [%s]\n' "$(numbers 1000)" "$(numbers 1000)"
    write_rules 'a * b = c' 'c + d = e' 'a > 500' 'b > 3'
}

# A long chain of keys, each tied to the next.
write_chain_sweep()
{
    local i
    write_sweep_start chain
    echo '[[parallel_spec]]'
    for i in $(seq 0 59); do echo "k$i = [0, 1]"; done
    for i in $(seq 0 58); do
        printf '[[rule]]\nname = "r%d"\nrequire = "k%d <= k%d"\n' "$i" "$i" $((i + 1))
    done
}

labels[section]="meshsweep plan: one section of 8,388,608, 596 match"
prepare_section() { write_section_sweep >sweep.toml; }
run_section() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out; }
verify_section() { grep -Eq '"matched":.596,' out; }

labels[section_python]="early-testing loops in Python"
run_section_python() { timed python3 "$peers" section >out; }
verify_section_python() { grep -qx 596 out; }

labels[section_minizinc]="MiniZinc with Gecode of it"
prepare_section_minizinc()
{
    cat >model.mzn <<'END'
var 1..128: dp;
var 1..32: tp;
var 1..32: pp;
var 0..3: zero_stage;
var 1..16: micro_batch;
constraint dp * tp * pp = 128;
constraint 32 mod tp = 0;
constraint 1024 mod (micro_batch * dp) = 0;
solve satisfy;
END
}
run_section_minizinc() { solve_all; }
verify_section_minizinc() { grep -qx 596 out; }

labels[first_job]="meshsweep run --limit 1 of it"
prepare_first_job() { write_section_sweep >sweep.toml; }
run_first_job() { timed "$meshsweep" run -c sweep.toml -d results.db --progress none --limit 1 >out; }
verify_first_job() { [ "$(jobs_in_state ok)" = 1 ]; }

labels[models_plan]="meshsweep plan: 20 models x 16 clusters, 47,680 match"
prepare_models_plan() { write_models_sweep >sweep.toml; }
run_models_plan() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out; }
verify_models_plan() { grep -Eq '"matched":.47680,' out; }

labels[models_minizinc]="MiniZinc with Gecode of it"
prepare_models_minizinc()
{
    cat >model.mzn <<'END'
array [0..19] of int: heads = array1d(0..19, [8 * (1 + i mod 4) | i in 0..19]);
var 0..19: model;
var {1, 2, 4, 8}: hosts;
var {1, 2, 4, 8}: devices;
var 1..64: dp;
var {1, 2, 4, 8}: tp;
var {1, 2, 4, 8}: pp;
var 0..3: zero_stage;
var 1..8: micro_batch;
constraint dp * tp * pp = hosts * devices;
constraint heads[model] mod tp = 0;
constraint pp <= 4 + 2 * model + 2;
constraint 4096 mod (micro_batch * dp) = 0;
solve satisfy;
END
}
run_models_minizinc() { solve_all; }
verify_models_minizinc() { grep -qx 47680 out; }

labels[trillion]="meshsweep plan: 10^12, 10,000 match"
prepare_trillion() { write_trillion_sweep >sweep.toml; }
run_trillion() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out; }
verify_trillion() { grep -Eq '"matched":.10000,' out && grep -Eq '"r1":.990000000000,' out; }

labels[quadrillion]="meshsweep plan: 10^15, none matches"
prepare_quadrillion() { write_quadrillion_sweep >sweep.toml; }
run_quadrillion() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out || [ $? = 4 ]; }
verify_quadrillion() { grep -Eq '"matched":.0,' out && grep -Eq '"r1":.999992931000000,' out; }

labels[chain]="meshsweep plan: 60 keys in a chain, 61 of 2^60 match"
prepare_chain() { write_chain_sweep >sweep.toml; }
run_chain() { timed "$meshsweep" plan -c sweep.toml -d results.db --json >out; }
verify_chain() { grep -Eq '"matched":.61,' out; }

shape_contestants=(section:sqlite3 section_python:python3 section_minizinc:minizinc first_job:sqlite3
    models_plan:sqlite3 models_minizinc:minizinc trillion:sqlite3 quadrillion:sqlite3 chain:sqlite3)
random_spaces()
{
    : "${BENCH_SEED:=1}" "${BENCH_SPACES:=40}"
    [ "$BENCH_SPACES" -gt 0 ] && has python3 || return 0
    mkdir -p "$BENCH_DIR"
    printf '\n### %d spaces drawn from the seed %s, against early-testing loops in Python\n\n' "$BENCH_SPACES" "$BENCH_SEED"
    python3 "$root/scripts/bench_spaces.py" "$meshsweep" "$BENCH_SPACES" "$BENCH_SEED"
    printf '\n### %d of more kinds of axes and expressions\n\n' "$BENCH_SPACES"
    python3 "$root/scripts/bench_spaces.py" "$meshsweep" "$BENCH_SPACES" "$BENCH_SEED" wide
}

# --- enumerate ---

labels[enumerate]="meshsweep run --limit 1"
labels[enumerate_python]="Python, keys by BLAKE2b, one table"
labels[resume]="meshsweep run, all done"
labels[resume_python]="Python, a set of the keys"

write_million_sweep()
{
    local hundred
    hundred=$(seq -s ', ' 0 99)
    cat >sweep.toml <<END
[sweep]
name = "million"

[job]
command = ["/bin/true", "{a}", "{b}", "{c}"]

[[model]]
a = [$hundred]

[[training_spec]]
b = [$hundred]

[[parallel_spec]]
c = [$hundred]
END
}

jobs_in_state() # STATE: their number in results.db
{
    sqlite3 results.db "SELECT count(*) FROM job WHERE state = '$1'"
}

prepare_enumerate() { write_million_sweep; }
run_enumerate() { timed "$meshsweep" run -c sweep.toml -d results.db -j 2 --progress none --limit 1 >out; }
verify_enumerate() { [ "$(jobs_in_state pending)" = 999999 ] && [ "$(jobs_in_state ok)" = 1 ]; }

run_enumerate_python() { timed python3 "$peers" enumerate peer.db >out; }
verify_enumerate_python() { grep -qx 1000000 out; }

prepare_resume()
{
    write_million_sweep
    "$meshsweep" run -c sweep.toml -d results.db -j 2 --progress none --limit 1 >/dev/null
    sqlite3 results.db "UPDATE job SET state = 'running' WHERE state = 'pending'; UPDATE job SET state = 'ok' WHERE state = 'running'"
}
run_resume() { timed "$meshsweep" run -c sweep.toml -d results.db -j 2 --progress none >out; }
verify_resume() { [ "$(jobs_in_state ok)" = 1000000 ] && [ "$(sqlite3 results.db 'SELECT count(*) FROM attempt')" = 1 ]; }

prepare_resume_python() { python3 "$peers" enumerate peer.db; }
run_resume_python() { timed python3 "$peers" resume peer.db >out; }
verify_resume_python() { grep -qx 0 out; }

enumerate_contestants=(enumerate:sqlite3 enumerate_python:python3)
resume_contestants=(resume:sqlite3 resume_python:python3)
part_enumerate()
{
    choose "${enumerate_contestants[@]}"
    measure "${contestants[@]}"
    table "Enumerating 1,000,000 jobs into a new database" 1000000 "${contestants[@]}"
    choose "${resume_contestants[@]}"
    measure "${contestants[@]}"
    table "The second run, when all 1,000,000 are done" 1000000 "${contestants[@]}"
}

# --- interrupts ---

part_interrupts()
{
    printf '\n### SIGINT while a million jobs are listed\n\n'
    BENCH_DIR=$BENCH_DIR python3 "$root/scripts/bench_interrupts.py" "$meshsweep" "${BENCH_SAMPLES:-30}" "${BENCH_SEED:-1}"
}

# --- jobs ---

labels[jobs]="meshsweep run -j$BENCH_SLOTS"
labels[jobs_parallel]="GNU parallel -j$BENCH_SLOTS --joblog"
labels[jobs_xargs]="xargs -P$BENCH_SLOTS, nothing recorded"
labels[jobs_ninja]="ninja -j$BENCH_SLOTS, stamp files"
labels[jobs_make]="make -j$BENCH_SLOTS, nothing recorded"
labels[jobs_python]="Python thread pool, one SQLite row per job"

prepare_jobs()
{
    cat >sweep.toml <<END
[sweep]
name = "trivial"

[job]
command = ["/bin/true", "{n}"]

[[training_spec]]
n = [$(seq -s ', ' 1 "$BENCH_JOBS")]
END
}
run_jobs() { timed "$meshsweep" run -c sweep.toml -d results.db -j "$BENCH_SLOTS" --progress none >out; }
verify_jobs() { [ "$(jobs_in_state ok)" = "$BENCH_JOBS" ] && [ "$(sqlite3 results.db 'SELECT count(*) FROM attempt')" = "$BENCH_JOBS" ]; }

prepare_jobs_parallel() { seq 1 "$BENCH_JOBS" >numbers; }
run_jobs_parallel() { timed parallel -j "$BENCH_SLOTS" --joblog log /bin/true <numbers >out; }
verify_jobs_parallel() { [ "$(awk 'NR > 1 && $7 == 0' log | wc -l)" = "$BENCH_JOBS" ]; }

prepare_jobs_xargs() { seq 1 "$BENCH_JOBS" >numbers; }
run_jobs_xargs() { timed xargs -n 1 -P "$BENCH_SLOTS" /bin/true <numbers >out; }
verify_jobs_xargs() { true; }

prepare_jobs_ninja()
{
    {
        printf 'rule job\n  command = /bin/true $out && touch $out\n'
        seq -f 'build stamp%.0f: job' 1 "$BENCH_JOBS"
    } >build.ninja
}
run_jobs_ninja() { timed ninja -j "$BENCH_SLOTS" --quiet >out; }
verify_jobs_ninja() { [ "$(find . -name 'stamp*' | wc -l)" = "$BENCH_JOBS" ]; }

prepare_jobs_make()
{
    {
        echo ".PHONY: all $(seq -s ' ' -f 'job%.0f' 1 "$BENCH_JOBS")"
        echo "all: $(seq -s ' ' -f 'job%.0f' 1 "$BENCH_JOBS")"
        seq -f 'job%.0f:; @/bin/true $@' 1 "$BENCH_JOBS"
    } >Makefile
}
run_jobs_make() { timed make -s -j "$BENCH_SLOTS" >out; }
verify_jobs_make() { true; }

run_jobs_python() { timed python3 "$peers" jobs peer.db "$BENCH_JOBS" "$BENCH_SLOTS" >out; }
verify_jobs_python() { grep -qx "$BENCH_JOBS" out; }

jobs_contestants=(jobs:sqlite3 jobs_make:make jobs_xargs:xargs jobs_python:python3 jobs_ninja:ninja
    jobs_parallel:parallel)
part_jobs()
{
    choose "${jobs_contestants[@]}"
    measure "${contestants[@]}"
    table "$BENCH_JOBS trivial jobs, $BENCH_SLOTS in flight" "$BENCH_JOBS" "${contestants[@]}"
}

# --- models ---

labels[models]="meshsweep search-model --count, preset similar-parameters"
labels[models_sql]="meshsweep search-model --count --where SQL"
labels[models_python]="loops in Python"
labels[models_count]="meshsweep search-model --count, nothing enumerated"

write_model_space()
{
    cat >space.toml <<'END'
[model_space]
mixers = ["DOT", "LINEAR", "ATTENTION", "CONVOLUTION"]
total_mixers = 12
num_zhen_layers = { from = 1, to = 4 }
num_features = 512
emb_dim = 160
output_per_emb = 50

[model_space.base]
num_features = 512
emb_dim = 160
output_per_emb = 50
num_zhen_layers = 4
tokens = ["ATTENTION", "LINEAR", "ATTENTION", "DOT"]
END
}

count_models() { timed "$meshsweep" search-model -c space.toml --count "$@" >out; }

prepare_models()
{
    write_model_space
    printf '[[model_space.filter]]\npreset = "similar-parameters"\n' >>space.toml
}
run_models() { count_models; }
verify_models() { grep -Eqx 'all +13528268 +717856' out; }

prepare_models_sql() { write_model_space; }
run_models_sql() { count_models --where 'abs(params - base.params) <= 0.1 * max(params, base.params)'; }
verify_models_sql() { grep -Eqx 'all +13528268 +717856' out; }

run_models_python() { timed python3 "$peers" models >out; }
verify_models_python() { grep -qx 717856 out; }

prepare_models_count() { write_model_space; }
run_models_count() { count_models; }
verify_models_count() { grep -Eqx 'all +13528268' out; }

models_contestants=(models:awk models_sql:awk models_python:python3 models_count:awk)
part_models()
{
    choose "${models_contestants[@]}"
    measure "${contestants[@]}"
    table "Filtering 13,528,268 model candidates by their parameters" 13528268 "${contestants[@]}"
}

# --- views ---

labels[results]="meshsweep results --limit 20"
labels[results_sorted]="meshsweep results --sort score:desc --limit 20"
labels[results_where]="the same with --where 'a > 50'"
labels[status]="meshsweep status"
labels[best]="meshsweep best"
labels[export]="meshsweep export"
labels[export_sqlite]="sqlite3, .mode csv, select * from results"
labels[report]="meshsweep report, 10,000 jobs"

# A database of N times 10,000 jobs that are done, one in ten failed, two metrics each.
make_recorded() # N DATABASE
{
    write_million_sweep
    sed -i -e "s/^a = .*/a = [$(seq -s ', ' 1 "$1")]/" -e 's/^name = .*/&\nobjective = "max:score"/' \
        -e 's|^command = .*|command = "echo score: 1"|' sweep.toml
    printf '[job.metrics.score]\nregex = "score: ([0-9]+)"\nunit = "samples/s"\n[job.metrics.loss]\nregex = "loss: ([0-9]+)"\n' \
        >>sweep.toml
    "$meshsweep" run -c sweep.toml -d "$2" -j 1 --progress none --limit 1 >&2 || true
    sqlite3 -batch -bail "$2" <<'END'
INSERT INTO attempt (job_id, number, runner_id, state, failure, message, command, environment, slot, started, ended, duration_ms,
                     exit_code, max_rss)
SELECT id, 1, 1, iif(id % 10 = 3, 'failed', 'ok'), iif(id % 10 = 3, 'oom', NULL),
       iif(id % 10 = 3, 'exit status 1: out of memory: tried to allocate ' || id % 77 || ' MiB', NULL), '["train"]', '{}', id % 8,
       1700000000000 + id * 100, 1700000000700 + id * 100, 700, id % 10 = 3, 1000000
FROM job WHERE state = 'pending';
INSERT INTO summary (attempt_id, name, value, count, mean, median, minimum, maximum, stddev, p90)
SELECT a.id, m.value, abs(random() % 1000000) / 1000.0, 1, 0, 0, 0, 0, 0, 0
FROM attempt AS a, json_each('["loss","score"]') AS m WHERE a.state = 'ok' AND a.id > 1 ORDER BY a.id, m.value;
UPDATE job SET state = 'running' WHERE state = 'pending';
UPDATE job SET state = a.state, failure = a.failure, attempt_id = a.id FROM attempt AS a
WHERE a.job_id = job.id AND job.state = 'running';
PRAGMA analysis_limit = 1000;
ANALYZE;
END
}

run_results() { "$meshsweep" results -d "$recorded/million.db" --limit 20 >out; }
verify_results() { [ "$(wc -l <out)" = 22 ]; }
run_results_sorted() { "$meshsweep" results -d "$recorded/million.db" --sort score:desc --limit 20 >out; }
verify_results_sorted() { verify_results; }
run_results_where() { "$meshsweep" results -d "$recorded/million.db" --where 'a > 50' --sort score:desc --limit 20 >out; }
verify_results_where() { verify_results; }
run_status() { "$meshsweep" status -d "$recorded/million.db" >out; }
verify_status() { grep -q 'total *1000000' out; }
run_best() { "$meshsweep" best -d "$recorded/million.db" >out; }
verify_best() { grep -q 'highest score' out; }
run_export() { "$meshsweep" export -d "$recorded/million.db" -o out; }
verify_export() { [ "$(wc -l <out)" = 1000001 ]; }
run_export_sqlite() { sqlite3 -batch -header -csv "$recorded/million.db" 'SELECT * FROM results' >out; }
verify_export_sqlite() { verify_export; }
run_report() { "$meshsweep" report -d "$recorded/small.db" -o out; }
verify_report() { grep -q '</html>' out && cp out "$recorded/report.html"; }

part_views()
{
    recorded=$(mktemp -d "$BENCH_DIR/recorded.XXXXXX")
    (cd "$recorded" && make_recorded 1 small.db && make_recorded 100 million.db)
    measure results results_sorted results_where status best export export_sqlite report
    table "A million jobs that are done" 1 results results_sorted results_where status best
    table "A million rows as CSV" 1000000 export export_sqlite
    table "The report, $(wc -c <"$recorded/report.html") bytes" 10000 report
    rm -rf "$recorded"
}

# --- imported ---

make_measured() # ROWS
{
    awk -v most="$1" 'BEGIN {
        print "layers,tp,dp,mbs,ga,zero,bucket,rate,loss"
        for (b = 0; n < most; b++) for (t = 1; t <= 8; t *= 2) for (m = 1; m <= 16; m *= 2) for (g = 1; g <= 16; g *= 2)
            for (z = 0; z < 4 && n < most; z++) {
                printf "32,%d,%d,%d,%d,%d,%d,%.4f,%.5f\n", t, 8 / t, m, g, z, b,
                    1000 * m * g / (m * g + 4) / (1 + z * t / 9) + n * 7919 % 101 + b / 1000, 2 + n * 104729 % 100003 / 1e5
                n++
            }
    }' >table.csv
    cat >table.toml <<'END'
[sweep]
objective = "max:throughput"
[import.cluster_spec]
num_devices_per_host = 8
[import.model]
layers = "layers"
[import.parallel_spec]
tp = "tp"
dp = "dp"
micro_batch = "mbs"
gradient_accumulation = "ga"
zero_stage = "zero"
bucket = "bucket"
[import.metrics]
throughput = "rate"
loss = "loss"
END
}

part_imported()
{
    local directory words
    directory=$(mktemp -d "$BENCH_DIR/imported.XXXXXX")
    printf '\n| %s jobs of a table | seconds of processor time | MB |\n|---|---|---|\n' "$BENCH_ROWS"
    (
        cd "$directory"
        make_measured "$BENCH_ROWS"
        for words in "import -c table.toml table.csv" check "compare --by micro_batch" "plan -c table.toml" export \
            "report -o report.html"; do
            # shellcheck disable=SC2086 # words
            /usr/bin/time -q -f '%U %S %M' -o cost "$meshsweep" $words >out 2>errors || { cat errors >&2; die "$words failed"; }
            awk -v words="$words" '{ printf "| `%s` | %.1f | %.0f |\n", words, $1 + $2, $3 / 1000 }' cost
        done
    )
    rm -rf "$directory"
}

# --- slurm ---

labels[slurm]="meshsweep run --executor slurm"

# The queue is a file: sbatch appends to it, and when all jobs are there squeue lets them end.
write_slurm_stand_ins()
{
    mkdir bin
    cat >bin/sbatch <<'END'
#!/bin/sh
for script; do :; done
n=$(cat next 2>/dev/null || echo 1)
echo $((n + 1)) >next
comment=$(sed -n 's/^#SBATCH --comment="\(.*\)"$/\1/p' "$script")
cp "$script" "job.$n"
seq 0 "$(sed -n 's/^#SBATCH --array=0-//p' "$script")" |
    awk -v n="$n" -v comment="$comment" '{ print n "|" $1 "|PENDING|Priority||" comment }' >>queue
echo "$n"
END
    cat >bin/squeue <<'END'
#!/bin/sh
echo >>polls
cat queue
if [ "$(wc -l <queue)" -ge "$(cat wanted)" ] && [ ! -f ended ]; then
    touch ended
    cat job.* | awk -v root="$(sed -n 's/^root=\(.*\) heartbeat=.*/\1/p' job.1)" '
        /^[0-9]+\) directory=/ {
            split($2, directory, "="); split($3, attempt, "=")
            file = root "/" directory[2] "/slurm.result"
            print "attempt=" attempt[2] "\nnodes=n1\nstarted=1000\nstate=ended\nexit=0\nterminated=0\nended=2000" >file
            close(file)
        }'
    sed -i 's/PENDING|Priority|/COMPLETED|None|n1/' queue
fi
END
    printf '#!/bin/sh\necho "Slurm accounting storage is disabled" >&2\nexit 1\n' >bin/sacct
    chmod +x bin/*
    touch queue
    echo "$BENCH_JOBS" >wanted
}

prepare_slurm()
{
    prepare_jobs
    printf '\n[slurm]\ngpus = false\nmax_jobs = %s\npoll = "5s"\n' "$BENCH_JOBS" >>sweep.toml
    write_slurm_stand_ins
}
run_slurm()
{
    PATH=$PWD/bin:$PATH /usr/bin/time -q -f '%U %S %e %M' -o spent \
        "$meshsweep" run -c sweep.toml -d results.db --executor slurm --progress none >out
    awk -v jobs="$BENCH_JOBS" -v polls="$(wc -l <polls)" \
        '{ printf "| %d | %.2f | %.1f | %d in %.0f s |\n", jobs, ($1 + $2) * 1000 / jobs, $4 / 1024, polls, $3 }' spent \
        >>"$BENCH_DIR/slurm.rows"
}
verify_slurm() { verify_jobs; }

part_slurm()
{
    [ -x /usr/bin/time ] || die "slurm: GNU time is not installed"
    rm -f "$BENCH_DIR/slurm.rows"
    measure slurm
    printf '\n### Jobs queued at once at Slurm (stand-ins)\n\n| jobs | ms of processor time a job | MiB | questions to the queue, every 5 s |\n|---|---|---|---|\n'
    cat "$BENCH_DIR/slurm.rows"
    rm -f "$BENCH_DIR/slurm.rows"
}

# --- memory ---

part_memory()
{
    local name
    if [ ! -x /usr/bin/time ]; then
        echo "bench.sh: memory is left out: GNU time is not installed" >&2
        return
    fi
    choose "${plan_contestants[@]}" "${enumerate_contestants[@]}" "${resume_contestants[@]}" "${jobs_contestants[@]}" \
        "${models_contestants[@]}"
    printf '\n### Peak memory of the largest process\n\n| | MiB |\n|---|---|\n'
    for name in "${contestants[@]}"; do
        [ -n "${kib_of[$name]-}" ] || measure_once "$name"
        # shellcheck disable=SC2086 # a list of numbers
        printf '| %s | %.1f |\n' "${labels[$name]}" "$(median ${kib_of[$name]} | awk '{ print $1 / 1024 }')"
    done
}

# --- accuracy ---

# Prints what the tests print while they compare; a test that fails fails the part.
accuracy_of() # TEST
{
    make -s -C "$root/build-bench" "tests/unit/test_$1" >&2
    "$root/build-bench/tests/unit/test_$1" 2>/dev/null || die "test_$1 failed"
}

part_accuracy()
{
    local -x MESHSWEEP_SHARED_DATA=${MESHSWEEP_SHARED_DATA:-$root/../shared/data}
    if [ ! -d "$MESHSWEEP_SHARED_DATA" ]; then
        echo "bench.sh: accuracy is left out: no tables in $MESHSWEEP_SHARED_DATA" >&2
        return
    fi
    printf '\n### Predictions against measurements\n\n| prediction | reached |\n|---|---|\n'
    accuracy_of predict_memory | sed -nE \
        -e 's/^memory, base 0.50 GiB, fragmentation 1.15: mean error (.*)/| memory, nanotron, before any run: MAPE | \1 |/p'
    accuracy_of predict_oom | sed -nE \
        -e 's/^out of memory, tp <= 8: (.*) of ([0-9]+) avoided, (.*) of ([0-9]+) lost/| excluding above 90 %, tp <= 8: failures avoided, good ones lost | \1 of \2, \3 of \4 |/p' \
        -e 's/^out of memory, each group by .*: (.*) of ([0-9]+) avoided, (.*) of ([0-9]+) lost/| tp <= 8, each group by the share of the others | \1 of \2, \3 of \4 |/p' \
        -e 's/^out of memory, all: (.*) of ([0-9]+) avoided, (.*) of ([0-9]+) lost/| the same, any tp | \1 of \2, \3 of \4 |/p'
    accuracy_of predict_memory_lines |
        sed -nE 's/^memory of [0-9]+ runs with two smaller ones of their class: by their line (.*), by the model (.*)/| memory, nanotron, after two smaller micro-batches: MAPE by their line, by the model | \1, \2 |/p'
    accuracy_of predict_calibration | sed -nE \
        -e 's/^memory after 20 runs: mean error (.*); from.*/| memory, nanotron, after 20 runs: MAPE | \1 |/p' \
        -e 's/^([a-z0-9_]+): [0-9]+ runs, .*/\1/;/^[a-z0-9_]+$/h' \
        -e '/^  after +(0|12) runs/{G;s/^  after +([0-9]+) runs: mean error (.*), with.*\n(.*)/| step time, FSDP on \3, after \1 runs there: MAPE | \2 |/p}'
    accuracy_of predict_published_steps | sed -nE \
        -e 's/^vTrain: ([0-9]+) runs in ([0-9]+) groups, mean rank correlation (.*), lowest (.*), mean.*/| step time, vTrain, one node: rank correlation in \2 groups, mean (lowest) | \3 (\4) |/p' \
        -e 's/^vTrain, launches by the other models, .*: mean rank correlation (.*), lowest (.*)/| the same, launches weighted by the other models | \1 (\2) |/p' \
        -e 's/^iterations of the paper: mean error (.*)/| step time, 8 iterations of Megatron-LM up to 1T parameters: mean error | \1 |/p' \
        -e 's/^ultrascale without pipeline: .* ([0-9]+) groups on up to 8 nodes, mean rank correlation (.*)/| step time, nanotron on up to 8 nodes: rank correlation in \1 groups | \2 |/p' \
        -e 's/^([0-9.]+) million plans per second.*/| memory and time, million plans per second and core | \1 |/p'
    accuracy_of predict_published_systems |
        sed -nE 's/^published systems: ([0-9]+), mean error (.*)/| step time, \1 published systems up to 16,384 devices: mean error | \2 |/p'
    accuracy_of prediction |
        sed -nE 's/^([0-9.]+) million predictions per second in SQL.*/| the same by SQL functions, with a probability, million combinations | \1 |/p'
    accuracy_of predict_flops | sed -nE 's/^MFU (within .*) in ([0-9]+) rows/| MFU against \2 published values | \1 |/p'
    accuracy_of_tables
}

compared_tables() # FILE: what the test printed
{
    echo '| quantity | table | rows | error | bias | 90 % interval, never seen | 90 % interval | nine in ten within | largest | failures avoided | good runs lost |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|'
    grep -E '^\| (memory|time) ' "$1"
    echo
    sed -n 's/^.* rows are not predicted$/- &/p' "$1"
}

# One row per framework: its tables' rows together, errors by the mean of their logarithms.
compared_frameworks() # FILE: what the test printed
{
    echo '| framework | memory: runs, error, in the 90 % interval | time: runs, error, in the 90 % interval | failures avoided | good runs lost |'
    echo '|---|---|---|---|---|'
    grep -E '^\| (memory|time) ' "$1" | awk -F ' *[|] *' '
        function framework(name) {
            if (name ~ /on the device$/) return "the same, all memory of the device"
            if (sub(/^(full fine-tuning|LoRA|QLoRA).*/, "Trainer of Transformers: full, LoRA, QLoRA", name)) return name
            if (name ~ /^vTrain/) return "Megatron-DeepSpeed (vTrain)"
            if (name ~ /^BigScience/) return "Megatron-DeepSpeed (BigScience)"
            if (name ~ /^DLPerf/) return "Megatron-LM on V100 (DLPerf)"
            if (name ~ /^MPT/) return "llm-foundry (MPT)"
            sub(/,.*/, "", name)
            return name
        }
        function kind(sum, n) { return n ? n ", " sprintf("%.1f %%", 100 * (exp(sum / n) - 1)) : "" }
        function share(sum, width, n) { return n ? sprintf(", %.0f %% in ± %.0f %%", sum / n, width / n) : "" }
        $3 ~ /^of these/ { next }
        {
            name = framework($3)
            if (!(name in seen)) { seen[name] = 1; order[++count] = name }
            split($8, interval, /, ± /)
            n[name, $2] += $4
            error[name, $2] += $4 * log(1 + $5 / 100)
            inside[name, $2] += $4 * interval[1]
            width[name, $2] += $4 * interval[2]
            if (!(name in first)) first[name] = $2
            if ($2 != first[name]) next
            if (split($11, part, " of ") == 2) { avoided[name] += part[1]; failed[name] += part[2] }
            split($12, part, " of ")
            lost[name] += part[1]
            good[name] += part[2]
        }
        END {
            for (i = 1; i <= count; i++) {
                name = order[i]
                m = name SUBSEP "memory"; t = name SUBSEP "time"
                printf "| %s | %s%s | %s%s | %s | %d of %d |\n", name,
                    kind(error[m], n[m]), share(inside[m], width[m], n[m]),
                    kind(error[t], n[t]), share(inside[t], width[t], n[t]),
                    failed[name] ? avoided[name] " of " failed[name] : "", lost[name], good[name]
            }
        }'
}

compared_devices() # FILE: what the test printed
{
    echo '| place | runs | fitted to, runs | before | all weights | overheads | inside, all |'
    echo '|---|---|---|---|---|---|---|---|'
    grep -E '\| (all others|the table.s other devices), ' "$1"
}

compared_systems()
{
    echo '| system | source | runs | error | bias | largest |'
    echo '|---|---|---|---|---|---|'
    accuracy_of predict_published_systems | grep -E '^\| '
}

# The file with what lies between the lines that match FIRST and LAST taken from standard input.
renew_between() # FILE FIRST LAST
{
    awk -v first="$2" -v last="$3" '
        inside && $0 ~ last { inside = 0 }
        !inside { print }
        $0 ~ first { inside = 1; while ((getline line < "-") > 0) print line }' "$1" >"$BENCH_DIR/renewed"
    cat "$BENCH_DIR/renewed" >"$1"
}

scaled_runs()
{
    echo '| table | runs imported | predicted on | runs | error | bias | inside 90 % | half within | largest |'
    echo '|---|---|---|---|---|---|---|---|---|'
    python3 "$root/scripts/bench_scaling.py" "$meshsweep" "$root/configs/import" "$MESHSWEEP_SHARED_DATA"
}

halved_tables()
{
    echo '| table | memory before | memory after | time before | time after |'
    echo '|---|---|---|---|---|'
    python3 "$root/scripts/bench_halves.py" "$meshsweep" "$root/configs/import" "$MESHSWEEP_SHARED_DATA"
}

compare_tables() # what tests print that compare predictions with published tables
{
    accuracy_of predict_tables
    accuracy_of predict_litgpt
}

# Renews src/predict/evidence.toml, which intervals are made of, then the tables of docs/predictions.md and of
# src/predict/comparisons.md, which has every row.
accuracy_of_tables()
{
    local page=$root/docs/predictions.md all=$root/src/predict/comparisons.md
    local rows=$root/src/predict/evidence.toml tables=$BENCH_DIR/tables
    compare_tables >"$tables"
    cp "$rows" "$BENCH_DIR/rows"
    sed -n 's/^compared {/    {/p' "$tables" | renew_between "$rows" '^compared = ' '^]'
    sed -n 's/^scaled {/    {/p' "$tables" | renew_between "$rows" '^scaled = ' '^]'
    cmp -s "$rows" "$BENCH_DIR/rows" || compare_tables >"$tables"
    sed -nE 's/^held out, (.*): ([0-9]+) sources, (.*)/| \1, each of \2 sources held out in turn | \3 |/p' "$tables"
    compared_tables "$tables" >"$BENCH_DIR/part" || die "the tests compared no tables"
    renew_between "$all" '^<!-- tables compared' '^<!-- end' <"$BENCH_DIR/part"
    compared_frameworks "$tables" | renew_between "$page" '^<!-- frameworks compared' '^<!-- end'
    scaled_runs | renew_between "$all" '^<!-- plans scaled' '^<!-- end'
    halved_tables | renew_between "$all" '^<!-- halves compared' '^<!-- end'
    compared_devices "$tables" >"$BENCH_DIR/part" || die "the tests compared no devices"
    renew_between "$all" '^<!-- devices compared' '^<!-- end' <"$BENCH_DIR/part"
    compared_systems >"$BENCH_DIR/part" || die "the tests compared no systems"
    renew_between "$all" '^<!-- systems compared' '^<!-- end' <"$BENCH_DIR/part"
    printf '\nRenewed: %s\n' "${page#"$root/"}, ${all#"$root/"}, ${rows#"$root/"}"
}

# --- search ---

# Name of the file in configs/import, the table, what a group is, how it is called.
search_tables()
{
    cat <<'END'
ultrascale ultrascale-1B-8B.csv name,num_hosts nanotron, 1B and 8B on 1 to 64 nodes: by model and nodes
vtrain vtrain-single-node.csv layers,hidden,num_devices_per_host,global_batch vTrain, GPT on 2 to 8 A100: by model, devices and global batch
mpt llm-foundry-mpt.csv name,device MPT, FSDP on 8 to 512 A100 and H100: by model and device, over cluster sizes, sequences and batches
END
}

# The number in the Nth column of the strategy's row; nothing where it has none.
search_figure() # FILE STRATEGY COLUMN
{
    awk -F '|' -v name=" $2 " -v column="$3" '$2 == name { split($column, word, " "); print word[1] }' "$1"
}

search_target() # WHAT FIGURE MOST
{
    awk -v what="$1" -v figure="$2" -v most="$3" \
        'BEGIN { printf "| %s | %s | at most %s | %s |\n", what, figure, most, figure <= most ? "yes" : "**no**" }'
}

# Mean trials of `model` against those of random and of the methods of dsat and DeepSpeed.
search_rivals() # FILE LABEL
{
    awk -F '|' -v label="$2" '
        $2 == " model " { split($3, word, " "); model = word[1] }
        $2 ~ /^ (random|dsat-[a-z]+|deepspeed-[a-z]+) $/ {
            split($3, word, " ")
            if (best == "" || word[1] + 0 < best + 0) { best = word[1]; name = $2 }
        }
        END { gsub(/ /, "", name); printf "| %s: trials of `model`, of the next best (%s) | %s, %s | fewer | %s |\n", label, name, model, best, model < best ? "yes" : "**no**" }' "$1"
}

# `own` has no more trials than `rival`, and no more failures.
search_pair() # FILE LABEL OWN RIVAL
{
    local own rival
    own="$(search_figure "$1" "$3" 3) $(search_figure "$1" "$3" 6)"
    rival="$(search_figure "$1" "$4" 3) $(search_figure "$1" "$4" 6)"
    [ "$own" != " " ] && [ "$rival" != " " ] || return 0
    awk -v label="$2" -v a="$3" -v b="$4" -v own="$own" -v rival="$rival" 'BEGIN {
        split(own, x, " "); split(rival, y, " ")
        printf "| %s: trials and failures of `%s`, of `%s` | %s and %s, %s and %s | no more | %s |\n", label, a, b, x[1], x[2],
            y[1], y[2], x[1] <= y[1] && x[2] <= y[2] ? "yes" : "**no**" }'
}

# 100,000 candidates in one group, all measured: by a formula, it does not matter which.
search_decision() # DIRECTORY CANDIDATES
{
    rm -f "$1"/large.*
    awk -v most="$2" 'BEGIN {
        print "layers,tp,dp,mbs,ga,zero,bucket,rate"
        for (b = 0; n < most; b++) for (t = 1; t <= 8; t *= 2) for (m = 1; m <= 16; m *= 2) for (g = 1; g <= 16; g *= 2)
            for (z = 0; z < 4 && n < most; z++) {
                printf "32,%d,%d,%d,%d,%d,%d,%.4f\n", t, 8 / t, m, g, z, b, 1000 * m * g / (m * g + 4) / (1 + z * t / 9) + b
                n++
            }
    }' >"$1/large.csv"
    cat >"$1/large.toml" <<'END'
[sweep]
objective = "max:throughput"
[job.metrics.throughput]
unit = "samples/s"
better = "max"
[import]
[import.cluster_spec]
num_hosts = 1
num_devices_per_host = 8
device = "'H100'"
[import.model]
layers = "layers"
hidden = 4096
heads = 32
vocab = 50000
seq = 2048
[import.parallel_spec]
tp = "tp"
dp = "dp"
micro_batch = "mbs"
gradient_accumulation = "ga"
zero_stage = "zero"
bucket = "bucket"
[import.metrics]
throughput = "rate"
[predict]
framework = "megatron"
prune = "off"
END
    "$meshsweep" import -c "$1/large.toml" -d "$1/large.db" "$1/large.csv" >&2
    "$meshsweep" replay -d "$1/large.db" --group-by layers --strategy model --seeds 1 --max-trials 20 --json |
        sed -n 's/.*"slowest_decision_ms":[^0-9]*\([0-9.]*\).*/\1/p'
}

part_search()
{
    local data=${MESHSWEEP_SHARED_DATA:-$root/../shared/data} directory name table groups label wrong
    if [ ! -d "$data" ]; then
        echo "bench.sh: search is left out: no tables in $data" >&2
        return
    fi
    directory=$(mktemp -d "$BENCH_DIR/search.XXXXXX")
    printf '| target | reached | wanted | |\n|---|---|---|---|\n' >"$directory/targets"
    while read -r name table groups label; do
        "$meshsweep" import -c "$root/configs/import/$name.toml" -d "$directory/$name.db" "$data/$table" >&2
        "$meshsweep" replay -d "$directory/$name.db" --group-by "$groups" --strategy all >"$directory/$name"
        "$meshsweep" replay -d "$directory/$name.db" --group-by "$groups" --strategy model --memory-error 1.5 \
            --time-error 2.8 --seeds 100 >"$directory/$name.wrong"
        wrong=$(search_figure "$directory/$name.wrong" model 3)
        printf '\n### %s\n\n' "$label"
        cat "$directory/$name"
        sed -n 's/^| model /| model, wrong predictions /p' "$directory/$name.wrong"
        {
            case $name in
            ultrascale)
                search_target "nanotron: mean trials of \`model\`" "$(search_figure "$directory/$name" model 3)" 3.5
                search_target "nanotron: failed runs" "$(search_figure "$directory/$name" model 6)" 0.3
                search_target "nanotron: mean trials with wrong predictions" "$wrong" 4.5
                ;;
            vtrain)
                search_target "vTrain: mean trials of \`model\`" "$(search_figure "$directory/$name" model 3)" 3
                search_target "vTrain: mean trials with wrong predictions" "$wrong" 4.5
                ;;
            esac
            search_rivals "$directory/$name" "${label%%,*}"
            search_pair "$directory/$name" "${label%%,*}" binary dsat-binary
            search_pair "$directory/$name" "${label%%,*}" asha dsat-asha
        } >>"$directory/targets"
    done < <(search_tables)
    search_target "slowest decision among 100,000 candidates, ms" "$(search_decision "$directory" 100000)" 50 >>"$directory/targets"
    printf '\n### Targets\n\n'
    cat "$directory/targets"
    echo
    "$root/scripts/bench_search.sh" "$meshsweep"
    rm -rf "$directory"
}

# Processor time of the slowest of 20 decisions.
part_decisions()
{
    local directory candidates
    directory=$(mktemp -d "$BENCH_DIR/decisions.XXXXXX")
    printf '\n### Decisions of `model`\n\n| candidates | slowest of 20, ms |\n|---|---|\n'
    for candidates in $BENCH_CANDIDATES; do
        echo "| $candidates | $(search_decision "$directory" "$candidates") |"
    done
    rm -rf "$directory"
}

# --- the whole ---

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(plan enumerate jobs models views memory)
for part in "${parts[@]}"; do
    declare -F "part_$part" >/dev/null || {
        echo "usage: scripts/bench.sh [plan] [enumerate] [interrupts] [jobs] [models] [views] [imported] [slurm] [memory] [accuracy] [search] [decisions]" >&2
        exit 2
    }
done
if [ -z "${BENCH_PROGRAM-}" ]; then
    "$root/scripts/setup.sh" build
    "$root/scripts/build.sh" build-bench
fi
mkdir -p "$BENCH_DIR"
echo "$(nproc) cores, $(uname -sr), SQLite $(sqlite3 --version | cut -d ' ' -f 1); median of $BENCH_RUNS"
for part in "${parts[@]}"; do
    "part_$part"
done
