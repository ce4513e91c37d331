#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/ncu_counts.py reads ncu's output and host-cuda's, and compares them. The output of ncu below is made up: it
has the form of `ncu --csv --page raw` and numbers chosen for the test. No GPU has counted them."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
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
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench/results/counts-h200.json"


def load(requests, sectors):
    return {"access": "global load", "requests": requests, "transactions": sectors, "line": "a.cu:1"}


def event(*lines):
    return {"kernels": [{"kernel": "add_kernel<float, weft::Sum<float> >", "launches": 1, "lines": list(lines),
                         "branches": [{"divergent": 3}]}]}


class NcuCounts(unittest.TestCase):
    theirs = ncu_counts.counts_of_ncu(MADE_UP)

    def compared(self, requests, sectors):
        ours = ncu_counts.counts_of_weft(event(load(requests, sectors)))
        return ncu_counts.compare(ours, ncu_counts.sums_of_gpu(ours, self.theirs, METRICS))

    def test_sums_the_launches_of_a_kernel(self):
        self.assertEqual(self.theirs["add_kernel"],
                         {"launches": 2, LOADS: 2000, SECTORS: 8000, "smsp__inst_executed": 18000})
        self.assertEqual(self.theirs["other"], {"launches": 1, LOADS: 5, "smsp__inst_executed": 1})

    def test_compares_one_launch_with_one(self):
        found = self.compared(1000, 4000)
        self.assertEqual(found["numbers"]["global load sectors"], [4000, 4000])
        self.assertEqual((found["worst"], found["agrees"], found["wide_loads"]), (0, True, False))

    def test_finds_the_largest_difference(self):
        self.assertAlmostEqual(self.compared(1000, 5000)["worst"], 0.2)
        self.assertAlmostEqual(self.compared(500, 4000)["worst"], 0.5)
        self.assertFalse(self.compared(500, 4000)["agrees"])

    def test_wide_loads_count_where_the_gpu_has_executed_as_few(self):
        line = {"access": "shared load", "requests": 400, "transactions": 400, "wide_requests": 100,
                "wide_transactions": 200, "line": "a.cu:1"}
        ours = ncu_counts.counts_of_weft(event(line))
        for executed, wide, passes in ((100, True, 200), (400, False, 400), (300, False, 400), (120, True, 200)):
            found = ncu_counts.compare(ours, {"shared load wavefronts": 200, "shared load instructions": executed})
            self.assertEqual(found["wide_loads"], wide)
            self.assertEqual(found["numbers"]["shared load wavefronts"], [passes, 200])
            self.assertEqual(found["agrees"], wide)

    def test_an_asynchronous_copy_is_no_store(self):
        path = ncu_counts.machine.ROOT / "kernels/device/async_copy.cuh"
        number = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "host_cuda::async_copy(" in text)
        place = {"line": f"kernels/device/async_copy.cuh:{number}, called at a.cu:2"}
        store = {"access": "shared store", "requests": 8, "transactions": 8, "line": "a.cu:3"}
        copied = [store | place | {"requests": 5}, load(4, 16) | place]
        sums = ncu_counts.counts_of_weft(event(store, *copied))["add_kernel"]
        self.assertEqual((sums["shared store wavefronts"], sums["requests of cp.async"], sums["global load sectors"]),
                         (8, 4, 16))

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
        ours = ncu_counts.counts_of_weft(event(load(1, 1)))
        with self.assertRaisesRegex(ValueError, "ncu has no kernel add_kernel"):
            ncu_counts.sums_of_gpu(ours, {"other": self.theirs["other"]}, METRICS)

    def test_a_rung_that_both_put_elsewhere_is_found(self):
        def rung(ours, gpu):
            return {"global load sectors": [ours, gpu]}
        self.assertTrue(ncu_counts.orders_agree([rung(100, 90), rung(200, 210), rung(105, 85)]))
        self.assertFalse(ncu_counts.orders_agree([rung(100, 200), rung(200, 100)]))

    def test_the_committed_comparison_says_what_its_numbers_say(self):
        result = json.loads(RESULTS.read_text())
        for name, rung in result["rungs"].items():
            if "error" in rung:
                continue
            apart = max(abs(a - b) / max(a, b, 1) for number, (a, b) in rung["numbers"].items()
                        if number in ncu_counts.COMPARED)
            self.assertEqual(rung["agrees"], apart <= ncu_counts.TOLERANCE, name)
        apart = [name for name, rung in result["rungs"].items() if not rung["agrees"]]
        self.assertEqual(result["agreeing"], len(result["rungs"]) - len(apart))
        self.assertEqual([name for name in apart if name not in ncu_counts.REASONS], [])
        self.assertEqual(RESULTS.with_suffix(".md").read_text(), ncu_counts.table(result))


if __name__ == "__main__":
    unittest.main()
