# SPDX-License-Identifier: GPL-2.0-only
"""podman: a container behind a bridge and NAT whose programs, static ones, use SMC-R by the host's
port, for the sysctls that the container is started with. Nothing in its image knows of SMC."""

import re
from contextlib import contextmanager

from guestroot import complete
from harness import Guest, case

ROOT = "/tmp/podman"
IMAGE = f"{ROOT}/image"
PODMAN = (f"podman --log-level error --root {ROOT}/root --runroot {ROOT}/run --storage-driver vfs"
          " --cgroup-manager cgroupfs --events-backend none")
CHURN = "build/selftests/smc_churn"
PORT = 7700
# Loaded by podman's parts as they are needed; unloaded in this order.
MODULES = ("xt_MASQUERADE xt_conntrack xt_addrtype xt_mark xt_comment xt_tcpudp xt_nat nft_compat"
           " nft_chain_nat nf_tables bridge veth")
SELECTED = "--sysctl net.smc.tcp2smc=1"
LENT = "--sysctl net.smc.host_ports=2"


@contextmanager
def containers(guest: Guest):
    guest.run(f"""set -e
        modprobe -a {MODULES}
        mkdir -p {IMAGE} && cd {IMAGE} && mkdir -p bin proc sys dev etc run tmp
        cp $(command -v busybox) bin/ && ln -s busybox bin/sh && ln -s busybox bin/cat
        cp $OLDPWD/{CHURN}_static bin/churn""", timeout_s=180)
    try:
        yield
    finally:
        guest.run(f"{PODMAN} rm -af -t 1; ip link del podman0; iptables -F; iptables -X;"
                  " iptables -t nat -F; iptables -t nat -X; sysctl -q -w net.ipv4.ip_forward=0;"
                  f" rm -rf {ROOT}", timeout_s=180, check=False)
        guest.wait_for(f"for module in {MODULES}; do modprobe -r $module || exit; done", 60)


def call(guest: Guest, options: str, address: str) -> dict[str, int]:
    """The counters of a container after 5 connections of it to address."""
    said = guest.run(f"{PODMAN} run --rm --cgroups=disabled {options} --rootfs {IMAGE} /bin/sh -c"
                     f" 'churn call {address} {PORT} -n 5 -m tcp && cat /proc/net/smc_stat'",
                     timeout_s=300).out
    assert re.search(r"\bserved 5\b", said), said
    counters = dict(line.split() for line in said.splitlines() if len(line.split()) == 2)
    return {name: int(counters[name]) for name in ("selected", "smcr_client_v2", "client_fallback")}


@case(on="ours+ours", modules=MODULES)
def container_by_sysctl(vm):
    for guest in vm.guests:
        complete(guest)
    with containers(vm.a):
        server = vm.b.spawn(f"{CHURN} serve {PORT}")
        server.expect(r"\bready\b")
        try:
            assert call(vm.a, "", vm.b.ip4) == {
                "selected": 0, "smcr_client_v2": 0, "client_fallback": 0}
            seen = call(vm.a, SELECTED, vm.b.ip4)
            assert seen["client_fallback"] == 5 and not seen["smcr_client_v2"], seen
            seen = call(vm.a, f"{SELECTED} {LENT}", vm.b.ip4)
            assert seen["smcr_client_v2"] == 5 and not seen["client_fallback"], seen
        finally:
            server.kill(9)
            server.wait(10, check=False)
