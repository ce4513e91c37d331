#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files keras* of tests/models/weights/files with Keras 3 and h5py.

    KERAS_BACKEND=torch python3 tests/models/weights/make_keras.py FOLDER

They have the network and the numbers of make_weights.py. keras_unnamed.keras has no names of layers, as Keras 3.5 writes it.
keras2.h5 has the names that Keras 2 gives, which Keras 3 reads. keras_links.h5 leads to another file. keras_mobile.keras has
all kinds of layers and random numbers, and keras_mobile.csv its logits of one image.
"""
import io
import pathlib
import sys
import zipfile

import h5py
import keras
import numpy as np
from keras import layers


def numbers():
    at = 0
    for shape in ((2, 1, 3, 3), (2,), (2,), (2,), (2,), (2,), (3, 8), (3,)):
        count = int(np.prod(shape))
        yield (np.arange(at, at + count) / 8).astype(np.float32).reshape(shape)
        at += count


def plain():
    model = keras.Sequential([keras.Input((4, 4, 1)), layers.Conv2D(2, 3), layers.BatchNormalization(epsilon=1e-5), layers.ReLU(),
                              layers.Flatten(), layers.Dense(3)], name="plain")
    conv, conv_bias, gamma, beta, mean, variance, linear, bias = numbers()
    kernel = linear.reshape(3, 2, 2, 2).transpose(2, 3, 1, 0).reshape(8, 3)  # of rows, columns and channels
    for weight, values in zip(model.weights, (conv.transpose(2, 3, 1, 0), conv_bias, gamma, beta, mean, variance, kernel, bias)):
        weight.assign(values)
    return model


def older(model, path):
    """As Keras 2 writes it: the names end in :0, and a layer's group has its tensors below its own name."""
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = model.to_json()
        root = file.create_group("model_weights")
        root.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
        for layer in model.layers:
            group = root.create_group(layer.name)
            names = [f"{layer.name}/{weight.name}:0" for weight in layer.weights]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, weight in zip(names, layer.weights):
                group.create_dataset(name, data=keras.ops.convert_to_numpy(weight))


def without_names(source, path):
    """An archive whose groups have no names, while those of the config have other numbers."""
    def forget(_, group):
        for key in list(group.attrs):
            del group.attrs[key]

    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(path, "w") as made:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "config.json":
                content = content.replace(b'"conv2d"', b'"conv2d_7"').replace(b'"dense"', b'"dense_5"')
            if name.endswith(".h5"):
                memory = io.BytesIO(content)
                with h5py.File(memory, "r+") as file:
                    file.visititems(forget)
                content = memory.getvalue()
            made.writestr(name, content)


def mobile(folder):
    random = np.random.default_rng(1)
    image = keras.Input((9, 8, 3))
    x = layers.Conv2D(4, 3, padding="same", name="stem")(image)
    x = layers.BatchNormalization(scale=False)(x)
    x = layers.PReLU(shared_axes=[1, 2])(x)
    y = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=1)(x)
    y = layers.SeparableConv2D(4, 3, padding="same", name="apart")(y)
    x = layers.Add()([x, y])
    x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.BatchNormalization(epsilon=1e-4, center=False)(x)
    x = layers.Dropout(0.25, seed=3)(x)
    x = layers.Dense(6, activation="relu", use_bias=False)(x)
    model = keras.Model(image, layers.Dense(4)(x), name="mobile")
    for weight in model.weights:
        if weight.dtype == "float32":
            low = 0.5 if "variance" in weight.path else -1
            weight.assign(random.uniform(low, 1.5, weight.shape).astype(np.float32))
    model.save(folder / "keras_mobile.keras")
    pixels = (np.arange(9 * 8 * 3) * 97 % 251).reshape(3, 9, 8).transpose(1, 2, 0)  # of channels, rows and columns
    logits = keras.ops.convert_to_numpy(model(pixels[None].astype(np.float32) / 255, training=False))[0]
    (folder / "keras_mobile.csv").write_text(",".join(f"{value:.9g}" for value in logits) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    keras.utils.set_random_seed(1)
    model = plain()
    model.save(folder / "keras.keras")
    model.save(folder / "keras3.h5")
    model.save_weights(folder / "keras.weights.h5")
    older(model, folder / "keras2.h5")
    without_names(folder / "keras.keras", folder / "keras_unnamed.keras")
    with h5py.File(folder / "keras_links.h5", "w") as file:
        file["elsewhere"] = h5py.ExternalLink("keras2.h5", "/model_weights")
    mobile(folder)


if __name__ == "__main__":
    main()
