# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the scripts that fetch packages without installing them. The caller sets cache (a folder)
# and defines say and die. Suites which apt does not know yet (security, backports) are read from the
# same mirror with package lists of our own: the machine's apt set-up stays as it is.

# Options for apt; empty while the machine's own lists do.
apt_options=()
# Another architecture, of Debian's name, whose packages are wanted besides; or nothing.
other_arch=

# Debian releases whose kernels are wanted, too: newer ones, and one that no machine needs any more but for
# its kernel, to be met as a peer.
other_suites=(trixie bullseye)

# own_lists [deb|deb-src]…
# Turns to our own lists, of packages unless told, once; fails the second time.
own_lists() {
	[ ${#apt_options[@]} -eq 0 ] || return 1
	read_lists '' "$@"
}

# other_lists
# The same and another of $other_suites each time; fails when there is none left.
other_lists() {
	[ ${#other_suites[@]} -gt 0 ] || return 1
	read_lists "${other_suites[0]}"
	other_suites=("${other_suites[@]:1}")
}

# debian_mirror
# Where apt has Debian itself from, as one line.
debian_mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/\?$'
}

# read_lists <further suite, or ''> [deb|deb-src]…
read_lists() {
	local apt=$cache/apt key='' other=$1 sources machine
	shift
	command -v apt-get >/dev/null || die "no apt-get here: set KDIR to a kernel build folder"
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] &&
		key='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
	machine=$(dpkg --print-architecture)
	if [ -n "$other_arch" ]; then
		apt=$apt-$other_arch
		mkdir -p "$apt/lists/partial" "$apt/archives/partial"
		key=${key:-[]}
		key="[arch=$machine,$other_arch ${key#[}"
	fi
	# Every suite that apt knows, and for each base suite its backports, at the same address.
	sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v key="$key" -v types="${*:-deb}" -v other="$other" '
			function list(uri, suite) {
				for (i in type) print type[i], key, uri, suite, "main"
			}
			BEGIN { split(types, type) }
			/debian/ { list($1, $2) }
			/debian\/? / && $2 !~ /-/ { list($1, $2 "-backports") }
			other && /debian\/? / { list($1, other); list($1, other "-backports") }
			other && /debian-security\/? / { list($1, other "-security") }' |
		sort -u)
	printf '%s\n' "$sources" >"$apt/sources.list"
	apt_options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache::archives=$apt/archives"
		-o APT::Update::Post-Invoke-Success::= -o APT::Sandbox::User=)
	# The cache of apt's binary index is of the machine's own architecture.
	[ -z "$other_arch" ] || apt_options+=(-o "APT::Architectures::=$machine"
		-o "APT::Architectures::=$other_arch" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
	say "reading package lists"
	# A mirror may lack one suite; what matters is whether the package turns up afterwards.
	apt-get "${apt_options[@]}" -o Acquire::Retries=3 -qq update >&2 || true
}

# download_package <package> <existing folder>
download_package() {
	say "downloading $1"
	(cd "$2" && apt-get "${apt_options[@]}" -o Acquire::Retries=3 -qq \
		-o APT::Sandbox::User= download "$1") >&2
}

# download_with_needs <folder> <option of apt>… -- <package>…
# Packages and all that they depend on and that is not installed, into the folder.
download_with_needs() {
	local into=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	mkdir -p "$into/partial"
	say "downloading packages"
	# Not a lock of dpkg's: nothing is installed, and the machine may be at it.
	apt-get "${apt_options[@]}" "${options[@]}" -o "Dir::Cache::archives=$into" -o Acquire::Retries=3 \
		-o Debug::NoLocking=1 -qq -y --download-only --no-install-recommends install "$@" >&2
}

# unpack_root <folder with packages> <folder>
# A guest's /lib and its like are links into /usr, and so must they be here.
unpack_root() {
	local folder deb
	say "unpacking"
	for folder in bin sbin lib lib64; do
		mkdir -p "$2/usr/$folder"
		ln -s "usr/$folder" "$2/$folder"
	done
	for deb in "$1"/*.deb; do
		[ -e "$deb" ] || continue
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$2"
	done
}
