# SPDX-License-Identifier: MIT
"""A headless Chromium, driven by the DevTools protocol over a pair of pipes."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One page. Messages are JSON objects that end with a zero byte, on descriptors 3 and 4."""

    def __init__(self, program, width=1200, height=1000):
        self.profile = tempfile.TemporaryDirectory(prefix="weft-chromium-")
        asks, self.write = os.pipe()
        self.read, answers = os.pipe()
        # The shell moves the two descriptors to where Chromium expects them.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{asks} 4>&{answers}', "bash", program, "--headless=new",
             "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--no-proxy-server", "--disable-background-networking",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(asks, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(asks)
        os.close(answers)
        self.buffer, self.count, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")
        self.size(width, height)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, EOFError):
            pass
        self.process.wait(30)
        os.close(self.write)
        os.close(self.read)
        try:
            self.profile.cleanup()
        except OSError:  # a process of the browser still writes there
            shutil.rmtree(self.profile.name, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.count += 1
        ask = {"id": self.count, "method": method, "params": params}
        if self.session:
            ask["sessionId"] = self.session
        os.write(self.write, json.dumps(ask).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"after {seconds} s this is still false: {expression}")
            time.sleep(0.005)

    def size(self, width, height, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def touch(self, kind, *points):
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def key(self, key, shift=False):
        codes = {" ": ("Space", 32), "ArrowLeft": ("ArrowLeft", 37), "ArrowUp": ("ArrowUp", 38),
                 "ArrowRight": ("ArrowRight", 39), "ArrowDown": ("ArrowDown", 40),
                 "Backspace": ("Backspace", 8), "Escape": ("Escape", 27), "Tab": ("Tab", 9),
                 "Home": ("Home", 36), "End": ("End", 35)}
        code, number = codes.get(key) or ("Key" + key.upper(), ord(key.upper()))
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number,
                      modifiers=8 if shift else 0, **({"text": key} if kind == "keyDown" and len(key) == 1 else {}))
