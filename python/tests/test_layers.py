# SPDX-License-Identifier: MIT
"""weft.layers: each pair of functions against differences, and training PyTorch through them."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import weft
from numpy.testing import assert_allclose, assert_array_equal
from weft import layers

ROOT = Path(__file__).resolve().parent.parent.parent
F = np.float32


def floats(*shape, seed=0):
    return np.random.default_rng(sum(shape) + seed).uniform(-1, 1, shape).astype(F)


def test_every_layer_is_a_pair():
    for name in layers.LAYERS:
        for direction in ("forward", "backward"):
            function = getattr(layers, f"{name}_{direction}")
            assert function.__doc__ and f"{name}_{direction}" in layers.__all__


def first(results):
    return results[0] if isinstance(results, tuple) else results


# Inputs, and functions of them: forward, and backward of dy and what forward gave.
STEPS = {
    "linear": ([floats(5, 7), floats(4, 7), floats(4)], layers.linear_forward,
               lambda dy, y, x, w, b: layers.linear_backward(dy, x, w)),
    "conv2d": ([floats(2, 3, 6, 5), floats(4, 3, 3, 3), floats(4)], layers.conv2d_forward,
               lambda dy, y, x, w, b: layers.conv2d_backward(dy, x, w)),
    "avg_pool2d": ([floats(2, 3, 6, 4)], layers.avg_pool2d_forward,
                   lambda dy, y, x: [layers.avg_pool2d_backward(dy, x.shape)]),
    "max_pool2d": ([floats(2, 3, 6, 4)], layers.max_pool2d_forward,
                   lambda dy, y, x: [layers.max_pool2d_backward(dy, y[1], x.shape)]),
    "conv2d_relu_pool": ([floats(2, 1, 8, 8), floats(3, 1, 3, 3), floats(3)],
                         layers.conv2d_relu_pool_forward,
                         lambda dy, y, x, w, b: layers.conv2d_relu_pool_backward(dy, y[1], x, w)),
    "relu": ([floats(5, 9)], layers.relu_forward, lambda dy, y, x: [layers.relu_backward(dy, y)]),
    "sigmoid": ([floats(5, 9)], layers.sigmoid_forward, lambda dy, y, x: [layers.sigmoid_backward(dy, y)]),
    "tanh": ([floats(5, 9)], layers.tanh_forward, lambda dy, y, x: [layers.tanh_backward(dy, y)]),
    "softmax": ([floats(5, 9)], layers.softmax_forward, lambda dy, y, x: [layers.softmax_backward(dy, y)]),
    "flatten": ([floats(5, 3, 2)], layers.flatten_forward,
                lambda dy, y, x: [layers.flatten_backward(dy, x.shape)]),
    "add": ([floats(5, 9), floats(9, 5).reshape(5, 9)], layers.add_forward,
            lambda dy, y, a, b: layers.add_backward(dy)),
    "concat": ([floats(5, 3, 2), floats(5, 4, 2)], layers.concat_forward,
               lambda dy, y, a, b: layers.concat_backward(dy, 3)),
    "dropout": ([floats(5, 9)], lambda x: layers.dropout_forward(x, 0.3, seed=2),
                lambda dy, y, x: [layers.dropout_backward(dy, 0.3, seed=2)]),
    "batch_norm": ([floats(6, 3, 2, 2), floats(3), floats(3)],
                   lambda x, g, b: layers.batch_norm_forward(x, g, b, np.zeros(3, F), np.ones(3, F)),
                   lambda dy, y, x, g, b: layers.batch_norm_backward(dy, x, g, y[1], y[2])),
    "mean_squared_error": ([floats(5, 9), floats(9, 5).reshape(5, 9)], layers.mean_squared_error_forward,
                           lambda dy, y, a, t: [layers.mean_squared_error_backward(a, t)]),
}  # fmt: skip


# Each layer of a network by its line: an image, and the parameters that it says it has.
IMAGE = floats(2, 3, 6, 5)
for _name, _word, _example in weft._core.layer_names():
    if not _word or _name in ("batch_norm", "dropout"):
        continue
    _line = f"{_word} {_example}"
    _x = floats(4, 7) if _word == "linear" else IMAGE
    _tensors = {"conv": [floats(3, 3, 3, 2), floats(3)], "linear": [floats(5, 7), floats(5)],
                "prelu": [floats(1)], "group_norm": [floats(3), floats(3, seed=1)],
                "layer_norm": [floats(3, 6, 5), floats(3, 6, 5, seed=1)]}.get(_word, [])
    STEPS[_line] = ([_x, *_tensors], partial(layers.forward, _line),
                    lambda dy, y, *inputs, line=_line: layers.backward(line, dy, *inputs))


@pytest.mark.parametrize("name", STEPS)
def test_gradients_are_differences(name):
    """<gradient, v> is the slope of <forward, dy> along v, to the rounding of float32."""
    inputs, forward, backward = STEPS[name]
    y = forward(*inputs)
    value = first(y)
    dy = np.ones_like(value) if name == "mean_squared_error" else floats(*value.shape, seed=1)
    gradients = backward(dy, y, *inputs)
    step = 2e-3
    for i, gradient in enumerate(gradients):
        assert gradient.shape == inputs[i].shape and gradient.dtype == F
        along = floats(*inputs[i].shape, seed=2)
        moved = [list(inputs), list(inputs)]
        moved[0][i] = inputs[i] + F(step) * along
        moved[1][i] = inputs[i] - F(step) * along
        ends = [(first(forward(*m)).astype(np.float64) * dy).sum() for m in moved]
        slope = (ends[0] - ends[1]) / (2 * step)
        ours = (gradient.astype(np.float64) * along).sum()
        # Few of the kinks of max and ReLU lie within a step: each moves the slope by its share.
        assert abs(slope - ours) < 0.02 * np.abs(gradient).sum() + 1e-3


def test_cross_entropy_in_two_halves():
    x, labels = floats(6, 10), np.arange(6, dtype=np.int32)
    loss, dx, prediction = weft.softmax_cross_entropy(x, labels, scale=0.5, smoothing=0.1)
    both = layers.softmax_cross_entropy_forward(x, labels, smoothing=0.1)
    assert_array_equal(both[0], loss)
    assert_array_equal(both[1], prediction)
    assert_array_equal(layers.softmax_cross_entropy_backward(x, labels, scale=0.5, smoothing=0.1), dx)


def test_a_network_of_pytorch_and_back(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = torch.nn.Linear(784, 512), torch.nn.Linear(512, 512)
            self.fc3 = torch.nn.Linear(512, 10)

        def forward(self, x):
            return self.fc3(self.fc2(self.fc1(x.flatten(1)).relu()).relu())

    module, network = Net(), weft.network("mlp")
    x = floats(20, 1, 28, 28)
    network.load_state_dict(module.state_dict())
    with torch.no_grad():
        assert_allclose(network.logits(x), module(torch.from_numpy(x)).numpy(), rtol=1e-4, atol=1e-4)
    other = weft.network("mlp", seed=2)
    module.load_state_dict({name: torch.from_numpy(value) for name, value in other.state_dict().items()})
    with torch.no_grad():
        assert_allclose(other.logits(x), module(torch.from_numpy(x)).numpy(), rtol=1e-4, atol=1e-4)


def test_pytorch_trains_through_weft():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/python/train_torch.py"), "--epochs", "2", "--limit", "3000"],
        check=True, capture_output=True, text=True)
    assert float(done.stdout.split("test ")[-1].split("%")[0]) > 50  # a guess has 10
    assert "differs by at most" in done.stdout
