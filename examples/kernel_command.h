// SPDX-License-Identifier: MIT
// weft kernel and weft bench: the catalogue of kernels, listed, explained, run and measured.
#pragma once

#include "examples/flags.h"
#include "kernels/catalogue.h"

namespace weft::cli {

void add_kernel(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_train(CLI::App& bench, Action& action);

// FAMILY or FAMILY/VARIANT; `variant` is null for a family alone. Unknown names throw usage with a
// suggestion.
struct KernelName {
  const kernels::Family* family = nullptr;
  const kernels::VariantInfo* variant = nullptr;
};
KernelName parse_kernel_name(const std::string& name);
std::vector<std::string> family_names();

struct KernelRun {
  std::string name;
  std::vector<std::int64_t> size;                    // empty: chosen by the family
  std::int64_t block = 0, iterations = 0, seed = 1;  // 0: likewise
  bool check = false, json = false, counts = false;
  DeviceFlags device;
};

int run_kernel(const KernelRun& run);
int show_kernel(const KernelRun& run);
int run_on_host_cuda(const KernelRun& run);

}  // namespace weft::cli
