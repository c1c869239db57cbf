# SPDX-License-Identifier: GPL-2.0-only
"""For cases with BPF programs of type sock_ops, attached to a cgroup."""

from contextlib import contextmanager

from harness.guest import Guest

_CGROUP = "/sys/fs/cgroup/attached"


@contextmanager
def sock_ops(guest: Guest, program: str):
    """A prefix for commands that run in a cgroup with the program build/selftests/<program>.bpf.o."""
    pin = f"/sys/fs/bpf/{program}"
    guest.run(f"mkdir {_CGROUP} &&"
              f" /usr/sbin/bpftool prog load build/selftests/{program}.bpf.o {pin} &&"
              f" /usr/sbin/bpftool cgroup attach {_CGROUP} sock_ops pinned {pin}")
    try:
        yield f"sh -c 'echo $$ >{_CGROUP}/cgroup.procs && exec \"$@\"' sh"
    finally:
        guest.run(f"/usr/sbin/bpftool cgroup detach {_CGROUP} sock_ops pinned {pin}; rm {pin}")
        guest.wait_for(f"rmdir {_CGROUP}", 20)
