// SPDX-License-Identifier: MIT
// weft lab: a student's own CUDA program, checked thread by thread without a GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "data/files/file_io.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/kernel/counts_text.h"
#include "examples/weft/lab/documents.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/watch/page.h"
#include "lab/compile/compile.h"
#include "lab/compile/process.h"
#include "lab/nvcc/nvcc.h"
#include "lab/nvcc/shell.h"
#include "lab/record/finding_kinds.h"
#include "lab/record/record.h"

namespace weft::cli {
namespace {

using lab::LabRun;

void tell(const std::string& line) {
  print_notice(line);
}

// `weft lab run [flags] FILE [FILE...] [--] [ARGS...]`: words behind the first that name C++ or
// CUDA sources belong to it, and the others are the program's.
void take_program(LabRun& run, std::vector<std::string> words) {
  if (words.empty()) throw CLI::RequiredError("FILE");
  const std::string first = words.front();
  lab::take_nvcc_flags(words, run);
  if (words.empty()) throw Error(ErrorKind::usage, "weft lab run needs a FILE behind its flags");
  if (words.front().starts_with('-') && words.front() != "-") {
    if (words.front() == first) throw CLI::ExtrasError({first});  // with what it may have meant
    throw Error(ErrorKind::usage,
                fmt::format("unknown option '{}' of weft lab run", printable(words.front())));
  }
  run.file = words.front();
  auto word = words.begin() + 1;
  while (word != words.end() && lab::is_source(*word)) run.more.push_back(*word++);
  if (word != words.end() && *word == "--") ++word;
  run.arguments.assign(word, words.end());
}

// What the program's end says, beside what it has printed.
int explained(const LabRun& run, int code) {
  if (code > 128 && code != 130 && code < 128 + 65) {
    print_error(fmt::format("{} was ended by signal {} ({})", printable(run.file), code - 128,
                            strsignal(code - 128)));
  }
  return code;
}

void print_counts(const std::vector<KernelCounts>& kernels) {
  const Terminal terminal = detect_terminal(kStderr);
  for (const KernelCounts& kernel : kernels) write_log(counts_text(kernel, terminal));
  write_log(kernels.empty() ? "no kernel ran\n" : kCountsLegend);
}

void write_page(const LabRun& run, lab::Record record) {
  if (record.trace.launches.empty()) {
    write_log("no kernel ran: there is no page\n");
    return;
  }
  Watched watched;
  watched.title = std::filesystem::path(run.file).filename().string();
  watched.trace = std::move(record.trace);
  watched.counts = std::move(record.counts);
  const std::string page = watch_page({watched});
  data::write_file_atomically(run.watch, std::string_view(page));
  write_log(str(finding(watched), "\n", std::filesystem::absolute(run.watch).string(),
                ": open it in a browser\n"));
}

std::string all_kinds() {
  std::string list;
  for (const lab::FindingKind& kind : lab::finding_kinds()) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", kind.name);
  }
  return list;
}

// The program reads these (lab/runtime/findings.h).
void set_findings(const LabRun& run) {
  std::string allowed;
  for (const std::string& kind : run.allow) {
    if (lab::find_kind(kind) == nullptr) {
      throw Error(ErrorKind::usage, fmt::format("--allow: there is no kind '{}'; the kinds are {}",
                                                printable(kind), all_kinds()));
    }
    allowed += kind + ",";
  }
  setenv("WEFT_LAB_STOP", run.stop.c_str(), 1);
  setenv("WEFT_LAB_ALLOW", allowed.c_str(), 1);
  if (run.strict) setenv("WEFT_LAB_STRICT", "1", 1);
  if (!run.check.empty() && !lab::check_seconds(run.check)) {
    throw Error(ErrorKind::usage, fmt::format("--check {}: expected all, or a number of seconds",
                                              printable(run.check)));
  }
  const std::string check = run.gdb ? "all" : run.check;  // time passes at a breakpoint
  if (!check.empty()) setenv("WEFT_LAB_CHECK", check.c_str(), 1);
}

void write_documents(const LabRun& run, int code, const std::filesystem::path& left) {
  std::vector<lab::FoundRecord> found;  // a program that ends early may have left none
  if (std::filesystem::exists(left)) found = lab::read_found(left.string());
  if (!run.json.empty()) {
    const std::string text = findings_json(run.file, code, found);
    data::write_file_atomically(run.json, std::string_view(text));
  }
  if (!run.sarif.empty()) {
    const std::string text = findings_sarif(code, found);
    data::write_file_atomically(run.sarif, std::string_view(text));
  }
}

// What the program reads from its environment, or the programs that a shell's commands start.
void set_environment(const LabRun& run) {
  set_findings(run);
  setenv("WEFT_HOST_CUDA_SCHEDULES", std::to_string(run.schedules).c_str(), 1);
  const auto jobs = run.gdb ? 1 : run.jobs;  // a breakpoint holds in one process
  if (jobs) setenv("WEFT_HOST_CUDA_JOBS", std::to_string(*jobs).c_str(), 1);
}

// The file is a program, such as one that a lab shell has made, or its source.
std::filesystem::path program_of(const LabRun& run) {
  if (!lab::is_lab_program(run.file)) return lab::compile_for_host_cuda(run);
  if (!run.keep.empty()) {
    throw Error(ErrorKind::usage, "--keep needs the source of a program, and not the program");
  }
  return std::filesystem::absolute(run.file);
}

int run_lab(const LabRun& run) {
  if (!run.watch.empty()) require_folder_of("--watch", run.watch);
  if (!run.json.empty()) require_folder_of("--json", run.json);
  if (!run.sarif.empty()) require_folder_of("--sarif", run.sarif);
  const bool has_documents = !run.json.empty() || !run.sarif.empty();
  set_environment(run);
  if (run.device == "cuda" && has_documents) {
    throw Error(ErrorKind::usage,
                "--json and --sarif tell what host-cuda finds: leave out --device cuda");
  }
  if (run.device == "cuda") return explained(run, lab::run_on_gpu(run));
  const std::filesystem::path program = program_of(run);
  std::vector<std::string> words = {program.string()};
  std::optional<lab::TemporaryFolder> folder;
  std::filesystem::path record, found;
  const bool has_record = run.counts || !run.watch.empty();
  if (has_record || has_documents) folder.emplace(lab::cache_folder(run.tell));
  if (has_documents) {
    found = folder->path / "findings";
    setenv("WEFT_LAB_FINDINGS", found.c_str(), 1);
  }
  if (has_record) {
    record = folder->path / "record";
    setenv("WEFT_LAB_RECORD", record.c_str(), 1);
    if (!run.watch.empty()) setenv("WEFT_LAB_TRACE", "1", 1);
  }
  if (run.gdb) {
    if (lab::find_command("gdb").empty()) throw Error(ErrorKind::usage, "there is no gdb on PATH");
    words.insert(words.begin(), {"gdb", "--args"});
  }
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  const int code = explained(run, lab::run_program(words));
  if (has_documents) write_documents(run, code, found);
  if (!has_record || !std::filesystem::exists(record)) return code;  // what ends early leaves none
  lab::Record left = lab::read_record(record.string());
  if (run.counts) print_counts(left.counts);
  if (!run.watch.empty()) write_page(run, std::move(left));
  return code;
}

void add_orders(CLI::App& command, LabRun& flags) {
  add_whole(command, "--schedules", flags.schedules, 1, 64,
            "orders of the threads that each launch runs in; the results must be the same bits")
      ->capture_default_str();
  add_whole(command, "--jobs", flags.jobs, 1, 256,
            "processes that run blocks of a grid at the same time (default: one for each core)");
}

void add_findings(CLI::App& command, LabRun& flags) {
  add_choice(command, "--stop", flags.stop, {"first", "kernel", "never"},
             "ends a program at the first finding, at the end of the kernel with one, or never")
      ->capture_default_str();
  command.add_option("--allow", flags.allow, "makes findings of this kind notes")
      ->type_name("KIND")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command.add_flag("--strict", flags.strict,
                   "makes notes findings, but of kinds that --allow names");
  command
      .add_option(
          "--check", flags.check,
          "checks all blocks, or for so many seconds, and then the first ones (default: 10)")
      ->type_name("all|SECONDS");
}

void add_run(CLI::App& lab_command, Action& action) {
  CLI::App* sub = &lab_command;
  CLI::App* run = sub->add_subcommand(
      "run", "Compiles FILE.cu for the CPU and runs it, every memory access checked");
  run->footer(
      "weft lab run [flags] FILE.cu [MORE.cu...] [--] [ARGS...]\n"
      "Flags of the lab stand before the file. nvcc's flags may follow them: -std=, -I, -D and\n"
      "-Xcompiler -fopenmp are taken, and a line names those that change nothing here.\n"
      "Further sources (.cu, .cpp, .cc, .cxx, .c) directly behind the file are compiled and\n"
      "linked with it; what follows them, or follows --, is the program's.\n"
      "docs/lab.md says what is found, and what of CUDA is there.\n"
      "The kinds of --allow: " +
      all_kinds() + ".\n");
  auto flags = std::make_shared<LabRun>();
  run->prefix_command(true);
  add_orders(*run, *flags);
  add_findings(*run, *flags);
  run->add_option("--json", flags->json, "writes the findings and notes as one JSON object")
      ->type_name("FILE");
  run->add_option("--sarif", flags->sarif, "writes them as SARIF 2.1.0, which editors show")
      ->type_name("FILE");
  run->add_flag("--counts", flags->counts,
                "memory transactions, bank conflicts, active lanes and atomics, on stderr");
  run->add_option("--watch", flags->watch,
                  "writes a page on which the kernels run step by step, warp by warp")
      ->type_name("FILE.html");
  run->add_flag("--gdb", flags->gdb, "starts the program in gdb");
  run->add_option("--keep", flags->keep, "keeps the translated program in this folder")
      ->type_name("DIR");
  add_choice(*run, "--device", flags->device, {"host-cuda", "cuda"},
             "host-cuda checks on the CPU; cuda compiles with nvcc and times on the GPU")
      ->capture_default_str();
  run->add_option("-I", flags->folders, "folder with headers that the program includes")
      ->type_name("DIR")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  run->add_option("-D", flags->definitions, "defines a macro")
      ->type_name("NAME[=VALUE]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  run->callback([=, &action] {
    flags->weft = this_program();
    flags->tell = tell;
    take_program(*flags, run->remaining());
    action.run = [=] { return run_lab(*flags); };
  });
}

void add_shell(CLI::App& lab_command, Action& action) {
  CLI::App* shell = lab_command.add_subcommand(
      "shell", "A shell in which nvcc is the lab, so that make and cmake build as they are");
  shell->footer(
      "weft lab shell [flags] [-- COMMAND...]\n"
      "Opens a shell, or runs the command. A program that is built there is checked\n"
      "whenever it is started. weft lab run ./program takes the flags of a run, such as\n"
      "--counts. docs/lab.md says more.\n");
  auto flags = std::make_shared<LabRun>();
  add_orders(*shell, *flags);
  add_findings(*shell, *flags);
  shell->add_option("COMMAND", flags->arguments, "a command instead of a shell, behind --")
      ->type_name("")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  shell->callback([=, &action] {
    action.run = [=] {
      set_environment(*flags);
      return lab::run_shell(flags->arguments, this_program(), tell);
    };
  });
}

}  // namespace

void add_lab(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("lab", "Run your own CUDA program, checked, without a GPU");
  sub->require_subcommand(1);
  add_run(*sub, action);
  add_shell(*sub, action);
  // For --help, completion and the manual: run_in_place_of_nvcc() takes the words as they are.
  sub->add_subcommand("nvcc", "In nvcc's place: compiles and links with nvcc's words")
      ->footer(
          "weft lab nvcc [WORDS OF NVCC...]\n"
          "make NVCC='weft lab nvcc' builds as in weft lab shell.\n");
}

std::optional<int> run_in_place_of_nvcc(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[0] != "lab" || arguments[1] != "nvcc") return {};
  std::vector<std::string> words(arguments.begin() + 2, arguments.end());
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) return {};
  if (words.size() >= 2 && words[0] == "--host-compiler") {
    const std::string name = words[1];
    words.erase(words.begin(), words.begin() + 2);
    return lab::run_host_compiler(name, words, this_program(), tell);
  }
  return lab::run_nvcc(words, this_program(), tell);
}

}  // namespace weft::cli
