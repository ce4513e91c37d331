# SPDX-License-Identifier: MIT
"""Gives weft/_core.pyi, as nanobind has written it, the types that nanobind has no words for.

A call returns an array of the library that its first array is from, and one of NumPy for a buffer. nanobind
writes None beside what is an array: it lets None in, and Weft refuses it by name. Of a list it does not
write what it holds.
"""

import ast
import re
import sys
from pathlib import Path

ARRAY, RESULT, NUMPY = "weft._typing.Array", "weft._typing.Result", "numpy.typing.NDArray[Any]"


def overloads(function: str) -> str:
    """One form for buffers, NumPy's arrays among them, and one for arrays of another library."""
    first = re.search(rf"{re.escape(ARRAY)}(?=[,)])", function)
    if not first:  # without an array: the results are NumPy's
        return function.replace(RESULT, NUMPY)
    before, after = function[: first.start()], function[first.end() :]
    signature = after[: re.search(r"\) -> .*:\n", after).end()]
    buffer = f"{before}weft._typing.Buffer{signature.replace(RESULT, NUMPY)}    ...\n"
    other = f"{before}weft._typing.ArrayT{after.replace(RESULT, 'weft._typing.ArrayT')}"
    buffer = buffer.replace(":\n    ...", ": ...")
    return f"@overload\n{buffer}\n@overload\n{other}"


path = Path(sys.argv[1])
text = path.read_text()
text = re.sub(rf"{re.escape(ARRAY)} \| None(?=[,)])", ARRAY, text)
text = text.replace("__all__: list =", "__all__: list[str] =")
lines = text.splitlines(keepends=True)
for node in reversed(ast.parse(text).body):
    if isinstance(node, ast.FunctionDef) and RESULT in ast.unparse(node.returns):
        lines[node.lineno - 1 : node.end_lineno] = [overloads("".join(lines[node.lineno - 1 : node.end_lineno]))]
path.write_text("from typing import overload\n" + "".join(lines))
