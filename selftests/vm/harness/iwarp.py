# SPDX-License-Identifier: GPL-2.0-only
"""Guests with soft-iWARP (siw) on their network device, in place of soft-RoCE."""

from contextlib import contextmanager
from typing import Iterator

from .guest import Guest
from .kernel import siw

DEVICE = "siw0"
# Counters that stay as they are while both ends keep to the rules.
WRONG = ("wire_violation", "iwarp_refused", "conn_abort")
_IS_ACTIVE = f"grep -q ACTIVE /sys/class/infiniband/{DEVICE}/ports/1/state"


def add_device(guest: Guest) -> None:
    guest.run(f"rdma link add {DEVICE} type siw netdev eth0")
    guest.wait_for(_IS_ACTIVE)


@contextmanager
def over_siw(*guests: Guest) -> Iterator[None]:
    for guest in guests:
        guest.run("rdma link delete rxe0")
        if guest.kernel.debug:
            guest.run("modprobe siw")
        else:
            guest.run(f"modprobe -a ib_uverbs libcrc32c iw_cm && insmod {siw(guest.kernel)}")
        add_device(guest)
    try:
        yield
    finally:
        for guest in guests:
            guest.run(f"rdma link delete {DEVICE}", check=False)
            guest.wait_for("rmmod siw")
            guest.run("rdma link add rxe0 type rxe netdev eth0")
