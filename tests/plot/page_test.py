#!/usr/bin/env python3
"""Uses chart pages in a headless Chromium: page_test.py ROOFLINE_PLOT ONNX_ESTIMATE SOURCE_DIR [--screenshots DIR]

A copy of each page gets page_test.js and that script's hash in its policy; the dumped document holds the results. The
page as it is must run under its own policy, too. Exits 77, "skipped", where there is no Chromium.
"""
import base64
import copy
import hashlib
import html
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

MOST_BYTES = {"many": 2_000_000}
HERE = pathlib.Path(__file__).resolve().parent


def chromium(*arguments):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("skipped: no chromium (Debian package chromium)")
        sys.exit(77)
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,900",
               "--enable-logging=stderr", "--v=0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def with_test(page):
    """The page with the test behind its own script; before it, one that notes what C++ drew."""
    before = "window.still_ticks=[...document.querySelectorAll('#ticks-x text, #ticks-y text')].map(t=>t.textContent).join('|');"
    test = (HERE / "page_test.js").read_text()
    for script in (before, test):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        page = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    at = page.rindex("<script>")
    page = page[:at] + "<script>" + before + "</script>\n" + page[at:]
    return page.replace("</body>", "<script>" + test + "</script>\n</body>")


def console(run):
    return [line for line in run.stderr.splitlines() if "CONSOLE" in line]


def many_operators(estimate, count):
    """The estimate with its operators over and over, each copy of another size, so that none are grouped."""
    nodes = estimate["nodes"]
    made = []
    for i in range(count):
        copy_number, node = 1 + i // len(nodes), copy.deepcopy(nodes[i % len(nodes)])
        node["index"], node["name"] = i, f"{node['name']}/{copy_number}"
        for output in node["outputs"]:
            output["shape"] = [copy_number, *output["shape"]]
        for key in ("macs", "arith", "special", "comparisons", "flops", "bytes_read", "bytes_written", "bytes"):
            node[key] *= copy_number
        made.append(node)
    totals = estimate["totals"]
    for key in ("macs", "arith", "special", "comparisons", "flops", "bytes_read", "bytes_written", "bytes"):
        if key in totals:
            totals[key] = sum(node[key] for node in made)
    estimate["nodes"] = made
    return estimate


def check(name, page_path, folder, most_bytes):
    failures = []
    if page_path.stat().st_size >= most_bytes:
        failures.append(f"the page takes {page_path.stat().st_size:,} B, {most_bytes:,} B at most")
    svg = page_path.read_text().split("<svg", 1)[1].split("</svg>", 1)[0]
    if len(svg.encode()) >= 300_000:
        failures.append(f"the picture takes {len(svg.encode()):,} B")
    plain = chromium("--dump-dom", f"file://{page_path}")
    if 'data-ready="1"' not in plain.stdout:
        failures.append("the page did not run as it is")
    failures += console(plain)
    copy = folder / f"{name}.test.html"
    copy.write_text(with_test(page_path.read_text()))
    run = chromium("--dump-dom", f"file://{copy}")
    found = re.search(r'<pre id="results">(.*?)</pre>', run.stdout, re.S)
    results = html.unescape(found.group(1)) if found else "no results\n" + "\n".join(console(run))
    print(f"== {name}, {page_path.stat().st_size:,} B\n{results}")
    if "ALL PASSED" not in results:
        failures.append("some checks failed")
    failures += console(run)
    for failure in failures:
        print("FAIL", failure)
    return not failures


def check_roofs_alone(page_path):
    """Roofs without a model: the page runs, hides what is about operators, and draws every roof."""
    document = chromium("--dump-dom", f"file://{page_path}")
    failures = console(document)
    if 'data-ready="1"' not in document.stdout or ">roofs alone<" not in document.stdout:
        failures.append("the page did not run")
    for name in ("rows", "search", "save-csv"):
        if not re.search(rf'<[^>]* id="{name}"[^>]* hidden=""', document.stdout):
            failures.append(f"{name} is not hidden")
    print(f"== roofs alone, {page_path.stat().st_size:,} B")
    for failure in failures:
        print("FAIL", failure)
    return not failures


def pixels(png):
    """Width, height and the distinct filtered rows of a PNG: few of them is an empty picture."""
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw = zlib.decompress(data)
    stride = len(raw) // height
    return width, height, len({raw[i * stride:(i + 1) * stride] for i in range(height)})


def check_raster(tool, arguments, folder):
    """PNG and PDF hold the picture, and two runs make the same bytes."""
    if not shutil.which("rsvg-convert"):
        print("== png, pdf: skipped: no rsvg-convert (Debian package librsvg2-bin)")
        return True
    failures = []
    for kind in ("png", "pdf"):
        runs = []
        for i in range(2):
            path = folder / f"chart{i}.{kind}"
            subprocess.run([tool, *map(str, arguments), "-o", str(path)], check=True)
            runs.append(path.read_bytes())
        if runs[0] != runs[1]:
            failures.append(f"two runs differ in {kind}")
        if kind == "pdf" and not (runs[0].startswith(b"%PDF-") and b"/Font" in runs[0] and len(runs[0]) > 10_000):
            failures.append("the PDF holds no text")
        if kind == "png":
            width, height, rows = pixels(runs[0])
            print(f"== png, {width} x {height}, {rows} distinct rows")
            if width < 1200 or rows < height / 4:
                failures.append(f"the PNG is empty: {width} x {height}, {rows} distinct rows")
    for failure in failures:
        print("FAIL", failure)
    return not failures


def main():
    tool, estimator, source = sys.argv[1:4]
    data = pathlib.Path(source) / "tests/plot/data"
    ceilings = ["--ceilings", data / "cpu_ceilings.json"]
    pages = {
        "estimate": ["--device", "h200", "--estimate", data / "small_estimate.json"],
        "measured": [*ceilings, "--estimate", data / "small_estimate.json", "--measured", data / "small_measured.json"],
        "hostile": ["--device", "h200", "--estimate", data / "hostile_estimate.json"],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        many = folder / "many.json"
        many.write_text(json.dumps(many_operators(json.loads((data / "small_estimate.json").read_text()), 10_000)))
        pages["many"] = ["--device", "h200", "--estimate", many]
        good = check_raster(tool, pages["measured"], folder)
        subprocess.run([tool, *map(str, ceilings), "-o", str(folder / "roofs.html")], check=True)
        good = check_roofs_alone(folder / "roofs.html") and good
        pages["resnet50"] = [pathlib.Path(source) / "models/skeletons/resnet50.onnx", "--device", "h200"]
        for page, arguments in pages.items():
            path = folder / f"{page}.html"
            command = [estimator if page == "resnet50" else tool, *map(str, arguments), "-o", str(path)]
            subprocess.run(command, check=True)
            good = check(page, path, folder, MOST_BYTES.get(page, 100_000)) and good
            if "--screenshots" in sys.argv:
                target = pathlib.Path(sys.argv[sys.argv.index("--screenshots") + 1])
                target.mkdir(parents=True, exist_ok=True)
                for kind, size, hash_text in (("light", "1400,900", ""), ("dark", "1400,900", "#dark=1"), ("narrow", "480,1000", ""), ("long", "1400,2300", "")):
                    chromium(f"--window-size={size}", "--virtual-time-budget=3000", f"--screenshot={target / f'{page}-{kind}.png'}", f"file://{path}{hash_text}")
                chromium(f"--print-to-pdf={target / f'{page}.pdf'}", "--no-pdf-header-footer", f"file://{path}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
