#!/usr/bin/env bash
# trainer: the program as it is run, by its output, its metrics file and its exit status.
. "${0%/*}/lib.sh"

trainer=$build_dir/meshsweep-trainer
small=(--steps 1 --hidden 16 --seq 8)

trained() { expect_command only_stdout 0 "$trainer" "$@"; } # ARGS

# The number after the last NAME that begins a line or follows a blank.
number_of() # NAME ARGS
{
    trained "${@:2}"
    number=$(awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) last = $(i + 1) } END { print last }' .stdout)
    [ "$number" ] || fail "no $1"
}

holds() { awk "BEGIN { exit !($1) }" || fail "it does not hold: $1"; } # EXPRESSION OF awk

# The nine-digit losses of all steps: floats that print alike with nine digits are equal in every bit.
losses_of() # ARGS
{
    trained "$@" --metrics metrics
    losses=$(sed -n 's/.*"loss": \([^,]*\),.*/\1/p' metrics)
    rm metrics
}

expect_losses() # LOSSES ARGS
{
    losses_of "${@:2}"
    [ "$losses" = "$1" ] || fail "losses $losses instead of $1"
}

every_stage_rank_count_and_checkpointing__same_losses_in_every_bit()
{
    # A layer that is more than the window in which ranks exchange.
    args=(--steps 2 --hidden 80 --seq 8 --micro-batch 1 --global-batch 3)
    losses_of "${args[@]}"
    reference=$losses
    for stage in 0 1 2 3; do
        expect_losses "$reference" "${args[@]}" --ranks 3 --zero-stage "$stage"
    done
    args=(--steps 5 --lr 1e-2 --hidden 16 --seq 12 --micro-batch 2 --global-batch 8)
    losses_of "${args[@]}"
    reference=$losses
    expect '[ "$(grep -c "[0-9]\{7\}" <<<"$losses")" -eq 5 ]'
    for ranks in 1 2 4; do
        for stage in 0 1 2 3; do
            expect_losses "$reference" "${args[@]}" --ranks "$ranks" --zero-stage "$stage"
            expect_losses "$reference" "${args[@]}" --ranks "$ranks" --zero-stage "$stage" --activation-checkpointing
        done
    done
}

other_micro_batch__same_loss_but_for_rounding()
{
    number_of loss --steps 4 --hidden 16 --seq 12 --micro-batch 8 --global-batch 8
    whole=$number
    number_of loss --steps 4 --hidden 16 --seq 12 --micro-batch 1 --global-batch 8
    holds "($whole - $number) ^ 2 < 1.5e-4 ^ 2"
}

twenty_steps__loss_falls_from_log_256()
{
    number_of loss --steps 20 --hidden 32 --seq 16 --lr 5e-3
    first=$(sed -n '1s/.*loss \([^ ]*\) .*/\1/p' .stdout)
    # One sample, repeated, would be known by heart by then: 1.3.
    holds "$first > 5.4 && $first < 5.7 && $number > 2 && $number < 4"
}

stages_in_turn__peak_memory_falls_with_two_ranks()
{
    before=1e18
    for stage in 0 1 2 3; do
        number_of peak_memory_bytes --steps 1 --layers 4 --micro-batch 1 --global-batch 2 --ranks 2 \
            --zero-stage "$stage"
        holds "$number < $before"
        before=$number
    done
}

# The peak by the formulas of model.h and ranks.h. What is allocated is counted in 64 bytes; what is worked on is a
# unit's derivatives, and its gathered parameters where there are any.
counted() { echo $((($1 + 63) / 64 * 64)); } # BYTES
part_of() { echo $((($1 + ranks - 1) / ranks)); } # UNIT
worked_on() { echo $(($(counted $((4 * ranks * $(part_of "$1")))) * (stage == 3 ? 2 : 1))); } # UNIT

predicted_peak()
{
    local n=$((batch * seq)) h=$hidden layer last part whole x k state head back
    layer=$((12 * h * h + 13 * h)) last=$((2 * h + h * vocab)) x=$(counted $((4 * n * h)))
    part=$(($(part_of $(((vocab + seq) * h))) + layers * $(part_of "$layer") + $(part_of "$last")))
    whole=$((part * ranks))
    state=$(($(counted $((4 * (stage < 3 ? whole : part)))) + $(counted $((4 * (stage < 2 ? whole : part)))) +
        2 * $(counted $((4 * (stage < 1 ? whole : part))))))
    k=$(counted $((4 * (15 * n * h + 4 * n + n * heads * seq))))
    head=$(((layers + 3) * x + (again ? 0 : layers) * k + $(counted $((8 * n))) + $(counted $((4 * n * vocab))) +
        $(worked_on "$last")))
    back=$(((layers + 1) * x + (again ? 1 : layers) * k + $(counted $((4 * (5 * n * h + seq * seq)))) +
        $(worked_on "$layer")))
    echo $((state + (ranks > 1 ? 256 * 1024 : 0) + $(counted $((2 * n))) + (head > back ? head : back)))
}

# The defaults: a layer's way back; a wide vocabulary: the head; odd parts.
peak_memory__formulas_of_the_headers()
{
    while read -r layers hidden heads seq vocab batch ranks stage again; do
        # shellcheck disable=SC2046 # one word or none
        number_of peak_memory_bytes --steps 1 --layers "$layers" --hidden "$hidden" --heads "$heads" --seq "$seq" \
            --vocab "$vocab" --micro-batch "$batch" --global-batch $((batch * ranks)) --ranks "$ranks" \
            --zero-stage "$stage" $([ "$again" -eq 0 ] || echo --activation-checkpointing)
        expect '[ "$number" -eq "$(predicted_peak)" ]'
    done <<'END'
2 64 4 64 256 4 1 0 0
1 20 5 17 8000 2 1 3 0
1 20 5 300 256 1 3 3 1
2 32 2 8 6000 1 2 2 0
3 20 5 16 256 2 2 1 1
END
}

two_ranks__shared_window_is_counted()
{
    tokens=$((2 * 16 * 4)) # a byte each, and a byte for its target
    number_of peak_memory_buffer_bytes --steps 1 --seq 16 --micro-batch 4
    expect '[ "$number" -eq $tokens ]'
    number_of peak_memory_buffer_bytes --steps 1 --seq 16 --micro-batch 4 --ranks 2
    expect '[ "$number" -eq $((tokens + 256 * 1024)) ]'
}

checkpointing__peak_memory_falls()
{
    number_of peak_memory_activation_bytes --steps 1 --layers 6
    plain=$number
    number_of peak_memory_activation_bytes --steps 1 --layers 6 --activation-checkpointing
    holds "$number < $plain / 2"
}

metrics_file__one_object_per_line()
{
    expect_command only_stdout 0 env MESHSWEEP_METRICS=metrics "$trainer" --steps 3 --hidden 16 --seq 8
    expect '[ "$(wc -l <metrics)" -eq 4 ]'
    for step in 1 2 3; do
        sed -n "${step}p" metrics >line.json
        expect_json "$step|1|1" line.json step '(j ->> "loss") > 0' \
            'abs((j ->> "step_time") * (j ->> "throughput") - 16) < 0.01'
    done
    sed 1,3d metrics >last.json
    expect_json "$(((256 + 8) * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16 + 256 * 16))|1" last.json parameters \
        '(j ->> "peak_memory_bytes") > 0'
}

summary__median_of_the_steps_after_the_warm_up()
{
    number_of step_time --steps 8 --warmup-steps 3 --hidden 16 --seq 8 --global-batch 8 --micro-batch 2
    sed -n 's/^step .* step_time \([^ ]*\) .*/\1/p' .stdout >seconds
    expect '[ "$(wc -l <seconds)" -eq 8 ]'
    read -r throughput tokens <<<"$(awk '$1 == "throughput" || $1 == "tokens/s" { printf "%s ", $2 }' .stdout)"
    holds "$number == $(tail -n +4 seconds | sort -g | sed -n 3p) && $tokens > 7.99 * $throughput"
    holds "$throughput * $number > 7.9 && $throughput * $number < 8.1"
}

device_too_small__out_of_memory_message_and_status_1()
{
    run_command "$trainer" --ranks 2 --device-memory 2.5MiB
    expect_only_stderr_contains 1 'meshsweep-trainer: out of memory: rank ' ' MiB (device capacity 2.50 MiB; ' \
        ' ended with status 1'
}

device_of_the_measured_peak__fits_and_one_unit_less_does_not()
{
    number_of peak_memory_bytes --steps 2 --ranks 2 --zero-stage 3
    trained --steps 2 --ranks 2 --zero-stage 3 --device-memory "${number}B"
    expect_command only_status 1 "$trainer" --steps 2 --ranks 2 --zero-stage 3 --device-memory $((number - 64))B
}

sigchld_ignored_by_the_parent__trains_all_the_same()
{
    expect_command only_stdout 0 env --ignore-signal=CHLD "$trainer" "${small[@]}" --ranks 2
}

diverging__says_so_and_writes_no_number()
{
    run_command "$trainer" --ranks 2 --hidden 16 --seq 8 --lr 1e30 --metrics metrics
    expect_among_stderr 1 'is not finite'
    expect_stdout_lacks nan inf
    expect '! grep -e nan -e inf metrics'
}

wrong_use__one_sentence_and_status_2()
{
    while IFS='|' read -r words text; do
        # shellcheck disable=SC2086 # words
        expect_said_by only_stderr 2 "meshsweep-trainer: $text" run_command "$trainer" $words
    done <<'END'
--hiden 64|unknown option '--hiden'; see --help
64|unexpected argument '64'; see --help
--hidden|--hidden needs a value
--help=x|--help takes no value
--zero-stage 4|--zero-stage 4: must be a whole number from 0 to 3
--layers 2x|--layers 2x: must be a whole number from 1 to 4096
--layers=|--layers : must be a whole number from 1 to 4096
--vocab 255|--vocab 255: must be a whole number from 256 to 65536
--lr nan|--lr nan: must be a number above 0
--lr -1|--lr -1: must be a number above 0
--seed -1|--seed -1: must be a whole number from 0
--device-memory 24Mi|--device-memory 24Mi: must be a size such as 24MiB, 1.5GiB or 500MB
--device-memory 0|--device-memory 0: must be a size such as 24MiB, 1.5GiB or 500MB
--hidden 64 --heads 5|--hidden 64 is not a multiple of --heads 5
--global-batch 10 --micro-batch 4|--global-batch 10 is not a multiple of --micro-batch 4 times --ranks 1
--global-batch 16 --micro-batch 4 --ranks 3|--global-batch 16 is not a multiple of --micro-batch 4 times --ranks 3
--steps 5 --warmup-steps 5|--warmup-steps 5 leaves none of --steps 5 to measure
END
}

values_in_both_spellings__taken()
{
    number_of parameters --layers 3 --hidden=96 --heads 6 --seq 8 --steps 2 --ranks 2 --device-memory 7.5MiB \
        --activation-checkpointing --lr=2e-4 --seed 18446744073709551615
    expect '[ "$number" -eq $(((256 + 8) * 96 + 3 * (12 * 96 * 96 + 13 * 96) + 2 * 96 + 256 * 96)) ]' \
        '[ "$(grep -c "^step " .stdout)" -eq 2 ]'
}

one_step__no_warm_up()
{
    number_of step_time "${small[@]}"
    holds "$number > 0"
}

seed__same_losses_else_others()
{
    losses_of --steps 2 --hidden 16 --seq 8 --seed 3
    first=$losses
    expect_losses "$first" --steps 2 --hidden 16 --seq 8 --seed 3
    losses_of --steps 2 --hidden 16 --seq 8 --seed 4
    expect '[ "$losses" != "$first" ]'
}

help__usage_on_stdout_and_status_0()
{
    trained --hidden 32 --help
    expect_stdout_contains $'\n  --zero-stage N ' $'\n  --metrics FILE '
    expect '[ "$(head -n 1 .stdout)" = "Usage: meshsweep-trainer [OPTIONS]" ]'
}

# Its metrics file in no folder, metrics and standard output on a full disk.
file_not_writable__says_so_and_status_1()
{
    while IFS='|' read -r where text; do
        run_command sh -c "\"\$0\" ${small[*]} $where" "$trainer"
        expect_among_stderr 1 "meshsweep-trainer: $text"
    done <<'END'
--metrics /nowhere/m.jsonl|--metrics /nowhere/m.jsonl: No such file or directory
--metrics /dev/full|the metrics file: No space left on device
>/dev/full|standard output: No space left on device
END
}

data_file__short_one_refused_long_one_trained_on()
{
    printf abcabcabcabcabcabcab >data
    expect_command only_status 2 "$trainer" --steps 1 --hidden 16 --data data --seq 20
    number_of loss --steps 40 --hidden 16 --lr 1e-2 --data data --seq 19
    holds "$number < 1"
}

# In the background, with two ranks, until its first line is there.
start_training()
{
    start_command "$trainer" --ranks 2 --hidden 16 --seq 8 --steps 1000000
    wait_until '[ -s .stdout ]' 20
    pgrep -P "$command_pid" >pids
    expect '[ "$(wc -l <pids)" -eq 2 ]'
}

rank_killed_while_training__job_ends_with_the_signal()
{
    start_training
    kill -KILL "$(tail -n 1 pids)"
    wait_command among_stderr 137 'was killed by signal 9 (Killed)'
    expect all_are_gone
}

killed_while_training__its_ranks_end()
{
    start_training
    end_command KILL only_status 137
    wait_until all_are_gone 20
}

run_cases "$@"
