# SPDX-License-Identifier: MIT
"""What the GPU did while something was measured: NVML, which comes with the driver, read in a thread. measure/machine/gpu_state.h
does the same for kernels."""
import ctypes
import statistics
import threading

REASONS = {0x2: "the clock was set", 0x4: "power limit", 0x8: "hardware slowdown", 0x10: "sync boost",
           0x20: "temperature, by software", 0x40: "temperature, by hardware", 0x80: "power brake", 0x100: "display clock"}
CLOCK_SM, TEMPERATURE_GPU = 1, 0


def text_of(states):
    """"; SM clock 1755 to 1980 MHz, at most 690 W, held down by: power limit", or nothing without a state."""
    states = [state for state in states if state]
    if not states:
        return ""
    clocks, watts = [state["sm_clock_mhz"] for state in states], [state["power_watts"] for state in states]
    reasons = dict.fromkeys(reason for state in states for reason in state["throttled_by"])
    low, high = f"{min(clocks):.0f}", f"{max(clocks):.0f}"
    span = high if low == high else f"{low} to {high}"
    return (f"; SM clock {span} MHz, at most {max(watts):.0f} W"
            + (f", held down by: {', '.join(reasons)}" if reasons else ""))


class Watched:
    """with Watched() as gpu: ...; gpu.summary() is None where NVML is not there."""

    def __init__(self, library="libnvidia-ml.so.1", index=0, interval=0.05):
        self.interval, self.readings, self.done, self.device, self.nvml = interval, [], threading.Event(), ctypes.c_void_p(), None
        self.thread = threading.Thread(target=self.watch, daemon=True)
        try:
            nvml = ctypes.CDLL(library)
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self.device)) == 0:
                self.nvml = nvml
        except (OSError, AttributeError):
            pass

    def read(self):
        clock, power, degrees = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        reasons = ctypes.c_ulonglong()
        failed = (self.nvml.nvmlDeviceGetClockInfo(self.device, CLOCK_SM, ctypes.byref(clock))
                  or self.nvml.nvmlDeviceGetPowerUsage(self.device, ctypes.byref(power))
                  or self.nvml.nvmlDeviceGetTemperature(self.device, TEMPERATURE_GPU, ctypes.byref(degrees))
                  or self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.device, ctypes.byref(reasons)))
        if not failed:
            self.readings.append((clock.value, power.value / 1000, degrees.value, reasons.value))

    def watch(self):
        while not self.done.is_set():
            self.read()
            self.done.wait(self.interval)

    def __enter__(self):
        if self.nvml:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        if self.nvml:
            self.thread.join()
            self.nvml.nvmlShutdown()

    def summary(self):
        """The median clock, and the most of power and temperature, because processes begin and end in between."""
        if not self.readings:
            return None
        clocks, watts, degrees, reasons = zip(*self.readings)
        seen = 0
        for one in reasons:
            seen |= one
        return {"sm_clock_mhz": statistics.median(clocks), "power_watts": max(watts), "temperature": max(degrees),
                "throttled_by": [name for bit, name in REASONS.items() if seen & bit]}
