#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
#
# First program of a guest, in the initramfs. Puts a scratch overlay on the host's file tree and
# continues there with boot.sh. 9p tags: "root" is the host's /, or a tree for another architecture,
# read-only; "share" is the run's directory, writable. Its file "mounts" names further ones, read-only, and
# their places: "modules" is the tree for /usr/lib/modules/<release>.

bb=/bin/busybox
fail() {
	$bb echo "smc-vm: $*" >/dev/console
	$bb poweroff -f
}

$bb mount -t proc proc /proc || fail "no /proc"
read -r cmdline </proc/cmdline
case " $cmdline " in
*" smcvm.probe "*)
	$bb echo "smc-vm: probe reached init" >/dev/console
	$bb poweroff -f
	;;
esac

$bb mount -t sysfs sysfs /sys || fail "no /sys"
for module in /modules/*; do
	# A kernel may have all of them built in.
	[ ! -e "$module" ] || $bb insmod "$module" || fail "cannot load $module"
done

p9="-t 9p -o trans=virtio,version=9p2000.L,msize=512000"
$bb mount $p9,ro,cache=loose root /lower || fail "no root share"
$bb mount -t tmpfs -o size=80% tmpfs /rw || fail "no tmpfs"
$bb mkdir /rw/upper /rw/work
$bb mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /new ||
	fail "no overlay"

$bb mount -t devtmpfs devtmpfs /new/dev || fail "no devtmpfs"
$bb mount -t tmpfs -o mode=755 tmpfs /new/run || fail "no /run"
$bb mkdir /new/run/vm
$bb mount $p9,cache=none share /new/run/vm || fail "no share"
while read -r tag place; do
	$bb mkdir -p "/new$place"
	$bb mount $p9,ro,cache=loose "$tag" "/new$place" || fail "no $tag share"
done </new/run/vm/mounts
$bb mount --move /proc /new/proc
$bb mount --move /sys /new/sys
read -r boot </new/run/vm/boot
exec $bb switch_root /new /bin/bash "$boot"
