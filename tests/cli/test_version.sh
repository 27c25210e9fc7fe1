#!/usr/bin/env bash
# cli: what the tool says of itself.
. "$(dirname "$0")/lib.sh"

version__asked__name_and_number()
{
    run_meshsweep --version
    expect_status 0
    expect_stdout_matches '^meshsweep [0-9]+\.[0-9]+\.[0-9]+$'
    # Of RE2 only the file's name is known.
    expect_stdout_contains "RE2 $(ldd "$meshsweep" | sed -n 's/.*\(libre2[^ ]*\) =>.*/\1/p')"
    expect_no_stderr
}

run_cases "$@"
