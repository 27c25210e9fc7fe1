#!/usr/bin/env bash
# The manual page and the completions: every command and option is there, and the programs that read them do.
. "$(dirname "$0")/lib.sh"

command_names()
{
    "$meshsweep" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p'
}

manual__page__every_command_and_no_warning()
{
    local name
    run_meshsweep manual
    expect_status 0
    expect_no_stderr
    expect_stdout_contains '.SH EXIT STATUS'
    for name in $(command_names); do
        expect "sed 's/[\\]//g' .stdout | grep -qx '.SS $name'"
    done
    cp .stdout meshsweep.1
    command -v groff >/dev/null || skip "there is no groff"
    expect "[ -z \"\$(groff -man -ww -Tutf8 meshsweep.1 2>&1 >page.txt)\" ]"
}

help__every_command__one_screen_with_an_example()
{
    local name
    for name in $(command_names); do
        run_meshsweep "$name" --help
        expect_status 0
        expect_stdout_contains 'example:'
        expect_stdout_contains '  meshsweep '
        expect_stdout_contains '--color WHEN'
        expect_no_stderr
        expect "[ \"\$(wc -l <.stdout)\" -le 64 ]"
        # Examples are to be copied, and stay whole.
        expect "! sed '/^example/,\$d' .stdout | grep -q '.\{81\}'"
    done
    run_meshsweep --help
    expect_status 0
    expect_stdout_contains 'Exit status: 0 all well'
    expect_no_stderr
    expect "! grep -q '.\{81\}' .stdout"
    # Rare options are named in the help and told of in the manual.
    run_meshsweep run --help
    expect_status 0
    expect_stdout_contains ' --divisor'
    expect_stdout_lacks 'asha: one in N goes on'
    expect_no_stderr
    run_meshsweep manual
    expect_status 0
    expect_stdout_contains 'asha: one in N goes on'
    expect_no_stderr
}

bash_completion__commands_options_choices()
{
    local reply
    run_meshsweep completion bash
    expect_status 0
    expect_any_stdout
    expect_no_stderr
    cp .stdout completion.bash
    cat >ask.sh <<'END'
source ./completion.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_meshsweep
echo "${COMPREPLY[*]}"
END
    expect "[ \"\$(bash ask.sh meshsweep exp)\" = export ]"
    expect "[ \"\$(bash ask.sh meshsweep stat)\" = status ]"
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
    expect "[ \"\$(bash ask.sh meshsweep completion z)\" = zsh ]"
    expect "[ \"\$(bash ask.sh meshsweep help sh)\" = show ]"
}

completions__other_shells__every_command()
{
    local name
    run_meshsweep completion zsh
    expect_status 0
    expect_no_stderr
    expect_stdout_contains '#compdef meshsweep'
    for name in $(command_names); do
        expect "grep -qx '$name)' .stdout"
    done
    if command -v zsh >/dev/null; then
        expect "zsh -n .stdout"
    fi
    run_meshsweep completion fish
    expect_status 0
    expect_no_stderr
    expect_stdout_contains \
        "complete -c meshsweep -n '__fish_seen_subcommand_from run' -l config -s c -d 'the sweep file' -r -F"
    for name in $(command_names); do
        expect "grep -q -e '-n __fish_use_subcommand -a $name ' .stdout"
    done
    if command -v fish >/dev/null; then
        expect "fish --no-execute .stdout"
    fi
}

# What is offered is taken.
bash_completion__values__all_taken()
{
    local value
    small_sweep sweep.toml
    run_meshsweep run --progress none
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    "$meshsweep" completion bash >completion.bash
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *results:--format=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        run_meshsweep results --format "$value"
        expect_status 0
        expect_any_stdout
        expect_no_stderr
    done
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *run:--retry-failed=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        run_meshsweep plan --retry-failed="$value"
        expect_status 0
        expect_any_stdout
        expect_no_stderr
    done
    # shellcheck disable=SC2013 # words
    for value in $(sed -n "s/^ *plan:--strategy=.*-W '\\([^']*\\)'.*/\\1/p" completion.bash); do
        run_meshsweep plan --strategy "$value"
        expect "[ $status = 0 ] || [ $status = 2 ]" # what it wants of the specs is another matter
        expect_status "$status"
        expect_any_stdout
        expect_stderr_lacks unknown
    done
}

help__of_a_command__as_its_option_says()
{
    run_meshsweep run --help
    expect_status 0
    expect_any_stdout
    expect_no_stderr
    cp .stdout help
    run_meshsweep help run
    expect_status 0
    expect_stdout "$(cat help)"
    expect_no_stderr
    run_meshsweep help
    expect_status 0
    expect_stdout "$("$meshsweep" --help)"
    expect_no_stderr
    run_meshsweep help rnu
    expect_status 2
    expect_no_stdout
    expect_stderr 'meshsweep: unknown command rnu (did you mean run?)'
}

completion__which_shell__asked()
{
    run_meshsweep completion
    expect_status 2
    expect_no_stdout
    expect_stderr 'meshsweep: completion: for which shell? bash, zsh or fish'
    run_meshsweep completion tcsh
    expect_status 2
    expect_no_stdout
    expect_stderr 'meshsweep: completion: for which shell? bash, zsh or fish'
}

run_cases "$@"
