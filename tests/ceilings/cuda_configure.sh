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

# NVRTC and ptxas of wheels as nvcc: a library and a program in their place say what they were asked.
wheels=$out/site/nvidia
mkdir -p "$wheels/cuda_nvrtc/lib" "$wheels/cuda_nvcc/bin" "$wheels/cuda_runtime/include"
printf '#!/bin/sh\necho "ptxas $*" >"$5"\n' >"$wheels/cuda_nvcc/bin/ptxas"
chmod +x "$wheels/cuda_nvcc/bin/ptxas"
cat >"$out/nvrtc.cpp" <<'END'
#include <cstring>
#include <string>
static std::string text, log_text;
extern "C" {
const char* nvrtcGetErrorString(int code) { return code == 6 ? "COMPILATION" : "?"; }
int nvrtcGetNumSupportedArchs(int* n) { return *n = 2, 0; }
int nvrtcGetSupportedArchs(int* list) { return list[0] = 70, list[1] = 75, 0; }
int nvrtcCreateProgram(void** p, const char* source, const char*, int n, const char** headers, const char** names) {
  static int one;
  *p = &one;
  text = std::string(source) + (n == 1 && !strcmp(names[0], "stdint.h") && strstr(headers[0], "uint64_t") ? "with stdint\n" : "");
  return 0;
}
int nvrtcCompileProgram(void*, int n, const char** options) {
  for (int i = 0; i < n; ++i) text += std::string(options[i]) + "\n";
  log_text = "line 7: no";
  return text.find("wrong") == std::string::npos ? 0 : 6;
}
int nvrtcGetPTXSize(void*, size_t* n) { return *n = text.size() + 1, 0; }
int nvrtcGetPTX(void*, char* to) { return strcpy(to, text.c_str()), 0; }
int nvrtcGetProgramLogSize(void*, size_t* n) { return *n = log_text.size() + 1, 0; }
int nvrtcGetProgramLog(void*, char* to) { return strcpy(to, log_text.c_str()), 0; }
}
END
"${CXX:-c++}" -shared -fPIC -o "$wheels/cuda_nvrtc/lib/libnvrtc.so.12" "$out/nvrtc.cpp"
python=$(command -v python3)
nvcc="$source/tools/ceilings/cuda/nvcc_from_wheels.py"
export PYTHONPATH=$out/site PYTHONDONTWRITEBYTECODE=1
[ "$("$python" "$nvcc" --list-gpu-code | tr '\n' ' ')" = "sm_70 sm_75 " ] || { echo "the wheels' architectures"; exit 1; }
configure "$python;$nvcc"
expect "python3? .*nvcc_from_wheels.py .*-ptx .*compute_70"
refuse "nvcc_from_wheels.py .*compute_75"
echo "kernel" >"$out/k.cu"
"$python" "$nvcc" -std=c++17 -ptx -gencode arch=compute_70,code=compute_70 "$out/k.cu" -o "$out/k.ptx"
for line in kernel "with stdint" -std=c++17 --gpu-architecture=compute_70 "-I$out" "-I$wheels/cuda_runtime/include"; do
  grep -qxF -e "$line" "$out/k.ptx" || { echo "NVRTC was not given: $line"; cat "$out/k.ptx"; exit 1; }
done
"$python" "$nvcc" -cubin -gencode arch=compute_70,code=sm_70 "$out/k.ptx" -o "$out/k.cubin"
grep -qxF "ptxas -arch sm_70 $out/k.ptx -o $out/k.cubin" "$out/k.cubin" || { cat "$out/k.cubin"; exit 1; }
# NVRTC puts constexpr variables into each module that includes them, and the tests' interpreter refuses such modules.
if grep -nE '^constexpr [^(]*=' "$source"/tools/ceilings/cuda/{shared.h,common.cuh}; then echo "expected: enum"; exit 1; fi
# What is wrong ends in an error that says so, and writes nothing.
fails() {  # EXPECTED ARGUMENT…
  local expected=$1
  shift
  if "$python" "$nvcc" "$@" >"$out/log" 2>&1; then echo "no error: $*"; exit 1; fi
  grep -q -e "$expected" "$out/log" || { cat "$out/log"; exit 1; }
}
echo "wrong" >"$out/wrong.cu"
fails "line 7: no" -ptx -gencode arch=compute_70,code=compute_70 "$out/wrong.cu" -o "$out/wrong.ptx"
[ ! -e "$out/wrong.ptx" ]
fails "expected -ptx or -cubin" -c "$out/k.cu"
rm -r "$wheels/cuda_nvcc"
fails "pip install nvidia-cuda-nvcc-cu12" -cubin -gencode arch=compute_70,code=sm_70 "$out/k.ptx" -o "$out/k.cubin"
