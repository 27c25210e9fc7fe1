#!/usr/bin/env bash
# Every command that is printed for people to type works: those of README.md, CONTRIBUTING.md and
# docs/, of the comments at the head of configs/, and of each command's help. Each is run in a directory of its own,
# which has a sweep file and a database with results. What cannot be run is in the list below, with a reason.
. "${0%/*}/lib.sh"

# COMMAND|WHAT INSTEAD; "*" at the end of a command stands for the rest. A reason why it is not run; "plan": it is
# planned, not run; "models": of a file with a model space and nothing else; "status N": it ends with that (3: some jobs
# of the sweep fail).
exceptions()
{
    cat <<'END'
./run.sh ARGS|stands for many
meshsweep ARGS|stands for many
meshsweep init|asks on a terminal
meshsweep completion SHELL|stands for three
meshsweep check -c FILE|stands for many
meshsweep check -c FILE --against TABLE.csv|stands for many
meshsweep import -c FILE TABLE.csv|stands for many
meshsweep init --from-table TABLE.csv|stands for many
meshsweep import -c runs.toml runs.csv|of a file that init has written: tests/cli/test_init.sh
meshsweep why KEY=VALUE…|stands for many
meshsweep help COMMAND|stands for many
meshsweep init --from-log train.log batch_size*|tests/cli/test_tutorial.sh
meshsweep why batch_size=20|of the tutorial's own sweep: tests/cli/test_tutorial.sh
meshsweep compare --by batch_size=4,16|of the tutorial's own sweep: tests/cli/test_tutorial.sh
meshsweep ask -n 4|status 4
meshsweep accept --undo|status 4
meshsweep note 24/1 --include|status 4
meshsweep accept --why 'only a comment in the command'|status 4
meshsweep accept command epochs --yes|status 4
meshsweep tell measured.json|wants what was measured elsewhere
meshsweep show JOB|stands for many
meshsweep why JOB|stands for many
meshsweep tail JOB|stands for many
meshsweep pull*|wants another machine
scripts/build.sh DIRECTORY [CONFIGURE-ARGUMENT...] [-- MAKE-ARGUMENT...]|stands for many
BUILD=build-check tests/cli/test_retry.sh [CASE...]|stands for many
KEEP=1 BUILD=build-check tests/cli/test_retry.sh CASE|stands for many
./run.sh|sets up the machine: tests/cli/test_run_sh.sh
./run.sh -c config.toml|sets up the machine: tests/cli/test_run_sh.sh
./scripts/check.sh|runs every test
scripts/check.sh|runs every test
scripts/coverage.sh|runs every test
scripts/architecture.sh|in the source tree
scripts/bench.sh|runs for minutes
scripts/export_all.sh|wants a build of ./run.sh: tests/cli/test_export.sh
scripts/export_succeded.sh|wants a build of ./run.sh: tests/cli/test_export.sh
scripts/export_succeeded.sh|wants a build of ./run.sh: tests/cli/test_export.sh
scripts/check.sh --full|runs every test
scripts/programs.sh|runs for minutes
scripts/schema.sh|in the source tree
scripts/check.sh --sanitize|runs every test
scripts/setup.sh check|sets up the machine: tests/cli/test_setup_sh.sh
scripts/setup.sh build|sets up the machine: tests/cli/test_setup_sh.sh
scripts/package.sh|runs for minutes
scripts/package.sh --twice|runs for minutes
scripts/package.sh --try|runs for minutes
scripts/static.sh|runs for minutes
scripts/static.sh --try|runs for minutes
scripts/static.sh --host aarch64-linux-gnu|runs for minutes
scripts/container.sh|runs for minutes
make dist|in the source tree
scripts/build.sh build-check --enable-faults*|what is tested was built so
scripts/build.sh build-sanitize --enable-sanitizers CFLAGS='-g -O1'|what is tested was built like that
scripts/fuzz.sh 20|runs for minutes
scripts/fuzz.sh 40|runs for minutes
scripts/mutate.sh 60|runs for minutes
scripts/mutate.sh|runs for minutes
scripts/bench.sh accuracy|runs for minutes
scripts/bench.sh search|runs for minutes
scripts/bench.sh imported|runs for minutes
scripts/bench.sh slurm|runs for minutes
scripts/bench.sh interrupts|runs for minutes
scripts/bench.sh plan|runs for minutes
scripts/bench.sh views|runs for minutes
scripts/bench.sh decisions|runs for minutes
autoreconf -fi && ./configure && make && make install|in the source tree
make install|in the source tree
make distcheck|in the source tree
make -j2|of a makefile that the benchmark writes
make -s -C build-check -j4 check|in the source tree
BUILD=build-check tests/cli/*|in the source tree
MESHSWEEP_FULL=1 BUILD=build-check tests/cli/*|in the source tree
make -s -C build-check check TESTS=tests/unit/test_match|in the source tree
make -s -C build-check check TESTS=tests/unit/test_match LOG_COMPILER="$PWD/scripts/memcheck.sh any"|in the source tree
make -s -C build-sanitize check TESTS=tests/unit/test_match|in the source tree
bash tests/style/check_source.sh|in the source tree: tests/style/test_source.sh
gdb --args build-check/tests/unit/test_match|in the source tree
gdb --args build-check/meshsweep run -j1|in the source tree
MESHSWEEP_FAULT=batch-written:2 meshsweep run|ends by SIGKILL: tests/cli/test_faults.sh
duckdb -c *|wants DuckDB
meshsweep selftest --kills 1000 --jobs 500 --seed 7|takes minutes: tests/cli/test_selftest.sh
meshsweep selftest --kills 1000 --dir /scratch|takes minutes: tests/cli/test_selftest.sh
salloc --no-kill|wants Slurm
salloc -N 4 meshsweep run --executor slurm --in-allocation|wants Slurm
meshsweep run --executor ssh|wants hosts
salloc -N 4 --gpus-per-node=8 -t 12:00:00 meshsweep run --executor slurm --in-allocation|wants Slurm
meshsweep run --executor slurm --in-allocation|wants Slurm
meshsweep best --group "num_hosts=1"|wants a sweep with groups: tests/cli/test_configurations.sh
meshsweep best --memory 50%|wants measured memory: tests/cli/test_questions.sh
meshsweep run -c sweep.toml --search-model|models
meshsweep report --serve*|serves until it is stopped: tests/cli/test_report_serve.sh
meshsweep run|status 3
meshsweep run -j2|status 3
meshsweep run --retry-failed=timeout,lost|status 3
meshsweep run --strategy model --max-trials 20|status 3
meshsweep run -c sweep.toml -j 4|status 3
meshsweep run -c sweep.toml --retry-failed=timeout,lost|status 3
meshsweep run --executor slurm|plan
meshsweep run --executor NAME|stands for many
meshsweep run --executor ./cluster.toml|wants a batch system
meshsweep run --executor gridengine|wants a batch system
meshsweep check --executor*|wants a batch system
meshsweep run --executor slurm --detach|plan
meshsweep run -c configs/quickstart.toml|plan
meshsweep run -c configs/quickstart.toml --strategy model|plan
meshsweep run -c configs/torch-cpu.toml && meshsweep best|plan
meshsweep run -c configs/torch-gpu.toml|plan
meshsweep run -c configs/torch-gpu.toml --only "model.name = 'gpt-350m' AND NOT compile"|plan
meshsweep run --search-model -c configs/zhen-search.toml -- python3 train.py|plan
meshsweep run --several-hosts -c configs/zhen.toml -- python3 train.py --mesh '{pp},{dp},{op}'|plan
END
}

# "FILE|COMMAND" of documents: lines of their own, and `commands` in a line.
commands_of_documents() # FILE...
{
    awk '
    function add(text) {
        sub(/^ *\$ /, "", text)
        sub(/^ +/, "", text)
        sub(/( +#.*| +)$/, "", text)
        if (text ~ /^([A-Z_]+=[^ ]+ )*(\.\/)?(run|scripts\/[a-z_]+)\.sh( |$)/ ||
            text ~ /^([A-Z_]+=[^ ]+ )+tests\/cli\// ||
            text ~ /^([A-Z_]+=[^ ]+ )*(meshsweep|meshsweep-trainer|sqlite3|make|autoreconf) ./ ||
            text ~ /^(bash|gdb|salloc|git|duckdb) ./ || text ~ /^python3 scripts\//)
            print FILENAME "|" text
    }
    FNR == 1 { fenced = 0 }
    FILENAME ~ /\.md$/ {
        if (/^```/)
            fenced = !fenced
        else if (fenced || /^    [^ ]/)
            add($0)
        else
            for (i = split($0, part, "`"); i > 1; i--)
                if (i % 2 == 0)
                    add(part[i])
        next
    }
    /^[^#]/ { nextfile }
    {
        sub(/^# */, "")
        if (match($0, /meshsweep [a-z-]+ .*/))
            $0 = substr($0, RSTART)
        add($0)
    }' "$@"
}

commands_of_help()
{
    local name
    for name in $("$meshsweep" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
        "$meshsweep" "$name" --help | sed -n "/^example/,/^\$/s/^  \\(meshsweep .*\\)/$name --help|\\1/p" |
            sed -E 's/ +# .*//'
    done
}

all_commands()
{
    (cd "$source_dir" && commands_of_documents README.md CONTRIBUTING.md docs/*.md configs/*.toml configs/*/*.toml)
    commands_of_help
}

# Each file of configs/import has its table, and its database with that in it, from the sample of its form.
import_samples()
{
    local file command
    for file in configs/import/*.toml; do
        sed -n '/^[^#]/q; s/^#   //p' "$file" | grep -E '^python3 |^meshsweep import ' >commands
        while IFS= read -r command; do
            PATH=$PWD/bin:$PATH bash -c "$command" >/dev/null 2>&1 || fail "$file: $command"
        done <commands
    done
    rm commands
}

# Makes a directory with programs, and results of jobs of every kind of key that the examples name.
make_template()
{
    local name
    mkdir template
    cd template
    mkdir bin
    ln -s "$meshsweep" "$build_dir/meshsweep-trainer" bin/
    ln -s "$source_dir/tests/standin/deepspeed" bin/deepspeed
    ln -s "$source_dir"/{configs,sql} .
    mkdir scripts tests
    ln -s "$source_dir"/scripts/plot.gp "$source_dir"/scripts/tables scripts/
    ln -s "$source_dir"/tests/data tests/
    cat >bin/torchrun <<'END'
#!/bin/sh
# As fast as its arguments say.
layers=1 zero=0 micro=1
for word; do
    case $word in
    --deepspeed*)
        while [ "${1#--}" != "$1" ]; do shift; done
        exec deepspeed --num_gpus=2 "$@"
        ;;
    --layers=*) layers=${word#*=} ;;
    --zero=*) zero=${word#*=} ;;
    --micro-batch=*) micro=${word#*=} ;;
    esac
done
[ "$layers$zero$micro" != 438 ] || exit 1
for step in 1 2 3 4; do
    echo "samples/s: $((1000 * micro / (layers + zero) + step)) step $((layers + zero)).$micro s"
done
END
    # nanoGPT prints such lines.
    cat >bin/python3 <<'END'
#!/bin/sh
[ "$1" = train.py ] || { PATH=${PATH#*:} && exec python3 "$@"; }
for step in 0 1 2 3 4; do
    echo "iter $step: loss 4.$((5 - step))000, time 2$step.50ms, mfu -100.00%"
done
END
    awk 'block && /^```/ { exit } block { print } /^```toml/ { block = 1 }' "$source_dir/README.md" >nanogpt.toml
    ln -s configs/zhen.toml config.toml
    echo 'iter 1: loss 4.2604, time 102.49ms, mfu 0.01%' >train.log
    printf 'micro_batch,step_ms\n1,12.5\n2,20.5\n' >runs.csv
    # Programs that people have and tests need not.
    for name in libreoffice gnuplot man; do
        printf '#!/bin/sh\ncat >/dev/null\n' >"bin/$name"
    done
    chmod +x bin/*
    toml sweep: name=gpt-zero objective=max:throughput job: command='["torchrun", "--nproc_per_node={gpus_per_node}",' \
        '"train.py", "--layers={layers}", "--zero={zero_stage}", "--micro-batch={micro_batch}"]' \
        job.metrics.throughput: regex='samples/s: ([0-9.eE+-]+)' unit=samples/s better=max \
        job.metrics.step_time: regex='step ([0-9.]+) s' unit=s better=min \
        training_spec: global_batch=64 seq=1024 precision=bf16 \
        model:: name=gpt-350m layers=2,4 hidden=128 heads=4 vocab=1000 \
        cluster_spec:: num_hosts=1 num_devices_per_host=1,2 device_memory=80GiB \
        parallel_spec:: zero_stage=0,1,3 micro_batch=1,2,4,8 '"(tp, pp)" = [[1, 1], [2, 1], [1, 2]]' \
        derive: dp='gpus / (tp * pp)' predict: framework=megatron device=H100 slurm: partition=gpu local: devices=2 \
        model_space: seed=1 mixers=DOT,LINEAR,ATTENTION total_mixers=12 num_zhen_layers='{ from = 1, to = 4 }' \
        num_features=512 emb_dim=160 output_per_emb=50 model_space.sample:: take=2 >sweep.toml
    echo '{"train_batch_size": 4, "zero_optimization": {"stage": [0, 1]},
        "autotuning": {"enabled": true, "num_gpus": 2}}' >ds_config.json
    cp ds_config.json ds.json
    : >train.py
    toml sweep: name=measured objective=max:throughput import.cluster_spec: num_hosts='"1"' num_devices_per_host=tp \
        import.parallel_spec: tp=tp import.metrics: throughput=throughput >import.toml
    printf 'tp,throughput\n1,10\n2,19\n' >measured.csv
    PATH=$PWD/bin:$PATH "$meshsweep" run --progress none || [ $? = 3 ] || fail "the sweep of the examples fails"
    for name in measured node1 node2 before; do
        cp results.db "$name.db"
    done
    "$meshsweep" export --succeeded --toml -o done.toml
    sqlite3 measured.db "DELETE FROM job WHERE state = 'failed'"
    import_samples
    cd ..
}

# Sets `instead`; to nothing: it is run.
instead_of() # COMMAND
{
    local printed
    for instead in "${all_exceptions[@]}"; do
        printed=${instead%|*} instead=${instead##*|}
        if [ "$printed" = "$1" ] || { [ "${printed%\*}" != "$printed" ] && [[ $1 == "${printed%\*}"* ]]; }; then
            return
        fi
    done
    instead=''
}

# place/ as template/ is. What the command before left, changed or took is put right, which in most cases is nothing.
fresh_place()
{
    if [ -e place ]; then
        find place -mindepth 1 \( ! -type d -cnewer copied -delete \) -o -printf '%P\n' | LC_ALL=C sort >now
        ! cmp -s names now || return 0
        LC_ALL=C comm -13 names now | (cd place && xargs -r -d '\n' rm -rf)
        LC_ALL=C comm -23 names now >missing
        [ -s missing ] || return 0
        (cd template && xargs -d '\n' cp -a --parents -t ../place) <missing
    else
        find template -mindepth 1 -printf '%P\n' | LC_ALL=C sort >names
        cp -a template place
    fi
    touch copied
    sleep 0.02 # for times of files that a clock's tick keeps equal
}

check_command() # FILE COMMAND
{
    local instead line=$2 want=0 got=0
    instead_of "$2"
    case $instead in
    plan) line=${line//meshsweep run/meshsweep plan} line=${line%% && *} line=${line// --detach/} ;;
    models) ;;
    status\ *) want=${instead#status } ;;
    ?*) return ;;
    esac
    line=${line//a1b2c3d4/$key}
    fresh_place
    [ "$instead" != models ] || sed -n '/^\[model_space\]/,$p' template/sweep.toml >place/sweep.toml
    (cd place && PATH=$PWD/bin:$PATH timeout 150 bash -c "$line") >printed 2>&1 </dev/null || got=$?
    [ "$got" = "$want" ] && return
    echo "# $1: status $got: $2"
    sed 's/^/#     /' printed | head -n 5
    failures=$((failures + 1))
}

printed_commands__typed__work()
{
    local file command key failures=0 all_exceptions
    mapfile -t all_exceptions < <(exceptions)
    make_template
    key=$(sqlite3 template/results.db "SELECT substr(lower(hex(key)), 1, 8) FROM job WHERE state = 'ok' LIMIT 1")
    all_commands >commands
    expect "[ \$(wc -l <commands) -gt 100 ]"
    while IFS='|' read -r file command; do
        check_command "$file" "$command"
    done < <(sort -t '|' -k 2 -u commands)
    [ "$failures" -eq 0 ] || fail "$failures commands that are printed do not work"
}

# An exception that nothing needs any more hides nothing.
exceptions__each__printed_somewhere()
{
    all_commands | cut -d '|' -f 2- >commands
    exceptions | while IFS= read -r command; do
        command=${command%|*}
        grep -qxF -e "$command" commands && continue
        { [[ $command == *\* ]] && grep -qF -e "${command%\*}" commands; } || fail "$command: is printed nowhere"
    done
}

CASE_SECONDS=600
run_cases "$@"
