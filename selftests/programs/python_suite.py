# SPDX-License-Identifier: GPL-2.0-only
"""Parts of CPython's own tests that talk over sockets, within one host."""

import re

from harness import case
from stage import Stage, over_smcd

MODULES = ("test_asyncio.test_streams", "test_asyncio.test_server",
           "test_asyncio.test_sock_lowlevel", "test_asyncio.test_sendfile", "test_httpservers",
           "test_smtplib", "test_asyncore", "test_epoll", "test_socket.BasicTCPTest",
           "test_socket.TCPCloserTest", "test_socket.NonBlockingTCPTests",
           "test_socket.FileObjectClassTestCase",
           "test_socket.NetworkConnectionBehaviourTest",
           "test_socket.RecvmsgTCPTest", "test_socket.RecvmsgIntoTCPTest",
           "test_socket.SendmsgTCPTest", "test_socket.SendfileUsingSendfileTest",
           "test_socket.TCPTimeoutTest", "test_socket.InheritanceTest")
# Clients of these tests leave during the handshake, or find no server.
ADRIFT = 20


def python_suite(stage: Stage) -> dict:
    modules = " ".join(f"test.{module}" for module in MODULES)
    said = stage.run(f"python3 -m unittest -v {modules}", 900, check=False)
    verdicts = re.findall(r"^(\w+) \((test\.[\w.]+)\).* \.\.\. (?:.*\n)*?.*?"
                          r"\b(ok|skipped .*|FAIL|ERROR|expected failure)$", said.err, re.M)
    assert len(verdicts) > 200 and said.rc == 0, f"{len(verdicts)}\n{said.err[-6000:]}"
    return {f"{where}.{name}": verdict for name, where, verdict in verdicts}


@case(on="ours")
def python_suite_over_smcd(vm):
    # test_socket asks for CAN, Bluetooth, SCTP, …, whose modules would keep memory.
    loader = vm.a.run("cat /proc/sys/kernel/modprobe").out.strip()
    vm.a.run("sysctl -q kernel.modprobe=/bin/true")
    try:
        over_smcd(vm, python_suite, ADRIFT)
    finally:
        vm.a.run(f"sysctl -q kernel.modprobe={loader}")
