#!/usr/bin/env bash
# The results that the scripts beside it leave are small, complete and plainly named, even if a script ends early.
#   tests/gpu/pack_test.sh SCRATCH
set -uo pipefail
scratch=$1
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAILED $1"; exit 1; }
check() {  # check FOLDER: at most 8 files, each below 16 MiB, names of letters, digits, '.', '_', '-'
  local count
  count=$(find "$1" -mindepth 1 -maxdepth 1 | wc -l)
  [ "$count" -ge 1 ] && [ "$count" -le 8 ] || fail "$count files in $1"
  [ -z "$(find "$1" -mindepth 1 -maxdepth 1 ! -type f)" ] || fail "$1 holds what is not a file"
  [ -z "$(find "$1" -size +16777215c)" ] || fail "a file of $1 is too large"
  [ -z "$(find "$1" -mindepth 1 | sed "s|.*/||" | grep -v '^[A-Za-z0-9._-]*$')" ] || fail "a name in $1 is odd"
}
. "$here/pack.sh"

rm -rf "$scratch"
mkdir -p "$scratch/small/x_files/deep" "$scratch/large/x_files" "$scratch/none"
for i in $(seq 20); do echo "$i" >"$scratch/small/x_files/$i.txt"; done
echo deep >"$scratch/small/x_files/deep/file"
pack "$scratch/small" "$scratch/small/x_files" 1.txt 2.txt absent.txt || fail "packing"
check "$scratch/small"
[ "$(cat "$scratch/small/1.txt")" = 1 ] || fail "1.txt is not beside the archive"
[ "$(tar -tzf "$scratch/small/x.tar.gz" | grep -c '[^/]$')" -eq 21 ] || fail "the archive is not whole"

head -c 20000000 /dev/urandom >"$scratch/large/x_files/noise"  # incompressible
sum=$(cksum <"$scratch/large/x_files/noise")
pack "$scratch/large" "$scratch/large/x_files" noise || fail "packing much"
check "$scratch/large"
[ "$(cat "$scratch"/large/x.tar.gz.part-* | tar -xzO x_files/noise | cksum)" = "$sum" ] || fail "parts do not make the whole"

pack "$scratch/none" "$scratch/none/x_files" || fail "packing nothing"
[ -z "$(ls "$scratch/none")" ] || fail "something came of nothing"

# The results of a stage are complete while the next one runs.
mkdir -p "$scratch/run/y_files"
echo one >"$scratch/run/y_files/results.txt"
save "$scratch/stages" "$scratch/run/y_files" results.txt || fail "saving"
echo two >"$scratch/run/y_files/second"
save "$scratch/stages" "$scratch/run/y_files" results.txt || fail "saving again"
check "$scratch/stages"
[ "$(tar -tzf "$scratch/stages/y.tar.gz" | grep -c '[^/]$')" -eq 2 ] || fail "the second stage is not in the archive"
[ -f "$scratch/run/y_files/second" ] || fail "saving took the folder"

. "$here/machine.sh"
# Library path: no entry may be empty, since that would mean the current folder.
(LD_LIBRARY_PATH=; PATH=/nonexistent:$PATH; find_libraries; case ":${LD_LIBRARY_PATH:-none}:" in *::*) exit 1 ;; esac) || fail "an empty entry in LD_LIBRARY_PATH"

# The scripts themselves: exit 77 only without a device, 1 with a device if nothing is built or nothing works.
mkdir -p "$scratch/without" "$scratch/with/dev" "$scratch/bus/sys/bus/pci/devices/0000:01:00.0" "$scratch/build"
touch "$scratch/with/dev/nvidia0"
echo 0x10de >"$scratch/bus/sys/bus/pci/devices/0000:01:00.0/vendor"
echo 0x030200 >"$scratch/bus/sys/bus/pci/devices/0000:01:00.0/class"
for file in tools/ceilings/ert-ceilings tools/profile/pagoda-profile tools/bench/pagoda-bench tests/profile_workload; do
  mkdir -p "$(dirname "$scratch/build/$file")"
  printf '#!/bin/sh\necho "$0: no such device" >&2\nexit 4\n' >"$scratch/build/$file"
  chmod +x "$scratch/build/$file"
done
for script in ceilings conv profile all; do
  ends() {  # ends CODE ROOT BUILD TEXT: checks the script's exit code and message
    local said code
    said=$(PAGODA_GPU_ROOT="$scratch/$2" OUT="$scratch/out" PAGODA_GPU_SECONDS=60 "$here/$script.sh" "$scratch/$3" 2>&1)
    code=$?
    [ $code -eq "$1" ] || fail "$script.sh ends with $code, not $1: $said"
    case $said in *"$4"*) ;; *) fail "$script.sh does not say $4: $said" ;; esac
  }
  rm -rf "$scratch/out"
  ends 77 without build "skipped"
  [ ! -e "$scratch/out" ] || fail "$script.sh leaves something where there is no GPU"
  ends 1 with no-build "not built"
  ends 1 bus build "UNUSABLE"
  rm -rf "$scratch/out"
  ends 1 with build "UNUSABLE"
  check "$scratch/out"
done
echo ok
