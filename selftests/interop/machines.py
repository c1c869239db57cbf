# SPDX-License-Identifier: GPL-2.0-only
"""A sample of socket calls between two kinds of processors, on TCP and on SMC sockets, in both
roles."""

from harness import case
from matrix import PORT, SAME_ORDER

PROGRAM = "build/selftests/smc_cases"
TIMEOUT_S = 600


@case(on=SAME_ORDER)
def socket_calls(vm):
    agent = vm.b.spawn(f"{PROGRAM} --agent --port {PORT}")
    try:
        agent.expect(r"\bready\b")
        for role in "client", "server":
            vm.a.run_tap(f"{PROGRAM} --to {vm.b.ip4} --port {PORT} --mode smc --expect smcr"
                         f" --role {role} --only '[p-s]*[ftn]'", TIMEOUT_S)
    finally:
        agent.kill()
        agent.wait(check=False)
