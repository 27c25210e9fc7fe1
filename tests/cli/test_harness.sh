#!/usr/bin/env bash
# The harness itself: a test that cannot fail is worth nothing, so its failures are provoked here.
. "$(dirname "$0")/lib.sh"

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
    run_command bash inner.sh
}

statements__all_true__passes()
{
    run_test_file 'run_command sh -c "echo out; echo err >&2; exit 3"
        expect_status 3
        expect_stdout out
        expect_stderr_contains err'
    expect_status 0
    expect_stdout 'ok 1 - inner__case__result
1..1'
    expect_no_stderr
}

statement__wrong_status__fails_and_says_where()
{
    run_test_file 'run_command sh -c "echo seen; exit 3"
        expect_status 0'
    expect_status 1
    expect_stdout_contains 'not ok 1 - inner__case__result'
    expect_stdout_contains 'expected status 0, got 3'
    expect_stdout_contains 'inner.sh:5'
    expect_stdout_contains 'stdout: seen'
    expect_no_stderr
}

statement__wrong_text__fails()
{
    local body
    for body in 'expect_stdout other' 'expect_no_stdout' 'expect_stdout_contains other' 'expect_stdout_lacks out' \
        'expect_stdout_matches ^ut' 'expect_stderr err2' 'expect_no_stderr' 'expect false' 'expect_file absent' \
        'expect_no_file .stdout' 'expect_file_contains .stdout other' 'expect_sql 2 "SELECT 1" new.db'; do
        run_test_file "run_command sh -c 'echo out; echo err >&2'
            expect_status 0; expect_any_stdout; expect_any_stderr
            $body"
        expect_status 1
        expect_stdout_contains 'not ok 1'
        expect_no_stderr
    done
}

statement__missing__fails()
{
    run_test_file 'run_command true
        expect_status 0
        expect_no_stdout'
    expect_status 1
    expect_stdout_contains 'does not state status, stdout and stderr of: true'
    expect_no_stderr
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

wait_until__never__fails_after_the_bound()
{
    run_test_file 'wait_until false 1'
    expect_status 1
    expect_stdout_contains 'waited 4 s in vain for: false'
    expect_no_stderr
}

case__too_long__ended_and_failed()
{
    CASE_SECONDS=1 run_test_file 'sleep 600'
    expect_status 1
    expect_stdout '# still running after 1 s
not ok 1 - inner__case__result
1..1'
    expect_no_stderr
}

case__skipped__status_77()
{
    run_test_file 'skip "no such thing here"'
    expect_status 77
    expect_stdout_contains 'ok 1 - inner__case__result # SKIP no such thing here'
    expect_no_stderr
}

file__skipped__status_77_and_nothing_left()
{
    printf '. "%s/cli/lib.sh"\nskip "no such thing here"\nrun_cases\n' "$tests_source_dir" >inner.sh
    run_command bash inner.sh
    expect_status 77
    expect_stdout '1..0 # SKIP no such thing here'
    expect_no_stderr
    expect '[ ! -e .skipped ]'
}

run_cases "$@"
