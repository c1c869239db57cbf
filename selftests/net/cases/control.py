# SPDX-License-Identifier: GPL-2.0-only
"""Configuration and what is shown: EIDs, PNET table, sysctls, counters, groups, sockets; each
network namespace by itself; smc_ctl as a user sees it."""

import errno
import json
import re
from contextlib import contextmanager
from pathlib import Path

from churn import connections_are_gone
from harness import case
from harness.channel import AgentError
from harness.testmodule import built_module

CTL = "build/tools/smc_ctl"
RUN = "build/tools/smc_run"
PNET_CAPACITY = 1024
PNET_FILLER = """
import sys
sys.path.insert(0, "selftests/vm/guest")
import smcnl
for i in range(1, {rows} + 1):
    smcnl.pnet_add("N%d" % (i % 2), eth="e%d" % i)
"""
LIMIT_OPTION = """
import errno, socket, struct
SOL_SMC, SMC_LIMIT_HS = 286, 1

def fails(call, *args):
    try:
        call(*args)
    except OSError as error:
        return errno.errorcode[error.errno]

for family in socket.AF_INET, socket.AF_INET6:
    s = socket.socket(family)
    def value(size=4):
        return struct.unpack("i", s.getsockopt(SOL_SMC, SMC_LIMIT_HS, size).ljust(4, b"x"))[0]
    assert value() == {namespace}
    for asked, is_then in ((0, 0), (1, 1), (0, 0), (-5, 1), (2, 1)):
        s.setsockopt(SOL_SMC, SMC_LIMIT_HS, asked)
        assert value() == is_then, asked
    s.listen()
    assert value() == 1
    s.setsockopt(SOL_SMC, SMC_LIMIT_HS, 0)
    assert value() == 0
    assert s.getsockopt(SOL_SMC, SMC_LIMIT_HS, 1) == bytes(1)
    assert len(s.getsockopt(SOL_SMC, SMC_LIMIT_HS, 64)) == 4
    assert fails(s.setsockopt, SOL_SMC, SMC_LIMIT_HS, b"abc") == "EINVAL"
    assert fails(s.setsockopt, SOL_SMC, 2, 1) == "ENOPROTOOPT"
    # Nor does TCP, which is asked then, know it: IPv4 and IPv6 have different words for that.
    assert fails(s.getsockopt, SOL_SMC, 0, 4) in ("ENOTSUP", "ENOPROTOOPT")
    s.close()
print("all as it should be")
"""
COUNTED_CALLS = """
import os, socket

def counted():
    with open("/proc/net/smc_stat") as lines:
        return {{name: int(value) for name, value in map(str.split, lines)}}

class Counted:
    def __init__(self, **expected):
        self.expected = {{"smcd_" + name: n for name, n in expected.items()}}
    def __enter__(self):
        self.before = counted()
    def __exit__(self, *failure):
        now = counted()
        grown = {{name: now[name] - self.before[name] for name in NAMES if now[name] != self.before[name]}}
        assert failure[0] or grown == self.expected, (grown, self.expected)

NAMES = ["smcd_" + name for name in ("splice", "cork", "nodelay", "urgent")] + [
    "smcd_" + way + "_buf_" + name for way in ("tx", "rx")
    for name in ("size_small", "size_small_peer", "full", "full_peer")]
assert set(NAMES) <= set(counted())

with socket.create_server(("127.0.0.1", 0)) as listener:
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
with Counted(nodelay=1):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
with Counted(cork=1):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
with Counted(urgent=2):
    client.send(b"!", socket.MSG_OOB)
    assert server.recv(1, socket.MSG_OOB) == b"!"
client.send(b"abc")
with Counted(rx_buf_size_small=1):
    assert server.recv(2) == b"ab"
    assert server.recv(2) == b"c"
client.send(b"abc")
into, out = os.pipe()
with Counted(splice=1):
    assert os.splice(server.fileno(), out, 3) == 3
assert os.read(into, 3) == b"abc"
with Counted(tx_buf_size_small=1, tx_buf_size_small_peer=1, tx_buf_full=1, tx_buf_full_peer=1):
    sent = client.send(bytes(1 << 22), socket.MSG_DONTWAIT)
assert sent < 1 << 22
with Counted(rx_buf_full=1, rx_buf_size_small=1):
    assert server.recv(1) == bytes(1)
with Counted():
    assert len(server.recv(sent - 1, socket.MSG_WAITALL)) == sent - 1
print("all as it should be")
"""
LISTENER = """
import os, socket, sys
s = socket.socket()
s.bind(("0.0.0.0", {port}))
s.listen()
print("listening", os.fstat(s.fileno()).st_ino, flush=True)
sys.stdin.read()
"""
PAIR_SERVER = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", {port}))
s.listen()
print("listening", flush=True)
c, _ = s.accept()
c.sendall(c.recv(5))
print("answered", flush=True)
sys.stdin.read()
"""
PAIR_CLIENT = """
import socket, sys
s = socket.socket()
s.connect(("{address}", {port}))
s.sendall(b"hello")
assert s.recv(5) == b"hello"
print("connected", flush=True)
sys.stdin.read()
"""


def refused(guest, code: int, function: str, *args, **kwargs) -> None:
    """The call fails with this errno."""
    try:
        guest.call(f"smcnl.{function}", *args, **kwargs)
    except AgentError as error:
        assert f"[Errno {code}]" in str(error), f"{function}{args}: {error}"
        return
    raise AssertionError(f"{function}{args} succeeded instead of failing with errno {code}")


def python(code: str, **values) -> str:
    return "exec python3 -u -c '" + code.format(**values) + "'"


def python_on_smc(code: str, **values) -> str:
    """A command for Python in which TCP sockets become SMC sockets."""
    return python(code, **values).replace("exec ", f"exec {RUN} ", 1)


def stat(guest, name: str, inside: str = "") -> int:
    """One counter of /proc/net/smc_stat."""
    for line in guest.run(f"{inside} cat /proc/net/smc_stat").out.splitlines():
        key, value = line.split()
        if key == name:
            return int(value)
    raise AssertionError(f"no counter {name}")


@contextmanager
def own_eids(guest):
    """Empties the EID table, and restores it afterwards."""
    before = guest.call("smcnl.ueids")
    guest.call("smcnl.flush_ueids")
    try:
        yield
    finally:
        guest.call("smcnl.flush_ueids")
        for eid in before:
            guest.call("smcnl.add_ueid", eid)


@contextmanager
def namespace(guest, name: str = "other"):
    """The prefix that runs a command in another network namespace."""
    guest.run(f"ip netns add {name}")
    try:
        yield f"ip netns exec {name}"
    finally:
        guest.run(f"ip netns del {name}")


@contextmanager
def empty_pnet_table(guest):
    guest.call("smcnl.pnet_flush")
    try:
        yield
    finally:
        guest.call("smcnl.pnet_flush")


def pnet_rows(guest, name: str | None = None) -> list[tuple]:
    return [(row["name"], row["eth"], row["ib"], row["port"])
            for row in guest.call("smcnl.pnet_entries", name)]


@case(on="ours")
def eids(vm):
    with own_eids(vm.a):
        assert vm.a.call("smcnl.ueids") == []
        for eid in ("ONE", "2-TWO", "THREE.3"):
            vm.a.call("smcnl.add_ueid", eid)
        refused(vm.a, errno.EEXIST, "add_ueid", "ONE")
        for bad in ("lower", "A B", ".DOT", "-HYPHEN", "UNDER_SCORE", "", " LEADING", "A\t"):
            refused(vm.a, errno.EINVAL, "add_ueid", bad)
        vm.a.call("smcnl.add_ueid", "Z" * 32)
        refused(vm.a, errno.ERANGE, "add_ueid", "FIFTH")
        assert vm.a.call("smcnl.ueids") == ["ONE", "2-TWO", "THREE.3", "Z" * 32]

        vm.a.call("smcnl.remove_ueid", "2-TWO")
        refused(vm.a, errno.ENOENT, "remove_ueid", "2-TWO")
        refused(vm.a, errno.ENOENT, "remove_ueid", "ON")
        vm.a.call("smcnl.add_ueid", "FIFTH")
        assert vm.a.call("smcnl.ueids") == ["ONE", "THREE.3", "Z" * 32, "FIFTH"]
        vm.a.call("smcnl.flush_ueids")
        assert vm.a.call("smcnl.ueids") == []


@case(on="ours")
def eids_by_hand(vm):
    """What smc_ctl prints for the errors above."""
    def said(command: str, eid: str) -> str:
        result = vm.a.run(f"{CTL} eid {command} {eid}", check=False)
        assert result.rc == 1 and result.out == "", result
        return result.err

    with own_eids(vm.a):
        vm.a.run(f"{CTL} eid add one")
        assert said("add", "one") == "smc_ctl: \"one\" is there already\n"
        for eid in ("two", "three", "four"):
            vm.a.run(f"{CTL} eid add {eid}")
        assert "at most four" in said("add", "five")
        assert said("del", "five") == "smc_ctl: \"five\" is not there\n"
        assert "is no EID" in said("add", "a_b")
        assert said("add", "x" * 33) == "smc_ctl: an EID has at most 32 characters\n"


@case(on="none")
def without_the_module(vm):
    for command in ("eid show", "pnet show", "groups", "links", "devices", "sockets", "stats",
                    "fallback", "info"):
        result = vm.a.run(f"{CTL} {command}", check=False)
        assert (result.rc, result.out, result.err) == (1, "", "smc_ctl: smc.ko is not loaded\n"), (
            command, result)


@case(on="ours")
def looking_loads_the_module(vm):
    """Programs that look at SMC load the module by its aliases. The kernel's own smc_diag is
    installed as well and has one of these aliases; the log must not mention it."""
    if vm.a.kernel.has_smc:
        vm.a.run("modinfo -n smc_diag")
    for command in f"{CTL} stats", f"{CTL} sockets", "modprobe net-pf-16-proto-4-type-43":
        vm.a.unload_module()
        assert command != f"{CTL} sockets" or vm.a.run(command).out == ""
        vm.a.run(command)
        loaded = vm.a.run("grep -o '^smc[a-z_]*' /proc/modules").out.split()
        assert loaded == ["smc"], (command, loaded)
    vm.a.unload_module()
    vm.a.load_module()


# A dump is under way until its reader has seen its end.
_DUMPS = """
import os, socket, struct, subprocess, sys, time
sys.path.insert(0, "selftests/vm/guest")
from netlink import NETLINK_GENERIC, Generic

SYS_INFO, GET, RULES_GET = 1, 1, 3
REQUEST_DUMP, ERROR = 0x301, 2

def family(name):
    while loading.poll() is None:
        try:
            with Generic(name) as found:
                return found.number
        except FileNotFoundError:
            time.sleep(0.05)
    sys.exit("it was not loading any more")

def begin(kind, command):
    asking = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    asking.send(struct.pack("=IHHIIBBH", 20, kind, REQUEST_DUMP, 1, 0, command, 1, 0))
    return asking

def refusal(asking):
    answer = asking.recv(65536)
    if struct.unpack_from("=IH", answer)[1] == ERROR:
        return os.strerror(-struct.unpack_from("=i", answer, 16)[0])
    asking.recv(65536)
    return "none"

loading = subprocess.Popen(["modprobe", "smc"], stderr=subprocess.DEVNULL)
peers = family("SMC_PEERS")
dumps = [begin(family("SMC_GEN_NETLINK"), SYS_INFO), begin(family("SMC_PNETID"), GET),
         begin(peers, GET), begin(peers, RULES_GET)]
assert loading.wait() != 0
print("; ".join(sorted({refusal(dump) for dump in dumps})))
"""


@case(on="ours")
def no_dump_of_a_module_whose_loading_fails(vm):
    """It is gone as soon as loading has failed, whoever uses it: so nobody may begin a dump before
    loading has succeeded."""
    vm.a.put("/tmp/dumps.py", _DUMPS.encode())
    vm.a.unload_module()
    vm.a.run(f"insmod {built_module(vm.a.kernel, 'selftests/net/latefail', 'smc_latefail')}")
    # Or who asks for a family that is not there yet waits for the end of loading.
    modprobe = vm.a.run("sysctl -n kernel.modprobe").out.strip()
    vm.a.run("sysctl -q kernel.modprobe=/bin/false")
    try:
        refused = vm.a.run("python3 /tmp/dumps.py").out.strip()
    finally:
        vm.a.run(f"sysctl -q kernel.modprobe={modprobe}; rmmod smc_latefail")
        vm.a.load_module()
    assert refused == "Resource temporarily unavailable", refused


@case(on="kernel")
def the_kernels_own_shows_sockets(vm):
    """The kernel's own smc_diag is loaded on demand, and smc.ko with it."""
    vm.a.unload_module()
    assert vm.a.run(f"{CTL} sockets").out == ""
    loaded = vm.a.run("grep -o '^smc[a-z_]*' /proc/modules").out.split()
    assert sorted(loaded) == ["smc", "smc_diag"], loaded


@case(on="ours")
def output_that_is_lost(vm):
    for command in ("info", "stats", "--help"):
        result = vm.a.run(f"{CTL} {command} >/dev/full", check=False)
        assert result.rc == 1 and "No space left" in result.err, (command, result)


@case(on="ours")
def eids_of_a_namespace(vm):
    with own_eids(vm.a), namespace(vm.a) as inside:
        vm.a.call("smcnl.add_ueid", "OUTSIDE")
        assert vm.a.run(f"{inside} {CTL} eid show").out == ""
        vm.a.run(f"{inside} {CTL} eid add inside")
        assert vm.a.run(f"{inside} {CTL} eid show").out == "INSIDE\n"
        assert vm.a.call("smcnl.ueids") == ["OUTSIDE"]
        vm.a.call("smcnl.flush_ueids")
        assert vm.a.run(f"{inside} {CTL} eid show").out == "INSIDE\n"


@case(on="ours")
def pnet_table(vm):
    with empty_pnet_table(vm.a):
        vm.a.call("smcnl.pnet_add", "net1", eth="eth0")
        refused(vm.a, errno.EEXIST, "pnet_add", "net1", eth="eth0")
        refused(vm.a, errno.EEXIST, "pnet_add", "net2", eth="eth0")
        # A row with one new part is accepted; the existing part stays.
        vm.a.call("smcnl.pnet_add", "NET2", eth="eth0", ib="mlx5_0", port=1)
        vm.a.call("smcnl.pnet_add", "NET2", ib="mlx5_0", port=2)
        refused(vm.a, errno.EEXIST, "pnet_add", "NET3", ib="mlx5_0", port=2)
        vm.a.call("smcnl.pnet_add", "NET2", ib="0000:01:00.0")
        assert pnet_rows(vm.a) == [
            ("NET1", "eth0", "n/a", 255), ("NET2", "n/a", "mlx5_0", 1),
            ("NET2", "n/a", "mlx5_0", 2), ("NET2", "n/a", "0000:01:00.0", 1)]
        assert pnet_rows(vm.a, "net1") == [("NET1", "eth0", "n/a", 255)]
        assert pnet_rows(vm.a, "nope") == []

        refused(vm.a, errno.ENOENT, "pnet_delete", "nope")
        vm.a.call("smcnl.pnet_delete", "net2")
        refused(vm.a, errno.ENOENT, "pnet_delete", "net2")
        assert pnet_rows(vm.a) == [("NET1", "eth0", "n/a", 255)]
        vm.a.call("smcnl.pnet_flush")
        assert pnet_rows(vm.a) == []


@case(on="ours")
def pnet_refuses_nonsense(vm):
    with empty_pnet_table(vm.a):
        for name in ("", "  ", "A B", "A-B", "A.B", "A\tB"):
            refused(vm.a, errno.EINVAL, "pnet_add", name, eth="eth0")
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", eth="")
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", ib="mlx5_0", port=3)
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", ib=" ")
        # If one part is wrong, the other part is not added either.
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", eth="eth0", ib="mlx5_0", port=9)
        refused(vm.a, errno.EINVAL, "pnet_add", "N" * 17, eth="eth0")
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", eth="e" * 16)
        refused(vm.a, errno.EINVAL, "pnet_add", "NET", ib="m" * 64)
        assert pnet_rows(vm.a) == []


@case(on="ours")
def pnet_table_is_bounded(vm):
    """More rows than one netlink buffer holds are all shown once, and the table has a limit."""
    with empty_pnet_table(vm.a):
        vm.a.run(python(PNET_FILLER, rows=PNET_CAPACITY), timeout_s=300)
        refused(vm.a, errno.ENOSPC, "pnet_add", "N0", eth="straw")
        wanted = [f"e{i}" for i in range(1, PNET_CAPACITY + 1)]
        assert [row[1] for row in pnet_rows(vm.a)] == wanted
        assert [row[1] for row in pnet_rows(vm.a, "n1")] == wanted[::2]
        vm.a.call("smcnl.pnet_delete", "N1")
        assert [row[1] for row in pnet_rows(vm.a)] == wanted[1::2]
        vm.a.call("smcnl.pnet_add", "N0", eth="straw")


@case(on="ours")
def pnet_table_of_a_namespace(vm):
    with empty_pnet_table(vm.a), namespace(vm.a) as inside:
        vm.a.call("smcnl.pnet_add", "OUTSIDE", eth="eth0")
        assert vm.a.run(f"{inside} {CTL} pnet show").out == ""
        # RDMA devices belong to the initial namespace, so that part is skipped here.
        vm.a.run(f"{inside} {CTL} pnet add inside --netdev eth0 --rdma mlx5_0")
        assert vm.a.run(f"{inside} {CTL} pnet show").out.split() == ["INSIDE", "netdev", "eth0"]
        refusal = vm.a.run(f"{inside} {CTL} pnet add inside --rdma mlx5_1", check=False)
        assert refusal.rc == 1 and "File exists" in refusal.err, refusal
        assert pnet_rows(vm.a) == [("OUTSIDE", "eth0", "n/a", 255)]


@case(on="ours")
def devices_with_pnet_ids(vm):
    with empty_pnet_table(vm.a):
        device, = vm.a.call("smcnl.devices")
        port = device["port1"]
        assert device["name"] == "rxe0" and "port2" not in device, device
        assert port["valid"] == 1 and port["state"] == 1, port
        assert (port["pnetid"], port["pnetid_by_user"]) == ("", 0), port
        ifindex = int(vm.a.run("cat /sys/class/net/eth0/ifindex").out)
        assert port["ifindex"] == ifindex, port

        vm.a.call("smcnl.pnet_add", "FABRIC", ib="rxe0")
        port = vm.a.call("smcnl.devices")[0]["port1"]
        assert (port["pnetid"], port["pnetid_by_user"]) == ("FABRIC", 1), port
        assert re.search(r"^rxe0 port 1 active netdev eth0 links \d+ pnet FABRIC \(by user\)$",
                         vm.a.run(f"{CTL} devices").out, re.M)


@case(on="ours")
def only_the_administrator_changes(vm):
    with own_eids(vm.a), empty_pnet_table(vm.a):
        vm.a.call("smcnl.add_ueid", "PUBLIC")
        nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        for command in ("eid add X", "eid del PUBLIC", "eid flush", "pnet add N --netdev e",
                        "pnet del N", "pnet flush"):
            result = vm.a.run(f"{nobody} {CTL} {command}", check=False)
            assert result.rc == 1 and "Operation not permitted" in result.err, (command, result)
        assert vm.a.run(f"{nobody} {CTL} eid show").out == "PUBLIC\n"
        for command in ("pnet show", "groups", "links", "devices", "sockets", "stats", "fallback",
                        "info"):
            vm.a.run(f"{nobody} {CTL} {command}")


@case(on="ours")
def system_information(vm):
    info = vm.a.call("smcnl.sys_info")
    host = vm.a.run("uname -n").out.strip()
    assert info == {"version": 2, "release": 1, "is_ism_v2": 0, "host": host, "is_smcr_v2": 1}
    assert vm.a.run(f"{CTL} info").out == f"SMC version 2.1, host name {host}\n"
    inside = vm.a.run(f"unshare --uts sh -c 'hostname inside && {CTL} info'").out
    assert inside == "SMC version 2.1, host name inside\n", f"a container is told {inside!r}"


SYSCTLS = {  # name: (default, legal values, illegal values)
    "autocorking_size": (65536, (0, 1, 4294967295), (-1,)),
    "smcr_buf_type": (0, (1, 2), (-1, 3)),
    "smcr_testlink_time": (30, (0, 1, 3600), (-1,)),
    "wmem": (65536, (16384, 1073741823), (16383, 1073741824, -1)),
    "rmem": (65536, (16384, 1073741823), (16383, 1073741824, -1)),
    "smcr_max_links_per_lgr": (2, (1,), (0, 3)),
    "smcr_max_conns_per_lgr": (255, (16, 100), (15, 256)),
    "limit_smc_hs": (0, (1,), (-1, 2)),
    "smcd_loopback": (2, (0, 1), (-1, 3)),
    "plain_peer_time": (600, (0, 1, 86400), (-1, 86401)),
    "inherit_eids": (1, (0,), (-1, 2)),
    "default_eid": (1, (0,), (-1, 2)),
    "host_ports": (0, (1, 2), (-1, 3)),
    "end_by_reset": (1, (0,), (-1, 2)),
    "smcr_compact": (1, (0,), (-1, 2)),
    "smcr_growing_rings": (1, (0,), (-1, 2)),
    "smcr_rmb_elements": (255, (1, 2), (0, 256)),
    "smcr_iwarp_port": (0, (1, 65535), (-1, 65536)),
}
# Not on every kernel can they be set: selection.py. All namespaces share the second one.
SELECTION = ("tcp2smc", "tcp2smc_mark")


@case(on="ours")
def sysctls(vm):
    names = vm.a.run("ls /proc/sys/net/smc").out.split()
    assert sorted(names) == sorted((*SYSCTLS, *SELECTION)), names

    with namespace(vm.a) as inside:
        def all_of(prefix: str = "") -> dict[str, int]:
            lines = vm.a.run(f"{prefix} grep -r . /proc/sys/net/smc").out.splitlines()
            values = {path.rsplit("/", 1)[1]: int(value)
                      for path, value in (line.split(":") for line in lines)}
            assert not any(values.pop(name, 0) for name in SELECTION), values
            return values

        def written(name: str, values: tuple) -> list[str]:
            """For each value: whether the file took it, and what the file says then."""
            return vm.a.run(f"f=/proc/sys/net/smc/{name}; for v in {' '.join(map(str, values))};"
                            " do echo $v > $f && echo yes || echo no; cat $f; done").out.split()

        defaults = {name: default for name, (default, _, _) in SYSCTLS.items()}
        assert all_of() == all_of(inside) == defaults
        for name, (default, legal, illegal) in SYSCTLS.items():
            taken = [text for value in legal for text in ("yes", str(value))]
            assert written(name, legal) == taken, name
            assert written(name, illegal) == ["no", str(legal[-1])] * len(illegal), name
        assert all_of(inside) == defaults
        for name, default in defaults.items():
            assert written(name, (default,)) == ["yes", str(default)]


@case(on="ours")
def handshake_limitation(vm):
    """Netlink and sysctl change the same setting."""
    switch = "/proc/sys/net/smc/limit_smc_hs"
    assert vm.a.call("smcnl.handshake_limitation") is False
    vm.a.call("smcnl.set_handshake_limitation", True)
    assert vm.a.run(f"cat {switch}").out == "1\n"
    assert vm.a.call("smcnl.handshake_limitation") is True
    vm.a.run(f"echo 0 > {switch}")
    assert vm.a.call("smcnl.handshake_limitation") is False


@case(on="ours")
def handshake_limitation_of_a_socket(vm):
    for namespace_switch in (0, 1):
        vm.a.run(f"sysctl -q net.smc.limit_smc_hs={namespace_switch}")
        try:
            told = vm.a.run(python_on_smc(LIMIT_OPTION, namespace=namespace_switch)).out
        finally:
            vm.a.run("sysctl -q net.smc.limit_smc_hs=0")
        assert told == "all as it should be\n", told


@case(on="ours")
def counters_by_name(vm):
    lines = vm.a.run("cat /proc/net/smc_stat").out.splitlines()
    assert all(re.fullmatch(r"[a-z0-9_]+ \d+", line) for line in lines), lines
    names = [line.split()[0] for line in lines]
    assert len(names) == len(set(names)), "a name comes twice"
    assert {"wire_violation", "cdc_bad_token", "client_fallback", "server_fallback_other",
            "smcr_tx_bytes", "smcd_rx_buf_64k"} <= set(names)


@case(on="ours")
def counters_of_calls(vm):
    """`smcr stats` and `smcd stats` count each call as it happens."""
    for _ in range(2):
        told = vm.a.run(python_on_smc(COUNTED_CALLS)).out
        assert told == "all as it should be\n", told


@case(on="ours")
def listener_in_its_namespace(vm):
    listener = vm.a.spawn(python_on_smc(LISTENER, port=7301))
    try:
        inode = listener.expect(r"listening \d+\n").split()[1]
        found = [s for s in vm.a.call("smcnl.sockets") if s["local_port"] == 7301]
        assert len(found) == 1 and found[0]["state"] == 10 and found[0]["family"] == 43, found
        shown = vm.a.run(f"{CTL} sockets").out
        wanted = rf"^listen +0\.0\.0\.0:7301 uid 0 inode {inode}$"
        assert re.search(wanted, shown, re.M), (wanted, shown)
        # The command of README.md that finds the processes that hold the module.
        vm.a.run(f"ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F 'socket:[{inode}]'")
        with namespace(vm.a) as inside:
            assert vm.a.run(f"{inside} {CTL} sockets").out == ""
    finally:
        listener.kill()
        listener.wait(check=False)


@contextmanager
def connected(vm, port: int):
    server = vm.b.spawn(python_on_smc(PAIR_SERVER, port=port))
    client = None
    try:
        server.expect("listening")
        client = vm.a.spawn(python_on_smc(PAIR_CLIENT, address=vm.b.ip4, port=port))
        client.expect("connected")
        server.expect("answered")
        yield
    finally:
        for process in filter(None, (client, server)):
            process.kill()
            process.wait(check=False)


def link_groups(guest) -> tuple[list[dict], dict]:
    """All link groups and their device. Groups of earlier cases may end at any moment, so the two
    dumps are repeated until they agree."""
    for _ in range(5):
        everyone = guest.call("smcnl.link_groups")
        only = [one["id"] for one in guest.call("smcnl.link_groups_only")]
        device, = guest.call("smcnl.devices")
        if only == [one["id"] for one in everyone] and device["port1"]["links"] == len(everyone):
            return everyone, device
    raise AssertionError(f"{everyone}, by themselves {only}, {device}")


@case(on="ours+ours")
def group_and_sockets_of_a_connection(vm):
    def set_up() -> list[int]:
        return [stat(vm.a, "smcr_client_v2"), stat(vm.b, "smcr_server_v2")]

    for guest in vm.guests:
        connections_are_gone(guest)
    before = set_up()
    with connected(vm, 7302):
        for guest, role, port in ((vm.a, 0, "peer_port"), (vm.b, 1, "local_port")):
            # Earlier cases may have left idle groups.
            everyone, device = link_groups(guest)
            group, = [group for group in everyone if group["connections"]]
            assert (group["role"], group["connections"]) == (role, 1), group
            assert group["v2_common"]["version"] == 2 and group["v2_common"]["os"] == 2, group
            assert group["v2_common"]["eid"] == guest.eid, group
            link, = group["links"]
            assert link["device"] == "rxe0" and link["port"] == 1 and link["state"] == 3, link
            assert link["connections"] == 1, link
            assert device["critical"] == 1, device

            found = [s for s in guest.call("smcnl.sockets") if s[port] == 7302 and s["state"] == 1]
            assert len(found) == 1 and found[0]["mode"] == "SMC-R", found
            assert found[0]["link"]["device"] == "rxe0" and found[0]["link"]["role"] == role
            assert found[0]["token"] != 0

            one, = [s for s in json.loads(guest.run(f"{CTL} sockets --json --state active").out)
                    if 7302 in (s["local"]["port"], s["peer"]["port"])]
            assert (one["carrier"], one["device"], one["link"]) == ("SMC-R", "rxe0", 1), one
            traffic = one["traffic"]
            assert traffic["sent_bytes"] == traffic["received_bytes"] == 5, traffic
            assert traffic["sent_messages"] >= 1 and traffic["stale_messages"] == 0, traffic

            with namespace(guest) as inside:
                for command in ("groups", "links", "sockets"):
                    assert guest.run(f"{inside} {CTL} {command}").out == "", command
            assert f"group {group['id']:08x}" in guest.run(f"{CTL} groups").out
            shown, = [g for g in shown_as_json(guest, "groups") if g["group"] == group["id"]]
            assert (shown["carrier"], shown["role"], shown["connections"], shown["version"]) == (
                "SMC-R", ("client", "server")[role], 1, 2), shown
            link, = [n for n in shown_as_json(guest, "links") if n["group"] == group["id"]]
            assert (link["state"], link["device"], link["netdev"]) == ("active", "rxe0", "eth0"), link
            assert " active device rxe0 port 1 netdev eth0 " in guest.run(f"{CTL} links").out
            assert "SMC-R device rxe0 port 1 link 1" in guest.run(f"{CTL} sockets").out
    assert set_up() == [count + 1 for count in before]


def shown_as_json(guest, command: str):
    return json.loads(guest.run(f"{CTL} {command} --json").out)


@case(on="ours")
def everything_is_shown_as_json(vm):
    """smc_ctl show … --json; that of sockets, groups and links is with connections."""
    def shown(command: str):
        return shown_as_json(vm.a, command)

    assert {"eid": vm.a.run(f"{CTL} eid show").out.split()[0], "default": False} in shown("eid show")
    vm.a.run(f"""set -e
        {CTL} pnet add JSON1 --netdev eth0 --rdma rxe0 --port 1
        {CTL} rules add deny --peer 192.0.2.0/24 --port 80-90 --out
        {CTL} rules add allow""")
    try:
        entries = [{"id": "JSON1", "netdev": "eth0"}, {"id": "JSON1", "rdma": "rxe0", "port": 1}]
        assert sorted(shown("pnet show JSON1"), key=len) == entries
        assert all(entry in shown("pnet show") for entry in entries)
        assert shown("pnet show NONE") == []
        assert shown("rules show") == [
            {"allow": False, "peer": "192.0.2.0/24", "port_first": 80, "port_last": 90,
             "out": True, "in": False},
            {"allow": True, "port_first": 0, "port_last": 65535, "out": True, "in": True}]
        device, = shown("devices")
        assert (device["device"], device["port"], device["active"], device["netdev"],
                device["pnet"], device["pnet_by_user"]) == (
            "rxe0", 1, True, "eth0", "JSON1", True), device
    finally:
        vm.a.run(f"{CTL} pnet flush; {CTL} rules flush")
    vm.a.run(f"{CTL} peers flush")  # earlier cases may have met peers without SMC
    assert shown("peers show") == [] and shown("rules show") == []
    assert shown("select list") == []
    assert shown("info")["version"] == 2
    fallback = shown("fallback")
    assert sum(reason["count"] for reason in fallback["reasons"]) == \
        fallback["client"] + fallback["server"], fallback

    found = vm.a.run(f"{CTL} doctor --json", check=False)
    report = json.loads(found.out)
    assert report["verdict"] == "smc" and found.rc == 0, report
    lines = vm.a.run(f"{CTL} doctor").out.splitlines()
    assert [finding["text"] for finding in report["findings"]] == [
        line[16:] for line in lines if not line.lstrip().startswith("->")], (report, lines)
    nobody = vm.a.run(f"{CTL} check 127.0.0.1 9 --json", check=False)
    report = json.loads(nobody.out)
    assert report["verdict"] == "no-connection" and nobody.rc == 4, report
    assert report["findings"][-1]["level"] == "BAD" and "advice" in report["findings"][-1]


LISTED_SOCKETS = """
import json, socket, subprocess, os

CTL = "{ctl}"
def listed(options):
    return json.loads(subprocess.check_output([CTL, "sockets", "--json", *options.split()]))

with socket.create_server(("127.0.0.1", 7305)) as listener:
    client = socket.create_connection(("127.0.0.1", 7305))
    server, _ = listener.accept()
    client.sendall(b"hello")
    assert server.recv(5) == b"hello"
    own = "--process %d" % os.getpid()
    sockets = listed(own)
    assert len(sockets) == 3, sockets
    assert all(s["processes"][0]["pid"] == os.getpid() for s in sockets), sockets
    inode = os.fstat(client.fileno()).st_ino
    one, = [s for s in sockets if s["inode"] == inode]
    assert one["state"] == "active" and one["carrier"] == "SMC-D", one
    assert one["peer"] == dict(address="127.0.0.1", port=7305), one
    traffic = one["traffic"]
    assert traffic["sent_bytes"] == 5 and traffic["received_bytes"] == 0, traffic
    assert traffic["sends_without_room"] == 0, traffic
    assert traffic["sends_behind_cork"] == traffic["messages_without_room"] == traffic["repeated_bytes"] == 0, traffic
    client.send(b"held", socket.MSG_MORE)
    client.send(b" and gone")
    assert server.recv(13, socket.MSG_WAITALL) == b"held and gone"
    one, = [s for s in listed(own) if s["inode"] == inode]
    assert one["traffic"]["sends_behind_cork"] == 1, one
    try:
        while True:
            client.send(bytes(1 << 20), socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass
    one, = [s for s in listed(own) if s["inode"] == inode]
    full = one["traffic"]
    assert full["sends_without_room"] >= 1 and full["sends_without_window"] >= 1, full
    assert full["sent_bytes"] > 60000, full
    listening, = listed(own + " --state listen")
    assert "carrier" not in listening and "peer" not in listening, listening
    assert len(listed(own + " --state listen --address 127.0.0.0/8")) == 1
    assert listed(own + " --address 10.0.0.0/8") == []
    assert listed(own + " --reason offer") == []
    assert len(listed("--process python3")) >= 3 and listed("--process nobody") == []
    text = subprocess.check_output([CTL, "sockets", "--processes", "--traffic"], text=True)
    assert "python3(%d)" % os.getpid() in text, text
    assert " sent %d received 0 " % full["sent_bytes"] in text, text
print("all as it should be")
"""


@case(on="ours")
def sockets_as_programs_read_them(vm):
    told = vm.a.run(python_on_smc(LISTED_SOCKETS, ctl=CTL)).out
    assert told == "all as it should be\n", told


BUSY_AND_IDLE = """
import json, os, socket, subprocess, threading, time

CTL = "{ctl}"
with socket.create_server(("127.0.0.1", 7306)) as listener:
    pairs = []
    for _ in range(2):
        client = socket.create_connection(("127.0.0.1", 7306))
        pairs.append((client, listener.accept()[0]))
(busy, reader), (idle, _) = pairs
ends = False

def stream():
    while not ends:
        busy.sendall(bytes(10000))
        time.sleep(0.01)
    busy.close()

def read():
    while reader.recv(100000):
        pass

threads = [threading.Thread(target=work) for work in (stream, read)]
for thread in threads:
    thread.start()
command = [CTL, "top", "--interval", "1", "--rounds", "2", "--process", str(os.getpid())]
rounds = [json.loads(line) for line in subprocess.check_output([*command, "--json"]).splitlines()]
lines = subprocess.check_output(command + ["--sort", "received"], text=True).splitlines()
ends = True
for thread in threads:
    thread.join()
assert len(rounds) == 2, rounds
inode = os.fstat(reader.fileno()).st_ino
for one in rounds:
    assert 1 <= one["seconds"] < 10 and len(one["connections"]) == 4, one
    first, second = one["connections"][:2]
    assert min(end["sent_bytes"] + end["received_bytes"] for end in (first, second)) > 10000, one
    assert [end["inode"] for end in (first, second) if end["received_bytes"] > 10000] == [inode], one
    assert all(end["sent_bytes"] == 0 for end in one["connections"][2:]), one
    assert first["carrier"] == "SMC-D" and first["processes"][0]["pid"] == os.getpid(), one
# Two lines above those of the connections, and an empty one below.
assert len(lines) == 2 * 7 and lines[6] == "", lines
assert lines[0].split()[:2] == ["SENT/s", "RECV/s"] and lines[2].split()[1] != "0", lines
print("all as it should be")
"""


@case(on="ours")
def busy_connections_come_first(vm):
    told = vm.a.run(python_on_smc(BUSY_AND_IDLE, ctl=CTL)).out
    assert told == "all as it should be\n", told


ACCEPTED_AS_TCP = """
import os, socket, subprocess, json
sockets = lambda: [one for one in json.loads(subprocess.check_output(["{ctl}", "sockets", "--json"]))
                   if one["local"]["port"] == 7307]
with socket.create_server(("::", 7307), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        local = "::ffff:" + address if family == socket.AF_INET else address
        plain = subprocess.Popen(["python3", "-c", "import socket, sys; end = socket.create_connection((sys.argv[1], 7307));"
                                  "end.recv(1)", address], env=dict(os.environ, LD_PRELOAD=""))
        server, _ = listener.accept()
        listening, child = sockets()
        assert listening["state"] == "listen" and "carrier" not in listening, listening
        assert child["inode"] == os.fstat(server.fileno()).st_ino, child
        assert (child["state"], child["carrier"], child["accepted"]) == ("active", "TCP", True), child
        assert child["local"]["address"] == local and child["processes"][0]["pid"] == os.getpid(), child
        text = subprocess.check_output(["{ctl}", "sockets", "--state", "active"], text=True)
        assert " TCP: accepted so" in text, text
        server.close()
        plain.wait()
    with socket.create_connection(("127.0.0.1", 7307)) as client, listener.accept()[0]:
        assert [one.get("carrier") for one in sockets()] == [None, "SMC-D"], sockets()
print("all as it should be")
"""


@case(on="ours")
def sockets_accepted_as_tcp_are_shown(vm):
    told = vm.a.run(python_on_smc(ACCEPTED_AS_TCP, ctl=CTL)).out
    assert told == "all as it should be\n", told


@case(on="ours")
def counters_since_a_moment(vm):
    vm.a.run(f"{CTL} stats --reset")
    assert "smcd_client_v2" not in vm.a.run(f"{CTL} stats --delta").out
    vm.a.run(python_on_smc(LISTED_SOCKETS, ctl=CTL))
    grown = dict(line.split() for line in vm.a.run(f"{CTL} stats --delta").out.splitlines())
    assert grown["smcd_client_v2"] == grown["smcd_server_v2"] == "1", grown
    assert "smcd_client_v2" in vm.a.run(f"{CTL} stats --delta --reset").out
    assert "smcd_client_v2" not in vm.a.run(f"{CTL} stats --delta").out
    everything = json.loads(vm.a.run(f"{CTL} stats --json").out)
    lines = vm.a.run(f"{CTL} stats --prometheus").out.splitlines()
    assert set(everything) == {line.split()[0] for line in
                               vm.a.run("cat /proc/net/smc_stat").out.splitlines()}
    assert f"smc_smcd_client_v2 {everything['smcd_client_v2']}" in lines
    assert len(lines) == 2 * len(everything) and "# TYPE smc_wire_violation untyped" in lines

    vm.a.run(f"{CTL} stats --prometheus --to /run/smc.prom")
    written = vm.a.run("cat /run/smc.prom; ls /run | grep -c smc.prom; rm /run/smc.prom").out
    assert written.splitlines()[-1] == "1", written
    names = {line.split()[0] for line in lines if not line.startswith("#")}
    assert {line.split()[0] for line in written.splitlines()[:-1] if line[0] != "#"} == names
    # What the dashboard shows is there.
    wanted = set(re.findall(r"\bsmc_[a-z0-9_]+(?=\{|,)", Path("packaging/grafana-dashboard.json").read_text()))
    assert len(wanted) > 30 and wanted <= names, wanted - names


@case(on="ours+none")
def fallback_reason_is_counted(vm):
    no_smc = "client_fallback_0x03010000"
    server = vm.b.spawn("exec python3 -u -c 'import socket\n"
                        "s = socket.create_server((\"0.0.0.0\", 7303))\n"
                        "print(\"listening\")\nc, _ = s.accept()\nc.sendall(c.recv(5))\nc.recv(1)'")
    server.expect("listening")
    before = vm.a.call("smcnl.fallbacks")["client"]
    client = vm.a.spawn(python_on_smc(PAIR_CLIENT, address=vm.b.ip4, port=7303))
    client.expect("connected")
    client.kill()
    client.wait(check=False)
    server.wait()
    now = vm.a.call("smcnl.fallbacks")
    assert now["client"] == before + 1, now
    assert stat(vm.a, no_smc) >= 1 and stat(vm.a, "client_fallback") == now["client"]
    assert "peer does not offer SMC" in vm.a.run(f"{CTL} fallback").out
    with namespace(vm.a) as inside:
        assert vm.a.run(f"{inside} {CTL} fallback").out == "no fallback so far\n"
        assert stat(vm.a, "client_fallback", inside) == 0


@case(on="ours+ours")
def a_report_says_all_but_names(vm):
    """For whoever is to find a fault elsewhere: what belongs together is seen, and not who it is."""
    vm.a.run(f"{CTL} eid add SECRET-CORP; {CTL} pnet add SECRETNET --netdev eth0 --rdma rxe0")
    try:
        with connected(vm, 7308):
            report = vm.a.run(f"{CTL} report", timeout_s=120).out
            group, = [group for group in shown_as_json(vm.a, "groups") if group["connections"]]
    finally:
        vm.a.run(f"{CTL} eid del SECRET-CORP; {CTL} pnet flush")
    mac = vm.a.run("cat /sys/class/net/eth0/address").out.strip()
    for secret in vm.a.ip4, vm.b.ip4, vm.a.ip6, "SECRET-CORP", "SECRETNET", mac, group["eid"]:
        assert secret not in report, secret
    parts = re.split(r"\n== (.*)\n\n", report)
    parts = dict(zip(parts[1::2], parts[2::2]))
    assert parts["Versions"].startswith("Linux ") and "version:" in parts["Versions"], parts["Versions"]
    assert "/proc/sys/net/smc/wmem:" in parts["Sysctls"]
    one, = [socket for socket in json.loads(parts["smc_ctl sockets"])
            if socket.get("peer", {}).get("port") == 7308]
    assert re.fullmatch(r"ip4-\d", one["peer"]["address"]) and one["carrier"] == "SMC-R", one
    assert one["peer"]["address"] != one["local"]["address"], one
    assert json.loads(parts["smc_ctl doctor"])["verdict"] == "smc", parts["smc_ctl doctor"]
    assert json.loads(parts["smc_ctl groups"])[0]["peer_host"].startswith("host-")
    assert any(entry["id"] == "pnet-1" for entry in json.loads(parts["smc_ctl pnet show"]))
    assert len(parts) == 18, parts.keys()
