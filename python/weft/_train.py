# SPDX-License-Identifier: MIT
"""The trainer."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core, _errors
from weft._model import Model

if TYPE_CHECKING:
    from collections.abc import Callable


class Epoch(NamedTuple):
    """One epoch of a training run."""

    epoch: int  #: 1-based
    loss: float  #: mean over the training images, while the weights changed
    accuracy: float  #: likewise, 0 to 1
    test_loss: float
    test_accuracy: float  #: 0 to 1
    lr: float  #: the learning rate of the last step
    seconds: float  #: of training alone


def train(
    model: str = "lenet5",
    data: str | tuple[Any, Any] = "digits",
    *,
    test: tuple[Any, Any] | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    optimizer: str | None = None,
    weight_decay: float | None = None,
    seed: int | None = None,
    limit_train: int | None = None,
    settings: dict[str, Any] | None = None,
    callback: Callable[[Epoch], object] | None = None,
    progress: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    device: str = "auto",
) -> Model:
    """Trains a network, as `weft train` does: on the CPU the weights have the same bits.

    model: a built-in network, or the path of a .net file. data: the name of a data set ("digits", which
    are drawn; "mnist", "fashion-mnist", ...), or arrays (x, y): uint8 images (n, height, width) or
    (n, channels, height, width), and integer labels (n,). test: arrays likewise; without them, the last tenth of `data`.

    What is None is what suits the network. settings: others by their names in a config.json, as
    {"momentum": 0.8, "schedule": {"kind": "cosine"}}. callback: called with each Epoch; what it raises
    ends the training. progress: a line on stderr; None shows it on a terminal. out: a folder for the run,
    or None to write nothing. device: "auto", "cpu" or "cuda".

    Ctrl-C ends the training within a twentieth of a second, and a run with a folder can be resumed.
    """
    import json

    given: dict[str, Any] = json.loads(json.dumps(settings or {}))
    for name, value in [
        ("epochs", epochs),
        ("batch_size", batch_size),
        ("optimizer", optimizer),
        ("weight_decay", weight_decay),
        ("seed", seed),
        ("limit_train", limit_train),
    ]:
        if value is not None:
            given[name] = value
    if lr is not None:
        given.setdefault("schedule", {})["peak"] = lr
    if isinstance(data, str):
        if test is not None:
            raise _errors.UsageError(f"train: the data set {data} has test images of its own")
        folder = os.fspath(data_dir) if data_dir is not None else ""
        dataset = _core.load_dataset(data, folder, limit_train or 0)
    else:
        dataset = _core.dataset_from_arrays(*_with_test(data, test))
    line = _Progress(sys.stderr.isatty() if progress is None else progress)
    history: list[Epoch] = []

    def epoch_done(text: str) -> None:
        record = json.loads(text)
        epoch = Epoch(
            record["epoch"],
            record["train"]["loss"],
            record["train"]["accuracy"],
            record["test"]["loss"],
            record["test"]["accuracy"],
            record["lr"],
            record["seconds"],
        )
        history.append(epoch)
        line.epoch(epoch)
        if callback is not None:
            callback(epoch)

    network = _core.train_network(
        model,
        dataset,
        json.dumps(given),
        device,
        os.fspath(out) if out is not None else "",
        line.step,
        epoch_done,
    )
    return Model(network, history)


def _with_test(data: tuple[Any, Any], test: tuple[Any, Any] | None) -> tuple[Any, Any, Any, Any]:
    import numpy

    x, y = (numpy.ascontiguousarray(part) for part in data)
    if len(x) != len(y):
        raise _errors.UsageError(f"train: x has shape {x.shape} and y has shape {y.shape}")
    if test is None:
        held = max(1, len(x) // 10)
        x, test_x, y, test_y = x[:-held], x[-held:], y[:-held], y[-held:]
    else:
        test_x, test_y = (numpy.ascontiguousarray(part) for part in test)
    if y.dtype.kind not in "iu" or test_y.dtype.kind not in "iu":
        raise TypeError(f"train: y is {y.dtype}, expected integers")
    return x, y.astype(numpy.int32), test_x, test_y.astype(numpy.int32)


class _Progress:
    """A line on stderr that is written over, and a line for each epoch."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown

    def step(self, epoch: int, done: int, total: int) -> None:
        if self._shown and total > 0:
            self._write(f"epoch {epoch}  {done / total:4.0%} of {total} images")

    def epoch(self, record: Epoch) -> None:
        if self._shown:
            self._write(
                f"epoch {record.epoch}  loss {record.loss:.4f}  accuracy {record.accuracy:.2%}  "
                f"test {record.test_accuracy:.2%}  {record.seconds:.1f} s\n"
            )

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(32))
        sys.stderr.flush()
