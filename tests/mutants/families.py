"""Which tests belong to which sources."""

import pathlib
import re

# Tests of a family of kernels: test_<family>.cpp, and what this table adds.
MORE = {
    "batch_norm": ["batch_norm_exact", "batch_norm_over_ranks"],
    "gemm": ["gemm_backward", "gemm_bfloat16"],
    "nbody": ["nbody_shares"],
    "optimizer": ["adamw"],
    "softmax": ["classifier"],
    "cnn": ["fused_cnn", "fused_cnn_infer", "fused_cnn_peers"],
    "mlp": ["fused_mlp"],
}


def family_of(path):
    """Of a source: "scan", "device", "data", ..."""
    parts = path.split("/")
    if parts[0] != "kernels":
        return parts[0]
    if parts[1] == "networks":
        return parts[2]
    return parts[1]


def kind_of(path):
    return path.split("/")[0]


def suites(source):
    """The names of the suites that a test source defines, as a filter of GoogleTest needs them."""
    text = pathlib.Path(source).read_text()
    found = set()
    for macro, name in re.findall(r"\b(TEST|TEST_F|TEST_P)\((\w+),", text):
        found.add(f"On/{name}.*" if macro == "TEST_P" else f"{name}.*")
    return found


def kernel_filter(root, family):
    """The tests of a family of kernels that run kernels."""
    names = ([] if family in ("cnn", "mlp") else [family]) + MORE.get(family, [])
    found = set()
    for name in names:
        for source in (pathlib.Path(root) / "tests/kernels").rglob(f"test_{name}.cpp"):
            found |= suites(source)
    return sorted(name for name in found if name.startswith("On/"))


def short_grid_filter(root, family):
    """Of these tests, those that run with grids of two blocks too, by tests/CMakeLists.txt."""
    text = (pathlib.Path(root) / "tests/CMakeLists.txt").read_text()
    names = re.search(r'string\(JOIN ":" looping ([^)]*)\)', text).group(1).split()
    first_left_out = next(i for i, name in enumerate(names) if name.startswith("-"))
    suites_here = kernel_filter(root, family)
    kept = [name for name in names[:first_left_out] if name.split(".")[0] + ".*" in suites_here]
    return ":".join(kept) + ":" + ":".join(names[first_left_out:]) if kept else None


def large_filter(root, family):
    """Of these tests, those of so many values that ctest runs them in one order of the threads only."""
    text = (pathlib.Path(root) / "tests/CMakeLists.txt").read_text()
    names = re.search(r"--gtest_filter=(On/\S*Large\S*)\)", text).group(1).split(":")
    suites_here = kernel_filter(root, family)
    return ":".join(name for name in names if name.split(".")[0] + ".*" in suites_here)
