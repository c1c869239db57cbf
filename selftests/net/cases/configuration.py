# SPDX-License-Identifier: GPL-2.0-only
"""smc_ctl apply and save: what is in force becomes what a file says, and the other way round; and
what two hosts do without either."""

from contextlib import contextmanager

from harness import case
from harness.guest import Guest
from selecting import CGROUP, CTL, SWITCH, cgroup, needs_selection, nothing_is_left

FILE = "/run/smc.conf"
XFER = "build/selftests/smc_xfer"
WMEM = "/proc/sys/net/smc/wmem"
NOBODY = "setpriv --reuid=65534 --clear-groups --bounding-set=-all"
WHOLE = """# Every kind, in another order than they are applied
eid datacenter-1    # becomes upper case
eid LAB.2

rules allow peer 10.9.0.0/16 port 5000-5999 out
rules deny peer fd00::/8
rules deny
set wmem 131072
set net.smc.rmem 262144
pnet fabric1 netdev eth0 rdma rxe0
pnet FABRIC2 rdma mlx5_0 port 2
"""
WHOLE_SHOWN = """- set wmem 65536
+ set wmem 131072
- set rmem 65536
+ set rmem 262144
+ rules allow peer 10.9.0.0/16 port 5000-5999 out
+ rules deny peer fd00::/8
+ rules deny
+ pnet FABRIC1 netdev eth0
+ pnet FABRIC1 rdma rxe0 port 1
+ pnet FABRIC2 rdma mlx5_0 port 2
+ eid DATACENTER-1
+ eid LAB.2
"""


def applied(guest: Guest, text: str, options: str = "") -> str:
    """What it shows when this is the file."""
    guest.put(FILE, text.encode())
    return guest.run(f"{CTL} apply {options} {FILE}").out


def saved(guest: Guest) -> list[str]:
    """The lines about what `set` is not about."""
    lines = guest.run(f"{CTL} save -").out.splitlines()
    return [line for line in lines if not line.startswith(("#", "set "))]


@contextmanager
def unconfigured(guest: Guest):
    """Begins without any configuration, and restores what there was."""
    before = "/run/smc.conf.before"
    guest.run(f"{CTL} save {before}")
    try:
        applied(guest, "eid\npnet\nrules\nselect\n")
        yield
    finally:
        guest.run(f"{CTL} apply {before}")


@case(on="ours")
def configuration_is_applied(vm):
    with unconfigured(vm.a):
        assert applied(vm.a, WHOLE, "--dry-run") == WHOLE_SHOWN
        assert vm.a.run(f"{CTL} pnet show; {CTL} rules show; cat {WMEM}").out == "65536\n"
        assert vm.a.call("smcnl.ueids") == []
        assert applied(vm.a, WHOLE) == WHOLE_SHOWN
        assert vm.a.run(f"{CTL} eid show").out == "DATACENTER-1\nLAB.2\n"
        assert vm.a.run(f"{CTL} pnet show").out.split() == [
            "FABRIC1", "netdev", "eth0", "FABRIC1", "rdma", "rxe0", "port", "1",
            "FABRIC2", "rdma", "mlx5_0", "port", "2"]
        assert vm.a.run(f"{CTL} rules show").out == (
            "allow out  peer 10.9.0.0/16 port 5000-5999\ndeny  both peer fd00::/8 port any\n"
            "deny  both peer any port any\n")
        assert vm.a.run(f"cat {WMEM}").out == "131072\n"
        assert applied(vm.a, WHOLE) == "", "not idempotent"
        assert saved(vm.a) == [line[2:] for line in WHOLE_SHOWN.splitlines()
                               if not line[2:].startswith("set ")] + ["select"]
        # Kinds that have no line stay.
        assert applied(vm.a, "eid LAB.2\neid THIRD\n") == "- eid DATACENTER-1\n+ eid THIRD\n"
        assert applied(vm.a, "# nothing\n") == ""
        assert vm.a.run(f"{CTL} rules show | wc -l; {CTL} pnet show | wc -l").out == "3\n3\n"
        assert applied(vm.a, "set wmem 65536\nset rmem 65536\n").count("+") == 2
        assert applied(vm.a, "eid\n") == "- eid LAB.2\n- eid THIRD\n"


@case(on="ours")
def saved_configuration_changes_nothing(vm):
    """In what is saved everything is managed, so that it also takes away what came later."""
    with unconfigured(vm.a):
        applied(vm.a, WHOLE)
        vm.a.run(f"{CTL} save {FILE}")
        first = vm.a.run(f"cat {FILE}").out
        assert vm.a.run(f"{CTL} apply {FILE}").out == ""
        vm.a.run(f"{CTL} eid add LATER && {CTL} eid del LAB.2 && {CTL} pnet flush &&"
                 f" {CTL} rules flush && {CTL} rules add deny --in && echo 16384 >{WMEM}")
        vm.a.run(f"{CTL} apply {FILE}")
        assert vm.a.run(f"{CTL} save - && {CTL} apply {FILE}").out == first
        vm.a.run(f"{CTL} eid add LATER && {CTL} save {FILE}")
        assert vm.a.run(f"cat {FILE}.old").out == first
        vm.a.run(f"! test -e {FILE}.new && grep -x 'eid LATER' {FILE}")
        applied(vm.a, "set wmem 65536\nset rmem 65536\n")


@case(on="ours")
def one_device_of_a_network_goes(vm):
    """The kernel forgets all devices of a PNET ID at once; and a device that changes its network."""
    with unconfigured(vm.a):
        applied(vm.a, "pnet A netdev eth0 rdma rxe0\npnet B netdev eth1\n")
        assert applied(vm.a, "pnet A rdma rxe0\npnet B netdev eth0\n") == (
            "- pnet A netdev eth0\n- pnet B netdev eth1\n+ pnet B netdev eth0\n")
        assert vm.a.run(f"{CTL} pnet show").out.split() == [
            "A", "rdma", "rxe0", "port", "1", "B", "netdev", "eth0"]


@case(on="ours")
def rules_are_put_in_order(vm):
    with unconfigured(vm.a):
        applied(vm.a, "rules allow port 80\nrules allow port 81\nrules deny\n")
        assert applied(vm.a, "rules allow port 80\nrules deny\nrules allow port 81\n") == (
            "- rules allow port 81\n- rules deny\n+ rules deny\n+ rules allow port 81\n")
        assert [line.split()[0] for line in vm.a.run(f"{CTL} rules show").out.splitlines()] == [
            "allow", "deny", "allow"]


@case(on="ours")
def file_with_errors_changes_nothing(vm):
    with unconfigured(vm.a):
        wrong = {
            "eid": "is none of" , "set wmem": "value is missing", "set wmen 65536": "no setting",
            "set wmem 64K": "no number", "eid A_B": "is no EID", "eid " + "X" * 33: "is no EID",
            "eid good": "line 1 already", "eid ONE TWO": "one word too many",
            "pnet A-B netdev eth0": "no PNET ID", "pnet A": "device is missing",
            "pnet A rdma mlx5_0 port 3": "ports 1 and 2", "pnet A netdev " + "e" * 16: "as long",
            "rules maybe": "allow or deny", "rules deny peer 10.0.0.1/8": "bits set",
            "rules deny port 90-80": "wrong way", "rules deny both": "no place here",
            "select": "", "select cgroup": "the cgroup is missing", "select thing": "is missing",
            'select cgroup "/x': "quote does not end", "set tcp2smc 1": "no setting",
        }
        # A kind alone is no error.
        del wrong["eid"], wrong["select"]
        wrong["buffers 3"] = "is none of set, rules"
        text = "eid GOOD\nset wmem 16384\n" + "\n".join(wrong) + "\n"
        vm.a.put(FILE, text.encode())
        said = vm.a.run(f"{CTL} apply {FILE}", check=False)
        assert (said.rc, said.out) == (1, ""), said
        errors = said.err.splitlines()
        assert len(errors) == len(wrong), said.err
        for number, (why, error) in enumerate(zip(wrong.values(), errors), start=3):
            assert error.startswith(f"{FILE}:{number}: ") and why in error, (error, why)
        assert vm.a.run(f"cat {WMEM}").out == "65536\n" and vm.a.call("smcnl.ueids") == []
        for path, why in ("/nonexistent", "No such file"), ("/run", "Is a directory"):
            said = vm.a.run(f"{CTL} apply {path}", check=False)
            assert said.rc == 1 and said.out == "" and why in said.err, said


@case(on="ours")
def refused_line_does_not_stop_the_others(vm):
    """A host that boots is better off with the rest."""
    with unconfigured(vm.a):
        vm.a.put(FILE, b"set wmem 5\neid A\neid B\neid C\neid D\neid E\nrules deny in\n")
        said = vm.a.run(f"{CTL} apply {FILE}", check=False)
        assert said.rc == 1, said
        assert f"{FILE}:1: " in said.err and f"{FILE}:6: " in said.err, said.err
        assert len(said.err.splitlines()) == 2, said.err
        assert vm.a.run(f"{CTL} eid show").out == "A\nB\nC\nD\n"
        assert vm.a.run(f"{CTL} rules show | wc -l; cat {WMEM}").out == "1\n65536\n"
        # Who may not change it may look what would be changed.
        vm.a.put(FILE, b"eid A\n")
        vm.a.run(f"{NOBODY} cat {FILE}")
        removed = "- eid B\n- eid C\n- eid D\n"
        assert vm.a.run(f"{NOBODY} {CTL} apply --dry-run {FILE}").out == removed
        said = vm.a.run(f"{NOBODY} {CTL} apply {FILE}", check=False)
        assert said.rc == 1 and said.err.count("not permitted") == 3, said
        assert vm.a.run(f"{CTL} eid show").out == "A\nB\nC\nD\n"


@case(on="ours")
def selection_is_configured(vm):
    """What a program that runs selected for itself is not the file's."""
    needs_selection(vm.a)
    with unconfigured(vm.a), cgroup(vm.a), cgroup(vm.a, f"{CGROUP}/with\\ blank"):
        text = f'select netns\nselect cgroup /chosen\nselect cgroup "{CGROUP}/with blank/"\n'
        shown = (f'+ select netns\n+ select cgroup {CGROUP}\n'
                 f'+ select cgroup "{CGROUP}/with blank"\n')
        assert applied(vm.a, text) == shown
        assert applied(vm.a, text) == ""
        assert vm.a.run(f"cat {SWITCH}").out == "1\n"
        runs = vm.a.spawn("exec build/tools/smc_run --cgroup sleep 100")
        vm.a.wait_for(f"{CTL} select list | grep -q smc_run-", 20)
        # In the order of their pins.
        assert sorted(saved(vm.a)[-3:]) == sorted(line[2:] for line in shown.splitlines())
        assert applied(vm.a, "select\n").count("- select ") == 3
        vm.a.run(f"{CTL} select list | grep -q smc_run-")
        runs.kill(15)
        runs.wait(20, check=False)
        nothing_is_left(vm.a)


@case(on="ours+ours")
def two_hosts_without_configuration(vm):
    """They speak SMC-R by the default EID, unless either host has an EID, or does without."""
    def connects(expect: str) -> None:
        server = vm.b.spawn(f"{XFER} --serve --port 7310")
        try:
            server.expect(r"\bready\b")
            vm.a.run(f"{XFER} --to {vm.b.ip4} --port 7310 --expect {expect} --up 9000 --down 9000")
        finally:
            server.kill()
            server.wait(10, check=False)

    with unconfigured(vm.a), unconfigured(vm.b):
        assert vm.a.run(f"{CTL} eid show").out == "SMC-KO-DEFAULT (default)\n"
        connects("smcr")
        assert "eid SMC-KO-DEFAULT " in vm.a.run(f"{CTL} groups").out
        # It is neither saved nor to be removed.
        assert "eid" in saved(vm.a) and vm.a.call("smcnl.ueids") == []
        assert vm.a.run("unshare -n build/tools/smc_ctl eid show").out.endswith("(default)\n")
        for guest in vm.guests:
            guest.run(f"{CTL} eid add OTHER")
            assert guest.run(f"{CTL} eid show").out == "OTHER\n"
            connects("fallback")
            guest.run(f"{CTL} eid flush && sysctl -q net.smc.default_eid=0")
            assert guest.run(f"{CTL} eid show").out == ""
            connects("fallback")
            guest.run("sysctl -q net.smc.default_eid=1")
        connects("smcr")
