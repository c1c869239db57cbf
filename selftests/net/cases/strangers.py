# SPDX-License-Identifier: GPL-2.0-only
"""Servers of plain TCP whose option, or a middlebox's, says that they speak SMC: programs of a
namespace that is selected have to get what TCP would give them, the second time without delay."""

from contextlib import contextmanager

from churn import stats
from harness import case
from selecting import SWITCH, needs_selection, set_to
from strange import AT_ONCE_S, CTL, SILENCE_S, costs_once, serving, strange

_GREETER = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])), family=socket.AF_INET6, backlog=8,
                              dualstack_ipv6=True)
while True:
    with server.accept()[0] as connection, connection.makefile("rw", newline="\\r\\n") as lines:
        try:
            print("220 strange ESMTP", file=lines, flush=True)
            for line in lines:
                print("250", line.strip(), file=lines, flush=True)
        except (OSError, ValueError):
            pass
"""
# A session as a mail program has it.
_TALK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as client:
    lines = client.makefile("rw", newline="\\r\\n")
    heard = [lines.readline().strip()]
    for words in "HELO", "QUIT":
        print(words, file=lines, flush=True)
        heard.append(lines.readline().strip())
assert heard == ["220 strange ESMTP", "250 HELO", "250 QUIT"], heard
"""
_ECHO = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])), backlog=8)
while True:
    with server.accept()[0] as connection:
        try:
            while data := connection.recv(4096):
                connection.sendall(data)
        except OSError:
            pass
"""
_ASK = """
import os, socket, sys
words = os.urandom(100_000)
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as client:
    client.sendall(words)
    heard = b""
    while len(heard) < len(words):
        heard += client.recv(65536)
assert heard == words
"""


@contextmanager
def echoing(vm):
    """A command of a that talks to a strange server of b, which echoes."""
    vm.b.put("/tmp/echo.py", _ECHO.encode())
    vm.a.put("/tmp/ask.py", _ASK.encode())
    with strange(vm.b) as inside, serving(vm.b, f"{inside} python3 /tmp/echo.py 2007", 2007):
        yield f"python3 /tmp/ask.py {vm.b.ip4} 2007"


@case(on="ours+none")
def server_that_greets(vm):
    needs_selection(vm.a)
    vm.b.put("/tmp/greeter.py", _GREETER.encode())
    vm.a.put("/tmp/talk.py", _TALK.encode())
    with strange(vm.b) as inside, serving(vm.b, f"{inside} python3 /tmp/greeter.py 2525", 2525):
        costs_once(vm, f"python3 /tmp/talk.py {vm.b.ip4} 2525", AT_ONCE_S)
        costs_once(vm, f"python3 /tmp/talk.py {vm.b.ip6} 2525", AT_ONCE_S)


@case(on="ours+none")
def server_that_echoes(vm):
    needs_selection(vm.a)
    with echoing(vm) as ask:
        costs_once(vm, ask, AT_ONCE_S)


@case(on="ours+none")
def web_server(vm):
    """It takes the Proposal for a request, and says that this is a bad one."""
    needs_selection(vm.a)
    vm.b.run("mkdir -p /tmp/strange && echo found >/tmp/strange/file")
    with strange(vm.b) as inside, serving(
            vm.b, f"{inside} python3 -m http.server --directory /tmp/strange 8080", 8080):
        costs_once(vm, f"curl -sf --max-time 20 http://{vm.b.ip4}:8080/file | grep -qx found",
                   SILENCE_S)


@case(on="ours+none")
def server_that_waits_for_more(vm):
    """Redis reads the Proposal as the beginning of a line, and is silent."""
    needs_selection(vm.a)
    with strange(vm.b) as inside, serving(
            vm.b, f"{inside} redis-server --port 6380 --protected-mode no --save ''", 6380):
        costs_once(vm, f"redis-cli -h {vm.b.ip4} -p 6380 ping | grep -qx PONG", SILENCE_S)


@case(on="ours+none")
def strangers_are_shown_and_forgotten(vm):
    needs_selection(vm.a)

    def again() -> int:
        before = stats(vm.a)["connected_again"]
        vm.a.run(ask)
        return stats(vm.a)["connected_again"] - before

    with echoing(vm) as ask, set_to(vm.a, SWITCH, 1):
        vm.a.run(f"{CTL} peers flush")
        assert again() == 1 and again() == 0
        shown = vm.a.run(f"{CTL} peers show").out
        assert f"plain    {vm.b.ip4}:2007 for " in shown, shown
        # Those of a namespace are its own.
        assert vm.a.run(f"unshare -n {CTL} peers show").out == ""
        vm.a.run(f"{CTL} peers flush")
        assert vm.a.run(f"{CTL} peers show").out == "" and again() == 1
        vm.a.run("sysctl -q net.smc.plain_peer_time=0")
        assert again() == 1 and again() == 1
        vm.a.run("sysctl -q net.smc.plain_peer_time=1")
        vm.a.run(f"{CTL} peers flush && {ask} && sleep 2")
        assert again() == 1
        vm.a.run("sysctl -q net.smc.plain_peer_time=600")
        vm.a.run(f"{CTL} peers flush")
        refused = vm.a.run(f"setpriv --reuid=65534 --clear-groups --bounding-set=-all {CTL} peers"
                           " flush", check=False)
        assert refused.rc != 0 and "not permitted" in refused.err, refused.err
