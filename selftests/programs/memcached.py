# SPDX-License-Identifier: GPL-2.0-only
"""memcached with libmemcached's conformance tests and its load generator."""

from harness import case
from stage import Stage, over_smcd, over_smcr

PORT = 11211
ITEM = 200_000


def verdicts(said: str) -> list[str]:
    """The lines "<test> [pass]" of memccapable."""
    return [" ".join(line.split()) for line in said.splitlines() if line.rstrip().endswith("]")]


def memcached(stage: Stage) -> list[str]:
    with stage.serving(f"memcached -u nobody -l {stage.address} -p {PORT} -U 0 -m 64", PORT):
        said = [stage.run(f"memccapable -h {stage.address} -p {PORT} {protocol}")
                for protocol in ("-a", "-b")]
        at = f"--servers={stage.address}:{PORT}"
        stage.client.run(f"seq 100000 | head -c {ITEM} >/tmp/item")
        stage.run(f"memccp {at} /tmp/item")
        stage.run(f"memccat {at} --file=/tmp/item.back item")
        stage.client.run("cmp /tmp/item /tmp/item.back")
        stage.run(f"memcslap {at} --concurrency=4 --execute-number=100 --test=set")
    tests = [line for found in said for line in verdicts(found.out + found.err)]
    assert len(tests) > 50 and all(line.endswith("[pass]") for line in tests), f"{said}"
    return tests


@case(on="ours+ours")
def memcached_over_smcr(vm):
    over_smcr(vm, memcached)


@case(on="ours")
def memcached_over_smcd(vm):
    over_smcd(vm, memcached)
