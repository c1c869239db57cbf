# SPDX-License-Identifier: GPL-2.0-only
"""Commands on a machine whose agent answers (guest/agent.py)."""

import base64
import signal
from dataclasses import dataclass

from .channel import Channel


@dataclass(frozen=True)
class Result:
    """A finished command. rc is the exit status, 128 + n for a signal n. cut: output was lost."""

    command: str
    rc: int
    out: str
    err: str
    cut: bool = False


class CommandFailed(AssertionError):
    """A command that had to succeed did not, or did not end in time."""

    def __init__(self, name: str, why: str, command: str, out: str, err: str) -> None:
        self.out, self.err = out, err
        super().__init__(f"[{name}] {why}: {command}\n{out[-4000:]}{err[-4000:]}")


class Process:
    """A command in the background."""

    def __init__(self, shell: "Shell", command: str, number: int) -> None:
        self._shell = shell
        self._number = number
        self.command = command

    def wait(self, timeout_s: float = 60, check: bool = True) -> Result:
        """Until it ends. Kills it and raises CommandFailed when that takes too long; with check,
        raises for a non-zero exit status, too."""
        timeout_s *= self._shell.patience
        state = self._shell.channel.request("wait", timeout_s, job=self._number,
                                            limit_s=timeout_s, kill=True)
        return self._shell.conclude(self.command, state, state["in_time"], timeout_s, check)

    def expect(self, pattern: str, timeout_s: float = 60) -> str:
        """Until its output has the regular expression; what it has printed to stdout so far."""
        timeout_s *= self._shell.patience
        state = self._shell.channel.request("expect", timeout_s, job=self._number,
                                            pattern=pattern, limit_s=timeout_s)
        if not state["seen"]:
            ended = "still runs" if state["rc"] is None else f"ended with {state['rc']}"
            raise CommandFailed(self._shell.name, f"never printed {pattern!r} and {ended}",
                                self.command, state["out"], state["err"])
        return state["out"]

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._shell.channel.request("wait", 1, job=self._number, limit_s=0,
                                           kill=False)["rc"]

    def input(self, data: bytes, close: bool = False) -> None:
        self._shell.channel.request("input", job=self._number, close=close,
                                    data=base64.b64encode(data).decode())

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Signals its process group."""
        self._shell.channel.request("kill", job=self._number, number=int(number))


class Shell:
    """name: in messages. home: where commands run. patience: by what their timeouts are multiplied."""

    def __init__(self, name: str, channel: Channel, home: str, patience: int = 1) -> None:
        self.name = name
        self.channel = channel
        self.patience = patience
        self._home = home

    def run(self, command: str, timeout_s: float = 60, check: bool = True,
            env: dict[str, str] | None = None) -> Result:
        """Runs a bash command line; Process.wait() says what it raises."""
        return self.spawn(command, env).wait(timeout_s, check)

    def spawn(self, command: str, env: dict[str, str] | None = None) -> Process:
        number = self.channel.request("start", command=command, env=env or {}, cwd=self._home)
        return Process(self, command, number)

    def wait_for(self, command: str, timeout_s: float = 30) -> Result:
        """Repeats the command until it succeeds; raises CommandFailed if it never does."""
        timeout_s *= self.patience
        state = self.channel.request("until", timeout_s, command=command, limit_s=timeout_s,
                                     env={}, cwd=self._home)
        if not state["met"]:
            raise CommandFailed(self.name, f"not true within {timeout_s} s", command,
                                state["out"], state["err"])
        return Result(command, 0, state["out"], state["err"], state["cut"])

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        self.channel.request("put", path=path, mode=mode, data=base64.b64encode(data).decode())

    def get(self, path: str) -> bytes:
        return base64.b64decode(self.channel.request("get", path=path))

    def conclude(self, command: str, state: dict, in_time: bool, timeout_s: float,
                 check: bool) -> Result:
        if not in_time:
            raise CommandFailed(self.name, f"still ran after {timeout_s} s", command,
                                state["out"], state["err"])
        result = Result(command, state["rc"], state["out"], state["err"], state["cut"])
        if check and result.rc != 0:
            raise CommandFailed(self.name, f"exit status {result.rc}", command, result.out,
                                result.err)
        return result
