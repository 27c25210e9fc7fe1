"""A server for tests: fixture_server.py PORT STARTS [OPTION...]

Adds a line "start PID TICKS" to the file STARTS, then answers GET /health, /work, /reset and /die on 127.0.0.1. Options:
--seqs=N is told by /work; --mute never listens; --quit ends after /work was asked for N times in all starts.
"""
import argparse
import http.server
import os
import sys

options = argparse.ArgumentParser()
options.add_argument("port", type=int)
options.add_argument("starts")
options.add_argument("--seqs", default="1")
options.add_argument("--mute", action="store_true")
options = options.parse_args()


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[19]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die":
            os._exit(7)
        if self.path == "/reset":
            with open(options.starts, "a", encoding="ascii") as starts:
                print("reset", file=starts)
        body = f"seqs {options.seqs} of {os.getpid()}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with open(options.starts, "a", encoding="ascii") as starts:
    print("start", os.getpid(), ticks(os.getpid()), file=starts)
if options.mute:
    print("loading for ever", flush=True)
    while True:
        sys.stdin.read()
        __import__("time").sleep(60)
server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
print("serving on port", options.port, flush=True)
server.serve_forever()
