#!/usr/bin/env bash
# JSON is a contract: what every command prints with --json is as its schema says, and the same everywhere.
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"
CASE_SECONDS=180

schemas=$source_dir/schemas
predicted=$source_dir/configs/quickstart.toml

# meshsweep with --json into COMMAND.WHICH.json; it may find nothing or something wrong, but prints a document.
document() # WHICH COMMAND ARGUMENT...
{
    local which=$1 command=$2 code=0
    shift 2
    "$meshsweep" "$command" "$@" >"$command.$which.json" 2>"$command.$which.err" || code=$?
    [ -s "$command.$which.json" ] || fail "$command of $which (status $code): $(head -3 "$command.$which.err")"
}

# Of WHICH.db, what each of the commands says.
documents() # WHICH COMMAND...
{
    local one
    for one in "${@:2}"; do
        document "$1" "$one" --json -d "$1.db"
    done
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
    toml sweep: objective=max:rate list_values='["sizes"]' subject_to='["rate <= 60"]' \
        job: command='["/bin/sh", "job.sh", "{x}", "{y}"]' versions='{ shell = "echo 1" }' \
        job.metrics.rate: regex='rate ([0-9.]+)' unit=samples/s model:: name=small lr=0.001,1.0 \
        training_spec: fused=true,false sizes=1,2 note='"said \"so\""' parallel_spec: x=1,2 y=3 \
        derive: both='x * y' rule:: name=not-all require='"NOT (x = 2 AND fused AND lr < 0.5)"' why='an example' \
        >typed.toml
    printf '%s\n' '[ ! -e slow ] || sleep 1.2' '[ "$1" = 1 ] || { echo "no such thing"; exit 3; }' \
        'echo "rate $((50 * $1))"; echo "rate $((50 * $1 + $$ % 7))"' >job.sh
}

table()
{
    toml sweep: objective=max:tokens group_by='["model.layers"]' job.metrics.tokens: unit=tokens/s better=max \
        import: state=state import.cluster_spec: num_hosts=hosts num_devices_per_host=1 \
        import.model: layers=layers import.parallel_spec: tp=tp import.metrics: tokens=tps \
        import.refuse:: when='tps < 0' why='not measured' >table.toml
    printf '%s\n' layers,hosts,tp,state,tps 2,1,1,ok,100 2,1,2,ok,140 2,2,1,oom, 4,1,1,ok,60 4,1,2,ok,75 \
        4,2,1,ok,-1 >table.csv
}

# A winner whose full training fails, and then does not.
training()
{
    local command
    sed 's/^x = \[1, 2\]/x = 1/; s/job.sh/training.sh/' typed.toml >training.toml
    printf '%s\n' '. ./job.sh' '[ -e searched ] || exit 0' '[ ! -e mended ] || exit 0' 'exit 3' >training.sh
    "$meshsweep" run -c training.toml -d training.db --progress none >/dev/null 2>&1 || true
    touch searched
    progress_lines training -c training.toml -d training.db --run-full-experiment
    touch mended
    progress_lines trained -c training.toml -d training.db --run-full-experiment
    for command in status best "show $(sql "SELECT job_id FROM attempt WHERE kind = 'full' LIMIT 1" training.db)"; do
        # shellcheck disable=SC2086 # words
        document training $command --json -d training.db
    done
}

# Jobs that end in every way, with all that is declared of them; two are equal.
trouble()
{
    toml sweep: objective=max:rate subject_to='["peak <= 3 GiB"]' job: \
        command='["/bin/sh", "trouble.sh", "{x}", "--api-key", "a-key"]' timeout=2s idle_timeout='30s * attempt' \
        startup_timeout=20s versions='{ tool = "cat version" }' job.metrics.rate: regex='rate ([0-9.nan]+)' \
        job.metrics.peak: regex='peak ([0-9.]+)' unit=GiB means=allocated-memory rank=0 \
        metrics.slack: expression='"rate / (3 - peak)"' predict: training_spec: \
        x=full,equal,above,signal,late,peer,large >trouble.toml
    cat >trouble.sh <<'END'
case $1 in
full) echo "rate nan"; yes "rate 10" | head -n 250000; echo "peak 3" ;;
equal) echo "rate 10"; echo "peak 3" ;;
above) echo "rate 90"; echo "peak 5" ;;
signal) kill -SEGV $$ ;;
late) sleep 20 ;;
peer) echo "RuntimeError: no such layer"; echo "gloo: Connection closed by peer"; exit 1 ;;
large) { head -c 5000000 /dev/zero | tr '\0' ' '; echo '{"rate": 1}'; } >>"$MESHSWEEP_METRICS"
    echo "rate 1"; echo "peak 1" ;;
esac
END
    echo 1.0 >version
    git init -q . && git -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m start
    document trouble plan --json -c trouble.toml -d trouble.db
    "$meshsweep" run -c trouble.toml -d trouble.db --progress none --keep-going >/dev/null 2>&1 || true
    echo 1.1 >version
    local job
    documents trouble status best stale
    for job in 1 2 3 4 5 6 7; do
        document "trouble-$job" show --json -d trouble.db "$job"
    done
    document told ask -c trouble.toml -d trouble.db <(echo '{"x": "above"}')
    document above ask -c trouble.toml -d told.db <(echo '{"x": "above"}')
    document above tell -d told.db <(echo '{"trial": 1, "metrics": {"rate": 90, "peak": 5}}')
    sed -i 's/^objective.*/objective = ["max:rate", "min:peak"]/; /^subject_to/d' trouble.toml
    "$meshsweep" run -c trouble.toml -d trouble.db --progress none >/dev/null 2>&1 || true
    document ties best --json -d trouble.db
}

# Shows jobs that need no less device memory than one that ran out of it, and predictions for a job that has not run.
memory()
{
    toml sweep: objective=min:step_time job: \
        command='["/bin/sh", "-c", "[ {micro_batch} -lt 4 ] || { echo CUDA out of memory; exit 1; }; echo step 1"]' \
        job.metrics.step_time: regex='step ([0-9.]+)' predict.order: parallel_spec: micro_batch=1,2,4,8,16 \
        >memory.toml
    "$meshsweep" run -c memory.toml -d memory.db --progress none >/dev/null 2>&1 || true
    document memory status --json -d memory.db
    document memory plan --json --all -c memory.toml -d memory.db
    document memory why --json -d memory.db micro_batch=16
    document predicted ask -c "$predicted" -d predicted.db
    document predicted show --json -d predicted.db 1
    sed 's/^prune = .*/prune = "certain"\naudit = 1/; s/16MiB/2MiB/' "$predicted" >audit.toml
    document audit ask -c audit.toml -d audit.db
    document audit show --json -d audit.db "$(sql "SELECT min(id) FROM job WHERE audit" audit.db)"
    document predicted tell -d predicted.db <(echo '{"trial": 1, "failure": "oom", "message": "out of it"}')
}

in_background() # ARGUMENT...
{
    "$meshsweep" run --progress none "$@" >/dev/null 2>&1 &
    background=$!
}

end_background()
{
    kill -KILL "$background"
    wait "$background" 2>/dev/null || true
}

# Shows jobs that wait, for their host or for another attempt, and those that were lost with their runner.
waiting()
{
    mkdir bin
    ln -s /bin/sh bin/sh
    toml job: command='["./bin/sh", "-c", "[ {x} != 3 ] || mv bin away; echo {x}"]' \
        training_spec: x=1,2,3,4,5,6,7,8 >held.toml
    in_background -c held.toml -d held.db -j1
    wait_until "[ \"\$(sql \"SELECT count(*) > 0 FROM job WHERE held IS NOT NULL\" held.db 2>&1)\" = 1 ]" 20
    sql "INSERT INTO place VALUES ('node1', '1', 'exit status 1', 6, 0, 0, 60000), ('node2', '', NULL, 2, 0, 0, 60)" \
        held.db
    document held status --json -d held.db
    local held
    held=$(sql "SELECT max(id) FROM job WHERE held IS NOT NULL" held.db)
    document held show --json -d held.db "$held"
    document held why --json -d held.db "x=$held"
    end_background
    toml job: command='["/bin/sh", "-c", "[ {x} = 2 ] || exit 1; [ ! -e slow ] || { touch begun; sleep 20; }"]' \
        retry: exit=2 lost=2 backoff=1h training_spec: x=1,2 >waiting.toml
    touch slow
    in_background -c waiting.toml -d waiting.db
    wait_until "[ -e begun ] && [ \"\$(sql \"SELECT count(*) FROM job WHERE due > 0\" waiting.db 2>&1)\" = 1 ]" 20
    document waiting status --json -d waiting.db
    end_background
    rm slow
    "$meshsweep" run -c waiting.toml -d waiting.db --progress none --only 'x = 2' >/dev/null 2>&1 || true
    document lost show --json -d waiting.db 2
}

# Too few repeats to tell, model information, stages against the joint search, and where a table's row stood.
comparisons()
{
    toml sweep: objective=min:time job: \
        command='["sh", "-c", "echo time $(( {x} * {layers} * (100 + MESHSWEEP_NUMBER * 17) ))"]' repeat=2 \
        job.metrics.time: regex='time ([0-9.]+)' model: layers=1,2,3 parallel_spec: x=1,2 >repeated.toml
    "$meshsweep" run -c repeated.toml -d before.db --progress none
    "$meshsweep" run -c repeated.toml -d now.db --progress none
    document repeated compare --json before.db now.db --fail-slower 5%
    document pairs compare --json -d now.db --by x
    document two compare --json -d now.db 1 2
    document ranked compare --json -d now.db --rank
    document sets compare --json -d now.db 'x = 1' 'x = 2'
    document scaling compare --json -d now.db --scaling layers --metric time
    document wasted status --json -d now.db --wasted
    document supposed best --json -d now.db --subject-to 'time > 200'
    sed 's/repeat = 2/repeat = 3/; s/BER \* 17/BER + ({x} * {layers} * MESHSWEEP_NUMBER == 18) * 50/' repeated.toml \
        >far.toml
    "$meshsweep" run -c far.toml -d far.db --progress none
    sqlite3 far.db "UPDATE attempt SET device_note = 'slow'"
    document far results --json -d far.db --outliers
    # As if each second repeat had been on another node.
    sqlite3 now.db "UPDATE attempt SET host = 'node-' || number, duration_ms = 1000 * number"
    document nodes status --json -d now.db
    toml profile=deepspeed sweep: objective=max:throughput job: \
        "command = ['sh', '-c', \"\"\"if [ \"\${MESHSWEEP_ROLE-}\" = model-info ]; then
    echo '{\\\"params\\\": 4e9, \\\"activation_memory\\\": 2e9, \\\"device_memory\\\": 4e10}'
    else echo '{\\\"throughput\\\": {micro_batch}}'; fi >>\$MESHSWEEP_METRICS\"\"\"]" job.metrics.throughput: \
        cluster_spec: num_devices_per_host=4 parallel_spec: zero_stage=3 micro_batch=1,4 model_info: >facts.toml
    PATH=$source_dir/tests/standin:$PATH "$meshsweep" run -c facts.toml -d facts.db --progress none >/dev/null
    document facts status --json -d facts.db
    { cat table.toml; printf '[[search.stage]]\nfree = ["%s"]\nstrategy = "grid"\nmax_trials = 2\n' tp num_hosts; } \
        >stages.toml
    document stages replay --json -c stages.toml -d table.db --strategy stage-by-stage --seeds 2
    document imported why --json -d table.db 1
}

# A job that is given a file, measures a curve, leaves a file and is run once more under a profiler.
given()
{
    printf 'n: 1\n' >base.yaml
    toml sweep: objective=max:rate job: \
        command='["/bin/sh", "-c", "cd \"$MESHSWEEP_JOB_DIR\"; echo {x} >left; echo rate 1 at 1; echo rate 2 at 2"]' \
        keep_files='[]' job.file:: path=conf.yaml base=base.yaml job.file.set: n=x \
        job.profile: command_prefix='["env", "PROFILED=1"]' fixture:: name=server \
        start='echo {fixture.server.port}; exec sleep 1000' ready='"true"' \
        job.metrics.rate: regex='rate ([0-9]+) at ([0-9]+)' per=clients training_spec: x=1,2 >given.toml
    "$meshsweep" run -c given.toml -d given.db --progress none >/dev/null 2>&1 || fail "not run"
    document given best --json -d given.db
    document given show --json -d given.db 1
    document given2 show --json -d given.db 2
    document given compare --json -d given.db 1 2
}

tried_batch_system()
{
    mkdir batch && cd batch
    stand_ins
    echo 'COMPLETED|0:0' >slurm/account
    document batch check --json --executor slurm
    end_what_sleeps
    mv check.batch.json .. && cd ..
}

every_document__valid_and_of_one_type_each()
{
    python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
    command -v git >/dev/null || skip "git is not installed"
    typed_sweep
    document new plan --json -c typed.toml -d typed.db
    document all plan --json --all -c typed.toml -d typed.db
    document new why --json -c typed.toml -d typed.db x=2 fused=true
    document new check --json typed.toml
    tried_batch_system
    document open ask -c typed.toml -d open.db -n 2
    document open status --json -d open.db
    document open show --json -d open.db 1
    document open plan --json -c typed.toml -d open.db
    document refused ask -c typed.toml -d open.db <(echo '[{"x": 2, "fused": true, "lr": 0.001}, {"x": 7}, {"y": 3}]')
    document open tell -d open.db <(echo '{"trial": 1, "metrics": {"rate": 5.5}}')
    progress_lines typed -c typed.toml -d typed.db -j2
    progress_lines again -c typed.toml -d typed.db
    progress_lines wrong -c nothing.toml -d typed.db
    cp typed.db broken.db
    sqlite3 broken.db "UPDATE attempt SET directory = 'nowhere'"
    documents typed status best stale results
    document typed why --json -d typed.db 1
    document typed check --json -d typed.db
    document broken check --json -d broken.db
    document all results --json -d typed.db --all
    document none results --json -d typed.db --where 'x = 99'
    document typed export --json -d typed.db -o typed.csv
    document toml export --json -d typed.db --toml -o subset.toml
    cp typed.db reread.db
    cp -r typed.db.d reread.db.d
    rm -r "reread.db.d/$(sql "SELECT directory FROM attempt WHERE state = 'ok' LIMIT 1" reread.db)"
    sed 's/^unit = .*/warmup = 1/' typed.toml >reread.toml
    printf '[[failure]]\nclass = "oom"\npattern = "no such thing"\n' >>reread.toml
    document typed reread --json -c reread.toml -d reread.db
    document typed merge --json typed.db open.db -o merged.db
    document typed pull --json -d pulled.db open.db
    cp typed.db archived.db
    cp -r typed.db.d archived.db.d
    mkdir -p archived.db.d/0123456789abcdef/1
    document dry archive --json -d archived.db --dry-run
    document typed archive --json -d archived.db
    document typed gc --json -d archived.db --dry-run
    document typed backup --json -d typed.db copy.db
    document typed upgrade --json typed.db
    mkdir old
    bash -c '. "$1/cli/schemas/schema.sh" && cd old && old_database 12' - "$tests_source_dir"
    document old upgrade --json old/results.db
    document typed show --json -d typed.db 1
    document failed show --json -d typed.db "$(sql "SELECT min(id) FROM job WHERE state = 'failed'" typed.db)"
    document typed compare --json -d typed.db --by lr
    cp typed.db changed.db
    sql "INSERT INTO change VALUES (1, 'note', 1700001000000, 'me@here', 'warm', '{\"exclude\": true}', 1700002000000,
        NULL); INSERT INTO replaced SELECT 1, 1, attempt_id, 'excluded', 'no', 'yes' FROM job WHERE id = 1" changed.db
    document changed show --json -d changed.db 1
    cp typed.db noted.db
    "$meshsweep" note -d noted.db 1/1 --exclude 'too warm' 'it looks odd' >/dev/null
    document noted show --json -d noted.db 1
    cp typed.db unranked.db
    sql "UPDATE summary SET value = NULL, note = 'it was read in another way' WHERE name = 'rate' AND attempt_id =
        (SELECT max(attempt_id) FROM job WHERE state = 'ok')" unranked.db
    documents unranked status best
    document unranked compare --json -d unranked.db --by lr --metric rate
    document self compare --json typed.db typed.db --by x --fail-slower 5%
    document 'done' plan --json -c typed.toml -d typed.db
    cp typed.db accepted.db
    sed 's/^\[job\]/&\nenv = { MODE = "fast" }/' typed.toml >accepted.toml
    "$meshsweep" accept --yes --why 'a mode that is the default' -c accepted.toml -d accepted.db >/dev/null
    document accepted stale --json -d accepted.db
    document typed replay --json -d typed.db --strategy grid,random --seeds 2
    "$meshsweep" run -c typed.toml -d failed.db --progress none --only 'x = 2' >/dev/null 2>&1 || true
    documents failed status stale
    "$meshsweep" run -c typed.toml -d shard.db --progress none --shard 1/2 >/dev/null 2>&1 || true
    document shard status --json -d shard.db
    document shard plan --json -c typed.toml -d shard.db --shard 1/2
    sed 's/^objective.*/objective = ["max:rate", "min:duration"]\nreplicate = ["fused"]/' typed.toml >searched.toml
    touch slow
    progress_lines searched -c searched.toml -d searched.db -j4 --strategy random --max-trials 8
    rm slow
    documents searched status best
    sed 's/^objective.*/objective = ["max:rate", "min:duration"]/' typed.toml >several.toml
    "$meshsweep" run -c several.toml -d several.db --progress none --only 'x = 1' >/dev/null 2>&1 || true
    documents several status best
    training
    table
    document table import --json -c table.toml -d table.db table.csv
    documents table status best stale results
    document table why --json -d table.db tp=2
    document none why --json -d table.db tp=3
    document table plan --json --all -c table.toml -d table.db
    document table check --json -c table.toml --against table.csv
    document predicted plan --json --all -c "$predicted" -d predicted.db
    document predicted predict --json -c "$predicted" -d predicted.db --limit 5
    document predicted why --json -c "$predicted" -d predicted.db zero_stage=1
    document table show --json -d table.db 1
    document table compare --json -d table.db --by tp
    document table replay --json -c table.toml -d table.db --strategy grid --group-by layers
    document table ask -c table.toml -d table.db <(echo '{"tp": 2, "layers": 4}')
    document failed why --json -d typed.db x=2 fused=false
    chosen=$(sql "SELECT max(job_id) FROM trial" searched.db)
    document searched status --json -d searched.db
    document searched show --json -d searched.db "$chosen"
    document searched why --json -d searched.db "$chosen"
    document models check --json "$source_dir/configs/zhen-search.toml"
    document models search-model --json --count -c "$source_dir/configs/zhen-search.toml"
    trouble
    memory
    waiting
    given
    comparisons
    python3 "$tests_source_dir/cli/json_check.py" "$schemas" ./*.*.json* >found || fail "$(grep -v '^#' found)"
    cat found
}

contract__and_what_is_made_from_it__are_the_same()
{
    python3 -c 'import tomllib' 2>/dev/null || skip "Python 3.11 is not installed"
    expect_command silent 0 python3 "$source_dir/scripts/schemas.py" --check
}

# schemas/sweep.json is made from the program's table of keys and the reference's tables: scripts/sweep_schema.py
# MESHSWEEP makes it anew. A key without a row in the reference, or the other way round, is told here.
keys_of_the_program__reference_and_schema__are_the_same()
{
    python3 -c 'import tomllib' 2>/dev/null || skip "Python 3.11 is not installed"
    expect_command silent 0 python3 "$source_dir/scripts/sweep_schema.py" --check "$meshsweep"
    run_command python3 "$tests_source_dir/cli/documents_check.py" "$meshsweep"
    expect_only_stdout 0 "as the program has them"
    cmp <("$meshsweep" help --schema sweep) "$schemas/sweep.json" || fail "help --schema sweep"
}

sweep_files__by_the_schema__good_ones_valid_and_slips_not()
{
    python3 -c 'import tomllib, jsonschema' 2>/dev/null || skip "Python 3.11 or python3-jsonschema is not installed"
    find "$source_dir/configs" -name '*.toml' ! -name words.toml ! -name audit.toml ! -path '*/executors/*' \
        -exec python3 "$tests_source_dir/cli/sweep_schema_check.py" \
        "$schemas/sweep.json" "$source_dir/docs/reference.md" {} + >found || fail "$(cat found)"
}

# The present output gets into the page by `tests/cli/json_examples.py docs/json.md DIRECTORY --update`, with the
# directory that KEEP=1 keeps.
examples__of_the_page__are_what_is_printed()
{
    python3 -c '' 2>/dev/null || skip "Python is not installed"
    table
    document example import --json -c table.toml -d results.db table.csv
    document example results --json --where "job IN (1, 3)"
    document example best --json
    document one best --json --group layers=4
    toml sweep: objective=max:rate job: command='["/bin/sh", "job.sh", "{x}"]' \
        job.metrics.rate: regex='rate ([0-9.]+)' unit=samples/s parallel_spec: x=1,2 fused=true >sweep.toml
    printf '%s\n' 'sleep 1.2' '[ "$1" = 1 ] || { echo "no such device"; exit 3; }' 'echo "rate 100"' >job.sh
    document example ask -c sweep.toml -d new.db <(echo '[{"x": 1}, {"x": 3}]')
    progress_lines notice -c sweep.toml -d run.db -j1 --strategy random
    progress_lines error -c nothing.toml
    "$meshsweep" run --progress json -d table-run.db -c table.toml 2>>run.error.jsonl || true
    cat run.notice.jsonl run.error.jsonl >run.example.jsonl
    expect_command silent 0 python3 "$tests_source_dir/cli/json_examples.py" "$source_dir/docs/json.md" .
}

# Every command with --json has a schema, and no other but those that print JSON without being asked.
commands__with_json__have_a_schema()
{
    for command in $("$meshsweep" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
        if "$meshsweep" help "$command" | grep -qE '^ +--json' || [[ $command = ask || $command = tell ]]; then
            cmp <("$meshsweep" help --schema "$command") "$schemas/$command.json" || fail "help --schema $command"
        elif [ "$command" != run ]; then
            expect "[ ! -e '$schemas/$command.json' ]"
        fi
    done
    run_meshsweep help --schema tail
    expect_only_stderr 2 'meshsweep: tail prints no JSON; docs/json.md lists the commands that do'
}

# The table of events in the source, the schema and the page name the same ones.
events__of_the_source__are_those_of_schema_and_page()
{
    sed -n '/progress_event_names\[EVENT_COUNT/,/};/p' "$source_dir/src/report/progress.c" | grep -o '"[a-z]*"' |
        tr -d '"' | sort >source.txt
    grep -o '"event": {"const": "[a-z]*"' "$schemas/run.json" | cut -d '"' -f 6 | sort >schema.txt
    sed -n 's/^| `\([a-z]*\)` | .*event.*/\1/p' "$source_dir/docs/json.md" | sort >page.txt
    expect "[ -s source.txt ]" "diff source.txt schema.txt" "diff source.txt page.txt"
}

run_cases "$@"
