#!/usr/bin/env bash
# reread: kept output under the readers and failure patterns of today, without running anything again.
. "${0%/*}/lib.sh"

# Two of the jobs x = 1 to 4 end well, one exits with 7 and one runs out of time.
ends_sweep() # PATTERN [MORE-LINES]
{
    toml sweep: name=ends objective=min:t job: command='["sh", "job.sh", "{x}"]' timeout=1s \
        job.metrics.t: "regex = '$1 ([0-9]+) ms'" "${2-}" parallel_spec: x=1,2,3,4 >s.toml
    cat >job.sh <<'END'
for i in 900 $((100 * $1)) $((100 * $1)); do echo "step $i ms, loss 0.$1"; done
[ "$1" != 3 ] || { echo "the device is gone"; exit 7; }
[ "$1" != 4 ] || sleep 60
END
}

added_loss="[job.metrics.loss]
regex = 'loss ([0-9.]+)'"
device_gone='[[failure]]
class = "oom"
pattern = "device is gone"'

run_it()
{
    run_meshsweep run -c s.toml --progress none "$@"
    expect_no_stdout
    expect_any_stderr
}

ends_run() { ends_sweep "$@"; expect_after status 3 run_it; } # PATTERN

dump() { sqlite3 results.db .dump | grep -v sqlite_stat | sort; }

states="SELECT group_concat(state || ' ' || coalesce(failure, '') || ' ' || coalesce(t, 'none'), ', ')
    FROM (SELECT * FROM results ORDER BY x)"

wrong_regex__mended__ok_with_all_numbers_and_what_they_were()
{
    ends_run stp
    expect_sql "failed no-metric none, failed no-metric none, failed exit none, failed timeout none" "$states"
    ends_sweep step "$added_loss
$device_gone"
    dump >before
    expect_said only_stdout 0 "4 runs read again, 4 changed
loss: 4 added
t: 4 added
exit -> oom: 1 run, 1 job
no-metric -> ok: 2 runs, 2 jobs
nothing was written (--dry-run)" reread -c s.toml --dry-run
    dump | cmp - before || fail "a dry run has changed the database"
    expect_said only_stdout_contains 0 "no-metric -> ok: 2 runs, 2 jobs" reread -c s.toml
    expect_sql "ok  100.0, ok  200.0, failed oom 300.0, failed timeout 400.0" "$states"
    expect_sql "4|12|12" "SELECT count(DISTINCT attempt_id), sum(name = 't'), sum(name = 'loss') FROM metric"
    expect_said only_stdout_contains 0 "  failure: no-metric -> none" show 1
    expect_stdout_contains "  attempt 1 t: none -> 100.0"
    expect_stdout_matches '^reread at 20.* by .+@.+$'
    # A second time there is nothing to do, for the next run neither.
    dump >before
    expect_said only_stdout 0 "4 runs read again, 0 changed" reread -c s.toml
    dump | cmp - before || fail "a second reading has changed the database"
    expect_after silent 0 run_it --only 'x < 3'
    expect_sql 4 "SELECT count(*) FROM attempt"
    expect_said only_stdout 0 "results.db: all well" check -d results.db
}

values__read_in_another_way__largest_difference_told()
{
    ends_run step
    ends_sweep step 'warmup = 1
scale = 2'
    expect_run only_stdout 0 reread -c s.toml --json --only 'x <> 2'
    expect_json '3|t|4' attempts_read metric_changes[0].metric metric_changes[0].changed
    expect_sql '4|{"config":"s.toml","only":"x <> 2"}' \
        "SELECT (SELECT count(*) FROM replaced WHERE field = 't'), detail FROM change"
    expect_sql "200.0 400.0 600.0 800.0" "SELECT group_concat(t, ' ') FROM (SELECT t FROM results ORDER BY x)"
    expect_said only_stderr 4 "meshsweep: no job satisfies --only" reread -c s.toml --only 'x > 9'
    # Written as everywhere.
    ends_sweep step 'scale = 1e-7'
    expect_said only_stdout_contains 0 '(200.0 -> 1e-05)' reread -c s.toml --only 'x = 1'
    expect_said only_stdout_contains 0 'attempt 1 t: 200.0 -> 1e-05' show 1
}

# Ended in every way: read again by the same readers each is what it was.
every_ending__nothing_changed__the_same_class_and_message()
{
    ends_sweep 'step (nan|[0-9]+)|no' '[[failure]]
class = "oom-host"
pattern = "no host memory"'
    sed -i 's/^timeout.*/timeout = "3s"\nidle_timeout = "1s"\nstartup_timeout = "2s"/' s.toml
    sed -i 's/^x = .*/x = [1, 2, 3, 4, 5, 6, 7, 8, 9]/' s.toml
    cat >job.sh <<'END'
[ "$1" = 9 ] || [ "$1" = 7 ] || echo "step $1 ms"
case $1 in
1) ;;
2) kill -SEGV $$ ;;
3) echo "CUDA out of memory"; exit 1 ;;
4) echo "no host memory"; sleep 60 ;;
5) for _ in 1 2 3 4 5 6 7 8 9; do sleep 0.5; echo wait; done ;;
6) echo "RuntimeError: no such layer"; echo "gloo: Connection closed by peer"; exit 1 ;;
7) for _ in 1 2 3 4 5 6 7 8 9; do sleep 0.5; echo wait; done ;;
8) exit 247 ;;
9) echo "step nan ms"; exit 0 ;;
esac
END
    expect_after status 3 run_it -j4 --keep-going
    expect_sql "diverged|1
exit|1
hang|1
oom|1
signal|2
timeout|2" "SELECT failure, count(*) FROM job WHERE state = 'failed' GROUP BY 1"
    dump >before
    expect_said only_stdout 0 "9 runs read again, 0 changed" reread -c s.toml
    dump | cmp - before || fail "reading again has changed the database"
}

not_kept__cut_or_gone_or_unreadable__counted_named_and_as_before()
{
    ends_sweep stp
    sed -i 's/^x = .*/x = [1, 2]/' s.toml
    expect_after status 3 run_it
    log=results.db.d/$(sql "SELECT directory FROM attempt WHERE id = 1")
    cp -r results.db.d kept
    ends_sweep step
    head -n 1 "$log/output.log" >short
    for change in "cp short $log/output.log" "rm -r $log" "mkdir -p $log/output.log"; do
        $change
        dump >before
        expect_said only_stdout_contains 0 "1 run cannot be read again and is as before:" reread -c s.toml --dry-run
        expect_stdout_matches "^  job 1 attempt 1: its output /.*/output.log (was cut|is gone)$"
        expect_stdout_contains "no-metric -> ok: 1 run, 1 job"
        dump | cmp - before || fail "a dry run has changed the database"
    done
    expect_said only_stdout_contains 0 "1 run cannot be read again and is as before:" reread -c s.toml
    expect_sql "failed no-metric none, ok  200.0" "$states"
    # It is read as soon as it is there.
    rm -r results.db.d
    mv kept results.db.d
    expect_said only_stdout_contains 0 "no-metric -> ok: 1 run, 1 job" reread -c s.toml
    expect_sql "ok  100.0, ok  200.0" "$states"
}

# A file that a job wrote elsewhere and that is gone is no reason to forget its numbers.
metrics_file__gone__its_numbers_stay()
{
    ends_sweep step
    sed -i "s/^regex.*/unit = \"ms\"/; s/^x = .*/x = [1]/" s.toml
    echo 'echo "{\"t\": 5}" >>"$MESHSWEEP_METRICS"; echo loss 0.5' >job.sh
    expect_after status 0 run_it
    find results.db.d -name metrics.jsonl -delete
    sed -i "s/^unit = .*/&\n$(printf '%s' "$added_loss" | sed ':a;N;$!ba;s/\n/\\n/')/" s.toml
    expect_said only_stdout 0 "1 run read again, 1 changed
loss: 1 added
\`meshsweep show JOB\` lists what was replaced" reread -c s.toml
    expect_sql "ok  5.0" "$states"
}

killed_in_the_middle__all_or_none()
{
    need_fault_points
    ends_run stp
    ends_sweep step "$added_loss"
    dump >before
    expect_after only_stderr 137 run_killed numbers-renewed reread -c s.toml
    dump | cmp - before || fail "the database has a part of the change"
    expect_said only_stdout_contains 0 "no-metric -> ok: 2 runs, 2 jobs" reread -c s.toml
}

# Waiting for another attempt, and diverged by a wrong number: neither is run again.
job_that_waits_or_diverged__has_its_number_now__is_not_run_again()
{
    ends_sweep wrong
    sed -i "s/^x = .*/x = [1, 2]/; s/^regex.*/regex = 'wrong (nan|[0-9]+)'/" s.toml
    printf '[retry]\nno-metric = 2\nbackoff = "1h"\n' >>s.toml
    printf '%s\n' '[ "$1" = 1 ] || echo wrong nan' 'echo "step $1 ms"' >job.sh
    expect_run only_status 3 run -c s.toml --progress none --limit 2 --max-fail 2
    expect_sql "failed|diverged
pending|" "SELECT state, failure FROM job ORDER BY id DESC"
    sed -i "s/^regex.*/regex = 'step ([0-9]+) ms'/" s.toml
    expect_said only_stdout_contains 0 "diverged -> ok: 1 run, 1 job" reread -c s.toml
    expect_sql "ok  1.0, ok  2.0" "$states"
    expect_after silent 0 run_it
    expect_sql 2 "SELECT count(*) FROM attempt"
}

run__patterns_changed_or_a_line_nearly_matches__names_reread()
{
    ends_run stp
    expect_sql 'exit status 0, but the objective t was not reported; this line nearly matches: "step 100 ms, loss '\
'0.1"; `meshsweep reread` takes it with a mended expression' "SELECT message FROM attempt WHERE job_id = 1"
    ends_sweep elapsed
    expect_said only_stdout_contains 0 "4 runs read again, 2 changed" reread -c s.toml
    expect_sql "exit status 0, but the objective t was not reported" "SELECT message FROM attempt WHERE job_id = 1"
    ends_sweep elapsed "$device_gone"
    expect_after status 3 run_it
    expect_stderr "meshsweep: 2 failed jobs were read with other readers or failure patterns; \`meshsweep reread\` \
reads them again"
    expect_said only_stdout_contains 0 "exit -> oom: 1 run, 1 job" reread -c s.toml
    expect_after only_stdout 3 run_it
}

wrong_use__says_what_to_do()
{
    ends_sweep step
    expect_said only_stderr 2 "meshsweep: there is no database results.db" reread -c s.toml
    expect_after status 0 run_it --only 'x = 1'
    sed 's/"ends"/"others"/' s.toml >other.toml
    expect_said only_stdout 0 "1 run read again, 0 changed" reread -c other.toml
    sed -i 's/^x = .*/x = 7/' other.toml
    run_meshsweep reread -c other.toml
    expect_only_stderr 4 "meshsweep: results.db has no jobs of other.toml; \`meshsweep run -c other.toml\` runs them"
}

run_cases "$@"
