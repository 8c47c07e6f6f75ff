#!/usr/bin/env bash
# A study of this machine's CPU: five models over batches by ONNX Runtime, inference and training steps by PyTorch where
# it is installed, measured ceilings, joules where a counter can be read, and one page of all of it: FOLDER/index.html.
#   examples/own_study.sh build/own_study            # about 15 minutes on two cores, twice that with PyTorch
#   QUICK=1 examples/own_study.sh build/own_study    # about two: smaller batches, counted runs
# Needs Python with onnxruntime and numpy (PAGODA_PYTHON names another than python3), and Pagoda's tools on the PATH, or in the
# build folder that TOOLS names. MODELS and BATCHES say what else to run. What has a record does not run again.
# Exit code 77: onnxruntime is missing.
set -euo pipefail
if [ $# -ne 1 ]; then sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; fi
here=$(cd "$(dirname "$0")/.." && pwd)
out=$1
if [ -n "${TOOLS:-}" ]; then PATH=$TOOLS:$TOOLS/bench:$TOOLS/ceilings:$PATH; fi
export PAGODA_PYTHON=${PYTHON:-${PAGODA_PYTHON:-python3}}
for tool in pagoda-bench pagoda-report onnx-estimate ert-ceilings roofline-plot; do
  command -v "$tool" >/dev/null || { echo "$tool: not on the PATH; install Pagoda, or say TOOLS=build/release/tools" >&2; exit 1; }
done
"$PAGODA_PYTHON" -c 'import onnxruntime, numpy' 2>/dev/null || {
  echo "skipped: $PAGODA_PYTHON has no onnxruntime and numpy; run: $PAGODA_PYTHON -m pip install onnxruntime numpy" >&2
  exit 77
}
models=${MODELS:-resnet50_dynamic densenet121_dynamic vit_b_16_dynamic swin_t_dynamic bert_base}
if [ -n "${QUICK:-}" ]; then
  batches=${BATCHES:-1,2} counts=(--runs 2 --warmup-runs 1) depth=(--quick --budget 5)
else
  batches=${BATCHES:-1,2,4..8} counts=(--budget 5 --warmup 3) depth=(--quick)
fi
sequence=${SEQUENCE:-128}
mkdir -p "$out"
: >"$out/notes.txt"

# What this machine can do, first: the runs heat it.
[ -f "$out/ceilings.json" ] || ert-ceilings --cpu "${depth[@]}" --json "$out/ceilings.json" >"$out/ceilings.txt"

# What the models took.
files=()
for model in $models; do files+=("$here/models/skeletons/$model.onnx"); done
pagoda-bench run "${files[@]}" --backend ort --batch "$batches" --sequence "$sequence" "${counts[@]}" -o "$out/inference"
# The same model's name in PyTorch; transformers has BERT.
torch_name() { case $1 in bert_base*) echo bert-base-uncased ;; *) echo "${1%_dynamic}" ;; esac; }
if "$PAGODA_PYTHON" -c 'import torch, torchvision' 2>/dev/null && [ -z "${NO_TORCH:-}" ]; then
  named=()
  for model in $models; do named+=("$(torch_name "$model")"); done
  pagoda-bench run "${named[@]}" --backend torch --mode inference,training --batch "$batches" --sequence "$sequence" "${counts[@]}" -o "$out/torch" ||
    echo "PyTorch: not every run is ok; pagoda-bench status $out/torch says why" | tee -a "$out/notes.txt"
fi

# Each model: runs beside the bound, over the batches and in a roofline.
for model in $models; do
  file=$here/models/skeletons/$model.onnx
  sizes=()
  case $model in bert*|gpt*) sizes=(--dim "sequence=$sequence") ;; esac
  pagoda-report measured "$out/inference" --where "model=$model" -o "$out/$model.runs.json" || continue
  onnx-estimate "$file" --sweep "batch=$batches" "${sizes[@]}" --device "$out/ceilings.json" --traffic fused \
    --measured "$out/$model.runs.json" >"$out/$model.sweep.txt"
  # What is left says of the ceilings what the first has said: to the notes.
  onnx-estimate "$file" --sweep "batch=$batches" "${sizes[@]}" --device "$out/ceilings.json" --traffic fused \
    --measured "$out/$model.runs.json" --format csv -o "$out/$model.sweep.csv" 2>>"$out/notes.txt"
  # The batch stays free, so that the chart has the runs of all batches.
  onnx-estimate "$file" "${sizes[@]}" --device "$out/ceilings.json" --traffic fused -o "$out/$model.json" 2>>"$out/notes.txt"
  roofline-plot --ceilings "$out/ceilings.json" --estimate "$out/$model.json" --measured "$out/$model.runs.json" \
    -o "$out/$model.svg"
  # A training step, beside PyTorch's where it ran.
  step=()
  if [ -d "$out/torch" ] && pagoda-report measured "$out/torch" --where "model=$(torch_name "$model"),test=train" \
    -o "$out/$model.steps.json" 2>>"$out/notes.txt"; then step=(--measured "$out/$model.steps.json"); fi
  onnx-estimate "$file" --batch "${batches%%[,.]*}" "${sizes[@]}" --device "$out/ceilings.json" --training "${step[@]}" \
    >"$out/$model.training.txt" 2>>"$out/notes.txt"
done
pagoda-report table "$out/inference" -o "$out/inference.svg" --title "ONNX Runtime on this CPU"
pagoda-report table "$out/inference" -o "$out/inference.csv"
pagoda-report table "$out/inference" -o "$out/inference.txt"
for test in eval train; do
  [ -d "$out/torch" ] || continue
  pagoda-report table "$out/torch" --where "test=$test" -o "$out/torch-$test.svg" --title "PyTorch on this CPU, $test" || continue
  pagoda-report table "$out/torch" --where "test=$test" -o "$out/torch-$test.txt"
done

# One page of it.
text() { printf '<h2>%s</h2>\n<pre>' "$1"; sed 's/&/\&amp;/g; s/</\&lt;/g' "$2"; printf '</pre>\n'; }
# Each picture's ids begin with its name: a page must not have one twice.
picture() {
  local name
  name=$(basename "$1" .svg | tr -c 'A-Za-z0-9\n' '-')
  printf '<figure>\n'
  sed -E "/^<\?xml/d; s/ id=\"/&$name-/g; s/url\(#/&$name-/g; s/href=\"#/&$name-/g
    s/ aria-labelledby=\"([^ \"]+) ([^ \"]+)\"/ aria-labelledby=\"$name-\1 $name-\2\"/g" "$1"
  printf '</figure>\n'
}
{
  printf '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>A study of this CPU</title>\n'
  printf '<style>body{font:14px sans-serif;max-width:70em;margin:2em auto}pre{overflow:auto}svg{max-width:100%%;height:auto}</style></head><body>\n'
  printf '<h1>A study of this CPU</h1>\n'
  text "Inference by ONNX Runtime" "$out/inference.txt"
  picture "$out/inference.svg"
  for test in eval train; do
    [ -f "$out/torch-$test.txt" ] || continue
    text "PyTorch, $test" "$out/torch-$test.txt"
    picture "$out/torch-$test.svg"
  done
  for model in $models; do
    [ -f "$out/$model.svg" ] || continue
    text "$model: measured beside the bound" "$out/$model.sweep.txt"
    picture "$out/$model.svg"
    text "$model: a training step" "$out/$model.training.txt"
  done
  [ -f "$out/ceilings.txt" ] && text "What this machine can do" "$out/ceilings.txt"
  printf '</body></html>\n'
} >"$out/index.html"
echo "open $out/index.html"
