#!/usr/bin/env python3
"""Runs a command at a terminal and types answers: at_terminal.py ANSWER... -- COMMAND ARGUMENT...

Each answer is typed once the command has asked (its output ends with "? ", ") " or "] "), and a line end after it, unless the
answer is ^C or ^D, which are these keys. Prints what the terminal showed, and ends with the status of the command, or
128 + the signal that ended it. A command that still asks when there is nothing left to type is ended after a second:
status 99."""
import os
import pty
import select
import sys

KEYS = {"^C": b"\x03", "^D": b"\x04"}


def asked(descriptor, shown, seconds):
    """What it printed until it asked, was silent for too long, or ended (then with True)."""
    while not shown.endswith((b"? ", b") ", b"] ")):
        if not select.select([descriptor], [], [], seconds)[0]:
            return shown, False
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # its end of the terminal is closed
            return shown, True
        if not part:
            return shown, True
        shown += part
    return shown, False


def main():
    end = sys.argv.index("--")
    answers, command = sys.argv[1:end], sys.argv[end + 1:]
    process, descriptor = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    everything, is_over = b"", False
    for answer in answers:
        shown, is_over = asked(descriptor, b"", 20)
        everything += shown
        if is_over:
            break
        os.write(descriptor, KEYS.get(answer) or answer.encode() + b"\n")
    while not is_over:
        shown, is_over = asked(descriptor, b"", 1 if answers else 20)
        everything += shown
        if not is_over and shown.endswith((b"? ", b") ", b"] ")):
            os.kill(process, 9)
            os.waitpid(process, 0)
            sys.exit(99)
    _, status = os.waitpid(process, 0)
    sys.stdout.write(everything.decode(errors="replace").replace("\r\n", "\n"))
    sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


main()
