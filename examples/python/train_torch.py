#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a module of PyTorch through Weft's kernels: torch.autograd.Function calls weft.layers.

    python examples/python/train_torch.py [--device cuda] [--epochs 2]

PyTorch keeps the tensors, the graph and the optimizer. Forward and backward of each layer, and the
loss, are kernels of Weft, on the device and on the stream of the tensors. At the end the weights move
into a network of Weft, which gives the same answers.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
import weft
from weft import layers


class Conv2d(torch.autograd.Function):
    """A convolution of stride 1."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, bias: Any, padding: int) -> Any:
        ctx.save_for_backward(x, w)
        ctx.padding = padding
        return layers.conv2d_forward(x, w, bias, padding=padding)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        x, w = ctx.saved_tensors
        dx, dw, db = layers.conv2d_backward(dy.contiguous(), x, w, padding=ctx.padding)
        return dx, dw, db, None


class Linear(torch.autograd.Function):
    """x w^T + bias."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, w)
        return layers.linear_forward(x, w, bias)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return layers.linear_backward(dy.contiguous(), *ctx.saved_tensors)


class Relu(torch.autograd.Function):
    """max(x, 0)."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = layers.relu_forward(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return layers.relu_backward(dy.contiguous(), *ctx.saved_tensors)


class MaxPool2d(torch.autograd.Function):
    """The maximum of windows of 2 x 2."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, argmax = layers.max_pool2d_forward(x)
        ctx.save_for_backward(argmax)
        ctx.shape = x.shape
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return layers.max_pool2d_backward(dy.contiguous(), *ctx.saved_tensors, tuple(ctx.shape))


class CrossEntropy(torch.autograd.Function):
    """The mean cross-entropy of logits; one kernel computes it and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, labels: Any) -> Any:
        loss, dx, _ = weft.softmax_cross_entropy(x, labels, scale=1 / len(x))
        ctx.save_for_backward(dx)
        return loss.mean()

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return ctx.saved_tensors[0] * dy, None


class LeNet5(torch.nn.Module):
    """The layers hold the weights, with their usual names; Weft computes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 6, 5), torch.nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2 = torch.nn.Linear(400, 120), torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        x = Conv2d.apply(x, self.conv1.weight, self.conv1.bias, 2)
        x = MaxPool2d.apply(Relu.apply(x))
        x = Conv2d.apply(x, self.conv2.weight, self.conv2.bias, 0)
        x = MaxPool2d.apply(Relu.apply(x)).flatten(1)
        x = Relu.apply(Linear.apply(x, self.fc1.weight, self.fc1.bias))
        x = Relu.apply(Linear.apply(x, self.fc2.weight, self.fc2.bias))
        return Linear.apply(x, self.fc3.weight, self.fc3.bias)


def main() -> float:
    """Trains on digits that Weft draws, and returns the share of the test digits that are read right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=4000, help="training images")
    args = parser.parse_args()
    torch.manual_seed(1)
    digits = weft.data("digits", limit=args.limit)

    def on_device(x: Any, y: Any) -> tuple[Any, Any]:
        images = (torch.from_numpy(x).float()[:, None] / 255 - 0.1307) / 0.3081
        return images.to(args.device), torch.from_numpy(y).to(args.device)

    x, y = on_device(digits.x, digits.y)
    test_x, test_y = on_device(digits.test_x[:1000], digits.test_y[:1000])
    model = LeNet5().to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in range(args.epochs):
        total = 0.0
        for rows in torch.randperm(len(x), device=x.device).split(64):
            optimizer.zero_grad()
            loss = CrossEntropy.apply(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(rows)
        right = float((model(test_x).argmax(1) == test_y).float().mean())
        print(f"epoch {epoch + 1}  loss {total / len(x):.4f}  test {right:.2%}")

    network = weft.network("lenet5")
    network.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    logits = torch.from_numpy(network.logits(test_x.cpu().numpy()))
    apart = float((logits - model(test_x).detach().cpu()).abs().max())
    print(f"the network of Weft with these weights differs by at most {apart:.1e} in a logit")
    assert apart < 1e-2
    return right


if __name__ == "__main__":
    main()
