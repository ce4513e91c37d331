# SPDX-License-Identifier: MIT
"""`python -m weft ...` is the weft program, on the CPU and on host-cuda."""

import sys

from weft.host_cuda import program

if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
