// SPDX-License-Identifier: MIT
#include "lab/compile/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

#include "data/file_io.h"
#include "data/sha256.h"
#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/folders.h"
#include "lab/translate/translate.h"

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
    if (find_command(chosen).empty()) {
      throw Error(ErrorKind::usage, fmt::format("CXX is '{}', which is not there", chosen));
    }
    return chosen;
  }
  const auto built_by = settings.find("compiler");
  for (const std::string& name : {built_by == settings.end() ? "" : built_by->second,
                                  std::string("g++"), std::string("clang++"), std::string("c++")}) {
    if (!name.empty() && !find_command(name).empty()) return name;
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
                                    "-fsanitize=alignment"};
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

std::string hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return data::sha256_hex({bytes, text.size()}).substr(0, 32);
}

// The state of a file that is not read: the file changed when one of these did.
std::string state_of(const fs::path& file) {
  std::error_code failed;
  return fmt::format("{} {} {}\n", file.string(), fs::file_size(file, failed),
                     fs::last_write_time(file, failed).time_since_epoch().count());
}

// At most this many programs are kept: those that were used last.
void prune(const fs::path& cache) {
  constexpr std::size_t kMost = 64;
  std::multimap<fs::file_time_type, fs::path> by_age;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, failed)) {
    by_age.emplace(fs::last_write_time(entry, failed), entry.path());
  }
  for (auto oldest = by_age.begin(); by_age.size() > kMost; oldest = by_age.erase(oldest)) {
    fs::remove_all(oldest->second, failed);
  }
}

void write_sources(const fs::path& folder, const std::vector<TranslatedFile>& files) {
  make_folder(folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    data::write_file_atomically(folder / fmt::format("file-{}", i), files[i].text);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += fmt::format("{}{}", line.empty() ? "" : " ", shell_quoted(word));
  }
  return line;
}

// Compiles a source. Returns what the compiler has said of variables without a value, a sentence in
// each line; of its warnings they alone are told.
std::string compiled(const std::vector<std::string>& command, const fs::path& source) {
  std::string said, notes;
  if (run_tool(command, &said) != 0) {
    std::vector<std::string> errors_only = command;
    errors_only.push_back("-w");
    run_tool(errors_only);  // which the user sees as the compiler prints it
    throw Error(ErrorKind::usage, fmt::format("{} does not compile", printable(source.string())));
  }
  std::istringstream lines(said);
  const std::string mark = ": warning: ";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text = line.find(mark), kind = line.rfind("-uninitialized]");
    const std::size_t other_kind = line.rfind("[-Wuninitialized]");
    if (text == std::string::npos || (kind == std::string::npos && other_kind == kind)) continue;
    const std::string place = line.substr(0, line.rfind(':', text - 1));  // without the column
    const std::size_t begin = text + mark.size();
    notes += fmt::format("{}: {}\n", place, line.substr(begin, line.rfind(" [") - begin));
  }
  return notes;
}

void tell_notes(const fs::path& file, const Tell& tell) {
  std::ifstream notes(file);
  for (std::string line; std::getline(notes, line);) tell("note: " + printable(line));
}

constexpr const char* kHeader = "lab/runtime/lab.h";

// A header that includes lab.h, with which every program begins. It is compiled once for all of
// them: g++ takes what it has made of it, but where a program's macros change what it means. Where
// it cannot be compiled, as on a full disk, each program reads lab.h itself.
fs::path precompiled_header(const fs::path& cache, const std::vector<std::string>& begin,
                            const std::string& made_of) {
  const fs::path finished = cache / ("header-" + hash(made_of + joined(begin)));
  const auto now = fs::file_time_type::clock::now();
  std::error_code failed;
  if (fs::is_regular_file(finished / "lab.h.gch")) {
    fs::last_write_time(finished, now, failed);
    return finished / "lab.h";
  }
  const TemporaryFolder temporary(cache);
  const std::string header = (temporary.path / "lab.h").string();
  data::write_file_atomically(header, fmt::format("#include \"{}\"\n", kHeader));
  std::vector<std::string> words = begin;
  words.insert(words.end(), {"-w", "-x", "c++-header", header, "-o", header + ".gch"});
  if (run_tool(words) != 0) return kHeader;
  std::vector<fs::path> unused;  // for an hour; 55 MB each
  for (const fs::directory_entry& entry : fs::directory_iterator(cache)) {
    if (entry.path().filename().string().starts_with("header-") &&
        fs::last_write_time(entry, failed) < now - std::chrono::hours(1)) {
      unused.push_back(entry.path());
    }
  }
  for (const fs::path& one : unused) fs::remove_all(one, failed);
  fs::rename(temporary.path, finished, failed);  // another process may have been faster
  return fs::is_regular_file(finished / "lab.h.gch") ? finished / "lab.h" : fs::path(kHeader);
}

}  // namespace

fs::path compile_for_host_cuda(const LabRun& run) {
  const fs::path lab = lab_folder(run.weft);
  const std::map<std::string, std::string> settings = read_settings(lab);
  const std::string cxx = compiler(settings);
  std::vector<fs::path> sources = {run.file};
  sources.insert(sources.end(), run.more.begin(), run.more.end());
  const Translation program = translate(sources, run.folders);
  if (!program.has_main) {
    throw Error(ErrorKind::usage, fmt::format("{} has no main(): name the file that has it, too",
                                              printable(run.file)));
  }
  std::string version;
  run_tool({cxx, "--version"}, &version);

  const bool is_clang = version.find("clang") != std::string::npos, keeps = !run.keep.empty();
  std::vector<std::string> words = {cxx};
  for (const std::string& flag : instrumentation(is_clang)) words.push_back(flag);
  words.push_back("-I" + (lab / "host_cuda/include").string());
  words.push_back("-I" + (lab / "lab/toolkit").string());
  words.push_back("-I" + lab.string());
  words.push_back("-DWEFT_HOST_CUDA");
  if (run.openmp || program.has_openmp) words.push_back("-fopenmp");
  const std::vector<std::string> of_c = words;  // what C takes as well
  words.push_back("-std=" + run.standard);
  std::string made_of = version;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(lab, fs::directory_options::follow_directory_symlink)) {
    if (entry.is_regular_file()) made_of += state_of(entry.path());
  }
  const fs::path cache = cache_folder(run.tell);
  const fs::path header = is_clang || keeps ? kHeader : precompiled_header(cache, words, made_of);
  std::vector<std::string> more;
  for (const fs::path& source : sources) {
    more.push_back("-iquote" + (source.parent_path() / ".").string());
  }
  for (const std::string& folder : run.folders) more.push_back("-I" + folder);
  for (const std::string& definition : run.definitions) more.push_back("-D" + definition);
  // Messages name files as they were typed, and a debugger finds them.
  more.push_back("-fdebug-prefix-map=" + lab.string() + "=weft-lab");
  more.push_back("-fdebug-prefix-map=" + fs::current_path().string() + "=.");
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"-x", "c++", "-c", "-include", header.string()});

  made_of += joined(words) + fs::current_path().string() + "\n";
  for (const TranslatedFile& file : program.files) {
    made_of += file.original.extension().string() + '\0' + file.text + '\0';
  }
  const fs::path finished = cache / hash(made_of) / "program";
  if (!keeps && fs::is_regular_file(finished)) {
    std::error_code failed;
    fs::last_write_time(finished.parent_path(), fs::file_time_type::clock::now(), failed);
    tell_notes(finished.parent_path() / "notes", run.tell);
    return finished;
  }

  const TemporaryFolder temporary(cache);
  const fs::path folder = keeps ? fs::absolute(run.keep) : temporary.path;
  write_sources(folder, program.files);
  std::vector<std::vector<std::string>> compile;
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    objects.push_back((folder / fmt::format("file-{}.o", i)).string());
    compile.push_back(words);
    if (sources[i].extension() == ".c") {
      compile.back() = of_c;
      compile.back().insert(compile.back().end(), more.begin(), more.end());
      compile.back().insert(compile.back().end(), {"-x", "c", "-c"});
    }
    compile.back().insert(compile.back().end(),
                          {(folder / fmt::format("file-{}", i)).string(), "-o", objects.back()});
  }
  const auto setting = [&](const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  std::vector<std::string> link = {
      cxx,
      (lab / "libweft_lab.a").string(),
      setting("boost_context"),
      "-Wl,-u,weft_lab_begin",
      run.openmp || program.has_openmp ? "-fopenmp" : "-pthread",
      "-lm",
      "-Wl,--wrap=main,--wrap=exit,--wrap=printf,--wrap=puts",
      "-Wl,--wrap=putchar,--wrap=__assert_fail,--wrap=malloc,--wrap=free",
      "-Wl,-T," + (lab / "lab/runtime/lab.ld").string(),
      "-o",
      (folder / "program").string()};
  link.insert(link.begin() + 1, objects.begin(), objects.end());
  if (keeps) {
    std::string script = "#!/bin/sh -e\n";
    for (const std::vector<std::string>& command : compile) script += joined(command) + " -w\n";
    data::write_file_atomically(folder / "compile.sh", script + joined(link) + "\n");
  }
  std::string notes;
  for (std::size_t i = 0; i < compile.size(); ++i) notes += compiled(compile[i], sources[i]);
  data::write_file_atomically(folder / "notes", notes);
  tell_notes(folder / "notes", run.tell);
  if (run_tool(link) != 0) {
    throw Error(ErrorKind::usage, fmt::format("{} does not link", printable(run.file)));
  }
  if (keeps) return folder / "program";
  for (const std::string& object : objects) fs::remove(object);
  make_folder(finished.parent_path());
  fs::rename(folder / "notes", finished.parent_path() / "notes");
  fs::rename(folder / "program", finished);
  prune(cache);
  return finished;
}

}  // namespace weft::lab
