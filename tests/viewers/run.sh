#!/usr/bin/env bash
# Installs Netron and model-explorer into a virtual environment and reads the numbers of a model back from their pages.
# run.sh ONNX_ESTIMATE SOURCE FOLDER: FOLDER keeps the environment for the next run.
set -euo pipefail
tool=$(realpath "$1") source=$(realpath "$2") folder=$3
skip() {
  echo "skipped: $*"
  exit 77
}
command -v chromium || command -v chromium-browser || command -v google-chrome || skip "no chromium; install chromium"
mkdir -p "$folder"
folder=$(realpath "$folder")
if [ ! -f "$folder/installed" ]; then
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv" || skip "no virtual environment can be made; install python3-venv"
  timeout 500 "$folder/venv/bin/pip" --disable-pip-version-check -q install \
    netron ai-edge-model-explorer model-explorer-onnx websocket-client || skip "pip reaches no package index"
  touch "$folder/installed"
fi
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" "$source/tests/viewers/viewers_test.py" "$tool" "$source" "$folder"
