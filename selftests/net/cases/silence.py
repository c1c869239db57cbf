# SPDX-License-Identifier: GPL-2.0-only
"""Peers that are silent in the handshake or at the end: nobody waits for them, nothing stays."""

from harness import case
from hostile import meet

BACKLOG = 4


def silent_peer(vm, only: str, limit_hs: str = "", backlog: int = BACKLOG) -> None:
    meet(vm, "silent_peer.py", "10.9.0.68", 7320, f"--only '{only}'", timeout_s=300,
         target_options=f"{backlog} {limit_hs}")


@case(on="ours+ours")
def silent_crowd(vm):
    silent_peer(vm, "^crowd_holds_up_nobody")


@case(on="ours+ours")
def silent_crowd_where_handshakes_are_limited(vm):
    vm.a.run("sysctl -q net.smc.limit_smc_hs=1")
    try:
        silent_peer(vm, "^crowd_is_limited")
    finally:
        vm.a.run("sysctl -q net.smc.limit_smc_hs=0")


@case(on="ours+ours")
def silent_crowd_at_a_listener_that_limits_handshakes(vm):
    silent_peer(vm, "^crowd_is_limited", limit_hs="1")


@case(on="ours+ours")
def silent_crowd_at_a_listener_that_does_not(vm):
    vm.a.run("sysctl -q net.smc.limit_smc_hs=1")
    try:
        silent_peer(vm, "^crowd_holds_up_nobody", limit_hs="0")
    finally:
        vm.a.run("sysctl -q net.smc.limit_smc_hs=0")


@case(on="ours+ours")
def failed_handshakes_where_they_are_limited(vm):
    silent_peer(vm, "^failures_leave_room", limit_hs="1", backlog=0)


@case(on="ours+ours")
def silent_end(vm):
    silent_peer(vm, "^abort_is_not_answered")
