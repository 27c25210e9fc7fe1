#!/usr/bin/env bash
# Output never takes the place of the database, of what belongs to it, or of what a command reads.
. "${0%/*}/lib.sh"

# Commands whose help has the option.
commands_with() # OPTION
{
    local name
    "$meshsweep" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | while read -r name; do
        ! "$meshsweep" "$name" --help | grep -qE "(^| )$1( |,|$)" || echo "$name"
    done
}

content()
{
    sql ".dump" results.db | sha256sum
    sha256sum job.sh sweep.toml
}

finished_before() { small_run; content >before; }

expect_untouched()
{
    content >after
    cmp -s before after || fail "$1: it is not what it was"
}

# Everything that belongs to the database, under all its names.
forbidden_files()
{
    ln -s results.db link.db
    ln results.db hard.db
    mkdir -p results.db.d
    ln -s results.db.d directory
    echo results.db ./results.db "$PWD/results.db" link.db hard.db results.db-wal results.db-shm results.db-journal \
        results.db.lock results.db.d results.db.d/file directory/file results.db.d/../results.db
}

every_command_with_output_file__file_of_the_database__refused()
{
    finished_before
    # init replaces no file at all: test_init.sh.
    expect "[ \"\$(commands_with --output | tr '\n' ' ')\" = 'report export merge upgrade init ' ]"
    for command in report export merge upgrade; do
        words=''
        [ "$command" != merge ] || words=results.db
        for file in $(forbidden_files 2>/dev/null) results; do
            # The output "results" has another name for a moment: that of a database here.
            [ "$file" != results ] || { rm -f hard.db; mv results.db results.part; echo old >results; }
            if [ "$file" = results ]; then
                [ "$command" != merge ] || { mv results.part results.db; rm results; continue; }
                run_meshsweep "$command" -d results.part -o "$file"
                mv results.part results.db
                expect_file_contains results old
                rm results
            else
                # shellcheck disable=SC2086 # one word or none
                run_meshsweep "$command" $words -o "$file"
            fi
            expect_only_stderr_contains 2 "name another with -o"
            expect_untouched "$command -o $file"
        done
        rm -rf link.db hard.db directory
    done
}

every_command_with_output_file__what_it_reads__refused()
{
    small_sweep
    printf 'include = ["more.toml"]\n%s\n' "$(cat sweep.toml)" >sweep.new
    mv sweep.new sweep.toml
    printf '[[rule]]\nname = "all"\nrequire = "x > 0"\nwhy = "all"\n' >more.toml
    run_silently 0
    ln -s sweep.toml link.toml
    content >before
    for command in export report; do
        for file in sweep.toml ./sweep.toml link.toml more.toml job.sh; do
            expect_said only_stderr_contains 2 "name another with -o" "$command" -o "$file"
            expect_untouched "$command -o $file"
        done
    done
    expect_file_contains more.toml 'require = "x > 0"'
}

output_file__another_database__refused()
{
    small_run
    sqlite3 other.db 'CREATE TABLE t (x); INSERT INTO t VALUES (7)'
    expect_said only_stderr 2 'meshsweep: other.db is a database; name another with -o' export -o other.db
    expect_sql 7 "SELECT x FROM t" other.db
}

merge__into_its_own_source__said_plainly()
{
    finished_before
    expect_said only_stderr 2 'meshsweep: merge: results.db is both a database to merge and the one to merge into; '\
'name another with -o' merge results.db -o results.db
    expect_untouched merge
}

best_directory__where_the_sweep_file_is__refused()
{
    finished_before
    expect "[ \"\$(commands_with --out)\" = best ]"
    for directory in . results.db.d results.db.d/winner "$PWD"; do
        expect_said only_stderr_contains 2 'name another with --out' best --out "$directory"
        expect_untouched "best --out $directory"
        expect_no_file command.sh
    done
}

database_name__of_a_file_beside_a_database__refused()
{
    finished_before
    for ending in -wal -shm -journal .lock; do
        expect_run only_stderr 2 run -d "results.db$ending" --progress none
        expect_stderr_matches "results.db$ending: it belongs to the database .*/results.db; name another file with -d"
        expect_untouched "run -d results.db$ending"
    done
}

# A lock is never taken on a file that is somebody's.
lock__name_taken_by_another_file__refused()
{
    small_sweep
    echo '{"dependencies": {}}' >package.lock
    expect_said only_stderr_matches 1 'database package: .*/package.lock is not a lock file of meshsweep; name '\
'another database with -d, or remove that file' run -d package --progress none
    expect_file_contains package.lock dependencies
    expect_no_file package
}

deepspeed_directories__what_it_reads__refused()
{
    echo 'print("train")' >train.py
    cat >ds_config_optimal.json <<'END'
{"train_micro_batch_size_per_gpu": 1, "autotuning": {"enabled": true, "results_dir": "."}}
END
    cp ds_config_optimal.json before.json
    run_meshsweep deepspeed --num_gpus 1 train.py --deepspeed ds_config_optimal.json
    expect_only_stderr_contains 2 'name another with autotuning.results_dir'
    expect "cmp -s before.json ds_config_optimal.json"
}

run_cases "$@"
