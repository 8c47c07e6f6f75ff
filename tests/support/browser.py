"""Headless Chromium, driven by its debugging protocol through a pipe: open a page, evaluate JavaScript in it, wait.

    with Browser(folder) as browser:
        browser.open("file:///tmp/page.html")
        assert browser.evaluate("document.title") == "Pagoda"
        assert not browser.complaints()
"""
import base64
import copy
import json
import os
import pathlib
import select
import shutil
import subprocess
import time


def program():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for found in map(shutil.which, names) if found), None)


class Browser:
    def __init__(self, folder):
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()

        def place():  # Chromium reads from 3 and writes to 4; copies first, since either pipe may have these numbers
            given = [os.dup(commands), os.dup(answers)]
            for number, end in zip((3, 4), given):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--hide-scrollbars", "--remote-debugging-pipe", "--window-size=1400,1000",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place, close_fds=False)
        os.close(commands)
        os.close(answers)
        self.state = {"calls": 0, "events": [], "unread": b""}
        self.session = None
        pages = self.call_browser("Target.getTargets")["targetInfos"]
        self.attach(next(page["targetId"] for page in pages if page["type"] == "page"))

    def attach(self, target):
        self.session = self.call_browser("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def fresh(self, width=1400, height=900):
        """A window that shares nothing with others."""
        context = self.call_browser("Target.createBrowserContext")["browserContextId"]
        window = copy.copy(self)
        window.session = None
        window.attach(self.call_browser("Target.createTarget", url="about:blank", width=width, height=height, browserContextId=context)["targetId"])
        window.context = context
        return window

    def close(self):
        """Closes a window of fresh()."""
        self.call_browser("Target.disposeBrowserContext", browserContextId=self.context)

    def frame(self):
        """The page's only cross-origin frame, as a target for evaluate()."""
        found = [event["params"] for event in self.state["events"] if event["method"] == "Target.attachedToTarget"]
        frame = copy.copy(self)
        frame.session = next(each["sessionId"] for each in reversed(found) if each["targetInfo"]["type"] == "iframe")
        return frame

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        os.close(self.to_browser)
        os.close(self.from_browser)

    def receive(self, seconds):
        """The next message; none if none comes in time."""
        state, end = self.state, time.monotonic() + seconds
        while b"\0" not in state["unread"]:
            if not select.select([self.from_browser], [], [], max(0, end - time.monotonic()))[0]:
                return None
            piece = os.read(self.from_browser, 1 << 20)
            assert piece, "the browser ended"
            state["unread"] += piece
        message, state["unread"] = state["unread"].split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        return self.send(method, parameters, self.session)

    def call_browser(self, method, **parameters):
        return self.send(method, parameters, None)

    def send(self, method, parameters, session):
        self.state["calls"] += 1
        number = self.state["calls"]
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            answer = self.receive(400)
            assert answer is not None, f"{method} took more than 400 s"
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.state["events"].append(answer)

    def open(self, url):
        """Loads a page to its end."""
        self.state["events"] = [event for event in self.state["events"] if event["method"] == "Target.attachedToTarget"]
        self.call("Page.navigate", url=url)

        def is_loaded():
            self.evaluate("1")  # receives what has happened
            return any(event["method"] == "Page.loadEventFired" for event in self.state["events"])
        self.wait_until(is_loaded, url, 400)

    def complaints(self):
        """What the page opened last wrote to the console: messages, errors, violations of its policy."""
        self.evaluate("1")  # what was written before has arrived
        told = []
        for event in self.state["events"]:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.consoleAPICalled":
                told.append(" ".join(str(each.get("value", each.get("description"))) for each in parameters["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                told.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded":
                told.append(parameters["entry"]["text"])
        return told

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
            time.sleep(0.05)
        raise AssertionError(f"{what} did not come within {seconds} s")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
