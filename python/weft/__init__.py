# SPDX-License-Identifier: MIT
"""Weft: hand-written CUDA kernels, a trainer for small networks, and a simulator of CUDA.

Every kernel is a function of arrays (`weft.gemm(a, b)`), and every rung of every ladder can be
chosen by name (`variant="tiled"`). `weft.catalogue()` lists them, `weft.kernel("gemm/tiled")` shows,
runs and watches one. `weft.host_cuda` has the same functions on the CPU, thread by thread, with every
access to memory checked. `weft.layers` has the layers, forward and backward. `weft.train()`,
`weft.load()` and `weft.network()` are the trainer and its models.
"""

import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# Idle threads of GCC's OpenMP spin for milliseconds before they sleep, which starves the working
# ones when other programs use the cores too. It reads this once, when it is loaded.
_SPIN = "GOMP_SPINCOUNT"
_ask = _SPIN not in _os.environ and "OMP_WAIT_POLICY" not in _os.environ
if _ask:
    _os.environ[_SPIN] = "2000"

from weft import _core
from weft._catalogue import Catalogue, Kernel, Page, Run, Timing, catalogue, kernel
from weft._core import version as __version__
from weft._errors import CheckError, DataError, DeviceError, Error, UsageError
from weft._model import Answer, Model, load, network
from weft._picture import Picture, picture
from weft._train import Data, Epoch, Setting, Settings, data, settings, train

if _ask:
    del _os.environ[_SPIN]

if _TYPE_CHECKING:
    from weft import host_cuda, layers
    from weft._core import *  # noqa: F403

__all__ = [
    *_core.__all__,
    "Answer",
    "Catalogue",
    "CheckError",
    "Data",
    "DataError",
    "DeviceError",
    "Epoch",
    "Error",
    "Kernel",
    "Model",
    "Page",
    "Picture",
    "Run",
    "Setting",
    "Settings",
    "Timing",
    "UsageError",
    "__version__",
    "catalogue",
    "data",
    "host_cuda",
    "kernel",
    "layers",
    "load",
    "network",
    "picture",
    "settings",
    "train",
]


def __getattr__(name: str) -> _Any:
    """Makes the functions, and loads `weft.host_cuda` and `weft.layers`, when they are first used."""
    if name in _core.__all__:
        from weft._functions import python_functions

        globals().update(python_functions(_core, __name__))
        return globals()[name]
    if name in ("host_cuda", "layers"):
        import importlib

        return importlib.import_module(f"weft.{name}")
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
