// SPDX-License-Identifier: MIT
#include "lab/compile/compile.h"

#include <fmt/format.h>

#include <fstream>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/cache.h"
#include "lab/compile/objects.h"
#include "lab/compile/process.h"
#include "lab/compile/toolchain.h"
#include "lab/tokens.h"

namespace weft::lab {

namespace fs = std::filesystem;

bool is_source(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos &&
         one_of(name.substr(dot), {".cu", ".cpp", ".cc", ".cxx", ".c"});
}

namespace {

std::string state_of_libraries(const std::vector<std::string>& words) {
  std::string state;
  for (const std::string& folder : words) {
    if (!folder.starts_with("-L")) continue;
    for (const std::string& name : words) {
      if (!name.starts_with("-l")) continue;
      for (const char* end : {".a", ".so"}) {
        state += state_of(fs::path(folder.substr(2)) / ("lib" + name.substr(2) + end));
      }
    }
  }
  return state;
}

}  // namespace

fs::path compile_for_host_cuda(const LabRun& run) {
  const Toolchain tools = find_toolchain(run.weft);
  std::vector<SourceFile> sources = {{run.file, is_c(run.file)}};
  for (const std::string& file : run.more) sources.push_back({file, is_c(file)});
  Compilation how;
  how.flags = run;
  how.needs_main = true;
  how.tell = run.tell;
  if (!run.keep.empty()) how.keep = fs::absolute(run.keep);
  const std::vector<ObjectFile> objects = compile_sources(tools, sources, how);
  LinkInputs inputs = link_inputs(sources, objects);
  inputs.openmp = inputs.openmp || run.openmp;
  inputs.name = run.file;
  inputs.words.insert(inputs.words.end(), run.libraries.begin(), run.libraries.end());
  if (!run.keep.empty()) {
    const fs::path program = how.keep / "program";
    std::ofstream script(how.keep / "compile.sh", std::ios::app);
    script << joined(link_command(tools, inputs.words, inputs.openmp, program)) << "\n";
    script.close();
    link_program(tools, inputs, program);
    return program;
  }
  const fs::path cache = cache_folder(run.tell);
  // Objects are named by what they are made of.
  const std::string made_of = tools.state + joined(inputs.words) + (inputs.openmp ? "openmp" : "") +
                              state_of_libraries(run.libraries);
  const fs::path finished = cache / hash(made_of);
  if (fs::is_regular_file(finished / "program")) {
    mark_used(finished);
    return finished / "program";
  }
  const TemporaryFolder temporary(cache);
  link_program(tools, inputs, temporary.path / "program");
  std::error_code failed;
  fs::rename(temporary.path, finished, failed);  // another process may have been faster
  if (!fs::is_regular_file(finished / "program")) {
    throw Error(ErrorKind::data, fmt::format("{}: cannot be made: {}", printable(finished.string()),
                                             failed.message()));
  }
  prune(cache);
  return finished / "program";
}

}  // namespace weft::lab
