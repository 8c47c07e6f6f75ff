#!/bin/sh
# Which of six devices holds a 14 B and a 70 B decoder, for how many users and how long a context, and how fast each step
# could be: one table a decoder, from the graphs alone.
#
#   examples/what_fits_where.sh [PAST [BATCH]]        (onnx-estimate on the PATH, or in build/*/tools)
set -eu
past=${1:-4096}
batch=${2:-8}
root=$(cd "$(dirname "$0")/.." && pwd)
estimate=$(command -v onnx-estimate || ls "$root"/build/*/tools/onnx-estimate | head -1)
devices=rtx-4090,l40s,a100-80gb,h100-sxm,h200,b200
for model in qwen2_5_14b llama_3_1_70b; do
  "$estimate" "$root/models/skeletons/$model.onnx" --batch "$batch" --phase decode --past "$past" --traffic fused --device "$devices"
  echo
done
echo "llama_3_1_70b over four of each:"
"$estimate" "$root/models/skeletons/llama_3_1_70b.onnx" --batch "$batch" --phase decode --past "$past" --traffic fused \
  --device "$devices" --tensor-parallel 4
