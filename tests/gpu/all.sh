#!/usr/bin/env bash
# Every check that needs a GPU, in one go: counters and models, ceilings, convolutions, in the order of what they tell.
#   tests/gpu/all.sh [BUILD] [OUT] [GPU]   BUILD: build folder, or what bundle.sh made; OUT: where results go ($OUT or .)
# PAGODA_GPU_SECONDS limits each script (570: a call of ten minutes); a script is a call of its own, where calls are short.
# OUT gets all.txt, the archives of the scripts and what is worth reading at once: no more than 8 files.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is not or a GPU is there and cannot be used.
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
for name in profile ceilings conv; do
  if [ $name = conv ] && [ ! -x "$build/tools/bench/pagoda-bench" ]; then
    echo "not run: conv.sh: pagoda-bench is not built, or the bundle was made without --bench"
    continue
  fi
  echo "== $name.sh after $SECONDS s"
  "$tests/$name.sh" "$build" "$out" "$gpu"
  code=$?
  echo "== $name.sh: exit $code after $SECONDS s"
  [ $code -eq 0 ] || worst=1
done
# Of each the archive and one file; all else is in the archives.
for file in machine.txt exact.json rotate.json copy.json ceilings.txt resnet50.csv resnet50.txt classics.csv matmul.csv; do
  rm -f "$out/$file"
done
exec >&- 2>&-
wait "$talk"
exit $worst
