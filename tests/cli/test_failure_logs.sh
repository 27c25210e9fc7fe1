#!/usr/bin/env bash
# The outputs of failed jobs: tests/failures/ has outputs of launchers with several ranks, as a file, or as a directory
# with output.log and the logs that were kept beside it; tests/failures/expected has what is recorded of each.
. "${0%/*}/lib.sh"

logs=$source_dir/tests/failures

# A sweep of one job for each log.
logs_sweep()
{
    {
        echo '[job]'
        echo 'command = ["sh", "./job.sh", "{job_dir}", "{log}", "{exit_status}"]'
        echo '[[training_spec]]'
        echo '"(log, exit_status)" = ['
        sed -n 's/^\([^ |]*\) \([0-9]*\)|.*/    ["\1", \2],/p' "$logs/expected"
        echo ']'
    } >sweep.toml
    cat >job.sh <<END
if [ -d '$logs'/"\$2" ]; then
    cp -R '$logs'/"\$2"/ranks "\$1/"
    cat '$logs'/"\$2"/output.log
else
    cat '$logs'/"\$2"
fi
exit "\$3"
END
}

failed_job__logs_of_ranks_and_launchers__first_cause_and_consequence()
{
    logs_sweep
    run_ended 3 -j 4 --keep-going
    sql "SELECT json_extract(s.json, '\$.log') || ' ' || a.exit_code, a.failure, a.message, coalesce(a.consequence, '')
        FROM job AS j JOIN spec AS s ON s.id = j.training_id JOIN attempt AS a ON a.id = j.attempt_id ORDER BY 1" >got
    LC_ALL=C sort got >sorted
    diff -u "$logs/expected" sorted >difference || fail "$(cat difference)"
    # Something is expected of each.
    for file in "$logs"/*; do
        file=${file##*/}
        [ "$file" = expected ] || grep -qF "$file " "$logs/expected" || fail "$file: nothing is expected of it"
    done
}

# Failures that differ in ranks, addresses and line numbers only are one cause, in every place that groups.
same_cause__of_other_ranks__one_group()
{
    printf '%s\n' '[job]' 'command = ["sh", "-c", """' "echo '[rank{rank}]: ValueError: shard {rank} is empty'" \
        "echo 'RuntimeError: Connection closed by peer [127.0.0.1]:{rank}'" 'exit 1"""]' '[[training_spec]]' \
        'rank = [1, 23, 4]' >sweep.toml
    run_ended 3
    expect_said among_stdout 0 '  3 x exit, as job 1: exit status 1: [rank1]: ValueError: shard 1 is empty' status
    expect_stdout_lacks 'rank23'
    expect_said among_stdout 0 'RuntimeError: Connection closed by peer [127.0.0.1]:1"' status --json
    # No value is named where all failed alike: it would say nothing.
    expect_json '1|[]' "json_array_length(j, '\$.failures')" 'failures[0].where'
    expect_run only_status 0 show 2
    expect_stdout_matches 'consequence +RuntimeError: Connection closed by peer \[127.0.0.1\]:23'
    expect_run only_status 0 report -o report.html
    expect_file_contains report.html '</b> exit, as <a href="#j1">job 1</a>: <code>exit status 1: '\
'[rank1]: ValueError: shard 1 is empty</code>; then: <code>RuntimeError: Connection closed by peer [127.0.0.1]:1</code>'
    expect_sql '1' "SELECT count(*) FROM failures WHERE consequence LIKE 'RuntimeError%:23'"
}

# A cause with the values that go with it: counted here by the keys that the jobs have, and not by chance where a value
# says nothing.
cause__of_some_values__named_with_their_counts()
{
    cat >sweep.toml <<'END'
[job]
command = ["sh", "-c", """
if [ {shape} = 8 ]; then echo '[rank{mb}]: ValueError: {mb} heads at 0x7f{mb}'; exit 1; fi
if [ {mb} -ge 16 ] && [ {len} = 4096 ]; then echo 'torch.OutOfMemoryError: Tried to allocate {mb}.00 GiB.'; exit 1; fi
if [ {len} = 1024 ] && [ {shape} = 2 ] && [ {mb} = 4 ]; then exit 7; fi
"""]
[[parallel_spec]]
shape = [1, 2, 8]
mb = [1, 4, 16, 32]
seed = [1, 2]
[[training_spec]]
len = [1024, 4096]
END
    run_ended 3 --keep-going
    with=$(sql "SELECT count(*) FROM results WHERE shape = 8 AND error LIKE '%ValueError%'")
    without=$(sql "SELECT count(*) FROM results WHERE shape <> 8")
    expect '[ "$with $without" = "16 32" ]'
    expect_sql '8|8|8' "SELECT sum(failure IS 'oom'), count(*), (SELECT count(*) FROM results WHERE failure = 'oom')
        FROM results WHERE mb >= 16 AND len = 4096 AND shape <= 2"
    expect_run only_status 0 status
    expect_stdout_contains "16 x exit, as job" "all $with with shape=8; none of $without without"
    expect_stdout_matches 'all 8 with .*(mb>=16|len=4096).*; none of 40 without'
    expect_stdout_matches '2 x exit, as job [0-9]+: exit status 7'
    expect_run only_status 0 status --json
    expect_json '3|exit status #: ValueError: # heads at #|{"jobs":16,"ended_jobs":48}|oom|8|8|[]' \
        "json_array_length(j, '\$.failures')" 'failures[0].'{cause,compared} \
        'failures[1].'{class,'where[0].'{jobs,ended_jobs}} 'failures[2].where'
    expect_json '[{"terms":[{"name":"shape","relation":"=","term_value":8}],"jobs":16,"ended_jobs":16}]' \
        'failures[0].where'
    expect_run only_status 0 report -o report.html
    expect_file_contains report.html '<b>all 16 with shape=8; none of 32 without</b>'
}

# They may stand in what others say as much as in the cause.
secret__in_a_consequence__redacted()
{
    cat >sweep.toml <<'END'
[job]
command = ["sh", "-c", "echo \"RuntimeError: Connection closed by peer $TOKEN\"; echo 'ValueError: no'; exit 1"]
env = { TOKEN = "hush-hush-4711" }
[training_spec]
x = 1
END
    run_ended 3
    expect_sql 'RuntimeError: Connection closed by peer [redacted]' "SELECT consequence FROM attempt"
}

run_cases "$@"
