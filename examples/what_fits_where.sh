#!/bin/sh
# Which of six devices, and how many of each, hold a 14 B and a 70 B decoder, for how many users and how long a context, and
# how fast a decode step and a prompt are: one table a decoder, from the graphs alone.
#
#   examples/what_fits_where.sh [PAST [BATCH]]        (onnx-estimate on the PATH, or in build/*/tools)
set -eu
past=${1:-4096}
batch=${2:-8}
root=$(cd "$(dirname "$0")/.." && pwd)
estimate=$(command -v onnx-estimate || ls "$root"/build/*/tools/onnx-estimate | head -1)
for model in qwen2_5_14b llama_3_1_70b; do
  "$estimate" "$root/models/skeletons/$model.onnx" --batch "$batch" --phase decode --past "$past" --prompt "$past" --traffic fused \
    --device rtx-4090,l40s,a100-80gb,h100-sxm,h200,b200 --tensor-parallel 1,2,4,8 --predict --engine llm-serving
  echo
done
