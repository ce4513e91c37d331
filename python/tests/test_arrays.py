# SPDX-License-Identifier: MIT
"""What arrays a call takes, what it says of others, and that it keeps none of them."""

import array
import ctypes
import os
import resource
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
import weft
from numpy.testing import assert_array_equal

F = np.float32


def test_buffers_are_used_in_place():
    x = array.array("f", [1, 2, 3])
    assert_array_equal(weft.scan(x), [1, 3, 6])
    memory = (ctypes.c_float * 3)(1, 2, 3)
    assert weft.scan(memory, out=memory) is memory
    assert list(memory) == [1, 3, 6]
    read_only = np.ones(4, F)
    read_only.flags.writeable = False
    assert weft.reduce(read_only) == 4


def test_out_is_returned():
    a, out = np.eye(3, dtype=F), np.full((3, 3), np.nan, F)
    assert weft.gemm(a, a, out=out) is out
    assert_array_equal(out, a)


@pytest.mark.parametrize("on", [weft, weft.host_cuda])
@pytest.mark.parametrize(
    "call,words",
    [
        (lambda m: m.gemm(np.ones((2, 3), F), np.ones((2, 3), F)), r"a \(2, 3\) and b \(2, 3\)"),
        (lambda m: m.gemm(np.ones((2, 3), F), np.ones((3, 4), F), np.ones(3, F)),
         r"bias has shape \(3,\), expected \(4,\)"),
        (lambda m: m.gemm(np.ones(3, F), np.ones((3, 4), F)), r"a has shape \(3,\), expected 2 axes"),
        (lambda m: m.gemm(np.ones((2, 2), F), np.ones((2, 2), F), out=np.ones((2, 3), F)),
         r"out has shape \(2, 3\), expected \(2, 2\)"),
        (lambda m: m.gemm(np.ones((2, 6), F)[:, ::2], np.ones((3, 2), F)),
         r"a of shape \(2, 3\) is not contiguous: its strides are \(6, 2\)"),
        (lambda m: m.scan(np.ones(8, F)[::-1]), "not contiguous"),
        (lambda m: m.gemm(np.ones((3, 2), F).T, np.ones((3, 2), F)), "not contiguous"),
        (lambda m: m.scan(np.frombuffer(b"x" * 9, np.uint8)[1:].view(F)), "not aligned"),
        (lambda m: m.scan(np.ones(3, F), "summ"), "did you mean 'sum'"),
        (lambda m: m.scan(np.ones(3, F), variant="brent"), "brent_kung"),
        (lambda m: m.gemm(np.ones((1, 1), F), np.ones((1, 1), F), mode="fp8"), "mode"),
        (lambda m: m.conv2d(np.ones((1, 2, 5, 5), F), np.ones((1, 3, 3, 3), F)),
         r"x \(1, 2, 5, 5\) has 2 channels and w \(1, 3, 3, 3\) has 3"),
        (lambda m: m.conv2d(np.ones((1, 1, 2, 2), F), np.ones((1, 1, 3, 3), F)), "larger than x"),
        (lambda m: m.conv2d(np.ones((1, 1, 2, 2), F), np.ones((1, 1, 1, 1), F), stride=0), "stride"),
        (lambda m: m.max_pool2d(np.ones((1, 1, 4, 4), F), 2, padding=2), "half of the window"),
        (lambda m: m.nbody_accelerations(np.ones((2, 3), F)), r"\(2, 3\), expected \(n, 4\)"),
        (lambda m: m.histogram(np.ones(3, F), bins=0), "bins is 0"),
        (lambda m: m.gather_batch(np.ones((3, 2, 2), np.uint8), np.ones(3, np.int32), 4), "rows is 4"),
    ],
)
def test_wrong_arguments(on, call, words):
    with pytest.raises(ValueError, match=words) as raised:
        call(on)
    assert "\n" not in str(raised.value)


def test_unaligned_elements():
    memory = np.zeros(17, np.uint8)
    start = 1 if memory.ctypes.data % 4 == 0 else 0
    shifted = memory[start : start + 16].view(F) if start else memory[1:17].view(F)
    with pytest.raises(ValueError, match="not aligned"):
        weft.scan(shifted)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.gemm(np.ones((2, 3)), np.ones((3, 2), F)),
        lambda: weft.scan(np.ones(3, np.complex64)),
        lambda: weft.scan([1.0, 2.0]),
        lambda: weft.scan(np.array(["a"])),
        lambda: weft.scan(np.ones(3, F), out=[1, 2, 3]),
        lambda: weft.softmax_cross_entropy(np.ones((2, 3), F), np.zeros(2, np.int64)),
    ],
)
def test_wrong_types(call):
    with pytest.raises(TypeError):
        call()


def test_a_wrong_dtype_is_named():
    with pytest.raises(TypeError, match=r"gemm: a is float64 \(2, 3\), expected float32"):
        weft.gemm(np.ones((2, 3)), np.ones((3, 2), F))


def test_out_may_not_overlap_an_input():
    a = np.ones((4, 4), F)
    with pytest.raises(ValueError, match="out overlaps a"):
        weft.gemm(a, np.ones((4, 4), F), out=a)
    x = np.ones(8, F)
    assert_array_equal(weft.scan(x, out=x), np.arange(1, 9))
    with pytest.raises(ValueError, match="out overlaps x"):
        weft.scan(x[:4], out=x[1:5])
    read_only = np.ones(3, F)
    read_only.flags.writeable = False
    with pytest.raises(TypeError, match="writable"):
        weft.scan(np.ones(3, F), out=read_only)


def test_results_outlive_their_call():
    kept = [weft.scan(np.full(100, i, F)) for i in range(50)]
    assert [int(one[-1]) for one in kept] == [100 * i for i in range(50)]


def test_ten_thousand_calls_leak_nothing():
    a, x = np.ones((32, 32), F), np.ones(4096, F)

    def calls(count: int) -> None:
        for _ in range(count):
            weft.gemm(a, a)
            weft.scan(x)
            weft.histogram(x)
            weft.max_pool2d(a.reshape(1, 1, 32, 32))
            try:
                weft.gemm(a, x)
            except ValueError:
                pass

    calls(500)
    tracemalloc.start()
    before_python = tracemalloc.get_traced_memory()[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(2000)  # of five calls each
    after_python = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert after_python - before_python < 100_000
    assert grown < 4000, f"{grown} KiB"  # one leaked 16 KiB result a call would be 32,000


def test_threads_call_at_once(rng):
    x = rng.integers(-9, 9, 200_000).astype(np.int32)
    expected, failures = np.cumsum(x), []

    def work(module):
        for _ in range(10):
            if not np.array_equal(module.scan(x[:2000]), expected[:2000]):
                failures.append(module)
            if not np.array_equal(weft.scan(x), expected):
                failures.append(module)

    threads = [threading.Thread(target=work, args=(m,)) for m in [weft, weft.host_cuda] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads) and not failures


def test_the_gil_is_released():
    a = np.ones((1500, 1500), F)
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = ticks[0]
    for _ in range(3):
        weft.gemm(a, a)
    during = ticks[0] - before
    stop.set()
    other.join()
    assert during > 1000


FORKED = """
import os, signal, sys, threading
import numpy as np
import weft
a = np.ones((400, 400), 'f4')
x = np.ones(64, 'f4')
expected = weft.gemm(a, a)
weft.host_cuda.scan(x)
child = os.fork()
if child == 0:
    right = np.array_equal(weft.gemm(a, a), expected) and weft.host_cuda.scan(x)[-1] == 64
    os._exit(0 if right else 1)
signal.alarm(60)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(weft.gemm(a, a), expected)
# In the midst of a grid of another thread.
big = np.ones((256, 256), 'f4')
started = threading.Event()
def work():
    started.set()
    weft.host_cuda.gemm(big, big, variant='naive')
thread = threading.Thread(target=work)
thread.start()
started.wait()
import time
time.sleep(0.3)
assert thread.is_alive()
child = os.fork()
if child == 0:
    try:
        weft.host_cuda.scan(x)
    except weft.DeviceError as error:
        os._exit(0 if 'spawn' in str(error) and weft.scan(x)[-1] == 64 else 2)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
print('done')
"""


def test_a_fork_does_not_hang():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "4"})
    assert done.stdout == "done\n", done.stderr


def test_docstrings_list_the_rungs():
    doc = weft.scan.__doc__
    for rung in weft.catalogue("scan"):
        assert f"{rung.name}: {rung.summary}" in doc


def test_timing():
    x = np.ones(1000, F)
    timing = weft.kernel("memory/vector_add_vectorized").bench(x, x, seconds=0.02)
    assert timing.device == "cpu" and timing.problem == "(1000,), (1000,)"
    assert 0 < timing.p10 <= timing.seconds <= timing.p90 < 0.1 and timing.samples >= 1
    assert "memory/vector_add_vectorized" in repr(timing)
    alone = weft.kernel("scan/sequential").bench(size=100_000)
    assert alone.device == "cpu" and alone.seconds > 0 and "100000" in alone.problem
