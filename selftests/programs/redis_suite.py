# SPDX-License-Identifier: GPL-2.0-only
"""Parts of the test suite of redis: with the server on the other host, and with servers of its own."""

import re

from guestroot import REDIS_SOURCE
from harness import case
from stage import Stage, over_smcd, over_smcr

PORT = 6380
SUITE = "/tmp/redis-suite"
UNITS = ("unit/protocol", "unit/pubsub", "unit/type/incr", "unit/multi")
# In these units servers start and stop, are killed, replicate, and refuse clients.
OWN_UNITS = ("unit/protocol", "unit/limits", "unit/networking", "unit/auth",
             "integration/redis-cli")
# Tests connect before the server listens, and servers are killed.
ADRIFT = 20


def prepare(stage: Stage) -> None:
    stage.client.run(f"""set -e
        rm -rf {SUITE} && mkdir -p {SUITE}/src
        cp -r {REDIS_SOURCE}/tests {REDIS_SOURCE}/utils {REDIS_SOURCE}/*.conf {SUITE}/
        cp {REDIS_SOURCE}/src/help.h {SUITE}/src/ 2>/dev/null || :
        for program in server cli benchmark check-aof check-rdb sentinel; do
            ln -s /usr/bin/redis-$program {SUITE}/src/
        done""")


def results(said: str) -> list[str]:
    """The names of what was tested, without times."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert "All tests passed without errors" in plain, plain[-4000:]
    return sorted(re.findall(r"^\[(?:ok|skip|ignore)\]: (.*?)(?: \(\d+ ms\))?$", plain, re.M))


def suite(stage: Stage, units: tuple[str, ...], options: str) -> list[str]:
    single = " ".join(f"--single {unit}" for unit in units)
    command = f"cd {SUITE} && exec {stage.launcher} tclsh tests/test_helper.tcl --clients 1"
    return results(stage.client.run(f"{command} {single} {options}", 900, check=False).out)


def redis_suite(stage: Stage) -> list[str]:
    prepare(stage)
    with stage.serving(f"redis-server --port {PORT} --save '' --protected-mode no"
                       " --dir /tmp --enable-debug-command yes --loglevel warning", PORT):
        return suite(stage, UNITS, f"--host {stage.address} --port {PORT} --tags -slow")


@case(on="ours+ours")
def redis_suite_over_smcr(vm):
    over_smcr(vm, redis_suite)


def redis_suite_with_servers(stage: Stage) -> list[str]:
    prepare(stage)
    return suite(stage, OWN_UNITS, "")


@case(on="ours")
def redis_suite_over_smcd(vm):
    over_smcd(vm, redis_suite_with_servers, ADRIFT)
