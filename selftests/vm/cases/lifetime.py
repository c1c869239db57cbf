# SPDX-License-Identifier: GPL-2.0-only
"""The module comes and goes, and takes all that it made with it."""

from contextlib import contextmanager

from harness import Guest, case

XFER = "build/selftests/smc_xfer"
PORT = 7390


@contextmanager
def server(guest: Guest):
    process = guest.spawn(f"{XFER} --serve --port {PORT}")
    process.expect(r"\bready\b")
    yield
    process.kill()
    process.wait(10, check=False)


def transfer(vm, options: str, expect: str = "smcr", timeout_s: float = 120) -> None:
    limit_s = timeout_s * vm.a.patience
    vm.a.run(f"{XFER} --to {vm.b.ip4} --port {PORT} --timeout {limit_s:g} --expect {expect}"
             f" {options}", timeout_s + 30)


@case(on="ours+ours")
def comes_back_after_unloading(vm):
    """Ten times; alternately one side loses all its state."""
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
    """sock_diag and the link group dump list connections in every stage of their lives."""
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


@case(on="ours")
def goes_while_namespaces_end(vm):
    """Each namespace leaves buffers at the loopback device, which is removed at that moment."""
    for _ in range(6):
        vm.a.run(f"""set -e
            for name in one two three; do
                ip netns add $name
                ip netns exec $name ip link set lo up
                ip netns exec $name {XFER} --serve --port {PORT} >/dev/null & server=$!
                until ip netns exec $name ss -Htln | grep -q :{PORT}; do sleep 0.1; done
                ip netns exec $name {XFER} --to 127.0.0.1 --port {PORT} --up 1009 --expect smcd
                kill $server
            done
            wait
            for name in one two three; do ip netns del $name; done""", 120)
        vm.a.unload_module()
        vm.a.load_module()
