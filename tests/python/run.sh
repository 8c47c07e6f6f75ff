#!/usr/bin/env bash
# Installs the package into a fresh virtual environment, as a user would with pip, and tests it there.
# run.sh [--stable] SOURCE FOLDER -D…: FOLDER keeps the environment's build for the next run, which is configured with -D….
# --stable: one wheel, built by Python 3.12, is tested under every Python from 3.12 on. Its CMake is another, so that no
# other build has its objects: the library is compiled as fast as can be.
set -euo pipefail
is_stable=
if [ "$1" = --stable ]; then
  is_stable=1
  shift
fi
source=$(realpath "$1") folder=$2
shift 2
skip() {
  echo "skipped: $*"
  exit 77
}
settings=(-C install.strip=true)  # as a release is, by default
for definition; do
  case $definition in
    -DCMAKE_BUILD_TYPE=*) settings+=(-C "cmake.build-type=${definition#*=}") ;;
    -D*) settings+=(-C "cmake.define.${definition#-D}") ;;
  esac
done
mkdir -p "$folder"
folder=$(realpath "$folder")

# find_python VERSION: of PATH, or of pyenv. Its shims name versions that are not chosen, so that it must run.
find_python() {
  local python
  for python in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python3; do
    "$python" -c 'import sys; print(sys.executable)' 2> /dev/null && return
  done
  return 1
}
pythons=(python3)
if [ -n "$is_stable" ]; then
  pythons=()
  for minor in 12 13 14 15; do
    if found=$(find_python "3.$minor"); then pythons+=("$found"); fi
  done
  settings+=(-C cmake.build-type=Debug -C cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0)
  [ ${#pythons[@]} -gt 1 ] || skip "no two Pythons from 3.12 on, found ${pythons[*]:-none}; install them with pyenv"
fi

# environment NAME PYTHON PACKAGE…: a fresh virtual environment.
environment() {
  local venv=$folder/$1 python=$2
  shift 2
  rm -rf "$venv"
  "$python" -m venv "$venv" || skip "no virtual environment can be made; install python3-venv"
  "$venv/bin/pip" --disable-pip-version-check -q install "$@" || skip "pip reaches no package index"
}
# CMake 3.26 is the first that knows the stable ABI.
environment build "${pythons[0]}" "scikit-build-core>=1.0" "nanobind>=2.7" ninja ${is_stable:+"cmake>=3.26"}
"$folder/build/bin/python" - <<'END' || skip "Python's headers are missing; install python3-dev"
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
END
rm -rf "$folder/wheel"
"$folder/build/bin/pip" --disable-pip-version-check -q wheel --no-build-isolation --no-deps -w "$folder/wheel" "$source" \
  -C build-dir="$folder/objects" "${settings[@]}"
wheel=$(echo "$folder"/wheel/*.whl)
bytes=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $bytes B"
if [ "$bytes" -gt 6000000 ]; then
  echo "FAIL $wheel takes $bytes B; expected at most 6,000,000"
  exit 1
fi
if [ -n "$is_stable" ]; then
  case $wheel in
    *-cp312-abi3-*) ;;
    *)
      echo "FAIL $wheel is not for the stable ABI"
      exit 1
      ;;
  esac
fi
for python in "${pythons[@]}"; do
  environment venv "$python" "$wheel" pytest pandas
  cd "$folder"  # outside of the sources, so that the installed package is tested
  "$folder/venv/bin/python" --version
  PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider "$source/tests/python" \
    --models "$source/models/skeletons"
done
