# SPDX-License-Identifier: GPL-2.0-only
"""What a guest holds, counted before the module is loaded and after it is gone."""

import json
import re
import resource
import subprocess
import time
from pathlib import Path

# Caches whose objects the module, TCP under it or the RDMA core allocate. The count after
# shrinking still includes the free objects on a CPU's partly used slabs, hence the tolerance of two
# slabs or so: it is well below what one leaked object for each of a thousand connections comes to.
# Sockets in TIME-WAIT (tw_sock_TCP) are left out: TCP keeps them for a minute, whatever became of the
# module.
_SLABS = re.compile(r"(kmalloc|smc|TCP|request_sock|sock_inode|skbuff|ip_dst|ip6_dst"
                    r"|net_namespace|inet_peer)")
_SLAB_OBJECTS = 160
# The guest's file system is 9p, whose files have two handles of this size each while they are open or
# remembered.
_SLAB_OBJECTS_OF = {"kmalloc-96": 800}
# The debug kernel's objects are larger, more are on half used slabs or in KASAN's quarantine, and
# it has kmemleak, which is better.
_SLAB_SLABS = 8 if Path("/sys/kernel/debug/kmemleak").exists() else 2
_MEMORY_KIB = 12 << 10
_VMALLOC_KIB = 512
_POLL_INTERVAL_S = 0.2


def snapshot() -> dict:
    """Counts by kind and name. Drops caches first, so that the numbers mean something."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    for cache in Path("/sys/kernel/slab").glob("*/shrink"):
        try:
            cache.write_text("1")
        except OSError:
            # A cache may vanish between the listing and here.
            pass
    return {"rdma": _rdma(), "sockets": _sockets(), "slab": _slabs(), "memory": _memory()}


def growth(before: dict, timeout_s: float = 20) -> list[str]:
    """What has grown since the snapshot and does not shrink in time; empty if nothing."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = compare(before, snapshot())
        if not found or time.monotonic() >= deadline:
            return found
        time.sleep(_POLL_INTERVAL_S)


def compare(before: dict, after: dict) -> list[str]:
    found = []
    for kind in ("rdma", "sockets"):
        for name in sorted(before[kind] | after[kind]):
            old, new = before[kind].get(name, 0), after[kind].get(name, 0)
            if new != old:
                found.append(f"{kind} {name}: {old} before, {new} after")
    for name, (objects, size, slab_objects) in after["slab"].items():
        grown = objects - before["slab"].get(name, (0,))[0]
        if grown > max(_SLAB_OBJECTS_OF.get(name, _SLAB_OBJECTS), _SLAB_SLABS * slab_objects):
            found.append(f"slab {name}: {grown} objects of {size} bytes more than before")
    for name, limit_kib in (("used", _MEMORY_KIB), ("vmalloc", _VMALLOC_KIB),
                            ("percpu", _VMALLOC_KIB)):
        grown = after["memory"][name] - before["memory"][name]
        if grown > limit_kib:
            found.append(f"memory {name}: {grown} KiB more than before")
    return found


def _rdma() -> dict[str, int]:
    """Queue pairs, memory regions and so on by device: "rxe0 qp": 1."""
    try:
        done = subprocess.run(["rdma", "-j", "resource", "show"], capture_output=True, text=True,
                              check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return {}
    counts = {}
    for device in json.loads(done.stdout or "[]"):
        for kind, number in device.items():
            if kind not in ("ifindex", "ifname"):
                counts[f"{device['ifname']} {kind}"] = number
    return counts


def _sockets() -> dict[str, int]:
    """TCP sockets in use; TIME-WAIT ones belong to nobody."""
    counts = {}
    # The latter is not there without IPv6.
    for path in filter(Path.exists, (Path("/proc/net/sockstat"), Path("/proc/net/sockstat6"))):
        for line in path.read_text().splitlines():
            family, *pairs = line.split()
            if family.startswith("TCP"):
                values = dict(zip(pairs[::2], map(int, pairs[1::2])))
                family = family.rstrip(":")
                for key in ("inuse", "orphan", "alloc"):
                    if key in values:
                        counts[f"{family} {key}"] = values[key]
    return counts


def _slabs() -> dict[str, tuple[int, int, int]]:
    """Objects in use, the size of one in bytes, and how many make a slab."""
    slabs = {}
    for line in Path("/proc/slabinfo").read_text().splitlines()[2:]:
        name, active, _, size, slab_objects = line.split()[:5]
        if _SLABS.match(name):
            slabs[name] = (int(active), int(size), int(slab_objects))
    return slabs


def _memory() -> dict[str, int]:
    """KiB. used: what is neither free nor cache nor an anonymous page of some program. Free pages
    that a processor keeps to itself, up to some 50 MiB of them, are not in MemFree."""
    info = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, value = line.split(":")
        info[key] = int(value.split()[0])
    explained = sum(info[key] for key in ("MemFree", "Buffers", "Cached", "AnonPages",
                                          "SReclaimable", "PageTables", "KernelStack"))
    kept = re.findall(r"^ +count: (\d+)$", Path("/proc/zoneinfo").read_text(), re.MULTILINE)
    explained += sum(map(int, kept)) * resource.getpagesize() // 1024
    # Stacks are of the system's workers, too, which stay for five minutes after a burst of work.
    return {"used": info["MemTotal"] - explained, "vmalloc": info["VmallocUsed"] - info["KernelStack"],
            "percpu": info["Percpu"]}
