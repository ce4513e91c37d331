# SPDX-License-Identifier: MIT
"""What calls take as an array: dense, row-major, and used in place. For type checkers only."""

from typing import Any, Protocol, TypeAlias

from typing_extensions import Buffer


class SupportsDLPack(Protocol):
    """An array of NumPy, PyTorch, CuPy, JAX or the like."""

    def __dlpack__(self) -> Any: ...


Array: TypeAlias = SupportsDLPack | Buffer
