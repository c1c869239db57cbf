#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Process 1 of a guest after init.sh: the mounts, the network and the agent. Runs until the agent
# ends, then powers off. As process 1 bash also reaps orphans while it waits.
#
# /run/vm/env sets: NAME (host name), ADDRESS4, ADDRESS6 (with prefix length), HOSTS (lines for
# /etc/hosts, separated by |), MTU, RDMA (1: soft-RoCE on eth0).

here=$(dirname "${BASH_SOURCE[0]}")
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
export PYTHONDONTWRITEBYTECODE=1
exec </dev/null >/dev/console 2>&1

trap 'echo "smc-vm: boot.sh ended early"; busybox poweroff -f' EXIT
set -e
. /run/vm/env

mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
ln -sfn /proc/self/fd /dev/fd

hostname "$NAME"
{
	echo "127.0.0.1 localhost"
	echo "::1 localhost"
	tr '|' '\n' <<<"$HOSTS"
} >/etc/hosts

ulimit -l unlimited
ulimit -n 65536
modprobe -a virtio_console virtio_net
# Addresses count at once: no duplicate address detection on a wire of two.
ipv6=
if [ -d /proc/sys/net/ipv6/conf ]; then
	ipv6=1
	echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
	echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
fi
ip link set lo up
ip link set eth0 mtu "$MTU" up
ip addr add "$ADDRESS4" dev eth0
[ -z "$ipv6" ] || ip addr add "$ADDRESS6" dev eth0 nodad
if [ "$RDMA" = 1 ]; then
	modprobe -a rdma_rxe ib_uverbs rdma_cm
	rdma link add rxe0 type rxe netdev eth0
fi
dmesg -n 7

python3 "$here/agent.py" &
set +e
wait $!
trap - EXIT
busybox poweroff -f
