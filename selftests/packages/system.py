# SPDX-License-Identifier: GPL-2.0-only
"""A Debian of its own, into which packages are installed, in a chroot.

Its file tree is a mount that only this process and its children see (selftests/packages/check takes care of that):
what is written goes to a folder of its own, on top of the trees below, which stay as they are.
"""

import shutil
import subprocess
from pathlib import Path

from harness.paths import BUILD, ROOT

HOME = BUILD / "packages"


class System:
    """below: the trees it begins with, the upper ones first."""

    def __init__(self, name: str, below: list[Path]) -> None:
        self.name = name
        self.upper = HOME / name / "upper"
        self.tree = HOME / name / "tree"
        shutil.rmtree(HOME / name, ignore_errors=True)
        work = HOME / name / "work"
        for folder in self.upper, work, self.tree:
            folder.mkdir(parents=True)
        self._below = below
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir={':'.join(map(str, below))},upperdir={self.upper},workdir={work}",
                        self.tree], check=True)

    def close(self) -> list[Path]:
        """The trees it was made of, for another one to begin with."""
        subprocess.run(["umount", self.tree], check=True)
        return [self.upper, *self._below]

    def run(self, command: str, check: bool = True) -> str:
        """A bash command in the chroot, which sees its own /proc; what it printed. Raises with that."""
        done = subprocess.run(
            ["unshare", "--mount", "/bin/bash", "-ec",
             'mount -t proc proc "$0/proc"; exec chroot "$0" /bin/bash -euo pipefail -c "$1"',
             self.tree, command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                 "DEBIAN_FRONTEND": "noninteractive"})
        if check and done.returncode:
            raise AssertionError(f"{self.name}: {command}: {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def take(self, command: str, *packages: Path) -> str:
        """Files of packages, by a command that gets their names; what it printed."""
        for package in packages:
            shutil.copy(package, self.tree / "tmp")
        files = " ".join(f"/tmp/{package.name}" for package in packages)
        return self.run(f"{command} {files}; rm {files}")

    def install(self, *packages: Path) -> str:
        return self.take("dpkg --install", *packages)

    def fetch(self, *packages: str) -> None:
        """Packages of Debian, with what they need."""
        subprocess.run([ROOT / "selftests/packages/root", "--into", self.tree, *packages], check=True)

    def files(self) -> dict[str, str]:
        """Every file and folder outside of caches and logs, with its kind."""
        found = self.run("find / -xdev \\( -path /proc -o -path /tmp -o -path /run -o -path /var/cache"
                         " -o -path /var/log -o -path /root \\) -prune -o -printf '%p\\t%y %l\\n'")
        return dict(line.split("\t", 1) for line in found.splitlines())
