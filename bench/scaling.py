#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Strong and weak scaling of training and n-body over the devices of a machine: `weft bench scaling`.

    bench/scaling.py --weft build/cuda/weft --devices 2 --out bench/results/scaling-h200x2.json

Weak scaling keeps the images of a step on each device; efficiency is the rate on N devices over N times the rate
on one. Strong scaling keeps the images of a step on all devices together; efficiency is the time on one device
over N times the time on N. A run is one `weft train` process and its ranks; the time of an epoch is the one that
it reports for training alone, and the median over its epochs is taken. n-body is timed by `weft nbody`.

scaling_model.py predicts more devices from these measurements, and tells what every measurement should have been.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import scaling_model
from machine import machine, write_result

HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    model: str
    rows: int  # images of a step: on each device (weak), or on all of them (strong)
    precision: str
    parameters: int

    def name(self):
        return f"{self.model} {self.precision}"


CUDA_CASES = [Case("convnet", 2048, "fp32", 1199882), Case("convnet", 256, "fp32", 1199882),
              Case("convnet", 2048, "bf16", 1199882), Case("lenet5", 256, "fp32", 61706),
              Case("mlp", 1024, "fp32", 669706)]
CPU_CASES = [Case("lenet5", 128, "fp32", 61706), Case("mlp", 256, "fp32", 669706)]


def train_flags(case, rows, epochs):
    """Of `weft`, as the page shows them."""
    return ["train", "--model", case.model, "--batch-size", rows, "--precision", case.precision, "--epochs", epochs]


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory()
        self.runs = 0

    def weft(self, *words):
        command = [str(self.options.weft), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def out(self):
        self.runs += 1
        return f"{self.folder.name}/{self.runs}"

    def devices(self, count):
        """The flags for so many devices."""
        return ["--device", self.options.device] + (["--devices", count] if count > 1 else [])

    def step(self, case, count, rows):
        """The median seconds of a step with `rows` images on all devices together: their part of an epoch."""
        lines = self.weft(*train_flags(case, rows, self.options.epochs), "--progress", "off", "--json", "--out", self.out(),
                          *self.devices(count), *(["--reduction", self.options.reduction] if count > 1 else []))
        epoch = statistics.median(line["seconds"] for line in lines if line["event"] == "epoch")
        return epoch * rows / lines[0]["train_images"]

    def links(self, count):
        return [line for line in
                self.weft("bench", "links", "--json", *self.devices(count), "--reduction", self.options.reduction)]

    def nbody(self, count, bodies, kernel):
        lines = self.weft("nbody", "--bodies", bodies, "--steps", self.options.steps, "--samples", 1, "--frames", 0,
                          "--impl", kernel, "--json", "--out", self.out(), *self.devices(count))
        return 1 / lines[-1]["steps_per_second"]


def counts(most):
    """1, 2, 4, ... and the number of devices itself."""
    found = [2 ** i for i in range(20) if 2 ** i < most]
    return found + [most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--devices", type=int, default=2, help="at most")
    parser.add_argument("--epochs", type=int, default=12, help="of each run")
    parser.add_argument("--bodies", type=int, default=1048576, help="of n-body; 0: leave it out")
    parser.add_argument("--steps", type=int, default=20, help="of n-body")
    parser.add_argument("--reduction", default="automatic")
    parser.add_argument("--no-yardsticks", action="store_true", help="leave PyTorch out")
    parser.add_argument("--out", type=pathlib.Path, help="write every measurement")
    options = parser.parse_args()
    bench = Bench(options)
    is_gpu = options.device == "cuda"
    command = " ".join(map(str, ["weft", *train_flags(Case("MODEL", 0, "PRECISION", 0), "IMAGES", options.epochs)]))
    result = {"machine": machine(), "command": command, "devices": options.devices, "reduction": options.reduction,
              "links": {}, "training": [], "nbody": [], "yardsticks": []}
    many = [count for count in counts(options.devices) if count > 1]
    for count in many:
        result["links"][str(count)] = bench.links(count)
    if many:
        print(f"all-reduce, {result['links'][str(many[0])][0]['how']}")
        print(f"{'bytes':>12} " + " ".join(f"{f'{count} devices':>14}" for count in many))
        for rows in zip(*(result["links"][str(count)] for count in many)):
            print(f"{rows[0]['bytes']:>12} " + " ".join(f"{1e6 * row['seconds']:>11.1f} us" for row in rows))

    print(f"\n{'training':<16} {'images':>8} {'devices':>8} {'step':>10} {'efficiency':>11} {'in sums':>8}")
    for case in CUDA_CASES if is_gpu else CPU_CASES:
        for kind in ("weak", "strong"):
            alone = {}  # seconds of a step on one device, by its rows
            for count in counts(options.devices):
                rows = case.rows * count if kind == "weak" else case.rows
                each = rows // count
                if each not in alone:
                    alone[each] = bench.step(case, 1, each)
                step = alone[each] if count == 1 else bench.step(case, count, rows)
                base = alone[each] if kind == "weak" else alone[case.rows] / count
                entry = {"model": case.model, "precision": case.precision, "kind": kind, "devices": count,
                         "rows": rows, "gradient_bytes": 4 * case.parameters, "step_seconds": step, "efficiency": base / step,
                         "share_in_communication": max(0.0, 1 - alone[each] / step)}
                result["training"].append(entry)
                print(f"{case.name():<16} {rows:>8} {count:>8} {1e6 * step:>7.1f} us {entry['efficiency']:>11.3f} "
                      f"{entry['share_in_communication']:>8.3f}  {kind}",
                      flush=True)
    if options.bodies and is_gpu:
        print(f"\n{'n-body':<16} {'bodies':>8} {'devices':>8} {'step':>10} {'efficiency':>11}")
        for kernel in ("register_tiled", "pair_symmetric"):
            one = None
            for count in counts(options.devices):
                seconds = bench.nbody(count, options.bodies, kernel)
                one = one or seconds
                result["nbody"].append({"kernel": kernel, "bodies": options.bodies, "devices": count,
                                        "step_seconds": seconds, "efficiency": one / seconds / count})
                print(f"{kernel:<16} {options.bodies:>8} {count:>8} {1e3 * seconds:>7.2f} ms "
                      f"{one / seconds / count:>11.3f}", flush=True)
    if many and is_gpu and not options.no_yardsticks:
        print(f"\n{'PyTorch DDP':<16} {'images':>8} {'devices':>8} {'step':>10} {'efficiency':>11}")
        for precision in sorted({case.precision for case in CUDA_CASES}):
            runs = ",".join(f"{case.model}:{case.rows}" for case in CUDA_CASES if case.precision == precision)
            done = subprocess.run([sys.executable, HERE / "pytorch/ddp.py", "--devices", str(options.devices), "--runs",
                                   runs, "--precision", precision], capture_output=True, text=True)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode != 0:
                print(f"no yardstick: {done.stderr.strip().splitlines()[-1:]}")
            one = {(line["model"], line["batch_per_device"]): line["images_per_second"] for line in lines if line["devices"] == 1}
            for line in lines:
                rate = one[line["model"], line["batch_per_device"]]
                line["efficiency"] = line["images_per_second"] / rate / line["devices"]
                result["yardsticks"].append(line)
                print(f"{line['model'] + ' ' + precision:<16} {line['batch_per_device'] * line['devices']:>8} "
                      f"{line['devices']:>8} {1e6 * line['step_seconds']:>7.1f} us {line['efficiency']:>11.3f}")
    if many:
        waiting = scaling_model.waiting_of(result)
        print(f"\nthe model, which lets nothing overlap; waiting for the slowest device costs {100 * waiting:.1f} %")
        for row in result["training"]:
            if row["devices"] > 1:
                print(f"{row['model'] + ' ' + row['precision']:<16} {row['rows']:>8} {row['devices']:>8} devices, "
                      f"{row['kind']}: {row['efficiency']:.3f}, predicted "
                      f"{scaling_model.predicted(row, result['links'], waiting):.3f}")
        for row, count, efficiency in scaling_model.more_devices(result):
            print(f"{row['model'] + ' ' + row['precision']:<16} {row['rows'] // row['devices']:>8} a device, {count} "
                  f"devices with such links: {efficiency:.3f}")
    if options.out:
        write_result(options.out, result)


if __name__ == "__main__":
    main()
