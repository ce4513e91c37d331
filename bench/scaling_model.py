# SPDX-License-Identifier: MIT
"""A model of data-parallel training: what an efficiency should be, from what one device and the links take.

    step on n devices = (1 + waiting) * step on one device with the same images + sum of the gradients

The sum's time comes from `weft bench links`: between the sizes that were measured on a line, and for more devices from
a ring over links like those, whose latency grows with its steps and of which each byte crosses 2 (n - 1) / n. Nothing
overlaps. `waiting` corrects the model by the measurements: it is the median share by which steps in weak scaling took
longer than without it, for the devices wait for the slowest one in every step.
"""
import math
import statistics


def fit(links):
    """Latency in seconds and seconds per byte: the line through the smallest and the largest array."""
    small, large = min(links, key=lambda link: link["bytes"]), max(links, key=lambda link: link["bytes"])
    per_byte = (large["seconds"] - small["seconds"]) / (large["bytes"] - small["bytes"])
    return max(0.0, small["seconds"] - per_byte * small["bytes"]), per_byte


def sum_seconds(links, size):
    """Of an array of `size` bytes on the devices of `links`."""
    links = sorted(links, key=lambda link: link["bytes"])
    for below, above in zip(links, links[1:]):
        if below["bytes"] <= size <= above["bytes"]:
            part = (size - below["bytes"]) / (above["bytes"] - below["bytes"])
            return below["seconds"] + part * (above["seconds"] - below["seconds"])
    latency, per_byte = fit(links)
    return latency + per_byte * size


def ring_seconds(size, count, links, measured_on):
    latency, per_byte = fit(links)
    steps = min((count - 1) / (measured_on - 1), 2 * math.log2(count))  # a tree when a ring is too long
    share = ((count - 1) / count) / ((measured_on - 1) / measured_on)
    return latency * steps + per_byte * share * size


def alone_seconds(row):
    """A step on one device with the images that each device has."""
    return row["step_seconds"] * (1 - row["share_in_communication"])


def excess(row, links):
    """By which share of a step on one device this step took longer than the sum explains."""
    alone = alone_seconds(row)
    return (row["step_seconds"] - alone - sum_seconds(links[str(row["devices"])], row["gradient_bytes"])) / alone


def waiting_of(result):
    rows = [row for row in result["training"] if row["kind"] == "weak" and row["devices"] > 1]
    return max(0.0, statistics.median(excess(row, result["links"]) for row in rows)) if rows else 0.0


def predicted(row, links, waiting):
    """The efficiency that the model gives for a row of `training`."""
    alone, base = alone_seconds(row), row["efficiency"] * row["step_seconds"]
    return base / ((1 + waiting) * alone + sum_seconds(links[str(row["devices"])], row["gradient_bytes"]))


def more_devices(result, counts=(8, 64, 1024)):
    """(row, devices, efficiency) in weak scaling on more devices, from the rows on the most devices."""
    measured_on, waiting = result["devices"], waiting_of(result)
    for row in result["training"]:
        if row["kind"] != "weak" or row["devices"] != measured_on or measured_on < 2:
            continue
        alone = alone_seconds(row)
        for count in counts:
            ring = ring_seconds(row["gradient_bytes"], count, result["links"][str(measured_on)], measured_on)
            yield row, count, alone / ((1 + waiting) * alone + ring)
