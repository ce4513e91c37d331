"""Runs the programs of a folder of repositories through `weft lab run`, and counts how they end. See run.py."""
import collections
import concurrent.futures
import csv
import functools
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
MEMORY = 8 << 30  # bytes of a program and all that it has started
WAITING = 10  # times its processor time, on a machine with other work
PROGRAM = "program"  # what the lab calls a program that it has compiled
OUTPUT = 1 << 30  # bytes that it writes into files and prints

# The classes of outcomes, and whether each is as it should be (1), the lab's failure (-1), or neither.
CLASSES = {
    "ran": ("ran to the end", 1),
    "finding": ("ended with a finding", 1),
    "slow": ("did not end in time", -1),
    "refused": ("refused by name", -1),
    "compile": ("did not compile", -1),
    "link": ("did not link", -1),
    "crash": ("crashed", -1),
    "memory": ("needed more than 8 GiB of memory or 1 GiB of files", -1),
    "library": ("needs a library of NVIDIA's", 0),
    "texture": ("needs textures or CUDA arrays", 0),
    "dynamic": ("waits in a kernel for kernels, as CUDA had it before 12", 0),
    "header": ("a third party's header is missing", 0),
    "nvcc": ("nvcc does not compile it, either", 0),
    "needs": ("needs arguments, input, further sources, a window or MPI", 0),
}
LIBRARIES = (r"Thrust|CUB|cuRAND|cuBLAS|cuFFT|cuSPARSE|cuSOLVER|cuDNN|NPP|nvJPEG|NCCL|CUTLASS|CuTe|libcu\+\+"
             r"|driver API|OpenGL")
ASKS = r"usage|argument|cannot open|can't open|could not open|no such file|not found|failed to open|unable to open|fopen|cannot read"


def identity(row: dict) -> str:
    """What stands for a program in the results: neither its repository nor its name."""
    return hashlib.sha256(f"{row['repository']}/{row['program']}".encode()).hexdigest()[:12]


def words_of(row: dict, root: pathlib.Path) -> list[str]:
    """The words behind `lab run` that the list's last column stands for: it has names of files without their folders."""
    program = root / row["program"]
    words = (row.get("flags and arguments") or program.name).split(" ")
    if words and words[0] == "--":
        words = [program.name, *words]
    out = []
    while words and words[0] == "-I":
        end = next(i for i, word in enumerate(words) if word.endswith(SOURCES))
        name = " ".join(words[1:end])
        words = words[end:]
        near = [parent / name for parent in program.parents if root in (parent, *parent.parents)]
        near += [root, *sorted(root.rglob(name))] if root.name == name else sorted(root.rglob(name))
        folder = next((str(one) for one in near if one.is_dir()), None)
        out += ["-I", folder] if folder else []
    if program.name in words:
        words = words[words.index(program.name) + 1:]  # a name may have blanks
    elif " " in program.name:
        words = words[len(program.name.split(" ")):]
    out.append(str(program))
    while words and words[0] != "--" and words[0].endswith(SOURCES):
        word = words.pop(0)
        beside = program.parent / word
        found = [beside] if beside.is_file() else sorted(root.rglob(word))
        out += [str(found[0])] if found else []
    if words and words[0] == "--":
        words = words[1:]
    return [*out, "--", *words]


def share_of(process: str) -> int:
    """Bytes of memory of a process, of each page only its share."""
    try:
        found = re.search(r"^Pss: +(\d+) kB$", pathlib.Path(process, "smaps_rollup").read_text(), re.M)
        return int(found[1]) * 1024 if found else 0
    except OSError:
        return 0  # it has ended


def session_use(session: int) -> tuple[float, int]:
    """Seconds that a session takes on two cores that do nothing else, and bytes of memory that it holds.

    Seconds are those of the processor, but half of them where processes that a program of the lab has forked run blocks
    of a grid: these run at the same time. Processes that share a page hold it once.
    """
    ticks, pages = 0.0, 0
    names, forked, processes = {}, [], []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                before, _, after = pathlib.Path(entry.path, "stat").read_text().rpartition(")")
                words = after.split()  # from the state on
                if int(words[3]) == session:
                    name = names[entry.name] = before.partition("(")[2]
                    own, waited_for = (int(words[at]) + int(words[at + 1]) for at in (11, 13))
                    ticks += own + (waited_for / 2 if name == PROGRAM else waited_for)
                    forked.append((name, words[1], own))
                    pages += int(words[21])
                    processes.append(entry.path)
            except (OSError, ValueError, IndexError):
                pass  # it has ended
    ticks -= sum(own / 2 for name, parent, own in forked if name == PROGRAM and names.get(parent) == PROGRAM)
    held = pages * os.sysconf("SC_PAGESIZE")
    if held > MEMORY and len(processes) > 1:
        held = sum(map(share_of, processes))
    return ticks / os.sysconf("SC_CLK_TCK"), held


def written(folder: pathlib.Path, *files) -> int:
    """Bytes of what is printed, and of the files beside the program."""
    return sum(os.fstat(file.fileno()).st_size for file in files) + sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())


@functools.cache
def apart() -> list[str]:
    """The words that start a command without a network, and end all that it has started when it ends, or when this program does."""
    words = ["setpriv", "--pdeathsig", "KILL", "unshare", "-rnpf", "--mount-proc", "--kill-child"]
    try:
        return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []
    except FileNotFoundError:
        return []


def limited(words: list[str], folder: pathlib.Path, seconds: float) -> tuple[int | str, str, str]:
    """The exit code, or slow or memory; stdout; stderr. It has `seconds` of two cores. Nothing that was started goes on."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([*apart(), "nice", "prlimit", "--core=0", *words], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=err, start_new_session=True)
        end = time.monotonic() + WAITING * seconds
        code: int | str | None = None
        try:
            while (code := process.poll()) is None:
                used, held = session_use(process.pid)
                if used > seconds or time.monotonic() > end:
                    code = "slow"
                elif held > MEMORY or written(folder, out, err) > OUTPUT:
                    code = "memory"
                if code is not None:
                    break
                time.sleep(0.2)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode(errors="replace"))
        return code, texts[0], texts[1]


def classify(code: int | str, out: str, err: str) -> tuple[str, str]:
    """The class of an outcome, and its detail: a rule with its line, or a message's kind."""
    if isinstance(code, str):
        return code, ""
    finding = re.search(r"weft: error: host-cuda: ([a-z ]+): (.*)", err)
    if finding and finding[1] not in ("missing function", "assertion failed"):
        if "dynamic parallelism" in err:
            return "dynamic", ""
        line = re.search(r"\bat [^ :]*:(\d+)", finding[2])
        return "finding", finding[1] + (f", line {line[1]}" if line else "")
    if finding and finding[1] == "assertion failed":
        return "finding", finding[1]
    missing = re.search(r"fatal error: ([^:]+): No such file", err)
    if missing:
        return "header", missing[1]
    refusal = next((line for line in err.splitlines() if line.startswith("weft: error: ")), "")
    if "does not link" in refusal:
        name = next(iter(re.findall(r"undefined reference to `([^']+)'", err)), "")
        return "needs" if re.match(r"main$|glut|gl[A-Z]|glfw|MPI_", name) else "link", name
    if "does not compile" in refusal:
        said = re.search(r": error: (.*)", err)
        return "compile", said[1] if said else ""
    if re.search(r"was ended by signal (\d+)", err) or code > 128:
        return "crash", f"signal {code - 128}"
    if code == 2 and refusal:
        if re.search(LIBRARIES, refusal):
            return "library", re.search(LIBRARIES, refusal)[0]
        if "texture" in refusal or "CUDA arrays" in refusal:
            return "texture", ""
        return "refused", refusal.removeprefix("weft: error: ")
    if code != 0 and re.search(ASKS, out + err, re.I):
        return "needs", f"exit code {code}"
    return "ran", f"exit code {code}" if code else ""


def outcome(weft: str, folder: pathlib.Path, row: dict, seconds: float, nvcc: str | None, logs: pathlib.Path | None) -> dict:
    root = folder / row["repository"].replace("/", "+")
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(place) / "copy"
        shutil.copytree(root, copy, symlinks=True, ignore_dangling_symlinks=True)
        words = words_of(row, copy)
        here = (copy / row["program"]).parent
        code, out, err = limited([weft, "lab", "run", *words], here, seconds)
        kind, detail = classify(code, out, err)
        # There is nothing on its stdin, and no more arguments than the list has.
        text = (copy / row["program"]).read_text(errors="replace")
        asked = [int(number) for number in re.findall(r"\bargv\s*\[\s*(\d+)\s*\]", text)]
        lacks = max(asked, default=0) > len(words) - 1 - words.index("--")
        # Without a look at their number it reads arguments that nobody has given: it would crash when it comes so far.
        lacks_surely = lacks and len(re.findall(r"\bargc\b", text)) == 1
        if (kind == "crash" and lacks) or (kind in ("slow", "memory") and lacks_surely):
            kind, detail = "needs", "arguments"
        elif (kind in ("crash", "finding", "slow") or (kind == "ran" and code != 0)) and re.search(r"^[^/\n]*\b(scanf\s*\(|cin\s*>>)", text, re.M):
            kind, detail = "needs", "input"
        if nvcc and kind in ("compile", "link", "refused"):
            flags = [flag for i, flag in enumerate(words) if flag == "-I" or (i and words[i - 1] == "-I")]
            refused, nvcc_out, nvcc_err = limited([nvcc, "-c", *flags, str(copy / row["program"]), "-o", "/dev/null"], here, 120)
            if refused:
                kind = "nvcc"
                err += f"\n--- nvcc\n{nvcc_out}{nvcc_err}"
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / identity(row)).write_text(f"{row['repository']} {row['program']}\n{words}\n{kind}: {detail}\n--- stdout\n{out}\n--- stderr\n{err}")
    return {"class": kind, "detail": detail if kind in ("finding", "crash", "library") else "", "said": detail}


def read_results(path: pathlib.Path) -> dict[str, dict]:
    with path.open(newline="") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


def table(results: dict[str, dict], before: dict[str, dict]) -> str:
    now, then = (collections.Counter(row["class"] for row in rows.values()) for rows in (results, before))
    lines = ["| outcome | programs |" + (" before |" if before else ""), "|---|---|" + ("---|" if before else "")]
    lines += [f"| {text} | {now[name]} |" + (f" {then[name]} |" if before else "") for name, (text, _) in CLASSES.items()
              if now[name] or then[name]]
    return "\n".join(lines) + "\n"


def run_list(given, rows: list[dict]) -> int:
    before = read_results(given.before) if given.before else {}
    known = read_results(given.results) if given.resume and given.results and given.results.exists() else {}
    again = set(given.again.split(",")) if given.again else set()
    known = {name: row for name, row in known.items() if row["class"] not in again}
    nvcc = given.nvcc or shutil.which("nvcc")

    def run(row: dict) -> dict:
        name = identity(row)
        if name in known:
            return known[name]
        found = outcome(given.weft, given.folder.resolve(), row, given.seconds, nvcc, given.logs)
        print(f"{row['repository']} {row['program']}: {found['class']} {found.pop('said')}", flush=True)
        return {"program": name, **found}

    results = {}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool, open(given.results or os.devnull, "w", newline="") as file:
        writer = csv.DictWriter(file, ["program", "class", "detail"], lineterminator="\n")
        writer.writeheader()
        for row in pool.map(run, rows):
            results[row["program"]] = row
            writer.writerow(row)
            file.flush()
    print(table(results, before), end="")
    worse = []
    for name, row in results.items():
        if name in before and before[name]["class"] != row["class"]:
            was, now = CLASSES[before[name]["class"]][1], CLASSES[row["class"]][1]
            step = "better" if now > was else "worse" if now < was else "other"
            worse += [name] if step == "worse" else []
            print(f"{step}: {name}: {before[name]['class']} {before[name]['detail']} -> {row['class']} {row['detail']}")
    if given.page:
        text = given.page.read_text()
        begin, end = "<!-- programs -->\n", "<!-- end of programs -->\n"
        given.page.write_text(text[:text.index(begin) + len(begin)] + table(results, before) + text[text.index(end):])
    return 1 if worse else 0
