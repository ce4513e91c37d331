# SPDX-License-Identifier: MIT
"""Arrays of PyTorch, CuPy and JAX, on the CPU and on a GPU: each library that is installed.

What a function gives for arrays of NumPy on the CPU is what it has to give for these. On a GPU the
package has to be built with CUDA. Bounds: sums of float32 of numbers below 1, as in test_kernels.py.
"""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import weft
from numpy.testing import assert_allclose, assert_array_equal

F = np.float32


class Torch:
    """PyTorch on one device."""

    def __init__(self, device):
        self.torch = pytest.importorskip("torch")
        if device == "cuda" and not self.torch.cuda.is_available():
            pytest.skip("PyTorch sees no GPU")
        self.device, self.kind = device, self.torch.Tensor

    def array(self, x):
        return self.torch.from_numpy(np.array(x)).to(self.device)

    def numpy(self, x):
        assert x.device.type == self.device
        return x.cpu().numpy()


class Cupy:
    """CuPy on the current GPU."""

    def __init__(self, device):
        if device == "cpu":
            pytest.skip("CuPy has no arrays on the CPU")
        self.cupy = pytest.importorskip("cupy")
        self.kind = self.cupy.ndarray

    def array(self, x):
        return self.cupy.asarray(x)

    def numpy(self, x):
        return self.cupy.asnumpy(x)


class Jax:
    """JAX on one device."""

    def __init__(self, device):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.kind = self.jax.Array
        try:
            self.device = self.jax.devices("gpu" if device == "cuda" else "cpu")[0]
        except RuntimeError:
            pytest.skip("JAX sees no GPU")

    def array(self, x):
        return self.jax.device_put(np.array(x), self.device)

    def numpy(self, x):
        assert x.devices() == {self.device}
        return np.asarray(x)


@pytest.fixture(params=["torch", "cupy", "jax"], scope="module")
def name(request):
    return request.param


@pytest.fixture(params=["cpu", "cuda"], scope="module")
def lib(request, name):
    if request.param == "cuda" and not weft.build_info()["cuda"]:
        pytest.skip("the package was built without CUDA")
    return {"torch": Torch, "cupy": Cupy, "jax": Jax}[name](request.param)


@pytest.fixture(params=["torch", "cupy"], scope="module")
def gpu(request):
    if not weft.build_info()["cuda"]:
        pytest.skip("the package was built without CUDA")
    return {"torch": Torch, "cupy": Cupy}[request.param]("cuda")


@pytest.fixture(scope="module")
def torch_gpu():
    if not weft.build_info()["cuda"]:
        pytest.skip("the package was built without CUDA")
    return Torch("cuda")


def floats(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(F)


def whole(*shape, dtype=np.int32, low=-9, high=9):
    return np.random.default_rng(sum(shape)).integers(low, high, shape).astype(dtype)


# Arrays and a call for each function that changes none of them.
CALLS = {
    "gemm": ([floats(65, 33), floats(33, 40), floats(40)], lambda m, a, b, c: m.gemm(a, b, c, relu=True)),
    "gemm_transposed": ([floats(33, 65), floats(40, 33)],
                        lambda m, a, b: m.gemm(a, b, transpose_a=True, transpose_b=True)),
    "linear": ([floats(31, 20), floats(8, 20), floats(8)], lambda m, x, w, b: m.linear(x, w, b)),
    "linear_backward": ([floats(31, 8), floats(31, 20), floats(8, 20)],
                        lambda m, dy, x, w: m.linear_backward(dy, x, w)),
    "transpose": ([floats(33, 70)], lambda m, x: m.transpose(x)),
    "reduce": ([whole(5000)], lambda m, x: m.reduce(x)),
    "reduce_f64": ([floats(5000).astype(np.float64)], lambda m, x: m.reduce(x, "max")),
    "argmax": ([floats(5000)], lambda m, x: m.argmax(x)),
    "scan": ([whole(5000, dtype=np.int64)], lambda m, x: m.scan(x)),
    "scan_max": ([floats(3001)], lambda m, x: m.scan(x, "max", exclusive=True)),
    "histogram": ([floats(5000)], lambda m, x: m.histogram(x, bins=7, range=(-1, 1))),
    "histogram_int": ([whole(5000)], lambda m, x: m.histogram(x, bins=6, range=(-9, 8))),
    "histogram_range": ([floats(5000)], lambda m, x: m.histogram(x, bins=7)),
    "histogram_range_int": ([whole(5000)], lambda m, x: m.histogram(x, bins=7)),
    "histogram_range_bytes": ([whole(5000, dtype=np.uint8, low=3, high=200)], lambda m, x: m.histogram(x, bins=7)),
    "histogram_constant_int": ([np.full(900, 4, np.int32)], lambda m, x: m.histogram(x, bins=7)),
    "histogram_bytes": ([whole(5000, dtype=np.uint8, low=0, high=256)],
                        lambda m, x: m.histogram(x, bins=256, range=(0, 256))),
    "nbody_accelerations": ([floats(100, 4)], lambda m, x: m.nbody_accelerations(x, softening=0.3)),
    "nbody_totals": ([floats(100, 4), floats(100, 4)],
                     lambda m, x, v: m.nbody_totals(x, v, softening=0.3)),
    "nbody": ([floats(64, 4), floats(64, 4)],
              lambda m, x, v: m.nbody(x, v, 3, dt=0.001, softening=0.3)),
    "conv2d": ([floats(2, 3, 12, 11), floats(8, 3, 3, 3), floats(8)],
               lambda m, x, w, b: m.conv2d(x, w, b, padding=1, relu=True)),
    "conv2d_backward": ([floats(2, 8, 6, 6), floats(2, 3, 12, 11), floats(8, 3, 3, 3)],
                        lambda m, dy, x, w: m.conv2d_backward(dy, x, w, padding=1, stride=2)),
    "conv2d_relu_pool": ([floats(4, 1, 28, 28), floats(6, 1, 5, 5), floats(6)],
                         lambda m, x, w, b: m.conv2d_relu_pool(x, w, b, padding=2)),
    "max_pool2d": ([floats(2, 3, 8, 6)], lambda m, x: m.max_pool2d(x)),
    "avg_pool2d": ([floats(2, 3, 8, 6)], lambda m, x: m.avg_pool2d(x)),
    "avg_pool2d_backward": ([floats(2, 3, 4, 3)], lambda m, dy: m.avg_pool2d_backward(dy, (2, 3, 8, 6))),
    "concat": ([floats(5, 3, 2), floats(5, 4, 2)], lambda m, a, b: m.concat(a, b)),
    "split": ([floats(5, 7, 2)], lambda m, y: m.split(y, 3)),
    "activation": ([floats(5, 40)], lambda m, x: m.activation(x, "tanh")),
    "activation_backward": ([floats(5, 40), floats(40, 5).reshape(5, 40)],
                            lambda m, dy, y: m.activation_backward(dy, y, "sigmoid")),
    "softmax": ([floats(6, 50)], lambda m, x: m.softmax(x)),
    "softmax_backward": ([floats(6, 50), floats(50, 6).reshape(6, 50)],
                         lambda m, dy, y: m.softmax_backward(dy, y)),
    "softmax_cross_entropy": ([floats(6, 50), whole(6, low=0, high=50)],
                              lambda m, x, t: m.softmax_cross_entropy(x, t, scale=0.5)),
    "mean_squared_error": ([floats(4, 9), floats(9, 4).reshape(4, 9)],
                           lambda m, y, t: m.mean_squared_error(y, t)),
    "batch_norm_inference": ([floats(4, 3, 5, 5), floats(3), floats(3), floats(3), np.ones(3, F)],
                             lambda m, *arrays: m.batch_norm_inference(*arrays)),
    "batch_norm_backward": ([floats(4, 3, 5, 5), floats(5, 3, 5, 4).reshape(4, 3, 5, 5), floats(3),
                             floats(3), np.ones(3, F)], lambda m, *arrays: m.batch_norm_backward(*arrays)),
    "dropout": ([floats(3000)], lambda m, x: m.dropout(x, 0.25, seed=3, step=5)),
    "gather_batch": ([whole(50, 3, 4, 5, dtype=np.uint8, low=0, high=256), whole(50)],
                     lambda m, x, y: m.gather_batch(x, y, 10, 2, mean=(0.1, 0.2, 0.3), stddev=0.25)),
    "signal_convolve": ([floats(12, 13), floats(3, 5)], lambda m, x, f: m.signal_convolve(x, f)),
    "rgb_to_grey": ([whole(9, 11, 3, dtype=np.uint8, low=0, high=256)], lambda m, x: m.rgb_to_grey(x)),
    "box_blur": ([whole(9, 11, 3, dtype=np.uint8, low=0, high=256)], lambda m, x: m.box_blur(x, 2)),
    "vector_add": ([floats(1000), floats(10, 100).reshape(1000)], lambda m, a, b: m.vector_add(a, b)),
    "copy_strided": ([floats(1000)], lambda m, x: m.copy_strided(x, 3, 7)),
    "read_strided": ([whole(1000)], lambda m, x: m.read_strided(x, 3, 7)),
    "sq_or_cube": ([whole(1000)], lambda m, x: m.sq_or_cube(x, 2)),
}  # fmt: skip

# Arrays of which the first `changed` are updated in place.
UPDATES = {
    "sgd_update": (2, [floats(300), floats(299, 1)[:300].ravel().repeat(2)[:300], floats(300)],
                   lambda m, p, v, g: m.sgd_update(p, g, v, lr=0.1, momentum=0.9)),
    "adamw_update": (3, [floats(300), np.zeros(300, F), np.zeros(300, F), floats(300)],
                     lambda m, p, a, b, g: m.adamw_update(p, g, a, b, 3, lr=0.01)),
    "ema_update": (1, [floats(300), floats(3, 100).ravel()], lambda m, a, x: m.ema_update(a, x, 0.9, 5)),
    "batch_norm": (2, [np.zeros(3, F), np.ones(3, F), floats(4, 3, 5, 5), floats(3), floats(3)],
                   lambda m, mean, var, x, g, b: m.batch_norm(x, g, b, mean, var)),
}  # fmt: skip


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def check(actual, expected):
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if expected.dtype.kind == "f":
        assert_allclose(actual, expected, rtol=2e-4, atol=2e-4)
    else:
        assert_array_equal(actual, expected)


@pytest.mark.parametrize("call", CALLS)
def test_every_function(lib, call):
    arrays, work = CALLS[call]
    expected = as_tuple(work(weft, *arrays))
    actual = as_tuple(work(weft, *(lib.array(x) for x in arrays)))
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected):
        if call.startswith("histogram") and other is expected[1]:
            assert_array_equal(one, other)  # the edges are NumPy's
            continue
        assert isinstance(one, lib.kind)
        check(lib.numpy(one), other)


@pytest.mark.parametrize("call", UPDATES)
def test_updates_in_place(lib, name, call):
    changed, arrays, work = UPDATES[call]
    ours = [lib.array(x) for x in arrays]
    if name == "jax":
        with pytest.raises(TypeError, match="JAX|incompatible"):
            work(weft, *ours)
        return
    expected = [x.copy() for x in arrays]
    results = as_tuple(work(weft, *ours))
    for one, other in zip(results, as_tuple(work(weft, *expected))):
        if other is not None:
            check(lib.numpy(one), other)
    for i in range(changed):
        assert not np.array_equal(expected[i], arrays[i])
        check(lib.numpy(ours[i]), expected[i])


def test_every_function_is_here():
    functions = {name for name in dir(weft._core) if not name.startswith("_")}
    functions = {name for name in functions if type(getattr(weft._core, name)).__name__ == "nb_func"}
    without = {"build_info", "families", "plummer_sphere", "synchronize", "load_network", "new_network",
               "train_network", "load_dataset", "dataset_from_arrays", "is_channels_last", "max_pool2d_backward",
               "conv2d_relu_pool_backward", "printable", "html_text", "layer_names", "settings", "dataset_names",
               "layer_forward", "layer_backward"}  # weft.layers tries these two
    assert functions - without <= set(CALLS) | set(UPDATES)


def test_backward_of_what_forward_gave(lib):
    x, w, dy = floats(4, 1, 28, 28), floats(6, 1, 5, 5), floats(4, 6, 14, 14)
    results = []
    for give in (lambda a: a, lib.array):
        y, argmax = weft.conv2d_relu_pool(give(x), give(w), padding=2)
        gradients = weft.conv2d_relu_pool_backward(give(dy), argmax, give(x), give(w), padding=2)
        pooled, places = weft.max_pool2d(give(x))
        results.append([*gradients, weft.max_pool2d_backward(pooled, places, x.shape)])
    for one, other in zip(*results):
        assert_allclose(lib.numpy(lib.array(0) if one is None else other), one, rtol=2e-4, atol=2e-3)


def test_out(lib, name):
    x, out = lib.array(floats(300)), lib.array(np.zeros(300, F))
    if name == "jax":
        with pytest.raises(TypeError):
            weft.scan(x, out=out)
        return
    assert weft.scan(x, out=out) is out
    check(lib.numpy(out), weft.scan(floats(300)))
    with pytest.raises(ValueError, match=r"out has shape \(300,\), expected \(299,\)"):
        weft.scan(x[1:], out=out)
    with pytest.raises(ValueError, match="overlaps"):
        weft.vector_add(x[:200], x[:200], out=x[100:])


def test_views_that_are_not_contiguous(lib, name):
    if name == "jax":
        pytest.skip("JAX has no views")
    x = lib.array(floats(20, 30))
    for view in (x.T, x[:, ::2]):
        with pytest.raises(ValueError, match="not contiguous"):
            weft.transpose(view)
    # One that is: rows of a larger array.
    check(lib.numpy(weft.transpose(x[3:9])), floats(20, 30)[3:9].T)


def test_arrays_of_no_elements(lib):
    empty = lib.array(np.zeros(0, F))
    assert lib.numpy(weft.scan(empty)).shape == (0,)
    assert lib.numpy(weft.reduce(empty)) == 0
    assert lib.numpy(weft.argmax(empty)) == -1
    assert lib.numpy(weft.histogram(empty, bins=3)[0]).tolist() == [0, 0, 0]
    a, b = lib.array(np.zeros((3, 0), F)), lib.array(np.zeros((0, 2), F))
    assert_array_equal(lib.numpy(weft.gemm(a, b)), np.zeros((3, 2)))
    assert lib.numpy(weft.gemm(lib.array(np.zeros((0, 4), F)), lib.array(np.zeros((4, 2), F)))).shape == (0, 2)


def test_a_gradient_of_torch_is_not_lost():
    lib = Torch("cpu")
    torch = lib.torch
    first, head = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 1)
    x = torch.rand(4, 8)
    with pytest.raises(TypeError, match=r"gemm: b requires a gradient.*b\.detach\(\)"):
        head(weft.gemm(x, first.weight)).sum().backward()
    expected = x @ first.weight
    with torch.no_grad():  # where PyTorch would note nothing either
        assert_allclose(weft.gemm(x, first.weight), expected, rtol=1e-5, atol=1e-6)
    assert_allclose(weft.gemm(x, first.weight.detach()), expected.detach(), rtol=1e-5, atol=1e-6)
    for call in (weft.network("mlp").logits, weft.network("mlp").activations):
        with pytest.raises(TypeError, match=r"x\.detach\(\)"):
            call(torch.zeros(1, 1, 28, 28, requires_grad=True))


def test_parameters_of_torch_are_not_written_behind_its_back():
    torch = Torch("cpu").torch
    a, p = torch.ones(8, 8), torch.nn.Parameter(torch.zeros(8, 8))
    for out in (p, p * 1):
        with pytest.raises(TypeError, match=r"out requires a gradient.*out\.detach\(\)"):
            weft.gemm(a, a, out=out)
        assert not out.detach().any()
    with torch.no_grad():
        assert weft.gemm(a, a, out=p) is p
        assert p._version == 1 and bool((p == 8).all())
        weft.sgd_update(p, torch.ones(8, 8), lr=0.5)
    assert p._version == 2 and bool((p == 7.5).all())
    w, x = torch.ones(3, requires_grad=True), torch.ones(3)
    loss = (w * x).sum()
    weft.scan(x, out=x)  # autograd needs the old x
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_tensors_of_torch_that_are_more_than_their_memory():
    torch = Torch("cpu").torch
    x = torch.ones(2, 3)
    for other, words in [
        (torch._neg_view(x), r"a\.resolve_neg\(\)"),
        (x.to_sparse(), "gives no array"),
        (torch.zeros(2, 3, device="meta"), "gives no array"),
        (x.bfloat16(), "bfloat16"),
    ]:
        with pytest.raises(TypeError, match=words) as raised:
            weft.gemm(other, torch.ones(3, 2))
        assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match=r"not contiguous.*; a\.contiguous\(\) makes a copy that is"):
        weft.gemm(torch.ones(3, 2).t(), torch.ones(3, 2))
    with pytest.raises(ValueError, match="no memory"):
        weft.gemm(torch._efficientzerotensor((2, 3)), torch.ones(3, 2))
    module = torch.nn.Linear(784, 10)
    assert module.weight.requires_grad
    model = weft.network("mlp")
    state = {name: torch.nn.Parameter(torch.from_numpy(x)) for name, x in model.state_dict().items()}
    model.load_state_dict(state)  # values are copied: no gradient is lost


def test_wrong_dtypes(lib):
    with pytest.raises(TypeError, match="gemm: a is float64"):
        weft.gemm(lib.array(np.ones((2, 2))), lib.array(np.ones((2, 2), F)))


# From here on: on a GPU.


def test_wrong_devices(gpu):
    x, here = gpu.array(floats(100)), floats(100)
    with pytest.raises(ValueError, match=r"vector_add: b is on cpu, and the arrays before it are on cuda:0"):
        weft.vector_add(x, here)
    with pytest.raises(ValueError, match="on cuda:0"):
        weft.vector_add(here, x)
    with pytest.raises(ValueError, match="out is on cpu"):
        weft.scan(x, out=np.empty(100, F))
    with pytest.raises(ValueError, match="host memory"):
        weft.host_cuda.scan(x)
    model = weft.network("mlp")
    with pytest.raises(ValueError, match="host memory"):
        model.logits(gpu.array(floats(2, 1, 28, 28)))
    check(gpu.numpy(weft.scan(x)), weft.scan(here))


def test_labels_and_ranges_on_a_gpu(gpu):
    x = gpu.array(floats(3, 4))
    for label in (-1, 4):
        with pytest.raises(ValueError, match=f"labels holds {label}, expected classes from 0 to 3"):
            weft.softmax_cross_entropy(x, gpu.array(np.array([0, label, 3], np.int32)))
    with pytest.raises(ValueError, match="finite"):
        weft.histogram(gpu.array(np.array([1, np.nan, 2], F)))
    with pytest.raises(ValueError, match="second overlaps first"):
        weft.adamw_update(gpu.array(floats(9)), gpu.array(floats(9)), *[gpu.array(floats(9))] * 2, 0, lr=0.1)


def test_the_current_stream_of_torch(torch_gpu):
    torch = torch_gpu.torch
    n = 1 << 20
    for side in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()):
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            x = torch.zeros(n, device="cuda", dtype=torch.int32)
            torch.cuda._sleep(50_000_000)  # cycles: some 30 ms
            x += 1  # after the sleep
            y = weft.scan(x)  # has to wait for it
            z = weft.scan(y)
            x.fill_(7)  # may not come before the scan has read x
            total = z[-1] - y[-1]
        side.synchronize()
        with torch.cuda.stream(side):
            assert int(y[-1]) == n and int(y[0]) == 1 and int(x[0]) == 7
            expected = sum(range(1, n)) % 2**32
            assert int(total) % 2**32 == expected


def test_a_call_does_not_wait(torch_gpu):
    torch = torch_gpu.torch
    x = torch.ones(1000, device="cuda")
    weft.vector_add(x, x)
    torch.cuda.synchronize()
    torch.cuda._sleep(400_000_000)  # cycles: some 200 ms
    done = torch.cuda.Event()
    y = weft.vector_add(x, x)
    done.record()
    assert not done.query()  # still asleep
    torch.cuda.synchronize()
    assert float(y.sum()) == 2000


def test_streams_of_threads(torch_gpu):
    torch = torch_gpu.torch
    failures = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(50):
                x = torch.full((4096 + seed,), i, device="cuda", dtype=torch.int64)
                if int(weft.reduce(x)) != i * (4096 + seed):
                    failures.append((seed, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not failures


def test_ten_thousand_calls_leak_nothing_on_a_gpu(torch_gpu):
    torch = torch_gpu.torch
    x = torch.ones(1 << 18, device="cuda")  # 1 MiB

    def calls(count):
        for _ in range(count):
            weft.vector_add(x, x)
            weft.scan(x)
            weft.histogram(x, bins=64)
            weft.reduce(x)
            with pytest.raises(ValueError):
                weft.vector_add(x, x[1:])

    calls(100)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    calls(2000)  # of five calls each
    gc.collect()
    torch.cuda.synchronize()
    lost = before - torch.cuda.mem_get_info()[0]
    assert lost < 256 << 20, f"{lost >> 20} MiB"  # results and work spaces would be 4 GiB


def test_after_a_device_error_the_next_call_works(torch_gpu):
    torch = torch_gpu.torch
    a, b = torch.ones(1 << 20, 1, device="cuda"), torch.ones(1, 1 << 20, device="cuda")
    x = torch.ones(1000, device="cuda")
    for _ in range(3):
        with pytest.raises(weft.DeviceError):
            weft.gemm(a, b)  # 4 TiB
        assert float(weft.reduce(x)) == 1000
    assert float((x + 1).sum()) == 2000  # and PyTorch's


def test_a_forked_child_ends(torch_gpu):
    x = torch_gpu.array(floats(100))
    weft.scan(x)
    child = os.fork()
    if child == 0:  # a GPU is not there after a fork, but the CPU is
        code = 1
        try:
            code = 0 if np.array_equal(weft.scan(np.ones(9, F)), np.arange(1, 10)) else 2
            weft.scan(x)
            code = 3
        except Exception:  # noqa: BLE001: whatever it is, it is an exception
            pass
        os._exit(code)
    thread = threading.Timer(60, os.kill, (child, 9))
    thread.start()
    status = os.waitpid(child, 0)[1]
    thread.cancel()
    assert os.waitstatus_to_exitcode(status) == 0
    check(torch_gpu.numpy(weft.scan(x)), weft.scan(floats(100)))


def test_the_gpu_of_the_thread_stays(torch_gpu):
    torch = torch_gpu.torch
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    x = torch.ones(1000, device="cuda:1")
    assert torch.cuda.current_device() == 0
    y = weft.scan(x)
    assert y.device == x.device and torch.cuda.current_device() == 0
    assert float(y[-1]) == 1000
    with pytest.raises(ValueError, match="cuda:0.*cuda:1|cuda:1.*cuda:0"):
        weft.vector_add(x, torch.ones(1000, device="cuda:0"))


# Sizes that suit every rung of a family: aligned, and a multiple of its tiles.
RUNGS = {
    "gemm": [floats(256, 256), floats(256, 256)],
    "scan": [whole(1 << 14)],
    "reduce": [whole(1 << 14)],
    "histogram": [whole(1 << 14, dtype=np.uint8, low=0, high=256)],
    "transpose": [floats(256, 128)],
    "softmax": [floats(128, 256)],
    "nbody": [floats(1024, 4)],
    "conv": [floats(4, 32, 16, 16), floats(32, 32, 3, 3)],
    "pool": [floats(4, 8, 16, 16)],
    "signal": [floats(128, 128), floats(5, 5)],
    "divergence": [whole(4096)],
    "memory/vector_add": [floats(4096), floats(64, 64).ravel()],
}


OPTIONS = {
    "gemm": {"mode": "bf16"},
    "conv": {"mode": "bf16", "padding": 1},
    "histogram": {"bins": 256, "range": (0, 256)},
    "nbody": {"softening": 0.3},
}


@pytest.mark.parametrize("family", RUNGS)
def test_every_rung_on_a_gpu(torch_gpu, family):
    """The rungs that take this shape agree with the CPU; a third of them at least do."""
    arrays, options = RUNGS[family], OPTIONS.get(family, {})
    capability = torch_gpu.torch.cuda.get_device_capability()
    rungs = [
        one
        for one in weft.catalogue(family.partition("/")[0])
        if one.on_cuda
        and one.path.startswith(family)
        and one.compute_capability <= 10 * capability[0] + capability[1]
    ]
    ran, refused = 0, {}
    for one in rungs:
        try:
            results = one.run(*(torch_gpu.array(x) for x in arrays), **options).result
        except weft.UsageError as error:
            refused[one.name] = str(error)
            continue
        expected = as_tuple(getattr(weft, one._function(None))(*arrays, **options))[0]
        actual = torch_gpu.numpy(as_tuple(results)[0])
        bound = 0.0
        if expected.dtype.kind == "f":  # products of bfloat16, or sums of float32 in another order
            bound = (0.01 if "mode" in options else 1e-4) * max(1.0, float(np.abs(expected).max()))
        assert_allclose(actual, expected, rtol=0, atol=bound, err_msg=one.path)
        ran += 1
    print(f"{family}: {ran} ran, refused: {refused}")
    assert ran >= max(1, len(rungs) // 3), refused


def test_pytorch_trains_through_weft_on_a_gpu(torch_gpu):
    example = Path(__file__).resolve().parent.parent.parent / "examples/python/train_torch.py"
    done = subprocess.run(
        [sys.executable, str(example), "--device", "cuda", "--limit", "3000"],
        check=True, capture_output=True, text=True)  # fmt: skip
    assert float(done.stdout.split("test ")[-1].split("%")[0]) > 50  # a guess has 10


def test_training_on_a_gpu(torch_gpu):
    options = {"epochs": 2, "limit_train": 4000, "seed": 7}
    model = weft.train(device="cuda", **options)
    again = weft.train(device="cuda", settings={}, **options)
    on_cpu = weft.train(device="cpu", **options)
    assert abs(model.history[-1].test_accuracy - on_cpu.history[-1].test_accuracy) < 0.1
    for one, other in zip(model.state_dict().values(), again.state_dict().values()):
        assert_allclose(one, other, rtol=0, atol=1e-2)
    images = whole(20, 28, 28, dtype=np.uint8, low=0, high=256)
    there, here = weft.network(device="cuda"), weft.network()
    there.load_state_dict(model.state_dict())
    here.load_state_dict(model.state_dict())
    assert_allclose(there.logits(images), here.logits(images), rtol=1e-3, atol=1e-3)


def test_timing_on_a_gpu(torch_gpu):
    x = torch_gpu.array(floats(1 << 20))
    timing = weft.kernel("memory/vector_add").bench(x, x)
    assert timing.device == "cuda:0" and 0 < timing.p10 <= timing.seconds <= timing.p90 < 0.01
