#!/usr/bin/env bash
# shellcheck disable=SC2034 # conditions are read by expect
# report --serve: the page over a running sweep, to those who may see it.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

server_pid=

# Starts a server over results.db and waits for its address: $url, "http://127.0.0.1:PORT/TOKEN/".
serve() # OPTION...
{
    command -v python3 >/dev/null || skip "there is no python3"
    rm -f served
    (
        trap - INT
        exec "$meshsweep" report "$@"
    ) >served 2>served.err </dev/null &
    server_pid=$!
    wait_until '[ -s served ] || ! kill -0 $server_pid' 10
    url=$(cat served)
    [ -n "$url" ] || fail "not served: $(cat served.err)"
    hurry "$server_pid"
}

# Waits for the lock of a database that is served.
patient_sqlite() { sqlite3 -cmd '.timeout 30000' "$@"; } # DATABASE SQL

stop_serving() # SIGNAL
{
    kill -s "$1" "$server_pid"
    server_status=0
    wait "$server_pid" || server_status=$?
}

# Asks the server; its answer is read from descriptor 3. A path stays as it is, with "/../" in it.
ask() # METHOD URL [HEADER=VALUE...]
{
    local place=${2#http://} words header
    local host=${place%%/*}
    words="$1 /${place#*/} HTTP/1.0"$'\r\n'
    for header in "Host=$host" "${@:3}"; do
        [[ $header = "Host=$host" && " ${*:3}" = *' Host='* ]] || words+="${header%%=*}: ${header#*=}"$'\r\n'
    done
    place=${host%:*} place=${place#[}
    exec 3<>"/dev/tcp/${place%]}/${host##*:}" || fail "nobody answers: $2"
    printf '%s\r\n' "$words" >&3
}

# Writes the status, which is $got, the headers and the body into the file got.
get() # [--method METHOD] URL [HEADER=VALUE...]
{
    local method=GET line
    [ "$1" != --method ] || { method=$2; shift 2; }
    ask "$method" "$@"
    read -r _ got _ <&3 || fail "no answer: $*"
    {
        echo "$got"
        while read -r line && [ "$line" != $'\r' ]; do
            echo "${line%$'\r'}"
        done
        cat
    } <&3 >got
    exec 3>&-
}

# Of each path behind the address its status, and the secret if that is told.
get_each() # URL PATH...
{
    local path
    for path in "${@:2}"; do
        get "$1$path"
        echo "$got $path $(grep -o -m 1 '^secret' got || true)"
    done >each
}

first_events() # N URL: the first of those that the server sends, a line each
{
    local left=$1 line
    ask GET "$2"
    while [ "$left" -gt 0 ] && read -r line; do
        [[ $line != data:* ]] || echo "${line#data: }"
        [[ $line != data:* ]] || left=$((left - 1))
    done <&3
}

expect_got() # STATUS URL [HEADER=VALUE...]
{
    get "${@:2}"
    [ "$got" = "$1" ] || fail "not $1 but $got: ${*:2}"
}

problem() { first_events 1 "${url}events"; }

# The page is made at once, but not before the address is printed.
page_stands()
{
    sleep 0.2 # what is asked for costs the server time, for which it rests
    get "$url"
    [ "$got" = 200 ]
}

serve_page() # OPTION...
{
    serve --serve "$@"
    wait_until page_stands 10
}

origin_of_url() { sed -E 's|(http://[^/]*)/.*|\1|' <<<"$url"; }

serve__finished_sweep__the_page_and_its_files()
{
    small_sweep
    run_ended 0
    serve --serve
    expect '[[ $url =~ ^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$ ]]'
    wait_until page_stands 10
    expect_file_contains got 'text/html' '<section id="overview"'
    file=$(find results.db.d -type f -name '*.log' | head -n 1)
    expect_got 200 "$url$file"
    expect_file_contains got 'Content-Type: text/plain; charset=utf-8'
    expect 'tail -c "$(stat -c %s "$file")" got | cmp - "$file"'
    expect_got 404 "$url/nothing"
    expect_got 301 "${url%/}"
    expect_got 405 --method POST "$url"
    expect_got 200 --method HEAD "$url"
    stop_serving INT
    expect '[ "$server_status" = 130 ]' '[ ! -s served.err ]'
    serve --serve
    stop_serving TERM
    expect '[ "$server_status" = 143 ]'
}

# Browsers send these where a page of another site, or of a name that was pointed here, asks. What is right of them
# tests/unit/test_gate.c knows; here each of them arrives there.
serve__foreign_requests__refused()
{
    fixture_database
    serve --serve
    base=$(origin_of_url)
    wait_until page_stands 10
    expect '! grep -q Access-Control got'
    expect_got 403 "$url" Host=evil.example
    expect_got 200 "$url" Host=localhost:9999
    expect_got 403 "${url}changes" Origin=null
    expect_got 200 "${url}changes" "Origin=$base"
    expect_got 403 "${url}changes" Sec-Fetch-Site=cross-site Sec-Fetch-Mode=no-cors
    expect_got 200 "$url" Sec-Fetch-Site=cross-site Sec-Fetch-Mode=navigate
    expect '[ ! -s served.err ]'
    # A wrong token is told of once.
    get_each "$base" / /x/ /00000000000000000000000000000000/ /00000000000000000000000000000000/events // /events
    expect '[ "$(grep -c "^403 .* $" each)" = 6 ]' '[ "$(grep -c "wrong token" served.err)" = 1 ]'
    stop_serving INT
}

# The directory of job files and nothing else: not by "..", not by links, not what is no file.
serve__paths_out_of_the_job_files__not_found()
{
    fixture_database
    mkdir -p results.db.d/1
    echo inside >results.db.d/1/log
    echo secret >secret
    ln -s "$PWD/secret" results.db.d/1/link
    ln -s "$PWD" results.db.d/out
    mkfifo results.db.d/1/pipe
    serve_page
    get "${url}results.db.d/1/log"
    expect '[ "$got" = 200 ] && grep -q inside got'
    get_each "${url}results.db.d/" ../secret 1/../../secret 1/link out/secret 1/pipe 1 1/ '' . 1/./log 1//log \
        %2e%2e/secret 1%2f..%2f..%2fsecret %2e%2e%2fsecret 1/none "$PWD/secret" "/$PWD/secret"
    expect '[ "$(grep -c "^404 .* $" each)" = 17 ]'
    get_each "$url" results.db secret ../secret results.db-wal results.db.d results.db.d.x/1 nothing
    expect '[ "$(grep -c "^404 .* $" each)" = 7 ]'
    stop_serving INT
}

# Runs, its end, another run: the same page, by events that say what changed.
serve__while_jobs_run__told_line_by_line()
{
    small_sweep
    echo '[ "$1" = 1 ] || until [ -e go ]; do sleep 0.05; done; echo "score: $(($1 * $2))"' >job.sh
    start_meshsweep run --progress none -j 1
    wait_until '[ "$(sql "SELECT count(*) FROM job WHERE state = '"'ok'"'" 2>/dev/null)" = 2 ]' 20
    serve_page
    expect_file_contains got '<div class="card ok"><b>2</b><span>ok</span></div>'
    first_events 100 "${url}events" >events &
    wait_until '[ -s events ]' 10
    before=$(sed -En 's/.*"version":([0-9]+).*/\1/p' events | tail -n 1)
    touch go
    wait_command only_stderr 0
    four_are_ok() { get "$url"; grep -q '<div class="card ok"><b>4</b><span>ok</span></div>' got; }
    wait_until four_are_ok 20
    wait_until '[ "$(wc -l <events)" -gt 1 ]' 10
    get "${url}changes?since=$before"
    tail -n 1 got >changes
    python3 - "$before" <<'END' || fail "what changed is not what it should be: $(cut -c 1-2000 changes)"
import json, sys
answer = json.load(open("changes"))
assert answer["version"] > int(sys.argv[1]), answer["version"]
lines = [line for part in answer["changed"].values() for line in part["lines"].values()]
assert '<div class="card ok"><b>4</b><span>ok</span></div>' in lines, lines
assert not any("--- rows" in line or "addEventListener" in line for line in lines), "the script did not change"
assert not any(line.startswith("<!DOCTYPE") for line in lines)
END
    ended=$(sed -En 's/.*"version":([0-9]+).*/\1/p' events | tail -n 1)
    # A new sweep in the same file, after the end of the run.
    sed -i 's/y = \[10, 20\]/y = [10, 20, 30]/' sweep.toml
    run_ended 0
    six_are_ok() { get "$url"; grep -q '<div class="card ok"><b>6</b><span>ok</span></div>' got; }
    wait_until six_are_ok 20
    # Who has had the page open since before is told of the new jobs.
    newest() { sed -En 's/.*"version":([0-9]+).*/\1/p' events | tail -n 1; }
    wait_until '[ "$(newest)" -gt "$ended" ]' 10
    get "${url}changes?since=$ended"
    expect_file_contains got '<div class=\"card ok\"><b>6</b><span>ok</span></div>'
    stop_serving INT
    expect '[ ! -s served.err ]'
}

# The parts that a reader puts together from what changed are the page, whatever happened in between.
serve__changes_applied__the_page_itself()
{
    fixture_database
    serve_page
    cat >follow.py <<'END'
import json, subprocess, sys, time, urllib.request
url = sys.argv[1]
read = lambda path: urllib.request.urlopen(url + path).read().decode()
parts, have = [], 0
for number in range(3):
    while True:
        answer = json.loads(read(f"changes?since={have}"))
        if answer["version"] > have:
            break
        time.sleep(0.3)
    assert not have or len(json.dumps(answer)) < len(read("")) / 2
    parts += [[] for _ in range(answer["parts"] - len(parts))]
    del parts[answer["parts"]:]
    for index, part in answer["changed"].items():
        lines = parts[int(index)]
        lines += [None] * (part["count"] - len(lines))
        del lines[part["count"]:]
        for line, text in part["lines"].items():
            lines[int(line)] = text
    have = answer["version"]
    page = read("").rsplit("<!--", 1)
    assert page[1].startswith(f"{have}-->"), page[1]
    assert "".join(line + "\n" for part in parts for line in part) == page[0]
    subprocess.run(["sqlite3", "-cmd", ".timeout 30000", "results.db",
                    f"UPDATE sweep SET name = 'name {number}'; UPDATE summary SET value = value + 1"], check=True)
END
    expect_command silent 0 timeout 150 python3 follow.py "$url"
    stop_serving INT
}

# The first failure comes to a page that was made without a column of failures. The script's own function is run where
# there is a Node.js; tests/cli/test_report_browser.sh needs a browser.
serve__first_failure_on_an_open_page__has_a_colour()
{
    command -v node >/dev/null || skip "there is no node"
    sed -n '/^const byState = /,/^};/p' "$source_dir/src/page/explore.js" >colours.js
    cat >>colours.js <<'END'
const check = (levels, codes, found) => {
  globalThis.stateColumn = { levels: ["ok", "pending", "failed"], codes: [0, 1, 2] };
  globalThis.failureColumn = levels && { levels, codes };
  const colours = byState();
  console.log(colours.inks.join(), [0, 1, 2].map((i) => colours.inks[colours.code(i)]).join());
};
globalThis.ink = (name) => name;
globalThis.hasFailed = (i) => i === 2;
check();
check(["exit", "oom"], [-1, -1, 1]);
check([], [-1, -1, -1]);
check(["oom"], [-1, -1, -1]);
END
    run_command node colours.js
    expect_only_stdout 0 'x-ok,x-pending,x-failed x-ok,x-pending,x-failed
x-ok,x-pending,x-exit,x-oom x-ok,x-pending,x-oom
x-ok,x-pending,x-failed x-ok,x-pending,x-failed
x-ok,x-pending,x-oom x-ok,x-pending,x-oom'
}

# Whoever holds all the connections that an address may have keeps nobody else out, and says something within seconds or
# is gone.
serve__connections_that_say_nothing__keep_nobody_out()
{
    cat >idle.py <<'END'
import http.client, socket, sys, time, urllib.parse
parts = urllib.parse.urlsplit(sys.argv[1])

def read(address, path=""):
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30, source_address=(address, 0))
    try:
        connection.request("GET", parts.path + path)
        response = connection.getresponse()
        return connection, response
    except (ConnectionError, http.client.HTTPException):
        return None, None

stream = read("127.0.0.1", "events")[1]
silent = [socket.create_connection((parts.hostname, parts.port)) for _ in range(400)]
assert read("127.0.0.2")[1].status == 200
assert read("127.0.0.1")[1] is None
begin = time.monotonic()
for connection in silent:
    connection.settimeout(30)
    try:
        assert connection.recv(1) == b""
    except ConnectionResetError:
        pass
assert time.monotonic() - begin < 25, time.monotonic() - begin
assert read("127.0.0.1")[1].status == 200
assert stream.readline()
END
    fixture_database
    serve_page
    expect_command silent 0 timeout 100 python3 idle.py "$url"
    stop_serving INT
}

# A commit is read once and what came of it is written once, however many pages are open.
serve__a_commit__made_once_for_all_who_look()
{
    [ -e "$build_dir/tests/cli/count_calls.so${ASAN_OPTIONS-}" ] || skip "no count_calls.so, or under sanitizers"
    cat >follow.py <<'END'
import http.client, json, sqlite3, sys, urllib.parse, urllib.request
url, pages = sys.argv[1], int(sys.argv[2])
parts = urllib.parse.urlsplit(url)
streams = []
for _ in range(pages):
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("GET", parts.path + "events")
    streams.append((connection, connection.getresponse()))

def told(response, wanted):
    while True:
        line = response.readline()
        assert line, "the stream ended"
        if line.startswith(b"data: ") and wanted((event := json.loads(line[6:]))["version"]):
            return event["version"]

have = {told(response, lambda version: version > 0) for _, response in streams}
assert len(have) == 1, have
have = have.pop()
for number in range(2):
    with sqlite3.connect("results.db", timeout=10) as db:
        db.execute("UPDATE sweep SET name = ?", ("name %d" % number,))
    for _, response in streams:
        assert told(response, lambda version: version > have) == have + 1
    for _ in streams:
        answer = json.load(urllib.request.urlopen(url + "changes?since=%d" % have))
        assert answer["version"] == have + 1 and answer["changed"]
    have += 1
END
    fixture_database
    cp results.db first.db
    export COUNT_SAID="$PWD/counted"
    for pages in 1 40; do
        cp first.db results.db
        export LD_PRELOAD="$build_dir/tests/cli/count_calls.so"
        serve --serve
        unset LD_PRELOAD
        wait_until page_stands 10
        expect_command silent 0 timeout 150 python3 follow.py "$url" "$pages"
        stop_serving INT
        mv counted "counted.$pages"
    done
    unset COUNT_SAID
    read -r few_questions few_answers <counted.1
    read -r many_questions many_answers <counted.40
    expect '[ "$few_questions" -gt 20 ] && [ "$few_answers" -ge 2 ]'
    expect '[ "$many_questions" -le $((few_questions * 3 / 2)) ]' '[ "$many_answers" -le $((few_answers + 8)) ]'
}

# Jobs that end are told row by row, where making the whole page would be too much; rows that are as they were are not.
serve__many_jobs__what_changed_of_them()
{
    # With a message, so that the page has a column for the next: for a new one it is made anew.
    many_jobs 1000 10 "UPDATE attempt SET message = 'out of memory' WHERE failure = 'oom'"
    serve --serve
    wait_until page_stands 40
    cat >follow.py <<'END'
import json, sqlite3, sys, time, urllib.request
read = lambda path: json.loads(urllib.request.urlopen(sys.argv[1] + path).read())
db = sqlite3.connect("results.db", isolation_level=None, timeout=10)
version = read("rows?since=0")["version"]
job, = db.execute("SELECT min(id) FROM job WHERE state = 'pending'").fetchone()
seen = 0

def commit(*statements):
    db.execute("BEGIN")
    for statement in statements:
        db.execute(statement.format(job=job))
    db.execute("COMMIT")

def search_until(sentence):
    deadline = time.monotonic() + 30
    while sentence not in (said := read("rows?since=0")["search"]):
        assert time.monotonic() < deadline, said
        time.sleep(0.5) # to be asked costs the server time, for which it rests

def rows_until(wanted):
    global seen
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = read(f"rows?since={seen}")
        assert answer["version"] == version, "the page was made anew"
        for row in answer["changed"]:
            if wanted(row):
                seen = answer["rows"]
                return row
        time.sleep(0.5) # to be asked costs the server time, for which it rests
    sys.exit("not told")

commit("INSERT INTO attempt (id, job_id, number, runner_id, state, started) VALUES (90000, {job}, 1, 1, 'claimed', 1)",
       "UPDATE attempt SET state = 'running' WHERE id = 90000", "UPDATE job SET state = 'running' WHERE id = {job}")
assert rows_until(lambda row: row[0] == job)[1]["state"] == "running"
commit("UPDATE attempt SET state = 'ok', ended = 5, duration_ms = 4 WHERE id = 90000",
       "INSERT INTO summary (attempt_id, name, value, count) VALUES (90000, 'throughput', 4711.5, 1)",
       "UPDATE job SET state = 'ok', attempt_id = 90000 WHERE id = {job}")
_, values, barred = rows_until(lambda row: row[0] == job)
assert (values["state"], values["throughput"], values["attempts"], barred) == ("ok", 4711.5, 1, False), values
assert "peak_memory" not in values and "key" not in values and "tp" not in values, values
job += 1
commit("INSERT INTO attempt (id, job_id, number, runner_id, state, failure, message, started, ended) VALUES"
       " (90001, {job}, 1, 1, 'failed', 'oom', '</script><b>', 1, 2)",
       "UPDATE job SET state = 'running' WHERE id = {job}",
       "UPDATE job SET state = 'failed', failure = 'oom', attempt_id = 90001 WHERE id = {job}")
assert rows_until(lambda row: row[0] == job)[1]["failure"] == "oom"
assert [row[0] for row in read("rows?since=0")["changed"]] == [job - 1, job]
# A search goes on meanwhile, and ends without another job.
commit("INSERT INTO search (id, sweep_id, strategy, options, started)"
       " VALUES (900, 2, 'random', '{{\"max_trials\": 5}}', 1)",
       "INSERT INTO trial (search_id, job_id, attempt_id, asked, told, reason, outcome)"
       " VALUES (900, {job}, 90001, 1, 2, '', 'failed')")
search_until("Search by random: 1 trial, 0 ok, 0 stopped early, 1 failed. At most 4 more to come, of 8 pending.")
commit("UPDATE search SET finished = 'a reason' WHERE id = 900")
search_until("It ended: a reason. 8 pending jobs will not run: <code>meshsweep run")
seen = read("rows?since=0")["rows"]
assert read(f"rows?since={seen}")["changed"] == []
END
    expect_command silent 0 timeout 150 python3 follow.py "$url"
    stop_serving INT
    expect '[ ! -s served.err ]'
}

# A page of many jobs is made anew at once where a new run adds some, long before its time.
serve__many_jobs__new_ones_at_once()
{
    many_jobs 1000 10
    serve --serve
    wait_until page_stands 40
    patient_sqlite results.db "INSERT INTO spec (id, kind, hash, json)
            VALUES (90000, 'parallel_spec', CAST('0000000000090000' AS BLOB), '{\"tp\": 64}');
        INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, parallel_id, devices, state)
            VALUES (90000, CAST('0000000000090000' AS BLOB), 2, 90000, 1, 2, 90000, 8, 'pending')"
    has_it() { sleep 0.5; get "$url"; grep -q '<div class="card pending"><b>11</b>' got; }
    wait_until has_it 15
    stop_serving INT
}

serve__database_replaced_removed_or_newer__told_and_gone_on()
{
    fixture_database
    serve_page
    expect '[[ $(problem) = *\"problem\":null* ]]'
    mv results.db away.db
    wait_until '[[ $(problem) = *"database results.db: "* ]]' 10
    expect_got 200 "$url"
    cp away.db new.db
    sqlite3 new.db "UPDATE sweep SET name = 'another one'"
    mv new.db results.db
    named_anew() { get "$url"; grep -q '<h1>another one' got && [[ $(problem) = *'"problem":null'* ]]; }
    wait_until named_anew 10
    patient_sqlite results.db "PRAGMA user_version = 999"
    wait_until '[[ $(problem) = *newer* ]]' 10
    stop_serving INT
}

# A database of an older version is served from a copy that follows it; a large one, while it is upgraded, is not.
serve__older_database__followed_and_told_while_it_is_upgraded()
{
    # shellcheck source=schemas/schema.sh
    . "$(dirname "${BASH_SOURCE[0]}")/schemas/schema.sh"
    old_database 12
    serve_page
    patient_sqlite results.db "UPDATE sweep SET name = 'another one'"
    named_anew() { get "$url"; grep -q '<h1>another one' got; }
    wait_until named_anew 20
    # The process holds an upgrade's lock, as the upgrade does.
    python3 - <<'END' &
import fcntl, os, struct
f = os.open("results.db.lock", os.O_RDWR | os.O_CREAT)
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
open("locked", "w").close()
import time
time.sleep(100)
END
    wait_until '[ -e locked ]' 10
    patient_sqlite results.db "INSERT INTO meta VALUES ('upgrading', '99'), ('ballast', zeroblob(70 << 20))"
    wait_until '[[ $(problem) = *"results.db: upgrading from schema version 12 to "*"; try again in a moment"* ]]' 20
    kill %2 2>/dev/null || kill $!
    "$meshsweep" upgrade --no-copy >/dev/null 2>&1
    wait_until '[[ $(problem) = *\"problem\":null* ]]' 20
    stop_serving INT
}

serve__no_sweep_yet__waits_for_it()
{
    small_sweep
    fixture_database "DELETE FROM job" "DELETE FROM rule" "DELETE FROM sweep"
    serve --serve
    expect_got 503 "$url"
    rm -f results.db
    run_ended 0
    wait_until page_stands 10
    stop_serving INT
}

serve__nothing_to_serve__said()
{
    run_meshsweep report --serve
    expect_only_stderr 1 'meshsweep: database results.db: it does not exist yet; `meshsweep run` creates it'
    fixture_database "PRAGMA user_version = 999"
    patient_sqlite results.db "PRAGMA user_version = 999"
    expect_said only_stderr_contains 1 'newer' report --serve
}

serve__wrong_address__said()
{
    fixture_database
    for wrong in 127.0.0.1:x :99999 '[::1' '[]:80' a:b:80: 70000; do
        run_meshsweep report --serve="$wrong"
        expect '[ "$status" = 2 ] || [ "$status" = 1 ]'
        expect_only_stderr_contains "$status" "--serve "
    done
    run_meshsweep report --serve=:99999
    expect_only_stderr 2 'meshsweep: --serve :99999: must be HOST, PORT or HOST:PORT, with a port up to 65535; an IPv6'\
' address in brackets'
    expect_said only_stderr_contains 2 '--token: ' report --serve --token 'a/b'
    expect_said only_stderr_contains 2 'report: --token needs --serve' report --token x
}

serve__port_in_use__said()
{
    fixture_database
    serve --serve
    port=$(sed -E 's|.*:([0-9]+)/.*|\1|' <<<"$url")
    run_meshsweep report --serve="$port"
    expect_only_stderr 1 "meshsweep: --serve 127.0.0.1:$port: Address already in use; another program listens there; "\
'choose another port, or give none to use a free one'
    stop_serving INT
    # It is free again at once.
    serve --serve="127.0.0.1:$port" --token hand-made_1
    expect '[ "$url" = "http://127.0.0.1:$port/hand-made_1/" ]'
    wait_until page_stands 10
    stop_serving INT
}

# It is loaded for this alone: all else goes without.
serve__no_web_library__said_by_it_alone()
{
    fixture_database
    mkdir none
    echo >none/libmicrohttpd.so.12
    expect_command status 1 env LD_LIBRARY_PATH="$PWD/none" "$meshsweep" report --serve
    expect_no_stdout
    expect_stderr_matches '^meshsweep: --serve: the web server cannot start: .*libmicrohttpd\.so\.12: file too short; '\
'on Debian: apt-get install libmicrohttpd12$'
    expect_command only_stderr 0 env LD_LIBRARY_PATH="$PWD/none" "$meshsweep" report -o page.html
    run_command env LD_LIBRARY_PATH="$PWD/none" "$meshsweep" --version
    expect_only_stdout_contains 0 'libmicrohttpd not found'
}

serve__ipv6_and_no_token__served()
{
    fixture_database
    grep -qs 00000000000000000000000000000001 /proc/net/if_inet6 || skip "there is no IPv6"
    serve --serve='[::1]:0' --token ''
    expect '[[ $url =~ ^http://\[::1\]:[0-9]+/$ ]]'
    wait_until page_stands 10
    stop_serving INT
}

# Many who wait and some who never read: the page is there for others, and a signal ends it at once.
serve__many_and_deaf_readers__nobody_is_held_up()
{
    fixture_database
    serve_page
    cat >readers.py <<'END'
import socket, sys, time, urllib.parse
url = urllib.parse.urlsplit(sys.argv[1])

def ask(path, times):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((url.hostname, url.port))
    s.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % ((url.path + path).encode(), url.netloc.encode()) * times)
    return s

deaf = [ask(path, 20) for path in ["", "changes?since=0", "events"] * 10]
waiting = [ask("events", 1) for _ in range(100)]
for s in waiting:
    while b"data: " not in s.recv(4096):
        pass
print("all are there", flush=True)
time.sleep(1000)
END
    python3 readers.py "$url" >readers 2>&1 &
    wait_until '[ -s readers ]' 20
    expect 'grep -qx "all are there" readers'
    patient_sqlite results.db "UPDATE sweep SET name = 'changed meanwhile'"
    renamed() { get "$url"; grep -q '<h1>changed meanwhile' got; }
    wait_until renamed 10
    local began=$SECONDS most=200000
    [ -z "${ASAN_OPTIONS-}" ] || most=600000 # it keeps what is freed aside
    expect '[ "$(awk "/VmRSS/ { print \$2 }" /proc/$server_pid/status)" -lt "$most" ]'
    stop_serving INT
    expect '[ $((SECONDS - began)) -le 3 ]' '[ "$server_status" = 130 ]'
}

run_cases "$@"
