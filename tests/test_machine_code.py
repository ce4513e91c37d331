#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""machine_code.py notices rows that compute in another arithmetic than they say, and loads that the assembler has
moved in front of a wait. Needs no GPU and no tools."""
import unittest

import machine_code

HMMA = "        /*4960*/                   HMMA.1684.F32.TF32 R48, R32.reuse, R79, R48 ;   /* 0x0000004f2030723c */"
HGMMA = "        /*11a0*/              @!UP0 HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24, gsb0 ;  /* 0x */"
LOAD = "        /*0a60*/              @!P1 LDG.E.CONSTANT R56, desc[UR6][R10.64] ;    /* 0x000000060a389981 */"
PLAIN = "        /*0a60*/              @!P1 LDG.E.64 R56, desc[UR6][R10.64] ;          /* 0x000000060a389981 */"
WAIT = "        /*0a40*/                   ACQBULK ;                                   /* 0x000000000000782e */"
FFMA = "        /*04b0*/                   FFMA R7, R2, R4, R7 ;                           /* 0x000000040207723 */"
KERNEL = "_ZN4weft45_GLOBAL__N__90d7b8e1_12_wmma_tf32_cu_1f050ed916gemm_wmma_kernelILb0EEEvPf"
REBUILT = "_ZN4weft45_GLOBAL__N__0badcafe_12_wmma_tf32_cu_12345678" + KERNEL[KERNEL.index("16gemm"):]


def row(computes_in, symbol=KERNEL, **more):
    return {"event": "measurement", "family": "gemm", "variant": "wmma_tf32", "problem": "64 x 64 x 64",
            "yardstick": False, "computes_in": computes_in, "kernels": [{"kernel": "k", "symbol": symbol}], **more}


class MachineCode(unittest.TestCase):
    types = {machine_code.same_in_every_build(KERNEL): {"TF32"}, "plain": set()}

    def wrong(self, *rows):
        return machine_code.misnamed_rows(rows, self.types)[0]

    def test_reads_the_type_of_a_product(self):
        self.assertEqual([machine_code.tensor_core_type(line) for line in (HMMA, HGMMA, FFMA)], ["TF32", "BF16", None])

    def test_a_symbol_is_the_same_in_another_build(self):
        self.assertNotEqual(KERNEL, REBUILT)
        self.assertEqual(machine_code.same_in_every_build(KERNEL), machine_code.same_in_every_build(REBUILT))

    def test_right_rows_pass(self):
        self.assertEqual(self.wrong(row("tf32"), row("tf32x3", REBUILT), row("fp32", "plain")), [])

    def test_wrong_rows_are_named(self):
        self.assertIn("said to compute in fp32", self.wrong(row("fp32"))[0])
        self.assertIn("no kernel of it does", self.wrong(row("bf16"))[0])
        self.assertIn("no kernel of it does", self.wrong(row("tf32", "plain"))[0])
        self.assertIn("this build has no", self.wrong(row("fp32", "other"))[0])

    def test_nothing_looked_at_is_no_success(self):
        self.assertIn("nothing was looked at", self.wrong(row("tf32", yardstick=True), {"event": "machine"})[0])

    def test_follows_includes(self):
        self.assertTrue(machine_code.includes("kernels/gemm/rungs/hopper/cluster_tf32.cu", "kernels/device/overlap.cuh"))
        self.assertFalse(machine_code.includes("kernels/gemm/rungs/naive.cu", "kernels/device/overlap.cuh"))

    def moved(self, *functions):
        lines = [line for i, body in enumerate(functions) for line in (f"\t\tFunction : kernel{i}", *body)]
        return machine_code.moved_loads([("x.o", "90a", line) for line in lines], {"x.o": "x.cu"})

    def test_a_load_of_a_constant_in_front_of_the_wait_is_named(self):
        wrong, waiting = self.moved([WAIT, LOAD], [FFMA, LOAD, WAIT], [LOAD], [PLAIN, WAIT, LOAD, WAIT])
        self.assertEqual(waiting, 3)
        self.assertEqual(len(wrong), 1)
        self.assertIn("1 loads of constants precede the wait of kernel1", wrong[0])


if __name__ == "__main__":
    unittest.main()
