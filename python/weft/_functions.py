# SPDX-License-Identifier: MIT
"""Makes functions of Python out of those of an extension, so that help(), inspect and pickle know them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


def python_functions(extension: ModuleType, module: str) -> dict[str, Any]:
    """The functions that `extension.__all__` names, as those of `module`: each calls the one of the extension.

    nanobind gives a signature as a text in which "\\0" is the first default value.
    """
    namespace: dict[str, Any] = {"__name__": module}
    source, docs = ["from __future__ import annotations"], {}
    for name in extension.__all__:
        call = getattr(extension, name)
        ((signature, docs[name], defaults),) = call.__nb_signature__
        namespace[f"_{name}"], namespace[f"_of_{name}"] = call, defaults
        parameters = signature[signature.index("(") : signature.rindex(")")]
        positional, _, by_name = parameters.partition("*, ")
        given = [*re.findall(r"(\w+): ", positional), *(f"{one}={one}" for one in re.findall(r"(\w+): ", by_name))]
        head = re.sub(r"\\(\d+)", rf"_of_{name}[\1]", signature)
        source.append(f"{head}: return _{name}({', '.join(given)})")
    exec(compile("\n".join(source), f"<{module}>", "exec"), namespace)
    for name, doc in docs.items():
        namespace[name].__doc__ = doc
    return {name: namespace[name] for name in docs}
