# SPDX-License-Identifier: GPL-2.0-only
"""Servers that speak first, and whose answers have the SMC option though they know nothing of it:
as with TCP, and the second time without delay."""

import sys

from guestroot import complete
from harness import case

sys.path.insert(0, "selftests/net/cases")
from selecting import needs_selection
from strange import AT_ONCE_S, costs_once, serving, strange

HOME = "/tmp/greeting"
SSHD = f"""
Port 2223
HostKey {HOME}/host
PidFile none
UsePAM no
"""
EXIM = f"""
spool_directory = {HOME}/spool
log_file_path = {HOME}/log-%s
primary_hostname = greeting.example
daemon_smtp_ports = 2526
exim_user = Debian-exim
exim_group = Debian-exim
never_users =
host_lookup =
acl_smtp_rcpt = accept
begin acl
begin routers
begin transports
"""
# EHLO, a message that is refused, and the end.
MAIL = """
import smtplib, sys
with smtplib.SMTP(sys.argv[1], 2526, timeout=60) as server:
    assert server.ehlo()[0] == 250
    assert server.noop()[0] == 250
"""


def prepare(vm) -> None:
    needs_selection(vm.a)
    for guest in vm.guests:
        complete(guest)


def greets(vm, server: str, port: int, client: str) -> None:
    with strange(vm.b) as inside, serving(vm.b, f"{inside} {server}", port):
        costs_once(vm, client, AT_ONCE_S)


@case(on="ours+none")
def openssh_greets(vm):
    prepare(vm)
    vm.b.run(f"""set -e
        grep -q ^sshd: /etc/passwd || echo sshd:x:986:65534::/:/bin/false >>/etc/passwd
        mkdir -p /run/sshd {HOME} && rm -f {HOME}/host*
        ssh-keygen -q -t ed25519 -N '' -f {HOME}/host""")
    vm.b.put(f"{HOME}/sshd.conf", SSHD.encode())
    greets(vm, f"/usr/sbin/sshd -D -e -f {HOME}/sshd.conf", 2223,
           f"ssh-keyscan -T 60 -t ed25519 -p 2223 {vm.b.ip4} 2>/dev/null | grep -q ssh-ed25519")


@case(on="ours+none")
def mariadb_greets(vm):
    prepare(vm)
    vm.b.run(f"rm -rf {HOME}/db && mkdir -p {HOME}/db/mysql", timeout_s=60)
    server = ("/usr/sbin/mariadbd --no-defaults --user=root --skip-grant-tables --port=3307"
              f" --skip-networking=0 --datadir={HOME}/db --socket={HOME}/db.sock"
              " --lc-messages-dir=/usr/share/mysql --innodb=OFF --default-storage-engine=MyISAM"
              " --default-tmp-storage-engine=MyISAM")
    greets(vm, server, 3307,
           f"mariadb --no-defaults -h {vm.b.ip4} -P 3307 -NBe 'select 6 * 7' | grep -qx 42")


@case(on="ours+none")
def exim_greets(vm):
    prepare(vm)
    vm.b.run(f"""set -e
        grep -q ^Debian-exim: /etc/group || echo Debian-exim:x:985: >>/etc/group
        grep -q ^Debian-exim: /etc/passwd || echo Debian-exim:x:985:985::/:/bin/false >>/etc/passwd
        rm -rf {HOME} && mkdir -p {HOME}/spool && chown -R Debian-exim {HOME}""")
    vm.b.put("/etc/exim4/exim4.conf", EXIM.encode())
    vm.a.put("/tmp/mail.py", MAIL.encode())
    greets(vm, "/usr/sbin/exim4 -bdf", 2526, f"python3 /tmp/mail.py {vm.b.ip4}")
