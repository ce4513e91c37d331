// SPDX-License-Identifier: MIT
// weft._host_cuda: the same functions on host-cuda, which runs the CUDA kernels on the CPU thread
// by thread and checks every access to memory, and the weft program.
#include <nanobind/stl/vector.h>

#include <chrono>

#include "engine/stop.h"
#include "examples/weft/program.h"
#include "host_cuda/access/access_counts.h"
#include "host_cuda/access/access_trace.h"
#include "host_cuda/host_cuda.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

nb::dict to_dict(const AtomicCounts& atomics) {
  nb::dict counts;
  counts["operations"] = atomics.operations;
  counts["addresses"] = atomics.addresses;
  counts["most_on_an_address"] = atomics.most_on_an_address;
  return counts;
}

// The fields of `weft kernel show --counts --json`.
nb::dict to_dict(const KernelCounts& kernel) {
  nb::dict counts;
  counts["kernel"] = kernel.kernel;
  counts["launches"] = kernel.launches;
  counts["blocks"] = kernel.blocks;
  counts["threads"] = kernel.threads;
  counts["barriers"] = kernel.barriers;
  counts["warps"] = kernel.warps;
  counts["divergent_warps"] = kernel.divergent_warps;
  counts["global_atomics"] = to_dict(kernel.global_atomics);
  counts["shared_atomics"] = to_dict(kernel.shared_atomics);
  nb::list lines, branches;
  for (const LineCounts& line : kernel.lines) {
    nb::dict row;
    row["line"] = line.line;
    row["access"] = name_of(line.kind);
    row["requests"] = line.requests;
    row["lanes"] = line.lanes;
    row["transactions"] = line.transactions;
    row["least"] = line.least;
    lines.append(row);
  }
  for (const BranchCounts& branch : kernel.branches) {
    nb::dict row;
    row["line"] = branch.line;
    row["executed"] = branch.executed;
    row["divergent"] = branch.divergent;
    branches.append(row);
  }
  counts["lines"] = lines;
  counts["branches"] = branches;
  return counts;
}

// Calls work() without the barrier of a line, and throws what the checks then find.
nb::object without(const std::string& barrier, const nb::callable& work) {
  nb::object returned;
  std::exception_ptr thrown;
  const WithoutBarrier run = run_without_barrier(barrier, [&] {
    try {
      returned = work();
    } catch (...) {  // an exception of Python by now
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
  if (!run.taken_out) {
    throw Error(ErrorKind::usage, str("run: no thread came to a __syncthreads() at ", barrier));
  }
  return returned;
}

// Calls work() and returns what it returned, with the counts of its kernels. Grids run in
// `schedules` orders of their threads, but in one while they are counted.
nb::tuple run(const nb::callable& work, bool counts, int schedules, const std::string& barrier) {
  const Call alone("run");  // no other thread uses host-cuda meanwhile
  alone.require(schedules >= 1 && schedules <= 1000, "schedules is ", schedules,
                ", expected 1 to 1000");
  struct Schedules {
    explicit Schedules(int count) { host_cuda::set_schedules(count); }
    ~Schedules() { host_cuda::set_schedules(1); }
  };
  const Schedules set(schedules);
  nb::object returned;
  std::vector<KernelCounts> kernels;
  if (!barrier.empty()) {
    returned = without(barrier, work);
  } else if (counts) {
    kernels = count_accesses([&] { returned = work(); });
  } else {
    returned = work();
  }
  nb::list all;
  for (const KernelCounts& kernel : kernels) all.append(to_dict(kernel));
  return nb::make_tuple(returned, all);
}

// Asks Python for signals now and then, while a grid runs.
bool stop_requested() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point asked = Clock::now();
  const Clock::time_point now = Clock::now();
  if (now - asked < std::chrono::milliseconds(50)) return false;
  asked = now;
  return interrupted();
}

}  // namespace
}  // namespace weft::python

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_host_cuda, m) {
  weft::python::bind_all(m);
  weft::set_stop(&weft::python::stop_requested);
  m.def("_run", &weft::python::run, "work"_a, "counts"_a, "schedules"_a, "without_barrier"_a);
  m.def(
      "_program",
      [](const std::vector<std::string>& arguments) {
        const nb::gil_scoped_release release;
        return weft::cli::run_program(arguments);
      },
      "arguments"_a, "The weft program. Returns its exit code.");
}
