# SPDX-License-Identifier: GPL-2.0-only
"""The host's end of the line to a guest's agent (guest/agent.py has the protocol)."""

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable

# The agent's own timeouts end an operation; this is what the line may take on top of it.
_GRACE_S = 30
_RETRY_S = 0.05
_HELLO_S = 1


class GuestGone(Exception):
    """The guest ended or stopped answering."""


class AgentError(Exception):
    """The agent could not carry out an operation; its traceback is the text."""


class Channel:
    """Thread-safe: several requests may be under way. alive: whether QEMU still runs."""

    def __init__(self, path: Path, alive: Callable[[], bool]) -> None:
        self._path = path
        self._alive = alive
        self._changed = threading.Condition()
        self._replies: dict[int, dict] = {}
        # A kept guest is spoken to by one short-lived program after another: start where no
        # earlier one has been, so that a late answer to it is not taken for one to us.
        self._next_id = time.monotonic_ns()
        self._closed = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connect()
        threading.Thread(target=self._read, daemon=True).start()

    def _connect(self) -> None:
        while True:
            try:
                self._socket.connect(str(self._path))
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if not self._alive():
                    raise GuestGone("QEMU ended before it listened; see qemu.log") from None
                time.sleep(_RETRY_S)

    def wait_ready(self, timeout_s: float) -> None:
        """Until the agent answers. What is sent before it runs may be lost, so it is repeated."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.request("ping", timeout_s=_HELLO_S, grace_s=0)
                return
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise GuestGone(f"the guest did not come up in {timeout_s} s") from None

    def request(self, op: str, timeout_s: float = 30, grace_s: float = _GRACE_S,
                **arguments: Any) -> Any:
        """The operation's value. timeout_s: how long the agent itself may take."""
        with self._changed:
            identity = self._next_id
            self._next_id += 1
        line = json.dumps({"id": identity, "op": op, **arguments}).encode() + b"\n"
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise GuestGone(f"cannot reach the guest: {error}") from None
        deadline = time.monotonic() + timeout_s + grace_s
        with self._changed:
            while identity not in self._replies:
                if self._closed or not self._alive():
                    raise GuestGone(f"the guest ended during {op}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no answer to {op} in {timeout_s + grace_s} s")
                self._changed.wait(min(left, 1))
            reply = self._replies.pop(identity)
        if "error" in reply:
            raise AgentError(reply["error"])
        return reply["ok"]

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        pending = b""
        while True:
            try:
                chunk = self._socket.recv(65536)
            except OSError:
                chunk = b""
            with self._changed:
                if not chunk:
                    self._closed = True
                    self._changed.notify_all()
                    return
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    reply = json.loads(line)
                    self._replies[reply["id"]] = reply
                self._changed.notify_all()
