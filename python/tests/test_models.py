# SPDX-License-Identifier: MIT
"""Training, and what trained models say."""

import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft
from numpy.testing import assert_array_equal


@pytest.fixture(scope="module")
def trained():
    return weft.train(epochs=2, limit_train=4000, seed=7, device="cpu")  # for its bits


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(2)
    return rng.integers(0, 256, (300, 28, 28), np.uint8)


def program(*arguments):
    """The weft program, as a user would start it."""
    subprocess.run([sys.executable, "-m", "weft", *arguments], check=True, capture_output=True)


def test_the_same_bits_as_the_program(trained, tmp_path, request):
    arguments = ["train", "--dataset", "digits", "--epochs", "2", "--limit-train", "4000",
                 "--seed", "7", "--device", "cpu", "--out", str(tmp_path / "run")]
    other = request.config.getoption("--weft")
    if other:  # that of a build
        subprocess.run([other, *arguments], check=True, capture_output=True)
    else:
        program(*arguments)
    of_program = weft.load(tmp_path / "run").state_dict()
    ours = trained.state_dict()
    assert list(ours) == list(of_program)
    for name, tensor in ours.items():
        assert_array_equal(tensor, of_program[name], strict=True)


def test_the_history(trained):
    assert [epoch.epoch for epoch in trained.history] == [1, 2]
    assert trained.history[1].test_accuracy > 0.5  # a guess has 0.1
    assert trained.info["network"] == "lenet5" and trained.info["dataset"] == "digits"
    assert trained.class_names == list("0123456789")
    assert "61706 parameters" in repr(trained) and len(trained.layers) == 12


def test_training_starts_from_a_model(trained, images, tmp_path):
    trained.save(tmp_path / "m.safetensors")
    digits = weft.data("digits", limit=300)
    few = (digits.x[digits.y < 3], digits.y[digits.y < 3])  # classes that the model knows by name
    path = str(tmp_path / "m.safetensors")
    tuned = weft.train(data=few, test=few, start_from=path, freeze="conv*", epochs=1)
    assert tuned.taken == [f"begins from {path}: 10 of 10 tensors are taken over"]
    before, after = trained.state_dict(), tuned.state_dict()
    for name in before:
        assert (before[name].shape == after[name].shape) == (not name.startswith("fc3"))
        if name.startswith("conv"):
            assert_array_equal(before[name], after[name], strict=True)
    assert not np.array_equal(before["fc1.weight"], after["fc1.weight"])
    with pytest.raises(ValueError, match="no layer with parameters is named"):
        weft.train(data=few, test=few, freeze="fc9", epochs=1)


def test_logits_and_activations(trained, images):
    logits = trained.logits(images)
    assert logits.shape == (300, 10) and logits.dtype == np.float32
    assert_array_equal(trained.logits(images[:7]), logits[:7])  # the same bits in any batch
    assert trained.logits(images[:0]).shape == (0, 10)
    normal = ((images.astype(np.float32) / 255 - np.float32(trained.info["mean"]))
              / np.float32(trained.info["stddev"]))
    np.testing.assert_allclose(trained.logits(normal[:, None]), logits, rtol=1e-4, atol=1e-4)
    named = trained.activations(images[:5])
    assert named["conv1"].shape == (5, 6, 28, 28)
    assert_array_equal(named["relu1"], np.maximum(named["conv1"], 0))
    np.testing.assert_allclose(named["fc3"], logits[:5], rtol=1e-4, atol=1e-4)
    tensors = trained.state_dict()
    expected = named["fc2"].astype(np.float64)
    expected = np.maximum(expected, 0) @ tensors["fc3.weight"].T + tensors["fc3.bias"]
    np.testing.assert_allclose(named["fc3"], expected, rtol=1e-4, atol=1e-4)


def test_predict(trained, images):
    answers = trained.predict(images)
    assert len(answers) == 300
    for answer, row in zip(answers, trained.logits(images)):
        assert answer.label == row.argmax() and answer.name == str(answer.label)
        assert abs(answer.probabilities.sum() - 1) < 1e-9
    assert trained.predict(images[:0]) == []


def test_predict_a_picture(trained, tmp_path):
    seven = np.zeros((28, 28), np.uint8)
    seven[5:8, 7:21] = 255
    for row in range(8, 24):
        column = 20 - (row - 8) * 9 // 16
        seven[row, column - 1 : column + 2] = 255
    path = tmp_path / "seven.pgm"
    path.write_bytes(b"P5 28 28 255\n" + seven.tobytes())
    trained.save(tmp_path / "model.safetensors")
    one = trained.predict(path)
    both = trained.predict([path, str(path)])
    assert one.label == 7 and [answer.label for answer in both] == [7, 7]
    done = subprocess.run(
        [sys.executable, "-m", "weft", "predict", str(tmp_path / "model.safetensors"), str(path),
         "--device", "cpu", "--json"], check=True, capture_output=True, text=True)
    event = json.loads(done.stdout)
    assert event["label"] == one.label
    assert abs(event["probability"] - one.probability) < 1e-9


def test_save_and_load(trained, images, tmp_path):
    trained.save(tmp_path / "model.safetensors")
    again = weft.load(tmp_path / "model.safetensors")
    assert again.info == trained.info and again.history == []
    assert_array_equal(again.logits(images), trained.logits(images))


def test_int8(trained, images, tmp_path):
    trained.save(tmp_path / "m.safetensors")
    model = weft.load(tmp_path / "m.safetensors")
    for call in (model.logits, model.predict):
        with pytest.raises(ValueError, match="ranges of its layers.*measure_ranges"):
            call(images, precision="int8")
        with pytest.raises(ValueError, match='precision is "bf16", expected "fp32" or "int8"'):
            call(images, precision="bf16")
    digits = weft.data("digits", limit=1000)
    assert model.measure_ranges(digits.x) == [] and len(model.info["ranges"]) == len(model.layers)
    exact, ours = model.logits(images), model.logits(images, precision="int8")
    assert 0 < np.abs(ours - exact).max() < 0.25 * np.abs(exact).max()
    right = {p: (model.logits(digits.x, precision=p).argmax(1) == digits.y).mean() for p in ("fp32", "int8")}
    assert right["int8"] > right["fp32"] - 0.02
    assert [a.label for a in model.predict(images, precision="int8")] == ours.argmax(1).tolist()
    with pytest.raises(TypeError, match="uint8"):
        model.logits(images.astype(np.float32), precision="int8")
    # The file has the ranges, and the program the same bits.
    model.save(tmp_path / "int8.safetensors")
    assert_array_equal(weft.load(tmp_path / "int8.safetensors").logits(images, precision="int8"), ours)
    (tmp_path / "0.pgm").write_bytes(b"P5 28 28 255\n" + images[0].tobytes())
    done = subprocess.run(
        [sys.executable, "-m", "weft", "predict", str(tmp_path / "int8.safetensors"), str(tmp_path / "0.pgm"),
         "--precision", "int8", "--preprocess", "none", "--invert", "no", "--json"],
        check=True, capture_output=True, text=True)
    assert_array_equal(np.float32(json.loads(done.stdout)["logits"]), ours[0])
    # Other weights have other ranges.
    model.load_state_dict(trained.state_dict())
    assert "ranges" not in model.info
    with pytest.raises(ValueError, match="ranges of its layers"):
        model.logits(images, precision="int8")


def test_on_a_gpu(trained, images, tmp_path):
    if not weft.build_info()["cuda"] or not pathlib.Path("/dev/nvidiactl").exists():
        pytest.skip("the package was built without CUDA, or the machine has no GPU")
    trained.save(tmp_path / "model.safetensors")
    there = weft.load(tmp_path / "model.safetensors", "cuda")
    np.testing.assert_allclose(there.logits(images), trained.logits(images), rtol=1e-4, atol=1e-4)
    again = weft.train(epochs=2, limit_train=4000, seed=7, device="cuda")
    np.testing.assert_allclose(again.history[-1].loss, trained.history[-1].loss, rtol=0.05)


def test_onnx_files(trained, images, tmp_path):
    files = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/fuzz/onnx"
    try:
        model = weft.load(files / "plain-foreign.onnx", mean=0.5, stddev=0.25)
    except weft.UsageError as error:  # it was built without ONNX
        assert "WEFT_ONNX=ON" in str(error) and "weft import" in str(error)
        return
    assert (model.info["mean"], model.info["stddev"]) == (0.5, 0.25)
    normal = (images / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
    np.testing.assert_allclose(model.logits(normal), model.logits(images), rtol=1e-4, atol=1e-4)
    assert model.info["normalisation"] == "flags"
    with pytest.warns(UserWarning, match="is assumed, because nothing says how it reads pixels"):
        assumed = weft.load(files / "plain-foreign.onnx")
    assert (assumed.info["mean"], assumed.info["stddev"]) == (0, 1)
    with pytest.raises(ValueError, match="no ONNX file"):
        weft.load(files / "text.onnx")
    trained.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="is no .onnx file"):
        weft.load(tmp_path / "model.safetensors", mean=0.5)


def test_bad_files(tmp_path, trained):
    with pytest.raises(OSError, match="nothing"):
        weft.load(tmp_path / "nothing")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match="damaged"):
        weft.load(damaged)
    with pytest.raises(weft.DataError):
        trained.predict(damaged)
    with pytest.raises(OSError):
        trained.save(tmp_path / "no" / "such" / "folder.safetensors")


def test_bad_images(trained):
    with pytest.raises(ValueError, match=r"\(3, 27, 28\).*\(1, 28, 28\)"):
        trained.logits(np.zeros((3, 27, 28), np.uint8))
    with pytest.raises(TypeError, match="uint8"):
        trained.predict(np.zeros((3, 28, 28), np.float32))
    with pytest.raises(TypeError, match="float64"):
        trained.logits(np.zeros((3, 1, 28, 28)))


def test_training_on_arrays(images):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 600)
    x = np.zeros((600, 16, 16), np.uint8)
    for label in range(3):  # a bar at one of three heights
        x[y == label, 4 * label + 2 : 4 * label + 4, 2:14] = 255
    epochs = []
    model = weft.train("mlp", (x, y), epochs=4, callbacks=epochs.append, settings={"momentum": 0.8})
    assert epochs == model.history and epochs[-1].test_accuracy == 1
    assert model.class_names == ["0", "1", "2"]
    assert [answer.label for answer in model.predict(x[:20])] == y[:20].tolist()


@pytest.mark.parametrize(
    "options,words",
    [
        ({"epochs": 0}, "epochs"),
        ({"model": "lenet6"}, "lenet5"),
        ({"data": "minst"}, "mnist"),
        ({"settings": {"epoch": 3}}, "epochs"),
        ({"settings": {"momentum": 2}}, "momentum"),
        ({"device": "tpu"}, "tpu"),
        ({"data": (np.zeros((4, 5), np.uint8), np.arange(4) % 2)}, "3 axes"),
        ({"data": (np.zeros((40, 28, 28), np.uint8), np.zeros(3, int))}, "40"),
        ({"data": (np.zeros((40, 28, 28), np.uint8), np.full(40, -1))}, "label -1"),
    ],
)
def test_wrong_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        weft.train(**{"data": "digits", "limit_train": 200, **options})


def test_an_exception_of_the_callback_ends_the_training():
    seen = []

    def callback(epoch):
        seen.append(epoch)
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        weft.train(epochs=50, limit_train=500, callbacks=[callback])
    assert len(seen) == 1


def test_ctrl_c_writes_a_checkpoint(tmp_path):
    code = (  # a job in the background begins with SIGINT ignored
        "import signal, weft\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def told(epoch):\n"
        "    print('epoch', flush=True)\n"
        f"weft.train(epochs=1000, limit_train=2000, callbacks=told, out={str(tmp_path / 'run')!r})"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "epoch\n"
    threading.Timer(0.2, os.kill, (child.pid, signal.SIGINT)).start()
    _, errors = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert weft.load(tmp_path / "run").info["epochs"] >= 0


def test_progress_is_written_on_request(capsys):
    weft.train(epochs=1, limit_train=200, progress=True)
    assert "epoch 1  loss" in capsys.readouterr().err
    weft.train(epochs=1, limit_train=200, progress=False)
    assert capsys.readouterr().err == ""


def test_weights_from_elsewhere(trained, images):
    other = weft.network("lenet5", seed=3, mean=trained.info["mean"], stddev=trained.info["stddev"])
    assert not np.array_equal(other.logits(images[:4]), trained.logits(images[:4]))
    state = trained.state_dict()
    other.load_state_dict({**state, "bn1.num_batches_tracked": np.zeros((), np.int64)})
    assert_array_equal(other.logits(images), trained.logits(images))
    name = "conv1.weight"
    for changed, words in [
        ({"conv1.weight": state[name][:, :, :4].copy()}, r"\(6, 1, 4, 5\), expected \(6, 1, 5, 5\)"),
        ({"conv9.weight": state[name]}, "no tensor conv9.weight"),
        ({"conv1.weight": np.full_like(state[name], np.nan)}, "not a number"),
    ]:
        with pytest.raises(ValueError, match=words):
            other.load_state_dict({**state, **changed})
    with pytest.raises(ValueError, match="no tensor conv1.weight"):
        other.load_state_dict({key: value for key, value in state.items() if key != name})
    with pytest.raises(TypeError, match="float64"):
        other.load_state_dict({**state, name: state[name].astype(np.float64)})
    assert_array_equal(other.logits(images), trained.logits(images))  # nothing was changed


def test_networks_of_other_sizes():
    colour = weft.network("resnet9", classes=3, channels=3, height=32, width=32)
    assert colour.logits(np.zeros((2, 3, 32, 32), np.uint8)).shape == (2, 3)
    with pytest.raises(ValueError, match="classes"):
        weft.network("mlp", classes=0)
    with pytest.raises(ValueError, match="lenet5"):
        weft.network("lenet6")
    with pytest.raises(ValueError, match="each of 3 channels"):
        weft.network("resnet9", channels=3, height=32, width=32, mean=[0.5])
    with pytest.raises(ValueError, match="above 0"):
        weft.network("mlp", stddev=0)


def test_data_sets_as_arrays():
    digits = weft.data("digits", limit=300)
    assert digits.x.shape == (300, 28, 28) and digits.x.dtype == np.uint8
    assert digits.y.shape == (300,) and digits.class_names == list("0123456789")
    assert weft.data("shapes", limit=50).x.shape[:2] == (50, 3)
    ours = weft.train("mlp", (digits.x, digits.y), test=(digits.test_x, digits.test_y), epochs=1)
    named = weft.train("mlp", "digits", limit_train=300, epochs=1)
    for one, other in zip(ours.state_dict().values(), named.state_dict().values()):
        assert_array_equal(one, other)


def write_pgm(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = pixels.shape
    path.write_bytes(f"P5 {width} {height} 255\n".encode() + pixels.tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures of two classes: a bar at the left, or at the right."""
    place = tmp_path_factory.mktemp("data") / "bars"
    rng = np.random.default_rng(6)
    for i in range(80):
        pixels = rng.integers(0, 40, (16, 16), np.uint8)
        pixels[:, 2 if i % 2 else 12] = 255
        part = "test" if i >= 64 else "train"
        write_pgm(place / part / ("right", "left")[i % 2] / f"{i}.pgm", pixels)
    return place


def test_a_folder_of_pictures(folder, tmp_path, monkeypatch, request):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = weft.data(folder)
    assert found.x.shape == (64, 16, 16) and found.test_x.shape == (16, 16, 16)
    assert found.class_names == ["left", "right"]
    model = weft.train("mlp", str(folder), seed=3, device="cpu")
    assert model.class_names == ["left", "right"] and model.info["dataset"] == "bars"
    assert model.history[-1].test_accuracy == 1
    other = request.config.getoption("--weft")  # the same bits as those of the program
    arguments = ["train", "--data", str(folder), "--model", "mlp", "--seed", "3", "--device", "cpu",
                 "--out", str(tmp_path / "run")]
    if other:
        subprocess.run([other, *arguments], check=True, capture_output=True)
    else:
        program(*arguments)
    of_program = weft.load(tmp_path / "run").state_dict()
    for name, tensor in model.state_dict().items():
        assert_array_equal(tensor, of_program[name], strict=True)
    monkeypatch.chdir(folder.parent)
    assert weft.data("bars").x.shape == (64, 16, 16)


def test_pictures_are_prepared_as_by_the_program(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = sorted((folder / "test").rglob("*.pgm"))[:3]
    colour = tmp_path / "colour"
    rng = np.random.default_rng(7)
    for i in range(40):
        pixels = rng.integers(0, 60, (12, 20, 3), np.uint8)
        pixels[..., i % 2] += 150
        path = colour / "red green".split()[i % 2] / f"{i}.ppm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P6 20 12 255\n" + pixels.tobytes())
    for data, pictures in [(folder, files), (colour, sorted(colour.rglob("*.ppm"))[18:22])]:
        model = weft.train("mlp", data, epochs=2, device="cpu")
        model.save(tmp_path / "model.safetensors")
        done = subprocess.run(
            [sys.executable, "-m", "weft", "predict", str(tmp_path / "model.safetensors"), "--device", "cpu",
             "--json", *map(str, pictures)], check=True, capture_output=True, text=True)  # fmt: skip
        for answer, line in zip(model.predict(pictures), done.stdout.splitlines(), strict=True):
            event = json.loads(line)
            assert event["label"] == answer.label
            assert abs(event["probability"] - answer.probability) < 1e-9
    whole = np.frombuffer(files[0].read_bytes()[-256:], np.uint8).reshape(16, 16)
    assert_array_equal(weft.train("mlp", folder, epochs=1, device="cpu").prepare(files[0])[0], whole)


def test_the_network_decides_on_ink_that_may_be_dark_or_light(tmp_path):
    # Strokes as wide as strokes may be beside the edge of a shadow: the gaps may be strokes as well.
    sheet = np.full((160, 160), 230, np.uint8)
    sheet[:, 64:] = 79
    for left, top, width in [(11, 37, 30), (15, 78, 46), (8, 119, 23)]:
        sheet[top : top + 10, left : left + width] = 20
    y, x = np.mgrid[:160, :160]
    sheet = (sheet * (0.85 + 0.0008 * x + 0.0004 * y)).astype(np.uint8)
    weft.picture(sheet, scale=1).save(tmp_path / "open.png")
    seen = {weft.network("lenet5", seed=seed).prepare(tmp_path / "open.png").tobytes() for seed in range(8)}
    assert len(seen) == 2


def test_places_that_are_no_data(folder, tmp_path):
    for data, words in [
        (tmp_path / "nothing", "nothing is not there, expected a folder"),
        (str(tmp_path / "nothing"), "is not there"),
        (folder / "train/left/1.pgm", "is a picture: expected a folder"),
        ("minst", "mnist.*there is no folder and no file of this name either"),
        ("", "data is empty"),
    ]:
        with pytest.raises(ValueError, match=words):
            weft.train("mlp", data)
        with pytest.raises(ValueError, match=words):
            weft.data(data)
    with pytest.raises(ValueError, match="data_dir goes with the name"):
        weft.data(folder, data_dir=tmp_path)
    with pytest.raises(ValueError, match="out is empty"):
        weft.train("mlp", epochs=1, limit_train=100, out="")
    for call in (weft.load, weft.network("mlp").save, weft.network("mlp").predict):
        with pytest.raises(ValueError, match="path is empty"):
            call("")


def test_settings_that_are_said_twice():
    small = {"data": "digits", "limit_train": 200}
    with pytest.raises(ValueError, match="lr is 0.1, and 0.2 in settings"):
        weft.train("mlp", lr=0.1, settings={"schedule": {"peak": 0.2}}, **small)
    with pytest.raises(ValueError, match="epochs is 2, and 1 in settings"):
        weft.train("mlp", epochs=2, settings={"epochs": 1}, **small)
    with pytest.raises(ValueError, match="not finite"):
        weft.train("mlp", settings={"momentum": float("nan")}, **small)
    with pytest.raises(ValueError, match="not finite"):
        weft.train("mlp", lr=float("nan"), **small)
    assert len(weft.train("mlp", epochs=1, settings={"epochs": 1}, **small).history) == 1


def test_several_callbacks():
    seen = []
    weft.train(epochs=1, limit_train=200, callbacks=[lambda e: seen.append(1), lambda e: seen.append(2)])
    assert seen == [1, 2]


def test_settings_are_those_of_the_program(trained, tmp_path):
    weft.train("mlp", epochs=1, limit_train=200, out=tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    named = {one.name for one in weft.settings()}
    for name in named:
        place = config
        for part in name.split("."):
            place = place[part]
    texts = {one.name: one.text for one in weft.settings()}
    assert len(named) > 20 and texts["momentum"] == "momentum of SGD; default 0.9"
    assert "passes over the data" in texts["epochs"] and "<table>" in weft.settings()._repr_html_()


def test_every_setting_is_a_keyword(tmp_path):
    named = inspect.signature(weft.train).parameters
    for one in weft.settings():
        assert one.keyword in named and f"{one.keyword}: {one.text}" in weft.train.__doc__
    weft.train("mlp", epochs=1, limit_train=200, lr_schedule="constant", warmup=None, ema_decay=0.5, flip=True,
               settings={"schedule": {"peak": 0.02}}, out=tmp_path / "run")  # fmt: skip
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["schedule"]["kind"] == "constant" and config["schedule"]["peak"] == 0.02
    assert config["ema_decay"] == 0.5 and config["augmentation"]["flip"] is True
    with pytest.raises(TypeError, match="unexpected keyword argument 'learning_rate'"):
        weft.train("mlp", learning_rate=0.1)


def test_a_bar_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page)

    def display(page, display_id):
        shown.append(page)
        return Handle()

    monkeypatch.setattr("weft._progress._notebook_display", lambda: display)
    weft.train(epochs=2, limit_train=300)
    assert "<progress" in shown[0]._repr_html_()
    assert shown[-1]._repr_html_().count("<tr>") == 3 and repr(shown[-1]).startswith("epoch 2")


def test_pictures(tmp_path):
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    one = weft.picture(image, scale=1)
    assert_array_equal(one.pixels, image)
    bar = np.zeros((40, 30), np.uint8)
    bar[5:35, 13:17] = 255
    weft.picture(bar, scale=1).save(tmp_path / "one.png")
    assert weft.network("lenet5").prepare(tmp_path / "one.png").shape == (1, 28, 28)
    sheet = weft.picture(np.linspace(-1, 1, 5 * 4).reshape(5, 2, 2), columns=3, scale=2)
    assert sheet.pixels.shape == (9, 14) and sheet.pixels[0, 0] == 0 and sheet.pixels[0, 4] == 128
    assert weft.picture(np.zeros((2, 3, 4, 4), np.uint8)).pixels.shape == (8, 17, 3)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        weft.picture(np.zeros(3))
