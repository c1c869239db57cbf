# SPDX-License-Identifier: GPL-2.0-only
"""The guest's /usr/lib/modules/<release>, in the variants that a test can ask for.

kernel  the kernel's own modules, its own smc.ko among them
none    the same without smc.ko and smc_diag.ko
ours    the kernel's tree with our smc.ko under updates/, as `make install` puts it; what that puts
        into /etc/modprobe.d comes with Guest.configure_modprobe()

The trees hold only what a guest can use (network, RDMA core and software devices, file systems,
crypto, virtio and all that these depend on), uncompressed, so that indexing takes a second and
an emulated CPU spends no time on xz. They are cached; a variant with our module is keyed by the
module's content.
"""

import fcntl
import functools
import hashlib
import lzma
import os
import shutil
import subprocess
from pathlib import Path

from .kernel import Kernel
from .paths import cache_dir

VARIANTS = ("ours", "kernel", "none")

# Bump when the choice below changes: the number is part of the cache key.
LAYOUT = 2

_WHOLE = ("arch/", "block/", "crypto/", "fs/", "kernel/", "lib/", "mm/", "net/", "security/",
          "virt/", "drivers/infiniband/core/", "drivers/infiniband/sw/", "drivers/infiniband/ulp/",
          "drivers/virtio/", "drivers/net/bonding/", "drivers/net/ipvlan/", "drivers/net/team/",
          "drivers/net/netdevsim/", "drivers/net/vxlan/", "drivers/char/hw_random/")
_FLAT = ("drivers/net/", "drivers/char/", "drivers/block/")
_KEPT_OURS = 4
# Descriptors of trees, see _hold().
_held: list[int] = []


class NoModule(Exception):
    """Our smc.ko was asked for and is not built, or is built for another kernel."""


def module_tree(kernel: Kernel, variant: str, ko: Path | None = None,
                rxe: Path | None = None) -> Path:
    """The directory to mount over /usr/lib/modules/<release>. ko: our module, for "ours"; rxe: a
    soft-RoCE in place of the kernel's own."""
    more = f"-rxe-{_digest(rxe)}" if rxe is not None else ""
    if variant == "kernel":
        if rxe is None:
            return _leaf(_base(kernel), kernel)
        return _leaf(_derived(kernel, f"kernel{more}", [rxe]), kernel)
    if variant == "none":
        return _leaf(_derived(kernel, f"none{more}", [rxe] if rxe else [], smc=False), kernel)
    if variant == "ours":
        if ko is None or not ko.exists():
            raise NoModule(f"no smc.ko for {kernel.release}: {ko} does not exist")
        _check_vermagic(kernel, ko)
        return _leaf(_derived(kernel, f"ours-{_digest(ko)}{more}", [ko, rxe] if rxe else [ko]),
                     kernel)
    raise ValueError(f"unknown module variant {variant!r}, want one of {VARIANTS}")


def dependencies(kernel: Kernel, names: list[str]) -> list[Path]:
    """The files of the named modules and of all they need, in loading order."""
    leaf = _leaf(_base(kernel), kernel)
    index = _dep_index(leaf)
    by_name = {_module_name(path): path for path in index}
    order: list[str] = []
    for name in names:
        path = by_name.get(name)
        if path is None:
            if name in _builtin(kernel):
                continue
            raise NoModule(f"{kernel.release} has no module {name}")
        # modules.dep lists a module's needs with the deepest last.
        for needed in [*reversed(index[path]), path]:
            if needed not in order:
                order.append(needed)
    return [leaf / path for path in order]


def _leaf(tree: Path, kernel: Kernel) -> Path:
    return tree / "lib" / "modules" / kernel.release


def _home(kernel: Kernel) -> Path:
    return cache_dir() / "modules" / kernel.release


def _module_name(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".ko", 1)[0].replace("-", "_")


def _dep_index(leaf: Path) -> dict[str, list[str]]:
    index = {}
    for line in (leaf / "modules.dep").read_text().splitlines():
        path, needs = line.split(":", 1)
        index[path] = needs.split()
    return index


@functools.cache
def _builtin(kernel: Kernel) -> frozenset[str]:
    text = (kernel.modules / "modules.builtin").read_text()
    return frozenset(_module_name(line) for line in text.splitlines())


def _check_vermagic(kernel: Kernel, ko: Path) -> None:
    magic = subprocess.run(["modinfo", "-F", "vermagic", ko], capture_output=True, text=True,
                           check=True).stdout.split()
    if not magic or magic[0] != kernel.release:
        built_for = magic[0] if magic else "nothing"
        raise NoModule(f"{ko} is built for {built_for}, the guest runs {kernel.release}")


def _depmod(tree: Path, kernel: Kernel) -> None:
    subprocess.run(["depmod", "-b", tree, kernel.release], check=True)


def _wanted(path: str) -> bool:
    inner = path.removeprefix("kernel/")
    if inner.startswith(_WHOLE):
        return True
    return any(inner.startswith(flat) and "/" not in inner[len(flat):] for flat in _FLAT)


def _full_index(kernel: Kernel) -> dict[str, list[str]]:
    if not (kernel.modules / "modules.dep").exists():
        _depmod(kernel.directory, kernel)
    return _dep_index(kernel.modules)


@functools.cache
def _base(kernel: Kernel) -> Path:
    final = _home(kernel) / f"base-{LAYOUT}"
    if final.exists():
        return final
    index = _full_index(kernel)
    chosen: set[str] = set()
    for path, needs in index.items():
        if _wanted(path):
            chosen.update([path, *needs])
    staging = _staging(final)
    leaf = _leaf(staging, kernel)
    for path in sorted(chosen):
        source = kernel.modules / path
        target = leaf / path.removesuffix(".xz")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".xz":
            target.write_bytes(lzma.decompress(source.read_bytes()))
        else:
            shutil.copyfile(source, target)
    for name in ("modules.builtin", "modules.builtin.modinfo"):
        shutil.copyfile(kernel.modules / name, leaf / name)
    order = (kernel.modules / "modules.order").read_text().replace(".ko.xz", ".ko")
    (leaf / "modules.order").write_text(order)
    _depmod(staging, kernel)
    staging.rename(final)
    return final


def _digest(ko: Path) -> str:
    return hashlib.sha256(ko.read_bytes()).hexdigest()[:16]


def _derived(kernel: Kernel, name: str, updates: list[Path], smc: bool = True) -> Path:
    """The base tree, hard-linked, with other modules in updates/, or without its own smc."""
    base = _base(kernel)
    final = base.parent / f"{name}-{LAYOUT}"
    if _hold(final):
        os.utime(final)
        return final
    staging = _staging(final)
    leaf = _leaf(staging, kernel)
    shutil.copytree(_leaf(base, kernel) / "kernel", leaf / "kernel", copy_function=os.link)
    for index in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copyfile(_leaf(base, kernel) / index, leaf / index)
    if not smc and kernel.has_smc:
        shutil.rmtree(leaf / "kernel" / "net" / "smc")
    (leaf / "updates").mkdir()
    for ko in updates:
        shutil.copyfile(ko, leaf / "updates" / ko.name)
    _depmod(staging, kernel)
    staging.rename(final)
    _hold(final)
    _forget_old(base.parent)
    return final


def _staging(final: Path) -> Path:
    staging = final.with_name(f".{final.name}.{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    return staging


def _hold(tree: Path) -> bool:
    """Keeps a tree until this process ends: its guests load modules from it all the time, and runs
    with other modules may make new ones meanwhile. False if there is none."""
    try:
        held = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    fcntl.flock(held, fcntl.LOCK_SH)
    # It may have gone while this waited.
    if not tree.exists():
        os.close(held)
        return False
    _held.append(held)
    return True


def _forget_old(home: Path) -> None:
    ours = sorted(home.glob("ours-*"), key=lambda tree: tree.stat().st_mtime, reverse=True)
    for tree in ours[_KEPT_OURS:]:
        try:
            unheld = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # another run was faster
        try:
            fcntl.flock(unheld, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(tree, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(unheld)
