// SPDX-License-Identifier: MIT
// The main() of a program of `weft lab`, around the student's: the linker calls that one
// __real_main. This file is a part of the library that such programs are linked with.
#include <pthread.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include "engine/error.h"
#include "host_cuda/grid.h"
#include "host_cuda/host_cuda.h"
#include "lab/record/record.h"
#include "lab/runtime/failures.h"
#include "lab/runtime/findings.h"
#include "lab/runtime/launch.h"

extern "C" {
int __real_main(int argc, char** argv, char** environment);
[[noreturn]] void __real_exit(int code);
}

namespace {

bool counting = false, ends_at_once = false;
pthread_t counting_thread;
int exit_code = 0;
std::jmp_buf at_exit;

// Runs the student's main() and returns what its kernels asked of memory.
std::vector<weft::KernelCounts> counts_of(int argc, char** argv, char** environment) {
  std::vector<weft::KernelCounts> kernels = weft::count_accesses([&] {
    counting = true;
    counting_thread = pthread_self();
    if (setjmp(at_exit) == 0) exit_code = __real_main(argc, argv, environment);
    counting = false;
  });
  std::fflush(stdout);
  return kernels;
}

}  // namespace

// WEFT_LAB_RECORD is the file that weft::lab::read_record() reads when the program has ended.
extern "C" int __wrap_main(int argc, char** argv, char** environment) {
  weft::host_cuda::set_cuda_version(WEFT_LAB_CUDA_VERSION);
  const char* path = std::getenv("WEFT_LAB_RECORD");
  if (path == nullptr) return __real_main(argc, argv, environment);
  const bool traces = std::getenv("WEFT_LAB_TRACE") != nullptr;
  weft::lab::Record record;
  const auto run = [&] { record.counts = counts_of(argc, argv, environment); };
  if (traces) {
    record.trace = weft::trace_accesses(run);
  } else {
    run();
  }
  try {
    weft::lab::write_record(record, path);
  } catch (const weft::Error& error) {
    weft::host_cuda::lab::print_error(error.what());
    return error.exit_code();
  }
  if (ends_at_once) std::_Exit(exit_code);
  return exit_code;
}

// A finding ends the program: what was counted until then is kept.
void weft::host_cuda::lab::leave_counting(int code) {
  if (!counting || pthread_equal(pthread_self(), counting_thread) == 0) return;
  counting = false;
  ends_at_once = true;
  exit_code = code;
  abandon_block();
  std::longjmp(at_exit, 1);
}

// exit() within main() ends the counting, not yet the program.
extern "C" [[noreturn]] void __wrap_exit(int code) {
  if (!counting) __real_exit(code);
  exit_code = code;
  std::longjmp(at_exit, 1);
}
