#!/usr/bin/env bash
# cli: commands, options and their help, whatever the command does.
. "${0%/*}/lib.sh"

help__of_all_and_each_command__usage_options_example_on_a_screen()
{
    expect_said only_stdout_contains 0 'usage: meshsweep [COMMAND] [OPTIONS]' --help
    expect_stdout_matches '^  results +Show jobs'
    expect_stdout_contains 'Exit status: 0 success'
    expect "[ \$(wc -l <.stdout) -le 48 ] && [ \$(wc -L <.stdout) -le 100 ]"
    cp .stdout long
    expect_said only_stdout 0 "$(cat long)" -h
    mapfile -t names < <(sed -n 's/^  \([a-z-]*\) .*/\1/p' .stdout)
    expect '[ ${#names[@]} -ge 5 ]'
    for command in "${names[@]}"; do
        run_meshsweep "$command" --help
        expect_only_stdout_contains 0 "usage: meshsweep $command " '  -h, --help' "  meshsweep $command"
        expect "[ \$(wc -l <.stdout) -le 72 ] && [ \$(wc -L <.stdout) -le 100 ]"
    done
}

version__asked__tool_and_libraries()
{
    run_meshsweep results --version
    expect_only_stdout_matches 0 '^meshsweep [0-9]+\.[0-9]+\.[0-9]+$' '^SQLite 3\.' '^toml\+\+ [0-9]+\.[0-9]+\.[0-9]+$'
    expect_stdout_matches '^libfyaml [0-9]+\.[0-9]+' '^libmicrohttpd [0-9]+\.[0-9]+\.[0-9]+$' '^zlib [0-9]+\.[0-9]+'
    # RE2 is known by its file's name only.
    expect_stdout_contains "RE2 $(ldd "$meshsweep" | sed -n 's/.*\(libre2[^ ]*\) =>.*/\1/p')"
}

unknown__option_word_or_command__near_match_or_all_of_them()
{
    small_sweep sweep.toml
    expect_each only_stderr 2 <<'END'
run --confg x|meshsweep run: unknown option --confg (did you mean --config?); see meshsweep run --help
run --retry|meshsweep run: unknown option --retry (did you mean --retry-failed?); see meshsweep run --help
status -c sweep.toml|meshsweep status: unknown option -c (-d names a database); see meshsweep status --help
-D --bd x|meshsweep run: unknown option --bd (did you mean --db?); see meshsweep run --help
run my.toml|meshsweep run: unexpected word: my.toml (did you mean --config my.toml?); see meshsweep run --help
run --strategy gird|meshsweep: --strategy: unknown value `gird` (did you mean `grid`?)
-d x.db reslts|meshsweep: unknown command reslts (did you mean results?); meshsweep --help lists the commands
plan --color sometimes|meshsweep plan: --color sometimes: must be auto, always or never; see meshsweep plan --help
END
    # An option before the command is its own.
    run_meshsweep -d none.db results
    expect_only_stderr 1 'meshsweep: database none.db: it does not exist yet; `meshsweep run` creates it'
    expect_no_file none.db
    run_meshsweep plan --strategy bayes
    expect_only_stderr_contains 2 'meshsweep: --strategy: unknown value `bayes`; must be one of grid, random, '
    expect_stderr_contains ' or stage-by-stage'
}

# Captures what a terminal of this size would get.
run_in_terminal() # [NAME=VALUE...]: runs $line
{
    run_command env TERM=xterm PATH="$PATH:$build_dir" "$@" script -qec "stty cols 120; $line" /dev/null
}

dumb_terminal__nothing_written_over()
{
    local line="meshsweep run; meshsweep status --watch" esc=$'\x1b'
    type -P script >/dev/null || skip "there is no script"
    small_sweep sweep.toml
    run_in_terminal TERM=dumb
    expect_only_stdout_contains 0 '4/4 done (100%)' 'total  4'
    expect_stdout_lacks "$esc"
    rm -rf results.db*
    expect_said_by only_stdout_contains 0 "${esc}[K" run_in_terminal
}

color__when__shown()
{
    local line="meshsweep plan" esc=$'\x1b['
    type -P script >/dev/null || skip "there is no script"
    small_sweep sweep.toml
    expect_said only_stdout_contains 0 "${esc}32m+" plan --color always
    expect_run only_stdout 0 --color never plan
    expect_stdout_lacks "$esc"
    expect_run only_stdout 0 plan
    expect_stdout_lacks "$esc"
    expect_said_by only_stdout_contains 0 "${esc}32m+" run_in_terminal
    expect_after only_stdout 0 run_in_terminal NO_COLOR=1
    expect_stdout_lacks "$esc"
    line="meshsweep plan --color always"
    expect_said_by only_stdout_contains 0 "${esc}32m+" run_in_terminal NO_COLOR=1
}

output__disk_full_or_reader_gone__said_or_quiet()
{
    mkfifo pipe
    expect_command silent 141 bash -c 'exec 3<>pipe 4>pipe 3<&-; trap "" PIPE; meshsweep --help >&4'
    [ -w /dev/full ] || skip "there is no /dev/full"
    run_command sh -c 'meshsweep --help >/dev/full'
    expect_only_stderr 1 'meshsweep: standard output: No space left on device'
}

one_job__in_every_command__not_called_jobs()
{
    toml sweep: objective=max:speed job: command='["echo", "speed: {a}"]' \
        metrics.speed='{ regex = '\''speed: ([0-9]+)'\'', better = "max" }' \
        training_spec: a=1 rule:: name=small require='a < 3' why='larger ones do not fit' >sweep.toml
    while read -ra line; do
        expect_run only_status 0 "${line[@]}"
        expect '! grep -qE "(^|[^0-9.])1 (jobs|attempts|combinations|groups|rows|runs of|samples|rules)([^a-z]|$)" \
            .stdout .stderr $([ ! -e report.html ] || echo report.html)'
    done <<'END'
plan
run --progress plain
run --stale
status
results
best
why 1
show 1
replay
stale
check results.db
report
reread
tail 1
merge results.db -o all.db
END
}

run_cases "$@"
