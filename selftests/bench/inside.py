# SPDX-License-Identifier: GPL-2.0-only
"""The rows of connections inside one host, for selftests/bench/count and selftests/bench/profile."""

from dataclasses import dataclass

from harness.guest import Guest

from table import Row
from variant import OURS, PORT, PROGRAM, TCP, BenchFailed

PNET_ID = "SELF"
NONE, ELSEWHERE, HERE = "no device", "device elsewhere", "device"
LOOPBACK = "loopback"


@dataclass(frozen=True)
class CountRow(Row):
    """client, server: what each of the two is when a module is loaded. device: whether there is an
    RDMA device, and on the way from the host to itself (HERE) or not (ELSEWHERE); LOOPBACK: only
    the one that the module has built in."""

    client: str = "smc"
    server: str = "smc"
    device: str = ELSEWHERE

    def program(self, guest: Guest, variant: str, seconds: float) -> str:
        """The client's command line."""
        modes = "--mode tcp" if variant == TCP else f"--mode {self.client} --server-mode {self.server}"
        return f"{PROGRAM} --to {guest.ip4} --port {PORT} {modes} {self.options} --seconds {seconds}"

    def check(self, answer: dict) -> None:
        both = "tcp" not in (self.client, self.server)
        smcr, smcd = both and self.device == HERE, both and self.device == LOOPBACK
        fell = answer["fallbacks"] if self.client != "tcp" else answer["server_fallbacks"]
        if (smcr, smcd) != (answer["smcr"] > 0, answer["smcd"] > 0) or (smcr or smcd) == (fell > 0):
            raise BenchFailed(f"{self.name}: not what it was to be: {answer}")


SHORT = "--test connect --size 1"
ROWS = (
    CountRow("short connections, TCP client", SHORT, "1/s", True, client="tcp"),
    CountRow("short connections, TCP server", SHORT, "1/s", True, server="tcp"),
    CountRow("short connections, no device", SHORT, "1/s", True, device=NONE),
    CountRow("short connections, TCP server, IPPROTO_SMC", SHORT, "1/s", True,
             client="inet", server="tcp"),
    CountRow("short connections, no device, IPPROTO_SMC", SHORT, "1/s", True,
             client="inet", server="inet", device=NONE),
    CountRow("short connections, device elsewhere", SHORT, "1/s", True),
    CountRow("1-byte round trip, fallen back", "--test rtt --size 1", "µs", False),
    CountRow("bulk, fallen back", "--test bulk --size 65536", "MiB/s", True),
    CountRow("short connections over SMC-R", SHORT, "1/s", True, device=HERE),
    CountRow("1-byte round trip over SMC-R", "--test rtt --size 1", "µs", False, device=HERE),
    CountRow("4 KiB round trip over SMC-R", "--test rtt --size 4096", "µs", False, device=HERE),
    CountRow("bulk over SMC-R", "--test bulk --size 65536", "MiB/s", True, device=HERE),
    CountRow("short connections over SMC-D", SHORT, "1/s", True, device=LOOPBACK),
    CountRow("64-byte round trip over SMC-D", "--test rtt --size 64", "µs", False, device=LOOPBACK),
    CountRow("4 KiB round trip over SMC-D", "--test rtt --size 4096", "µs", False, device=LOOPBACK),
    CountRow("bulk over SMC-D", "--test bulk --size 65536", "MiB/s", True, device=LOOPBACK),
)


def set_device(guest: Guest, device: str, variant: str) -> None:
    """What goes to the guest itself takes the loopback device, which has nothing to do with rxe0
    but for the PNET table."""
    guest.call("smcnl.pnet_flush")
    if variant == OURS:
        guest.run(f"sysctl -q net.smc.smcd_loopback={2 if device == LOOPBACK else 0}")
    there = guest.run("rdma link show | grep -q rxe0", check=False).rc == 0
    if there and device in (NONE, LOOPBACK):
        guest.run("rdma link delete rxe0")
    elif not there and device not in (NONE, LOOPBACK):
        guest.run("rdma link add rxe0 type rxe netdev eth0")
        guest.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")
    if device == HERE:
        guest.call("smcnl.pnet_add", PNET_ID, "lo")
        guest.call("smcnl.pnet_add", PNET_ID, None, "rxe0", 1)
