#!/usr/bin/env bash
# A thousand random files of each format, changed, and read back by other libraries (random_files.py).
. "${0%/*}/lib.sh"

random__changed__other_libraries_read_what_was_asked_for()
{
    /usr/bin/python3 -c 'import yaml, tomllib' 2>/dev/null || skip "no python3-yaml, or a Python without tomllib"
    run_command /usr/bin/python3 "$tests_source_dir/cli/random_files.py" "$build_dir/tests/cli/change_files" 1000
    expect_only_stdout_matches 0 '^json: 1000 files, 0 refused$' '^toml: 1000 files, [0-9]?[0-9] refused$' \
        '^yaml: 1000 files, [0-9]?[0-9] refused$'
}

run_cases "$@"
