// SPDX-License-Identifier: MIT
// weft lab: a student's own CUDA program, checked thread by thread without a GPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "data/file_io.h"
#include "engine/error.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/kernel/counts_text.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/watch/page.h"
#include "lab/compile/compile.h"
#include "lab/compile/process.h"
#include "lab/record/record.h"

namespace weft::cli {
namespace {

using lab::LabRun;

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

int run_lab(const LabRun& run) {
  if (!run.watch.empty()) require_folder_of("--watch", run.watch);
  if (run.device == "cuda") return explained(run, lab::run_on_gpu(run));
  const std::filesystem::path program = lab::compile_for_host_cuda(run);
  setenv("WEFT_HOST_CUDA_SCHEDULES", std::to_string(run.schedules).c_str(), 1);
  const auto jobs = run.gdb ? 1 : run.jobs;  // a breakpoint holds in one process
  if (jobs) setenv("WEFT_HOST_CUDA_JOBS", std::to_string(*jobs).c_str(), 1);
  std::vector<std::string> words = {program.string()};
  std::optional<lab::TemporaryFolder> folder;
  std::filesystem::path record;
  if (run.counts || !run.watch.empty()) {
    folder.emplace(lab::cache_folder(run.tell));
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
  if (!folder || !std::filesystem::exists(record)) return code;  // what ends early leaves none
  lab::Record left = lab::read_record(record.string());
  if (run.counts) print_counts(left.counts);
  if (!run.watch.empty()) write_page(run, std::move(left));
  return code;
}

}  // namespace

void add_lab(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("lab", "Run your own CUDA program, checked, without a GPU");
  sub->require_subcommand(1);
  CLI::App* run = sub->add_subcommand(
      "run", "Compiles FILE.cu for the CPU and runs it, every memory access checked");
  run->footer(
      "weft lab run [flags] FILE.cu [MORE.cu...] [--] [ARGS...]\n"
      "Flags of the lab stand before the file. nvcc's flags may follow them: -std=, -I, -D and\n"
      "-Xcompiler -fopenmp are taken, and a line names those that change nothing here.\n"
      "Further sources (.cu, .cpp, .cc, .cxx, .c) directly behind the file are compiled and\n"
      "linked with it; what follows them, or follows --, is the program's.\n"
      "docs/lab.md says what is found, and what of CUDA is there.\n");
  auto flags = std::make_shared<LabRun>();
  run->prefix_command(true);
  add_whole(*run, "--schedules", flags->schedules, 1, 64,
            "orders of the threads that each launch runs in; the results must be the same bits")
      ->capture_default_str();
  add_whole(*run, "--jobs", flags->jobs, 1, 256,
            "processes that run blocks of a grid at the same time (default: one for each core)");
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
    flags->tell = [](const std::string& line) { print_notice(line); };
    take_program(*flags, run->remaining());
    action.run = [=] { return run_lab(*flags); };
  });
}

}  // namespace weft::cli
