#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `weft export --format html` in a headless Chromium: its answers are those of `weft predict`.

    python3 tests/browser/test_export.py build/cpu/weft build/cpu/tests/random_model [--pictures FOLDER]

--pictures also writes what the page looks like. Exits with 77 where there is no browser.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import chromium
from test_page import DIGITS, Page, looks, png, read_by_keyboard

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NETWORKS = [ROOT / "tests/interop" / name for name in ("layers.net", "pools.net", "blocks.net", "residual.net")]


def check(holds, what):
    if not holds:
        sys.exit(f"test_export: {what}")


class Weft:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *words):
        return subprocess.run([self.program, *map(str, words)], check=True, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout

    def train(self, out, *words):
        self("train", *words, "--device", "cpu", "--progress", "off", "--out", out)

    def logits(self, model, picture, *words):
        return json.loads(self("predict", model, picture, "--json", *words))["logits"]


def open_page(browser, weft, model, name):
    file = weft.folder / f"{name}.html"
    weft("export", model, "--format", "html", "--out", file)
    check(file.stat().st_size <= 3 << 20, f"{file.name} has {file.stat().st_size} bytes")
    return Page(browser, file.as_uri())


def difference(found, right):
    """Of two lists of logits: the largest, in units of 1 or of the largest logit."""
    check(len(found) == len(right), f"{len(found)} logits instead of {len(right)}")
    return max(abs(a - b) for a, b in zip(found, right)) / max(1, *map(abs, right))


def same_logits(page, weft, model, channels, height, width, *words):
    """Of pictures of the network's own size, whose bytes the network reads as they are."""
    draw, worst = random.Random(1), 0
    for _ in range(3):
        pixels = bytes(draw.randrange(256) for _ in range(height * width * channels))
        (weft.folder / "picture.pnm").write_bytes(b"P%d %d %d 255\n" % (5 if channels == 1 else 6, width, height) + pixels)
        planes = [byte for c in range(channels) for byte in pixels[c::channels]]
        found = page.browser.evaluate(f"answerTo(Uint8Array.from({planes})).logits")
        worst = max(worst, difference(found, weft.logits(model, "picture.pnm", *words)))
    return worst


def every_layer(browser, weft, random_model):
    """Each layer that a text has a word for, in networks of random weights."""
    for network in NETWORKS:
        subprocess.run([random_model, network, weft.folder / "random.safetensors"], check=True)
        page = open_page(browser, weft, "random.safetensors", network.stem)
        worst = same_logits(page, weft, "random.safetensors", 1, 28, 28, "--preprocess", "none")
        print(f"{network.name}: logits within {worst:.1e} of weft predict's")
        check(worst <= 1e-5, f"{network.name}: the page's logits differ by {worst}")


def digits(browser, weft, pictures):
    weft.train("digits", "--dataset", "digits", "--limit-train", "12000", "--epochs", "2", "--batch-size", "64")
    page = open_page(browser, weft, "digits", "digits")
    size = (weft.folder / "digits.html").stat().st_size
    print(f"a page of lenet5 has {size} bytes")
    worst = same_logits(page, weft, "digits", 1, 28, 28, "--preprocess", "none")
    check(worst <= 1e-5, f"lenet5: the page's logits differ by {worst}")
    right = 0
    for digit, strokes in enumerate(DIGITS):
        right += page.draw(strokes, finger=digit % 3 == 2) == str(digit)
        sheet = bytes(browser.evaluate("[...strokesAsPixels().data.filter((_, i) => i % 4 === 0)]"))
        (weft.folder / "sheet.pgm").write_bytes(b"P5 224 224 255\n" + sheet)
        apart = difference(browser.evaluate("last.answer.logits"), weft.logits("digits", "sheet.pgm"))
        check(apart <= 1e-5, f"a drawn {digit} is prepared otherwise than by weft predict: the logits differ by {apart}")
    print(f"drawn 0 1 2 3 4 5 6 7 8 9: {right} of 10 right")
    check(right >= 9, "fewer than nine of ten digits are read right")
    read_by_keyboard(page)
    files(page, weft)
    looks(page, pictures)
    return page


def files(page, weft):
    """Pictures that are dropped or opened."""
    ones = {"small.png": png(60, lambda x, y: 28 <= x < 33 and 10 <= y < 50),
            "large.png": png(900, lambda x, y: 410 <= x < 490 and 150 <= y < 750)}
    others = {"bad.png": b"no picture", "blank.png": png(60, lambda x, y: False)}
    for name, content in {**ones, **others}.items():
        (weft.folder / name).write_bytes(content)
    for name in ones:
        check(page.drop(weft.folder / name) == "1", f"{name} is not read as 1 but as {page.answer()}")
        apart = difference(page.browser.evaluate("last.answer.logits"), weft.logits("digits", name))
        check(apart <= 1e-5, f"{name}: the logits differ by {apart} from weft predict's")
    for name in others:
        check(page.drop(weft.folder / name) == "?" and "the picture" in page.alarm(), f"{name}: no message, but '{page.alarm()}'")
    # The ground becomes darker from left to right.
    shaded = """(() => { const data = Array.from({length: 4 * 80 * 80}, (_, i) => i % 4 === 3 ? 255 : 250 - 2 * (i / 4 % 80 | 0));
        try { return prepared({width: 80, height: 80, data}).bytes.length; } catch (error) { return error.message; } })()"""
    check("ground is uneven" in str(page.browser.evaluate(shaded)), "a shadow is not told from ink, and not refused")
    # As for clothes, whose ink is not looked for.
    page.browser.evaluate("network.ink = false")
    for name in ones:
        page.drop(weft.folder / name)
        apart = difference(page.browser.evaluate("last.answer.logits"), weft.logits("digits", name, "--preprocess", "resize"))
        check(apart <= 1e-5, f"{name}: the logits differ by {apart} from those of weft predict --preprocess resize")
    page.browser.evaluate("network.ink = true")


def classes_in_colour(browser, weft):
    """A network of colour pictures with names of classes, which takes a picture whole."""
    weft.train("shapes", "--dataset", "shapes", "--model", ROOT / "examples/networks/tiny.net", "--limit-train", "256", "--epochs", "1")
    page = open_page(browser, weft, "shapes", "shapes")
    worst = same_logits(page, weft, "shapes", 3, 32, 32)
    check(worst <= 1e-5, f"shapes: the page's logits differ by {worst}")
    for width, height in ((50, 30), (20, 90)):
        pixels = bytes(random.Random(2).randrange(256) for _ in range(3 * width * height))
        (weft.folder / "wide.ppm").write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels)
        rgba = [value for i in range(width * height) for value in (*pixels[3 * i:3 * i + 3], 255)]
        found = browser.evaluate(f"answerTo(prepared({{width: {width}, height: {height}, data: {rgba}}}).bytes).logits")
        apart = difference(found, weft.logits("shapes", "wide.ppm"))
        check(apart <= 1e-5, f"a picture of {width} x {height} is brought to size otherwise: the logits differ by {apart}")
    names = browser.evaluate("bars.map(bar => bar.name.textContent)")
    check(len(names) == 10 and not any(name.isdigit() for name in names), f"the classes have no names: {names}")
    print(f"classes: {', '.join(names)}")


def nothing_leaves(browser):
    urls = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    outside = [url for url in urls if not url.startswith(("file:", "data:"))]
    check(urls and not outside, f"the page asked others: {outside}")
    failures = [event["params"] for event in browser.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
    check(not failures, f"the console has errors: {failures}")
    refused = browser.evaluate("fetch('data:,x').then(() => 'asked', error => 'refused')")
    check(refused == "refused", "the page may ask others")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("random_model", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    if not chromium.find():
        print("skipped: no Chromium here (Debian: apt-get install chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="weft-export-") as folder:
        weft, browser = Weft(arguments.weft.resolve(), pathlib.Path(folder)), chromium.Chromium(chromium.find())
        try:
            every_layer(browser, weft, arguments.random_model.resolve())
            classes_in_colour(browser, weft)
            digits(browser, weft, arguments.pictures)
            nothing_leaves(browser)
        finally:
            browser.close()
    print("the page is well")


if __name__ == "__main__":
    main()
