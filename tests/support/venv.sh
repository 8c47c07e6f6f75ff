# For scripts that drive a browser from Python: source it.

# Ends the test as skipped, with the reason.
skip() {
  echo "skipped: $*"
  exit 77
}

need_browser() {
  command -v chromium || command -v chromium-browser || command -v google-chrome || skip "no chromium; install chromium"
}

# environment FOLDER SECONDS PACKAGE…: makes a virtual environment in FOLDER/venv, which is kept for the next run.
environment() {
  local folder=$1 seconds=$2
  shift 2
  [ ! -f "$folder/installed" ] || return 0
  rm -rf "$folder/venv"
  python3 -m venv "$folder/venv" || skip "no virtual environment can be made; install python3-venv"
  timeout "$seconds" "$folder/venv/bin/pip" --disable-pip-version-check -q install "$@" || skip "pip reaches no package index"
  touch "$folder/installed"
}
