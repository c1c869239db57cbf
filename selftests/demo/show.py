#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two hosts, real programs, and what became of their connections.

First both hosts have smc.ko, then only one. Each time redis-benchmark talks to redis-server and
curl fetches a large file from a web server, all four unmodified, started through smc_run. What is
printed about the connections comes from the module's own netlink interface.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "selftests" / "vm"))

from harness import CommandFailed, Guest
from harness.channel import AgentError, GuestGone
from harness.modtree import NoModule
from harness.topology import Spec, Vm

from picture import Seen, going_on, picture

SMC_RUN = "build/tools/smc_run"
FILE_MIB = 48
WEB_PORT = 8000
REDIS_PORT = 6379
REDIS_CLIENTS = 10
ROLES = ("client", "server")
LINK_ACTIVE = 3


def step(text: str) -> None:
    print(f"\n\033[1m== {text}\033[0m", flush=True)


def say(text: str) -> None:
    print(f"   {text}", flush=True)


def mib(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count} bytes"


def launcher(guest: Guest) -> str:
    """A host without smc.ko runs its programs as they are."""
    return "" if guest.module == "none" else f"{SMC_RUN} "


class Account:
    """What the module of a guest counted since construction."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._before = self._now()

    def _now(self) -> dict:
        return {} if self._guest.module == "none" else self._guest.call("smcnl.counters")

    def difference(self) -> dict:
        now = self._now()
        found = {key: value - self._before[key] for key, value in now.items() if key != "reasons"}
        before = self._before.get("reasons", {})
        found["reasons"] = {key: count - before.get(key, 0)
                            for key, count in now.get("reasons", {}).items()
                            if count > before.get(key, 0)}
        return found


def tell(guest: Guest, counted: dict) -> None:
    if guest.module == "none":
        say(f"host {guest.name}: no smc.ko here; plain TCP sockets")
        return
    say(f"host {guest.name}:")
    for role in ROLES:
        if counted[role]:
            say(f"  {counted[role]} connections as {role}: SMC-R")
        if counted[f"{role}_fallback"]:
            say(f"  {counted[f'{role}_fallback']} connections as {role}: fell back to TCP")
        if counted[f"{role}_errors"]:
            say(f"  {counted[f'{role}_errors']} handshakes as {role} failed")
    for key, count in counted["reasons"].items():
        role, code = key.split()
        why = guest.call("smcnl.reason", int(code, 16))
        say(f"  why, as {role}: {why} ({code}), {count} times")
    say(f"  by RDMA: {mib(counted['tx_bytes'])} sent, {mib(counted['rx_bytes'])} received")


def tell_link_groups(guest: Guest) -> None:
    for group in guest.call("smcnl.link_groups"):
        for link in group["links"]:
            if link["state"] != LINK_ACTIVE:
                continue
            peer = group.get("v2_common", {})
            say(f"host {guest.name}: link group {group['id']:#x} as {ROLES[group['role']]},"
                f" peer {peer.get('peer_host', '?')}, EID {peer.get('eid', '?')},"
                f" {group['connections']} connections open")
            say(f"  link {link['id']}: {link['device']} port {link['port']},"
                f" {link['gid']} to {link['peer_gid']}")


def tell_open(guests: list[Guest]) -> None:
    """How the connections that are open now go."""
    for guest in guests:
        if guest.module == "none":
            continue
        try:
            modes = guest.wait_for_call("smcnl.open_by_mode", REDIS_CLIENTS, timeout_s=10)
        except CommandFailed:
            say(f"host {guest.name}, while it runs: no open connection is an SMC socket")
            continue
        listed = ", ".join(f"{count} over {mode}" for mode, count in sorted(modes.items()))
        say(f"host {guest.name}, while it runs: open connections: {listed}")


def wait_for_port(guest: Guest, port: int) -> None:
    guest.wait_for(f"ss -Htln 'sport = :{port}' | grep -q .")


def seen(program: str, counted: dict) -> Seen:
    return Seen(program, counted["client"], counted["client_fallback"],
                counted["tx_bytes"] + counted["rx_bytes"])


def redis(client: Guest, server: Guest) -> Seen:
    step(f"redis-benchmark on host {client.name}, redis-server on host {server.name}")
    serving = server.spawn(f"{launcher(server)}redis-server --port {REDIS_PORT} --save ''"
                           " --protected-mode no --loglevel warning")
    wait_for_port(server, REDIS_PORT)
    accounts = [(guest, Account(guest)) for guest in (client, server)]
    calling = client.spawn(f"{launcher(client)}redis-benchmark -h {server.ip4} -p {REDIS_PORT}"
                           f" -c {REDIS_CLIENTS} -n 3000 -d 512 -t set,get -q --csv")
    tell_open([client, server])
    result = calling.wait(120)
    for line in result.out.splitlines()[1:]:
        test, rate, *_ = line.replace('"', "").split(",")
        say(f"{test}: {float(rate):.0f} requests/s")
    for guest, account in accounts:
        tell(guest, account.difference())
    serving.kill()
    serving.wait(20, check=False)
    return seen("redis-benchmark", accounts[0][1].difference())


def large_file(client: Guest, server: Guest) -> Seen:
    step(f"{FILE_MIB} MiB from a web server on host {server.name}, fetched by curl on host"
         f" {client.name}")
    server.run(f"mkdir -p /tmp/web && head -c {FILE_MIB << 20} /dev/urandom >/tmp/web/large", 120)
    wanted = server.run("sha256sum /tmp/web/large", 120).out.split()[0]
    serving = server.spawn(f"exec {launcher(server)}python3 -m http.server -d /tmp/web {WEB_PORT}")
    wait_for_port(server, WEB_PORT)
    accounts = [(guest, Account(guest)) for guest in (client, server)]
    started = time.monotonic()
    client.run(f"{launcher(client)}curl -sS --fail -o /tmp/large"
               f" http://{server.ip4}:{WEB_PORT}/large", 240)
    elapsed_s = time.monotonic() - started
    got = client.run("sha256sum /tmp/large", 120).out.split()[0]
    client.run("rm /tmp/large")
    say(f"{FILE_MIB / elapsed_s:.1f} MiB/s; SHA-256 sent     {wanted}")
    say(f"{'':>{len(f'{FILE_MIB / elapsed_s:.1f} MiB/s;')}} SHA-256 received {got}")
    if got != wanted:
        raise AssertionError("the file that arrived is not the one that was sent")
    for guest, account in accounts:
        tell(guest, account.difference())
    serving.kill()
    serving.wait(20, check=False)
    server.run("rm -r /tmp/web")
    return seen("curl", accounts[0][1].difference())


def show(specs: list[Spec], smc_wanted: bool) -> list[Seen]:
    """One pair of hosts. Fails if the connections did not go the way that they should."""
    vm = Vm(specs)
    with ExitStack() as stack:
        with going_on("booting"):
            stack.enter_context(vm)
        a, b = vm.guests
        say(f"host a: {a.ip4}, kernel {a.release}; host b: {b.ip4}, kernel {b.release}")
        before = Account(a)
        parts = [redis(a, b), large_file(a, b)]
        counted = before.difference()
        if smc_wanted:
            step("Link groups, kept for the next connection")
            for guest in (a, b):
                tell_link_groups(guest)
            if not counted["client"] or counted["client_fallback"] or \
                    counted["rx_bytes"] < FILE_MIB << 20:
                raise AssertionError(f"not everything went over SMC-R: {counted}")
        elif counted["client"] or not counted["client_fallback"]:
            raise AssertionError(f"not everything fell back: {counted}")
        step("Unloading, and looking for what it left behind")
    say("nothing left behind, clean kernel logs")
    return parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--module", default="ours", choices=("ours", "kernel"))
    args = parser.parse_args()
    started = time.monotonic()
    step("Part 1: both hosts have smc.ko; booting two guests, soft-RoCE on the wire between them")
    both = show([Spec(args.module, args.kernel)] * 2, smc_wanted=True)
    step("Part 2: host b has no smc.ko; booting two fresh guests")
    one = show([Spec(args.module, args.kernel), Spec("none", args.kernel)], smc_wanted=False)
    step(f"Done after {time.monotonic() - started:.0f} s: SMC-R where both can, TCP where one cannot")
    for line in picture({"both hosts have smc.ko": both, "host b has none": one}):
        say(line)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AssertionError, AgentError, GuestGone, NoModule) as error:
        sys.exit(f"the demo failed: {error}\nconsole logs: build/vm/last/")
