#!/usr/bin/env python3
"""Uses chart pages in a headless Chromium: page_test.py ROOFLINE_PLOT ONNX_ESTIMATE SOURCE_DIR [--screenshots DIR]

One browser opens every page in a fresh window, unchanged and under its own policy, and then runs page_test.js in it. Exits
77, "skipped", without Chromium.
"""
import base64
import copy
import hashlib
import json
import pathlib
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser  # noqa: E402

# What-if takes most of a small page: rates and roofs of all devices 30 kB, formulas of
# seven precisions 20 kB, its script 15 kB.
MOST_BYTES = {"many": 2_000_000, **dict.fromkeys(("resnet50", "bert_base", "llama_past", "energy", "compare", "compare_fused", "training", "runs"), 400_000)}
PLAIN_BYTES = 170_000  # limit for a page without what-if
HERE = pathlib.Path(__file__).resolve().parent


def chromium(*arguments):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("skipped: no chromium (Debian package chromium)")
        sys.exit(77)
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,900",
               "--enable-logging=stderr", "--v=0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def with_test(page, name="page_test.js", note=""):
    """The page with the test `name` after its own script; before that, a script that records what C++ drew, and contrast.js."""
    return with_test_text(page, (HERE / name).read_text(), note)


def with_test_text(page, test, note=""):
    before = note + "window.still_ticks=[...document.querySelectorAll('#ticks-x text, #ticks-y text')].map(t=>t.textContent).join('|');"
    before += (HERE / "contrast.js").read_text()
    for script in (before, test):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        page = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    at = page.rindex("<script>")
    page = page[:at] + "<script>" + before + "</script>\n" + page[at:]
    return page.replace("</body>", "<script>" + test + "</script>\n</body>")


def console(run):
    return [line for line in run.stderr.splitlines() if "CONSOLE" in line]


def many_operators(estimate, count):
    """The estimate with its operators repeated, each copy in a different size, so that none are grouped."""
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


# What the page's picture looked like before its script drew anything: read from the file, given as a string.
STILL = """(text => { window.still_ticks = [...new DOMParser().parseFromString(text, "text/html").querySelectorAll(
  "#ticks-x text, #ticks-y text")].map(t => t.textContent).join("|"); })"""


def results_of(chrome, page_path, script, before=""):
    """(what `script` writes on the page, what the page complained of, whether it ran, its text)."""
    window = chrome.fresh()
    try:
        window.open(f"file://{page_path}")
        is_ready = window.evaluate("document.documentElement.dataset.ready") == "1"
        if script is None:
            return None, window.complaints(), is_ready, window.evaluate("document.documentElement.outerHTML")
        window.evaluate(f"{STILL}({json.dumps(page_path.read_text())})")
        for text in (before, (HERE / "contrast.js").read_text(), (HERE / script).read_text()):
            window.evaluate(text)
        found = window.evaluate("document.getElementById('results')?.textContent")
        return found, window.complaints(), is_ready, ""
    finally:
        window.close()


def check(chrome, name, page_path, most_bytes):
    failures = []
    if page_path.stat().st_size >= most_bytes:
        failures.append(f"the page takes {page_path.stat().st_size:,} B, {most_bytes:,} B at most")
    svg = page_path.read_text().split("<svg", 1)[1].split("</svg>", 1)[0]
    if len(svg.encode()) >= 300_000:
        failures.append(f"the picture takes {len(svg.encode()):,} B")
    results, complaints, is_ready, _ = results_of(chrome, page_path, "page_test.js")
    if not is_ready:
        failures.append("the page did not run as it is")
    print(f"== {name}, {page_path.stat().st_size:,} B\n{results}")
    if "ALL PASSED" not in (results or ""):
        failures.append("some checks failed")
    failures += complaints
    for failure in failures:
        print("FAIL", failure)
    return not failures


# Model, arguments with which its page opens, sizes to try by name.
WHAT_IF = [
    ("resnet50", ["--batch", "4"], {"batch": (1, 300)}),
    ("bert_base", ["--precision", "fp16"], {"batch": (1, 64), "sequence": (1, 512)}),
    ("llama_past", ["--phase", "decode", "--past", "1000"], {"batch": (1, 64), "past": (1, 20_000)}),
    ("gpt2_past", ["--phase", "prefill", "--tokens", "128"], {"batch": (1, 8)}),
    ("deeplabv3_resnet50_dynamic", [], {"batch": (1, 8)}),
    ("vit_b_16_dynamic", ["--traffic", "fused"], {"batch": (1, 64)}),
    ("resnet50_qdq_int8", ["--traffic", "fused"], {"batch": (1, 64)}),
    ("swin_t", [], {"batch": (1, 64)}),
]
DEVICES = {"h100-sxm": "NVIDIA H100 SXM5 80 GB", "a100-80gb": None, "t4": None, "orin-agx": None, "rtx-4090": None, "xeon-8275cl": None}
PRECISIONS = ["float32", "tf32", "float16", "bfloat16", "float8", "int8"]


def answer_of(tool, words):
    """The lines of the tool's answer: {"headline": "635 µs fused …", "work": "568 GFLOP  283 G multiply-accumulates · …"}."""
    text = subprocess.run([tool, *words], capture_output=True, text=True, check=True).stdout
    answer = text.split("\n\n", 1)[1]
    lines = {"headline": answer.split("\n", 1)[0].split("  ", 1)[1]}
    for line in answer.splitlines()[1:]:
        found = re.match(r"^(work|traffic|memory|fits|speed|launches)\s{2,}(.*)$", line)
        if found:
            lines[found.group(1)] = found.group(2)
    return lines


def differences(page, lines):
    """The differences between the page and the command line."""
    facts, wrong = page["facts"], []

    def expect(what, piece, line):
        if piece not in line:
            wrong.append(f"{what}: page {piece!r}, command line {line!r}")

    unset = re.match(r"set .* first", lines["headline"])
    if unset:
        # Nothing that depends on time, or on whether it fits, is a number while a size is open.
        if not page["title"].endswith(": " + unset.group()) or not page["stale"]["chart"]:
            wrong.append(f"open sizes: page {page['title']!r}, command line {lines['headline']!r}")
        if page["rungs"] or page["actions"] or set(facts) & {"speed", "launches", "fits"} or set(lines) & {"speed", "launches", "fits"}:
            wrong.append(f"open sizes: page {sorted(facts)} {page['rungs']} {page['actions']}, command line {sorted(lines)}")
        if "work" in facts:
            for piece in facts["work"].split(" · "):
                expect("work", piece, lines["work"])
        return wrong
    for key in ("work", "traffic", "speed"):
        for piece in facts.get(key, "").split(" · "):
            expect(key, piece, lines[key])
    if "speed" in facts:
        # The last part of the line is the device, which the page says before the headline.
        parts = lines["headline"].split(" · ")
        for part in parts[:-1]:
            if part not in page["title"]:
                wrong.append(f"headline: page {page['title']!r}, command line {part!r}")
        if ("launches" in facts) != ("launch-bound" in page["title"]) or ("launches" in lines) != ("launches" in facts):
            wrong.append(f"launches: page {page['title']!r}, command line {lines.get('launches')!r}")
        if page["title"].count("; ") + page["title"].count(", ") < len(parts) - 2:
            wrong.append(f"headline: page {page['title']!r} of {len(parts) - 1} parts")
    elif not page["stale"]["chart"] or "command below" not in page["title"]:
        wrong.append(f"no speed, but {page['title']!r} and the chart are not greyed")
    found = re.search(r"(fits|does not fit): (?:≥ )?([^ ]+ \S+) of", page["title"])
    if found:
        expect("fits", "yes" if found.group(1) == "fits" else "no", lines["fits"])
        expect("memory", found.group(2), lines["memory"])
    for piece in facts.get("fits", "").split(" · "):
        if piece.startswith("largest"):
            expect("largest batch", piece, lines["fits"])
    return wrong


def check_what_if(chrome, tool, source, folder):
    """Random requests, made in the page and to onnx-estimate, must give the same printed digits."""
    chance = random.Random(19)
    devices = json.loads(subprocess.run([tool, "--list-devices", "--format", "json"], capture_output=True, text=True, check=True).stdout)
    names = {entry["id"]: entry["name"] for entry in next(value for value in devices.values() if isinstance(value, list))}
    failures, count, judged = [], 0, {True: 0, False: 0}
    for model, arguments, sizes in WHAT_IF:
        path = folder / f"{model}.what.html"
        file = pathlib.Path(source) / f"models/skeletons/{model}.onnx"
        subprocess.run([tool, str(file), "--device", "h200", *arguments, "-o", str(path)], check=True, capture_output=True)
        requests = []
        for i in range(6):
            request = {"sizes": {name: chance.randint(*ends) for name, ends in sizes.items() if chance.random() < 0.7}}
            if chance.random() < 0.6:
                request["device"] = names[chance.choice(list(DEVICES))]
            if chance.random() < 0.6:
                request["precision"] = chance.choice(PRECISIONS)
            request["traffic"] = chance.choice(["unfused", "fused"])
            requests.append(request)
        requests.append({**requests[-1], "traffic": "resident"})  # the page has only part of the answer, and the command
        found, complaints, _, _ = results_of(chrome, path, "what_if_test.js", "window.requests=" + json.dumps(requests) + ";")
        failures += [f"{model}: {line}" for line in complaints]
        if not found:
            failures.append(f"{model}: no results")
            continue
        result = json.loads(found)
        if set(sizes) - set(result["sizes"]):
            failures.append(f"{model}: controls of {result['sizes']}, expected {list(sizes)}")
        if model == "bert_base" and result["most"]["sequence"] != "512":
            failures.append(f"sequence of bert_base ends at {result['most']['sequence']}, its positions at 512")
        for i, page in enumerate((result["first"], *result["answers"])):
            words = shlex.split(page["command"])
            if words[0] != "onnx-estimate":
                failures.append(f"{model}: command {page['command']}")
                continue
            for wrong in differences(page, answer_of(tool, words[1:])):
                failures.append(f"{page['command']}: {wrong}")
            is_open = re.search(": set .* first$", page["title"])
            if ("resident" in words) != (i == len(requests)) or ("speed" in page["facts"]) == bool("resident" in words or is_open):
                failures.append(f"{page['command']}: the page answers {sorted(page['facts'])}")
            # The other rung of the ladder is the same request with the other traffic model.
            if "unfused" in words and not is_open:
                fused = answer_of(tool, ["fused" if word == "unfused" else word for word in words[1:]])
                if not re.search(rf"\b{re.escape(page['rungs']['fused'])} (fused|as a)", fused["headline"]):
                    failures.append(f"{page['command']}: fused {page['rungs']['fused']}, command line {fused['headline']}")
            # The rows of the table must add up to the headline.
            if "100% of the lower bound" not in page["status"]:
                failures.append(f"{page['command']}: the table lists {page['status']}")
            judged["fits" in page["facts"]] += 1
            count += 1
        refused = result.get("refused")
        if refused and not (refused["is_same"] and refused["is_marked"] and "whole number from" in refused["text"]):
            failures.append(f"{model}: a size of -3 is not refused: {refused}")
        if any(re.search("at least|--", action) for page in result["answers"] for action in page["actions"]):
            failures.append(f"{model}: actions of other sizes: {[page['actions'] for page in result['answers']]}")
        if result["last"] != result["first"]:
            failures.append(f"{model}: \"Reset\" does not bring back what the page opened with: {result['first']} {result['last']}")
        print(f"== what-if of {model}, {path.stat().st_size:,} B, a step {result['step_ms']:.0f} ms")
    print(f"{count} requests compared, {judged[True]} of them say whether it fits")
    if judged[True] < judged[False]:
        failures.append("most requests do not say whether it fits")
    if count < 40:
        failures.append(f"only {count} requests were compared")
    for failure in failures:
        print("FAIL", failure)
    return not failures


def check_roofs_alone(chrome, page_path):
    """Roofs without a model: the page runs, hides everything about operators, and draws every roof."""
    _, failures, is_ready, document = results_of(chrome, page_path, None)
    if not is_ready or ">roofs alone<" not in document:
        failures.append("the page did not run")
    for name in ("rows", "search", "save-csv"):
        if not re.search(rf'<[^>]* id="{name}"[^>]* hidden=""', document):
            failures.append(f"{name} is not hidden")
    print(f"== roofs alone, {page_path.stat().st_size:,} B")
    for failure in failures:
        print("FAIL", failure)
    return not failures


def pixels(png):
    """Width, height and number of distinct filtered rows of a PNG: few distinct rows mean an empty picture."""
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
    """PNG and PDF contain the picture, and two runs produce the same bytes."""
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
    if not browser.program():
        print("skipped: no chromium (Debian package chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, browser.Browser(f"{name}/profile") as chrome:
        folder = pathlib.Path(name)
        many = folder / "many.json"
        many.write_text(json.dumps(many_operators(json.loads((data / "small_estimate.json").read_text()), 10_000)))
        pages["many"] = ["--device", "h200", "--estimate", many]
        pages["runs"] = ["--device", "orin-agx"]
        # Runs of the second are right of the first's dots.
        for network, runs, *more in (("lstm_positions8", "lstm", "--dim", "sequence=1"), ("resnet50", "resnet50")):
            estimate = folder / f"{network}.json"
            subprocess.run([estimator, str(pathlib.Path(source) / f"models/skeletons/{network}.onnx"), *more, "--sweep", "batch=1,16,64",
                            "--device", "orin-agx", "-o", str(estimate)], check=True)
            pages["runs"] += ["--estimate", estimate, "--measured", pathlib.Path(source) / f"data/measured/orin-agx/{runs}.csv"]
        good = check_raster(tool, pages["measured"], folder)
        subprocess.run([tool, *map(str, ceilings), "-o", str(folder / "roofs.html")], check=True)
        good = check_roofs_alone(chrome, folder / "roofs.html") and good
        good = check_what_if(chrome, estimator, source, folder) and good
        skeletons = pathlib.Path(source) / "models/skeletons"
        models = {"resnet50": ["resnet50", "--device", "h200"],
                  "bert_base": ["bert_base", "--device", "h200", "--precision", "fp16", "--batch", "8", "--dim", "sequence=384"],
                  "llama_past": ["llama_past", "--device", "h200", "--phase", "decode", "--past", "1000"],
                  "energy": ["resnet50", "--device", "orin-agx", "--traffic", "fused"],
                  "compare": ["bert_base_fused", "--compare", skeletons / "bert_base.onnx", "--device", "h200", "--batch", "8", "--dim", "sequence=128"],
                  "compare_fused": ["vit_b_16_dynamo", "--compare", skeletons / "vit_b_16.onnx", "--device", "h200", "--traffic", "fused"],
                  "training": ["resnet50", "--device", "h200", "--batch", "8", "--training"]}
        for model, (file, *more) in models.items():
            pages[model] = [skeletons / f"{file}.onnx", *more]
        for page, arguments in pages.items():
            path = folder / f"{page}.html"
            command = [estimator if page in models else tool, *map(str, arguments), "-o", str(path)]
            subprocess.run(command, check=True)
            good = check(chrome, page, path, MOST_BYTES.get(page, PLAIN_BYTES)) and good
            if "--screenshots" in sys.argv:
                target = pathlib.Path(sys.argv[sys.argv.index("--screenshots") + 1])
                target.mkdir(parents=True, exist_ok=True)
                for kind, size, hash_text in (("light", "1400,900", ""), ("dark", "1400,900", "#dark=1"), ("narrow", "480,1000", ""), ("long", "1400,2300", "")):
                    chromium(f"--window-size={size}", "--virtual-time-budget=3000", f"--screenshot={target / f'{page}-{kind}.png'}", f"file://{path}{hash_text}")
                chromium(f"--print-to-pdf={target / f'{page}.pdf'}", "--no-pdf-header-footer", f"file://{path}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
