# SPDX-License-Identifier: GPL-2.0-only
"""One guest, or two joined by a wire: started together, judged together."""

import os
import secrets
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import verdict
from .channel import AgentError, Channel, GuestGone
from .consolelog import bad_lines, excerpt
from .guest import Guest
from .kernel import kernel, roce_v1
from .lock import VmLock
from .machine import Machine, MachineConfig
from .modtree import VARIANTS, module_tree
from .own import BUILDS, own_module
from .paths import RUNS
from .shell import CommandFailed

# A clock that counts instructions leaps over the time in which a guest waits for its disk: half a
# minute of it may be one second.
_COUNTING_PATIENCE = 30
_BOOT_TIMEOUT_S = 240
# Emulation sometimes breaks a kernel before its first program runs.
_BOOTS = 3
_POWER_OFF_TIMEOUT_S = 30
_RUNS_KEPT = 12
# For a guest whose log is still being written while its neighbour is gone.
_LAST_WORDS_S = 2


class VerdictFailed(AssertionError):
    """The cases may have passed, the run as a whole did not."""


@dataclass(frozen=True)
class Spec:
    """Which module on which kernel: "ours@6.12", "kernel@6.1", "none@6.12". "kernel@5.10:v1": with
    RoCE v1 GIDs besides those of RoCE v2 (selftests/vm/roce-v1), so that SMC-Rv1 is possible.
    "ours@6.12:own": built with SMC_OWN_OPTION, as for kernels without CONFIG_SMC; "ours@6.12:no-rdma":
    as for kernels without CONFIG_INFINIBAND."""

    module: str
    version: str
    more: str = ""

    @property
    def roce_v1(self) -> bool:
        return self.more == "v1"

    @staticmethod
    def parse(text: str) -> "Spec":
        module, _, rest = text.partition("@")
        version, _, more = rest.partition(":")
        if module not in VARIANTS or not version or more not in ("", "v1", *BUILDS):
            raise ValueError(f"{text!r} is not <{'|'.join(VARIANTS)}>@<kernel>[:v1|:own|:no-rdma]")
        return Spec(module, version, more)

    @property
    def has_rdma(self) -> bool:
        """The smc.ko of 6.1 cannot use soft-RoCE (as a client it hangs in connect()): there it
        gets no device, and serves as a peer that declines."""
        return (self.module, self.version) != ("kernel", "6.1")

    def __str__(self) -> str:
        return f"{self.module}@{self.version}{f':{self.more}' if self.more else ''}"


class Vm:
    """The guests of one run; use Pair or Solo. Entering boots them; leaving judges and ends them.

    guests: in order. directory: build/vm/<run>, with console.log and the shared directory of each
    guest. nonce: the token of the run. rdma: put soft-RoCE on eth0. load: load smc.ko at once.
    eid: the user EID that both sides get with smc.ko; soft-RoCE connects under a common one only.
    leakproof: the modules that must leave nothing behind. The kernel's own is not among them by
    default: it is a peer here, not what is tested. unload_timeout_s: how long its last users may
    take to let go of it. counting: one guest whose clock counts instructions. processors: of
    each guest. hardware: what they are made of (machine.HARDWARE). modules: the kernel's that are
    loaded and unloaded once before anything is counted. beside: a run that is under way and
    outlives this one, which shares the machine with it. memory_mib: of each guest, 0 for what the
    cases need.
    """

    def __init__(self, specs: list[Spec], *, rdma: bool = True, load: bool = True, mtu: int = 1500,
                 eid: str = "SMC-SELFTEST", append: str = "", keep: bool = False,
                 leakproof: tuple[str, ...] = ("ours",), unload_timeout_s: float = 30,
                 counting: bool = False, processors: int = 1, hardware: str = "",
                 modules: str = "", beside: "Vm | None" = None, memory_mib: int = 0) -> None:
        self.specs = specs
        self.nonce = secrets.token_hex(8)
        self.guests: list[Guest] = []
        self.directory = Path()
        self._rdma, self._load, self._mtu, self._append = rdma, load, mtu, append
        self._eid, self._keep, self._leakproof = eid, keep, leakproof
        self._unload_timeout_s, self._counting = unload_timeout_s, counting
        self._processors = processors
        self.hardware = hardware
        self._machines: list[Machine] = []
        self._baselines: list[dict] = []
        self._planned = 0
        self._sockets: Path | None = None
        self._modules = modules
        self._beside = beside
        self._memory_mib = memory_mib
        self._lock: VmLock | None = None
        self._judged = False

    @property
    def name(self) -> str:
        return "+".join(map(str, self.specs))

    @property
    def a(self) -> Guest:
        return self.guests[0]

    @property
    def b(self) -> Guest:
        return self.guests[1]

    def __enter__(self) -> "Vm":
        # Fetching needs no guest. The module is taken as it is when the wait for the lock is over.
        kernels = [kernel(spec.version) for spec in self.specs]
        self._lock = VmLock() if self._beside is None else self._beside._lock
        try:
            trees = [module_tree(found, spec.module,
                                 own_module(found, spec.more)
                                 if spec.module == "ours" else None,
                                 roce_v1(found) if spec.roce_v1 else None)
                     for found, spec in zip(kernels, self.specs)]
            self._boot(kernels, trees)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind, value, trace) -> None:
        if self._keep and kind is None:
            return
        try:
            if kind is None and not self._judged:
                self.conclude()
        finally:
            self._end()

    @property
    def option_is_ours(self) -> bool:
        """In the first guest our module writes the TCP option, not TCP itself."""
        return self.specs[0].more == "own" or not self.a.kernel.has_smc

    def begin(self, name: str) -> None:
        """Marks the begin of a case in every guest's log."""
        self._planned += 1
        for guest in self.guests:
            guest.say(verdict.begin_line(self._planned, name))

    def end(self) -> None:
        for guest in self.guests:
            guest.say(verdict.end_line(self._planned))

    def end_jobs(self) -> None:
        """Kills what a case left running in the background, so that the next one starts clean."""
        for guest in self.guests:
            guest.channel.request("kill_all")

    def restore(self) -> None:
        """After a case that failed, so that the next one does not fail for the same reason."""
        for guest, spec in zip(self.guests, self.specs):
            guest.restore(self._rdma and spec.has_rdma)

    def emulator_died(self) -> bool:
        """Whether a QEMU was ended by a signal."""
        for machine in self._machines:
            machine.wait(_LAST_WORDS_S)
        return any((machine.process.poll() or 0) < 0 for machine in self._machines)

    def last_words(self) -> str:
        """How each guest ended, if it has, and what its log says of it."""
        told = []
        for machine in self._machines:
            machine.wait(_LAST_WORDS_S)
            told.append(f"{machine.config.name}: {machine.ending()}")
            told += [f"{machine.config.name}| {line}" for line in excerpt(machine.console())]
        return "\n".join(told)

    def conclude(self) -> None:
        """For a test written by hand: raises VerdictFailed. Without begin(), it was one case."""
        if self._planned == 0:
            self.begin("by hand")
            self.end()
        problems = self.judge(self._planned)
        if problems:
            raise VerdictFailed("\n".join(problems))

    def judge(self, expected: int) -> list[str]:
        """Unloads, looks for leaks, lets the guests print the token and power off; what is wrong.

        expected: how many cases were planned.
        """
        self._judged = True
        problems = []
        for guest, found in zip(self.guests,
                                self._at_once(self._farewell, self.guests, self._baselines)):
            problems += [f"{guest.name}: {text}" for text in found]
            if found:
                # It did not print the token, and does not end by itself.
                guest.machine.kill()
        for guest in self.guests:
            ended = guest.machine.wait(_POWER_OFF_TIMEOUT_S)
            problems += [f"{guest.name}: {text}" for text in
                         verdict.judge(guest.machine.console(), self.nonce, expected, ended)]
        return problems

    @staticmethod
    def _at_once(function: Callable, *arguments: list) -> list:
        """Calls the function for each guest at once; their results."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(function, *arguments))

    def _farewell(self, guest: Guest, before: dict) -> list[str]:
        try:
            running = guest.channel.request("running")
            if running:
                return [f"{len(running)} commands still run"]
            if guest.kernel.debug:
                guest.call("kmemleak.keep_symbols", "smc")
            try:
                guest.unload_module(self._unload_timeout_s)
            except CommandFailed as error:
                return [f"the module cannot be unloaded: {error}"]
            if guest.module in self._leakproof:
                found = guest.call("leaks.growth", before, timeout_s=60)
                if guest.kernel.debug:
                    found += guest.call("kmemleak.found", timeout_s=60)
                if found:
                    return [f"leak: {text}" for text in found]
            guest.channel.request("power_off", timeout_s=5, grace_s=0,
                                  last_words=verdict.token_line(self.nonce))
        except (GuestGone, TimeoutError):
            # After the token the guest ends like this; without it the verdict says so.
            pass
        except AgentError as error:
            return [f"the leak check failed: {error}"]
        return []

    def _boot(self, kernels: list, trees: list[Path]) -> None:
        for left in reversed(range(_BOOTS)):
            self.directory = _new_run_directory()
            try:
                self._start(kernels, trees)
                break
            except GuestGone as error:
                # The module has not been loaded yet.
                if left == 0:
                    raise
                print(f"# booting once more: {error}\n{self._boot_log()}", file=sys.stderr,
                      flush=True)
                self._stop()
        self._baselines = self._at_once(self._prepare, self.guests)

    def _boot_log(self) -> str:
        return "\n".join(f"# {line}" for line in self.last_words().splitlines())

    def _start(self, kernels: list, trees: list[Path]) -> None:
        """Starts the guests, and waits until all of them answer."""
        # sun_path holds 108 bytes; the build directory may be deeper than that.
        self._sockets = Path(tempfile.mkdtemp(prefix="smc-vm-"))
        wire = self._sockets / "wire" if len(self.specs) == 2 else None
        hosts = "|".join(f"{address} {name}" for index, name in enumerate("ab"[:len(self.specs)])
                         for address in _addresses(index))
        for index, (found, tree) in enumerate(zip(kernels, trees)):
            name = "ab"[index]
            ip4, ip6 = _addresses(index)
            config = MachineConfig(
                name=name, kernel=found, modules=tree, directory=self.directory / name,
                sockets=self._sockets, mac=f"52:54:00:00:00:0{index + 1}", wire=wire,
                listens=index == 0, counting=self._counting, processors=self._processors,
                hardware=self.hardware, memory_mib=self._memory_mib,
                append=f"slab_nomerge {self._append}",
                environment={"NAME": name, "ADDRESS4": f"{ip4}/24", "ADDRESS6": f"{ip6}/64",
                             "HOSTS": hosts, "MTU": str(self._mtu),
                             "RDMA": "1" if self._rdma and self.specs[index].has_rdma else "0"})
            self._machines.append(Machine(config, self._lock.fd, self._keep))
            if wire is not None and index == 0:
                self._wait_for_wire(wire)
        patience = max(found.patience for found in kernels)
        if self._counting:
            patience *= _COUNTING_PATIENCE
        for index, machine in enumerate(self._machines):
            channel = Channel(machine.agent_path, lambda m=machine: m.process.poll() is None)
            self.guests.append(Guest("ab"[index], machine, channel, self.specs[index].module,
                                     *_addresses(index), self._eid, patience))
        for guest, found in zip(self.guests, kernels):
            guest.channel.wait_ready(_BOOT_TIMEOUT_S * (2 if found.debug else 1))
            complaints = bad_lines(guest.machine.console())
            if complaints:
                raise GuestGone(f"before anything of ours was in it: {complaints[0]}")

    def _prepare(self, guest: Guest) -> dict:
        before = {}
        guest.configure_modprobe()
        if guest.module in self._leakproof:
            # What the first load allocates for good (identifiers, slab caches of others) is
            # not a leak: load and unload once before counting.
            guest.load_module()
            guest.unload_module()
            # So is what older kernels allocate for the first memory cgroup, for each list_lru.
            guest.run("cd /sys/fs/cgroup && echo +memory >cgroup.subtree_control &&"
                      " mkdir first && rmdir first")
            # And buffers for the first one that traces.
            guest.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing;"
                      " for on in 1 0; do echo $on >/sys/kernel/tracing/events/signal/enable; done")
            if self._modules:
                guest.run(f"modprobe -a {self._modules} &&"
                          f" for module in {self._modules}; do modprobe -r $module; done",
                          timeout_s=180)
            if guest.kernel.debug:
                guest.call("kmemleak.start", timeout_s=60)
            before = guest.call("leaks.snapshot")
        if self._load:
            guest.load_module()
        return before

    def _wait_for_wire(self, wire: Path) -> None:
        while not wire.exists():
            if self._machines[0].process.poll() is not None:
                raise GuestGone(f"QEMU did not start; see {self.directory / 'a' / 'qemu.log'}")
            time.sleep(0.02)

    def _stop(self) -> None:
        for guest in self.guests:
            guest.channel.close()
        for machine in self._machines:
            machine.kill()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
        self.guests, self._machines, self._sockets = [], [], None

    def _end(self) -> None:
        self._stop()
        if self._lock is not None and self._beside is None:
            self._lock.release()


class Solo(Vm):
    """One guest, self.a; its network card is connected to nothing."""

    def __init__(self, kernel: str = "6.12", module: str = "ours", **options) -> None:
        super().__init__([Spec(module, kernel)], **options)


class Pair(Vm):
    """Two guests, self.a and self.b, joined by a wire."""

    def __init__(self, kernel_a: str = "6.12", kernel_b: str = "6.12", module_a: str = "ours",
                 module_b: str = "ours", **options) -> None:
        super().__init__([Spec(module_a, kernel_a), Spec(module_b, kernel_b)], **options)

    def both_ways(self) -> tuple[tuple[Guest, Guest], tuple[Guest, Guest]]:
        """(client, server) in both roles."""
        return (self.a, self.b), (self.b, self.a)


def _addresses(index: int) -> tuple[str, str]:
    return f"10.9.0.{index + 1}", f"fd09::{index + 1}"


def _new_run_directory() -> Path:
    RUNS.mkdir(parents=True, exist_ok=True)
    runs = sorted(path for path in RUNS.iterdir() if path.is_dir() and not path.is_symlink())
    for old in runs[:-_RUNS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    name = f"{time.strftime('%m%d-%H%M%S')}-{os.getpid()}"
    # A boot that fails at once is repeated within the same second.
    names = (name, *(f"{name}-{again}" for again in range(1, _BOOTS)))
    directory = next(RUNS / found for found in names if not (RUNS / found).exists())
    directory.mkdir()
    last = RUNS / "last"
    last.unlink(missing_ok=True)
    last.symlink_to(directory.name)
    print(f"# console logs: {directory}", file=sys.stderr, flush=True)
    return directory
