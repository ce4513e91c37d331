#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pickles of tests/data/pickle/files, by the Python and NumPy (and PyTorch) that run it.

    python3 tests/data/pickle/make_pickles.py FOLDER NAME     FOLDER/NAME-0.pkl to NAME-5.pkl, one for each protocol
    python3 tests/data/pickle/make_pickles.py FOLDER --torch  data.pkl of a state dict, and a file of PyTorch's old format

It runs in Python 2.7, too. test_pickle.cpp tells what all of them hold.
"""
import collections
import io
import pickle
import sys
import zipfile


def everything():
    import numpy as np
    values = collections.OrderedDict()
    values["data"] = np.arange(6, dtype=np.uint8).reshape(2, 3)
    values["columns"] = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    values["big endian"] = np.array([1, -2], ">i2")
    values["half"] = np.array([0.5, -1.5], np.float16)
    values["true"] = np.array([True, False])
    values["scalar"] = np.float64(1.5)
    values["empty"] = np.zeros((0, 3), np.float32)
    values["labels"] = [6, 9, 6]
    values["text"] = u"n\xe9 \u20ac\n"
    values["bytes"] = b"\x00\xff'\\\n"
    values["numbers"] = (0, 255, 256, 65536, -1, 2 ** 40, 2.5, -1e300)
    values["large"] = 2 ** 80
    values["constants"] = (None, True, False)
    values["set"] = {5}
    values["again"] = values["labels"]
    values["dict"] = {"a": {}}
    return values


def torch_state():
    import torch
    state = collections.OrderedDict()
    state["fc.weight"] = torch.arange(6.).reshape(3, 2).t()
    state["fc.bias"] = torch.nn.Parameter(torch.tensor([1., 2.], dtype=torch.float16))
    state["steps"] = torch.tensor(3)
    return state


def main():
    folder, name = sys.argv[1:]
    if name == "--torch":
        import torch
        content = io.BytesIO()
        torch.save({"state_dict": torch_state(), "epoch": 3}, content)
        with zipfile.ZipFile(content) as archive:
            member = [path for path in archive.namelist() if path.endswith("/data.pkl")][0]
            with open(folder + "/torch.pkl", "wb") as file:
                file.write(archive.read(member))
        torch.save(torch_state(), folder + "/torch-old.pth", _use_new_zipfile_serialization=False)
        return
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        values = everything()
        if protocol < 2:
            del values["large"]  # it is text of any length, which Weft does not read
        with open("%s/%s-%d.pkl" % (folder, name, protocol), "wb") as file:
            pickle.dump(values, file, protocol)


if __name__ == "__main__":
    main()
