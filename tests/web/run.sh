#!/usr/bin/env bash
# Builds the page for browsers and drives it in Chromium: run.sh ONNX_ESTIMATE SOURCE FOLDER. FOLDER keeps the build and
# the environment for the next run.
set -euo pipefail
tool=$(realpath "$1") source=$(realpath "$2") folder=$3
skip() {
  echo "skipped: $*"
  exit 77
}
command -v em++ > /dev/null || skip "no emscripten; install emscripten and node-acorn"
[ -d /usr/share/nodejs/acorn ] || skip "no acorn, which emscripten's optimiser needs; install node-acorn"
command -v chromium || command -v chromium-browser || command -v google-chrome || skip "no chromium; install chromium"
mkdir -p "$folder"
folder=$(realpath "$folder")
if [ ! -f "$folder/installed" ]; then
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv" || skip "no virtual environment can be made; install python3-venv"
  timeout 200 "$folder/venv/bin/pip" --disable-pip-version-check -q install websocket-client ||
    skip "pip reaches no package index"
  touch "$folder/installed"
fi
build=${PAGODA_WEB_BUILD:-$folder/build}
(cd "$source" && cmake --preset web -B "$build" > /dev/null && NODE_PATH=/usr/share/nodejs cmake --build "$build" --target web)
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" "$source/tests/web/web_test.py" "$tool" "$source" "$build/site"
