# SPDX-License-Identifier: MIT
"""The trainer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core, _errors
from weft._model import Model
from weft._progress import progress as shown_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy
    from numpy.typing import NDArray


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
    callbacks: Callable[[Epoch], object] | Iterable[Callable[[Epoch], object]] = (),
    progress: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    device: str = "auto",
) -> Model:
    """Trains a network, as `weft train` does: on the CPU the weights have the same bits.

    model: a built-in network, or the path of a .net file. data: the name of a data set ("digits", which
    are drawn; "mnist", "fashion-mnist", ...), or arrays (x, y): uint8 images (n, height, width) or
    (n, channels, height, width), and integer labels (n,). test: arrays likewise; without them, the
    last tenth of `data`.

    What is None is what suits the network. settings: others by their names in a config.json, as
    {"momentum": 0.8, "schedule": {"kind": "cosine"}}; weft.settings() lists them. callbacks: one function or several, called with
    each Epoch in turn; what one raises ends the training. progress: a bar in a notebook, or a line on
    stderr; None shows it there and on a terminal. out: a folder for the run, or None to write nothing.
    device: "auto", "cpu" or "cuda".

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
    told = [callbacks] if callable(callbacks) else list(callbacks)
    shown = shown_progress(progress)
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
        shown.epoch(epoch)
        for callback in told:
            callback(epoch)

    network = _core.train_network(
        model,
        dataset,
        json.dumps(given),
        device,
        os.fspath(out) if out is not None else "",
        shown.step,
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



class Data(NamedTuple):
    """A data set as arrays, which weft.train() takes too: data=(x, y), test=(test_x, test_y)."""

    x: NDArray[numpy.uint8]  #: (n, height, width), or (n, channels, height, width) in colour
    y: NDArray[numpy.int32]  #: (n,), the class of each image
    test_x: NDArray[numpy.uint8]  #: as x
    test_y: NDArray[numpy.int32]
    class_names: list[str]

    def __repr__(self) -> str:
        return f"<weft.Data x {self.x.shape}, test_x {self.test_x.shape}>"


def data(
    name: str = "digits",
    *,
    limit: int | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Data:
    """A data set by its name: "digits" and "shapes", which are drawn, "mnist", "cifar10", ...

    limit: at most so many training images. data_dir: where its files are; without them they are
    downloaded.
    """
    folder = os.fspath(data_dir) if data_dir is not None else ""
    found = _core.load_dataset(name, folder, limit or 0)
    (x, y), (test_x, test_y) = found.train_arrays(), found.test_arrays()
    return Data(x[:limit], y[:limit], test_x, test_y, list(found.class_names))


class Setting(NamedTuple):
    """A setting of a training run."""

    name: str  #: as `settings` of weft.train() has it; "schedule.peak" is {"schedule": {"peak": ...}}
    flag: str  #: of `weft train`
    text: str  #: what `weft train --help` says of it


class Settings(list[Setting]):
    """The settings of weft.train(); a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(f"{one.name:<26} {one.text}" for one in self)

    def _repr_html_(self) -> str:
        from weft._catalogue import _table

        return _table(["setting", "what it does"], [[one.name, one.text] for one in self])


# Those whose names differ from the flags'.
_SETTINGS = {
    "val-split": "validation_split",
    "ema": "ema_decay",
    "lr": "schedule.peak",
    "lr-schedule": "schedule.kind",
    "warmup": "schedule.warmup_fraction",
    "flip": "augmentation.flip",
    "crop": "augmentation.crop",
    "brightness": "augmentation.brightness",
    "contrast": "augmentation.contrast",
    "cutout": "augmentation.cutout",
}
_SAME = (
    "limit-train calibration-split epochs batch-size optimizer momentum nesterov beta1 beta2 epsilon "
    "weight-decay clip-norm label-smoothing init-gain dropout seed log-every"
)


def settings() -> Settings:
    """What weft.train(settings=...) takes, in the words of `weft train --help`."""
    import re

    from weft import _program

    names = {**{flag: flag.replace("-", "_") for flag in _SAME.split()}, **_SETTINGS}
    found = Settings()
    for flag, text in re.findall(
        r"^  --(\S+)(?: \S+)*?(?: {2,}|\n {10,})(\S.*(?:\n {10,}\S.*)*)", _program.run("train", "--help"), re.M
    ):
        if flag in names:
            found.append(Setting(names[flag], "--" + flag, re.sub(r"\s+", " ", text)))
    return found
