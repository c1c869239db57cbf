#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A connection over SMC of which both ends close, for a look at what TCP makes of it.

    farewell.py serve PORT [keep]    accepts one, reads to its end, and closes it, or keeps it until it is killed
    farewell.py connect HOST PORT    opens one, says a byte, hears one, and closes
"""

import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import smc_socket


def serve(port: int, keep: bool) -> None:
    listener = smc_socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(1)
    print("listening", flush=True)
    connection, _ = listener.accept()
    listener.close()
    connection.send(connection.recv(10))
    assert connection.recv(10) == b""
    if keep:
        time.sleep(3600)
    connection.close()


def connect(host: str, port: int) -> None:
    with smc_socket() as connection:
        connection.connect((host, port))
        connection.send(b"x")
        assert connection.recv(10) == b"x"


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), sys.argv[3:] == ["keep"])
    else:
        connect(sys.argv[2], int(sys.argv[3]))
