"""What the tests of faults share: a small world of files, the programs that run in it, and what is equal.

A world is a folder with a tiny data set, pictures, arrays, a finished run, a run that was stopped half way and a
simulation. Each test copies it, so that programs may do in it what they like.
"""
from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path(__file__).resolve().parent / "results"
TIMEOUT = 30  # seconds; a run takes about 20 ms
TRAIN = "train --data data --model tiny.net --epochs 4 --batch-size 16 --json --device cpu --threads 1"


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: str                  # the command line of weft
    results: tuple[str, ...]    # files and folders that it makes, in the world
    stdin: str = ""             # a file of the world
    rows: bool = False          # is the first result a table that may lack rows after an error?
    go_on: str = ""             # how a run goes on that exists already


PROGRAMS = [
    Program("train", f"{TRAIN} --out runs/new", ("runs/new",),
            go_on="train --resume runs/new --json --device cpu --threads 1"),
    Program("train pictures", "train --data pictures --model tiny.net --epochs 1 --batch-size 16 --json --device cpu "
            "--threads 1 --out runs/seen", ("runs/seen",),
            go_on="train --resume runs/seen --json --device cpu --threads 1"),
    Program("resume", "train --resume runs/half --json --device cpu --threads 1", ("runs/half",)),
    Program("predict", "predict runs/done pictures/0/0.png pictures/1/1.png --json --csv answers.csv --threads 1",
            ("answers.csv",), rows=True),
    Program("eval", "eval runs/done --data data --json --device cpu --threads 1", ()),
    Program("scan", "scan numbers.npy --out sums.npy --json --device cpu --threads 1", ("sums.npy",)),
    Program("scan a pipe", "scan --device cpu --threads 1", (), stdin="numbers.txt"),
    Program("histogram", "histogram numbers.npy --bins 4 --out counts.csv --json --device cpu --threads 1", ("counts.csv",)),
    Program("histogram of a picture", "histogram pictures/0/0.png --out plot.png --json --device cpu --threads 1",
            ("plot.png",)),
    Program("nbody", "nbody --bodies 32 --steps 6 --samples 2 --frames 2 --image-size 32 --checkpoint 3 --json "
            "--device cpu --threads 1 --out stars/new --save last.npy", ("stars/new", "last.npy"),
            go_on="nbody --resume stars/new --json --device cpu --threads 1 --save last.npy"),
    Program("resume nbody", "nbody --resume stars/half --json --device cpu --threads 1 --save last.npy",
            ("stars/half", "last.npy")),
    Program("export onnx", "export runs/done --format onnx --out out.onnx", ("out.onnx",)),
    Program("export npz", "export runs/done --format npz --out out.npz", ("out.npz",)),
    Program("export safetensors", "export runs/done --format safetensors --out out.safetensors", ("out.safetensors",)),
    Program("data export", "data export shapes --limit 3 --out drawn", ("drawn",)),
]


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """One thread, no cache but the world's, and none of what the caller's shell says of Weft."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT", "OMP", "XDG"))}
    return kept | {"OMP_NUM_THREADS": "1", "GOMP_SPINCOUNT": "2000", "HOME": "home", "XDG_CACHE_HOME": "cache",
                   "LC_ALL": "C.UTF-8"} | (extra or {})


@dataclasses.dataclass
class Ended:
    code: int
    stdout: str
    stderr: str


def run(weft: str, words: str, world: pathlib.Path, stdin: str = "", extra: dict[str, str] | None = None) -> Ended:
    """Standard output is a file in the world, so that writing it can fail as well."""
    out = world / "stdout.txt"
    with open(world / stdin if stdin else os.devnull, "rb") as given, open(out, "wb") as written:
        try:
            done = subprocess.run([weft, *words.split()], cwd=world, stdin=given, stdout=written,
                                  stderr=subprocess.PIPE, env=environment(extra), timeout=TIMEOUT, check=False)
            code, stderr = done.returncode, done.stderr
        except subprocess.TimeoutExpired as late:
            code, stderr = 124, (late.stderr or b"") + b"\nstill running"
    text = out.read_text(errors="replace")
    out.unlink()
    return Ended(code, text, stderr.decode(errors="replace"))


def png(side: int, pixel) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes(pixel(x, y) for x in range(side)) for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def draw_data(folder: pathlib.Path) -> None:
    """Pictures of 12 x 12 in grey: the class is the quarter that is bright."""
    folder.mkdir()
    noise = random.Random(1)
    for name, count in (("train", 48), ("t10k", 24)):
        pixels = bytes(noise.randint(0, 60) + (170 if y // 6 * 2 + x // 6 == i % 4 else 0)
                       for i in range(count) for y in range(12) for x in range(12))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, 12, 12) + pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) +
                                                           bytes(i % 4 for i in range(count)))


def make_world(weft: str, world: pathlib.Path) -> None:
    world.mkdir(parents=True)
    draw_data(world / "data")
    (world / "tiny.net").write_text("conv 2 3x3 stride 3\nrelu\nlinear classes\n")
    noise = random.Random(2)
    for label in range(2):
        (world / "pictures" / str(label)).mkdir(parents=True)
        for i in range(6):
            (world / "pictures" / str(label) / f"{i}.png").write_bytes(
                png(12, lambda x, y, label=label: noise.randint(0, 60) + (170 if x // 6 == label else 0)))
    numbers = [i * 7 % 11 for i in range(40)]
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (40,), }".ljust(117) + "\n"
    (world / "numbers.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() +
                                        struct.pack("<40q", *numbers))
    (world / "numbers.txt").write_text("\n".join(map(str, numbers)) + "\n")
    nbody = next(p for p in PROGRAMS if p.name == "nbody").words.replace("--out stars/new --save last.npy", "")
    for words in (f"{TRAIN} --out runs/done", f"{TRAIN} --out runs/half --stop-after 2",
                  f"{nbody} --out stars/half --stop-after 3"):
        ended = run(weft, words, world)
        if ended.code != 0:
            raise SystemExit(f"weft {words}: exit code {ended.code}: {ended.stderr}")


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items()
                if "seconds" not in name and "per_second" not in name and name not in ("images_rate", "sessions")}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def json_lines(text: str) -> str:
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.dumps(without_times(json.loads(line))))
        except ValueError:
            lines.append(line)
    return "\n".join(lines)


def meaning(path: pathlib.Path) -> bytes:
    """The content of a file, without the times that it took and the sessions that it took them in; two runs of one command have
    the same."""
    content = path.read_bytes()
    if path.suffix == ".safetensors" and len(content) >= 8:
        size = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8:8 + size])
        metadata = {name: json_lines(text) for name, text in header.pop("__metadata__", {}).items()}
        names = sorted(header)
        tensors = {name: (header[name]["dtype"], header[name]["shape"]) for name in names}
        data = b"".join(content[8 + size + header[n]["data_offsets"][0]:8 + size + header[n]["data_offsets"][1]]
                        for n in names)
        return json.dumps([metadata, tensors], sort_keys=True).encode() + data
    if path.suffix in (".json", ".jsonl"):
        text = content.decode()
        try:
            return json.dumps(without_times(json.loads(text))).encode()
        except ValueError:
            return json_lines(text).encode()
    if path.suffix == ".html":  # it tells times; that it is whole must do
        return b"whole" if content.rstrip().endswith(b"</html>") else b"cut short"
    if path.name == "checkpoint.weft-nbody" or b"weft_nbody" in content[:4096]:
        return re.sub(rb'\\?"[a-z_]*seconds\\?":[-+.e0-9]+', b"", content)
    return content


def tree(world: pathlib.Path, names) -> dict[str, str]:
    """File by file, the hash of what it means; a folder has none."""
    found = {}
    for name in names:
        top = world / name
        for path in sorted([top, *top.rglob("*")] if top.is_dir() else [top] if top.exists() else []):
            key = str(path.relative_to(world))
            found[key] = "" if path.is_dir() else hashlib.sha256(meaning(path)).hexdigest()[:16]
    return found


def all_names(world: pathlib.Path) -> list[str]:
    return sorted(path.name for path in world.iterdir())


def build_library(folder: pathlib.Path) -> pathlib.Path:
    library = folder / "weft_faults.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-fPIC", "-shared", "-I", ROOT,
                    *(pathlib.Path(__file__).with_name(name) for name in ("faults.cpp", "decide.cpp")), "-o", library,
                    "-ldl"], check=True)
    return library


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--weft", default=str(ROOT / "build/cpu/weft"), help="the program; default build/cpu/weft")
    parser.add_argument("--library", help="the preloaded library; compiled when it is not given")
    parser.add_argument("-j", type=int, default=1, help="processes")
    parser.add_argument("--most", type=int, default=40, help="problems that are printed; default 40")
    parser.add_argument("--short", action="store_true", help="a fixed sample that takes seconds; writes no results")
    return parser


class Workplace:
    """A temporary folder in memory where there is one, with the world in it, and the library."""

    def __init__(self, options) -> None:
        memory = pathlib.Path("/dev/shm")
        self.folder = pathlib.Path(tempfile.mkdtemp(
            prefix="weft-faults-", dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None))
        self.weft = str(pathlib.Path(options.weft).resolve())
        self.library = str(pathlib.Path(options.library).resolve() if options.library else build_library(self.folder))
        self.world = self.folder / "world"
        make_world(self.weft, self.world)

    def copy(self, name: str) -> pathlib.Path:
        """A fresh world; the last one of this name goes."""
        path = self.folder / name
        if path.exists():
            shutil.rmtree(path)
        shutil.copytree(self.world, path)
        return path

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def record(file: str, program: str, rows: list[dict]) -> None:
    """Replaces the rows of one program in a file of results."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / file
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    kept = [row for row in kept if row["program"] != program] + rows
    path.write_text("".join(json.dumps(row) + "\n" for row in kept))


def finish(problems: list[str], most: int) -> None:
    for problem in problems[:most]:
        print(problem, file=sys.stderr)
    if len(problems) > most:
        print(f"... and {len(problems) - most} more", file=sys.stderr)
    sys.exit(1 if problems else 0)
