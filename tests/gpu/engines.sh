#!/usr/bin/env bash
# Engines on a machine with an NVIDIA GPU: pagoda-calibrate --here of each that its Python has.
#   tests/gpu/engines.sh [BUILD] [OUT] [GPU] [ENGINE...]   BUILD: build folder (build/dev), OUT: where results go ($OUT, or .)
# ENGINE: onnxruntime-cuda, tensorrt, pytorch-cuda (default: all). PAGODA_PYTHON names the Python with onnxruntime-gpu,
# tensorrt and torch. OUT gets ENGINE.json, ENGINE.txt, ENGINE.csv and what was measured so far in ENGINE.json.runs, from
# which the same call goes on.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is missed or no engine could be run.
# PAGODA_GPU_SECONDS: of all engines, 570.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/machine.sh"
build=$(build_of "$(cd "$tests/../.." && pwd)" "${1:-}") out=${2:-${OUT:-.}} gpu=${3:-0} limit=${PAGODA_GPU_SECONDS:-570}
calibrate=$build/tools/pagoda-calibrate
require_gpu engines.sh "$calibrate"
mkdir -p "$out"
hold_gpu "$gpu"
shift $(($# < 3 ? $# : 3))
[ $# -gt 0 ] || set -- onnxruntime-cuda tensorrt pytorch-cuda
failed=0 met=0 not_run=0
for engine in "$@"; do
  left=$((limit - SECONDS))
  if [ $left -lt 60 ]; then
    echo "not run: $engine: $left s are left"
    not_run=$((not_run + 1))
    continue
  fi
  timeout "$left" "$calibrate" --here "$engine" -o "$out/$engine.json" --residuals "$out/$engine.csv" >"$out/$engine.txt" 2>&1
  code=$?
  echo "stage   $engine: exit $code after $SECONDS s"
  tail -n 30 "$out/$engine.txt" | sed 's/^/        | /'
  if [ $code -ne 0 ] && grep -q 'not available' "$out/$engine.txt"; then
    echo "not run: $engine is not installed"
    not_run=$((not_run + 1))
    continue
  fi
  # 15 % with families left out is what a GPU's prediction is judged by.
  error=$(sed -n 's/.*without its family: mean error \([0-9.]*\) %.*/\1/p' "$out/$engine.txt")
  if [ $code -eq 0 ] && [ -n "$error" ] && awk "BEGIN { exit !($error <= 15) }"; then
    echo "met     $engine: $error % with families left out (15)"
    met=$((met + 1))
  else
    echo "MISSED  $engine: ${error:-no figure} % with families left out (15)"
    failed=$((failed + 1))
  fi
done
echo "summary $met met, $failed missed, $not_run not run, $SECONDS s"
[ $failed -eq 0 ] && [ $met -gt 0 ]
