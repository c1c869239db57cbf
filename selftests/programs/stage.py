# SPDX-License-Identifier: GPL-2.0-only
"""Where a program's server and client run, and how they are started: as they are, by smc_run, or
with their sockets selected.

    def scenario(stage):
        with stage.serving("redis-server --port 6379", 6379):
            said = stage.run(f"redis-cli -h {stage.address} ping").out
        return {"said": said}

    over_smcr(vm, scenario)

runs it over TCP and by smc_run then, wants the same outcome, and that in the second run every
connection went by SMC. by_selection() does the same without smc_run: in a namespace, and then in a
cgroup, whose sockets are selected. What differs from run to run (rates) is no part of the outcome.
"""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Callable, Iterator

from account import OVER_IWARP, Account
from guestroot import SMC_RUN, complete
from harness import CommandFailed, Guest, Process, Result
from harness.iwarp import over_siw
from harness.topology import Vm

_LOOPBACK = "127.0.0.1"
_SWITCH = "/proc/sys/net/smc/tcp2smc"
_TCP = ("over TCP", "", False)
_BY_SMC_RUN = ("by smc_run", SMC_RUN, False)
_BY_NAMESPACE = ("by namespace", "", True)
_BY_CGROUP = ("by cgroup", f"{SMC_RUN} --cgroup", False)


@dataclass(frozen=True)
class Stage:
    """client, server: the same guest if there is only one. address: the server's, for the client.
    launcher: the command in front of programs whose sockets are tested, or nothing. client_in,
    server_in: the command that enters a namespace, or nothing."""

    client: Guest
    server: Guest
    address: str
    launcher: str
    client_in: str = ""
    server_in: str = ""

    def client_command(self, command: str) -> str:
        return f"{self.client_in} {self.launcher} {command}"

    def run(self, command: str, timeout_s: float = 400, check: bool = True) -> Result:
        """Runs the client, or a part of it."""
        return self.client.run(self.client_command(command), timeout_s, check)

    @contextmanager
    def serving(self, command: str, port: int) -> Iterator[Process]:
        process = self.server.spawn(f"exec {self.server_in} {self.launcher} {command}")
        try:
            try:
                self.server.wait_for(f"{self.server_in} ss -Htln 'sport = :{port}' | grep -q .",
                                     60)
            except CommandFailed:
                process.kill()
                said = process.wait(30, check=False)
                raise AssertionError(f"no server: {said}") from None
            yield process
        finally:
            process.kill()
            process.wait(30, check=False)


Scenario = Callable[[Stage], Any]


def over_smcr(vm: Vm, scenario: Scenario, adrift: int = 0) -> None:
    """Between two guests, by soft-RoCE, or by soft-iWARP if the environment says so. adrift: how many
    connections the client may give up before they are established."""
    with over_siw(vm.a, vm.b) if OVER_IWARP else nullcontext():
        _compare(vm.a, vm.b, vm.b.ip4, scenario, adrift, [_BY_SMC_RUN])


def over_smcd(vm: Vm, scenario: Scenario, adrift: int = 0) -> None:
    """Within one guest."""
    _compare(vm.a, vm.a, _LOOPBACK, scenario, adrift, [_BY_SMC_RUN])


def by_selection(vm: Vm, scenario: Scenario, adrift: int = 0) -> None:
    """Within one guest, for programs that smc_run's library does not reach."""
    _compare(vm.a, vm.a, _LOOPBACK, scenario, adrift, [_BY_NAMESPACE, _BY_CGROUP])


@contextmanager
def _selected(guest: Guest) -> Iterator[None]:
    guest.run(f"echo 1 >{_SWITCH}")
    try:
        yield
    finally:
        guest.run(f"echo 0 >{_SWITCH}")


def _compare(client: Guest, server: Guest, address: str, scenario: Scenario, adrift: int,
             ways: list[tuple[str, str, bool]]) -> None:
    guests = [client] if client is server else [client, server]
    for guest in guests:
        complete(guest)
    outcomes = []
    for name, launcher, selected in [_TCP, *ways]:
        before = [Account.of(guest) for guest in guests]
        with _selected(client) if selected else nullcontext():
            outcomes.append(scenario(Stage(client, server, address, launcher)))
        accounts = [Account.of(guest) - old for guest, old in zip(guests, before)]
        for guest, account in zip(guests, accounts):
            print(f"# {scenario.__name__} {name}: {guest.name}: {account}", flush=True)
        if name == _TCP[0]:
            assert not any(account.smc for account in accounts), f"SMC without reason: {accounts}"
        else:
            all_by_smc(accounts, adrift, within_one=client is server)
        assert outcomes[0] == outcomes[-1], f"over TCP {outcomes[0]}, {name} {outcomes[-1]}"


def all_by_smc(accounts: list[Account], adrift: int, within_one: bool) -> None:
    """The connections of each guest; raises unless SMC carried all but adrift of them."""
    for account in accounts:
        assert account.fallbacks == 0, f"fallbacks: {account}"
        # A connection that the client gave up during the handshake may be an error at the server,
        # or a fallback if that was at its very beginning.
        assert account.errors <= adrift and account.unspoken <= adrift, f"errors: {account}"
        for missing in account.not_smc:
            assert 0 <= missing <= adrift + account.iwarp_links, f"not by SMC: {missing} of {account}"
    first, last = accounts[0], accounts[-1]
    if within_one:
        assert first.client_d and first.server_d and not first.client_r, f"{first}"
    else:
        assert first.client_r and last.server_r, f"{accounts}"
    assert first.bytes and last.bytes, f"{accounts}"
