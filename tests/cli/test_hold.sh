#!/usr/bin/env bash
# Jobs that the host cannot run are held and tried again; nothing fails for it. A job's own fault fails it as ever.
. "${0%/*}/lib.sh"

# Twelve jobs that run bin/sh; the third takes bin away before it ends.
vanishing_sweep() # LINES FOR [local]
{
    toml sweep: objective=max:score job: command='["./bin/sh", "{config_dir}/job.sh", "{x}"]' \
        job.metrics.score: regex='score: ([0-9.]+)' local: "$1" training_spec: x="[$(seq -s , 12)]" >sweep.toml
    mkdir -p bin
    ln -sf /bin/sh bin/sh
    printf '%s\n' '[ "$1" != 3 ] || [ -e gone ] || { touch gone; mv bin away; }' 'sleep 0.1' 'echo "score: $1"' >job.sh
}

expect_all_ok()
{
    expect_sql "ok||12" "SELECT state, failure, count(*) FROM job GROUP BY 1, 2"
    expect_sql "12|12" "SELECT count(*), sum(state = 'ok') FROM attempt"
}

program__away_for_a_while__run_pauses_and_goes_on()
{
    for slots in 1 4; do
        rm -rf results.db* bin away gone
        vanishing_sweep ''
        start_until "grep -q 'paused: ' .stderr" 20 run --progress plain -j "$slots"
        wait_until "[ \"\$(sql \"SELECT count(*) > 0 FROM results WHERE state = 'held'\")\" = 1 ]" 20
        expect_sql 1 "SELECT count(DISTINCT error) FROM results WHERE state = 'held'"
        expect_sql 0 "SELECT count(*) FROM job WHERE state = 'failed'"
        run_status
        mv away bin
        wait_command only_stderr 0
        expect_stderr_contains 'paused: the host cannot run jobs: could not be started (exec ./bin/sh): No such '\
'file or directory; no job has failed'
        expect_stderr_contains 'continuing: the host can run jobs again after '
        expect_all_ok
    done
}

# Beside the run at work.
run_status()
{
    wait_until '"$meshsweep" status 2>err >out && grep -q "^held, and the run is paused: it goes on once" out' 20
    expect_file_contains out 'could not be started (exec ./bin/sh): No such file or directory'
    "$meshsweep" status --json >out 2>err
    expect "[ \"\$(sqlite3 :memory: \"SELECT s->>'\$.states.held' > 0 AND s->>'\$.holds[0].jobs' > 0 AND \
s->>'\$.states.failed' = 0
        FROM (SELECT readfile('out') AS s)\")\" = 1 ]"
}

program__away_for_good__given_up_with_a_status_of_its_own()
{
    vanishing_sweep 'give_up = "1200ms"'
    run_meshsweep run --progress json
    expect_only_stderr_contains 5 'giving up: the host cannot run jobs: could not be started (exec ./bin/sh): No such '\
'file or directory; the jobs that are left stay pending'
    expect_sql "3|0|1|9" "SELECT sum(state = 'ok'), sum(state = 'failed'), sum(state = 'held') > 0, sum(state IN \
('held', 'pending')) FROM results"
    expect_sql 3 "SELECT count(*) FROM attempt"
    expect_stderr_matches '"event":"end".*"held":[1-9].*"running":0,.*"eta_ms":null'
    mv away bin
    run_silently 0
    expect_all_ok
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

release__while_it_pauses__tries_at_once()
{
    vanishing_sweep ''
    start_meshsweep run --progress plain
    # Its patience doubles: with two jobs held at first and one more after one and three seconds, the next try is
# four away.
    wait_until "[ \"\$(sql \"SELECT count(*) FROM job WHERE held IS NOT NULL\" 2>/dev/null)\" = 4 ]" 20
    mv away bin
    began=${EPOCHREALTIME/./}
    "$meshsweep" run --release >out 2>err || fail "run --release: $(cat err)"
    expect_file_contains err 'asked the active run to try the jobs that wait'
    wait_command only_stderr_contains 0 'continuing: the host can run jobs again'
    [ $((${EPOCHREALTIME/./} - began)) -lt 3500000 ] || fail "it was not tried at once"
    expect_all_ok
    expect_no_file results.db.d/release
}

working_directory__removed_and_made_again__run_goes_on()
{
    vanishing_sweep ''
    mkdir work
    cp -r bin job.sh sweep.toml work
    sed -i "s|.*mv bin.*|[ \"\$1\" != 3 ] \|\| rm -r $PWD/work|" work/job.sh
    start_command sh -c 'cd work && exec "$0" run --progress plain -d ../results.db' "$meshsweep"
    wait_until "grep -q 'paused: ' .stderr" 20
    expect_sql 0 "SELECT count(*) FROM job WHERE state = 'failed'"
    mkdir work
    cp -r bin job.sh sweep.toml work
    wait_command only_stderr_contains 0 'No such file or directory; no job has failed'
    expect_all_ok
}

given_directory__vanishes__run_pauses_and_goes_on()
{
    vanishing_sweep ''
    sed -i "s|^command.*|command = [\"/bin/sh\", \"$PWD/job.sh\", \"{x}\"]\ncwd = \"$PWD/place\"|" sweep.toml
    mkdir place
    sed -i "s|.*mv bin.*|[ \"\$1\" != 3 ] \|\| rmdir $PWD/place|" job.sh
    start_until "grep -q 'paused: ' .stderr" 20 run --progress plain -j 2
    mkdir place
    wait_command only_stderr_contains 0 "could not be started (chdir $PWD/place): No such file or directory"
    expect_all_ok
}

# Nothing was ever started: that is the sweep file's fault rather than the host's, and nobody is to wait for an hour.
program__never_there__said_at_once_and_nothing_failed()
{
    vanishing_sweep ''
    sed -i 's|./bin/sh|./bin/hs|' sweep.toml
    run_meshsweep run --progress plain -j 4
    expect_only_stderr_contains 2 'sweep.toml:4: no job can be started: the program ./bin/hs: No such file or directory'
    expect_no_file results.db
}

# Things that every job needs are looked for before the first is claimed.
start__without_program_directory_or_launcher__said_before_anything()
{
    printf '%s\n' '[job]' 'command = ["no-such-program", "{x}"]' '[training_spec]' 'x = [1, 2]' >sweep.toml
    expect_run only_stderr 2 run --progress none
    expect_stderr 'meshsweep: sweep.toml:2: no job can be started: the program no-such-program: No such file or '\
'directory'
    sed -i 's/^command.*/command = ["{config_dir}\/it"]\ncwd = "sub"/' sweep.toml
    expect_run only_stderr 2 run --progress none
    expect_stderr 'meshsweep: sweep.toml:2: no job can be started: the working directory sub: No such file or directory'
    mkdir sub
    echo 'echo hello' >sub/it
    sed -i 's/{config_dir}/./' sweep.toml
    run_meshsweep run --progress none
    expect_only_stderr 2 'meshsweep: sweep.toml:2: no job can be started: the program ./it: Permission denied'
    expect_no_file results.db
    sed -i '1i #!/bin/sh' sub/it
    chmod +x sub/it
    run_silently 0
    # Nothing is due: nothing is needed.
    rm sub/it
    run_silently 0
    mkdir bin
    ln -s "$meshsweep" bin/
    run_command env PATH="$PWD/bin" meshsweep run -d slurm.db --executor slurm --progress none
    expect_only_stderr 2 'meshsweep: no job can be started: sbatch was not found here: No such file or directory'
}

# Two jobs beside each other in the file, with others that go well.
program__missing_for_some_jobs__those_fail()
{
    for slots in 1 3; do
        rm -rf results.db*
        toml sweep: objective=max:score job: command='["{program}", "echo score: {x}"]' \
            job.metrics.score: regex='score: ([0-9.]+)' retry: backoff=10ms \
            training_spec:: x=1,2,3 program=./sh training_spec:: x=4,5 program=./absent \
            training_spec:: x=6,7,8 program=./sh >sweep.toml
        stand_in ./sh <<<'$1'
        run_ended 3 -j "$slots"
        expect_sql "failed|spawn|2
ok||6" "SELECT state, failure, count(*) FROM job GROUP BY 1, 2 ORDER BY 1"
    done
}

interrupted__while_it_pauses__ends_with_the_signal()
{
    vanishing_sweep ''
    start_until "grep -q 'paused: ' .stderr" 20 run --progress plain
    end_command INT only_stderr_contains 130 'starting no more jobs'
    expect_sql "3|0" "SELECT sum(state = 'ok'), sum(state = 'failed') FROM job"
    expect_sql 0 "SELECT count(*) FROM attempt WHERE state IN ('claimed', 'running')"
}

killed__while_it_pauses__next_run_goes_on()
{
    vanishing_sweep ''
    start_until "grep -q 'paused: ' .stderr" 20 run --progress plain
    end_command KILL only_stderr 137
    mv away bin
    run_silently 0
    expect_sql "ok||12" "SELECT state, failure, count(*) FROM job GROUP BY 1, 2"
}

search__program_away_for_a_while__every_trial_made()
{
    vanishing_sweep ''
    start_until "grep -q 'paused: ' .stderr" 20 run --progress plain --strategy random --max-trials 12
    mv away bin
    wait_command only_stderr_contains 0 'search: 12 trials, 12 ok'
    expect_all_ok
}

run_cases "$@"
