# SPDX-License-Identifier: MIT
"""What calls take and return, for type checkers only."""

from typing import Any, Protocol, TypeAlias

from typing_extensions import Buffer


class SupportsDLPack(Protocol):
    """An array of NumPy, PyTorch, CuPy, JAX or the like."""

    def __dlpack__(self) -> Any: ...


# Dense, row-major, and used in place.
Array: TypeAlias = SupportsDLPack | Buffer
# An array of the first array's library: numpy.ndarray, torch.Tensor, cupy.ndarray or jax.Array.
Result: TypeAlias = Any
