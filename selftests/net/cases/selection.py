# SPDX-License-Identifier: GPL-2.0-only
"""TCP sockets that are made SMC sockets without their program's knowledge: those of a network
namespace (net.smc.tcp2smc), and those that a BPF program of a cgroup marks (tcp2smc_mark).
Programs are static, so that no library could do it."""

import json
from contextlib import contextmanager

from churn import connections_are_gone, served, stats, tally
from harness import case
from harness.guest import Guest
from selecting import MARK, NOTHING, PORT, STATIC, SWITCH, all_of, needs_selection, set_to, talk

MARK_SOCKETS = "selftests/net/mark_sockets.py"
# A bit that nothing else in a guest uses, and one that is not the module's.
BIT, OTHER_BIT = 0x1000000, 0x2

# What no program may notice, by kind of socket: (protocol that SO_PROTOCOL shows, mark).
_KINDS = """
import json, socket
STREAM = socket.SOCK_STREAM
KINDS = {"default": (socket.AF_INET, STREAM, 0), "tcp": (socket.AF_INET, STREAM, 6),
         "tcp6": (socket.AF_INET6, STREAM, 6), "udp": (socket.AF_INET, socket.SOCK_DGRAM, 0),
         "unix": (socket.AF_UNIX, STREAM, 0), "smc": (43, STREAM, 0),
         "protocol": (socket.AF_INET, STREAM, 256), "mptcp": (socket.AF_INET, STREAM, 262)}
def selected():
    with open("/proc/net/smc_stat") as lines:
        return int(dict(map(str.split, lines))["selected"])
seen = {}
for name, kind in KINDS.items():
    before = selected()
    try:
        with socket.socket(*kind) as made:
            seen[name] = [made.getsockopt(socket.SOL_SOCKET, 38),
                          made.getsockopt(socket.SOL_SOCKET, 36), selected() - before]
    except OSError as error:
        seen[name] = [error.errno]
print(json.dumps(seen))
"""

_MAKERS = """
import socket, threading, time
LATE = time.monotonic() + 15
failed = []
def make():
    try:
        while time.monotonic() < LATE:
            for _ in range(50):
                socket.socket().close()
            time.sleep(0.05)
    except OSError as failure:
        failed.append(failure)
threads = [threading.Thread(target=make) for _ in range(3)]
for thread in threads:
    thread.start()
print("making", flush=True)
for thread in threads:
    thread.join()
print("failed:", failed)
"""


@contextmanager
def other_namespace(guest: Guest):
    guest.run("ip netns add selected && ip netns exec selected ip link set lo up")
    try:
        yield "ip netns exec selected"
    finally:
        guest.run("ip netns del selected")


@case(on="ours")
def a_namespace_is_selected(vm):
    """All programs of it use SMC, and none of another namespace; each way round."""
    needs_selection(vm.a)
    with other_namespace(vm.a) as inside:
        for chosen, left in (("", inside), (inside, "")):
            assert talk(vm.a, chosen) == NOTHING
            with set_to(vm.a, SWITCH, 1, chosen):
                assert talk(vm.a, chosen) == all_of(20)
                assert talk(vm.a, left) == NOTHING
            assert talk(vm.a, chosen) == NOTHING
    connections_are_gone(vm.a)


@case(on="ours")
def sockets_of_io_uring_are_selected(vm):
    needs_selection(vm.a)
    assert talk(vm.a, options="-u") == NOTHING
    with set_to(vm.a, SWITCH, 1):
        assert talk(vm.a, options="-u") == all_of(20)


@case(on="ours")
def only_tcp_sockets_are_selected(vm):
    """Other kinds are left alone, and a program cannot tell its socket from one of TCP."""
    needs_selection(vm.a)
    plain = json.loads(vm.a.run(f"python3 -c '{_KINDS}'").out)
    assert [kind[-1] for kind in plain.values() if len(kind) > 1] == [0] * len(plain), plain
    with set_to(vm.a, SWITCH, 1):
        now = json.loads(vm.a.run(f"python3 -c '{_KINDS}'").out)
    chosen = ("default", "tcp", "tcp6")
    wanted = {name: kind[:2] + [int(name in chosen)] for name, kind in plain.items()}
    assert now == wanted, f"{now}, without selection {plain}"


@case(on="ours")
def a_namespace_that_ends_is_forgotten(vm):
    needs_selection(vm.a)
    for _ in range(3):
        with other_namespace(vm.a) as inside:
            vm.a.run(f"{inside} sh -c 'echo 1 >{SWITCH}'")
            assert talk(vm.a, inside, 2) == all_of(2)
    # The kprobe goes a few seconds after the last one that wanted it.
    vm.a.wait_for("! grep -q security_socket_post_create /sys/kernel/debug/kprobes/list", 20)


@case(on="ours")
def a_cgroup_is_selected(vm):
    """Its BPF program marks sockets. The mark does not stay, and no other bit of it goes."""
    needs_selection(vm.a)
    vm.a.run("mkdir -p /run/cgroup && mount -t cgroup2 none /run/cgroup &&"
             " mkdir /run/cgroup/chosen")
    chosen = "sh -c 'echo $$ >/run/cgroup/chosen/cgroup.procs && exec \"$@\"' sh"
    try:
        marker = vm.a.spawn(f"{MARK_SOCKETS} /run/cgroup/chosen {BIT | OTHER_BIT:#x}")
        marker.expect(r"\bready\b")
        with set_to(vm.a, MARK, BIT):
            assert talk(vm.a, chosen) == all_of(20)
            assert talk(vm.a) == NOTHING
            marks = json.loads(vm.a.run(f"{chosen} python3 -c '{_KINDS}'").out)
            assert marks["tcp"][1:] == [OTHER_BIT, 1], marks
            assert marks["udp"][1:] == [BIT | OTHER_BIT, 0], marks
        assert talk(vm.a, chosen) == NOTHING
        marker.kill()
        marker.wait(10, check=False)
    finally:
        vm.a.wait_for("rmdir /run/cgroup/chosen && umount /run/cgroup && rmdir /run/cgroup", 20)
    connections_are_gone(vm.a)


@case(on="ours")
def the_module_goes_while_a_namespace_is_selected(vm):
    """A selected socket holds the module; without one it goes, and sockets are TCP's."""
    needs_selection(vm.a)
    vm.a.run(f"echo 1 >{SWITCH}")
    holder = vm.a.spawn("python3 -c 'import socket, sys; s = socket.socket();"
                        " print(\"open\", flush=True); sys.stdin.read()'")
    holder.expect("open")
    refused = vm.a.run("rmmod smc_diag 2>/dev/null; rmmod smc", check=False)
    assert refused.rc != 0 and "in use" in refused.err, refused.err
    holder.kill()
    holder.wait(10, check=False)
    vm.a.unload_module()
    with served(vm.a, PORT, STATIC, "-m tcp"):
        vm.a.run(f"{STATIC} call 127.0.0.1 {PORT} -n 5 -m tcp && test ! -e /sys/module/smc")
    vm.a.load_module()
    assert vm.a.run(f"cat {SWITCH}").out == "0\n"
    assert talk(vm.a) == NOTHING


@case(on="ours")
def switched_under_load(vm):
    """A thousand times on and off while connections are made: none of them fails, and some sockets
    are selected."""
    needs_selection(vm.a)
    with served(vm.a, PORT, STATIC, "-m tcp"):
        calls = vm.a.spawn(f"{STATIC} call 127.0.0.1 {PORT} -j 3 -s 30 -t -m tcp")
        calls.expect("calling")
        before = stats(vm.a)["selected"]
        vm.a.run(f"for i in $(seq 1000); do echo $((i % 2)) >{SWITCH}; done; echo 1 >{SWITCH};"
                 " sleep 2", timeout_s=120)
        assert stats(vm.a)["selected"] > before
        outcome = tally(calls.wait(120).out)
    vm.a.run(f"echo 0 >{SWITCH}")
    assert outcome["failed"] == 0 and outcome["served"] > 0, outcome
    connections_are_gone(vm.a)


@case(on="ours")
def unloaded_under_load(vm):
    """socket() never fails because the module is about to go."""
    needs_selection(vm.a)
    makers = vm.a.spawn(f"python3 -c '{_MAKERS}'")
    makers.expect("making")
    gone = vm.a.run("gone=0; late=$((SECONDS + 14)); while [ $SECONDS -lt $late ]; do"
                    f" echo 1 >{SWITCH}; sleep 0.05; rmmod smc_diag 2>/dev/null;"
                    " rmmod smc 2>/dev/null && gone=$((gone + 1)); modprobe smc; done; echo $gone",
                    timeout_s=120).out
    said = makers.wait(60).out
    assert said == "making\nfailed: []\n", said
    assert int(gone) > 0, "never unloaded"
    vm.a.unload_module()
    vm.a.load_module()
