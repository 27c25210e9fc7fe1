"""Asks a server: http_get.py URL [HEADER=VALUE...] prints the status, then headers that matter, then the body.

http_get.py --each URL PATH...        the status of each path behind the address, and what of them is not as it should be:
                                      a body with "secret" in it
http_get.py --method METHOD URL …     another method than GET
http_get.py --events N URL …          the first N server-sent events, one per line
http_get.py --open N URL …            opens N streams of events, writes "open", holds them until its input ends, and
                                      writes how many of them are still there
http_get.py --deaf URL                asks for the page and events many times over and reads nothing, until its input
                                      ends"""

import http.client
import socket
import sys
import urllib.parse

arguments = sys.argv[1:]
option, value = None, None
if arguments[0].startswith("--"):
    option = arguments.pop(0)
    value = None if option in ("--deaf", "--each") else arguments.pop(0)
url = urllib.parse.urlsplit(arguments.pop(0))
headers = {} if option == "--each" else dict(a.split("=", 1) for a in arguments)


def request(method="GET", more=""):
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    # As it stands: urlsplit takes nothing out of "/../".
    c.putrequest(method, url.path + more + ("?" + url.query if url.query else ""), skip_host="Host" in headers)
    for name, text in headers.items():
        c.putheader(name, text)
    c.endheaders()
    return c, c.getresponse()


def next_event(response):
    while True:
        line = response.readline().decode()
        if not line:
            raise SystemExit("the stream ended")
        if line.startswith("data: "):
            return line[6:].rstrip("\n")


if option == "--events":
    _, response = request()
    for _ in range(int(value)):
        print(next_event(response), flush=True)
elif option == "--each":
    for path in arguments:
        _, response = request(more=path)
        print(response.status, path, "with the secret" if b"secret" in response.read() else "")
elif option == "--open":
    streams = [request() for _ in range(int(value))]
    for _, response in streams:
        next_event(response)
    print("open", flush=True)
    sys.stdin.read()
    print(sum(not response.isclosed() for _, response in streams), flush=True)
elif option == "--deaf":
    sockets = []
    for path in [url.path, url.path + "changes?since=0", url.path + "events"] * 10:
        s = socket.create_connection((url.hostname, url.port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path.encode(), url.netloc.encode())
                           for _ in range(20)))
        sockets.append(s)
    print("deaf", flush=True)
    sys.stdin.read()
else:
    _, response = request(value or "GET")
    print(response.status)
    for name in ("Content-Type", "Location", "Access-Control-Allow-Origin", "Cache-Control"):
        if response.getheader(name) is not None:
            print(f"{name}: {response.getheader(name)}")
    sys.stdout.flush()
    sys.stdout.buffer.write(response.read())
