#!/usr/bin/env bash
# `meshsweep mcp`: the protocol, each tool, what the server allows, and clients that mean no good.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# Reads the program from standard input.
run_client() # [WHAT IT PRINTS]
{
    { echo "import json, os, signal, subprocess; from mcp_client import *" && cat; } >client.py
    run_command env MESHSWEEP="$meshsweep" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$tests_source_dir/cli" \
        python3 client.py
    expect_only_stdout 0 "$@"
}

# A job that says its process's number, and stays.
lasting_job()
{
    small_sweep
    echo 'echo $$ >pid.new; mv pid.new pid; exec sleep 1000' >job.sh
}

handshake__versions__negotiated()
{
    run_client "{} -32602
2024-11-05 2024-11-05 {'tools': {}} meshsweep
2025-03-26 2024-11-05 {'tools': {}} meshsweep
2025-06-18 2025-06-18 {'tools': {}} meshsweep
2025-11-25 2025-11-25 {'tools': {}} meshsweep
2026-07-28 2025-11-25 {'tools': {}} meshsweep
2999-01-01 2025-11-25 {'tools': {}} meshsweep
1999-01-01 2025-11-25 {'tools': {}} meshsweep
7 2025-11-25 {'tools': {}} meshsweep
['tools'] -32601 -32602 -32602 -32602
0" <<'END'
client = Client(session=False)
print(client.ask("ping"), client.ask("tools/list")["code"])
for wanted in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2999-01-01", "1999-01-01", 7):
    answer = client.ask("initialize", protocolVersion=wanted, capabilities={}, clientInfo={"name": "x", "version": "1"})
    print(wanted, answer["protocolVersion"], answer["capabilities"], answer["serverInfo"]["name"])
client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
print(sorted(client.ask("tools/list")), client.ask("resources/list")["code"], client.ask("tools/call")["code"],
      client.ask("tools/call", name="rm")["code"], client.ask("tools/call", name="status", arguments=[])["code"])
print(client.close())
END
}

stateless__each_request_says_its_version()
{
    small_sweep
    run_client "['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'] complete meshsweep
['_meta', 'cacheScope', 'resultType', 'tools', 'ttlMs'] private
['_meta', 'content', 'isError', 'resultType'] False
-32022 2999-01-01 2026-07-28
-32602 -32602
0" <<'END'
client = Client(session=False)
found = client.ask("server/discover", _meta=MODERN)
print(found["supportedVersions"], found["resultType"], found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"])
listed = client.ask("tools/list", _meta=MODERN)
print(sorted(listed), listed["cacheScope"])
called = client.ask("tools/call", name="check", arguments={}, _meta=MODERN)
print(sorted(called), called["isError"])
other = client.ask("tools/list", _meta={**MODERN, "io.modelcontextprotocol/protocolVersion": "2999-01-01"})
print(other["code"], other["data"]["requested"], other["data"]["supported"][0])
print(client.ask("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})["code"],
      client.ask("server/discover")["code"])
print(client.close())
END
}

# The answer of a tool is the document of the command.
tools__each_once__answer_as_the_command()
{
    begin_trainer_sweep
    toml sweep: objective=max:score job: command='["/bin/sh", "-c", "echo score: $(({data} * {micro_batch}))"]' \
        job.metrics.score: regex='score: ([0-9.]+)' training_spec:: data=16,32 \
        parallel_spec:: micro_batch=1,2 >>sweep.toml
    run_client <<'END'
client = Client("-c", "sweep.toml", "-d", "results.db", "--allow-run")

def same(name, *command, **arguments):
    texts, failed = client.call(name, **arguments)
    printed = subprocess.run([os.environ["MESHSWEEP"], *command, "--json", "-d", "results.db"], stdout=subprocess.PIPE,
                             check=True).stdout
    assert not failed and texts[0] == json.loads(printed), (name, texts, printed)
    print(name)

schemas = {tool["name"]: tool["inputSchema"] for tool in client.ask("tools/list")["tools"]}
print({name: list(schema["properties"]) for name, schema in schemas.items()})
texts, failed = client.call("check")
print(texts[0]["combinations"], failed)
same("plan", "plan", "-c", "sweep.toml")
same("predict", "predict", "-c", "sweep.toml", "--only", "micro_batch = 2", only="micro_batch = 2")
(asked, *_), failed = client.call("ask", proposals=[{"data": 16, "micro_batch": 1}], by="a client", why="to begin")
print(asked["asked"][0]["job"], asked["asked"][0]["by"], failed)
print(client.call("tell", results=[{"job": 1, "metrics": {"score": 11}}])[1])
print(client.call("run", only="micro_batch = 1"))
same("status", "status")
same("results", "results", "--where", "state = 'ok'", "--sort", "score:desc", where="state = 'ok'", sort="score:desc")
same("best", "best")
same("compare", "compare", "--by", "data", by="data")
same("compare", "compare", "1", "3", jobs=[1, 3])
same("show", "show", "1", job=1)
same("why", "why", "3", job=3)
same("why", "why", "-c", "sweep.toml", "data=32", "micro_batch=2", keys={"data": 32, "micro_batch": 2})
print(client.call("results", columns="job,score")[0][0]["records"], client.close())
END
    expect_stdout_contains "4 False" "1 a client False" "(['Call 1 of run; this server allows 10.'], False)" \
        "'results': ['where', 'sort', 'limit', 'columns', 'all']" "'why': ['search-model', 'job', 'keys']" \
        "'predict': ['only', 'limit', 'where', 'sort', 'columns', 'accuracy', 'frontier', 'scale-to']" \
        "'show': ['job'], " "'ask': ['number', 'by', 'why', 'open', 'proposals'], 'tell': ['results']"
    expect '[ "$(grep -cxE "plan|predict|status|results|best|compare|show|why" .stdout)" -eq 10 ]'
    expect_sql "1|ok|11.0
3|ok|32.0" "SELECT job, state, score FROM results WHERE state = 'ok' ORDER BY job"
}

rights__without_allow_run__nothing_is_written()
{
    small_run
    sha256sum results.db sweep.toml >sums
    run_client "['check', 'plan', 'predict', 'status', 'results', 'best', 'compare', 'why', 'show'] True
(['run starts jobs, and this server was started without --allow-run'], True)
(['ask writes to the database, and this server was started without --allow-run'], True)
(['tell writes to the database, and this server was started without --allow-run'], True)
0" <<'END'
client = Client()
tools = client.ask("tools/list")["tools"]
print([tool["name"] for tool in tools], all(tool["annotations"]["readOnlyHint"] for tool in tools))
for name, arguments in (("run", {}), ("ask", {"number": 1}), ("tell", {"results": []})):
    print(client.call(name, **arguments))
for tool in tools:
    client.call(tool["name"], **({"job": 1} if tool["name"] in ("show", "why") else {}))
print(client.close())
END
    expect "sha256sum --status -c sums"
}

arguments__wrong_or_like_options__told()
{
    small_run
    run_client <<'END'
client = Client("--allow-run")
for name, arguments in (
        ("results", {"were": "x = 1"}), ("results", {"limit": 0}), ("results", {"limit": [1]}), ("results", {"all": 1}),
        ("results", {"where": "--help"}), ("results", {"db": "/etc/passwd"}), ("best", {"out": "/tmp/x"}),
        ("run", {"command": "touch owned"}), ("run", {"budget": 1}), ("run", {"retry-failed": "--command=touch owned"}),
        ("show", {"job": "--help"}), ("show", {}), ("show", {"job": 1.5}), ("compare", {"jobs": [1]}),
        ("compare", {"jobs": ["results.db", "results.db"]}), ("why", {"keys": {"--db": "other.db"}}),
        ("why", {"keys": {"-h": 1}}), ("tell", {"results": [{"job": "--help"}]}), ("plan", {"only": "nonsense ("}),
        ("show", {"job": 99})):
    texts, failed = client.call(name, **arguments)
    assert failed, (name, arguments, texts)
    print(texts[0].split("\n")[0] if isinstance(texts[0], str) else texts[1:])
print(client.call("results", where="x = 1 AND y = 20", limit=None)[0][0]["records"][0]["job"], client.close())
END
    expect_stdout_contains 'results has no argument `were`; did you mean "where"?' '`all` is true or false' \
        '`limit` is one value: text or a number' 'results has no argument `db`' 'run has no argument `command`' \
        '`job`: a job is given by its number, such as 7' 'run has no argument `budget`' \
        'show wants `job`' 'best has no argument `out`'
    expect '[ "$(tail -n 1 .stdout)" = "2 0" ]' "! grep -q 'usage: ' .stdout"
    expect_no_file owned
}

budgets__reached__told()
{
    lasting_job
    run_client "['Call 1 of run; this server allows 1.', 'Ended: this server gives run at most 3.0s.'] True False
(['this server allows 1 calls of run (--run-calls), and none is left'], True)
True Cut: this server answers at most 1024 bytes False 0" <<'END'
client = Client("--allow-run", "--run-calls", "1", "--run-timeout", "3s", "--answer-bytes", "1024")
texts, failed = client.call("run", limit=1)
print(texts[-2:], failed, os.path.exists("pid") and is_alive(int(open("pid").read())))
print(client.call("run"))
texts, failed = client.call("plan", all=True)
print(len(texts[0]) <= 1024, texts[-1].split(". ")[0], failed, client.close())
END
}

cancelled__call_and_waiting_one__not_answered()
{
    lasting_job
    run_client "{}
0 False False 0" <<'END'
client = Client("--allow-run", "--run-calls", "2")
run = client.request("tools/call", name="run", arguments={"limit": 1})
waits = client.request("tools/call", name="status", arguments={})
wait_for(lambda: os.path.exists("pid"))
print(client.ask("ping"))
for number in (waits, run, 999, None, "x"):
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
texts, failed = client.call("status")
print(texts[0]["states"]["running"], failed, is_alive(int(open("pid").read())), client.close())
END
}

hostile__nonsense__one_error_each()
{
    small_sweep
    run_client "-32700 -32700 -32600 -32600 -32600 -32600 -32600 -32700 -32700 -32700 -32700 -32700 -32700 \
-32600 -32600 -32600 -32600 -32600 -32600 -32600 -32602
{'jsonrpc': '2.0', 'id': 'aé', 'result': {}}
0 {'jsonrpc': '2.0', 'id': 9, 'result': {}}" <<'END'
client = Client()
for line in (b"nonsense", b"{", b"7", b'"x"', b"null", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
             b"\xff\xfe", b'{"id": "\\u0000", "method": "ping"}', b"[" * 100000, b'{"a":' * 99999, b"\0\0\0", b"{} {}",
             b'{"id": 1}', b'{"id": null, "method": "ping"}', b'{"id": 1.5, "method": "ping"}',
             b'{"id": [1], "method": "ping"}', b'{"id": 1e400, "method": "ping"}', b'{"id": 1, "method": 7}',
             b"x" * (1 << 20) + b"x"):
    client.send_bytes(line + b"\n")
    print(client.receive()["error"]["code"], end=" ")
client.send_bytes(b'\n \r\n{"method": "notifications/none"}\n{"id": 1, "result": {}}\n')
client.send_bytes(b'{"id": 1, "method": "tools/call", "params": [1, 2]}\n')
print(client.receive()["error"]["code"])
client.send_bytes(b'{"id": "a\xc3\xa9", "method": "ping"}\r\n')
print(client.receive())
client.process.stdin.write(b'{"id": 9, "method": "ping"}')
print(client.close(), client.receive())
END
}

hostile__one_line_of_1_gib__not_kept()
{
    run_client "a message of more than 1 MiB, which is left out True {} 0" <<'END'
client = Client()
block = b"x" * (1 << 20)
for _ in range(1024):
    client.send_bytes(block)
client.send_bytes(b"\n")
print(client.receive()["error"]["message"], client.memory() < 64, client.ask("ping"), client.close())
END
}

hostile__floods__bounded()
{
    small_sweep
    run_client "True 0
True True 0" <<'END'
client = Client()
for _ in range(100):
    client.request("tools/call", name="check", arguments={})
answers = [client.receive()["result"] for _ in range(100)]
print(sum("Too many calls" in a["content"][0]["text"] for a in answers) in range(50, 100), client.close())
# It never reads: then nothing more is read from it.
client = Client()
os.set_blocking(client.process.stdin.fileno(), False)
request = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n' * 1000
sent, until = 0, time.monotonic() + 3
while time.monotonic() < until:
    sent += client.process.stdin.write(request) or 0
    select.select([], [client.process.stdin], [], 0.1)
print(sent < 4 << 20, client.memory() < 96, client.close())
END
}

# The runner of its jobs is ended with it, whatever way it ends.
ends__input_output_signals__nothing_is_left()
{
    lasting_job
    run_client "0 Ended: the client closed its end. 0 0 130 143 129 -9 -2 -15 " <<'END'
def run():
    if os.path.exists("pid"):
        os.remove("pid")
    client = Client("--allow-run")
    client.request("tools/call", name="run", arguments={"limit": 1, "retry-failed": ""})
    wait_for(lambda: os.path.exists("pid"))
    return client, int(open("pid").read())

for way in ("input", "output", "both", signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    client, job = run()
    if way in ("output", "both"):
        client.process.stdout.close()
    if way in ("input", "both"):
        client.process.stdin.close()
    if isinstance(way, int):
        client.process.send_signal(way)
    print(client.process.wait(PATIENCE), end=" ")
    if way == "input":
        print(client.receive()["result"]["content"][-1]["text"], end=" ")
    wait_for(lambda: not is_alive(job))
# With no call to answer it ends at once.
for way in (signal.SIGINT, signal.SIGTERM):
    client = Client()
    client.process.send_signal(way)
    print(client.process.wait(PATIENCE), end=" ")
END
}

output__cannot_be_written__told()
{
    [ -c /dev/full ] || skip "there is no /dev/full"
    run_command bash -c 'echo "{\"id\": 1, \"method\": \"ping\"}" | "$1" mcp >/dev/full' sh "$meshsweep"
    expect_only_stderr 1 "meshsweep: mcp: cannot write to standard output: No space left on device"
}

run_cases "$@"
