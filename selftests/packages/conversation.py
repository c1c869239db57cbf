# SPDX-License-Identifier: GPL-2.0-only
"""A connection between programs of two hosts, which smc_run starts."""

import json

from host import Host

PORT = 7000
_SERVE = f"""
import socket
with socket.create_server(("", {PORT})) as listener:
    print("ready", flush=True)
    end, _ = listener.accept()
while data := end.recv(100):
    end.sendall(data)
"""
_ASK = f"""
import socket, sys
with socket.create_connection((sys.argv[1], {PORT})) as end:
    print("ready", flush=True)
    for line in sys.stdin.buffer:
        end.sendall(line)
        print(end.recv(100).decode().strip(), flush=True)
"""


class Conversation:
    """Open from its construction to its end, as a context."""

    def __init__(self, client: Host, server: Host) -> None:
        self._hosts = client, server
        self._serving = server.shell.spawn(f"exec smc_run python3 -c '{_SERVE}'")
        self._serving.expect("ready")
        self._asking = client.shell.spawn(f"exec smc_run python3 -c '{_ASK}' {server.ip4}")
        self._asking.expect("ready")

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_) -> None:
        self._asking.input(b"", close=True)
        self._asking.wait()
        self._serving.wait()

    def says(self, text: str) -> None:
        """And hears it again."""
        self._asking.input(f"{text}\n".encode())
        self._asking.expect(f"^{text}$")

    def carrier(self) -> str:
        """As both hosts' smc_ctl has it."""
        found = {one["carrier"] for host in self._hosts
                 for one in json.loads(host.shell.run("smc_ctl sockets --json --state active").out)
                 if PORT in (one["local"]["port"], one["peer"]["port"])}
        return " and ".join(sorted(found))


def talks_over_smcr(first: Host, second: Host) -> None:
    """In both roles."""
    for client, server in (first, second), (second, first):
        with Conversation(client, server) as conversation:
            conversation.says("hello")
            assert conversation.carrier() == "SMC-R", conversation.carrier()
