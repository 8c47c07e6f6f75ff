#!/usr/bin/env bash
# Installs the deb in a bare Debian 12; unpacks the tarball in a bare Debian 11 and in a root file system that contains
# nothing else: run.sh BUILD MODEL FOLDER [SOURCE -D…]. FOLDER keeps the bare Debians for the next run. With SOURCE, the
# packages are first built in BUILD, with the settings -D…. Needs root and debootstrap.
set -euo pipefail
build=$(realpath -m "$1") model=$(realpath "$2")
mkdir -p "$3"
folder=$(realpath "$3")
shift 3
skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "FAIL $*"
  exit 1
}
[ "$(id -u)" = 0 ] || skip "chroot needs root"
command -v debootstrap > /dev/null || skip "no debootstrap; install debootstrap"
shopt -s nullglob
if [ $# -gt 0 ]; then
  source=$(realpath "$1")
  shift
  rm -f "$build"/pagoda-*.deb "$build"/pagoda-*.tar.gz
  # The preset `packages`, but for the compiler's options.
  cmake -S "$source" -B "$build" -G Ninja "$@" -DPAGODA_PACKAGES=ON -DPAGODA_TESTS=OFF -DPAGODA_EXAMPLES=OFF \
    -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON > "$folder/build.log" 2>&1 &&
    cmake --build "$build" --target packaged_tools >> "$folder/build.log" 2>&1 &&
    (cd "$build" && cpack) >> "$folder/build.log" 2>&1 || fail "the build of the packages: $(tail -n 20 "$folder/build.log")"
fi
debs=("$build"/pagoda-*.deb) tarballs=("$build"/pagoda-*.tar.gz)
[ ${#debs[@]} = 1 ] && [ ${#tarballs[@]} = 1 ] || skip "no packages in $build; run cmake --workflow --preset packages there"

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
tar -xzf "${tarballs[0]}" -C "$empty" --strip-components=1
cp "$model" "$empty/model.onnx"
for tool in onnx-estimate onnx-skeleton pagoda-import pagoda-report roofline-plot; do
  chroot "$empty" "/bin/$tool" --version > /dev/null || fail "$tool of the tarball does not run without a C library"
done
chroot "$empty" /bin/onnx-estimate model.onnx --device h100-sxm --predict --format json -o estimate.json 2> /dev/null
chroot "$empty" /bin/roofline-plot --device h100-sxm --estimate estimate.json -o page.html
grep -q 'Content-Security-Policy' "$empty/page.html" || fail "the tarball's page"
chroot "$empty" /bin/onnx-skeleton model.onnx -o skeleton.onnx

# bare SUITE: a Debian in $folder/SUITE with the packages that every Debian has.
bare() {
  [ -f "$folder/$1.installed" ] && return
  rm -rf "${folder:?}/$1"
  debootstrap --variant=minbase "$1" "$folder/$1" > "$folder/$1.log" 2>&1 || skip "debootstrap reaches no archive of $1"
  touch "$folder/$1.installed"
}
bare bullseye
root=$folder/bullseye
rm -rf "$root/pagoda"
mkdir "$root/pagoda"
tar -xzf "${tarballs[0]}" -C "$root/pagoda" --strip-components=1
cp "$model" "$root/pagoda/model.onnx"
chroot "$root" /pagoda/bin/onnx-estimate /pagoda/model.onnx --device h100-sxm --predict --format json \
  -o /pagoda/estimate.json 2> /dev/null
sed 's|/pagoda/model.onnx|model.onnx|' "$root/pagoda/estimate.json" | cmp - "$empty/estimate.json" ||
  fail "the tarball's document in Debian 11"

bare bookworm
root=$folder/bookworm
chroot "$root" dpkg --purge pagoda > /dev/null 2>&1 || true
cp "${debs[0]}" "$root/pagoda.deb"
cp "$model" "$root/model.onnx"
chroot "$root" dpkg -i /pagoda.deb > "$folder/dpkg.log" 2>&1 || fail "dpkg -i: $(cat "$folder/dpkg.log")"
chroot "$root" onnx-estimate model.onnx --device h100-sxm --predict --format json -o estimate.json 2> /dev/null
cmp "$root/estimate.json" "$empty/estimate.json"
for tool in onnx-estimate onnx-skeleton pagoda-import pagoda-report roofline-plot; do
  zcat "$root/usr/share/man/man1/$tool.1.gz" | grep -c '^.SH OPTIONS' > /dev/null || fail "no man page of $tool"
done
complete='source /usr/share/bash-completion/completions/onnx-estimate
  COMP_WORDS=(onnx-estimate model.onnx "$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _onnx_estimate; echo "${COMPREPLY[*]}"'
found=$(chroot "$root" bash -c "$complete" - --dev)
[[ " $found " == *" --device "* ]] || fail "--dev completes to '$found'"
found=$(chroot "$root" bash -c "$complete" - --device h2)
[[ " $found " == *" h200 "* ]] || fail "--device h2 completes to '$found'"
found=$(chroot "$root" bash -c "$complete" - --phase de)
[ "$found" = decode ] || fail "--phase de completes to '$found'"
chroot "$root" dpkg --purge pagoda > /dev/null
[ ! -e "$root/usr/bin/onnx-estimate" ] || fail "the deb leaves files"
echo "packages: $(stat -c %s "${debs[0]}") B deb, $(stat -c %s "${tarballs[0]}") B tarball"
