// SPDX-License-Identifier: MIT
// weft kernel and weft bench: the catalogue of kernels, listed, explained, run and measured.
#pragma once

#include "examples/weft/input/flags.h"
#include "kernels/catalogue.h"
#include "measure/families.h"
#include "measure/harness.h"
#include "measure/machine/gpus.h"

namespace weft::cli {

void add_kernel(CLI::App& app, Action& action);
void add_occupancy(CLI::App& kernel, Action& action);
void add_warps(CLI::App& kernel, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_train(CLI::App& bench, Action& action);
void add_bench_scaling(CLI::App& bench, Action& action);
void add_bench_links(CLI::App& bench, Action& action);
// A script of bench/: beside an installed program, or in the tree that this one was built in.
// Throws usage where it is not.
std::filesystem::path bench_script(const std::string& name);

// FAMILY or FAMILY/VARIANT; `variant` is null for a family alone. Unknown names throw usage with a
// suggestion.
struct KernelName {
  const kernels::Family* family = nullptr;
  const kernels::Rung* variant = nullptr;
};
KernelName parse_kernel_name(const std::string& name);

// "512", or "256x512x784": a number from 1 to `most`, or several.
CLI::Option* add_extents(CLI::App& app, const std::string& name, std::vector<std::int64_t>& extents,
                         std::int64_t most, const std::string& help);
// "8K" is 8192.
CLI::Option* add_amount(CLI::App& app, const std::string& name, std::int64_t& value,
                        const std::string& help);

// A GPU of the table of public figures. Throws usage with a suggestion.
const measure::Gpu& parse_gpu(const std::string& name);
std::string gpu_help();

struct KernelRun {
  std::string name;
  std::vector<std::int64_t> size;                    // empty: chosen by the family
  std::int64_t block = 0, iterations = 0, seed = 1;  // 0: likewise
  bool check = false, json = false, counts = false;
  measure::Parameters parameters;
  std::string gpu;  // show: answers for this one, from public figures; empty: for this machine
  DeviceFlags device;
};

int run_kernel(const KernelRun& run);
int show_kernel(const KernelRun& run);
int run_on_host_cuda(const KernelRun& run);
// Throws usage unless host-cuda can run the rung, which was called `name`.
void require_host_cuda(const std::string& name, const kernels::Rung& rung, const Stream& stream);
// A problem of little work, unless a size is asked for: here a GPU's problem would take hours.
std::unique_ptr<measure::Work> small_work(const KernelRun& run, const measure::FamilyBench& family,
                                          std::string_view variant, const Stream& stream);

struct WatchRun {
  KernelRun problem;
  std::string other;  // FAMILY/VARIANT to show beside problem.name; or empty
  std::string out;
  std::int64_t first_block = 0, blocks = 2;
};
int watch_kernel(const WatchRun& run);

}  // namespace weft::cli
