"""Headless Chromium, driven by its debugging protocol: open a page, evaluate JavaScript in it, wait."""
import copy
import json
import pathlib
import shutil
import subprocess
import time
import urllib.request

import websocket


def program():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for found in map(shutil.which, names) if found), None)


class Browser:
    def __init__(self, folder):
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--window-size=1400,1000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(folder) / "DevToolsActivePort"
        self.wait_until(lambda: port_file.exists() and port_file.read_text().count("\n"), "the browser", 60)
        self.port = port_file.read_text().split("\n")[0]
        self.connect("page")

    def connect(self, kind):
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list"))
        url = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == kind)
        self.socket = websocket.create_connection(url, timeout=60)
        self.calls = 0

    def frame(self):
        """The page's only cross-origin frame, as a target for evaluate()."""
        frame = copy.copy(self)
        frame.connect("iframe")
        return frame

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)

    def call(self, method, **parameters):
        self.calls += 1
        self.socket.send(json.dumps({"id": self.calls, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.calls:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, script):
        """The value of an expression, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, json.dumps(result["exceptionDetails"])[:2000]
        return result["result"].get("value")

    def wait_for(self, script, what, seconds=60):
        return self.wait_until(lambda: self.evaluate(script), what, seconds)

    @staticmethod
    def wait_until(condition, what, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{what} did not come within {seconds} s")

    def screenshot(self, path):
        import base64
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
