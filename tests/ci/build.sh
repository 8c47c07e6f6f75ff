#!/usr/bin/env bash
# The action and the hook as they build onnx-estimate themselves: build.sh ONNX_ESTIMATE SOURCE FOLDER. FOLDER keeps the
# environment for the next run.
set -euo pipefail
tool=$(realpath "$1") source=$(realpath "$2") folder=$3
. "$source/tests/support/venv.sh"
mkdir -p "$folder"
folder=$(realpath "$folder")
environment "$folder" 200 pre-commit
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" "$source/tests/ci/build_test.py" "$tool" "$source" "$folder"
