#!/usr/bin/env bash
# The published study of Pagoda (arXiv 2509.20189) again: its figures and tables, from the models and the published
# measurements of this repository.
#   examples/published_study.sh FOLDER
# The tools must be on PATH (cmake --install build/release --prefix ~/.local). FORMAT=png or pdf draws pictures in that format (needs
# rsvg-convert), else svg. MODES=DIR takes the study's tables of 441 power modes, NAME.csv with the columns of
# data/measured/orin-agx; they are not part of this repository, and without them modes are compared by their bounds alone.
# NCU=FILE holds counters of Nsight Compute (ncu --csv --page raw) of ResNet-50 against its estimate.
set -euo pipefail
if [ $# -ne 1 ]; then sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; fi
here=$(cd "$(dirname "$0")/.." && pwd)
out=$1
picture=${FORMAT:-svg}
device=orin-agx
measured=$here/data/measured/orin-agx
for tool in onnx-estimate roofline-plot pagoda-calibrate pagoda-report pagoda-import; do
  command -v "$tool" > /dev/null || { echo "$tool is not on PATH; install the tools: cmake --install build/release --prefix ~/.local" >&2; exit 1; }
done
mkdir -p "$out"

# The five networks; lstm_positions8 is the one whose counts are published as lstm.
names=(mobilenet_v3_large resnet50 yolov8n lstm bert_large)
model() { if [ "$1" = lstm ]; then echo "$here/models/skeletons/lstm_positions8.onnx"; else echo "$here/models/skeletons/$1.onnx"; fi; }

estimate() {  # NAME ARGUMENT…: by the published rules; a sequence that the file leaves free counts as 1 in them
  local name=$1 sizes=()
  shift
  if [ "$name" = lstm ]; then sizes=(--dim sequence=1); fi
  onnx-estimate "$(model "$name")" --count pagoda "${sizes[@]}" "$@" 2>> "$out/notes.txt"
}

: > "$out/notes.txt"
chart=()
tables=()
for name in "${names[@]}"; do
  echo "$name"
  # Tables: FLOPs, bytes, intensity at eleven batches; the measured ones beside their bounds.
  estimate "$name" --sweep batch=1,2,4..1024 -o "$out/batches_$name.csv"
  estimate "$name" --sweep batch=1,4,8,16,32,64 --device $device --measured "$measured/$name.csv" -o "$out/measured_$name.csv"
  estimate "$name" --sweep batch=1,4,8,16,32,64 --device $device -o "$out/estimate_$name.json"
  # Training: three times forward, by the published rule; and what a step is made of.
  estimate "$name" --training --sweep batch=32 -o "$out/training_$name.csv"
  onnx-estimate "$(model "$name")" --batch 32 --training --optimizer sgd --device $device --format csv -o "$out/training_nodes_$name.csv" 2>> "$out/notes.txt"
  onnx-estimate "$(model "$name")" --batch 32 --training --device $device -o "$out/training_$name.$picture" 2>> "$out/notes.txt"
  # Power modes: the least time in each.
  onnx-estimate "$(model "$name")" --batch 32 --device $device --sweep mode=maxn,50w,30w,15w -o "$out/modes_$name.txt" 2>> "$out/notes.txt"
  # The same network at one batch, where its share of the roof can be compared with the others'.
  estimate "$name" --batch 16 --device $device -o "$out/batch16_$name.json"
  { head -2 "$measured/$name.csv"; awk -F, '$6 == 16' "$measured/$name.csv"; } > "$out/batch16_$name.csv"
  chart+=(--estimate "$out/estimate_$name.json" --measured "$measured/$name.csv")
  tables+=("$out/measured_$name.csv")
done

frame=(--xlim 1 1000)
one=()
for name in "${names[@]}"; do one+=(--estimate "$out/batch16_$name.json" --measured "$out/batch16_$name.csv"); done
roofline-plot --device $device "${one[@]}" "${frame[@]}" --ylim 1e10 1e13 --title "Five networks at batch 16 on Jetson AGX Orin, MAXN" -o "$out/time_roofline.$picture"
roofline-plot --device $device "${chart[@]}" "${frame[@]}" --ylim 1e10 1e13 --title "Five networks over batches on Jetson AGX Orin, MAXN" -o "$out/batch_study.$picture"
roofline-plot --device $device "${chart[@]}" -o "$out/batch_study.html"
roofline-plot --device $device "${chart[@]}" -o "$out/batch_study.json"

# Energy: constants, the table of GFLOP/s, GB/s, J and GFLOP/J, the roofline.
pagoda-calibrate --energy "${tables[@]}" --device $device --residuals "$out/energy_table.csv" \
  -o "$out/$device.json" --source "published rows of MAXN" > "$out/energy_constants.txt"
pagoda-calibrate --energy "${tables[@]}" --format csv > "$out/energy_constants.csv"
roofline-plot --device "$out/$device.json" --energy "${chart[@]}" "${frame[@]}" --ylim 1e9 2e11 \
  --title "Energy of five networks on Jetson AGX Orin, MAXN" -o "$out/energy_roofline.$picture"

# Ceilings of each mode as the data sheets state them.
for mode in maxn 50w 30w 15w; do roofline-plot --device $device:$mode -o "$out/ceilings_$mode.json"; done

# Which mode: the front of time and energy, and the best within 5 % of the fastest.
if [ -n "${MODES:-}" ]; then
  for name in "${names[@]}"; do
    [ -f "$MODES/$name.csv" ] || continue
    pagoda-report modes "$MODES/$name.csv" --slow-down 5% --title "$name" -o "$out/chosen_$name.csv"
    pagoda-report modes "$MODES/$name.csv" --slow-down 5% --title "$name" -o "$out/chosen_$name.txt"
    pagoda-report modes "$MODES/$name.csv" --slow-down 5% --title "$name" -o "$out/chosen_$name.svg"
  done
else
  echo "no MODES=DIR: the published tables of 441 power modes are not in this repository; modes_*.txt compares bounds" | tee -a "$out/notes.txt"
fi

# Estimate against counters.
if [ -n "${NCU:-}" ]; then
  onnx-estimate "$(model resnet50)" -o "$out/counted_estimate.json"
  pagoda-import "$NCU" --estimate "$out/counted_estimate.json" --csv "$out/counters_resnet50.csv" -o "$out/counters_resnet50.json"
fi
echo "open $out/batch_study.html"
