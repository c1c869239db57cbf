# SPDX-License-Identifier: GPL-2.0-only
"""A hostile peer (selftests/net/hostile) in guest b against programs on sockets of ours in guest a."""

DIRECTORY = "selftests/net/hostile"


def meet(vm, peer: str, address: str, port: int, options: str, timeout_s: float,
         target_options: str = "") -> None:
    """The peer uses an address that no host has, of either family; the programs listen on the port and the
    next one."""
    target = vm.a.spawn(f"{DIRECTORY}/smc_target.py {port} {port + 1} {target_options}")
    target.expect(r"\bready\b")
    try:
        vm.b.run_tap(f"{DIRECTORY}/{peer} --address {address} --target {vm.a.ip6 if ':' in address else vm.a.ip4}"
                     f" --eid {vm.b.eid} --echo-port {port} --control-port {port + 1} {options}",
                     timeout_s=timeout_s)
    finally:
        target.kill()
        target.wait(check=False)
