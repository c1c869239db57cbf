# SPDX-License-Identifier: GPL-2.0-only
"""Short connections by the hundred, with smc_churn, for the cases that disturb them."""

import re
from contextlib import contextmanager

from harness import Guest

CHURN = "build/selftests/smc_churn"
PORT = 7600
# In this time connections that were just closed finish with their peers.
FAREWELL_S = 20


def stats(guest: Guest, prefix: str = "") -> dict[str, int]:
    """All of /proc/net/smc_stat. prefix: a command that runs another one elsewhere."""
    lines = guest.run(f"{prefix} cat /proc/net/smc_stat").out.splitlines()
    return {name: int(value) for name, value in map(str.split, lines)}


def no_time_wait(*guests: Guest) -> None:
    """TCP keeps closed connections in TIME_WAIT for a minute, which would hide leaks."""
    for guest in guests:
        guest.run("sysctl -q net.ipv4.tcp_max_tw_buckets=0")


@contextmanager
def served(guest: Guest, port: int = PORT, program: str = CHURN, options: str = ""):
    """A server of short connections, killed at the end."""
    server = guest.spawn(f"{program} serve {port} {options}")
    server.expect(r"\bready\b")
    try:
        yield server
    finally:
        server.kill(9)
        server.wait(10, check=False)


def tally(output: str) -> dict[str, int]:
    """The last line of smc_churn, as numbers; without the errors."""
    found = re.search(r"opened \d+ served \d+ failed \d+ worst_ms \d+", output)
    assert found, f"no result: {output!r}"
    words = found[0].split()
    return dict(zip(words[::2], map(int, words[1::2])))


def connections_are_gone(guest: Guest) -> None:
    guest.wait_for("awk '$1 == \"conn_new\" {n = $2} $1 == \"conn_free\" {f = $2} "
                   "END {print n, f; exit n != f}' /proc/net/smc_stat", FAREWELL_S)


def smc_works(vm, count: int = 6) -> None:
    """All connections from a to b use SMC-R."""
    before = stats(vm.a)["smcr_client_v2"]
    with served(vm.b, PORT + 1):
        vm.a.run(f"{CHURN} call {vm.b.ip4} {PORT + 1} -n {count}")
    now = stats(vm.a)["smcr_client_v2"]
    assert now == before + count, f"{now - before} of {count} by SMC-R"
