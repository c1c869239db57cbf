# SPDX-License-Identifier: GPL-2.0-only
"""Calls at the same time on the same socket (smc_races), inside one host and between two. ROUNDS= makes
a long run of it, SEED= another one."""

import os

from harness import Guest, case

PROGRAM = "build/selftests/smc_races"
SEED = int(os.environ.get("SEED", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
ROUND_S = 10
START_S = 120
PORT = 7400


def race(guest: Guest, options: str) -> None:
    guest.run_tap(f"{PROGRAM} --rounds {ROUNDS} --seed {SEED} {options}",
                  START_S + ROUND_S * ROUNDS)


@case(on="ours")
def races_on_tcp_alone(vm):
    """The expectations hold for TCP itself."""
    race(vm.a, "--mode tcp")


@case(on="ours")
def races_by_smcd(vm):
    race(vm.a, "--mode smc --expect smcd")


@case(on="ours+ours")
def races_by_smcr(vm):
    service = vm.b.spawn(f"{PROGRAM} --serve {PORT} --mode smc")
    service.expect(r"\bready\b")
    try:
        race(vm.a, f"--to {vm.b.ip4} --port {PORT} --mode smc --expect smcr")
    finally:
        service.kill()
        service.wait(check=False)
