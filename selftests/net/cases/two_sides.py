# SPDX-License-Identifier: GPL-2.0-only
"""For cases with two network namespaces of one guest, SMC-R between them by adapters that are
played (selftests/adapter)."""

from contextlib import contextmanager

from harness import Guest
from harness.adapters import SIDES, adapters, counters, inside

XFER = "build/selftests/smc_xfer"
PORT = 7400
TIMEOUT_S = 300
EID = "SMC-SELFTEST"
ADDRESSES = SIDES | {"pod": "10.7.0.3"}
BOTH_WAYS = (("left", "right"), ("right", "left"))
# Counters of the adapter that stay 0 while both modules use it correctly.
ERRORS = ("access_errors", "dma_faults", "timeouts")


@contextmanager
def sides(guest: Guest, v2: bool = True, options: str = ""):
    """An adapter on each side, and SMC configured to use it."""
    with adapters(guest, options):
        for side in SIDES:
            # Both sides are in one kernel, and would use the loopback device otherwise.
            guest.run(f"{inside(side)} sysctl -q net.smc.smcd_loopback=0")
            if v2:
                guest.run(f"{inside(side)} build/tools/smc_ctl eid add {EID}")
            else:
                guest.run(f"{inside(side)} sysctl -q net.smc.inherit_eids=0")
        yield


@contextmanager
def serving(guest: Guest, side: str, port: int = PORT, by: str = "", under: str = ""):
    """by: what runs the program; under: what runs all of it, outside of the namespace."""
    server = guest.spawn(f"{under} {inside(side)} {by} {XFER} --serve --port {port}")
    server.expect(r"\bready\b")
    try:
        yield
    finally:
        server.kill()
        server.wait(10, check=False)


def transfer(guest: Guest, client: str, server: str, options: str = "",
             expect: str = "smcr", under: str = "") -> None:
    with serving(guest, server, under=under):
        guest.run(f"{inside(client)} {XFER} --to {ADDRESSES[server]} --port {PORT} --expect {expect}"
                  f" {options}", timeout_s=TIMEOUT_S)


def nothing_went_wrong(guest: Guest) -> None:
    for side in SIDES:
        seen = counters(guest, side)
        assert seen["write_bytes"] > 0, f"nothing was written into {side}'s memory: {seen}"
        wrong = {name: seen[name] for name in ERRORS if seen[name]}
        assert not wrong, f"{side}: {wrong}"


def hardware_is(guest: Guest, kind: str) -> None:
    """Checks that the run really uses swiotlb, or an IOMMU: the case's name alone proves
    nothing."""
    log = guest.run("dmesg").out
    if kind == "swiotlb":
        used = guest.run("cat /sys/kernel/debug/swiotlb/io_tlb_used").out
        assert int(used) > 0, "no bounce buffer is in use"
    if kind == "iommu":
        groups = guest.run("for sim in /sys/class/infiniband/sim-*; do readlink -f"
                           " $sim/device/iommu_group; done").out.split()
        assert len(groups) == len(SIDES), f"adapters' IOMMU groups: {groups}\n{log}"
        types = guest.run(" ".join(["cat", *(f"{group}/type" for group in groups)])).out.split()
        assert types == ["DMA"] * len(SIDES), f"the groups' types: {types}"
