# SPDX-License-Identifier: GPL-2.0-only
"""smc_ctl rules: to which peers a network namespace shows the SMC option, as client and as
server."""

from contextlib import contextmanager

from churn import CHURN, PORT, connections_are_gone, served, stats, tally
from harness import case
from harness.guest import Guest

CTL = "build/tools/smc_ctl"
XFER = "build/selftests/smc_xfer"
COUNT = 5
CAPACITY = 64


@contextmanager
def ruled(guest: Guest, *rules: str):
    """The rules are deleted one by one."""
    for rule in rules:
        guest.run(f"{CTL} rules add {rule}")
    try:
        yield
    finally:
        for rule in rules:
            guest.run(f"{CTL} rules del {rule}")
    assert guest.run(f"{CTL} rules show").out == ""


def goes_by(vm, address: str) -> dict[str, int]:
    """What grows at a, and at b, when a connects to b."""
    names = {vm.a: ("smcr_client_v2", "ruled_out", "client_fallback"),
             vm.b: ("smcr_server_v2", "ruled_out", "server_fallback")}
    before = {guest: stats(guest) for guest in names}
    result = vm.a.run(f"{CHURN} call {address} {PORT} -n {COUNT}")
    assert tally(result.out)["served"] == COUNT, result.out
    grown = {}
    for guest, counted in names.items():
        now = stats(guest)
        for name in counted:
            grown[f"{guest.name} {name}"] = now[name] - before[guest][name]
    return {name: number for name, number in grown.items() if number}


SMC = {"a smcr_client_v2": COUNT, "b smcr_server_v2": COUNT}
# The SYN has no option, or the SYN-ACK.
BY_TCP = {"a client_fallback": COUNT, "b server_fallback": COUNT}
AT_CLIENT = BY_TCP | {"a ruled_out": COUNT}
AT_SERVER = BY_TCP | {"b ruled_out": COUNT}


def expect(vm, wanted: dict[str, int], rules="no rule") -> None:
    grown = goes_by(vm, vm.b.ip4)
    assert grown == wanted, f"{rules}: {grown}"


@case(on="ours+ours")
def first_rule_that_matches_decides(vm):
    with served(vm.b):
        expect(vm, SMC)
        for rule in ("deny", f"deny --peer {vm.b.ip4}", "deny --peer 10.9.0.0/24 --out",
                     f"deny --port {PORT}", f"deny --port 7000-{PORT} --out"):
            with ruled(vm.a, rule):
                expect(vm, AT_CLIENT, rule)
            expect(vm, SMC, rule)
        for rule in ("deny", f"deny --peer {vm.a.ip4}", "deny --peer 10.9.0.0/24 --in",
                     f"deny --port {PORT} --in"):
            with ruled(vm.b, rule):
                expect(vm, AT_SERVER, rule)
            expect(vm, SMC, rule)
        for rules in (("deny --in",), (f"deny --port {PORT + 1}",), ("deny --peer 10.8.0.0/16",),
                      ("deny --peer ::/1",), (f"allow --peer {vm.b.ip4}", "deny")):
            with ruled(vm.a, *rules):
                wanted = SMC if rules[0] != "deny --peer ::/1" else AT_CLIENT
                expect(vm, wanted, rules)
        with ruled(vm.b, f"allow --port {PORT} --in", "deny"):
            expect(vm, SMC)
    connections_are_gone(vm.a)
    connections_are_gone(vm.b)


@case(on="ours+ours")
def rules_for_ipv6(vm):
    # On a socket that takes both, IPv4 has rules of its own.
    serve = f"{XFER} --serve --port {PORT + 2}"

    def ruled_out(address: str) -> tuple[int, int]:
        before = stats(vm.a)["ruled_out"], stats(vm.b)["ruled_out"]
        vm.a.run(f"{XFER} --to {address} --port {PORT + 2} --up 100 --down 100")
        return (stats(vm.a)["ruled_out"] - before[0], stats(vm.b)["ruled_out"] - before[1])

    server = vm.b.spawn(serve)
    server.expect(r"\bready\b")
    try:
        for address, other in ((vm.b.ip6, vm.b.ip4), (vm.b.ip4, vm.b.ip6)):
            with ruled(vm.a, f"deny --peer {address}"):
                assert ruled_out(address) == (1, 0) and ruled_out(other) == (0, 0)
        for address, other, prefix in ((vm.b.ip6, vm.b.ip4, "fd00::/8"),
                                       (vm.b.ip4, vm.b.ip6, "10.0.0.0/8")):
            with ruled(vm.b, f"deny --peer {prefix}"):
                assert ruled_out(address) == (0, 1) and ruled_out(other) == (0, 0)
    finally:
        server.kill()
        server.wait(10, check=False)


@case(on="ours")
def rules_are_shown_in_their_order(vm):
    shown = ("deny  both peer any port any\nallow out  peer 10.0.0.0/8 port 80-90\n"
             "deny  in   peer fd00::/8 port 22\nallow both peer 10.1.2.3 port any\n")
    with ruled(vm.a, "deny", "allow --peer 10.0.0.0/8 --port 80-90 --out",
               "deny --peer fd00::/8 --port 22 --in", "allow --peer 10.1.2.3 --in --out"):
        assert vm.a.run(f"{CTL} rules show").out == shown
        assert vm.a.run(f"unshare -n {CTL} rules show").out == ""
        for wrong, why in (("add deny", "File exists"), ("del allow", "No such file"),
                           ("add deny --peer 10.0.0.1/8", "bits set"),
                           ("add deny --peer host", "no IP address"),
                           ("add deny --peer 10.0.0.0/33", "0 to 32 bits"),
                           ("add deny --port 99999", "no port"), ("add deny --port 5-x", "no port"),
                           ("add deny --port 90-80", "Invalid argument"), ("add maybe", "maybe")):
            said = vm.a.run(f"{CTL} rules {wrong}", check=False)
            assert said.rc != 0 and why in said.err, f"{wrong}: {said.rc} {said.err}"
        refused = vm.a.run(f"setpriv --reuid=65534 --clear-groups --bounding-set=-all {CTL} rules"
                           " flush", check=False)
        assert refused.rc != 0 and "not permitted" in refused.err, refused.err
    vm.a.run(f"for i in $(seq {CAPACITY}); do {CTL} rules add deny --port $i || exit; done")
    assert "No space left" in vm.a.run(f"{CTL} rules add deny", check=False).err
    assert vm.a.run(f"{CTL} rules show").out.count("\n") == CAPACITY
    vm.a.run(f"{CTL} rules flush")
    assert vm.a.run(f"{CTL} rules show").out == ""
    # A namespace's own administrator may have rules of his own.
    vm.a.run(f"unshare -Urn sh -c '{CTL} rules add deny && {CTL} rules show | grep -q deny'")
