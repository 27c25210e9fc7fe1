#!/usr/bin/env bash
# The manual page and the completions: every command and option is there, and the programs that read them do.
. "${0%/*}/lib.sh"

command_names()
{
    "$meshsweep" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'
}

manual__page__every_command_and_no_warning()
{
    expect_said only_stdout_contains 0 '.SH EXIT STATUS' manual
    for name in $(command_names); do
        expect "sed 's/[\\]//g' .stdout | grep -qx '.SS $name'"
    done
    cp .stdout meshsweep.1
    command -v groff >/dev/null || skip "there is no groff"
    expect "[ -z \"\$(groff -man -ww -Tutf8 meshsweep.1 2>&1 >page.txt)\" ]"
}

help__every_command__one_screen_with_an_example()
{
    for name in $(command_names); do
        run_meshsweep "$name" --help
        expect_only_stdout_contains 0 'example:' '  meshsweep ' '--color WHEN'
        expect "[ \"\$(wc -l <.stdout)\" -le 64 ]"
        # Examples are to be copied, and stay whole.
        expect "! sed '/^example/,\$d' .stdout | grep -q '.\{81\}'"
    done
    expect_said only_stdout_contains 0 'Exit status: 0 success' --help
    expect "! grep -q '.\{81\}' .stdout"
    # Rare options are named in the help, and explained by `help run` and in the manual.
    run_meshsweep run --help
    expect_only_stdout_contains 0 ' --divisor' '  more options, explained by meshsweep help run:'
    expect_stdout_lacks 'asha: promote one in N'
    expect "[ \"\$(sed '/more options/,\$d' .stdout | grep -c '^  .*--[a-z]')\" -le 17 ]"
    run_meshsweep help run
    expect_only_stdout_contains 0 '      --divisor N ' 'asha: promote one in N'
    expect_stdout_lacks 'more options'
    expect_said only_stdout_contains 0 'asha: promote one in N' manual
}

bash_completion__commands_options_choices()
{
    expect_run only_stdout 0 completion bash
    cp .stdout completion.bash
    printf '%s\n' 'source ./completion.bash' 'COMP_WORDS=("$@")' 'COMP_CWORD=$(($# - 1))' _meshsweep \
        'echo "${COMPREPLY[*]}"' >ask.sh
    expect "[ \"\$(bash ask.sh meshsweep exp)\" = export ]" "[ \"\$(bash ask.sh meshsweep stat)\" = status ]"
    expect "[ \"\$(bash ask.sh meshsweep compare --me)\" = --metric ]"
    expect "[ \"\$(bash ask.sh meshsweep --dry)\" = --dry-run ]"
    reply=$(bash ask.sh meshsweep run --progress p)
    expect "[ '$reply' = plain ]"
    touch sweep.toml
    expect "[ \"\$(bash ask.sh meshsweep plan -c swee)\" = sweep.toml ]"
    # bash takes "=" for a word of its own.
    expect "[ \"\$(bash ask.sh meshsweep run --progress = p)\" = plain ]"
    expect "[ \"\$(bash ask.sh meshsweep run --progress =)\" = 'auto tty plain json none' ]"
    # Values of which there may be several, that may be left out, and of options that every command has.
    expect "[ \"\$(bash ask.sh meshsweep run --retry-failed = ti)\" = timeout ]"
    expect "[ \"\$(bash ask.sh meshsweep run --retry-failed = oom,ti)\" = oom,timeout ]"
    expect "[ \"\$(bash ask.sh meshsweep run --retry-failed ti)\" = '' ]"
    expect "[ \"\$(bash ask.sh meshsweep run --strategy dsat-a)\" = dsat-asha ]"
    expect "[ \"\$(bash ask.sh meshsweep run --equal-batch o)\" = 'on off' ]"
    expect "[ \"\$(bash ask.sh meshsweep results --format js)\" = 'json jsonl' ]"
    expect "[ \"\$(bash ask.sh meshsweep status --color = n)\" = never ]"
    # Words that are no options.
    expect "[ \"\$(bash ask.sh meshsweep completion z)\" = zsh ]" "[ \"\$(bash ask.sh meshsweep help sh)\" = show ]"
}

completions__other_shells__every_command()
{
    expect_said only_stdout_contains 0 '#compdef meshsweep' completion zsh
    for name in $(command_names); do
        expect "grep -qx '$name)' .stdout"
    done
    if command -v zsh >/dev/null; then
        expect "zsh -n .stdout"
    fi
    run_meshsweep completion fish
    expect_only_stdout_contains 0 \
        "complete -c meshsweep -n '__fish_seen_subcommand_from run' -l config -s c -d 'the sweep file' -r -F"
    for name in $(command_names); do
        expect "grep -q -e '-n __fish_use_subcommand -a $name ' .stdout"
    done
    if command -v fish >/dev/null; then
        expect "fish --no-execute .stdout"
    fi
}

# All that is offered is taken.
bash_completion__values__all_taken()
{
    local value
    small_run
    "$meshsweep" completion bash >completion.bash
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *results:--format=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        expect_run only_stdout 0 results --format "$value"
    done
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *run:--retry-failed=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        expect_run only_stdout 0 plan --retry-failed="$value"
    done
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *plan:--strategy=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        run_meshsweep plan --strategy "$value"
        expect "[ $status = 0 ] || [ $status = 2 ]" # what it wants of the specs is another matter
        expect_only_status "$status"
        expect_stderr_lacks unknown
    done
}

help__of_a_command__as_its_option_says()
{
    expect_run only_stdout 0 status --help
    cp .stdout help
    expect_said only_stdout 0 "$(cat help)" help status
    expect_said only_stdout 0 "$("$meshsweep" --help)" help
    run_meshsweep help rnu
    expect_only_stderr 2 'meshsweep: unknown command rnu (did you mean run?); meshsweep --help lists the commands'
}

completion__which_shell__asked()
{
    expect_said only_stderr 2 'meshsweep: completion: name the shell: meshsweep completion bash, zsh or fish' completion
    run_meshsweep completion tcsh
    expect_only_stderr 2 'meshsweep: completion: name the shell: meshsweep completion bash, zsh or fish'
}

# A sweep of which twelve jobs are recorded, and one key that is in the file alone.
recorded_sweep()
{
    toml sweep: name=offers objective=max:score job: command='["echo", "score: {micro_batch}"]' \
        job.metrics.score: regex='score: ([0-9]+)' training_spec: micro_batch=1,2,3,4,5,6 macro=1,2 >sweep.toml
    run_silently 0
    echo "unrun = 1" >>sweep.toml
}

offer() # WHAT WORD...
{
    expect_run only_stdout 0 completion "$1" -- "${@:2}"
}

offers__database_and_file__names_and_numbers()
{
    recorded_sweep
    offer keys run --only m
    expect_stdout $'micro_batch\nmacro'
    offer keys run --only ''
    expect_stdout $'micro_batch\nmacro\nunrun\nnum_devices_per_host\nnum_hosts'
    offer columns results --columns mi
    expect_stdout "micro_batch"
    offer columns results --columns ''
    expect_stdout_contains "attempts"
    expect_stdout_lacks "unrun"
    offer metrics run --metric s
    expect_stdout "score"
    offer jobs show 1
    expect_stdout $'1\n10\n11\n12'
    offer jobs show 0
    expect_no_stdout
    offer jobs show x
    expect_no_stdout
    # The last name of a list and a condition is completed, however an option is written.
    offer columns results --columns=state,mic
    expect_stdout "state,micro_batch"
    offer columns results --columns = mic
    expect_stdout "micro_batch"
    offer columns results --where '"macro = 2 AND (mic'
    expect_stdout "macro = 2 AND (micro_batch"
    # All that is offered is taken.
    run_meshsweep results --columns "$("$meshsweep" completion columns -- results --columns '' | paste -sd ,)"
    expect_only_stdout 0
}

offers__combination__its_keys_then_their_values()
{
    recorded_sweep
    toml parallel_spec: recompute='["none", "every layer", "full", "selective"]' offload=false,true >>sweep.toml
    offer combinations why m
    expect_stdout $'micro_batch=\nmacro='
    offer combinations why micro_batch=3 re
    expect_stdout "recompute="
    offer combinations why 1
    expect_stdout $'1\n10\n11\n12'
    offer combinations why micro_batch=
    expect_stdout "$(printf 'micro_batch=%s\n' 1 2 3 4 5 6)"
    # Combinations that the file has not run yet are offered; what would want quotes is left out.
    offer combinations why recompute=
    expect_stdout $'recompute=none\nrecompute=full\nrecompute=selective'
    offer combinations why offload=t
    expect_stdout "offload=true"
    # As bash cuts it.
    offer combinations why micro_batch = 3 recompute = s
    expect_stdout "selective"
    offer combinations why macro =
    expect_stdout $'1\n2'
    offer combinations why nothing=
    expect_no_stdout
    # The database alone has these.
    offer combinations why -c nowhere.toml macro=
    expect_stdout $'macro=1\nmacro=2'
    expect_run only_status 0 why "$("$meshsweep" completion combinations -- why -c nowhere.toml macro=2)"
    expect_stderr_lacks unknown
}

offers__predictions_and_candidates__what_conditions_may_name()
{
    toml predict: framework=torch-ddp job: command='["true"]' training_spec: micro_batch=1,2 layers=2 heads=2 \
        hidden=64 seq_len=64 vocab=100 >sweep.toml
    offer predictions predict --where "verdict = 'fits' AND predicted_t"
    expect_stdout "verdict = 'fits' AND predicted_time
verdict = 'fits' AND predicted_time_here"
    offer predictions predict --columns=micro_batch,oom
    expect_stdout micro_batch,oom_probability
    offer predictions predict --sort lay
    expect_stdout layers
    for name in $("$meshsweep" completion predictions -- predict --sort '' | grep -v num_); do
        case $name in place* | devices* | *_here | throughput* | efficiency*) continue ;; esac # of --scale-to
        expect_run only_status 0 predict --where "$name IS NULL OR 1" --sort "$name" --columns "$name"
    done
    toml model_space: mixers=DOT,LINEAR total_mixers=4 num_zhen_layers=1,2 num_features=8 emb_dim=64,160 \
        output_per_emb=50 model_space.keys: activation=relu,gelu model_space.base: num_features=8 emb_dim=160 \
        output_per_emb=50 num_zhen_layers=1 tokens='["DOT"]' activation=relu >space.toml
    offer candidates search-model -c space.toml --where 'emb_dim > 64 AND par'
    expect_stdout 'emb_dim > 64 AND params'
    offer candidates search-model -c space.toml --where base.p
    expect_stdout base.params
    for name in $("$meshsweep" completion candidates -- search-model -c space.toml --where '' | grep -vx mixers); do
        expect_run only_status 0 search-model -c space.toml --where "$name IS NOT NULL" --limit 1
    done
    offer candidates search-model --where ''
    expect_no_stdout
}

offers__elsewhere_or_nowhere__silent()
{
    recorded_sweep
    mkdir other empty
    mv results.db results.db.d other
    mv sweep.toml other/x.toml
    for words in "-d other/results.db" "--db other/results.db" "--db=other/results.db" "--db = other/results.db" \
        "-dother/results.db"; do
        # shellcheck disable=SC2086 # words
        offer columns results $words --columns mic
        expect_stdout "micro_batch"
    done
    offer columns results -d '"other/results.db"' --columns mic
    expect_stdout "micro_batch"
    offer keys run -c other/x.toml --only un
    expect_stdout "unrun"
    cp other/results.db "$PWD/home.db"
    # shellcheck disable=SC2088 # as it is typed
    expect_said_by only_stdout 0 2 run_command env HOME="$PWD" "$meshsweep" completion jobs -- show -d '~/home.db' 2
    # No database, none of ours, a file with mistakes.
    offer jobs show ''
    expect_no_stdout
    echo "no database" >results.db
    offer columns results --columns ''
    expect_no_stdout
    offer keys run -c /nonexistent/sweep.toml --only ''
    expect_no_stdout
    printf '[training_spec]\nmicro_batch = [1, 2\n' >sweep.toml
    offer keys run --only ''
    expect_no_stdout
    expect_run silent 0 completion keys
}

# A million jobs are not looked through for those that begin with a digit.
offers__many_jobs__at_once()
{
    recorded_sweep
    columns=$(sqlite3 results.db "SELECT group_concat(name) FROM pragma_table_info('job') WHERE cid > 1")
    sqlite3 results.db "WITH RECURSIVE n(i) AS (SELECT 13 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
        INSERT INTO job (id, key, $columns) SELECT i, randomblob(16), $columns FROM n, job WHERE job.id = 1"
    offer jobs show 2999
    expect_stdout "$(printf '2999\n'; seq 29990 29999; seq 299900 299988)"
    begun=$(date +%s%N)
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        "$meshsweep" completion jobs -- show 29 >/dev/null
    done
    took=$((($(date +%s%N) - begun) / 10000000))
    [ "$took" -lt 200 ] || fail "$took ms for one"
}

# The shells ask for them: through a terminal of zsh's, by fish's own, by bash's function.
offers__each_shell__asks()
{
    recorded_sweep
    export PATH="$build_dir:$PATH"
    "$meshsweep" completion bash >completion.bash
    "$meshsweep" completion fish >completion.fish
    "$meshsweep" completion zsh >_meshsweep
    printf '%s\n' 'source ./completion.bash' 'COMP_WORDS=("$@")' 'COMP_CWORD=$(($# - 1))' _meshsweep \
        'echo "${COMPREPLY[*]}"' >ask.sh
    ask() { bash ask.sh "$@"; }
    expect '[ "$(ask meshsweep results --columns state,mic)" = state,micro_batch ]'
    expect '[ "$(ask meshsweep results --columns = mic)" = micro_batch ]'
    expect '[ "$(ask meshsweep compare --by mac)" = macro ]' '[ "$(ask meshsweep show 12)" = 12 ]'
    expect '[ "$(ask meshsweep why mac)" = macro= ]' '[ "$(ask meshsweep why macro =)" = "1 2" ]'
    expect '[ "$(ask meshsweep why macro = 2 micro_batch = 5)" = 5 ]'
    expect '[ "$(ask meshsweep --only "'\''macro = 1 and mic")" = "macro = 1 and micro_batch" ]'
    if command -v fish >/dev/null; then
        ask() { HOME=$PWD fish -c "source completion.fish; complete -C '$1'" | cut -f 1; }
        expect '[ "$(ask "meshsweep results --columns state,mic")" = state,micro_batch ]'
        expect '[ "$(ask "meshsweep results --columns=mic")" = --columns=micro_batch ]'
        expect '[ "$(ask "meshsweep show 12")" = 12 ]' '[ "$(ask "meshsweep why mac")" = macro= ]'
        expect '[ "$(ask "meshsweep why macro=2 micro_batch=5")" = micro_batch=5 ]'
        expect '[ "$(ask "meshsweep run --only \"macro = 1 and mic")" = "macro = 1 and micro_batch" ]'
    fi
    command -v zsh >/dev/null || return 0
    cat >ask.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -d ./dump'
zpty -w z 'bindkey "^I" complete-word; echo READY'
while zpty -r z line && [[ $line != *READY* || $line == *echo* ]]; do :; done
zpty -w -n z "$1"$'\t\C-a'"print -r -- GOT:'"$'\C-e'"'"$'\n'
while zpty -r z line; do
    [[ $line == *GOT:* && $line != *print* ]] && { print -r -- ${${line%%$'\r'*}#*GOT:}; break }
done
END
    ask() { timeout 20 zsh -f ask.zsh "$1"; }
    expect '[ "$(ask "meshsweep results --columns state,mic")" = "meshsweep results --columns state,micro_batch" ]'
    expect '[ "$(ask "meshsweep results --columns=mic")" = "meshsweep results --columns=micro_batch" ]'
    expect '[ "$(ask "meshsweep show 12")" = "meshsweep show 12" ]'
    expect '[ "$(ask "meshsweep why mac")" = "meshsweep why macro=" ]'
    expect '[ "$(ask "meshsweep why macro=2 micro_batch=5")" = "meshsweep why macro=2 micro_batch=5" ]'
    expect '[ "$(ask "meshsweep why macro=2 mic")" = "meshsweep why macro=2 micro_batch=" ]'
    expect '[ "$(ask "meshsweep --only \"macro = 1 and mic")" = "meshsweep --only \"macro = 1 and micro_batch\"" ]'
    expect '[ "$(ask "meshsweep help sho")" = "meshsweep help show" ]'
}

run_cases "$@"
