#!/usr/bin/env bash
# The whole check of pagoda-profile on a machine with an NVIDIA GPU, in one call under 10 minutes.
#   tests/gpu/profile.sh [BUILD] [OUT] [GPU]   BUILD: build folder (build/dev), OUT: where results go ($OUT, or .), GPU: 0
# OUT gets results.txt, machine.txt, the JSON of the main modes, and all files in profile.tar.gz, updated per stage.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is missed or a GPU exists but cannot be used;
# reports each bar either way. Stages are independent: one that fails or takes too long does not prevent the others.
# After 9 minutes (PAGODA_GPU_SECONDS, 570, less 30) the remaining ones are skipped. The most informative come first.
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/pack.sh"
. "$tests/machine.sh"
here=$(cd "$tests/../.." && pwd)
build=$(build_of "$here" "${1:-}") out=${2:-${OUT:-.}} gpu=${3:-0} limit=$((${PAGODA_GPU_SECONDS:-570} - 30))
timeout() {  # SECONDS COMMAND…, but never beyond the limit
  local left=$((limit - SECONDS)) wanted=$1
  shift
  [ "$left" -gt 5 ] || { echo "not run: no time is left for $*"; return 124; }
  command timeout -k 5 $((wanted < left ? wanted : left)) "$@"
}
tool=$build/tools/profile/pagoda-profile
workload=$build/tests/profile_workload
estimate=$build/tools/onnx-estimate import=$build/tools/pagoda-import
require_gpu profile.sh "$tool" "$workload"
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-$gpu}
top=$out out=$(mktemp -d)/profile_files
mkdir -p "$top" "$out"
files=(results.txt machine.txt quick.json exact.json rotate.json scale.json)
exec > >(tee "$out/results.txt") 2>&1
talk=$!
summary() {
  echo "summary $(grep -c '^met' "$out/results.txt") met, $(grep -c '^MISSED' "$out/results.txt") missed, $(grep -c '^not run' "$out/results.txt") not run, $SECONDS s"
}
trap 'pack "$top" "$out" "${files[@]}"; rm -rf "$(dirname "$out")"' EXIT
finish() { exec >&- 2>&-; wait "$talk"; exit "$1"; }  # results.txt must be complete before it is packed
trap 'finish 1' TERM INT
stage() { save "$top" "$out" "${files[@]}"; echo "stage   $1 after $SECONDS s"; }  # saves the results so far

hold_gpu "$gpu"
find_libraries
why() {  # prints the error messages of a failure, and how it ended
  [ -f "$log" ] && { grep -m 3 -iE '^pagoda-profile:|error|cannot|failed' "$log"; tail -n 2 "$log"; } | awk '!seen[$0]++' | cut -c1-300 | sed 's/^/        | /'
}
unusable() { echo "UNUSABLE a GPU is there: $1"; why; summary; finish 1; }
log=$out/probe.txt
timeout 100 "$tool" --mode time -o "$out/probe.json" -- "$workload" bfloat16 256 >"$log" 2>&1
code=$?
echo "first   pagoda-profile --mode time: exit $code after $SECONDS s"
describe "$tool" "$workload" "$build/tools/profile/libpagoda_inject.so" "$estimate"
case $code in
  0) ;;
  4) unusable "driver or device cannot be used (exit 4)" ;;
  6) unusable "its driver is older than the CUDA of this build (exit 6)" ;;
  *) why ;;
esac
log=$out/probe_quick.txt
timeout 60 "$tool" --mode quick -o "$out/probe_quick.json" -- "$workload" bfloat16 256 >"$log" 2>&1
code=$?
echo "first   pagoda-profile --mode quick: exit $code after $SECONDS s"
if [ $code -ne 0 ] && carried=$(carried_cupti "$build"); then
  why
  PAGODA_CUPTI=$carried timeout 60 "$tool" --mode quick -o "$out/probe_quick.json" -- "$workload" bfloat16 256 >"$log" 2>&1
  code=$?
  echo "second  the same with $carried: exit $code after $SECONDS s"
  [ $code -ne 0 ] || export PAGODA_CUPTI=$carried
fi
case $code in
  0) ;;
  4 | 6) unusable "its counters cannot be read (exit $code); times alone: probe.json" ;;
  *) why ;;
esac
failed=0
# bar NAME COMMAND...: reports whether the bar is met; if not, also prints the end of the output in the file $log.
bar() { local name=$1; shift; if "$@"; then echo "met     $name"; else echo "MISSED  $name"; failed=1; why; fi; }
command -v python3 >/dev/null || echo "not run: bars read JSON with python3, which is missing; the files are in the archive"
# field FILE EXPRESSION: evaluates on the measured JSON d, with total(precision) and total_bytes(level).
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

# Products in one pass, then by replay: exactly 2MNK.
timeout 60 "$tool" --mode quick --batch 50 --keep-raw -o "$out/quick.json" -- "$workload" bfloat16 4096 50 >"$out/quick.txt" 2>&1
log=$out/quick.txt
got=$(field "$out/quick.json" "total('bfloat16.tensor', 'bfloat16')" 2>/dev/null)
bar "quick: 50 products counted ${got:-nothing}" near "${got:-0}" $((50 * 137438953472)) 0
echo "passes  quick: $(cat "$out"/quick.json.raw/run0/*.txt 2>/dev/null | sed -n 's/^passes.//p' | sort -u | xargs) on this device, 1 in the catalogue"
stage quick
timeout 60 "$tool" --mode exact -o "$out/exact.json" --csv "$out/exact.csv" -- "$workload" bfloat16 4096 >"$out/exact.txt" 2>&1
log=$out/exact.txt
got=$(field "$out/exact.json" "total('bfloat16.tensor', 'bfloat16')" 2>/dev/null)
bar "exact: bfloat16 counted ${got:-nothing}, 2*4096^3 is 137438953472" near "${got:-0}" 137438953472 0
echo "shared  one product: $(field "$out/exact.json" "total_bytes('shared', 'bfloat16')" 2>/dev/null || echo unknown) B of shared memory, $(field "$out/exact.json" "total_bytes('l1', 'bfloat16')" 2>/dev/null || echo unknown) B of the L1 (loads and stores alone)"
stage exact

# 2 GiB scaled in place: equal reads and writes, of which the caches hold at most 3 %. L2 sees both once.
timeout 60 "$tool" --mode quick -o "$out/scale.json" -- "$workload" scale 268435456 >"$out/scale.txt" 2>&1
log=$out/scale.txt
got=$(field "$out/scale.json" "total_bytes('dram_read', 'scale')" 2>/dev/null)
bar "scale reads ${got:-nothing} B, 2147483648 within 2 %" near "${got:-0}" 2147483648 0.02
got=$(field "$out/scale.json" "total_bytes('dram_write', 'scale')" 2>/dev/null)
bar "scale writes ${got:-nothing} B, 2147483648 within 5 %: what the L2 keeps leaves it later" near "${got:-0}" 2147483648 0.05
got=$(field "$out/scale.json" "total_bytes('l2', 'scale')" 2>/dev/null)
bar "scale moves ${got:-nothing} B between the L1s and the L2, 4294967296 within 2 %" near "${got:-0}" 4294967296 0.02
got=$(field "$out/scale.json" "[k['bytes']['dram'] / k['seconds'] / d['devices'][k['device']]['peaks']['bytes.dram']['per_second'] for k in d['kernels'] if k['node'] == 'scale'][0]" 2>/dev/null)
bar "scale reaches ${got:-nothing} of memory's peak, 0.5 to 1 is plausible" python3 -c "import sys; sys.exit(not 0.5 <= float('${got:-0}') <= 1.0)"
stage scale

# A counter image for tests/profile/data: decoded here by the host library alone, as on a machine without a GPU.
timeout 60 "$tool" --mode quick --batch 2 --keep-raw -o "$out/image.json" -- "$workload" bfloat16 4096 2 >"$out/image.txt.log" 2>&1
first=$(ls "$out"/image.json.raw/run0/*.counters 2>/dev/null | head -1)
if [ -n "$first" ]; then
  cp "$first" "$out/image.counters"; cp "${first%.counters}.txt" "$out/image.txt"
  timeout 60 "$build/tools/profile/pagoda-metrics" --decode "$out/image.counters" >"$out/decode.txt" 2>&1
  bar "an image decodes without the device to the same values" test $? -eq 0
else
  bar "an image is left by --keep-raw" false
fi

stage image

# ncu must count the same operations, and bytes within 2 % where no cache can hold the data.
if command -v ncu >/dev/null; then
  timeout 100 "$tool" --mode exact --verify ncu -o "$out/verified.json" -- "$workload" bfloat16 4096 >"$out/verify.txt" 2>&1
  code=$? log=$out/verify.txt
  bar "ncu counts the same operations" test $code -eq 0
  timeout 100 "$tool" --mode quick --verify ncu --verify-bytes 2 -o "$out/verified_scale.json" -- "$workload" scale 268435456 >"$out/verify_scale.txt" 2>&1
  code=$? log=$out/verify_scale.txt
  bar "ncu counts the same bytes of 2 GiB scaled, within 2 %" test $code -eq 0
else
  echo "not run: ncu, it is not installed"
fi
stage ncu

# Exactly 2MNK in every other precision.
for row in float64:float64.tensor float32:float32 tf32:tf32.tensor float16:float16.tensor float8:float8.tensor int8:int8.tensor; do
  name=${row%:*} precision=${row#*:}
  timeout 60 "$tool" --mode exact -o "$out/$name.json" --csv "$out/$name.csv" -- "$workload" "$name" 4096 >"$out/$name.txt" 2>&1
  log=$out/$name.txt
  got=$(field "$out/$name.json" "total('$precision', '$name')" 2>/dev/null)
  # Scaling a result by alpha and beta runs on the vector units: at most 4 operations per element besides 8192.
  case $name in float32) within=0.0005 ;; *) within=0 ;; esac
  bar "$name: counted ${got:-nothing}, 2*4096^3 is 137438953472" near "${got:-0}" 137438953472 $within
done
timeout 60 "$tool" --mode exact --batch 1 --keep-raw -o "$out/passes.json" -- "$workload" bfloat16 1024 >"$out/passes.txt" 2>&1
echo "passes  exact: $(cat "$out"/passes.json.raw/run0/*.txt 2>/dev/null | sed -n 's/^passes.//p' | sort -u | xargs) on this device; 8 groups of one pass in the catalogue for GH100"
timeout 150 "$tool" --mode rotate -o "$out/rotate.json" -- "$workload" float16 4096 >"$out/rotate.txt" 2>&1
log=$out/rotate.txt
got=$(field "$out/rotate.json" "total('float16.tensor', 'float16')" 2>/dev/null)
bar "rotate: float16 counted ${got:-nothing}" near "${got:-0}" 137438953472 0
timeout 60 "$tool" --mode range --nvtx '^pagoda@bfloat16$' -o "$out/range.json" -- "$workload" bfloat16 4096 >"$out/range.txt" 2>&1
log=$out/range.txt
got=$(field "$out/range.json" "total('bfloat16.tensor')" 2>/dev/null)
bar "range: counted ${got:-nothing}" near "${got:-0}" 137438953472 0
stage precisions

# The chip's own peaks, which every mode reports.
for of in float32 bfloat16.tensor bytes.dram bytes.l2; do
  echo "peak    $of: $(field "$out/quick.json" "[(x['peaks'].get('$of') or {}).get('per_second') for x in d['devices']]" 2>/dev/null || echo none) per second"
done
got=$(field "$out/quick.json" "min(len(x['peaks']) for x in d['devices'])" 2>/dev/null)
bar "the device tells its peaks (${got:-none})" test "${got:-0}" -ge 8

# Whether fills and copies count as ranges: then there are more ranges than launches, and the batch has no values.
timeout 60 "$tool" --mode quick -o "$out/mixed.json" -- "$workload" mixed 1024 10 >"$out/mixed.txt" 2>&1
log=$out/mixed.txt
got=$(field "$out/mixed.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null)
bar "memset and memcpy between 20 products are no ranges (launches without counters: ${got:-unknown})" test "${got:-1}" = 0

# Two processes that count at once: one of them is probably refused, and says why.
timeout 60 "$tool" --mode quick -o "$out/first.json" -- "$workload" bfloat16 4096 200 >"$out/first.txt" 2>&1 &
timeout 60 "$tool" --mode quick -o "$out/beside.json" -- "$workload" bfloat16 4096 200 >"$out/beside.txt" 2>&1
code=$?
wait $!
echo "two     at once: exits $? and $code; $(grep -h -m 1 '^pagoda-profile:' "$out/first.txt" "$out/beside.txt" | cut -c1-200)"
stage mixed

# How the hardware counts a sparse product: 8192 operations if like a dense one, 4096 if only what is multiplied.
if command -v nvcc >/dev/null && timeout 60 nvcc -arch=native -o "$out/sparse" "$here/tests/gpu/sparse_mma.cu" >"$out/sparse.txt" 2>&1; then
  timeout 60 "$tool" --mode exact -o "$out/sparse.json" --csv "$out/sparse.csv" -- "$out/sparse" >>"$out/sparse.txt" 2>&1
  got=$(field "$out/sparse.json" "total('float16.tensor')" 2>/dev/null)
  echo "sparse  one mma.sp of 16x8x32 counted ${got:-nothing}"
  rm -f "$out/sparse"
else
  echo "not run: sparse products, nvcc is not installed or does not know this GPU"
fi

# Cost of profiling, on 50 small products: an H200 in a virtual machine takes about 60 ms for each pass of a launch.
start() { date +%s.%N; }
elapsed() { python3 -c "print(f'{$(date +%s.%N) - $1:.2f}')"; }
t=$(start); "$workload" bfloat16 1024 50 >/dev/null 2>&1; bare=$(elapsed "$t")
for mode in time quick exact; do
  t=$(start); timeout 100 "$tool" --mode $mode -o "$out/cost_$mode.json" -- "$workload" bfloat16 1024 50 >"$out/cost_$mode.txt" 2>&1
  echo "cost    $mode $(elapsed "$t") s, bare $bare s; launches without counters: $(field "$out/cost_$mode.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null)"
done
for batch in 64 600; do  # many readings of few launches, and one of many
  timeout 60 "$tool" --batch $batch -o "$out/batch_$batch.json" -- "$workload" bfloat16 512 600 >"$out/batch_$batch.txt" 2>&1
  echo "batch   $batch: $(field "$out/batch_$batch.json" "d['env'].get('launches_without_counters', 0)" 2>/dev/null) of 600 launches without counters"
done

# Models, node by node: operations by replay, bytes from an undisturbed run.
if python3 -c 'import torch, onnx, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  python3 -c 'import torch; b = torch.backends; print("set     TF32 of products", b.cuda.matmul.allow_tf32, "of convolutions", b.cudnn.allow_tf32, "precision", torch.get_float32_matmul_precision())'
  for model in resnet50 bert_base gpt2; do
    file=$here/models/skeletons/$model.onnx
    [ -f "$file" ] || { echo "not run: $model, there is no $file"; continue; }
    case $model in resnet50) sizes=(--batch 1) ;; *) sizes=(--batch 1 --dim sequence=128) ;; esac
    log=$out/$model.estimate.txt
    "$estimate" "$file" "${sizes[@]}" -o "$out/$model.estimate.json" >"$log" 2>&1 || { bar "$model: an estimate" false; continue; }
    for mode in exact quick; do
      timeout 120 "$tool" --mode $mode --estimate "$out/$model.estimate.json" -o "$out/$model.$mode.json" -- \
        python3 "$here/models/run_torch.py" "$file" "${sizes[@]}" --device cuda --warmup 0 --repeat 1 >"$out/$model.$mode.txt" 2>&1
    done
    log=$out/$model.exact.txt
    share=$(field "$out/$model.exact.json" "d['join']['share']" 2>/dev/null)
    bar "$model: ${share:-none} of kernel time joined to nodes" near "${share:-0}" 1 0.001
    ratio=$(field "$out/$model.exact.json" "(lambda c: sum(x[0] for x in c) / sum(x[1] for x in c))([(g['contraction']['measured'], g['contraction']['static']) for g in d['join']['counts'] if g['contraction']['measured'] is not None])" 2>/dev/null)
    echo "ratio   $model: contractions measured over static ${ratio:-unknown}"
    written=$(field "$out/$model.quick.json" "add([k['bytes']['dram_write'] for k in d['kernels']])" 2>/dev/null)
    echo "written $model: ${written:-unknown} B by the whole model, $(field "$out/$model.estimate.json" "d['totals']['bytes_written']" 2>/dev/null || echo unknown) estimated"
    echo "causes  $model: $(field "$out/$model.exact.json" "dict(__import__('collections').Counter(f for g in d['join']['counts'] for f in g['flags']))" 2>/dev/null || echo unknown)"
    stage "$model"
  done
else
  echo "not run: models, PyTorch with CUDA and onnx are missing"
fi

# ONNX Runtime's CUDA build under the profiler: does its library bring another CUPTI, and are its launches seen?
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
summary
finish $failed
