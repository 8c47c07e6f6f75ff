#!/usr/bin/env bash
# A whole loop on this machine's CPU: random weights, a profiled run of ONNX Runtime, this CPU's measured ceilings, and one
# page with estimate and measurement of every operator.
#   examples/measured_loop.sh models/skeletons/resnet50.onnx build/loop
#   examples/measured_loop.sh models/skeletons/bert_base.onnx build/loop --dim sequence=128
# LEVEL=disable|basic|extended|all, RUNS and THREADS say what ONNX Runtime does. Needs Python with onnxruntime and numpy
# (pip install onnxruntime numpy; PYTHON names another interpreter), and the tools of build/release
# (cmake --preset release && cmake --build --preset release) or of the folder that TOOLS names.
set -euo pipefail
if [ $# -lt 2 ]; then sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; fi
here=$(cd "$(dirname "$0")/.." && pwd)
model=$1 out=$2
shift 2
tools=${TOOLS:-$here/build/release/tools}
python=${PYTHON:-python3}
[ -x "$tools/ceilings/ert-ceilings" ] || {
  echo "no tools in $tools; build them: cmake --preset release && cmake --build --preset release" >&2
  exit 1
}
"$python" -c 'import onnxruntime, numpy' || { echo "run: $python -m pip install onnxruntime numpy" >&2; exit 1; }
mkdir -p "$out"

"$tools/onnx-skeleton" --fill "$model" -o "$out/model.onnx"
"$python" "$here/tests/import/profile_ort.py" "$out/model.onnx" -o "$out/profile.json" --level "${LEVEL:-all}" --runs "${RUNS:-20}" \
  --threads "${THREADS:-0}" "$@"
"$tools/onnx-estimate" "$model" "$@" -o "$out/estimate.json"
"$tools/pagoda-import" "$out/profile.json" --estimate "$out/estimate.json" -o "$out/measured.json"
[ -f "$out/ceilings.json" ] || "$tools/ceilings/ert-ceilings" --cpu --quick --json "$out/ceilings.json"
"$tools/roofline-plot" --ceilings "$out/ceilings.json" --estimate "$out/estimate.json" --measured "$out/measured.json" \
  -o "$out/chart.html"
echo "open $out/chart.html"
