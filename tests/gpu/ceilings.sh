#!/usr/bin/env bash
# The whole check of ert-ceilings on a machine with an NVIDIA GPU, in one call under 10 minutes.
#   tests/gpu/ceilings.sh [BUILD] [OUT] [GPU]   BUILD: build folder (build/dev), OUT: where results go ($OUT or .), GPU: 0
# OUT gets ceilings.json, ceilings.csv, the log ceilings.txt and everything in
# ceilings.tar.gz, updated after each stage.
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is missed or a GPU exists but cannot be used;
# reports each bar either way. Each stage is a process with its own time limit: one that fails, hangs or loses the
# device costs only its own results. PAGODA_GPU_SECONDS limits all stages together (570).
set -uo pipefail
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/pack.sh"
. "$tests/machine.sh"
build=$(build_of "$(cd "$tests/../.." && pwd)" "${1:-}") out=${2:-${OUT:-.}} gpu=${3:-0} limit=${PAGODA_GPU_SECONDS:-570}
tool=$build/tools/ceilings/ert-ceilings
require_gpu ceilings.sh "$tool"
top=$out out=$(mktemp -d)/ceilings_files
mkdir -p "$top" "$out"
files=(ceilings.json ceilings.csv ceilings.txt)
trap 'pack "$top" "$out" "${files[@]}"; rm -rf "$(dirname "$out")"' EXIT
log=$out/ceilings.txt
started=$SECONDS
left() { echo $((limit - (SECONDS - started))); }  # of ten minutes, with time to finish
part() { echo $(($1 * limit / 570)); }             # scales a stage's share of ten minutes

hold_gpu "$gpu"
find_libraries
timeout 60 "$tool" --gpu "$gpu" --quick --only launch >"$log" 2>&1
code=$?
echo "first   ert-ceilings --only launch: exit $code after $((SECONDS - started)) s"
if [ $code -eq 4 ] || [ $code -eq 6 ]; then
  echo "UNUSABLE a GPU is there: $(tail -1 "$log")"
  describe "$tool" | tee -a "$log"
  exit 1
fi
if [ $code -ne 0 ]; then  # each stage would fail with the same message
  tail -n 5 "$log" | cut -c1-300 | sed 's/^/        | /'
fi
describe "$tool" | tee -a "$log"
failed=0 held=0
met() { echo "met     $1"; held=$((held + 1)); }
missed() { echo "MISSED  $1"; failed=$((failed + 1)); }
bar() {  # bar NAME COMMAND...: reports whether the bar is met
  local name=$1
  shift
  if "$@"; then met "$name"; else missed "$name"; fi
}
stage() {  # stage SECONDS NAME ARGUMENTS...: runs the tool, keeps its output; sets `code`
  local seconds=$(part "$1") name=$2 most
  shift 2
  most=$(left)
  if [ "$most" -lt 15 ]; then
    echo "not run: $name, no time is left"
    code=124
    return
  fi
  [ "$seconds" -gt "$most" ] && seconds=$most
  { echo; echo "== $name"; } >>"$log"
  timeout -k 5 "$seconds" "$tool" --gpu "$gpu" "$@" >>"$log" 2>&1
  code=$?
  save "$top" "$out" "${files[@]}"
  echo "stage   $name: exit $code after $((SECONDS - started)) s in all"
  [ $code -eq 0 ] || tail -n 3 "$log" | cut -c1-300 | sed 's/^/        | /'
}

bar "machine code is what it claims" "$tool" --gpu "$gpu" --audit >"$out/audit.txt"
tail -1 "$out/audit.txt"
timeout 30 nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1

# The most information in the least time: one row of each unit and level, against counters.
stage 60 "main rows" --quick --budget "$(part 20)" --counters --json "$out/main.json" --csv "$out/main.csv" \
  --only float32.cuda.fma,bfloat16.wgmma,bfloat16.tcgen05,bfloat16.mma,dram.read,dram.copy,l2.read,shared.read
sed -n 's/^/main    /p' "$out/main.csv" 2>/dev/null | cut -c1-120

# All ceilings. A kernel that loses the device ends the process, which has written
# the rest: the next process resumes there.
to=(--json "$out/ceilings.json" --csv "$out/ceilings.csv" --csv-ert "$out/ert.txt" --csv-rocprof "$out/roofline.csv")
stage 240 "all ceilings" --budget "$(part 170)" "${to[@]}"
for _ in 1 2 3; do
  [ $code -eq 3 ] && grep -q 'the device is lost\|not reached' "$out/ceilings.json" || break
  stage 90 "what was not reached" --budget "$(part 60)" --resume "$out/ceilings.json" "${to[@]}"
done
if [ ! -s "$out/ceilings.json" ]; then
  # If even that fails: each family on its own, into one file.
  for family in cuda dram l2,l1,shared .mma wgmma,tcgen05 atomics,launch,sync pcie gemm; do
    resume=()
    [ -s "$out/ceilings.json" ] && resume=(--resume "$out/ceilings.json")
    stage 60 "family $family" --budget "$(part 25)" --only "$family" "${resume[@]}" "${to[@]}"
  done
fi
bar "ceilings were measured" test -s "$out/ceilings.json"
bar "nothing is impossible, wrong or lost (exit $code)" test $code -eq 0

# The tensor instructions that reach the full rate: on Hopper, on data-centre Blackwell, on others.
fast=mma
for way in wgmma tcgen05; do grep -q "\"bfloat16.$way\"" "$out/ceilings.json" 2>/dev/null && fast=$way; done

# Credited work against hardware counters; these need privileges, and it is reported if they are absent.
stage 120 "counters" --quick --budget "$(part 30)" --counters --only cuda.fma,wgmma,tcgen05,float64.mma,dram,l1,shared \
  --json "$out/counters.json" --csv "$out/counters.csv"
# A second process must agree within 2 %.
stage 130 "a second process" --budget "$(part 80)" --seed 2 --json "$out/second.json" --check "$out/ceilings.json" --tolerance 0.02
bar "a second process agrees within 2 % (exit $code)" test $code -eq 0
# Idle, active idle, six loads, six intensities, each at two duties, 3.5 s per window.
stage 170 "energy" --quick --budget "$(part 8)" --energy --json "$out/energy.json" \
  --only "float32.cuda.fma,float64.cuda.fma,bfloat16.$fast,shared.read,l2.read,dram.read"

# The numbers below come from the CSV and from the checks in the JSON files.
field() {  # field ID MODE COLUMN
  [ -s "$out/ceilings.csv" ] && awk -F, -v id="$1" -v mode="$2" -v column="$3" '
    NR == 1 { for (i = 1; i <= NF; ++i) if ($i == column) at = i }
    $1 == id && $2 == mode { print $at }' "$out/ceilings.csv"
}
at_least() {  # at_least VALUE BAR
  awk -v value="${1:-}" -v bar="$2" 'BEGIN { exit !(value != "" && value + 0 >= bar + 0) }'
}
tensor=(bfloat16.$fast float16.$fast tf32.$fast float8.$fast int8.$fast)
if [ "$fast" = tcgen05 ]; then
  tensor+=(float8.tcgen05.mx float4.tcgen05.mx float4.tcgen05.nv)
  grep -q '"int8.tcgen05"' "$out/ceilings.json" || tensor=("${tensor[@]/int8.tcgen05/}")  # 10.3 lacks it
fi
# For tcgen05 the best counts: one block, a pair of blocks, or a pair's longer products.
for id in float32.cuda.fma float64.cuda.fma float16.cuda.fma float64.mma ${tensor[@]}; do
  value=$(for way in "$id" "${id/tcgen05/tcgen05.pair}" "${id/tcgen05/tcgen05.pair}.long"; do
    field "$way" issue percent_observed_clock
  done | sort -g | tail -1)
  bar "$id issues at ${value:-?} % of its clock, bar 97" at_least "$value" 97
done
for id in l1.read shared.read; do
  value=$(field $id sustained percent_observed_clock)
  bar "$id at ${value:-?} % of 128 B/clk/SM, bar 97" at_least "$value" 97
done
for row in dram.write:92 dram.read:87 dram.copy:87 dram.triad:87; do
  value=$(field "${row%:*}" sustained percent_observed_clock)
  bar "${row%:*} at ${value:-?} % of the bus, bar ${row#*:}" at_least "$value" "${row#*:}"
done
ours=$(field "bfloat16.$fast" sustained value) library=$(field bfloat16.cublaslt.gemm sustained value)
if [ -n "$library" ]; then
  bar "sustained bfloat16 ${ours:-?} FLOP/s, the library's $library" at_least "$ours" "$library"
else
  echo "not run: the library's products; $(grep -o 'library products: [^"]*' "$out/ceilings.json" 2>/dev/null | head -1)"
fi
# Best results of other tools on an H200: 59.5 TFLOP/s float32, 685 TFLOP/s bfloat16, 4182 GB/s triad.
bar "float32 above 59.5 TFLOP/s" at_least "$(field float32.cuda.fma sustained value)" 59.5e12
bar "bfloat16 above 685 TFLOP/s" at_least "$ours" 685e12
bar "triad above 4182 GB/s" at_least "$(field dram.triad sustained value)" 4182e9
if grep -q counted_over_credited "$out/counters.json" 2>/dev/null; then
  bar "counters agree within 0.5 % of work and 2 % of bytes" sh -c "! grep -q '^FAILED counters' '$log'"
else
  echo "not run: counters; $(grep -o 'counters: [^"]*' "$out/counters.json" 2>/dev/null | head -1)"
fi
grep -q '"energy\.' "$out/energy.json" 2>/dev/null && grep '^energy' "$log" ||
  echo "not run: energy; $(grep -o 'energy[: ][^"]*' "$out/energy.json" 2>/dev/null | head -1)"
grep '^FAILED\|^not run' "$log" | sort -u
echo "summary $held met, $failed missed, $((SECONDS - started)) s"
exit $((failed > 0))
