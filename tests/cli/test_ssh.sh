#!/usr/bin/env bash
# Jobs on hosts reached by ssh: four real sshd on addresses of this machine, as whoever runs the tests.
. "${0%/*}/lib.sh"

[ -z "${MESHSWEEP_FULL-}" ] || CASE_SECONDS=900
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || skip "no sshd"
command -v ssh >/dev/null || skip "no ssh"
[ "$(uname)" = Linux ] || skip "addresses 127.0.0.2 to 127.0.0.5 are Linux's"

start_sshd() # NUMBER
{
    "$sshd" -D -e -f "ssh/sd$1" 2>"ssh/sshd$1.log" &
    echo $! >"ssh/pid$1"
}

# Host aN is 127.0.0.N, and knows itself by WHERE=aN; `ssh -F ssh/config` reaches it.
start_hosts()
{
    local n
    # Privilege separation of a system's sshd. With SHLVL bash reads no .bashrc, which may take as long as it likes.
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    mkdir ssh
    ssh-keygen -q -t ed25519 -N '' -f ssh/host
    ssh-keygen -q -t ed25519 -N '' -f ssh/user
    port=$((20000 + RANDOM % 20000))
    for n in 2 3 4 5; do
        printf '%s\n' "Port $port" "ListenAddress 127.0.0.$n" "HostKey $PWD/ssh/host" "PidFile none" \
            "AuthorizedKeysFile $PWD/ssh/user.pub" "StrictModes no" "UsePAM no" "PermitRootLogin yes" \
            "SetEnv WHERE=a$n SHLVL=2" "MaxStartups 100" >"ssh/sd$n"
        printf 'Host a%s\nHostName 127.0.0.%s\n' "$n" "$n" >>ssh/config
        printf '[127.0.0.%s]:%s %s\n' "$n" "$port" "$(cut -d ' ' -f 1,2 ssh/host.pub)" >>ssh/known
        start_sshd "$n"
    done
    printf 'Host *\nPort %s\nIdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\n' "$port" "$PWD/ssh/user" \
        "$PWD/ssh/known" >>ssh/config
    wait_until 'grep -q listening ssh/sshd2.log ssh/sshd3.log ssh/sshd4.log ssh/sshd5.log' 5
    for n in 2 3 4 5; do
        wait_until "ssh -F ssh/config a$n true 2>/dev/null" 5
    done
}

# The hosts, and sweep.toml with N jobs that each append a line to ran.N and then run COMMAND; standard input is what
# [ssh] has.
ssh_sweep() # N COMMAND
{
    start_hosts </dev/null
    {
        printf '[sweep]\nname = "hosts"\n[job]\ntimeout = "600s"\ngrace = "1s"\ncommand = %s%s%s\n' "'''" \
            "echo \$WHERE >>$PWD/ran.{n}; $2" "'''"
        printf '[[training_spec]]\nn = [%s]\n' "$(seq -s , "$1")"
        printf '[ssh]\noptions = ["-F", "%s/ssh/config"]\n' "$PWD"
        cat
    } >sweep.toml
}

run_on_hosts() { run_meshsweep run --executor ssh --progress none "$@"; }

# The sshd of this runner's connection to the host, which serves nothing else.
session_of() # NUMBER
{
    local n
    for n in $(ps -o pid= --ppid "$(cat "ssh/pid$1")"); do
        ! grep -qs . "/proc/$n/cmdline" || echo "$n"
    done
}

# Counts the executions of jobs on hosts.
executions() { cat ran.* 2>/dev/null | wc -l; }

hosts__one_host_jobs__spread_as_slots_allow()
{
    ssh_sweep 6 'echo $WHERE $CUDA_VISIBLE_DEVICES $MESHSWEEP_HOSTS {hosts} $MASTER_ADDR; cat $MESHSWEEP_HOSTFILE; '\
'echo $MESHSWEEP_ATTEMPT | grep -c @; echo "{\"rate\": {n}}" >>$MESHSWEEP_METRICS; '\
'n=0; while [ $(ls | grep -c ^begun) -lt 6 ] && [ $n -lt 300 ]; do : >begun.{n}; n=$((n+1)); sleep 0.1; done' \
        <<<'hosts = ["a2 slots=2", "a3", "a4 slots=2", "a5"]'
    expect_after only_stderr 0 run_on_hosts
    # All six at once, each where a device was to be had.
    expect_sql "a2|a2:0|ssh
a2|a2:1|ssh
a3|a3:0|ssh
a4|a4:0|ssh
a4|a4:1|ssh
a5|a5:0|ssh" "SELECT host, devices, executor FROM attempt WHERE state = 'ok' ORDER BY 2"
    expect_sql 6 "SELECT count(*) FROM metric WHERE name = 'rate'"
    expect_sql "a2 1 a2 a2 127.0.0.1
a2 slots=1
1" "SELECT rtrim(log_tail, char(10)) FROM attempt WHERE devices = 'a2:1'"
    expect '[ "$(executions)" = 6 ]'
}

hosts__job_of_several__whole_hosts()
{
    ssh_sweep 1 'echo $WHERE $CUDA_VISIBLE_DEVICES {hosts} $MASTER_ADDR; cat $MESHSWEEP_HOSTFILE; '\
'for h in $(echo {hosts} | tr , " "); do ssh -n -F ssh/config $h "echo on \$WHERE" 2>/dev/null; done' < <(toml \
        hosts='["a2 slots=2", "a3 slots=2", "a4 slots=2"]' cluster_spec:: num_hosts=1,2,4 num_devices_per_host=1)
    expect_after only_stderr 0 run_on_hosts
    expect_sql "1|1|ok
2|4|ok" "SELECT r.num_hosts, length(a.devices) - length(replace(a.devices, ':', '')), a.state FROM attempt AS a JOIN
results AS r ON r.job = a.job_id ORDER BY 1"
    expect_sql "[ssh] has 3 hosts with 6 devices in total" "SELECT reason FROM excluded WHERE rule = 'devices.exist'"
    expect_sql "a2 0,1 a2,a3 a2
a2 slots=2
a3 slots=2
on a2
on a3" "SELECT rtrim(log_tail, char(10)) FROM attempt WHERE host = 'a2,a3'"
}

hosts__timeout__remote_tree_ended()
{
    ssh_sweep 1 'setsid sh -c "trap \"\" TERM; sleep 617; sleep 617" & env -i sleep 618 & sleep 619' <<<'hosts = ["a2"]'
    sed -i 's/timeout = .*/timeout = "2s"/' sweep.toml
    expect_after only_stderr 3 run_on_hosts
    expect_sql "timeout|a2|timeout: still running after 2.0s" "SELECT failure, host, message FROM attempt"
    expect '! pgrep -x -f "sleep 61[789]"'
}

hosts__ends__as_the_job_has_them()
{
    ssh_sweep 4 'case {n} in 1) exit 7 ;; 2) kill -SEGV $$ ;; 3) echo "CUDA out of memory. Tried to allocate"; '\
'exit 1 ;; 4) sleep 600 & ;; esac' <<<'hosts = ["a2 slots=4"]'
    expect_after only_stderr 3 run_on_hosts --keep-going
    expect_sql "exit|exit status 7|0
signal|killed by signal 11 (SIGSEGV)|0
oom|exit status 1: CUDA out of memory. Tried to allocate|0
||1" "SELECT failure, message, leftovers FROM attempt ORDER BY job_id"
}

hosts__runner_killed__nothing_left_and_next_run_ends_them()
{
    ssh_sweep 4 '[ -e second.{n} ] || { : >second.{n}; sleep 371.1; }; echo end >>ended.{n}' \
        <<<'hosts = ["a2", "a3", "a4 slots=2"]'
    start_until '[ "$(executions)" = 4 ]' 30 run --executor ssh --progress none
    end_command KILL only_status 137
    wait_until '! pgrep -x -f "sleep 371.1" >/dev/null' 10
    expect_sql 4 "SELECT count(*) FROM attempt WHERE state IN ('claimed', 'running')"
    run_meshsweep run --progress none
    expect_only_stderr_contains 1 "4 attempts were submitted to ssh; collect them with \`meshsweep run --executor ssh\`"
    expect_after only_stderr 0 run_on_hosts
    expect_sql "failed|lost|4
ok||4" "SELECT state, failure, count(*) FROM attempt GROUP BY 1, 2"
    expect '[ "$(executions)" = 8 ]' '[ "$(cat ended.* | wc -l)" = 4 ]'
}

hosts__interrupted_twice__jobs_ended()
{
    ssh_sweep 2 'trap "echo heard; exit 3" TERM; sleep 603 & wait' <<<'hosts = ["a2", "a3"]'
    start_until '[ "$(executions)" = 2 ]' 30 run --executor ssh --progress none
    signal_command INT
    wait_until 'grep -q "starting no more" .stderr' 5
    end_command INT only_stderr_contains 130 "stopping the running jobs"
    expect_sql "cancelled|heard
cancelled|heard" "SELECT failure, rtrim(log_tail, char(10)) FROM attempt"
    expect '! pgrep -x -f "sleep 603"'
}

# Processes of jobs, the last executions of which are on that host.
jobs_on() { grep -lx "$1" ran.* | sed 's/^ran/pid/' | xargs cat; } # WHERE

are_gone() # PID...
{
    local pid
    for pid; do
        ! kill -0 "$pid" 2>/dev/null || return 1
    done
}

hosts__connection_killed__held_named_and_not_charged()
{
    ssh_sweep 3 'echo $$ >pid.{n}; until [ -e go ]; do sleep 0.1; done; echo end >>ended.{n}' \
        <<<'hosts = ["a2", "a3 slots=2"]'
    start_until '[ "$(executions)" = 3 ] && [ "$(cat pid.* | wc -l)" = 3 ]' 30 run --executor ssh --progress none
    left=$(jobs_on a3)
    # shellcheck disable=SC2046 # a list
    kill -KILL "$(cat ssh/pid3)" $(session_of 3)
    wait_until 'grep -q "host a3 does not answer: " .stderr' 10
    wait_until "are_gone $(echo "$left" | tr '\n' ' ')" 10
    : >go
    start_sshd 3
    wait_command only_stderr_contains 0 "it gets no jobs until it does"
    expect_sql "lost|node|a3|2" \
        "SELECT failure, blame, host, count(*) FROM attempt WHERE state = 'failed' GROUP BY 1, 2, 3"
    expect_sql 3 "SELECT count(*) FROM job WHERE state = 'ok'"
    expect '[ "$(executions)" = 5 ]' '[ "$(cat ended.* | wc -l)" = 3 ]'
}

hosts__one_stops_answering__its_jobs_run_elsewhere_when_it_has_ended_them()
{
    ssh_sweep 2 'echo $$ >pid.{n}; until [ -e go ]; do sleep 0.1; done; echo end >>ended.{n}' \
        < <(toml hosts=a2,a3 lease=20s)
    start_until '[ "$(executions)" = 2 ] && [ "$(cat pid.* | wc -l)" = 2 ]' 30 run --executor ssh --progress none
    left=$(jobs_on a3)
    sessions=$(session_of 3)
    # shellcheck disable=SC2086 # a list
    kill -STOP $sessions
    kill "$(cat ssh/pid3)"
    wait_until 'grep -q "host a3 does not answer: Timeout, server 127.0.0.3 not responding" .stderr' 40
    # The host itself ends what hears nothing any more, before anybody runs it again.
    wait_until "are_gone $left" 30
    expect '[ "$(executions)" = 2 ]'
    : >go
    wait_command
    # shellcheck disable=SC2086
    kill -KILL $sessions
    expect_only_stderr_contains 0 "it gets no jobs until it does"
    expect_sql "lost|node|a3
|-|a2" "SELECT failure, coalesce(blame, '-'), host FROM attempt WHERE job_id = (SELECT job_id FROM attempt
WHERE host = 'a3') ORDER BY id"
    expect '[ "$(executions)" = 3 ]' '[ "$(cat ended.* | wc -l)" = 2 ]'
}

hosts__directory_not_shared__log_and_metrics_brought_back()
{
    mkdir elsewhere
    ssh_sweep 2 'pwd; cat {job_dir}/config.yaml; echo "{\"rate\": {n}}" >>$MESHSWEEP_METRICS; sleep 1.5; '\
'i=0; while [ $i -lt 2000 ]; do echo "{\"rate\": 5, \"i\": $i}"; i=$((i+1)); done >>$MESHSWEEP_METRICS' < <(toml \
        "hosts = [\"a2 directory=$PWD/elsewhere\", \"a3\"]" job.file:: path=config.yaml job.file.add: depth=n)
    expect_after only_stderr 0 run_on_hosts
    expect_sql "ok|a2|2001
ok|a3|2001" "SELECT a.state, host, (SELECT count(*) FROM metric AS m WHERE m.attempt_id = a.id AND m.name = 'rate') FROM
attempt AS a ORDER BY 2"
    expect_sql "$PWD/elsewhere
depth: 1
$PWD
depth: 2" "SELECT rtrim(log_tail, char(10)) FROM attempt ORDER BY host"
    expect '[ "$(cat results.db.d/*/1/metrics.jsonl | wc -l)" = 4002 ]' 'ls elsewhere/results.db.d/*/1/config.yaml'
}

hosts__wrong__said_once_and_nothing_charged()
{
    ssh_sweep 3 true <<<'hosts = ["a2", "no-such-host.invalid"]'
    run_on_hosts
    expect_only_stderr_contains 2 'meshsweep: host no-such-host.invalid: ssh: Could not resolve hostname'
    sed -i 's/^hosts.*/hosts = ["a2 slots=2", "a3 slots=2"]/' sweep.toml
    cp ssh/known known
    sed -i '/0\.3/d' ssh/known
    expect_said only_stderr 2 'meshsweep: host a3: Host key verification failed.' run --executor ssh --progress none
    cp known ssh/known
    cp ssh/user.pub key
    : >ssh/user.pub
    run_on_hosts
    expect_only_stderr_contains 2 'meshsweep: host a2: ' 'Permission denied (publickey'
    cp key ssh/user.pub
    sed -i 's/^hosts.*/hosts = ["a2 slots=0", "-oProxyCommand=x", "a3:4"]/' sweep.toml
    expect_said only_stderr 2 "meshsweep: [ssh] hosts:1: write each host as \`HOST [slots=N] [directory=/PATH]\`, with \
1 to 1024 slots, not \`slots=0\`
meshsweep: [ssh] hosts:2: write each host as \`HOST [slots=N] [directory=/PATH]\`, with 1 to 1024 slots, not \
\`-oProxyCommand=x\`
meshsweep: [ssh] hosts:3: write each host as \`HOST [slots=N] [directory=/PATH]\`, with 1 to 1024 slots, not \`a3:4\`" \
        run --executor ssh --progress none
    sed -i '/^hosts/d' sweep.toml
    expect_said only_stderr 2 'meshsweep: --executor ssh: there are no hosts; name them in the sweep file: [ssh] '\
'hosts = ["node1", "node2 slots=4"], or hostfile = "FILE"' run --executor ssh --progress none
    expect_sql 0 "SELECT count(*) FROM attempt"
}

# A hostfile says where jobs run, unless the command reaches its hosts itself.
hosts__hostfile_of_local__the_same()
{
    printf 'a2 slots=1\na3 slots=1 # old\na4 slots=1\n' >hosts
    ssh_sweep 2 'echo $WHERE; n=0; while [ $(ls | grep -c ^begun) -lt 2 ] && [ $n -lt 300 ]; do : >begun.{n}; '\
'n=$((n+1)); sleep 0.1; done' < <(toml local: hostfile=hosts exclude=a3)
    expect_run only_stderr 0 run --progress none
    expect_sql "a2|ssh
a4|ssh" "SELECT host, executor FROM attempt ORDER BY 1"
}

# Each job's own count of executions agrees with the database, whatever is killed meanwhile.
hosts__300_jobs_killed_all_the_time__none_lost_none_twice()
{
    [ "${MESHSWEEP_FULL-}" ] || skip "takes minutes (MESHSWEEP_FULL=1)"
    local n ended runs=0 kills=0 status=none
    # A lock that goes with its process: the hosts are this machine, where a dead runner's guardian kills them as well.
    ssh_sweep 300 'exec 9>>lock.{n}; flock -n 9 || { echo {n} >>twice; exit 1; }; sleep 0.4 9>&-; '\
'echo end >>ended.{n}' \
        < <(toml hosts='["a2 slots=3", "a3 slots=3", "a4 slots=3", "a5 slots=3"]' retry: lost=30)
    # Each runner but the last sees some jobs end and some connections die, and dies itself.
    while [ "$status" != 0 ]; do
        runs=$((runs + 1))
        start_meshsweep run --executor ssh --progress none
        for n in 1 2 3; do
            ended=$(cat ended.* 2>/dev/null | wc -l)
            wait_until "[ \$(cat ended.* 2>/dev/null | wc -l) -ge $((ended + 8)) ] ||
                ! kill -0 $command_pid 2>/dev/null" 60
            # shellcheck disable=SC2046 # a list
            kill -KILL $(session_of $((2 + RANDOM % 4)) | head -n 1) 2>/dev/null || true
            kills=$((kills + 1))
        done
        kill -KILL "$command_pid" 2>/dev/null || true
        wait_command
        expect_any_stdout
        expect_any_stderr
        expect "[ $status = 0 ] || [ $status = 137 ]"
        stated_status=1
    done
    echo "# $runs runs, $kills connections killed, $(sql 'SELECT count(*) FROM attempt') attempts"
    expect_sql "300|300" "SELECT count(*), sum(state = 'ok') FROM job"
    expect_no_file twice
    expect '[ "$(cat ended.* | wc -l)" -ge 300 ]'
    # An attempt that began left a line; one that was lost before that left none.
    for ((n = 1; n <= 300; n++)); do
        expect "[ $(wc -l <"ran.$n") -le $(sql "SELECT count(*) FROM attempt WHERE job_id = (SELECT job FROM results
WHERE n = $n)") ]"
    done
}

run_cases "$@"
