# SPDX-License-Identifier: MIT
"""What a result must carry so that it can be compared: GPU, driver, CUDA, CPU, commit, date; and its file."""
import datetime
import fcntl
import json
import os
import pathlib
import secrets
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def machine():
    gpu = output_of("nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader")
    name, driver, clock = (gpu.splitlines()[0].split(", ") if gpu else ("none", "", ""))
    nvcc = output_of(os.environ.get("CUDACXX", "nvcc"), "--version")
    return {
        "gpu": name,
        "driver": driver,
        "max_sm_clock": clock,
        "cuda": nvcc.split("release ")[-1].split(",")[0] if "release" in nvcc else "",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        # A copy of the tree without its history names its commit through WEFT_COMMIT.
        "commit": os.environ.get("WEFT_COMMIT") or output_of("git", "rev-parse", "--short", "HEAD"),
        "date": datetime.date.today().isoformat(),
    }


def write_result(path, result):
    """Replaces the file whole, as data/files/file_io.h has it; a pipe or a device is written into."""
    text = json.dumps(result, indent=1) + "\n"
    is_stream = path.exists() and not path.is_file() and not path.is_symlink()
    if is_stream or os.path.abspath(path).startswith(("/dev/", "/proc/")):  # /dev/stdout is a link
        with open(path, "w") as stream:
            stream.write(text)
        return
    part = path.with_name(f".weft-{secrets.token_hex(16)}.tmp")
    try:
        with open(part, "x") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
