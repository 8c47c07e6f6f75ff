#!/usr/bin/env python3
"""Drops models on the page for browsers and compares every answer with the command line: web_test.py TOOL SOURCE SITE."""
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import browser  # noqa: E402

MOST_BYTES = 3_000_000
MODELS = ("resnet50", "swin_t", "bert_base", "llama_past")
# Arguments, and the ending of the file that the tool writes: compared byte by byte.
REQUESTS = [
    (["resnet50"], [], "json"),
    (["resnet50"], ["--batch", "32", "--device", "a100", "--traffic", "fused"], "json"),
    (["resnet50"], ["--device", "t4", "--precision", "fp16", "--predict"], "json"),
    (["resnet50"], ["--device", "t4", "--predict", "--engine", "tensorrt", "--precision", "int8"], "txt"),
    (["resnet50"], ["--batch", "64", "--device", "h200", "--training", "--optimizer", "adam"], "json"),
    (["resnet50"], ["--device", "h200", "--what-if", "fp32,tf32,fp16,fp8,int8"], "txt"),
    (["resnet50"], ["--input", "input=2x3x320x320", "--by", "node"], "csv"),
    (["resnet50"], ["--sweep", "batch=1,2,4..256", "--device", "orin-agx"], "csv"),
    (["resnet50"], ["--device", "h100-sxm"], "html"),
    (["swin_t"], ["--traffic", "resident", "--device", "rtx-4090", "--memory"], "json"),
    (["swin_t"], ["--count", "pagoda", "--by", "type"], "md"),
    (["swin_t"], ["--device", "b200", "--precision", "bfloat16"], "html"),
    (["bert_base"], ["--dim", "sequence=384", "--batch", "8", "--symbolic"], "json"),
    (["bert_base"], ["--dim", "sequence=128", "--device", "v100", "--predict", "--traffic", "fused"], "json"),
    (["bert_base"], ["--device", "h200", "--dim", "sequence=512"], "html"),
    (["bert_base"], ["--format", "netron"], "txt"),
    (["llama_past"], ["--phase", "decode", "--past", "1000", "--device", "h200", "--tensor-parallel", "4"], "json"),
    (["llama_past"], ["--phase", "prefill", "--tokens", "2048", "--device", "h200", "--predict", "--engine", "llm-serving"], "json"),
    (["resnet50", "swin_t"], ["--device", "h100-sxm"], "json"),
    (["bert_base"], ["--precision", "int3"], "txt"),
    (["bert_base"], ["--device", "no-such"], "txt"),
]


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def write_large(path, rows, columns):
    """y = x · W with W of rows × columns float32 in the file, stored as a hole on the disk."""
    def value(name, *sizes):
        dims = b"".join(field(1, b"\x08" + varint(size)) for size in sizes)
        return field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims)))
    node = field(1, field(1, b"x") + field(1, b"w") + field(2, b"y") + field(3, b"product") + field(4, b"MatMul"))
    weight = b"\x08" + varint(rows) + b"\x08" + varint(columns) + b"\x10\x01" + field(8, b"w")
    raw = varint(9 << 3 | 2) + varint(4 * rows * columns)
    ends = field(2, b"g") + field(11, value(b"x", 8, rows)) + field(12, value(b"y", 8, columns))
    tensor_size = len(weight) + len(raw) + 4 * rows * columns
    tensor = varint(5 << 3 | 2) + varint(tensor_size) + weight + raw
    graph_size = len(node) + len(tensor) + 4 * rows * columns + len(ends)
    head = b"\x08\x08" + field(8, b"\x10\x11") + varint(7 << 3 | 2) + varint(graph_size) + node + tensor
    with open(path, "wb") as file:
        file.write(head)
        file.seek(4 * rows * columns, 1)
        file.write(ends)


def command_line(tool, folder, words, ending):
    """Exit code, written file and messages of the tool, run in the folder with the models."""
    result = folder / ("result." + ending)
    result.unlink(missing_ok=True)
    run = subprocess.run([tool, *words, "-o", str(result)], cwd=folder, capture_output=True, text=True)
    return run.returncode, result.read_bytes().decode() if result.exists() else "", run.stderr.rstrip("\n")


def drop(page, paths):
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.call("Input.dispatchDragEvent", type=kind, x=300, y=60, data=data)


def wait_done(page, seconds=90):
    page.wait_for("document.body.dataset.done !== undefined", "the answer", seconds)


def main():
    tool, source, site = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    failures = []

    def check(what, found, expected):
        if found != expected:
            failures.append(f"{what}:\n  found    {str(found)[:600]}\n  expected {str(expected)[:600]}")

    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    print(f"the folder takes {size:,} B")
    if size > MOST_BYTES:
        failures.append(f"the folder takes {size:,} B, {MOST_BYTES:,} at most")
    asked = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in MODELS:
            shutil.copy(source / f"models/skeletons/{model}.onnx", folder)
        write_large(folder / "large.onnx", 15625, 30400)
        print(f"large.onnx: {(folder / 'large.onnx').stat().st_size:,} B")
        with browser.Browser(folder / "profile") as page:
            begin = time.monotonic()
            page.open(f"file://{site}/index.html")
            page.wait_for("document.body?.dataset.ready === '1'", "the page")
            print(f"ready {time.monotonic() - begin:.1f} s after opening")
            # The policy works: neither the page nor its worker can reach anything.
            address = f"http://127.0.0.1:{server.server_port}/"
            check("a request from the page", page.evaluate(f"fetch('{address}').then(() => 'sent', () => 'refused')"), "refused")
            code = f"fetch('{address}').then(() => postMessage('sent'), () => postMessage('refused'))"
            check("a request from a worker", page.evaluate(
                f"new Promise((done) => {{ const w = new Worker(URL.createObjectURL(new Blob([{json.dumps(code)}]))); w.onmessage = (e) => done(e.data); }})"), "refused")

            # By hand: the page's controls, and what the reader sees.
            page.evaluate("addEventListener('drop', () => (window.dropped = performance.now()), true)")
            for model in ("resnet50", "swin_t", "bert_base", "large"):
                page.evaluate("files.clear(), model = other = null, delete document.body.dataset.done, delete document.body.dataset.answered, 0")
                drop(page, [folder / f"{model}.onnx"])
                wait_done(page)
                took = page.evaluate("Number(document.body.dataset.answered) - dropped")
                whole = page.evaluate("Number(document.body.dataset.done) - dropped")
                print(f"{model}: answer {took:.0f} ms after the drop, page {whole:.0f} ms")
                if took > (1000 if model == "large" else 10000):
                    failures.append(f"{model} was answered {took:.0f} ms after the drop")
                code, text, notes = command_line(tool, folder, [f"{model}.onnx", "--device", "h100-sxm"], "txt")
                check(f"the answer of {model}", page.evaluate("document.getElementById('answer').textContent"), text)
                check(f"the notes of {model}", page.evaluate("document.getElementById('notes').textContent"), notes)
                check(f"the page of {model} is shown", page.evaluate("!document.getElementById('page').hidden"), True)
            page.evaluate("files.clear(), model = other = null, 0")
            drop(page, [folder / "bert_base.onnx"])
            page.wait_for("document.getElementById('dim-sequence') !== null", "the control of a free dim")
            wait_done(page)
            page.evaluate("""(() => {
                document.getElementById('dim-sequence').value = '384';
                document.getElementById('batch').value = '8';
                document.getElementById('traffic').value = 'fused';
                document.getElementById('precision').value = 'float16';
                document.getElementById('engine').value = 'pytorch-amp';
                delete document.body.dataset.done;
                document.getElementById('batch').dispatchEvent(new Event('change', { bubbles: true }));
            })()""")
            wait_done(page)
            words = ["bert_base.onnx", "--device", "h100-sxm", "--precision", "float16", "--traffic", "fused", "--batch", "8",
                     "--predict", "--engine", "pytorch-amp", "--dim", "sequence=384"]
            check("the command", page.evaluate("document.getElementById('command').textContent"), " ".join(["onnx-estimate", *words]))
            check("the answer to controls", page.evaluate("document.getElementById('answer').textContent"), command_line(tool, folder, words, "txt")[1])
            page.evaluate("for (const id of ['precision', 'traffic', 'batch', 'engine', 'dim-sequence']) document.getElementById(id).value = ''")
            page.evaluate("delete document.body.dataset.done")
            drop(page, [folder / "resnet50.onnx"])
            wait_done(page)
            words = ["resnet50.onnx", "--device", "h100-sxm", "--compare", "bert_base.onnx"]
            check("the comparison", page.evaluate("document.getElementById('answer').textContent"), command_line(tool, folder, words, "txt")[1])
            failures.extend(check_frame(page))

            # The rest through the worker: whole documents.
            drop(page, [folder / f"{model}.onnx" for model in MODELS])
            wait_done(page)
            slowest = 0
            for models, options, ending in REQUESTS:
                words = [f"{models[0]}.onnx", *options, *(["--compare", f"{models[1]}.onnx"] if len(models) > 1 else [])]
                found = page.evaluate(f"run({json.dumps(words)}, '{ending}', [...files.values()])")
                code, text, notes = command_line(tool, folder, words, ending)
                what = " ".join(words)
                check(f"exit code of {what}", found["code"], code)
                check(f"notes of {what}", found["notes"], notes)
                if found["text"] != text:
                    at = next((i for i, (a, b) in enumerate(zip(found["text"], text)) if a != b), min(len(found["text"]), len(text)))
                    failures.append(f"{what} differs at byte {at}: {found['text'][at - 60:at + 60]!r}, expected {text[at - 60:at + 60]!r}")
                slowest = max(slowest, found["milliseconds"])
            print(f"{len(REQUESTS)} requests compared to the byte, at most {slowest:.0f} ms each")
            check("resources that the page asked for", page.evaluate("performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('blob:')).map((e) => e.name)"), [])
            if "--screenshot" in sys.argv:
                page.screenshot(sys.argv[sys.argv.index("--screenshot") + 1])
    check("requests that arrived", asked, [])
    for failure in failures:
        print("FAIL", failure)
    sys.exit(1 if failures else 0)


def check_frame(page):
    """The framed page runs its script under both policies."""
    frame = page.frame()
    found = frame.evaluate("[document.documentElement.dataset.ready, document.querySelectorAll('#rows tbody tr').length > 10, getComputedStyle(document.querySelector('#rows')).overflowY, document.querySelector('#verdict').textContent.split(' on ')[0]]")
    return [] if found == ["1", True, "auto", "resnet50"] else [f"the frame holds {found}, expected a page of resnet50 with rows and style"]



if __name__ == "__main__":
    main()
