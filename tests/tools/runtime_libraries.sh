#!/usr/bin/env bash
# onnx-estimate needs only the C and C++ runtimes, and the libraries that decompress files, where it was built with them
# (PAGODA_COMPRESSION), which Debian's own dpkg needs, too: runtime_libraries.sh PROGRAM
set -euo pipefail
listed=$(ldd "$1")
grep -q 'libstdc++' <<<"$listed" || { echo "ldd lists no C++ runtime, expected one: $listed"; exit 1; }
# Sanitizers bring runtimes of their own.
others=$(grep -vE '(linux-vdso|ld-linux[^ ]*|libc|libm|libstdc\+\+|libgcc_s|lib[at]san|libubsan|libz|libzstd|liblzma)\.so' <<<"$listed" || true)
[ -z "$others" ] || { echo "$1 needs more than the C and C++ runtimes:"; echo "$others"; exit 1; }
