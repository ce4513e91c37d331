#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files beside it, with NumPy and as zip and tar programs do: python3 make.py FOLDER."""
import io
import pathlib
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
