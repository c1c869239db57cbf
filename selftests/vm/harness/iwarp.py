# SPDX-License-Identifier: GPL-2.0-only
"""Guests with soft-iWARP (siw) on their network device, in place of soft-RoCE."""

from contextlib import contextmanager
from typing import Iterator

from .guest import Guest
from .kernel import siw

DEVICE = "siw0"
# Counters that stay as they are while both ends keep to the rules.
WRONG = ("wire_violation", "iwarp_refused", "conn_abort")


def add_device(guest: Guest, device: str = DEVICE, netdev: str = "eth0") -> None:
    guest.run(f"rdma link add {device} type siw netdev {netdev}")
    guest.wait_for(f"grep -q ACTIVE /sys/class/infiniband/{device}/ports/1/state")


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
            guest.run(f"rdma link delete {DEVICE}", check=False)
            if guest.kernel.debug:
                guest.call("kmemleak.keep_symbols", "siw")
            guest.wait_for("rmmod siw")
            guest.run("rdma link add rxe0 type rxe netdev eth0")
