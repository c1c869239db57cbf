# SPDX-License-Identifier: GPL-2.0-only
"""How the connections that a guest opened and accepted went, by the counters of its kernel."""

import json
import os
from dataclasses import dataclass, fields

from harness import Guest

# counters(), stats() and fallbacks() of selftests/vm/guest/smcnl.py.
_ASK = ("python3 -c 'import json, sys; sys.path.append(\"selftests/vm/guest\"); import smcnl;"
        " print(json.dumps([smcnl.counters(), smcnl.stats(), smcnl.fallbacks()]))'")
_TCP = "awk '$1 == \"Tcp:\" && ++line == 2 {print $6, $7, $8}' /proc/net/snmp"

_LINKS = "awk '$1 == \"link_up\" {print $2}' /proc/net/smc_stat"
OVER_IWARP = os.environ.get("SMC_CARRIER") == "siw"

_PEER_NO_SMC = 0x03010000


@dataclass(frozen=True)
class Account:
    """Connections since the guest's boot, or a difference of two accounts.

    opened, accepted: by TCP's own counters, in which those of SMC sockets are, too; attempts that
    failed are taken off. client, server: those of them that SMC carried, by role: r between hosts,
    d within one. fallbacks, errors: handshakes of SMC sockets that led to TCP, or to nothing.
    unspoken: those of a server whose client, SMC or not, never said that it could SMC; one that
    hung up before its Proposal is among them, and in no other count. iwarp_links: each is a connection of
    soft-iWARP's own, which TCP counts, too.
    """

    opened: int
    accepted: int
    client_r: int
    server_r: int
    client_d: int
    server_d: int
    fallbacks: int
    unspoken: int
    errors: int
    bytes: int
    iwarp_links: int

    @staticmethod
    def of(guest: Guest, inside: str = "") -> "Account":
        """inside: the command that enters the namespace it is about."""
        opened, accepted, failed = map(int, guest.run(f"{inside} {_TCP}").out.split())
        smcr, stats, fell = json.loads(guest.run(f"{inside} {_ASK}").out)
        smcd = stats.get("smcd", {})
        unspoken = sum(reason["count"] for reason in fell["reasons"]
                       if (reason["role"], reason["code"]) == ("server", _PEER_NO_SMC))
        return Account(opened - failed, accepted, smcr["client"], smcr["server"],
                       smcd.get("client_v2", 0), smcd.get("server_v2", 0),
                       smcr["client_fallback"] + smcr["server_fallback"] - unspoken, unspoken,
                       smcr["client_errors"] + smcr["server_errors"],
                       smcr["tx_bytes"] + smcd.get("tx_bytes", 0),
                       int(guest.run(f"{inside} {_LINKS}").out) if OVER_IWARP else 0)

    def __sub__(self, before: "Account") -> "Account":
        return Account(*(getattr(self, field.name) - getattr(before, field.name)
                         for field in fields(self)))

    @property
    def smc(self) -> int:
        return self.client_r + self.server_r + self.client_d + self.server_d

    @property
    def not_smc(self) -> tuple[int, int]:
        """Connections (opened, accepted) that did not use SMC."""
        return (self.opened - self.client_r - self.client_d,
                self.accepted - self.server_r - self.server_d)
