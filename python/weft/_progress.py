# SPDX-License-Identifier: MIT
"""How far a training is: a line on stderr, or a bar in a notebook."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft._train import Epoch


def progress(shown: bool | None) -> Progress:
    """None: a bar in a notebook, a line on a terminal, and nothing elsewhere."""
    display = _notebook_display() if shown is not False else None
    if display is not None:
        return NotebookProgress(display)
    return Progress(sys.stderr.isatty() if shown is None else shown)


def _notebook_display() -> Any:
    """IPython.display.display where a notebook runs this, else None. IPython is not loaded for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    return display


class Progress:
    """A line that is written over, and a line for each epoch."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown

    def step(self, epoch: int, done: int, total: int) -> None:
        """So many of the images of this epoch are done."""
        if self._shown and total > 0:
            self._write(f"epoch {epoch}  {_bar(done, total)} {done / total:4.0%} of {total} images")

    def epoch(self, record: Epoch) -> None:
        """An epoch is done."""
        if self._shown:
            self._write(
                f"epoch {record.epoch}  loss {record.loss:.4f}  accuracy {record.accuracy:.2%}  "
                f"test {record.test_accuracy:.2%}  {record.seconds:.1f} s\n"
            )

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(58))
        sys.stderr.flush()


def _bar(done: int, total: int, width: int = 20) -> str:
    full = width * done // total
    return "[" + "=" * full + " " * (width - full) + "]"


class _Html:
    """What a notebook shows, and what it says where only text can be shown."""

    def __init__(self, html: str, text: str) -> None:
        self._html, self._text = html, text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


class NotebookProgress(Progress):
    """A bar over a table of the epochs, which is drawn again at most ten times a second."""

    def __init__(self, display: Any) -> None:
        super().__init__(True)
        self._rows: list[Epoch] = []
        self._drawn = 0.0
        self._handle = display(self._page(0, 0, 1), display_id=True)

    def step(self, epoch: int, done: int, total: int) -> None:
        """So many of the images of this epoch are done."""
        if total > 0 and monotonic() - self._drawn > 0.1:
            self._drawn = monotonic()
            self._handle.update(self._page(epoch, done, total))

    def epoch(self, record: Epoch) -> None:
        """An epoch is done."""
        self._rows.append(record)
        self._handle.update(self._page(record.epoch, 1, 1))

    def _page(self, epoch: int, done: int, total: int) -> _Html:
        head = "".join(f"<th>{word}</th>" for word in _HEAD)
        rows = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in _cells(row)) + "</tr>"
            for row in self._rows
        )
        bar = f'<progress value="{done}" max="{total}" style="width:20em"></progress>'
        text = f"epoch {epoch}  {_bar(done, total)}"
        return _Html(f"epoch {epoch} {bar}<table><tr>{head}</tr>{rows}</table>", text)


_HEAD = ("epoch", "loss", "accuracy", "test loss", "test accuracy", "seconds")


def _cells(row: Epoch) -> list[str]:
    return [
        str(row.epoch),
        f"{row.loss:.4f}",
        f"{row.accuracy:.2%}",
        f"{row.test_loss:.4f}",
        f"{row.test_accuracy:.2%}",
        f"{row.seconds:.1f}",
    ]
