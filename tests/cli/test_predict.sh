#!/usr/bin/env bash
# cli: predictions beside measurements, of a job that measures what it is told.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

predicted_sweep()
{
    begin_trainer_sweep
    toml sweep: name=predicted objective=min:step_time job: command='["/bin/sh", "job.sh", "{micro_batch}"]' \
        parallel_spec:: micro_batch=1,2,3,4,8,16 >>sweep.toml
    cat >job.sh <<'END'
bytes=$((8600000 + $1 * 2090000))
if [ $bytes -gt 20971520 ]; then
    echo 'CUDA out of memory'
    exit 1
fi
echo "step $((10 + $1 * 20))"
echo "peak $bytes"
END
}

predicted_run() { predicted_sweep; expect_run only_status 3 run --progress none; }

# What `check` says once sed has changed sweep.toml: texts of an error; without any, that it is well.
changed() # SED [TEXT...]
{
    sed -i "$1" sweep.toml
    if [ $# -eq 1 ]; then
        expect_run only_stdout 0 check
    else
        run_meshsweep check
        expect_only_stderr_contains 2 "${@:2}"
    fi
}

predict__before_any_run__predictions_alone()
{
    predicted_sweep
    expect_said only_stdout_contains 0 'micro_batch=16' predict
    expect_stdout_matches 'memory [0-9.]+ MiB \([0-9.]+ MiB to [0-9.]+ MiB\), fits'
    expect_stdout_contains ', certain, out of memory with'
    expect_stdout_matches 'step [0-9.e-]+ s \([0-9.e-]+ to [0-9.e-]+, uncalibrated\), MFU'
    expect_stdout_lacks '; measured'
    expect_stdout_contains 'trainer: no measurement of time to compare with'
    expect_stdout_matches '^  megatron, devices not measured on: nine in ten of 107 runs within [0-9]+ %'
    expect_stdout_matches 'time are .* sources that were new, the wider the less .* published runs:$'
    expect_no_file results.db
}

# By the keys it cannot fit, and yet it may run: both are said of one line.
predict__interval_above_the_device__says_why_it_may_fit()
{
    toml job: command='["true"]' model: family=llama layers=80 hidden=8192 heads=64 kv_heads=8 ffn=28672 vocab=32000 \
        seq=8192 training_spec: peft=lora lora_rank=16 lora_targets=attention cluster_spec: num_hosts=1 \
        num_devices_per_host=8 device=B200 parallel_spec: micro_batch=1 predict: framework=megatron prune=off \
        >sweep.toml
    run_meshsweep predict
    expect_only_stdout_matches 0 '\), risk, out of memory with [0-9]+ %, as recipes may recompute more than keys say$'
}

predict__after_a_run__residuals_calibration_and_mfu()
{
    predicted_run
    expect_sql '4|2' "SELECT sum(state = 'ok'), sum(failure = 'oom') FROM job"
    expect_sql 'at-least|2
measured|4' "SELECT kind, count(*) FROM observation WHERE quantity = 'memory' GROUP BY kind"
    expect_sql '0.03|0.09' "SELECT min(measured), max(measured) FROM observation WHERE quantity = 'time'"
    expect_sql 4 "SELECT count(*) FROM results WHERE mfu > 0"
    expect_sql 6 "SELECT count(*) FROM results WHERE predicted_memory > 0 AND predicted_time > 0"
    expect_sql 'memory|4|0
time|4|0' "SELECT quantity, measured, prior FROM calibration ORDER BY quantity"
    run_meshsweep predict
    expect_only_stdout_matches 0 'micro_batch=4  ok' '; measured [0-9.]+ MiB \([-+][0-9]\.[0-9] %\)'
    expect_stdout_contains 'predicted over measured, by axis'
    expect_stdout_contains 'memory of trainer on cpu: calibrated, from 4 measurements'
}

# Whose memory it is stands beside every size: before anything was measured, and after.
memory__predicted__named_by_counter_and_rank()
{
    predicted_sweep
    sed -i "s/^regex = 'peak.*/&\nmeans = \"allocated-memory\"\nrank = 0/" sweep.toml
    sed '/^profile/d; s/^prune = .*/&\nframework = "fsdp"/; s/^seq = .*/&\nvocab = 100/' sweep.toml >other.toml
    # Before anything was measured, too, it is the counter and the rank of the metric; without one what is reserved.
    expect_run only_stdout 0 plan -c other.toml
    expect_stdout_matches 'micro_batch=16  predicted [0-9.]+ MiB allocated, rank 0'
    allocated=$(sed -nE 's/.*micro_batch=16  predicted ([0-9]+)\..*/\1/p' .stdout)
    sed -i '/^means/d; /^rank/d' other.toml
    expect_run only_stdout 0 plan -c other.toml
    expect_stdout_matches 'micro_batch=16  predicted [0-9.]+ MiB reserved, largest rank'
    reserved=$(sed -nE 's/.*micro_batch=16  predicted ([0-9]+)\..*/\1/p' .stdout)
    [ "$reserved" -gt "$allocated" ] || fail "reserved $reserved MiB, allocated $allocated"
    expect_run only_status 3 run --progress none
    expect_run only_stdout 0 plan
    expect_stdout_matches 'micro_batch=16  predicted [0-9.]+ MiB allocated, rank 0 \(does not fit\), [0-9.e-]+ s a step'
    expect_said only_stdout_matches 0 'predicted [0-9.]+ MiB allocated, rank 0, [0-9.e-]+ s a step' why micro_batch=1
    expect_sql 'allocated, rank 0' "SELECT DISTINCT predicted_memory_of FROM results"
    expect_run only_status 3 run -c other.toml -d other.db --progress none
    expect_sql 'reserved, largest rank' "SELECT DISTINCT predicted_memory_of FROM results" other.db
    expect_said only_stdout_matches 0 'predicted_memory_of +reserved, largest rank' show 1 -d other.db
    expect_run only_stderr 0 report -d other.db -o report.html
    expect_file_contains report.html '<th scope=col>predicted_memory <small>(B reserved, largest rank)</small>'
    expect_stderr 'meshsweep: report in report.html'
}

# Rows as `results` has them: the two fastest that fit, before anything is run and beside what was measured.
table__conditions_order_and_columns__as_results()
{
    predicted_sweep
    sed -i 's/^seq = 64/&\nstate = "x"/; s/^\[predict\]/[derive]\ntwice = "2 * micro_batch"\n&/' sweep.toml
    run_meshsweep predict --where "verdict = 'fits' AND twice > 2" --sort predicted_time:desc --limit 2 \
        --columns micro_batch,twice,state,model.state,verdict --format jsonl
    expect_only_stdout 0 '{"micro_batch":4,"twice":8,"state":"new","model.state":"x","verdict":"fits"}
{"micro_batch":3,"twice":6,"state":"new","model.state":"x","verdict":"fits"}'
    expect_said only_stdout_matches 0 '^micro_batch +state +predicted_memory \(B\) +verdict +measured_memory \(B\) '\
'+predicted_time \(s\) +measured_time \(s\) +mfu$' predict --sort micro_batch
    expect_stdout_matches '^ +16 +new +[0-9]+ +certain '
    expect_run only_status 3 run --progress none
    run_meshsweep predict --where 'measured_time < 0.06' --format jsonl --columns number,job,state,measured_time
    expect_only_stdout 0 '{"number":1,"job":1,"state":"ok","measured_time":0.03}
{"number":2,"job":2,"state":"ok","measured_time":0.05}'
    expect_run only_status 4 predict --where 'mfu > 2'
    expect_stderr 'meshsweep: no combination matches'
    expect_said only_stderr 4 'meshsweep: no combination matches; meshsweep plan shows why' \
        predict --only 'micro_batch > 99'
    run_meshsweep predict --sort predicted_tim
    expect_only_stderr 2 'meshsweep: --sort: no such column: predicted_tim (did you mean predicted_time?)'
    expect_said only_stderr 2 'meshsweep: predict: --where, --sort, --columns, --format and --json apply only to the '\
'list of combinations' predict --where 1 --accuracy
}

predict__two_micro_batches_measured__line_goes_before_the_model()
{
    predicted_sweep
    sed -i 's/^bytes=.*/bytes=$((9000000 + $1 * 1900000))/' job.sh
    run_silently 0 --only 'micro_batch <= 2'
    expect_run only_stdout 0 predict
    # 9 and 4 times 1.9 MB are 15.8 MiB.
    expect_stdout_matches 'memory 15\.8 MiB \(.*, by the line through runs\), (fits|risk), out of memory with'
    expect_stdout_matches 'memory [0-9.]+ MiB \([0-9.]+ MiB to [0-9.]+ MiB\), certain'
    sed -i 's/"job.sh"/".\/job.sh"/' sweep.toml
    expect_run status 0 predict
    expect_stdout_lacks 'by the line'
    expect_stderr 'meshsweep: sweep.toml, or a file that it includes, has changed since results.db recorded it; '\
'using it as it is now'
}

predict__frontier__largest_and_smallest()
{
    predicted_run
    expect_run only_stdout 0 predict --frontier micro_batch
    # Through what was measured: 8.6 and 2.09 MB for each of the micro-batch, of 20 MiB.
    expect_stdout_matches '^ +4 +8 +5 '
    run_meshsweep predict --frontier nothing
    expect_only_stderr_contains 4 'no two combinations differ in `nothing`, or its values are not numbers'
}

predict__accuracy__errors_and_thresholds()
{
    predicted_run
    run_meshsweep predict --accuracy
    expect_only_stdout_matches 0 '^memory +4 runs, each predicted before it ran: MAPE [0-9.]+ %, median'
    expect_stdout_contains '2 jobs failed, 4 ran'
    expect_stdout_matches '^ +90 % +2 \(100 %\) +0 \(  0 %\)'
    expect_stdout_contains 'audit of pruning: no audit has run yet'
    expect_stdout_contains '90 % intervals of memory before any run, each published source left out (half of memory is'
    expect_stdout_matches '^  megatron, plain: -[0-9]+ to \+[0-9]+ % without it; nine in ten of [0-9]+ runs are within '
}

predict__profile__next_sweep_starts_calibrated()
{
    predicted_run
    meshsweep predict --profile >learned.toml
    expect_file_contains learned.toml '[predict.memory]'
    sed -i 's/^profile = .*/profile = ["trainer", ".\/learned.toml"]/' sweep.toml
    expect_said only_stdout_contains 0 'predicted: ' plan -d other.db
}

device__unknown__told_with_what_may_be_meant()
{
    toml job: command='["true"]' predict: framework=megatron device=H1000 \
        model: layers=4 hidden=96 heads=6 vocab=1000 seq=64 parallel_spec: micro_batch=1 \
        cluster_spec: num_hosts=1 >sweep.toml
    changed '' '[predict] device = "H1000"; did you mean "H100"? (it knows '
    changed 's/^device = .*/device = "A100"/' ' or "A100-80GB" or "A100-PCIe-80GB"? (it knows ' \
        '= "A100"; did you mean "A100-40GB" or "A100-PCIe-40GB" or "A100-80GB" or '
    sed -i 's/^device = .*//; s/^num_hosts = 1/num_hosts = 1\ndevice = ["A100-80GB", "A100-90GB"]/' sweep.toml
    run_meshsweep run --progress none --limit 1
    expect_only_stderr_contains 2 'device = "A100-90GB"; did you mean "A100-40GB"? (it knows '
    # The kind of thing that computes is no device; beside one it does no harm, nor does a backend of torch.distributed.
    changed 's/^device = .*/device = "cuda"/' 'device = "cuda" (it knows '
    sed -i 's/^device = .*/device = "cuda"\ngpu_type = "A100-80GB"\nbackend = "nccl"/' sweep.toml
    expect_said among_stdout 0 '"verdict":"fits"' predict -c sweep.toml --json
    # A framework whose recipes recompute has more let through than the figures ask for.
    sed -i '/^gpu_type/d; /^backend/d; s/^device = .*/device = ["A100-80GB"]/' sweep.toml
    run_meshsweep check -c sweep.toml
    expect_among_stderr 0 'no key says whether activations are recomputed: memory is predicted without'
    changed 's/^micro_batch = 1/&\nrecompute = "none"/'
}

# A value that the predictor does not know is told at once, with its place.
check__words_that_say_nothing__each_at_its_place()
{
    toml sweep: name=words objective=min:step_time job: command='["true"]' \
        job.metrics.step_time: regex='step ([0-9.]+)' predict: device=GB300 \
        model: layers=4 hidden=96 heads=6 vocab=1000 seq=64 parallel_spec: micro_batch=1 precision=mxfp8,fp9 \
        schedule=zero-bubble recompute=selective,selectve >sweep.toml
    changed '' 'sweep.toml:18:1: the predictor does not know precision = "fp9"; did you mean "fp8"?' \
        'sweep.toml:19:1: the predictor does not know schedule = "zero-bubble"' \
        'sweep.toml:20:1: the predictor does not know recompute = "selectve"; did you mean "sel'
    changed 's/, "fp9"//; s/"zero-bubble"/"1f1b"/; s/, "selectve"//'
}

# A published configuration has many keys; those that change no prediction because nobody knows them are told.
check__keys_that_no_prediction_reads__named()
{
    toml sweep: note='["owner"]' job: command='["true"]' predict: device=H100 \
        predict.keys: ffn='4 * width' model: layers=4 width=96 hidden=96 heads=6 vocab=1000 seq=64 \
        parallel_spec: tp_size=2 micro_batch=1 learning_rate=1e-3,1e-4 shard_size=8 owner=us \
        cluster_spec: num_devices_per_host=8 >sweep.toml
    expect_said only_stdout_contains 0 '
learning_rate, shard_size: predictions do not use these keys' check -c sweep.toml
    changed '/^learning_rate/d; /^shard_size/d'
    expect_stdout_lacks 'predictions do not use'
}

# Who writes [predict] is told what is missing; who takes a profile may not have asked.
check__nothing_can_be_predicted__said()
{
    printf '[predict]\nframework = "megatron"\n[job]\ncommand = "true"\n[model]\nlayers = 2\ntop_k = 50\n' >sweep.toml
    expect_run status 0 check -c sweep.toml
    expect_stdout_contains '1 model'
    expect_stderr 'meshsweep: sweep.toml: nothing can be predicted: the specs lack hidden, heads, vocab, seq, '\
'micro_batch (meshsweep predict --keys lists all names; to map other keys, use [predict.keys])'
    printf 'profile = "megatron"\n[job]\ncommand = "true"\n[model]\nlayers = 2\n' >sweep.toml
    expect_run only_stdout 0 check -c sweep.toml
}

# The value at fault may be worked out, so that no key has a place.
check__derived_model_that_contradicts_itself__told_at_predict()
{
    toml sweep: name=derived job: command='["true"]' predict: device=H100 \
        derive: layers='4 * blocks' predict.keys: family='"'\''transformer of '\'' || blocks"' \
        model: blocks=2 hidden=96 heads=6 vocab=1000 seq=64 parallel_spec: micro_batch=1 >sweep.toml
    changed '' "sweep.toml:6:10: the predictor does not know family = 'transformer of 2'"
    changed "s/^family = .*/family = \"'gpt'\"\ndecoder_seq = \"64\"/" "sweep.toml:6:10: decoder_seq is only for t5"
}

# Pruned jobs run only when that is asked for: no seed draws any of them, be they near the memory or far above.
audit__not_asked_for__none_runs()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"/; s/^device_memory = .*/device_memory = "8MiB"/
            s/^layers = .*/layers = [3, 4, 5]/; s/^hidden = .*/hidden = [90, 96, 102]/
            s/^micro_batch = .*/micro_batch = [1, 2, 3]/; s/^\[sweep\]/[sweep]\nseed = 0/' sweep.toml
    for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sed -i "s/^seed = .*/seed = $seed/" sweep.toml
        expect_said only_stdout_contains 0 '27 combinations, 2 matched' plan
    done
    sed -i 's/^prune = .*/prune = "certain"\naudit = 1/' sweep.toml
    expect_said only_stdout_contains 0 '27 matched' plan
}

predict__pruning__excluded_with_audit()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0/' sweep.toml
    expect_said only_stdout_contains 0 'by memory.fits: is predicted to need more device memory than there is' plan
    sed -i 's/^audit = 0/audit = 1/' sweep.toml
    expect_run only_status 3 run --progress none
    run_meshsweep predict --accuracy
    expect_only_stdout_contains 0 'audit of pruning: 0 of 2 would have run: wrong in 0 % (0 to 66 %)'
}

timed_sweep()
{
    predicted_sweep
    sed -i '/^\[job.metrics.peak_memory_bytes\]/,+1d' sweep.toml
    sed -i 's/^layers = .*/layers = [2, 8]/; s/^micro_batch = .*/micro_batch = [1, 2, 3, 4, 5, 6, 7, 8]/
            s/"{micro_batch}"/"{layers}", "{micro_batch}", "{predicted_flops}"/' sweep.toml
}

predict__time_in_proportion_to_flops__constant_mfu_takes_over()
{
    timed_sweep
    cat >job.sh <<'END'
awk -v flops="$3" 'BEGIN { printf "step %.6f\n", flops / 2.4e7 }'
END
    run_silently 0
    expect_said only_stdout_matches 0 'a constant MFU was more accurate over the last runs \(error 0\.0 %, the model '\
'[0-9.]+ %\), so it is used' predict
    expect_stdout_matches 'by a constant MFU\), MFU 50\.0 %; measured [0-9.]+ s \([-+]0\.0 %\), MFU 50\.0 %'
}

predict__one_run_ten_times_slower__left_out_and_reported()
{
    timed_sweep
    cat >job.sh <<'END'
ms=$(($1 * $2 * 7 + $2 * 4))
[ "$1 $2" != '8 6' ] || ms=$((ms * 10))
echo "step $ms"
END
    run_silently 0
    expect_said only_stdout_contains 0 'time of trainer on cpu: calibrated, from 15 measurements, 0 bounds (ran out '\
'of memory, or fitted), 1 broken' predict
}

# The job's memory depends on its layers less than is predicted.
predict__calibrated__next_run_brings_predictions_up_to_date()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0/; s/^micro_batch = .*/micro_batch = [1, 2, 3, 4, 5, 6]/
            s/^layers = .*/layers = [1, 2, 3, 4]/' sweep.toml
    sed -i 's/^bytes=.*/bytes=$((6000000 + $1 * 2400000))/' job.sh
    run_silently 0 --limit 8
    sql "CREATE TABLE before AS SELECT key, state, predicted_memory AS bytes FROM job" results.db
    run_silently 0 --limit 1
    # Jobs that had run keep what was predicted before; all that had not are predicted anew.
    expect_sql '8|0' "SELECT count(*), sum(j.predicted_memory <> b.bytes) FROM before AS b JOIN job AS j USING (key)
                      WHERE b.state = 'ok'"
    expect_sql 0 "SELECT count(*) FROM before AS b JOIN job AS j USING (key) WHERE b.state = 'pending'
                  AND j.predicted_memory = b.bytes"
    expect_sql '' "SELECT 'rank' FROM job WHERE rank < 0"
}

# Micro-batch 4 is predicted to take 80 % of 20 MiB, 3 70 %; predictions off by 5 % are compared at 0.5^(5/12), 75 %.
predict__risky__run_last()
{
    predicted_sweep
    sed -i 's/^prune = .*/prune = "certain"\naudit = 0\nrisky = 0.5/; s/^micro_batch = .*/micro_batch = [4, 3, 2, 1]/' \
        sweep.toml
    run_silently 0
    expect_sql '3,2,1,4' "SELECT group_concat(micro_batch) FROM (SELECT r.micro_batch FROM attempt AS a
                          JOIN results AS r ON r.job = a.job_id ORDER BY a.id)"
    expect_sql 1 "SELECT excluded FROM rule WHERE name = 'memory.risky'"
}

predict__nothing_asked_or_keys_missing__said()
{
    predicted_sweep
    sed -i '/^heads/d' sweep.toml
    expect_said only_stdout_contains 0 'nothing can be predicted: the specs lack heads' plan
    small_sweep sweep.toml
    expect_said only_stderr_contains 2 'the file has no [predict] table' predict
}

predict__adapters__want_targets_and_rank()
{
    predicted_sweep
    changed 's/^micro_batch = .*/&\npeft = "lora"/' 'peft = "lora" needs a key lora_rank' \
        'peft = "lora" needs a key lora_targets, the modules to which adapters are added'
    changed 's/^peft = .*/&\nlora_rank = 8\nlora_targets = "q_proj w_proj"/' 'lora_targets = "q_proj w_proj"'
    changed 's/^lora_targets = .*/lora_targets = ""/' \
        'lora_targets names no module to which adapters are added, such as "q_proj v_proj"'
    changed 's/^lora_targets = .*/lora_targets = "q_proj v_proj"/'
}

hybrid_sweep() # LAYERS PATTERN
{
    toml job: command='["true"]' predict: framework=megatron device=H100 model:: "layers = $1" "hybrid_pattern = $2" \
        hidden=96 heads=6 vocab=1000 mixer_heads=16 mixer_state=16 seq=64 \
        parallel_spec: micro_batch=1 cluster_spec:: num_hosts=1 num_devices_per_host=2 >sweep.toml
}

# A text that cannot be read is wrong wherever it stands; of what contradicts something else, rules may leave the rest.
check__models_that_cannot_be_meant__said_at_the_key()
{
    hybrid_sweep 4 '["M*-M", "M*-X"]'
    changed '' 'sweep.toml:8:1: hybrid_pattern = "M*-X" is not a pattern: write one letter per layer'
    hybrid_sweep 5 '["M*-M", "M*M*"]'
    changed '' 'sweep.toml:8:1: hybrid_pattern has 4 layers, not 5'
    hybrid_sweep '[4, 5]' '["M*-M", "M*M*"]'
    changed 's/^micro_batch = 1/&\nrecompute = "none"/'
    changed 's/^hybrid_pattern.*/kv_heads = 4/; /^mixer/d' 'sweep.toml:8:1: kv_heads = 4 does not divide heads = 6'
    changed 's/^kv_heads.*/pipeline_layout = "Et|q*3L"/' \
        'sweep.toml:8:1: pipeline_layout = "Et|q*3L" is not a layout: write E, t, m and L'
    changed 's/^pipeline_layout.*/pipeline_layout = "Et|ttL"/; s/^micro_batch.*/&\npp = 2/' \
        'sweep.toml:8:1: pipeline_layout has 3 layers in 2 parts, not 4 in 2 stages'
    changed 's/^pipeline_layout.*//; s/^pp = .*/precision = "fp8"/; s/^device.*/device = "A100-80GB"/' \
        'A100-80GB does not have precision fp8; use bf16 or fp16'
    changed 's/A100-80GB/T4/' 'T4 does not have precision fp8; use fp16'
    changed 's/"T4"/"A100-80GB"/; s/^precision.*/precision = ["fp8", "bf16"]/'
}

# A key that would say something elsewhere is not passed over in silence.
check__keys_without_effect__named()
{
    hybrid_sweep 4 '"M*-M"'
    changed '/^hybrid_pattern/d; /^mixer/d; s/^micro_batch.*/&\nrecompute = ["none", "full"]\nlora_targets = "q_proj"\
recompute_modules = "core_attn"\nexpert_dispatcher = "allgather"/'
    expect_stdout_contains 'recompute_modules, lora_targets, expert_dispatcher: these keys do not affect any prediction'
    changed 's/"none", "full"/"none", "selective"/; /^lora_targets/d; /^expert_dispatcher/d
        s/^recompute_modules.*/recompute_modules = "mlp"/'
    expect_stdout_lacks 'no prediction changes'
}

devices_sweep() # DEVICE LINE...: lines of [[device]]
{
    printf '%s\n' 'profile = "megatron"' '[job]' 'command = ["true"]' '[predict]' "device = \"$1\"" 'prune = "off"' \
        '[model]' 'layers = 8' 'hidden = 2048' 'heads = 16' 'vocab = 50304' 'seq = 2048' '[cluster_spec]' \
        'num_hosts = 1' 'num_devices_per_host = 1' '[parallel_spec]' 'micro_batch = [1]' '[[device]]' \
        "${@:2}" >sweep.toml
}

# FIGURE of the only prediction
predicted()
{
    expect_run only_stdout 0 predict --json -c sweep.toml
    cp .stdout predict.json
    sqlite3 :memory: "SELECT readfile('predict.json') ->> 'records' ->> 0 ->> '$1'"
}

device__known_one_changed__only_what_the_row_says()
{
    devices_sweep H100 'name = "H100-80GB"' 'source = "its board"'
    time=$(predicted predicted_time)
    devices_sweep H100 'name = "NVIDIA H100"' 'peak_flops = 200e12'
    slower=$(predicted predicted_time)
    expect_sql 1 "SELECT $slower > 1.5 * $time AND $slower < 4.95 * $time" :memory:
    expect '[ "$(predicted verdict)" = fits ]'
    devices_sweep H100 'name = "H100"' 'memory_gib = 4'
    expect '[ "$(predicted predicted_time)" = "$time" ]' '[ "$(predicted verdict)" != fits ]'
}

device__new_one__by_its_names()
{
    devices_sweep 'NVIDIA X900 96GB' 'name = "X900"' 'others = ["X900-96GB"]' 'peak_flops = 989.5e12' \
        'memory_bandwidth = 3350e9' 'memory_gib = 94.5' 'attention_flops = 335e12'
    expect '[ "$(predicted verdict)" = fits ]'
    sed -i 's/^device = .*/device = "X90"/' sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:5:10: the predictor does not know [predict] device = "X90"; did '\
'you mean "X900"?' check sweep.toml
}

device__of_a_profile__changed_by_the_sweep_file()
{
    devices_sweep X900 'name = "X900"' 'memory_gib = 94.5'
    sed -i 's/^profile.*/profile = ["megatron", ".\/our.toml"]/' sweep.toml
    printf '[[device]]\nname = "X900"\npeak_flops = 500e12\nmemory_bandwidth = 2e12\nmemory_gib = 1\n' >our.toml
    expect '[ "$(predicted verdict)" = fits ]'
}

device__wrong_rows__told_with_their_places()
{
    devices_sweep H100 'name = "H1O0"' 'memory_gib = 4'
    expect_said only_stderr_contains 2 'sweep.toml:19:8: no device "H1O0" is known: a new one needs peak_flops and '\
'memory_bandwidth; did you mean "H100"?' check sweep.toml
    devices_sweep H100 'name = "H100"' 'memory_gb = 4' 'fp8_factor = 0' 'link_domain = 0' '[[device]]' 'name = "H200"' \
        '[[device]]' 'name = "NVIDIA H200"' '[[device]]' 'name = " "' '[[device]]' 'peak_flops = 1' '[[device]]' \
        'name = "X"' 'peak_flops = "1"' 'memory_bandwidth = 1e12'
    run_meshsweep check sweep.toml
    expect_only_stderr_contains 2 'sweep.toml:20:1: unknown key "memory_gb" in [[device]]; did you mean "memory_gib"?'
    expect_stderr_contains 'sweep.toml:21:14: fp8_factor must be between 1 and 64' 'sweep.toml:22:15: '
    expect_stderr_contains 'sweep.toml:26:8: "NVIDIA H200" is given twice (first on line 23)'
    expect_stderr_contains 'sweep.toml:28:8: the name of a device is empty' 'sweep.toml:29:1: [[device]] lacks "name"'
    expect_stderr_contains 'sweep.toml:33:14: peak_flops must be an integer or a float, not a string'
    expect_stderr_lacks '"X"'
}

shared_sweep()
{
    toml sweep: name=shared job: command='["true"]' model: family=llama layers=32 hidden=4096 heads=32 kv_heads=8 \
        ffn=14336 vocab=32000 seq=4096 cluster_spec:: num_hosts=1 num_devices_per_host=8 device=H100 \
        parallel_spec:: micro_batch=1 zero_stage=3 predict: framework=hf-trainer prune=off \
        training_spec:: >sweep.toml
    printf '%s\n' "$@" >>sweep.toml
    run_meshsweep predict --json
}

server__beside_the_training__takes_its_share()
{
    local verdicts="SELECT value->>'verdict' FROM json_each(readfile('.stdout'), '\$.records')"
    shared_sweep 'vllm_mode = "colocate"' 'vllm_gpu_memory_utilization = 0.9' 'vllm_enable_sleep_mode = [false, true]'
    expect_only_status 0
    expect_sql $'certain\nfits' "$verdicts" :memory:
    expect_after only_status 0 shared_sweep 'colocate_all_models = true' 'vllm_enable_sleep = [false, true]'
    expect_sql $'certain\nfits' "$verdicts" :memory:
    shared_sweep 'server_memory = 1'
    expect_any_stdout
    expect_only_stderr_contains 2 "server_memory = 1 leaves nothing: it is a share of the device's memory"
}

# An interval is as wide for what no published run had as for what was compared with nothing.
adapters_and_weights__compared_nowhere__wide_and_marked()
{
    shared_sweep 'peft = ["lora", "dora"]' 'quantization = ["nf4", "gptq", "hqq"]' 'lora_rank = 16' \
        'lora_targets = "q_proj v_proj"' 'packing = true'
    expect_only_status 0
    expect_sql 'lora gptq, lora nf4' "SELECT group_concat(peft || ' ' || quantization, ', ') FROM (SELECT value->>'peft'
        AS peft, value->>'quantization' AS quantization FROM json_each(readfile('.stdout'), '\$.records') WHERE
        value->>'memory_high' < 1.7 * (value->>'memory_low') ORDER BY 1, 2)" :memory:
    expect_said only_stdout_contains 0 'adapters other than LoRA: no measurement of memory to compare with' predict
    sed -i '/^packing/d' sweep.toml
    expect_said only_stdout_contains 0 ', as samples may differ in length)' predict
}

# By the cube root at most; above its own power a device is no faster.
power__limited__clocks_follow()
{
    expect_after only_status 0 shared_sweep 'power_limit = [350, 700, 900]'
    expect_sql 1 "WITH t AS (SELECT value->>'power_limit' AS watts, value->>'predicted_time' AS s
        FROM json_each(readfile('.stdout'), '\$.records')) SELECT a.s > 1.1 * b.s AND a.s < 1.26 * b.s AND b.s = c.s
        FROM t AS a, t AS b, t AS c WHERE a.watts = 350 AND b.watts = 700 AND c.watts = 900" :memory:
    sed -i 's/"H100"/"GH200"/' sweep.toml
    run_meshsweep predict
    expect_any_stdout
    expect_only_stderr_contains 2 'the power of GH200 without a limit is not known; set power in [[device]]'
}

fp4_format__of_megatron__is_a_precision()
{
    expect_after only_status 0 shared_sweep 'fp4_format = ["none", "e2m1"]'
    sed -i 's/"H100"/"B200"/' sweep.toml
    expect_run only_status 0 predict --json
    expect_sql 1 "SELECT max(value->>'predicted_time') > 1.1 * min(value->>'predicted_time')
        FROM json_each(readfile('.stdout'), '\$.records')" :memory:
}

# Successors of a device are not slower at equal precision.
devices__that_follow_one_another__not_slower()
{
    expect_after only_status 0 shared_sweep 'precision = ["bf16", "fp8"]'
    sed -i -e 's/^seq = .*/seq = [4096, 32768]/; s/hf-trainer/megatron/' -e '/^device = /c\
device = ["V100-32GB", "A100-80GB", "H100", "H200", "B200", "B300", "GB200", "GB300", "R100", "MI300X", "MI325X",\
    "MI350X", "MI355X", "MI455X", "TPU-v5p", "TPU-v7", "Trainium2", "Trainium3", "Gaudi-2", "Gaudi-3", "L40",\
    "L40S"]' sweep.toml
    expect_run only_status 0 predict --json
    expect_sql '' "WITH p AS (SELECT value->>'device' AS device, value->>'precision' AS precision, value->>'seq' AS seq,
        value->>'predicted_time' AS time FROM json_each(readfile('.stdout'), '\$.records')), pair(before, after) AS
        (VALUES ('V100-32GB', 'A100-80GB'), ('A100-80GB', 'H100'), ('H100', 'H200'), ('H200', 'B200'), ('B200', 'B300'),
         ('GB200', 'GB300'), ('GB300', 'R100'), ('MI300X', 'MI325X'), ('MI325X', 'MI350X'), ('MI350X', 'MI355X'),
         ('MI355X', 'MI455X'), ('TPU-v5p', 'TPU-v7'), ('Trainium2', 'Trainium3'), ('Gaudi-2', 'Gaudi-3'),
         ('L40', 'L40S'))
        SELECT before, after, b.precision, b.seq, b.time, a.time FROM pair JOIN p AS b ON b.device = before
        JOIN p AS a ON a.device = after AND a.precision = b.precision AND a.seq = b.seq
        WHERE a.time > b.time" :memory:
    expect_sql 1 "SELECT count(*) > 76 FROM json_each(readfile('.stdout'), '\$.records')" :memory:
}

# The peak belongs to the longest batch, whatever sequences have on average, besides pieces of shorter ones; work
# follows the average.
mean_tokens__shorter_than_the_longest__memory_of_the_longest()
{
    toml sweep: name=lengths job: command='["true"]' model: family=llama layers=8 hidden=1024 heads=8 ffn=2816 \
        vocab=32000 seq=8192 training_spec: padding_free=true cluster_spec: num_hosts=1 num_devices_per_host=1 \
        device=A100-80GB parallel_spec: micro_batch=1 mean_tokens=500,4000,8192 \
        predict: framework=hf-trainer >sweep.toml
    expect_run only_status 0 predict --json
    expect_sql '2|3|1' "WITH p AS (SELECT value->>'mean_tokens' AS mean, value->>'predicted_memory' AS memory,
        value->>'predicted_time' AS time, value->>'memory_high' AS high
                         FROM json_each(readfile('.stdout'), '\$.records'))
        SELECT count(DISTINCT memory), count(DISTINCT time),
               (SELECT high FROM p WHERE mean = 500) > (SELECT high FROM p WHERE mean = 8192) FROM p" :memory:
}

# Operations that a compiler fuses are neither written nor read again: never slower, with and without recompute.
compiled__torchtitan__faster_than_eager()
{
    toml profile=torchtitan sweep: name=compiled job: command='["true"]' model: layers=32 hidden=4096 heads=32 \
        kv_heads=8 ffn=14336 vocab=128256 seq=8192 training_spec: '"compile.enable" = [false, true]' \
        '"activation_checkpoint.mode" = ["none", "selective", "full"]' cluster_spec: num_hosts=1 \
        num_devices_per_host=8 device=H100 parallel_spec: micro_batch=1 predict: >sweep.toml
    expect_run only_status 0 predict --json
    expect_sql '3|1|1' "WITH p AS (SELECT value->>'compiled' AS compiled, value->>'predicted_time' AS time,
        value->>'\$.\"activation_checkpoint.mode\"' AS mode FROM json_each(readfile('.stdout'), '\$.records'))
        SELECT count(*), min(e.time / c.time) > 1.02, max(e.time / c.time) < 1.2
        FROM p AS e JOIN p AS c USING (mode) WHERE e.compiled = 0 AND c.compiled = 1" :memory:
}

run_cases "$@"
