#!/usr/bin/env python3
"""Times pages of many operators: page_times.py --build BUILD [--runs 3]

Pages of 10,000 operators in a chain of layers (what-if), of 10,000 operators that all differ in size (no what-if),
of swin_t, 6,532 operators (what-if), and of ResNet-50. For each: bytes, time from navigation until the page's script is
done, and medians and maxima of zoom and what-if steps, including script, style and layout.
"""
import argparse
import html
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/plot"))
import page_test  # noqa: E402


def text_of(steps):
    if not steps:
        return "–"
    return f"{statistics.median(steps):.0f} ({max(steps):.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    tools, test = options.build / "tools", (HERE / "page_times.js").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*command):
            subprocess.run([*map(str, command)], check=True, capture_output=True)

        run(options.build / "tests/bench/generate_graph", 5000, 64, folder / "chain.onnx")
        data = SOURCE / "tests/plot/data/small_estimate.json"
        (folder / "many.json").write_text(json.dumps(page_test.many_operators(json.loads(data.read_text()), 10_000)))
        skeletons = SOURCE / "models/skeletons"
        pages = {"chain of 10,000": [tools / "onnx-estimate", folder / "chain.onnx", "--device", "h200"],
                 "10,000 sizes": [tools / "roofline-plot", "--device", "h200", "--estimate", folder / "many.json"],
                 "swin_t": [tools / "onnx-estimate", skeletons / "swin_t.onnx", "--device", "h200"],
                 "resnet50": [tools / "onnx-estimate", skeletons / "resnet50.onnx", "--device", "h200"]}
        print("| page | bytes | ready, ms | zoom, ms: median (most) | what-if, ms | slowest tab, ms |\n|---|---|---|---|---|---|")
        for label, command in pages.items():
            path = folder / "page.html"
            run(*command, "-o", path)
            (folder / "timed.html").write_text(page_test.with_test_text(path.read_text(), test))
            results = []
            for _ in range(options.runs):
                dump = page_test.chromium("--dump-dom", f"file://{folder / 'timed.html'}")
                found = re.search(r'<pre id="results">(.*?)</pre>', dump.stdout, re.S)
                if not found:
                    sys.exit(f"{label}: no results\n" + "\n".join(page_test.console(dump)))
                results.append(json.loads(html.unescape(found.group(1))))
            best = min(results, key=lambda result: result["ready"])
            slowest = max(best["tabs"], key=best["tabs"].get)
            print(f"| {label} | {path.stat().st_size:,} | {best['ready']:.0f} | {text_of(best['zoom'])} | {text_of(best['what_if'])} | {slowest} {best['tabs'][slowest]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
