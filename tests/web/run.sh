#!/usr/bin/env bash
# Builds the page for browsers and tests it in Chromium: run.sh ONNX_ESTIMATE SOURCE FOLDER. FOLDER keeps the
# build for the next run.
set -euo pipefail
tool=$(realpath "$1") source=$(realpath "$2") folder=$3
. "$source/tests/support/venv.sh"
command -v em++ > /dev/null || skip "no emscripten; install emscripten and node-acorn"
[ -d /usr/share/nodejs/acorn ] || skip "no acorn, which emscripten's optimiser needs; install node-acorn"
need_browser
mkdir -p "$folder"
folder=$(realpath "$folder")
build=${PAGODA_WEB_BUILD:-$folder/build}
(cd "$source" && cmake --preset web -B "$build" > /dev/null && NODE_PATH=/usr/share/nodejs cmake --build "$build" --target web)
PYTHONDONTWRITEBYTECODE=1 python3 "$source/tests/web/web_test.py" "$tool" "$source" "$build/site"
