# SPDX-License-Identifier: GPL-2.0-only
"""Calls at the same time on the same socket (smc_races), inside one host. ROUNDS= makes a long run of
it, SEED= another one."""

import os

from harness import Guest, case

PROGRAM = "build/selftests/smc_races"
SEED = int(os.environ.get("SEED", "1"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
ROUND_S = 10
START_S = 120


def race(guest: Guest, options: str) -> None:
    guest.run_tap(f"{PROGRAM} --rounds {ROUNDS} --seed {SEED} {options}",
                  START_S + ROUND_S * ROUNDS)


@case(on="ours")
def races_on_tcp_alone(vm):
    """That what is asked for is what TCP gives."""
    race(vm.a, "--mode tcp")


@case(on="ours")
def races_by_smcd(vm):
    race(vm.a, "--mode smc --expect smcd")
