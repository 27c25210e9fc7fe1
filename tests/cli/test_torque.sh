#!/usr/bin/env bash
# Jobs through Torque's commands as Debian has them: slurm-wlm-torque, over a real Slurm (tests/cli/slurm_cluster.sh).
# Part of scripts/check.sh --full; by hand: MESHSWEEP_FULL=1 tests/cli/test_torque.sh.
CASE_SECONDS=200
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"
. "${0%/*}/slurm_cluster.sh"

# The package's commands have the names of Grid Engine's: it is unpacked beside the build, not installed.
unpack_torque()
{
    local to=$build_dir/torque package library command
    if [ ! -d "$to" ]; then
        rm -rf "$to.new"
        mkdir -p "$to.new"
        library=$(apt-cache depends libslurm-perl 2>/dev/null | sed -n 's/.*Depends: \(libslurm[0-9]*\)$/\1/p')
        (
            cd "$to.new"
            apt-get -qq download slurm-wlm-torque libslurm-perl libslurmdb-perl libswitch-perl "$library"
            for package in *.deb; do
                dpkg-deb -x "$package" .
            done
        ) >apt.log 2>&1 || skip "Debian's slurm-wlm-torque could not be had: $(tail -n 1 apt.log)"
        mv "$to.new" "$to"
    fi
    mkdir bin torque
    # They look for Slurm's commands beside themselves.
    ln -s "$(type -P sbatch)" torque/
    for command in qsub qstat qdel; do
        cp "$to/usr/bin/$command" torque/
        cat >"bin/$command" <<END
#!/bin/sh
PERL5LIB=$(echo "$to"/usr/lib/*/perl5/*):$to/usr/share/perl5 \\
    LD_LIBRARY_PATH=$(dirname "$to"/usr/lib/*/libslurm.so.*.*.*) exec $PWD/torque/$command "\$@"
END
    done
    chmod +x bin/*
    PATH=$PWD/bin:$PATH
    qstat >/dev/null 2>&1 || [ $? = 153 ] || skip "Debian's slurm-wlm-torque does not work with this Slurm"
}

cluster()
{
    [ "${MESHSWEEP_FULL-}" ] || skip "a real Slurm is started by scripts/check.sh --full"
    need_slurm
    start_slurm
    unpack_torque
}

cluster_sweep() # N COMMAND
{
    slurm_sweep "$@"
    sed -i 's/^\[slurm\]/[executor]\nname = "torque"/; s/poll = .*/poll = "1s"/; s/absence = .*/absence = "5s"/' \
        sweep.toml
}

run_at_torque() { run_meshsweep run --progress none "$@"; }

sweep__of_all_kinds_of_ends__classified()
{
    cluster
    cluster_sweep 5 \
        'case {n} in 2) exit 7 ;; 3) sleep 100 ;; 4) kill -KILL $$ ;; 5) exit 0 ;; esac; echo "score: {n}"' </dev/null
    sed -i 's/timeout = "60s"/timeout = "3s"/' sweep.toml
    expect_after silent 3 run_at_torque
    expect_sql "torque|ok|0
torque|exit|7
torque|timeout|
torque|signal|
torque|no-metric|0" "SELECT executor, coalesce(failure, state), exit_code FROM attempt ORDER BY id"
    expect_sql 5 "SELECT count(DISTINCT reference) FROM attempt WHERE host > ''"
}

job__deleted_while_it_waits__not_tried_again()
{
    cluster
    scontrol update partitionname=main state=down
    cluster_sweep 2 </dev/null
    start_meshsweep run --progress none
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE reference IN ('1', '2')\")\" = 2 ]" 30
    qdel 1
    wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE failure = 'cancelled'\")\" = 1 ]" 30
    scontrol update partitionname=main state=up
    wait_command silent 3
    expect_sql "cancelled|1
ok|1" "SELECT coalesce(failure, state), number FROM attempt ORDER BY 1"
}

queue__that_is_not_there__held_and_said_once()
{
    cluster
    cluster_sweep 3 < <(toml queue=no-such)
    expect_said_by only_stderr_contains 2 "invalid partition specified: no-such" run_at_torque
    expect_sql "pending|3|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
    sed -i '/no-such/d' sweep.toml
    expect_after silent 0 run_at_torque
    expect_sql "ok|3" "SELECT state, count(*) FROM attempt GROUP BY 1"
}

controller__away_for_a_while__nothing_lost()
{
    cluster
    cluster_sweep 3 'echo {n} >>runs; while [ ! -f go ]; do sleep 0.1; done; echo "score: {n}"' </dev/null
    start_until '[ "$(cat runs 2>/dev/null | wc -l)" = 3 ]' 30 run --progress none
    stop_controller
    touch go
    wait_until '[ "$(sql "SELECT count(*) FROM attempt WHERE state = '"'ok'"'")" = 3 ] || ! kill -0 $command_pid' 60
    start_controller
    wait_command silent 0
    expect_sql "ok|1|3" "SELECT state, number, count(*) FROM attempt GROUP BY 1"
}

three_jobs() { cluster_sweep 3 'echo {n} >>runs; echo "score: {n}"'; }

runner__dying_at_each_fault_point__each_job_once()
{
    need_fault_points
    cluster
    dies_at_each three_jobs run_at_torque '[ $(wc -l <runs) = 3 ]' attempt-claimed spawned submission-written \
        submitted submission-recorded start-written outcome-taken job-finished batch-committed runner-ended
}

run_cases "$@"
