# SPDX-License-Identifier: GPL-2.0-only
"""SMC-R over iWARP, between two hosts with this module: soft-iWARP on both guests' network devices.
With anybody else connections are TCP at once."""

from contextlib import contextmanager

from harness import Guest, case
from harness.iwarp import DEVICE, add_device, over_siw

XFER = "build/selftests/smc_xfer"
PORT = 7900
NO_SMC_DEVICE = "03030000"


@contextmanager
def serving(server: Guest):
    process = server.spawn(f"{XFER} --serve --port {PORT}")
    process.expect(r"\bready\b")
    try:
        yield
    finally:
        process.kill()
        process.wait(10, check=False)


def transfer(client: Guest, server: Guest, options: str, expect: str = "smcr",
             timeout_s: float = 120) -> None:
    client.run(f"{XFER} --to {server.ip4} --port {PORT} --expect {expect} {options}",
               timeout_s=timeout_s)


def statistic(guest: Guest, name: str) -> int:
    return int(guest.run(f"awk '$1 == \"{name}\" {{print $2}}' /proc/net/smc_stat").out)


def nothing_went_wrong(*guests: Guest) -> None:
    for guest in guests:
        for name in ("wire_violation", "iwarp_refused", "conn_abort"):
            assert statistic(guest, name) == 0, f"{guest.name}: {name}"


def both_ways(vm):
    return ((vm.a, vm.b), (vm.b, vm.a))


@case(on="ours+ours")
def every_byte_arrives(vm):
    """Of all usual lengths, over one connection, several in a row, and several at once."""
    with over_siw(vm.a, vm.b):
        for client, server in both_ways(vm):
            with serving(server):
                for up, down in ((0, 1), (1, 0), (4096, 4097), (65535, 65537)):
                    transfer(client, server, f"--up {up} --down {down}")
                transfer(client, server, "--connections 6 --parallel 3 --up 300007 --down 200003")
                transfer(client, server, "--up 300 --down 300 --write 1 --read 1")
        nothing_went_wrong(vm.a, vm.b)


@case(on="ours+ours")
def buffers_are_used_again(vm):
    """Streams of many times the buffers' size: what is written again has left before."""
    with over_siw(vm.a, vm.b):
        with serving(vm.b):
            transfer(vm.a, vm.b, "--sndbuf 16384 --rcvbuf 65536 --up 12000000 --down 12000000"
                                 " --write 50000", timeout_s=240)
        nothing_went_wrong(vm.a, vm.b)


@case(on="ours+ours")
def many_small_messages(vm):
    """More than the peer has receives for, from many connections at once."""
    with over_siw(vm.a, vm.b):
        with serving(vm.b):
            transfer(vm.a, vm.b, "--connections 40 --parallel 40 --hold --write 200 --read 200"
                                 " --up 20000 --down 20000", timeout_s=240)
        nothing_went_wrong(vm.a, vm.b)


@case(on=["ours@6.12+kernel@6.12", "ours+none"])
def others_use_tcp(vm):
    """At once, in both roles, with the reason counted."""
    with over_siw(vm.a, vm.b):
        for client, server in both_ways(vm):
            mode = "tcp" if "none" in (client.module,) else "smc"
            process = server.spawn(f"{XFER} --serve --port {PORT}"
                                   f"{' --mode tcp' if server.module == 'none' else ''}")
            process.expect(r"\bready\b")
            client.run(f"{XFER} --to {server.ip4} --port {PORT} --mode {mode} --expect fallback"
                       " --connections 3 --up 100003 --down 300007")
            process.kill()
            process.wait(10, check=False)


def load(client: Guest, server: Guest):
    """Transfers that go on for long."""
    return client.spawn(f"{XFER} --to {server.ip4} --port {PORT} --connections 4 --parallel 4"
                        " --up 200000000 --down 200000000 --timeout 200")


def wait_for_smcr(guest: Guest) -> None:
    guest.wait_for("test $(build/tools/smc_ctl links | grep -ic ' active') = 1")


@case(on="ours+ours")
def a_device_goes_and_comes(vm):
    """Under load, on either side: connections end, and the next ones are TCP, and then SMC-R
    again."""
    with over_siw(vm.a, vm.b):
        for guest in (vm.a, vm.b):
            with serving(vm.b):
                process = load(vm.a, vm.b)
                wait_for_smcr(vm.a)
                guest.run("sleep 1")
                guest.run(f"rdma link delete {DEVICE}", timeout_s=60)
                assert process.wait(60, check=False).rc != 0
            with serving(vm.b):
                transfer(vm.a, vm.b, "--up 10000 --down 10000", expect="fallback")
                add_device(guest)
                transfer(vm.a, vm.b, "--up 10000 --down 10000")


@case(on="ours+ours")
def unloaded_under_load(vm):
    """The peer's module goes, with the peer's programs."""
    with over_siw(vm.a, vm.b):
        with serving(vm.b):
            process = load(vm.a, vm.b)
            wait_for_smcr(vm.a)
            vm.a.run("sleep 1")
        assert process.wait(60, check=False).rc != 0
        vm.b.unload_module()
        vm.b.load_module()
        with serving(vm.b):
            transfer(vm.a, vm.b, "--up 10000 --down 10000")


@case(on="ours+ours")
def a_firewall_hides_the_listener(vm):
    """SYNs to the connection manager get no answer: TCP within seconds, and unloading does not wait
    for the two minutes that soft-iWARP's connect() takes."""
    with over_siw(vm.a, vm.b):
        # What is a SYN and not for the server.
        add = "tc filter add dev eth0 parent ffff: protocol ip prio"
        of_tcp = "u32 match ip protocol 6 0xff match"
        vm.b.run(f"""set -e
            tc qdisc add dev eth0 ingress
            {add} 1 {of_tcp} ip dport {PORT} 0xffff action pass
            {add} 2 {of_tcp} u8 0x02 0x12 at 33 action drop""")
        try:
            with serving(vm.b):
                transfer(vm.a, vm.b, "--up 10000 --down 10000", expect="fallback", timeout_s=15)
            vm.a.unload_module()
            vm.a.load_module()
        finally:
            vm.b.run("tc qdisc del dev eth0 ingress")
        with serving(vm.b):
            transfer(vm.a, vm.b, "--up 10000 --down 10000")
