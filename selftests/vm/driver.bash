# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the scripts that build a driver of Debian's kernel source for guests. $1 is the kernel's series, or
# "debug", whose source is there.

cache=${SMC_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:?is not set, and SMC_CACHE_DIR neither}/.cache}/smc}
series=${1:-}
name=$(basename "$0")

say() { printf '%s: %s\n' "$name" "$*" >&2; }
die() { say "$*"; exit 1; }
. scripts/fetch/apt.bash

# begin_driver <folder of drivers/infiniband/sw> <module>
# Prints the module's path and ends if it is there as this script builds it: $CACHE/kernel/<release>/<name>/<module>.ko.
# Else the source is in $src.
begin_driver() {
	local folder=drivers/infiniband/sw/$1 package
	[[ $series =~ ^([0-9]+\.[0-9]+|debug)$ ]] || { sed -n '/^#   /,/^#$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
	# Not the flags of a make around us: the kernel's Makefile is its own master.
	unset MAKEFLAGS MFLAGS MAKELEVEL
	kernel=$(scripts/fetch/fetch-kernel --path "$series")
	target=$kernel/$name/$2.ko
	exec 9>"$cache/kernel/.$name-lock"
	flock 9
	key=$(cat "$0" "${BASH_SOURCE[0]}" | sha256sum)
	if [ -e "$target" ] && [ "$(cat "$target.key" 2>/dev/null)" = "$key" ]; then
		echo "$target"
		exit 0
	fi
	tmp=$(mktemp -d "$cache/kernel/.$name.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	src=$tmp/$folder
	if [ "$series" = debug ]; then
		mkdir -p "$src"
		cp "$kernel/build/$folder"/{Makefile,Kconfig,*.[ch]} "$src"
		return
	fi
	package=linux-source-$series
	until download_package "$package$(source_version "$package")" "$tmp"; do
		# shellcheck disable=SC2119 # its arguments are not ours
		own_lists || other_lists || die "apt has no $package"
	done
	dpkg-deb --fsys-tarfile "$tmp"/*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ -C "$tmp" --strip-components=1 "$package/$folder"
}

# source_version <package>
# "=version", of the newest one that the kernel was made from, if apt has it.
source_version() {
	local release
	release=$(basename "$kernel")
	apt-cache "${apt_options[@]}" madison "$1" |
		awk -v base="${release%%[-+]*}" '!found && index($3, base "-") == 1 { print "=" $3; found = 1 }'
}

# end_driver <variable for make>…
# Builds it, and prints its path.
end_driver() {
	say "building it for $(basename "$kernel")"
	if ! scripts/fetch/build-root --for "$kernel" make -C "$kernel/build" M="$src" "$@" modules >"$tmp/log" 2>&1; then
		tail -n 20 "$tmp/log" >&2
		die "the build failed"
	fi
	mkdir -p "$(dirname "$target")"
	strip --strip-debug -o "$target.new" "$src/$(basename "$target")"
	mv "$target.new" "$target"
	echo "$key" >"$target.key"
	echo "$target"
}
