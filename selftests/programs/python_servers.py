# SPDX-License-Identifier: GPL-2.0-only
"""Python's asyncio and http.server."""

from harness import case
from stage import Stage, over_smcr

STREAMS = "python3 -u selftests/programs/guest/asyncio_streams.py"
STREAMS_PORT, WEB_PORT = 9000, 9001
WWW = "/tmp/python-www"
FETCH = """
import hashlib, sys, urllib.request
from concurrent.futures import ThreadPoolExecutor

def fetch(number):
    with urllib.request.urlopen(f"{sys.argv[1]}/{number}") as answer:
        return hashlib.sha256(answer.read()).hexdigest()

with ThreadPoolExecutor(8) as pool:
    print(*pool.map(fetch, range(24)), sep="\\n")
"""


def asyncio_streams(stage: Stage) -> str:
    with stage.serving(f"{STREAMS} serve {STREAMS_PORT}", STREAMS_PORT) as server:
        said = stage.run(f"{STREAMS} connect {stage.address} {STREAMS_PORT}").out
        # The connection that the client aborts.
        server.expect("ConnectionResetError", 20)
    assert said == "29 of 30\n", said
    return said


def http_server(stage: Stage) -> str:
    stage.server.run(f"mkdir -p {WWW} && cd {WWW} &&"
                     " for i in {0..23}; do seq $((i * 3001)) >$i; done")
    stage.client.put("/tmp/fetch.py", FETCH.encode())
    with stage.serving(f"python3 -m http.server -d {WWW} {WEB_PORT}", WEB_PORT):
        sums = stage.run(f"python3 /tmp/fetch.py http://{stage.address}:{WEB_PORT}").out
    wanted = stage.server.run(f"cd {WWW} && for i in {{0..23}}; do sha256sum <$i; done").out
    assert sums == wanted.replace("  -", ""), f"{sums} instead of {wanted}"
    return sums


@case(on="ours+ours")
def asyncio_over_smcr(vm):
    over_smcr(vm, asyncio_streams)


@case(on="ours+ours")
def http_server_over_smcr(vm):
    over_smcr(vm, http_server)
