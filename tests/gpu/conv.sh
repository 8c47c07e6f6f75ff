#!/usr/bin/env bash
# Convolutions by cuDNN and products by cuBLASLt on a machine with an NVIDIA GPU, in one call under 10 minutes.
#   tests/gpu/conv.sh [BUILD] [OUT] [GPU]   BUILD: build folder (build/dev), OUT: where results go ($OUT, or .), GPU: 0
# OUT gets resnet50.csv, resnet50.txt, classics.csv, matmul.csv and everything in conv.tar.gz, updated after each stage.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is missed or a GPU exists but cannot be
# used; reports each bar either way. A stage that fails or hangs does not affect the others.
# PAGODA_GPU_SECONDS: of all stages, 570.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/pack.sh"
. "$tests/machine.sh"
build=$(build_of "$(cd "$tests/../.." && pwd)" "${1:-}") out=${2:-${OUT:-.}} gpu=${3:-0} limit=${PAGODA_GPU_SECONDS:-570}
bench=$build/tools/bench/pagoda-bench models=$tests/../../models/skeletons
require_gpu conv.sh "$bench"
top=$out out=$(mktemp -d)/conv_files
mkdir -p "$top" "$out"
files=(resnet50.csv resnet50.txt classics.csv matmul.csv)
trap 'pack "$top" "$out" "${files[@]}"; rm -rf "$(dirname "$out")"' EXIT
part() { echo $(($1 * limit / 570)); }

hold_gpu "$gpu"
find_libraries
timeout 60 "$bench" matmul --device "cuda:$gpu" --size 256 --budget 0.05 >"$out/probe.txt" 2>&1
code=$?
echo "first   pagoda-bench matmul: exit $code after $SECONDS s"
describe "$bench"
if { [ $code -eq 4 ] || [ $code -eq 6 ]; } && ! timeout 30 nvidia-smi -L >/dev/null 2>&1; then
  echo "UNUSABLE a GPU is there: $(tail -1 "$out/probe.txt")"
  exit 1
fi
if [ $code -ne 0 ]; then
  # cuDNN is still tested when the GPU's cuBLAS is not found.
  tail -n 5 "$out/probe.txt" | sed 's/^/        | /'
fi
failed=0 met=0
bar() {  # bar NAME CONDITION...: reports whether the bar is met
  local name=$1
  shift
  if "$@"; then
    echo "met     $name"
    met=$((met + 1))
  else
    echo "MISSED  $name"
    failed=$((failed + 1))
  fi
}
stage() {  # stage NAME SECONDS ARGUMENTS...: output to NAME.txt, exit code kept
  local name=$1 seconds=$(part "$2")
  shift 2
  timeout "$seconds" "$bench" "$@" >"$out/$name.txt" 2>&1
  local code=$?
  save "$top" "$out" "${files[@]}"
  tail -n 12 "$out/$name.txt"
  return $code
}
timeout 30 nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1

# Products with exact operands: any error counts.
stage matmul 90 matmul --device "cuda:$gpu" --size 256,1024,4096,8192 --type float32,tf32,float16,bfloat16 --budget 0.2 \
  --csv "$out/matmul.csv"
bar "cuBLASLt's products are exact on exact operands" test $? -eq 0

# Every forward algorithm and the heuristic's choice on ResNet-50: correct results, refusals reported layer by layer.
stage resnet50 150 conv "$models/resnet50.onnx" --device "cuda:$gpu" --batch 1,16 --layer-budget 0.02 --budget 0.3 \
  --csv "$out/resnet50_layers.csv" --overall "$out/resnet50.csv" -o "$out/conv"
bar "resnet50 over all algorithms of cuDNN, errors below 1e-3" test $? -eq 0
layers=$(grep -c . "$out/resnet50_layers.csv" 2>/dev/null || echo 0)
bar "a row a layer, refused or timed: ${layers} lines, 2 batches x 9 algorithms x 53 layers + 1" test "$layers" -eq 955
bar "implicit GEMM takes every layer" grep -qE 'implicit_gemm +53/53' "$out/resnet50.txt"
# The library must also refuse what the manual rules out by shape.
stage support 30 conv "$models/resnet50.onnx" --device "cuda:$gpu" --support
said=$(grep -c 'winograd  refused' "$out/support.txt")
bar "winograd: the manual rules out ${said} of 53 layers, the library refuses at least as many" \
  awk -v said="$said" '$1 == "resnet50" && $3 == 1 && $4 == "winograd" { split($5, n, "/"); ok = 53 - n[1] >= said } END { exit !ok }' \
  "$out/resnet50.txt"

# The six classic networks at all sizes, by the heuristic's choice and implicit GEMM.
stage classics 150 conv "$models"/{vgg16,densenet121,resnet152,googlenet,alexnet,resnet50}.onnx --device "cuda:$gpu" \
  --input-size 32,64,128,256,512,1024 --algorithm auto,implicit_precomp_gemm --layer-budget 0.002 --budget 0.02 \
  --check 256 --overall "$out/classics.csv" -o "$out/conv"
bar "the classic six at 32 to 1024" test $? -eq 0
stage tf32 60 conv "$models/resnet50.onnx" --device "cuda:$gpu" --batch 16 --math tf32 --algorithm auto \
  --layer-budget 0.02 --budget 0.3 --threshold 5e-3 -o "$out/conv"
bar "resnet50 with TF32, errors below 5e-3" test $? -eq 0

echo "summary $met met, $failed missed, $SECONDS s"
exit $((failed > 0))
