# SPDX-License-Identifier: GPL-2.0-only
"""BPF programs that do to a listener's children what they may do to any of TCP's."""

from attaching import sock_ops
from harness import case
from two_sides import BOTH_WAYS, sides, transfer


@case(on="ours")
def low_water_is_set_in_handshakes(vm):
    """The kernel calls the child's socket for that."""
    with sides(vm.a), sock_ops(vm.a, "low_water") as under:
        for client, server in BOTH_WAYS:
            transfer(vm.a, client, server, "--up 100003 --connections 20", under=under)
