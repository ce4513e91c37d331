# SPDX-License-Identifier: MIT
"""The page bench/results/scaling.md, from what `weft bench scaling` measured (bench/results/scaling-*.json)."""
import json

import scaling_model


def microseconds(value):
    return f"{1e6 * value:.1f} us" if value < 1e-3 else f"{1e3 * value:.2f} ms"


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] + \
           ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def yardstick_of(result, row):
    """DDP's efficiency for the same network, images on each device and number of devices."""
    found = [y for y in result["yardsticks"] if (y["model"], y["precision"], y["devices"], y["batch_per_device"]) ==
             (row["model"], row["precision"], row["devices"], row["rows"] // row["devices"])]
    return f"{found[0]['efficiency']:.3f}, {microseconds(found[0]['step_seconds'])}" if found else "-"


FASTER = 0.8  # times as long as then: more than other batches and the noise of a day


def faster_since(result, trainings):
    """{(model, precision): (seconds an image on one device here, and as measured later)} of what takes less than FASTER of it
    in a training run of a later date, at the batch that is nearest."""
    found = {}
    for row in result["training"]:
        key = row["model"], row["precision"]
        if row["kind"] != "weak" or key in found:
            continue
        own = row["step_seconds"] * row["efficiency"] / (row["rows"] / row["devices"])
        later = [(abs(other["batch"] - row["rows"] / row["devices"]), other["epoch_seconds_median"] /
                  other.get("train_images", 60000)) for training in trainings for other in training["rows"]
                 if training["device"] == "cuda" and training["machine"]["date"] > result["machine"]["date"]
                 and (other["model"], other["precision"]) == key and other.get("fuse", True) and not other.get("recipe")]
        if later and min(later)[1] < FASTER * own:
            found[key] = own, min(later)[1]
    return found


def section(result, trainings):
    machine = result["machine"]
    faster = faster_since(result, trainings)
    result = result | {"training": [row for row in result["training"] if (row["model"], row["precision"]) not in faster],
                       "yardsticks": [row for row in result["yardsticks"] if (row["model"], row["precision"]) not in faster]}
    waiting = scaling_model.waiting_of(result)
    peer = next((f"PyTorch {y['torch']} with NCCL {y['nccl']} is the yardstick. " for y in result["yardsticks"]), "")
    lines = [f"## {result['devices']} x {machine['gpu']}", "",
             f"CUDA {machine['cuda']}, driver {machine['driver']}, commit {machine['commit']}, "
             f"{machine['date']}. {peer}NVLink multicast is off.", "",
             "### The sum of an array over the devices", "",
             f"`weft bench links`: {next(iter(result['links'].values()))[0]['how']}. 246,824 bytes are LeNet-5's gradients.", ""]
    if faster:
        lines += ["Left out, because training on one device became faster since: " + "; ".join(
            f"{model}, {precision} (an image took {1e9 * own:.0f} ns, and takes {1e9 * now:.0f})"
            for (model, precision), (own, now) in faster.items()) + ". They wait to be measured again.", ""]
    counts = list(result["links"])
    lines += table(["bytes", *(f"{count} devices" for count in counts)],
                   [[f"{rows[0]['bytes']:,}", *(microseconds(row["seconds"]) for row in rows)]
                    for rows in zip(*(result["links"][count] for count in counts))])
    for kind, what in (("weak", "the images of a step stay the same on each device"),
                       ("strong", "the images of a step stay the same on all devices together")):
        rows = [row for row in result["training"] if row["kind"] == kind and row["devices"] > 1]
        lines += [f"### Training, {kind} scaling", "", f"Here {what}. Efficiency is 1 where more devices cost nothing.", ""]
        lines += table(["network", "images of a step", "devices", "a step", "efficiency", "predicted",
                        "share in communication", "PyTorch DDP: efficiency, a step"],
                       [[f"{row['model']}, {row['precision']}", row["rows"], row["devices"],
                         microseconds(row["step_seconds"]), f"{row['efficiency']:.3f}",
                         f"{scaling_model.predicted(row, result['links'], waiting):.3f}", f"{row['share_in_communication']:.3f}",
                         yardstick_of(result, row) if kind == "weak" else "-"] for row in rows])
    if result["nbody"]:
        lines += ["### n-body, strong scaling", ""]
        lines += table(["rung", "bodies", "devices", "a step", "efficiency"],
                       [[row["kernel"], f"{row['bodies']:,}", row["devices"], microseconds(row["step_seconds"]),
                         f"{row['efficiency']:.3f}"] for row in result["nbody"]])
    lines += ["### More devices, predicted", "",
              "The model (bench/scaling_model.py) adds the time of a step on one device and that of a sum over links like "
              "those above, and lets nothing overlap. It is corrected by the measurements: waiting for the slowest device "
              f"costs {100 * waiting:.1f} % of a step. It knows no network between machines, and no machine has such links to 64 "
              "devices.", ""]
    lines += table(["network", "images on each device", "devices", "efficiency"],
                   [[f"{row['model']}, {row['precision']}", row["rows"] // row["devices"], count, f"{efficiency:.3f}"]
                    for row, count, efficiency in scaling_model.more_devices(result)])
    errors = [abs(scaling_model.predicted(row, result["links"], waiting) - row["efficiency"])
              for row in result["training"] if row["devices"] > 1]
    lines += [f"Beside the {len(errors)} measurements of this page it is off by {sum(errors) / len(errors):.3f} on average "
              f"and by {max(errors):.3f} at most.", ""]
    return lines


def page(paths):
    trainings = [json.loads(path.read_text()) for path in sorted(paths[0].parent.glob("train-*.json"))] if paths else []
    lines = ["# Scaling over devices", "",
             "What `weft bench scaling` measured (bench/scaling.py). [docs/several-devices.md](../../docs/several-devices.md) "
             "tells how it works.", ""]
    for path in paths:
        result = json.loads(path.read_text())
        lines += section(result, trainings)
    return "\n".join(lines).rstrip() + "\n"
