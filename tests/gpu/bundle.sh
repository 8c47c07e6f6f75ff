#!/usr/bin/env bash
# Makes one archive with all that the scripts beside it need on a GPU machine without build tools: tools, workload,
# models, scripts, their libraries, and CUPTI's own if this machine has them.
#   tests/gpu/bundle.sh [--bench] BUILD ARCHIVE.tar.gz      here; then there: tar xzf ARCHIVE.tar.gz; pagoda-gpu/tests/gpu/all.sh
# Fails above 25 MB. --bench adds pagoda-bench for conv.sh, with oneDNN if it is linked, and its six models; the limit
# then is 60 MB. Symbols are stripped; the machine provides glibc, libstdc++ and all other NVIDIA libraries.
set -euo pipefail
limit=25000000 bench=
[ "${1:-}" = --bench ] && { bench=1 limit=60000000; shift; }
[ $# -eq 2 ] || { sed -n '4p' "$0"; exit 2; }
build=$1 archive=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=$scratch/pagoda-gpu
mkdir -p "$folder/lib" "$folder/tests/gpu" "$folder/models/skeletons"

programs=(tools/ceilings/ert-ceilings tools/profile/pagoda-profile tools/profile/libpagoda_inject.so
  tools/profile/pagoda-metrics tools/onnx-estimate tools/pagoda-import tools/roofline-plot tools/doctor/pagoda-doctor
  tests/profile_workload)
[ -z "$bench" ] || programs+=(tools/bench/pagoda-bench)
for file in "${programs[@]}"; do
  [ -f "$build/$file" ] || { echo "bundle: $build/$file is not built; build it (with tests, where CUDA's headers and cuBLAS are)"; exit 1; }
  mkdir -p "$(dirname "$folder/$file")"
  strip -o "$folder/$file" "$build/$file"
  # The target machine has these, or must have them.
  libraries=$(ldd "$build/$file" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libcuda|libcudart|libcublas|libcublasLt|libcudnn|libcupti|libnv[a-z-]*)\.so' || true)
  [ -n "$libraries" ] || continue
  for library in $libraries; do
    [ -e "$folder/lib/$(basename "$library")" ] || { cp -L "$library" "$folder/lib/" && strip "$folder/lib/$(basename "$library")"; }
  done
  # Only this program sees the bundled libraries: Python and the profiled programs keep their own.
  mv "$folder/$file" "$folder/$file.bin"
  up=$(dirname "$file" | sed 's|[^/][^/]*|..|g')
  cat >"$folder/$file" <<WRAPPER
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd)
LD_LIBRARY_PATH=\$here/$up/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$here/$(basename "$file").bin" "\$@"
WRAPPER
  chmod +x "$folder/$file"
done

# CUPTI opens the other two by their bare names, so they must be beside it.
for place in ${PAGODA_CUPTI:+"$(dirname "$PAGODA_CUPTI")"} /usr/local/cuda/lib64 /usr/local/cuda/lib \
  /usr/local/cuda/extras/CUPTI/lib64 $(python3 -c 'import glob, sys
print(*(f for p in sys.path if p for f in glob.glob(p + "/nvidia/*/lib")))' 2>/dev/null); do
  library=$(ls "$place"/libcupti.so.1[23] 2>/dev/null | tail -1)
  [ -n "$library" ] && [ -f "$place/libnvperf_host.so" ] && [ -f "$place/libnvperf_target.so" ] || continue
  mkdir -p "$folder/cupti"
  cp -L "$library" "$place/libnvperf_host.so" "$place/libnvperf_target.so" "$folder/cupti/"
  echo "carried  CUPTI of $place, for a second try"
  break
done
[ -d "$folder/cupti" ] || echo "left out CUPTI: libcupti.so.13 with both libnvperf is in none of the usual places"

cp "$source"/tests/gpu/*.sh "$source/tests/gpu/sparse_mma.cu" "$folder/tests/gpu/"
cp "$source"/models/*.py "$folder/models/"
mkdir -p "$folder/tools/bench/workers"
cp "$source"/tools/bench/workers/*.py "$folder/tools/bench/workers/"
models="resnet50 bert_base gpt2"
[ -z "$bench" ] || models="$models vgg16 densenet121 resnet152 googlenet alexnet"
for model in $models; do cp "$source/models/skeletons/$model.onnx" "$folder/models/skeletons/"; done

tar -C "$scratch" -cf - pagoda-gpu | gzip -9 >"$scratch/bundle.tar.gz"
size=$(stat -c %s "$scratch/bundle.tar.gz")
echo "size     $size bytes of at most $limit, $(du -sm "$folder" | cut -f1) MiB unpacked"
if [ "$size" -gt "$limit" ]; then
  echo "bundle: the archive is too large; the largest of it:"
  (cd "$folder" && find . -type f -size +500k -exec ls -s {} + | sort -rn | head -8)
  exit 1
fi
mv "$scratch/bundle.tar.gz" "$archive"
