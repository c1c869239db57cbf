# SPDX-License-Identifier: GPL-2.0-only
"""Guests with soft-iWARP (siw) on their network device, in place of soft-RoCE."""

from contextlib import contextmanager
from typing import Iterator

from .guest import Guest
from .kernel import siw

DEVICE = "siw0"
# What soft-iWARP gives a peer's answer, and more.
DELETED_S = 20
# Counters that stay as they are while both ends keep to the rules.
WRONG = ("wire_violation", "iwarp_refused", "conn_abort")


def add_device(guest: Guest, device: str = DEVICE, netdev: str = "eth0") -> None:
    guest.run(f"rdma link add {device} type siw netdev {netdev}")
    guest.wait_for(f"grep -q ACTIVE /sys/class/infiniband/{device}/ports/1/state")


def delete_device(guest: Guest, device: str = DEVICE) -> None:
    """Also one that is not there. The module lets it go when nothing of its own is on it: if something
    stays, the guest's log says what is known of that, and who sleeps."""
    limit_s = DELETED_S * guest.patience
    guest.run(f"""
        test -e /sys/class/infiniband/{device} || exit 0
        setsid rdma link delete {device} </dev/null >/dev/null 2>&1 &
        for i in $(seq {limit_s * 5}); do kill -0 $! 2>/dev/null || exit 0; sleep 0.2; done
        echo w > /proc/sysrq-trigger
        {{ for what in '' qp cm_id mr pd; do rdma resource show $what; done
           build/tools/smc_ctl links; cat /proc/net/smc_stat
        }} | while read -r line; do echo "$line" > /dev/kmsg; done
        echo '{device} does not go' >&2; exit 1""", timeout_s=4 * DELETED_S)


@contextmanager
def over_siw(*guests: Guest) -> Iterator[None]:
    for guest in guests:
        guest.run("rdma link delete rxe0")
        guest.run(f"modprobe -a ib_uverbs libcrc32c iw_cm && insmod {siw(guest.kernel)}")
        add_device(guest)
    try:
        yield
    finally:
        for guest in guests:
            delete_device(guest)
            if guest.kernel.debug:
                guest.call("kmemleak.keep_symbols", "siw")
            guest.wait_for("rmmod siw")
            guest.run("rdma link add rxe0 type rxe netdev eth0")
