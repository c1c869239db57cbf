# SPDX-License-Identifier: GPL-2.0-only
"""A peer that completes the handshake and then breaks the rules of LLC, CDC and RDMA. SESSIONS= makes a
long run of its generated sessions, SEED= another one."""

import os

from harness import case

DIRECTORY = "selftests/net/hostile"
NOBODYS_ADDRESS = "10.9.0.67"
SEED = int(os.environ.get("SEED", "1"))
SESSIONS = int(os.environ.get("SESSIONS", "16"))
SESSION_S = 10
START_S = 600


@case(on="ours+ours")
def hostile_link(vm):
    """Whole sessions by hand, then generated ones; a peer of the kernel's own kind is served
    meanwhile."""
    target = vm.a.spawn(f"{DIRECTORY}/smc_target.py 7310 7311")
    target.expect(r"\bready\b")
    try:
        vm.b.run_tap(f"{DIRECTORY}/rdma_peer.py --address {NOBODYS_ADDRESS} --target {vm.a.ip4}"
                     f" --eid {vm.b.eid} --echo-port 7310 --control-port 7311"
                     f" --sessions {SESSIONS} --seed {SEED}",
                     timeout_s=START_S + SESSION_S * SESSIONS)
    finally:
        target.kill()
        target.wait(check=False)
