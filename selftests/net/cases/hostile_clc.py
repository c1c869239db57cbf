# SPDX-License-Identifier: GPL-2.0-only
"""A peer that breaks the CLC handshake in every way, as client and as server."""

from harness import case

DIRECTORY = "selftests/net/hostile"
NOBODYS_ADDRESS = "10.9.0.66"


def meet(vm, only: str) -> None:
    target = vm.a.spawn(f"{DIRECTORY}/smc_target.py 7300 7301")
    target.expect(r"\bready\b")
    try:
        vm.b.run_tap(f"{DIRECTORY}/clc_peer.py --address {NOBODYS_ADDRESS} --target {vm.a.ip4}"
                     f" --eid {vm.b.eid} --only '{only}'", timeout_s=900)
    finally:
        target.kill()
        target.wait(check=False)


@case(on="ours+ours")
def hostile_clients(vm):
    meet(vm, "^(?!server_|mutated_accepts)")


@case(on="ours+ours")
def hostile_servers(vm):
    meet(vm, "^(server_|mutated_accepts)")
