# SPDX-License-Identifier: GPL-2.0-only
"""The small initramfs that mounts a file tree, the host's own if it can, and switches into it.

It holds a static busybox, guest/init.sh and the modules needed to reach the 9p shares; all other
programs and modules come from the shares.
"""

import hashlib
from pathlib import Path

from .cpio import Archive
from .kernel import Kernel
from .modtree import dependencies
from .paths import GUEST_DIR, cache_dir

_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]


def initramfs(kernel: Kernel) -> Path:
    """The archive's path in the cache; rebuilt when one of its parts changed."""
    content = _build(kernel)
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = cache_dir() / "initramfs" / f"{kernel.release}-{digest}.cpio"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{kernel.release}-*.cpio"):
            old.unlink()
        staging = path.with_suffix(".new")
        staging.write_bytes(content)
        staging.rename(path)
    return path


def _build(kernel: Kernel) -> bytes:
    busybox = kernel.architecture.root / "bin/busybox"
    if not busybox.exists():
        raise FileNotFoundError(f"no {busybox} (package busybox-static)")
    archive = Archive()
    for name in ("bin", "dev", "proc", "sys", "lower", "rw", "new", "modules"):
        archive.directory(name)
    archive.char_device("dev/console", 5, 1)
    archive.char_device("dev/null", 1, 3)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    archive.file("init", (GUEST_DIR / "init.sh").read_bytes(), 0o755)
    for number, module in enumerate(dependencies(kernel, _MODULES)):
        archive.file(f"modules/{number:02}-{module.name}", module.read_bytes())
    return archive.bytes()
