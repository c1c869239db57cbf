#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""SMC sockets that something else takes over, or that become something else than they were to be.
Inside one host; prints what happened, as JSON.

    takeover.py late-layer PORT        TCP_ULP calls that get the layer's name only when the socket has changed
    takeover.py late-answer PORT       a getsockopt() of the layer that waits while another layer is asked for
    takeover.py late-addrform PORT     the same for IPV6_ADDRFORM, and a socket that TCP_ULP made ours
    takeover.py late-syn PORT          TCP_FASTOPEN_CONNECT before TCP_ULP
    takeover.py time-wait PORT         connections by TCP that are remembered for a minute
    takeover.py layers PORT            kTLS, and IPV6_ADDRFORM, on sockets that fell back
    takeover.py same-layer PORT        TCP_ULP "smc" on what is an SMC socket already, and names that cannot be read
    takeover.py fastopen-listener PORT a listener that TCP_ULP made ours and TCP_FASTOPEN made TCP's
    takeover.py second-life PORT       listeners that were clients before
    takeover.py clones PORT            connections to listeners that were given to a layer before; some of
                                       them are closed when the module has gone
    takeover.py relics PORT            a connection to what was a listener of ours, which listens when the
                                       module has gone, and when it is there again
    takeover.py migrated PORT          a connection that TCP gives from a listener of ours to one of its own, and that
                                       listens itself when the module has gone, and when it is there again
    takeover.py migrated-late PORT     the same with those that come while shutdown() waits for the listener's lock
    takeover.py migrated-killed PORT   the same when the listener is ended from outside, as by `ss -K`
    takeover.py name-taken PORT        what goes on when another module has the layer's name
    takeover.py held-sock PORT         a call that keeps a fallen socket's lock, and other sockets
    takeover.py makers PORT            sockets that are made and closed until there is a line to read, while the
                                       module comes and goes
    takeover.py held-listeners PORT    calls that keep the locks of listeners with clients, and other sockets
    takeover.py held-handshakes PORT   the same, and those of clients; new connections of others meanwhile
"""

import ctypes
import errno
import json
import mmap
import multiprocessing
import os
import random
import socket
import struct
import sys
import threading
import time

IPPROTO_SMC = 256
TCP_ULP, TCP_FASTOPEN, IPV6_ADDRFORM = 31, 23, 1
TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_NO_COOKIE = 30, 34
SO_COOKIE, NETLINK_SOCK_DIAG, SOCK_DESTROY, NLM_F_REQUEST, NLM_F_ACK = 57, 4, 21, 1, 4
LIBC = ctypes.CDLL(None, use_errno=True)

# userfaultfd(2): a thread that reads a missing page waits until another thread provides it.
_SYS_USERFAULTFD, _API, _MISSING = 323, 0xAA, 1
_UFFDIO_API, _UFFDIO_REGISTER, _UFFDIO_COPY = 0xC018AA3F, 0xC020AA00, 0xC028AA03
# The same for a thread that writes into a page that can only be read.
_WRITE_PROTECT, _UFFDIO_WRITEPROTECT, _UFFD_FEATURE_WP = 2, 0xC018AA06, 1


def name_of(call, *arguments) -> str:
    """The name of the errno, or "fine"."""
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "fine"


def address(port: int) -> tuple[str, int]:
    return "127.0.0.1", port


def tcp_listener(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(address(port))
    made.listen(5)
    return made


def smc() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)


def by_ulp() -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc")
    return made


def set_option(fd: int, level: int, option: int, value, length: int) -> str:
    """setsockopt() with any pointer and length: the name of the errno, or "fine"."""
    # Through ctypes, since Python's own call keeps other threads from running.
    ret = LIBC.setsockopt(fd, level, option, value, length)
    return errno.errorcode[ctypes.get_errno()] if ret else "fine"


def set_layer(sock: socket.socket, name: bytes) -> str:
    return set_option(sock.fileno(), socket.IPPROTO_TCP, TCP_ULP, name, len(name))


def layer_of(sock: socket.socket) -> str:
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_ULP, 16).rstrip(b"\0").decode()


class UserFaults:
    """A page whose faults wait for this process: of @mode, behind one that is there."""

    def __init__(self, mode: int, features: int = 0) -> None:
        self._fd = LIBC.syscall(_SYS_USERFAULTFD, os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "userfaultfd")
        self.map = mmap.mmap(-1, 2 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.page = ctypes.addressof(ctypes.c_char.from_buffer(self.map)) + mmap.PAGESIZE
        self.ioctl(_UFFDIO_API, struct.pack("QQQ", _API, features, 0))
        self.ioctl(_UFFDIO_REGISTER, struct.pack("QQQQ", self.page, mmap.PAGESIZE, mode, 0))

    def ioctl(self, request: int, argument: bytes) -> None:
        if LIBC.ioctl(self._fd, ctypes.c_ulong(request), ctypes.create_string_buffer(argument)):
            raise OSError(ctypes.get_errno(), "userfaultfd ioctl")


class LatePage:
    """A page of memory that is missing until put() provides it; its readers wait."""

    def __init__(self, before: bytes = b"") -> None:
        self._faults = UserFaults(_MISSING)
        # The first bytes lie on a page that is there, the rest on the missing one.
        self.address = self._faults.page - len(before)
        self._faults.map[mmap.PAGESIZE - len(before):mmap.PAGESIZE] = before

    def put(self, content: bytes) -> None:
        source = mmap.mmap(-1, mmap.PAGESIZE)
        source.write(content)
        at = ctypes.addressof(ctypes.c_char.from_buffer(source))
        self._faults.ioctl(_UFFDIO_COPY,
                           struct.pack("QQQQq", self._faults.page, at, mmap.PAGESIZE, 0, 0))


class LateWrites:
    """A page of memory that can be read, while its writers wait until let()."""

    def __init__(self, content: bytes) -> None:
        self._faults = UserFaults(_WRITE_PROTECT, _UFFD_FEATURE_WP)
        self.address = self._faults.page
        self._faults.map[mmap.PAGESIZE:mmap.PAGESIZE + len(content)] = content
        self._protect(True)

    def _protect(self, on: bool) -> None:
        self._faults.ioctl(_UFFDIO_WRITEPROTECT,
                           struct.pack("QQQ", self._faults.page, mmap.PAGESIZE, on))

    def let(self) -> None:
        self._protect(False)


class LateLayer(threading.Thread):
    """A setsockopt(TCP_ULP) that waits in the kernel for the name."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._fd, self._page, self.result = sock.fileno(), LatePage(), ""
        self.start()
        time.sleep(0.3)

    def run(self) -> None:
        self.result = set_option(self._fd, socket.IPPROTO_TCP, TCP_ULP,
                                 ctypes.c_void_p(self._page.address), 4)

    def end(self) -> str:
        self._page.put(b"tls\0")
        self.join()
        return self.result


def late_layer(port: int) -> dict:
    listener = tcp_listener(port)
    # The socket was TCP's when the call began.
    born = socket.socket()
    late = LateLayer(born)
    born.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc")
    born.connect(address(port))
    results = {"before it was ours": late.end(), "layer": layer_of(born)}
    # The socket has fallen back, and other calls fail meanwhile.
    fallen = smc()
    fallen.connect(address(port))
    late = LateLayer(fallen)
    results["nonsense"] = set_layer(fallen, b"nonsense")
    results["while it was fallen"] = late.end()
    for sock in (born, fallen, listener):
        sock.close()
    return results


def late_answer(port: int) -> dict:
    listener = tcp_listener(port)
    sock = by_ulp()
    sock.connect(address(port))
    # TCP reads the length, looks whether there is a layer, writes the length, and then the name.
    length, name, results = LateWrites(struct.pack("i", 16)), ctypes.create_string_buffer(16), {}

    def ask() -> None:
        ret = LIBC.getsockopt(sock.fileno(), socket.IPPROTO_TCP, TCP_ULP, name,
                              ctypes.c_void_p(length.address))
        results["answer"] = errno.errorcode[ctypes.get_errno()] if ret else name.value.decode()

    call = threading.Thread(target=ask)
    call.start()
    time.sleep(0.3)
    waited = call.is_alive()
    results["meanwhile"] = set_layer(sock, b"nosuch")
    length.let()
    call.join()
    sock.close()
    listener.close()
    return results | {"waited": waited}


def late_addrform(port: int) -> dict:
    listener = tcp_listener(port)
    born = socket.socket(socket.AF_INET6)
    page, outcome = LatePage(), []

    def change_family() -> None:
        outcome.append(set_option(born.fileno(), socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                                  ctypes.c_void_p(page.address), 4))

    call = threading.Thread(target=change_family)
    call.start()
    time.sleep(0.3)
    born.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc")
    born.connect(("::ffff:127.0.0.1", port))
    page.put(struct.pack("i", socket.AF_INET))
    call.join()
    results = {"late": outcome[0],
               "later": name_of(born.setsockopt, socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                                socket.AF_INET)}
    born.close()
    listener.close()
    # Sockets that are accepted from a listener that TCP_ULP made SMC can be used like any others.
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc")
        listener.bind(("::", port + 1))
        listener.listen(5)
        client = socket.create_connection(address(port + 1))
        child, _ = listener.accept()
        results["child"] = name_of(child.setsockopt, socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                                   socket.AF_INET)
        client.close()
        child.close()
    return results


def late_syn(port: int) -> dict:
    listener = tcp_listener(port)
    client = socket.socket()
    client.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    client.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 1)
    client.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"smc")
    client.settimeout(10)
    results = {"connect": name_of(client.connect, address(port)),
               "send": name_of(client.sendall, b"hello")}
    listener.settimeout(10)
    served, _ = listener.accept()
    results["heard"] = served.recv(100).decode()
    for sock in (client, served, listener):
        sock.close()
    return results


def tcp_socks(kind: str) -> int:
    """How many TCP sockets there are; "alloc": in any state."""
    with open("/proc/net/sockstat") as lines:
        words = next(line.split() for line in lines if line.startswith("TCP:"))
    return int(words[words.index(kind) + 1])


def time_wait(port: int) -> dict:
    listener = tcp_listener(port)
    for _ in range(3):
        with smc() as client:
            client.connect(address(port))
            served, _ = listener.accept()
            client.shutdown(socket.SHUT_WR)
            served.close()
            # The FIN: from now on there is a TIME_WAIT, though the socket is still open.
            client.recv(1)
            time.sleep(0.1)
    listener.close()
    return {"remembered": tcp_socks("tw") >= 3}


def layers(port: int) -> dict:
    results: dict = {}
    listener = tcp_listener(port)
    for kind, make in (("protocol", smc), ("ulp", by_ulp)):
        client = make()
        client.connect(address(port))
        results[kind] = [set_layer(client, b"nosuch"), set_layer(client, b"tls"),
                         layer_of(client), set_layer(client, b"smc")]
        client.close()
        unconnected = make()
        results[kind].append(set_layer(unconnected, b"tls"))
        unconnected.close()
    both = socket.create_server(("::", port + 1), family=socket.AF_INET6, dualstack_ipv6=True)
    mapped = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, IPPROTO_SMC)
    mapped.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 0)
    mapped.connect(("::ffff:127.0.0.1", port))
    results["addrform"] = [name_of(mapped.setsockopt, socket.IPPROTO_IPV6, IPV6_ADDRFORM,
                                   socket.AF_INET),
                           mapped.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == socket.AF_INET,
                           set_layer(mapped, b"tls"), layer_of(mapped)]
    for sock in (mapped, both, listener):
        sock.close()
    # On a socket that was never ours kTLS sets TCP's own table.
    listener = tcp_listener(port)
    plain = socket.create_connection(address(port))
    results["plain"] = set_layer(plain, b"tls")
    plain.close()
    listener.close()
    return results


def same_layer(port: int) -> dict:
    results: dict = {}
    listener = smc_listener(port)
    for kind, make in (("protocol", smc), ("ulp", by_ulp)):
        client = make()
        results[kind] = [set_layer(client, b"smc"), set_layer(client, b"smc\0and more")]
        for where, length in ((ctypes.c_void_p(8), 4), (b"tls", 0)):
            results[kind].append(set_option(client.fileno(), socket.IPPROTO_TCP, TCP_ULP, where,
                                            length))
        before = smc_stat()["conn_new"]
        client.connect(address(port))
        served, _ = listener.accept()
        results[kind] += [smc_stat()["conn_new"] - before, set_layer(client, b"smc")]
        served.close()
        client.close()
    listener.close()
    return results


def greeted(listener: socket.socket, port: int) -> str:
    """What the first SMC client sends, as the listener's program receives it."""
    def say() -> None:
        with smc() as client:
            client.settimeout(20)
            client.connect(address(port))
            client.sendall(b"hello")
            client.recv(1)

    client = threading.Thread(target=say)
    client.start()
    listener.settimeout(20)
    connection, _ = listener.accept()
    connection.settimeout(20)
    heard = connection.recv(100)
    connection.close()
    client.join()
    return heard.decode(errors="replace")


def bound(sock: socket.socket, port: int) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address(port))


def fastopen_listener(port: int) -> dict:
    sock = by_ulp()
    bound(sock, port)
    sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 5)
    results = {"listen": name_of(sock.listen, 5)}
    results["heard"] = greeted(sock, port)
    sock.close()
    with by_ulp() as listener:
        bound(listener, port + 1)
        listener.listen(5)
        results["by layer"] = greeted(listener, port + 1)
    return results


def second_life(port: int) -> dict:
    # shutdown() ends a connect() under way, to a listener whose queue is full.
    full = socket.socket()
    bound(full, port + 1)
    full.listen(0)
    waiting = [socket.socket() for _ in range(3)]
    for sock in waiting:
        sock.setblocking(False)
        name_of(sock.connect, address(port + 1))
    shut = smc()
    shut.setblocking(False)
    results = {"connect": name_of(shut.connect, address(port + 1)),
               "shutdown": name_of(shut.shutdown, socket.SHUT_RDWR)}
    shut.setblocking(True)
    for sock in (*waiting, full):
        sock.close()
    results["listen"] = name_of(shut.listen, 5)
    own_port = shut.getsockname()[1]
    results["heard"] = greeted(shut, own_port)
    shut.close()
    return results


def disconnect(sock: socket.socket) -> None:
    assert LIBC.connect(sock.fileno(), struct.pack("H14x", socket.AF_UNSPEC), 16) == 0


def clones(port: int) -> dict:
    results: dict = {}
    listener = tcp_listener(port)
    connected, mapped, unconnected = smc(), socket.socket(
        socket.AF_INET6, socket.SOCK_STREAM, IPPROTO_SMC), smc()
    connected.connect(address(port))
    mapped.connect(("::ffff:127.0.0.1", port))
    results["layers"] = [set_layer(sock, b"nosuch") for sock in (connected, mapped)]
    results["layers"].append(set_layer(unconnected, b"tls"))
    disconnect(connected)
    disconnect(mapped)
    kept = []
    for sock in (connected, mapped, unconnected):
        sock.listen(5)
        for _ in range(2):
            client = socket.create_connection(("127.0.0.1", sock.getsockname()[1]))
            kept.append(sock.accept()[0])
            client.close()
        # One is closed while the module is loaded, one after it was unloaded.
        kept.pop().close()
        sock.close()
    listener.close()
    print("ready", flush=True)
    while os.path.exists("/sys/module/smc"):
        time.sleep(0.1)
    for child in kept:
        child.close()
    return results


def wait_for_module(there: bool) -> None:
    while os.path.exists("/proc/net/smc_stat") != there:
        time.sleep(0.1)


def relics(port: int) -> dict:
    listener = smc()
    bound(listener, port)
    listener.listen(5)
    listener.shutdown(socket.SHUT_RDWR)
    results = {"layer": set_layer(listener, b"nosuch"), "listen": name_of(listener.listen, 5)}
    client = socket.create_connection(address(port))
    relic, _ = listener.accept()
    client.close()
    listener.close()
    print("ready", flush=True)
    wait_for_module(False)
    disconnect(relic)
    relic.listen(5)
    wait_for_module(True)
    # The SYN shows the option, so TCP calls the module's hook of the listener.
    results["heard"] = greeted(relic, relic.getsockname()[1])
    relic.close()
    # A listener with state of the module keeps it.
    listener = smc()
    bound(listener, port + 1)
    listener.listen(5)
    listener.shutdown(socket.SHUT_RDWR)
    listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 0)
    listener.listen(5)
    results["layer of a listener"] = set_layer(listener, b"nosuch")
    listener.close()
    return results


def kill(sock: socket.socket) -> None:
    """As `ss -K` does. The kernel looks the listener up as for a packet: of several on one port it
    finds the one that this sender's packets would reach."""
    cookie = sock.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8)
    where, at = sock.getsockname()
    source, nobody = socket.inet_aton(where) + bytes(12), bytes(16)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
        for sender in range(1, 1000):
            body = (struct.pack("BBBxIHH", socket.AF_INET, socket.IPPROTO_TCP, 0, 0xffffffff,
                                socket.htons(at), socket.htons(sender))
                    + source + nobody + bytes(4) + cookie)
            netlink.send(struct.pack("IHHII", 16 + len(body), SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK,
                                     sender, 0) + body)
            error = -struct.unpack_from("i", netlink.recv(4096), 16)[0]
            if error == 0:
                return
            if error != errno.ENOENT:
                raise OSError(error, "SOCK_DESTROY")
    raise OSError(errno.ENOENT, "no sender's packets go to that listener")


def migrate(port: int, end, before=lambda first: lambda: None) -> dict:
    """@end ends the listener of ours. Returns what @before has returned when the clients were
    there."""
    first, second = smc(), socket.socket()
    for listener in (first, second):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound(listener, port)
    first.listen(5)
    go_on = before(first)
    clients = [socket.create_connection(address(port), timeout=20) for _ in range(2)]
    # The first listener ends before it has accepted the clients; the one that is left takes them.
    second.listen(5)
    go_on()
    end(first)
    second.settimeout(20)
    moved = [second.accept()[0] for _ in clients]
    for sock in (*clients, first, second):
        sock.close()
    print("ready", flush=True)
    wait_for_module(False)
    for sock in moved:
        disconnect(sock)
        sock.listen(5)
    wait_for_module(True)
    results = {"heard": [greeted(sock, sock.getsockname()[1]) for sock in moved]}
    for sock in moved:
        sock.close()
    return results


def migrated(port: int) -> dict:
    return migrate(port, socket.socket.close)


def migrated_late(port: int) -> dict:
    def shut_down_soon(first: socket.socket):
        locks = HeldLocks()
        locks.keep(first)
        time.sleep(0.3)
        call = threading.Thread(target=first.shutdown, args=(socket.SHUT_RDWR,))
        call.start()
        # It has gone as far as it can without the lock.
        time.sleep(0.3)

        def go_on() -> None:
            locks.end()
            call.join()
        return go_on

    return migrate(port, socket.socket.close, shut_down_soon)


def migrated_killed(port: int) -> dict:
    return migrate(port, kill)


def name_taken(port: int) -> dict:
    listener = smc_listener(port)
    born = socket.socket()
    results: dict = {"layer": set_layer(born, b"smc")}
    before = smc_stat()["conn_new"]
    results["heard"] = greeted(listener, port)
    results["ends by SMC"] = smc_stat()["conn_new"] - before
    for sock in (born, listener):
        sock.close()
    return results


def in_time(call, *arguments, within_s: float = 10) -> str:
    answers: list = []
    thread = threading.Thread(target=lambda: answers.append(call(*arguments)), daemon=True)
    thread.start()
    thread.join(within_s)
    return answers[0] if answers else "late"


def held_sock(port: int) -> dict:
    listener = tcp_listener(port)
    held, other = smc(), smc()
    for sock in (held, other):
        sock.connect(address(port))
    page = LatePage()
    sends = threading.Thread(target=LIBC.send, args=(
        held.fileno(), ctypes.c_void_p(page.address), ctypes.c_size_t(100), 0))
    sends.start()
    time.sleep(0.3)
    waits = threading.Thread(target=set_layer, args=(held, b"tls"))
    waits.start()
    time.sleep(0.3)
    results = {"other": in_time(set_layer, other, b"tls")}
    page.put(bytes(100))
    sends.join()
    waits.join()
    results["held"] = layer_of(held)
    for sock in (held, other, listener):
        sock.close()
    return results


def smc_stat() -> dict[str, int]:
    with open("/proc/net/smc_stat") as lines:
        return {name: int(value) for name, value in map(str.split, lines)}


def open_ends() -> int:
    stat = smc_stat()
    return stat["conn_new"] - stat["conn_free"]


def lasting_ends(others: int = 0) -> int:
    """How many connections have not ended within 10 s, without those of others."""
    deadline_s = time.monotonic() + 10
    while open_ends() > others and time.monotonic() < deadline_s:
        time.sleep(0.1)
    # Some of the others may have ended.
    return max(open_ends() - others, 0)


class HeldLocks:
    """Holds the locks of sockets by calls that wait, until it ends."""

    def __init__(self) -> None:
        self._page, self._calls = LatePage(struct.pack("i", 1)), []

    def keep(self, sock: socket.socket) -> None:
        # The call turns the option on or off, and holds the lock for so many seconds.
        self._calls.append(threading.Thread(target=LIBC.setsockopt, args=(
            sock.fileno(), socket.SOL_SOCKET, socket.SO_LINGER,
            ctypes.c_void_p(self._page.address), 8)))
        self._calls[-1].start()

    def end(self) -> None:
        self._page.put(struct.pack("i", 0))
        for call in self._calls:
            call.join()


def connect_times_s(listener: socket.socket, often: int) -> list[float]:
    """How long connections over SMC took, one after the other, until both ends were ready."""
    times = []
    for _ in range(often):
        began_s = time.monotonic()
        with smc() as client:
            client.connect(listener.getsockname())
            served, _ = listener.accept()
            times.append(time.monotonic() - began_s)
            served.close()
    return sorted(times)


def begun(where) -> socket.socket:
    client = smc()
    client.setblocking(False)
    client.connect_ex(where)
    return client


def smc_listener(port: int) -> socket.socket:
    listener = smc()
    bound(listener, port)
    listener.listen(50)
    return listener


def held_listeners(port: int) -> dict:
    lasting_ends()
    # On one processor, with hardly more sockets than work items run at once.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with smc() as listener:
        bound(listener, port)
        listener.listen(5)
        bystander = smc()
        bystander.connect(address(port))
        served, _ = listener.accept()
    results = {"ends before": open_ends()}
    locks = HeldLocks()
    listeners = [smc_listener(0) for _ in range(20)]
    addresses = [listener.getsockname() for listener in listeners]
    for listener in listeners:
        locks.keep(listener)
    time.sleep(1)
    clients = [begun(where) for where in addresses]
    time.sleep(1)
    bystander.sendall(b"hello")
    results["bystander"] = served.recv(100).decode()
    others = open_ends() - 2
    bystander.close()
    served.close()
    results["ends after"] = lasting_ends(others)
    locks.end()
    for sock in (*clients, *listeners):
        sock.close()
    return results


def connects_in_time(listener: socket.socket, times: list) -> None:
    in_time(lambda: times.extend(connect_times_s(listener, 15)), within_s=20)


def held_handshakes(port: int) -> dict:
    # On one processor, with more sockets than work items run at once.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    bystander = smc_listener(port)
    usual_s = connect_times_s(bystander, 15)[7]
    locks = HeldLocks()
    listeners = [smc_listener(0) for _ in range(40)]
    addresses = [listener.getsockname() for listener in listeners]
    for listener in listeners:
        locks.keep(listener)
    time.sleep(1)
    clients = [begun(where) for where in addresses]
    time.sleep(1)
    during: dict = {"listeners": [], "clients": []}
    connects_in_time(bystander, during["listeners"])
    # These are mostly in the middle of their handshake.
    for where in addresses:
        clients.append(begun(where))
        locks.keep(clients[-1])
    time.sleep(1)
    connects_in_time(bystander, during["clients"])
    victim = begun(addresses[0])
    results = {"shutdown": in_time(name_of, victim.shutdown, socket.SHUT_RDWR)}
    locks.end()
    for kind, times in during.items():
        results[kind] = bool(times) and times[len(times) // 2] < 2 * usual_s + 0.01
    for sock in (*clients, *listeners, victim, bystander):
        sock.close()
    return results


def is_time_to_rest() -> bool:
    """In one second of four no sockets are made: on a slow machine there would always be one."""
    return time.monotonic() % 4 > 3


def make_sockets(stop: "multiprocessing.synchronize.Event") -> None:
    while not stop.is_set():
        if is_time_to_rest():
            time.sleep(0.01)
            continue
        for family in (socket.AF_INET, socket.AF_INET6):
            # The protocol is not registered just now, or the module is being unloaded.
            try:
                socket.socket(family, socket.SOCK_STREAM, IPPROTO_SMC).close()
            except OSError as error:
                if error.errno not in (errno.EPROTONOSUPPORT, errno.ENOBUFS, errno.ENOMEM):
                    sys.exit(error.errno)
        time.sleep(random.uniform(0, 0.004))


def no_orphans() -> None:
    """Waits until all closed connections have ended, or 20 s."""
    deadline_s = time.monotonic() + 20
    while (tcp_socks("orphan") or open_ends()) and time.monotonic() < deadline_s:
        time.sleep(0.1)


def makers(_port: int) -> dict:
    no_orphans()
    before = tcp_socks("alloc")
    stop = multiprocessing.Event()
    processes = [multiprocessing.Process(target=make_sockets, args=(stop,)) for _ in range(3)]
    for process in processes:
        process.start()
    print("ready", flush=True)
    sys.stdin.readline()
    stop.set()
    for process in processes:
        process.join()
    return {"exits": [process.exitcode for process in processes], "left": tcp_socks("alloc") - before}


CALLS = {"late-layer": late_layer, "late-answer": late_answer,
         "late-addrform": late_addrform, "late-syn": late_syn,
         "time-wait": time_wait, "layers": layers, "same-layer": same_layer,
         "fastopen-listener": fastopen_listener,
         "second-life": second_life, "clones": clones, "relics": relics, "migrated": migrated,
         "migrated-late": migrated_late, "migrated-killed": migrated_killed,
         "name-taken": name_taken, "held-sock": held_sock,
         "makers": makers, "held-listeners": held_listeners,
         "held-handshakes": held_handshakes}


def main() -> int:
    print(json.dumps(CALLS[sys.argv[1]](int(sys.argv[2]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
