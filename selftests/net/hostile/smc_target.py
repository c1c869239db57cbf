#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The programs that a hostile peer meets: an echo server and a client, on SMC sockets.

    smc_target.py ECHO_PORT CONTROL_PORT [BACKLOG [SMC_LIMIT_HS]]

The echo server, by IPv4 and by IPv6, sends back all that it receives. The client is told over the control port, a TCP
connection with one line of JSON each way: {"address", "port", "say", "timeout_s"} makes it connect
(from the port {"bind"}, if there is one), say that, and read until the end or the timeout; it answers {"error", "connect_ms", "received"}.
With {"watch"} as well it does not wait in connect(): it answers {"told"}, what a poller, SO_ERROR and a second connect()
say of the attempt, {"tcp_refused"}, what they say of one by TCP that is refused, and {"tcp_connected"}, of one that is
not.
With {"map"} it says what a sockmap answers {"in_handshake"}, and to a connection by {"tcp"}.
With {"turn"} it shuts the socket down before it is connected, makes a server of it, and is
that server's client.
{"counters"} is answered with all of /proc/net/smc_stat, {"connects": n} with {"median_s"}, how long n
connections to its own echo server took, one after the other.
"""

import json
import select
import socket
import statistics
import sys
import threading
import time

import raw_ip
from sockmap import SockMap

AF_SMC = 43
SMCPROTO_SMC, SMCPROTO_SMC6 = 0, 1
SOL_SMC, SMC_LIMIT_HS = 286, 1


def smc_socket(family: socket.AddressFamily = socket.AF_INET) -> socket.socket:
    """An AF_SMC socket, for addresses of this family: Python does not know AF_SMC's."""
    protocol = SMCPROTO_SMC6 if family == socket.AF_INET6 else SMCPROTO_SMC
    descriptor = socket.socket(AF_SMC, socket.SOCK_STREAM, protocol).detach()
    return socket.socket(family, socket.SOCK_STREAM, 0, fileno=descriptor)


def smc_listener(port: int, backlog: int, limit_hs: int | None = None,
                 family: socket.AddressFamily = socket.AF_INET) -> socket.socket:
    listener = smc_socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind(("", port))
    if limit_hs is not None:
        listener.setsockopt(SOL_SMC, SMC_LIMIT_HS, limit_hs)
    listener.listen(backlog)
    return listener


def echo(connection: socket.socket) -> None:
    try:
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)
    except OSError:
        pass


def serve_echo(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            print(f"accept: {error}", flush=True)
            continue
        threading.Thread(target=echo, args=(connection,), daemon=True).start()


def run_client(order: dict) -> dict:
    start_s = time.monotonic()
    answer = {"error": 0, "received": "", "connect_ms": 0}
    received = bytearray()
    client = smc_socket(raw_ip.family(order["address"]))
    try:
        if "bind" in order:
            client.bind(("", order["bind"]))
        client.connect((order["address"], order["port"]))
        answer["connect_ms"] = int((time.monotonic() - start_s) * 1000)
        client.settimeout(order["timeout_s"])
        client.sendall(order["say"].encode())
        while data := client.recv(65536):
            received += data
    except TimeoutError:
        pass
    except OSError as error:
        answer["error"] = error.errno
        if not answer["connect_ms"]:
            answer["connect_ms"] = int((time.monotonic() - start_s) * 1000)
    client.close()
    answer["received"] = received.hex()
    return answer


def turn(order: dict) -> dict:
    answer = {"error": 0, "received": "", "connect_ms": 0}
    try:
        with smc_socket() as server:
            server.setblocking(False)
            answer["error"] = server.connect_ex((order["address"], order["port"]))
            time.sleep(1)
            server.shutdown(socket.SHUT_RDWR)
            server.listen(8)
            # Time for the rest of the attempt to run.
            time.sleep(1)
            accepts = server.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            with socket.create_connection(("127.0.0.1", server.getsockname()[1]), 5) as client:
                server.settimeout(5)
                with server.accept()[0] as connection:
                    client.sendall(order["say"].encode())
                    answer["received"] = connection.recv(100).hex()
            answer["accepts"] = accepts
    except OSError as error:
        answer["error"] = error.errno or -1
    return answer


def told_of(client: socket.socket, address: tuple[str, int], timeout_s: float) -> list[int]:
    """What poll() and later calls report about an attempt."""
    client.setblocking(False)
    client.connect_ex(address)
    poller = select.poll()
    poller.register(client, select.POLLOUT)
    poller.poll(timeout_s * 1000)
    poller.modify(client, select.POLLIN | select.POLLOUT | select.POLLRDHUP | select.POLLPRI)
    events = dict(poller.poll(0)).get(client.fileno(), 0)
    heard = [events, client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0,
             client.connect_ex(address)]
    # Nothing of the attempt is left.
    poller.poll(0)
    heard.append(dict(poller.poll(0)).get(client.fileno(), 0))
    client.close()
    return heard


def watch(order: dict) -> dict:
    start_s = time.monotonic()
    told = told_of(smc_socket(), (order["address"], order["port"]), 30)
    with socket.create_server(("127.0.0.1", 0)) as server:
        connected = told_of(socket.socket(), server.getsockname(), 30)
    return {"connect_ms": int((time.monotonic() - start_s) * 1000), "told": told,
            "tcp_refused": told_of(socket.socket(), ("127.0.0.1", 1), 30),
            "tcp_connected": connected}


def put_into_map(order: dict) -> dict:
    sockmap = SockMap()
    with smc_socket() as client, socket.create_server(("127.0.0.1", 0)) as plain:
        client.setblocking(False)
        client.connect_ex((order["address"], order["port"]))
        time.sleep(1)
        answer = {"connect_ms": 0, "in_handshake": sockmap.add(client)}
        with socket.create_connection(plain.getsockname()) as other:
            answer["tcp"] = sockmap.add(other)
    sockmap.close()
    return answer


def counters() -> dict[str, int]:
    with open("/proc/net/smc_stat") as lines:
        return {name: int(value) for name, value in map(str.split, lines)}


def connects(count: int, port: int) -> dict[str, float]:
    times = []
    for _ in range(count):
        start_s = time.monotonic()
        with smc_socket() as client:
            client.connect(("127.0.0.1", port))
            times.append(time.monotonic() - start_s)
    return {"median_s": statistics.median(times)}


def obey(control: socket.socket, echo_port: int) -> None:
    with control, control.makefile("rw") as lines:
        for line in lines:
            order = json.loads(line)
            if "counters" in order:
                answer = counters()
            elif "connects" in order:
                answer = connects(order["connects"], echo_port)
            elif order.get("map"):
                answer = put_into_map(order)
            elif order.get("watch"):
                answer = watch(order)
            else:
                answer = turn(order) if order.get("turn") else run_client(order)
            lines.write(json.dumps(answer) + "\n")
            lines.flush()


def main() -> int:
    echo_port, control_port = map(int, sys.argv[1:3])
    backlog = int(sys.argv[3]) if len(sys.argv) > 3 else 256
    limit_hs = int(sys.argv[4]) if len(sys.argv) > 4 else None
    for family in socket.AF_INET, socket.AF_INET6:
        listener = smc_listener(echo_port, backlog, limit_hs, family)
        threading.Thread(target=serve_echo, args=(listener,), daemon=True).start()
    with socket.create_server(("", control_port), family=socket.AF_INET6, dualstack_ipv6=True) as controls:
        print("ready", flush=True)
        while True:
            control, _ = controls.accept()
            threading.Thread(target=obey, args=(control, echo_port), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
