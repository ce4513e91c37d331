#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/ncu_counts.py reads ncu's output and host-cuda's, and compares them. The output of ncu below is made up: it
has the form of `ncu --csv --page raw` and numbers chosen for the test. No GPU has counted them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import ncu_counts  # noqa: E402

LOADS, SECTORS = (ncu_counts.GLOBAL.format(what, "ld") for what in ("requests", "sectors"))
MADE_UP = f'''==PROF== Connected to process 1
{{"event":"measurement","problem":"64 floats"}}
"ID","Kernel Name","Grid Size","{LOADS}","{SECTORS}","smsp__inst_executed.sum"
"","","","","sector","inst"
"0","add_kernel","(2, 1, 1)","1,000","4,000","9000"
"1","add_kernel","(2, 1, 1)","1,000","4,000","9000"
"2","void weft::<unnamed>::other<float>(float *)","(1, 1, 1)","5","n/a","1"
'''


def event(requests, sectors):
    return {"kernels": [{"kernel": "add_kernel<float, weft::Sum<float> >", "launches": 1,
                         "lines": [{"access": "global load", "requests": requests, "transactions": sectors}],
                         "branches": [{"divergent": 3}]}]}


class NcuCounts(unittest.TestCase):
    theirs = ncu_counts.counts_of_ncu(MADE_UP)

    def compared(self, requests, sectors):
        return ncu_counts.compare(ncu_counts.counts_of_weft(event(requests, sectors)), self.theirs)

    def test_sums_the_launches_of_a_kernel(self):
        self.assertEqual(self.theirs["add_kernel"],
                         {"launches": 2, LOADS: 2000, SECTORS: 8000, "smsp__inst_executed.sum": 18000})
        self.assertEqual(self.theirs["other"], {"launches": 1, LOADS: 5, "smsp__inst_executed.sum": 1})

    def test_compares_one_launch_with_one(self):
        numbers, worst = self.compared(1000, 4000)
        self.assertEqual(numbers["global load sectors"], [4000, 4000])
        self.assertEqual(numbers["divergent branches"], [3, 0])
        self.assertEqual(worst, 0)

    def test_finds_the_largest_difference(self):
        self.assertAlmostEqual(self.compared(1000, 5000)[1], 0.2)
        self.assertAlmostEqual(self.compared(500, 4000)[1], 0.5)

    def test_names_a_kernel_that_ncu_did_not_see(self):
        with self.assertRaisesRegex(ValueError, "ncu has no kernel add_kernel"):
            ncu_counts.compare(ncu_counts.counts_of_weft(event(1, 1)), {"other": self.theirs["other"]})

    def test_a_rung_that_both_put_elsewhere_is_found(self):
        def rung(ours, gpu):
            return {"global load sectors": [ours, gpu]}
        self.assertTrue(ncu_counts.orders_agree([rung(100, 90), rung(200, 210), rung(105, 85)]))
        self.assertFalse(ncu_counts.orders_agree([rung(100, 200), rung(200, 100)]))


if __name__ == "__main__":
    unittest.main()
