#!/usr/bin/env bash
# The tools that the scripts beside it run, with their libraries, for a GPU machine on which nothing can be built.
#   tests/gpu/bundle.sh BUILD FOLDER      here; then there, in a copy of this repository: tests/gpu/profile.sh FOLDER OUT
# FOLDER looks like a build folder. Symbols are left out; glibc, libstdc++ and all of NVIDIA's libraries are the machine's.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '3p' "$0"; exit 2; }
build=$1 folder=$2
mkdir -p "$folder/lib"
for file in tools/ceilings/ert-ceilings tools/profile/pagoda-profile tools/profile/libpagoda_inject.so tools/onnx-estimate \
  tools/pagoda-import tools/bench/pagoda-bench tools/doctor/pagoda-doctor tests/profile_workload; do
  if [ ! -f "$build/$file" ]; then
    echo "left out: $file, it is not built"
    continue
  fi
  mkdir -p "$(dirname "$folder/$file")"
  rm -f "$folder/$file" "$folder/$file.bin"
  strip -o "$folder/$file" "$build/$file"
  # The machine has these, or must.
  libraries=$(ldd "$build/$file" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libcuda|libcudart|libcublas|libcublasLt|libcudnn|libcupti|libnv[a-z-]*)\.so' || true)
  [ -n "$libraries" ] || continue
  for library in $libraries; do
    [ -e "$folder/lib/$(basename "$library")" ] || { cp -L "$library" "$folder/lib/" && strip "$folder/lib/$(basename "$library")"; }
  done
  # Only this program sees them: Python and the profiled programs keep their own.
  mv "$folder/$file" "$folder/$file.bin"
  up=$(dirname "$file" | sed 's|[^/][^/]*|..|g')
  cat >"$folder/$file" <<WRAPPER
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd)
LD_LIBRARY_PATH=\$here/$up/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$here/$(basename "$file").bin" "\$@"
WRAPPER
  chmod +x "$folder/$file"
done
du -sh "$folder"
