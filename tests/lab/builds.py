#!/usr/bin/env python3
"""Courses' own builds in `weft lab shell`: a Makefile, a CMakeLists.txt, and the words of nvcc.

    python3 tests/lab/builds.py WEFT

The projects of builds/ are copied, built as they are, and their programs run checked. The cache is
$XDG_CACHE_HOME, which may stay from one run to the next: the projects' folder is a new one.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SQUARES = "20540\n"  # the sum of the squares of 0 to 39
MAIN = "int main() {}\n"
KERNEL = ("#include <cstdio>\n__global__ void k(int* p) { *p = N; }\nvoid run() { int *p, h; cudaMalloc(&p, 4);\n k<<<1, 1>>>(p);\n"
          ' cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%d\\n", h); }\n')
FILES = {"main.cu": "void run();\nint main() { run(); }\n", "k.cu": KERNEL, "plain.cu": MAIN, "arguments.rsp": '-DN=7 "k.cu"\n-c -o "k 2.o"\n',
         "wrong.cu": "int main() {\n  return nothing;\n}\n", "own.cuh": "inline int own() { return 1; }\n",
         "own.cu": '#include "own.cuh"\nint main() { return own() - 1; }\n', "calls.cu": "void gone();\nint main() { gone(); }\n"}
# words of a command in the shell, exit code, a piece of its output
COMMANDS = [
    (["nvcc", "--version"], 0, "Weft's lab, in place of nvcc"),
    (["nvcc", "--version"], 0, "release 12.0, V12.0.0"),
    (["nvcc", "-O3", "-gencode", "arch=compute_80,code=sm_80", "-DN=5", "-dc", "k.cu", "-o", "k.o"], 0, "change nothing in the lab: -O3, -gencode\n"),
    (["nvcc", "-O3", "--options-file", "arguments.rsp"], 0, ""),
    (["nvcc", "-c", "main.cu"], 0, ""),
    (["nvcc", "-shared", "-dlink", "k.o", "main.o", "-o", "linked.o"], 0, ""),
    (["nvcc", "k.o", "main.o", "linked.o", "-lcudart", "-o", "five"], 0, ""),
    (["./five"], 0, "5\n"),
    (["nvcc", "-lib", "-o", "libk.a", "k 2.o"], 0, ""),
    (["nvcc", "-run", "main.cu", "libk.a", "-o", "seven"], 0, "7\n"),
    (["g++", "main.o", "k.o", "-o", "linked by g++"], 0, ""),
    (["./linked by g++"], 0, "5\n"),
    (["nvcc", "-M", "own.cu", "-MT", "one two"], 0, "one\\ two : \\\n  own.cu \\\n  own.cuh\n"),
    (["nvcc", "-E", "own.cu"], 0, "int main() { return own() - 1; }"),
    (["nvcc", "-dryrun", "plain.cu"], 0, "#$ "),
    (["nvcc", "-c", "wrong.cu"], 2, "wrong.cu:2:10: error"),
    (["nvcc", "k.o"], 2, "a.out has no main(): name the file that has it, too"),
    (["nvcc", "-DN=1", "k.cu"], 2, "k.cu has no main(): name the file that has it, too"),
    (["nvcc", "calls.cu"], 2, "undefined reference to `gone()'"),
    (["nvcc", "-zap", "plain.cu"], 2, "nvcc has no option '-zap' that the lab knows"),
    (["nvcc", "-ptx", "plain.cu"], 2, "-ptx: the lab compiles for the CPU"),
    (["nvcc", "-shared", "plain.cu"], 2, "the lab makes programs, and no shared libraries"),
    (["nvcc", "gone.cu"], 3, "gone.cu: no such file"),
    (["nvcc", "-O3"], 2, "nvcc needs the name of a file"),
    (["nvidia-smi"], 0, "There is no GPU."),
    (["nvidia-smi", "--query-gpu=compute_cap,name", "--format=csv,noheader"], 0, "8.0, Weft's lab\n"),
    (["sh", "-c", "exit 5"], 5, ""),
]


class Builds:
    def __init__(self, weft: str, folder: pathlib.Path):
        self.weft, self.folder, self.failures = weft, folder, []

    def shell(self, words, where):
        return self.run([self.weft, "lab", "shell", "--", *words], where)

    def run(self, words, where):
        return subprocess.run(words, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)

    def expect(self, name, done, code, piece):
        if done.returncode != code or piece not in done.stdout:
            self.failures.append(f"{name}: expected {code} and '{piece}', found {done.returncode}:\n{done.stdout}")

    def make(self):
        where = self.folder / "with a blank"
        shutil.copytree(HERE / "builds/make", where)
        # What stands in the current folder is nobody's compiler.
        for name in ("c++", "g++", "ar"):
            (where / name).write_text("#!/bin/sh\necho planted\n")
            (where / name).chmod(0o755)
        self.expect("make", self.shell(["env", "PATH=.", "./g++"], where), 0, "planted")  # the plant works
        self.expect("make", self.shell(["sh", "-c", 'PATH="${PATH%%:*}:.:${PATH#*:}" && g++ --version'], where), 0, "Free Software")
        (where / "ar").unlink()
        self.expect("make", self.shell(["make", "-j2"], where), 0, "g++ -o squares")
        self.expect("its program", self.run(["./squares"], where), 0, SQUARES)
        source = where / "squares.cu"
        source.write_text(source.read_text().replace("if (i < n) ", ""))
        again = self.shell(["make"], where)
        self.expect("make after an edit", again, 0, "-c squares.cu -o squares.o")
        if "sums.c" in again.stdout or "change nothing" not in again.stdout:
            self.failures.append(f"make after an edit: it compiles too much, or says no flag:\n{again.stdout}")
        self.expect("its finding", self.run(["./squares"], where), 1, "squares.cu:5; compare the index")
        self.expect("lab run", self.run([self.weft, "lab", "run", "--schedules", "2", "./squares"], where), 1, "out of bounds: kernel squares")

    def cmake(self):
        where = self.folder / "cmake"
        shutil.copytree(HERE / "builds", where)
        done = self.shell(["sh", "-c", "cmake -S cmake -B build && cmake --build build --parallel 2"], where)
        self.expect("cmake", done, 0, "Built target squares")
        self.expect("cmake's program", self.run(["build/squares"], where), 0, SQUARES)

    def commands(self):
        for name, text in FILES.items():
            (self.folder / name).write_text(text)
        for words, code, piece in COMMANDS:
            self.expect(" ".join(words), self.shell(words, self.folder), code, piece)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        builds = Builds(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(folder).resolve())
        builds.commands()
        builds.make()
        builds.cmake()
    for one in builds.failures:
        print(one)
    print(f"lab builds: {len(COMMANDS)} commands, make and cmake, {len(builds.failures)} failures")
    return 1 if builds.failures else 0


if __name__ == "__main__":
    sys.exit(main())
