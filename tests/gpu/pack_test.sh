#!/usr/bin/env bash
# What the scripts beside it leave behind is little, whole and plainly named, also where they end early.
#   tests/gpu/pack_test.sh SCRATCH
set -uo pipefail
scratch=$1
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAILED $1"; exit 1; }
check() {  # check FOLDER: at most 8 files, each below 16 MiB, names of letters, digits, '.', '_', '-'
  local count
  count=$(find "$1" -mindepth 1 -maxdepth 1 | wc -l)
  [ "$count" -ge 1 ] && [ "$count" -le 8 ] || fail "$count files in $1"
  [ -z "$(find "$1" -mindepth 1 -maxdepth 1 ! -type f)" ] || fail "$1 holds what is no file"
  [ -z "$(find "$1" -size +16777215c)" ] || fail "a file of $1 is too large"
  [ -z "$(find "$1" -mindepth 1 | sed "s|.*/||" | grep -v '^[A-Za-z0-9._-]*$')" ] || fail "a name in $1 is odd"
}
. "$here/pack.sh"

rm -rf "$scratch"
mkdir -p "$scratch/small/x_files/deep" "$scratch/large/x_files" "$scratch/none"
for i in $(seq 20); do echo "$i" >"$scratch/small/x_files/$i.txt"; done
echo deep >"$scratch/small/x_files/deep/file"
pack "$scratch/small" x_files 1.txt 2.txt absent.txt || fail "packing"
check "$scratch/small"
[ "$(cat "$scratch/small/1.txt")" = 1 ] || fail "1.txt is not beside the archive"
[ "$(tar -tzf "$scratch/small/x.tar.gz" | grep -c '[^/]$')" -eq 21 ] || fail "the archive is not whole"

head -c 20000000 /dev/urandom >"$scratch/large/x_files/noise"  # does not compress
sum=$(cksum <"$scratch/large/x_files/noise")
pack "$scratch/large" x_files noise || fail "packing much"
check "$scratch/large"
[ "$(cat "$scratch"/large/x.tar.gz.part-* | tar -xzO x_files/noise | cksum)" = "$sum" ] || fail "parts do not make the whole"

pack "$scratch/none" x_files || fail "packing nothing"
[ -z "$(ls "$scratch/none")" ] || fail "something came of nothing"

# The scripts themselves; without a device they end at once.
for script in ceilings conv profile; do
  grep -q "^trap 'pack " "$here/$script.sh" || fail "$script.sh does not pack"
done
if ! command -v nvidia-smi >/dev/null; then
  for script in ceilings conv profile; do
    OUT="$scratch/$script" "$here/$script.sh" "$scratch/no-build" >/dev/null 2>&1
    # Those that skip before they begin leave nothing.
    [ ! -d "$scratch/$script" ] || check "$scratch/$script"
  done
fi
echo ok
