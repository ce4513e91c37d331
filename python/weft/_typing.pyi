# SPDX-License-Identifier: MIT
"""What calls take and return, for type checkers only."""

from typing import Any, Protocol, TypeAlias, TypeVar

from numpy.typing import NDArray
from typing_extensions import Buffer as AnyBuffer

# For type checkers NumPy's arrays are buffers from Python 3.12 on only.
Buffer: TypeAlias = AnyBuffer | NDArray[Any]


class SupportsDLPack(Protocol):
    """An array of NumPy, PyTorch, CuPy, JAX or the like."""

    def __dlpack__(self) -> Any: ...


# Dense, row-major, and used in place.
Array: TypeAlias = SupportsDLPack | Buffer
# An array of the first array's library: torch.Tensor, cupy.ndarray or jax.Array. It is numpy.ndarray for a
# buffer; of functions that the extension has, the stubs say so.
ArrayT = TypeVar("ArrayT", bound=SupportsDLPack)
# The same, where a list of arrays decides.
Result: TypeAlias = Any
