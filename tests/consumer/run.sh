#!/usr/bin/env bash
# Builds the consumer project against Pagoda and runs it.
#   run.sh install BUILD SOURCE -D…        from an install tree of BUILD, by find_package
#   run.sh subdirectory BUILD SOURCE -D…   by add_subdirectory, configured with -D…
set -euo pipefail
how=$1 build=$2 source=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$how" = install ]; then
  cmake --install "$build" --prefix "$work/prefix" >/dev/null
  where=(-DCMAKE_PREFIX_PATH="$work/prefix")
  [ -x "$work/prefix/bin/onnx-estimate" ] || { echo "the install tree lacks onnx-estimate"; exit 1; }
else
  where=(-DPAGODA_SUBDIRECTORY="$source")
fi
cmake -S "$source/tests/consumer" -B "$work/build" -G Ninja "$@" "${where[@]}" >/dev/null
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# The header of pagoda::measure must be installed if and only if the library is.
if [ "$how" = install ]; then
  headers=$(find "$work/prefix" -path '*/pagoda/measure.h' | wc -l)
  libraries=$(find "$work/prefix" -name 'libpagoda_measure*' | wc -l)
  [ "$headers" = "$libraries" ] || { echo "the install tree has $headers measure.h and $libraries libpagoda_measure"; exit 1; }
fi
macs=$("$work/build/consumer" "$source/models/skeletons/resnet50.onnx")
# torchvision's published count for resnet50: 4.089 GMACs of contractions (ResNet50_Weights.meta["_ops"]).
[ "$macs" = 4089184256 ] || { echo "got $macs MACs for resnet50, expected 4089184256"; exit 1; }
"$work/build/consumer_lab" "$source/models/skeletons/resnet50.onnx" | grep -q resnet50 || { echo "pagoda::lab times nothing"; exit 1; }
"$work/build/consumer_onnx" || { echo "pagoda::onnx reads an empty graph as something else"; exit 1; }
# A session made with the installed library, on the tests' fake driver.
if [ "$how" = install ] && [ -f "$build/tests/libfake_cupti.so" ]; then
  program=$work/build/consumer_measure
  [ -x "$program" ] || { echo "the install tree lacks pagoda::measure"; exit 1; }
  grep -q "$work/prefix/.*/libpagoda_inject.so" "$program" || { echo "pagoda::measure does not name its library"; exit 1; }
  mkdir "$work/driver"
  cp "$build/tests/libfake_cupti.so" "$work/driver/libcuda.so.1"
  said=$(cd "$work" && PAGODA_CUPTI="$work/driver/libcuda.so.1" LD_LIBRARY_PATH="$work/driver" "$program")
  [ "$said" = "model/gemm gemm 3" ] || { echo "the consumer measured \"$said\", expected \"model/gemm gemm 3\""; exit 1; }
fi
