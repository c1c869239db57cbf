# SPDX-License-Identifier: GPL-2.0-only
"""qperf: bandwidth and latency of TCP sockets."""

import re

from harness import case
from stage import Stage, over_smcr

PORT = 19765


def qperf(stage: Stage) -> list[str]:
    with stage.serving(f"qperf --listen_port {PORT}", PORT):
        said = stage.run(f"qperf {stage.address} --listen_port {PORT} --time 2 tcp_bw tcp_lat").out
    values = re.findall(r"(bw|latency) += +([0-9.]+)", said)
    assert all(float(value) > 0 for _, value in values), said
    return [name for name, _ in values]


@case(on="ours+ours")
def qperf_over_smcr(vm):
    over_smcr(vm, qperf)
