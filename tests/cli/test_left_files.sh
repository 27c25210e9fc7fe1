#!/usr/bin/env bash
# Files that jobs leave in their directories: listed, kept or removed; and the winner run once more under a profiler.
. "${0%/*}/lib.sh"

leaving_sweep() # LINES OF [job] on standard input
{
    cat >job.sh <<'END'
cd "$MESHSWEEP_JOB_DIR" || exit
mkdir -p trace/deep
printf '%100s' >trace/deep/run.rep
printf '%2000s' >model.ckpt
printf '{"speed": %s}' "$1" >result.json
ln -s "$2" outside
ln -s "$2" trace/link
echo done
END
    mkdir precious
    echo mine >precious/file.ckpt
    {
        toml sweep: objective=max:speed training_spec: n=1,2 job.metrics.speed: json=speed file=result.json \
            better=max job: command='["/bin/sh", "{config_dir}/job.sh", "{n}", "{config_dir}/precious"]' \
            job_dir=true
        cat
    } >sweep.toml
}

files__left__listed_with_their_sizes()
{
    leaving_sweep </dev/null
    run_silently 0
    run_meshsweep show 1
    expect_only_stdout_contains 0 'left_files' 'attempt 1: model.ckpt, 2000 bytes' \
        'attempt 1: trace/deep/run.rep, 100 bytes' 'attempt 1: result.json, 12 bytes'
    run_meshsweep show 1 --json
    expect_only_stdout_contains 0 $'"left_files":\t[' $'"name":\t"model.ckpt"' $'"bytes":\t2000'
    expect_sql "3|2112|0|0" "SELECT files ->> '\$.count', files ->> '\$.bytes', files ->> '\$.removed',
        instr(files, 'output.log') FROM attempt WHERE id = 1"
}

keep_files__patterns__the_rest_goes_but_results_logs_and_links()
{
    leaving_sweep <<<'keep_files = ["*.rep"]'
    run_silently 0
    expect_sql "1|model.ckpt" "SELECT files ->> '\$.removed', f.value ->> '\$.name' FROM attempt,
        json_each(files, '\$.list') AS f WHERE attempt.id = 1 AND f.value ->> '\$.removed'"
    local dir=results.db.jobs
    dir=$(dirname "$(find . -name result.json | head -n 1)")
    expect_file "$dir/result.json" "$dir/trace/deep/run.rep" "$dir/output.log" precious/file.ckpt
    expect_no_file "$dir/model.ckpt"
    expect "[ -L '$dir/outside' ]" "[ -L '$dir/trace/link' ]"
    expect_said only_stdout_contains 0 'attempt 1: model.ckpt, 2000 bytes, removed' show 1
    expect_run only_status 0 reread
    expect_sql "1.0|2.0" "SELECT min(value), max(value) FROM job_metric WHERE name = 'speed'"
}

keep_files_size__more_than_fits__the_largest_go()
{
    leaving_sweep <<<'keep_files_size = "1KiB"'
    run_silently 0
    expect_sql "model.ckpt" "SELECT group_concat(f.value ->> '\$.name') FROM attempt, json_each(files, '\$.list') AS f
        WHERE attempt.id = 1 AND f.value ->> '\$.removed'"
}

# A stand-in for nsys that knows "profile -o FILE COMMAND…" alone.
profiled_sweep()
{
    mkdir bin
    cat >bin/nsys <<'END'
#!/bin/sh
[ "$1" = profile ] && [ "$2" = -o ] || { echo "nsys: unknown option $2" >&2; exit 2; }
echo "$3" >>"$NSYS_CALLS"
printf '%50s' >"$3.nsys-rep"
shift 3
exec "$@"
END
    chmod +x bin/nsys
    export PATH=$PWD/bin:$PATH NSYS_CALLS=$PWD/calls
    leaving_sweep < <(toml pass_env='["NSYS_CALLS"]' job.profile: \
        command_prefix='["nsys", "profile", "-o", "{job_dir}/winner"]' for=best)
}

profile__the_winner__once_and_never_a_measurement()
{
    profiled_sweep
    run_meshsweep run --progress plain
    expect_only_stderr_contains 0 'running the winner once more under [job.profile]: job 2' \
        'job 2 under [job.profile]: ok; meshsweep show 2 lists its files' 'ms  under [job.profile]  '
    expect "[ \$(wc -l <calls) = 1 ]"
    expect_sql "2|profile|ok|winner.nsys-rep" "SELECT a.job_id, a.kind, a.state, f.value ->> '\$.name'
        FROM attempt AS a, json_each(a.files, '\$.list') AS f
        WHERE a.kind <> 'trial' AND f.value ->> '\$.name' LIKE '%nsys%'"
    expect_sql "2|2" "SELECT count(*), sum(j.attempt_id IN (SELECT id FROM attempt WHERE kind = 'trial')) FROM job AS j
        WHERE state = 'ok'"
    expect_sql 0 "SELECT count(*) FROM counted_attempt JOIN attempt USING (id) WHERE kind = 'profile'"
    # The next run has nothing to do, until another job wins.
    run_silently 0
    expect "[ \$(wc -l <calls) = 1 ]"
    sed -i 's/^n = .*/n = [1, 2, 3]/' sweep.toml
    expect_said only_stderr_contains 0 'job 3 under [job.profile]: ok' run --progress none
    expect "[ \$(wc -l <calls) = 2 ]"
    run_meshsweep show 2
    expect_only_stdout_contains 0 'run under [job.profile], not a measurement' 'winner.nsys-rep, 50 bytes'
}

profile__that_fails__said_and_the_results_stand()
{
    profiled_sweep
    sed -i 's/"-o", /"--out", /' sweep.toml
    expect_said only_stderr_contains 0 'job 2 under [job.profile]: failed' run --progress none
    expect_sql "2|ok" "SELECT count(*), min(state) FROM job"
}

profile__is_no_part_of_a_job__its_key_stays()
{
    leaving_sweep </dev/null
    run_silently 0
    printf '[job.profile]\ncommand_prefix = ["env", "N={n}"]\n' >>sweep.toml
    expect_said only_stdout_contains 0 '= 2 done' plan
    printf 'for = "worst"\n' >>sweep.toml
    run_meshsweep check
    expect_only_stderr_contains 2 'for' 'best'
}

run_cases "$@"
