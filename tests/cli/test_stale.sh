#!/usr/bin/env bash
# stale and run --stale: results that today's surroundings might not give again.
. "${0%/*}/lib.sh"

done_sweep()
{
    small_sweep sweep.toml
    printf '[job.versions]\nframework = "cat version"\nabsent = "false"\n' >>sweep.toml
    echo 1.2 >version
    expect_run only_stdout 0 run --progress none
}

stale__nothing_changed__none()
{
    done_sweep
    run_stale '0 of 4 results are stale' 4
}

# What run --stale says, how many attempts there are then of the four jobs, and without options that none is stale.
run_stale() # WORDS ATTEMPTS OPTION...
{
    expect_run only_status 0 run --stale --progress none "${@:3}"
    expect_stderr "meshsweep: $1"
    expect_sql "4|$2" "SELECT (SELECT count(*) FROM job WHERE state = 'ok'), (SELECT count(*) FROM attempt)"
    [ $# -gt 2 ] || expect_said only_stdout 0 '0 of 4 results are stale' stale
}

one__of_results_and_replicates__said_of_one()
{
    small_sweep sweep.toml
    sed -i 's/^objective.*/&\nreplicate = ["y"]\nsubject_to = "score <= 30"/; s/^x = .*/x = [1]/' sweep.toml
    expect_run only_stdout 0 run --progress none
    expect_run only_status 0 replay
    expect_stdout_contains '; 1 more job is a replicate of these: a trial runs all of them'
    sed -i 's/^y = .*/y = 10/' sweep.toml
    expect_run only_status 0 run --progress none
    echo '# changed' >>job.sh
    expect_said only_stdout_contains 3 '1 of 1 result is stale' stale
}

stale__script_changed__its_jobs_run_again()
{
    done_sweep
    # Touched, not changed.
    touch -d '2100-01-01' job.sh
    expect_said only_stdout 0 '0 of 4 results are stale' stale
    echo '# changed' >>job.sh
    touch -d '2001-01-01' job.sh
    run_meshsweep stale
    expect_only_stdout_contains 3 '4 of 4 results are stale' "  4: $(pwd -P)/job.sh has changed since they ran (job 1)"
    run_stale '4 of 4 results are stale; running them again' 8
    mv job.sh elsewhere
    expect_said only_stdout_contains 3 "  4: $(pwd -P)/job.sh no longer exists (job 1)" stale
}

# A sweep that goes on after an edit compares what two scripts made: the winner may be that of the faster one.
run__script_changed_between_results__said()
{
    done_sweep
    sed -i 's/^y = .*/y = [10, 20, 30]/' sweep.toml
    echo 'echo "score: 1"' >job.sh
    run_meshsweep run
    expect_only_stderr_contains 0 "job.sh changed between jobs 1 and 6, and their results are compared all the same"
    expect_run only_status 0 run --stale
    expect "! grep -q 'compared all the same' .stderr"
}

run_stale__fewer_started_than_are_stale__the_others_keep_their_results()
{
    done_sweep
    echo '# changed' >>job.sh
    run_stale '4 of 4 results are stale; running 1 of them again' 5 --limit 1
    run_stale '3 of 4 results are stale; running 2 of them again' 7 --only 'x = 2'
    run_stale '1 of 4 results are stale; running them again' 8
}

stale__line_for_the_shell__its_files_count()
{
    small_sweep sweep.toml
    sed -i 's|^command = .*|command = "exec sh ./job.sh {x} {y} --config=job.cfg 2>\&1"|' sweep.toml
    echo 'depth: 1' >job.cfg
    expect_run only_stdout 0 run --progress none
    expect_sql "$(pwd -P)/job.cfg
$(pwd -P)/job.sh" "SELECT DISTINCT k.key FROM attempt, json_each(scripts) AS k ORDER BY 1"
    echo 'depth: 2' >job.cfg
    expect_said only_stdout_contains 3 "  4: $(pwd -P)/job.cfg has changed since they ran (job 1)" stale
}

stale__declared_version__compared_with_the_file()
{
    done_sweep
    expect_sql '1.2|' "SELECT provenance->>'\$.versions.framework', provenance->>'\$.versions.absent' FROM runner"
    echo 1.3 >version
    for named in '' '-c sweep.toml'; do
        # shellcheck disable=SC2086 # an option and its value, or nothing
        expect_said only_stdout_contains 3 '  4: version of framework was 1.2, is 1.3 (job 1)' stale $named
    done
    run_stale '4 of 4 results are stale; running them again' 8 -c sweep.toml
    expect_said only_stdout 0 '0 of 4 results are stale' stale -c sweep.toml
    rm version
    expect_said only_stdout 3 '4 of 4 results are stale
  4: version of framework was 1.3, is unknown (its line in [job] versions fails) (job 1)
`meshsweep run --stale` runs them again' stale
    expect_said only_stdout_matches 3 '"is":[[:space:]]*null' stale --json
    expect_run only_status 0 run --stale --progress none
    echo 1.4 >version
    expect_said only_stdout_contains 3 '  4: version of framework was unknown, is 1.4 (job 1)' stale
    sed -i 's/^absent = .*/absent = 3/' sweep.toml
    expect_said only_stderr_contains 2 'absent' stale -c sweep.toml
}

stale__no_sweep_file_to_read__versions_left_out_and_said()
{
    done_sweep
    echo 1.3 >version
    echo 'name =' >>sweep.toml
    expect_run status 0 stale
    expect_stdout '0 of 4 results are stale'
    expect_stderr_matches '^meshsweep: declared versions are not compared: sweep.toml:[0-9]+:'
    rm sweep.toml
    expect_run status 0 stale
    expect_stdout '0 of 4 results are stale'
    expect_stderr_contains \
        'declared versions are not compared: sweep.toml: the sweep file of results.db no longer exists'
}

stale__other_commit_or_driver__told_apart()
{
    done_sweep
    sql "UPDATE runner SET provenance = json_set(provenance, '\$.cpu', 'another processor')"
    expect_run only_stdout 3 stale --json
    expect_json '4|4|processor|another processor' results stale differences[0].what differences[0].was
    expect_said among_stderr 0 '4 of 4 results are stale; running them again' run --stale --progress none
    expect_said only_stdout 0 '0 of 4 results are stale' stale
}

stale__unknown_of_then__no_difference()
{
    done_sweep
    sql "UPDATE runner SET provenance = '{}'"
    expect_said only_stdout 0 '0 of 4 results are stale' stale
}

run_cases "$@"
