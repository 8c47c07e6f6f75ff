#!/bin/sh
# Runs a Python test with PAGODA_PYTHON, or else python3; exits 77, "skipped", if there is none.
python=${PAGODA_PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || { echo "skipped: no $python"; exit 77; }
exec "$python" "$@"
