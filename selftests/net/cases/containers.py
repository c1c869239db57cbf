# SPDX-License-Identifier: GPL-2.0-only
"""Pods: network namespaces without an RDMA device, which reach the network by a veth device and the
host's routes. With net.smc.host_ports they use SMC-R by the host's ports, else TCP."""

from contextlib import contextmanager

from churn import CHURN, PORT, connections_are_gone, served, stats
from harness import Guest, case
from selecting import needs_selection

POD = "ip netns exec pod"
CTL = "build/tools/smc_ctl"
PNET = "FABRIC"


def address_of(number: int) -> str:
    return f"10.244.{number}.2"


def gateway_of(number: int) -> str:
    return f"10.244.{number}.1"


def other(number: int) -> int:
    return 3 - number


def numbered(vm) -> list[tuple[int, Guest]]:
    return list(enumerate(vm.guests, 1))


def host_ports(guest: Guest, value: int) -> None:
    guest.run(f"{POD} sysctl -q -w net.smc.host_ports={value}")


def make_pod(guest: Guest, number: int) -> None:
    guest.run(f"""set -e
        modprobe veth
        ip netns add pod
        ip link add veth-pod type veth peer name eth0 netns pod
        ip addr add {gateway_of(number)}/24 dev veth-pod && ip link set veth-pod up
        {POD} ip addr add {address_of(number)}/24 dev eth0
        {POD} ip link set lo up && {POD} ip link set eth0 up
        {POD} ip route add default via {gateway_of(number)}
        sysctl -q -w net.ipv4.ip_forward=1""", timeout_s=180)


@contextmanager
def pods(vm):
    """One on each host."""
    hosts = {1: vm.a.ip4, 2: vm.b.ip4}
    for number, guest in numbered(vm):
        make_pod(guest, number)
        guest.run(f"ip route add 10.244.{other(number)}.0/24 via {hosts[other(number)]}")
    try:
        yield
    finally:
        for number, guest in numbered(vm):
            guest.run("ip netns del pod", check=False)
            guest.run(f"ip route del 10.244.{other(number)}.0/24", check=False)
            guest.run("ip link del veth-pod", check=False)
            guest.wait_for("! ip link show veth-pod 2>/dev/null")
            guest.run(f"sysctl -q -w net.ipv4.ip_forward=0; {CTL} pnet flush")


def by_smcr(client: tuple[Guest, str], server: tuple[Guest, str], address: str,
            options: str = "") -> int:
    """How many of 3 connections go by SMC-R. The rest go by TCP."""
    guest, prefix = client
    count = 3
    before = stats(guest, prefix)
    with served(server[0], program=f"{server[1]} {CHURN}", options=options):
        guest.run(f"{prefix} {CHURN} call {address} {PORT} -n {count} {options}")
    now = stats(guest, prefix)
    smcr = sum(now[name] - before[name] for name in ("smcr_client_v1", "smcr_client_v2"))
    tcp = now["client_fallback"] - before["client_fallback"]
    assert smcr + tcp == count, f"{smcr} by SMC-R and {tcp} by TCP, of {count}"
    return smcr


def connects(client: tuple[Guest, str], server: tuple[Guest, str], address: str,
             options: str = "") -> None:
    smcr = by_smcr(client, server, address, options)
    reasons = [guest.run(f"{prefix} {CTL} fallback").out for guest, prefix in (client, server)]
    assert smcr == 3, f"{smcr} of 3 by SMC-R: {reasons}"


def groups(guest: Guest, prefix: str) -> set[str]:
    """Their identifiers."""
    lines = guest.run(f"{prefix} {CTL} groups").out.splitlines()
    return {line.split()[1] for line in lines if line.startswith("group ")}


@case(on="ours+ours")
def a_pod_uses_the_hosts_port(vm):
    """By the host's route to the peer: between pods, and between a pod and a host."""
    in_a, in_b = (vm.a, POD), (vm.b, POD)
    of_the_host = groups(vm.a, "")
    with pods(vm):
        assert by_smcr(in_a, in_b, address_of(2)) == 0
        host_ports(vm.a, 2)
        assert by_smcr(in_a, in_b, address_of(2)) == 0, "the server's pod has no port"
        host_ports(vm.b, 2)
        connects(in_a, in_b, address_of(2))
        connects(in_b, in_a, address_of(1))
        # The host has a device below its own address.
        connects(in_a, (vm.b, ""), vm.b.ip4)
        connects((vm.b, ""), in_a, address_of(1))
        assert len(groups(vm.a, POD)) >= 2 and groups(vm.a, "") <= of_the_host, \
            "the pod's groups are the pod's"
        # What it may not use any more it has no new connections by.
        host_ports(vm.a, 0)
        assert by_smcr(in_a, in_b, address_of(2)) == 0
        for guest in vm.guests:
            connections_are_gone(guest)


@case(on="ours+ours")
def a_pod_uses_the_port_of_its_pnet_id(vm):
    """The pod's own table names the network, and the host's names the port."""
    in_a, in_b = (vm.a, POD), (vm.b, POD)
    with pods(vm):
        for guest in vm.guests:
            host_ports(guest, 1)
            guest.run(f"{CTL} pnet add {PNET} --rdma rxe0 --port 1")
        assert by_smcr(in_a, in_b, address_of(2)) == 0, "a route alone does not allow it"
        for guest in vm.guests:
            guest.run(f"{POD} {CTL} pnet add {PNET} --netdev eth0")
        connects(in_a, in_b, address_of(2))
        connects(in_b, in_a, address_of(1))
        # One that no port has is no reason to take another port.
        host_ports(vm.a, 2)
        vm.a.run(f"{POD} {CTL} pnet flush && {POD} {CTL} pnet add ELSEWHERE --netdev eth0")
        assert by_smcr(in_a, in_b, address_of(2)) == 0


@case(on="ours+ours")
def a_cluster_configures_its_pods(vm):
    """As the controller of Alibaba's clusters does, which knows of a PNET ID for each device and of
    tcp2smc alone: the host lends its ports to all pods."""
    needs_selection(vm.a)
    for guest in vm.guests:
        guest.run("sysctl -q -w net.smc.host_ports=1")
    try:
        with pods(vm):
            for guest in vm.guests:
                pnet = guest.run("cat /sys/class/net/eth0/address").out.strip()
                pnet = pnet.replace(":", "").upper()
                guest.run(f"""set -e
                    {CTL} pnet add {pnet} --rdma rxe0 --port 1
                    {POD} sysctl -q -w net.smc.tcp2smc=1 net.ipv6.conf.all.disable_ipv6=1
                    {POD} {CTL} pnet add {pnet} --netdev eth0""")
            connects((vm.a, POD), (vm.b, POD), address_of(2), "-m tcp")
    finally:
        for guest in vm.guests:
            guest.run("sysctl -q -w net.smc.host_ports=0")


@case(on="ours+ours")
def a_pod_ends_while_it_uses_the_hosts_port(vm):
    """Its groups go with it, and the host and the other pod notice no more than that."""
    with pods(vm):
        for guest in vm.guests:
            host_ports(guest, 2)
        with served(vm.b, program=f"{POD} {CHURN}"):
            calls = vm.a.spawn(f"{POD} {CHURN} call {address_of(2)} {PORT} -s 60 -j 4")
            vm.b.wait_for(f"{POD} awk '$1 == \"smcr_server_v2\" {{exit $2 < 20}}'"
                          " /proc/net/smc_stat")
            calls.kill(9)
            calls.wait(10, check=False)
            vm.a.run("ip netns del pod")
            vm.a.wait_for("! ip link show veth-pod 2>/dev/null")
            make_pod(vm.a, 1)
            host_ports(vm.a, 2)
        connects((vm.a, POD), (vm.b, POD), address_of(2))


@case(on="ours")
def only_the_hosts_administrator_lends_ports(vm):
    """Root of a user namespace has his own network namespace's sysctls, but not this one."""
    def write(name: str, value: int):
        return vm.a.run(f"unshare --user --map-root-user --net sysctl -w net.smc.{name}={value}",
                        check=False)

    assert write("smcd_loopback", 1).rc == 0
    refused = write("host_ports", 1)
    assert refused.rc != 0 and "permitted" in refused.err, refused
    # What it begins with is the host's choice as well.
    vm.a.run("sysctl -q -w net.smc.host_ports=1")
    begins = vm.a.run("unshare --user --map-root-user --net cat /proc/sys/net/smc/host_ports").out
    vm.a.run("sysctl -q -w net.smc.host_ports=0")
    assert begins == "1\n"
    allowed = vm.a.run("unshare --net sh -c 'sysctl -q -w net.smc.host_ports=2"
                       " && cat /proc/sys/net/smc/host_ports'")
    assert allowed.out == "2\n"
