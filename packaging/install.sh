#!/bin/sh
# Installs heaptrack for one user, or removes it again. It never asks for root's rights.
#
#   sh install.sh                      from the folder it lies in, to ~/.local
#   sh install.sh --from ADDRESS       from a release page's folder (https://...) or another folder
#   sh install.sh --prefix /opt/heaptrack
#   sh install.sh --uninstall          leaves nothing of it
#
# The archive must be as SHA256SUMS beside it says.
set -eu
archive=heaptrack-@VERSION@-@MACHINE@.tar.xz
prefix=${HOME:-/root}/.local
from=
is_removal=

fail() { echo "install.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
	esac
	case $1 in
	--prefix) prefix=$2; shift 2 ;;
	--from) from=$2; shift 2 ;;
	--uninstall) is_removal=yes; shift ;;
	-h | --help) sed -n 's/^# \{0,1\}//p' "$0" | sed 1d; exit 0 ;;
	*) fail "no such option: $1 (--from, --prefix, --uninstall)" ;;
	esac
done
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
case $prefix in *[[:space:]:]*) fail "LD_PRELOAD cannot name a folder with a space or a colon: $prefix" ;; esac
list=$prefix/lib/heaptrack/installed # what --uninstall removes: files, then folders, innermost first

remove() {
	while IFS= read -r name; do
		if [ "$name" = . ]; then
			rmdir "$prefix" 2>/dev/null || :
		elif [ -d "$prefix/$name" ] && [ ! -L "$prefix/$name" ]; then
			rmdir "$prefix/$name" 2>/dev/null || : # others keep things there
		else
			rm -f "$prefix/$name"
		fi
	done <"$1"
}

if [ -n "$is_removal" ]; then
	[ -e "$list" ] || fail "it is not installed in $prefix"
	work=$(mktemp)
	cp "$list" "$work"
	remove "$work"
	rm -f "$work"
	echo "heaptrack is gone from $prefix"
	exit 0
fi

[ "$(uname -s)-$(uname -m)" = "Linux-@MACHINE@" ] || fail "this is for Linux on @MACHINE@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() { # NAME: from where the release is into $work
	case $from in
	http://* | https://*)
		if command -v curl >/dev/null; then
			curl -fsSL -o "$work/$1" "${from%/}/$1"
		else
			wget -q -O "$work/$1" "${from%/}/$1"
		fi ;;
	*) cp "${from:-$(dirname "$0")}/$1" "$work/" 2>/dev/null ;;
	esac || fail "cannot get $1${from:+ from $from}"
}
get "$archive"
get SHA256SUMS
(cd "$work" && grep "  $archive\$" SHA256SUMS | sha256sum -c - >/dev/null 2>&1) ||
	fail "$archive is not what SHA256SUMS says: nothing was installed"
xz -dc "$work/$archive" | (cd "$work" && tar -xf -) || fail "$archive cannot be unpacked (tar and xz are needed)"
tree=$work/${archive%.tar.xz}

# Not over files of others, such as KDE's heaptrack in the same place
(cd "$tree" && find . ! -type d | sed 's/^\.\///' | LC_ALL=C sort) >"$work/files"
while IFS= read -r name; do
	if [ -e "$prefix/$name" ] && ! grep -qxF "$name" "$list" 2>/dev/null; then
		fail "$prefix/$name is there, and not of this heaptrack: nothing was installed"
	fi
done <"$work/files"

# Folders that were ours to make are ours to remove, also those of the installation before
(cd "$tree" && find . -mindepth 1 -type d | sed 's/^\.\///' | LC_ALL=C sort -r) >"$work/folders"
while IFS= read -r name; do
	if [ ! -d "$prefix/$name" ] || grep -qxF "$name" "$list" 2>/dev/null; then
		echo "$name"
	fi
done <"$work/folders" >"$work/made"
if [ ! -d "$prefix" ] || grep -qxF . "$list" 2>/dev/null; then
	echo . >>"$work/made"
fi
if [ -e "$list" ]; then
	cp "$list" "$work/before"
	remove "$work/before"
fi
mkdir -p "$prefix"
(cd "$tree" && tar -cf - .) | (cd "$prefix" && tar -xof -)
{ cat "$work/files"; echo lib/heaptrack/installed; cat "$work/made"; } >"$list"

"$prefix/bin/heaptrack" --version
case :$PATH: in
*":$prefix/bin:"*) ;;
*) printf 'Add it to your PATH:\n  export PATH="%s/bin:$PATH"\n' "$prefix" ;;
esac
