# SPDX-License-Identifier: GPL-2.0-only
"""Two network namespaces of one guest, or two guests, each with an adapter that is played
(selftests/adapter)."""

from contextlib import contextmanager
from typing import Iterator

from .case import Skip
from .guest import Guest
from .testmodule import built_module

# Each side's namespace, and the address of its network device.
SIDES = {"left": "10.7.0.1", "right": "10.7.0.2"}
_PARAMETERS = "/sys/module/simrnic/parameters"
_DEBUGFS = "/sys/kernel/debug/simrnic"


def inside(side: str) -> str:
    """Runs the command behind it in a side's namespace."""
    return f"ip netns exec {side}"


def rdma_device(side: str) -> str:
    return f"sim-{side}"


@contextmanager
def adapters(guest: Guest, options: str = "") -> Iterator[None]:
    """An adapter on each side. options: parameters of its module."""
    if guest.version == "5.10":
        raise Skip("the adapter is for the RDMA core of 6.1 and later")
    module = built_module(guest.kernel, "selftests/adapter", "simrnic")
    guest.run("modprobe ib_core && modprobe veth", timeout_s=180)
    guest.run(f"insmod {module} {options}")
    guest.run("ip link add veth-left type veth peer name veth-right")
    for side, address in SIDES.items():
        guest.run(f"""set -e
            ip netns add {side}
            ip link set veth-{side} netns {side}
            {inside(side)} ip addr add {address}/24 dev veth-{side}
            {inside(side)} ip link set lo up && {inside(side)} ip link set veth-{side} up""")
    for side in SIDES:
        guest.run(f"{inside(side)} rdma link add {rdma_device(side)} type simrnic"
                  f" netdev veth-{side}")
        guest.wait_for(f"grep -q ACTIVE /sys/class/infiniband/{rdma_device(side)}/ports/1/state")
    try:
        yield
    finally:
        for side in SIDES:
            guest.run(f"rdma link delete {rdma_device(side)}", check=False)
        for side in SIDES:
            guest.run(f"ip netns del {side}", check=False)
        guest.run("ip link del veth-left", check=False)
        guest.wait_for("! ip link show veth-left 2>/dev/null")
        guest.wait_for("rmmod simrnic")


def keep_to_adapters(guest: Guest) -> None:
    """Of whichever module is loaded: inside one kernel it would use its loopback device. The
    kernel's own may have none."""
    for side in SIDES:
        guest.run(f"{inside(side)} sysctl -q -e net.smc.smcd_loopback=0")


# The address of each side's second network device, and the name of its RDMA device.
SECOND = {"left": "10.8.0.1", "right": "10.8.0.2"}


def second_device(side: str) -> str:
    return f"sim2-{side}"


def add_second(guest: Guest, side: str) -> None:
    guest.run(f"{inside(side)} rdma link add {second_device(side)} type simrnic"
              f" netdev veth2-{side}")
    guest.wait_for(f"grep -q ACTIVE /sys/class/infiniband/{second_device(side)}/ports/1/state")


@contextmanager
def second_adapters(guest: Guest, where: tuple[str, ...] = tuple(SIDES)) -> Iterator[None]:
    """Within adapters(): another network device on each side, and an adapter on it."""
    guest.run("ip link add veth2-left type veth peer name veth2-right")
    for side, address in SECOND.items():
        guest.run(f"""set -e
            ip link set veth2-{side} netns {side}
            {inside(side)} ip addr add {address}/24 dev veth2-{side}
            {inside(side)} ip link set veth2-{side} up""")
    for side in where:
        add_second(guest, side)
    try:
        yield
    finally:
        for side in SECOND:
            guest.run(f"rdma link delete {second_device(side)}", check=False)


@contextmanager
def across(*guests: Guest) -> Iterator[None]:
    """An adapter on each guest's network device, in place of soft-RoCE."""
    for guest in guests:
        module = built_module(guest.kernel, "selftests/adapter", "simrnic")
        guest.run("rdma link delete rxe0")
        # The kernel's own module has a short RNR timer.
        guest.run(f"insmod {module} wire=1 rnr_timer_min=0")
        guest.run("rdma link add sim0 type simrnic netdev eth0")
        guest.wait_for("grep -q ACTIVE /sys/class/infiniband/sim0/ports/1/state")
    try:
        yield
    finally:
        for guest in guests:
            guest.run("rdma link delete sim0", check=False)
            guest.wait_for("rmmod simrnic")
            guest.run("rdma link add rxe0 type rxe netdev eth0")


def set_parameters(guest: Guest, **values: object) -> None:
    """Of the adapter's module: from now on, on both sides."""
    guest.run("".join(f"echo {value} >{_PARAMETERS}/{name};" for name, value in values.items()))


def counters(guest: Guest, side: str) -> dict[str, int]:
    """What a side's adapter has counted."""
    lines = guest.run(f"cat {_DEBUGFS}/{rdma_device(side)}/counters").out.split("\n")
    return {name: int(value) for name, value in map(str.split, filter(None, lines))}


def set_fault(guest: Guest, side: str, fault: str, calls: int) -> None:
    """A fault of selftests/adapter/fault.c happens once, that many calls from now; 0: not at
    all."""
    guest.run(f"echo {calls} >{_DEBUGFS}/{rdma_device(side)}/{fault}")


def break_device(guest: Guest, side: str, what: str) -> None:
    """what: "queue_pairs", which all go to the error state, or "fatal": the device reports it."""
    guest.run(f"echo {what} >{_DEBUGFS}/{rdma_device(side)}/break")
