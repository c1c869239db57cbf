# SPDX-License-Identifier: GPL-2.0-only
"""A running guest, as a test sees it."""

import contextlib
from typing import Any, Iterator

from . import tap
from .channel import Channel
from .consolelog import FAILING, NOT_FAILING
from .machine import Machine
from .paths import ROOT
from .shell import CommandFailed, Shell


class Guest(Shell):
    """name: "a" or "b". ip4, ip6: its addresses without the prefix length. module: the variant
    asked for ("ours", "kernel", "none"). release: its kernel's. eid: the user EID that
    load_module() sets, "" for none. patience: by what its timeouts are multiplied, which cases give as for
    stock kernels; the slower guest of two decides."""

    def __init__(self, name: str, machine: Machine, channel: Channel, module: str, ip4: str,
                 ip6: str, eid: str, patience: int = 1) -> None:
        super().__init__(name, channel, str(ROOT), patience)
        self.eid = eid
        self.machine = machine
        self.module = module
        self.ip4 = ip4
        self.ip6 = ip6
        self.kernel = machine.config.kernel
        self.version = self.kernel.version
        self.release = self.kernel.release

    @property
    def counts(self) -> bool:
        """Whether there is a module with the netlink family that has its statistics and EIDs. That of
        5.10 has none: it knows version 1 only."""
        return self.module == "ours" or (self.module == "kernel" and self.version != "5.10")

    def run_tap(self, command: str, timeout_s: float = 300) -> tap.Report:
        """Runs a test program that prints TAP; raises CommandFailed unless all of it is ok."""
        result = self.run(command, timeout_s, check=False)
        report = tap.parse(result.out)
        problems = report.problems(result.rc)
        if problems:
            raise CommandFailed(self.name, "; ".join(problems), command, result.out, result.err)
        return report

    def call(self, function: str, *args: Any, timeout_s: float = 30, **kwargs: Any) -> Any:
        """Calls "module.function" of selftests/vm/guest inside the agent; JSON both ways."""
        return self.channel.request("call", timeout_s * self.patience, function=function, args=args,
                                    kwargs=kwargs)

    def wait_for_call(self, function: str, *args: Any, timeout_s: float = 30,
                      **kwargs: Any) -> Any:
        """Repeats the call until its value is true; the value, or raises CommandFailed."""
        timeout_s *= self.patience
        value = self.channel.request("until_call", timeout_s, function=function, args=args,
                                     kwargs=kwargs, limit_s=timeout_s)
        if not value:
            raise CommandFailed(self.name, f"not true within {timeout_s} s",
                                f"{function}{args}{kwargs or ''}", "", "")
        return value

    def say(self, text: str) -> None:
        """A line in the guest's kernel log, to find one's place in console.log."""
        self.channel.request("say", text=text)

    @contextlib.contextmanager
    def allocations_failing(self) -> Iterator[None]:
        """Meanwhile the kernel's reports of allocations that failed do not turn the run red."""
        self.say(FAILING)
        try:
            yield
        finally:
            self.say(NOT_FAILING)

    def configure_modprobe(self) -> None:
        """As `make install` does, which leaves the kernel's own smc_diag where it is."""
        if self.module == "ours":
            self.put("/etc/modprobe.d/smc.conf", (ROOT / "scripts/kbuild/modprobe-smc.conf").read_bytes())

    def load_module(self) -> None:
        """smc.ko through modprobe, the way a user would get it, and the EID. "none": nothing."""
        if self.module != "none":
            self.run("modprobe smc")
            self._configure()

    def restore(self, rdma: bool) -> None:
        """Brings back what a case that failed half-way may have taken away: the RDMA device, the
        module, its EID."""
        self.run("ip link set eth0 up", check=False)
        if rdma:
            self.run("rdma link show rxe0/1 || rdma link add rxe0 type rxe netdev eth0", check=False)
        if self.module != "none":
            self.run("modprobe smc", check=False)
            self._configure()

    def _configure(self) -> None:
        """The EID; where the module knows version 1 only, the PNET ID without which it does not find
        soft-RoCE."""
        if not self.counts:
            self.call("smcnl.pnet_flush")
            self.call("smcnl.pnet_add", "FABRIC", "eth0", "rxe0", 1)
        elif self.eid and self.eid not in self.call("smcnl.ueids"):
            self.call("smcnl.add_ueid", self.eid)

    def unload_module(self, timeout_s: float = 30) -> None:
        """Until rmmod succeeds: connections that are closing may hold the module for a moment."""
        if self.module != "none":
            self.wait_for("! grep -q '^smc ' /proc/modules ||"
                          " { rmmod smc_diag 2>/dev/null; rmmod smc; }", timeout_s)
