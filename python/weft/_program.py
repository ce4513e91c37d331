# SPDX-License-Identifier: MIT
"""The weft program as a process of its own, with its errors as exceptions."""

import os
import subprocess
import sys
from pathlib import Path

from weft._errors import CheckError, DataError, DeviceError, Error, UsageError

_ERRORS = {1: CheckError, 2: UsageError, 3: DataError, 4: DeviceError}


def run(*arguments: str) -> str:
    """What `weft ARGUMENTS...` prints. Its exit code decides what is raised."""
    package = str(Path(__file__).absolute().parent.parent)
    path = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": package + (os.pathsep + path if path else ""),
        "WEFT_PROGRAM": "python -m weft",
    }
    done = subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    message = lines[-1].removeprefix("weft: error: ") if lines else "it ended without a word"
    raise _ERRORS.get(done.returncode, Error)(message)
