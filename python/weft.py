#!python
# SPDX-License-Identifier: MIT
"""The command `weft` of the Python package: the program in it, which comes back here for host-cuda, or the package itself."""

import importlib.util
import os
import runpy
import sys

spec = importlib.util.find_spec("weft")
program = os.path.join(spec.submodule_search_locations[0], "bin", "weft")
comes_back = os.environ.pop("WEFT_HOST_CUDA_PROGRAM", None) is not None
os.environ.setdefault("WEFT_PROGRAM", "weft")
if not comes_back and os.path.exists(program):
    os.environ["WEFT_HOST_CUDA_PROGRAM"] = os.path.abspath(__file__)
    os.execv(program, ["weft", *sys.argv[1:]])
sys.argv[0] = "weft"
runpy.run_module("weft", run_name="__main__")
