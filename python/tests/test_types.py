# SPDX-License-Identifier: MIT
"""The types of what goes in and comes out: float16 and bool as with NumPy, signatures, and what type checkers see."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
import weft
from numpy.testing import assert_array_equal

HALVES = np.array([0.5, -2.0, 3.25, 0.25, 8.0], np.float16)
TRUTHS = np.array([False, True, True, False, True])
NUMPY = {"sum": np.add, "min": np.minimum, "max": np.maximum, "product": np.multiply}


def same(found, expected):
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert_array_equal(found, expected)


@pytest.mark.parametrize("on", [weft, weft.host_cuda])
@pytest.mark.parametrize("x", [HALVES, TRUTHS, HALVES[:0], TRUTHS[:0], TRUTHS.reshape(1, 5)], ids=str)
def test_float16_and_bool_have_the_types_of_numpy(on, x):
    for op in ("sum", "min", "max"):
        if x.size or op == "sum":
            same(on.reduce(x, op), np.asarray(NUMPY[op].reduce(x, axis=None)))
    if x.size:
        assert int(on.argmax(x)) == x.argmax() and on.argmax(x).dtype == np.int64
    flat = x.ravel()
    for op, function in NUMPY.items():
        same(on.scan(flat, op), function.accumulate(flat))
    same(on.scan(TRUTHS, "max", exclusive=True), np.array([False, False, True, True, True]))
    counts, edges = on.histogram(x, bins=4, range=(-2, 8))
    assert_array_equal(counts, np.histogram(x.astype(np.float32), 4, (-2, 8))[0])
    assert edges.dtype == np.float64


def test_float16_and_bool_without_numpy_around_them():
    assert {"gemm", "scan", "train", "layers"} <= set(dir(weft))
    assert weft.reduce(memoryview(TRUTHS)) == 3 and weft.reduce(memoryview(HALVES)) == 10
    jax = pytest.importorskip("jax")
    truths, halves = jax.numpy.asarray(TRUTHS), jax.numpy.asarray(HALVES)
    for found, expected in [(weft.reduce(truths), truths.sum()), (weft.reduce(halves), halves.sum()),
                            (weft.scan(truths, "max"), jax.lax.cummax(truths.astype(int)).astype(bool))]:
        assert isinstance(found, jax.Array) and found.dtype == expected.dtype
        assert_array_equal(found, expected)


@pytest.mark.parametrize("on", [weft, weft.host_cuda])
def test_where_float16_and_bool_are_not_taken(on):
    b = np.ones((3, 2), np.float32)
    for a in (np.ones((2, 3), np.float16), np.ones((2, 3), bool), np.ones((2, 3))):
        with pytest.raises(TypeError) as raised:
            on.gemm(a, b)
        assert str(raised.value) == (
            f'gemm: a is {a.dtype} (2, 3), expected float32; numpy.asarray(a, "float32") is')
        same(on.gemm(np.asarray(a, "float32"), b), np.asarray(a, "float32") @ b)
    with pytest.raises(ValueError, match="scan: out goes with int32, int64, float32 and float64"):
        on.scan(HALVES, out=np.zeros(5, np.float16))
    with pytest.raises(TypeError, match="reduce: x is uint8, expected int32, int64, float32, float64, float16"):
        on.reduce(np.ones(3, np.uint8))
    with pytest.raises(TypeError, match="masked"):
        on.reduce(np.ma.masked_array(HALVES, TRUTHS))


def public():
    """Every function and class that users have, by its name."""
    for module, names in [(weft, weft.__all__), (weft.layers, weft.layers.__all__),
                          (weft.host_cuda, [*weft.host_cuda._extension.__all__, "run", "program"])]:
        for name in names:
            value = getattr(module, name)
            if callable(value):
                yield f"{module.__name__}.{name}", value


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_signature(name):
    value = PUBLIC[name]
    signature = inspect.signature(value)
    assert inspect.getdoc(value), "no words of help"
    if inspect.isclass(value) and issubclass(value, Exception):
        return  # takes a message, as all of them do
    for parameter in signature.parameters.values():
        of_list = inspect.isclass(value) and issubclass(value, list)
        setting = value is weft.train and parameter.kind is parameter.KEYWORD_ONLY
        assert of_list or setting or parameter.annotation is not parameter.empty, parameter
    if not inspect.isclass(value):
        assert inspect.isfunction(value)
        assert signature.return_annotation is not signature.empty
        assert value.__name__ in name or value.__doc__ == getattr(weft, value.__name__).__doc__


def test_there_are_many_of_them():
    assert len(PUBLIC) > 100 and {"weft.gemm", "weft.Model", "weft.host_cuda.scan",
                                  "weft.layers.gelu_forward"} <= set(PUBLIC)


def test_a_signature_is_that_of_the_call():
    signature = inspect.signature(weft.gemm)
    assert list(signature.parameters) == ["a", "b", "bias", "transpose_a", "transpose_b", "relu", "alpha",
                                          "variant", "mode", "out"]
    assert signature.parameters["mode"].default == "fp32" and signature.parameters["alpha"].default == 1
    assert signature.parameters["relu"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["b"].default is inspect.Parameter.empty
    assert inspect.signature(weft.host_cuda.gemm) == signature
    assert inspect.signature(weft.conv2d).parameters["stride"].default == 1
    with pytest.raises(TypeError, match=r"gemm\(\) missing 1 required positional argument: 'b'"):
        weft.gemm(np.eye(2, dtype=np.float32))
    words = subprocess.run([sys.executable, "-c", "import weft; help(weft.gemm)"], capture_output=True, text=True, check=True).stdout
    assert "gemm(a:" in "".join(words.split())  # Python 3.13 gives each argument a line
    for function in (weft.gemm, weft.host_cuda.scan, weft.train):
        assert pickle.loads(pickle.dumps(function)) is function


TYPED = '''
from typing import Any
import numpy as np
import weft
from numpy.typing import NDArray
from typing_extensions import assert_type

x = np.ones((2, 3), np.float32)
assert_type(weft.gemm(x, x), NDArray[Any])
assert_type(weft.scan(memoryview(bytes(8))), NDArray[Any])
assert_type(weft.max_pool2d(x, 2), tuple[NDArray[Any], NDArray[Any]])
assert_type(weft.histogram(x), tuple[NDArray[Any], NDArray[np.float64]])
assert_type(weft.host_cuda.conv2d_backward(x, x, x), tuple[NDArray[Any], NDArray[Any], NDArray[Any]])
assert_type(weft.plummer_sphere(3)[0], NDArray[Any])
assert_type(weft.layers.relu_forward(x).dtype, np.dtype[np.float32])
assert_type(weft.layers.linear_forward(x, x), NDArray[Any])
assert_type(weft.network().predict([x.tobytes().decode()]), list[weft.Answer])
assert_type(weft.network().logits(x), NDArray[np.float32])
assert_type(weft.kernel("scan/brent_kung").bench(x).seconds, float)


class Tensor:
    """An array of another library."""

    def __dlpack__(self) -> Any: ...


assert_type(weft.gemm(Tensor(), x), Tensor)
assert_type(weft.layers.concat_backward(Tensor(), 2), tuple[Tensor, Tensor])
weft.gemm(3, x)  # no array
'''


def test_type_checkers_know_the_results(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "typed.py").write_text(TYPED)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "typed.py"], cwd=tmp_path, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert len(errors) == 1 and 'No overload variant of "gemm" matches argument types "int"' in errors[0], done.stdout
