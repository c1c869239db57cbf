# SPDX-License-Identifier: GPL-2.0-only
"""For cases with TCP sockets that are selected for SMC: the sysctls, and connections to count."""

from contextlib import contextmanager

from churn import served, stats, tally
from harness import Skip
from harness.guest import Guest

# Static, so that no library could do it.
STATIC = "build/selftests/smc_churn_static"
PORT = 7650
SWITCH = "/proc/sys/net/smc/tcp2smc"
MARK = "/proc/sys/net/smc/tcp2smc_mark"
CTL = "build/tools/smc_ctl"
CGROUP = "/sys/fs/cgroup/chosen"
PINS = "/sys/fs/bpf/smc"


def needs_selection(guest: Guest) -> None:
    """A kernel that cannot do it says so, in an errno and in its log."""
    tried = guest.run(f"echo 1 >{SWITCH} && echo 0 >{SWITCH}", check=False)
    if tried.rc == 0:
        return
    assert "not supported" in tried.err, tried.err
    assert guest.run(f"cat {SWITCH}").out == "0\n"
    guest.run("dmesg | grep -q 'smc: no selection of TCP sockets: the kernel lacks'")
    raise Skip("this kernel has no kprobes, or calls no LSM for sockets")


@contextmanager
def set_to(guest: Guest, path: str, value: int, prefix: str = ""):
    guest.run(f"{prefix} sh -c 'echo {value} >{path}'")
    try:
        yield
    finally:
        guest.run(f"{prefix} sh -c 'echo 0 >{path}'")


def talk(guest: Guest, prefix: str = "", count: int = 20, options: str = "") -> dict[str, int]:
    """Connections between two static programs of TCP: by how much the counters of the namespace
    have grown."""
    before = stats(guest, prefix)
    with served(guest, PORT, f"{prefix} {STATIC}", "-m tcp"):
        result = guest.run(f"{prefix} {STATIC} call 127.0.0.1 {PORT} -n {count} -m tcp {options}")
    assert tally(result.out)["served"] == count, result.out
    now = stats(guest, prefix)
    return {name: now[name] - before[name]
            for name in ("selected", "smcd_client_v2", "smcd_server_v2")}


NOTHING = {"selected": 0, "smcd_client_v2": 0, "smcd_server_v2": 0}


def all_of(count: int) -> dict[str, int]:
    """Each client's socket and the listener; accepted sockets are SMC's by their listener."""
    return {"selected": count + 1, "smcd_client_v2": count, "smcd_server_v2": count}


@contextmanager
def cgroup(guest: Guest, directory: str = CGROUP):
    """A prefix for programs of a new cgroup."""
    guest.run(f"mkdir {directory}")
    try:
        yield f"sh -c 'echo $$ >{directory}/cgroup.procs && exec \"$@\"' sh"
    finally:
        guest.wait_for(f"rmdir {directory}", 20)


def nothing_is_left(guest: Guest) -> None:
    assert guest.run(f"{CTL} select list").out == ""
    assert guest.run(f"cat {MARK} {SWITCH}").out == "0\n0\n"
    guest.run(f"test ! -e {PINS}")
