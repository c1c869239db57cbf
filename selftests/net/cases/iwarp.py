# SPDX-License-Identifier: GPL-2.0-only
"""iWARP devices: soft-iWARP on both guests' network devices."""

from harness import case
from harness.iwarp import over_siw

XFER = "build/selftests/smc_xfer"
PORT = 7900
NO_SMC_DEVICE = "03030000"


@case(on=["ours+ours", "ours@6.12+kernel@6.12"])
def connections_are_tcp(vm):
    """An iWARP queue pair needs a connection manager, which CLC knows nothing of: such a device is left
    alone, and a client says that it has none."""
    with over_siw(vm.a, vm.b):
        for client, server in ((vm.a, vm.b), (vm.b, vm.a)):
            serving = server.spawn(f"{XFER} --serve --port {PORT}")
            serving.expect(r"\bready\b")
            client.run(f"{XFER} --to {server.ip4} --port {PORT} --expect fallback"
                       f" --client-reason {NO_SMC_DEVICE} --connections 3 --up 100003 --down 300007")
            serving.kill()
            serving.wait(10, check=False)
