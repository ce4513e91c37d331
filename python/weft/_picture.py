# SPDX-License-Identifier: MIT
"""Arrays as pictures: images, activations and filters, side by side."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

from weft._errors import UsageError

if TYPE_CHECKING:
    import os

    import numpy
    from numpy.typing import NDArray


class Picture:
    """A picture in grey or colour, which a notebook shows."""

    def __init__(self, pixels: NDArray[numpy.uint8]) -> None:
        #: (height, width) or (height, width, 3), uint8
        self.pixels = pixels

    def __repr__(self) -> str:
        return f"<weft.Picture {self.pixels.shape[1]} x {self.pixels.shape[0]}; save(path) writes it>"

    def _repr_png_(self) -> bytes:
        height, width = self.pixels.shape[:2]
        rows = b"".join(b"\0" + self.pixels[i].tobytes() for i in range(height))
        kind = 0 if self.pixels.ndim == 2 else 2
        return (
            b"\x89PNG\r\n\x1a\n"
            + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + _chunk(b"IDAT", zlib.compress(rows))
            + _chunk(b"IEND", b"")
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG file."""
        with open(path, "wb") as file:
            file.write(self._repr_png_())


def picture(x: Any, *, columns: int = 10, scale: int = 2, layout: str | None = None) -> Picture:
    """Images side by side, `columns` in a row, each pixel as a square of `scale` pixels.

    x: (height, width), (n, height, width) or, in colour, (n, 3, height, width), of NumPy or what it
    can read. uint8 is shown as it is, where 255 is white; other numbers from the least of x, which is
    black, to the greatest. layout: "channels_last" for colour as (n, height, width, 3), or as
    (height, width, 3) for one image.
    """
    import numpy

    from weft import _core

    if isinstance(x, numpy.ma.MaskedArray):
        raise TypeError("picture: x is a masked array; x.filled(value) makes an array without a mask")
    if getattr(x, "requires_grad", False) is True:
        raise TypeError("picture: x requires a gradient; pass x.detach()")
    images = numpy.asarray(x)
    channels_last = _core.is_channels_last("picture", layout)
    if channels_last and images.ndim == 3 and images.shape[2] == 3:
        images = images[None]
    if channels_last and images.ndim == 4:
        images = numpy.moveaxis(images, 3, 1)
    elif layout is None and images.shape[-1:] == (3,) and _is_colour_last(images.shape):
        raise UsageError(
            f"picture: x has shape {images.shape}, which may be in colour; layout=\"channels_last\" "
            "says so, and layout=\"channels_first\" says that it is (n, height, width) or "
            "(n, 3, height, width)"
        )
    if images.ndim == 2:
        images = images[None]
    colour = images.ndim == 4 and images.shape[1] == 3
    if not (colour or images.ndim == 3) or images.size == 0 or columns < 1 or scale < 1:
        raise UsageError(
            f"picture: x has shape {numpy.shape(x)}, expected (n, height, width) or (n, 3, height, "
            "width) with pixels, and columns and scale from 1"
        )
    if images.dtype != numpy.uint8:
        low, high = float(images.min()), float(images.max())
        if not numpy.isfinite(high - low):
            raise UsageError("picture: x holds what is not a number")
        images = ((images - low) * (255 / (high - low) if high > low else 0)).astype(numpy.uint8)
    planes = images if colour else images[:, None]
    n, channels, height, width = planes.shape
    columns = min(columns, n)
    rows = -(-n // columns)
    step_y, step_x = height * scale + 1, width * scale + 1  # a line of grey in between
    sheet = numpy.full((channels, rows * step_y - 1, columns * step_x - 1), 128, numpy.uint8)
    for i in range(n):
        top, left = i // columns * step_y, i % columns * step_x
        large = planes[i].repeat(scale, 1).repeat(scale, 2)
        sheet[:, top : top + height * scale, left : left + width * scale] = large
    return Picture(numpy.ascontiguousarray(sheet.transpose(1, 2, 0) if colour else sheet[0]))


def _is_colour_last(shape: tuple[int, ...]) -> bool:
    """Is this more likely (..., height, width, 3) than images that are 3 pixels wide?"""
    return (len(shape) == 3 and shape[1] > 12) or (len(shape) == 4 and shape[1] != 3)


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
