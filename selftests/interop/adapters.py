# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own module and this one over adapters that are played (selftests/adapter), one in each
guest: in version 2, and in version 1, which soft-RoCE has no GIDs for. smc_xfer checks each byte, and
that both modules count each connection as SMC-R.
"""

from contextlib import contextmanager, nullcontext

from harness.adapters import across
from matrix import BOTH_ORDERS, SAME_ORDER, Server, in_both_roles, transfer, without_eids

MEET = ("ours@6.12+kernel@6.12", *SAME_ORDER, *BOTH_ORDERS)
SIZES = ((0, 1), (65535, 65537), (299983, 300007))


@contextmanager
def adapters(vm, version: int):
    with across(*vm.guests), without_eids(*vm.guests) if version == 1 else nullcontext():
        yield
        for guest in vm.guests:
            smcr = guest.call("smcnl.stats")["smcr"]
            made = [smcr.get(f"{role}_v{version}", 0) for role in ("client", "server")]
            assert sum(made) > 0, f"{guest.module}: no connection of version {version}: {smcr}"


def all_ways(client, server) -> None:
    with Server(server):
        for up, down in SIZES:
            transfer(client, server, f"--up {up} --down {down}")
        # Later contacts.
        transfer(client, server, "--connections 20 --up 5003 --down 4001")
        transfer(client, server, "--connections 16 --parallel 16 --hold --up 20011 --down 30011")
        for closer in ("client", "server", "both"):
            transfer(client, server, f"--closer {closer} --close shutdown --up 50021 --down 70001")


@in_both_roles(*MEET)
def version_2(vm, client, server):
    with adapters(vm, 2):
        all_ways(client, server)


@in_both_roles(*MEET)
def version_1(vm, client, server):
    with adapters(vm, 1):
        all_ways(client, server)
