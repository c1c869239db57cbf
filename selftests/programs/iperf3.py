# SPDX-License-Identifier: GPL-2.0-only
"""iperf3: both directions, several streams."""

import json

from harness import case
from stage import Stage, over_smcd, over_smcr

PORT = 5201
MIB = 1 << 20
WAYS = ("-n 8M", "-n 8M -R", "-t 2 --bidir", "-n 8M -P 4", "-n 8M -Z")


def totals(end: dict) -> list[dict]:
    """The totals of each direction, at both ends."""
    return [value for name, value in end.items()
            if name.startswith(("sum_sent", "sum_received"))]


def iperf3(stage: Stage) -> dict:
    seen = {}
    with stage.serving(f"iperf3 -s -4 -p {PORT}", PORT):
        for way in WAYS:
            said = stage.run(f"iperf3 -c {stage.address} -p {PORT} -J {way}")
            found = json.loads(said.out)
            for total in totals(found["end"]):
                assert total["bytes"] >= MIB, f"{way}: {said.out}"
            seen[way] = [len(totals(found["end"])), len(found["end"]["streams"]), "error" in found]
    return seen


@case(on="ours+ours")
def iperf3_over_smcr(vm):
    over_smcr(vm, iperf3)


@case(on="ours")
def iperf3_over_smcd(vm):
    over_smcd(vm, iperf3)
