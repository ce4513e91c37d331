#!/usr/bin/env python3
"""Kills training runs with kill -9 at random moments, and resumes them.

    python3 tests/faults/kills.py [--weft build/cpu/weft] [--kills 200] [--short]

Half of the runs have one rank and half have two, of which the first, the second or both are killed. The moments come
from a fixed seed, over the length of a whole run. After each kill all processes of the run must have ended within ten
seconds, and rank 0 with exit code 4 when it is the other one that was killed. Then the run is resumed, or started
again where it had no checkpoint yet, and in every second case killed once more. In the end it must hold the weights,
moments and history of a run that nobody killed, bit for bit.
"""
import os
import pathlib
import random
import signal
import subprocess
import time

import programs
import torn

SEED = 9
RUN = torn.RUN
ALL_ENDED = 10  # seconds
DEVICE = 4


def command(world: pathlib.Path, ranks: int) -> str:
    two = " --devices 2 --rank-timeout 20" if ranks == 2 else ""
    epochs = 40 if ranks == 2 else 600  # a few tenths of a second, most of it after the first checkpoint
    exists = (world / RUN / torn.CHECKPOINT).exists()
    return (torn.GO_ON if exists else f"{programs.TRAIN.replace('--epochs 4', f'--epochs {epochs}')} --out {RUN}") + two


def children_of(process: int) -> list[int]:
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def others_of(leader: int) -> bool:
    """Does a process that this one has started still run? One that has ended and waits for its parent does not."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            return True
    return False


def kill_once(weft: str, world: pathlib.Path, ranks: int, seconds: float, chance: random.Random) -> tuple[str, str]:
    """Who was killed, or that the run had ended; and what is wrong."""
    begin = time.monotonic()
    process = subprocess.Popen([weft, *command(world, ranks).split()], cwd=world, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=programs.environment(),
                               start_new_session=True)
    who = chance.choice(["rank 0", "rank 1", "both"]) if ranks == 2 else "rank 0"
    moment = chance.uniform(0, seconds)
    time.sleep(max(0.0, moment - (time.monotonic() - begin)))
    victims = [] if who == "rank 1" else [process.pid]
    if ranks == 2 and who != "rank 0":
        victims += children_of(process.pid)
    ended = process.poll() is not None
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        _, stderr = process.communicate(timeout=ALL_ENDED)
        while others_of(process.pid):
            if time.monotonic() - begin > moment + ALL_ENDED:
                os.killpg(process.pid, signal.SIGKILL)
                return who, f"a rank still runs {ALL_ENDED} s after {who} was killed"
            time.sleep(0.005)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return who, f"rank 0 still runs {ALL_ENDED} s after {who} was killed"
    code = process.returncode
    if ended or code == 0:
        return "ended", "" if code == 0 else f"exit code {code}: {stderr.decode()}"
    if who == "rank 1" and victims:
        lines = [line for line in stderr.decode().splitlines() if line]
        if code != DEVICE or len([line for line in lines if line.startswith("weft: error: ")]) != 1:
            return who, f"rank 1 was killed, and rank 0 ends with {code}: {lines}"
    return who if victims else "ended", "" if victims or code == 0 else f"exit code {code}: {stderr.decode()}"


def main() -> None:
    parser = programs.arguments(__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="default 200; 6 with --short")
    options = parser.parse_args()
    place = programs.Workplace(options)
    chance = random.Random(SEED)
    wanted = 6 if options.short else options.kills
    rows = []
    try:
        for ranks in (1, 2):
            world = place.copy("killed")
            begin = time.monotonic()
            ended = programs.run(place.weft, command(world, ranks), world)
            seconds = time.monotonic() - begin
            if ended.code != 0:
                raise SystemExit(f"{ranks} ranks: exit code {ended.code}: {ended.stderr}")
            right = torn.tensors_and_history(world / RUN / torn.CHECKPOINT)
            row = {"program": f"train, {ranks} rank{'s' if ranks > 1 else ''}", "kills": 0, "rank 0": 0, "rank 1": 0,
                   "both": 0, "had ended": 0, "resumed": 0, "none_yet": 0, "wrong": [], "seed": SEED}
            turn = 0
            while row["kills"] < (wanted + ranks - 1) // 2:
                world = place.copy("killed")
                turn += 1
                for _ in range(1 + turn % 2):
                    who, problem = kill_once(place.weft, world, ranks, seconds, chance)
                    row["had ended" if who == "ended" else who] += 1
                    row["kills"] += who != "ended"
                    if problem:
                        row["wrong"].append(f"turn {turn}: {problem}")
                row["resumed" if (world / RUN / torn.CHECKPOINT).exists() else "none_yet"] += 1
                ended = programs.run(place.weft, command(world, ranks), world)
                if ended.code != 0:
                    row["wrong"].append(f"turn {turn}: resumed with exit code {ended.code}: {ended.stderr.strip()}")
                elif torn.tensors_and_history(world / RUN / torn.CHECKPOINT) != right:
                    row["wrong"].append(f"turn {turn}: resumed with other bits")
                else:
                    left = [p.name for p in (world / RUN).iterdir() if p.name.startswith(".weft-")]
                    row["wrong"] += [f"turn {turn}: {left} stays"] if left else []
            print(f"{row['program']}: {row['kills']} kills, {row['resumed']} resumed, {row['none_yet']} had no "
                  f"checkpoint yet, {row['had ended']} times the run had ended before, {len(row['wrong'])} wrong",
                  flush=True)
            rows.append(row)
            if not options.short:
                programs.record("kills.jsonl", row["program"], [row])
    finally:
        place.close()
    programs.finish([f"{row['program']}: {problem}" for row in rows for problem in row["wrong"]], options.most)


if __name__ == "__main__":
    main()
