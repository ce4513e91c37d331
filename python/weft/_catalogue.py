# SPDX-License-Identifier: MIT
"""The ladders of kernels: listed, shown, run and watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _core, _errors

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


class Run(NamedTuple):
    """What a kernel did."""

    kernel: str  #: "scan/brent_kung"
    result: Any  #: what its function returned; None for a problem of its own
    problem: str  #: "16384 floats, inclusive sum", or the shapes of the arrays
    counts: list[dict[str, Any]]  #: of each CUDA kernel, when they were asked for

    @property
    def lines(self) -> NDArray[Any]:
        """The counts of every line that accesses memory, as a structured array of NumPy.

        Fields: kernel, line, access, and the counts requests, lanes, transactions, least.
        """
        import numpy

        numbers = ("requests", "lanes", "transactions", "least")
        rows = [
            (one["kernel"], row["line"], row["access"], *(row[name] for name in numbers))
            for one in self.counts
            for row in one["lines"]
        ]
        texts = [max([1, *(len(row[i]) for row in rows)]) for i in range(3)]
        fields: list[Any] = [
            (name, f"U{texts[i]}") for i, name in enumerate(("kernel", "line", "access"))
        ]
        return numpy.array(rows, fields + [(name, "i8") for name in numbers])

    def __repr__(self) -> str:
        text = f"{self.kernel} on {self.problem}: right, and no thread broke a rule"
        if self.result is not None:
            text = f"{self.kernel} on {self.problem}"
        return "\n".join([text, *(_count_lines(self.counts))])

    def _repr_html_(self) -> str:
        rows = [
            [row["line"], row["access"], row["requests"], f"{row['lanes'] / row['requests']:.1f}",
             f"{row['transactions'] / row['requests']:.1f}", f"{row['least'] / row['requests']:.1f}"]
            for kernel in self.counts
            for row in kernel["lines"]
            if row["requests"] > 0
        ]
        head = ["line", "access", "requests", "lanes", "transactions", "at best"]
        return f"<p>{_core.html_text(repr(self).splitlines()[0])}</p>" + (_table(head, rows) if rows else "")


class Timing(NamedTuple):
    """How long a kernel takes."""

    kernel: str  #: "scan/brent_kung"
    problem: str  #: as of Run
    device: str  #: "cpu" or "cuda:0"
    seconds: float  #: of one call: the median
    p10: float  #: seconds; a tenth of the samples took less
    p90: float  #: seconds; a tenth of the samples took more
    samples: int

    def __repr__(self) -> str:
        return (
            f"{self.kernel} on {self.problem}, {self.device}: {_time(self.seconds)} "
            f"({_time(self.p10)} to {_time(self.p90)}, {self.samples} samples)"
        )


class Page:
    """A page of HTML on which a kernel is stepped through. A notebook shows it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, to be opened in a browser."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"<weft.Page of {len(self.html)} bytes; save(path) writes it>"

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html)}" width="100%" height="760" '
            'style="border:1px solid #ccc"></iframe>'
        )


class Kernel(NamedTuple):
    """One rung of a ladder: all that its row says of it."""

    family: str
    name: str
    operation: str  #: what it is a version of, "box_blur"; empty where the family has one operation
    function: str  #: that calls it with arrays, where weft has it
    summary: str  #: what this rung changes
    prefer: str  #: when to take it
    needs: str  #: conditions on the shape, for a reader
    on_cpu: bool
    on_cuda: bool
    on_host_cuda: bool
    compute_capability: int  #: the least: 80 for sm_80; 0 for any that Weft supports

    @property
    def path(self) -> str:
        """FAMILY/NAME, as weft.kernel() takes it."""
        return f"{self.family}/{self.name}"

    def __repr__(self) -> str:
        return f"<weft.Kernel {self.path}: {self.summary}>"

    def _repr_html_(self) -> str:
        return f"<b>{_core.html_text(self.path)}</b>: {_core.html_text(self.summary)}. Runs on {_where(self)}."

    def show(self, *, size: int | str | None = None, gpu: str = "h200") -> None:
        """Prints what it does, what it needs, and what bounds it on a GPU, from public figures."""
        from weft import _program

        print(_program.run("kernel", "show", self.path, "--gpu", gpu, *_size(size)), end="")

    def run(
        self,
        *arrays: Any,
        device: str | None = None,
        size: int | str | None = None,
        counts: bool = False,
        schedules: int = 4,
        without_barrier: str = "",
        function: str | None = None,
        **options: Any,
    ) -> Run:
        """Runs it on your arrays, or on a problem of its own that the oracle checks.

        `arrays` and `options` are those of the family's function; `function` names another one, as
        "avg_pool2d". device: None is where the arrays are, and "host-cuda" checks every access; there
        `counts` counts transactions, bank conflicts and branches, and each grid runs in `schedules`
        orders of its threads. without_barrier: as in weft.host_cuda.run. Without arrays it runs on host-cuda, on random data of `size`.
        A race, or a result that is wrong, raises CheckError.
        """
        if not arrays:
            return self._run_alone(size, counts)
        call = self._function(function)
        options["variant"] = self.name
        problem = _shapes(arrays)
        if device == "host-cuda":
            from weft import host_cuda

            checked = getattr(host_cuda, call)
            result, counted = host_cuda.run(
                lambda: checked(*arrays, **options),
                counts=counts,
                schedules=schedules,
                without_barrier=without_barrier,
            )
            return Run(self.path, result, problem, counted)
        if device is not None or counts or without_barrier:
            raise _errors.UsageError(
                f"{self.path}: device is {device!r}, expected None, where the arrays are, or "
                "'host-cuda', which counts and without_barrier need"
            )
        return Run(self.path, getattr(_core, call)(*arrays, **options), problem, [])

    def watch(self, other: str | None = None, *, size: int | str | None = None) -> Page:
        """A page on which it runs step by step, warp by warp; beside `other`, a FAMILY/NAME."""
        import tempfile
        from pathlib import Path

        from weft import _program

        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            names = [self.path] if other is None else [self.path, other]
            _program.run("kernel", "watch", *names, "--out", str(page), *_size(size))
            return Page(page.read_text(encoding="utf-8"))

    def bench(
        self,
        *arrays: Any,
        size: int | str | None = None,
        seconds: float = 0.2,
        function: str | None = None,
        **options: Any,
    ) -> Timing:
        """Times it on your arrays, or on a problem of its own on the CPU.

        `arrays`, `function` and `options` are as in run(). A call with arrays is timed from Python,
        so a few microseconds are Python's; on a GPU calls are queued, and the time is the mean of a
        queue of them. seconds: how long it is tried. Without arrays the time is that of
        `weft kernel run`, on random data of `size`.
        """
        if not arrays:
            return self._bench_alone(size)
        call = getattr(_core, self._function(function))
        options["variant"] = self.name
        device, times = _times(lambda: call(*arrays, **options), arrays[0], seconds)
        return Timing(self.path, _shapes(arrays), device, *_spread(times), len(times))

    def _bench_alone(self, size: int | str | None) -> Timing:
        import json

        from weft import _program

        line = _program.run(
            "kernel", "run", self.path, "--device", "cpu", "--check", "--json", *_size(size)
        )
        row = json.loads(line)
        times = (row["seconds"], row["seconds_p10"], row["seconds_p90"])
        return Timing(self.path, row["problem"], row["device"], *times, row["samples"])

    def _function(self, name: str | None) -> str:
        known = name or self.function
        if not known or not hasattr(_core, known):
            raise _errors.UsageError(
                f"{self.path}: there is no function {name!r}"
                if name
                else f"{self.path} takes no arrays; run() without any runs a problem of its own"
            )
        return known

    def _run_alone(self, size: int | str | None, counts: bool) -> Run:
        import json

        from weft import _program

        flags = ["--device", "host-cuda", "--check"] if not counts else ["--counts"]
        command = "show" if counts else "run"
        line = _program.run("kernel", command, self.path, *flags, "--json", *_size(size))
        event = json.loads(line)
        if not event["ok"]:
            raise _errors.CheckError(f"{self.path} disagrees with the oracle on {event['problem']}")
        return Run(self.path, None, event["problem"], event.get("kernels", []))


class Catalogue(list[Kernel]):
    """Every rung of every ladder, in teaching order."""

    def __repr__(self) -> str:
        return "\n".join(f"{one.path:<40} {one.summary} ({_where(one)})" for one in self)

    def _repr_html_(self) -> str:
        rows = [[one.path, one.summary, _where(one)] for one in self]
        return _table(["kernel", "what it changes", "runs on"], rows)


def catalogue(family: str | None = None) -> Catalogue:
    """Every rung, or those of one family."""
    rungs = Catalogue(
        Kernel(**row)
        for name, _, rows in _core.families()
        for row in rows
        if family in (None, name)
    )
    if not rungs:
        names = ", ".join(name for name, _, _ in _core.families())
        raise _errors.UsageError(f"unknown kernel family {family!r}; there are {names}")
    return rungs


def kernel(path: str) -> Kernel:
    """One rung by its name: "scan/brent_kung"."""
    family, _, name = path.partition("/")
    rungs = catalogue(family)
    for one in rungs:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in rungs)
    raise _errors.UsageError(f"no kernel {path!r}; the rungs of {family} are {names}")


def _shapes(arrays: Iterable[Any]) -> str:
    return ", ".join(str(tuple(array.shape)) for array in arrays if hasattr(array, "shape"))


def _times(call: Callable[[], object], array: Any, seconds: float) -> tuple[str, list[float]]:
    """Where a call runs, and seconds of one call: samples of as many calls as take 1 ms."""
    from time import perf_counter

    calls, times = 1, list[float]()
    device = _core.synchronize(array)
    call()
    _core.synchronize(array)
    end = perf_counter() + seconds
    while perf_counter() < end or not times:
        begin = perf_counter()
        for _ in range(calls):
            call()
        _core.synchronize(array)
        took = perf_counter() - begin
        if took < 1e-3 and not times and calls < 1 << 20:
            calls *= 2  # too short to be timed
            continue
        times.append(took / calls)
    return device, times


def _spread(times: list[float]) -> tuple[float, float, float]:
    """The median, and what a tenth of the times are below and above."""
    order = sorted(times)
    last = len(order) - 1
    return order[last // 2], order[last // 10], order[last - last // 10]


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _size(size: int | str | None) -> list[str]:
    return [] if size is None else ["--size", str(size)]


def _where(one: Kernel) -> str:
    gpu = f"sm_{one.compute_capability}" if one.compute_capability else "GPU"
    places = [("CPU", one.on_cpu), (gpu, one.on_cuda), ("host-cuda", one.on_host_cuda)]
    return ", ".join(name for name, there in places if there)


def _count_lines(counts: Iterable[dict[str, Any]]) -> list[str]:
    lines = []
    for one in counts:
        lines.append(
            f"{one['kernel']}: {one['blocks']} blocks, {one['threads']} threads, "
            f"{one['barriers']} barriers of a block, {one['divergent_warps']} of {one['warps']} "
            "warps divergent"
        )
        for row in one["lines"]:
            lines.append(
                f"  {row['access']:<14} {row['requests']:>8} requests {row['transactions']:>9} "
                f"transactions, {row['least']:>9} at best  {row['line']}"
            )
    return lines


def _table(head: list[str], rows: list[list[Any]]) -> str:
    def line(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_core.html_text(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"
