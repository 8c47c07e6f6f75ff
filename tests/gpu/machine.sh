# Sourced by the scripts beside it: finds out whether there is a GPU, finds NVIDIA's libraries where only Python's
# wheels or the bundle have them, and describes the machine in a few lines, so that a failure can be understood from the
# output alone. PAGODA_GPU_ROOT is a prefix for /dev, /proc and /sys, for the tests.

# The build folder: the given one, this checkout's, or the bundle that contains these scripts.
build_of() {
  local here=$1 given=$2
  if [ -n "$given" ]; then
    echo "$given"
  elif [ -x "$here/tools/ceilings/ert-ceilings" ]; then
    echo "$here"
  else
    echo "$here/build/dev"
  fi
}

# Whether there is a sign of a device, working or not: its node, the driver's entry, or NVIDIA's display or 3D
# controller on the bus. Takes no time, since CUDA is not called.
gpu_present() {
  local root=${PAGODA_GPU_ROOT:-} entry vendor class
  for entry in "$root"/dev/nvidia[0-9]* "$root"/proc/driver/nvidia/gpus/*; do
    [ -e "$entry" ] && { echo "$entry"; return 0; }
  done
  for entry in "$root"/sys/bus/pci/devices/*; do
    read -r vendor 2>/dev/null <"$entry/vendor" && read -r class 2>/dev/null <"$entry/class" || continue
    case $vendor$class in 0x10de0x03*) echo "$entry"; return 0 ;; esac
  done
  return 1
}

# require_gpu NAME FILES...: exits 77 where there is no GPU, 1 where there is one but a file is not built.
require_gpu() {
  local name=$1 sign file
  shift
  if ! sign=$(gpu_present); then
    echo "skipped: $name: no NVIDIA GPU: no /dev/nvidia0, none in /proc/driver/nvidia/gpus, none on the PCI bus"
    exit 77
  fi
  echo "device  $sign"
  for file in "$@"; do
    [ -x "$file" ] || { echo "UNUSABLE $file is not built; build it where CUDA's headers and cuBLAS are, or carry a bundle"; exit 1; }
  done
}

# The driver takes seconds to start and stop with each process that uses the device, unless a process keeps its node
# open: this shell does, until it ends. No device setting changes.
hold_gpu() {
  local node=${PAGODA_GPU_ROOT:-}/dev/nvidia${1:-0}
  if { exec 9<"$node"; } 2>/dev/null; then
    echo "awake   $node is held open"
  else
    echo "awake   $node cannot be opened: the driver starts anew with each program"
  fi
}

# Appends library folders that the loader does not search to LD_LIBRARY_PATH.
find_libraries() {
  local name folder found known wheels
  known=$(ldconfig -p 2>/dev/null)
  wheels=$(command timeout 20 python3 -c 'import glob, sys
print("\n".join(f for p in sys.path if p for f in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null)
  for name in libcublasLt.so libcudart.so libcudnn.so libcupti.so; do
    case $known in *"$name"*) continue ;; esac
    found=
    for folder in $(echo "${LD_LIBRARY_PATH:-}" | tr : ' ') /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 \
      /usr/local/cuda/targets/x86_64-linux/lib $wheels; do
      if [ -z "$found" ] && ls "$folder/$name"* >/dev/null 2>&1; then found=$folder; fi
    done
    [ -n "$found" ] || continue  # an empty entry would be the current folder
    case ":${LD_LIBRARY_PATH:-}:" in *":$found:"*) ;; *) LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found ;; esac
  done
  [ -z "${LD_LIBRARY_PATH:-}" ] || export LD_LIBRARY_PATH
}

# carried_cupti BUILD: the bundle's CUPTI, for a second try if this machine's does not work.
carried_cupti() {
  local library
  for library in "$1"/cupti/libcupti.so.*; do
    [ -f "$library" ] && { echo "$library"; return 0; }
  done
  return 1
}

# describe PROGRAM...: the machine, and the missing libraries of the programs; `build` is the build folder.
describe() {
  local program
  echo "machine $(uname -srm); $(ldd --version 2>/dev/null | head -1); $(nproc) processors; user $(id -un)"
  echo "gpu     $(command timeout 30 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,persistence_mode,mig.mode.current,ecc.mode.current,power.limit --format=csv,noheader 2>&1 | head -4 | tr '\n' ';')"
  echo "counters $(grep -h RmProfilingAdminOnly /proc/driver/nvidia/params 2>&1 | head -1); $(grep CapEff /proc/self/status | tr '\t' ' ')"
  echo "found   $(command -v nvcc >/dev/null && nvcc --version | tail -1) $(command -v ncu >/dev/null && ncu --version | tail -1) $(command timeout 60 python3 -c 'import sys; print("python", sys.version.split()[0])
import importlib.metadata as m
for n in ("torch", "onnx", "onnxruntime", "onnxruntime-gpu", "nvtx", "nvidia-cuda-cupti", "nvidia-cublas", "nvidia-cudnn-cu13"):
    try: print(n, m.version(n))
    except m.PackageNotFoundError: pass' 2>&1 | tr '\n' ' ')"
  echo "path    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}"
  for program in "$@"; do
    if [ ! -e "$program" ]; then
      echo "missing $program: build it"
    else
      [ -e "$program.bin" ] && program=$program.bin  # in a bundle
      LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ldd "$program" 2>&1 | sed -n "s|^|missing $(basename "$program"): |;/not found/p" | sort -u
    fi
  done
}
