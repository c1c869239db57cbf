# SPDX-License-Identifier: GPL-2.0-only
"""Which QEMU accelerator works here.

/dev/kvm can be there and yet be of no use (nested set-ups that emulate every instruction), so a
guest is booted as far as its init once. The answer is kept for as long as the machine is up.
"""

import os
import re
import subprocess
from pathlib import Path

from .initramfs import initramfs
from .kernel import Kernel
from .paths import cache_dir

# A stock kernel reaches its init in about 1 s under KVM and in 4 s under emulation.
_PROBE_TIMEOUT_S = 8

TCG = ["-accel", "tcg,thread=multi"]
# The guest's clock counts its instructions: what a program takes repeats to a fraction of a percent,
# whatever else the host does.
COUNTING = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"]
KVM = ["-accel", "kvm"]


def processor(kernel: Kernel, counting: bool) -> list[str]:
    """QEMU's arguments. SMC_VM_ACCEL=kvm|tcg overrides the probe."""
    chosen = COUNTING if counting else accelerator(kernel)
    return [*chosen, "-cpu", "host" if chosen is KVM else kernel.architecture.processor]


def accelerator(kernel: Kernel) -> list[str]:
    if kernel.architecture.foreign:
        return TCG
    forced = os.environ.get("SMC_VM_ACCEL")
    if forced:
        return {"kvm": KVM, "tcg": TCG}[forced]
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return TCG
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    memo = cache_dir() / "kvm-works"
    try:
        known_boot, answer = memo.read_text().split()
        if known_boot == boot_id:
            return KVM if answer == "yes" else TCG
    except (FileNotFoundError, ValueError):
        pass
    works = _probe(kernel)
    memo.parent.mkdir(parents=True, exist_ok=True)
    memo.write_text(f"{boot_id} {'yes' if works else 'no'}\n")
    return KVM if works else TCG


def _probe(kernel: Kernel) -> bool:
    command = ["qemu-system-x86_64", *KVM, "-cpu", "host", "-m", "512", "-smp", "1", "-nodefaults",
               "-no-reboot", "-display", "none", "-serial", "stdio", "-kernel", str(kernel.image),
               "-initrd", str(initramfs(kernel)),
               "-append", "console=ttyS0 quiet panic=-1 smcvm.probe"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=_PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return re.search(rb"smc-vm: probe reached init", done.stdout) is not None
