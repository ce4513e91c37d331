#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `weft serve` in a headless Chromium: ten digits are drawn and read.

    python3 tests/browser/test_page.py build/cpu/weft [--model MODEL] [--pictures FOLDER]

Without --model it trains a small lenet5 on the built-in digits. --pictures also writes what the page
looks like: light, dark, and 380 pixels wide. Exits with 77 where there is no browser.
"""
import argparse
import math
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

import chromium


def arc(x, y, across, down, begin, end, steps=14):
    """Points of an ellipse from one angle to another, in degrees; 0 is right, 90 is down."""
    angles = [math.radians(begin + (end - begin) * i / steps) for i in range(steps + 1)]
    return [(x + across * math.cos(angle), y + down * math.sin(angle)) for angle in angles]


def line(*corners, steps=6):
    return [(a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps)
            for a, b in zip(corners, corners[1:]) for i in range(steps + 1)]


# Digit by digit the strokes of a hand, in the unit square.
DIGITS = [
    [arc(.5, .5, .2, .31, -90, -455, 24)],
    [line((.53, .18), (.48, .82))],
    [arc(.48, .36, .19, .18, -165, 35) + line((.6, .5), (.29, .8), (.73, .79))],
    [arc(.47, .35, .17, .16, -150, 90) + arc(.46, .65, .2, .17, -90, 145)],
    [line((.38, .2), (.3, .54), (.7, .53)), line((.62, .26), (.57, .85))],
    [line((.68, .2), (.37, .21), (.34, .46)) + arc(.46, .63, .2, .18, -115, 140)],
    [arc(.66, .56, .31, .38, -110, -180) + arc(.5, .63, .16, .18, -180, 180, 20)],
    [line((.28, .24), (.71, .23), (.45, .83))],
    [arc(.5, .34, .15, .15, 90, -270, 18) + arc(.5, .66, .18, .17, -90, 270, 20)],
    [arc(.48, .37, .16, .17, 0, -360, 18) + line((.64, .37), (.6, .83))],
]


def png(side, ink):
    """A grey PNG of side x side; ink(x, y) says where it is black."""
    rows = b"".join(b"\0" + bytes(0 if ink(x, y) else 255 for x in range(side)) for y in range(side))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Page:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        browser.call("Page.navigate", url=address)
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")
        browser.evaluate("""window.times = [];
            new MutationObserver(() => times.push([Number(document.body.dataset.milliseconds), last.answer.milliseconds]))
              .observe(document.body, {attributes: true, attributeFilter: ["data-milliseconds"]}); 0""")

    def spot(self, point):
        x, y, side = self.browser.evaluate("(b => [b.left, b.top, b.width])(pad.getBoundingClientRect())")
        return x + point[0] * side, y + point[1] * side

    def draw(self, strokes, finger=False):
        browser = self.browser
        self.clear()
        for stroke in strokes:
            points = [self.spot(point) for point in stroke]
            if finger:
                browser.touch("touchStart", points[0])
                for point in points[1:]:
                    browser.touch("touchMove", point)
                browser.touch("touchEnd")
            else:
                browser.mouse("mousePressed", *points[0])
                for point in points[1:]:
                    browser.mouse("mouseMoved", *point)
                browser.mouse("mouseReleased", *points[-1])
        return self.answer()

    def clear(self):
        self.browser.evaluate("clear()")

    def answer(self):
        self.browser.wait_for("!asking")
        return self.browser.evaluate("$('best').textContent")

    def drop(self, file):
        self.clear()
        data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            x, y = self.spot((.5, .5))
            self.browser.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        self.browser.wait_for("picture !== null")
        return self.answer()

    def alarm(self):
        return self.browser.evaluate("$('alarm').textContent")


def check(holds, what):
    if not holds:
        sys.exit(f"test_page: {what}")


def read_ten_digits(page):
    read = [page.draw(strokes, finger=digit % 3 == 2) for digit, strokes in enumerate(DIGITS)]
    right = sum(text == str(digit) for digit, text in enumerate(read))
    print(f"drawn 0 1 2 3 4 5 6 7 8 9, read {' '.join(read)}: {right} of 10 right")
    check(right >= 9, "fewer than nine of ten digits are read right")
    check(page.browser.evaluate("Math.abs(last.answer.probabilities.reduce((a, b) => a + b) - 1) < 1e-6"),
          "the probabilities do not sum to one")
    check(page.browser.evaluate("layers.every(layer => new Set(new Uint32Array(layer.image.data.buffer)).size > 2)"),
          "a layer shows nothing")


def read_by_keyboard(page):
    browser = page.browser
    page.clear()
    browser.evaluate("pad.focus()")
    for _ in range(2):
        browser.key("ArrowUp", shift=True)
    browser.key(" ")
    for _ in range(15):
        browser.key("ArrowDown")
    browser.key(" ")
    check(page.answer() == "1", f"a line drawn by keyboard is read as {page.answer()}, not as 1")
    browser.key("Backspace")
    check(page.answer() == "?", "Backspace did not take the stroke back")


def read_files(page, folder):
    browser = page.browser
    files = {"one.png": png(120, lambda x, y: 55 <= x < 65 and 20 <= y < 100), "bad.png": b"no picture",
             "blank.png": png(60, lambda x, y: False)}
    for name, data in files.items():
        (folder / name).write_bytes(data)

    check(page.drop(folder / "one.png") == "1", "a dropped picture of a 1 is not read as 1")
    for name in ("bad.png", "blank.png"):
        check(page.drop(folder / name) == "?" and "the picture" in page.alarm(), f"{name}: no message on the page, but '{page.alarm()}'")
    page.clear()
    node = browser.call("DOM.querySelector", nodeId=browser.call("DOM.getDocument")["root"]["nodeId"], selector="#file")
    browser.call("DOM.setFileInputFiles", files=[str(folder / "one.png")], nodeId=node["nodeId"])
    browser.wait_for("picture !== null")
    check(page.answer() == "1" and page.alarm() == "", "an opened picture of a 1 is not read as 1")
    check(page.draw(DIGITS[0]) == "0", "a drawing after a picture is not read")


def looks(page, folder):
    browser = page.browser
    for name, theme, width, scale in (("light", "light", 1200, 1), ("dark", "dark", 1200, 1),
                                      ("narrow", "light", 380, 2), ("narrow-dark", "dark", 380, 2)):
        browser.theme(theme)
        browser.size(width, 900, scale, mobile=width < 500)
        page.draw(DIGITS[5 if "dark" in name else 2])
        check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: wider than the window")
        if folder:
            browser.screenshot(folder / f"page-{name}.png")


def run(arguments, folder):
    model = arguments.model or folder / "run"
    weft = [arguments.weft.resolve()]
    if not arguments.model:
        subprocess.run(weft + ["train", "--dataset", "digits", "--limit-train", "12000", "--epochs", "2", "--batch-size",
                               "64", "--device", "cpu", "--progress", "off", "--out", model],
                       check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(weft + ["serve", model, "--port", "0"], stdout=subprocess.PIPE, text=True)
    browser = None
    try:
        address = next(word for word in server.stdout.readline().split() if word.startswith("http://"))
        browser = chromium.Chromium(chromium.find())
        page = Page(browser, address)
        check(page.answer() == "?", "the empty page shows an answer")
        read_ten_digits(page)
        times = browser.evaluate("times")
        for what, values in (("in the engine", [b for _, b in times]), ("from stroke to picture", [a for a, _ in times])):
            values.sort()
            print(f"{what}: fastest {values[0]:.1f} ms, median {statistics.median(values):.1f} ms, "
                  f"90 % within {values[len(values) * 9 // 10]:.1f} ms, {len(values)} answers")
        # The fastest of a hundred says what the page needs. A slow machine took 24 ms; nobody sees 60.
        check(arguments.any_time or min(a for a, _ in times) <= 60, "from stroke to picture it takes more than 60 ms")
        read_by_keyboard(page)
        read_files(page, folder)
        looks(page, arguments.pictures)
        urls = {event["params"]["request"]["url"] for event in browser.events
                if event["method"] == "Network.requestWillBeSent"}
        check({address, address + "read"} <= urls, "the page's requests were not seen")
        outside = [url for url in urls if not url.startswith((address, "data:"))]
        check(not outside, f"the page asked others: {outside}")
        failures = [event["params"] for event in browser.events if event["method"] == "Runtime.exceptionThrown" or
                    (event["method"] == "Log.entryAdded" and "422" not in event["params"]["entry"]["text"])]
        check(not failures, f"the console has errors: {failures}")
        server.send_signal(signal.SIGINT)
        check(server.wait(20) == 0, f"Ctrl-C ended the server with {server.returncode}")
    finally:
        if browser:
            browser.close()
        if server.poll() is None:
            server.kill()
            server.wait()
    print("the page is well")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--any-time", action="store_true", help="how long an answer takes is not judged")
    arguments = parser.parse_args()
    if not chromium.find():
        print("skipped: no Chromium here (Debian: apt-get install chromium)")
        sys.exit(77)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weft-page-") as folder:
        run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
