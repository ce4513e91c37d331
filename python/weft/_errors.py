# SPDX-License-Identifier: MIT
"""The exceptions of Weft. Each is also the standard exception that a caller would expect."""


class Error(Exception):
    """Base class of all errors of Weft."""

    def __init__(self, *args: object) -> None:  # so that inspect.signature() has one
        super().__init__(*args)


class UsageError(Error, ValueError):
    """An argument, a shape or a name is wrong."""


class DataError(Error, OSError, ValueError):
    """A file is missing, damaged or of the wrong kind."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DeviceError(Error, RuntimeError):
    """The GPU, its driver or its memory failed."""


class CheckError(Error, RuntimeError):
    """A check did not hold: host-cuda found a race, a result is wrong, or a loss diverged."""
