#!/usr/bin/env python3
"""Reads numbers back from the pages of Netron and model-explorer: viewers_test.py ONNX_ESTIMATE SOURCE FOLDER."""
import base64
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import netron

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser import Browser  # noqa: E402

TOOL, SOURCE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
NODES = ["/conv1/Conv", "/layer1/layer1.0/relu/Relu", "/fc/Gemm"]


def estimate(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def equal(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


# Sections of the side panel: section, then name and value.
PANEL = """(() => { const all = {}; let section = '';
  for (const item of document.querySelectorAll('#sidebar-content .sidebar-section, #sidebar-content .sidebar-item')) {
    if (item.classList.contains('sidebar-section')) { section = item.textContent; continue; }
    const name = item.querySelector('.sidebar-item-name input');
    (all[section] ||= {})[name.value] = item.querySelector('.sidebar-item-value-list').innerText.trim(); }
  return all; })()"""


def drop(browser, path):
    """Drops a file on the open page, as by hand."""
    content = base64.b64encode(path.read_bytes()).decode()
    browser.evaluate(f"""(() => {{ const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob('{content}'), c => c.charCodeAt(0))], {json.dumps(path.name)}));
      document.body.dispatchEvent(new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}})); }})()""")


def open_in_netron(browser, model):
    # Without a model, as at netron.app: the page of a server started with a model accepts no drops.
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    netron.start(None, address=("127.0.0.1", port), browse=False)
    browser.call("Network.setCookie", name="consent", value="1", url=url)  # otherwise it first asks for consent
    browser.open(url)
    browser.wait_for("document.body?.className === 'welcome'", "Netron's page")
    drop(browser, model)
    browser.wait_for("!!document.getElementById('node-name-/conv1/Conv')", "Netron's graph")


def panel_of(browser, node, section):
    """A section of the panel that a click on a node opens; a click while Netron still draws the graph is lost."""
    def opened():
        panel = browser.evaluate(PANEL)
        if section in panel and browser.evaluate(
                f"document.getElementById('sidebar-content').textContent.includes({json.dumps(node)})"):
            return panel[section]
        browser.evaluate(f"document.getElementById({json.dumps('node-name-' + node)})?.querySelector('.node-item path')"
                         "?.dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        return None
    return browser.wait_until(opened, f"{section} in Netron's panel of {node}", 60)


def check_netron(browser, model, folder):
    """A dropped attachment shows its contents at its nodes."""
    attachment = folder / "resnet50.json"
    estimate(model, "--device", "h200", "--traffic", "fused", "--predict", "--format", "netron", "-o", attachment)
    open_in_netron(browser, model)
    drop(browser, attachment)
    browser.wait_for("window.__view__.model.attachment.metrics._entries.size > 0", "Netron's attachment")
    document = json.loads(attachment.read_text())
    for node in NODES:
        for section in ("metrics", "metadata"):
            expected = {each["name"]: each["value"] for each in document[section] if each["target"] == node}
            assert len(expected) > 3, (node, section, expected)
            equal(panel_of(browser, node, section.capitalize()), expected, f"Netron, {section} of {node}")
    print("Netron shows the attachment's values")


def check_annotated(browser, model, folder):
    """An annotated model shows the numbers of the estimate without any attachment."""
    annotated = folder / "annotated.onnx"
    whole = json.loads(estimate(model, "--device", "h200", "--annotate", annotated, "--format", "json"))
    open_in_netron(browser, annotated)
    rows = {row["name"]: row for row in whole["nodes"]}
    bounds = {row["index"]: row for row in whole["roofline"]["nodes"]}
    for node in NODES:
        shown = panel_of(browser, node, "Metadata")
        for member in ("flops", "macs", "bytes", "params"):
            equal(int(shown["pagoda." + member]), rows[node][member], f"annotated {member} of {node}")
        equal(float(shown["pagoda.seconds"]), bounds[rows[node]["index"]]["seconds"], f"annotated seconds of {node}")
    print("Netron shows the notes of an annotated model")


def check_model_explorer(browser, model, folder):
    data = folder / "seconds.json"
    estimate(model, "--device", "h200", "--format", "model-explorer", "-o", data)
    port = free_port()
    server = subprocess.Popen(
        [pathlib.Path(sys.executable).parent / "model-explorer", model, "--extensions=model_explorer_onnx",
         f"--node_data_paths={data}", "--host=127.0.0.1", f"--port={port}", "--no_open_in_browser"],
        stdout=(folder / "log.txt").open("w"), stderr=subprocess.STDOUT)
    try:
        url = browser.wait_until(
            lambda: re.search(r"^http://127\S+", (folder / "log.txt").read_text(), re.M), "model-explorer's server", 120)

        def answers():
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/").status == 200
            except urllib.error.URLError:
                return False
        browser.wait_until(answers, "model-explorer's page", 60)
        browser.open(url[0])
        text = browser.wait_for("document.body?.innerText.includes('Node data') && document.body.innerText",
                                "model-explorer's node data", 120)
        # Pages of 50 rows, each with a number, an operator and a value.
        rows = re.findall(r"^\d+\t(\w+)\t([\d.e+-]+)$", text.split("\nNode data\n")[1], re.M)
        (graph,) = json.loads(data.read_text()).values()
        ops = {row["name"]: row["op_type"] for row in json.loads(estimate(model, "--format", "json"))["nodes"]}
        expected = [(ops[name], result["value"]) for name, result in graph["results"].items()]
        # Where branches meet, its order differs from the file's; what it shows must be in the file, as often.
        shown = [(op, float(value)) for op, value in rows if value != "-"]
        assert len(shown) > 40, text
        for row in set(shown):
            assert shown.count(row) <= expected.count(row), f"model-explorer shows {row}, which the file does not hold"
        total = float(re.search(r"^Sum\t(\S+)$", text, re.M)[1])
        assert abs(total / sum(value for _, value in expected) - 1) < 1e-9, (total, "is not the sum of the values")
        print(f"model-explorer shows {len(shown)} values, and the sum of all {len(expected)}")
    finally:
        server.terminate()
        server.wait(30)


def main():
    with tempfile.TemporaryDirectory(dir=FOLDER, ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        model = folder / "resnet50.onnx"
        shutil.copy(SOURCE / "models/skeletons/resnet50.onnx", model)
        with Browser(folder / "profile") as browser:
            check_netron(browser, model, folder)
            check_annotated(browser, model, folder)
            check_model_explorer(browser, model, folder)


if __name__ == "__main__":
    main()
