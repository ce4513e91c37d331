# SPDX-License-Identifier: MIT
"""Parquet files of images: as Hugging Face writes them, with arrays, and as a table of numbers."""

import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import weft

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weft"


@pytest.fixture
def pictures(rng):
    return rng.integers(0, 256, (60, 12, 12), np.uint8)


LABELS = [i % 3 for i in range(60)]


def picture(pixels):
    """A picture as Hugging Face stores one."""
    return {"bytes": b"P5 12 12 255\n" + pixels.tobytes(), "path": None}


def write_hugging_face(path, pictures, labels, names=("ten", "two", "zero/one")):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table({"image": [picture(one) for one in pictures], "label": labels})
    features = {"image": {"_type": "Image"}, "label": {"names": list(names), "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), path)


def assert_sets(found, pictures, names=None):
    """Are the first 50 pictures the training set, in any order, each with its label?"""
    assert names is None or found.class_names == names
    for x, y, first, last in ((found.x, found.y, 0, 50), (found.test_x, found.test_y, 50, 60)):
        expected = {pictures[i].tobytes(): LABELS[i] for i in range(first, last)}
        assert {image.tobytes(): label for image, label in zip(x, y, strict=True)} == expected


def test_files_of_hugging_face(tmp_path, pictures, cache):
    folder = tmp_path / "things" / "data"
    write_hugging_face(folder / "train-00000-of-00002.parquet", pictures[:30], LABELS[:30])
    write_hugging_face(folder / "train-00001-of-00002.parquet", pictures[30:50], LABELS[30:50])
    write_hugging_face(folder / "test-00000-of-00001.parquet", pictures[50:], LABELS[50:])
    for _ in range(2):  # the second time from the cache
        assert_sets(weft.data(tmp_path / "things"), pictures, ["ten", "two", "zero_one"])
    assert len(list(cache.glob("parquet-*/things.zip"))) == 1 and not list(cache.glob("*.part"))
    model = weft.train("mlp", str(folder / "train-00000-of-00002.parquet"), epochs=1, device="cpu")
    assert model.class_names == ["ten", "two", "zero_one"]


def test_an_empty_name_is_not_the_working_directory(tmp_path, pictures, monkeypatch):
    write_hugging_face(tmp_path / "train.parquet", pictures, LABELS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="data is empty"):
        weft.data("")
    assert len(weft.data(".").x) > 0


def test_arrays_in_columns(tmp_path, pictures):
    for name, first, last in (("train-0", 0, 20), ("train-1", 20, 50), ("test", 50, 60)):
        columns = {"image": pictures[first:last].tolist(), "label": LABELS[first:last]}
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    assert_sets(weft.data(tmp_path), pictures, ["0", "1", "2"])


def test_a_table_of_numbers(tmp_path, pictures):
    for name, first, last in (("train", 0, 50), ("test", 50, 60)):
        columns = {"label": LABELS[first:last]}
        columns |= {f"pixel{i}": pictures[first:last].reshape(-1, 144)[:, i] for i in range(144)}
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    assert_sets(weft.data(tmp_path), pictures, ["0", "1", "2"])


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"image": [picture(np.zeros(144, np.uint8))], "kind": [1]}, "no column is called label"),
        ({"image": [{"bytes": None, "path": "x.png"}], "label": [1]}, "row 0 has no picture"),
        ({"image": [picture(np.zeros(144, np.uint8))], "label": pyarrow.array([None], "int64")}, "no label"),
    ],
)
def test_what_is_refused(tmp_path, columns, words):
    path = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(weft.DataError, match=words):
        weft.data(path)


def test_a_damaged_file(tmp_path, cache):
    path = tmp_path / "train.parquet"
    path.write_bytes(b"PAR1 and nothing more PAR1")
    with pytest.raises(weft.DataError, match="train.parquet: "):
        weft.data(path)
    assert not list(cache.iterdir())


def test_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "train.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(weft.UsageError, match="which pyarrow reads: pip install pyarrow"):
        weft.data(path)


def test_a_folder_named_as_a_data_set(tmp_path, monkeypatch, pictures):
    write_hugging_face(tmp_path / "digits" / "train.parquet", pictures, LABELS)
    monkeypatch.chdir(tmp_path)
    assert weft.data("digits", limit=20).x.shape == (20, 28, 28), "a name comes first"
    assert_array_equal(weft.data("./digits").x.shape[1:], (12, 12))
