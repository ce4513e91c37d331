#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of tests/models/weights/files with PyTorch and NumPy.

    python3 tests/models/weights/make_weights.py FOLDER

Each has the numbers 0, 1/8, 2/8, ... of the network `conv 2 3x3, batch_norm, linear classes` on 1 x 4 x 4 pixels with three
classes, as test_weights.cpp expects them.
"""
import collections
import pathlib
import pickle
import sys

import numpy as np
import torch

SHAPES = {"0.weight": (2, 1, 3, 3), "0.bias": (2,), "1.weight": (2,), "1.bias": (2,), "1.running_mean": (2,),
          "1.running_var": (2,), "4.weight": (3, 8), "4.bias": (3,)}


def state():
    at, tensors = 0, collections.OrderedDict()
    for name, shape in SHAPES.items():
        count = int(np.prod(shape))
        tensors[name] = torch.arange(at, at + count).reshape(shape) / 8
        at += count
        if name == "1.running_var":
            tensors["1.num_batches_tracked"] = torch.tensor(3)
    return tensors


def main():
    folder = pathlib.Path(sys.argv[1])
    tensors = state()
    torch.save(tensors, folder / "zip.pt")
    torch.save(tensors, folder / "old.pth", _use_new_zipfile_serialization=False)
    torch.save({name: tensor.half() for name, tensor in tensors.items()}, folder / "half.pt")
    torch.save({name: tensor.double() for name, tensor in tensors.items()}, folder / "double.pt")
    turned = {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in tensors.items()}
    turned["0.bias"] = torch.cat([torch.ones(3), tensors["0.bias"]])[3:]  # a view behind other numbers
    torch.save(turned, folder / "views.pt")
    torch.save({"epoch": 3, "best": torch.tensor(0.5), "accuracy": np.float64(0.5),
                "state_dict": {"module." + name: torch.nn.Parameter(tensor, False) for name, tensor in tensors.items()},
                "optimizer": {"state": {0: {"step": 1}}, "lr": 0.1}}, folder / "checkpoint.pt")
    with (folder / "arrays.pkl").open("wb") as file:
        pickle.dump({name: tensor.numpy() for name, tensor in tensors.items()}, file)
    np.savez(folder / "arrays.npz", **{name: tensor.numpy() for name, tensor in tensors.items()})
    torch.save(torch.nn.Linear(2, 2), folder / "whole.pt")


if __name__ == "__main__":
    main()
