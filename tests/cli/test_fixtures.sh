#!/usr/bin/env bash
# [[fixture]]: what several jobs share is started once per value of its keys, ended with the run, and blamed on no job.
. "${0%/*}/lib.sh"

# 8 jobs, seqs in 1, 2 the fastest key; one server per seqs. job.sh asks the server and prints what it says.
served_sweep() # [FIXTURE-KEYS]
{
    cp "$source_dir/tests/cli/fixture_server.py" "$source_dir/tests/cli/http_ask.sh" .
    toml sweep: name=served objective=max:score job: \
        command='["/bin/bash", "./job.sh", "{fixture.server.port}", "{seqs}", "{load}"]' grace=2s \
        job.metrics.score: regex='score: ([0-9.]+)' better=max fixture:: name=server per='["seqs"]' \
        start='["python3", "fixture_server.py", "{fixture.server.port}", "starts", "--seqs={seqs}"]' \
        ready='{ port = true, regex = "^serving on port" }' timeout=60s "${1-}" \
        training_spec:: load=1,2,3,4 parallel_spec:: seqs=1,2 >sweep.toml
    cat >job.sh <<'END'
answer=$(bash ./http_ask.sh "$1" /work) || exit 4
case $answer in
"seqs $2 of "*) ;;
*) exit 5 ;;
esac
[ "$MESHSWEEP_FIXTURE_SERVER_PORT" = "$1" ] || exit 6
echo "$3" >>served
echo "score: $(($2 * 10 + $3))"
END
}

starts() { grep -c '^start' starts; }

# Tells whether none of the processes that were started is left, by pid and start time.
none_is_left()
{
    local word pid ticks now
    while read -r word pid ticks; do
        [ "$word" = start ] || continue
        now=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 1,20) || continue
        case $now in
        "" | Z* | X*) ;;
        *" $ticks") return 1 ;;
        esac
    done <starts
}

server__8_jobs_of_2_values__started_twice()
{
    served_sweep
    run_silently 0
    expect "[ \$(starts) = 2 ]" none_is_left
    expect_sql '8|ok' "SELECT count(*), state FROM job GROUP BY state"
    expect_sql '{"seqs":1}|ended|1|1|4
{"seqs":2}|ended|1|1|4' "SELECT given, state, port > 0, pid > 0,
        (SELECT count(*) FROM attempt_fixture WHERE fixture_id = f.id) FROM fixture_start AS f ORDER BY id"
    expect_sql 0 "SELECT count(*) FROM fixture_start WHERE failure IS NOT NULL OR ready IS NULL OR ended < ready"
    expect_file results.db.d/fixture-server/1/output.log
    expect_file_contains results.db.d/fixture-server/1/output.log "serving on port"
    run_silently 0
    expect "[ \$(starts) = 2 ]"
    # In two slots each value has its own.
    run_silently 0 -j 2 -d two.db
    expect "[ \$(starts) = 4 ]" none_is_left
}

server__runner_killed__nothing_left_and_started_anew()
{
    served_sweep
    printf '%s\n' 'while [ ! -e go ]; do sleep 0.05; done' >>job.sh
    start_until "[ -s served ]" 20 run --progress none
    end_command KILL only_stderr 137
    wait_until none_is_left 20
    touch go
    run_silently 0
    expect "[ \$(starts) = 3 ]" none_is_left
    expect_sql 'ended|its runner died
ended|
ended|' "SELECT state, iif(runner_id = 1, message, '') FROM fixture_start ORDER BY id"
    expect_sql 0 "SELECT count(*) FROM job WHERE state <> 'ok'"
}

server__runner_dies_around_a_start__nothing_left_and_all_ran()
{
    need_fault_points
    for point in fixture-recorded fixture-started; do
        rm -rf results.db* starts served
        served_sweep
        : >starts
        expect_after only_stderr 137 run_killed "$point" run --progress none
        expect_sql starting "SELECT state FROM fixture_start"
        wait_until none_is_left 20
        run_silently 0
        expect none_is_left
        expect_sql '8|ok' "SELECT count(*), state FROM job GROUP BY state"
        expect_sql 'its runner died' "SELECT message FROM fixture_start WHERE runner_id = 1"
    done
}

server__interrupted_twice__ended()
{
    served_sweep
    printf '%s\n' 'while :; do sleep 0.02; done' >>job.sh
    start_until "[ -s served ]" 20 run --progress none
    signal_command INT
    wait_until "grep -q 'starting no more' .stderr" 20
    end_command INT only_stderr 130
    expect none_is_left
    expect_sql 'cancelled|1' "SELECT failure, count(*) FROM attempt GROUP BY 1"
    expect_sql ended "SELECT state FROM fixture_start"
}

server__never_ready__said_with_its_last_lines_and_no_job_charged()
{
    served_sweep
    sed -i -e 's/"--seqs={seqs}"/"--seqs={seqs}", "--mute"/' -e 's/^timeout = .*/timeout = "1s"/' sweep.toml
    run_meshsweep run --progress plain
    expect_among_stderr 3 "fixture server (seqs=1) did not start: timeout: it is not ready after 1.0s" \
        "| loading for ever"
    expect none_is_left
    expect_sql 0 "SELECT count(*) FROM attempt"
    expect_sql '8|pending|8' "SELECT count(*), state, count(held) FROM job GROUP BY 2"
    expect_sql 'failed|timeout|2' "SELECT state, failure, count(*) FROM fixture_start GROUP BY 1, 2"
}

server__port_in_use__said()
{
    served_sweep
    python3 fixture_server.py 0 other >other.log 2>&1 &
    wait_until "[ -s other.log ] && [ -s other ]" 20
    python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(600)' >taken &
    wait_until "[ -s taken ]" 20
    sed -i "s/\"{fixture.server.port}\", \"starts\"/\"$(cat taken)\", \"starts\"/; s/port = true, //" sweep.toml
    expect_said among_stderr 3 "Address already in use" run --progress plain
    expect_sql 1 "SELECT count(*) > 0 FROM fixture_start WHERE message LIKE '%Address already in use%'"
}

server__dies_between_jobs__started_again()
{
    served_sweep 'between = ["/bin/bash", "./once.sh", "{fixture.server.port}"]'
    printf '%s\n' '[ ! -e died ] || exit 0' 'touch died' 'bash ./http_ask.sh "$1" /die' 'exit 0' >once.sh
    run_ended 0
    expect_stderr_contains "ended without a job"
    expect "[ \$(starts) = 3 ]" none_is_left
    expect_sql 8 "SELECT count(*) FROM attempt"
}

server__killed_by_a_job__that_job_is_blamed_the_second_time()
{
    served_sweep
    sed -i '1i [ "$2-$3" != 1-2 ] || { bash ./http_ask.sh "$1" /die; exit 1; }' job.sh
    run_ended 3
    expect_sql 'failed|lost|fixture server (seqs=1) died while the job ran: exit status 7
failed|exit|' "SELECT state, failure, iif(failure = 'lost', substr(message, 1, 61), '') FROM attempt
        WHERE job_id = (SELECT job_id FROM attempt WHERE failure = 'lost') ORDER BY id"
    expect_sql 1 "SELECT count(*) FROM attempt WHERE message LIKE '%the job ends it%'"
    expect_sql '7|ok' "SELECT count(*), state FROM job WHERE state = 'ok'"
    expect none_is_left
}

server__between__after_each_job()
{
    served_sweep 'between = "bash ./http_ask.sh {fixture.server.port} /reset"'
    run_silently 0
    expect "[ \$(grep -c reset starts) -ge 6 ]" "[ \$(starts) = 2 ]"
}

server__devices_of_its_own__no_job_has_them()
{
    for slots in 1 2; do
        rm -rf results.db* starts served
        served_sweep 'devices = 1'
        printf '[[cluster_spec]]\nnum_devices_per_host = 1\n[local]\ndevices = 3\n' >>sweep.toml
        echo '[ -n "$MESHSWEEP_DEVICES" ] || exit 7' >>job.sh
        run_silently 0 -j "$slots"
        expect none_is_left
        expect_sql '8|ok' "SELECT count(*), state FROM job GROUP BY state"
        expect_sql '2|1' "SELECT count(*), min(devices IN ('0', '1', '2')) FROM fixture_start"
        # While one was up, its device was with no job.
        expect_sql '8|0' "SELECT count(*), sum(EXISTS (SELECT 1 FROM fixture_start AS f WHERE f.devices = a.devices
            AND f.ready < a.ended AND f.ended > a.started)) FROM attempt AS a WHERE a.devices IS NOT NULL"
    done
    rm -rf results.db*
    sed -i 's/^devices = 1$/devices = 4/' sweep.toml
    expect_said among_stderr 3 '8 held (fixture server needs 4 devices, more than there are)' run --progress plain
    expect_sql 0 "SELECT count(*) FROM attempt"
}

# The job waits for the end of the other server, which nothing else brings about while there is room for two.
server__keep__an_idle_one_is_ended_before_the_run_is()
{
    served_sweep 'keep = "100ms"
stop = "bash ./http_ask.sh {fixture.server.port} /work >>stopped"'
    sed -i 's/^grace = .*/&\ntimeout = "60s"/' sweep.toml
    sed -i '1i [ "$2-$3" != 2-4 ] || until grep -qs "^seqs 1 of" stopped; do sleep 0.02; done' job.sh
    run_silently 0 -j 2
    expect none_is_left
    expect_sql '8|ok' "SELECT count(*), state FROM job GROUP BY state"
    expect_sql 0 "SELECT count(*) FROM fixture_start WHERE failure IS NOT NULL OR state <> 'ended'"
}

server__stop__runs_while_it_still_answers()
{
    served_sweep 'stop = "bash ./http_ask.sh {fixture.server.port} /work >>stopped"'
    run_silently 0
    expect none_is_left "[ \$(starts) = 2 ]"
    expect "[ \"\$(sed 's/ of .*//' stopped | sort)\" = \"\$(printf 'seqs 1\nseqs 2')\" ]"
    # One that fails or hangs keeps no server up.
    rm -rf results.db* starts served
    sed -i 's/^stop = .*/stop = "exit 3"/' sweep.toml
    expect_run only_status 0 run --progress none
    expect none_is_left
    expect_sql '2|ended' "SELECT count(*), state FROM fixture_start GROUP BY state"
}

set_up__no_ready__once_and_not_again()
{
    served_sweep
    toml fixture:: name=data start='echo made >>made; echo {config_dir} >{fixture.data.dir}/file' >>sweep.toml
    sed -i 's/"{load}"\]/"{load}", "{fixture.data.dir}"]/' sweep.toml
    echo 'test -s "$4/file" || exit 8' >>job.sh
    run_silently 0
    expect "[ \$(wc -l <made) = 1 ]"
    sed -i 's/load = \[1, 2, 3, 4\]/load = [1, 2, 3, 4, 5]/' sweep.toml
    run_silently 0
    expect "[ \$(wc -l <made) = 1 ]"
    rm -r results.db.d/fixture-data
    sed -i 's/load = \[1, 2, 3, 4, 5\]/load = [1, 2, 3, 4, 5, 6]/' sweep.toml
    run_silently 0
    expect "[ \$(wc -l <made) = 2 ]"
}

set_up__fails__its_jobs_wait()
{
    served_sweep
    toml fixture:: name=data start='echo no such bucket >&2; exit 3' >>sweep.toml
    run_meshsweep run --progress plain
    expect_among_stderr 3 "fixture data did not start: exit: exit status 3" "no such bucket"
    expect_sql '8|pending|8' "SELECT count(*), state, count(held) FROM job GROUP BY 2"
    sed -i 's/exit 3/exit 0/' sweep.toml
    run_silently 0
}

show__job__names_the_starts_that_it_used()
{
    served_sweep
    printf '[[fixture]]\nname = "data"\nstart = "true"\n' >>sweep.toml
    run_silently 0
    expect_run only_stdout 0 show 1
    sed -n '/^fixtures$/,/^$/p' .stdout >fixtures
    expect_file_contains fixtures 'attempt 1: server {"seqs":1}, ended, port ' ', log fixture-server/' \
        'attempt 1: data, done, '
    # One that was ended because nobody needs it any more has nothing to explain.
    expect_sql 2 "SELECT count(*) FROM fixture_start WHERE state = 'ended' AND message IS NULL AND failure IS NULL"
    expect_run only_stdout 0 show 1 --json
    mv .stdout show.json
    expect_sql 'server|{"seqs":1}|ended|1|1
data||done|1|0' "SELECT f.value->>'\$.name', f.value->>'\$.values', f.value->>'\$.state', f.value->>'\$.attempt',
        f.value->>'\$.log' = (SELECT directory || '/output.log' FROM fixture_start WHERE name = 'server' LIMIT 1)
        FROM json_each(readfile('show.json'), '\$.fixtures') AS f ORDER BY f.value->>'\$.name' DESC"
}

merge__starts_and_who_used_them__carried_once()
{
    served_sweep
    printf '[[fixture]]\nname = "data"\nstart = "echo made >>made"\n' >>sweep.toml
    run_silently 0 -d a.db
    sed -i 's/seqs = \[1, 2\]/seqs = [2, 3]/' sweep.toml
    run_silently 0 -d b.db
    expect_run only_status 0 merge -o all.db a.db b.db
    expect_run only_status 0 merge -o all.db a.db
    expect_sql 'data|||2|16
server|1||1|4
server|2||2|8
server|3||1|4' "SELECT name, given->>'\$.seqs', failure, count(DISTINCT f.id), count(*) FROM fixture_start AS f
        JOIN attempt_fixture AS u ON u.fixture_id = f.id GROUP BY name, given ORDER BY 1, 2" all.db
    expect_sql 0 "SELECT count(*) FROM fixture_start WHERE directory NOT GLOB '/*/?.db.d/fixture-*'" all.db
    expect_said only_stdout 0 'all.db: all well' check all.db
    # A set-up step that was done elsewhere is done here for itself.
    sed -i 's/load = .*/load = [1, 2, 3, 4, 5]/' sweep.toml
    run_silently 0 -d all.db
    expect "[ \$(wc -l <made) = 3 ]"
}

mistakes__in_the_file__said_with_their_place()
{
    served_sweep
    sed -i -e 's/^per = .*/per = ["seqs", "load", "seqss"]/' sweep.toml
    run_meshsweep check sweep.toml
    expect_among_stderr 2 'fixture "server" is started once per value of "load", but its start, env and cwd do not' \
        'per: there is no key "seqss" (did you mean `seqs`?)'
    served_sweep
    sed -i -e '/^per = /d' sweep.toml
    expect_said among_stderr 2 'fixture "server" uses {seqs}, which differs from job to job; add "seqs" to its per' plan
    served_sweep
    sed -i -e 's/"{fixture.server.port}", "{seqs}"/"{fixture.sever.port}", "{seqs}"/' sweep.toml
    run_meshsweep run
    expect_among_stderr 2 'placeholder {fixture.sever.port}: there is no fixture "sever"; the fixtures are server'
    served_sweep
    expect_each among_stderr 2 <<'END'
plan --executor slurm|sweep.toml:10: a [[fixture]] is started on the machine of the runner
run --executor slurm|sweep.toml:10: a [[fixture]] is started on the machine of the runner
END
    expect '[ ! -e results.db ]'
    printf '[[fixture]]\nname = "server"\nstart = "true"\nkeep = "3s"\n' >>sweep.toml
    run_meshsweep check sweep.toml
    expect_among_stderr 2 'there is a fixture "server" already' 'keep is for a fixture that stays up'
}

run_cases "$@"
