#!/usr/bin/env bash
# show, tail, and the sweep file of a subset: one job, or some, looked at closely.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

show__job_that_ran__all_of_it()
{
    fixture_database
    expect_said only_stdout_contains 0 '  key                     01000000000000000000000000000000' show 1
    expect_stdout_contains '  state                   ok' '  micro_batch           1' '  throughput  100 samples/s'
    expect_stdout_contains "OMP_NUM_THREADS=1 NOTE='two words' train --name 'it'\\''s tiny' --tp=1"
}

show__by_the_beginning_of_its_key__the_same()
{
    fixture_database
    expect_said only_stdout_contains 0 '  job                     5' show 05000000
    expect "[ \"\$(grep -c '^attempt\$' .stdout)\" = 2 ]"
    expect_stdout_contains '  failure            lost' '  message            exit status 1: no such file'
}

# The value is of all attempts, the samples are of one.
show__repeated__whose_samples()
{
    toml sweep: objective=max:v job: repeat=3 \
        command='["/bin/sh", "-c", "echo >>runs; n=$(wc -l <runs); echo v: $n; echo v: $((n * 3))"]' \
        job.metrics.v: regex='"v: ([0-9]+)"' take=max better=max >sweep.toml
    run_silently 0
    run_meshsweep show 1
    expect_only_stdout_contains 0 $'\n  samples_of_attempt      2\n' '  v  6, samples 2, mean 4, '
}

show__not_started__no_command_yet()
{
    fixture_database
    run_meshsweep show 8
    expect_only_stdout_contains 0 'metrics: none' 'attempts: none' 'command: not known until the first attempt'
}

show__json__the_same_for_programs()
{
    fixture_database
    expect_run only_stdout 0 show 2 --json
    expect_json "2|ok||2|99|||1|1|}' train --tp=1 --micro=2" job state failure keys.parallel_spec.micro_batch \
        metrics.throughput.value metrics.loss.value metrics.throughput.not_finite metrics.loss.not_finite \
        attempts.# "substr(j ->> 'shell', instr(j ->> 'shell', '}'' train'))"
}

show__changed_afterwards__when_by_whom_and_what_it_was()
{
    fixture_database "INSERT INTO change (id, kind, at, who, why, detail) VALUES
            (1, 'reread', 1700001000000, 'me@here', NULL, '{\"only\": null}'),
            (2, 'note', 1700002000000, 'me@here', 'too warm', NULL)" \
        "INSERT INTO replaced VALUES (1, 2, 2, 'throughput', 12.5, 99), (1, 2, NULL, 'state', 'failed', 'ok'),
            (1, 3, 3, 'loss', 1, NULL), (2, 2, NULL, 'excluded', NULL, 'too warm')"
    expect_run only_stdout 0 show 2
    sed -n '/^reread/,/^command/p' .stdout >changes
    expect_file_contains changes 'reread at 2023-11-14T22:30:00Z by me@here' '  state: failed -> ok'
    expect_file_contains changes '  attempt 1 throughput: 12.5 -> 99'
    expect_file_contains changes 'note at 2023-11-14T22:46:40Z by me@here: too warm' '  excluded: none -> too warm'
    expect "! grep -q loss changes"
    expect_run only_stdout 0 show 2 --json
    expect_json '2|reread|1|{"only":null}|12.5|99|too warm|' changes.# changes[0].kind changes[0].replaced[1].attempt \
        changes[0].detail changes[0].replaced[1].was changes[0].replaced[1].is changes[1].why changes[1].undone
}

show__no_such_job__says_so()
{
    fixture_database
    expect_said only_stderr 2 'meshsweep: show: name a job by its number, or by the beginning of its key; meshsweep '\
'results lists them' show
    expect_said only_stderr 4 'meshsweep: there is no job 77; `meshsweep results --all` lists them' show 77
    expect_said only_stderr 2 "meshsweep: job-1: must be a job's number or at least 8 digits of its key" show job-1
    fixture_database "UPDATE job SET key = x'0100000000000000000000000000000f' WHERE id = 2"
    expect_said only_stderr 2 'meshsweep: 01000000: the keys of 2 jobs begin like this; give more digits' show 01000000
}

show__command__runs_by_hand_from_anywhere()
{
    small_sweep sweep.toml
    printf '%s\n' '[job.env]' 'GREETING = "good day"' >>sweep.toml
    echo 'echo "score: $(($1 * $2)) $GREETING"' >job.sh
    expect_run only_stdout 0 run --progress none
    meshsweep show 4 --json >show.json
    sqlite3 :memory: "SELECT readfile('show.json')->>'\$.shell'" >command.sh
    mkdir elsewhere
    expect "[ \"\$(cd elsewhere && sh ../command.sh)\" = 'score: 40 good day' ]"
    expect_said only_stdout_contains 0 "GREETING='good day' /bin/sh ./job.sh 2 20" best
}

# With all that the job was given, in a directory of its own, and with a program that only the runner's PATH has.
best__its_command__runs_as_it_stands_and_overwrites_nothing()
{
    mkdir -p bin work elsewhere
    printf '%s\n' '#!/bin/sh' 'echo "score: $1 from ${PWD##*/} with $MESHSWEEP_SPEC"' \
        'echo "{\"extra\": 1}" >>"$MESHSWEEP_METRICS"' 'cat "$2" 2>/dev/null' \
        'echo "$1" >"$2" && echo "$OUT" >"$MESHSWEEP_JOB_DIR/out"' >bin/train
    chmod +x bin/train
    toml sweep: objective=max:score job: command='["train", "{x}", "{job_dir}/it'\''s"]' cwd=work \
        env='{ OUT = "{job_dir}/o" }' job.metrics.score: key=score parallel_spec: x=1,2 >sweep.toml
    PATH=$PWD/bin:$PATH run_meshsweep run --progress none
    expect_only_stdout 0
    local kept spec='{"cluster_spec":{"num_devices_per_host":1,"num_hosts":1},"model":null,"training_spec":null,'
    spec+='"parallel_spec":{"x":2},"derived":null}'
    kept=$(realpath results.db.d)/$(sql "SELECT directory FROM attempt WHERE job_id = 2")
    echo evidence >"$kept/it's"
    meshsweep best --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["shell"])' >line.sh
    expect_said only_stdout_contains 0 'dir=$(mktemp -d) && cd ' best --out winner
    expect "! grep -q \"$kept\" line.sh winner/command.sh"
    mv winner elsewhere/moved
    for script in line.sh elsewhere/moved/command.sh; do
        expect_said_by only_stdout 0 "score: 2 from work with $spec" run_command env PATH=/usr/bin:/bin sh "$script"
    done
    expect_file_contains "elsewhere/moved/it's" 2
    expect_file_contains elsewhere/moved/out "$(realpath elsewhere/moved)/o"
    expect_file_contains "$kept/it's" evidence
}

tail__job_that_ended__the_end_of_its_output()
{
    small_sweep sweep.toml
    echo 'i=0; while [ $i -lt 50 ]; do i=$((i + 1)); echo "line $i"; done; echo "score: 1"' >job.sh
    expect_run only_stdout 0 run --progress none --limit 1
    expect_said only_stdout 0 'line 49
line 50
score: 1' tail 1 -n 3
    expect_run only_stdout 0 tail 1 --lines 1000
    expect "[ \"\$(wc -l <.stdout)\" = 51 ]"
}

tail__job_that_runs__followed_to_its_end()
{
    small_sweep sweep.toml
    printf '%s\n' 'echo first' 'while [ ! -e go ]; do sleep 0.05; done' 'echo second' 'echo "score: 1"' >job.sh
    one_runs
    start_until "grep -q first .stdout" 20 tail "$running"
    touch go
    wait_command only_stdout 0 'first
second
score: 1'
    wait "$runner"
}

# One job runs in the background; sets `runner`, and `running` to its number.
one_runs()
{
    "$meshsweep" run -j 1 --limit 1 --progress none >run.out 2>run.err </dev/null &
    runner=$! running=''
    wait_until "running=\$(sql \"SELECT job_id FROM attempt WHERE state = 'running'\" 2>&1) && [ \"\$running\" ]" 20
}

# A terminal is shown no part of a character.
tail__character_written_in_two_pieces__whole_on_a_terminal()
{
    type -P script >/dev/null || skip "there is no script"
    small_sweep sweep.toml
    cat >job.sh <<'END'
printf 'first\n\342\202'
while [ ! -e go ]; do sleep 0.05; done
printf '\254\nscore: 1\n\303'
END
    one_runs
    start_command env TERM=xterm LC_ALL=C.UTF-8 script -qfec "'$meshsweep' tail $running" /dev/null
    wait_until "grep -q first .stdout" 20
    touch go
    wait_command only_stdout 0 "$(printf 'first\r\n€\r\nscore: 1\r\n\357\277\275')"
    wait "$runner"
}

tail__nothing_to_print__says_why()
{
    fixture_database
    expect_said only_stderr 4 'meshsweep: job 8 has not been started yet' tail 8
    expect_said only_stderr 4 'meshsweep: job 1 has no attempt 3' tail 1 --attempt 3
    expect_said only_stderr 0 'meshsweep: attempt 1 of job 1 has no output' tail 1
    fixture_database "UPDATE attempt SET log_tail = 'the end' || char(10) WHERE id = 1"
    expect_said only_stdout 0 'the end' tail 1
}

why__of_a_job__its_end_and_what_would_change_it()
{
    small_sweep sweep.toml
    echo '[ "$2" = 10 ] && echo "score: 1"' >job.sh
    expect_run only_status 3 run --progress none
    run_meshsweep why 1
    expect_only_stdout_contains 0 '1 of 4 combinations has these values; 1 matched' 'x=1 y=10: ok'
    expect_stdout_contains '    it runs again if its keys or the command change'
    expect_said only_stdout_contains 0 'x=1 y=20: failed/exit' why 2
    expect_stdout_contains '    to retry it: `run --retry-failed=exit`; [retry] exit = N allows N attempts'
    expect_said only_stderr_contains 4 'there is no job 77' why 77
}

# One sweep of its own in another directory, recorded in DIRECTORY/measured.db.
sweep_elsewhere() # DIRECTORY
{
    mkdir "$1"
    cd "$1"
    small_sweep grid.toml
    sed -i 's/^x = .*/x = [7, 8]/' grid.toml
    expect_run silent 0 run -c grid.toml -d measured.db --progress none
    cd ..
}

why__no_file_named__that_of_the_database()
{
    small_sweep sweep.toml
    sweep_elsewhere project
    expect_said only_stdout_contains 0 'x=7 y=10: ok' why -d project/measured.db 1
    # One of that name, but not the one that was recorded, is here.
    cp sweep.toml grid.toml
    expect_said only_stdout_contains 0 'x=7 y=10: ok' why -d project/measured.db 1
    expect_said only_stdout_contains 0 'x=1 y=10: new, it would run' why -c grid.toml -d project/measured.db x=1 y=10
}

# The file is found where it was imported, and where all of it has been moved to.
plan__imported_elsewhere__by_the_file_it_was_imported_with()
{
    mkdir project
    cd project
    printf 'micro_batch,step_ms\n1,12.5\n2,20.5\n' >runs.csv
    expect_run only_stderr 0 init --from-table runs.csv -o runs.toml
    expect_said among_stdout 0 '2 rows: 2 ok' import -c runs.toml -d runs.db runs.csv
    cd ..
    expect_run status 0 plan -d project/runs.db
    expect_stdout_contains '2 combinations, 2 matched'
    expect_stderr "meshsweep: there is no sweep.toml here; using $(pwd -P)/project/runs.toml, which is recorded \
in project/runs.db"
    mv project moved
    expect_run status 0 plan -d moved/runs.db
    expect_stdout_contains '2 combinations, 2 matched'
    expect_stderr 'meshsweep: there is no sweep.toml here; using moved/runs.toml, which is recorded in moved/runs.db'
}

why__file_changed_or_gone__said()
{
    sweep_elsewhere project
    cd project
    sed -i 's/^x = .*/x = [7, 9]/' grid.toml
    expect_run status 0 why -d measured.db x=9 y=10
    expect_stdout_contains 'x=9 y=10: new, it would run'
    expect_stderr 'meshsweep: grid.toml, or a file that it includes, has changed since measured.db recorded it; '\
'using it as it is now'
    rm grid.toml
    expect_said only_stderr 2 "meshsweep: grid.toml: the sweep file of measured.db no longer exists; name it with -c \
FILE (sqlite3 measured.db 'SELECT text FROM current_sweep' prints the recorded copy)" why -d measured.db 1
    sql 'SELECT text FROM current_sweep' measured.db >kept.toml
    expect_said only_stdout_contains 0 'x=7 y=10: ok' why -c kept.toml -d measured.db 1
}

why__file_with_a_secret_renamed_and_run_again__found_unchanged()
{
    small_sweep first.toml
    printf '[job.env]\nHF_TOKEN = "hf_0123456789"\n' >>first.toml
    expect_run only_stdout 0 run -c first.toml --progress none
    mv first.toml second.toml
    expect_run only_stdout 0 run -c second.toml --progress none
    expect_said only_stdout_contains 0 'x=1 y=10: ok' why 1
}

why__no_key_differs__described_by_all_of_them()
{
    small_sweep sweep.toml
    sed -i 's/^x = .*/x = 1/; s/^y = .*/y = 10/' sweep.toml
    expect_said only_stdout_matches 0 '^  job [0-9a-f]{16}  .*x=1 y=10: new, it would run$' why
}

why__excluded__what_would_let_it_run()
{
    small_sweep sweep.toml
    printf '[[rule]]\nname = "small"\nrequire = "x * y < 40"\nwhy = "too large"\n' >>sweep.toml
    expect_said only_stdout_contains 0 'excluded 1 by rule small: too large' why x=2 y=20
    expect_stdout_contains '    disable_rules = ["small"] under [sweep] would let them run'
    expect_said only_stderr 4 'meshsweep: why: there is no database yet, so there is no job 1; name a database with '\
'-d FILE, or give KEY=VALUE…' why 1
    sed -i 's/x \* y < 40/y < 20/' sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 '1 of 4 combinations has these values; 1 matched' why 1
}

why__excluded_alike__one_example_of_each()
{
    small_sweep sweep.toml
    # Twenty combinations break the rule for each of two values of x; no other key of theirs is read by it.
    sed -i 's/^x = .*/x = [1, 2, 3]/; s/^y = .*/y = { from = 1, to = 20 }/' sweep.toml
    printf '[[rule]]\nname = "small"\nrequire = "x < 2"\n' >>sweep.toml
    expect_said only_stdout_contains 0 'excluded 40 by rule small' why
    expect "[ \"\$(grep -c '^    #[0-9]* {\"x\":' .stdout)\" = 2 ]"
}

why__words__as_values_of_their_kind()
{
    small_sweep sweep.toml
    toml model:: name="it's" z=1,2,3 >>sweep.toml
    expect_said only_stdout_matches 0 '^1 of 12 combinations has these values; 1 matched$' why "name=it's" x=2 y=20 z=3
    expect_stdout_matches '^  job [0-9a-f]{16}  z=3 x=2 y=20: new, it would run$'
    expect_said only_stdout_contains 0 '12 of 12 combinations have these values; 12 matched' why
    expect_stdout_contains '  … and 2 more; give more keys to narrow them down'
    expect_said only_stdout 4 '0 of 12 combinations have these values; 0 matched
  x is one of 1, 2' why x=9
    run_silently 0 --limit 1
    expect_said only_stdout_contains 0 'it waits for its turn; `run` starts it' why x=1 y=10 z=2
    expect_said only_stderr 2 'meshsweep: why: `y` is not of the form KEY=VALUE; give KEY=VALUE…, or one job' why x=1 y
    expect_said only_stderr 2 'meshsweep: why `xx=1`: unknown key `xx` (did you mean `x`?)' why xx=1
    run_meshsweep why learning=1
    expect_only_stderr_matches 2 '^meshsweep: why `learning=1`: unknown key `learning`; the keys are .*x, y'
    expect_said only_stderr 2 'meshsweep: tail: name a job by its number, or by the beginning of its key; meshsweep '\
'results lists them' tail
}

export_toml__of_what_was_exported__a_sweep_file_too()
{
    small_run
    local condition file=1
    for condition in 'score > 10' 'score > 20' 'score > 30'; do
        expect_run silent 0 export --toml --where "$condition" -o $((file + 1)).toml
        file=$((file + 1))
        run_silently 0 -c "$file.toml"
    done
    expect "[ \"\$(grep '^name = .exported' 4.toml | xargs)\" = 'name = exported-subset name = exported-subset-2 \
name = exported-subset-3' ]"
    expect_sql 4 "SELECT count(*) FROM attempt"
}

export_toml__subset__the_same_jobs_and_no_other()
{
    small_sweep sweep.toml
    expect_run only_stdout 0 run --progress none
    expect_run silent 0 export --toml --where 'score > 10' -o subset.toml
    expect_run only_stdout 0 plan -c subset.toml --json
    expect_json '4|3|3|1' combinations jobs 'done' gone
    expect_said only_stderr 4 'meshsweep: no job matches' export --toml --failed
}

why_values__number_or_text_or_none__told()
{
    toml job: command='["true"]' model: name='["7", "a"]' width=7,8 rule:: name=narrow 'require = """width < 8' \
        '    AND width > 0"""' 'why = """wide models' 'do not fit"""' >sweep.toml
    expect_said only_stdout_contains 0 '2 of 4 combinations have these values; 1 matched' why name=7
    expect_stdout_contains 'excluded 1 by rule narrow: wide models do not fit' 'require: width < 8 AND width > 0'
    expect_stdout_lacks '\n'
    expect_said only_stdout_contains 0 '2 of 4 combinations have these values; 2 matched' why width=7
    expect_said only_stdout 4 '0 of 4 combinations have these values; 0 matched
  width is one of 7, 8' why width=16 name=a
}

export_long__one_row_per_job_and_metric()
{
    fixture_database
    expect_run only_stdout 0 export --long --where 'job < 3' --format tsv
    tr '\t' ' ' <.stdout | sed 's/[0-9a-f]\{32\}/KEY/' >table
    expect_file_contains table 'job key state metric unit counter rank samples not_finite value mean median '
    expect_said_by only_stdout 0 '1 KEY ok loss \N \N \N 1 0 2.5 2.5 2.5 2.5 2.5 0.0 2.5
1 KEY ok throughput samples/s \N \N 1 0 100.0 100.0 100.0 100.0 100.0 0.0 100.0
2 KEY ok loss \N \N \N 0 1 \N \N \N \N \N \N \N
2 KEY ok throughput samples/s \N \N 1 0 99.0 99.0 99.0 99.0 99.0 0.0 99.0' run_command tail -n 4 table
    expect_said only_stderr 2 'meshsweep: export: give only one of --long, --means and --toml' export --long --toml
}

run_cases "$@"
