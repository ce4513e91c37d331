# SPDX-License-Identifier: MIT
"""Trained networks."""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from weft import _core
from weft._errors import DeviceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy
    from numpy.typing import NDArray

    from weft._train import Epoch

    Path = str | os.PathLike[str]
    Precision = Literal["fp32", "int8"]


def path_text(name: str, path: Path | None) -> str:
    """"" of None, which alone stands for it."""
    text = "" if path is None else os.fspath(path)
    if path is not None and not text:
        raise UsageError(f"{name} is empty, expected a path")
    return text


class Answer(NamedTuple):
    """What a network says of one image."""

    label: int  #: the most probable class
    name: str  #: of that class
    probability: float  #: 0 to 1
    probabilities: NDArray[numpy.float64]  #: (classes,)
    unsure: bool  #: the image is unlike those that the network was trained on

    def __repr__(self) -> str:
        unsure = "unsure; the nearest is " if self.unsure else ""
        return f"<{unsure}{_core.printable(self.name)} ({self.probability:.2%})>"


class Model:
    """A trained network. weft.load() reads one from a file, and weft.train() makes one."""

    def __init__(
        self, network: _core.Network, history: Sequence[Epoch] = (), taken: Sequence[str] = ()
    ) -> None:
        self._network = network
        self._read_info()
        #: The epochs of its training; empty for a model from a file.
        self.history: list[Epoch] = list(history)
        #: What its training took of the model that it started from, in sentences.
        self.taken: list[str] = list(taken)

    def _read_info(self) -> None:
        import json

        #: All that the file says beside the weights: network, sizes, data set, normalisation.
        self.info: dict[str, Any] = json.loads(self._network.info())

    def __repr__(self) -> str:
        count = self._network.parameter_count()
        about = _core.printable(f"{self.info['network']}, {count} parameters, {self.info['dataset']}")
        return f"<weft.Model {about}>"

    @property
    def class_names(self) -> list[str]:
        """The name of each class."""
        return list(self.info["class_names"])

    @property
    def layers(self) -> list[str]:
        """Each layer in words: "Conv2d(1, 6, kernel 5x5, padding 2)"."""
        return list(self._network.layers())

    @overload
    def predict(  # type: ignore[overload-overlap]
        self, images: Path, *, layout: str | None = None, precision: Precision = "fp32"
    ) -> Answer: ...

    @overload
    def predict(
        self,
        images: Sequence[Path] | NDArray[numpy.uint8],
        *,
        layout: str | None = None,
        precision: Precision = "fp32",
    ) -> list[Answer]: ...

    def predict(
        self, images: Any, *, layout: str | None = None, precision: Precision = "fp32"
    ) -> Answer | list[Answer]:
        """What the network reads in pictures.

        images: the path of a picture, or a list of paths, or pixels as of logits(): uint8, 0
        background to 255 ink. A path gives one Answer, anything else a list of them. layout: as of
        logits(), for pixels. precision: as of logits().
        """
        if isinstance(images, (str, os.PathLike)):
            return self.predict([images], precision=precision)[0]
        if isinstance(images, (list, tuple)) and all(
            isinstance(one, (str, os.PathLike)) for one in images
        ):
            pixels = self.prepare(*images)
        else:
            pixels = images
        probabilities, unsure = self._network.answers(pixels, layout, precision)
        names = self.class_names
        labels: list[int] = probabilities.argmax(axis=1).tolist() if len(probabilities) else []
        return [
            Answer(k, names[k], float(row[k]), row, bool(flag))
            for k, row, flag in zip(labels, probabilities, unsure)
        ]

    def prepare(self, *paths: Path) -> NDArray[numpy.uint8]:
        """Pictures as the network reads them: (n, height, width), or (n, 3, height, width) in colour.

        Drawn characters are cut out, centred and scaled, as `weft predict` does it; other pictures are
        brought to the size of the network. Where a picture leaves open whether its ink is dark or light,
        both are tried, and the one stays of which the network is surer.
        """
        return self._network.prepare([path_text("path", path) for path in paths])

    def logits(
        self, x: Any, *, layout: str | None = None, precision: Precision = "fp32"
    ) -> NDArray[numpy.float32]:
        """The output of the last layer, (n, classes).

        x: uint8 pixels, 0 to 255, or the float32 input of the network, which is
        (pixel / 255 - mean) / stddev: (n, height, width) in grey, or (n, channels, height, width).
        layout: "channels_last" for (n, height, width, channels), which is refused without it.
        precision: "int8" multiplies bytes instead of 32-bit floats, on the CPU, and takes uint8 pixels;
        measure_ranges() comes first, unless the file has the ranges.
        """
        return self._network.logits(x, layout, precision)

    def measure_ranges(self, images: Any, *, layout: str | None = None) -> list[str]:
        """Measures what each layer makes of images, as precision="int8" needs it.

        images: uint8 pixels as of logits(), of the kind that the network was trained on; the first 1,000
        are read. The ranges are a part of the model that save() writes, and load_state_dict() forgets
        them. Returns the names of the layers that compute in fp32 all the same.
        """
        in_fp32 = self._network.measure_ranges(images, layout)
        self._read_info()
        return in_fp32

    def activations(self, x: Any, *, layout: str | None = None) -> dict[str, NDArray[numpy.float32]]:
        """The output of every layer, by its name, (n, ...) each. x, layout: as of logits()."""
        return self._network.activations(x, layout)

    def state_dict(self) -> dict[str, NDArray[numpy.float32]]:
        """Copies of the parameters and buffers, with PyTorch's names and shapes.

        A module of PyTorch loads {name: torch.from_numpy(value) for name, value in ...items()}.
        """
        return self._network.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes over the parameters and buffers of a module of PyTorch, or of state_dict().

        state: arrays in host memory, float32, under the names and with the shapes that state_dict()
        has; the values of parameters that require a gradient are copied, as PyTorch does it. Where one is missing, has another shape or holds what is not a number, ValueError is
        raised and nothing is changed.
        """
        self._network.load_state_dict(dict(state))
        self._read_info()

    def save(self, path: Path) -> None:
        """Writes a .safetensors file, which weft.load() and PyTorch read."""
        self._network.save(path_text("path", path))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the file that save() writes, the device and the history."""
        with _model_file() as path:
            self.save(path)
            with open(path, "rb") as file:
                content = file.read()
        return _unpickled, (content, self._network.device(), self.history)


@contextlib.contextmanager
def _model_file() -> Iterator[str]:
    """The path of a file that is there for a while."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        yield os.path.join(folder, "model.safetensors")


def _unpickled(content: bytes, device: str, history: Sequence[Epoch]) -> Model:
    with _model_file() as path:
        with open(path, "wb") as file:
            file.write(content)
        try:
            network = _core.load_network(path, device, [], [], None, [])
        except DeviceError as error:
            raise DeviceError(
                f"the model was pickled on {device}: {error}; save() and load() move it to another"
            ) from None
    return Model(network, history)


def load(
    path: Path,
    device: str = "cpu",
    *,
    mean: float | Sequence[float] | None = None,
    stddev: float | Sequence[float] | None = None,
    input_shape: tuple[int, int, int] | None = None,
    class_names: Sequence[str] = (),
) -> Model:
    """The model in a .safetensors file, in the folder of a run or in an ONNX file.

    device: "cpu", or "cuda" and "cuda:1" where the package was built with CUDA. Raises DataError for a
    file that is missing, damaged or no model.

    The others are for what an .onnx file does not say, as of `weft import`: mean, stddev of
    pixel / 255, one number or one for each channel; input_shape (channels, height, width) of one
    image. A package that was built without ONNX refuses the file, and says how to get it. What is
    assumed of the file, and what it means, is said in warnings.
    """
    network = _core.load_network(
        path_text("path", path), device, _numbers(mean), _numbers(stddev), input_shape, list(class_names)
    )
    for notice in network.notices():
        warnings.warn(_core.printable(f"{os.fspath(path)}: {notice}"), stacklevel=2)
    model = Model(network)
    if model.info.get("normalisation") == "assumed":
        formula = f"(pixel / 255 - {model.info['mean']}) / {model.info['stddev']}"
        warnings.warn(
            f"{_core.printable(os.fspath(path))}: {formula} is assumed, because nothing says how it reads pixels; "
            "mean= and stddev= for an .onnx file, or `weft import`, say another",
            stacklevel=2,
        )
    return model


def _numbers(given: float | Sequence[float] | None) -> list[float]:
    if given is None:
        return []
    return [float(given)] if isinstance(given, (int, float)) else [float(one) for one in given]


def network(
    model: str = "lenet5",
    *,
    classes: int = 10,
    channels: int = 1,
    height: int = 28,
    width: int = 28,
    mean: float | Sequence[float] = 0.1307,
    stddev: float | Sequence[float] = 0.3081,
    seed: int = 1,
    device: str = "cpu",
) -> Model:
    """A network that has not been trained, to be given other weights with load_state_dict().

    model: as of weft.train(). height, width: of the images, pixels. Its initial weights are those of
    PyTorch's layers, drawn from `seed`. mean, stddev: of pixel / 255, one number or one for each
    channel; it reads (pixel / 255 - mean) / stddev. device: as of load().
    """
    means, deviations = (
        [float(numbers)] * channels if isinstance(numbers, (int, float)) else list(numbers)
        for numbers in (mean, stddev)
    )
    if len(means) != channels or len(deviations) != channels:
        raise UsageError(f"network: expected a mean and a stddev for each of {channels} channels")
    return Model(
        _core.new_network(model, classes, height, width, means, deviations, seed, device)
    )
