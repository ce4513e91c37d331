"""The build that mutants are made from, and the programs of single mutants.

One ordinary build is made first. A mutant is then a copy of one source in a directory of its own: what
includes it is compiled again, found by an include path in front of all others, and linked with the
objects of that build.
"""

import os
import pathlib
import re
import shlex
import subprocess

RUNNING = set()  # process groups of commands
TARGETS = {  # by the kind of source: the test program
    "kernels": "kernels_host_cuda_tests",
    "data": "data_tests",
    "layers": "layers_tests",
    "models": "models_tests",
}
ON_HOST_CUDA = {"layers": "layers_host_cuda_tests"}  # the same tests with the kernels of a GPU


def run(command, seconds, cwd, env=None):
    """Returns (exit status or None when time ran out, output)."""
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    RUNNING.add(process.pid)
    try:
        output = process.communicate(timeout=seconds)[0]
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output = process.communicate()[0]
        return None, output.decode(errors="replace")
    finally:
        RUNNING.discard(process.pid)


def stop_all():
    """Ends the commands that run."""
    for group in list(RUNNING):
        os.killpg(group, 9)


class Build:
    """The unmutated build in `folder`, of the sources in `root`."""

    def __init__(self, root, folder, kinds):
        self.root, self.folder = pathlib.Path(root), pathlib.Path(folder)
        self.programs = [table[kind] for kind in kinds for table in (TARGETS, ON_HOST_CUDA) if kind in table]
        self.ninja = "ninja"

    def prepare(self, cmake_arguments, jobs):
        # Sources are compiled one by one: a mutant is one of them.
        subprocess.run(["cmake", "-S", str(self.root), "-B", str(self.folder), "-G", "Ninja", "-DWEFT_CUDA=OFF",
                        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=1", *cmake_arguments],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([self.ninja, "-C", str(self.folder), f"-j{jobs}", "--quiet", *self.programs], check=True,
                       stdout=subprocess.DEVNULL)
        self.read()

    def ask_ninja(self, *arguments):
        return subprocess.run([self.ninja, "-C", str(self.folder), *arguments], check=True, text=True,
                              capture_output=True).stdout

    def read(self):
        """Reads commands and dependencies of the build."""
        self.commands = {}  # object -> its command as a list, without a launcher
        for line in self.ask_ninja("-t", "commands", *self.programs).splitlines():
            if " -c " in line and " -o " in line:
                words = shlex.split(line)
                if "ccache" in words[0]:
                    words = words[1:]
                self.commands[words[words.index("-o") + 1]] = words
        self.users = {}  # source or header, from the root -> the objects that read it
        target = None
        for line in self.ask_ninja("-t", "deps").splitlines():
            if not line.startswith(" "):
                target = line.split(":")[0]
            elif target in self.commands:
                path = os.path.normpath(os.path.join(self.folder, line.strip()))
                if path.startswith(str(self.root) + "/"):
                    self.users.setdefault(path[len(str(self.root)) + 1:], []).append(target)
        self.links = {}
        for program in self.programs:
            line = self.ask_ninja("-t", "commands", program).splitlines()[-1]
            words = shlex.split(line)
            first = words.index("&&") + 1
            self.links[program] = words[first:words.index("&&", first)]

    def objects(self, path):
        """The objects that a mutant of this source needs anew; those of the test programs are left out."""
        found = [target for target in self.users.get(path, []) if not target.startswith("tests/")]
        if path.endswith((".cu", ".cuh")) or path.startswith("kernels/"):
            found = [target for target in found if "weft_host_cuda" in target]
        return sorted(found)

    def compile(self, target, overlay, output, seconds):
        """Compiles an object with the files under `overlay` in place of those of the root."""
        words = list(self.commands[target])
        place = words.index("-o")
        words[place + 1] = str(output)
        # -MD and its file are of no use here.
        for option in ("-MF", "-MT"):
            if option in words:
                at = words.index(option)
                del words[at:at + 2]
        words = [word for word in words if word not in ("-MD", "-MMD", "-Werror")]
        source = words.index("-c") + 1
        path = os.path.normpath(os.path.join(self.folder, words[source]))
        inside = os.path.relpath(path, self.root)
        if "/Unity/" in path:  # a file that includes one source by its full path
            text = pathlib.Path(path).read_text()
            inner = re.search(r'#include "([^"]+)"', text).group(1)
            inside = os.path.relpath(os.path.join(self.folder, inner), self.root)
        copy = overlay / inside
        words[source] = str(copy) if copy.exists() else str(self.root / inside)
        words[1:1] = [f"-I{overlay}"]
        words += ["-g0", "-w", f"-ffile-prefix-map={overlay}={self.root}"]
        if "weft_host_cuda" not in target:
            words += ["-O1"]
        return run(words, seconds, self.folder)

    def link(self, program, replaced, output, seconds):
        """Links a test program, as one of TARGETS; `replaced` maps objects of the build to those of the mutant."""
        words = list(self.links[program])
        words[words.index("-o") + 1] = str(output)
        at_front = []
        for target, own in replaced.items():
            if target in words:
                words[words.index(target)] = str(own)
            else:  # a member of a library: the first definition wins
                at_front.append(str(own))
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words[first:first] = at_front
        return run(words + ["-Wl,--strip-debug"], seconds, self.folder)
