// SPDX-License-Identifier: MIT
#include "lab/compile/toolchain.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "lab/compile/cache.h"
#include "lab/compile/process.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

// The folder with the lab's headers, library, linker script and settings: in a build beside the
// program, else where it was installed.
fs::path lab_folder(const fs::path& weft) {
  const fs::path bin = weft.parent_path();
  for (const fs::path& folder : {bin / "lab", bin / WEFT_INSTALLED_LAB}) {
    if (fs::is_regular_file(folder / "libweft_lab.a")) return folder.lexically_normal();
  }
  throw Error(ErrorKind::usage,
              "this Weft was built without the lab: it needs Boost.Context (Debian: "
              "libboost-context-dev) when it is built");
}

// "compiler=/usr/bin/c++" and so on, as the build has written it.
std::map<std::string, std::string> read_settings(const fs::path& folder) {
  std::ifstream file(folder / "settings");
  std::map<std::string, std::string> settings;
  for (std::string line; std::getline(file, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) settings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return settings;
}

std::string compiler(const std::map<std::string, std::string>& settings) {
  const char* chosen = std::getenv("CXX");
  if (chosen != nullptr && *chosen != '\0') {
    const std::string path = find_command(chosen);
    if (path.empty()) {
      throw Error(ErrorKind::usage, fmt::format("CXX is '{}', which is not there", chosen));
    }
    return path;
  }
  const auto built_by = settings.find("compiler");
  for (const std::string& name : {built_by == settings.end() ? "" : built_by->second,
                                  std::string("g++"), std::string("clang++"), std::string("c++")}) {
    const std::string path = name.empty() ? "" : find_command(name);
    if (!path.empty()) return path;
  }
  throw Error(ErrorKind::usage, "the lab needs a C++ compiler: install g++ or clang++, or set CXX");
}

// As host_cuda/CMakeLists.txt compiles kernels.
std::vector<std::string> instrumentation(bool is_clang) {
  std::vector<std::string> flags = {"-O1",
                                    "-gdwarf-4",
                                    "-Wuninitialized",
                                    "-fno-builtin-printf",
                                    "-fno-builtin-malloc",
                                    "-fno-builtin-free",
                                    "-fdata-sections",
                                    "-ftrivial-auto-var-init=pattern",
                                    "-fsanitize=thread",
                                    "-fsanitize=bounds",
                                    "-fsanitize=alignment",
                                    "-fsanitize=return"};
  const std::vector<std::string> gnu = {"-fsanitize-coverage=trace-pc",
                                        "-fno-tree-sra",
                                        "-fno-thread-jumps",
                                        "-fno-allocation-dce",
                                        "-Wmaybe-uninitialized",
                                        "--param=tsan-distinguish-volatile=1",
                                        "-finline-functions",
                                        "--param=max-inline-insns-single=1000",
                                        "--param=max-inline-insns-auto=1000"};
  const std::vector<std::string> clang = {"-fsanitize-coverage=bb,no-prune,trace-pc",
                                          "-mllvm",
                                          "-tsan-distinguish-volatile=1",
                                          "-mllvm",
                                          "-tsan-instrument-read-before-write=1",
                                          "-mllvm",
                                          "-inline-threshold=1000",
                                          "-ferror-limit=20"};
  const std::vector<std::string>& more = is_clang ? clang : gnu;
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace

Toolchain find_toolchain(const fs::path& weft) {
  Toolchain tools;
  tools.lab = lab_folder(weft);
  const std::map<std::string, std::string> settings = read_settings(tools.lab);
  tools.cxx = compiler(settings);
  const auto libraries = settings.find("libraries");
  if (libraries != settings.end()) {
    std::istringstream names(libraries->second);
    for (std::string name; std::getline(names, name, ';');) {
      tools.libraries.push_back((tools.lab / name).string());  // or an absolute path
    }
  }
  run_tool({tools.cxx, "--version"}, &tools.state);
  tools.is_clang = tools.state.find("clang") != std::string::npos;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(
           tools.lab, fs::directory_options::follow_directory_symlink)) {
    if (entry.is_regular_file()) tools.state += state_of(entry.path());
  }
  return tools;
}

std::vector<std::string> first_words(const Toolchain& tools) {
  std::vector<std::string> words = {tools.cxx};
  for (const std::string& flag : instrumentation(tools.is_clang)) words.push_back(flag);
  words.push_back("-I" + (tools.lab / "host_cuda/include").string());
  words.push_back("-I" + (tools.lab / "lab/toolkit").string());
  words.push_back("-I" + tools.lab.string());
  words.push_back("-DWEFT_HOST_CUDA");
  return words;
}

fs::path precompiled_header(const Toolchain& tools, const fs::path& cache,
                            const std::vector<std::string>& begin) {
  const fs::path finished = cache / (kHeaderFolder + hash(tools.state + joined(begin)));
  const auto now = fs::file_time_type::clock::now();
  std::error_code failed;
  if (fs::is_regular_file(finished / "lab.h.gch")) {
    mark_used(finished);
    return finished / "lab.h";
  }
  const TemporaryFolder temporary(cache);
  const std::string header = (temporary.path / "lab.h").string();
  data::write_file_atomically(header, fmt::format("#include \"{}\"\n", kLabHeader));
  std::vector<std::string> words = begin;
  words.insert(words.end(), {"-w", "-x", "c++-header", header, "-o", header + ".gch"});
  if (run_tool(words) != 0) return kLabHeader;
  std::vector<fs::path> unused;  // for an hour; 55 MB each
  for (const fs::directory_entry& entry : fs::directory_iterator(cache)) {
    if (entry.path().filename().string().starts_with(kHeaderFolder) &&
        fs::last_write_time(entry, failed) < now - std::chrono::hours(1)) {
      unused.push_back(entry.path());
    }
  }
  for (const fs::path& one : unused) fs::remove_all(one, failed);
  fs::rename(temporary.path, finished, failed);  // another process may have been faster
  return fs::is_regular_file(finished / "lab.h.gch") ? finished / "lab.h" : fs::path(kLabHeader);
}

std::vector<std::string> link_command(const Toolchain& tools,
                                      const std::vector<std::string>& inputs, bool openmp,
                                      const fs::path& program) {
  std::vector<std::string> words = {tools.cxx};
  words.insert(words.end(), inputs.begin(), inputs.end());
  words.push_back((tools.lab / "libweft_lab.a").string());
  words.insert(words.end(), tools.libraries.begin(), tools.libraries.end());
  words.insert(words.end(),
               {"-Wl,-u,weft_lab_begin", openmp ? "-fopenmp" : "-pthread", "-lm",
                "-Wl,--wrap=main,--wrap=exit,--wrap=printf,--wrap=puts",
                "-Wl,--wrap=putchar,--wrap=__assert_fail,--wrap=malloc,--wrap=free",
                "-Wl,-T," + (tools.lab / "lab/runtime/lab.ld").string(), "-o", program.string()});
  return words;
}

}  // namespace weft::lab
