#!/usr/bin/env bash
# The whole check of pagoda-profile on a machine with an NVIDIA GPU, in one call under 10 minutes.
#   tests/gpu/profile.sh [BUILD] [OUT]   BUILD: build folder (build/dev), OUT: where results go ($OUT, or .)
# OUT gets results.txt, machine.txt, the JSON of the main modes, and everything in profile.tar.gz.
# Exits 77 where there is no GPU or no privilege, 0 where every bar is met, 1 where one is not; says each bar either way.
# Each stage stands alone: one that fails or takes too long does not keep the others from running, and after 9 minutes
# those that are left are skipped.
set -uo pipefail
build=${1:-build/dev} out=${2:-${OUT:-.}}
timeout() {  # SECONDS COMMAND…, never past the ninth minute
  local left=$((540 - SECONDS)) wanted=$1
  shift
  [ "$left" -gt 5 ] || { echo "not run: no time is left for $*"; return 124; }
  command timeout -k 5 $((wanted < left ? wanted : left)) "$@"
}
here=$(cd "$(dirname "$0")/../.." && pwd)
tool=$build/tools/profile/pagoda-profile
workload=$build/tests/profile_workload
estimate=$build/tools/onnx-estimate import=$build/tools/pagoda-import
. "$(dirname "$0")/pack.sh"
. "$(dirname "$0")/machine.sh"
top=$out out=$out/profile_files
rm -rf "$out"
mkdir -p "$out"
exec > >(tee "$out/results.txt") 2>&1
talk=$!
summary() {
  echo "summary $(grep -c '^met' "$out/results.txt") met, $(grep -c '^MISSED' "$out/results.txt") missed, $(grep -c '^not run' "$out/results.txt") not run, $SECONDS s"
}
trap 'pack "$top" profile_files results.txt machine.txt quick.json exact.json rotate.json copy.json' EXIT
finish() { exec >&- 2>&-; wait "$talk"; exit "$1"; }  # results.txt is whole before it is packed
trap 'finish 1' TERM INT
[ -x "$workload" ] || { echo "skipped: tests/gpu/profile_workload.cpp was not built; it needs CUDA's headers and cuBLAS"; finish 77; }
find_libraries
timeout 100 "$tool" --mode time -o "$out/probe.json" -- "$workload" bfloat16 256 >"$out/probe.txt" 2>&1
code=$?
if [ $code -eq 4 ] && ! timeout 30 nvidia-smi -L >/dev/null 2>&1; then echo "skipped: $(tail -1 "$out/probe.txt")"; finish 77; fi
describe "$tool" "$workload" "$build/tools/profile/libpagoda_inject.so" "$estimate"
log=$out/probe.txt
why() {  # what was said of a failure, and how it ended
  [ -f "$log" ] && { grep -m 3 -iE '^pagoda-profile:|error|cannot|failed' "$log"; tail -n 2 "$log"; } | awk '!seen[$0]++' | cut -c1-300 | sed 's/^/        | /'
}
[ $code -eq 0 ] || { echo "first   pagoda-profile --mode time: exit $code"; why; }
timeout 60 "$tool" --mode quick -o "$out/probe_quick.json" -- "$workload" bfloat16 256 >"$out/probe_quick.txt" 2>&1
code=$?
log=$out/probe_quick.txt
[ $code -eq 0 ] || { echo "first   pagoda-profile --mode quick: exit $code"; why; }
if [ $code -eq 4 ]; then echo "skipped: $(tail -1 "$log")"; finish 77; fi
failed=0
# Says whether it holds; where not, the end of what the program said into the file that $log names.
bar() { local name=$1; shift; if "$@"; then echo "met     $name"; else echo "MISSED  $name"; failed=1; why; fi; }
# field FILE EXPRESSION: of the measured JSON as d, with total(precision) and total_bytes(level)
field() {
  python3 - "$1" "$2" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
add = lambda xs: sum(xs) if xs and all(x is not None for x in xs) else None
total = lambda p, node=None: add([(k["flops"] or {}).get(p) for k in d["kernels"] if node in (None, k["node"])])
total_bytes = lambda level, node=None: add([(k["bytes"] or {}).get(level) for k in d["kernels"] if node in (None, k["node"])])
seconds = lambda: add([k["seconds"] for k in d["kernels"]])
print(eval(sys.argv[2]))
PY
}
near() { python3 -c "import sys; a,b,t=map(float,sys.argv[1:]); sys.exit(abs(a-b)>t*abs(b))" "$@" 2>/dev/null; }

uname -a >"$out/machine.txt"; timeout 30 nvidia-smi -q >>"$out/machine.txt" 2>&1
timeout 60 "$build/tools/doctor/pagoda-doctor" >>"$out/machine.txt" 2>&1
grep -o '/.*libcupti[^ ]*' /proc/self/maps >>"$out/machine.txt"

# 2MNK exactly, in every precision, by replay and, where one pass can hold it, without.
for row in float64:float64.tensor float32:float32 tf32:tf32.tensor float16:float16.tensor bfloat16:bfloat16.tensor \
  float8:float8.tensor int8:int8.tensor; do
  name=${row%:*} precision=${row#*:}
  timeout 60 "$tool" --mode exact -o "$out/$name.json" --csv "$out/$name.csv" -- "$workload" "$name" 4096 >"$out/$name.txt" 2>&1
  log=$out/$name.txt
  got=$(field "$out/$name.json" "total('$precision', '$name')" 2>/dev/null)
  # What scales a result by alpha and beta runs on the vector units: at most 4 operations an element beside 8192.
  case $name in float32) within=0.0005 ;; *) within=0 ;; esac
  bar "$name: counted ${got:-nothing}, 2*4096^3 is 137438953472" near "${got:-0}" 137438953472 $within
done
cp "$out/bfloat16.json" "$out/exact.json" 2>/dev/null
timeout 60 "$tool" --mode quick --keep-raw -o "$out/quick.json" -- "$workload" bfloat16 4096 50 >"$out/quick.txt" 2>&1
log=$out/quick.txt
got=$(field "$out/quick.json" "total('bfloat16.tensor', 'bfloat16')" 2>/dev/null)
bar "quick: 50 products counted ${got:-nothing}" near "${got:-0}" $((50 * 137438953472)) 0
echo "passes  quick: $(cat "$out"/quick.json.raw/run0/*.txt 2>/dev/null | sed -n 's/^passes.//p' | sort -u | xargs) on this device, 1 in the catalogue"
timeout 60 "$tool" --mode exact --keep-raw -o "$out/passes.json" -- "$workload" bfloat16 1024 >"$out/passes.txt" 2>&1
echo "passes  exact: $(cat "$out"/passes.json.raw/run0/*.txt 2>/dev/null | sed -n 's/^passes.//p' | sort -u | xargs) on this device; 8 groups of one pass in the catalogue for GH100"
timeout 150 "$tool" --mode rotate -o "$out/rotate.json" -- "$workload" float16 4096 >"$out/rotate.txt" 2>&1
log=$out/rotate.txt
got=$(field "$out/rotate.json" "total('float16.tensor', 'float16')" 2>/dev/null)
bar "rotate: float16 counted ${got:-nothing}" near "${got:-0}" 137438953472 0
timeout 60 "$tool" --mode range --nvtx '^pagoda@bfloat16$' -o "$out/range.json" -- "$workload" bfloat16 4096 >"$out/range.txt" 2>&1
log=$out/range.txt
got=$(field "$out/range.json" "total('bfloat16.tensor')" 2>/dev/null)
bar "range: counted ${got:-nothing}" near "${got:-0}" 137438953472 0

# A copy of 2 GiB: reads as much, writes as much, the caches hold 3 % of it at most.
timeout 60 "$tool" --mode quick -o "$out/copy.json" -- "$workload" copy 268435456 >"$out/copy.txt" 2>&1
log=$out/copy.txt
got=$(field "$out/copy.json" "total_bytes('dram_read', 'copy')" 2>/dev/null)
bar "copy reads ${got:-nothing} B, 2147483648 within 2 %" near "${got:-0}" 2147483648 0.02
got=$(field "$out/copy.json" "total_bytes('dram_write', 'copy')" 2>/dev/null)
bar "copy writes ${got:-nothing} B, 2147483648 within 2 % of what the L2 does not keep" near "${got:-0}" 2147483648 0.05

# A counter image for tests/profile/data: decoded here by the host library alone, as it will be where there is no GPU.
timeout 60 "$tool" --mode quick --batch 2 --keep-raw -o "$out/image.json" -- "$workload" bfloat16 4096 2 >"$out/image.txt.log" 2>&1
first=$(ls "$out"/image.json.raw/run0/*.counters 2>/dev/null | head -1)
if [ -n "$first" ]; then
  cp "$first" "$out/image.counters"; cp "${first%.counters}.txt" "$out/image.txt"
  timeout 60 "$build/tools/profile/pagoda-metrics" --decode "$out/image.counters" >"$out/decode.txt" 2>&1
  bar "an image decodes without the device to the same values" test $? -eq 0
else
  bar "an image is left by --keep-raw" false
fi

# The chip's own peaks, which every mode tells.
for of in float32 bfloat16.tensor bytes.dram bytes.l2; do
  echo "peak    $of: $(field "$out/quick.json" "[(x['peaks'].get('$of') or {}).get('per_second') for x in d['devices']]" 2>/dev/null || echo none) per second"
done
got=$(field "$out/quick.json" "min(len(x['peaks']) for x in d['devices'])" 2>/dev/null)
bar "the device tells its peaks (${got:-none})" test "${got:-0}" -ge 8
got=$(field "$out/copy.json" "[k['bytes']['dram'] / k['seconds'] / d['devices'][k['device']]['peaks']['bytes.dram']['per_second'] for k in d['kernels'] if k['node'] == 'copy'][0]" 2>/dev/null)
bar "a copy reaches ${got:-nothing} of memory's peak, 0.5 to 1 is plausible" python3 -c "import sys; sys.exit(not 0.5 <= float('${got:-0}') <= 1.0)"

# Whether fills and copies are ranges: then there are more ranges than launches, and the batch has no values.
timeout 60 "$tool" --mode quick -o "$out/mixed.json" -- "$workload" mixed 1024 10 >"$out/mixed.txt" 2>&1
log=$out/mixed.txt
got=$(field "$out/mixed.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null)
bar "memset and memcpy between 20 products are no ranges (launches without counters: ${got:-unknown})" test "${got:-1}" = 0

# How a sparse product is counted: 8192 operations if as a dense one, 4096 if by what is multiplied.
if command -v nvcc >/dev/null && timeout 60 nvcc -arch=native -o "$out/sparse" "$here/tests/gpu/sparse_mma.cu" >"$out/sparse.txt" 2>&1; then
  timeout 60 "$tool" --mode exact -o "$out/sparse.json" --csv "$out/sparse.csv" -- "$out/sparse" >>"$out/sparse.txt" 2>&1
  got=$(field "$out/sparse.json" "total('float16.tensor')" 2>/dev/null)
  echo "sparse  one mma.sp of 16x8x32 counted ${got:-nothing}"
  rm -f "$out/sparse"
else
  echo "not run: sparse products, nvcc is not installed or does not know this GPU"
fi

# What profiling costs, on 2000 small products.
start() { date +%s.%N; }
elapsed() { python3 -c "print(f'{$(date +%s.%N) - $1:.2f}')"; }
t=$(start); "$workload" bfloat16 1024 2000 >/dev/null 2>&1; bare=$(elapsed "$t")
for mode in time quick exact; do
  t=$(start); timeout 100 "$tool" --mode $mode -o "$out/cost_$mode.json" -- "$workload" bfloat16 1024 2000 >"$out/cost_$mode.txt" 2>&1
  echo "cost    $mode $(elapsed "$t") s, bare $bare s; launches without counters: $(field "$out/cost_$mode.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null)"
done
for batch in 1000 2000; do  # where the range profiler refuses
  timeout 60 "$tool" --batch $batch -o "$out/batch_$batch.json" -- "$workload" bfloat16 512 4000 >"$out/batch_$batch.txt" 2>&1
  echo "batch   $batch: $(field "$out/batch_$batch.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null) of 4000 launches without counters"
done

# ncu must count the same operations and, within 2 %, the same bytes.
if command -v ncu >/dev/null; then
  timeout 100 "$tool" --mode exact --verify ncu -o "$out/verified.json" -- "$workload" bfloat16 4096 >"$out/verify.txt" 2>&1
  code=$? log=$out/verify.txt
  bar "ncu counts the same" test $code -eq 0
else
  echo "not run: ncu, it is not installed"
fi

# ONNX Runtime's CUDA build under the profiler: does its library bring another CUPTI, are its launches seen?
if python3 -c 'import onnxruntime as o, sys; sys.exit("CUDAExecutionProvider" not in o.get_available_providers())' 2>/dev/null; then
  timeout 100 "$tool" --mode quick -o "$out/onnxruntime.json" -- python3 -c '
import sys, numpy, onnxruntime as o
s = o.InferenceSession(sys.argv[1], providers=["CUDAExecutionProvider"])
shape = [d if isinstance(d, int) else 1 for d in s.get_inputs()[0].shape]
s.run(None, {s.get_inputs()[0].name: numpy.zeros(shape, numpy.float32)})' "${PAGODA_GPU_MODEL:-$here/models/skeletons/resnet50.onnx}" >"$out/onnxruntime.txt" 2>&1
  echo "onnxruntime: exit $?, $(field "$out/onnxruntime.json" "len(d['kernels'])" 2>/dev/null || echo no) kernels, launches without counters: $(field "$out/onnxruntime.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null)"
else
  echo "not run: ONNX Runtime, its CUDA provider is not installed"
fi

# Models, node by node.
if python3 -c 'import torch, onnx, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  for model in resnet50 bert_base gpt2; do
    file=$here/models/skeletons/$model.onnx
    [ -f "$file" ] || { echo "not run: $model, there is no $file"; continue; }
    "$estimate" "$file" --batch 1 --dim sequence=128 -o "$out/$model.estimate.json" >/dev/null 2>&1
    timeout 120 "$tool" --mode exact --estimate "$out/$model.estimate.json" -o "$out/$model.json" -- \
      python3 "$here/models/run_torch.py" "$file" --batch 1 --dim sequence=128 --device cuda --warmup 0 --repeat 1 >"$out/$model.txt" 2>&1
    log=$out/$model.txt
    share=$(field "$out/$model.json" "d['join']['share']" 2>/dev/null)
    bar "$model: ${share:-none} of kernel time joined to nodes" near "${share:-0}" 1 0.001
    ratio=$(field "$out/$model.json" "(lambda c: sum(x[0] for x in c) / sum(x[1] for x in c))([(g['contraction']['measured'], g['contraction']['static']) for g in d['join']['counts'] if g['contraction']['measured'] is not None])" 2>/dev/null)
    echo "ratio   $model: contractions measured over static ${ratio:-unknown}"
  done
else
  echo "not run: models, PyTorch with CUDA and onnx are missing"
fi
summary
finish $failed
