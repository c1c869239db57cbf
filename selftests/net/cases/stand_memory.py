# SPDX-License-Identifier: GPL-2.0-only
"""Buffers that are larger than what memory is left for: smaller ones are taken, or TCP, and every
byte arrives all the same."""

from contextlib import contextmanager

from churn import connections_are_gone, smc_works, stats
from harness import Guest, case

XFER = "build/selftests/smc_xfer"
PORT = 7620
FREE_KIB = 96 << 10
BUFFER_BYTES = 4 << 20


@contextmanager
def large_buffers(guest: Guest):
    before = {name: guest.run(f"sysctl -n net.smc.{name}").out.strip() for name in ("wmem", "rmem")}
    try:
        for name in before:
            guest.run(f"sysctl -q net.smc.{name}={2 * BUFFER_BYTES}")
        yield
    finally:
        for name, value in before.items():
            guest.run(f"sysctl -q net.smc.{name}={value}")


@contextmanager
def little_memory(guest: Guest):
    """A file in memory leaves only little free."""
    guest.run("mkdir -p /tmp/hog && mount -t tmpfs -o size=100% hog /tmp/hog &&"
              " echo 3 > /proc/sys/vm/drop_caches &&"
              " available=$(awk '/MemAvailable/ {print $2}' /proc/meminfo) &&"
              f" fallocate -l $((available - {FREE_KIB}))K"
              " /tmp/hog/file")
    try:
        yield
    finally:
        guest.run("umount /tmp/hog && rmdir /tmp/hog")


@case(on="ours+ours", fresh=True)
def buffers_do_not_fit(vm):
    """Forty connections ask for 320 MiB at once, on a host with less than 100 MiB free."""
    with large_buffers(vm.a), large_buffers(vm.b):
        server = vm.b.spawn(f"{XFER} --serve --port {PORT}")
        server.expect(r"\bready\b")
        before = stats(vm.b)
        with little_memory(vm.b):
            vm.a.run(f"{XFER} --to {vm.b.ip4} --port {PORT} --connections 40 --parallel 40 --hold"
                     " --up 100003 --down 50021 --timeout 100 --expect any", timeout_s=130)
            now = stats(vm.b)
        server.kill()
        server.wait(10, check=False)
    smaller = sum(now[f"smcr_{way}_buf_downgrade"] - before[f"smcr_{way}_buf_downgrade"]
                  for way in ("rx", "tx"))
    fallbacks = now["server_fallback"] - before["server_fallback"]
    assert smaller + fallbacks > 0, "all the buffers were there"
    for guest in vm.guests:
        connections_are_gone(guest)
    smc_works(vm)
