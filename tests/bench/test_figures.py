#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures come from one place: pages and the program's table agree, and prose carries no number that a table contradicts."""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import kernel_tables  # noqa: E402
import measured_rungs  # noqa: E402
import update_readme  # noqa: E402
import scaling_tables  # noqa: E402
import train  # noqa: E402
import update_readme  # noqa: E402

BARE = re.compile(r"\b(?:takes|reaches) (\d+\.\d+)(?! ?(?:[TGMK]?B|TB/s|GB/s|TFLOP/s|GFLOP/s|µs|us|ms|s|%|times|x)\b)(?![\d.]*\d)")
WEFT = sys.argv.pop() if len(sys.argv) > 1 else None  # the program
UNITS = {"TB/s": 1e12, "GB/s": 1e9, "TFLOP/s": 1e12, "GFLOP/s": 1e9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3}
QUANTITY = re.compile(r"(\d+(?:\.\d+)?) (TB/s|GB/s|TFLOP/s|GFLOP/s|µs|us|ms)\b")
GENERATED = re.compile(r"<!-- (\w+): begin.*?<!-- \1: end -->", re.S)
# A sentence with one of these says itself that its number is of no table: computed, or of another kernel or program.
OF_NO_TABLE = re.compile(r"\b(trial|profile|on paper|computed|at most|at best|at least|bound|would|takes? of the bytes|commit|"
                         r"at the speed of|instead of|needs|limit|budget|Little's law|took)\b")


def kind(unit):
    return "rate" if unit.endswith("/s") else "time"


def quantities(text):
    """[(value, unit, how far a rounded one may be off, as written)]"""
    return [(float(number) * UNITS[unit], kind(unit), 0.51 * 10.0 ** -len(number.partition(".")[2]) * UNITS[unit],
             f"{number} {unit}") for number, unit in QUANTITY.findall(text)]


def sentences(page):
    """Of the prose alone: no code, no tables, nothing that is generated."""
    text = re.sub(r"^```.*?^```$", "", GENERATED.sub("\n\n", page), flags=re.M | re.S)
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("    ", "|")))
    for paragraph in re.split(r"\n\s*\n|\n- ", text):
        yield from re.split(r"(?<=[.?!:;]) ", " ".join(paragraph.split()))


def contradictions(page, tables, subjects):
    """Sentences about one of the subjects with a quantity that no cell of the tables has, to the digits it is given with."""
    known = quantities(tables)
    for sentence in sentences(page):
        if not re.search(subjects, sentence) or OF_NO_TABLE.search(sentence):
            continue
        for value, what, rounding, written in quantities(sentence):
            if not any(what == other and abs(value - at) <= rounding + off for at, other, off, _ in known):
                yield f"{written}: {sentence}"
        for number in BARE.findall(sentence):
            if not any(written.startswith(f"{number} ") for *_, written in known):
                yield f"{number}, without a unit: {sentence}"


def results():
    return [kernel_tables.Results(path, CATALOGUE) for path in update_readme.KERNELS]


# As `weft kernel list --json` has it, as far as tables need it: the rungs that were measured, in the order of their rows.
def catalogue():
    rungs = {}
    for path in update_readme.KERNELS:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row["event"] == "measurement" and not row["yardstick"] and row.get("rung", row["variant"]) == row["variant"]:
                rungs.setdefault((row["family"], row["variant"]), None)
    return [{"family": family, "variant": name, "on_cuda": True} for family, name in rungs]


CATALOGUE = catalogue()


def program_table():
    lines = (ROOT / "measure/measured_rungs.inc").read_text().splitlines()
    return [json.loads(f"[{line.removeprefix('{').removesuffix('},')}]") for line in lines if line.startswith("{")]


class OneSource(unittest.TestCase):
    def test_the_program_has_the_gain_of_the_readme(self):
        first = {}
        for family, rung, problem, gpu, commit, seconds, rate, share, gain, before, *_ in program_table():
            first.setdefault((family, rung), gain)
        compared = 0
        for family in kernel_tables.LADDERS:
            folder = kernel_tables.FOLDERS.get(family, family)
            page = (ROOT / "kernels" / folder / "README.md").read_text()
            table = GENERATED.search(page).group(0)
            gains = re.findall(r"^\| `(\w+)` \|[^|]*\| (\d+\.\d\d) x \|", table, flags=re.M)
            for rung, gain in dict(reversed(gains)).items():
                if (family, rung) not in first:  # another way to call a rung, which `show` does not tell of
                    continue
                self.assertEqual(first[family, rung], float(gain), f"{family}/{rung}")
                compared += 1
        self.assertGreater(compared, 60)

    @unittest.skipUnless(WEFT, "no program was named")
    def test_show_and_watch_print_them(self):
        gains = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (\d+\.\d\d) x \|", (ROOT / "kernels/gemm/README.md").read_text(),
                                flags=re.M))
        for rung in ("naive", "tiled", "operand_reuse", "tf32x3", "wgmma_tf32x3", "wgmma_bf16"):
            shown = subprocess.run([WEFT, "kernel", "show", f"gemm/{rung}", "--size", "64", "--gpu", "a40"], check=True,
                                   capture_output=True, text=True).stdout
            self.assertIn(f"{gains[rung]} times as fast as", " ".join(shown.split()))
        if not (pathlib.Path(WEFT).parent / "weft-host-cuda").exists():
            return
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.html"
            subprocess.run([WEFT, "kernel", "watch", "gemm/tiled", "--size", "32", "--out", page], check=True, capture_output=True)
            self.assertIn(f"{gains['tiled']} times as fast as tiled_32", page.read_text())
            newest, *others = [path.stem.removeprefix("kernels-").upper() for path in update_readme.KERNELS]
            self.assertIn(newest, page.read_text())
            for other in others:
                self.assertNotIn(other, page.read_text())

    def test_a_gain_is_over_a_rung_of_the_same_accuracy(self):
        for family, rung, *_, before, _, _, _, _ in program_table():
            if before and family == "gemm":
                ending = {name: next((e for e in ("bf16", "tf32") if name.endswith(e)), "fp32") for name in (rung, before)}
                self.assertEqual(ending[rung], ending[before], f"{rung} over {before}")

    def test_every_gpu_that_was_measured_is_in_the_program(self):
        gpus = {fields[3] for fields in program_table()}
        machines = {measured_rungs.gpu_of(one.machine) for one in results()}
        self.assertEqual(gpus, machines)
        self.assertGreaterEqual(len(gpus), 2)
        self.assertEqual(measured_rungs.gpu_of({"name": "NVIDIA H100 PCIe"}), "h100-pcie")

    def test_no_share_of_a_bound_is_above_one(self):
        for fields in program_table():
            self.assertLessEqual(fields[7], 1, fields[:2])
        for page in [*(ROOT / "bench/results").glob("*.md"), *(ROOT / "kernels").rglob("README.md")]:
            for share in re.findall(r"\| (\d+\.\d) % \|", page.read_text()):
                self.assertLessEqual(float(share), 100, page)
        self.assertEqual(kernel_tables.share_of({"share_of_bound": 2.6}), "")
        self.assertEqual(kernel_tables.share_of({"share_of_bound": 0.5}), "50.0 %")


class Prose(unittest.TestCase):
    TABLE = "<!-- measured: begin -->\n| `fast` | 2.65 TB/s | 10.7 µs |\n<!-- measured: end -->\n"

    def test_a_number_that_a_table_has_not_is_found(self):
        self.assertEqual(list(contradictions("`fast` reaches 3.50 TB/s.", self.TABLE, "`fast`")),
                         ["3.50 TB/s: `fast` reaches 3.50 TB/s."])
        for right in ("`fast` reaches 2.65 TB/s.", "`fast` takes 11 µs.", "`fast` takes 10.7 µs.", "A trial of `fast` took 3 µs.",
                      "Memory moves 3.50 TB/s.", "`fast` takes 10.7 there."):
            self.assertEqual(list(contradictions(right, self.TABLE, "`fast`")), [], right)
        self.assertEqual(len(list(contradictions("`fast` takes 10.9 µs.", self.TABLE, "`fast`"))), 1)
        self.assertEqual(len(list(contradictions("`fast` takes 9.1.", self.TABLE, "`fast`"))), 1, "without its unit")
        self.assertEqual(list(contradictions(self.TABLE, self.TABLE, "`fast`")), [])

    def test_no_page_of_a_family_contradicts_its_tables(self):
        wrong, looked_at = [], 0
        training = (ROOT / "bench/README.md").read_text()
        for family in dict.fromkeys(row["family"] for row in CATALOGUE):
            path = ROOT / "kernels" / kernel_tables.FOLDERS.get(family, family) / "README.md"
            page = path.read_text()
            whole = ROOT / f"bench/results/{family}.md"
            tables = "".join(match.group(0) for match in GENERATED.finditer(page + training))
            tables += whole.read_text() if whole.exists() else ""
            names = "|".join(row["variant"] for row in CATALOGUE if row["family"] == family)
            wrong += [f"{path.relative_to(ROOT)}: {text}"
                      for text in contradictions(page, tables, rf"`({names})`|\bIt reaches\b|[Aa]n epoch")]
            looked_at += 1
        self.assertGreater(looked_at, 15)
        self.assertEqual(wrong, [])

    def test_accuracies_of_the_page_of_recipes_are_in_a_table(self):
        tables, looked_at = (ROOT / "bench/README.md").read_text(), 0
        for sentence in sentences((ROOT / "models/README.md").read_text()):
            if "reach" in sentence and not re.search(r"held|raised", sentence):
                for accuracy in re.findall(r"\d\d\.\d\d %", sentence):
                    looked_at += 1
                    self.assertIn(f"| {accuracy} |", tables, sentence)
        self.assertGreater(looked_at, 3)

    def test_python_s_page_and_the_changelog_agree_on_what_ran_on_a_gpu(self):
        page, changes = (ROOT / "python/README.md").read_text(), " ".join((ROOT / "CHANGELOG.md").read_text().split())
        ran = re.search(r"Its tests ran with arrays of ([\w, ]+?) on an? (\w+)\.", changes)
        self.assertEqual(ran is None, "not run" in page)
        if ran:
            self.assertIn(f"ran with arrays of {ran[1]} on an {ran[2]}", " ".join(page.split()))

    def test_the_examples_have_the_sizes_that_the_readme_says(self):
        least, most = map(int, re.search(r"a program of (\d+) to (\d+) lines", (ROOT / "README.md").read_text()).groups())
        for path in (ROOT / "examples/library").glob("*.c*"):
            if path.suffix in (".cpp", ".cu") and path.name != "main.cpp":  # which they share
                self.assertTrue(least <= len(path.read_text().splitlines()) <= most, path.name)


class Training(unittest.TestCase):
    def row(self, **more):
        return {"model": "resnet9", "batch": 512, "epochs": 3, "seeds": 2, "precision": "bf16", "fuse": True, "recipe": "",
                "dataset": "shapes", "images": 50000, "lr": 0.05, "test_accuracy": [0.4, 0.5], "accuracy_mean": 0.45,
                "accuracy_min": 0.4} | more

    def test_a_run_has_no_flag_that_its_row_does_not_show(self):
        """A stand-in for `weft` keeps its arguments, and prints what a run prints."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "weft"
            program.write_text(f'''#!/bin/sh
echo "$*" >{program}.arguments
dataset=mnist
for word; do case $word in shapes) dataset=shapes ;; esac; done
echo '{{"event": "start", "model": "lenet5", "dataset": "'$dataset'", "epochs": 1, "batch_size": 64, "precision": "fp32",' \\
  '"lr": 0.1, "label_smoothing": 0, "train_images": 57000}}'
echo '{{"event": "epoch", "seconds": 0.5}}'
echo '{{"event": "end", "test_accuracy": 0.99}}'
''')
            program.chmod(0o755)
            for run in train.RUNS["cpu"] + train.RUNS["cuda"]:
                row = train.measure(str(program), "cpu", 0, 1, run, 2)
                asked = (program.parent / "weft.arguments").read_text().split()
                own = ["--seed", "2", "--device", "cpu", "--json", "--progress", "off", "--out"]
                self.assertEqual(" ".join(["weft", *asked[:-len(own) - 1]]), row["command"])
                self.assertEqual(asked[-len(own) - 1:-1], own)
                self.assertAlmostEqual(row["accuracy_deviation"], 0)
                self.assertEqual(row["epoch_seconds_interval"], (0.5, 0.5))
            row = train.measure(str(program), "cuda", 0, 4, train.RUNS["cuda"][0], 13)
            self.assertEqual((len(row["test_accuracy"]), row["timed_seeds"], len(row["process_seconds"])), (13, 10, 10))
            scaled = __import__("scaling").train_flags(__import__("scaling").CPU_CASES[0], 128, 12)
            self.assertNotIn("--calibration-split", scaled)

    def test_what_an_installed_script_imports_is_installed(self):
        installed = set(re.findall(r"bench/(\w+)\.py", (ROOT / "cmake/install.cmake").read_text()))
        self.assertIn("train", installed)
        for name in installed:
            for other in re.findall(r"^(?:import|from) (\w+)", (ROOT / f"bench/{name}.py").read_text(), flags=re.M):
                if (ROOT / f"bench/{other}.py").exists():
                    self.assertIn(other, installed, f"{name}.py imports it")

    def test_there_are_seeds_enough(self):
        for run in train.RUNS["cpu"] + train.RUNS["cuda"]:
            self.assertGreaterEqual(run.seeds, 100 if run.recipe == "fast" else 10)

    def test_a_table_has_the_command_and_the_spread(self):
        self.assertEqual(update_readme.accuracy_text(self.row()), f"45.00 % | {100 * statistics.stdev([0.4, 0.5]):.2f} | 40.00 %")
        self.assertEqual(update_readme.arguments_of(self.row()),
                         "`--model resnet9 --epochs 3 --batch-size 512 --dataset shapes --precision bf16 --limit-train 50000` "
                         "(rate 0.05)")
        page = (ROOT / "bench/README.md").read_text()
        for path in (ROOT / "bench/results").glob("train-*.json"):
            for row in json.loads(path.read_text())["rows"] if "recipes" not in path.name else []:
                self.assertIn(f"| {update_readme.arguments_of(row)} | {row['seeds']} | {update_readme.accuracy_text(row)} |", page)

    def test_a_flag_that_was_hidden_is_named(self):
        tables = re.findall(r"commit (\w+), [-\d]+(.*?):$", (ROOT / "bench/README.md").read_text(), flags=re.M)
        hidden = {commit for commit, more in tables if "--calibration-split 0" in more}
        self.assertTrue({"ddf583b", "29384d6"} <= hidden)
        self.assertTrue({commit for commit, _ in tables} - hidden, "no newer run")


class Scaling(unittest.TestCase):
    def test_what_became_faster_since_is_left_out(self):
        paths = sorted((ROOT / "bench/results").glob("scaling-*.json"))
        page = scaling_tables.page(paths)
        self.assertNotRegex(page, r"(?m)^\| mlp")
        self.assertIn("mlp, fp32", page)
        self.assertRegex(page, r"(?m)^\| lenet5")


if __name__ == "__main__":
    unittest.main()
