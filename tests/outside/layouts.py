#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes data sets in the layouts that people have, with drawn pictures, and asks `weft data info` what it finds.

    tests/outside/layouts.py build/cpu/weft [--only WORD] [--out tests/outside/layouts_results.csv]

Each layout has 12 training images of 3 classes and 6 test images, or 18 in all where it has no test set. A layout is right when the
numbers are found, and an honest no where the answer is one line of error that names what is there. It needs NumPy and Pillow.
"""
import argparse
import csv
import gzip
import io
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy
from PIL import Image

RNG = numpy.random.default_rng(5)
CLASSES = ("cat", "dog", "owl")


def picture(label, size=16, colour=False):
    pixels = RNG.integers(0, 60, (size, size, 3) if colour else (size, size), numpy.uint8)
    pixels[:, size // 4 * label + 1:size // 4 * label + 3] += 150
    pixels[[0, -1]] = 0
    pixels[:, [0, -1]] = 0
    return pixels


def save(path, label, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(label, **options)).save(path)


def folders(root, train="train", test="test", ending="png", names=CLASSES, inside="", colour=False, valid=""):
    for part, count in ((train, 12), (test, 6), (valid, 6)):
        for i in range(count if part else 0):
            save(root / part / names[i % 3] / inside / f"{i}.{ending}", i % 3, colour=colour)


def arrays(count, size=16, first=0):
    labels = numpy.arange(count) % 3 + first
    return numpy.stack([picture(int(label - first), size) for label in labels]), labels


def write_csv(path, rows, header=None, delimiter=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows(([header] if header else []) + rows)


def pixel_rows(count, label_last=False, labelled=True, scale=1, size=16):
    x, y = arrays(count, size)
    rows = []
    for image, label in zip(x.reshape(count, -1), y):
        values = [round(v / scale, 4) if scale > 1 else int(v) for v in image]
        rows.append(values + [label] if label_last else [label] + values if labelled else values)
    return rows


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(numpy.uint8).tobytes()


def mnist(root, names, compress=False, size=28):
    root.mkdir(parents=True, exist_ok=True)
    for (images, labels), count in zip(names, (12, 6)):
        x, y = arrays(count, size)
        for name, array in ((images, x), (labels, y)):
            (root / name).write_bytes(gzip.compress(idx(array)) if compress else idx(array))


PLAIN = [("train-images-idx3-ubyte", "train-labels-idx1-ubyte"), ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")]
GZ = [tuple(name + ".gz" for name in pair) for pair in PLAIN]
DOTS = [tuple(name.replace("-idx", ".idx") for name in pair) for pair in PLAIN]
LAYOUTS = {}


def layout(name, train=12, test=6, classes=3, honest=False):
    """honest: nothing is read of it, and the answer says what it is."""
    def kept(build):
        LAYOUTS[name] = (build, None if honest else (train, test, classes))
        return build
    return kept


def folder_layout(name, **options):
    layout(name)(lambda root: folders(root, **options))


folder_layout("torchvision ImageFolder: train, test")
folder_layout("ImageNet: train, val", test="val")
folder_layout("fastai: train, valid", test="valid")
folder_layout("Keras: train, validation", test="validation")
folder_layout("training, testing", train="training", test="testing")
folder_layout("Kaggle: Train, Test", train="Train", test="Test")
folder_layout("Kaggle: trainingSet, testSet", train="trainingSet", test="testSet")
folder_layout("Roboflow: train, valid, test", valid="valid")
layout("classes alone, JPEG", 15, 3)(lambda root: folders(root, train="", test="", ending="jpg") or [
    save(root / CLASSES[i % 3] / f"{i}.jpg", i % 3) for i in range(18)])
layout("pictures of a class in a folder below (Tiny ImageNet's train)")(lambda root: folders(root, inside="images", ending="JPEG"))
layout("sets with colour pictures")(lambda root: folders(root, colour=True, ending="jpg"))


@layout("flower_photos: classes one folder down beside a licence", 15, 3)
def _(root):
    for i in range(18):
        save(root / "flower_photos" / CLASSES[i % 3] / f"{i}.jpg", i % 3, colour=True)
    (root / "flower_photos" / "LICENSE.txt").write_text("free")


@layout("cats_and_dogs_filtered: train, validation and a script")
def _(root):
    folders(root / "cats_and_dogs_filtered", test="validation", ending="jpg", colour=True)
    (root / "cats_and_dogs_filtered" / "vectorize.py").write_text("pass")


@layout("a folder from a Mac: .DS_Store and __MACOSX")
def _(root):
    folders(root / "set")
    for place in (root / "set", root / "set" / "train"):
        (place / ".DS_Store").write_bytes(b"\0")
    (root / "__MACOSX" / "set").mkdir(parents=True)
    (root / "__MACOSX" / "set" / "._train").write_bytes(b"\0")


@layout("a zip from a Mac")
def _(root):
    folders(root / "in")
    with zipfile.ZipFile(root / "set.zip", "w") as out:
        for path in sorted((root / "in").rglob("*.png")):
            name = path.relative_to(root / "in")
            out.write(path, pathlib.Path("set", name))
            out.writestr(f"__MACOSX/set/{name.parent}/._{name.name}", b"\0")
    return root / "set.zip"


@layout("a tar.gz of classes", 15, 3)
def _(root):
    for i in range(18):
        save(root / "in" / CLASSES[i % 3] / f"{i}.jpg", i % 3)
    with tarfile.open(root / "set.tgz", "w:gz") as out:
        out.add(root / "in", "set")
    return root / "set.tgz"


@layout("Kaggle dog breeds: train/, test/ and labels.csv", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "train" / f"ab{i}.jpg", i % 3, colour=True)
        rows.append([f"ab{i}", CLASSES[i % 3]])
    for i in range(4):
        save(root / "test" / f"cd{i}.jpg", 0, colour=True)
    write_csv(root / "labels.csv", rows, ["id", "breed"])
    write_csv(root / "sample_submission.csv", [["cd0", 0.3, 0.3, 0.3]], ["id", *CLASSES])


@layout("train.csv and test.csv with paths, train/ and test/")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        rows = []
        for i in range(count):
            save(root / part / f"{i}.png", i % 3)
            rows.append([f"{part}/{i}.png", CLASSES[i % 3]])
        write_csv(root / f"{part}.csv", rows, ["image", "label"])


@layout("Imagewoof: a table with is_valid beside folders")
def _(root):
    folders(root, test="val")
    rows = [[f"{part}/{CLASSES[i % 3]}/{i}.png", CLASSES[i % 3], part == "val"]
            for part, count in (("train", 12), ("val", 6)) for i in range(count)]
    write_csv(root / "noisy.csv", rows, ["path", "noisy_labels_0", "is_valid"])


@layout("fastai mnist_sample: train, valid and labels.csv")
def _(root):
    folders(root, test="valid", names=("3", "7", "9"))
    write_csv(root / "labels.csv", [[f"train/3/{i}.png", 3] for i in (0, 3)], ["name", "label"])


@layout("GTSRB of Kaggle: Train/CLASS, Test/ with Test.csv, Meta")
def _(root):
    folders(root, train="Train", test="", names=("0", "1", "2"), colour=True)
    rows = []
    for i in range(6):
        save(root / "Test" / f"0000{i}.png", i % 3, colour=True)
        rows.append([16, 16, 1, 1, 15, 15, i % 3, f"Test/0000{i}.png"])
    header = ["Width", "Height", "Roi.X1", "Roi.Y1", "Roi.X2", "Roi.Y2", "ClassId", "Path"]
    write_csv(root / "Test.csv", rows, header)
    write_csv(root / "Train.csv", [[16, 16, 1, 1, 15, 15, i % 3, f"Train/{i % 3}/{i}.png"] for i in range(12)], header)
    for i in range(3):
        save(root / "Meta" / f"{i}.png", i, colour=True)
    write_csv(root / "Meta.csv", [[f"Meta/{i}.png", i, 0, 0, 0] for i in range(3)], ["Path", "ClassId", "ShapeId", "ColorId", "SignId"])


@layout("GTSRB of its authors: folders with a table each", 15, 3)
def _(root):
    for label in range(3):
        place = root / "Final_Training" / "Images" / f"0000{label}"
        rows = []
        for i in range(6):
            save(place / f"00000_0000{i}.ppm", label, colour=True)
            rows.append([f"00000_0000{i}.ppm", 16, 16, 1, 1, 15, 15, label])
        write_csv(place / f"GT-0000{label}.csv", rows, ["Filename", "Width", "Height", "Roi.X1", "Roi.Y1", "Roi.X2", "Roi.Y2", "ClassId"], ";")


@layout("CUB-200: images/001.Name/ and lists", 15, 3)
def _(root):
    for i in range(18):
        save(root / "images" / f"00{i % 3 + 1}.{CLASSES[i % 3]}" / f"{i}.jpg", i % 3, colour=True)
    for name in ("images", "classes", "train_test_split"):
        (root / f"{name}.txt").write_text("1 x\n")


@layout("Caltech 101: 101_ObjectCategories and Annotations", 15, 3)
def _(root):
    for i in range(18):
        save(root / "101_ObjectCategories" / CLASSES[i % 3] / f"image_{i}.jpg", i % 3, colour=True)


@layout("Tiny ImageNet: val/images with val_annotations.txt")
def _(root):
    folders(root, test="", inside="images", ending="JPEG", colour=True)
    lines = []
    for i in range(6):
        save(root / "val" / "images" / f"val_{i}.JPEG", i % 3, colour=True)
        lines.append(f"val_{i}.JPEG\t{CLASSES[i % 3]}\t0\t0\t15\t15\n")
    (root / "val" / "val_annotations.txt").write_text("".join(lines))
    (root / "wnids.txt").write_text("\n".join(CLASSES))


@layout("HASY: which of two columns is the label?", honest=True)
def _(root):
    rows = []
    for i in range(18):
        save(root / "hasy-data" / f"v2-{i}.png", i % 3)
        rows.append([f"hasy-data/v2-{i}.png", i % 3, CLASSES[i % 3], 7])
    write_csv(root / "hasy-data-labels.csv", rows, ["path", "symbol_id", "latex", "user_id"])


@layout("labels.txt of names and labels", 15, 3)
def _(root):
    lines = []
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
        lines.append(f"images/{i}.png {i % 3}\n")
    (root / "labels.txt").write_text("".join(lines))


@layout("labels.json", 15, 3)
def _(root):
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
    (root / "labels.json").write_text(json.dumps({f"images/{i}.png": i % 3 for i in range(18)}))


layout("MNIST's four files")(lambda root: mnist(root, PLAIN))
layout("MNIST's four files, compressed")(lambda root: mnist(root, GZ, True))
layout("MNIST's four files with dots")(lambda root: mnist(root, DOTS))
layout("torchvision: MNIST/raw")(lambda root: mnist(root / "MNIST" / "raw", PLAIN))
layout("torchvision: FashionMNIST/raw, compressed")(lambda root: mnist(root / "FashionMNIST" / "raw", GZ, True))
layout("EMNIST: emnist-letters-*")(lambda root: mnist(root, [
    tuple("emnist-letters-" + name.replace("t10k", "test") for name in pair) for pair in PLAIN]))


@layout("QMNIST: labels of eight numbers")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        x, y = arrays(count, 28)
        wide = numpy.zeros((count, 8), ">i4")
        wide[:, 0] = y
        (root / f"qmnist-{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(x)))
        head = struct.pack(">HBBII", 0, 12, 2, count, 8)
        (root / f"qmnist-{part}-labels-idx2-int.gz").write_bytes(gzip.compress(head + wide.tobytes()))


@layout("KMNIST: kmnist-train-imgs.npz")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        for name, array in zip(("imgs", "labels"), arrays(count, 28)):
            numpy.savez_compressed(root / f"kmnist-{part}-{name}.npz", array.astype(numpy.uint8))


@layout("mnist.npz of Keras")
def _(root):
    (x, y), (tx, ty) = arrays(12), arrays(6)
    numpy.savez(root / "mnist.npz", x_train=x, y_train=y, x_test=tx, y_test=ty)
    return root / "mnist.npz"


@layout("MedMNIST: train_images and so on")
def _(root):
    values = {}
    for part, count in (("train", 12), ("val", 3), ("test", 6)):
        values[f"{part}_images"], labels = arrays(count)
        values[f"{part}_labels"] = labels[:, None]
    numpy.savez(root / "bloodmnist.npz", **values)
    return root / "bloodmnist.npz"


@layout("images and labels in one .npz", 15, 3)
def _(root):
    x, y = arrays(18)
    numpy.savez(root / "data.npz", images=x, labels=y)
    return root / "data.npz"


@layout("X_train.npy and y_train.npy")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        x, y = arrays(count)
        numpy.save(root / f"X_{part}.npy", x / 255.0)
        numpy.save(root / f"y_{part}.npy", numpy.eye(3)[y])


@layout("notMNIST of a course: a pickle")
def _(root):
    (x, y), (tx, ty) = arrays(12), arrays(6)
    with open(root / "notMNIST.pickle", "wb") as file:
        pickle.dump({"train_dataset": x / 255 - 0.5, "train_labels": y, "test_dataset": tx / 255 - 0.5, "test_labels": ty}, file)
    return root / "notMNIST.pickle"


@layout("mnist.pkl.gz")
def _(root):
    sets = [(x.reshape(len(x), -1).astype(numpy.float32) / 255, y) for x, y in (arrays(12), arrays(3), arrays(6))]
    (root / "mnist.pkl.gz").write_bytes(gzip.compress(pickle.dumps(tuple(sets), 2)))
    return root / "mnist.pkl.gz"


def cifar(root, names, coarse):
    for name, count in names:
        x = numpy.stack([picture(i % 3, 32, True).transpose(2, 0, 1) for i in range(count)])
        heads = [bytes([0, i % 3]) if coarse else bytes([i % 3]) for i in range(count)]
        (root / name).write_bytes(b"".join(head + image.tobytes() for head, image in zip(heads, x)))


@layout("CIFAR-10, binary", classes=10)
def _(root):
    cifar(root, [*((f"data_batch_{i}.bin", n) for i, n in ((1, 4), (2, 2), (3, 2), (4, 2), (5, 2))), ("test_batch.bin", 6)], False)
    (root / "batches.meta.txt").write_text("\n".join("abcdefghij") + "\n")


@layout("CIFAR-10, Python", classes=10)
def _(root):
    place = root / "cifar-10-batches-py"
    place.mkdir()
    for name, count in [*((f"data_batch_{i}", n) for i, n in ((1, 4), (2, 2), (3, 2), (4, 2), (5, 2))), ("test_batch", 6)]:
        x = numpy.stack([picture(i % 3, 32, True).transpose(2, 0, 1).reshape(-1) for i in range(count)])
        (place / name).write_bytes(pickle.dumps({b"data": x, b"labels": [i % 3 for i in range(count)]}, 2))
    (place / "batches.meta").write_bytes(pickle.dumps({b"label_names": [c.encode() for c in "abcdefghij"]}, 2))


@layout("CIFAR-100, Python", classes=100)
def _(root):
    for name, count in (("train", 12), ("test", 6)):
        x = numpy.stack([picture(i % 3, 32, True).transpose(2, 0, 1).reshape(-1) for i in range(count)])
        values = {b"data": x, b"fine_labels": [i % 3 for i in range(count)], b"coarse_labels": [0] * count}
        (root / name).write_bytes(pickle.dumps(values, 2))
    names = {b"fine_label_names": [f"f{i}".encode() for i in range(100)], b"coarse_label_names": [b"x"] * 20}
    (root / "meta").write_bytes(pickle.dumps(names, 2))


@layout("STL-10, binary", honest=True)
def _(root):
    (root / "train_X.bin").write_bytes(bytes(96 * 96 * 3 * 2))
    (root / "train_y.bin").write_bytes(bytes([1, 2]))


@layout("SVHN: MATLAB files", honest=True)
def _(root):
    (root / "train_32x32.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))


layout("MNIST as CSV, label first, no header")(lambda root: [
    write_csv(root / f"mnist_{part}.csv", pixel_rows(count)) for part, count in (("train", 12), ("test", 6))])
layout("Kaggle's digits: train.csv, and test.csv without labels", 15, 3)(lambda root: [
    write_csv(root / "train.csv", pixel_rows(18), ["label", *(f"pixel{i}" for i in range(256))]),
    write_csv(root / "test.csv", pixel_rows(5, labelled=False), [f"pixel{i}" for i in range(256)])])


@layout("sign_mnist: each table also in a folder of its name, and a picture")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        name = f"sign_mnist_{part}"
        for path in (root / f"{name}.csv", root / name / f"{name}.csv"):
            write_csv(path, pixel_rows(count), ["label", *(f"pixel{i}" for i in range(256))])
    save(root / "amer_sign2.png", 0, size=200)


layout("OpenML: label last, 1x1 to 28x28", 15, 3)(lambda root: [
    write_csv(root / "mnist_784.csv", pixel_rows(18, True, size=28), [*(f"pixel{i}" for i in range(784)), "class"])])
layout("scikit-learn's digits saved by NumPy", 15, 3)(lambda root: numpy.savetxt(
    root / "digits.csv", numpy.array(pixel_rows(18, True, scale=16, size=8)), delimiter=",") and None)
layout("A_Z Handwritten Data.csv: label 0 first, header of numbers", 15, 3)(lambda root: [
    write_csv(root / "A_Z Handwritten Data.csv", pixel_rows(18), [str(i) for i in range(257)])])
layout("tabs and floats from 0 to 1", 15, 3)(lambda root: [
    write_csv(root / "data.tsv", pixel_rows(18, scale=255), ["label", *(f"p{i}" for i in range(256))], "\t")])


@layout("FER2013: pixels in one column, a column Usage", test=9)
def _(root):
    rows = []
    for part, count in (("Training", 12), ("PublicTest", 3), ("PrivateTest", 6)):
        rows += [[row[0], " ".join(map(str, row[1:])), part] for row in pixel_rows(count, size=48)]
    write_csv(root / "fer2013.csv", rows, ["emotion", "pixels", "Usage"])


@layout("Dogs vs. Cats: train/cat.0.jpg", honest=True)
def _(root):
    for i in range(18):
        save(root / "train" / f"{CLASSES[i % 3]}.{i}.jpg", i % 3, colour=True)


@layout("Oxford pets: images/great_pyrenees_1.jpg", honest=True)
def _(root):
    for i in range(18):
        save(root / "images" / f"{CLASSES[i % 3]}_{i}.jpg", i % 3, colour=True)


@layout("WebDataset: 000.jpg and 000.cls in a tar", 15, 3)
def _(root):
    with tarfile.open(root / "shard-0.tar", "w") as out:
        for i in range(18):
            buffer = io.BytesIO()
            Image.fromarray(picture(i % 3, colour=True)).save(buffer, "JPEG")
            for ending, content in (("jpg", buffer.getvalue()), ("cls", str(i % 3).encode())):
                member = tarfile.TarInfo(f"{i:03}.{ending}")
                member.size = len(content)
                out.addfile(member, io.BytesIO(content))
    return root / "shard-0.tar"


@layout("libsvm: usps.bz2", honest=True)
def _(root):
    import bz2
    (root / "usps.bz2").write_bytes(bz2.compress(b"1 1:0.5 2:-1\n2 1:0.2 2:1\n"))


@layout("HDF5", honest=True)
def _(root):
    (root / "usps.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))


@layout("Parquet on the command line", honest=True)
def _(root):
    (root / "train-00000-of-00001.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")


def judge(weft, root, build, expected):
    place = build(root)
    place = place if isinstance(place, pathlib.Path) else root
    done = subprocess.run([weft, "data", "info", "--data", str(place), "--json"], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(root.parent / "cache")})
    said = done.stderr.strip().splitlines()
    if done.returncode != 0:
        text = said[-1].replace(str(place), "DATA") if said else "nothing said"
        clear = done.returncode in (2, 3) and " error: " in said[-1] and sum(" error: " in line for line in said) == 1
        return ("an honest no" if expected is None and clear else "refused"), text
    found = json.loads(done.stdout.splitlines()[-1])
    counts = (found["train_images"] + (0 if found["test_images"] else found["validation_images"]), found["test_images"],
              len(found["classes"]))
    return ("right" if counts == expected else "WRONG"), "{} training and {} test images of {} classes".format(*counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    for name, (build, expected) in LAYOUTS.items():
        if options.only in name:
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder, "data")
                root.mkdir()
                rows.append((name, *judge(options.weft, root, build, expected)))
                print(f"{rows[-1][1]:13} {name}: {rows[-1][2]}", flush=True)
    if options.out:
        with open(options.out, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("layout", "result", "what was found or said"), *rows])
    return 0 if all(result in ("right", "an honest no") for _, result, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
