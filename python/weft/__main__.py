# SPDX-License-Identifier: MIT
"""`python -m weft ...` is the weft program, on the CPU and on host-cuda."""

import os
import sys
from pathlib import Path

from weft.host_cuda import program

if __name__ == "__main__":
    beside_lab = Path(__file__).with_name("bin") / "weft"  # in a wheel of packaging/build.sh
    if sys.argv[1:2] == ["lab"] and beside_lab.exists():
        os.execv(beside_lab, [str(beside_lab), *sys.argv[1:]])
    sys.exit(program(sys.argv[1:]))
