# SPDX-License-Identifier: MIT
"""The layers of Weft as pairs of functions: NAME_forward(x, ...) and NAME_backward(dy, ...).

These are the functions that a layer of a network calls. A backward function takes dy, the gradient of
the forward one's first result, and what forward got or gave that it needs, and returns the gradients
of the inputs. All arrays are float32 unless it is said, and batches come first. `LAYERS` names the
pairs, and help() of a function tells its shapes.

    y = weft.layers.linear_forward(x, w, bias)               # (n, out)
    dx, dw, dbias = weft.layers.linear_backward(dy, x, w)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from weft import (
    _core,
    avg_pool2d as avg_pool2d_forward,
    avg_pool2d_backward as avg_pool2d_backward,
    batch_norm as batch_norm_forward,
    batch_norm_backward as batch_norm_backward,
    batch_norm_inference as batch_norm_inference,
    conv2d as conv2d_forward,
    conv2d_backward as conv2d_backward,
    conv2d_relu_pool as conv2d_relu_pool_forward,
    conv2d_relu_pool_backward as conv2d_relu_pool_backward,
    dropout as dropout_forward,
    linear as linear_forward,
    linear_backward as linear_backward,
    max_pool2d as max_pool2d_forward,
    max_pool2d_backward as max_pool2d_backward,
    softmax as softmax_forward,
    softmax_backward as softmax_backward,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft._typing import Array, ArrayT, Result

_Shaped = TypeVar("_Shaped", bound=Any)

# A layer that a network has twice, such as global_max_pool, is one here.
LAYERS = (
    *dict.fromkeys(name for name, _, _ in _core.layer_names()),
    "softmax_cross_entropy",
    "mean_squared_error",
)


def forward(line: str, x: Array, *tensors: Array) -> Result:
    """What a layer makes of x in training. line: that of a network, such as "conv 6 5x5 pad 2".

    x: a batch. tensors: the parameters of the layer, weight and bias. Every layer but batch_norm,
    whose statistics its own functions take, has this.
    """
    return _core.layer_forward(line, x, list(tensors))


def backward(line: str, dy: Array, x: Array, *tensors: Array) -> tuple[Result, ...]:
    """The gradients of x and of the parameters. dy: the gradient of forward(line, x, *tensors)."""
    return _core.layer_backward(line, dy, x, list(tensors))


def relu_forward(x: ArrayT, *, out: Any = None) -> ArrayT:
    """max(x, 0). x: any shape. out: may be x."""
    return _core.activation(x, "relu", out=out)


def relu_backward(dy: ArrayT, y: Array, *, out: Any = None) -> ArrayT:
    """dy where y is above 0, and 0 elsewhere. y: the result of relu_forward. out: may be dy."""
    return _core.activation_backward(dy, y, "relu", out=out)


def sigmoid_forward(x: ArrayT, *, out: Any = None) -> ArrayT:
    """1 / (1 + exp(-x)). x: any shape. out: may be x."""
    return _core.activation(x, "sigmoid", out=out)


def sigmoid_backward(dy: ArrayT, y: Array, *, out: Any = None) -> ArrayT:
    """dy y (1 - y). y: the result of sigmoid_forward. out: may be dy."""
    return _core.activation_backward(dy, y, "sigmoid", out=out)


def tanh_forward(x: ArrayT, *, out: Any = None) -> ArrayT:
    """tanh(x). x: any shape. out: may be x."""
    return _core.activation(x, "tanh", out=out)


def tanh_backward(dy: ArrayT, y: Array, *, out: Any = None) -> ArrayT:
    """dy (1 - y^2). y: the result of tanh_forward. out: may be dy."""
    return _core.activation_backward(dy, y, "tanh", out=out)


def dropout_backward(
    dy: ArrayT, p: float = 0.5, *, seed: int = 0, layer: int = 0, step: int = 0, out: Any = None
) -> ArrayT:
    """The same elements are zeroed as by dropout_forward with these numbers. out: may be dy."""
    return _core.dropout(dy, p, seed=seed, layer=layer, step=step, out=out)


def flatten_forward(x: _Shaped) -> _Shaped:
    """The same memory as (n, features). x: (n, ...), with a method reshape."""
    count = 1
    for extent in x.shape[1:]:
        count *= extent
    flat: _Shaped = x.reshape((x.shape[0], count))
    return flat


def flatten_backward(dy: _Shaped, shape: Sequence[int]) -> _Shaped:
    """The same memory with the shape that x had."""
    shaped: _Shaped = dy.reshape(tuple(shape))
    return shaped


def add_forward(x: ArrayT, other: Array) -> ArrayT:
    """x + other, the end of a residual block. Both have the same shape."""
    return _core.vector_add(x, other)


def add_backward(dy: _Shaped) -> tuple[_Shaped, _Shaped]:
    """The gradients of both operands, which are dy itself."""
    return dy, dy


def concat_forward(x: ArrayT, other: Array, *, out: Any = None) -> ArrayT:
    """The channels of x, and behind them those of `other`, the end of a block of concat.

    Both: (n, channels, ...), which differ in their channels alone.
    """
    return _core.concat(x, other, out=out)


def concat_backward(dy: ArrayT, channels: int) -> tuple[ArrayT, ArrayT]:
    """The gradients of both operands, of which the first has so many channels."""
    return _core.split(dy, channels)


def softmax_cross_entropy_forward(
    x: ArrayT, labels: Array, *, smoothing: float = 0.0
) -> tuple[ArrayT, ArrayT]:
    """The cross-entropy of each row of logits, and the class that has the largest one.

    x: (n, classes). labels: (n,), int32. Returns (n,) and (n,), int32. smoothing: as in
    softmax_cross_entropy_backward.
    """
    loss, _, prediction = _core.softmax_cross_entropy(x, labels, smoothing=smoothing)
    return loss, prediction


def softmax_cross_entropy_backward(
    x: ArrayT, labels: Array, *, scale: float = 1.0, smoothing: float = 0.0
) -> ArrayT:
    """The gradient of the sum of these losses times `scale`: (n, classes).

    scale: 1 / n gives the gradient of their mean. smoothing: the share of each label that is spread
    over all classes.
    """
    return _core.softmax_cross_entropy(x, labels, scale=scale, smoothing=smoothing)[1]


def mean_squared_error_forward(y: ArrayT, target: Array) -> ArrayT:
    """The mean of the squared differences of each row. y, target: (n, features). Returns (n,)."""
    return _core.mean_squared_error(y, target)[0]


def mean_squared_error_backward(y: ArrayT, target: Array, *, scale: float = 1.0) -> ArrayT:
    """The gradient of the sum of these means times `scale`: (n, features)."""
    return _core.mean_squared_error(y, target, scale=scale)[1]


__all__ = [
    "LAYERS",
    "add_backward",
    "add_forward",
    "avg_pool2d_backward",
    "avg_pool2d_forward",
    "backward",
    "batch_norm_backward",
    "batch_norm_forward",
    "batch_norm_inference",
    "concat_backward",
    "concat_forward",
    "conv2d_backward",
    "conv2d_forward",
    "conv2d_relu_pool_backward",
    "conv2d_relu_pool_forward",
    "dropout_backward",
    "dropout_forward",
    "flatten_backward",
    "flatten_forward",
    "forward",
    "linear_backward",
    "linear_forward",
    "max_pool2d_backward",
    "max_pool2d_forward",
    "mean_squared_error_backward",
    "mean_squared_error_forward",
    "relu_backward",
    "relu_forward",
    "sigmoid_backward",
    "sigmoid_forward",
    "softmax_backward",
    "softmax_cross_entropy_backward",
    "softmax_cross_entropy_forward",
    "softmax_forward",
    "tanh_backward",
    "tanh_forward",
]


def _pair(name: str, word: str) -> dict[str, Any]:
    """The functions of a layer that has none above."""

    def layer_forward(x: Array, *tensors: Array, arguments: str = "") -> Result:
        return forward(f"{word} {arguments}", x, *tensors)

    def layer_backward(dy: Array, x: Array, *tensors: Array, arguments: str = "") -> tuple[Result, ...]:
        return backward(f"{word} {arguments}", dy, x, *tensors)

    layer_forward.__name__ = layer_forward.__qualname__ = f"{name}_forward"
    layer_backward.__name__ = layer_backward.__qualname__ = f"{name}_backward"
    layer_forward.__doc__ = f"{word} of a network. arguments: those behind the word."
    layer_backward.__doc__ = f"The gradients of x and of the tensors of {name}_forward."
    return {f"{name}_forward": layer_forward, f"{name}_backward": layer_backward}


for _name, _word, _ in _core.layer_names():
    if f"{_name}_forward" not in __all__:
        globals().update(_pair(_name, _word))
        __all__ += [f"{_name}_backward", f"{_name}_forward"]
