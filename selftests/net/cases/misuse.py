# SPDX-License-Identifier: GPL-2.0-only
"""Sequences of calls that no sane program makes and any program may, without privileges. What is
asked for is the errno that TCP gives, and a kernel that is still there."""

from harness import case

# A listen() that fails has made a listener; leaving SMC for another ULP takes it down, and close()
# comes after that.
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
