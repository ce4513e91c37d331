#!/usr/bin/env python3
"""Cuts the power at every moment of a training run, and resumes what the disk may then hold.

    python3 tests/faults/torn.py [--weft build/cpu/weft] [-j 2] [--short] [--states N]

A run that is stopped and resumed twice is recorded: each create, write, fsync, rename, mkdir, unlink. Between any two
of them the power may go. What a disk then holds follows from these rules, which are those of POSIX, and weaker than
any journalling file system's:
- The data of a file is there for certain up to its last fsync. Of a later write each sector of 512 bytes may be there
  or not, in any order, and the file may have its old length, its new one or one that ends within the write.
- An entry of a folder is there for certain when the folder was synced after it was made. Of later creates, renames,
  mkdirs and unlinks, any may be missing, as long as those of one name keep their order. A rename is one step.

Each state is a folder. It counts once for every moment and choice that gives it, and is tried once:
- `weft train --resume` ends with the weights, moments and history of the run without a cut, bit for bit; or
- it says that there is no run to resume, and no commit had come to an end before the cut.
Nothing else may happen, and the checkpoint must be at least as new as the last commit that had ended.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import shutil
import struct

import programs

SECTOR = 512
RUN = "runs/cut"
GO_ON = f"train --resume {RUN} --json --device cpu --threads 1"
CHECKPOINT = "optimizer.safetensors"
SEED = 23


class File:
    """The content now, the content that is certain, and the writes since then, as (offset, bytes)."""

    def __init__(self) -> None:
        self.now, self.certain, self.pending = b"", b"", []

    def write(self, offset: int, data: bytes) -> None:
        self.now = self.now[:offset].ljust(offset, b"\0") + data + self.now[offset + len(data):]
        self.pending.append((offset, data))

    def sync(self) -> None:
        self.certain, self.pending = self.now, []

    def torn(self, kind: str, chance: random.Random) -> bytes:
        """What may be there after a cut: everything, nothing, a part of the sectors, or a shorter file."""
        if kind == "all" or not self.pending:
            return self.now
        if kind == "none":
            return self.certain
        content = bytearray(self.certain)
        for offset, data in self.pending:
            end = offset + len(data)
            if kind == "cut":  # the length ends within the write, anywhere
                end = offset + chance.randrange(len(data) + 1)
            if kind == "zeros" or kind == "sectors" or end > len(content):
                content.extend(b"\0" * (end - len(content)))
            if kind == "zeros":  # the length came first
                continue
            for begin in range(offset - offset % SECTOR, end, SECTOR):
                if kind == "sectors" and chance.random() < 0.5:
                    continue
                first, last = max(begin, offset), min(begin + SECTOR, end)
                content[first:last] = data[first - offset:last - offset]
        return bytes(content)


KINDS = ["all", "none", "zeros", "cut", "sectors"]


class Disk:
    """Follows the calls of a recording. Names are relative to the world."""

    def __init__(self, world: str) -> None:
        self.world = world
        self.files: list[File] = []
        self.certain: dict[str, object] = {}  # name -> number of a file, or "folder"
        self.pending: list[tuple] = []        # (folder, changes): what each call makes of names
        self.open: dict[tuple[int, int], list] = {}

    def name(self, path: str) -> str:
        return os.path.relpath(path, self.world)

    def now(self) -> dict[str, object]:
        names = dict(self.certain)
        for _, changes in self.pending:
            apply(names, changes)
        return names

    def change(self, name: str, changes: list[tuple[str, object]]) -> None:
        self.pending.append((os.path.dirname(name), changes))

    def follow(self, call: dict) -> bool:
        """Has what a cut may leave changed?"""
        what, key = call["call"], (call["pid"], call["file"])
        if what == "create":
            name = self.name(call["path"])
            number = self.now().get(name)
            if number is None:
                number = len(self.files)
                self.files.append(File())
                self.change(name, [(name, number)])
            elif call["number"]:
                self.files[number].now, self.files[number].certain = b"", b""
            self.open[key] = [number, 0]
        elif what == "opendir":
            self.open[key] = [self.name(call["path"]), 0]
        elif what == "write":
            if key not in self.open:
                return False  # standard output
            number, at = self.open[key]
            data = bytes.fromhex(call["data"])
            offset = call["number"] if call["number"] >= 0 else at
            self.files[number].write(offset, data)
            if call["number"] < 0:
                self.open[key][1] = at + len(data)
        elif what == "truncate":
            file = self.files[self.open[key][0]]
            file.now = file.now[:call["number"]].ljust(call["number"], b"\0")
        elif what == "fsync":
            synced = self.open[key][0]
            if isinstance(synced, int):
                self.files[synced].sync()
            else:
                folder = "" if synced == "." else synced
                for _, changes in (entry for entry in self.pending if entry[0] == folder):
                    apply(self.certain, changes)
                self.pending = [entry for entry in self.pending if entry[0] != folder]
        elif what == "close":
            self.open.pop(key, None)
            return False
        elif what == "rename":
            old, new = self.name(call["path"]), self.name(call["to"])
            self.change(new, [(new, self.now()[old]), (old, None)])
        elif what in ("unlink", "rmdir"):
            name = self.name(call["path"])
            self.change(name, [(name, None)])
        elif what == "mkdir":
            name = self.name(call["path"])
            self.change(name, [(name, "folder")])
        else:
            raise SystemExit(f"a call that the model does not know: {what}")
        return what != "opendir"

    def states(self, chance: random.Random, most: int):
        """What a cut may leave now: at most `most` choices, as name -> content, or None for a folder."""
        ways = []
        count = len(self.pending)
        for taken in range(count + 1):  # in order, as a journal keeps it
            ways.append([i < taken for i in range(count)])
        for i in range(count):          # one came early, or one is late
            ways.append([j == i for j in range(count)])
            ways.append([j != i for j in range(count)])
        while len(ways) < most:
            ways.append([chance.random() < 0.5 for _ in range(count)])
        unsynced = any(file.pending for file in self.files)
        choices = [(way, kind) for way in ways for kind in (KINDS if unsynced else KINDS[:1])]
        if len(choices) > most:
            choices = chance.sample(choices, most)
        for way, kind in choices:
            names = dict(self.certain)
            late: set[str] = set()  # names of which a change is missing: later ones of theirs are too
            for is_there, (_, changes) in zip(way, self.pending):
                mine = {name for name, _ in changes}
                if is_there and not mine & late:
                    apply(names, changes)
                else:
                    late |= mine
            yield {name: None if number == "folder" else self.files[number].torn(kind, chance)
                   for name, number in names.items() if reachable(name, names)}


def apply(names: dict[str, object], changes) -> None:
    for name, number in changes:
        if number is None:
            names.pop(name, None)
        else:
            names[name] = number


def reachable(name: str, names: dict[str, object]) -> bool:
    folder = os.path.dirname(name)
    return folder in ("", "runs") or (names.get(folder) == "folder" and reachable(folder, names))


def mark_of(state: dict) -> str:
    mark = hashlib.sha256()
    for name in sorted(state):
        # Numbers of processes and temporaries do not matter.
        plain = name if "/.weft-" not in name else name.split("/.weft-")[0] + "/temporary"
        mark.update(f"{plain}\0{'folder' if state[name] is None else ''}".encode())
        mark.update(b"" if state[name] is None else struct.pack("<Q", len(state[name])) + state[name])
    return mark.hexdigest()


def tensors_and_history(path: pathlib.Path) -> str:
    return hashlib.sha256(programs.meaning(path)).hexdigest()


class Recording:
    def __init__(self, place: programs.Workplace, most: int, short: bool) -> None:
        world = place.copy("recorded")
        log = place.folder / "calls.log"
        extra = {"LD_PRELOAD": place.library, "WEFT_FAULTS_ROOT": str(world), "WEFT_FAULTS_RECORD": str(log)}
        commands = [f"{programs.TRAIN} --out {RUN} --stop-after 1", f"{GO_ON} --stop-after 2",
                    f"{GO_ON} --stop-after 3", GO_ON]
        for words in commands[:2] + commands[3:] if short else commands:
            ended = programs.run(place.weft, words, world, extra=extra)
            if ended.code != 0:
                raise SystemExit(f"weft {words}: exit code {ended.code}: {ended.stderr}")
        self.right = tensors_and_history(world / RUN / CHECKPOINT)
        calls = [json.loads(line) for line in log.read_text().splitlines()]
        self.replay(calls, str(world), most)
        self.check_that_it_can_fail(calls, str(world), most)

    def replay(self, calls: list[dict], world: str, most: int, forgets=lambda synced: False) -> None:
        """Builds the states; `forgets` says which fsync never happens, of a file's number or a folder's name."""
        disk, chance = Disk(world), random.Random(SEED)
        self.counted = self.moments = self.commits = 0
        self.distinct: dict[str, tuple] = {}  # mark -> (state, the commits that had ended, the moment)
        versions: list[bytes] = []            # of the checkpoint, in their order
        ended_commits = 0
        for call in calls:
            if call["call"] == "fsync" and forgets(disk.open[call["pid"], call["file"]][0]):
                changed = False
            else:
                changed = disk.follow(call)
            if call["call"] == "rename" and call["to"].endswith(f"/{CHECKPOINT}"):
                versions.append(disk.files[disk.now()[f"{RUN}/{CHECKPOINT}"]].now)
            if call["call"] == "fsync" and disk.open[call["pid"], call["file"]][0] == RUN:
                ended_commits = len(versions)
            if not changed:
                continue
            self.moments += 1
            for state in disk.states(chance, most):
                self.counted += 1
                key = mark_of(state)
                # The same state at a later moment must satisfy the stricter demand.
                self.distinct[key] = (state, ended_commits, self.moments)
        self.commits = len(versions)
        self.versions = {hashlib.sha256(version).hexdigest(): i + 1 for i, version in enumerate(versions)}

    def check_that_it_can_fail(self, calls: list[dict], world: str, most: int) -> None:
        """Without the fsync of files, of the run's folder or of the one above, some state must be wrong."""
        for what, forgets in (("files", lambda synced: isinstance(synced, int)), ("the run", lambda s: s == RUN),
                              ("the folder above", lambda s: s == "runs")):
            broken = object.__new__(Recording)
            broken.replay(calls, world, most, forgets)
            wrong = sum(bool(misses(state, broken.versions, commits)) for state, commits, _ in broken.distinct.values())
            print(f"without the fsync of {what} {wrong} of {len(broken.distinct)} states would be wrong")
            if wrong == 0:
                raise SystemExit("this test cannot fail")


def misses(state: dict, versions: dict[str, int], commits: int) -> str:
    """What is wrong with the checkpoint of a state, before anything runs."""
    content = state.get(f"{RUN}/{CHECKPOINT}")
    found = versions.get(hashlib.sha256(content).hexdigest()) if content is not None else 0
    if found is None:
        return "a checkpoint that was never complete has its name"
    return f"the checkpoint is that of commit {found}" if found < commits else ""


def try_state(place: programs.Workplace, recording_right: str, versions: dict[str, int], item) -> tuple[str, str]:
    """ "resumed" or "none yet", and what is wrong."""
    state, commits, moment = item
    world = place.copy(f"state-{os.getpid()}")
    shutil.rmtree(world / RUN, ignore_errors=True)
    for name in sorted(state):
        path = world / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if state[name] is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(state[name])
    where = f"after call {moment}, {commits} commits ended"
    if problem := misses(state, versions, commits):
        return "wrong", f"{where}: {problem}"
    checkpoint = world / RUN / CHECKPOINT
    found = versions[hashlib.sha256(checkpoint.read_bytes()).hexdigest()] if checkpoint.exists() else 0
    ended = programs.run(place.weft, GO_ON, world)
    if found == 0:
        said = ended.stderr.strip().splitlines()
        if ended.code == 3 and len(said) == 1 and ("holds no run to resume" in said[0]):
            return "none yet", ""
        return "wrong", f"{where}: no checkpoint, and exit code {ended.code}: {ended.stderr.strip()}"
    if ended.code != 0:
        return "wrong", f"{where}: exit code {ended.code}: {ended.stderr.strip()}"
    if tensors_and_history(checkpoint) != recording_right:
        return "wrong", f"{where}: resumed from commit {found} with other bits"
    left = [path.name for path in (world / RUN).iterdir() if path.name.startswith(".weft-")]
    return ("wrong", f"{where}: {left} stays") if left else ("resumed", "")


def main() -> None:
    parser = programs.arguments(__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=40, help="states at each moment, at most; default 40")
    options = parser.parse_args()
    place = programs.Workplace(options)
    try:
        recording = Recording(place, 6 if options.short else options.states, options.short)
        items = list(recording.distinct.values())
        tried = items[::max(1, len(items) // 120)] if options.short else items
        with concurrent.futures.ProcessPoolExecutor(options.j) as pool:
            ends = list(pool.map(try_state, [place] * len(tried), [recording.right] * len(tried),
                                 [recording.versions] * len(tried), tried, chunksize=8))
    finally:
        place.close()
    row = {"program": "train, stopped and resumed", "moments": recording.moments, "commits": recording.commits,
           "states": recording.counted, "distinct": len(items), "tried": len(tried),
           "resumed": sum(kind == "resumed" for kind, _ in ends),
           "none_yet": sum(kind == "none yet" for kind, _ in ends),
           "wrong": [problem for _, problem in ends if problem], "seed": SEED}
    print(f"{row['states']} states at {row['moments']} moments, {row['distinct']} distinct, {row['tried']} tried: "
          f"{row['resumed']} resumed, {row['none_yet']} with no checkpoint yet, {len(row['wrong'])} wrong; "
          f"{len(items) - len(tried)} left out")
    if not options.short:
        programs.record("torn.jsonl", row["program"], [row])
    programs.finish(row["wrong"], options.most)


if __name__ == "__main__":
    main()
