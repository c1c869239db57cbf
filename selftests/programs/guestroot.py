# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/fetch/fetch-programs unpacked, put over a guest's own files for as long as it runs."""

from harness import Guest
from harness.paths import cache_dir

_HOME = cache_dir() / "programs"
REDIS_SOURCE = _HOME / "redis"
GO = _HOME / "root/usr/lib/go-1.19"
JAVA = _HOME / "root/usr/lib/jvm/java-17-openjdk-amd64"
# smc_run and its library where users without rights in the source tree can read them.
SMC_RUN = "/opt/smc/smc_run"


def complete(guest: Guest) -> None:
    """Called once in a guest. The modules' folder is a mount below /usr, and would be hidden."""
    guest.run(f"""set -e
        [ ! -e {SMC_RUN} ] || exit 0
        modules=/usr/lib/modules/$(uname -r)
        mkdir -p /run/modules && mount --bind $modules /run/modules
        mount -t overlay -o lowerdir={_HOME}/root/usr:/usr overlay /usr
        mount --move /run/modules $modules
        cp -an {_HOME}/root/etc/. /etc/ && cp -an {_HOME}/root/var/. /var/
        mkdir -p /opt/smc && cp build/tools/smc_run build/tools/smc_ctl \
            build/tools/libsmc_preload.so /opt/smc/
        chmod 755 /opt /opt/smc""")
