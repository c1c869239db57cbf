# SPDX-License-Identifier: GPL-2.0-only
"""Sockets that something else takes over, or that become something else than they were to be: what
comes of it is TCP's, and the module can go afterwards."""

import json

from harness import Skip, case
from harness.testmodule import built_module

PROGRAM = "selftests/net/takeover.py"
PORT = 7730


def take_over(vm, what: str) -> dict:
    outcome = json.loads(vm.a.run(f"{PROGRAM} {what} {PORT}", timeout_s=120).out)
    # The unload shows that no reference to the module or the layer was lost or kept.
    vm.a.unload_module()
    vm.a.run("! grep -q '^tls ' /proc/modules || rmmod tls")
    vm.a.load_module()
    return outcome


def has_tls(vm) -> None:
    if vm.a.run("modprobe tls", check=False).rc:
        raise Skip("no kTLS")


def has_late_pages(vm) -> None:
    if vm.a.run(f"python3 -c 'import sys; sys.path.insert(0, \"{PROGRAM.rsplit('/', 1)[0]}\");"
                " import takeover; takeover.LatePage()'", check=False).rc:
        raise Skip("no userfaultfd")


@case(on="ours")
def a_layer_with_a_late_name(vm):
    """A TCP_ULP call reads its name while another call makes the socket SMC, or leaves it to
    TCP."""
    has_late_pages(vm)
    has_tls(vm)
    assert take_over(vm, "late-layer") == {
        "before it was ours": "EEXIST", "layer": "smc", "nonsense": "ENOENT",
        "while it was fallen": "fine"}


@case(on="ours")
def a_layer_that_is_asked_for(vm):
    """A getsockopt(TCP_ULP) of TCP's looks at the layer, sleeps, and looks again: it must be there
    still, since TCP does not expect anything else."""
    has_late_pages(vm)
    assert take_over(vm, "late-answer") == {
        "answer": "smc", "meanwhile": "ENOENT", "waited": True}


@case(on="ours")
def a_family_that_comes_late(vm):
    """The same with IPV6_ADDRFORM, which sets TCP's ops without a call into the module."""
    has_late_pages(vm)
    assert take_over(vm, "late-addrform") == {"late": "EBUSY", "later": "fine", "child": "fine"}


@case(on="ours")
def a_syn_that_comes_late(vm):
    """TCP's connect() may leave the SYN to send() (TCP_FASTOPEN_CONNECT)."""
    assert take_over(vm, "late-syn") == {"connect": "fine", "send": "fine", "heard": "hello"}


@case(on="ours")
def connections_that_are_remembered(vm):
    """Sockets in TIME_WAIT are TCP's own, so the module can be unloaded."""
    assert take_over(vm, "time-wait") == {"remembered": True}


@case(on="ours")
def layers_after_a_fallback(vm):
    has_tls(vm)
    assert take_over(vm, "layers") == {
        "protocol": ["ENOENT", "fine", "tls", "EEXIST", "ENOTCONN"],
        "ulp": ["ENOENT", "EEXIST", "smc", "EEXIST", "EEXIST"],
        "addrform": ["fine", True, "fine", "tls"], "plain": "fine"}


@case(on="ours")
def a_layer_that_is_there(vm):
    """TCP_ULP "smc" on an SMC socket changes nothing."""
    kind = ["EEXIST", "EEXIST", "EFAULT", "EINVAL", 2, "EEXIST"]
    outcome = take_over(vm, "same-layer")
    assert outcome == {"protocol": kind, "ulp": kind}, outcome


@case(on="ours")
def listeners_after_a_layer(vm):
    """Accepted sockets hold nothing of the module, and may outlive it."""
    has_tls(vm)
    process = vm.a.spawn(f"{PROGRAM} clones {PORT}")
    process.expect("ready")
    vm.a.unload_module()
    assert json.loads(process.wait().out.split("ready\n")[1]) == {
        "layers": ["ENOENT", "ENOENT", "ENOTCONN"]}
    vm.a.run("! grep -q '^tls ' /proc/modules || rmmod tls")
    vm.a.load_module()


@case(on="ours")
def listeners_that_were_ours(vm):
    """Nor do sockets that a former listener of ours accepts. With another module loaded at the same
    place, TCP would call into that."""
    has_tls(vm)
    vm.a.run("rmmod tls")
    process = vm.a.spawn(f"{PROGRAM} relics {PORT}")
    process.expect("ready")
    vm.a.unload_module()
    vm.a.run("modprobe tls")
    vm.a.load_module()
    outcome = json.loads(process.wait().out.split("ready\n")[1])
    # Where TCP writes the option, it has something of ours for as long as it listens.
    last = "ENOENT" if vm.option_is_ours else "ENOTSUP"
    assert outcome == {"layer": "ENOENT", "listen": "fine", "heard": "hello",
                       "layer of a listener": last}, outcome
    vm.a.unload_module()
    vm.a.run("rmmod tls")
    vm.a.load_module()


def move_to_tcps_listener(vm, what: str) -> None:
    has_tls(vm)
    vm.a.run("rmmod tls; sysctl -q net.ipv4.tcp_migrate_req=1")
    process = vm.a.spawn(f"{PROGRAM} {what} {PORT}")
    process.expect("ready")
    vm.a.unload_module()
    vm.a.run("modprobe tls")
    vm.a.load_module()
    outcome = json.loads(process.wait().out.split("ready\n")[1])
    assert outcome == {"heard": ["hello", "hello"]}, outcome
    vm.a.unload_module()
    vm.a.run("rmmod tls; sysctl -q net.ipv4.tcp_migrate_req=0")
    vm.a.load_module()


@case(on="ours")
def connections_that_move_to_tcps_listener(vm):
    """Nor do connections that TCP migrates to its own listener when a listener of ours ends."""
    move_to_tcps_listener(vm, "migrated")


@case(on="ours")
def connections_that_come_while_the_listener_ends(vm):
    """TCP accepts them without the listener's lock, which shutdown() waits for."""
    has_late_pages(vm)
    move_to_tcps_listener(vm, "migrated-late")


@case(on="ours")
def connections_of_a_listener_that_is_killed(vm):
    """TCP ends the listener without calling the module."""
    move_to_tcps_listener(vm, "migrated-killed")


@case(on="ours")
def a_lock_that_is_kept(vm):
    """A user's call that holds its socket's lock delays no other socket."""
    has_late_pages(vm)
    has_tls(vm)
    assert take_over(vm, "held-sock") == {"other": "fine", "held": "tls"}
    assert take_over(vm, "held-listeners") == {
        "ends before": 2, "bystander": "hello", "ends after": 0}


@case(on="ours")
def locks_that_are_kept_of_many_sockets(vm):
    """A work item that needs locked sockets does not wait for them, so other handshakes go on."""
    has_late_pages(vm)
    outcome = take_over(vm, "held-handshakes")
    assert outcome == {"listeners": True, "clients": True, "shutdown": "fine"}, outcome


@case(on="ours")
def a_listener_by_layer_with_fastopen(vm):
    assert take_over(vm, "fastopen-listener") == {
        "listen": "fine", "heard": "hello", "by layer": "hello"}


@case(on="ours")
def a_listener_that_was_a_client(vm):
    """Its clients do not receive a handshake's bytes as data, and neither does the listener."""
    assert take_over(vm, "second-life") == {
        "connect": "EINPROGRESS", "shutdown": "fine", "listen": "fine", "heard": "hello"}


@case(on="ours")
def a_module_that_comes_and_goes(vm):
    """The module stays loaded while somebody makes a socket of it, and no socket is left that
    cannot be closed."""
    process = vm.a.spawn(f"{PROGRAM} makers {PORT}")
    process.expect("ready")
    # Ten times, or as often as possible in 20 s; on a slow machine mostly while the makers rest.
    gone = vm.a.run("gone=0; late=$((SECONDS + 20)); last=$((SECONDS + 120));"
                    " while [ $gone -lt 10 ] && [ $SECONDS -lt $last ] &&"
                    " { [ $gone -eq 0 ] || [ $SECONDS -lt $late ]; }; do"
                    " rmmod smc_diag 2>/dev/null; rmmod smc 2>/dev/null && gone=$((gone + 1));"
                    " sleep 0.03; done;"
                    " echo $gone", timeout_s=240).out
    process.input(b"\n")
    outcome = json.loads(process.wait().out.split("ready\n")[1])
    assert outcome == {"exits": [0, 0, 0], "left": 0}, outcome
    assert int(gone), "never unloaded"
    vm.a.unload_module()
    vm.a.load_module()


@case(on="ours")
def a_name_that_another_module_has(vm):
    """The module loads without the name, for the other ways to make a socket, and can be unloaded
    again: a socket may exist before registering the name has failed."""
    vm.a.unload_module()
    vm.a.run(f"insmod {built_module(vm.a.kernel, 'selftests/net/ulpname', 'smc_ulpname')}")
    vm.a.load_module()
    try:
        assert take_over(vm, "name-taken") == {"layer": "EDOM", "heard": "hello", "ends by SMC": 2}
    finally:
        vm.a.unload_module()
        vm.a.run("rmmod smc_ulpname")
        vm.a.load_module()
