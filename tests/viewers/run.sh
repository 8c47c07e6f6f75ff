#!/usr/bin/env bash
# Installs Netron and model-explorer into a virtual environment, and reads a model's numbers back from their pages.
# run.sh ONNX_ESTIMATE SOURCE FOLDER: FOLDER keeps the environment for the next run.
set -euo pipefail
tool=$(realpath "$1") source=$(realpath "$2") folder=$3
. "$source/tests/support/venv.sh"
need_browser
mkdir -p "$folder"
folder=$(realpath "$folder")
environment "$folder" 500 netron ai-edge-model-explorer model-explorer-onnx
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" "$source/tests/viewers/viewers_test.py" "$tool" "$source" "$folder"
