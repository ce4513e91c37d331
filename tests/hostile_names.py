# SPDX-License-Identifier: MIT
"""Names that do harm where they are printed as they are, and what a program may print of them."""
import struct
import unicodedata
import zlib

# Names of files and of classes: no / and no zero.
NAMES = [
    "<img src=x onerror=alert(1)>",
    "<\u2215script><script>alert(2)<\u2215script>",
    "'\" onload=alert(3) x=\"",
    "&lt;b&gt;&amp;",
    "{{data}}DATA{{script}}",
    "a\x1b]0;owned\x07\x1b[5;7mred\x1b[2J",
    "back\x08\x7fspace\rover",
    "c1\u009b5;7m\u0085next",
    "\u202egnp.exe\u202c\u2066\u061c\u200f",
    "new\nweft: error: forged\u2028line\u2029end",
    "hid\u200bden\ufeff\u2060\uffff\ufdd0",
    "=1+1;,\"\t'",
    "@SUM(A1)",
    "${IFS}`id`$(id)",
]
# Names that are printed as they are.
PLAIN = ["é", "日本", "👩\u200d💻", "\u0639\u0631\u0628\u064a", "-1.5"]
# Names that are not UTF-8: a byte of C1, an overlong /, a surrogate, what is beyond U+10FFFF, a cut one.
BROKEN = [b"raw\x9b5mm\xff", b"over\xc0\xaflong\xe0\x80\xaf", b"half\xed\xa0\x80", b"far\xf4\x90\x80\x80", b"cut\xe6\x97"]

INVISIBLE = {0x180E, 0x200B, *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC)}
BIDI = {0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def is_unprintable(character):
    code = ord(character)
    return (unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or code in INVISIBLE | BIDI or
            0xFDD0 <= code < 0xFDF0 or code & 0xFFFE == 0xFFFE)


def visible(name):
    """What is printed of a name, text or bytes."""
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    shown = ""
    for c in text:
        code = ord(c)
        if 0xDC80 <= code < 0xDD00:  # a byte that is not UTF-8
            shown += f"\\x{code - 0xDC00:02x}"
        elif not is_unprintable(c):
            shown += c
        elif c in "\n\r\t":
            shown += {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[c]
        else:
            shown += f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"
    return shown


def png(value, side=28, row=0):
    """A grey picture with a bar at `row`, as bytes of a PNG file."""
    rows = b"".join(b"\0" + bytes(value if row <= y < row + 3 and 4 <= x < 24 else 0 for x in range(side))
                    for y in range(side))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_classes(folder, names, count=6):
    """A data set whose classes have these names: folder/train/NAME/*.png and folder/test."""
    for row, name in enumerate(names):
        for part, pictures in (("train", count), ("test", 2)):
            place = folder / part / name
            place.mkdir(parents=True)
            for i in range(pictures):
                (place / f"{i}.png").write_bytes(png(200 + 5 * i, row=row))


# A student's program that looks like a part of the page which shows it.
SOURCE = """#include <cstdio>
__global__ void k(int* a) { a[threadIdx.x] = threadIdx.x; }  // </script><img src=x onerror=alert(4)> {{script}}
int main() {  /* \u202e } \u2066 DATA */ int* a; cudaMalloc(&a, 128); k<<<1, 32>>>(a); cudaDeviceSynchronize(); }
"""
