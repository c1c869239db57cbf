# SPDX-License-Identifier: GPL-2.0-only
"""Sequences of calls that no sane program makes and any program may, without privileges. What is
asked for is the errno that TCP gives, and a kernel that is still there."""

import json

from harness import case

# A listen() that fails leaves a listener. TCP_ULP with another name takes it away, and then the
# socket is closed.
_LISTENS_IN_VAIN_AND_LEAVES = """
import errno, socket, sys
family, protocol = (43, 0) if sys.argv[1] == "smc" else (socket.AF_INET, 0)
def failure(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "fine"
def bound():
    made = socket.socket(family, socket.SOCK_STREAM, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    libc_bind(made)
    return made
def libc_bind(made):
    import ctypes, struct
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H", 7999) + bytes(12)
    if ctypes.CDLL(None, use_errno=True).bind(made.fileno(), address, len(address)):
        raise OSError(ctypes.get_errno(), "bind")
for _ in range(3):
    first, second = bound(), bound()
    seen = [failure(first.listen, 5), failure(second.listen, 5),
            failure(second.setsockopt, socket.IPPROTO_TCP, 31, b"nosuch"),
            failure(second.listen, 5)]
    second.close()
    first.close()
print(*seen)
"""


@case(on=["ours"])
def a_listener_in_vain_leaves_smc(vm):
    vm.a.put("/tmp/leaves.py", _LISTENS_IN_VAIN_AND_LEAVES.encode())
    by_mode = {mode: vm.a.run(f"python3 /tmp/leaves.py {mode}").out for mode in ("tcp", "smc")}
    assert by_mode["smc"] == by_mode["tcp"], by_mode
    assert "EADDRINUSE" in by_mode["tcp"], by_mode


# connect() to local and remote addresses of both families, from sockets of both; twice to each.
_CONNECTS_ANYWHERE = """
import ctypes, errno, json, os, socket, struct
LIBC = ctypes.CDLL(None, use_errno=True)
def v4(text):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", 9) + \\
        socket.inet_pton(socket.AF_INET, text) + bytes(8)
def v6(text):
    return struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", 9, 0) + \\
        socket.inet_pton(socket.AF_INET6, text) + bytes(4)
ADDRESSES = [v6("2001:db8::1"), v6("::1"), v6("::"), v6("::ffff:127.0.0.1"), v6("fe80::1"),
             v4("127.0.0.1"), v4("0.0.0.0")]
KINDS = {"tcp": (socket.AF_INET, 0), "smc": (43, 0), "protocol": (socket.AF_INET, 256),
         "tcp6": (socket.AF_INET6, 0), "smc6": (43, 1), "protocol6": (socket.AF_INET6, 256)}
def failure(number):
    return errno.errorcode[number]
def outcomes(family, protocol):
    try:
        fd = socket.socket(family, socket.SOCK_STREAM, protocol).detach()
    except OSError as error:
        return [failure(error.errno)]
    seen = [failure(ctypes.get_errno()) if LIBC.connect(fd, address, len(address)) else "fine"
            for address in ADDRESSES for _ in range(2)]
    os.close(fd)
    return seen
print(json.dumps({kind: outcomes(*how) for kind, how in KINDS.items()}))
"""


def compare_connects_anywhere(vm) -> dict:
    """The same errno as TCP for each address and family."""
    vm.a.put("/tmp/connects.py", _CONNECTS_ANYWHERE.encode())
    # Without any RDMA device the address decides nothing but TCP's answer.
    vm.a.run("rdma link del rxe0")
    try:
        seen = json.loads(vm.a.run("python3 /tmp/connects.py").out)
    finally:
        vm.a.restore(rdma=True)
    for kind in ("smc", "protocol"):
        assert seen[kind] == seen["tcp"], seen
        assert seen[f"{kind}6"] == seen["tcp6"], seen
    assert seen["tcp"][0] == "EAFNOSUPPORT" and "ECONNREFUSED" in seen["tcp"], seen
    return seen


@case(on="ours")
def an_address_of_another_family(vm):
    assert "ECONNREFUSED" in compare_connects_anywhere(vm)["tcp6"]


@case(on="ours", append="ipv6.disable=1")
def an_address_of_a_family_that_is_off(vm):
    assert compare_connects_anywhere(vm)["tcp6"] == ["EAFNOSUPPORT"]
