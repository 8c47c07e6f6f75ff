#!/usr/bin/env bash
# The bundle of this build is one archive below its limit and runs from where it is
# unpacked; a build that lacks a part makes none.
#   tests/gpu/bundle_test.sh BUILD SCRATCH
set -uo pipefail
build=$1 scratch=$2
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "FAILED $1"; exit 1; }
rm -rf "$scratch"
mkdir -p "$scratch/lacks/tools/ceilings" "$scratch/with/dev" "$scratch/without"
touch "$scratch/with/dev/nvidia0"

cp "$build/tools/ceilings/ert-ceilings" "$scratch/lacks/tools/ceilings/"
said=$("$here/bundle.sh" "$scratch/lacks" "$scratch/lacks.tar.gz" 2>&1) && fail "a build without a profiler makes a bundle"
case $said in *"pagoda-profile is not built"*) ;; *) fail "what lacks is not said: $said" ;; esac
[ ! -e "$scratch/lacks.tar.gz" ] || fail "a bundle that lacks a part is left"

"$here/bundle.sh" "$build" "$scratch/bundle.tar.gz" || fail "bundling"
[ "$(stat -c %s "$scratch/bundle.tar.gz")" -le 25000000 ] || fail "the bundle is above 25 MB"
tar -C "$scratch" -xzf "$scratch/bundle.tar.gz"
bundle=$scratch/pagoda-gpu
for program in tools/ceilings/ert-ceilings tools/profile/pagoda-profile tools/onnx-estimate tools/roofline-plot; do
  "$bundle/$program" --version >/dev/null || fail "$program of the bundle does not run"
done
"$bundle/tools/onnx-estimate" "$bundle/models/skeletons/gpt2.onnx" --batch 1 >/dev/null || fail "a model of the bundle"
case $(python3 "$bundle/models/run_torch.py" --help 2>&1) in
  *"no folder of workers"* | *"No such file"*) fail "run_torch.py of the bundle" ;;
esac
PAGODA_GPU_ROOT=$scratch/without "$bundle/tests/gpu/all.sh" "" "$scratch/none" >/dev/null 2>&1
[ $? -eq 77 ] || fail "all.sh without a GPU"
if ! [ -e /dev/nvidia0 ]; then  # a device node without a driver: an unusable GPU
  PAGODA_GPU_ROOT=$scratch/with "$bundle/tests/gpu/all.sh" "" "$scratch/out" >"$scratch/said.txt" 2>&1
  [ $? -eq 1 ] || fail "all.sh where the GPU cannot be used"
  [ "$(grep -c '^UNUSABLE' "$scratch/said.txt")" -ge 2 ] || fail "all.sh does not say what cannot be used"
  [ "$(find "$scratch/out" -type f | wc -l)" -le 8 ] || fail "more than 8 files"
  [ -f "$scratch/out/ceilings.tar.gz" ] && [ -f "$scratch/out/profile.tar.gz" ] || fail "archives are missing"
fi
echo ok
