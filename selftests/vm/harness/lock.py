# SPDX-License-Identifier: GPL-2.0-only
"""One VM run at a time on a machine.

Two runs side by side would starve each other's guests until their timeouts fire, so every run
holds one flock(2). A hand-started QEMU can honour it too: `flock /tmp/smc-vm.lock qemu-system-…`.
The descriptor is passed on to QEMU: the lock lives as long as any guest of the run does, even
when the program that started them has gone.
"""

import fcntl
import os
import sys

LOCK_PATH = os.environ.get("SMC_VM_LOCK", "/tmp/smc-vm.lock")


class VmLock:
    """Held from construction until release() *and* the end of every process that inherited fd."""

    def __init__(self) -> None:
        self.fd = os.open(LOCK_PATH, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"# waiting for another VM run to release {LOCK_PATH}", file=sys.stderr, flush=True)
            fcntl.flock(self.fd, fcntl.LOCK_EX)

    def release(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
