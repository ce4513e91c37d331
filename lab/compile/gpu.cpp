// SPDX-License-Identifier: MIT
// weft lab run --device cuda: the program as it is, on this machine's GPU.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <sstream>

#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/compile.h"
#include "lab/compile/folders.h"
#include "lab/compile/process.h"

namespace weft::lab {
namespace {

std::string find_nvcc() {
  const char* chosen = std::getenv("CUDACXX");
  for (const std::string& name : {std::string(chosen == nullptr ? "" : chosen), std::string("nvcc"),
                                  std::string("/usr/local/cuda/bin/nvcc")}) {
    const std::string path = name.empty() ? "" : find_command(name);
    if (!path.empty()) return path;
  }
  throw Error(ErrorKind::device,
              "--device cuda needs nvcc, and there is none on PATH: install the CUDA Toolkit, or "
              "leave --device out to run on the CPU");
}

struct Gpu {
  std::string architecture, name;  // "sm_90", "NVIDIA H200"
};

Gpu find_gpu() {
  std::string text;
  const std::string command = find_command("nvidia-smi");
  const int code =
      command.empty()
          ? 1
          : run_tool({command, "--query-gpu=compute_cap,name", "--format=csv,noheader"}, &text);
  const std::size_t dot = text.find('.'), comma = text.find(", ");
  if (code != 0 || dot == std::string::npos || comma == std::string::npos || dot > comma) {
    throw Error(ErrorKind::device,
                "--device cuda needs a GPU, and nvidia-smi finds none: leave --device out to run "
                "on the CPU");
  }
  return {"sm_" + text.substr(0, dot) + text.substr(dot + 1, comma - dot - 1),
          text.substr(comma + 2, text.find('\n') - comma - 2)};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int run_on_gpu(const LabRun& run) {
  const std::string nvcc = find_nvcc();
  const Gpu gpu = find_gpu();
  const TemporaryFolder folder(cache_folder(run.tell));
  std::vector<std::string> words = {nvcc, "-O3", "-lineinfo", "-arch=" + gpu.architecture};
  for (const std::string& include : run.folders) words.push_back("-I" + include);
  for (const std::string& definition : run.definitions) words.push_back("-D" + definition);
  const std::string program = (folder.path / "program").string();
  words.insert(words.end(), {"-o", program, run.file});
  words.insert(words.end(), run.more.begin(), run.more.end());
  if (!run.more.empty()) words.push_back("-rdc=true");
  if (run_tool(words) != 0) {
    throw Error(ErrorKind::usage, fmt::format("{} does not compile", printable(run.file)));
  }
  words = {program};
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  const auto begin = std::chrono::steady_clock::now();
  const int code = run_program(words);
  run.tell(fmt::format("{} ran for {:.3f} s on {} ({}), start and end of the GPU included",
                       printable(run.file), seconds_since(begin), gpu.name, gpu.architecture));
  return code;
}

}  // namespace weft::lab
