#!/usr/bin/env bash
# Makes a site of docs/ and of the public headers; a broken link or a warning ends it with 1.
#   apt-get install mkdocs doxygen
#   tools/docs/build.sh [FOLDER]        default: build/site
set -euo pipefail
cd "$(dirname "$0")/../.."
site=$(realpath -m "${1:-build/site}")
mkdocs build --quiet --strict --site-dir "$site"
(cat tools/docs/Doxyfile; echo "OUTPUT_DIRECTORY = $site") | doxygen -
