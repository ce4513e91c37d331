#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages of `weft kernel watch` in a headless Chromium: kernels are stepped through.

    python3 tests/browser/test_watch.py build/cpu/weft [--pictures FOLDER]

--pictures also writes what the pages look like: light, dark, and 380 pixels wide. Exits with 77 where
there is no browser.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import chromium


def check(holds, what):
    if not holds:
        sys.exit(f"test_watch: {what}")


class Page:
    def __init__(self, browser, weft, names, folder):
        self.browser, self.names = browser, names
        file = folder / f"{names[0].replace('/', '-')}-{len(names)}.html"
        subprocess.run([weft, "kernel", "watch", *names, "--size", "64" if names[0].startswith("gemm") else "4096",
                        "--out", file], check=True, stdout=subprocess.DEVNULL)
        browser.call("Page.navigate", url=file.as_uri())
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")

    def text(self, part, run=0):
        return self.browser.evaluate(f"runs[{run}].part('{part}').textContent")

    def sentence(self, run=0):
        return self.text("sentence", run)

    def line(self, run=0):
        """The line of source that is marked: "file.cu:27"."""
        return self.browser.evaluate(
            f"runs[{run}].open.split('/').pop() + ':' + runs[{run}].root.querySelector('.source .current').dataset.line")

    def state(self, run=0):
        return self.text("where", run), self.sentence(run), self.line(run)

    def keys(self, *keys):
        for key in keys:
            self.browser.key(key)


def step_through(page):
    """Arrow keys, phases, the slider, a click on a line."""
    start = page.state()
    page.keys("ArrowRight")
    second = page.state()
    check(start[0].startswith("Step 1 of ") and second[0].startswith("Step 2 of "), f"not a step on: {start}, {second}")
    seen = {start, second}
    for _ in range(12):
        page.keys("ArrowRight")
        seen.add(page.state())
    for _ in range(13):
        page.keys("ArrowLeft")
    check(page.state() == start, f"{page.names}: thirteen steps on and back again lead elsewhere")
    page.keys("n")
    check("phase 2" in page.text("where"), f"n does not go to the next phase: {page.text('where')}")
    for _ in range(4):
        seen.add(page.state())
        page.keys("ArrowRight")
    check(len({sentence for _, sentence, _ in seen}) > 2, f"{page.names}: the sentence stays the same")
    check(len({line for _, _, line in seen}) > 2, f"{page.names}: the line stays the same")
    page.keys("p")
    check("phase 2" in page.text("where"), f"p does not go back to the start of the phase: {page.text('where')}")
    page.keys("n", "p")
    check("phase 2" in page.text("where"), f"p does not go back a phase: {page.text('where')}")
    page.keys("ArrowDown")
    check(page.browser.evaluate("runs[0].warp") == 1, "the arrow down does not go to the next warp")
    page.keys("ArrowUp")
    page.browser.evaluate("slider.value = 0; slider.dispatchEvent(new Event('input')); 0")
    check(page.state() == start, f"the slider does not go to the start: {page.state()}")
    last = page.browser.evaluate("""(() => { const rows = runs[0].root.querySelectorAll('.source .ran');
        rows[rows.length - 1].click(); return runs[0].open.split('/').pop() + ':' + rows[rows.length - 1].dataset.line; })()""")
    check(page.line() == last, f"a click on line {last} leads to {page.line()}")
    check(page.browser.evaluate("Number(slider.value) === runs[0].at"), "the slider does not follow the click")


def pictures_agree_with_counts(page):
    """The pictures are worked out in the browser, what they cost in the program."""
    wrong = page.browser.evaluate("""runs.flatMap(run => run.events).filter(one => one.what === "request" &&
        (one.shared ? passesOf(one).count : sectorsOf(one).size) !== one.transactions).length""")
    requests = page.browser.evaluate("runs.flatMap(run => run.events).filter(one => one.what === 'request').length")
    check(requests > 20 and wrong == 0, f"{page.names}: {wrong} of {requests} pictures show another cost")


def bank_conflicts(page):
    """Of the tree of reduce/interleaved: in phase p + 1 the words are 2^p apart."""
    for phase, apart in ((2, 2), (3, 4), (4, 8)):
        page.keys("n")
        found = set()
        while f"phase {phase}" in page.text("where"):
            passes = page.browser.evaluate("runs[0].part('memory').querySelectorAll('text.row').length - 1")
            found.add((page.sentence(), passes))
            page.keys("ArrowRight")
        page.keys("p")
        wanted = f"32 lanes read words {apart} apart, up to {apart} words in one bank"
        check(any(text.startswith(wanted) and f": {apart} passes instead of 1." in text and passes == apart
                  for text, passes in found), f"phase {phase} shows no '{wanted}': {found}")


def breaking(page):
    text = page.text("broken")
    check("kogge_stone.cuh" in text and "race: kernel scan_kogge_stone_kernel" in text, f"no race is found: {text}")
    page.browser.evaluate("runs[0].root.querySelector('[data-broken]').click()")
    check(page.browser.evaluate("runs[0].root.querySelectorAll('.taken-out').length === 1 && "
                                "runs[0].root.querySelectorAll('.race').length >= 1"), "the race's lines are not marked")


# Each thread reads two words past the end of `data` where it has none left; block 2 has the first of them.
BROKEN = """__device__ int total;
__global__ void shifted(const float* data, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = 0.5f * data[i + 2];
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&total, (int)tile[1]);
}
int main() {
  float h[96], *d;
  for (int i = 0; i < 96; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  shifted<<<3, 32, 32 * 4>>>(d, 96);
  cudaDeviceSynchronize();
}
"""


class LabPage(Page):
    """The page of a program of the lab that ends with a finding."""
    def __init__(self, browser, weft, folder):
        self.browser, self.names = browser, ["broken.cu"]
        (folder / "broken.cu").write_text(BROKEN)
        done = subprocess.run([weft, "lab", "run", "--watch", "broken.html", "broken.cu"], cwd=folder, capture_output=True, text=True)
        check(done.returncode == 1 and "out of bounds" in done.stderr, f"the program is not told of: {done.stderr}")
        browser.call("Page.navigate", url=(folder / "broken.html").as_uri())
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")


def finding_and_values(page):
    where, sentence, line = page.state()
    check("block 2, warp 0" in where and sentence.startswith("out of bounds: kernel shifted, block (2, 0, 0), thread (30, 0, 0)") and
          line == "broken.cu:5", f"the page does not begin at the finding: {where}, {sentence}, {line}")
    check(page.browser.evaluate("runs[0].root.querySelectorAll('.source .race').length") == 1, "the finding's line is not marked")
    page.keys("ArrowLeft")
    memory = page.text("memory")
    for piece in ("global load: data", "What each lane reads", "[66] 66", "[95] 95", "[96] 0"):
        check(piece in memory, f"the access has no '{piece}': {memory}")
    page.keys("ArrowRight", "ArrowRight")
    check("tile" in page.text("memory") and "[3] 34.5" in page.text("memory"), f"no write of tile: {page.text('memory')}")
    page.keys("End")
    check("__device__ total" in page.text("memory"), f"no atomic of total: {page.text('memory')}")
    page.browser.evaluate("runs[0].root.querySelector('[data-found]').click()")
    check(page.sentence() == sentence, "a click on the finding does not lead there")
    words = page.browser.evaluate("document.getElementById('words').textContent")
    for word in ("sector", "bank conflict", "divergence", "occupancy", "costliest"):
        check(word in words, f"the page does not explain {word}")
    check("of the lanes are idle" in page.text("finding"), f"the headline tells of no idle lanes: {page.text('finding')}")


def two_in_step(page):
    check(page.browser.evaluate("document.querySelector('.difference').textContent")
          .startswith("Against scan/kogge_stone, scan/brent_kung has "), "no sentence tells the difference")
    before = page.state(0), page.state(1)
    page.keys("n", "ArrowRight", "ArrowRight")
    after = page.state(0), page.state(1)
    check(before[0] != after[0] and before[1] != after[1], "the two do not go in step")


def looks(page, name, folder):
    for theme, width in (("light", 1300), ("dark", 1300), ("light", 380), ("dark", 380)):
        page.browser.theme(theme)
        page.browser.size(width, 900, 2 if width < 500 else 1, mobile=width < 500)
        check(page.browser.evaluate(f"document.documentElement.scrollWidth <= {width}"), f"{name}: wider than {width}")
        if folder:
            page.browser.screenshot(folder / f"watch-{name}-{theme}-{width}.png", whole=False)
    page.browser.theme("light")
    page.browser.size(1300, 900)


def run(arguments, folder):
    weft = arguments.weft.resolve()
    browser = chromium.Chromium(chromium.find())
    try:
        for name in ("scan/kogge_stone", "reduce/interleaved", "gemm/tiled"):
            page = Page(browser, weft, [name], folder)
            step_through(page)
            pictures_agree_with_counts(page)
            if name == "scan/kogge_stone":
                breaking(page)
            page.keys("Home")
            if name == "reduce/interleaved":
                bank_conflicts(page)
            looks(page, name.replace("/", "-"), arguments.pictures)
            print(f"{name}: {page.text('where')}: {page.sentence()}")
        page = LabPage(browser, weft, folder)
        finding_and_values(page)
        looks(page, "finding", arguments.pictures)
        page = Page(browser, weft, ["scan/kogge_stone", "scan/brent_kung"], folder)
        pictures_agree_with_counts(page)
        two_in_step(page)
        looks(page, "two", arguments.pictures)
        outside = [event["params"]["request"]["url"] for event in browser.events
                   if event["method"] == "Network.requestWillBeSent" and
                   not event["params"]["request"]["url"].startswith(("file:", "data:"))]
        check(not outside, f"the page asked others: {outside}")
        failures = [event["params"] for event in browser.events
                    if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        check(not failures, f"the console has errors: {failures}")
    finally:
        browser.close()
    print("the pages are well")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    if not chromium.find():
        print("skipped: no Chromium here (Debian: apt-get install chromium)")
        sys.exit(77)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weft-watch-") as folder:
        run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
