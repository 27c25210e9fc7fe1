#!/usr/bin/env bash
# Batch systems that are not at hand, through configs/executors/NAME.toml, against stand-ins for their commands that
# take and print what their manuals say (tests/cli/engine_stand_ins.py). Each case goes through every third of them,
# drawn by a seed (SEED=N); through all under MESHSWEEP_FULL.
CASE_SECONDS=200
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

drawn_engines()
{
    printf '%s\n' pbs lsf flux htcondor oar jobset kubernetes | draw_lines 3
}

# Words of the systems: what a refusal for the number of jobs, and an answer that is lost, look like.
limit_of()
{
    case $1 in
    pbs) echo "qsub: would exceed queue generic's per-user limit" ;;
    lsf) echo "Pending job threshold reached. Retrying in 60 seconds..." ;;
    htcondor) echo "ERROR: Number of submitted jobs would exceed MAX_JOBS_PER_OWNER" ;;
    oar) echo "[ERROR] too many jobs in queue" ;;
    jobset | kubernetes) echo 'Error from server (Forbidden): jobs.batch is forbidden: exceeded quota: q' ;;
    esac
}

silence_of()
{
    case $1 in
    pbs) echo "qsub: cannot connect to server server (errno=111)" ;;
    lsf) echo "batch system daemon not responding ... still trying" ;;
    flux) echo "flux-batch: ERROR: Unable to connect to Flux: Connection refused" ;;
    htcondor) echo "ERROR: Failed to commit job submission into the queue." ;;
    oar) echo "[ERROR] cannot connect to the database" ;;
    jobset | kubernetes) echo "Unable to connect to the server: net/http: TLS handshake timeout" ;;
    esac
}

# The case's own directory of one system, with its commands first in PATH.
enter() # ENGINE
{
    local command
    # Something of the last one may be ending.
    wait_until "rm -rf '${case_directory:=$PWD}/$1' 2>/dev/null" 20
    mkdir -p "$case_directory/$1/bin" "$case_directory/$1/engine"
    cd "$case_directory/$1" || exit 1
    echo "# $1"
    printf 'node1\nnode1\nnode2\n' >engine/nodes
    # Compiled once: it is started a thousand times.
    stand_ins=$case_directory/stand_ins.pyc
    [ -e "$stand_ins" ] || python3 -c 'import py_compile, sys; py_compile.compile(*sys.argv[1:])' \
        "$tests_source_dir/cli/engine_stand_ins.py" "$stand_ins"
    for command in $(python3 "$stand_ins" "$1"); do
        printf '#!/bin/sh\nENGINE_DIR=%s exec python3 %s %s %s "$@"\n' "$PWD/engine" "$stand_ins" "$1" "$command" \
            >"bin/$command"
        chmod +x "bin/$command"
    done
    : "${plain_path:=$PATH}"
    PATH=$PWD/bin:$plain_path
}

# A sweep in the system's own directory. Lines for [executor] and more follow on standard input.
engine_sweep() # ENGINE N [COMMAND]
{
    enter "$1" </dev/null
    slurm_sweep "${@:2}"
    sed -i "s/^\[slurm\]/[executor]\nname = \"$1\"/; s/poll = .*/poll = \"200ms\"/; s/absence = .*/absence = \"2s\"/" \
        sweep.toml
    case $1 in jobset | kubernetes) ;; *) return ;; esac
    toml executor.set: image=debian volume_claim=data "volume_path = \"$PWD\"" >>sweep.toml
}

run_at_engine() # STATUS
{
    expect_run only_stderr "$1" run --progress none
}

expect_once() # N
{
    expect_sql "ok|1|$1|$1" "SELECT state, max(number), count(*), count(DISTINCT job_id) FROM attempt GROUP BY state"
}

run_once() { run_at_engine 0 && expect_once "$1"; } # N

sweep__of_ends__recorded()
{
    for engine in $(drawn_engines); do
        engine_sweep "$engine" 5 \
            'case {n} in 2) exit 7 ;; 3) kill -KILL $$ ;; 4) exit 0 ;; esac; echo "score: {n}"' </dev/null
        run_at_engine 3
        expect_stderr_contains "has not been run against the real one"
        expect_sql "$engine|ok|0
$engine|exit|7
$engine|signal|
$engine|no-metric|0
$engine|ok|0" "SELECT executor, coalesce(failure, state), exit_code FROM attempt ORDER BY id"
        expect_sql 5 "SELECT count(DISTINCT reference) FROM attempt WHERE host > ''"
    done
}

request__of_devices_and_check_executor__taken()
{
    for engine in $(drawn_engines); do
        engine_sweep "$engine" 1 <<'END'
queue = "main"
[[cluster_spec]]
num_devices_per_host = 2
cpus_per_task = 4
memory = "16GiB"
END
        sed -i '/^gpus = false/d' sweep.toml
        run_once 1
        engine_sweep "$engine" 1 true </dev/null
        expect_run only_status 0 check --executor "$engine" --json
        expect "[ \"\$(tried | cut -d '|' -f 2 | sort -u)\" = True ]"
    done
}

job_deleted_or_run_cancelled__not_tried_again_and_nothing_left()
{
    for engine in $(drawn_engines); do
        engine_sweep "$engine" 2 'echo begun; [ {n} = 2 ] || sleep 300; echo "score: {n}"' </dev/null
        # One index of a whole Job of Kubernetes cannot be deleted.
        [ "$engine" != kubernetes ] || sed -i '/^name = "kube/aarray_size = 1' sweep.toml
        start_until '[ "$(cat results.db.d/*/1/output.log 2>/dev/null | grep -c begun)" = 2 ]' 20 run --progress none
        wait_until "[ \"\$(sql \"SELECT count(*) FROM attempt WHERE state = 'ok'\")\" = 1 ]" 20
        delete_first "$engine"
        wait_command only_status 3
        # Kubernetes keeps no record of a Job that is deleted: its own file says by what it ended.
        expect_sql "$(case $engine in jobset | kubernetes) echo signal ;; *) echo cancelled ;; esac)|1
ok|1" "SELECT coalesce(failure, state), number FROM attempt ORDER BY id"
        engine_sweep "$engine" 2 'echo begun; sleep 300' </dev/null
        cancel_two_that_began
        wait_until '[ "$(find engine -name "code.*" | wc -l)" = 2 ]' 20
    done
}

delete_first() # ENGINE
{
    local reference
    reference=$(sql "SELECT reference FROM attempt ORDER BY id LIMIT 1")
    case $1 in
    pbs) qdel "$reference" ;;
    lsf) bkill "$reference" >/dev/null ;;
    flux) flux cancel "$reference" ;;
    htcondor) condor_rm "$reference" >/dev/null ;;
    oar) oardel "$reference" >/dev/null ;;
    jobset) kubectl delete "jobset/$reference" >/dev/null ;;
    kubernetes) kubectl delete "job/${reference%%/*}" >/dev/null ;;
    esac
}

cancel_two_that_began()
{
    start_until '[ "$(cat results.db.d/*/1/output.log 2>/dev/null | grep -c begun)" = 2 ]' 20 run --progress none
    signal_command INT
    wait_until "grep -q 'no more jobs' .stderr" 20
    end_command INT only_status 130
    expect_sql "cancelled|2" "SELECT failure, count(*) FROM attempt GROUP BY 1"
}

request__refused_or_over_the_limit_on_jobs__held_or_later()
{
    for engine in $(drawn_engines); do
        engine_sweep "$engine" 3 </dev/null
        echo "error: there is no such queue" >engine/refuse
        run_at_engine 2
        expect_stderr_contains "there is no such queue"
        expect_sql "pending|3|0" "SELECT state, count(*), (SELECT count(*) FROM attempt) FROM job"
        rm engine/refuse
        run_once 3
        [ -n "$(limit_of "$engine")" ] || continue
        engine_sweep "$engine" 4 'sleep 0.3; echo "score: {n}"' </dev/null
        echo "2 $(limit_of "$engine")" >engine/most
        run_once 4
    done
}

answer_lost_or_runner_killed__its_jobs_found()
{
    for engine in $(drawn_engines); do
        engine_sweep "$engine" 2 'echo {n} >>runs; echo "score: {n}"' </dev/null
        touch engine/hold
        silence_of "$engine" >engine/lose
        start_meshsweep run --progress none
        wait_until "[ \"\$(sql 'SELECT count(*) FROM attempt WHERE reference IS NOT NULL' 2>/dev/null)\" = 2 ]" 20
        rm engine/hold
        wait_command only_status 0
        expect_once 2
        expect "[ $(wc -l <runs) = 2 ]"
        engine_sweep "$engine" 3 'echo {n} >>runs; until [ -f go ]; do sleep 0.1; done; echo "score: {n}"' </dev/null
        start_until '[ "$(cat runs 2>/dev/null | wc -l)" = 3 ]' 20 run --progress none
        end_command KILL only_status 137
        touch go
        run_once 3
        expect "[ $(wc -l <runs) = 3 ]"
    done
}

# --- pods that see no files of this machine ---

# Pods' volumes are their own in the stand-in, as an emptyDir is: results come by `kubectl logs` alone.
framed_sweep() # N [COMMAND]
{
    engine_sweep kubernetes "$@"
    sed -i '/^volume_/d; s/^name = "kube.*/&\nshared = false\nheartbeat = "1s"/' sweep.toml
}

# The output of a job: bytes of all kinds, frames of nobody, metrics, no line break at the end.
talkative() # MORE
{
    cat <<'END'
command = ["/bin/sh", "-c", '''
printf "\\000\\377x\\n"
echo "meshsweep:0123456789abcdef.1 slurm.result 0 9 930766865"
echo "123456789meshsweep:metrics 9 930766865"
echo "score: {n}"
echo '{"loss": 0.{n} }' >>"$MESHSWEEP_METRICS"
seq 3000
END
    echo "$1"
    echo "printf end''']"
}

# The same as framed_sweep, of such jobs.
talkative_sweep() # N [MORE]
{
    framed_sweep "$1" true
    talkative "${2-}" >words
    sed -i -e '/^command/r words' -e '/^command/d' sweep.toml
}

attempt_file() # ATTEMPT NAME
{
    echo "results.db.d/$(sql "SELECT directory FROM attempt WHERE id = $1")/$2"
}

framed__results__as_with_shared_files()
{
    local n
    talkative_sweep 3 'cat given.txt; [ {n} != 2 ] || exit 7' < <(toml job.metrics.loss: json=loss \
        job.file:: path=given.txt text='"it is {n}\n"')
    sed -i 's/^timeout = "60s"/&\ncwd = "{job_dir}"/' sweep.toml
    run_at_engine 3
    expect_sql "node-a|ok|0|0.1
node-a|exit|7|0.2
node-a|ok|0|0.3" "SELECT host, coalesce(failure, state), exit_code, round(value, 1) FROM attempt AS a
        JOIN metric ON attempt_id = a.id AND name = 'loss' ORDER BY a.id"
    for n in 1 2 3; do
        cmp engine/volume.*."$((n - 1))"/*/1/output.log "$(attempt_file "$n" output.log)" ||
            fail "output of job $n differs"
        grep -aqx "it is $n" "$(attempt_file "$n" output.log)" || fail "job $n had no file of its own"
    done
}

# The faults of a log: a command that makes it so, and what is said.
wrong_logs='head -c 4000|ends within a frame
head -c 50|has no result
tail -c 9000|has lost
sed s/score/scorf/|wrong checksum
grep -av "slurm.result 0 [0-9][0-9]"|has no result
sed s/^meshsweep:[^.]*/meshsweep:0123456789abcdef/|has no result
exit 1|has no result'

framed__log_that_is_wrong__no_result()
{
    while IFS='|' read -r filter said; do
        talkative_sweep 1 </dev/null
        echo "# $filter"
        sed -i 's/^absence = .*/absence = "1s"/' sweep.toml
        printf '[retry]\nlost = 1\nbackoff = "0s"\n' >>sweep.toml
        echo "$filter" >engine/filter
        run_at_engine 5
        expect_sql "failed|lost|0" "SELECT DISTINCT state, failure, (SELECT count(*) FROM job WHERE state = 'ok')
            FROM attempt"
        expect_sql 1 "SELECT DISTINCT message LIKE '%COMPLETED%its log %$said%' FROM attempt"
        [ "$filter" = "exit 1" ] || expect "[ -s $(attempt_file 1 fetched.log) ]"
    done <<<"$wrong_logs"
}

framed__log_of_a_failure_that_is_wrong__lost()
{
    talkative_sweep 1 'exit 7' </dev/null
    sed -i 's/^absence = .*/absence = "1s"/' sweep.toml
    printf '[retry]\nlost = 1\nbackoff = "0s"\n' >>sweep.toml
    echo 'sed s/exit=7/exit=0/' >engine/filter
    run_at_engine 5
    expect_sql "failed|lost|1" "SELECT DISTINCT state, failure, message LIKE '%FAILED%wrong checksum%' FROM attempt"
}

framed__log_that_is_wrong_at_first__fetched_again()
{
    while IFS='|' read -r filter said; do
        talkative_sweep 1 </dev/null
        echo "# $filter"
        sed -i 's/^absence = .*/absence = "60s"/' sweep.toml
        echo "$filter" >engine/filter
        start_until '[ "$(grep -c "kubectl logs" engine/calls)" -ge 3 ]' 20 run --progress none
        rm engine/filter
        wait_command only_status 0
        expect_once 1
        cmp engine/volume.*.0/*/1/output.log "$(attempt_file 1 output.log)" || fail "the output differs"
        expect "[ ! -e $(attempt_file 1 fetched.log) ]"
    done <<<"$wrong_logs"
}

# Output that was fetched before a log was rotated is kept.
framed__rotated_meanwhile__whole()
{
    framed_sweep 1 "echo \"score: 1\"; until [ -e $PWD/kubernetes/go ]; do sleep 0.1; done; echo more" </dev/null
    start_until 'grep -q score results.db.d/*/1/output.log' 20 run --progress none
    echo "sed '1,/score/d'" >engine/filter
    touch go
    wait_command only_status 0
    printf 'score: 1\nmore\n' | cmp - "$(attempt_file 1 output.log)" || fail "the output differs"
}

framed__runner_killed_while_fetching_or_cancelled__collected_or_ended()
{
    framed_sweep 2 'echo begun; sleep 300' </dev/null
    cancel_two_that_began
    need_fault_points
    for point in frame-written result-fetched; do
        talkative_sweep 2 </dev/null
        expect_after only_stderr 137 run_killed "$point" run --progress none
        run_once 2
        cmp engine/volume.*.0/*/1/output.log "$(attempt_file 1 output.log)" || fail "the output differs"
    done
}

framed__files_of_many_or_large__split_or_said()
{
    framed_sweep 40 <<END
[[job.file]]
path = "large"
text = "$(head -c 6000 /dev/zero | tr '\0' x)"
END
    run_once 40
    expect "[ $(find engine -name 'job.*' | wc -l) -gt 1 ]"
    framed_sweep 1 <<END
[[job.file]]
path = "large"
text = "$(head -c 140000 /dev/zero | tr '\0' x)"
END
    run_at_engine 2
    expect_stderr_contains "its files are too large to go there with the job"
}

# The command runs on each of two hosts, with shared files and without.
jobset__several_hosts__named_and_ended_together()
{
    local shared n rank
    for shared in true false; do
        enter jobset
        engine_sweep jobset 3 "echo \"{n} rank \$NODE_RANK of \$MESHSWEEP_HOSTS at \$MASTER_ADDR\" >>$PWD/seen;"\
' [ {n}$NODE_RANK != 21 ] || { sleep 1; exit 7; };[ {n} != 2 ] || sleep 99; sleep $NODE_RANK; echo "score: {n}"' <<'END'
queue = "team-a"
[[cluster_spec]]
num_hosts = 2
num_devices_per_host = 4
gpu_type = "H100"
END
        sed -i "s/^name = \"jobset\"/&\nshared = $shared\nheartbeat = \"1s\"/; /^gpus = false/d" sweep.toml
        run_at_engine 3
        expect_sql "ok|0
signal|
ok|0" "SELECT coalesce(failure, state), exit_code FROM attempt ORDER BY id"
        sort seen | sed 's/x7k2[0-9]/ID/g' >said
        for n in 1 2 3; do
            for rank in 0 1; do
                echo "$n rank $rank of meshsweep-ID-w-0-0.meshsweep-ID,meshsweep-ID-w-0-1.meshsweep-ID at" \
                    meshsweep-ID-w-0-0.meshsweep-ID
            done
        done | cmp - said || fail "ranks and hosts: $(cat said)"
        for said in 'kueue.x-k8s.io/queue-name: team-a' 'nvidia.com/gpu: 4' 'nvidia.com/gpu.product: H100'; do
            grep -q "$said" results.db.d/jobset/*/description || fail "no $said"
        done
    done
}

# The tried jobs of .stdout, a line each.
tried()
{
    python3 -c 'import json, sys
for j in json.load(sys.stdin)["tried"]:
    print(*(j[k] for k in ("what", "as_expected", "began", "exit_code", "host", "decision", "why")), sep="|")' <.stdout
}

check_executor__without_a_common_file_system_or_fetch__what_came_or_refused()
{
    framed_sweep 1 true </dev/null
    expect_said among_stdout 0 '"shared":	false,' check --executor kubernetes --json
    expect_stderr_contains "submitting three small jobs to Kubernetes"
    expect "[ \"\$(tried | head -n 2)\" = 'true|True|True|0|node-a|it ended as its file says|None
false|True|True|1|node-a|it ended as its file says|None' ]" "tried | grep '^cancelled|True|True|'"
    expect_no_file meshsweep-check.*
    mv bin/kubectl bin/real
    stand_in bin/kubectl <<<'[ "$1" != logs ] || { echo "error: no logs" >&2; exit 1; }; exec real "$@"'
    expect_said among_stdout 1 '  its file: nothing; its log cannot be fetched: kubectl: no logs' \
        check --executor kubernetes
    engine_sweep pbs 1 </dev/null
    sed -i 's/^\[executor\]/&\nshared = false/' sweep.toml
    run_at_engine 2
    expect_stderr_contains "shared = false: PBS has no [fetch]"
    expect_said only_stderr_contains 2 "shared = false: PBS has no [fetch]" check --executor pbs
}

# Debian's kubectl, and a server of the part of the API that it asks. The server cannot validate: it has no schema.
kubectl__real__against_a_server_of_its_own()
{
    [ "${MESHSWEEP_FULL-}" ] || skip "the real kubectl is tried by scripts/check.sh --full"
    real=$(type -P kubectl) || skip "kubectl is not installed (scripts/setup.sh full)"
    enter kubernetes
    bin/kubectl serve &
    wait_until '[ -s engine/port ]' 20
    cat >bin/kubectl <<END
#!/bin/sh
command=\$1
shift
[ "\$command" != create ] || set -- --validate=false "\$@"
exec $real "\$command" --server=http://127.0.0.1:$(cat engine/port) --cache-dir=$PWD/cache "\$@"
END
    engine_sweep kubernetes 3 '[ {n} != 2 ] || exit 7; echo "score: {n}"' </dev/null
    run_at_engine 3
    expect_sql "node-a|ok|0
node-a|exit|7
node-a|ok|0" "SELECT host, coalesce(failure, state), exit_code FROM attempt ORDER BY id"
    rm -rf results.db*
    sed -i '/^volume_/d; s/^name = "kube.*/&\nshared = false/' sweep.toml
    run_at_engine 3
    expect_sql "ok|exit|ok" "SELECT group_concat(coalesce(failure, state), '|') FROM (SELECT * FROM attempt ORDER BY 1)"
    rm -rf results.db*
    echo '1 exceeded quota: q' >engine/most
    run_at_engine 3
    expect_sql 3 "SELECT count(*) FROM attempt"
}

run_cases "$@"
