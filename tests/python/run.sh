#!/usr/bin/env bash
# Installs the package into a fresh virtual environment as pip does for a user, without optimisation to save time, and
# tests it there. run.sh SOURCE FOLDER: FOLDER keeps the environment's build for the next run.
set -euo pipefail
source=$(realpath "$1") folder=$2
skip() {
  echo "skipped: $*"
  exit 77
}
mkdir -p "$folder"
folder=$(realpath "$folder")
rm -rf "$folder/venv"
python3 -m venv "$folder/venv" || skip "no virtual environment can be made; install python3-venv"
"$folder/venv/bin/python" - <<'EOF' || skip "Python's headers are missing; install python3-dev"
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
EOF
pip=("$folder/venv/bin/pip" --disable-pip-version-check -q)
"${pip[@]}" install "scikit-build-core>=1.0" "nanobind>=2.7" ninja pytest pandas || skip "pip reaches no package index"
"${pip[@]}" install --no-build-isolation "$source" -C build-dir="$folder/build" -C cmake.build-type=Debug \
  -C cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0
cd "$folder"  # away from the sources, so that the installed package is what is tested
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider "$source/tests/python" \
  --models "$source/models/skeletons"
