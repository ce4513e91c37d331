#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Further layouts as public repositories and competitions have them; layouts.py tells how they are judged.

    tests/outside/more_layouts.py build/cpu/weft [--only WORD] [--out tests/outside/more_layouts_results.csv]
"""
import gzip
import io
import json
import pickle
import struct
import sys
import tarfile
import zipfile

import numpy
from PIL import Image

import layouts
from layouts import CLASSES, arrays, folders, idx, layout, picture, pixel_rows, save, write_csv

layouts.LAYOUTS.clear()


@layout("Food-101: images/CLASS, and lists in meta/")
def _(root):
    for i in range(18):
        save(root / "food-101" / "images" / CLASSES[i % 3] / f"{1000 + i}.jpg", i % 3, colour=True)
    meta = root / "food-101" / "meta"
    meta.mkdir()
    for part, numbers in (("train", range(12)), ("test", range(12, 18))):
        (meta / f"{part}.txt").write_text("".join(f"{CLASSES[i % 3]}/{1000 + i}\n" for i in numbers))
    (meta / "classes.txt").write_text("\n".join(CLASSES))


@layout("Stanford Dogs: Images/CLASS beside Annotation/CLASS", 15, 3)
def _(root):
    for i in range(18):
        save(root / "Images" / f"n0{i % 3}-{CLASSES[i % 3]}" / f"n_{i}.jpg", i % 3, colour=True)
        place = root / "Annotation" / f"n0{i % 3}-{CLASSES[i % 3]}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"n_{i}").write_text("<annotation/>")


@layout("ImageNet of Kaggle: ILSVRC/Data/CLS-LOC/train", 15, 3)
def _(root):
    place = root / "ILSVRC"
    for i in range(18):
        save(place / "Data" / "CLS-LOC" / "train" / f"n0000{i % 3}" / f"{i}.JPEG", i % 3, colour=True)
    for other in ("Annotations", "ImageSets"):
        (place / other / "CLS-LOC").mkdir(parents=True)
        (place / other / "CLS-LOC" / "train.txt").write_text("x 1\n")
    write_csv(root / "LOC_sample_submission.csv", [["a", "b"]], ["ImageId", "PredictionString"])


@layout("chest_xray: sets, and the same folder once more inside, beside __MACOSX")
def _(root):
    for place in (root / "chest_xray", root / "chest_xray" / "chest_xray"):
        folders(place, test="test", ending="jpeg")
    (root / "chest_xray" / "__MACOSX").mkdir()


@layout("malaria cells: the folder of classes once more among the classes", 15, 3)
def _(root):
    for i in range(18):
        for place in (root / "cell_images", root / "cell_images" / "cell_images"):
            save(place / CLASSES[i % 3] / f"{i}.png", i % 3, colour=True)


@layout("PlantVillage: color/, grayscale/ and segmented/ of the same classes", honest=True)
def _(root):
    for i in range(18):
        for kind in ("color", "grayscale", "segmented"):
            save(root / "plantvillage dataset" / kind / CLASSES[i % 3] / f"{i}.jpg", i % 3, colour=kind != "grayscale")


@layout("COVID radiography: CLASS/images and CLASS/masks", 15, 3)
def _(root):
    for i in range(18):
        for kind in ("images", "masks"):
            save(root / CLASSES[i % 3] / kind / f"{i}.png", i % 3)


@layout("segmentation: images/ and masks/ of the same names", honest=True)
def _(root):
    for i in range(18):
        for kind in ("images", "masks"):
            save(root / kind / f"{i}.png", i % 3)


@layout("YOLO: images/train and labels/train", honest=True)
def _(root):
    for part, count in (("train", 12), ("val", 6)):
        (root / "labels" / part).mkdir(parents=True)
        for i in range(count):
            save(root / "images" / part / f"{i}.jpg", i % 3)
            (root / "labels" / part / f"{i}.txt").write_text("0 0.5 0.5 1 1\n")


@layout("cross-validation: fold1/CLASS, fold2/CLASS, fold3/CLASS", honest=True)
def _(root):
    for i in range(18):
        save(root / f"fold{i // 6 + 1}" / CLASSES[i % 3] / f"{i}.png", i % 3)


@layout("PetImages beside a readme and Thumbs.db", 15, 3)
def _(root):
    for i in range(18):
        save(root / "PetImages" / CLASSES[i % 3] / f"{i}.jpg", i % 3, colour=True)
    (root / "PetImages" / "cat" / "Thumbs.db").write_bytes(b"\0")
    (root / "readme[1].txt").write_text("x")


@layout("Roboflow: train/, valid/, test/ with _classes.csv of one-hot columns")
def _(root):
    for part, count in (("train", 12), ("valid", 3), ("test", 6)):
        rows = []
        for i in range(count):
            save(root / part / f"{part}{i}_jpg.rf.0a.jpg", i % 3, colour=True)
            rows.append([f"{part}{i}_jpg.rf.0a.jpg", *(int(c == i % 3) for c in range(3))])
        write_csv(root / part / "_classes.csv", rows, ["filename", *(" " + c for c in CLASSES)])


@layout("ISIC 2018: a table with a column of 1.0 or 0.0 for each class", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "ISIC2018_Task3_Training_Input" / f"ISIC_00{i}.jpg", i % 3, colour=True)
        rows.append([f"ISIC_00{i}", *(float(c == i % 3) for c in range(3))])
    write_csv(root / "ISIC2018_Task3_Training_GroundTruth.csv", rows, ["image", "MEL", "NV", "BCC"])


@layout("HAM10000: two folders of pictures, a table with many columns", honest=True)
def _(root):
    rows = []
    for i in range(18):
        save(root / f"HAM10000_images_part_{i % 2 + 1}" / f"ISIC_00{i}.jpg", i % 3, colour=True)
        rows.append([f"HAM_{i}", f"ISIC_00{i}", CLASSES[i % 3], "histo", 80.0, "male", "scalp"])
    write_csv(root / "HAM10000_metadata.csv", rows, ["lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization"])


@layout("HAM10000: hmnist_8_8_RGB.csv", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        rows.append([*map(int, picture(i % 3, 8, True).reshape(-1)), i % 3])
    write_csv(root / "hmnist_8_8_RGB.csv", rows, [*(f"pixel{i:04}" for i in range(192)), "label"])
    return root / "hmnist_8_8_RGB.csv"


@layout("APTOS: train.csv with id_code and diagnosis, train_images/, test_images/", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "train_images" / f"{i:04x}.png", i % 3, colour=True)
        rows.append([f"{i:04x}", i % 3])
    for i in range(4):
        save(root / "test_images" / f"t{i}.png", 0, colour=True)
    write_csv(root / "train.csv", rows, ["id_code", "diagnosis"])
    write_csv(root / "test.csv", [[f"t{i}"] for i in range(4)], ["id_code"])
    write_csv(root / "sample_submission.csv", [[f"t{i}", 0] for i in range(4)], ["id_code", "diagnosis"])


@layout("Cassava: train.csv, train_images/, a map of labels in JSON", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "train_images" / f"{i}.jpg", i % 3, colour=True)
        rows.append([f"{i}.jpg", i % 3])
    write_csv(root / "train.csv", rows, ["image_id", "label"])
    (root / "label_num_to_disease_map.json").write_text(json.dumps({str(i): c for i, c in enumerate(CLASSES)}))


@layout("Hugging Face ImageFolder: metadata.csv in train/ and test/")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        rows = []
        for i in range(count):
            save(root / part / f"{i:04}.png", i % 3)
            rows.append([f"{i:04}.png", CLASSES[i % 3]])
        write_csv(root / part / "metadata.csv", rows, ["file_name", "label"])


@layout("Hugging Face ImageFolder: metadata.jsonl in train/ and test/")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        lines = []
        for i in range(count):
            save(root / part / f"{i:04}.png", i % 3)
            lines.append(json.dumps({"file_name": f"{i:04}.png", "label": CLASSES[i % 3]}) + "\n")
        (root / part / "metadata.jsonl").write_text("".join(lines))


@layout("labels.json: an object of names and labels", 15, 3)
def _(root):
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
    (root / "labels.json").write_text(json.dumps({f"{i}.png": CLASSES[i % 3] for i in range(18)}))


@layout("Oxford pets: images/ and annotations/trainval.txt of three numbers", honest=True)
def _(root):
    (root / "annotations").mkdir()
    for part, numbers in (("trainval", range(12)), ("test", range(12, 18))):
        lines = []
        for i in numbers:
            save(root / "images" / f"{CLASSES[i % 3]}_{i}.jpg", i % 3, colour=True)
            lines.append(f"{CLASSES[i % 3]}_{i} {i % 3 + 1} 1 1\n")
        (root / "annotations" / f"{part}.txt").write_text("".join(lines))


@layout("Flowers 102: jpg/ beside imagelabels.mat", honest=True)
def _(root):
    for i in range(18):
        save(root / "jpg" / f"image_{i:05}.jpg", i % 3, colour=True)
    (root / "imagelabels.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))


@layout("CUB-200: images/CLASS, images.txt and train_test_split.txt")
def _(root):
    place = root / "CUB_200_2011"
    names, labels, split = [], [], []
    for i in range(18):
        name = f"00{i % 3 + 1}.{CLASSES[i % 3]}/{CLASSES[i % 3]}_{i:04}.jpg"
        save(place / "images" / name, i % 3, colour=True)
        names.append(f"{i + 1} {name}\n")
        labels.append(f"{i + 1} {i % 3 + 1}\n")
        split.append(f"{i + 1} {int(i < 12)}\n")
    for name, lines in (("images", names), ("image_class_labels", labels), ("train_test_split", split), ("classes", ["1 001.cat\n"])):
        (place / f"{name}.txt").write_text("".join(lines))
    (place / "attributes").mkdir()
    (place / "attributes" / "certainties.txt").write_text("1 not visible\n")


@layout("StyleGAN: dataset.json with a list of pairs", 15, 3)
def _(root):
    pairs = []
    for i in range(18):
        save(root / f"0000{i % 2}" / f"img{i:08}.png", i % 3, colour=True)
        pairs.append([f"0000{i % 2}/img{i:08}.png", i % 3])
    (root / "dataset.json").write_text(json.dumps({"labels": pairs}))


@layout("COCO: instances in JSON, boxes and no classes of pictures", honest=True)
def _(root):
    images, boxes = [], []
    for i in range(18):
        save(root / "images" / f"{i}.jpg", i % 3, colour=True)
        images.append({"id": i, "file_name": f"{i}.jpg"})
        boxes.append({"image_id": i, "category_id": i % 3, "bbox": [0, 0, 4, 4]})
    (root / "annotations.json").write_text(json.dumps({"images": images, "annotations": boxes}))


@layout("lists with absolute paths of another machine", 15, 3)
def _(root):
    lines = []
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
        lines.append(f"/home/someone/project/images/{i}.png {i % 3}\n")
    (root / "train_list.txt").write_text("".join(lines))


@layout("a table with paths of Windows and the row numbers of pandas", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
        rows.append([i, f"C:\\data\\images\\{i}.png", CLASSES[i % 3]])
    write_csv(root / "dataset.csv", rows, ["", "filepath", "labels"])


@layout("class_id and class_name, the same partition", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "images" / f"{i}.png", i % 3)
        rows.append([f"{i}.png", i % 3, CLASSES[i % 3]])
    write_csv(root / "labels.csv", rows, ["filename", "class_id", "class_name"])


@layout("Quick, Draw!: one .npy of (n, 784) for each class", 15, 3)
def _(root):
    for label, name in enumerate(CLASSES):
        rows = numpy.stack([picture(label, 28).reshape(-1) for _ in range(6)])
        numpy.save(root / f"full_numpy_bitmap_{name}.npy", rows)


@layout("a picture in each .npy, in folders of classes", honest=True)
def _(root):
    for i in range(18):
        (root / CLASSES[i % 3]).mkdir(exist_ok=True)
        numpy.save(root / CLASSES[i % 3] / f"{i}.npy", picture(i % 3))


@layout("sign language digits: X.npy and Y.npy, one-hot", 15, 3)
def _(root):
    x, y = arrays(18)
    numpy.save(root / "X.npy", (x / 255.0).astype(numpy.float32))
    numpy.save(root / "Y.npy", numpy.eye(3)[y])


@layout("x_train.npy and y_train.npy with labels in words")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        x, y = arrays(count)
        numpy.save(root / f"x_{part}.npy", x)
        numpy.save(root / f"y_{part}.npy", numpy.array(CLASSES)[y])


@layout("trainX, trainY, testX, testY in an .npz")
def _(root):
    (x, y), (tx, ty) = arrays(12), arrays(6)
    numpy.savez_compressed(root / "faces.npz", trainX=x, trainY=y, testX=tx, testY=ty)
    return root / "faces.npz"


@layout("X_tr, Y_tr, X_te, Y_te in an .npz")
def _(root):
    (x, y), (tx, ty) = arrays(12), arrays(6)
    numpy.savez(root / "data.npz", X_tr=x, Y_tr=y, X_te=tx, Y_te=ty)
    return root / "data.npz"


@layout("x, y and the names of classes in an .npz", 15, 3)
def _(root):
    x, y = arrays(18)
    numpy.savez(root / "data.npz", x=x, y=y, classes=numpy.array(CLASSES))
    return root / "data.npz"


@layout("an object array: numpy.save of a dict", 15, 3)
def _(root):
    x, y = arrays(18)
    numpy.save(root / "data.npy", {"images": x, "labels": y}, allow_pickle=True)
    return root / "data.npy"


@layout("hsjeong5's mnist.pkl: training_images, training_labels")
def _(root):
    (x, y), (tx, ty) = arrays(12), arrays(6)
    values = {"training_images": x.reshape(12, -1), "training_labels": y, "test_images": tx.reshape(6, -1), "test_labels": ty}
    with open(root / "mnist.pkl", "wb") as file:
        pickle.dump(values, file)
    return root / "mnist.pkl"


@layout("two pickles: X.pickle and y.pickle, lists in it", 15, 3)
def _(root):
    x, y = arrays(18)
    (root / "X.pickle").write_bytes(pickle.dumps(x.reshape(-1, 16, 16, 1)))
    (root / "y.pickle").write_bytes(pickle.dumps([int(v) for v in y]))


@layout("STL-10, binary: pictures of 96 x 96 by columns", classes=10)
def _(root):
    place = root / "stl10_binary"
    place.mkdir()
    for part, count in (("train", 12), ("test", 6)):
        x = numpy.stack([picture(i % 3, 96, True).transpose(2, 1, 0) for i in range(count)])
        (place / f"{part}_X.bin").write_bytes(x.tobytes())
        (place / f"{part}_y.bin").write_bytes(bytes(i % 3 + 1 for i in range(count)))
    (place / "class_names.txt").write_text("\n".join("abcdefghij") + "\n")


@layout("Kaggle's mnist-dataset: each file also in a folder of its name")
def _(root):
    for part, count in (("train", 12), ("t10k", 6)):
        for kind, array in zip(("images-idx3", "labels-idx1"), arrays(count, 28)):
            name = f"{part}-{kind}-ubyte"
            (root / name).mkdir()
            (root / name / name).write_bytes(idx(array))
            (root / name.replace("-idx", ".idx")).write_bytes(idx(array))


@layout("MNIST unpacked by a program that makes a folder for each file")
def _(root):
    for part, count in (("train", 12), ("t10k", 6)):
        for kind, array in zip(("images", "labels"), arrays(count, 28)):
            name = f"{part}-{kind}-idx{'3' if kind == 'images' else '1'}-ubyte"
            (root / name).mkdir()
            (root / name / name.replace("-idx", ".idx")).write_bytes(idx(array))


@layout("MNIST's files without idx in their names")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        for kind, array in zip(("images", "labels"), arrays(count, 28)):
            (root / f"mnist_{part}_{kind}").write_bytes(idx(array))


@layout("torchvision's root with two data sets", honest=True)
def _(root):
    for name in ("MNIST", "FashionMNIST"):
        layouts.mnist(root / name / "raw", layouts.PLAIN)


@layout("torchvision: MNIST/processed/training.pt", honest=True)
def _(root):
    (root / "MNIST" / "processed").mkdir(parents=True)
    for name in ("training", "test"):
        with zipfile.ZipFile(root / "MNIST" / "processed" / f"{name}.pt", "w") as out:
            out.writestr(f"{name}/data.pkl", b"\x80\x02.")


@layout("Kaggle's digits in a .zip each: train.csv.zip, test.csv.zip", 15, 3)
def _(root):
    header = [f"pixel{i}" for i in range(256)]
    for name, rows, names in (("train", pixel_rows(18), ["label", *header]), ("test", pixel_rows(5, labelled=False), header)):
        write_csv(root / "in" / f"{name}.csv", rows, names)
        with zipfile.ZipFile(root / f"{name}.csv.zip", "w", zipfile.ZIP_DEFLATED) as out:
            out.write(root / "in" / f"{name}.csv", f"{name}.csv")
    return root / "train.csv.zip"


@layout("a .tar.xz of classes", 15, 3)
def _(root):
    for i in range(18):
        save(root / "in" / CLASSES[i % 3] / f"{i}.jpg", i % 3)
    with tarfile.open(root / "set.tar.xz", "w:xz") as out:
        out.add(root / "in", "set")
    return root / "set.tar.xz"


@layout("a .tar.bz2 of classes", 15, 3)
def _(root):
    for i in range(18):
        save(root / "in" / CLASSES[i % 3] / f"{i}.jpg", i % 3)
    with tarfile.open(root / "set.tar.bz2", "w:bz2") as out:
        out.add(root / "in", "set")
    return root / "set.tar.bz2"


@layout("USPS: zip.train.gz and zip.test.gz, label and values from -1 to 1")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        x, y = arrays(count)
        lines = [f"{label:.4f} " + " ".join(f"{v / 127.5 - 1:.3f}" for v in image.reshape(-1)) + " \n" for image, label in zip(x, y)]
        (root / f"zip.{part}.gz").write_bytes(gzip.compress("".join(lines).encode()))


@layout("UCI: optdigits.tra and optdigits.tes")
def _(root):
    for part, count in (("tra", 12), ("tes", 6)):
        write_csv(root / f"optdigits.{part}", [[*(v // 16 for v in row[:-1]), row[-1]] for row in pixel_rows(count, True, size=8)])


@layout("UCI: semeion.data, one-hot behind the values", honest=True)
def _(root):
    lines = []
    for i, (image, label) in enumerate(zip(*arrays(18))):
        values = [f"{float(v > 100):.4f}" for v in image.reshape(-1)]
        lines.append(" ".join(values + [str(int(c == label)) for c in range(3)]) + " \n")
    (root / "semeion.data").write_text("".join(lines))
    return root / "semeion.data"


@layout("Kannada-MNIST: test.csv with an id, and a second labelled table", honest=True)
def _(root):
    header = [f"pixel{i}" for i in range(256)]
    write_csv(root / "train.csv", pixel_rows(18), ["label", *header])
    write_csv(root / "Dig-MNIST.csv", pixel_rows(6), ["label", *header])
    write_csv(root / "test.csv", [[i, *row] for i, row in enumerate(pixel_rows(5, labelled=False))], ["id", *header])
    write_csv(root / "sample_submission.csv", [[0, 0]], ["id", "label"])


@layout("a table as Excel saves it: UTF-16 with tabs", 15, 3)
def _(root):
    rows = [["label", *(f"pixel{i}" for i in range(256))], *pixel_rows(18)]
    (root / "digits.csv").write_text("\r\n".join("\t".join(map(str, row)) for row in rows) + "\r\n", encoding="utf-16")
    return root / "digits.csv"


@layout("a comma at the end of each line", 15, 3)
def _(root):
    rows = [["label", *(f"pixel{i}" for i in range(256)), ""], *([*row, ""] for row in pixel_rows(18))]
    write_csv(root / "digits.csv", rows)
    return root / "digits.csv"


@layout("pandas: row numbers, floats, label in words and in quotes", 15, 3)
def _(root):
    lines = ['"","label",' + ",".join(f'"p{i}"' for i in range(256))]
    for i, row in enumerate(pixel_rows(18)):
        lines.append(f'"{i}","{CLASSES[row[0]]}",' + ",".join(f"{v}.0" for v in row[1:]))
    (root / "data.csv").write_text("\n".join(lines) + "\n")
    return root / "data.csv"


@layout("a file of Excel", honest=True)
def _(root):
    with zipfile.ZipFile(root / "digits.xlsx", "w") as out:
        out.writestr("xl/workbook.xml", "<workbook/>")
    return root / "digits.xlsx"


@layout("LMDB: data.mdb and lock.mdb", honest=True)
def _(root):
    for name in ("data", "lock"):
        (root / f"{name}.mdb").write_bytes(bytes(4096))


@layout("TFRecord: train.tfrecords", honest=True)
def _(root):
    (root / "train.tfrecords").write_bytes(bytes(400))


@layout("pages of arrays in joblib's file", honest=True)
def _(root):
    (root / "digits.joblib").write_bytes(pickle.dumps({"x": 1}) + bytes(100))
    return root / "digits.joblib"


@layout("Arrow: data-00000-of-00001.arrow", honest=True)
def _(root):
    (root / "data-00000-of-00001.arrow").write_bytes(b"ARROW1\0\0" + bytes(100))


@layout("Parquet with rows of pixels", honest=True)
def _(root):
    (root / "mnist_784.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    return root / "mnist_784.parquet"


@layout("simpsons: a test set with the labels in its names", 15, 3)
def _(root):
    for i in range(18):
        save(root / "simpsons_dataset" / "simpsons_dataset" / f"{CLASSES[i % 3]}_simpson" / f"pic_{i:04}.jpg", i % 3, colour=True)
    for i in range(6):
        save(root / "kaggle_simpson_testset" / "kaggle_simpson_testset" / f"{CLASSES[i % 3]}_simpson_{i}.jpg", i % 3, colour=True)
    (root / "annotation.txt").write_text("x,1,1,2,2,cat\n")


@layout("ASL: asl_alphabet_train twice, asl_alphabet_test with pictures", 15, 3)
def _(root):
    for i in range(18):
        save(root / "asl_alphabet_train" / "asl_alphabet_train" / "ABC"[i % 3] / f"{i}.jpg", i % 3, colour=True)
    for i in range(3):
        save(root / "asl_alphabet_test" / "asl_alphabet_test" / f"{'ABC'[i]}_test.jpg", i, colour=True)


@layout("Fruits-360: Training, Test, and a folder of several fruits")
def _(root):
    place = root / "fruits-360_dataset" / "fruits-360"
    folders(place, train="Training", test="Test", ending="jpg", colour=True)
    save(place / "test-multiple_fruits" / "a.jpg", 0, colour=True)
    save(place / "papers" / "a.png", 0, colour=True)
    (place / "readme.md").write_text("x")


@layout("Animals-10: a folder raw-img and a script", 15, 3)
def _(root):
    for i in range(18):
        save(root / "raw-img" / CLASSES[i % 3] / f"{i}.jpeg", i % 3, colour=True)
    (root / "translate.py").write_text("x = {}")


@layout("NABirds: images/ID/*.jpg and lists with the numbers of pictures", 15, 3)
def _(root):
    for i in range(18):
        save(root / "images" / f"0{i % 3 + 1}" / f"{i:08}.jpg", i % 3, colour=True)
    (root / "classes.txt").write_text("1 cat\n2 dog\n3 owl\n")
    (root / "image_class_labels.txt").write_text("".join(f"{i:08} {i % 3 + 1}\n" for i in range(18)))


@layout("a split in lists: train.txt and val.txt with paths below classes")
def _(root):
    for part, numbers in (("train", range(12)), ("val", range(12, 18))):
        lines = []
        for i in numbers:
            save(root / "data" / CLASSES[i % 3] / f"{i}.jpg", i % 3)
            lines.append(f"{CLASSES[i % 3]}/{i}.jpg {i % 3}\n")
        (root / f"{part}.txt").write_text("".join(lines))


@layout("ImageFolder in a WebDataset with JSON beside the pictures", 15, 3)
def _(root):
    with tarfile.open(root / "train-0000.tar", "w") as out:
        for i in range(18):
            buffer = io.BytesIO()
            Image.fromarray(picture(i % 3, colour=True)).save(buffer, "JPEG")
            meta = json.dumps({"label": i % 3, "caption": "a picture"}).encode()
            for ending, content in (("jpg", buffer.getvalue()), ("json", meta)):
                member = tarfile.TarInfo(f"{i:05}.{ending}")
                member.size = len(content)
                out.addfile(member, io.BytesIO(content))
    return root / "train-0000.tar"


@layout("NIST's hsf folders: by_class/30/train_30/*.png", 15, 3)
def _(root):
    for part, count in (("train", 12), ("hsf_4", 6)):
        for i in range(count):
            save(root / "by_class" / f"3{i % 3}" / (f"train_3{i % 3}" if part == "train" else part) / f"{part}_{i:05}.png", i % 3)


@layout("notMNIST_small: A/*.png, one of them empty", honest=True)
def _(root):
    for i in range(18):
        save(root / "notMNIST_small" / "ABC"[i % 3] / f"{i}.png", i % 3)
    (root / "notMNIST_small" / "A" / "RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png").write_bytes(b"")


@layout("classes with accents, blanks and signs in a zip of Windows", 15, 3)
def _(root):
    names = ("Äpfel & Birnen", "Crème brûlée", "日本")
    with zipfile.ZipFile(root / "Bilder.zip", "w") as out:
        for i in range(18):
            buffer = io.BytesIO()
            Image.fromarray(picture(i % 3, colour=True)).save(buffer, "PNG")
            out.writestr(f"Bilder/{names[i % 3]}/Bild ({i}).png", buffer.getvalue())
    return root / "Bilder.zip"


@layout("floats as bytes of another order: IDX of type 0x0D", honest=True)
def _(root):
    for part, count in (("train", 12), ("t10k", 6)):
        x, y = arrays(count, 28)
        head = struct.pack(">HBBIII", 0, 0x0D, 3, *x.shape)
        (root / f"{part}-images-idx3-float").write_bytes(head + (x / 255).astype(">f4").tobytes())
        (root / f"{part}-labels-idx1-ubyte").write_bytes(idx(y))


@layout("tables in train/ and test/")
def _(root):
    write_csv(root / "train" / "digits_train.csv", pixel_rows(12))
    write_csv(root / "test" / "digits_test.csv", pixel_rows(6))


@layout("X.npy and y.npy in train/ and test/")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        (root / part).mkdir()
        for name, array in zip("Xy", arrays(count)):
            numpy.save(root / part / f"{name}.npy", array)


@layout("X_train.csv and y_train.csv")
def _(root):
    for part, count in (("train", 12), ("test", 6)):
        rows = pixel_rows(count)
        write_csv(root / f"X_{part}.csv", [row[1:] for row in rows], [f"p{i}" for i in range(256)])
        write_csv(root / f"y_{part}.csv", [row[:1] for row in rows], ["label"])


@layout("csvTrainImages and csvTrainLabel, without headers")
def _(root):
    for part, count in (("Train", 12), ("Test", 6)):
        rows = pixel_rows(count)
        write_csv(root / f"csv{part}Images {count}x256.csv", [row[1:] for row in rows])
        write_csv(root / f"csv{part}Label {count}x1.csv", [row[:1] for row in rows])


@layout("CelebA: a table of forty answers", honest=True)
def _(root):
    rows = []
    for i in range(18):
        save(root / "img_align_celeba" / f"{i:06}.jpg", i % 3, colour=True)
        rows.append([f"{i:06}.jpg", 1 if i % 2 else -1, 1, -1])
    write_csv(root / "list_attr_celeba.csv", rows, ["image_id", "Male", "Smiling", "Young"])


@layout("classes of TIFF files", 15, 3)
def _(root):
    for i in range(18):
        save(root / CLASSES[i % 3] / f"{i}.tif", i % 3, colour=True)


@layout("original/ and resized_64/ of the same classes", honest=True)
def _(root):
    for i in range(18):
        for kind in ("original", "resized_64"):
            save(root / kind / CLASSES[i % 3] / f"{i}.png", i % 3)


@layout("a test set that lacks a class", 12, 4)
def _(root):
    for part, count, classes in (("train", 12, 3), ("test", 4, 2)):
        for i in range(count):
            save(root / part / CLASSES[i % classes] / f"{i}.png", i % classes)


@layout("Stanford Cars of Kaggle: boxes and a column Class", 15, 3)
def _(root):
    rows = []
    for i in range(18):
        save(root / "cars_train" / f"{i:05}.jpg", i % 3, colour=True)
        rows.append([1, 2, 3, 4, i % 3 + 1, f"{i:05}.jpg"])
    write_csv(root / "cardatasettrain.csv", rows, ["x1", "y1", "x2", "y2", "Class", "image"])


if __name__ == "__main__":
    sys.exit(layouts.main())
