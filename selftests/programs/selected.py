# SPDX-License-Identifier: GPL-2.0-only
"""Programs that LD_PRELOAD does not reach, or not well: static ones, Go's, setuid ones, a JVM.
Their TCP sockets are selected, by namespace and by cgroup."""

import os
import subprocess
from pathlib import Path

from guestroot import GO, JAVA
from harness import case
from stage import Stage, by_selection

HOME = "/tmp/selected"
BUILD = Path("build/programs")
SOURCE = Path("selftests/programs/guest")
CHURN = "build/selftests/smc_churn_static"
BUSYBOX = "busybox"
PORT = 8180
# The JVM, emulated and without a compiler.
JAVA_S = 900


def go_program(name: str) -> str:
    """Built on this machine, with the toolchain of the guest's."""
    BUILD.mkdir(parents=True, exist_ok=True)
    program = (BUILD / name).resolve()
    subprocess.run([GO / "bin/go", "build", "-o", program, "main.go"], cwd=SOURCE / name,
                   check=True, env=os.environ | {"CGO_ENABLED": "0", "GOROOT": str(GO), "GO111MODULE": "off",
                                     "GOFLAGS": "", "GOCACHE": str(BUILD.resolve() / "go-cache")})
    return str(program)


def java_classes(name: str) -> str:
    BUILD.mkdir(parents=True, exist_ok=True)
    subprocess.run([JAVA / "bin/javac", "-d", BUILD, SOURCE / f"{name}.java"], check=True)
    return str(BUILD.resolve())


def go_http(stage: Stage) -> str:
    program = f"{BUILD.resolve()}/go_http"
    with stage.serving(f"{program} serve {PORT}", PORT):
        return stage.run(f"{program} ask {stage.address}:{PORT}").out


@case(on="ours")
def go_http_selected(vm):
    go_program("go_http")
    by_selection(vm, go_http)


def jvm(stage: Stage) -> str:
    java = f"{JAVA}/bin/java -Xint -XX:+UseSerialGC -Xshare:auto -cp {BUILD.resolve()} JavaHttp"
    # It says nothing before it listens, and stage waits for that only a minute.
    with stage.serving(f"{java} serve {PORT}", PORT):
        return stage.run(f"{java} ask {stage.address} {PORT}", JAVA_S).out


@case(on="ours")
def jvm_selected(vm):
    java_classes("JavaHttp")
    by_selection(vm, jvm)


def busybox(stage: Stage) -> str:
    stage.server.run(f"mkdir -p {HOME} && seq 200000 >{HOME}/large && : >{HOME}/empty")
    with stage.serving(f"{BUSYBOX} httpd -f -p {PORT} -h {HOME}", PORT):
        url = f"http://{stage.address}:{PORT}"
        return "".join(stage.run(f"sh -c '{BUSYBOX} wget -qO- {url}/{name} | sha256sum'").out
                       for name in ("large", "empty", "large"))


@case(on="ours")
def static_busybox_selected(vm):
    by_selection(vm, busybox)


def setuid(stage: Stage) -> str:
    """Of root, called by somebody else: libraries of LD_PRELOAD are ignored then."""
    stage.client.run(f"install -D -m 4755 {CHURN} {HOME}/bin/churn && chmod 755 {HOME} {HOME}/bin")
    with stage.serving(f"{HOME}/bin/churn serve {PORT} -m tcp", PORT):
        said = stage.run(f"setpriv --reuid=65534 --clear-groups {HOME}/bin/churn call"
                         f" {stage.address} {PORT} -n 50 -m tcp").out
    return said.split(" worst_ms")[0]


@case(on="ours")
def setuid_program_selected(vm):
    by_selection(vm, setuid)
