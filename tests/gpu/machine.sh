# Sourced by the scripts beside it: finds NVIDIA's libraries where only Python's wheels have them, and says what machine
# this is in a few lines, so that a failure can be understood from the output alone.

# Folders of libraries that the loader does not know of, at the end of LD_LIBRARY_PATH.
find_libraries() {
  local name folder found
  local wheels
  wheels=$(command timeout 20 python3 -c 'import glob, sys
print("\n".join(f for p in sys.path if p for f in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null)
  for name in libcublasLt.so libcudart.so libcudnn.so libcupti.so; do
    ldconfig -p 2>/dev/null | grep -q "$name" && continue
    found=
    for folder in $(echo "${LD_LIBRARY_PATH:-}" | tr : ' ') /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 \
      /usr/local/cuda/targets/x86_64-linux/lib $wheels; do
      if [ -z "$found" ] && ls "$folder/$name"* >/dev/null 2>&1; then found=$folder; fi
    done
    case ":${LD_LIBRARY_PATH:-}:" in *":$found:"*) ;; *) LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found ;; esac
  done
  export LD_LIBRARY_PATH
}

# describe PROGRAM...: the machine, and what of the programs' libraries is missing; `build` is the build folder.
describe() {
  local program
  echo "machine $(uname -srm); $(ldd --version 2>/dev/null | head -1); $(nproc) processors; user $(id -un)"
  echo "gpu     $(command timeout 30 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,mig.mode.current,ecc.mode.current,power.limit --format=csv,noheader 2>&1 | head -4 | tr '\n' ';')"
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
      [ -e "$program.bin" ] && program=$program.bin  # of a bundle
      LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-} ldd "$program" 2>&1 | sed -n "s|^|missing $(basename "$program"): |;/not found/p" | sort -u
    fi
  done
}
