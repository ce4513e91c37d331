#!/usr/bin/env python3
"""Stops one of two ranks with SIGSTOP at each phase of a training run, and waits for the end of the run.

    python3 tests/faults/stops.py [--weft build/cpu/weft] [--device cpu] [--stops 12] [--short] [-- FLAG...]

The first stop comes as soon as both processes exist, while the ranks meet. The others are spread over the length of a
run that nobody stops. Every second one stops rank 0. The other rank must end within the rank timeout and five seconds,
with one line that names the rank that stopped. When that rank goes on, it must end too. A FLAG goes to `weft train`,
such as --reduction host-staged.
"""
import os
import pathlib
import signal
import subprocess
import time

import kills
import programs

TIMEOUT = 3   # seconds, --rank-timeout
GRACE = 5     # seconds
EPOCHS = {"cpu": 400, "cuda": 20_000}  # a second or two


def has_ended(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def words_of(process: int) -> list[str]:
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []


def wait_until(condition, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


class Run:
    """Two ranks, which write what they say into files of the world."""

    def __init__(self, place: programs.Workplace, options) -> None:
        self.world = place.copy("stopped")
        words = programs.TRAIN.replace("--epochs 4", f"--epochs {EPOCHS[options.device]}").replace(
            "--device cpu", f"--device {options.device}")
        words = [*words.split(), "--devices", "2", "--rank-timeout", str(TIMEOUT), "--out", "runs/new", *options.flags]
        self.out, self.err = self.world / "out.txt", self.world / "err.txt"
        self.begin = time.monotonic()
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.leader = subprocess.Popen([place.weft, *words], cwd=self.world, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=err, env=programs.environment(), start_new_session=True)
        self.other = 0

    def has_two(self) -> bool:
        for child in kills.children_of(self.leader.pid):
            # Before it runs Weft's program it is a copy of its parent, which the kernel lets wait for it.
            if "--rank" in words_of(child):
                self.other = child
        return self.other != 0 or self.leader.poll() is not None

    def phase(self) -> str:
        lines = self.out.read_text().splitlines()
        return (f"after {len(lines)} lines, the last of them {lines[-1][:60]}" if lines else "before its first line")

    def errors(self) -> list[str]:
        return [line for line in self.err.read_text().splitlines() if line.startswith("weft: error: ")]

    def end(self) -> None:
        """Nothing of the run stays, whatever happened."""
        try:
            os.killpg(self.leader.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.leader.wait()


def stop_once(run: Run, stopped: int, moment: float) -> tuple[str, float, str]:
    """The phase ("" when the run had ended), the seconds to the end of the other rank, and what is wrong."""
    if not run.has_two() and not wait_until(run.has_two, 20):
        return "", 0, "there is no second rank after 20 s"
    time.sleep(max(0.0, moment - (time.monotonic() - run.begin)))
    victim, survivor = (run.other, run.leader.pid) if stopped == 1 else (run.leader.pid, run.other)
    if has_ended(victim) or has_ended(survivor):
        return "", 0, ""
    os.kill(victim, signal.SIGSTOP)
    begin = time.monotonic()
    phase = run.phase()
    ended = wait_until(lambda: has_ended(survivor), TIMEOUT + GRACE)
    seconds = time.monotonic() - begin
    if not ended:
        return phase, seconds, f"the other rank still runs {seconds:.1f} s after rank {stopped} was stopped"
    lines = run.errors()
    try:
        os.kill(victim, signal.SIGCONT)
    except ProcessLookupError:
        pass  # rank 0 has ended it with itself
    if not wait_until(lambda: has_ended(run.leader.pid) and has_ended(run.other), GRACE):
        return phase, seconds, f"rank {stopped} goes on, and has not ended after {GRACE} s"
    code = run.leader.wait()
    names_it = len(lines) == 1 and f"rank {stopped}" in lines[0]
    if code == 0 and '"event":"end"' in run.out.read_text() and (names_it or not lines):
        return "", 0, ""  # it was stopped after all of its work
    if code != kills.DEVICE or not names_it:
        return phase, seconds, f"exit code {code}, and the lines {lines}"
    return phase, seconds, ""


def main() -> None:
    parser = programs.arguments(__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--stops", type=int, default=12, help="default 12; 3 with --short")
    parser.add_argument("flags", nargs="*", help="more flags of weft train")
    options = parser.parse_args()
    place = programs.Workplace(options)
    wanted = 3 if options.short else options.stops
    problems, longest, had_ended = [], 0.0, 0
    try:
        run = Run(place, options)
        code = run.leader.wait()
        seconds = time.monotonic() - run.begin
        if code != 0:
            raise SystemExit(f"nobody was stopped, and the exit code is {code}: {run.err.read_text()}")
        print(f"a run of two ranks that nobody stops: {seconds:.2f} s", flush=True)
        for turn in range(wanted):
            run = Run(place, options)
            try:
                phase, took, problem = stop_once(run, 1 - turn % 2, seconds * turn / wanted)
            finally:
                run.end()
            longest = max(longest, took)
            had_ended += not phase
            if problem:
                problems.append(f"stop {turn} ({phase}): {problem}")
            if not options.short:
                print(f"stop {turn} of rank {1 - turn % 2}, {phase or 'the run had ended'}: {took:.1f} s", flush=True)
    finally:
        place.close()
    row = {"program": f"train, 2 ranks on {options.device}{' ' + ' '.join(options.flags) if options.flags else ''}",
           "epochs": EPOCHS[options.device], "stops": wanted - had_ended, "timeout": TIMEOUT, "longest": round(longest, 1), "wrong": problems}
    if not options.short:
        programs.record("stops.jsonl", row["program"], [row])
    print(f"{wanted} stops on {options.device}, {had_ended} times the run had ended before, the other rank ended within "
          f"{longest:.1f} s of a timeout of {TIMEOUT} s, {len(problems)} wrong")
    if had_ended == wanted:
        problems.append("every run had ended before its stop")
    programs.finish(problems, options.most)


if __name__ == "__main__":
    main()
