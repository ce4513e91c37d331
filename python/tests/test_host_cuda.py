# SPDX-License-Identifier: MIT
"""Kernels shown, counted, watched and checked on host-cuda."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import weft
from numpy.testing import assert_array_equal

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_catalogue():
    everything = weft.catalogue()
    assert len(everything) > 100
    assert len(weft.catalogue("scan")) == 10
    tiled = weft.kernel("gemm/tiled")
    assert tiled in everything and repr(tiled).startswith("<weft.Kernel gemm/tiled: ")
    assert "gemm/tiled" in everything._repr_html_() and "<b>gemm/tiled</b>" in tiled._repr_html_()
    assert weft.kernel("gemm/wgmma_bf16").on_host_cuda is False


@pytest.mark.parametrize("name", ["gemm/tilde", "gem/tiled", "gemm"])
def test_an_unknown_kernel(name):
    with pytest.raises(ValueError, match="gemm"):
        weft.kernel(name)


def test_counts_of_a_strided_copy():
    x = np.arange(33 * 32, dtype=np.float32)
    dense = weft.kernel("memory/copy_by_stride").run(x[: 4 * 32], device="host-cuda", counts=True)
    spread = weft.kernel("memory/copy_by_stride").run(
        x, stride=8, device="host-cuda", counts=True
    )

    def loads(run):
        rows = [row for kernel in run.counts for row in kernel["lines"]]
        return [row for row in rows if row["access"] == "global load"]

    # 32 floats side by side are 4 sectors of 32 bytes; 8 apart each has a sector of its own.
    assert {row["transactions"] / row["requests"] for row in loads(dense)} == {4.0}
    assert sum(row["transactions"] for row in loads(spread)) == len(x[::8])
    assert "copy_by_stride" in repr(spread) and "global load" in spread._repr_html_()
    assert "kernels/memory/" in loads(spread)[0]["line"]


def test_run_without_arrays_is_checked():
    run = weft.kernel("reduce/interleaved").run(size=1000)
    assert run.problem == "sum of 1000 floats" and run.result is None and run.counts == []
    counted = weft.kernel("reduce/interleaved").run(size=1000, counts=True)
    assert counted.counts[0]["blocks"] > 0


def test_what_no_gpu_instruction_of_here_can_do():
    with pytest.raises(weft.UsageError, match="sm_90"):
        weft.kernel("gemm/wgmma_bf16").run()
    with pytest.raises(weft.UsageError, match="host-cuda"):
        weft.kernel("scan/brent_kung").run(np.ones(3, np.float32), counts=True)
    with pytest.raises(weft.UsageError, match="gpu"):
        weft.kernel("scan/brent_kung").run(np.ones(3, np.float32), device="gpu")


def test_show(capsys):
    weft.kernel("scan/brent_kung").show()
    text = capsys.readouterr().out
    assert "Brent-Kung" in text and "roofline" in text


def test_each_rung_of_the_scan_has_the_bits_of_the_program(tmp_path):
    x = np.random.default_rng(5).uniform(-1, 1, 3001).astype(np.float32)  # sums that are rounded
    np.save(tmp_path / "x.npy", x)
    for rung in weft.catalogue("scan"):
        for device, module, there in [("host-cuda", weft.host_cuda, rung.on_host_cuda),
                                      ("cpu", weft, rung.on_cpu)]:
            if not there:
                continue
            subprocess.run(
                [sys.executable, "-m", "weft", "scan", str(tmp_path / "x.npy"), "--impl", rung.name,
                 "--device", device, "--out", str(tmp_path / "y.npy")], check=True, capture_output=True)
            ours = module.scan(x, variant=rung.name)
            assert_array_equal(np.load(tmp_path / "y.npy"), ours, strict=True)


def test_the_checks_of_the_program_are_those_of_run():
    for path in ("gemm/tiled", "histogram/privatized", "softmax/online", "reduce/single_pass"):
        if weft.kernel(path).on_host_cuda:
            assert "right" in repr(weft.kernel(path).run())


def test_watch(tmp_path):
    page = weft.kernel("scan/kogge_stone").watch("scan/brent_kung", size=200)
    assert page.html.lstrip().lower().startswith("<!doctype html>")
    assert "<iframe srcdoc=" in page._repr_html_()
    page.save(tmp_path / "scans.html")
    assert (tmp_path / "scans.html").read_text() == page.html


def test_a_missing_barrier_is_a_race():
    scan = weft.kernel("scan/kogge_stone")
    x = np.arange(300, dtype=np.float32)
    run = scan.run(x, device="host-cuda", counts=True)
    line = next(row["line"] for kernel in run.counts for row in kernel["lines"])
    file = line.split(":")[0]  # kernels/scan/rungs/kogge_stone.cuh
    assert file.endswith("kernels/scan/rungs/kogge_stone.cuh")
    text = (ROOT / "kernels/scan/rungs/kogge_stone.cuh").read_text().splitlines()
    barriers = [i for i, words in enumerate(text, 1) if "__syncthreads();" in words]
    assert barriers
    for number in barriers:
        with pytest.raises(weft.CheckError, match="race: kernel scan_kogge_stone_kernel"):
            scan.run(x, exclusive=True, device="host-cuda", without_barrier=f"{file}:{number}")
        assert_array_equal(scan.run(x, device="host-cuda").result, np.cumsum(x))
    with pytest.raises(weft.UsageError, match="no thread came"):
        scan.run(x, device="host-cuda", without_barrier=f"{file}:1")


def test_after_a_mistake_the_next_call_works():
    x = np.arange(100, dtype=np.float32)
    for _ in range(3):
        with pytest.raises(ValueError):
            weft.host_cuda.scan(x, variant="nothing")
        assert_array_equal(weft.host_cuda.scan(x), np.cumsum(x))

    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weft.host_cuda.run(fails, counts=True)
    assert_array_equal(weft.host_cuda.scan(x), np.cumsum(x))


def test_ctrl_c_ends_a_long_grid():
    code = (  # a job in the background begins with SIGINT ignored
        "import signal, numpy, weft\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "a = numpy.ones((1024, 1024), 'f4'); print('go', flush=True)\n"
        "weft.host_cuda.gemm(a, a, variant='naive')"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "go\n"
    threading.Timer(1.0, os.kill, (child.pid, signal.SIGINT)).start()
    begin = time.monotonic()
    _, errors = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and time.monotonic() - begin < 20
