"""A client of `meshsweep mcp` for tests: it starts the server, and speaks with it by lines."""

import json
import os
import select
import subprocess
import time

PATIENCE = 60.0
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Client:
    def __init__(self, *options, session=True):
        self.process = subprocess.Popen([os.environ["MESHSWEEP"], "mcp", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.number = 0
        self.unread = b""
        if session:
            self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test"})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data):
        while data:
            data = data[self.process.stdin.write(data):]

    def request(self, method, **parameters):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters})
        return self.number

    def receive(self, seconds=PATIENCE):
        """The next message; None: it has closed its end."""
        until = time.monotonic() + seconds
        while b"\n" not in self.unread:
            left = max(0.0, until - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("no message")
            block = os.read(self.process.stdout.fileno(), 65536)
            if not block:
                return None
            self.unread += block
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line.decode())

    def ask(self, method, **parameters):
        number = self.request(method, **parameters)
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == number, answer
        return answer.get("result", answer.get("error"))

    def call(self, name, **arguments):
        """The texts of a tool's answer, the first as JSON where it is, and whether it is an error."""
        result = self.ask("tools/call", name=name, arguments=arguments)
        texts = [item["text"] for item in result["content"]]
        if texts and texts[0].startswith(("{", "[")):
            try:
                texts[0] = json.loads(texts[0])
            except ValueError:
                pass
        return texts, result["isError"]

    def memory(self):
        """The most that it had at a time, in MiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

    def close(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.01)
