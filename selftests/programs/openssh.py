# SPDX-License-Identifier: GPL-2.0-only
"""OpenSSH: commands, a terminal, scp and sftp."""

from harness import case
from stage import Stage, over_smcr

PORT = 2222
HOME = "/tmp/openssh"
SERVER = f"""
Port {PORT}
HostKey {HOME}/host
AuthorizedKeysFile {HOME}/authorized
PidFile none
PermitRootLogin yes
StrictModes no
UsePAM no
Subsystem sftp internal-sftp
"""
CLIENT = f"""
Host *
    User root
    IdentityFile {HOME}/user
    UserKnownHostsFile {HOME}/known
    StrictHostKeyChecking accept-new
    RekeyLimit 1M
    LogLevel ERROR
"""


def prepare(stage: Stage) -> None:
    stage.client.run(f"""set -e
        rm -rf {HOME} && mkdir {HOME}
        ssh-keygen -q -t ed25519 -N '' -f {HOME}/user
        head -c 5000011 /dev/urandom >{HOME}/file""")
    stage.client.put(f"{HOME}/client.conf", CLIENT.encode())
    public = stage.client.get(f"{HOME}/user.pub")
    stage.server.run(f"""set -e
        grep -q ^sshd: /etc/passwd || echo sshd:x:986:65534::/:/bin/false >>/etc/passwd
        usermod -p '*' root
        mkdir -p /run/sshd && rm -rf {HOME}/host* && mkdir -p {HOME}
        ssh-keygen -q -t ed25519 -N '' -f {HOME}/host""")
    stage.server.put(f"{HOME}/server.conf", SERVER.encode())
    stage.server.put(f"{HOME}/authorized", public)


def openssh(stage: Stage) -> dict:
    prepare(stage)
    options = f"-F {HOME}/client.conf"
    ssh = f"ssh {options} -p {PORT} {stage.address}"
    remote = f"{stage.address}:{HOME}"
    with stage.serving(f"/usr/sbin/sshd -D -e -f {HOME}/server.conf", PORT):
        status = stage.run(f"{ssh} 'hostname; echo >&2 told; exit 7'", check=False)
        terminal = stage.run(f"{ssh} -tt 'tty | cut -c 1-9; stty size'").out
        piped = stage.run(f"bash -c '{ssh} sha256sum <{HOME}/file'").out
        stage.run(f"scp {options} -P {PORT} {HOME}/file {remote}/sent")
        stage.run(f"scp {options} -P {PORT} {remote}/sent {HOME}/back")
        stage.run(f"bash -c 'echo ls {HOME} | sftp {options} -P {PORT} -b - {stage.address}'")
        same = stage.client.run(f"cmp {HOME}/file {HOME}/back").rc
        refused = stage.run(f"{ssh} -o PubkeyAuthentication=no -o BatchMode=yes true",
                            check=False)
    assert (status.rc, status.err) == (7, "told\n"), f"{status}"
    wanted = stage.client.run(f"sha256sum <{HOME}/file").out
    assert piped == wanted, f"{piped} instead of {wanted}"
    return {"status": status.out, "terminal": terminal, "same": same, "refused": refused.rc}


@case(on="ours+ours")
def openssh_over_smcr(vm):
    over_smcr(vm, openssh)
