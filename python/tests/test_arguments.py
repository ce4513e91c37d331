# SPDX-License-Identifier: MIT
"""What would be silently wrong is refused in one line that names the argument, or is warned of.

`Tensor` stands for one of PyTorch, so that nothing here needs that; tests of its own arrays are in
test_libraries.py.
"""

import array
import copy
import pickle
import warnings

import numpy as np
import pytest
import weft
from numpy.testing import assert_array_equal
from test_libraries import CALLS, UPDATES

F = np.float32


class Tensor:
    """An array with a gradient."""

    def __init__(self, x, requires_grad=True):
        self.x, self.requires_grad, self.shape, self.dtype = x, requires_grad, x.shape, x.dtype

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def refusal(error, call):
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    return text


def substitutes(arrays, make):
    """The arguments with one array of them replaced, for each in turn."""
    for i in range(len(arrays)):
        copies = [x.copy() for x in arrays]
        copies[i] = make(copies[i])
        yield copies


EVERY = {**CALLS, **{name: (arrays, work) for name, (_, arrays, work) in UPDATES.items()}}


@pytest.mark.parametrize("name", EVERY)
def test_a_gradient_that_would_be_lost(name):
    arrays, work = EVERY[name]
    for given in substitutes(arrays, Tensor):
        text = refusal(TypeError, lambda: work(weft, *given))
        assert "requires a gradient" in text and ".detach()" in text
    for given in substitutes(arrays, lambda x: Tensor(x, False)):
        work(weft, *given)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "make,words",
    [
        (lambda x: np.ma.masked_array(x, x > 0), "masked"),
        (lambda x: x.tolist() or [0], "a list"),
        (lambda x: "text", "a str"),
        (lambda x: 3.5, "a float"),
        (lambda x: x.astype(object), "object"),
        (lambda x: x.astype(np.complex64), "complex64"),
        (lambda x: x.astype(F).astype(">f4"), ">f4"),
        (lambda x: Tensor(x.astype(np.int16), False), "int16"),
    ],
)
def test_what_is_no_array_of_the_right_kind(name, make, words):
    arrays, work = EVERY[name]
    for given in substitutes(arrays, make):
        text = refusal(TypeError, lambda: work(weft, *given))
        assert words in text and "Array" not in text


def test_the_argument_is_named():
    a = np.ones((2, 3), F)
    assert refusal(TypeError, lambda: weft.gemm(a, None)) == "gemm: b is None, expected an array of float32"
    assert "gemm: bias is a list" in refusal(TypeError, lambda: weft.gemm(a, a, [1], transpose_b=True))
    assert "gemm: out is a list" in refusal(TypeError, lambda: weft.gemm(a, a, transpose_b=True, out=[]))
    assert "scan: x is a list" in refusal(TypeError, lambda: weft.scan([1, 2]))
    assert "histogram: x is a list" in refusal(TypeError, lambda: weft.histogram([1, 2]))
    out = np.zeros((2, 2), F)
    out.flags.writeable = False
    text = refusal(TypeError, lambda: weft.gemm(a, a, transpose_b=True, out=out))
    assert "out is read-only" in text
    assert not out.any()
    text = refusal(TypeError, lambda: weft.gemm(a, a, transpose_b=True, out=Tensor(np.zeros((2, 2), F))))
    assert "out requires a gradient" in text and "out.detach()" in text
    fields = np.zeros(3, [("x", "f4"), ("label", "i4")])
    assert "not contiguous" in refusal(ValueError, lambda: weft.scan(fields["x"]))


def test_arrays_that_are_changed_overlap_no_other():
    g, other = np.ones(9, F), np.zeros(9, F)
    for call in (
        lambda: weft.adamw_update(g, g.copy(), other, other, 0, lr=0.1),
        lambda: weft.sgd_update(g, g.copy(), g, lr=0.1, momentum=0.9),
        lambda: weft.sgd_update(g, g, lr=0.1),
        lambda: weft.sgd_update(g[:8], g[1:], lr=0.1),
        lambda: weft.ema_update(g[1:], g[:8], 0.9, 1),
        lambda: weft.batch_norm(np.ones((4, 9), F), g.copy(), g.copy(), other, other),
        lambda: weft.batch_norm(np.ones((4, 9), F), other, g.copy(), g.copy(), other),
    ):
        assert "overlaps" in refusal(ValueError, call)
    assert (g == 1).all() and not other.any()


@pytest.mark.parametrize("on", [weft, weft.host_cuda])
def test_a_label_that_is_no_class(on):
    x = np.zeros((3, 4), F)
    for label in (-1, 4, 2**31 - 1):
        labels = np.array([0, label, 3], np.int32)
        text = refusal(ValueError, lambda: on.softmax_cross_entropy(x, labels))
        assert f"labels holds {label}, expected classes from 0 to 3" in text
    loss = on.softmax_cross_entropy(x, np.array([0, 3, 1], np.int32))[0]
    np.testing.assert_allclose(loss, np.log(4), rtol=1e-6)


VALUES = {
    "floats": np.random.default_rng(1).normal(size=999).astype(F),
    "small": np.array([1, 2, 3], F),
    "constant": np.full(5, 7, F),
    "none": np.zeros(0, F),
    "integers": np.random.default_rng(1).integers(-300, 300, 999).astype(np.int32),
    "one_integer": np.full(5, -3, np.int32),
    "no_integers": np.zeros(0, np.int32),
    "bytes": np.random.default_rng(1).integers(9, 200, (9, 11)).astype(np.uint8),
    "one_byte": np.full(5, 255, np.uint8),
    "no_bytes": np.zeros(0, np.uint8),
}


@pytest.mark.parametrize("on", [weft, weft.host_cuda])
@pytest.mark.parametrize("name", VALUES)
def test_the_range_of_a_histogram_is_numpy_s(on, name):
    x = VALUES[name]
    for bins in (1, 2, 3, 10, 256):
        counts, edges = on.histogram(x, bins=bins)
        expected, expected_edges = np.histogram(x, bins)
        assert_array_equal(counts, expected)
        np.testing.assert_allclose(edges, expected_edges, rtol=1e-6, atol=1e-6)
    if x.dtype == np.uint8:
        assert_array_equal(on.histogram(x, bins=7, range=(3, 250))[0], np.histogram(x, 7, (3, 250))[0])


def test_a_histogram_without_a_finite_range():
    for value in (np.nan, np.inf, -np.inf):
        x = np.array([1, value, 2], F)
        assert "finite" in refusal(ValueError, lambda: weft.histogram(x, bins=2))
        assert weft.histogram(x, bins=2, range=(0, 2))[0].sum() == 2
    x = np.array([1, 2], F)
    assert "lower number first" in refusal(ValueError, lambda: weft.histogram(x, range=(2, 1)))
    assert "too narrow" in refusal(ValueError, lambda: weft.histogram(np.full(3, 1e9, F)))
    assert "too wide" in refusal(ValueError, lambda: weft.histogram(np.array([-3e38, 3e38], F)))


# Pictures.


@pytest.fixture(scope="module")
def colour():
    return weft.network("resnet9", classes=3, channels=3, height=16, width=16, mean=0.5, stddev=0.25)


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(3).integers(0, 256, (5, 3, 16, 16), np.uint8)


def last(x):
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def test_the_order_of_channels(colour, pictures):
    expected = colour.logits(pictures)
    text = refusal(ValueError, lambda: colour.logits(last(pictures)))
    assert "(5, 16, 16, 3)" in text and "(n, 3, 16, 16)" in text and 'layout="channels_last"' in text
    for layout in ("channels_last", "NHWC", "hwc"):
        assert_array_equal(colour.logits(last(pictures), layout=layout), expected)
    inputs = (pictures / F(255) - F(0.5)) / F(0.25)
    np.testing.assert_allclose(colour.logits(last(inputs), layout="hwc"), expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(colour.logits(pictures, layout="channels_first"), expected)
    for x in (pictures, last(pictures)):
        layout = "channels_last" if x is not pictures else None
        answers = colour.predict(x, layout=layout)
        assert [one.label for one in answers] == expected.argmax(1).tolist()
        assert_array_equal(colour.activations(x, layout=layout)["fc1"], colour.activations(pictures)["fc1"])
    with pytest.raises(ValueError, match="channels_last"):
        colour.predict(last(pictures))
    with pytest.raises(ValueError, match="channels_last"):
        colour.activations(last(pictures))
    with pytest.raises(ValueError, match=r"'hcw', expected \"channels_first\" or"):
        colour.logits(pictures, layout="hcw")
    with pytest.raises(ValueError, match="expected n images"):
        colour.logits(pictures, layout="channels_last")


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 16, 16), (16, 16, 3), (5, 16, 48), (5, 3, 256), (5, 48, 16),
                                   (5, 256, 3), (5, 16, 3, 16), (3840,), (5, 1, 3, 16, 16), ()])
@pytest.mark.parametrize("dtype", [np.uint8, F])
def test_shapes_are_not_counted(colour, shape, dtype):
    x = np.zeros(shape, dtype)
    text = refusal(ValueError, lambda: colour.logits(x))
    assert str(shape).replace(" ", "") in text.replace(" ", "")


def test_rows_of_colours_are_said(colour, pictures):
    with pytest.warns(UserWarning, match=r"\(n, 3, 16, 16\).*channels_last"):
        found = colour.logits(pictures.reshape(5, -1))
    assert_array_equal(found, colour.logits(pictures))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(colour.logits(pictures.reshape(5, -1), layout="chw"), found)
        assert_array_equal(colour.logits(last(pictures).reshape(5, -1), layout="hwc"), found)


def test_one_channel_has_one_order():
    model = weft.network("lenet5")
    x = np.random.default_rng(1).integers(0, 256, (3, 28, 28), np.uint8)
    expected = model.logits(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((3, 1, 28, 28), (3, 28, 28, 1), (3, 784)):
            for layout in (None, "channels_first", "channels_last"):
                assert_array_equal(model.logits(x.reshape(shape), layout=layout), expected)
    assert "x[None]" in refusal(ValueError, lambda: model.logits(x[0]))


def test_pixels_in_other_numbers_are_said(pictures):
    model = weft.network("lenet5")
    x = pictures.reshape(-1, 28, 28)[:4] if pictures.size % 784 == 0 else np.resize(pictures, (4, 28, 28))
    with pytest.warns(UserWarning, match="float32 is taken as the input of the network"):
        model.logits((x / 255).astype(F))
    with pytest.warns(UserWarning, match="uint8 pixels are normalised for you"):
        model.logits(x.astype(F))
    with pytest.warns(UserWarning, match="no byte above 1"):
        model.predict((x > 128).astype(np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.logits((x / F(255) - F(0.1307)) / F(0.3081))
        model.logits(x)
        model.logits(np.zeros_like(x))
        weft.network("lenet5", mean=0, stddev=1).logits((x / 255).astype(F))
    text = refusal(TypeError, lambda: model.predict(x / 255))
    assert "x is float64 (4, 28, 28), expected uint8" in text and "0 to 255" in text


def test_what_a_model_takes(pictures):
    model = weft.network("lenet5")
    x = np.zeros((2, 28, 28), np.uint8)
    for call in (model.predict, model.logits, model.activations):
        assert "x is a list" in refusal(TypeError, lambda: call(x.tolist()))
        assert "masked" in refusal(TypeError, lambda: call(np.ma.masked_array(x, x > 0)))
    for call in (model.logits, model.activations):
        text = refusal(TypeError, lambda: call(Tensor(np.zeros((2, 1, 28, 28), F))))
        assert "x requires a gradient" in text and "x.detach()" in text
    assert "a list" in refusal(TypeError, lambda: model.load_state_dict(
        {**model.state_dict(), "conv1.bias": [0] * 6}))


def colours(n, classes=3):
    rng = np.random.default_rng(5)
    y = np.arange(n) % classes
    x = rng.integers(0, 60, (n, 3, 8, 8), np.uint8)
    x[np.arange(n), y] += 150  # the class is the brightest channel
    return x, y


def test_training_on_channels_last():
    x, y = colours(300)
    options = {"model": "mlp", "epochs": 2, "device": "cpu"}
    expected = weft.train(data=(x, y), **options)
    assert expected.info["channels"] == 3 and expected.history[-1].test_accuracy > 0.9
    text = refusal(ValueError, lambda: weft.train(data=(last(x), y), **options))
    assert "(270, 8, 8, 3)" in text and 'layout="channels_last"' in text
    found = weft.train(data=(last(x), y), layout="channels_last", **options)
    for one, other in zip(found.state_dict().values(), expected.state_dict().values()):
        assert_array_equal(one, other)
    with pytest.raises(ValueError, match="expected 1 to 4"):
        weft.train(data=(x, y), layout="channels_last", **options)
    grey = weft.train(data=(x[:, :1].transpose(0, 2, 3, 1), y), **options)  # one channel
    assert grey.info["channels"] == 1 and grey.info["height"] == 8


@pytest.mark.parametrize(
    "change,error,words",
    [
        (lambda y: np.where(y == 1, -1, y), ValueError, "label -1 of image 1 of x"),
        (lambda y: y.astype(np.int64) + 2**32, ValueError, "label 4294967296"),
        (lambda y: y + 65536, ValueError, "label 65536"),
        (lambda y: y + 0.5, TypeError, "y is float64"),
        (lambda y: y.astype(str), TypeError, "y is <U"),
        (lambda y: y[:-1], ValueError, r"\(299,\)"),
        (lambda y: y[:, None], ValueError, r"\(300, 1\)"),
        (lambda y: np.eye(3)[y], ValueError, r"argmax\(axis=1\)"),
        (lambda y: np.ma.masked_array(y, y > 1), TypeError, "masked"),
    ],
)
def test_labels_of_training(change, error, words):
    x, y = colours(300)
    with pytest.raises(error, match=words):
        weft.train("mlp", (x, change(y)), epochs=1)
    with pytest.raises(error, match=words.replace("of x", "of test x").replace("y is", "test y is")):
        weft.train("mlp", (x, y), test=(x, change(y)), epochs=1)


def test_classes_of_training():
    x, y = colours(300)
    with pytest.raises(ValueError, match="label 7 of a test image is no class"):
        weft.train("mlp", (x, y), test=(x, np.where(y == 1, 7, y)), epochs=1)
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="shuffle them, or pass test="):
        weft.train("mlp", (x[order[:220]], y[order[:220]]), epochs=1)
    for dtype in (np.uint8, np.int64, np.uint64, ">i4"):
        model = weft.train("mlp", (x, y.astype(dtype)), epochs=1)
        assert model.class_names == ["0", "1", "2"]
    for data, words in [((x,), "1 arrays"), (3, "int"), ((x, y, y), "3 arrays")]:
        assert words in refusal(TypeError, lambda: weft.train("mlp", data))
    assert "float64" in refusal(TypeError, lambda: weft.train("mlp", (x / 255, y)))
    assert "limit is 0" in refusal(ValueError, lambda: weft.data("digits", limit=0))


def test_arrays_of_training_that_are_more_than_their_numbers():
    x, y = colours(300)
    for given in ((Tensor(x), y), (x, Tensor(y)), (np.ma.masked_array(x, x > 9), y)):
        text = refusal(TypeError, lambda: weft.train("mlp", given))
        assert "detach()" in text or "masked" in text
    plain = weft.train("mlp", (Tensor(x, False), Tensor(y, False)), epochs=1, device="cpu")
    again = weft.train("mlp", (x, y), epochs=1, device="cpu")
    for one, other in zip(plain.state_dict().values(), again.state_dict().values()):
        assert_array_equal(one, other)


def test_layouts_of_other_functions():
    image = np.random.default_rng(1).integers(0, 256, (9, 11, 3), np.uint8)
    planes = np.ascontiguousarray(image.transpose(2, 0, 1))
    blurred = weft.box_blur(image)
    assert 'layout="channels_first"' in refusal(ValueError, lambda: weft.box_blur(planes))
    assert_array_equal(weft.box_blur(planes, layout="channels_first"), blurred.transpose(2, 0, 1))
    assert_array_equal(weft.box_blur(image, layout="channels_last"), blurred)
    assert "moveaxis" in refusal(ValueError, lambda: weft.rgb_to_grey(planes))
    shown = weft.picture(np.stack([image, image]).transpose(0, 3, 1, 2))
    sheet = np.resize(image, (2, 20, 20, 3))
    assert "channels_last" in refusal(ValueError, lambda: weft.picture(sheet))
    assert "channels_last" in refusal(ValueError, lambda: weft.picture(sheet[0]))
    assert_array_equal(weft.picture(image, layout="channels_last").pixels, weft.picture(
        image.transpose(2, 0, 1)[None]).pixels)
    assert_array_equal(weft.picture(np.stack([image, image]), layout="hwc").pixels, shown.pixels)
    assert weft.picture(np.zeros((6, 3, 3), np.uint8)).pixels.ndim == 2  # filters
    with pytest.raises(TypeError, match=r"x.detach\(\)"):
        weft.picture(Tensor(image))
    with pytest.raises(ValueError, match=r"\(count, height, width, channels\) are not read"):
        weft.gather_batch(np.zeros((4, 9, 9, 3), np.uint8), np.zeros(4, np.int32), 2)


def test_a_model_is_copied_and_pickled():
    x, y = colours(120)
    for model in (weft.network("lenet5", seed=5), weft.train("mlp", (x, y), epochs=1)):
        network = model.info
        shape = (4, network["channels"], network["height"], network["width"])
        images = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
        for make in (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
            again = make(model)
            assert again.info == model.info and again.history == model.history
            assert_array_equal(again.logits(images), model.logits(images))
        state = {name: np.zeros_like(value) for name, value in again.state_dict().items()}
        again.load_state_dict(state)
        assert model.logits(images).any() and not again.logits(images).any()


def test_buffers_have_no_gradient():
    assert weft.reduce(array.array("f", [1, 2])) == 3 and weft.reduce(F(3)) == 3
