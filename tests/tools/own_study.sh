#!/usr/bin/env bash
# examples/own_study.sh in its quick form, with simulated power readings: a page with times, joules and measured bounds.
#   own_study.sh BUILD FOLDER
set -euo pipefail
build=$1 out=$2
python=${PYTHON:-python3}
"$python" -c 'import onnxruntime, numpy' 2>/dev/null || { echo "skipped: $python has no onnxruntime and numpy" >&2; exit 77; }
rm -rf "$out"
mkdir -p "$out/machine/sys/class/powercap/intel-rapl:0"
counter="$out/machine/sys/class/powercap/intel-rapl:0/energy_uj"
echo 0 >"$counter"
echo package-0 >"$(dirname "$counter")/name"
echo 262143328850 >"$(dirname "$counter")/max_energy_range_uj"
# 20 W: the counter follows the clock.
"$python" - "$counter" "$$" <<'PY' &
import os, sys, time
start = time.monotonic()
while os.path.exists(f"/proc/{sys.argv[2]}") and time.monotonic() - start < 600:
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(int(20e6 * (time.monotonic() - start))))
    os.replace(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(0.001)
PY
power=$!
trap 'kill $power 2>/dev/null || true' EXIT
PAGODA_POWER_ROOT=$out/machine QUICK=1 NO_TORCH=1 MODELS="resnet50_dynamic bert_base" SEQUENCE=16 BATCHES=1,2 \
  TOOLS=$build/tools "$(dirname "$0")/../../examples/own_study.sh" "$out/study"
cd "$out/study"
"$python" - <<'PY'
import csv, html.parser, json, re
rows = list(csv.DictReader(open("inference.csv")))
assert [(r["model"], r["batch"]) for r in rows] == [("bert_base", "1"), ("bert_base", "2"), ("resnet50_dynamic", "1"), ("resnet50_dynamic", "2")], rows
for row in rows:
    # With a counter of 20 W, joules must equal 20 W times the run's time, within the steps of the reading.
    watts, joules, seconds = float(row["watts"]), float(row["joules"]), float(row["mean_seconds"])
    assert 10 < watts < 30, row
    assert 0.3 < joules / (20 * seconds) < 3, row
    assert row["inputs"], row
for model in ("resnet50_dynamic", "bert_base"):
    runs = json.load(open(f"{model}.runs.json"))["runs"]
    assert sorted(run["config"]["batch"] for run in runs) == [1, 2] and all(run["energy_joules"] for run in runs), runs
    sweep = list(csv.DictReader(open(f"{model}.sweep.csv")))
    assert len(sweep) == 2 and all(float(row["measured_seconds"]) > 0 and float(row["seconds"]) > 0 for row in sweep), sweep
    assert all(float(row["measured_joules"]) > 0 for row in sweep), sweep
page = open("index.html").read()
html.parser.HTMLParser().feed(page)
for part in ("Inference by ONNX Runtime", "energy", "resnet50_dynamic: measured beside the bound", "bert_base: a training step", "What this machine can do"):
    assert part in page, part
assert page.count("<svg") >= 3
ids = re.findall(r' id="([^"]+)"', page)
assert len(ids) == len(set(ids)), ids
PY
echo "1 passed, 0 failed"
