#!/usr/bin/env bash
# Broken devices and nodes: told by jobs that fail there and go well elsewhere, set aside, named, tried again. What is a
# job's own fault is charged to it wherever it runs.
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

# Jobs 1 to COUNT, which run `job.sh N`.
place_sweep() # COUNT LINES OF [local] [retry]; job.sh on standard input
{
    cat >job.sh
    toml sweep: objective=min:loss job: command='["/bin/sh", "job.sh", "{x}"]' \
        job.metrics.loss: key=loss parallel_spec: "x = { from = 1, to = $1 }" \
        local: wait_clean=0 sample=0 "$2" >sweep.toml
}

ecc='echo "RuntimeError: CUDA error: uncorrectable ECC error encountered"; exit 1'

# Device 1 is broken while the file `broken` is there; others take long enough that failing there is early, whatever the
# load.
broken_device_sweep() # COUNT LINES [WHAT IT DOES]
{
    touch broken
    place_sweep "$1" "$2" <<END
[ "\$CUDA_VISIBLE_DEVICES" != 1 ] || [ ! -e broken ] || { ${3-$ecc}; }
sleep 0.5
echo "loss: \$1"
END
}

expect_all_ok() # COUNT
{
    expect_sql "ok|$1" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "0|1|host" "SELECT sum(blame IS NULL), count(DISTINCT devices), min(blame) FROM attempt
        WHERE state = 'failed'"
    expect_sql "1|1" "SELECT device, jobs >= 2 FROM place"
}

broken_device__by_its_words__set_aside_and_named()
{
    broken_device_sweep 10 'devices = [0, 1]'
    expect_run only_status 0 run --progress plain
    expect_stderr_matches '^meshsweep: device 1 of .* is set aside: 2 jobs failed on it and succeeded elsewhere '\
'\(exit status 1: RuntimeError: CUDA error: uncorrectable ECC error encountered\); such failures do not count '\
'against jobs; it is tried again in [0-9a-z]+ \(now: run --release\)$'
    expect_all_ok 10
    expect_said among_stdout 0 ', on which 2 jobs failed that succeeded elsewhere; tried again in ' status
    expect_stdout_contains 'set aside: device 1 of '
    "$meshsweep" status --json >status.json
    expect_json '1|2|1' status.json places_aside[0].device places_aside[0].jobs \
        "j ->> '$.places_aside[0].due_in_ms' > 0"
    "$meshsweep" report -o page.html >out 2>err
    expect_file_contains page.html '<p class=note>Set aside: <b>device 1 of '
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    # The next run leaves it out from the start.
    sed -i 's/to = 10/to = 14/' sweep.toml
    run_silently 0
    expect_sql "0|4" "SELECT a.devices, count(*) FROM attempt AS a JOIN job AS j ON j.id = job_id WHERE j.id > 10
        GROUP BY 1"
}

# Its third job in a row asks; the two before it, which had failed by then, run again.
broken_device__without_words__set_aside_by_pairs()
{
    broken_device_sweep 24 'devices = [0, 1]' 'exit 3'
    run_meshsweep run --progress none
    expect_only_stderr_contains 0 'is set aside: 6 jobs failed on it and succeeded elsewhere (exit status 3)'
    expect_all_ok 24
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

broken_device__with_checksums__kept_up_to_date()
{
    broken_device_sweep 24 'devices = [0, 1]' 'exit 3'
    sed -i 's/^objective.*/&\nchecksums = true/' sweep.toml
    expect_said only_stderr_contains 0 'is set aside' run --progress none
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

jobs_own_fault__on_every_device__charged_and_nothing_set_aside()
{
    place_sweep 20 'devices = [0, 1]' <<'END'
[ $(($1 % 2)) = 1 ] || exit 3
sleep 0.05
echo "loss: $1"
END
    run_silently 3
    expect_sql "failed|10
ok|10" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "0|0" "SELECT (SELECT count(*) FROM place), count(*) FROM attempt WHERE blame IS NOT NULL"
    expect_sql 1 "SELECT count(*) <= 26 FROM attempt"
    # Also when they say that it is the device's.
    rm -rf results.db*
    sed -i "s/exit 3/{ $ecc; }/" job.sh
    # Several in a row may hold the run for a moment, until one of the others has ended well.
    expect_run only_stderr 3 run --progress none
    expect_stderr_lacks "set aside"
    expect_sql "failed|10
ok|10" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql 0 "SELECT count(*) FROM place"
    expect_sql 2 "SELECT min(n) FROM (SELECT count(*) AS n FROM attempt AS a JOIN job AS j ON j.id = job_id
        WHERE j.state = 'failed' GROUP BY j.id)"
}

single_device__broken__held_until_it_works()
{
    broken_device_sweep 3 "$(toml devices='[1]' give_up=1200ms)"
    # Something has run there before.
    rm broken
    run_silently 0 --limit 1
    touch broken
    run_meshsweep run --progress none
    expect_only_stderr_contains 5 'giving up: the host cannot run jobs: exit status 1: RuntimeError: CUDA error: '\
'uncorrectable ECC error encountered; the jobs that are left stay pending, and the next run continues'
    expect_sql "0|0" "SELECT (SELECT count(*) FROM place), count(*) FROM job WHERE state = 'failed'"
    sed -i 's/^give_up.*//' sweep.toml
    rm .stderr # has the word as well
    start_until "grep -q 'paused: the host cannot run jobs: ' .stderr" 20 run --progress plain
    rm broken
    wait_command only_stderr_contains 0 'continuing: the host can run jobs again after '
    expect_sql "ok|3" "SELECT state, count(*) FROM job GROUP BY 1"
}

set_aside__mended__tried_again_after_a_while()
{
    broken_device_sweep 40 "$(toml devices=0,1 retry: place=500ms)"
    start_until "grep -q 'is set aside' .stderr" 20 run --progress plain
    rm broken
    wait_command among_stderr 0 'trying again what was set aside: device 1'
    expect_stderr_matches ' works again$'
    expect_sql "0|40" "SELECT (SELECT count(*) FROM place), count(*) FROM job WHERE state = 'ok'"
    expect_sql 1 "SELECT count(*) > 1 FROM attempt WHERE devices = '1' AND state = 'ok'"
}

set_aside__still_broken__rests_longer()
{
    broken_device_sweep 20 "$(toml devices=0,1 retry: place=300ms)"
    run_meshsweep run --progress none
    expect_only_stderr_matches 0 'device 1 of .* fails as before; it is tried again in [0-9.]+m?s$'
    expect_sql "ok|20" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "1|0" "SELECT rest_ms >= 600, (SELECT count(*) FROM attempt WHERE state = 'failed' AND blame IS NULL)
        FROM place"
}

set_aside__released__tried_at_once()
{
    broken_device_sweep 60 'devices = [0, 1]'
    start_until "grep -q 'is set aside' .stderr" 20 run --progress plain
    rm broken
    "$meshsweep" run --release >out 2>err || fail "run --release: $(cat err)"
    expect_file_contains err 'and what is set aside, at once'
    wait_command only_status 0
    expect_stderr_matches ' works again$'
    expect_sql 0 "SELECT count(*) FROM place"
}

# Every task of an array has the next node that is not excluded: the first is broken.
node_at_slurm__broken__excluded()
{
    stand_ins
    echo "[ \"\$SLURM_JOB_NODELIST\" != n0 ] || { $ecc; }; echo \"score: \$1\"" >job.sh
    slurm_sweep 8 'sh job.sh {n}' </dev/null
    expect_after only_stderr 0 run_at_slurm -j 2
    expect_stderr_contains 'node n0 is set aside: 2 jobs failed on it and succeeded elsewhere (exit status 1: Runtime'
    expect_sql "ok|8" "SELECT state, count(*) FROM job GROUP BY 1"
    expect_sql "n0||2" "SELECT host, device, jobs FROM place"
    expect_sql "n0|host" "SELECT DISTINCT host, blame FROM attempt WHERE state = 'failed'"
    expect_file_contains "slurm/job.$(($(cat slurm/next) - 1))" '#SBATCH --exclude="n0"'
}

run_cases "$@"
