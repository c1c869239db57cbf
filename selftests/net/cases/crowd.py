# SPDX-License-Identifier: GPL-2.0-only
"""For cases with many connections at a time (many.py)."""

from contextlib import contextmanager

from harness import Guest, Process

MANY = "selftests/net/many.py"


class Many:
    """Connections that say a byte each in a round, and are answered."""

    def __init__(self, client: Process, limit_s: float) -> None:
        self._client = client
        self._expected = ""
        self._says(r"connected \d+\n", limit_s)

    def _says(self, line: str, limit_s: float) -> str:
        self._expected += line
        return self._client.expect(self._expected, limit_s)

    def go_round(self) -> float:
        """How many seconds it took."""
        self._client.input(b"\n")
        return float(self._says(r"answered: .*\n", 120).split()[-2])

    def open(self, more: int) -> None:
        self._client.input(f"{more}\n".encode())
        self._says(r"connected \d+\n", 200)


@contextmanager
def crowd(client: Guest, server: Guest, address: str, port: int, count: int, limit_s: float = 200,
          by: tuple[str, str] = ("", "")):
    """address: the server's. limit_s: for all to be there. by: what runs the client's program, and the server's."""
    echo = server.spawn(f"{by[1]} {MANY} serve {port}")
    echo.expect("listening")
    talk = client.spawn(f"{by[0]} {MANY} connect {address} {port} {count}")
    try:
        yield Many(talk, limit_s)
    finally:
        talk.input(b"", close=True)
        talk.wait()
        echo.kill()
        echo.wait(check=False)
