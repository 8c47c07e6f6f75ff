#!/usr/bin/env bash
# The whole check of ert-ceilings on a machine with an NVIDIA GPU, in one call under 10 minutes.
#   tests/gpu/ceilings.sh [BUILD] [OUT] [GPU]   BUILD: build folder (build/dev), OUT: where results go (.), GPU: number (0)
# Exits 77 where there is no GPU, 0 where every bar is met, 1 where one is not; says each bar either way.
set -uo pipefail
build=${1:-build/dev} out=${2:-.} gpu=${3:-0}
tool=$build/tools/ceilings/ert-ceilings
mkdir -p "$out"

"$tool" --gpu "$gpu" --quick --only launch >"$out/probe.txt" 2>&1
if [ $? -eq 4 ]; then
  echo "skipped: $(tail -1 "$out/probe.txt")"
  exit 77
fi
failed=0
bar() {  # bar NAME CONDITION...: says whether it holds
  local name=$1
  shift
  if "$@"; then echo "met     $name"; else echo "MISSED  $name"; failed=1; fi
}

bar "machine code is what it claims" "$tool" --gpu "$gpu" --audit
timeout 60 nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1
timeout 200 "$tool" --gpu "$gpu" --budget 120 --json "$out/ceilings.json" --csv "$out/ceilings.csv" \
  --csv-ert "$out/ert.txt" --csv-rocprof "$out/roofline.csv"
bar "the first run ends well" test $? -eq 0
# A second process must find the same within 2 %.
timeout 200 "$tool" --gpu "$gpu" --budget 100 --seed 2 --json "$out/second.json" --check "$out/ceilings.json" --tolerance 0.02
bar "a second process agrees within 2 %" test $? -eq 0

# value of one column of one ceiling: field ID MODE COLUMN
field() {
  awk -F, -v id="$1" -v mode="$2" -v column="$3" '
    NR == 1 { for (i = 1; i <= NF; ++i) if ($i == column) at = i }
    $1 == id && $2 == mode { print $at }' "$out/ceilings.csv"
}
at_least() {  # at_least VALUE BAR
  awk -v value="${1:-}" -v bar="$2" 'BEGIN { exit !(value != "" && value + 0 >= bar + 0) }'
}
for id in float32.cuda.fma float64.cuda.fma float16.cuda.fma float64.mma bfloat16.wgmma float16.wgmma tf32.wgmma \
  float8.wgmma int8.wgmma; do
  value=$(field $id issue percent_observed_clock)
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

# Hardware counters, where ncu may read them: FLOP and bytes of one launch of a kernel against what is credited.
if command -v ncu >/dev/null; then
  timeout 120 ncu --clock-control none --csv -k regex:'fma_f32|hbm_triad' -c 4 \
    --metrics smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,dram__bytes_read.sum,dram__bytes_write.sum \
    "$tool" --gpu "$gpu" --quick --budget 2 --only float32.cuda.fma,dram.triad >"$out/ncu.csv" 2>&1
  grep -c ffma "$out/ncu.csv" >/dev/null && echo "counters in $out/ncu.csv"
else
  echo "not run: counters, there is no ncu"
fi
timeout 150 "$tool" --gpu "$gpu" --quick --energy --only float32.cuda.fma --json "$out/energy.json" >"$out/energy.txt" 2>&1
grep '^energy' "$out/energy.txt" || echo "not run: energy; see $out/energy.txt"
exit $failed
