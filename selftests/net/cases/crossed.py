# SPDX-License-Identifier: GPL-2.0-only
"""Connections without a server, inside one host: with oneself, and by simultaneous open."""

from harness import case

PROGRAM = "python3 selftests/net/crossed.py"
TIMEOUT_S = 600


@case(on="ours")
def connections_without_a_server(vm):
    """A program sees the same on TCP sockets as on all other kinds, and all of them use TCP."""
    vm.a.run("modprobe sch_netem", timeout_s=60)
    vm.a.run_tap(PROGRAM, TIMEOUT_S)
