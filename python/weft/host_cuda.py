# SPDX-License-Identifier: MIT
"""The functions of weft on host-cuda: the CUDA kernels on the CPU, thread by thread, checked.

`weft.host_cuda.scan(x, variant="brent_kung")` computes what `weft.scan` computes, with the kernel that a
GPU would run. It is slow, some ten million accesses to memory a second. A race, a missing barrier, a
read of what nobody has written or an access out of bounds raises weft.CheckError, with the lines.
Arrays are in host memory. Calls of several threads take turns.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from weft._core import *  # noqa: F403
    _extension: Any = None
else:
    try:
        from weft import _host_cuda as _extension
    except ImportError as error:
        raise ImportError(
            "this package was built without host-cuda: install Boost.Context "
            "(Debian: libboost-context-dev) and build it again"
        ) from error
    from weft._functions import python_functions as _python_functions

    globals().update(_python_functions(_extension, __name__))

_T = TypeVar("_T")


def run(
    work: Callable[[], _T],
    *,
    counts: bool = False,
    schedules: int = 4,
    without_barrier: str = "",
) -> tuple[_T, list[dict[str, Any]]]:
    """Calls `work`, and returns what it returned and the counts of the kernels that it launched.

    Every grid runs in `schedules` orders of its threads, and all have to leave the same bits. While
    accesses are counted it runs in one. Without `counts` the list is empty.

    without_barrier: the line of a __syncthreads() that threads run past, as the counts name lines:
    "kernels/scan/rungs/kogge_stone.cuh:27". It shows what the barrier is for: a race raises CheckError.
    """
    result: tuple[_T, list[dict[str, Any]]] = _extension._run(
        work, counts, schedules, without_barrier
    )
    return result


def program(arguments: Sequence[str]) -> int:
    """Runs `weft ARGUMENTS...` in this process, and returns its exit code."""
    code: int = _extension._program(list(arguments))
    return code
