# SPDX-License-Identifier: GPL-2.0-only
"""Programs that poll for messages themselves (SO_BUSY_POLL, net.core.busy_poll) get them before the
adapter reports them."""

from harness import Guest, case
from harness.adapters import inside, set_parameters
from two_ports import many_connections
from two_sides import ADDRESSES, PORT, sides

TURNS = "selftests/net/turns.py"
# How late the adapter reports completions. A turn has two.
LATE_US = 100_000
POLLED_US = 400_000


def turn_s(guest: Guest, options: str = "") -> float:
    server = guest.spawn(f"{inside('right')} {TURNS} {options} serve {PORT}")
    server.expect("listening")
    said = guest.run(f"{inside('left')} {TURNS} {options} connect {ADDRESSES['right']} {PORT} 9").out
    server.kill()
    server.wait(10, check=False)
    return float(said.split()[-2])


@case(on="ours")
def in_recv(vm):
    with sides(vm.a):
        set_parameters(vm.a, upcall_us=LATE_US)
        asleep_s, polled_s = turn_s(vm.a), turn_s(vm.a, f"--busy {POLLED_US}")
        print(f"# a turn takes {asleep_s} s, with SO_BUSY_POLL {polled_s} s")
        assert asleep_s > 2 * LATE_US / 1e6
        assert polled_s < LATE_US / 1e6


@case(on="ours")
def in_epoll(vm):
    with sides(vm.a):
        set_parameters(vm.a, upcall_us=LATE_US)
        with many_connections(vm.a, 1) as many:
            asleep_s = min(many.go_round() for _ in range(3))
            vm.a.run(f"sysctl -q net.core.busy_poll={POLLED_US}")
            try:
                polled_s = min(many.go_round() for _ in range(3))
            finally:
                vm.a.run("sysctl -q net.core.busy_poll=0")
        print(f"# a turn takes {asleep_s} s, with net.core.busy_poll {polled_s} s")
        assert asleep_s > 2 * LATE_US / 1e6
        assert polled_s < LATE_US / 1e6
