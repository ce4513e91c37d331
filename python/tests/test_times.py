# SPDX-License-Identifier: MIT
"""What a call and an import cost, in time of the processor: other programs may use the machine too."""

import subprocess
import sys
import time

import numpy as np
import weft


def test_the_import_takes_milliseconds():
    code = "import time; a = time.process_time(); import weft; print(time.process_time() - a)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        for _ in range(5)
    ]
    assert min(seconds) < 0.120  # below 0.060 on an idle machine


def test_a_call_takes_microseconds_more_than_in_cpp():
    x, a = np.ones(8, np.float32), np.ones((8, 8), np.float32)
    # In C++ these take 0.2 to 0.6 us.
    for work in (lambda: weft.activation(x), lambda: weft.scan(x), lambda: weft.gemm(a, a)):
        best = float("inf")
        for _ in range(60):  # some are undisturbed
            begin = time.thread_time()
            for _ in range(200):
                work()
            best = min(best, (time.thread_time() - begin) / 200)
        assert best < 10e-6  # below 5.2e-6 on an idle machine
