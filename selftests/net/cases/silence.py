# SPDX-License-Identifier: GPL-2.0-only
"""Peers that are silent in the handshake or at the end: nobody waits for them, nothing stays."""

from harness import case

DIRECTORY = "selftests/net/hostile"
NOBODYS_ADDRESS = "10.9.0.68"
BACKLOG = 4


def meet(vm, only: str, limit_hs: str = "", backlog: int = BACKLOG) -> None:
    target = vm.a.spawn(f"{DIRECTORY}/smc_target.py 7320 7321 {backlog} {limit_hs}")
    target.expect(r"\bready\b")
    try:
        vm.b.run_tap(f"{DIRECTORY}/silent_peer.py --address {NOBODYS_ADDRESS}"
                     f" --target {vm.a.ip4} --eid {vm.b.eid} --only '{only}'", timeout_s=300)
    finally:
        target.kill()
        target.wait(check=False)


@case(on="ours+ours")
def silent_crowd(vm):
    meet(vm, "^crowd_holds_up_nobody")


@case(on="ours+ours")
def silent_crowd_where_handshakes_are_limited(vm):
    vm.a.run("sysctl -q net.smc.limit_smc_hs=1")
    try:
        meet(vm, "^crowd_is_limited")
    finally:
        vm.a.run("sysctl -q net.smc.limit_smc_hs=0")


@case(on="ours+ours")
def silent_crowd_at_a_listener_that_limits_handshakes(vm):
    meet(vm, "^crowd_is_limited", limit_hs="1")


@case(on="ours+ours")
def silent_crowd_at_a_listener_that_does_not(vm):
    vm.a.run("sysctl -q net.smc.limit_smc_hs=1")
    try:
        meet(vm, "^crowd_holds_up_nobody", limit_hs="0")
    finally:
        vm.a.run("sysctl -q net.smc.limit_smc_hs=0")


@case(on="ours+ours")
def failed_handshakes_where_they_are_limited(vm):
    meet(vm, "^failures_leave_room", limit_hs="1", backlog=0)


@case(on="ours+ours")
def silent_end(vm):
    meet(vm, "^abort_is_not_answered")
