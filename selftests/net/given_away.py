#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An SMC listener that gets another owner between its first connection and its second.

    given_away.py PORT UID

Says "listening", then "given away", and ends when the second connection was closed by the peer.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "hostile"))

from smc_target import echo, smc_listener


def main() -> int:
    port, owner = map(int, sys.argv[1:])
    listener = smc_listener(port, 1)
    print("listening", flush=True)
    echo(listener.accept()[0])
    os.fchown(listener.fileno(), owner, -1)
    print("given away", flush=True)
    echo(listener.accept()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
