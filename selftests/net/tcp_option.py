#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the cases about the option of SMC on SYN and SYN-ACK need in a guest.

    tcp_option.py seen DEVICE PORT COMMAND…   the command's output, then a line of JSON about the SYNs
        and SYN-ACKs that the device has seen meanwhile, but for those of PORT: {"ack": whether it is
        a SYN-ACK, "options": how many of SMC, "at": where in them, "length": of the TCP header,
        "sum": whether the checksum is right}
    tcp_option.py listen smc|tcp ADDRESS PORT   a socket listens, with others on that port, until somebody
        kills it
    tcp_option.py syns ADDRESS ADDRESS PORT COUNT   SYNs with the option from one to the other address,
        of which no socket knows
    tcp_option.py signed md5|ao CLIENT ADDRESS SERVER ADDRESS PORT   one connection of SMC sockets, from
        one network namespace to another, both ends of which sign (TCP_MD5SIG, TCP_AO_ADD_KEY): prints
        "fine", or "unknown" if this kernel's TCP has no such option
"""

import ctypes
import errno
import json
import signal
import socket
import struct
import subprocess
import sys
import threading

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 3, 0x0800, 0x86dd
SYN, ACK = 0x02, 0x10
AF_SMC = 43
TCP_MD5SIG, TCP_AO_ADD_KEY = 14, 38
OPTION = bytes.fromhex("fe06e2d4c3d9")


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def of_smc(options: bytes) -> list[int]:
    """Where they begin."""
    found, at = [], 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        if options[at:at + size] == OPTION:
            found.append(at)
        at += size
    return found


def segment(frame: bytes) -> tuple[bytes, bytes] | None:
    """Pseudo header and TCP segment of an Ethernet frame."""
    kind = struct.unpack("!H", frame[12:14])[0]
    packet = frame[14:]
    if kind == ETH_P_IP and packet[9] == socket.IPPROTO_TCP:
        start = (packet[0] & 15) * 4
        tcp = packet[start:struct.unpack("!H", packet[2:4])[0]]
        return packet[12:20] + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp)), tcp
    if kind == ETH_P_IPV6 and packet[6] == socket.IPPROTO_TCP:
        tcp = packet[40:40 + struct.unpack("!H", packet[4:6])[0]]
        return packet[8:40] + struct.pack("!II", len(tcp), socket.IPPROTO_TCP), tcp
    return None


class Watch(threading.Thread):
    def __init__(self, device: str, port: int) -> None:
        super().__init__()
        self.seen: list[dict] = []
        self._port = port
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.bind((device, ETH_P_ALL))
        self._socket.settimeout(0.3)
        self.ends = threading.Event()

    def run(self) -> None:
        while True:
            try:
                self._take(self._socket.recv(65536))
            except TimeoutError:
                if self.ends.is_set():
                    return

    def _take(self, frame: bytes) -> None:
        found = segment(frame)
        if found is None:
            return
        pseudo, tcp = found
        if not tcp[13] & SYN or self._port in struct.unpack("!HH", tcp[:4]):
            return
        header = (tcp[12] >> 4) * 4
        where = of_smc(tcp[20:header])
        self.seen.append({"ack": bool(tcp[13] & ACK), "options": len(where),
                          "at": where[0] if where else None, "length": header,
                          "sum": checksum(pseudo + tcp) == 0})


def show_seen(device: str, port: int, command: list[str]) -> int:
    watch = Watch(device, port)
    watch.start()
    done = subprocess.run(command, check=False)
    watch.ends.set()
    watch.join()
    print(json.dumps(watch.seen))
    return done.returncode


def smc_socket() -> socket.socket:
    descriptor = socket.socket(AF_SMC, socket.SOCK_STREAM, 0).detach()
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)


def send_syns(source: str, to: str, port: int, count: int) -> None:
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    raw.bind((source, 0))
    for number in range(count):
        options = b"\x02\x04\x05\xb4\x01\x01" + OPTION
        header = struct.pack("!HHIIBBHHH", 20000 + number, port, 1000 * number, 0,
                             (20 + len(options)) // 4 << 4, SYN, 65535, 0, 0) + options
        pseudo = socket.inet_aton(source) + socket.inet_aton(to) + struct.pack(
            "!HH", socket.IPPROTO_TCP, len(header))
        total = checksum(pseudo + header)
        raw.sendto(header[:16] + struct.pack("!H", total) + header[18:], (to, 0))


def listen(kind: str, address: str, port: int) -> None:
    listener = smc_socket() if kind == "smc" else socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((address, port))
    listener.listen()
    print("ready", flush=True)
    signal.pause()


def sign_md5(end: socket.socket, peer: str) -> None:
    """struct tcp_md5sig: the peer's address, and one key for all ports."""
    key = b"of both ends"
    end.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG,
                   stored(peer) + struct.pack("=BBHi", 0, 0, len(key), 0) + key.ljust(80, b"\0"))


def sign_ao(end: socket.socket, peer: str) -> None:
    """struct tcp_ao_add: the key with the number 1."""
    key, (number, mac_bytes) = b"of both ends", (1, 12)
    end.setsockopt(socket.IPPROTO_TCP, TCP_AO_ADD_KEY,
                   stored(peer) + b"hmac(sha1)".ljust(64, b"\0") +
                   struct.pack("=iIHBBBBBB", 0, 0, 0, 32, number, number, mac_bytes,
                               0, len(key)) + key.ljust(80, b"\0"))


def stored(address: str) -> bytes:
    """struct sockaddr_storage"""
    return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address)).ljust(128, b"\0")


def enter(name: str) -> None:
    """The network namespace of that name, for this thread alone."""
    with open(f"/run/netns/{name}", encoding="ascii") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def known(sign, peer: str) -> bool:
    """An SMC socket and one of TCP have to agree on it."""
    refused = []
    for end in smc_socket(), socket.socket():
        with end:
            try:
                sign(end, peer)
                refused.append(0)
            except OSError as error:
                refused.append(error.errno)
    assert refused in ([0, 0], [errno.ENOPROTOOPT] * 2), refused
    return refused == [0, 0]


def signed_connection(sign, client: str, client_address: str, server: str, server_address: str,
                      port: int) -> None:
    enter(server)
    if not known(sign, client_address):
        print("unknown")
        return
    listener = smc_socket()
    sign(listener, client_address)
    listener.bind((server_address, port))
    listener.listen()
    enter(client)
    connecting = smc_socket()
    sign(connecting, server_address)
    connecting.settimeout(20)
    thread = threading.Thread(target=connecting.connect, args=((server_address, port),))
    thread.start()
    accepted = listener.accept()[0]
    thread.join()
    for one, other in (connecting, accepted), (accepted, connecting):
        one.sendall(b"signed")
        assert other.recv(6, socket.MSG_WAITALL) == b"signed"
    print("fine")


if __name__ == "__main__":
    if sys.argv[1] == "seen":
        sys.exit(show_seen(sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
    if sys.argv[1] == "listen":
        listen(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1] == "syns":
        send_syns(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        sys.exit(0)
    signed_connection({"md5": sign_md5, "ao": sign_ao}[sys.argv[2]], *sys.argv[3:7], int(sys.argv[7]))
