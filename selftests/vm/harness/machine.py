# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU process: its command line, its console log, and its end."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .accel import processor
from .initramfs import initramfs
from .kernel import Kernel
from .paths import GUEST_DIR

_PR_SET_PDEATHSIG = 1
_MEMORY_MIB = 1024
# KASAN takes an eighth, and keeps what was freed for a while.
_DEBUG_MEMORY_MIB = 2048
# The firmware's interrupt routing is a program, which takes half a minute for each device when every
# allocation is recorded. The devices use MSI.
_DEBUG_APPEND = "acpi=noirq"


@dataclass(frozen=True)
class Hardware:
    """append: to the kernel's command line. options: of QEMU."""

    append: str = ""
    options: tuple[str, ...] = ()


# A PCI function that does nothing, but whose DMA the kernel maps.
_FUNCTION = ("-device", "edu")
HARDWARE = {
    "": Hardware(),
    # All DMA, of whatever device, goes through bounce buffers; arm64 would have a mebibyte of them.
    "swiotlb": Hardware("swiotlb=40960,force"),
    # Functions are behind an IOMMU, which forgets an address as soon as it is unmapped. Virtio does
    # not ask it. (An emulated timer that is late must not pass for a broken one.)
    "iommu": Hardware("intel_iommu=on iommu.passthrough=0 iommu.strict=1 no_timer_check",
                      ("-machine", "q35", "-device", "intel-iommu,intremap=off",
                       *_FUNCTION, *_FUNCTION)),
}


@dataclass
class MachineConfig:
    """What distinguishes one guest of a run from the other.

    directory: holds console.log, boot and env, and is the guest's /run/vm; sockets: a directory
    with a path short enough for sun_path; wire: None (a NIC that leads nowhere), or the socket that
    joins two guests, which the guest with listens=True creates. counting: the guest's clock counts
    its instructions. hardware: a name in HARDWARE. memory_mib: 0 for what the cases need.
    """

    name: str
    kernel: Kernel
    modules: Path
    directory: Path
    sockets: Path
    mac: str
    environment: dict[str, str]
    wire: Path | None = None
    listens: bool = False
    counting: bool = False
    processors: int = 1
    hardware: str = ""
    append: str = ""
    memory_mib: int = 0

    @property
    def enough_mib(self) -> int:
        return self.memory_mib or (_DEBUG_MEMORY_MIB if self.kernel.debug else _MEMORY_MIB)


class Machine:
    """Started at construction. keep=True lets the guest outlive this process."""

    def __init__(self, config: MachineConfig, lock_fd: int, keep: bool) -> None:
        self.config = config
        self.console_path = config.directory / "console.log"
        self.agent_path = config.sockets / f"{config.name}.agent"
        self.monitor_path = config.sockets / f"{config.name}.qmp"
        config.directory.mkdir(parents=True, exist_ok=True)
        (config.directory / "boot").write_text(f"{GUEST_DIR / 'boot.sh'}\n")
        (config.directory / "mounts").write_text(
            "".join(f"{tag} {place}\n" for tag, (_, place) in self._shares().items()))
        (config.directory / "env").write_text(
            "".join(f"{key}='{value}'\n" for key, value in config.environment.items()))
        libc = ctypes.CDLL(None)

        def die_with_parent() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

        with open(config.directory / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[lock_fd], start_new_session=True,
                preexec_fn=None if keep else die_with_parent)

    def _command(self) -> list[str]:
        config = self.config
        if config.wire is None:
            netdev = "user,id=wire,restrict=on"
        else:
            server = "on" if config.listens else "off"
            netdev = f"stream,id=wire,server={server},addr.type=unix,addr.path={config.wire}"
        hardware = HARDWARE[config.hardware]
        architecture = config.kernel.architecture
        command = [architecture.emulator, *architecture.machine,
                   *processor(config.kernel, config.counting), "-smp", str(config.processors),
                   "-m", str(config.enough_mib),
                   *hardware.options, "-nodefaults", "-no-reboot", "-display", "none",
                   "-name", f"smc-vm-{config.name}",
                   "-kernel", str(config.kernel.image), "-initrd", str(initramfs(config.kernel)),
                   "-append", f"console={architecture.console} loglevel=5 net.ifnames=0 panic=-1 oops=panic"
                              f" random.trust_cpu=on tsc=nowatchdog"
                              f" {_DEBUG_APPEND if config.kernel.debug else ''}"
                              f" {hardware.append} {config.append}",
                   "-serial", f"file:{self.console_path}",
                   "-qmp", f"unix:{self.monitor_path},server=on,wait=off"]
        shares = [("root", architecture.root, "on"), ("share", config.directory, "off"),
                  *((tag, path, "on") for tag, (path, _) in self._shares().items())]
        for tag, path, readonly in shares:
            command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,"
                                   f"readonly={readonly},multidevs=remap"]
        command += ["-netdev", netdev, "-device",
                    f"{architecture.card},netdev=wire,mac={config.mac}",
                    "-chardev", f"socket,id=agent,path={self.agent_path},server=on,wait=off",
                    "-device", "virtio-serial",
                    "-device", "virtserialport,chardev=agent,name=agent"]
        return command

    def _shares(self) -> dict[str, tuple[Path, Path]]:
        """What the guest sees of this machine besides its root: by tag, from where, and where."""
        kernel = self.config.kernel
        return {**kernel.architecture.shares,
                "modules": (self.config.modules, Path("/usr/lib/modules") / kernel.release)}

    def freeze(self) -> None:
        """The guest stops at once, like a host that loses power; its sockets stay."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def set_link(self, up: bool) -> None:
        """Plugs or pulls the network cable: the guest sees its carrier change."""
        self._monitor("set_link", {"name": "wire", "up": up})

    def trace(self, path: Path, seconds: float) -> None:
        """Writes down each instruction that the guest executes for so long. It runs much slower
        meanwhile."""
        path.unlink(missing_ok=True)
        for command in (f"logfile {path}", "singlestep on", "log exec,nochain"):
            self._monitor("human-monitor-command", {"command-line": command})
        time.sleep(seconds)
        for command in ("log none", "singlestep off"):
            self._monitor("human-monitor-command", {"command-line": command})

    def _monitor(self, command: str, arguments: dict) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.monitor_path))
            lines = connection.makefile("rw")
            lines.readline()
            for request in ({"execute": "qmp_capabilities"},
                            {"execute": command, "arguments": arguments}):
                lines.write(json.dumps(request) + "\n")
                lines.flush()
                while True:
                    reply = json.loads(lines.readline())
                    if "error" in reply:
                        raise RuntimeError(f"{command}: {reply['error']['desc']}")
                    if "return" in reply:
                        break

    def wait(self, timeout_s: float) -> bool:
        """Waits for QEMU; whether it ended by itself, without an error, in time."""
        try:
            return self.process.wait(timeout_s) == 0
        except subprocess.TimeoutExpired:
            return False

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def ending(self) -> str:
        """How QEMU ended and what it printed, or that it runs."""
        status = self.process.poll()
        if status is None:
            return "runs"
        how = f"QEMU was ended by {signal.Signals(-status).name}" if status < 0 else \
            f"QEMU ended with {status}"
        log = (self.config.directory / "qemu.log").read_text(errors="replace").strip()
        return f"{how}: {log}" if log else how

    def console(self) -> str:
        try:
            return self.console_path.read_text(errors="replace")
        except FileNotFoundError:
            return ""
