# SPDX-License-Identifier: MIT
"""Weft's built-in networks in PyTorch, with the same parameter names, for yardsticks and interop."""
from collections import OrderedDict

from torch import nn


def _network(*layers):
    return nn.Sequential(OrderedDict(layers))


def mlp():
    return _network(("flatten", nn.Flatten()), ("fc1", nn.Linear(784, 512)), ("relu1", nn.ReLU()),
                    ("fc2", nn.Linear(512, 512)), ("relu2", nn.ReLU()), ("fc3", nn.Linear(512, 10)))


def lenet5():
    return _network(("conv1", nn.Conv2d(1, 6, 5, padding=2)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)),
                    ("conv2", nn.Conv2d(6, 16, 5)), ("relu2", nn.ReLU()), ("pool2", nn.MaxPool2d(2)),
                    ("flatten", nn.Flatten()), ("fc1", nn.Linear(400, 120)), ("relu3", nn.ReLU()),
                    ("fc2", nn.Linear(120, 84)), ("relu4", nn.ReLU()), ("fc3", nn.Linear(84, 10)))


def convnet():
    return _network(("conv1", nn.Conv2d(1, 32, 3)), ("relu1", nn.ReLU()), ("conv2", nn.Conv2d(32, 64, 3)),
                    ("relu2", nn.ReLU()), ("pool1", nn.MaxPool2d(2)), ("flatten", nn.Flatten()),
                    ("fc1", nn.Linear(9216, 128)), ("relu3", nn.ReLU()), ("fc2", nn.Linear(128, 10)))


def convnet_bn():
    return _network(("conv1", nn.Conv2d(1, 32, 5, padding=2)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)),
                    ("bn1", nn.BatchNorm2d(32)),
                    ("conv2", nn.Conv2d(32, 64, 3, padding=1)), ("relu2", nn.ReLU()), ("bn2", nn.BatchNorm2d(64)),
                    ("conv3", nn.Conv2d(64, 64, 3, padding=1)), ("relu3", nn.ReLU()), ("pool2", nn.MaxPool2d(2)),
                    ("bn3", nn.BatchNorm2d(64)),
                    ("conv4", nn.Conv2d(64, 128, 3, padding=1)), ("relu4", nn.ReLU()), ("bn4", nn.BatchNorm2d(128)),
                    ("conv5", nn.Conv2d(128, 128, 3, padding=1)), ("relu5", nn.ReLU()), ("bn5", nn.BatchNorm2d(128)),
                    ("pool3", nn.MaxPool2d(7)), ("flatten", nn.Flatten()), ("fc1", nn.Linear(128, 10)))


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def _block(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def resnet9():
    """Of colour images, without Weft's parameter names."""
    return nn.Sequential(*_block(3, 64), *_block(64, 128), nn.MaxPool2d(2),
                         Residual(*_block(128, 128), *_block(128, 128)), *_block(128, 256), nn.MaxPool2d(2),
                         *_block(256, 512), nn.MaxPool2d(2), Residual(*_block(512, 512), *_block(512, 512)),
                         nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(512, 10, bias=False))


COLOUR = {"resnet9": resnet9}  # of 50,000 images of 3 x 32 x 32, as CIFAR-10 has them
NETWORKS = {"mlp": mlp, "lenet5": lenet5, "convnet": convnet, "convnet-bn": convnet_bn}
