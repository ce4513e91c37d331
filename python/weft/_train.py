# SPDX-License-Identifier: MIT
"""The trainer."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core, _errors, _parquet
from weft._model import Model, path_text
from weft._progress import progress as shown_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from weft._settings import Given


_MOST_CLASSES = 65536  # labels of training images are below it


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
    model: str | None = None,
    data: str | os.PathLike[str] | tuple[Any, Any] = "digits",
    *,
    test: tuple[Any, Any] | None = None,
    settings: dict[str, Any] | None = None,
    callbacks: Callable[[Epoch], object] | Iterable[Callable[[Epoch], object]] = (),
    progress: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    layout: str | None = None,
    device: str = "auto",
    **keywords: Unpack[Given],
) -> Model:
    """Trains a network, as `weft train` does: on the CPU the weights have the same bits.

    model: a built-in network, or the path of a .net file; without one, the network of the model that
    start_from names, or lenet5. data: the name of a data set ("digits", which
    are drawn; "mnist", "fashion-mnist", ...), a folder or file, or arrays (x, y): uint8 images (n, height, width) or
    (n, channels, height, width), and integer labels (n,), from 0. test: arrays likewise, with labels
    that `data` has; without them, the last tenth of `data`. layout: "channels_last" for images
    (n, height, width, channels), which are refused without it.

    A folder has a folder of pictures for each class, or train/ and test/ with these, or tables, arrays,
    IDX or CIFAR files, as of `weft train --data`: few images are seen in more epochs, and a tenth of the
    training images is held out for validation. A pathlib.Path is always a folder or a file. Parquet files
    of images, as Hugging Face has them, are read by pyarrow, where it is installed.

    Each setting of `weft train` is a keyword, and listed below; without it, or with None, it is what
    suits the network. settings: the same and all others by their names in a config.json, as
    {"momentum": 0.8, "schedule": {"kind": "cosine"}}. callbacks: one function or several, called with
    each Epoch in turn; what one raises ends the training. progress: a bar in a notebook, or a line on
    stderr; None shows it there and on a terminal. out: a folder for the run, or None to write nothing.
    device: "auto", "cpu" or "cuda".

    start_from: a run or a model file whose weights the run begins with. What has the same name and
    shape is taken over, and the rows of the last layer by the names of their classes; Model.taken says
    what. freeze: layers that are not trained, by name, as "conv1,conv2" or "conv*".

    Ctrl-C ends the training within a twentieth of a second, and a run with a folder can be resumed.
    """
    import copy
    import json

    given: dict[str, Any] = copy.deepcopy(settings or {})
    names = {one.keyword: one.name for one in _SETTINGS}
    for keyword, value in keywords.items():
        if keyword not in names:
            raise TypeError(f"train() got an unexpected keyword argument {keyword!r}")
        if value is None:
            continue
        *group, key = names[keyword].split(".")
        place = given.setdefault(group[0], {}) if group else given
        if key in place and place[key] != value:
            raise _errors.UsageError(f"train: {keyword} is {value!r}, and {place[key]!r} in settings")
        place[key] = value
    try:
        settings_text = json.dumps(given, allow_nan=False)
    except ValueError:
        raise _errors.UsageError("train: settings hold a number that is not finite") from None
    except TypeError as error:
        raise _errors.UsageError(f"train: settings: {error}") from None
    if isinstance(data, (str, os.PathLike)):
        if test is not None:
            raise _errors.UsageError(f"train: the data set {data} has test images of its own")
        if layout is not None:
            raise _errors.UsageError("train: layout goes with arrays")
        place = _place(_parquet.readable(data), data_dir)
        dataset = _core.load_dataset(*place, given.get("limit_train") or None)
    else:
        dataset = _core.dataset_from_arrays(*_with_test(data, test), layout)
    told = [callbacks] if callable(callbacks) else list(callbacks)
    shown = shown_progress(progress)
    history: list[Epoch] = []
    taken: list[str] = []

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
        settings_text,
        ("epochs" in given, "validation_split" in given or "calibration_split" in given),
        device,
        path_text("out", out),
        shown.step,
        epoch_done,
        taken.extend,
    )
    return Model(network, history, taken)


def _place(
    data: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None
) -> tuple[str, bool, str]:
    """A name or a path, whether it is a path, and where the files of a name are."""
    return path_text("data", data), not isinstance(data, str), path_text("data_dir", data_dir)


def _with_test(data: Any, test: Any) -> tuple[Any, Any, Any, Any, int]:
    """Images, labels, test images, their labels, and the number of classes."""
    import numpy

    x, y = _pair("data", "x", "y", data)
    classes = max(2, int(y.max()) + 1) if len(y) else 2
    if test is not None:
        test_x, test_y = _pair("test", "test x", "test y", test)
    else:
        held = max(1, len(x) // 10)
        x, test_x, y, test_y = x[:-held], x[-held:], y[:-held], y[-held:]
    if len(test_y) and test_y.max() >= classes:
        raise _errors.UsageError(
            f"train: the label {test_y.max()} of a test image is no class of the training images, "
            f"0 to {classes - 1}"
        )
    missing = numpy.setdiff1d(numpy.arange(classes), y)
    if len(missing) and len(y):
        text = f"train: no training image has the label {missing[0]}; the classes are 0 to {classes - 1}"
        if test is None and missing[0] in test_y:
            text += "; the last tenth of the data are the test images: shuffle them, or pass test="
        warnings.warn(text, stacklevel=3)
    return x, y, test_x, test_y, classes


def _pair(name: str, x_name: str, y_name: str, pair: Any) -> tuple[Any, Any]:
    """Images, and as many labels as int32."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        kind = f"{len(pair)} arrays" if isinstance(pair, (tuple, list)) else type(pair).__name__
        raise TypeError(f"train: {name} is {kind}, expected two arrays, (images, labels)")
    x, y = _array(x_name, pair[0]), _array(y_name, pair[1])
    if x.ndim == 0 or y.shape != x.shape[:1]:
        hint = f"; {y_name}.argmax(axis=1) gives labels" if y.ndim == 2 and y.shape[1] > 1 else ""
        raise _errors.UsageError(
            f"train: {x_name} has shape {x.shape} and {y_name} has shape {y.shape}, expected a label "
            f"for each image{hint}"
        )
    if y.dtype.kind not in "iu":
        raise TypeError(f"train: {y_name} is {y.dtype} {y.shape}, expected integers")
    wrong = (y < 0) | (y >= _MOST_CLASSES)
    if wrong.any():
        i = int(wrong.argmax())
        raise _errors.UsageError(
            f"train: label {y[i]} of image {i} of {x_name}, expected 0 to {_MOST_CLASSES - 1}"
        )
    return x, y.astype("int32")


def _array(name: str, value: Any) -> Any:
    """An array of NumPy in C order; a copy where the value is none."""
    import numpy

    if isinstance(value, numpy.ma.MaskedArray):
        raise TypeError(
            f"train: {name} is a masked array, and its mask would be lost; {name}.filled(value) "
            "makes an array without one"
        )
    if getattr(value, "requires_grad", False) is True:
        raise TypeError(f"train: {name} requires a gradient, which would be lost; pass {name}.detach()")
    exports = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
    try:
        array = numpy.from_dlpack(value) if exports else numpy.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        line = str(error).partition("\n")[0]
        raise TypeError(f"train: {name} is a {type(value).__name__}, not an array: {line}") from None
    return array.copy(order="C") if not array.flags.c_contiguous else array


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
    name: str | os.PathLike[str] = "digits",
    *,
    limit: int | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Data:
    """A data set by its name: "digits" and "shapes", which are drawn, "mnist", "cifar10", ...

    Or a folder or file, as of weft.train(); pictures are brought to one size.

    limit: at most so many training images. data_dir: where its files are; without them they are
    downloaded.
    """
    if limit is not None and limit < 1:
        raise _errors.UsageError(f"data: limit is {limit}, expected a number from 1")
    found = _core.load_dataset(*_place(_parquet.readable(name), data_dir), limit)
    (x, y), (test_x, test_y) = found.train_arrays(), found.test_arrays()
    return Data(x[:limit], y[:limit], test_x, test_y, list(found.class_names))


class Setting(NamedTuple):
    """A setting of a training run."""

    name: str  #: as `settings` of weft.train() has it; "schedule.peak" is {"schedule": {"peak": ...}}
    flag: str  #: of `weft train`
    text: str  #: what `weft train --help` says of it
    keyword: str  #: of weft.train()
    values: str  #: "N": a whole number, "X": a number, "TEXT": any text, "sgd|adamw": one of these, "": a switch


class Settings(list[Setting]):
    """The settings of weft.train(); a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(f"{one.name:<26} {one.text}" for one in self)

    def _repr_html_(self) -> str:
        from weft._catalogue import _table

        return _table(["setting", "what it does"], [[one.name, one.text] for one in self])


_SETTINGS = Settings(Setting(*row) for row in _core.settings())


def settings() -> Settings:
    """What weft.train() takes, in the words of `weft train --help`."""
    return Settings(_SETTINGS)


def _tell_settings() -> None:
    """Gives train() the settings in its signature and in its docstring."""
    own = inspect.signature(train)
    fixed = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    named = [
        inspect.Parameter(one.keyword, inspect.Parameter.KEYWORD_ONLY, default=None) for one in _SETTINGS
    ]
    train.__signature__ = own.replace(parameters=[*fixed, *named])  # type: ignore[attr-defined]
    lines = "".join(f"    {one.keyword}: {one.text}\n" for one in _SETTINGS)
    train.__doc__ = f"{train.__doc__}\n{lines}    "


_tell_settings()
