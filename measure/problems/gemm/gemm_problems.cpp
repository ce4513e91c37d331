// SPDX-License-Identifier: MIT
// The matrix products that `weft bench gemm` measures, and those that the flags of `weft kernel`
// ask for.
#include <algorithm>
#include <iterator>

#include "engine/error.h"
#include "measure/families.h"
#include "measure/problems/gemm/gemm.h"

namespace weft::measure {
namespace {

using kernels::GemmStorage;
using problems::Gemm;
using problems::LayerPass;

constexpr int kStripWidths[] = {32, 64, 128, 256};

kernels::GemmDims dims_of(std::span<const std::int64_t> size) {
  if (size.size() == 1) return {.m = size[0], .n = size[0], .k = size[0]};
  return {.m = size[0], .n = size[1], .k = size[2]};
}

// A variant that takes bfloat16 on this device asks for matrices of that.
std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  Gemm problem{.dims = dims_of(size)};
  const Parameters& asked = context.parameters;
  problem.dims.transpose_a = asked.transpose.find('a') != std::string::npos;
  problem.dims.transpose_b = asked.transpose.find('b') != std::string::npos;
  if (kernels::gemm_traits(context.variant).strip && (context.block > 0 || asked.results > 0)) {
    problem.strip_width = context.block > 0 ? context.block : 128;
    if (asked.results > 0) problem.strip_results = static_cast<int>(asked.results);
    if (std::ranges::find(kStripWidths, problem.strip_width) == std::end(kStripWidths)) {
      throw Error(ErrorKind::usage, str("--block: the strip rungs take 32, 64, 128 or 256 threads, "
                                        "found ",
                                        problem.strip_width));
    }
    if (problem.strip_results != 2 && problem.strip_results != 4) {
      throw Error(ErrorKind::usage,
                  str("--results: the strip rungs take 2 or 4, found ", problem.strip_results));
    }
  }
  const kernels::Rung* rung = kernels::gemm_rungs().find(context.variant);
  if (rung != nullptr && rung->arithmetic.fp32 == Arithmetic::bf16) {
    problem.storage = GemmStorage::bf16;
  }
  return gemm_work(problem)(context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

// On this device, and where that is no H200 on one too: every mode, and transposed operands where
// they change the choice.
std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  using kernels::ComputeMode;
  constexpr struct {
    std::string_view name;
    ComputeMode mode;
    GemmStorage storage;
  } kModes[] = {{"fp32", ComputeMode::fp32, GemmStorage::fp32},
                {"tf32", ComputeMode::tf32, GemmStorage::fp32},
                {"bf16", ComputeMode::bf16, GemmStorage::fp32},
                {"bfloat16 matrices", ComputeMode::fp32, GemmStorage::bf16}};
  std::vector<NamedChoice> all;
  const auto add = [&](std::string_view where, const auto& choice_of) {
    for (const auto& [name, mode, storage] : kModes) {
      kernels::GemmDims dims = dims_of(size);
      const kernels::Choice plain = choice_of(dims, storage, mode);
      all.push_back({str(name, where), plain});
      for (int transposed = 1; transposed < 4; ++transposed) {
        dims.transpose_a = (transposed & 1) != 0;
        dims.transpose_b = (transposed & 2) != 0;
        const kernels::Choice choice = choice_of(dims, storage, mode);
        if (choice.rung == plain.rung) continue;
        all.push_back(
            {str(name, dims.transpose_a ? ", A^T" : "", dims.transpose_b ? ", B^T" : "", where),
             choice});
      }
    }
  };
  add("", [&](const kernels::GemmDims& dims, GemmStorage storage, ComputeMode mode) {
    return kernels::gemm_choice({dims, storage, mode}, device);
  });
  if (device.is_cuda() && device_properties(device).compute_capability == 90) return all;
  add(", on an H200", [](const kernels::GemmDims& dims, GemmStorage storage, ComputeMode mode) {
    return kernels::gemm_choice_on_h200({dims, storage, mode});
  });
  return all;
}

std::vector<Gemm> gpu_problems() {
  std::vector<Gemm> all;
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) all.push_back({{.m = n, .n = n, .k = n}});
  // The first layer of the MLP: forward, and its weight gradient.
  all.push_back({{.m = 256, .n = 512, .k = 784, .transpose_b = true}});
  all.push_back({{.m = 512, .n = 784, .k = 256, .transpose_a = true}});
  const auto transposed = [](std::int64_t n, bool a, bool b) {
    return kernels::GemmDims{.m = n, .n = n, .k = n, .transpose_a = a, .transpose_b = b};
  };
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
    for (const bool a : {false, true}) {
      all.push_back({.dims = transposed(n, a, !a), .fast_only = true});
    }
  }
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
    all.push_back({{.m = n, .n = n, .k = n}, GemmStorage::bf16});
  }
  for (const bool a : {false, true}) {
    all.push_back({transposed(4096, a, !a), GemmStorage::bf16});
  }
  // The tables of the course: every strip rung with every width.
  for (const int results : {2, 4}) {
    for (const int width : {32, 64, 128, 256}) {
      all.push_back({.dims = {.m = 2048, .n = 2048, .k = 2048},
                     .strip_width = width,
                     .strip_results = results});
    }
  }
  return all;
}

std::vector<Gemm> cpu_problems() {
  return {{{.m = 256, .n = 256, .k = 256}},
          {{.m = 1024, .n = 1024, .k = 1024}},
          {{.m = 256, .n = 512, .k = 784, .transpose_b = true}},
          {{.m = 512, .n = 784, .k = 256, .transpose_a = true}}};
}

// The linear layers of the built-in networks, in all passes.
std::vector<Gemm> layer_problems() {
  struct Layer {
    std::string_view name;
    std::int64_t in, out;
    bool first, last;  // of its network: no gradient of the data, no ReLU
  };
  constexpr Layer kLayers[] = {
      {"mlp fc1", 784, 512, true, false},       {"mlp fc2", 512, 512, false, false},
      {"mlp fc3", 512, 10, false, true},        {"lenet5 fc1", 400, 120, false, false},
      {"lenet5 fc2", 120, 84, false, false},    {"lenet5 fc3", 84, 10, false, true},
      {"convnet fc1", 9216, 128, false, false},
  };
  std::vector<Gemm> all;
  for (const std::int64_t n : {256, 1024}) {
    for (const Layer& layer : kLayers) {
      if (n == 1024 && layer.name.substr(0, 6) == "lenet5") continue;
      const auto add = [&](const kernels::GemmDims& dims, LayerPass pass) {
        all.push_back({.dims = dims, .layer = layer.name, .pass = pass});
      };
      add({.m = n, .n = layer.out, .k = layer.in, .transpose_b = true},
          layer.last ? LayerPass::forward : LayerPass::forward_relu);
      if (!layer.first) add({.m = n, .n = layer.in, .k = layer.out}, LayerPass::data);
      add({.m = layer.out, .n = layer.in, .k = n, .transpose_a = true}, LayerPass::weights);
    }
  }
  return all;
}

std::vector<MakeWork> made_of(const std::vector<Gemm>& all) {
  std::vector<MakeWork> made;
  for (const Gemm& p : all) made.push_back(gemm_work(p));
  return made;
}
std::vector<MakeWork> problems_on(Device device) {
  return made_of(device.is_cuda() ? gpu_problems() : cpu_problems());
}
std::vector<MakeWork> layers(Device) {
  return made_of(layer_problems());
}

}  // namespace

extern const FamilyBench gemm_bench = {
    .family = "gemm",
    .size_meaning = "rows and columns of square matrices, or m, n and k as 256x512x784",
    .default_size = 512,
    .largest_size = 32768,
    .sized = sized,
    .problems = problems_on,
    .more_name = "layers",
    .more = layers,
    .shape_extents = 3,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure
