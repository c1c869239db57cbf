# SPDX-License-Identifier: GPL-2.0-only
"""What wakes a thread that sleeps in recv(), send(), accept() or connect(), and what does not
(sleepers.py)."""

from harness import case
from two_sides import ADDRESSES, sides

SLEEPERS = "python3 selftests/net/sleepers.py"
TIMEOUT_S = 300


@case(on="ours")
def between_two_hosts(vm):
    with sides(vm.a):
        vm.a.run(f"{SLEEPERS} {ADDRESSES['right']} left right", timeout_s=TIMEOUT_S)


@case(on="ours")
def inside_one_host(vm):
    vm.a.run(f"{SLEEPERS} 127.0.0.1", timeout_s=TIMEOUT_S)
