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
"ID","Kernel Name","Grid Size","{LOADS}.sum","{SECTORS}.sum","smsp__inst_executed.sum"
"","","","","sector","inst"
"0","add_kernel","(2, 1, 1)","1,000","4,000","9000"
"1","add_kernel","(2, 1, 1)","1,000","4,000","9000"
"2","void weft::<unnamed>::other<float>(float *)","(1, 1, 1)","5","n/a","1"
'''
METRICS = {"global load requests": [LOADS], "global load sectors": [SECTORS], "instructions": ["smsp__inst_executed"]}


def event(requests, sectors):
    return {"kernels": [{"kernel": "add_kernel<float, weft::Sum<float> >", "launches": 1,
                         "lines": [{"access": "global load", "requests": requests, "transactions": sectors}],
                         "branches": [{"divergent": 3}]}]}


class NcuCounts(unittest.TestCase):
    theirs = ncu_counts.counts_of_ncu(MADE_UP)

    def compared(self, requests, sectors):
        return ncu_counts.compare(ncu_counts.counts_of_weft(event(requests, sectors)), self.theirs, METRICS)

    def test_sums_the_launches_of_a_kernel(self):
        self.assertEqual(self.theirs["add_kernel"],
                         {"launches": 2, LOADS: 2000, SECTORS: 8000, "smsp__inst_executed": 18000})
        self.assertEqual(self.theirs["other"], {"launches": 1, LOADS: 5, "smsp__inst_executed": 1})

    def test_compares_one_launch_with_one(self):
        numbers, worst = self.compared(1000, 4000)
        self.assertEqual(numbers["global load sectors"], [4000, 4000])
        self.assertEqual(numbers["instructions"], [0, 9000])
        self.assertEqual(worst, 0)

    def test_finds_the_largest_difference(self):
        self.assertAlmostEqual(self.compared(1000, 5000)[1], 0.2)
        self.assertAlmostEqual(self.compared(500, 4000)[1], 0.5)

    def test_takes_the_metrics_that_the_gpu_has(self):
        text = f"{LOADS}  Counter  request  of loads\n{ncu_counts.WAVEFRONTS[1].format('ld')}  Counter\n\n"
        self.assertEqual(ncu_counts.metrics_of(["global load requests", "global load sectors", "shared load wavefronts"],
                                               text),
                         {"global load requests": [LOADS],
                          "shared load wavefronts": [ncu_counts.WAVEFRONTS[1].format("ld")]})

    def test_a_command_that_does_not_end_is_stopped(self):
        with self.assertRaisesRegex(ValueError, "took more than 0.2 s"):
            ncu_counts.run(["sleep", "60"], 0.2)
        with self.assertRaisesRegex(ValueError, "ERROR no counters"):
            ncu_counts.run(["sh", "-c", "echo ==ERROR no counters; exit 1"], 5)

    def test_names_a_kernel_that_ncu_did_not_see(self):
        with self.assertRaisesRegex(ValueError, "ncu has no kernel add_kernel"):
            ncu_counts.compare(ncu_counts.counts_of_weft(event(1, 1)), {"other": self.theirs["other"]}, METRICS)

    def test_a_rung_that_both_put_elsewhere_is_found(self):
        def rung(ours, gpu):
            return {"global load sectors": [ours, gpu]}
        self.assertTrue(ncu_counts.orders_agree([rung(100, 90), rung(200, 210), rung(105, 85)]))
        self.assertFalse(ncu_counts.orders_agree([rung(100, 200), rung(200, 100)]))


if __name__ == "__main__":
    unittest.main()
