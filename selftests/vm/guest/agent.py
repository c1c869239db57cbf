# SPDX-License-Identifier: GPL-2.0-only
"""Carries out the host's requests inside a guest.

A request is one line of JSON on a virtio-serial port: {"id": …, "op": …, arguments}. Each runs in
a thread of its own and is answered, in any order, by {"id": …, "ok": value} or {"id": …,
"error": text}. Unknown to the agent: what the commands are for.
"""

import base64
import importlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

PORT_NAME = "agent"
POLL_INTERVAL_S = 0.05
# What one command may print before the agent keeps only the end of it.
OUTPUT_BYTES_MAX = 8 << 20


def say(text: str) -> None:
    """Writes into the kernel log, so that the console shows what ran before a warning."""
    with open("/dev/kmsg", "w") as kmsg:
        kmsg.write(f"smc-vm: {text}\n")


class Job:
    """A running or finished command. out and err grow until ended is true."""

    def __init__(self, command: str, environment: dict, directory: str | None) -> None:
        self.changed = threading.Condition()
        self.text = {"out": bytearray(), "err": bytearray()}
        self.cut = False
        self.rc: int | None = None
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd=directory,
            env={**os.environ, **environment})
        readers = [threading.Thread(target=self._read, args=(stream, name), daemon=True)
                   for stream, name in ((self.process.stdout, "out"), (self.process.stderr, "err"))]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._reap, args=(readers,), daemon=True).start()

    def _read(self, stream, name: str) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            with self.changed:
                text = self.text[name]
                text += chunk
                if len(text) > OUTPUT_BYTES_MAX:
                    del text[:-OUTPUT_BYTES_MAX]
                    self.cut = True
                self.changed.notify_all()

    def _reap(self, readers: list) -> None:
        code = self.process.wait()
        # A background child may hold the pipes open; what it prints later is not waited for.
        for reader in readers:
            reader.join(timeout=1)
        with self.changed:
            self.rc = code if code >= 0 else 128 - code
            self.changed.notify_all()

    def state(self) -> dict:
        with self.changed:
            return {"rc": self.rc, "cut": self.cut,
                    **{name: text.decode(errors="replace") for name, text in self.text.items()}}

    def wait(self, timeout_s: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.rc is not None, timeout_s)

    def expect(self, pattern: str, timeout_s: float) -> bool:
        """Waits until out or err has the pattern; false once the job ended without it."""
        regex = re.compile(pattern.encode(), re.MULTILINE)

        def seen() -> bool:
            return any(regex.search(text) for text in self.text.values())

        with self.changed:
            self.changed.wait_for(lambda: seen() or self.rc is not None, timeout_s)
            return seen()

    def kill(self, number: int) -> None:
        if self.rc is None:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass


class Agent:
    """The operations. Every op_… method is one; arguments come from the request by name."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)

    def op_ping(self) -> str:
        return os.uname().release

    def op_start(self, command: str, env: dict, cwd: str | None) -> int:
        number = next(self._numbers)
        self._jobs[number] = Job(command, env, cwd)
        return number

    def op_wait(self, job: int, limit_s: float, kill: bool) -> dict:
        """The job's state when it ended or the time was up, in which case kill may end it."""
        found = self._jobs[job]
        in_time = found.wait(limit_s)
        if not in_time and kill:
            found.kill(signal.SIGKILL)
            found.wait(5)
        return {**found.state(), "in_time": in_time}

    def op_expect(self, job: int, pattern: str, limit_s: float) -> dict:
        found = self._jobs[job]
        return {"seen": found.expect(pattern, limit_s), **found.state()}

    def op_input(self, job: int, data: str, close: bool) -> None:
        pipe = self._jobs[job].process.stdin
        pipe.write(base64.b64decode(data))
        pipe.flush()
        if close:
            pipe.close()

    def op_kill(self, job: int, number: int) -> None:
        self._jobs[job].kill(number)

    def op_running(self) -> list[int]:
        return [number for number, job in self._jobs.items() if job.rc is None]

    def op_kill_all(self) -> None:
        for job in self._jobs.values():
            job.kill(signal.SIGKILL)
            job.wait(5)
        self._jobs.clear()

    def op_until(self, command: str, limit_s: float, env: dict, cwd: str | None) -> dict:
        """Repeats the command until it succeeds; the last try's state."""
        deadline = time.monotonic() + limit_s
        while True:
            job = Job(command, env, cwd)
            ended = job.wait(max(deadline - time.monotonic(), 1))
            if not ended:
                job.kill(signal.SIGKILL)
                job.wait(5)
            if (ended and job.rc == 0) or time.monotonic() >= deadline:
                return {**job.state(), "met": ended and job.rc == 0}
            time.sleep(POLL_INTERVAL_S)

    def op_call(self, function: str, args: list, kwargs: dict):
        """Calls module.function of this directory, without starting an interpreter."""
        module, name = function.rsplit(".", 1)
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    def op_until_call(self, function: str, args: list, kwargs: dict, limit_s: float):
        """Repeats the call until its value is true; the last value."""
        deadline = time.monotonic() + limit_s
        while True:
            value = self.op_call(function, args, kwargs)
            if value or time.monotonic() >= deadline:
                return value
            time.sleep(POLL_INTERVAL_S)

    def op_put(self, path: str, data: str, mode: int) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(data))
        target.chmod(mode)

    def op_get(self, path: str) -> str:
        return base64.b64encode(Path(path).read_bytes()).decode()

    def op_say(self, text: str) -> None:
        say(text)

    def op_power_off(self, last_words: str) -> None:
        """Prints the words as the last line of the console and turns the guest off."""
        say(last_words)
        subprocess.run(["busybox", "sync"], check=False)
        os._exit(0)


def serve(port) -> None:
    agent = Agent()
    write_lock = threading.Lock()

    def answer(reply: dict) -> None:
        data = json.dumps(reply).encode() + b"\n"
        with write_lock:
            view = memoryview(data)
            while view:
                view = view[os.write(port, view):]

    def handle(request: dict) -> None:
        identity, name = request.pop("id"), request.pop("op")
        try:
            answer({"id": identity, "ok": getattr(agent, f"op_{name}")(**request)})
        except Exception:
            answer({"id": identity, "error": traceback.format_exc()})

    pending = b""
    while True:
        chunk = os.read(port, 65536)
        if not chunk:
            # No one is connected on the host's side; reads return at once until someone is.
            time.sleep(POLL_INTERVAL_S)
            continue
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            try:
                request = json.loads(line)
            except ValueError:
                continue
            threading.Thread(target=handle, args=(request,), daemon=True).start()


def find_port() -> str:
    for name in Path("/sys/class/virtio-ports").glob("*/name"):
        if name.read_text().strip() == PORT_NAME:
            return f"/dev/{name.parent.name}"
    raise FileNotFoundError(f"no virtio-serial port named {PORT_NAME}")


if __name__ == "__main__":
    serve(os.open(find_port(), os.O_RDWR))
