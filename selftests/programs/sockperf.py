# SPDX-License-Identifier: GPL-2.0-only
"""sockperf: latency and throughput; it counts what is lost, doubled or out of order."""

import re

from harness import case
from stage import Stage, over_smcr

PORT = 11111
IN_ORDER = "# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0"


def plain(text: str) -> str:
    """The text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def sockperf(stage: Stage) -> dict:
    to = f"--tcp -i {stage.address} -p {PORT} -t 3"
    with stage.serving(f"sockperf server --tcp -i {stage.address} -p {PORT}", PORT):
        for test in ("ping-pong -m 64", "ping-pong -m 8000 --nonblocked", "under-load --mps 100"):
            said = plain(stage.run(f"sockperf {test} {to}").out)
            assert IN_ORDER in said, said
            received = re.search(r"\[Valid Duration\].*ReceivedMessages=(\d+)", said)
            assert received and int(received[1]) > 0, said
        said = plain(stage.run(f"sockperf throughput -m 4000 {to}").out)
        rate = re.search(r"BandWidth is ([0-9.]+) MBps", said)
        assert rate and float(rate[1]) > 0, said
    return {}


@case(on="ours+ours")
def sockperf_over_smcr(vm):
    over_smcr(vm, sockperf)
