#!/usr/bin/env python3
"""Pages of pagoda-report in a headless Chromium: report_page_test.py PAGODA_REPORT SOURCE_DIR

The records are made up. Exits 77, "skipped", without Chromium.
"""
import hashlib
import html
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "plot"))
from page_test import chromium, console, with_test_text  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["alexnet", "vgg16", "resnet50", "densenet121", "mobilenet_v3_large", "efficientnet_b0"]
PHONE = 390  # pixels
HOSTILE = "<img src=x onerror=alert(1)>"  # name of a second model in one folder


def record(model, compiler, batch, repeat, seconds, chance, time):
    samples = sorted(seconds * (1 + abs(chance.gauss(0, 0.02))) for _ in range(40))

    def at(part):
        return samples[min(len(samples) - 1, int(part * len(samples)))]

    config = {"backend": "torch", "batch": batch, "compile": compiler, "device": "cpu", "model": model, "repeat": repeat,
              "measure.budget_seconds": 1.0, "seed": 1}
    return {"schema": "pagoda.result/1", "key": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:32],
            "config": config, "status": "ok", "items": batch, "metadata": {"time": time, "host": "box"},
            "latency": {"unit": "s", "n": 40, "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "mean": statistics.mean(samples),
                        "std": statistics.stdev(samples), "min": samples[0], "max": samples[-1], "ci95": [at(0.4), at(0.6)],
                        "converged": True, "samples": samples}}


def write_records(folder, gain, time, models=MODELS):
    chance = random.Random(len(time) + round(100 * gain))
    folder.mkdir()
    with open(folder / "results.jsonl", "w") as file:
        for place, model in enumerate(models):
            for batch in (1, 4):
                for compiler in ("eager", "inductor"):
                    factor = gain if compiler == "inductor" and place > 1 else 1
                    for repeat in range(5):
                        file.write(json.dumps(record(model, compiler, batch, repeat, 0.01 * (1 + place) * batch * factor, chance, time)) + "\n")


# Chromium's windows are at least 500 pixels wide: a phone is a frame in one, which sends its results out.
FRAME = """<!doctype html><iframe width="{width}" height="900" src="{page}"></iframe><script>
addEventListener("message", (event) => document.body.append(Object.assign(document.createElement("pre"), {{ id: "results", textContent: event.data }})));
</script>"""


def check(name, page, width, is_linked):
    shown = page
    if width == PHONE:
        shown = page.with_suffix(".frame.html")
        shown.write_text(FRAME.format(width=width, page=page.name))
    run = chromium("--dump-dom", f"--window-size={max(width, 500)},900", "--virtual-time-budget=3000", f"file://{shown}")
    found = re.search(r'<pre id="results">(.*?)</pre>', run.stdout, re.S)
    results = html.unescape(found.group(1)) if found else "no results"
    failures = console(run)
    if "ALL PASSED" not in results:
        failures.append("some checks failed")
    if f"\n{width} px wide" not in results:
        failures.append(f"the window is not {width} pixels wide")
    if ("\nlinked" in results) != is_linked:
        failures.append(f"rows and marks are {'not ' if is_linked else ''}linked")
    if "<img" in run.stdout:
        failures.append("a name became an element")
    print(f"== {name}\n{results}")
    for failure in failures:
        print("FAIL", failure)
    return not failures


def main():
    tool, source = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for month, gain in (("january", 0.9), ("february", 0.7), ("march", 0.6)):
            write_records(folder / month, gain, {"january": "2026-01-05", "february": "2026-02-05", "march": "2026-03-05"}[month] + "T00:00:00Z")
        write_records(folder / "hostile", 0.8, "2026-03-05T00:00:00Z", [HOSTILE, *MODELS])
        sides = ["--base", "compile=eager", "--new", "compile=inductor"]
        # Page, arguments, and whether rows and marks are linked.
        pages = [("compare", ["compare", "january", *sides], True), ("hostile", ["compare", "hostile", *sides], True),
                 ("history", ["history", "january", "february", "march"], True),
                 ("latest", ["latest", "march", "--baseline", "compile=eager"], True),
                 ("explain", ["explain", "march", *sides, "--leaf", "2", "--models", str(pathlib.Path(source) / "models/skeletons")], True),
                 ("table", ["table", "march"], False)]
        test = (HERE / "report_page_test.js").read_text()
        for page, arguments, is_linked in pages:
            path, copy = folder / f"{page}.html", folder / f"{page}.test.html"
            subprocess.run([tool, *arguments, "-o", path.name], check=True, capture_output=True, cwd=folder)
            copy.write_text(with_test_text(path.read_text(), test))
            if page == "explain" and 'class="tree"' not in path.read_text():
                print("FAIL the tree lost its indentation")
                good = False
            for width in (1400, PHONE):
                good = check(f"{page}, {path.stat().st_size:,} B", copy, width, is_linked) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
