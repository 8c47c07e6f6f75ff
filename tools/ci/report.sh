#!/usr/bin/env bash
# Markdown of models in a repository: the budgets of each, and what changed since a commit. report.sh FILE, with
#   PAGODA_MODELS     paths or globs, one a line       PAGODA_TOOL       onnx-estimate (default: that of PATH)
#   PAGODA_ARGUMENTS  of every run                     PAGODA_BUDGETS    --max-… and --strict
#   PAGODA_BASE       a commit, tag or branch to compare with; empty: none
# Exits with the worst of onnx-estimate's codes: 0 done, 1 unusable, 2 usage, 3 over budget or partial, 4 no such device.
set -euo pipefail
report=$1
tool=${PAGODA_TOOL:-onnx-estimate}
# Options are words, as in a shell without quotes; xargs keeps quoted ones together.
mapfile -t arguments < <(xargs -n 1 printf '%s\n' <<< "${PAGODA_ARGUMENTS:-}" | grep .)
mapfile -t budgets < <(xargs -n 1 printf '%s\n' <<< "${PAGODA_BUDGETS:-}" | grep .)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0
if [ -n "${PAGODA_BASE:-}" ] && ! git rev-parse --verify --quiet "$PAGODA_BASE^{commit}" > /dev/null; then
  why="$PAGODA_BASE: is no commit of this clone, expected one to compare with; fetch it (actions/checkout: fetch-depth: 0)"
  echo "$why" >&2
  printf '<!-- pagoda -->\n**%s**\n' "$why" > "$report"
  exit 1
fi

# The model as it was, from Git or from Git LFS, beside its files of external data, which the estimate does not need.
old_version() {
  git show "$PAGODA_BASE:./$1" > "$work/before" 2> /dev/null || return 1
  if head -c 100 "$work/before" | grep -q '^version https://git-lfs'; then
    git lfs smudge < "$work/before" > "$work/before.onnx"
  else
    mv "$work/before" "$work/before.onnx"
  fi
}

# run FILE COMMAND…: Markdown into FILE; what it says of budgets follows.
run() {
  local code=0 out=$1
  shift
  "$@" --format markdown > "$out" 2> "$work/said" || code=$?
  cat "$work/said" >&2
  ((code <= worst)) || worst=$code
  return 0
}

{
  echo '<!-- pagoda -->'
  found=0
  while IFS= read -r pattern; do
    [ -n "$pattern" ] || continue
    models=()
    while IFS= read -r model; do models+=("$model"); done < <(compgen -G "$pattern" || true)
    if [ ${#models[@]} -eq 0 ]; then
      echo "**\`$pattern\`: no such file**"
      ((worst >= 1)) || worst=1
    fi
    for model in "${models[@]}"; do
      found=$((found + 1))
      echo "## \`$model\`"
      echo
      run "$work/after.md" "$tool" "$model" "${arguments[@]}" "${budgets[@]}"
      if [ -s "$work/said" ]; then
        echo '```'
        cat "$work/said"
        echo '```'
        echo
      fi
      if [ -z "${PAGODA_BASE:-}" ]; then
        tail -n +3 "$work/after.md"
      elif ! old_version "$model"; then
        echo "new: not in \`$PAGODA_BASE\`"
        echo
        tail -n +3 "$work/after.md"
      elif cmp -s "$work/before.onnx" "$model"; then
        echo "unchanged"
      else
        run "$work/change.md" "$tool" "$model" "${arguments[@]}" --compare "$work/before.onnx"
        tail -n +3 "$work/change.md"
      fi
      echo
    done
  done <<< "$PAGODA_MODELS"
  ((found > 0)) || echo "no models"
} > "$report"
exit "$worst"
