#!/usr/bin/env bash
# Checks which compiler builds kernels for which chip, by configuring only: nvcc of CUDA 13 lacks Volta, CUDA 12 has it.
#   cuda_configure.sh SOURCE FOLDER
set -euo pipefail
source=$1 out=$2
rm -rf "$out"
mkdir -p "$out/thirteen" "$out/twelve"
printf '#!/bin/sh\nprintf "sm_75\\nsm_80\\nsm_87\\nsm_90\\n"\n' >"$out/thirteen/nvcc"
printf '#!/bin/sh\nprintf "sm_70\\nsm_75\\nsm_80\\nsm_87\\nsm_90\\n"\n' >"$out/twelve/nvcc"
chmod +x "$out"/*/nvcc
configure() {
  cmake -S "$source" -B "$out/build" -G Ninja -DPAGODA_TESTS=OFF -DPAGODA_EXAMPLES=OFF -DPAGODA_CUDA=ON \
    -DPAGODA_NVCC="$out/thirteen/nvcc" -DPAGODA_NVCC_12="$1" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
}
expect() { grep -qE "$1" "$out/build/build.ninja" || { echo "expected in build.ninja: $1"; exit 1; }; }
refuse() { if grep -qE "$1" "$out/build/build.ninja"; then echo "not expected in build.ninja: $1"; exit 1; fi; }
configure "$out/twelve/nvcc"
expect "twelve/nvcc .*compute_70"
expect "thirteen/nvcc .*compute_80"
expect "thirteen/nvcc .*compute_87"
refuse "twelve/nvcc .*compute_80"
refuse "compute_120"
table=$out/build/tools/ceilings/gpu_blobs.cpp
for kernel in vector memory tensor; do grep -q "pagoda_${kernel}_ptx" "$table" || { echo "no PTX of $kernel"; exit 1; }; done
if grep -q "pagoda_tcgen05_ptx" "$table"; then echo "tcgen05 is not forward compatible"; exit 1; fi
configure ""
refuse "compute_70"
grep -q "no GPU kernels for sm_70" "$out/log" || { echo "nothing says that sm_70 is left out"; exit 1; }
