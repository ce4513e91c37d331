// SPDX-License-Identifier: MIT
#include "lab/nvcc/nvcc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/process.h"
#include "lab/compile/toolchain.h"
#include "lab/translate/translate.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;
using Task = NvccCall::Task;

// CMake and Makefiles look for the name and the number.
constexpr const char* kVersion =
    "Weft's lab, in place of nvcc: NVIDIA (R) Cuda compiler driver\n"
    "It compiles CUDA C++ for the CPU and checks it. Nothing of it is NVIDIA's.\n"
    "As of Cuda compilation tools, release 12.0, V12.0.0\n";

// What CMake reads to find out how nvcc links: the folders of a toolkit, and the last command.
void print_verbosely(const Toolchain& tools, const NvccCall& call) {
  const fs::path shell = shell_folder(), top = shell.empty() ? tools.lab : shell;
  const std::string linker = shell.empty() ? tools.cxx : (shell / "bin/c++").string();
  const char* path = std::getenv("PATH");
  const std::string libraries = fmt::format("\"-L{}\"", (top / "lib64").string());
  std::string objects;
  for (const SourceFile& source : call.sources) {
    objects += fmt::format("\"{}.o\" ", source.path.stem().string());
  }
  std::fputs(
      fmt::format("#$ TOP={}\n#$ NVVMIR_LIBRARY_DIR={}\n#$ PATH={}:{}\n#$ INCLUDES=\"-I{}\"\n"
                  "#$ LIBRARIES= {}\n#$ -arch compute_80\n"
                  "#$ \"{}\" -o \"{}\" {}{} -lcudadevrt -lcudart_static -lrt -lpthread -ldl\n",
                  top.string(), (top / "nvvm/libdevice").string(), (top / "bin").string(),
                  path == nullptr ? "" : path, (tools.lab / "host_cuda/include").string(),
                  libraries, linker, call.output, objects, libraries)
          .c_str(),
      stderr);
}

// Each flag is told once in a lab shell: the file `told` there has a line for each.
void tell_ignored_once(const std::vector<std::string>& ignored, const Tell& tell) {
  const fs::path shell = shell_folder();
  if (shell.empty()) return tell_ignored(ignored, tell);
  std::set<std::string> told;
  std::ifstream before(shell / "told");
  for (std::string line; std::getline(before, line);) told.insert(line);
  std::vector<std::string> fresh;
  std::string lines;
  for (const std::string& flag : ignored) {
    if (flag.find('\n') != std::string::npos || !told.insert(flag).second) continue;
    fresh.push_back(flag);
    lines += flag + "\n";
  }
  const int file = open((shell / "told").c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (file >= 0) {
    const ssize_t written = write(file, lines.data(), lines.size());
    static_cast<void>(written);  // else it is told again
    close(file);
  }
  tell_ignored(fresh, tell);
}

// A name in a rule of make.
std::string make_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '#' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

// A rule for make: the object depends on the source and on the program's own headers.
std::string dependencies(const NvccCall& call, const SourceFile& source,
                         const std::string& object) {
  std::string rule;
  for (const std::string& target : call.targets) rule += make_name(target) + " ";
  if (call.targets.empty()) rule += make_name(object) + " ";
  rule += ":";
  std::string phony;
  for (const TranslatedFile& file : translate({source.path}, call.flags.folders).files) {
    const std::string name = make_name(file.original.string());
    rule += " \\\n  " + name;
    if (call.phony && file.original != source.path) phony += name + ":\n";
  }
  return rule + "\n" + phony;
}

// Stands for a library that every program of the lab is linked with.
bool is_runtime_library(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  return !file.starts_with('-') &&
         (name.starts_with("libcudart") || name.starts_with("libcudadevrt"));
}

std::string object_name(const SourceFile& source) {
  return source.path.stem().string() + ".o";
}

// Into a file, or a device such as /dev/null.
void write_bytes(const fs::path& path, const std::string& bytes) {
  if (fs::exists(path) && !fs::is_regular_file(path)) {
    std::ofstream(path, std::ios::binary) << bytes;
  } else {
    data::write_file_atomically(path, std::string_view(bytes));
  }
}

std::string read_bytes(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

void write_text(const std::string& output, const std::string& text) {
  if (!output.empty()) return write_bytes(output, text);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void make_objects(const Toolchain& tools, const NvccCall& call, const Compilation& how) {
  const std::vector<ObjectFile> objects = compile_sources(tools, call.sources, how);
  if (call.dry) return;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const SourceFile& source = call.sources[i];
    const std::string object = call.output.empty() ? object_name(source) : call.output;
    write_bytes(object, read_bytes(objects[i].path));
    if (!call.writes_dependencies) continue;
    const fs::path beside = fs::path(object).replace_extension(".d");
    write_bytes(call.dependency_file.empty() ? beside : fs::path(call.dependency_file),
                dependencies(call, source, object));
  }
}

void make_archive(const Toolchain& tools, const NvccCall& call, const Compilation& how) {
  const std::string archive = call.output.empty() ? "a.a" : call.output;
  const std::vector<ObjectFile> objects = compile_sources(tools, call.sources, how);
  const TemporaryFolder folder(cache_folder(how.tell));
  const std::string ar = find_command("ar");
  if (ar.empty()) throw Error(ErrorKind::usage, "there is no ar on PATH");
  std::vector<std::string> words = {ar, "rcs", archive};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    words.push_back((folder.path / object_name(call.sources[i])).string());
    fs::copy_file(objects[i].path, words.back());
  }
  for (const std::string& input : call.inputs) {
    if (!input.starts_with('-')) words.push_back(input);
  }
  if (!call.dry && run_tool(words) != 0) {
    throw Error(ErrorKind::usage, fmt::format("{} cannot be made", printable(archive)));
  }
}

int make_program(const Toolchain& tools, const NvccCall& call, Compilation how) {
  how.needs_main = true;
  for (const std::string& input : call.inputs) {
    if (is_runtime_library(input)) continue;
    how.needs_main = how.needs_main && input.starts_with('-');
  }
  LinkInputs inputs = link_inputs(call.sources, compile_sources(tools, call.sources, how));
  inputs.openmp = inputs.openmp || call.flags.openmp;
  inputs.name = call.output;
  // The linker takes the first one of a function that two objects have: it has to be the lab's.
  std::vector<std::string> given = call.inputs;
  std::erase_if(given, is_runtime_library);
  std::stable_partition(given.begin(), given.end(), [](const std::string& word) {
    return word.ends_with(".o") && holds_lab_code(word);
  });
  inputs.words.insert(inputs.words.end(), given.begin(), given.end());
  if (call.dry) {
    const auto command = link_command(tools, inputs.words, inputs.openmp, call.output);
    std::fputs(("#$ " + joined(command) + "\n").c_str(), stderr);
    return 0;
  }
  link_program(tools, inputs, call.output);
  if (call.task != Task::run) return 0;
  std::vector<std::string> words = {fs::absolute(call.output).string()};
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  return run_program(words);
}

// Programs of the lab are linked once: what a device's linker would add is an empty object.
void link_device(const Toolchain& tools, const NvccCall& call) {
  const std::string object = call.output.empty() ? "a_dlink.o" : call.output;
  if (run_tool({tools.cxx, "-x", "c", "-c", "/dev/null", "-o", object}) != 0) {
    throw Error(ErrorKind::data, fmt::format("{}: cannot be made", printable(object)));
  }
}

void require_files(const NvccCall& call) {
  std::vector<std::string> names = call.inputs;
  for (const SourceFile& source : call.sources) names.push_back(source.path.string());
  for (const std::string& name : names) {
    if (!name.starts_with('-') && !fs::exists(name)) {
      throw Error(ErrorKind::data, fmt::format("{}: no such file", printable(name)));
    }
  }
}

}  // namespace

int run_nvcc(const std::vector<std::string>& words, const fs::path& weft, const Tell& tell) {
  const NvccCall call = read_nvcc_call(words);
  if (call.task == Task::version) {
    std::fputs(kVersion, stdout);
    std::fflush(stdout);
    return 0;
  }
  const Toolchain tools = find_toolchain(weft);
  if (call.verbose || call.dry) print_verbosely(tools, call);
  require_files(call);
  tell_ignored_once(call.ignored, tell);
  Compilation how;
  how.flags = call.flags;
  how.openmp_by_source = false;
  how.dry = call.dry;
  how.tell = tell;
  switch (call.task) {
    case Task::objects:
      make_objects(tools, call, how);
      break;
    case Task::archive:
      make_archive(tools, call, how);
      break;
    case Task::device_link:
      link_device(tools, call);
      break;
    case Task::preprocess: {
      std::string text;
      for (const SourceFile& source : call.sources) text += preprocessed(tools, source, how);
      write_text(call.output, text);
      break;
    }
    case Task::dependencies: {
      std::string text;
      for (const SourceFile& source : call.sources) {
        text += dependencies(call, source, object_name(source));
      }
      write_text(call.dependency_file.empty() ? call.output : call.dependency_file, text);
      break;
    }
    case Task::program:
    case Task::run:
      return make_program(tools, call, how);
    case Task::version:
      break;
  }
  return 0;
}

}  // namespace weft::lab
