# SPDX-License-Identifier: GPL-2.0-only
"""What `make install` and its kin put where, below another root, and that it goes again."""

from harness import case

ROOT = "/run/target"


@case(on="ours")
def tools(vm):
    """Below another root: the programs find what they need there, have one version, and go again."""
    target = "PREFIX=/run/smc-tools"
    vm.a.run(f"make -o build/tools/smc_run -o build/tools/libsmc_preload.so -o build/tools/smc_ctl"
             f" install-tools {target}")
    told = vm.a.run("/run/smc-tools/bin/smc_run printenv LD_PRELOAD").out
    assert told == "/run/smc-tools/lib/smc/libsmc_preload.so\n", told
    version = vm.a.run("modinfo -F version smc").out
    for name in "smc_run", "smc_ctl":
        assert vm.a.run(f"/run/smc-tools/bin/{name} --version").out == f"{name} {version}"
    vm.a.run(f"make uninstall-tools {target}")
    assert vm.a.run("find /run/smc-tools ! -type d").out == ""


@case(on="ours")
def for_a_kernel_that_is_meant(vm):
    """Without headers of the running kernel nothing is done to another one."""
    release = vm.a.run("uname -r").out.strip()
    vm.a.run(f"! test -e /lib/modules/{release}/build")
    result = vm.a.run(f"make install INSTALL_MOD_PATH={ROOT}", check=False)
    assert result.rc != 0 and f"linux-headers-{release}" in result.err, result
    vm.a.run(f"! test -e {ROOT}")


@case(on="ours")
def uninstall(vm):
    """Of one release, without its headers; the file for modprobe goes with the last of them."""
    running = vm.a.run("uname -r").out.strip()
    other = "6.99.3-amd64"
    conf = f"{ROOT}/etc/modprobe.d/smc.conf"
    ko = {release: f"{ROOT}/lib/modules/{release}/updates/smc.ko" for release in (running, other)}
    dkms = f"{ROOT}/lib/modules/{other}/updates/dkms/smc.ko"

    def there() -> set[str]:
        return set(vm.a.run(f"find {ROOT} -name 'smc.*'").out.split())

    vm.a.run(f"make install-modprobe INSTALL_MOD_PATH={ROOT}")
    for path in (*ko.values(), dkms):
        vm.a.run(f"install -D $(modinfo -n smc) {path}")
    uninstall = f"make uninstall INSTALL_MOD_PATH={ROOT}"
    vm.a.run(uninstall)
    assert there() == {conf, ko[other], dkms}
    result = vm.a.run(f"{uninstall} KVER=6.9", check=False)
    assert result.rc != 0 and other in result.err, result
    assert there() == {conf, ko[other], dkms}
    assert "dkms remove" in vm.a.run(f"{uninstall} KVER=6.99").err
    assert there() == {conf, dkms}
    vm.a.run(f"rm {dkms}")
    vm.a.run(uninstall)
    assert there() == set()
