#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/small_networks.py counts parameters as the program does, and chooses by held-out images, never by test images."""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import small_networks  # noqa: E402

WEFT = sys.argv.pop() if len(sys.argv) > 1 else None


class SmallNetworks(unittest.TestCase):
    def test_parameters_are_those_of_the_program(self):
        rng = random.Random(3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.net"
            for most in (575, 3888, 8900):
                key = small_networks.draw(rng, most)
                path.write_text(small_networks.text_of(*key))
                shown = subprocess.run([WEFT, "inspect", str(path), "--json"], check=True, capture_output=True, text=True).stdout
                self.assertEqual(json.loads(shown)["parameters"], small_networks.parameters_of(*key), path.read_text())
                self.assertLessEqual(small_networks.parameters_of(*key), most)

    def test_what_was_measured_is_built_in(self):
        def layers(text):
            return [line for line in text.splitlines() if line and not line.startswith("#")]

        for line in (ROOT / "bench/results/small-networks-h200.jsonl").read_text().splitlines():
            measured = json.loads(line)
            name = "small-" + measured["network"].split("-")[0]
            shown = subprocess.run([WEFT, "inspect", name, "--definition"], check=True, capture_output=True, text=True).stdout
            self.assertEqual(layers(shown), layers(measured["definition"]))

    def test_held_out_images_decide(self):
        """A stand-in for `weft`: what has more filters in its first layer is better on the held-out images, and worse on the
        test images."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "weft"
            program.write_text(f"""#!/bin/sh
echo "$*" >>{folder}/asked
filters=$(head -n 1 "$3" | cut -d ' ' -f 2)
echo '{{"event": "start"}}'
echo '{{"event": "epoch", "seconds": 0.1, "validation": {{"accuracy": 0.99'$(printf %02d $filters)'}}}}'
echo '{{"event": "end", "test_accuracy": 0.98'$((99 - filters))'}}'
""")
            program.chmod(0o755)
            out = pathlib.Path(folder) / "out"
            done = subprocess.run([sys.executable, small_networks.__file__, "search", "--weft", str(program), "--device", "cpu",
                                   "--goal", "99", "--seconds", "1.5", "--width", "8", "--out", str(out)],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(all("--val-split 0.16667" in line for line in (pathlib.Path(folder) / "asked").read_text().splitlines()))
            sizes = [int(size) for size in re.findall(r"^ *(\d+) +\d", done.stdout, flags=re.M)]
            self.assertEqual(sizes, sorted(sizes), "all reach the goal: the smallest comes first")
            for path in out.glob("*.net"):
                self.assertIn(int(path.stem.split("-")[1]), sizes)


if __name__ == "__main__":
    unittest.main()
