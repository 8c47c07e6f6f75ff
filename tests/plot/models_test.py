#!/usr/bin/env python3
"""Pages of all bundled models: models_test.py ONNX_ESTIMATE SOURCE_DIR

Pages of models with up to 1,000 nodes stay under 400 kB. Every page opens with the roofline; its frame holds the ridge, and
dots with at least 96 % of the time of all dots. No text of the picture lies on another. Exits 77, "skipped", without
Chromium.
"""
import collections
import concurrent.futures
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from page_test import chromium, console, with_test

MOST_BYTES = 400_000
MOST_NODES = 1_000
LEAST_DRAWN = 0.96
HOST = """<!doctype html><meta charset="utf-8"><body><script>
const names = %s, found = {};
function next() {
  const name = names.shift();
  if (!name) {
    const out = document.createElement("pre");
    out.id = "results";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
    return;
  }
  const frame = document.createElement("iframe");
  frame.width = 1400;
  frame.height = 900;
  const done = (event) => { removeEventListener("message", done); found[name] = event.data; frame.remove(); next(); };
  addEventListener("message", done);
  frame.src = name + ".html";
  document.body.append(frame);
}
next();
</script>"""


def main():
    tool, source = sys.argv[1:3]
    models = sorted((pathlib.Path(source) / "models/skeletons").glob("*.onnx"))
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def write(model):
            page = folder / f"{model.stem}.page"
            run = subprocess.run([tool, str(model), "--device", "h200", "--format", "html", "-o", str(page)], capture_output=True, text=True)
            if run.returncode != 0:
                return model.stem, None, run.stderr
            text = page.read_text()
            (folder / f"{model.stem}.html").write_text(with_test(text, "span_test.js"))
            nodes = json.loads(re.search(r'id="chart-data">(.*?)</script>', text, re.S).group(1))["series"][0]["items"]["count"]
            return model.stem, nodes, page.stat().st_size

        sizes = {}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for model, nodes, size in pool.map(write, models):
                if nodes is None:
                    failures.append(f"{model}: {size}")
                    continue
                sizes[model] = nodes, size
                if nodes <= MOST_NODES and size >= MOST_BYTES:
                    failures.append(f"{model}: {nodes} nodes take {size:,} B, {MOST_BYTES:,} B at most")
        (folder / "host.html").write_text(HOST % json.dumps(list(sizes)))
        run = chromium("--virtual-time-budget=100000", "--dump-dom", f"file://{folder / 'host.html'}")
        found = re.search(r'<pre id="results">(.*?)</pre>', run.stdout, re.S)
        if not found:
            sys.exit("no results\n" + "\n".join(console(run)))
        spans = json.loads(html.unescape(found.group(1)))
    count = collections.Counter()
    for model, (nodes, size) in sizes.items():
        span = spans[model]
        count["with a ridge" if span["ridge"] else "without"] += 1
        print(f"{model:34} {nodes:5} rows {size:9,} B  dots with {100 * span['drawn']:.1f} % of the time in the frame, {span['texts']} texts")
        if not span["ready"]:
            failures.append(f"{model}: the page did not run")
        if span["axes"] != "rate":
            failures.append(f"{model}: the page opens with {span['axes']}")
        if span["drawn"] < LEAST_DRAWN:
            failures.append(f"{model}: dots with {100 * span['drawn']:.1f} % of the time are in the frame")
        if span["outside"]:
            failures.append(f"{model}: outside the picture: {span['outside']}")
        if span["covered"]:
            failures.append(f"{model}: texts cover each other: {span['covered']}")
    small = [size for nodes, size in sizes.values() if nodes <= MOST_NODES]
    print(f"{len(sizes)} pages: {dict(count)}; of {len(small)} with up to {MOST_NODES} rows the largest takes {max(small):,} B")
    if len(sizes) < 60 or count["with a ridge"] < 0.9 * len(sizes):
        failures.append(f"too few pages were judged, or too few have a ridge: {dict(count)}")
    for failure in failures:
        print("FAIL", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
