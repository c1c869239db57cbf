# SPDX-License-Identifier: GPL-2.0-only
"""A peer that completes the handshake and then breaks the rules of LLC, CDC and RDMA. SESSIONS= makes a
long run of its generated sessions, SEED= another one."""

import os

from harness import case
from hostile import meet

SEED = int(os.environ.get("SEED", "1"))
SESSIONS = int(os.environ.get("SESSIONS", "16"))
SESSION_S = 10
START_S = 600


@case(on="ours+ours")
def hostile_link(vm):
    """Hand-written sessions, then generated ones, while a connection of the kernel's sockets is
    served."""
    meet(vm, "rdma_peer.py", "10.9.0.67", 7310, f"--sessions {SESSIONS} --seed {SEED}",
         timeout_s=START_S + SESSION_S * SESSIONS)
