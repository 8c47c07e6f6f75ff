#!/usr/bin/env bash
# Installs the package into a fresh virtual environment, as a user would with pip, and tests it there.
# run.sh SOURCE FOLDER -D…: FOLDER keeps the environment's build for the next run, which is configured with -D….
set -euo pipefail
source=$(realpath "$1") folder=$2
shift 2
skip() {
  echo "skipped: $*"
  exit 77
}
settings=()
for definition; do
  case $definition in
    -DCMAKE_BUILD_TYPE=*) settings+=(-C "cmake.build-type=${definition#*=}") ;;
    -D*) settings+=(-C "cmake.define.${definition#-D}") ;;
  esac
done
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
"${pip[@]}" install --no-build-isolation "$source" -C build-dir="$folder/build" "${settings[@]}"
cd "$folder"  # outside of the sources, so that the installed package is tested
PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider "$source/tests/python" \
  --models "$source/models/skeletons"
