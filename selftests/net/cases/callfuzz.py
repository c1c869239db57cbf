# SPDX-License-Identifier: GPL-2.0-only
"""smc_callfuzz: random sequences of socket calls inside one host."""

from harness import case

PROGRAM = "build/selftests/smc_callfuzz"


@case(on="ours")
def random_calls_like_tcp(vm):
    """What each call of a sequence gives is what it gives on TCP."""
    for seed in (1000, 2000):
        vm.a.run_tap(f"{PROGRAM} --mode mixed --sequences 400 --seed {seed}", 400)


@case(on="ours")
def random_calls_by_two_threads(vm):
    """Nothing is compared, and nothing left out: it goes on, and nothing leaks."""
    vm.a.run_tap(f"{PROGRAM} --wild --sequences 200 --seed 1", 400)
