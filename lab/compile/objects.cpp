// SPDX-License-Identifier: MIT
#include "lab/compile/objects.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/text.h"
#include "lab/compile/cache.h"
#include "lab/compile/nearby.h"
#include "lab/compile/process.h"
#include "lab/translate/translate.h"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

void write_sources(const fs::path& folder, const std::vector<TranslatedFile>& files) {
  make_folder(folder);
  for (std::size_t i = 0; i < files.size(); ++i) {
    data::write_file_atomically(folder / fmt::format("file-{}", i), files[i].text);
  }
}

// What the compiler has said of variables without a value, a sentence in each line: of its warnings
// they alone are told. Not where a shuffle takes the value, of which one lane's is meant most
// often: `if (lane == 0) old = atomicAdd(...);` and then `__shfl_sync(mask, old, 0)`. Nor in the
// lab's own headers.
std::string notes_in(const std::string& said, const fs::path& lab) {
  std::istringstream lines(said);
  std::string notes;
  const std::string mark = ": warning: ";
  for (std::string line, source; std::getline(lines, line);) {
    const std::size_t text = line.find(mark), kind = line.rfind("-uninitialized]");
    const std::size_t other_kind = line.rfind("[-Wuninitialized]");
    if (text == std::string::npos || (kind == std::string::npos && other_kind == kind)) continue;
    if (line.starts_with(lab.string()) || line.starts_with("weft-lab/")) continue;
    const auto behind = lines.tellg();  // the compiler shows the line of the source there
    std::getline(lines, source);
    if (source.find("shfl") != std::string::npos) continue;
    lines.seekg(behind);
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

[[noreturn]] void throw_without_main(const fs::path& file) {
  throw Error(ErrorKind::usage, fmt::format("{} has no main(): name the file that has it, too",
                                            printable(file.string())));
}

void replace_all(std::string& text, const std::string& old, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size()) {
    text.replace(at, old.size(), by);
  }
}

// A source on its way to its object.
struct Job {
  SourceFile source;
  Translation translation;
  std::vector<std::string> words;  // the command without its two files
  fs::path finished;               // in the cache
  std::unique_ptr<TemporaryFolder> temporary;
  fs::path folder;  // where it is compiled

  std::vector<std::string> command(const char* what) const {
    std::vector<std::string> all = words;
    all.insert(all.end(), {what, (folder / "file-0").string(), "-o", object().string()});
    return all;
  }
  fs::path object() const { return folder / "object.o"; }
};

Job prepared(const Toolchain& tools, const fs::path& cache, const SourceFile& source,
             const Compilation& how, bool precompile) {
  Job job;
  job.source = source;
  job.translation = translate({source.path}, how.flags.folders);
  if (!how.openmp_by_source) job.translation.has_openmp = false;
  job.translation.has_openmp = job.translation.has_openmp || how.flags.openmp;
  job.words = first_words(tools);
  if (job.translation.has_openmp) job.words.push_back("-fopenmp");
  if (!source.is_c) job.words.push_back("-std=" + how.flags.standard);
  const fs::path header = source.is_c || tools.is_clang || !precompile
                              ? kLabHeader
                              : precompiled_header(tools, cache, job.words);
  job.words.push_back("-iquote" + (source.path.parent_path() / ".").string());
  for (const std::string& folder : how.flags.folders) job.words.push_back("-I" + folder);
  for (const std::string& name : how.flags.definitions) job.words.push_back("-D" + name);
  const std::vector<std::string>& more = how.flags.passed_on;
  job.words.insert(job.words.end(), more.begin(), more.end());
  // Messages name files as they were typed, and a debugger finds them.
  job.words.push_back("-fdebug-prefix-map=" + tools.lab.string() + "=weft-lab");
  job.words.push_back("-fdebug-prefix-map=" + fs::current_path().string() + "=.");
  job.words.insert(job.words.end(), {"-x", source.is_c ? "c" : "c++"});
  if (!source.is_c) job.words.insert(job.words.end(), {"-include", header.string()});
  if (source.is_host) job.words.insert(job.words.end(), {"-include", kHostSourceHeader});

  std::string made_of = tools.state + joined(job.words) + fs::current_path().string() + "\n";
  for (const TranslatedFile& file : job.translation.files) made_of += file.text + '\0';
  job.finished = cache / (kObjectFolder + hash(made_of));
  return job;
}

// As the compiler prints them for a person, without warnings.
[[noreturn]] void show_errors(const Job& job) {
  std::vector<std::string> command = job.command("-c");
  command.push_back("-w");
  run_tool(command);
  std::string what = printable(job.source.path.string()) + " does not compile";
  for (const std::string& header : job.translation.missing) {
    const fs::path folder = nearby_folder_with(header, job.source.path.parent_path());
    if (folder.empty()) continue;
    what += fmt::format("; {} is in {}: add -I {}", printable(header), printable(folder.string()),
                        shell_word(folder.string()));
    break;
  }
  throw Error(ErrorKind::usage, what);
}

// Takes what was compiled into the cache, where another process may have been faster.
void keep(Job& job, const std::string& notes) {
  const TemporaryFolder made(job.finished.parent_path());
  fs::rename(job.object(), made.path / "object.o");
  data::write_file_atomically(made.path / "notes", notes);
  std::error_code failed;
  fs::rename(made.path, job.finished, failed);
  if (!fs::is_regular_file(job.finished / "object.o")) {
    throw Error(ErrorKind::data, fmt::format("{}: cannot be made: {}",
                                             printable(job.finished.string()), failed.message()));
  }
  job.folder = job.finished;
}

}  // namespace

bool is_c(const fs::path& path) {
  return path.extension() == ".c";
}

std::vector<ObjectFile> compile_sources(const Toolchain& tools,
                                        const std::vector<SourceFile>& sources,
                                        const Compilation& how) {
  const fs::path cache = cache_folder(how.tell);
  const bool keeps = !how.keep.empty();
  std::vector<Job> jobs;
  bool has_main = !how.needs_main;
  for (const SourceFile& source : sources) {
    jobs.push_back(prepared(tools, cache, source, how, !keeps && !how.dry));
    has_main = has_main || jobs.back().translation.has_main;
  }
  if (!has_main) throw_without_main(sources.front().path);
  std::vector<std::vector<std::string>> commands;
  std::vector<std::size_t> compiled;  // the job of each command
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    job.folder = job.finished;
    if (how.dry) {
      std::fputs(("#$ " + joined(job.command("-c")) + "\n").c_str(), stderr);
      continue;
    }
    if (!keeps && fs::is_regular_file(job.object())) {
      mark_used(job.finished);
      continue;
    }
    if (!keeps) job.temporary = std::make_unique<TemporaryFolder>(cache);
    job.folder = !keeps            ? job.temporary->path
                 : jobs.size() > 1 ? how.keep / fmt::format("source-{}", i)
                                   : how.keep;
    write_sources(job.folder, job.translation.files);
    commands.push_back(job.command("-c"));
    compiled.push_back(i);
  }
  if (keeps) {
    std::string script = "#!/bin/sh -e\n";
    for (const std::vector<std::string>& command : commands) script += joined(command) + " -w\n";
    data::write_file_atomically(how.keep / "compile.sh", script);
  }
  const std::vector<ToolResult> results = run_tools(commands, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].code > 0) show_errors(jobs[compiled[i]]);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    Job& job = jobs[compiled[i]];
    const std::string notes = notes_in(results[i].output, tools.lab);
    if (keeps) {
      data::write_file_atomically(job.folder / "notes", notes);
    } else {
      keep(job, notes);
    }
  }
  std::vector<ObjectFile> objects;
  for (const Job& job : jobs) {
    if (!how.dry) tell_notes(job.folder / "notes", how.tell);
    objects.push_back({job.object(), job.translation.has_openmp});
  }
  prune(cache);
  return objects;
}

std::string preprocessed(const Toolchain& tools, const SourceFile& source, const Compilation& how) {
  const fs::path cache = cache_folder(how.tell);
  Job job = prepared(tools, cache, source, how, false);
  job.temporary = std::make_unique<TemporaryFolder>(cache);
  job.folder = job.temporary->path;
  write_sources(job.folder, job.translation.files);
  if (run_tools({job.command("-E")}, 1).front().code != 0) show_errors(job);
  std::ostringstream text;
  text << std::ifstream(job.object(), std::ios::binary).rdbuf();
  return std::move(text).str();
}

LinkInputs link_inputs(const std::vector<SourceFile>& sources,
                       const std::vector<ObjectFile>& objects) {
  LinkInputs inputs;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    inputs.words.push_back(objects[i].path.string());
    inputs.sources[inputs.words.back()] = sources[i].path.string();
    inputs.openmp = inputs.openmp || objects[i].openmp;
  }
  return inputs;
}

void link_program(const Toolchain& tools, const LinkInputs& inputs, const fs::path& program) {
  std::string said;
  const int code = run_tool(link_command(tools, inputs.words, inputs.openmp, program), &said);
  if (code == 0) return;
  std::istringstream lines(said);
  std::string shown;
  bool has_main = true;
  for (std::string line; std::getline(lines, line);) {
    const bool of_main = line.ends_with("undefined reference to `main'") ||
                         line.ends_with("undefined symbol: main") ||
                         line.find("__real_main") != std::string::npos;
    has_main = has_main && !of_main;
    if (of_main || line.find("libweft_lab.a") != std::string::npos) continue;
    for (const auto& [object, source] : inputs.sources) replace_all(line, object, source);
    for (const char* prefix : {"__real_", "__wrap_"}) replace_all(line, prefix, "");
    shown += line + "\n";
  }
  if (!has_main) throw_without_main(inputs.name);
  std::fputs(shown.c_str(), stderr);
  throw Error(ErrorKind::usage, fmt::format("{} does not link", printable(inputs.name)));
}

}  // namespace weft::lab
