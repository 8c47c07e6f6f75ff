#!/usr/bin/env bash
# Runs the AArch64 kernels of ert-ceilings on an emulator, at every SVE vector length that they support: results against
# closed forms, and the work and bytes of the executed instructions against those credited.
#   tests/ceilings/arm64/run.sh [FOLDER]     FOLDER: where things are built; a temporary one by default
# Needs g++-aarch64-linux-gnu and qemu-user; exits 77 if one is missing, 1 if anything is wrong.
set -euo pipefail
source=$(cd "$(dirname "$0")/../../.." && pwd)
for tool in aarch64-linux-gnu-g++ aarch64-linux-gnu-objdump aarch64-linux-gnu-nm qemu-aarch64; do
  command -v $tool >/dev/null || { echo "skipped: no $tool; apt-get install g++-aarch64-linux-gnu qemu-user"; exit 77; }
done
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
program=$folder/kernels
# Linked at fixed addresses, so that addresses in the emulator's log and in the listing match.
aarch64-linux-gnu-g++ -c "$source"/tools/ceilings/cpu_kernels_arm64.S -o "$folder/cpu_kernels.o"
aarch64-linux-gnu-objdump -d --no-show-raw-insn "$folder/cpu_kernels.o" |
  awk -f "$source"/tools/ceilings/cpu_loops.awk >"$folder/cpu_loops.cpp"
aarch64-linux-gnu-g++ -std=c++20 -O1 -Wall -Wextra -Werror -static -no-pie -I"$source"/lib/base/include -I"$source"/lib/base/internal -I"$source"/lib/core/include -I"$source/tools/ceilings" \
  "$source"/tests/ceilings/arm64/kernels.cpp "$source"/tools/ceilings/{cpu_table_arm64,code_audit}.cpp \
  "$folder"/cpu_kernels.o "$folder"/cpu_loops.cpp \
  -o "$program"

# name_loop and name_loop_end of every kernel, as "name from to" in decimal.
aarch64-linux-gnu-nm "$program" | awk '
  function decimal(text,   i, value) {
    for (i = 1; i <= length(text); ++i) value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
  }
  $3 ~ /^pagoda_.*_loop$/ { sub(/_loop$/, "", $3); from[$3] = decimal($1) }
  $3 ~ /^pagoda_.*_loop_end$/ { sub(/_loop_end$/, "", $3); to[$3] = decimal($1) }
  END { for (name in from) print name, from[name], to[name] }' | sort -k2n >"$folder/loops"
aarch64-linux-gnu-objdump -d --no-show-raw-insn "$program" >"$folder/listing"
first=$(awk 'NR == 1 { printf "0x%x", $2 }' "$folder/loops") last=$(awk 'END { printf "0x%x", $3 }' "$folder/loops")
one=-singlestep  # one log line per instruction
qemu-aarch64 --help | grep -q one-insn-per-tb && one=-one-insn-per-tb

# Work executed in each loop: FLOP by the instruction's format, bytes by its registers. BITS: of an SVE vector.
count() {  # count LOG BITS: "name work bytes additions instructions"
  awk -v bits="$2" '
    function decimal(text,   i, value) {
      for (i = 1; i <= length(text); ++i) value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
      return value
    }
    FILENAME == ARGV[1] { name[NR] = $1; from[NR] = $2; to[NR] = $3; loops = NR; next }
    FILENAME == ARGV[2] {
      if ($1 ~ /^[0-9a-f]+:$/) { at = decimal(substr($1, 1, length($1) - 1)); opcode[at] = $2; operand[at] = $3 }
      next
    }
    /^Trace/ {
      split($0, part, "/")
      sub(/^0+/, "", part[2])
      ++executed[decimal(part[2])]
    }
    END {
      # Lanes: 128 bits for v registers, the whole vector for z registers.
      for (i = 1; i <= loops; ++i) {
        work = moved = additions = all = 0
        for (at = from[i]; at < to[i]; at += 4) {
          n = executed[at] + 0
          all += n
          op = opcode[at]; x = operand[at]
          if (op == "fmadd" && x ~ /^d/) work += n * 2
          else if (op == "fmla" && x ~ /^v.*\.2d/) work += n * 2 * 2
          else if (op == "fmla" && x ~ /^v.*\.4s/) work += n * 2 * 4
          else if (op == "fmla" && x ~ /^v.*\.8h/) work += n * 2 * 8
          else if (op == "sdot" && x ~ /^v.*\.4s/) work += n * 2 * 4 * 4
          else if (op == "bfdot" && x ~ /^v.*\.4s/) work += n * 2 * 2 * 4
          else if (op == "fmla" && x ~ /^z.*\.d/) work += n * 2 * bits / 64
          else if (op == "fmla" && x ~ /^z.*\.s/) work += n * 2 * bits / 32
          else if (op == "fmla" && x ~ /^z.*\.h/) work += n * 2 * bits / 16
          else if (op ~ /^(ldp|stp|stnp)$/ && x ~ /^q/) moved += n * 32
          else if (op ~ /^(ldr|str)$/ && x ~ /^z/) moved += n * bits / 8
          else if (op == "add" && x ~ /^x2,/) additions += n
          else if (op ~ /^(ldr|str|ldp|stp|stnp|fmla|fmadd|sdot|bfdot)$/) { print "unknown form: " op " " x; exit 1 }
        }
        print name[i], work, moved, additions, all
      }
    }' "$folder/loops" "$folder/listing" "$1"
}

failed=0
compare() {  # compare OUTPUT COUNTS: prints a line for each kernel whose credited and executed work differ
  awk '
    FILENAME == ARGV[1] { work[$1] = $2; bytes[$1] = $3; additions[$1] = $4; all[$1] = $5; next }
    $1 == "kernel" {
      ++seen
      got = $4 == "work" ? work[$2] : $4 == "bytes" ? bytes[$2] : additions[$2]
      if (got != $5 || !(all[$2] > 0)) print $2 ": " $5 " " $4 " credited, " got " executed"
    }
    END { if (!seen) print "no kernel ran" }' "$2" "$1"
}

for bits in 128 256 512; do
  cpu=max,sve=on,sve-max-vq=$((bits / 128))
  log=$folder/$bits
  if ! qemu-aarch64 -cpu $cpu $one -d exec,nochain -dfilter "$first..$last" -D "$log.log" "$program" >"$log.out"; then
    grep WRONG "$log.out" || echo "the emulator failed"
    failed=1
  fi
  count "$log.log" $bits >"$log.counts"
  differences=$(compare "$log.out" "$log.counts")
  [ -z "$differences" ] || { echo "$differences"; failed=1; }
  grep -q refused "$log.out" && { grep refused "$log.out"; failed=1; }
  grep -q "pagoda_fma_f64_sve $bits " "$log.out" || { echo "no SVE vectors of $bits bits"; failed=1; }
  echo "$bits bits: $(grep -c '^kernel' "$log.out") kernels, $(awk '{ n += $5 } END { print n }' "$log.counts") instructions of their loops"
done

# Errors must be found: one trip more than credited, in every kernel whose result or count shows it.
log=$folder/wrong
qemu-aarch64 -cpu max,sve=on,sve-max-vq=2 $one -d exec,nochain -dfilter "$first..$last" -D "$log.log" "$program" wrong \
  >"$log.out" && { echo "a wrong result was not found"; failed=1; }
count "$log.log" 256 >"$log.counts"
[ "$(compare "$log.out" "$log.counts" | wc -l)" -eq "$(grep -c '^kernel' "$log.out")" ] ||
  { echo "work beyond the credited was not found"; failed=1; }
[ "$(grep -c 'WRONG.*must be' "$log.out")" -ge 10 ] || { echo "wrong sums were not found"; failed=1; }
# Vector lengths that the kernels do not support are refused, not run.
qemu-aarch64 -cpu max,sve=on,sve-max-vq=8,sve-default-vector-length=128 "$program" >"$folder/1024.out" || failed=1
[ "$(grep -c '^refused.*_sve$' "$folder/1024.out")" -eq 7 ] || { echo "vectors of 1024 bits were not refused"; failed=1; }
[ $failed -eq 0 ] && echo "all right"
exit $failed
