# SPDX-License-Identifier: GPL-2.0-only
"""SMC-R over iWARP, between two hosts with this module: soft-iWARP on both guests' network devices.
With anybody else connections are TCP at once."""

import ipaddress
import json

from churn import stats
from harness import Guest, case
from harness.iwarp import DEVICE, add_device, over_siw
from iwarp_talk import (CTL, PORT, XFER, both_ways, many_connections, nothing_goes_wrong, serving,
                        transfer)


@case(on="ours+ours")
def every_byte_arrives(vm):
    """Of all usual lengths, over one connection, several in a row, and several at once."""
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b):
        for client, server in both_ways(vm):
            with serving(server):
                for up, down in ((0, 1), (1, 0), (4096, 4097), (65535, 65537)):
                    transfer(client, server, f"--up {up} --down {down}")
                transfer(client, server, "--connections 6 --parallel 3 --up 300007 --down 200003")
                transfer(client, server, "--up 300 --down 300 --write 1 --read 1")


@case(on="ours+ours")
def buffers_are_used_again(vm):
    """Streams of many times the buffers' size: what is written again has left before."""
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b):
        with serving(vm.b):
            transfer(vm.a, vm.b, "--sndbuf 16384 --rcvbuf 65536 --up 12000000 --down 12000000"
                                 " --write 50000", timeout_s=240)


@case(on="ours+ours")
def many_small_messages(vm):
    """More than the peer has receives for, from many connections at once."""
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b):
        with serving(vm.b):
            transfer(vm.a, vm.b, "--connections 40 --parallel 40 --hold --write 200 --read 200"
                                 " --up 20000 --down 20000", timeout_s=240)


@case(on="ours+ours")
def by_ipv6(vm):
    """The connection manager goes by the same addresses."""
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b):
        for client, server in both_ways(vm):
            with serving(server):
                client.run(f"{XFER} --to {server.ip6} --port {PORT} --expect smcr --connections 3 --parallel 3"
                           " --up 300007 --down 200003", timeout_s=120)
        links = json.loads(vm.a.run(f"{CTL} links --json").out)
        ends = {tuple(ipaddress.ip_address(link[end]) for end in ("gid", "peer_gid")) for link in links}
        assert ends == {tuple(map(ipaddress.ip_address, (vm.a.ip6, vm.b.ip6)))}, links
        assert len(links) == 2, links


VLAN_ADDRESSES = {"a": "10.9.10.1", "b": "10.9.10.2"}


@case(on="ours+ours")
def by_a_vlan(vm):
    """A device of the VLAN's own; one on the network device below it is none for it, nor the other way round."""
    to_b = f"{XFER} --to {VLAN_ADDRESSES['b']} --port {PORT} --up 300007 --down 200003"
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b), serving(vm.b):
        for guest in vm.a, vm.b:
            guest.run(f"""set -e
                modprobe 8021q
                ip link add link eth0 name vlan10 type vlan id 10 && ip link set vlan10 up
                ip addr add {VLAN_ADDRESSES[guest.name]}/24 dev vlan10""", timeout_s=180)
        try:
            vm.a.run(f"{to_b} --expect fallback", timeout_s=60)
            for guest in vm.a, vm.b:
                guest.run(f"rdma link delete {DEVICE}")
                add_device(guest, netdev="vlan10")
            vm.a.run(f"{to_b} --expect smcr --connections 3 --parallel 3", timeout_s=60)
            transfer(vm.a, vm.b, "--up 1 --down 1", expect="fallback")
        finally:
            for guest in vm.a, vm.b:
                guest.run(f"rdma link delete {DEVICE}", check=False)
                guest.run("ip link delete vlan10 && modprobe -r 8021q")


@case(on="ours+ours")
def a_cable_is_pulled(vm):
    """For seconds: TCP sends again what soft-iWARP has given it, and nobody is harmed."""
    with over_siw(vm.a, vm.b), many_connections(vm, 20) as many, nothing_goes_wrong(vm.a, vm.b):
        many.go_round()
        for guest in vm.a, vm.b:
            outage = guest.spawn("tc qdisc add dev eth0 root netem loss 100%; echo pulled; sleep 3;"
                                 " tc qdisc del dev eth0 root")
            outage.expect("pulled")
            assert many.go_round() > 2
            outage.wait()
        assert int(vm.a.run(f"{CTL} sockets | grep -c SMC-R").out) == 20


@case(on="ours+ours")
def links_are_shown(vm):
    """As those over RoCE are, and that the device is another kind."""
    with over_siw(vm.a, vm.b), serving(vm.b):
        transfer(vm.a, vm.b, "--up 1 --down 1")
        for guest in vm.a, vm.b:
            link, = json.loads(guest.run(f"{CTL} links --json").out)
            assert (link["state"], link["device"], link["netdev"]) == ("active", DEVICE, "eth0"), link
            group, = json.loads(guest.run(f"{CTL} groups --json").out)
            assert (group["carrier"], group["version"]) == ("SMC-R", 2), group
            device, = [one for one in json.loads(guest.run(f"{CTL} devices --json").out) if one["device"] == DEVICE]
            assert device["kind"] == "iWARP", device


@case(on="ours+ours")
def a_thousand_connections(vm):
    """Of one link, at a time, without a receive too few."""
    with over_siw(vm.a, vm.b), many_connections(vm, 1000) as many, nothing_goes_wrong(vm.a, vm.b):
        for _ in range(2):
            many.go_round()
        assert int(vm.a.run(f"{CTL} sockets | grep -c SMC-R").out) == 1000


def listens_at(guest: Guest) -> int:
    """Where the connection manager does, on one of the guest's addresses."""
    ports = [int(line.split()[1].split(":")[1], 16) for line in guest.run("cat /proc/net/tcp").out.splitlines()[1:]
             if line.split()[3] == "0A" and not line.split()[1].startswith("00000000:")]
    port, = [port for port in ports if port != PORT]
    return port


# What a stranger says at the listener's port, and how that ends.
STRANGERS = {"garbage": "closed", "reply": "closed", "nobody": "reject", "foreign": "reject", "short": "reject",
             "wrong_key": "reject", "wrong_version": "reject", "longest": "reject", "too_long": "closed",
             "cut": "silence", "revision": "closed", "silence": "silence"}


@case(on="ours+ours")
def strangers_at_the_listener(vm):
    """They are refused, and counted where they got as far as that; a link that is in use, and later ones,
    are none of their business."""
    with over_siw(vm.a, vm.b), many_connections(vm, 8) as many:
        port = listens_at(vm.b)
        before = stats(vm.b)
        ended = {kind: vm.a.run(f"selftests/net/hostile/raw_mpa.py {vm.b.ip4} {port} {kind}").out.strip()
                 for kind in STRANGERS}
        assert ended == STRANGERS, ended
        refused = list(STRANGERS.values()).count("reject")
        now = stats(vm.b)
        counted = [now[name] - before[name] for name in ("iwarp_refused", "wire_violation")]
        assert counted == [refused, refused], counted
        many.go_round()
        many.open(300)
        many.go_round()
        assert int(vm.a.run(f"{CTL} sockets | grep -c SMC-R").out) == 308


@case(on="ours@6.12+kernel@6.12")
def others_use_tcp(vm):
    """At once, in both roles."""
    with over_siw(vm.a, vm.b):
        for client, server in both_ways(vm):
            with serving(server):
                transfer(client, server, "--connections 3 --up 100003 --down 300007", expect="fallback", timeout_s=20)


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
def ports_that_tcp_has(vm):
    """The connection manager's ports are numbered by itself; some are taken at either end. And one that the
    user has chosen is used, and no other."""
    hold = """python3 -c 'import socket, sys
held = [socket.create_server(("0.0.0.0", port)) for port in range(40000, 40006)]
print("held", flush=True)
sys.stdin.read()'"""
    with over_siw(vm.a, vm.b), nothing_goes_wrong(vm.a, vm.b):
        holding = []
        for guest in vm.a, vm.b:
            guest.run("sysctl -qw net.ipv4.ip_local_port_range='40000 40023'")
            holding.append(guest.spawn(hold))
            holding[-1].expect("held")
        for client, server in both_ways(vm):
            with serving(server):
                transfer(client, server, "--up 10000 --down 10000")
        for holder in holding:
            holder.input(b"", close=True)
            holder.wait()
    with over_siw(vm.a, vm.b), serving(vm.b):
        vm.b.run("sysctl -qw net.smc.smcr_iwarp_port=41000")
        transfer(vm.a, vm.b, "--up 10000 --down 10000")
        assert listens_at(vm.b) == 41000
    for guest in vm.a, vm.b:
        guest.run("sysctl -qw net.ipv4.ip_local_port_range='32768 60999' net.smc.smcr_iwarp_port=0")


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
            with many_connections(vm, 2, limit_s=15) as many:
                many.go_round()
                assert vm.a.run(f"{CTL} sockets | grep -c ' TCP: '").out == "2\n"
            vm.a.unload_module()
            vm.a.load_module()
        finally:
            vm.b.run("tc qdisc del dev eth0 ingress")
        with serving(vm.b):
            transfer(vm.a, vm.b, "--up 10000 --down 10000")
