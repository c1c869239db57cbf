# SPDX-License-Identifier: GPL-2.0-only
"""An address on an Ethernet, for a host that is not there: IPv4 with ARP, IPv6 with neighbour discovery."""

import socket
import struct
from dataclasses import dataclass

ETH_IP, ETH_ARP, ETH_IP6 = 0x0800, 0x0806, 0x86DD
TCP, UDP, ICMP6 = 6, 17, 58
SOLICITATION, ADVERTISEMENT = 135, 136
SOLICITED, OVERRIDE = 0x40000000, 0x20000000
SOURCE_MAC, TARGET_MAC = b"\x01\x01", b"\x02\x01"
ETHERNET_BYTES, IP6_BYTES = 14, 40
NEIGHBOUR_BYTES = 32
EVERYBODY = b"\xff" * 6


def family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def gid_of(address: str) -> bytes:
    """The address as a GID of RoCE v2's, or of this module's iWARP."""
    if family(address) == socket.AF_INET6:
        return socket.inet_pton(socket.AF_INET6, address)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def address_of(gid: bytes) -> str:
    mapped = gid[:12] == gid_of("0.0.0.0")[:12]
    return socket.inet_ntoa(gid[12:]) if mapped else socket.inet_ntop(socket.AF_INET6, gid)


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Packet:
    """source: the address as text. whole: the packet with its header."""

    source: str
    protocol: int
    whole: bytes
    payload: bytes


class Address:
    """One address, and the MACs of those whom it has met. Frames go in and come out as bytes."""

    def __init__(self, address: str, mac: bytes) -> None:
        self.mac = mac
        self._family = family(address)
        self._ip = socket.inet_pton(self._family, address)
        self._mac_of: dict[bytes, bytes] = {}

    def knows(self, address: str) -> bool:
        return socket.inet_pton(self._family, address) in self._mac_of

    def pseudo(self, peer: str, protocol: int, length: int) -> bytes:
        """What a checksum covers besides the segment itself."""
        raise NotImplementedError

    def question(self, address: str) -> bytes:
        """Who has the address?"""
        raise NotImplementedError

    def frame(self, peer: str, protocol: int, payload: bytes) -> bytes:
        raise NotImplementedError

    def take(self, frame: bytes) -> Packet | bytes | None:
        """What is for us: a packet of a protocol above, or a frame to answer with at once."""
        raise NotImplementedError

    def _ethernet(self, mac: bytes, kind: int, payload: bytes) -> bytes:
        return mac + self.mac + struct.pack("!H", kind) + payload


class Address4(Address):
    def pseudo(self, peer: str, protocol: int, length: int) -> bytes:
        return self._ip + socket.inet_aton(peer) + struct.pack("!BBH", 0, protocol, length)

    def question(self, address: str) -> bytes:
        return self._arp(EVERYBODY, 1, bytes(6), socket.inet_aton(address))

    def frame(self, peer: str, protocol: int, payload: bytes) -> bytes:
        destination = socket.inet_aton(peer)
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
        ip += self._ip + destination
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        return self.wrap(ip + payload)

    def wrap(self, packet: bytes) -> bytes:
        """A whole packet for a host whose MAC is known."""
        return self._ethernet(self._mac_of[packet[16:20]], ETH_IP, packet)

    def take(self, frame: bytes) -> Packet | bytes | None:
        kind = int.from_bytes(frame[12:14], "big")
        if kind == ETH_ARP:
            return self._take_arp(frame[ETHERNET_BYTES:ETHERNET_BYTES + 28])
        if kind != ETH_IP or frame[30:34] != self._ip:
            return None
        self._mac_of[frame[26:30]] = frame[6:12]
        packet = frame[ETHERNET_BYTES:]
        packet = packet[:int.from_bytes(packet[2:4], "big")]
        return Packet(socket.inet_ntoa(packet[12:16]), packet[9], packet, packet[(packet[0] & 15) * 4:])

    def _take_arp(self, arp: bytes) -> bytes | None:
        operation, mac, ip, target = struct.unpack("!6xH6s4s6x4s", arp)
        if target != self._ip:
            return None
        self._mac_of[ip] = mac
        return self._arp(mac, 2, mac, ip) if operation == 1 else b""

    def _arp(self, to: bytes, operation: int, mac: bytes, ip: bytes) -> bytes:
        return self._ethernet(to, ETH_ARP, struct.pack("!HHBBH", 1, ETH_IP, 6, 4, operation)
                              + self.mac + self._ip + mac + ip)


class Address6(Address):
    """Hosts ask for it by multicast, and all of its interface's frames come here."""

    def pseudo(self, peer: str, protocol: int, length: int) -> bytes:
        return self._pseudo(socket.inet_pton(socket.AF_INET6, peer), protocol, length)

    def question(self, address: str) -> bytes:
        ip = socket.inet_pton(socket.AF_INET6, address)
        group = bytes.fromhex("ff0200000000000000000001ff") + ip[13:]
        return self._neighbour(b"\x33\x33" + group[12:], group, SOLICITATION, 0, ip, SOURCE_MAC)

    def frame(self, peer: str, protocol: int, payload: bytes) -> bytes:
        destination = socket.inet_pton(socket.AF_INET6, peer)
        return self._packet(self._mac_of[destination], destination, protocol, 64, payload)

    def take(self, frame: bytes) -> Packet | bytes | None:
        packet = frame[ETHERNET_BYTES:]
        if int.from_bytes(frame[12:14], "big") != ETH_IP6 or len(packet) < IP6_BYTES:
            return None
        payload = packet[IP6_BYTES:IP6_BYTES + int.from_bytes(packet[4:6], "big")]
        if packet[6] == ICMP6 and payload[0] in (SOLICITATION, ADVERTISEMENT):
            return self._take_neighbour(packet[8:24], frame[6:12], payload)
        if packet[24:40] != self._ip:
            return None
        self._mac_of[packet[8:24]] = frame[6:12]
        return Packet(socket.inet_ntop(socket.AF_INET6, packet[8:24]), packet[6], packet, payload)

    def _take_neighbour(self, source: bytes, mac: bytes, payload: bytes) -> bytes | None:
        target = payload[8:24]
        if payload[0] == ADVERTISEMENT:
            self._mac_of[target] = mac
            return b""
        if target != self._ip:
            return None
        self._mac_of[source] = mac
        return self._neighbour(mac, source, ADVERTISEMENT, SOLICITED | OVERRIDE, self._ip, TARGET_MAC)

    def _neighbour(self, mac: bytes, destination: bytes, kind: int, flags: int, target: bytes,
                   option: bytes) -> bytes:
        def message(check: int) -> bytes:
            return struct.pack("!BBHI", kind, 0, check, flags) + target + option + self.mac

        check = checksum(self._pseudo(destination, ICMP6, NEIGHBOUR_BYTES) + message(0))
        # Of neighbours alone: the hop limit is the proof.
        return self._packet(mac, destination, ICMP6, 255, message(check))

    def _packet(self, mac: bytes, destination: bytes, protocol: int, hops: int, payload: bytes) -> bytes:
        ip = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops) + self._ip + destination
        return self._ethernet(mac, ETH_IP6, ip + payload)

    def _pseudo(self, destination: bytes, protocol: int, length: int) -> bytes:
        return self._ip + destination + struct.pack("!IHBB", length, 0, 0, protocol)


def own(address: str, mac: bytes) -> Address:
    return (Address6 if family(address) == socket.AF_INET6 else Address4)(address, mac)
