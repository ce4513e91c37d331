#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files beside it, with NumPy and as zip and tar programs do: python3 make.py FOLDER."""
import gzip
import io
import pathlib
import pickle
import sys
import tarfile
import zipfile

import numpy

folder = pathlib.Path(sys.argv[1])
images, labels = numpy.arange(24, dtype=numpy.uint8).reshape(6, 2, 2), numpy.array([0, 1, 2] * 2)
numpy.savez_compressed(folder / "keras.npz", x_train=images, y_train=labels, x_test=images[:2], y_test=labels[:2])
numpy.savez(folder / "xy.npz", x=images, y=labels)
rows = "".join(f"{label},0,{label},2,3\n" for label in range(3))
files = {"archive/a_train.csv": rows, "archive/a_test.csv": rows, "__MACOSX/archive/._a_test.csv": "\0\5\26\7",
         "archive/readme.md": "no table"}
with zipfile.ZipFile(folder / "tables.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, text in files.items():
        archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
with tarfile.open(folder / "tables.tar.gz", "w:gz") as archive:
    for name, text in files.items():
        member = tarfile.TarInfo(name)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode("latin-1")))


def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


# The layout of deeplearning.net's mnist.pkl.gz, of traffic-signs' train.p, and of CIFAR's Python version.
floats = (images.reshape(6, 4) / 23).astype(numpy.float32)
sets = ((floats, labels), (floats[:3], labels[:3]), (floats[:3], labels[:3]))
(folder / "mnist.pkl.gz").write_bytes(gzip.compress(pickle.dumps(sets, protocol=2), mtime=0))
signs = {"coords": numpy.zeros((6, 4)), "labels": labels, "features": images, "sizes": numpy.ones((6, 2))}
(folder / "signs.p").write_bytes(pickle.dumps(signs))
with tarfile.open(folder / "cifar-10-python.tar.gz", "w:gz") as archive:
    names = [f"class {i}" for i in range(10)]
    add(archive, "cifar-10-batches-py/batches.meta", pickle.dumps({"label_names": names}, protocol=2))
    for i, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
        pixels = numpy.repeat(numpy.array([[10 * i, 1, 2]], numpy.uint8), 1024, axis=1).repeat(2, axis=0)
        batch = {b"batch_label": b"a batch", b"labels": [i, 9 - i], b"data": pixels, b"filenames": [b"a.png", b"b.png"]}
        add(archive, f"cifar-10-batches-py/{name}", pickle.dumps(batch, protocol=2))
    add(archive, "cifar-10-batches-py/readme.html", b"<html>")

# What numpy.save and pickle.dump make of words and of Python's objects.
words = numpy.array(["cat", "dog", "owl"])
numpy.save(folder / "dict.npy", {"images": images, "labels": list(words[labels])}, allow_pickle=True)
numpy.savez(folder / "objects.npz", x=images, y=words[labels].astype(object))
numpy.savez(folder / "names.npz", x=images, y=labels, classes=words)
pairs = list(zip(images, words[labels].tolist()))
dicts = [{"label": label, "image": image} for image, label in zip(images, labels)]
(folder / "pairs.pkl").write_bytes(pickle.dumps((pairs, pairs[:3])))
(folder / "pair_dicts.pkl").write_bytes(pickle.dumps(dicts))
(folder / "words.pkl").write_bytes(pickle.dumps({"data": images, "target": words[labels]}))
