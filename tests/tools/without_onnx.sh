#!/usr/bin/env bash
# Without libonnx and libprotobuf installed, the library and the tools still configure, and nothing that is built
# mentions either: without_onnx.sh SOURCE
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hidden=(-DCMAKE_DISABLE_FIND_PACKAGE_ONNX=ON -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON)
configure() {
  cmake -S "$1" -B "$work/build" -G Ninja -DPAGODA_TESTS=OFF -DPAGODA_CUDA=OFF "${hidden[@]}" "${@:2}" >"$work/log" 2>&1
}
configure "$1" || { cat "$work/log"; exit 1; }
grep -q '^build tools/onnx-estimate:' "$work/build/build.ninja" || { echo "onnx-estimate is not built"; exit 1; }
if grep -E 'libonnx_proto|libprotobuf' "$work/build/build.ninja"; then echo "built with what is hidden"; exit 1; fi
! configure "$1" -DPAGODA_ONNX_BRIDGE=ON || { echo "pagoda::onnx is built without its libraries"; exit 1; }
grep -q 'libonnx or libprotobuf is missing' "$work/log" || { cat "$work/log"; exit 1; }
