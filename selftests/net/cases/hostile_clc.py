# SPDX-License-Identifier: GPL-2.0-only
"""A peer that breaks the CLC handshake in every way, as client and as server."""

from harness import case
from hostile import meet


def clc_peer(vm, only: str) -> None:
    meet(vm, "clc_peer.py", "10.9.0.66", 7300, f"--only '{only}'", timeout_s=900)


@case(on="ours+ours")
def hostile_clients(vm):
    clc_peer(vm, "^(?!server_|mutated_accepts)")


@case(on="ours+ours")
def hostile_servers(vm):
    clc_peer(vm, "^(server_|mutated_accepts)")
