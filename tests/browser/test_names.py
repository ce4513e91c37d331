#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every page that Weft writes, with hostile names in it, in a headless Chromium: no name is run.

    python3 tests/browser/test_names.py build/cpu/weft [--host-cuda]

--host-cuda: also the pages on which kernels are stepped through. Exits with 77 where there is no browser.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import chromium

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from hostile_names import NAMES, PLAIN, SOURCE, is_unprintable, visible, write_classes  # noqa: E402

TRAP = """window.alerted = []; for (const name of ["alert", "confirm", "prompt", "print"])
            window[name] = text => { window.alerted.push(`${name} ${text}`); };"""


def check(holds, what):
    if not holds:
        sys.exit(f"test_names: {what}")


class Pages:
    def __init__(self, browser):
        self.browser = browser
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=TRAP)

    def open(self, address, names, ready="document.readyState === 'complete'", policy=True):
        """Opens a page on which these names are to be read."""
        browser = self.browser
        browser.call("Page.navigate", url=address)
        browser.wait_for(f"window.alerted !== undefined && document.documentElement && {ready}", 20)
        text = browser.evaluate("document.documentElement.textContent")
        for name in names:
            check(visible(name) in text, f"{address}: {visible(name)} is not there")
        self.handlers(address)
        if policy:
            browser.evaluate("""(() => { const script = document.createElement("script");
                script.textContent = "alert('a script of somebody else')"; document.body.append(script); })()""")
            browser.evaluate("""(() => { const box = document.createElement("div");
                box.innerHTML = "<img src=x onerror=alert(5)>"; document.body.append(box); })()""")
        self.look(address)

    def look(self, address):
        """Nothing was run, and nothing unprintable is shown."""
        alerted = self.browser.evaluate("window.alerted")
        check(alerted == [], f"{address}: {alerted}")
        text = self.browser.evaluate("(document.body || document.documentElement).textContent")
        bad = sorted({f"U+{ord(c):04X}" for c in text if is_unprintable(c) and c not in "\n\t"})
        check(not bad, f"{address} shows {bad}")

    def handlers(self, address):
        """No name has become an attribute that runs something."""
        found = self.browser.evaluate("""[...document.querySelectorAll("*")].flatMap(one =>
            [...one.attributes].map(a => a.name).filter(name => name.startsWith("on")))""")
        check(found == [], f"{address}: attributes {found}")


def steps(pages, address):
    for key in ("ArrowRight", "ArrowRight", "n", "p", "ArrowDown", "End"):
        pages.browser.key(key)
    pages.browser.evaluate("document.querySelectorAll('.chips button, .broken button').forEach(one => one.click())")
    pages.look(address)


def run(weft, folder, with_host_cuda):
    environment = {**os.environ, "HOME": str(folder)}

    def call(*words):
        subprocess.run([weft, *words], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    write_classes(folder / NAMES[0], NAMES + PLAIN)
    call("train", "--data", NAMES[0], "--model", "mlp", "--epochs", "1", "--device", "cpu", "--out", "run")
    call("train", "--dataset", "digits", "--limit-train", "300", "--epochs", "1", "--model", "mlp", "--device", "cpu",
         "--out", "digits")
    classes = [name.replace(",", "") for name in NAMES[:9]] + ["</script><script>alert(6)</script>"]
    call("import", "digits/model.safetensors", "--classes", ",".join(classes), "--out", "named")
    browser, server = chromium.Chromium(chromium.find()), None
    try:
        pages = Pages(browser)
        report = (folder / "run/report.html").as_uri()
        pages.open(report, [*NAMES, *PLAIN])
        pages.open((folder / "run/curves.svg").as_uri(), [], policy=False)
        for name in (NAMES[0], NAMES[2]):
            (folder / f"{name}.csv").write_text("1\n2\n3\n")
            call("histogram", f"./{name}.csv", "--out", f"{name}.svg")
            pages.open((folder / f"{name}.svg").as_uri(), [name], policy=False)
        call("export", "named", "--out", f"{NAMES[0]}.html", "--format", "html")
        pages.open((folder / f"{NAMES[0]}.html").as_uri(), classes, "document.body.dataset.ready === 'yes'")
        draw = """(() => { strokes.push([{x: .5, y: .2}, {x: .5, y: .8}]); changed(performance.now()); })()"""
        browser.evaluate(draw)
        browser.wait_for("!asking && last !== null")
        check(browser.evaluate("$('best').textContent") in [visible(name) for name in classes], "the exported page's answer")
        pages.look(NAMES[0])
        server = subprocess.Popen([weft, "serve", "named", "--port", "0"], cwd=folder, env=environment,
                                  stdout=subprocess.PIPE, text=True)
        address = next((word for word in server.stdout.readline().split() if word.startswith("http://")), None)
        if address:  # built with a web server
            pages.open(address, classes, "document.body.dataset.ready === 'yes'", policy=False)
            browser.evaluate(draw)
            browser.wait_for("!asking && last !== null")
            check(browser.evaluate("$('best').textContent") in [visible(name) for name in classes], "serve's answer")
            pages.handlers(address)
            browser.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'alert(7)'}))")
            pages.look(address)
        if with_host_cuda:
            ready = "document.body.dataset.ready === 'yes'"
            for i, words in enumerate((["kernel", "watch", "scan/kogge_stone", "--size", "64"],
                                       ["kernel", "watch", "reduce/interleaved", "reduce/sequential", "--size", "64"])):
                call(*words, "--out", f"{i}{NAMES[0]}.html")
                pages.open((folder / f"{i}{NAMES[0]}.html").as_uri(), [], ready)
            for name in ("DATA", NAMES[4]):
                (folder / f"{name}.cu").write_text(SOURCE)
                call("lab", "run", "--watch", "lab.html", f"{name}.cu")
                address = (folder / "lab.html").as_uri()
                pages.open(address, [f"{name}.cu"], ready)
                check("alert(4)> {{script}}" in browser.evaluate("document.querySelector('.source').textContent"), address)
                steps(pages, address)
        outside = [event["params"]["request"]["url"] for event in browser.events
                   if event["method"] == "Network.requestWillBeSent" and
                   not event["params"]["request"]["url"].startswith(("file:", "data:", "http://127.0.0.1:"))]
        check(not outside, f"a page asked others: {outside}")
        failures = [event["params"] for event in browser.events if event["method"] == "Runtime.exceptionThrown"]
        check(not failures, f"the console has errors: {failures}")
    finally:
        browser.close()
        if server:
            server.kill()
            server.wait()
    print("no name is run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("--host-cuda", action="store_true")
    arguments = parser.parse_args()
    if not chromium.find():
        print("skipped: no Chromium here (Debian: apt-get install chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="weft-names-") as folder:
        run(arguments.weft.resolve(), pathlib.Path(folder), arguments.host_cuda)


if __name__ == "__main__":
    main()
