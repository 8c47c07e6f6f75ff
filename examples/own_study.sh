#!/usr/bin/env bash
# A study of this machine's CPU: five models over batches by ONNX Runtime, inference and training steps by PyTorch where
# it is installed, measured ceilings, joules where a counter can be read, and one page of all of it: FOLDER/index.html.
#   examples/own_study.sh build/own_study            # about five minutes on two cores, 13 with PyTorch
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
for tool in pagoda-bench pagoda-report pagoda-calibrate onnx-estimate ert-ceilings roofline-plot; do
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

# The rest is arithmetic on these records. What is said on the way goes to the notes: the page names disturbed ceilings.
exec 3>&2 2>>"$out/notes.txt"
trap 'status=$?; [ $status -eq 0 ] || { tail -3 "$out/notes.txt" >&3; exit $status; }' EXIT

estimate() {  # MODEL ARGUMENT…
  local file=$here/models/skeletons/$1.onnx sizes=()
  case $1 in bert*|gpt*|lstm*) sizes=(--dim "sequence=$sequence") ;; esac
  shift
  onnx-estimate "$file" "${sizes[@]}" --device "$out/ceilings.json" "$@"
}
draw() {  # NAME ARGUMENT…: a picture for a wide window and one for a phone
  local name=$1
  shift
  roofline-plot --ceilings "$out/ceilings.json" "$@" -o "$out/$name.svg"
  roofline-plot --ceilings "$out/ceilings.json" "$@" --width 100mm --font-size 8pt -o "$out/$name.narrow.svg"
}
# Runs of an engine beside their bounds, model by model over the batches, and in one roofline.
engine() {  # NAME TITLE FOLDER TEST ARGUMENT…: the arguments are of the estimates
  local name=$1 title=$2 folder=$3 test=$4 model record charted=()
  shift 4
  for model in $models; do
    record=$model
    if [ "$folder" = torch ]; then record=$(torch_name "$model"); fi
    pagoda-report measured "$out/$folder" --where "model=$record,test=$test" -o "$out/$model.$name.runs.json" || continue
    for format in csv json; do
      estimate "$model" --sweep "batch=$batches" --measured "$out/$model.$name.runs.json" "$@" -o "$out/$model.$name.$format"
    done
    charted+=(--estimate "$out/$model.$name.json" --measured "$out/$model.$name.runs.json")
  done
  [ ${#charted[@]} -gt 0 ] || return 0
  pagoda-report table "$out/$folder" --where "test=$test" -o "$out/$name.csv"
  pagoda-report table "$out/$folder" --where "test=$test" -o "$out/$name.html" --title "$title"
  draw "$name.roofline" "${charted[@]}" --title "$title: measured and least times"
  # Where a counter gave joules: constants of energy, and the roofline of work per joule.
  if "$PAGODA_PYTHON" "$here/examples/own_study_page.py" --has-joules "$out/$name.csv"; then
    draw "$name.energy" --energy "${charted[@]}" --title "$title: work per joule" || rm -f "$out/$name.energy.svg"
    pagoda-calibrate --energy "$out"/*."$name.csv" --device "$out/ceilings.json" --residuals "$out/$name.energy.table.csv" \
      >"$out/$name.energy.txt" || rm -f "$out/$name.energy.txt"
  fi
}
roofline-plot --ceilings "$out/ceilings.json" -o "$out/roofs.json"
engine onnxruntime "ONNX Runtime, inference" inference eval --traffic fused
if [ -d "$out/torch" ]; then
  engine pytorch "PyTorch, inference" torch eval --traffic fused
  engine training "PyTorch, training steps" torch train --training
fi
# What a training step is made of.
for model in $models; do estimate "$model" --batch "${batches%%[,.]*}" --training >"$out/$model.step.txt"; done

"$PAGODA_PYTHON" "$here/examples/own_study_page.py" "$out" $models
echo "open $out/index.html"
