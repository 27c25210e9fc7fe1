#!/usr/bin/env bash
# The harness itself: a test that cannot fail is worth nothing, so its failures are provoked here.
. "${0%/*}/lib.sh"

# Writes a test file with the given body of one case and runs it.
run_test_file()
{
    cat >inner.sh <<END
. "$tests_source_dir/cli/lib.sh"
inner__case__result()
{
$1
}
run_cases "\$@"
END
    run_command env SLOW_MACHINE=5 bash inner.sh
}

statements__all_true__passes()
{
    run_test_file 'run_command sh -c "echo out; echo err >&2; exit 3"
        expect_status 3
        expect_stdout out
        expect_stderr_contains err'
    expect_only_stdout 0 'ok 1 - inner__case__result
1..1'
}

statement__wrong_status_or_missing__fails_and_says_where()
{
    run_test_file 'run_command sh -c "echo seen; exit 3"
        expect_status 0'
    expect_only_stdout_contains 1 'not ok 1 - inner__case__result' 'expected status 0, got 3' 'inner.sh:5'
    expect_stdout_contains 'stdout: seen'
    run_test_file 'run_command true
        expect_status 0
        expect_no_stdout'
    expect_only_stdout_contains 1 'does not state status, stdout and stderr of: true'
}

statement__wrong_text__fails()
{
    for body in 'expect_stdout other' 'expect_no_stdout' 'expect_stdout_contains other' 'expect_stdout_lacks out' \
        'expect_stdout_matches ^ut' 'expect_stderr err2' 'expect_no_stderr' 'expect false' 'expect_file absent' \
        'expect_no_file .stdout' 'expect_file_contains .stdout other' 'expect_sql 2 "SELECT 1" new.db' \
        'start_command sh -c "exit 3"; wait_command silent 0' 'expect_command silent 0 sh -c "exit 3"' \
        'echo "{\"a\": [{\"b\": 7}]}" >.stdout; expect_json 8 "a[0].b"' \
        'meshsweep=echo; expect_each only_stdout 0 <<<"one|two"'; do
        run_test_file "run_command sh -c 'echo out; echo err >&2'
            expect_status 0; expect_any_stdout; expect_any_stderr
            $body"
        expect_only_stdout_contains 1 'not ok 1'
    done
}

# What an earlier command said is not taken for what a new one says.
start__before_it_says_anything__nothing_is_said()
{
    run_test_file 'run_command sh -c "echo out; echo err >&2"
        expect_status 0; expect_any_stdout; expect_any_stderr
        start_command sleep 0.3
        expect "[ ! -s .stdout ] && [ ! -s .stderr ]"
        wait_command silent 0'
    expect_only_stdout_contains 0 'ok 1 - inner__case__result'
}

# Each is true of one stream; the other one is not silent, or the status or the text is another.
statement_of_all__part_of_it_wrong__fails()
{
    for body in 'expect_only_stdout 3' 'expect_only_stdout 3 out' 'expect_only_stdout_contains 3 out' \
        'expect_only_stdout_matches 3 ^out' 'expect_only_stderr 3' 'expect_only_stderr 3 err' \
        'expect_only_stderr_contains 3 err' 'expect_only_stderr_matches 3 ^err' 'expect_silent 3' \
        'expect_only_status 0'; do
        run_test_file "run_command sh -c 'echo out; echo err >&2; exit 3'
            $body"
        expect_only_stdout_contains 1 'not ok 1'
    done
    for body in 'expect_only_stdout 0' 'expect_only_stdout 3 ou' 'expect_only_stdout_contains 3 other' \
        'expect_only_stdout_matches 3 ^ut' 'expect_silent 3'; do
        run_test_file "run_command sh -c 'echo out; exit 3'
            $body"
        expect_only_stdout_contains 1 'not ok 1'
    done
    run_test_file 'run_command sh -c "echo err >&2; exit 3"
        expect_only_stderr 3 err
        expect_only_stderr_contains 3 er
        expect_only_stderr_matches 3 ^e
        expect_only_stderr 3
        expect_only_status 3'
    expect_only_stdout_contains 0 'ok 1 - inner__case__result'
}

command__unknown_or_failing__fails()
{
    run_test_file 'expct_status 0'
    expect_status 1
    expect_stdout_contains 'not ok 1'
    expect_stderr_contains 'expct_status: command not found'
    run_test_file 'cd absent
        true'
    expect_status 1
    expect_stdout_contains 'status 1 of: cd absent, at inner.sh:4'
    expect_stderr_contains 'absent'
}

wait_until_or_case__too_long__ended_and_failed()
{
    expect_said_by only_stdout_contains 1 'waited 5 s in vain for: false' run_test_file 'wait_until false 1'
    CASE_SECONDS=1 run_test_file 'sleep 600'
    expect_only_stdout 1 '# still running after 1 s
not ok 1 - inner__case__result
1..1'
}

python__found_by_a_script__debians_goes_before()
{
    [ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"
    stand_in bin/python3 <<<"touch $PWD/asked"
    PATH=$PWD/bin:$PATH run_test_file 'python3 -c "open(\"ran\", \"w\")"; expect_file ran'
    expect_only_status 0
    expect_no_file asked
}

case_or_file__skipped__status_77_and_nothing_left()
{
    run_test_file 'skip "no such thing here"'
    expect_only_stdout_contains 77 'ok 1 - inner__case__result # SKIP no such thing here'
    printf '. "%s/cli/lib.sh"\nskip "no such thing here"\nrun_cases\n' "$tests_source_dir" >inner.sh
    expect_said_by only_stdout 77 '1..0 # SKIP no such thing here' run_command bash inner.sh
    expect '[ ! -e .skipped ]'
}

toml__words__a_sweep_file()
{
    toml objective=max:rate job: command='["sh", "{x}"]' regex='n ([0-9]+)' model:: x=1,-2e3,b y=true z=0.5 \
        'k = "v"' '' >got
    cat >wanted <<'END'
objective = "max:rate"
[job]
command = ["sh", "{x}"]
regex = 'n ([0-9]+)'
[[model]]
x = [1, -2e3, "b"]
y = true
z = 0.5
k = "v"

END
    expect 'cmp got wanted'
}

run_cases "$@"
