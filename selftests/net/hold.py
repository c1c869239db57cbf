#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Holds SMC connections open and says how they end.

    hold.py serve PORT            accepts one connection, then waits on it
    hold.py connect HOST PORT     opens one, then waits on it
    --send                        sends all the time instead of reading
    --timeout S                   gives up after that long (60)

Prints "connected", then "ended: <errno name, EOF or timeout> after <seconds> s".
"""

import argparse
import errno
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import smc_socket


def wait_for_end(connection: socket.socket, send: bool) -> str:
    try:
        while True:
            if send:
                connection.sendall(bytes(10000))
            elif not connection.recv(65536):
                return "EOF"
    except TimeoutError as error:
        # The socket's ETIMEDOUT has an errno, Python's own timeout has none.
        return "timeout" if error.errno is None else "ETIMEDOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=("serve", "connect"))
    parser.add_argument("where", nargs="+")
    parser.add_argument("--send", action="store_true")
    parser.add_argument("--timeout", type=float, default=60)
    args = parser.parse_args()
    connection = smc_socket()
    if args.role == "serve":
        listener = connection
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", int(args.where[0])))
        listener.listen(8)
        print("listening", flush=True)
        connection, _ = listener.accept()
    else:
        connection.connect((args.where[0], int(args.where[1])))
    print("connected", flush=True)
    start_s = time.monotonic()
    connection.settimeout(args.timeout)
    how = wait_for_end(connection, args.send)
    print(f"ended: {how} after {time.monotonic() - start_s:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
