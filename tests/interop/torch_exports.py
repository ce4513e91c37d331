# SPDX-License-Identifier: MIT
"""Small modules of PyTorch and the files that its exporters write of them, where it is installed."""
try:
    import torch
except ImportError:
    torch = None


def modules():
    """Name, module, and what it makes of images before a Softmax."""
    from torch import nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(8, eps=1e-3)
            self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
            self.short = nn.Conv2d(8, 12, 1)
            self.conv3 = nn.Conv2d(12, 12, 3, padding=1)
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(12, 10)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            x = torch.relu(self.conv2(x) + self.short(x))
            x = x + torch.tanh(self.conv3(x))
            return self.fc(torch.flatten(self.pool(x), 1))

    class View(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(1, 4, 3, stride=3), nn.Linear(4 * 9 * 9, 10)

        def forward(self, x):
            return self.fc(torch.sigmoid(self.conv(x)).view(-1, 4 * 9 * 9))

    class Sized(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(1, 4, 3, stride=4, padding=1, bias=False), nn.Linear(4 * 7 * 7, 10)

        def forward(self, x):
            x = torch.relu(self.conv(x)).permute(0, 2, 3, 1)
            return self.fc(x.reshape(x.size(0), -1) * 0.5 + 1)

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.pad, self.conv = nn.ZeroPad2d((0, 1, 1, 2)), nn.Conv2d(1, 4, 5, stride=5, dilation=2)
            self.fc1, self.norm1, self.norm2 = nn.Linear(100, 8), nn.BatchNorm1d(8), nn.BatchNorm1d(8, eps=1e-3)
            self.fc2 = nn.Linear(8, 10)

        def forward(self, x):
            x = torch.clamp(self.conv(self.pad(x)), min=0)
            x = self.norm1(self.fc1(x.view(x.size(0), -1)))
            return self.fc2(self.norm2(torch.tanh(x)))

    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm1 = nn.Conv2d(1, 4, 3, stride=4, padding=1), nn.GroupNorm(2, 4)
            self.norm2 = nn.InstanceNorm2d(4, affine=True)
            self.fc1, self.norm3, self.fc2 = nn.Linear(4 * 7 * 7, 6), nn.LayerNorm(6, eps=1e-3), nn.Linear(6, 10)

        def forward(self, x):
            x = torch.relu(self.norm2(torch.tanh(self.norm1(self.conv(x)))))
            return self.fc2(torch.sigmoid(self.norm3(self.fc1(torch.flatten(x, 1)))))

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(4, 10)

        def forward(self, x):
            return self.fc(torch.relu(self.conv(x)).mean((2, 3)))

    torch.manual_seed(1)
    lenet = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
                          nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
                          nn.Dropout(0.5), nn.Linear(120, 10), nn.Softmax(1))
    yield "lenet", lenet, lambda x: lenet[:-1](x)
    residual = Residual()
    rows, norms = Rows(), Norms()
    with torch.no_grad():  # statistics that are not those of a new module
        for norm in residual.bn1, rows.norm1, rows.norm2:
            norm.running_mean.uniform_(-0.5, 0.5)
            norm.running_var.uniform_(0.5, 1.5)
        for norm in norms.norm1, norms.norm2, norms.norm3:
            norm.weight.uniform_(0.5, 1.5)
            norm.bias.uniform_(-0.5, 0.5)
    yield "residual", residual, residual
    for module in (View(), Mean(), Sized(), rows, norms):
        yield type(module).__name__.lower(), module, module


def export(module, images, path, exporter):
    if exporter == "default":  # without an option: for one image, its tensors beside the file
        torch.onnx.export(module, images[:1], path)
    elif exporter == "torchscript":
        torch.onnx.export(module, (images[:1],), path, dynamo=False, input_names=["x"],
                          dynamic_axes={"x": {0: "n"}}, opset_version=14)  # which has no layer norm
    else:
        torch.onnx.export(module, (images[:2],), path, dynamo=True, external_data=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim("n")},))


def without_traces(file):
    """The same graph without the lines of Python that it came from."""
    graph = file.graph
    for part in [file, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        del part.metadata_props[:]
        part.doc_string = ""
    return file
