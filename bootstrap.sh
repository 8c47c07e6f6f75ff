#!/usr/bin/env bash
# Sets up Pagoda on a Debian 12 machine and runs it.
#   ./bootstrap.sh demo    installs what onnx-estimate needs, builds it, analyses the bundled ResNet-50, leaves a chart
#   ./bootstrap.sh test    installs what is missing, builds dev (-Werror), runs every test
#   ./bootstrap.sh deps    installs what is missing
set -euo pipefail
cd "$(dirname "$0")"

# The library and onnx-estimate.
packages=(
  g++ cmake ninja-build
  libcli11-dev nlohmann-json3-dev                 # command lines, JSON
  libtomlplusplus-dev                             # studies of pagoda-bench
  libeigen3-dev                                   # least-squares fits
  zlib1g-dev libzstd-dev liblzma-dev              # compressed files
)
# All other tools, libraries and tests.
more_packages=(
  ccache
  libonnx-dev libprotobuf-dev protobuf-compiler   # the classes of ONNX messages: pagoda::onnx and the tests
  libhwloc-dev                                    # topology, for ert-ceilings
  libdnnl-dev                                     # convolution algorithms on a CPU, for pagoda-bench
  python3-dev python3-venv                        # the Python package
  doctest-dev                                     # tests
)
# Tests of the charts use a browser, and the tools that make PNG and PDF of them; those of the sources another compiler,
# those of the documents what makes a site, those of the packages bare Debians.
test_packages=(chromium librsvg2-bin fonts-dejavu-core python3 clang clang-tidy libclang-rt-dev doxygen mkdocs debootstrap)

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing: ${missing[*]}" >&2
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "no sudo here; run as root, or have these installed first:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "${missing[@]}" >/dev/null
}

case "${1:-}" in
  deps)
    packages+=("${more_packages[@]}")
    install_packages
    ;;
  demo)
    install_packages
    cmake --preset release >/dev/null
    cmake --build --preset release --target onnx-estimate
    build/release/tools/onnx-estimate models/skeletons/resnet50.onnx --device h200 --precision fp16 --traffic fused
    build/release/tools/onnx-estimate models/skeletons/resnet50.onnx --device h200 --precision fp16 --traffic fused \
      -o build/resnet50-h200.html
    echo "open $PWD/build/resnet50-h200.html"
    echo "all tools on your PATH: cmake --build --preset release && cmake --install build/release --prefix ~/.local"
    ;;
  test)
    packages+=("${more_packages[@]}" "${test_packages[@]}")
    install_packages
    cmake --workflow --preset dev
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
