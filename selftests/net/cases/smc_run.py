# SPDX-License-Identifier: GPL-2.0-only
"""smc_run: unmodified programs on SMC sockets, and what it says where it can do nothing."""

from harness import case

RUN = "build/tools/smc_run"
SIZE = 3_000_017


def serve_and_fetch(vm, port: int) -> None:
    """Fetches a file by HTTP with Python's server and client, and compares its checksum."""
    vm.b.run(f"mkdir -p /tmp/www && head -c {SIZE} /dev/urandom > /tmp/www/file")
    wanted = vm.b.run("sha256sum < /tmp/www/file").out
    server = vm.b.spawn(f"{RUN} python3 -u -m http.server --directory /tmp/www {port}")
    try:
        vm.b.wait_for(f"ss -Htln 'sport = :{port}' | grep -q .", timeout_s=60)
        got = vm.a.run(f"{RUN} python3 -c 'import sys, urllib.request;"
                       f" sys.stdout.buffer.write(urllib.request.urlopen("
                       f"\"http://{vm.b.ip4}:{port}/file\").read())' | sha256sum").out
    finally:
        server.kill()
        server.wait(check=False)
    assert got == wanted, f"checksums differ: {got} {wanted}"


@case(on="ours+ours")
def programs_use_smc(vm):
    before = vm.a.call("smcnl.counters")
    serve_and_fetch(vm, 8001)
    after = vm.a.call("smcnl.counters")
    assert after["client"] == before["client"] + 1, "the download did not go over SMC-R"
    assert after["rx_bytes"] - before["rx_bytes"] >= SIZE, "its bytes were not counted there"


@case(on="none+none")
def without_the_module_programs_use_tcp(vm):
    serve_and_fetch(vm, 8002)
    said = vm.a.run(f"{RUN} true").err
    assert "no SMC sockets" in said, f"said {said!r}"


@case(on="ours")
def ipv6_sockets_too(vm):
    said = vm.a.run(f"{RUN} --debug python3 -c 'import socket; socket.socket(socket.AF_INET6)'").err
    assert "SMC over IPv6" in said, f"said {said!r}"


@case(on="ours")
def sockets_look_like_tcp(vm):
    show = "import socket as s; t = s.socket();" \
           " print([t.getsockopt(s.SOL_SOCKET, o) for o in (s.SO_DOMAIN, s.SO_TYPE, s.SO_PROTOCOL)])"
    result = vm.a.run(f"{RUN} --debug python3 -c '{show}'")
    assert "SMC over IPv4" in result.err, f"said {result.err!r}"
    assert result.out == vm.a.run(f"python3 -c '{show}'").out, f"{result.out}"


@case(on="kernel@6.1")
def without_the_protocol_it_uses_the_family(vm):
    """With the kernel's own module of 6.1, which has AF_SMC but no IPPROTO_SMC."""
    said = vm.a.run(f"{RUN} --debug python3 -c 'import socket as s; s.socket(); s.socket()'").err
    assert said.count("SMC over IPv4") == 2, f"said {said!r}"


@case(on="ours")
def other_sockets_are_left_alone(vm):
    said = vm.a.run(f"{RUN} --debug python3 -c 'import socket as s;"
                    " s.socket(s.AF_INET, s.SOCK_DGRAM); s.socket(s.AF_UNIX);"
                    " s.socketpair()'").err
    assert "SMC over" not in said, f"said {said!r}"


@case(on="ours")
def buffer_sizes_are_set(vm):
    show = "import socket as s; t = s.socket(); print(t.getsockopt(s.SOL_SOCKET, s.SO_SNDBUF)," \
           " t.getsockopt(s.SOL_SOCKET, s.SO_RCVBUF))"
    sizes = vm.a.run(f"{RUN} --sndbuf 40K --rcvbuf 80K python3 -c '{show}'").out.split()
    # The kernel doubles the size that is set, as for TCP.
    assert sizes == [str(2 * 40 * 1024), str(2 * 80 * 1024)], f"sizes {sizes}"


@case(on="ours")
def buffer_limits_are_told(vm):
    """setsockopt() silently sets less than it was asked for; smc_run says so."""
    show = "import socket as s; t = s.socket(); print(t.getsockopt(s.SOL_SOCKET, s.SO_SNDBUF)," \
           " t.getsockopt(s.SOL_SOCKET, s.SO_RCVBUF))"
    command = f"{RUN} -r 1M -t 1M python3 -c '{show}'"
    limits = vm.a.run("cat /proc/sys/net/core/wmem_max /proc/sys/net/core/rmem_max").out.split()
    try:
        vm.a.run("for f in wmem_max rmem_max; do echo 212992 > /proc/sys/net/core/$f; done")
        result = vm.a.run(command)
        assert result.out.split() == [str(2 * 212992)] * 2, f"{result}"
        for name in "wmem_max", "rmem_max":
            assert f"net.core.{name}" in result.err, f"said {result.err!r}"
        vm.a.run("for f in wmem_max rmem_max; do echo 1048576 > /proc/sys/net/core/$f; done")
        result = vm.a.run(command)
        assert result.out.split() == [str(2 << 20)] * 2 and not result.err, f"{result}"
    finally:
        for name, limit in zip(("wmem_max", "rmem_max"), limits):
            vm.a.run(f"echo {limit} > /proc/sys/net/core/{name}")


@case(on="ours")
def programs_with_other_ids_run_and_it_says_so(vm):
    """The loader ignores the library for programs that change their IDs, and smc_run says so."""
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    said = "changes its user or group id"
    for mode, owner, caller, wanted in (
            ("4755", "65534:0", "", True), ("2755", "0:65534", "", True),
            ("6755", "0:0", "", False), ("4755", "0:0", nobody, True),
            ("2745", "0:0", nobody, False), ("6755", "65534:65534", nobody, False)):
        vm.a.run("cp /usr/bin/printenv /run/printenv; "
                 f"chown {owner} /run/printenv; chmod {mode} /run/printenv")
        result = vm.a.run(f"{caller} {RUN} /run/printenv LD_PRELOAD", check=False)
        got = (said in result.err, "libsmc_preload" in result.out)
        # A loader that ignores the variable removes it from the environment.
        assert got == (wanted, not wanted), f"{mode} {owner} {caller}: {result}"


@case(on="ours")
def static_programs_run_and_it_says_so(vm):
    result = vm.a.run(f"{RUN} busybox echo hello")
    assert result.out == "hello\n" and "statically linked" in result.err, f"{result}"


@case(on="ours")
def other_preloads_stay(vm):
    other = vm.a.run("ldconfig -p | awk '/libpthread.so.0/ { print $NF; exit }'").out.strip()
    value = vm.a.run(f"LD_PRELOAD={other} {RUN} printenv LD_PRELOAD").out.strip()
    assert value.endswith(f"libsmc_preload.so:{other}"), f"LD_PRELOAD is {value}"


@case(on="ours")
def status_is_the_programs(vm):
    assert vm.a.run(f"{RUN} sh -c 'exit 7'", check=False).rc == 7
    assert vm.a.run(f"{RUN} /nonexistent", check=False).rc == 127
    assert vm.a.run(f"{RUN} nosuch 2>&-", check=False).rc == 127
    assert vm.a.run(f"{RUN} ./README.md", check=False).rc == 126
    assert vm.a.run(f"{RUN}", check=False).rc == 1
