# SPDX-License-Identifier: GPL-2.0-only
"""nginx with wrk: connections that are kept, and a new one for each request."""

import re

from harness import case
from nginx import nginx
from stage import Stage, over_smcd, over_smcr

PORT = 8080
PARALLEL = 8
HOME = "/tmp/nginx"
HTTP = f"""
    sendfile on;
    keepalive_requests 1000000;
    server {{
        listen {PORT};
        root {HOME}/www;
    }}
"""


def load(stage: Stage, path: str, header: str = "") -> None:
    """Five seconds of requests; each answer is the whole page."""
    said = stage.run(f"wrk -t 1 -c {PARALLEL} -d 5s --timeout 20s {header}"
                     f" http://{stage.address}:{PORT}/{path}").out
    served = re.search(r"(\d+) requests in", said)
    assert served and int(served[1]) > PARALLEL, said
    assert "Socket errors" not in said and "Non-2xx" not in said, said


def nginx_wrk(stage: Stage) -> dict:
    # As much as emulated hardware transfers in the time.
    large_lines = 900000 if stage.client is stage.server else 100000
    stage.server.run(f"mkdir -p {HOME}/www && head -c 612 /dev/zero >{HOME}/www/small"
                     f" && seq {large_lines} >{HOME}/www/large && : >{HOME}/error.log")
    with nginx(stage, HOME, PORT, HTTP):
        load(stage, "small")
        load(stage, "large")
        load(stage, "small", "-H 'Connection: close'")
        large = stage.run(f"bash -c 'curl -sS --fail http://{stage.address}:{PORT}/large"
                          " | sha256sum'").out
        missing = stage.run(f"curl -sS --fail http://{stage.address}:{PORT}/missing", check=False)
    complaints = stage.server.run(f"grep -c '\\[alert\\]\\|\\[crit\\]\\|\\[emerg\\]'"
                                  f" {HOME}/error.log", check=False).out
    assert complaints == "0\n", stage.server.get(f"{HOME}/error.log").decode()
    return {"large": large, "missing": missing.rc}


# When its time is over wrk closes connections with requests under way.

@case(on="ours")
def nginx_over_smcd(vm):
    over_smcd(vm, nginx_wrk, adrift=PARALLEL)


@case(on="ours+ours")
def nginx_over_smcr(vm):
    over_smcr(vm, nginx_wrk, adrift=PARALLEL)
