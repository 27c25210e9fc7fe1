#!/usr/bin/env bash
# run.sh: what it builds and passes on, and when it starts the tool again. The tool and the set-up are stand-ins.
. "${0%/*}/lib.sh"

# A tree with run.sh and a tool that writes its arguments to `calls`, then does what the first line of `plan` says and
# drops that line. The pauses between restarts go to `pauses` instead of being slept.
stand_in_tree() # WORDS OF plan
{
    mkdir -p tree/scripts tree/build
    cp "$source_dir/run.sh" tree/
    cp "$source_dir/scripts/build.sh" tree/scripts/
    touch tree/configure tree/Makefile.in calls pauses
    echo 'all:; @echo making' >tree/build/Makefile
    echo 'echo "$*" >setup' >tree/scripts/setup.sh
    cat >tree/build/meshsweep <<END
echo "\$*" >>"$PWD/calls"
read -r action <"$PWD/plan"
sed -i 1d "$PWD/plan"
eval "\$action"
END
    echo "echo \"\$1\" >>'$PWD/pauses'" >tree/build/sleep
    for program in scripts/setup.sh build/meshsweep build/sleep; do
        sed -i '1i #!/usr/bin/env bash' "tree/$program"
        chmod +x "tree/$program"
    done
    plan "$@"
}

plan() { printf '%s\n' "$@" >plan; }

calls() { wc -l <calls; }

no_arguments__quickstart()
{
    stand_in_tree 'echo winner; echo note >&2; exit 0'
    expect_command status 0 tree/run.sh
    expect_stdout winner
    expect_stderr note
    expect '[ "$(cat calls)" = "-c $PWD/tree/configs/quickstart.toml" ]' '[ "$(cat setup)" = build ]'
}

arguments__passed_on_and_quickstart_only_where_a_file_is_needed()
{
    local root=$PWD/tree given expected
    stand_in_tree
    while IFS='>' read -r given expected; do
        plan 'exit 0'
        # shellcheck disable=SC2086 # words
        expect_command silent 0 tree/run.sh $given
        expect "[ \"\$(tail -n 1 calls)\" = '$expected' ]"
    done <<END
-c a.toml -d b.db>-c a.toml -d b.db
run --config=a.toml>run --config=a.toml
-D>-D -c $root/configs/quickstart.toml
plan --json>plan --json -c $root/configs/quickstart.toml
status --json>status --json
--help>--help
run --help>run --help
END
    touch sweep.toml
    expect_command silent 0 tree/run.sh -j 2
    expect '[ "$(tail -n 1 calls)" = "-j 2" ]'
}

started_through_a_link_from_elsewhere__works()
{
    stand_in_tree
    mkdir elsewhere
    ln -s "$PWD/tree/run.sh" elsewhere/link
    plan 'pwd'
    cd elsewhere
    expect_said_by only_stdout 0 "$PWD" run_command ./link -c x.toml
}

ended__never_started_again()
{
    stand_in_tree
    for code in 0 2 3 4; do
        plan "exit $code"
        expect_command silent "$code" tree/run.sh
    done
    expect '[ "$(calls)" = 4 ]'
}

quickstart_out_of_memory__as_intended()
{
    stand_in_tree
    sqlite3 results.db \
        "CREATE TABLE progress (state, failure); INSERT INTO progress VALUES ('ok', NULL), ('failed', 'oom')"
    plan 'exit 3'
    expect_said_by only_stderr_contains 0 'ran out of device memory on purpose' run_command tree/run.sh
    plan 'exit 3'
    expect_command silent 3 tree/run.sh -c other.toml
    sqlite3 results.db "INSERT INTO progress VALUES ('failed', 'exit')"
    plan 'exit 3'
    expect_command silent 3 tree/run.sh
}

quickstart__tool_not_installed__says_how_to_run_it()
{
    stand_in_tree
    path=$(echo "$PATH" | tr : '\n' | while read -r folder; do [ -x "$folder/meshsweep" ] || echo "$folder"; done |
        paste -sd :)
    plan 'touch results.db; exit 0' 'exit 0' 'exit 0'
    expect_said_by only_stderr 0 'run.sh: meshsweep is not installed; run its commands as tree/run.sh best, '\
'tree/run.sh status and so on' run_command env PATH="$path" tree/run.sh
    # Not after a wrong use: what it says of that is all.
    plan 'echo "unknown option --wrong" >&2; exit 2' 'exit 0' 'exit 0'
    expect_said_by only_stderr 2 'unknown option --wrong' run_command env PATH="$path" tree/run.sh --wrong
    expect_command silent 0 env PATH="$path" tree/run.sh -c own.toml
}

crashed_twice__started_again_and_ends_well()
{
    stand_in_tree 'kill -SEGV $$' 'exit 1' 'exit 0'
    run_command tree/run.sh
    expect_only_stderr_contains 0 'meshsweep ended with status 139; starting it again in 1 s'
    expect_stderr_contains 'meshsweep ended with status 1; starting it again in 2 s'
    expect '[ "$(calls)" = 3 ]'
}

crashing_always__gives_up_with_the_status()
{
    stand_in_tree 'exit 1' 'exit 1' 'exit 1' 'exit 1' 'exit 1' 'exit 134' 'exit 0'
    run_command tree/run.sh
    expect_only_stderr_contains 134 'meshsweep ended with status 134 again; giving up after 5 restarts without progress'
    expect '[ "$(echo $(cat pauses))" = "1 2 4 8 16" ]'
}

progress__counts_the_restarts_anew()
{
    stand_in_tree
    sqlite3 given.db 'CREATE TABLE job (state TEXT)'
    plan 'exit 1' 'exit 1' "sqlite3 '$PWD/given.db' \"INSERT INTO job VALUES ('ok')\"; exit 1" 'exit 1' 'exit 0'
    expect_said_by only_stderr_contains 0 'starting it again in 1 s' run_command tree/run.sh -d given.db
    expect '[ "$(echo $(cat pauses))" = "1 2 1 2" ]'
}

command_that_runs_no_jobs__not_started_again()
{
    stand_in_tree 'exit 1' 'exit 0'
    expect_command silent 1 tree/run.sh status
    expect '[ "$(calls)" = 1 ]'
}

signal__reaches_the_tool_and_ends_the_script()
{
    stand_in_tree
    for name in TERM INT HUP; do
        number=$(kill -l "$name")
        rm -f up
        plan "trap 'echo ended in order; exit $((128 + number))' $name; touch up; while :; do /bin/sleep 0.05; done"
        start_command tree/run.sh
        wait_until '[ -e up ]' 10
        end_command "$name"
        expect_status $((128 + number))
        expect_stdout 'ended in order'
        expect_no_stderr
    done
    expect '[ "$(calls)" = 3 ]'
}

# The rule is run as make would run it there: make itself takes minutes to get so far.
build__directory_with_a_blank__embeds_its_files()
{
    local above
    above=$(sed -n 's/^srcdir = //p' "$build_dir/Makefile")
    make -s -C "$build_dir" -n -W "$above/scripts/embed.awk" embedded_files.c |
        sed -n "s|&& cd [^ ]*|\&\& cd '$source_dir'|; s/.*out=/out=/; /^out=/,\$p" >rule
    mkdir 'a b'
    cd 'a b'
    expect_command silent 0 bash ../rule
    expect '[ -s embedded_files.c ]'
}

build__fails__said_with_its_output()
{
    stand_in_tree
    echo 'all:; @echo the reason; false' >tree/build/Makefile
    run_command tree/run.sh
    expect_only_stderr_contains 1 'the reason' 'the build failed; its output is above'
    expect '[ "$(calls)" = 0 ]'
}

run_cases "$@"
