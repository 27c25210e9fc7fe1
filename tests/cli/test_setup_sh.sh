#!/usr/bin/env bash
# scripts/setup.sh: what it finds missing and what it does about it. The package manager is a stand-in.
. "${0%/*}/lib.sh"

setup=$source_dir/scripts/setup.sh

# A PATH in which the tools of the build are there, but for those named; `installed` collects what apt-get is asked for.
path_without() # COMMAND...
{
    local program
    mkdir path
    for program in autoreconf automake make gcc g++ pkg-config sqlite3; do
        printf '#!/bin/sh\nexit 0\n' >"path/$program"
    done
    for program in bash env cat id sh mkdir touch chmod; do
        ln -s "$(type -P "$program")" "path/$program"
    done
    for program; do
        rm "path/$program"
    done
    chmod +x path/*
}

# Makes apt-get run the given shell code with its arguments.
apt_get()
{
    printf '#!/bin/sh\necho "$*" >>"%s/asked"\n%s\n' "$PWD" "$1" >path/apt-get
    chmod +x path/apt-get
}

run_setup() { run_command env PATH="$PWD/path" bash "$setup" "$@"; }

nothing_missing__silent_and_no_package_manager()
{
    path_without
    apt_get 'exit 1'
    expect_after silent 0 run_setup build
    expect_no_file asked
}

missing__listed_only_on_demand()
{
    path_without automake sqlite3
    run_setup --list build
    expect_only_stdout 0 'automake
sqlite3'
}

missing__installed()
{
    path_without automake
    apt_get "printf '#!/bin/sh\n' >'$PWD/path/automake'; chmod +x '$PWD/path/automake'"
    [ "$(id -u)" = 0 ] || skip 'needs root, as apt-get does'
    expect_said_by only_stderr 0 'setup.sh: installing automake' run_setup build
    expect_file_contains asked 'install -y --no-install-recommends automake'
}

no_package_manager__one_sentence_that_names_them()
{
    path_without automake make
    expect_after only_stderr 1 run_setup build
    expect_stderr 'setup.sh: these Debian packages (or their like) are needed, and there is no apt-get: automake make'
}

package_manager_fails__said_with_the_names()
{
    [ "$(id -u)" = 0 ] || skip 'needs root, as apt-get does'
    path_without automake
    apt_get 'exit 100'
    run_setup build
    expect_only_stderr_contains 1 'setup.sh: these packages are needed and could not be installed: automake'
    expect_file_contains asked update
}

installed_and_still_not_there__said()
{
    [ "$(id -u)" = 0 ] || skip 'needs root, as apt-get does'
    path_without automake
    apt_get 'exit 0'
    expect_said_by only_stderr_contains 1 'setup.sh: installed, and still not found: automake' run_setup build
}

level__unknown__wrong_use()
{
    run_command bash "$setup" everything
    expect_only_stderr 2 'usage: scripts/setup.sh [--list] build|check|full'
}

run_cases "$@"
