#!/bin/sh
# Make the root file system that the container tests run in: Debian's minimal system with python3, make and stand-ins of scons and clang-ocl.
#   docker/ci/base.sh OUT.tar     needs root, debootstrap and a Debian archive (the one debootstrap knows)
set -eu
out=$1
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$(mktemp -d /var/tmp/apuflow-base.XXXXXX)
trap 'rm -rf "$work"' EXIT
debootstrap --variant=minbase --include=python3,make "$suite" "$work/root" >&2
rm -rf "$work/root/var/cache/apt" "$work/root/var/lib/apt/lists" "$work/root/usr/share/doc" "$work/root/usr/share/locale"
standins=$(dirname "$0")/../../tests/standins/bin
install -m 755 "$standins/scons" "$work/root/usr/local/bin/scons"
install -D -m 755 "$standins/clang-ocl" "$work/root/opt/rocm/bin/clang-ocl"
mkdir -p "$(dirname "$out")"
tar -C "$work/root" -cf "$out.part" .
mv "$out.part" "$out"
