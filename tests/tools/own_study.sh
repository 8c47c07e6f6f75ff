#!/usr/bin/env bash
# examples/own_study.sh in its quick form, on two small models and with simulated power readings: a page with times, joules and
# bounds. Installs ONNX Runtime into an environment of its own where Python has none. The ceilings are those of the
# committed machine: measuring them has tests of its own, and takes minutes on a busy machine.
#   own_study.sh BUILD FOLDER
set -euo pipefail
build=$1 out=$2
. "$(dirname "$0")/../support/venv.sh"
python=${PYTHON:-python3}
mkdir -p "$out"
if ! "$python" -c 'import onnxruntime, numpy' 2>/dev/null; then
  environment "$out" 300 onnxruntime numpy
  python=$out/venv/bin/python
fi
rm -rf "$out/machine" "$out/study"
mkdir -p "$out/machine/sys/class/powercap/intel-rapl:0"
counter="$out/machine/sys/class/powercap/intel-rapl:0/energy_uj"
mkdir -p "$out/study"
cp "$(dirname "$0")/../../data/measured/amd-epyc-zen5-2cpu-vm.json" "$out/study/ceilings.json"
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
PYTHON=$python PAGODA_POWER_ROOT=$out/machine QUICK=1 NO_TORCH=1 MODELS="lstm fcn" SEQUENCE=16 BATCHES=1,2,4 \
  TOOLS=$build/tools "$(dirname "$0")/../../examples/own_study.sh" "$out/study"
cd "$out/study"
"$python" - <<'PY'
import csv, html.parser, json, math, re
MODELS, BATCHES = ("lstm", "fcn"), (1, 2, 4)
stats = {(r["model"], int(r["batch"])): r for r in csv.DictReader(open("onnxruntime.csv"))}
assert sorted(stats) == sorted((model, batch) for model in MODELS for batch in BATCHES), stats
for row in stats.values():
    # With a counter of 20 W, joules must equal 20 W times the run's time, within what runs of a busy machine differ. The
    # runs of fcn take 0.1 ms: those that are added for its energy may take several times as long as the two that are timed,
    # of which one may have waited for the processor.
    watts, seconds = float(row["watts"]), float(row["joules"]) / 20
    assert 10 < watts < 30, row
    assert 0.3 * float(row["min_seconds"]) < seconds < (3 if row["model"] == "lstm" else 10) * float(row["max_seconds"]), row
    assert row["inputs"], row
page = open("index.html").read()
for model in MODELS:
    runs = json.load(open(f"{model}.onnxruntime.runs.json"))["runs"]
    assert sorted(run["config"]["batch"] for run in runs) == list(BATCHES) and all(run["energy_joules"] for run in runs), runs
    sweep = list(csv.DictReader(open(f"{model}.onnxruntime.csv")))
    assert len(sweep) == len(BATCHES), sweep
    for row in sweep:
        measured, bound = float(row["measured_seconds"]), float(row["seconds"])
        assert math.isclose(measured, float(stats[model, int(row["batch"])]["p50_seconds"]), rel_tol=1e-9), row
        assert math.isclose(float(row["bound_share"]), bound / measured, rel_tol=1e-9), row
        # The page's row: the share of the bound as the table has it.
        share = f"{100 * bound / measured:.3g} %"
        assert re.search(rf"<td>{model}</td><td>{row['batch']}</td>.*<td>{re.escape(share)}</td>", page), (model, row, share)
html.parser.HTMLParser().feed(page)
for part in ("ONNX Runtime reaches", "of the bound", "J an item", "Energy of the runs", "What a training step is made of", "AMD EPYC"):
    assert part in page, part
for name in ("onnxruntime.roofline", "onnxruntime.energy"):
    assert "<svg" in open(f"{name}.svg").read() and "<svg" in open(f"{name}.narrow.svg").read(), name
assert page.count("<svg") >= 6, page.count("<svg")
ids = re.findall(r' id="([^"]+)"', page)
assert len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1]
wanted = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'(?:href="#| aria-labelledby=")([^" ]+)', page))
assert wanted <= set(ids), wanted - set(ids)
PY
echo "1 passed, 0 failed"
