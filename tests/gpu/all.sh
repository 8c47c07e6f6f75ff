#!/usr/bin/env bash
# Every check that needs a GPU, in one go: counters and models, ceilings, convolutions, engines, the most informative first.
#   tests/gpu/all.sh [BUILD] [OUT] [GPU]   BUILD: build folder, or what bundle.sh made; OUT: where results go ($OUT or .)
# PAGODA_GPU_SECONDS limits each script (570: a call of ten minutes). Where calls are
# short, run each script in its own call.
# OUT gets all.txt, the scripts' archives and the files worth reading first: at most 8 files.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is missed or a GPU exists but cannot be used.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/machine.sh"
build=$(build_of "$(cd "$tests/../.." && pwd)" "${1:-}") out=${2:-${OUT:-.}} gpu=${3:-0}
sign=$(gpu_present) || { echo "skipped: no NVIDIA GPU"; exit 77; }
mkdir -p "$out"
exec > >(tee "$out/all.txt") 2>&1
talk=$!
echo "device  $sign"
hold_gpu "$gpu"
worst=0
for name in profile ceilings conv engines; do
  if [ $name = conv ] && [ ! -x "$build/tools/bench/pagoda-bench" ]; then
    echo "not run: conv.sh: pagoda-bench is not built, or the bundle was made without --bench"
    continue
  fi
  if [ $name = engines ] && [ ! -x "$build/tools/pagoda-calibrate" ]; then
    echo "not run: engines.sh: pagoda-calibrate is not built, or this is a bundle, which holds none"
    continue
  fi
  echo "== $name.sh after $SECONDS s"
  "$tests/$name.sh" "$build" "$out" "$gpu"
  code=$?
  echo "== $name.sh: exit $code after $SECONDS s"
  [ $code -eq 0 ] || worst=1
done
# The archive and one file of each script; everything else is in the archives.
for file in machine.txt exact.json rotate.json copy.json ceilings.txt resnet50.csv resnet50.txt classics.csv matmul.csv; do
  rm -f "$out/$file"
done
exec >&- 2>&-
wait "$talk"
exit $worst
