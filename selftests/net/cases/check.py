# SPDX-License-Identifier: GPL-2.0-only
"""smc_ctl check and doctor: each thing that makes a connection TCP, and what they say about it."""

import re
from contextlib import contextmanager

from harness import case
from harness.guest import Guest
from selecting import CTL

PORT = 4791
SMC, TCP, NO_MODULE, NO_CONNECTION = 0, 2, 3, 4


def says(guest: Guest, command: str, status: int, *wanted: str) -> str:
    """The exit status is this one, and each of these stands at the beginning of a line, blanks
    counted as one."""
    result = guest.run(f"{CTL} {command}", check=False)
    lines = [re.sub(" +", " ", line) for line in result.out.splitlines()]
    assert result.rc == status, result
    for text in wanted:
        assert any(line.startswith(text) for line in lines), f"{text!r} is missing: {result}"
    return result.out


@contextmanager
def serving(guest: Guest, port: int = PORT):
    server = guest.spawn(f"exec {CTL} check --serve {port}")
    try:
        server.expect(f"listening on port {port}")
        yield server
    finally:
        server.kill()
        server.wait(10, check=False)


@case(on="ours")
def doctor_looks_at_the_host(vm):
    said = says(vm.a, "doctor", SMC, "ok module smc.ko ", f"ok eid {vm.a.eid}; ",
                "ok device rxe0 port 1 is active, on eth0", "ok gid rxe0 port 1 has RoCE v2",
                "note mtu eth0 has 1500", "ok firewall ")
    assert "BAD" not in said, said
    address = vm.a.run("ip -4 -o addr show eth0").out.split()[3]
    vm.a.run(f"ip addr del {address} dev eth0")
    try:
        vm.a.wait_for("! grep -qs 0000:ffff: /sys/class/infiniband/rxe0/ports/1/gids/*", 20)
        says(vm.a, "doctor", TCP, "BAD gid rxe0", " -> give eth0 an IPv4 address")
    finally:
        vm.a.run(f"ip addr add {address} dev eth0")
    vm.a.run("rdma link delete rxe0 && sysctl -q net.smc.smcd_loopback=0 net.smc.limit_smc_hs=1")
    try:
        says(vm.a, "doctor", TCP, "BAD device there is no RDMA device", " -> rdma link show",
             "note loopback ", "note limit ")
    finally:
        vm.a.run("rdma link add rxe0 type rxe netdev eth0;"
                 " sysctl -q net.smc.smcd_loopback=2 net.smc.limit_smc_hs=0")
        vm.a.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")


@case(on="none")
def nothing_works_without_the_module(vm):
    for command in "doctor", "check 127.0.0.1":
        says(vm.a, command, NO_MODULE, "BAD module smc.ko is not loaded", " -> modprobe smc")


@case(on="ours")
def a_host_checks_itself(vm):
    with serving(vm.a) as server:
        says(vm.a, "check 127.0.0.1", SMC, "ok route to 127.0.0.1:4791 by lo",
             "ok connected SMC-D, inside this host")
        server.expect(r"127\.0\.0\.1:\d+ SMC-D, inside this host")
        says(vm.a, "check ::1", SMC, "ok connected SMC-D")
    says(vm.a, "check 127.0.0.1 4799", NO_CONNECTION, "BAD connect Connection refused",
         " -> nobody listens there")
    says(vm.a, "check 203.0.113.9", NO_CONNECTION, "BAD ")
    assert vm.a.run(f"{CTL} check no.such.name.invalid", check=False).rc == 1
    assert vm.a.run(f"{CTL} check", check=False).rc > 100


@case(on="ours+ours")
def another_host_is_checked(vm):
    """Both are as they should be; then one thing after the other is not."""
    with serving(vm.b) as server:
        says(vm.a, f"check {vm.b.ip4}", SMC, "ok module ", f"ok eid {vm.a.eid}",
             f"ok route to {vm.b.ip4}:4791 by eth0", "ok device rxe0 port 1 is active",
             "ok connected SMC-R, device rxe0 port 1")
        server.expect("SMC-R, device rxe0 port 1")

        vm.b.run(f"{CTL} eid flush && {CTL} eid add OTHER")
        try:
            said = says(vm.a, f"check {vm.b.ip4}", TCP, "BAD connected TCP: ",
                        " -> give both hosts an EID in common")
            assert "no common user EID" in said, said
        finally:
            vm.b.run(f"{CTL} eid del OTHER && {CTL} eid add {vm.b.eid}")

        vm.a.run(f"{CTL} rules add deny --port {PORT} --out")
        try:
            says(vm.a, f"check {vm.b.ip4}", TCP, f"BAD rules this one forbids it: deny port {PORT}",
                 f" -> smc_ctl rules del deny --port {PORT} --out", "BAD connected TCP: ")
        finally:
            vm.a.run(f"{CTL} rules flush")

        vm.a.run("rdma link delete rxe0")
        try:
            says(vm.a, f"check {vm.b.ip4}", TCP, "BAD device no RDMA device on eth0",
                 "BAD connected TCP: ")
        finally:
            vm.a.run("rdma link add rxe0 type rxe netdev eth0")
            vm.a.wait_for("rdma link show | grep -q 'rxe0/1 state ACTIVE'")
        # The peer may try a group of the device that has gone once more, and declines then.
        vm.a.wait_for(f"{CTL} check {vm.b.ip4}", 60)
        says(vm.a, f"check {vm.b.ip4}", SMC, "ok connected SMC-R")


@case(on="ours+none")
def a_host_without_smc_is_checked(vm):
    server = vm.b.spawn("exec python3 -u -c 'import socket\n"
                        "s = socket.create_server((\"0.0.0.0\", 4791))\n"
                        "print(\"listening\")\nc, _ = s.accept()\nc.recv(1)'")
    server.expect("listening")
    says(vm.a, f"check {vm.b.ip4}", TCP, "ok device rxe0 port 1 is active",
         "BAD connected TCP: peer does not offer SMC", " -> load smc.ko on the other host")
    server.wait()
