#!/usr/bin/env bash
# archive: logs of jobs that have ended, compressed and read as before; gc: what no attempt has, removed.
. "${0%/*}/lib.sh"

# Jobs of a thousand lines on each stream and as many samples; the third fails, the fourth runs until there is a "go".
logging_sweep() # X
{
    cat >job.sh <<'END'
for i in $(seq 1000); do
    echo "step $i $1.$i ms"
    echo "warning $i" >&2
    echo "{\"loss\": 0.$i}" >>"$MESHSWEEP_METRICS"
done
[ "$1" != 3 ] || { echo "the cable is out" >&2; exit 7; }
[ "$1" != 4 ] || until [ -e go ]; do sleep 0.05; done
END
    sweep_with "$1"
}

logged() { logging_sweep "$2"; run_ended "$1"; } # STATUS X

sweep_with() # X [MORE-LINES]
{
    toml sweep: name=logs objective=min:t job: command='["sh", "job.sh", "{x}"]' separate_streams=true \
        job.metrics.t: regex='^step [0-9]+ ([0-9.]+) ms' job.metrics.loss: json=loss better=min "${2-}" \
        parallel_spec: "x = $1" >sweep.toml
}

# Prints what commands that read logs say.
answers()
{
    local command
    for command in 'show 1' 'show 3' 'tail 1 --once -n 100000' 'tail 3 --once -n 7' 'tail --worst --once' 'why 3' \
        'reread --dry-run' 'compare 1 2' 'compare --json 1 2' 'check -d results.db'; do
        echo "== $command"
        # shellcheck disable=SC2086 # words
        "$meshsweep" $command 2>&1 || echo "status $?"
    done
}

# Names, contents, times and modes of job files.
files_now()
{
    find results.db.d -type f -printf '%P %m %T@ ' -exec sha256sum {} \; | sort
}

count_files() # PATTERN
{
    find results.db.d -name "$1" | wc -l
}

logs__archived__read_as_before_and_brought_back()
{
    logged 3 '[1, 2, 3]'
    answers >before
    grep -q 'step 500 1.500 ms' before || fail "the answers hold no log"
    files_now >files
    expect_said only_stdout_matches 0 '^12 files, 22[0-9]\.[0-9] KiB, would be compressed \(--dry-run: nothing was' \
        archive --dry-run
    files_now | cmp - files || fail "a dry run has changed files"
    expect_said only_stdout_matches 0 '^12 files compressed: 22[0-9]\.[0-9] KiB became [3-9][0-9]\.[0-9] KiB$' archive
    expect '[ "$(count_files "*.gz") $(count_files "*.log") $(count_files "*.jsonl")" = "12 0 0" ]'
    zcat "results.db.d/$(sql "SELECT directory FROM attempt WHERE job_id = 1")/output.log.gz" >log
    "$meshsweep" tail 1 --once -n 100000 | cmp - log || fail "zcat reads something else"
    answers | diff -u before - || fail "the answers differ"
    expect_said only_stderr 0 "meshsweep: report in report.html" report -o report.html
    expect '[ "$(grep -o "\"packed\":true" report.html | wc -l)" = 3 ]'
    # New readers find what is in them.
    sweep_with '[1, 2, 3]' "[job.metrics.warnings]
regex = 'warning ([0-9]+)'
take = \"max\""
    expect_said only_stdout_contains 0 "warnings: 3 added" reread -c sweep.toml --dry-run
    expect_said only_stdout 0 "0 files compressed" archive
    expect_said only_stdout_contains 0 "12 files brought back: " archive --undo
    files_now | diff -u files - || fail "what was brought back differs"
    # One job, named or old, and no other.
    expect_said only_stdout 0 "0 files compressed" archive --older-than 1d
    expect_said only_stdout_contains 0 "4 files compressed: " archive 2
    sql "UPDATE attempt SET ended = ended - 86400000 * 3 WHERE job_id = 1"
    expect_said only_stdout_contains 0 "4 files compressed: " archive --older-than 2d
    expect '[ "$(count_files "*.gz") $(count_files "*.log")" = "8 3" ]'
    expect_said only_stderr 2 'meshsweep: archive: --older-than soon: must be a time, such as 30d or 12h' \
        archive --older-than soon
    expect_said only_stderr_contains 4 "there is no job 9" archive 9
}

running_job__archive_beside_it__untouched()
{
    local open="SELECT count(*) FROM attempt WHERE state = 'running' AND job_id = 2"
    logging_sweep '[1, 4]'
    start_until '[ "$(sql "'"$open"'" 2>/dev/null)" = 1 ]' 30 run -j 1 --progress none
    wait_until '"$meshsweep" tail 2 --once 2>/dev/null | grep -q "warning 1000"' 30
    "$meshsweep" archive >said
    expect_file_contains said "4 files compressed: "
    "$meshsweep" archive 2 2>said && fail "a running job was taken"
    expect_file_contains said "job 2 has not ended; its files are left alone until then"
    "$meshsweep" gc --dry-run 2>said && fail "gc beside a runner"
    expect_file_contains said "gc: a runner is using results.db"
    touch go
    wait_command only_status 0
    expect_sql "1|ok|1000 2|ok|1000" "SELECT group_concat(text, ' ') FROM (SELECT printf('%d|%s|%d', a.job_id, a.state,
        count(*)) AS text FROM attempt AS a JOIN metric AS m ON m.attempt_id = a.id WHERE m.name = 't' GROUP BY a.id)"
    expect_said only_stdout_contains 0 "4 files compressed: " archive
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

killed__at_each_step__nothing_lost()
{
    need_fault_points
    logged 0 '[1, 2]'
    answers >before
    files_now >files
    for way in '' --undo; do
        for point in written renamed removed; do
            for times in 1 3 8; do
                [ -z "$way" ] || "$meshsweep" archive >said || fail "archive after $point: $(cat said)"
                # shellcheck disable=SC2086 # a word or none
                expect_after only_status 137 run_killed "archive-$point:$times" archive $way
                answers | diff -u before - || fail "after $way $point:$times the answers differ"
                "$meshsweep" archive --undo >said || fail "undo after $way $point: $(cat said)"
                files_now | grep -v meshsweep-tmp | diff -u files - || fail "after $way $point:$times files differ"
            done
        done
    done
    expect_after only_status 137 run_killed archive-written archive
    expect_said only_stdout_contains 0 output.log.meshsweep-tmp gc --dry-run
    expect_said among_stderr 0 "meshsweep: removed" gc --yes
    files_now | diff -u files - || fail "gc has removed something else"
}

server__ended__its_log_compressed_and_not_that_of_a_step()
{
    need_fault_points
    logging_sweep '[1]'
    toml fixture:: name=server start='["sh", "-c", "seq 3000; exec sleep 1000"]' ready='{ regex = "^3000$" }' \
        fixture:: name=data start='["seq", "3000"]' >>sweep.toml
    run_ended 0
    log=results.db.d/$(sql "SELECT directory FROM fixture_start WHERE name = 'server'")/output.log
    cp "$log" before
    expect_said only_stdout_contains 0 "4 files compressed: " archive 1
    expect_after only_status 137 run_killed archive-written archive
    expect_said only_stdout_contains 0 "$log.meshsweep-tmp" gc --dry-run
    expect_said only_stdout_contains 0 "2 files compressed: " archive
    zcat "$log.gz" | cmp - before || fail "zcat reads something else"
    expect_said only_stdout_contains 0 "log ${log#*/}.gz" show 1
    expect_said only_stdout_contains 0 "6 files brought back: " archive --undo
    expect_run only_status 0 show 1
    expect_stdout_contains "log ${log#*/}" && expect_stdout_lacks "log ${log#*/}.gz"
    cmp "$log" before || fail "what was brought back differs"
}

something_else__in_the_way__both_kept()
{
    logged 0 '[1]'
    directory=results.db.d/$(sql "SELECT directory FROM attempt")
    echo mine | gzip >"$directory/output.log.gz"
    mv "$directory/stdout.log" elsewhere
    ln -s "$PWD/elsewhere" "$directory/stdout.log"
    expect_run status 1 archive
    expect_stdout_contains "2 files compressed: "
    expect_stderr_contains "output.log stays as it is: both it and what it is compressed to are there, and they differ"
    expect '[ "$(zcat "$directory/output.log.gz")" = mine ]' '[ -h "$directory/stdout.log" ]'
    expect_file_contains "$directory/output.log" "step 1000"
    rm "$directory/output.log.gz"
    expect_said only_stdout_contains 0 "1 file compressed: " archive
    # One that the disk has damaged is an error, not an empty log.
    printf 'xyz' | dd of="$directory/output.log.gz" bs=1 seek=200 conv=notrunc status=none
    expect_said only_stdout_contains 0 "output.log cannot be read: Bad message" reread --dry-run
    expect_said only_stderr_contains 1 "Bad message" tail 1 --once
    expect_run status 1 archive --undo
    expect_stdout_contains "2 files brought back: "
    expect_stderr_contains "output.log stays as it is: Bad message"
    expect_file "$directory/output.log.gz"
}

leftovers__gc__listed_then_removed_and_nothing_else()
{
    logged 0 '[1, 2]'
    own=results.db.d/$(sql "SELECT directory FROM attempt WHERE job_id = 1")
    key=${own%/*}
    expect_said only_stdout 0 "0 leftovers, 0 B" gc
    mkdir -p results.db.d/0123456789abcdef/{1/deep,notes} "$key/7" results.db.d/mine/1 \
        results.db.pull-{abc123,young1,notes}
    head -c 5000 /dev/zero >results.db.d/0123456789abcdef/1/deep/x
    ln -s "$PWD/job.sh" results.db.d/0123456789abcdef/1/link
    touch "$own/output.log.meshsweep-tmp" "$own/output.log.tmp"
    touch -d '2 hours ago' results.db.pull-abc123/copy.db results.db.pull-abc123
    find results.db* | sort >before
    expect_run only_stdout 0 gc --dry-run
    expect_stdout_contains results.db.d/0123456789abcdef/1 "$key/7" results.db.pull-abc123 \
        "$own/output.log.meshsweep-tmp" "4 leftovers, " "(--dry-run: nothing was removed)"
    expect_stdout_lacks young mine notes log.tmp
    expect_run status 2 gc
    expect_stdout_contains "4 leftovers, "
    expect_stderr "meshsweep: gc: nobody can be asked here; --yes removes them"
    find results.db* | sort | grep -v 'lock$' | diff -u <(grep -v 'lock$' before) - || fail "something was removed"
    expect_run status 0 gc --yes
    expect_stdout_contains "4 leftovers, "
    expect_stderr "meshsweep: removed"
    expect_no_file results.db.d/0123456789abcdef/1 "$key/7" results.db.pull-abc123 "$own/output.log.meshsweep-tmp"
    expect_file results.db.d/0123456789abcdef/notes results.db.d/mine/1 results.db.pull-{young1,notes} \
        "$own/output.log.tmp" "$own/output.log" job.sh
    expect_said only_stdout 0 "0 leftovers, 0 B" gc
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

run_cases "$@"
