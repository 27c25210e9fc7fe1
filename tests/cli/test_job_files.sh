#!/usr/bin/env bash
# Jobs change the files in their directories: links, pipes, removals. Nothing is followed, nothing waits for them, and
# what they wrote counts.
. "${0%/*}/lib.sh"

# A sweep of jobs with directories of their own, one for each value, that run the script on standard input.
sweep_of() # VALUES
{
    cat >job.sh
    toml sweep: objective=max:v job: job_dir=true "command = [\"sh\", \"$PWD/job.sh\", \"{x}\"]" \
        job.metrics.v: regex='v: ([0-9]+)' training_spec: "x = [$1]" retry: backoff=1ms >sweep.toml
}

expect_values() { expect_sql "$1" "SELECT x, state, v FROM results ORDER BY x"; } # LINES

links__in_place_of_what_the_runner_writes__not_followed()
{
    for file in cut log stream directory; do
        echo precious >"$file"
    done
    mkdir foreign
    echo precious >foreign/output.log
    # Over the bound of a log, so that its middle is given back and then cut out.
    sweep_of "1, 2, 3" <<END
cd "\$MESHSWEEP_JOB_DIR" || exit
echo "v: \$1"
case \$1 in
1) ln -s $PWD/cut output.log.cut ;;
2) mv output.log mine && ln -s $PWD/log output.log ;;
3) cd .. && mv "\$MESHSWEEP_JOB_DIR" old && ln -s $PWD/foreign "\$MESHSWEEP_JOB_DIR" ;;
esac
yes "some text of the job's" | head -c 70000000
echo; echo "the end"
END
    run_silently 0
    expect_values "1|ok|1.0
2|ok|2.0
3|ok|3.0"
    for file in cut log foreign/output.log; do
        expect_file_contains "$file" precious
        expect "[ \"\$(stat -c %s $file)\" = 9 ]"
    done
    expect_said only_stdout 0 "the end" tail 1 --once -n 1
    expect_said only_stdout 0 "the end" tail 2 --once -n 1
}

pipe__in_place_of_the_log__nobody_waits_for_it()
{
    sweep_of 1 <<'END'
cd "$MESHSWEEP_JOB_DIR" || exit
echo "v: 7"
rm output.log
mkfifo output.log
: >../../ready
while [ ! -e ../../go ]; do sleep 0.05; done
END
    start_until "[ -e results.db.d/ready ]" 20 run --progress none
    local tail_status=0
    timeout 20 "$meshsweep" tail 1 >tail.out 2>tail.err || tail_status=$?
    expect "[ $tail_status = 1 ]"
    expect_file_contains tail.err 'the job has put something else in place of its log, which is kept when it ends'
    : >results.db.d/go
    wait_command silent 0
    expect_values "1|ok|7.0"
    expect_said only_stdout 0 "v: 7" tail 1
}

pipe__in_place_of_metrics_and_files__said()
{
    sweep_of 1 <<<'mkfifo "$MESHSWEEP_METRICS" "$MESHSWEEP_JOB_DIR/out.json"'
    printf '[job.metrics.w]\njson = "w"\nfile = "out.json"\n' >>sweep.toml
    expect_command only_status 3 timeout 30 "$meshsweep" run --progress none
    expect_sql "no-metric|1" "SELECT failure,
        message LIKE '%; pipes, directories and devices where a file is to be read: %' FROM attempt"
}

directory__removed__what_was_printed_counts()
{
    sweep_of "1, 2" <<'END'
echo "v: $1"
if [ "$1" = 1 ]; then rm -r "$MESHSWEEP_JOB_DIR"; else mv "$MESHSWEEP_JOB_DIR" "$MESHSWEEP_JOB_DIR.mine"; fi
END
    run_silently 0
    expect_values "1|ok|1.0
2|ok|2.0"
    expect_said only_stdout 0 "v: 1" tail 1 --once
    expect_said only_stdout 0 'results.db: all well' check -d results.db
}

directory__removed_with_its_metrics__the_host_is_blamed()
{
    # The first time only, as by a cleaner.
    sweep_of 1 <<'END'
echo '{"v": 5}' >"$MESHSWEEP_METRICS"
[ "$MESHSWEEP_NUMBER" -gt 1 ] || rm -r "$MESHSWEEP_JOB_DIR"
echo done
END
    run_meshsweep run --progress none
    expect_among_stderr 0 'paused: the host cannot run jobs: its directory was moved or removed while it ran'
    expect_sql "1|lost|host
2||" "SELECT number, failure, blame FROM attempt"
    expect_values "1|ok|5.0"
}

directory__always_removed_with_its_metrics__the_run_ends()
{
    sweep_of 1 <<'END'
echo '{"v": 5}' >"$MESHSWEEP_METRICS"
rm -r "$MESHSWEEP_JOB_DIR"
echo done
END
    expect_run only_status 3 run --progress none
    expect_sql "failed|lost|3" "SELECT job.state, max(attempt.failure), sum(blame = 'host')
        FROM job JOIN attempt ON job_id = job.id"
}

links__of_metrics__what_the_sweep_file_names_is_read()
{
    sweep_of 1 <<'END'
cd "$MESHSWEEP_JOB_DIR" || exit
mkdir run-1
echo '{"w": 3}' >run-1/summary.json
ln -s run-1 latest
END
    printf '[job.metrics.w]\njson = "w"\nfile = "latest/summary.json"\n' >>sweep.toml
    sed -i 's/max:v/max:w/' sweep.toml
    run_silently 0
    expect_sql "ok|3.0" "SELECT state, w FROM results"
}

links__and_shared_files__what_they_lead_to_stays_private()
{
    umask 022
    echo secret >secret
    chmod 600 secret
    sweep_of 1 <<END
echo "v: 1"
ln -s $PWD/secret "\$MESHSWEEP_METRICS"
END
    sed -i 's/^objective.*/&\nshare = true/' sweep.toml
    run_silently 0
    expect "[ \"\$(stat -c %a secret)\" = 600 ]" "[ \"\$(stat -c %a results.db.d/*/1/output.log)\" = 644 ]"
}

links__of_the_user__files_of_jobs_lie_behind_them()
{
    mkdir elsewhere
    ln -s elsewhere results.db.d
    sweep_of "1, 2" <<<'echo "v: $1"'
    run_silently 0
    expect_values "1|ok|1.0
2|ok|2.0"
    expect "ls elsewhere/*/1/output.log"
    expect_said only_stdout 0 "v: 1" tail 1 --once
}

run_cases "$@"
