#!/usr/bin/env bash
# The manual page and the completions: every command and option is there, and the programs that read them do.
. "${0%/*}/lib.sh"

command_names() { "$meshsweep" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'; }

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
    bash_completion
    touch sweep.toml
    # bash takes "=" for a word of its own. Values of which there may be several, that may be left out, and of options
    # that every command has; words that are no options.
    asked_for <<'END'
exp|export
stat|status
compare --me|--metric
--dry|--dry-run
run --progress p|plain
plan -c swee|sweep.toml
run --progress = p|plain
run --progress =|auto tty plain json none
run --retry-failed = ti|timeout
run --retry-failed = oom,ti|oom,timeout
run --retry-failed ti|
run --strategy dsat-a|dsat-asha
run --equal-batch o|on off
results --format js|json jsonl
status --color = n|never
completion z|zsh
help sh|show
END
}

bash_completion()
{
    expect_run only_stdout 0 completion bash
    cp .stdout completion.bash
    printf '%s\n' 'source ./completion.bash' 'COMP_WORDS=("$@")' 'COMP_CWORD=$(($# - 1))' _meshsweep \
        'echo "${COMPREPLY[*]}"' >ask.sh
    ask() { bash ask.sh meshsweep "$@"; }
}

# Each row of standard input is what stands behind "meshsweep " and what a shell makes of it.
asked_for()
{
    local line words reply got
    while IFS= read -r line; do
        reply=${line##*|}
        eval "words=(${line%|*})"
        got=$(ask "${words[@]}") || true
        [ "$got" = "$reply" ] || fail "meshsweep ${line%|*}: $got, not $reply"
    done
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
    expect_said only_stdout_contains 0 "complete -c meshsweep -n '__fish_seen_subcommand_from run' -l config -s c -d \
'the sweep file' -r -F" completion fish
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
    small_run
    "$meshsweep" completion bash >completion.bash
    words_of() { sed -n "s/^ *$1=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash; }
    for value in $(words_of results:--format); do
        expect_run only_stdout 0 results --format "$value"
    done
    for value in $(words_of run:--retry-failed); do
        expect_run only_stdout 0 plan --retry-failed="$value"
    done
    for value in $(words_of plan:--strategy); do
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
    for shell in '' tcsh; do
        expect_said only_stderr 2 'meshsweep: completion: name the shell: meshsweep completion bash, zsh or fish' \
            completion ${shell:+"$shell"}
    done
}

# A sweep of which twelve jobs are recorded, and one key that is in the file alone.
recorded_sweep()
{
    toml sweep: name=offers objective=max:score job: command='["echo", "score: {micro_batch}"]' \
        job.metrics.score: regex='score: ([0-9]+)' training_spec: micro_batch=1,2,3,4,5,6 macro=1,2 >sweep.toml
    run_silently 0
    echo "unrun = 1" >>sweep.toml
}

# All that is offered of WHAT where those words are typed; "" is nothing.
offered() { expect_said only_stdout 0 "$1" completion "$2" -- "${@:3}"; } # TEXT WHAT WORD...

offers__database_and_file__names_and_numbers()
{
    recorded_sweep
    offered $'micro_batch\nmacro' keys run --only m
    offered $'micro_batch\nmacro\nunrun\nnum_devices_per_host\nnum_hosts' keys run --only ''
    offered micro_batch columns results --columns mi
    expect_said only_stdout_contains 0 attempts completion columns -- results --columns ''
    expect_stdout_lacks "unrun"
    offered score metrics run --metric s
    offered $'1\n10\n11\n12' jobs show 1
    offered '' jobs show 0
    offered '' jobs show x
    # The last name of a list and a condition is completed, however an option is written.
    offered state,micro_batch columns results --columns=state,mic
    offered micro_batch columns results --columns = mic
    offered "macro = 2 AND (micro_batch" columns results --where '"macro = 2 AND (mic'
    # All that is offered is taken.
    run_meshsweep results --columns "$("$meshsweep" completion columns -- results --columns '' | paste -sd ,)"
    expect_only_stdout 0
}

offers__combination__its_keys_then_their_values()
{
    recorded_sweep
    toml parallel_spec: recompute='["none", "every layer", "full", "selective"]' offload=false,true >>sweep.toml
    offered $'micro_batch=\nmacro=' combinations why m
    offered recompute= combinations why micro_batch=3 re
    offered $'1\n10\n11\n12' combinations why 1
    offered "$(printf 'micro_batch=%s\n' 1 2 3 4 5 6)" combinations why micro_batch=
    # Combinations that the file has not run yet are offered; what would want quotes is left out.
    offered $'recompute=none\nrecompute=full\nrecompute=selective' combinations why recompute=
    offered offload=true combinations why offload=t
    # As bash cuts it.
    offered selective combinations why micro_batch = 3 recompute = s
    offered $'1\n2' combinations why macro =
    offered '' combinations why nothing=
    # The database alone has these.
    offered $'macro=1\nmacro=2' combinations why -c nowhere.toml macro=
    expect_run only_status 0 why "$("$meshsweep" completion combinations -- why -c nowhere.toml macro=2)"
    expect_stderr_lacks unknown
}

offers__predictions_and_candidates__what_conditions_may_name()
{
    toml predict: framework=torch-ddp job: command='["true"]' training_spec: micro_batch=1,2 layers=2 heads=2 \
        hidden=64 seq_len=64 vocab=100 >sweep.toml
    offered "verdict = 'fits' AND predicted_time
verdict = 'fits' AND predicted_time_here" predictions predict --where "verdict = 'fits' AND predicted_t"
    offered micro_batch,oom_probability predictions predict --columns=micro_batch,oom
    offered layers predictions predict --sort lay
    for name in $("$meshsweep" completion predictions -- predict --sort '' | grep -v num_); do
        case $name in place* | devices* | *_here | throughput* | efficiency*) continue ;; esac # of --scale-to
        expect_run only_status 0 predict --where "$name IS NULL OR 1" --sort "$name" --columns "$name"
    done
    toml model_space: mixers=DOT,LINEAR total_mixers=4 num_zhen_layers=1,2 num_features=8 emb_dim=64,160 \
        output_per_emb=50 model_space.keys: activation=relu,gelu model_space.base: num_features=8 emb_dim=160 \
        output_per_emb=50 num_zhen_layers=1 tokens='["DOT"]' activation=relu >space.toml
    offered 'emb_dim > 64 AND params' candidates search-model -c space.toml --where 'emb_dim > 64 AND par'
    offered base.params candidates search-model -c space.toml --where base.p
    for name in $("$meshsweep" completion candidates -- search-model -c space.toml --where '' | grep -vx mixers); do
        expect_run only_status 0 search-model -c space.toml --where "$name IS NOT NULL" --limit 1
    done
    offered '' candidates search-model --where ''
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
        offered micro_batch columns results $words --columns mic
    done
    offered micro_batch columns results -d '"other/results.db"' --columns mic
    offered unrun keys run -c other/x.toml --only un
    cp other/results.db "$PWD/home.db"
    # shellcheck disable=SC2088 # as it is typed
    expect_said_by only_stdout 0 2 run_command env HOME="$PWD" "$meshsweep" completion jobs -- show -d '~/home.db' 2
    # No database, none of ours, a file with mistakes.
    offered '' jobs show ''
    echo "no database" >results.db
    offered '' columns results --columns ''
    offered '' keys run -c /nonexistent/sweep.toml --only ''
    printf '[training_spec]\nmicro_batch = [1, 2\n' >sweep.toml
    offered '' keys run --only ''
    expect_run silent 0 completion keys
}

# A million jobs are not looked through for those that begin with a digit.
offers__many_jobs__at_once()
{
    recorded_sweep
    columns=$(sqlite3 results.db "SELECT group_concat(name) FROM pragma_table_info('job') WHERE cid > 1")
    sqlite3 results.db "WITH RECURSIVE n(i) AS (SELECT 13 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
        INSERT INTO job (id, key, $columns) SELECT i, randomblob(16), $columns FROM n, job WHERE job.id = 1"
    offered "$(printf '2999\n'; seq 29990 29999; seq 299900 299988)" jobs show 2999
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
    bash_completion
    "$meshsweep" completion fish >completion.fish
    "$meshsweep" completion zsh >_meshsweep
    asked_for <<'END'
results --columns state,mic|state,micro_batch
results --columns = mic|micro_batch
compare --by mac|macro
show 12|12
why mac|macro=
why macro =|1 2
why macro = 2 micro_batch = 5|5
--only "'macro = 1 and mic"|macro = 1 and micro_batch
END
    if command -v fish >/dev/null; then
        ask() { HOME=$PWD fish -c "source completion.fish; complete -C 'meshsweep $1'" | cut -f 1; }
        asked_for <<'END'
"results --columns state,mic"|state,micro_batch
"results --columns=mic"|--columns=micro_batch
"show 12"|12
"why mac"|macro=
"why macro=2 micro_batch=5"|micro_batch=5
"run --only \"macro = 1 and mic"|macro = 1 and micro_batch
END
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
    ask() { timeout 20 zsh -f ask.zsh "meshsweep $1"; }
    asked_for <<'END'
"results --columns state,mic"|meshsweep results --columns state,micro_batch
"results --columns=mic"|meshsweep results --columns=micro_batch
"show 12"|meshsweep show 12
"why mac"|meshsweep why macro=
"why macro=2 micro_batch=5"|meshsweep why macro=2 micro_batch=5
"why macro=2 mic"|meshsweep why macro=2 micro_batch=
"--only \"macro = 1 and mic"|meshsweep --only "macro = 1 and micro_batch"
"help sho"|meshsweep help show
END
}

run_cases "$@"
