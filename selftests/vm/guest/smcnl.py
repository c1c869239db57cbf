# SPDX-License-Identifier: GPL-2.0-only
"""The netlink interface of smc.ko: EIDs, PNET table, link groups, statistics, fallback reasons.

The same for the kernel's own module and for ours. Every function opens a socket of its own, asks,
and returns plain dictionaries and lists (the agent sends them as JSON). Numbers are those of
linux/smc.h. Errors of the kernel come as OSError.
"""

import struct
from collections.abc import Callable

from netlink import NETLINK_SOCK_DIAG, Generic, Netlink, attribute, attributes, number, string, text

FAMILY = "SMC_GEN_NETLINK"
PNET_FAMILY = "SMC_PNETID"
AF_SMC = 43
_SOCK_DIAG_BY_FAMILY = 20
_STATE_ACTIVE = 1

_GET_SYS_INFO, _GET_LGR_SMCR, _GET_LINK_SMCR = 1, 2, 3
_GET_LGR_SMCD, _GET_DEV_SMCD = 4, 5
_GET_DEV_SMCR, _GET_STATS, _GET_FBACK_STATS = 6, 7, 8
_DUMP_UEID, _ADD_UEID, _REMOVE_UEID, _FLUSH_UEID = 9, 10, 11, 12
_DUMP_HS_LIMITATION, _ENABLE_HS_LIMITATION, _DISABLE_HS_LIMITATION = 16, 17, 18
_TOP_SYS_INFO, _TOP_LGR, _TOP_LINK, _TOP_DEV, _TOP_STATS, _TOP_FBACK = 1, 2, 3, 6, 7, 8
_TOP_LGR_SMCD = 4
_PNET_GET, _PNET_ADD, _PNET_DEL, _PNET_FLUSH = 1, 2, 3, 4

_SIZES = ("8K", "16K", "32K", "64K", "128K", "256K", "512K", "1024K", "larger")
_REASONS = {
    0x01010000: "out of memory", 0x02010000: "link confirmation timed out",
    0x03000000: "configuration error", 0x03010000: "peer has no SMC", 0x03020000: "IPsec",
    0x03030000: "no SMC device", 0x03030001: "no SMC-D device", 0x03030002: "no SMC-R device",
    0x03030003: "no ISMv2 here", 0x03030004: "no v2 extension", 0x03030005: "no SMC-Dv2 extension",
    0x03030006: "no SEID", 0x03030007: "no SMC-Dv2 device", 0x03030008: "no common UEID",
    0x03030009: "release mismatch", 0x0303000A: "connection limit mismatch",
    0x0303000B: "link limit mismatch", 0x03040000: "mode not supported",
    0x03050000: "RMBE eyecatchers", 0x03060000: "socket option or call not supported",
    0x03070000: "different IP prefix", 0x03080000: "VLAN unknown", 0x03090000: "ISM VLAN",
    0x030A0000: "no active link", 0x030B0000: "no link as the server named it",
    0x030C0000: "version mismatch", 0x030D0000: "no free DMB", 0x030E0000: "no route",
    0x030F0000: "no indirect route", 0x04000000: "link groups out of sync",
    0x05000000: "peer declined", 0x09990000: "internal error", 0x09990001: "no free rtoken",
    0x09990002: "link not ready", 0x09990003: "buffer registration failed",
}


def reason(code: int) -> str:
    """The meaning of a fallback or diagnosis code."""
    return _REASONS.get(code, f"code {code:#010x}")


def _padded_string(payload: bytes) -> str:
    return string(payload).rstrip()


class _Nest:
    """A nest whose attributes are named and read by a table {number: (name, reader)}."""

    def __init__(self, table: dict[int, tuple[str, Callable]]) -> None:
        self._table = table

    def __call__(self, payload: bytes) -> dict:
        return {self._table[kind][0]: self._table[kind][1](value)
                for kind, value in attributes(payload) if kind in self._table}


_V2_COMMON = _Nest({0: ("version", number), 1: ("release", number), 2: ("os", number),
                    3: ("eid", _padded_string), 4: ("peer_host", _padded_string)})
_LGR_V2 = _Nest({1: ("direct", number), 2: ("max_conns", number), 3: ("max_links", number)})
_LGR = _Nest({1: ("id", number), 2: ("role", number), 3: ("type", number), 4: ("pnetid", string),
              5: ("vlan", number), 6: ("connections", number), 7: ("v2_common", _V2_COMMON),
              8: ("v2", _LGR_V2), 9: ("net_cookie", number), 11: ("buffer_type", number),
              12: ("sndbuf_bytes", number), 13: ("rmb_bytes", number)})
_LGR_SMCD = _Nest({1: ("id", number), 2: ("gid", number), 3: ("peer_gid", number),
                   4: ("vlan", number), 5: ("connections", number), 6: ("pnetid", string),
                   7: ("chid", number), 9: ("v2_common", _V2_COMMON), 10: ("gid_extension", number),
                   11: ("peer_gid_extension", number), 12: ("sndbuf_bytes", number),
                   13: ("dmb_bytes", number)})
_LINK = _Nest({1: ("id", number), 2: ("device", string), 3: ("port", number), 4: ("gid", string),
               5: ("peer_gid", string), 6: ("connections", number), 7: ("ifindex", number),
               8: ("uid", number), 9: ("peer_uid", number), 10: ("state", number)})
_SYS_INFO = _Nest({1: ("version", number), 2: ("release", number), 3: ("is_ism_v2", number),
                   4: ("host", _padded_string), 5: ("seid", string), 6: ("is_smcr_v2", number)})
_PORT = _Nest({1: ("pnetid_by_user", number), 2: ("pnetid", string), 3: ("ifindex", number),
               4: ("state", number), 5: ("valid", number), 6: ("links", number)})
_DEVICE = _Nest({2: ("critical", number), 3: ("pci_fid", number), 7: ("pci_id", string),
                 8: ("port1", _PORT), 9: ("port2", _PORT), 10: ("name", string)})
_SIZE_COUNTS = _Nest({index: (name, number) for index, name in enumerate(_SIZES, 1)})
_RMB_STATS = _Nest({index: (name, number) for index, name in enumerate(
    ("size_small_peer", "size_small", "full_peer", "full", "reuse", "alloc", "downgrade"), 1)})
_TECH = _Nest({1: ("tx_rmb_size", _SIZE_COUNTS), 2: ("rx_rmb_size", _SIZE_COUNTS),
               3: ("tx_payload", _SIZE_COUNTS), 4: ("rx_payload", _SIZE_COUNTS),
               5: ("tx_rmb", _RMB_STATS), 6: ("rx_rmb", _RMB_STATS), 7: ("client_v1", number),
               8: ("client_v2", number), 9: ("server_v1", number), 10: ("server_v2", number),
               11: ("sendpage", number), 12: ("splice", number), 13: ("cork", number),
               14: ("nodelay", number), 15: ("urgent", number), 16: ("rx_bytes", number),
               17: ("tx_bytes", number), 18: ("rx_calls", number), 19: ("tx_calls", number),
               20: ("rx_rmb_usage", number), 21: ("tx_rmb_usage", number)})
_STATS = _Nest({1: ("smcd", _TECH), 2: ("smcr", _TECH), 3: ("client_errors", number),
                4: ("server_errors", number)})
_FBACK = _Nest({1: ("type", number), 2: ("server", number), 3: ("client", number),
                4: ("code", number), 5: ("count", number)})
_PNET = _Nest({1: ("name", string), 2: ("eth", string), 3: ("ib", string), 4: ("port", number)})


def _dump(command: int) -> list[list[tuple[int, bytes]]]:
    with Generic(FAMILY) as family:
        return family.request(command, dump=True)


def _do(command: int, body: bytes = b"") -> None:
    with Generic(FAMILY) as family:
        family.request(command, body)


def _padded(eid: str) -> str:
    return f"{eid:<32}"


def ueids() -> list[str]:
    return [_padded_string(value) for message in _dump(_DUMP_UEID) for _, value in message]


def add_ueid(eid: str) -> None:
    _do(_ADD_UEID, text(1, _padded(eid)))


def remove_ueid(eid: str) -> None:
    _do(_REMOVE_UEID, text(1, _padded(eid)))


def flush_ueids() -> None:
    _do(_FLUSH_UEID)


def handshake_limitation() -> bool:
    return any(number(value) for message in _dump(_DUMP_HS_LIMITATION) for _, value in message)


def set_handshake_limitation(on: bool) -> None:
    _do(_ENABLE_HS_LIMITATION if on else _DISABLE_HS_LIMITATION)


def sys_info() -> dict:
    for message in _dump(_GET_SYS_INFO):
        for kind, value in message:
            if kind == _TOP_SYS_INFO:
                return _SYS_INFO(value)
    return {}


def devices() -> list[dict]:
    """RDMA devices, each with its ports."""
    return [_DEVICE(value) for message in _dump(_GET_DEV_SMCR) for kind, value in message
            if kind == _TOP_DEV]


def link_groups() -> list[dict]:
    """SMC-R link groups, each with its "links"."""
    groups: list[dict] = []
    for message in _dump(_GET_LINK_SMCR):
        for kind, value in message:
            if kind == _TOP_LGR:
                groups.append({**_LGR(value), "links": []})
            elif kind == _TOP_LINK and groups:
                groups[-1]["links"].append(_LINK(value))
    return groups


def link_groups_only() -> list[dict]:
    """The same without links, by the command that `smcr linkgroup show` uses."""
    return [_LGR(value) for message in _dump(_GET_LGR_SMCR) for kind, value in message
            if kind == _TOP_LGR]


def smcd_link_groups() -> list[dict]:
    return [_LGR_SMCD(value) for message in _dump(_GET_LGR_SMCD) for kind, value in message
            if kind == _TOP_LGR_SMCD]


def smcd_devices() -> int:
    """How many messages the dump of SMC-D devices has."""
    return len(_dump(_GET_DEV_SMCD))


def stats() -> dict:
    for message in _dump(_GET_STATS):
        for kind, value in message:
            if kind == _TOP_STATS:
                return _STATS(value)
    return {}


def fallbacks() -> dict:
    """{"server": total, "client": total, "reasons": [{"role", "code", "text", "count"}]}"""
    found: dict = {"server": 0, "client": 0, "reasons": []}
    for message in _dump(_GET_FBACK_STATS):
        for kind, value in message:
            if kind != _TOP_FBACK:
                continue
            entry = _FBACK(value)
            found["server"] = entry.get("server", found["server"])
            found["client"] = entry.get("client", found["client"])
            if entry.get("count"):
                found["reasons"].append({"role": "server" if entry.get("type") else "client",
                                         "code": entry["code"], "text": reason(entry["code"]),
                                         "count": entry["count"]})
    return found


def counters() -> dict:
    """Counters to compare before and after, in one flat table."""
    now, fell = stats(), fallbacks()
    smcr = now.get("smcr", {})
    return {"client": smcr.get("client_v1", 0) + smcr.get("client_v2", 0),
            "server": smcr.get("server_v1", 0) + smcr.get("server_v2", 0),
            "tx_bytes": smcr.get("tx_bytes", 0), "rx_bytes": smcr.get("rx_bytes", 0),
            "client_fallback": fell["client"], "server_fallback": fell["server"],
            "client_errors": now.get("client_errors", 0),
            "server_errors": now.get("server_errors", 0),
            "reasons": {f"{entry['role']} {entry['code']:#010x}": entry["count"]
                        for entry in fell["reasons"]}}


def pnet_add(name: str, eth: str | None = None, ib: str | None = None,
             port: int | None = None) -> None:
    body = text(1, name)
    if eth is not None:
        body += text(2, eth)
    if ib is not None:
        body += text(3, ib) + attribute(4, struct.pack("=B", port or 1))
    with Generic(PNET_FAMILY) as family:
        family.request(_PNET_ADD, body)


def pnet_entries(name: str | None = None) -> list[dict]:
    with Generic(PNET_FAMILY) as family:
        if name is None:
            answers = family.request(_PNET_GET, dump=True)
        else:
            answers = family.request(_PNET_GET, text(1, name))
    return [_PNET(b"".join(attribute(kind, value) for kind, value in answer))
            for answer in answers]


def pnet_delete(name: str) -> None:
    with Generic(PNET_FAMILY) as family:
        family.request(_PNET_DEL, text(1, name))


def pnet_flush() -> None:
    with Generic(PNET_FAMILY) as family:
        family.request(_PNET_FLUSH)


def sockets() -> list[dict]:
    """AF_SMC sockets from sock_diag; mode: "SMC-R", "TCP" or "SMC-D"."""
    # Extensions CONNINFO, LGRINFO and DMBINFO, by bit number - 1.
    body = struct.pack("=B2xB48x", AF_SMC, 0b1011)
    with Netlink(NETLINK_SOCK_DIAG) as netlink:
        answers = netlink.request(_SOCK_DIAG_BY_FAMILY, body, dump=True)
    return [_diag(answer) for answer in answers]


def open_by_mode(least: int = 1) -> dict:
    """How many established AF_SMC sockets go over what: {"SMC-R": 10, "TCP": 1}; nothing while there
    are fewer than least."""
    modes: dict = {}
    for entry in sockets():
        if entry["state"] == _STATE_ACTIVE:
            modes[entry["mode"]] = modes.get(entry["mode"], 0) + 1
    return modes if sum(modes.values()) >= least else {}


def _diag(answer: bytes) -> dict:
    family, state, mode, shutdown = answer[:4]
    local_port, peer_port = struct.unpack_from(">HH", answer, 4)
    uid, inode = struct.unpack_from("=IQ", answer, 52)
    entry = {"family": family, "state": state, "shutdown": shutdown, "local_port": local_port,
             "peer_port": peer_port, "uid": uid, "inode": inode,
             "mode": ("SMC-R", "TCP", "SMC-D")[mode]}
    for kind, value in attributes(answer[64:]):
        if kind == 5:
            code, diagnosis = struct.unpack_from("=II", value)
            entry |= {"fallback": code, "peer_diagnosis": diagnosis}
        elif kind == 1:
            entry["token"], _, entry["rmb_bytes"] = struct.unpack_from("=III", value)
        elif kind == 2:
            entry["link"] = {"id": value[0], "device": string(value[1:65]), "role": value[146]}
        elif kind == 4:
            entry["dmb"] = dict(zip(("group", "peer_gid", "gid", "token", "peer_token"),
                                    struct.unpack_from("=I4x4Q", value)))
    return entry
