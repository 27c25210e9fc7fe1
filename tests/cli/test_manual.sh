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
        expect "[ \"\$(wc -l <.stdout)\" -le 45 ]"
        expect "! grep -q '.\{101\}' .stdout"
    done
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
    expect_stdout_contains "complete -c meshsweep -n '__fish_seen_subcommand_from run' -l config -s c -d 'the sweep file' -r -F"
    for name in $(command_names); do
        expect "grep -q -e '-n __fish_use_subcommand -a $name ' .stdout"
    done
    if command -v fish >/dev/null; then
        expect "fish --no-execute .stdout"
    fi
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
