#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what the CUDA runtime declares and the lab has to know by name, from the headers of a toolkit.

    python3 lab/api/names.py /usr/local/cuda/include

host_cuda/language/runtime_errors.inc gets the texts of all errors, as the toolkit's library tells them.
host_cuda/language/runtime_enums.inc gets all enumerations with their values, those of textures and of libraries' types too, and the
members of cudaDeviceProp: today's
and those that toolkits before had. lab/runtime/missing.inc gets the functions that no header of the lab declares: a
program may name them, and one that is reached is refused with its line. host_cuda/language/macros_hidden.inc and
macros_shown.inc stand around the headers that a program may include behind macros of its own, such as `#define N 1024`.
"""
import ctypes
import pathlib
import re
import string
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Toolkits before CUDA 13 had these members of cudaDeviceProp.
OLD_MEMBERS = ["int clockRate", "int deviceOverlap", "int kernelExecTimeoutEnabled", "int computeMode",
               "int maxTexture1DLinear", "int memoryClockRate", "int singleToDoublePrecisionPerfRatio",
               "int cooperativeMultiDeviceLaunch"]
OLD_FUNCTIONS = ["cudaBindTexture", "cudaBindTexture2D", "cudaBindTextureToArray", "cudaUnbindTexture",
                 "cudaGetTextureReference", "cudaSetDoubleForDevice", "cudaLaunchCooperativeKernelMultiDevice",
                 "cudaMemcpyToArray", "cudaMemcpyFromArray", "cudaMemcpyArrayToArray"]

# What programs define as macros, and headers have as names of parameters and types.
MACROS = [*string.ascii_letters, "BLOCK", "DIM", "HEIGHT", "ROWS", "SIZE", "TILE", "WIDTH", "height", "size", "stride", "type", "value", "width"]


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def wrapped(items: list[str], indent: str = "  ", end: str = ",") -> str:
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 2 > 100 and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += f"{item}{end} "
    return "\n".join([*lines, line.rstrip()])


def evaluated(text: str, constants: dict[str, int]) -> int:
    """A number, a name of before, or a sum of bits such as 1<<3 or (a | b)."""
    words = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b", r"\1", text)
    if not re.fullmatch(r"[\w\s|<()+-]+", words):
        raise SystemExit(f"what is {text}?")
    return int(eval(words, {"__builtins__": {}}, constants))  # of the toolkit's own header


def enums(text: str) -> list[str]:
    constants = {}
    out = []
    for match in re.finditer(r"(?:typedef\s+)?(?:__device_builtin__\s+)?enum\s+(?:__device_builtin__\s+)?(\w+)\s*\{([^}]*)\}"
                             r"\s*(\w*)\s*;", text):
        name, body, alias = match.groups()
        value, items = -1, []
        for part in body.split(","):
            part = part.strip()
            if not part:
                continue
            key, _, given = (piece.strip() for piece in part.partition("="))
            value = evaluated(given, constants) if given else value + 1
            constants[key] = value
            items.append(f"{key} = {value}")
        out.append(f"enum {name} {{\n{wrapped(items)}\n}};")
        if alias and alias != name:
            out.append(f"using {alias} = {name};")
    return out


def properties(text: str) -> list[str]:
    body = re.search(r"struct __device_builtin__ cudaDeviceProp\s*\{(.*?)\};", text, re.S).group(1)
    members = [" ".join(line.split()) for line in body.split(";") if line.strip()]
    members = [m for m in members if not m.startswith("int reserved")]
    return [m.replace("size_t", "std::size_t") for m in members + OLD_MEMBERS]


def functions(text: str) -> set[str]:
    return set(re.findall(r"\bcudaError_t\s+(?:CUDARTAPI\s+|CUDARTAPI_CDECL\s+)?(cuda\w+)\s*\(", text))


def main() -> None:
    include = pathlib.Path(sys.argv[1])
    types = without_comments((include / "driver_types.h").read_text())
    more = [without_comments((include / name).read_text())
            for name in ("texture_types.h", "surface_types.h", "library_types.h")]
    enums_page = ROOT / "host_cuda/language/runtime_enums.inc"
    enums_page.write_text(f"""// SPDX-License-Identifier: MIT
// The enumerations of CUDA's runtime and the members of cudaDeviceProp. Written by lab/api/names.py.

struct CUuuid_st {{
  char bytes[16];
}};
using cudaUUID_t = CUuuid_st;
using CUuuid = CUuuid_st;

{chr(10).join(enum for text in (types, *more) for enum in enums(text))}
using cudaError_t = cudaError;

// A member that means nothing on a CPU is 0.
struct cudaDeviceProp {{
{wrapped(properties(types), end=";")}
}};
""")
    library = ctypes.CDLL(str(next(include.resolve().parent.rglob("libcudart.so"))))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    errors = re.search(r"enum cudaError \{(.*?)\}", enums_page.read_text(), re.S).group(1)
    lines = [f'WEFT_ERROR({name}, "{library.cudaGetErrorString(int(code)).decode()}")\n'
             for name, code in re.findall(r"(\w+) = (\d+)", errors)]
    (ROOT / "host_cuda/language/runtime_errors.inc").write_text(
        "// SPDX-License-Identifier: MIT\n// What cudaGetErrorString says of each error. Written by lab/api/names.py.\n" + "".join(lines))
    hidden = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in MACROS)
    shown = "".join(f'#pragma pop_macro("{name}")\n' for name in MACROS)
    for name, what, text in (("hidden", "Takes a program's macros of these names away until macros_shown.inc.", hidden),
                             ("shown", "Gives a program its macros back that macros_hidden.inc has taken away.", shown)):
        (ROOT / f"host_cuda/language/macros_{name}.inc").write_text(
            f"// SPDX-License-Identifier: MIT\n// {what}\n// Written by lab/api/names.py.\n{text}")
    declared = set()
    for folder in ("host_cuda/language", "host_cuda/include", "lab/api", "lab/runtime"):
        for header in (ROOT / folder).glob("*.h"):
            declared |= set(re.findall(r"\b(cuda\w+)\(", header.read_text()))
    api = functions(without_comments((include / "cuda_runtime_api.h").read_text())) | set(OLD_FUNCTIONS)
    missing = sorted(name for name in api if name not in declared and not name.endswith(("_ptsz", "_ptds")))
    (ROOT / "lab/runtime/missing.inc").write_text(
        "// Functions of CUDA's runtime that the lab does not have. Written by lab/api/names.py.\n" +
        "".join(f"WEFT_MISSING({name})\n" for name in missing))
    print(f"{len(missing)} functions are missing, of {len(api)}")


if __name__ == "__main__":
    main()
