# SPDX-License-Identifier: GPL-2.0-only
"""What an adapter can do wrong, on each side of a connection: a verb that fails, a work request that fails, a
completion that does not come or comes twice (sweeps.py)."""

from harness import case
from harness.adapters import SIDES, break_device
from sweeps import groups_end, sweep_all
from two_sides import sides, transfer


@case(on="ours")
def verbs_that_fail_at_setup(vm):
    sweep_all(vm.a, ("alloc_pd", "create_cq", "create_qp", "modify_qp", "alloc_mr", "map_mr"))


@case(on="ours")
def posts_that_fail(vm):
    sweep_all(vm.a, ("post_send", "post_receive"))


@case(on="ours")
def work_that_fails(vm):
    sweep_all(vm.a, ("register", "access", "retries", "not_ready"))


@case(on="ours")
def completions_that_are_wrong(vm):
    """One that never comes may keep its connection waiting for ever; nothing else."""
    sweep_all(vm.a, ("lose", "double"), may_stall=True)


@case(on="ours")
def device_that_is_broken(vm):
    """It says so itself. The peer is not told by such a device, and finds out in its own time."""
    for side in SIDES:
        with sides(vm.a):
            transfer(vm.a, "left", "right", "--up 1000 --down 1000")
            break_device(vm.a, side, "fatal")
            groups_end(vm.a, side)
            transfer(vm.a, "left", "right", "--up 1000 --down 1000", expect="fallback")
