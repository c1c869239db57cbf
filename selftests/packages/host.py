# SPDX-License-Identifier: GPL-2.0-only
"""A host that boots Debian's own init from a disk of its own, with what was installed there.

Its kernel comes from QEMU's command line, in place of a boot loader; a small initrd mounts the disk. It has soft-RoCE
on its network card, and the harness's agent as a service. Nothing else is there that Debian does not bring.
"""

import functools
import lzma
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.accel import processor
from harness.channel import Channel
from harness.consolelog import bad_lines, excerpt
from harness.cpio import Archive
from harness.kernel import Kernel
from harness.lock import VmLock
from harness.paths import GUEST_DIR
from harness.shell import Shell
from system import HOME, System

_DISK = "4G"
_MEMORY_MIB = 1024
_BOOT_S, _END_S = 300, 120
_SMALLEST = ["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"]
_INIT = """#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t devtmpfs devtmpfs /dev
$bb mount -t proc proc /proc
for module in /modules/*; do $bb insmod $module; done
until [ -b /dev/vda ]; do $bb sleep 0.1; done
$bb mount -t ext4 /dev/vda /disk
$bb umount /proc
$bb umount /dev
exec $bb switch_root /disk /sbin/init
"""
_SERVICES = {
    "test-agent": ("python3 /opt/test/agent.py", "simple", "basic.target"),
    "test-rdma": ("/bin/sh -c 'modprobe rdma_rxe && until rdma link add rxe0 type rxe netdev eth0; do sleep 1; done'",
                  "oneshot", "systemd-networkd.service"),
}
_SERVICE = """[Unit]
After={after}
[Service]
Type={kind}
ExecStart={command}
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class Firmware:
    """options: of QEMU. vars: the firmware's variables, of which each host gets a copy of its own. image: a
    kernel for it."""

    options: tuple[str, ...]
    vars: Path
    image: Path


def address(number: int) -> str:
    return f"10.9.0.{number}"


class Host:
    """Made of the trees of a System, and not booted yet. number: 1 or 2, of two that are on one wire. sockets: a
    directory with a path short enough for sun_path."""

    def __init__(self, name: str, number: int, trees: list[Path], lock: VmLock, sockets: Path,
                 firmware: Firmware | None = None) -> None:
        self.name, self.ip4 = name, address(number)
        self._number, self._lock, self._sockets, self._firmware = number, lock, sockets, firmware
        self._home = HOME / name
        self._process: subprocess.Popen | None = None
        self._boots = 0
        self.shell: Shell | None = None
        system = System(name, trees)
        self._furnish(system)
        self._disk = self._home / "disk"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", system.tree, self._disk, _DISK], check=True)
        system.close()
        if firmware:
            shutil.copyfile(firmware.vars, self._home / "vars")

    def _furnish(self, system: System) -> None:
        etc = system.tree / "etc"
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "systemd/network/eth0.network").write_text(
            f"[Match]\nName=eth0\n[Network]\nAddress={self.ip4}/24\n")
        (system.tree / "opt/test").mkdir(parents=True)
        shutil.copy(GUEST_DIR / "agent.py", system.tree / "opt/test")
        for name, (command, kind, after) in _SERVICES.items():
            (etc / f"systemd/system/{name}.service").write_text(
                _SERVICE.format(command=command, kind=kind, after=after))
        system.run(f"systemctl enable systemd-networkd {' '.join(_SERVICES)}")

    def boot(self, kernel: Kernel) -> None:
        """Until Debian says that it runs; raises if one of its services has failed."""
        self._boots += 1
        self._console = self._home / f"console-{self._boots}.log"
        initrd = self._home / "initrd"
        initrd.write_bytes(_initrd(kernel))
        agent = self._sockets / f"{self.name}.agent"
        with open(self._home / "qemu.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command(kernel, initrd, agent), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[self._lock.fd])
        channel = Channel(agent, self.runs)
        self.shell = Shell(self.name, channel, "/")
        channel.wait_ready(_BOOT_S)
        state = self.shell.run("systemctl is-system-running --wait", _BOOT_S, check=False).out.strip()
        assert state == "running", self.shell.run("systemctl --failed; journalctl -b -p warning | tail -n 40").out
        # Nothing that runs then has waited for that.
        self.shell.wait_for(f"ip -4 -br address show eth0 | grep -q ' {self.ip4}/'", 60)

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def end(self, how: str = "poweroff") -> None:
        """By Debian's own means, which end every service, and unmount the disk."""
        self.shell.spawn(f"systemctl {how}")
        self._process.wait(_END_S)
        self.shell.channel.close()
        console = self._console.read_text(errors="replace")
        assert not bad_lines(console), "\n".join(excerpt(console))

    def kill(self) -> None:
        if self.runs():
            self._process.kill()
            self._process.wait()

    def _command(self, kernel: Kernel, initrd: Path, agent: Path) -> list[str]:
        firmware = self._firmware
        image = firmware.image if firmware else kernel.image
        wire = [f"{side}.type=inet,{side}.host=127.0.0.1,{side}.port={_wire(number)}"
                for side, number in (("local", self._number), ("remote", 3 - self._number))]
        command = [kernel.architecture.emulator, *kernel.architecture.machine, *processor(kernel, False),
                   "-m", str(_MEMORY_MIB), "-nodefaults", "-no-reboot", "-display", "none", "-name", self.name,
                   "-kernel", str(image), "-initrd", str(initrd), "-append",
                   f"console={kernel.architecture.console} loglevel=5 net.ifnames=0 panic=-1 oops=panic"
                   " random.trust_cpu=on tsc=nowatchdog systemd.show_status=off",
                   "-serial", f"file:{self._console}",
                   "-drive", f"file={self._disk},format=raw,if=none,id=disk,cache=unsafe",
                   "-device", "virtio-blk-pci,drive=disk",
                   "-netdev", f"dgram,id=wire,{','.join(wire)}",
                   "-device", f"{kernel.architecture.card},netdev=wire,mac=52:54:00:00:01:0{self._number}",
                   "-chardev", f"socket,id=agent,path={agent},server=on,wait=off",
                   "-device", "virtio-serial", "-device", "virtserialport,chardev=agent,name=agent"]
        if firmware:
            command += [*firmware.options, "-drive", f"if=pflash,format=raw,unit=1,file={self._home}/vars"]
        return command


@functools.cache
def _wire(number: int) -> int:
    """The UDP port of a host's end. As with a cable, what nobody takes is lost; by a socket of the file system it
    would be kept, and the sender's card would stand still while the other host boots."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


@functools.cache
def _initrd(kernel: Kernel) -> bytes:
    """What mounts the disk."""
    archive = Archive()
    for name in ("bin", "dev", "proc", "disk", "modules"):
        archive.directory(name)
    archive.char_device("dev/console", 5, 1)
    archive.file("bin/busybox", (kernel.architecture.root / "bin/busybox").read_bytes(), 0o755)
    archive.file("init", _INIT.encode(), 0o755)
    for number, module in enumerate(_in_loading_order(kernel)):
        content = module.read_bytes()
        archive.file(f"modules/{number:02}-{module.name.removesuffix('.xz')}",
                     lzma.decompress(content) if module.suffix == ".xz" else content)
    return archive.bytes()


def _in_loading_order(kernel: Kernel) -> list[Path]:
    needs = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")] = (path, others.split())
    order: list[str] = []
    for name in _SMALLEST:
        if name in needs:  # or built in
            path, others = needs[name]
            order += [one for one in (*reversed(others), path) if one not in order]
    return [kernel.modules / path for path in order]
