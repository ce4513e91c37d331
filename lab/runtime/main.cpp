// SPDX-License-Identifier: MIT
// The main() of a program of `weft lab`, around the student's: the linker calls that one
// __real_main. This file is a part of the library that such programs are linked with.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <filesystem>
#include <string>

#include "data/file_io.h"
#include "engine/error.h"
#include "examples/weft/kernel/counts_text.h"
#include "examples/weft/watch/page.h"

extern "C" {
int __real_main(int argc, char** argv, char** environment);
[[noreturn]] void __real_exit(int code);
}

namespace {

bool counting = false;
int exit_code = 0;
std::jmp_buf at_exit;

// Runs the student's main() and returns what its kernels asked of memory.
std::vector<weft::KernelCounts> counts_of(int argc, char** argv, char** environment) {
  std::vector<weft::KernelCounts> kernels = weft::count_accesses([&] {
    counting = true;
    if (setjmp(at_exit) == 0) exit_code = __real_main(argc, argv, environment);
    counting = false;
  });
  std::fflush(stdout);
  return kernels;
}

void print_counts(const std::vector<weft::KernelCounts>& kernels) {
  const weft::cli::Terminal terminal = weft::cli::detect_terminal(weft::cli::kStderr);
  for (const weft::KernelCounts& kernel : kernels) {
    weft::cli::write_log(weft::cli::counts_text(kernel, terminal));
  }
  weft::cli::write_log(kernels.empty() ? "no kernel ran\n" : weft::cli::kCountsLegend);
}

// Writes the page of `weft lab run --watch`.
void write_page(weft::cli::Watched watched, const char* path) {
  if (watched.trace.launches.empty()) {
    weft::cli::write_log("no kernel ran: there is no page\n");
    return;
  }
  watched.title = std::filesystem::path(std::getenv("WEFT_LAB_FILE")).filename().string();
  const std::string page = weft::cli::watch_page({watched});
  weft::data::write_file_atomically(path, std::string_view(page));
  weft::cli::write_log(
      weft::str(weft::cli::finding(watched), "\n", path, ": open it in a browser\n"));
}

}  // namespace

extern "C" int __wrap_main(int argc, char** argv, char** environment) {
  const bool counts = std::getenv("WEFT_LAB_COUNTS") != nullptr;
  const char* page = std::getenv("WEFT_LAB_WATCH");
  if (!counts && page == nullptr) return __real_main(argc, argv, environment);
  weft::cli::Watched watched;
  const auto run = [&] { watched.counts = counts_of(argc, argv, environment); };
  if (page != nullptr) {
    watched.trace = weft::trace_accesses(run);
  } else {
    run();
  }
  if (counts) print_counts(watched.counts);
  try {
    if (page != nullptr) write_page(std::move(watched), page);
  } catch (const weft::Error& error) {
    weft::cli::print_error(error.what());
    return error.exit_code();
  }
  return exit_code;
}

// exit() within main() ends the counting, not yet the program.
extern "C" [[noreturn]] void __wrap_exit(int code) {
  if (!counting) __real_exit(code);
  exit_code = code;
  std::longjmp(at_exit, 1);
}
