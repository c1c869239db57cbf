# SPDX-License-Identifier: GPL-2.0-only
"""smc_ctl select and smc_run --cgroup: selection as its users switch it on and off."""

from churn import connections_are_gone, served
from harness import case
from harness.guest import Guest
from selecting import (CGROUP, CTL, NOTHING, PINS, PORT, STATIC, all_of, cgroup, needs_selection,
                       nothing_is_left, talk)

RUN = "build/tools/smc_run"
UNIT = "/etc/systemd/system/web.service.d/50-smc.conf"
# systemctl of a host on which the unit runs in a cgroup of its own.
_SYSTEMCTL = """#!/bin/sh
echo "$@" >>/run/played/called
[ "$1" != show ] || echo /chosen
"""


def refused(guest: Guest, command: str, why: str) -> None:
    said = guest.run(command, check=False)
    assert said.rc != 0 and why in said.err, f"{command}: {said.rc} {said.err}"


@case(on="ours")
def cgroup_is_selected_by_the_tool(vm):
    """With those below it, until it is deselected; the tool does not have to run for that."""
    needs_selection(vm.a)
    with cgroup(vm.a) as chosen, cgroup(vm.a, f"{CGROUP}/below") as below:
        assert talk(vm.a, chosen) == NOTHING
        vm.a.run(f"{CTL} select add --cgroup {CGROUP}")
        for prefix in chosen, below:
            assert talk(vm.a, prefix) == all_of(20)
        assert talk(vm.a) == NOTHING
        assert vm.a.run(f"{CTL} select list").out == f"cgroup {CGROUP}\n"
        refused(vm.a, f"{CTL} select add --cgroup /chosen", "selected already")
        vm.a.run(f"{CTL} select del --cgroup /chosen")
        assert talk(vm.a, chosen) == NOTHING
        refused(vm.a, f"{CTL} select del --cgroup {CGROUP}", "is not selected")
        nothing_is_left(vm.a)
        # Of two, the other one stays.
        vm.a.run(f"{CTL} select add --cgroup {CGROUP} && {CTL} select add --cgroup /chosen/below &&"
                 f" {CTL} select del --cgroup /chosen")
        assert talk(vm.a, below) == all_of(20) and talk(vm.a, chosen) == NOTHING
    # It has gone with its cgroup.
    assert vm.a.run(f"{CTL} select list").out == ""
    vm.a.run(f"{CTL} select tidy")
    nothing_is_left(vm.a)
    refused(vm.a, f"{CTL} select add --cgroup /chosen", "No such file")
    refused(vm.a, f"{CTL} select add --cgroup /chosen --netns", "Exactly 1 option")
    connections_are_gone(vm.a)


@case(on="ours")
def modprobe_deselects_cgroups(vm):
    """By modprobe -r, as it is installed."""
    needs_selection(vm.a)
    mark = "python3 -c 'import socket; print(socket.socket().getsockopt(1, socket.SO_MARK))'"
    vm.a.run(f"ln -s $PWD/{CTL} /usr/local/bin/smc_ctl")
    try:
        with cgroup(vm.a) as chosen:
            vm.a.run(f"{CTL} select add --cgroup {CGROUP}")
            assert talk(vm.a, chosen) == all_of(20)
            connections_are_gone(vm.a)
            vm.a.wait_for("modprobe -r smc")
            vm.a.run(f"test ! -e {PINS} && ! grep -q '^smc ' /proc/modules")
            assert vm.a.run(f"{chosen} {mark}").out == "0\n"
            vm.a.load_module()
            assert talk(vm.a, chosen) == NOTHING
        nothing_is_left(vm.a)
    finally:
        vm.a.run("rm /usr/local/bin/smc_ctl")


@case(on="ours")
def namespace_is_selected_by_the_tool(vm):
    needs_selection(vm.a)
    vm.a.run("ip netns add tools && ip netns exec tools ip link set lo up")
    inside = "ip netns exec tools"
    vm.a.run(f"{CTL} select add --netns tools")
    assert talk(vm.a, inside) == all_of(20) and talk(vm.a) == NOTHING
    assert vm.a.run(f"{inside} {CTL} select list").out == "netns (this one)\n"
    vm.a.run(f"{inside} {CTL} select del --netns && {CTL} select add --netns")
    assert talk(vm.a, inside) == NOTHING and talk(vm.a) == all_of(20)
    vm.a.run(f"{CTL} select del --netns && ip netns del tools")
    nothing_is_left(vm.a)


@case(on="ours")
def programs_run_in_a_selected_cgroup(vm):
    """Also those that no library reaches: static ones, and ones that change their user."""
    needs_selection(vm.a)
    assert talk(vm.a, f"{RUN} --cgroup") == all_of(20)
    vm.a.run(f"cp {STATIC} /run/suid && chmod 4755 /run/suid")
    with served(vm.a, PORT, f"{RUN} --cgroup {STATIC}", "-m tcp"):
        before = vm.a.run("grep -w smcd_client_v2 /proc/net/smc_stat").out.split()[1]
        vm.a.run(f"{RUN} --cgroup setpriv --reuid=65534 --clear-groups /run/suid call 127.0.0.1"
                 f" {PORT} -n 5 -m tcp")
        now = vm.a.run("grep -w smcd_client_v2 /proc/net/smc_stat").out.split()[1]
    assert int(now) == int(before) + 5
    busybox = "/usr/bin/busybox"
    vm.a.run("mkdir -p /run/www && echo found >/run/www/file")
    server = vm.a.spawn(f"{RUN} --cgroup {busybox} httpd -f -p 8088 -h /run/www")
    vm.a.wait_for("ss -Htln 'sport = :8088' | grep -q .", timeout_s=30)
    before = now
    assert vm.a.run(f"{RUN} -c {busybox} wget -qO- http://127.0.0.1:8088/file").out == "found\n"
    now = vm.a.run("grep -w smcd_client_v2 /proc/net/smc_stat").out.split()[1]
    assert int(now) == int(before) + 1
    server.kill(15)
    server.wait(20, check=False)
    connections_are_gone(vm.a)
    # Servers above were killed with those who ran them.
    vm.a.run(f"{CTL} select tidy")
    nothing_is_left(vm.a)


@case(on="ours")
def program_in_a_selected_cgroup_ends_as_by_itself(vm):
    needs_selection(vm.a)
    for command, status in (("sh -c 'exit 7'", 7), ("sh -c 'kill -9 $$'", 137),
                            ("/nonexistent", 127), ("/etc/passwd", 126)):
        got = vm.a.run(f"{RUN} --cgroup {command}", check=False).rc
        assert got == status, f"{command}: {got}"
    runs = vm.a.spawn(f"{RUN} --cgroup sh -c 'trap \"echo told; exit 3\" TERM; echo ready;"
                      " while :; do sleep 0.1; done'")
    runs.expect("ready")
    vm.a.run("pkill -TERM -f '^build/tools/smc_ctl select run|smc_ctl select run'")
    ended = runs.wait(20, check=False)
    assert ended.rc == 3 and "told" in ended.out, ended
    refused(vm.a, f"{RUN} --cgroup -d true", "no effect")
    vm.a.wait_for("! ls -d /sys/fs/cgroup/smc_run-* 2>/dev/null", 20)
    nothing_is_left(vm.a)


@case(on="ours")
def unit_is_selected_by_the_tool(vm):
    """A drop-in for the next start; one that runs is selected at once."""
    needs_selection(vm.a)
    vm.a.run("mkdir -p /run/played")
    vm.a.put("/run/played/systemctl", _SYSTEMCTL.encode())
    vm.a.run("chmod +x /run/played/systemctl")
    ctl = f"PATH=/run/played:$PATH {CTL}"
    with cgroup(vm.a) as chosen:
        vm.a.run(f"{ctl} select add --unit web")
        drop_in = vm.a.run(f"cat {UNIT}").out
        assert f"[Service]\nBPFProgram=sock_create:{PINS}/mark\n" in drop_in, drop_in
        assert "After=smc-select.service\n" in drop_in, drop_in
        preparer = vm.a.run("cat /etc/systemd/system/smc-select.service").out
        assert "smc_ctl select prepare\n" in preparer, preparer
        vm.a.run("grep -qx daemon-reload /run/played/called")
        assert talk(vm.a, chosen) == all_of(20)
        shown = vm.a.run(f"{ctl} select list").out
        assert shown == f"cgroup {CGROUP}\nunit web.service\n", shown
        refused(vm.a, f"{ctl} select add --unit web.service", "selected already")
        # What systemd does at the unit's next start.
        vm.a.run(f"{CTL} select del --cgroup {CGROUP} && {CTL} select prepare")
        vm.a.run(f"/usr/sbin/bpftool cgroup attach {CGROUP} sock_create pinned {PINS}/mark multi")
        assert talk(vm.a, chosen) == all_of(20)
        vm.a.run(f"/usr/sbin/bpftool cgroup detach {CGROUP} sock_create pinned {PINS}/mark")
        vm.a.run(f"{ctl} select del --unit web")
        assert talk(vm.a, chosen) == NOTHING
        refused(vm.a, f"{ctl} select del --unit web", "is not selected")
    vm.a.run(f"test ! -e {UNIT} && test ! -e /etc/systemd/system/smc-select.service")
    refused(vm.a, f"{ctl} select add --unit some.timer", "no cgroup")
    nothing_is_left(vm.a)
