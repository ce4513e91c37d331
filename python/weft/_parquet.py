# SPDX-License-Identifier: MIT
"""Parquet files of images, as Hugging Face has them, as an archive that the engine reads.

pyarrow reads them. The archive lies in the cache of decoded pictures, so a run can be resumed.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import pathlib
import re
import zipfile
from typing import TYPE_CHECKING, Any

from weft import _core, _errors

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMAGES = ("image", "img", "picture", "pixels", "x")
_LABELS = ("label", "labels", "class", "target", "fine_label", "y")
_SETS = {"train": "train", "test": "test", "val": "val", "valid": "val", "validation": "val", "dev": "val"}
_ENDINGS = ((b"\xff\xd8", "jpg"), (b"GIF8", "gif"), (b"BM", "bmp"), (b"RIFF", "webp"))


def readable(data: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """`data`, or where it is a Parquet file or a folder of these, the archive that has its images."""
    if isinstance(data, str) and (not data or data in _core.dataset_names()):
        return data  # an empty name is refused by the engine, and is not the working directory
    path = pathlib.Path(data)
    if path.suffix == ".parquet":
        files = [path]
    elif path.is_dir():
        files = sorted(path.rglob("*.parquet"))
    else:
        return data
    if not files or not path.exists():
        return data
    return _archive_of(path, files)


def _archive_of(path: pathlib.Path, files: list[pathlib.Path]) -> pathlib.Path:
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise _errors.UsageError(f"{path} is Parquet, which pyarrow reads: pip install pyarrow") from None
    states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = hashlib.sha256(json.dumps(states).encode()).hexdigest()[:32]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "weft")
    archive = cache / f"parquet-{key}" / f"{path.stem or 'data'}.zip"  # the data set is called so
    if archive.exists():
        return archive
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f"parquet-{key}.{os.getpid()}.part"
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as out:
            arrays: dict[str, list[Any]] = {}
            for number, file in enumerate(files):
                try:
                    _write(out, arrays, number, file, parquet.ParquetFile(file), _set_of(path, file))
                except _errors.DataError:
                    raise
                except (OSError, pyarrow.ArrowException) as error:
                    line = str(error).partition("\n")[0]
                    raise _errors.DataError(f"{file}: {line}") from None
            for name, rows in arrays.items():
                _write_array(out, name, rows)
        archive.parent.mkdir(exist_ok=True)
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)
    return archive


def _set_of(path: pathlib.Path, file: pathlib.Path) -> str | None:
    """The set that the name of the file or of a folder tells, as `train-00000-of-00001.parquet` does."""
    parts = file.relative_to(path).parts if path.is_dir() else (file.name,)
    for word in (word for part in reversed(parts) for word in re.split(r"[^a-z]+", part.lower())):
        if word in _SETS:
            return _SETS[word]
    return None


def _write(
    out: zipfile.ZipFile,
    arrays: dict[str, list[Any]],
    number: int,
    file: pathlib.Path,
    table: Any,
    set_name: str | None,
) -> None:
    """Pictures by class, or a table of numbers, in the forms that docs/own-data.md has.

    Pictures as lists of numbers go to `arrays`, by the names of the files that they become.
    """
    types: Any = importlib.import_module("pyarrow.types")
    schema = table.schema_arrow
    names = list(schema.names)
    image = next((name for name in _IMAGES if name in names), None)
    label = next((name for name in _LABELS if name in names), None)
    kind = schema.field(image).type if image else None
    if image is None or types.is_integer(kind) or types.is_floating(kind):
        return _write_table(out, number, table, set_name)
    if label is None:
        raise _errors.DataError(f"{file}: no column is called {', '.join(_LABELS)}; it has {', '.join(names)}")
    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        columns = table.read(columns=[image, label])
        for name, column in (("x", image), ("y", label)):
            rows = arrays.setdefault(f"{name}_{set_name or 'train'}.npy", [])
            rows += columns.column(column).to_pylist()
        return None
    classes = _class_names(schema, label)
    folder = f"{set_name}/" if set_name else ""
    for row, picture, value in _rows(table, image, label):
        content = picture.get("bytes") if isinstance(picture, dict) else picture
        if not isinstance(content, bytes):
            raise _errors.DataError(f"{file}: row {row} has no picture in its column {image}")
        if value is None:
            raise _errors.DataError(f"{file}: row {row} has no label")
        named = classes is not None and isinstance(value, int) and 0 <= value < len(classes)
        name = str(classes[value] if classes is not None and named else value).replace("/", "_")
        ending = next((ending for first, ending in _ENDINGS if content.startswith(first)), "png")
        out.writestr(f"{folder}{name}/{number}_{row}.{ending}", content)
    return None


def _rows(table: Any, image: str, label: str) -> Iterator[tuple[int, Any, Any]]:
    row = 0
    for batch in table.iter_batches(batch_size=256, columns=[image, label]):
        for picture, value in zip(batch.column(image).to_pylist(), batch.column(label).to_pylist()):
            yield row, picture, value
            row += 1


def _class_names(schema: Any, label: str) -> list[str] | None:
    """The names of the labels, which Hugging Face writes beside the columns."""
    text = (schema.metadata or {}).get(b"huggingface")
    try:
        names = json.loads(text)["info"]["features"][label]["names"] if text else None
    except (ValueError, KeyError, TypeError):
        return None
    return [str(name) for name in names] if isinstance(names, list) else None


def _write_table(out: zipfile.ZipFile, number: int, table: Any, set_name: str | None) -> None:
    csv: Any = importlib.import_module("pyarrow.csv")
    with out.open(f"{set_name or 'data'}_{number}.csv", "w", force_zip64=True) as file:
        with csv.CSVWriter(file, table.schema_arrow) as writer:
            for batch in table.iter_batches(batch_size=1024):
                writer.write_batch(batch)


def _write_array(out: zipfile.ZipFile, name: str, rows: list[Any]) -> None:
    import numpy

    buffer = io.BytesIO()
    try:
        numpy.save(buffer, numpy.array(rows), allow_pickle=False)
    except ValueError as error:  # rows of several lengths
        raise _errors.DataError(f"{name[0]}: {error}") from None
    out.writestr(name, buffer.getvalue())
