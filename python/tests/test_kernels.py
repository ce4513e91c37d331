# SPDX-License-Identifier: MIT
"""Every family against NumPy's own result, on the CPU and on host-cuda.

Bounds: a float32 sum of n products of numbers below 1 is off by less than n * 2^-24 of n.
"""

import inspect
from types import ModuleType

import numpy as np
import pytest
import weft
from numpy.testing import assert_allclose, assert_array_equal


@pytest.fixture(params=["cpu", "host-cuda"])
def on(request):
    return weft if request.param == "cpu" else weft.host_cuda


def floats(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def close(actual, expected, terms=1):
    """float32 against a result in float64, of sums of `terms` products of numbers below 1."""
    assert actual.dtype == np.float32
    bound = (terms + 4) * 2.0**-22
    assert_allclose(actual, np.asarray(expected, np.float64), rtol=bound, atol=bound)


@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
def test_gemm(on, rng, transposes):
    a, b, bias = floats(rng, 17, 23), floats(rng, 23, 9), floats(rng, 9)
    expected = a.astype(np.float64) @ b + bias
    left = np.ascontiguousarray(a.T) if transposes[0] else a
    right = np.ascontiguousarray(b.T) if transposes[1] else b
    options = {"transpose_a": transposes[0], "transpose_b": transposes[1]}
    close(on.gemm(left, right, bias, **options), expected, 23)
    close(on.gemm(left, right, bias, relu=True, **options), np.maximum(expected, 0), 23)
    close(on.gemm(left, right, alpha=-2, **options), -2 * (expected - bias), 46)


def test_gemm_of_nothing(on):
    a, b = np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32)
    assert_array_equal(on.gemm(a, b), np.zeros((3, 2)))
    assert_array_equal(on.gemm(a, b, np.ones(2, np.float32)), np.ones((3, 2)))
    assert on.gemm(np.zeros((0, 4), np.float32), np.zeros((4, 2), np.float32)).shape == (0, 2)


def test_transpose(on, rng):
    x = floats(rng, 33, 7)
    assert_array_equal(on.transpose(x), x.T)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_reduce_and_scan(on, rng, dtype):
    x = rng.integers(-9, 9, 1001).astype(dtype)  # sums are exact
    assert on.reduce(x) == x.sum()
    assert on.reduce(x, "sum_of_squares") == (x * x).sum()
    assert on.reduce(x, "min") == x.min()
    assert on.reduce(x.reshape(7, 143), "max") == x.max()
    assert on.argmax(x) == np.argmax(x)
    assert_array_equal(on.scan(x), np.cumsum(x))
    assert_array_equal(on.scan(x, "max"), np.maximum.accumulate(x))
    assert_array_equal(on.scan(x, "min"), np.minimum.accumulate(x))
    assert_array_equal(on.scan(x, exclusive=True), np.concatenate([[0], np.cumsum(x)[:-1]]))
    assert_array_equal(on.scan(x[:40], "product"), np.cumprod(x[:40]))
    assert on.scan(x).dtype == dtype


def test_reduce_of_nothing(on):
    empty = np.zeros(0, np.float32)
    assert on.reduce(empty) == 0
    assert on.reduce(empty, "max") == -np.inf
    assert on.argmax(empty) == -1
    assert on.scan(empty).shape == (0,)


def test_histogram(on, rng):
    x = rng.integers(0, 64, 5000).astype(np.float32) / 64
    counts, edges = on.histogram(x, bins=32, range=(0, 1))
    expected, expected_edges = np.histogram(x, bins=32, range=(0, 1))
    assert_array_equal(counts, expected)
    assert_array_equal(edges, expected_edges)
    whole = rng.integers(-50, 50, 5000).astype(np.int32)
    assert_array_equal(
        on.histogram(whole, bins=20, range=(-50, 50))[0], np.histogram(whole, 20, (-50, 50))[0]
    )
    pixels = rng.integers(0, 256, (20, 30), np.uint8)
    counts, _ = on.histogram(pixels, bins=256, range=(0, 256))
    assert_array_equal(counts, np.bincount(pixels.ravel(), minlength=256))
    assert on.histogram(np.zeros(0, np.float32), bins=3)[0].tolist() == [0, 0, 0]


def test_the_last_bin_has_both_edges(on):
    x = np.array([0, 0.5, 1, 1, 1.5, -0.5, np.nan, np.inf], np.float32)
    assert on.histogram(x, bins=4, range=(0, 1))[0].tolist() == [1, 0, 1, 2]
    whole = np.array([-3, 0, 6, 9, 9, 10, 2**31 - 1], np.int32)
    assert_array_equal(on.histogram(whole, bins=4, range=(-3, 9))[0], np.histogram(whole, 4, (-3, 9))[0])
    assert_array_equal(on.histogram(whole, bins=3, range=(0, 3))[0], np.histogram(whole, 3, (0, 3))[0])
    top = 2**31
    assert on.histogram(whole, bins=2, range=(0, top))[0].tolist() == [5, 1]


def conv(x, w, bias, stride, padding):
    """The definition, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    kh, kw = w.shape[2:]
    oh, ow = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], oh, ow))
    for i in range(oh):
        for j in range(ow):
            window = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            y[:, :, i, j] = np.einsum("ncij,ocij->no", window, w)
    return y + bias[None, :, None, None]


@pytest.mark.parametrize("stride,padding", [(1, 0), (2, 1)])
def test_conv2d(on, rng, stride, padding):
    x, w, bias = floats(rng, 2, 3, 9, 8), floats(rng, 4, 3, 3, 3), floats(rng, 4)
    expected = conv(x, w, bias, stride, padding)
    options = {"stride": stride, "padding": padding}
    close(on.conv2d(x, w, bias, **options), expected, 27)
    close(on.conv2d(x, w, bias, relu=True, **options), np.maximum(expected, 0), 27)
    dy = floats(rng, *expected.shape)
    dx, dw, db = on.conv2d_backward(dy, x, w, **options)
    close(db, dy.sum((0, 2, 3), dtype=np.float64), dy.size // 4)
    # y is linear in x and in w: the gradients are checked along a direction of each.
    along_x, along_w, zero = floats(rng, *x.shape), floats(rng, *w.shape), np.zeros(4)
    for gradient, direction, other in [
        (dx, along_x, conv(along_x, w, zero, stride, padding)),
        (dw, along_w, conv(x, along_w, zero, stride, padding)),
    ]:
        assert abs((gradient * direction.astype(np.float64)).sum() - (dy * other).sum()) < 1e-3


def test_conv2d_relu_pool(on, rng):
    x, w, bias = floats(rng, 2, 1, 12, 12), floats(rng, 6, 1, 5, 5), floats(rng, 6)
    y, argmax = on.conv2d_relu_pool(x, w, bias)
    z = conv(x, w, bias, 1, 0).reshape(2, 6, 4, 2, 4, 2).transpose(0, 1, 2, 4, 3, 5)
    windows = z.reshape(2, 6, 4, 4, 4)
    close(y, np.maximum(windows.max(-1), 0), 25)
    assert_array_equal(argmax, np.where(y > 0, windows.argmax(-1), 255))
    dy = floats(rng, *y.shape)
    dx, dw, db = on.conv2d_relu_pool_backward(dy, argmax, x, w)
    close(db, (dy * (y > 0)).sum((0, 2, 3), dtype=np.float64), 32)
    # The same as max pooling and ReLU step by step.
    dz = np.zeros((2, 6, 4, 4, 4), np.float32)
    np.put_along_axis(dz, np.minimum(argmax, 3)[..., None].astype(int), (dy * (y > 0))[..., None], -1)
    dz = dz.reshape(2, 6, 4, 4, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 6, 8, 8)
    expected_dx, expected_dw, _ = weft.conv2d_backward(np.ascontiguousarray(dz), x, w)
    close(dx, expected_dx, 150)
    close(dw, expected_dw, 128)


def test_pooling(on, rng):
    x = floats(rng, 2, 3, 8, 6)
    windows = x.reshape(2, 3, 4, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 3, 4, 3, 4)
    y, argmax = on.max_pool2d(x)
    assert_array_equal(y, windows.max(-1))
    assert_array_equal(np.take_along_axis(x.reshape(2, 3, 48), argmax.reshape(2, 3, 12), -1),
                       y.reshape(2, 3, 12))
    close(on.avg_pool2d(x, 2), windows.mean(-1, dtype=np.float64), 4)
    dy = floats(rng, *y.shape)
    dx = on.max_pool2d_backward(dy, argmax, x.shape)
    assert_array_equal(dx != 0, np.repeat(np.repeat(y, 2, 2), 2, 3) == x)
    assert abs(dx.sum(dtype=np.float64) - dy.sum(dtype=np.float64)) < 1e-5
    close(on.avg_pool2d_backward(dy, x.shape), np.repeat(np.repeat(dy / 4, 2, 2), 2, 3))
    # A window of 3 with steps of 2 and a border of 1.
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    y, _ = on.max_pool2d(x, (3, 3), stride=2, padding=1)
    expected = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    assert_array_equal(y, expected.max((-1, -2)))


def test_activation(on, rng):
    x, dy = floats(rng, 5, 40), floats(rng, 5, 40)
    sigmoid, tanh = 1 / (1 + np.exp(-x.astype(np.float64))), np.tanh(x.astype(np.float64))
    assert_array_equal(on.activation(x), np.maximum(x, 0))
    close(on.activation(x, "sigmoid"), sigmoid)
    close(on.activation(x, "tanh"), tanh)
    y = sigmoid.astype(np.float32)
    close(on.activation_backward(dy, y, "sigmoid"), dy * sigmoid * (1 - sigmoid))
    assert_array_equal(on.activation_backward(dy, np.maximum(x, 0)), np.where(x > 0, dy, 0))


def test_softmax(on, rng):
    x, dy = 10 * floats(rng, 6, 50), floats(rng, 6, 50)
    wide = x.astype(np.float64)
    expected = np.exp(wide - wide.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    y = on.softmax(x)
    close(y, expected, 50)
    close(on.softmax_backward(dy, y),
          expected * (dy - (dy * expected).sum(1, keepdims=True)), 50)
    labels = rng.integers(0, 50, 6).astype(np.int32)
    loss, dx, prediction = on.softmax_cross_entropy(x, labels, scale=0.5)
    rows = np.arange(6)
    assert_allclose(loss, -np.log(expected[rows, labels]), rtol=1e-4, atol=1e-4)
    expected[rows, labels] -= 1
    close(dx, 0.5 * expected, 50)
    assert_array_equal(prediction, x.argmax(1))


def test_mean_squared_error(on, rng):
    y, target = floats(rng, 4, 9), floats(rng, 4, 9)
    loss, dy = on.mean_squared_error(y, target)
    difference = y.astype(np.float64) - target
    close(loss, (difference**2).mean(1), 36)
    close(dy, 2 * difference / 9, 2)


@pytest.mark.parametrize("shape", [(16, 3), (4, 3, 5, 5)])
def test_batch_norm(on, rng, shape):
    x, gamma, beta = floats(rng, *shape), floats(rng, 3), floats(rng, 3)
    axes = (0, *range(2, len(shape)))
    wide = np.moveaxis(x, 1, -1).astype(np.float64)
    count = x.size // 3
    mean, variance = x.mean(axes, dtype=np.float64), x.astype(np.float64).var(axes)
    running_mean, running_var = np.zeros(3, np.float32), np.ones(3, np.float32)
    y, saved_mean, inv_std = on.batch_norm(x, gamma, beta, running_mean, running_var)
    hat = (wide - mean) / np.sqrt(variance + 1e-5)
    close(y, np.moveaxis(hat * gamma + beta, -1, 1), 100)
    close(running_mean, 0.1 * mean, 100)
    close(running_var, 0.9 + 0.1 * variance * count / (count - 1), 100)
    inference = on.batch_norm_inference(x, gamma, beta, running_mean, running_var)
    expected = (wide - running_mean) / np.sqrt(running_var + 1e-5) * gamma + beta
    close(inference, np.moveaxis(expected, -1, 1), 4)
    dy = floats(rng, *shape)
    dx, dgamma, dbeta = on.batch_norm_backward(dy, x, gamma, saved_mean, inv_std)
    dwide = np.moveaxis(dy, 1, -1).astype(np.float64)
    sums = tuple(range(len(shape) - 1))
    close(dbeta, dwide.sum(sums), 200)
    close(dgamma, (dwide * hat).sum(sums), 200)
    centred = dwide - dwide.mean(sums) - hat * (dwide * hat).mean(sums)
    close(dx, np.moveaxis(gamma / np.sqrt(variance + 1e-5) * centred, -1, 1), 400)


def test_dropout(on):
    x = np.ones(20000, np.float32)
    y = on.dropout(x, 0.25, seed=3, step=5)
    assert set(np.unique(y).tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}
    # Of n values each is dropped with probability p: five standard errors.
    assert abs((y == 0).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / x.size)
    assert_array_equal(y, weft.dropout(x, 0.25, seed=3, step=5))
    assert not np.array_equal(y, on.dropout(x, 0.25, seed=3, step=6))


def test_sgd_and_ema(on, rng):
    start, g = floats(rng, 100), floats(rng, 100)
    values, velocity = start.copy(), np.zeros(100, np.float32)
    expected, speed = start.astype(np.float64), np.zeros(100)
    for _ in range(3):
        on.sgd_update(values, g, velocity, lr=0.1, momentum=0.9, weight_decay=0.01)
        speed = 0.9 * speed + g + 0.01 * expected
        expected = expected - 0.1 * speed
    close(values, expected, 8)
    average = start.copy()
    on.ema_update(average, g, 0.99, 10)
    close(average, start + (1 - 11 / 20) * (g.astype(np.float64) - start), 2)


def test_adamw(on, rng):
    values, g = floats(rng, 100), floats(rng, 100)
    first, second = np.zeros(100, np.float32), np.zeros(100, np.float32)
    expected, mean, square = values.astype(np.float64), np.zeros(100), np.zeros(100)
    for step in range(4):
        on.adamw_update(values, g, first, second, step, lr=0.01)
        mean += 0.1 * (g - mean)
        square = 0.999 * square + 0.001 * g.astype(np.float64) ** 2
        expected -= 0.01 * 0.01 * expected
        root = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
        expected -= 0.01 * mean / (1 - 0.9 ** (step + 1)) / root
    assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def test_gather_batch(on, rng):
    images = rng.integers(0, 256, (50, 4, 5), np.uint8)
    labels = rng.integers(0, 10, 50).astype(np.int32)
    seen = []
    for step in range(5):
        x, truth, indices = on.gather_batch(images, labels, 10, step, mean=0.5, stddev=0.25)
        close(x, (images[indices] / 255 - 0.5) / 0.25, 4)
        assert_array_equal(truth, labels[indices])
        seen += indices.tolist()
    assert sorted(seen) == list(range(50)) and seen != sorted(seen)


def test_gather_batch_in_colour(on, rng):
    images = rng.integers(0, 256, (20, 3, 4, 5), np.uint8)
    labels = np.zeros(20, np.int32)
    mean, stddev = (0.1, 0.2, 0.3), (0.5, 0.25, 0.125)
    x, _, indices = on.gather_batch(images, labels, 10, mean=mean, stddev=stddev)
    of_channel = (3, 1, 1)
    expected = (images[indices] / 255 - np.reshape(mean, of_channel)) / np.reshape(stddev, of_channel)
    close(x, expected, 16)
    with pytest.raises(ValueError, match="mean has 2 numbers, expected one or 3"):
        on.gather_batch(images, labels, 10, mean=(0, 0))
    with pytest.raises(ValueError, match="stddev is 0"):
        on.gather_batch(images, labels, 10, stddev=0)


def test_linear(on, rng):
    x, w, bias, dy = floats(rng, 13, 7), floats(rng, 5, 7), floats(rng, 5), floats(rng, 13, 5)
    wide = x.astype(np.float64) @ w.T + bias
    close(on.linear(x, w, bias), wide, 7)
    close(on.linear(x, w, bias, relu=True), np.maximum(wide, 0), 7)
    dx, dw, db = on.linear_backward(dy, x, w)
    close(dx, dy.astype(np.float64) @ w, 5)
    close(dw, dy.T.astype(np.float64) @ x, 13)
    close(db, dy.sum(0, dtype=np.float64), 13)
    with pytest.raises(ValueError, match=r"x \(13, 7\) has 7 features and w \(5, 6\) takes 6"):
        on.linear(x, np.ascontiguousarray(w[:, :6]))


def test_signal_convolve(on, rng):
    for shape, taps in [((50,), (5,)), ((12, 13), (3, 5)), ((5, 6, 7), (3, 3, 3))]:
        x, f = floats(rng, *shape), floats(rng, *taps)
        pad = [(t // 2, t - 1 - t // 2) for t in taps]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, pad).astype(np.float64), taps)
        letters = "abc"[: len(taps)]
        close(on.signal_convolve(x, f), np.einsum(f"...{letters},{letters}", windows, f), f.size)


def test_images(on, rng):
    rgb = rng.integers(0, 256, (9, 11, 3), np.uint8)
    weights = np.array([19595, 38470, 7471])
    assert_array_equal(on.rgb_to_grey(rgb), ((rgb @ weights) + 2**15) // 2**16)
    blurred = on.box_blur(rgb, 1)
    inside = np.pad(np.ones((9, 11, 1)), ((1, 1), (1, 1), (0, 0)))
    padded = np.pad(rgb.astype(np.int64), ((1, 1), (1, 1), (0, 0)))
    total = sum(padded[i : i + 9, j : j + 11] for i in range(3) for j in range(3))
    count = sum(inside[i : i + 9, j : j + 11] for i in range(3) for j in range(3))
    assert_array_equal(blurred, np.floor(total / count + 0.5))


def test_memory_and_divergence(on, rng):
    a, b = floats(rng, 1000), floats(rng, 1000)
    assert_array_equal(on.vector_add(a, b), a + b)
    assert_array_equal(on.copy_strided(a, 3, 7), a[3::7])
    whole = rng.integers(-100, 100, 1000).astype(np.int32)
    assert on.read_strided(whole, 3, 7) == whole[3::7].sum()
    x = rng.integers(-50, 50, 100).astype(np.int32)
    assert_array_equal(on.sq_or_cube(x), np.where(np.arange(100) % 2 == 0, x**2, x**3))


def test_nbody(on, rng):
    bodies, velocities = on.plummer_sphere(50, seed=2)
    wide = bodies.astype(np.float64)
    apart = wide[None, :, :3] - wide[:, None, :3]
    weight = wide[None, :, 3] / ((apart**2).sum(-1) + 0.05**2) ** 1.5
    acceleration = on.nbody_accelerations(bodies, softening=0.05)
    assert_allclose(acceleration[:, :3], (apart * weight[..., None]).sum(1), rtol=1e-4, atol=1e-5)
    before = on.nbody_totals(bodies, velocities, softening=0.05)
    moved, speeds = on.nbody(bodies, velocities, 4, dt=0.001, softening=0.05)
    after = on.nbody_totals(moved, speeds, softening=0.05)
    assert abs(before[0] + before[1] - after[0] - after[1]) < 1e-4  # energy
    assert not np.array_equal(bodies, moved)
    assert_array_equal(on.nbody(bodies, velocities, 0)[0], bodies)


def test_nbody_keeps_what_float64_holds(on):
    for count in (1, 65):  # forces in float64 and in float32
        bodies, velocities = np.zeros((count, 4)), np.zeros((count, 4))
        bodies[:, 0], velocities[:, 0] = 1000, 1
        moved, speeds = on.nbody(bodies, velocities, 100, dt=1e-5)
        assert moved.dtype == speeds.dtype == np.float64
        assert_allclose(moved[:, 0], 1000.001, rtol=0, atol=1e-11)
    bodies, velocities = (a.astype(np.float64) / 3 for a in on.plummer_sphere(100, seed=2))
    whole = on.nbody(bodies, velocities, 5, dt=0.001)
    parts = on.nbody(*on.nbody(bodies, velocities, 2, dt=0.001), 3, dt=0.001)
    assert_array_equal(whole[0], parts[0])
    assert_array_equal(whole[1], parts[1])
    totals = on.nbody_totals(bodies, velocities)
    kinetic = (bodies[:, 3] * (velocities[:, :3] ** 2).sum(1)).sum() / 2
    assert abs(totals[0] - kinetic) < 1e-14 * kinetic
    with pytest.raises(TypeError, match="velocities"):
        on.nbody(bodies, velocities.astype(np.float32))


def test_every_family_has_a_function():
    families = {one.family for one in weft.catalogue()}
    untested = {"fused_cnn", "fused_mlp", "all_reduce"}  # they run as a part of weft.train()
    assert untested < families
    for one in weft.catalogue():
        if one.family in untested or one.path in NO_ARRAYS:
            with pytest.raises(weft.UsageError, match="takes no arrays"):
                one.run(np.zeros(3, np.float32))
        else:
            call = getattr(weft, one._function(None))
            assert inspect.signature(call).parameters["variant"].annotation == "str", one.path


NO_ARRAYS = {
    "loss/block",
    "memory/shared_by_stride",
    "memory/dense_rows",
    "memory/pitched_rows",
    "memory/pageable_transfer",
    "memory/pinned_transfer",
}


def test_every_rung_of_the_scan_agrees(rng):
    x = rng.integers(-9, 9, 3000).astype(np.int32)
    rungs = [one for one in weft.catalogue("scan") if one.on_host_cuda]
    assert len(rungs) > 5
    for one in rungs:
        assert_array_equal(one.run(x, device="host-cuda").result, np.cumsum(x))


def test_modules_have_the_same_functions():
    def functions(module: ModuleType) -> set[str]:
        return {name for name in dir(module) if callable(getattr(module, name)) and name[0] != "_"}

    assert functions(weft._core) - functions(weft._host_cuda) == {
        "Dataset", "Network", "dataset_from_arrays", "dataset_names", "is_channels_last", "layer_backward",
        "layer_forward", "layer_names", "load_dataset", "load_network", "new_network", "settings", "train_network",
    }
