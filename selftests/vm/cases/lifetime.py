# SPDX-License-Identifier: GPL-2.0-only
"""The module comes and goes, and takes all that it made with it."""

from contextlib import contextmanager

from harness import Guest, case

XFER = "build/selftests/smc_xfer"
PORT = 7390
HOLD = "selftests/net/hold.py"


@contextmanager
def server(guest: Guest):
    process = guest.spawn(f"{XFER} --serve --port {PORT}")
    process.expect("ready")
    yield
    process.kill()
    process.wait(10, check=False)


def transfer(vm, options: str, expect: str = "smcr", timeout_s: float = 120) -> None:
    vm.a.run(f"{XFER} --to {vm.b.ip4} --port {PORT} --timeout {timeout_s:g} --expect {expect}"
             f" {options}", timeout_s + 30)


def reload(vm) -> None:
    for guest in vm.guests:
        guest.unload_module()
        guest.load_module()


@case(on="ours+ours")
def unloads_after_a_thousand_connections(vm):
    """Queue pairs do not pile up meanwhile, and nothing is left once the module is gone."""
    before = [guest.call("leaks.snapshot") for guest in vm.guests]
    reload(vm)
    with server(vm.b):
        transfer(vm, "--connections 20 --parallel 4 --up 999 --down 101")
        used = [guest.call("leaks.snapshot")["rdma"] for guest in vm.guests]
        transfer(vm, "--connections 1000 --parallel 8 --up 999 --down 101", timeout_s=400)
        for guest, early in zip(vm.guests, used):
            late = guest.call("leaks.snapshot")["rdma"]
            assert late["rxe0 qp"] <= early["rxe0 qp"], f"{guest.name}: {early} became {late}"
            assert late["rxe0 mr"] <= early["rxe0 mr"] + 16, f"{guest.name}: {early} became {late}"
    reload(vm)
    for guest, snapshot in zip(vm.guests, before):
        grown = guest.call("leaks.growth", snapshot, timeout_s=60)
        assert not grown, f"{guest.name}: {grown}"


@case(on="ours+ours")
def stays_while_a_connection_lives(vm):
    """rmmod is refused at both ends; once the connection is gone it works."""
    listening = vm.b.spawn(f"{HOLD} serve {PORT}")
    listening.expect("listening")
    calling = vm.a.spawn(f"{HOLD} connect {vm.b.ip4} {PORT}")
    for process in (calling, listening):
        process.expect("connected")
    for guest in vm.guests:
        assert guest.run("rmmod smc", check=False).rc != 0, f"{guest.name}: unloaded while in use"
    assert listening.poll() is None and calling.poll() is None, "the connection ended"
    calling.kill()
    calling.wait(check=False)
    listening.wait()
    reload(vm)


@case(on="ours+ours")
def comes_back_after_unloading(vm):
    """Ten times; one side forgets all about the other each time."""
    with server(vm.b):
        for _ in range(5):
            transfer(vm, "--up 50021 --down 10007")
            vm.a.unload_module()
            vm.a.load_module()
    for _ in range(5):
        with server(vm.b):
            transfer(vm, "--up 50021 --down 10007")
        vm.b.unload_module()
        vm.b.load_module()


@case(on="ours+ours")
def sockets_are_listed_while_they_come_and_go(vm):
    """sock_diag and the link group dump look at connections in every stage of their lives."""
    listed = 0
    with server(vm.b):
        calling = vm.a.spawn(f"{XFER} --to {vm.b.ip4} --port {PORT} --connections 300"
                             " --parallel 8 --up 999 --down 101 --expect smcr")
        while calling.poll() is None:
            for guest in vm.guests:
                listed += len(guest.call("smcnl.sockets"))
                guest.call("smcnl.link_groups")
        calling.wait()
    assert listed > 0, "no socket was ever seen"


@case(on="ours")
def the_first_socket_loads_it(vm):
    """By the alias of the protocol family, and it is ours, not the kernel's own."""
    vm.a.unload_module()
    vm.a.run("python3 -c 'import socket; socket.socket(43, socket.SOCK_STREAM, 0)'")
    vm.a.run("grep -q '^smc ' /proc/modules")
    assert "updates/smc.ko" in vm.a.run("modinfo -n smc").out
    vm.a.unload_module()
    vm.a.load_module()
