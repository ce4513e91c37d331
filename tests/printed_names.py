#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile names go through every command, and every byte that comes out is looked at.

    python3 tests/printed_names.py build/cpu/weft [--host-cuda]

--host-cuda: the program has the lab, and shows kernels step by step.

On stdout and stderr nothing unprintable may stand but ends of lines, and the colours of a terminal.
JSON, CSV, SVG and HTML must parse and have the names.
"""
import csv
import html.parser
import http.client
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from hostile_names import BROKEN, NAMES, PLAIN, SOURCE, is_unprintable, png, visible, write_classes

CLASSES = NAMES + PLAIN


def check(holds, what):
    if not holds:
        sys.exit(f"printed_names: {what}")


def check_printed(text, what):
    """`text`: bytes. Returns them as a string."""
    try:
        found = text.decode()
    except UnicodeDecodeError as error:
        sys.exit(f"printed_names: {what}: not UTF-8, {error}")
    bad = sorted({f"U+{ord(c):04X}" for c in found if is_unprintable(c) and c != "\n"})
    check(not bad, f"{what}: {', '.join(bad)} in {found!r}")
    check("\nweft: error: forged" not in found, f"{what}: a name has made a line: {found!r}")
    return found


class Weft:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        for name in ("CCACHE_DIR", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def __call__(self, *words, code=0, **settings):
        """What it prints: stdout and stderr. code: the exit code; None: any but 0."""
        done = subprocess.run([self.program, *words], cwd=self.folder, env={**self.environment, **settings},
                              capture_output=True, stdin=subprocess.DEVNULL)
        about = " ".join(map(repr, words))
        out, err = check_printed(done.stdout, about), check_printed(done.stderr, about)
        check(done.returncode == code or (code is None and 0 < done.returncode < 100),
              f"{about}: exit code {done.returncode}: {out} {err}")
        if code != 0:
            lines = err.splitlines()
            check(lines and all(line.startswith("weft: ") for line in lines), f"{about}: {err}")
            check(sum(line.startswith("weft: error: ") for line in lines) == 1, f"{about}: not one line: {err}")
        return out, err

    def json(self, *words):
        """The events of --json. They have nothing unprintable as it is, and json.loads() gives it back."""
        return [json.loads(line) for line in self(*words, "--json")[0].splitlines()]

    def on_terminal(self, *words):
        """What it writes to a terminal, without what makes colours and a bar."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execve(self.program, [self.program, *words], {**self.environment, "TERM": "xterm-256color"})
        text = b""
        try:
            while part := os.read(terminal, 1 << 16):
                text += part
        except OSError:  # the program has ended
            pass
        os.waitpid(child, 0)
        os.close(terminal)
        # 5 and 7 are styles of the names, and none of Weft's.
        text = re.sub(rb"\x1b\[(?:0|1|2|3[1-6]|1;31|[34]8;[25](?:;[0-9]+)+)*m|\r\x1b\[K|\x1b\[K|\r(?=[ \n])", b"", text)
        return check_printed(text, "terminal: " + " ".join(map(repr, words)))


class Text(html.parser.HTMLParser):
    """What a page shows, and its elements."""

    def __init__(self, page):
        super().__init__()
        self.text, self.elements, self.attributes, self.values = "", [], set(), ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        for name, value in attributes:
            self.attributes.add(name)
            self.values += f"{value}\n"
            check(tag != "img" or name != "src" or value.startswith("data:"), f"<img src={value}>")


def check_page(page, scripts, names):
    text = check_printed(page.encode().replace(b"\t", b" "), "a page")
    found = Text(text)
    check(found.elements.count("script") == scripts, f"{found.elements.count('script')} scripts in a page of {scripts}")
    check(not any(name.startswith("on") for name in found.attributes), f"attributes {found.attributes}")
    check("default-src 'none'" in found.values, "the page has no policy")
    for name in names:
        check(visible(name) in found.text, f"{visible(name)} is not on the page")


def data_and_models(weft, folder):
    write_classes(folder / "data", CLASSES)
    out, _ = weft("data", "info", "--data", "data")
    for name in CLASSES:
        check(visible(name) in out, f"data info does not have {visible(name)}: {out}")
    counted = weft.json("data", "info", "--data", "data")[0]["classes"]
    check({one["class"] for one in counted} == set(CLASSES), f"data info --json: {counted}")
    run = "run " + NAMES[5]
    weft("train", "--data", "data", "--model", "mlp", "--epochs", "1", "--device", "cpu", "--lr-schedule", "constant",
         "--out", run)
    check_page((folder / run / "report.html").read_text(), 0, CLASSES)
    xml.etree.ElementTree.parse(folder / run / "curves.svg")
    for name in ("config.json", "state.json", "metrics.jsonl"):
        text = check_printed((folder / run / name).read_bytes(), name)
        check([json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text), name)
    end = weft.json("train", "--data", "data", "--model", "mlp", "--epochs", "1", "--device", "cpu", "--out",
                    "again " + NAMES[9])[-1]
    check(end["run_dir"] == "again " + NAMES[9], f"run_dir is {end['run_dir']!r}")
    weft("train", "--data", "data", "--model", "mlp", "--epochs", "1", "--device", "cpu", "--out", run, code=None)
    weft("train", "--resume", run, "--epochs", "2", "--data", "data", "--device", "cpu")
    weft("train", "--data", "data", "--model", "mlp", "--dry-run", "--out", NAMES[7])

    out, _ = weft("eval", run, "--data", "data", "--confusion", "--per-class")
    for name in CLASSES:
        check(visible(name) in out, f"eval does not have {visible(name)}: {out}")
    rows = weft.json("eval", run, "--data", "data", "--per-class")[0]["per_class"]
    check({one["class"] for one in rows} == set(CLASSES), f"eval --json: {rows}")
    out, _ = weft("inspect", run)
    check(visible(NAMES[5]) in out.replace("\n" + " " * 9, " "), f"inspect: {out}")
    check(set(weft.json("inspect", run)[0]["class_names"]) == set(CLASSES), "inspect --json")
    weft("export", run, "--format", "safetensors", "--out", "out " + NAMES[8] + ".safetensors")
    weft("export", run, "--format", "npz", "--out", "out " + NAMES[9] + ".npz")
    told = weft.json("export", run, "--format", "onnx", "--out", "out " + NAMES[6] + ".onnx")[0]
    check(told["file"] == "out " + NAMES[6] + ".onnx", f"export --json: {told}")
    return run


def predict(weft, folder, run):
    pictures = []
    for i, name in enumerate([*CLASSES, *BROKEN]):
        pictures.append(os.fsencode(name) + b".png")
        (folder / os.fsdecode(pictures[-1])).write_bytes(png(220, row=i % len(CLASSES)))
    (folder / (NAMES[9] + ".txt")).write_text("no picture")
    pictures.append(os.fsencode(NAMES[9] + ".txt"))
    arguments = [b"./" + name for name in pictures]
    out, _ = weft("predict", run, *arguments[:-1], "--top-k", "3", "--csv", "answers.csv")
    for name in pictures[:-1]:
        check("./" + visible(name) in out, f"predict does not have {visible(name)}: {out}")
    text = check_printed((folder / "answers.csv").read_bytes(), "answers.csv")
    rows = list(csv.reader(text.splitlines(), strict=True))
    check(len(rows) == 1 + len(pictures) - 1 and {len(row) for row in rows} == {len(rows[0])}, f"the CSV: {text}")
    check([row[0] for row in rows[1:]] == ["./" + visible(name) for name in pictures[:-1]], f"files in {text}")
    for row in rows[1:]:
        check(float(row[3]) > 0 and row[2][0] not in "=+@" and (row[2][0] != "-" or row[2] == "-1.5"), f"a cell: {row}")
    answers = weft.json("predict", run, *arguments[:-1])
    whole = [name.decode("utf-8", "replace") for name in arguments[:-len(BROKEN) - 1]]
    check([one["image"] for one in answers][:len(CLASSES)] == whole, "predict --json")
    check({one["class"] for one in answers} <= set(CLASSES), "the classes of predict --json")
    _, err = weft("predict", run, arguments[-1], "--csv", "failure.csv", code=3)
    check(visible(NAMES[9]) in err, err)
    check_printed((folder / "failure.csv").read_bytes(), "failure.csv")
    weft("predict", run, arguments[0], "--show", "--json")
    for words in (["predict", run, *arguments[:-1], "--show"], ["data", "info", "--data", "data"], ["inspect", run],
                  ["eval", run, "--data", "data", "--confusion", "--per-class"], ["predict", run, arguments[-1]],
                  ["train", "--resume", run, "--epochs", "3", "--data", "data", "--device", "cpu"]):
        weft.on_terminal(*words)


def arrays(weft, folder):
    for name in (NAMES[0], NAMES[5], NAMES[9], BROKEN[1]):
        file = os.fsdecode(os.fsencode(name))
        (folder / (file + ".csv")).write_text("a,b\u202e\u009b5m\n1,2\n3,4\n")
        out, _ = weft("histogram", "./" + file + ".csv", "--column", "1", "--bins", "2", "--out", "h.svg")
        check(visible(name) in out, f"histogram: {out}")
        title = xml.etree.ElementTree.parse(folder / "h.svg").findtext("{http://www.w3.org/2000/svg}title")
        check(visible(name) in title, f"the title of an SVG is {title}")
        check_printed((folder / "h.svg").read_bytes(), "h.svg")
        weft("histogram", "./" + file + ".csv", "--column", "1", "--out", "h.csv")
        weft("histogram", "./" + file + ".csv", "--column", "none", code=None)
        weft("scan", "./" + file + ".csv", "--column", "1", "--out", file + ".npy")
        weft("scan", "./" + file + ".csv", "--column", NAMES[5], code=None)
        weft("nbody", "--start", "./" + file + ".csv", "--out", "bodies", code=None)
    check(weft.json("histogram", "./" + NAMES[5] + ".csv", "--column", "1")[0]["input"] == "./" + NAMES[5] + ".csv",
          "histogram --json")
    weft("nbody", "--bodies", "64", "--steps", "2", "--frames", "2", "--image-size", "64", "--device", "cpu",
         "--out", "bodies " + NAMES[9])
    weft("nbody", "--resume", "bodies " + NAMES[9], "--steps", "3", "--device", "cpu")


def messages(weft, folder):
    """Each command is asked for what is not there, and for what is none of its kind."""
    (folder / "bad.net").write_bytes(b"conv 3\x1b[5m\xc2\x9b 3\n")
    (folder / "comment.net").write_bytes("flatten  # \x1b[5m\u202e\r\nlinear classes\n".encode())
    (folder / "bad.json").write_text(json.dumps({NAMES[5]: 1}))
    (folder / "bad.npy").write_bytes(b"\x93NUMPY\1\0v\0{'descr': '\x1b[5m\xc2\x9b', 'fortran_order': False, "
                                     b"'shape': (1,), }" + b" " * 57 + b"\n")
    header = json.dumps({NAMES[7]: {"dtype": NAMES[5], "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "bad.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    for words in (["inspect", "bad.net"], ["inspect", "bad.safetensors"], ["eval", "bad.safetensors"],
                  ["train", "--config", "bad.json"], ["histogram", "bad.npy"], ["import", "bad.json", "--out", "x"]):
        weft(*words, code=None)
    weft("inspect", "comment.net", "--definition")
    for name in (NAMES[5], NAMES[8], NAMES[9], BROKEN[0], BROKEN[1]):
        for words in (["eval", name], ["predict", name, "x.png"], ["inspect", name], ["import", name, "--out", name],
                      ["export", name], ["serve", name], ["histogram", name], ["scan", name], ["nbody", "--start", name],
                      ["nbody", "--resume", name], ["train", "--resume", name], ["train", "--data", name],
                      ["train", "--dataset", name], ["train", "--model", name, "--dry-run"], ["data", "verify", name],
                      ["train", "--config", name], ["data", "verify", "--data-dir", name], ["data", "info", name],
                      ["data", "export", name, "--out", name], ["kernel", "show", name], ["kernel", "run", name],
                      ["kernel", "watch", name], ["kernel", "occupancy", name], ["bench", name], ["lab", "run", name],
                      ["doctor", name], ["train", "--device", name], ["train", "--devices", name], ["train", "--lr", name],
                      ["train", "--impl", name], ["completion", name], [name], ["--" + os.fsdecode(name)]):
            weft(*words, code=None)
    for setting in ("WEFT_CPU_ISA", "WEFT_DATA_DIR", "WEFT_PROGRAM"):
        weft("data", "verify", code=None, **{setting: NAMES[9]})
        subprocess_code = None if setting == "WEFT_CPU_ISA" else 0
        weft("doctor", code=subprocess_code, **{setting: NAMES[9]})


def pages(weft, folder):
    page = "page " + NAMES[0] + ".html"
    out, _ = weft("kernel", "watch", "scan/kogge_stone", "--size", "64", "--out", page)
    check(visible(page) in out, out)
    check_page((folder / page).read_text(), 2, [])
    source = NAMES[4].replace("script", "title") + "DATA.cu"
    (folder / source).write_text(SOURCE)
    weft("lab", "run", "--watch", "lab.html", source)
    text = (folder / "lab.html").read_text()
    check_page(text, 2, [])
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
    check(any("alert(4)> {{script}}\n" in one and "\\u202e }" in one for one in data["sources"].values()), "the source")


def serve(weft, folder):
    classes = [name.replace(",", "\u201a") for name in NAMES[:10]]
    weft("train", "--dataset", "digits", "--limit-train", "300", "--epochs", "1", "--device", "cpu", "--model", "mlp",
         "--out", "digits")
    told = weft.json("import", "digits/model.safetensors", "--classes", ",".join(classes), "--out", NAMES[5])[0]
    check(told["class_names"] == classes, f"import --json: {told}")
    weft("import", "digits/model.safetensors", "--classes", ",".join(classes), "--out", NAMES[9])
    server = subprocess.Popen([weft.program, "serve", NAMES[5], "--port", "0"], cwd=folder, env=weft.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = check_printed(server.stdout.readline(), "serve")
        found = re.search(r"http://127\.0\.0\.1:([0-9]+)(/\S*)", line)
        if found is None:
            return  # built without a web server
        base = found.group(2).partition("?")

        def get(path):
            connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=20)
            connection.request("GET", path + base[1] + base[2])
            return connection.getresponse()
        model = get("/model").read()
        check(json.loads(check_printed(model, "/model"))["classes"] == classes, f"/model: {model}")
        response = get("/")
        check("script-src 'nonce-" in response.getheader("Content-Security-Policy", ""), "serve's page has no policy")
        check("{{" not in check_printed(response.read(), "serve's page"), "a place of serve's page is not filled")
    finally:
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=30)
        check_printed(err, "serve")


def main():
    with tempfile.TemporaryDirectory(prefix="weft-names-") as folder:
        folder = pathlib.Path(folder)
        weft = Weft(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        run = data_and_models(weft, folder)
        predict(weft, folder, run)
        arrays(weft, folder)
        messages(weft, folder)
        if "--host-cuda" in sys.argv:
            pages(weft, folder)
        serve(weft, folder)
    print(f"{len(CLASSES) + len(BROKEN)} names are printed well")


if __name__ == "__main__":
    main()
