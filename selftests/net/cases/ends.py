# SPDX-License-Identifier: GPL-2.0-only
"""What is left of TCP's connection when both ends of ours have closed: nothing, after a RST, or a
TIME_WAIT where net.smc.end_by_reset does not want that."""

from churn import stats
from harness import Guest, case
from harness.adapters import inside
from two_sides import ADDRESSES, PORT, nothing_went_wrong, sides

FAREWELL = "selftests/net/farewell.py"
OFF = "sysctl -q net.smc.end_by_reset=0"


def farewell(guest: Guest, address: str, client: str = "", server: str = "", keep: str = ""):
    """client, server: what their commands begin with. Returns the server, which may still run."""
    serving = guest.spawn(f"{server} {FAREWELL} serve {PORT} {keep}")
    serving.expect("listening")
    guest.run(f"{client} {FAREWELL} connect {address} {PORT}")
    return serving


def shows(state: str, side: str = "") -> str:
    """A command that succeeds if TCP has a connection in that state."""
    return f"{side} ss -Htan state {state} '( sport = :{PORT} or dport = :{PORT} )' | grep -q ."


def nothing_is_left(guest: Guest, *where: str) -> None:
    for side in where:
        guest.wait_for(f"! {shows('all', side)}")


@case(on="ours")
def between_hosts(vm):
    left, right = inside("left"), inside("right")

    with sides(vm.a):
        farewell(vm.a, ADDRESSES["right"], left, right).wait(10)
        nothing_is_left(vm.a, left, right)
        assert stats(vm.a, left)["smcr_client_v2"] == 1, "not by SMC-R"
        nothing_went_wrong(vm.a)
    for side in (left, right):
        with sides(vm.a):
            vm.a.run(f"{side} {OFF}")
            farewell(vm.a, ADDRESSES["right"], left, right).wait(10)
            # Whose FIN came first: a close() may wake the other end before it gets to TCP's.
            vm.a.wait_for(f"{shows('time-wait', left)} || {shows('time-wait', right)}")
            assert stats(vm.a, left)["smcr_client_v2"] == 1, "not by SMC-R"


@case(on="ours")
def a_peer_that_stays_open(vm):
    """TCP shows what it would show without SMC."""
    left, right = inside("left"), inside("right")

    with sides(vm.a):
        server = farewell(vm.a, ADDRESSES["right"], left, right, keep="keep")
        vm.a.wait_for(shows("close-wait", right))
        vm.a.wait_for(shows("fin-wait-2", left))
        server.kill()
        server.wait(10, check=False)
        nothing_is_left(vm.a, left, right)
        assert stats(vm.a, left)["smcr_client_v2"] == 1, "not by SMC-R"


@case(on="ours")
def inside_one_host(vm):
    before = stats(vm.a)["smcd_client_v2"]
    farewell(vm.a, "127.0.0.1").wait(10)
    nothing_is_left(vm.a, "")
    vm.a.run(OFF)
    farewell(vm.a, "127.0.0.1").wait(10)
    vm.a.wait_for(shows("time-wait"))
    assert stats(vm.a)["smcd_client_v2"] == before + 2, "not by SMC-D"
