# SPDX-License-Identifier: GPL-2.0-only
"""One SMC-R connection that programs hold at both ends, for the cases that break it."""

import re

HOLD = "selftests/net/hold.py"
ERRORS = {"ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EPIPE", "ENETDOWN", "EHOSTUNREACH"}


class Held:
    """One SMC connection between a (client) and b (server), held by a program at each end."""

    def __init__(self, vm, port: int, client: str = "", server: str = "") -> None:
        before = vm.a.call("smcnl.counters")
        self.server = vm.b.spawn(f"{HOLD} serve {port} {server}")
        self.server.expect("listening")
        self.client = vm.a.spawn(f"{HOLD} connect {vm.b.ip4} {port} {client}")
        self.client.expect("connected")
        self.server.expect("connected")
        after = vm.a.call("smcnl.counters")
        assert after["client"] == before["client"] + 1, "the connection is not SMC-R"


def ended(process, within_s: float) -> str:
    """How the program's connection ended; fails if it has not ended in time."""
    output = process.wait(within_s + 70).out
    found = re.search(r"ended: (\S+) after ([\d.]+) s", output)
    assert found, f"did not end: {output!r}"
    assert float(found[2]) <= within_s, f"ended only after {found[2]} s ({found[1]})"
    return found[1]
