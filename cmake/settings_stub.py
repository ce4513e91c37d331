# SPDX-License-Identifier: MIT
"""Writes weft/_settings.pyi: the settings of weft.train(), with their types."""

import sys
from pathlib import Path

import weft

TYPES = {"N": "int", "X": "float", "TEXT": "str", "": "bool"}

lines = ["from typing import Literal, TypedDict\n", "class Given(TypedDict, total=False):"]
for one in weft.settings():
    words = ", ".join(f'"{word}"' for word in one.values.split("|"))
    lines.append(f"    {one.keyword}: {TYPES.get(one.values, f'Literal[{words}]')} | None")
Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
