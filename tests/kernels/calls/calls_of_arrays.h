// SPDX-License-Identifier: MIT
// A call of each public function of the families that stand on their own.
#pragma once

#include "kernels/divergence/divergence.h"
#include "kernels/gemm/gemm.h"
#include "kernels/histogram/histogram.h"
#include "kernels/image/image.h"
#include "kernels/memory/memory.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/signal/signal.h"
#include "kernels/transpose/transpose.h"
#include "tests/kernels/calls/calls_of_layers.h"

namespace weft::test {

inline Calls gemm_calls() {
  using kernels::Bfloat16;
  using kernels::ComputeMode;
  using kernels::Epilogue;
  using kernels::GemmOptions;
  static constexpr kernels::GemmDims d{8, 8, 8};
  constexpr std::int64_t n = kCallN;
  const auto floats = [](GemmOptions options) {
    return [=](CallOf a) {
      GemmOptions all = options;
      all.relu_mask = a.at("relu_mask");
      all.row_sums = a.at("row_sums");
      gemm(a.at("c"), a.at("a"), a.at("b"), a.at("bias"), d, all, a.stream);
    };
  };
  const auto bfloat16 = [](GemmOptions options) {
    return [=](CallOf a) {
      gemm(a.at<Bfloat16>("c"), a.at<Bfloat16>("a"), a.at<Bfloat16>("b"), a.at("bias"), d, options,
           a.stream);
    };
  };
  const auto on = [](Device device) {
    return device.is_cpu() ? GemmOptions{} : GemmOptions{.variant = "mma_bf16"};
  };
  return {
      {.function = "gemm",
       .arrays = {out("c", n), in("a", n), in("b", n), in("bias", 8).or_null(),
                  in("relu_mask", n).or_null(), out("row_sums", 8).or_null()},
       .run = floats({.beta = 1}),
       .refused = {{"mode", floats({.mode = ComputeMode(7)})},
                   {"mode", floats({.mode = ComputeMode(-1)})},
                   {"epilogue", floats({.epilogue = Epilogue(7)})},
                   {"alpha", floats({.alpha = kNan})},
                   {"alpha", floats({.alpha = kInf})},
                   {"beta", floats({.beta = -kInf})},
                   {"strip_width", floats({.strip_width = 33})},
                   {"strip_results", floats({.strip_results = 3})},
                   {"cluster_parts", floats({.cluster_parts = 3})},
                   {"cluster_columns", floats({.cluster_columns = 33})}}},
      {.function = "gemm",
       .arrays = {out<Bfloat16>("c", n), in<Bfloat16>("a", n), in<Bfloat16>("b", n),
                  in("bias", 8).or_null()},
       .run = [=](CallOf a) { bfloat16(on(a.stream.device()))(a); },
       .refused = {{"mode", bfloat16({.mode = ComputeMode(3)})},
                   {"epilogue", bfloat16({.epilogue = Epilogue(2)})},
                   {"alpha", bfloat16({.alpha = kNan})}},
       .runs_on =
           [=](Device device) {
             return kernels::gemm_takes(on(device).variant,
                                        {.dims = d, .storage = kernels::GemmStorage::bf16}, device);
           }},
  };
}

inline Calls histogram_calls() {
  using Byte = std::uint8_t;
  using Count = std::int64_t;
  constexpr std::int64_t n = kCallN;
  const auto integers = [](kernels::IntegerBins bins) {
    return [=](CallOf a) {
      histogram(a.at<Count>("counts"), a.at<std::int32_t>("x"), n, bins, {}, a.stream);
    };
  };
  const auto floats = [](kernels::EvenBins bins, int block = 0) {
    return [=](CallOf a) {
      histogram(a.at<Count>("counts"), a.at("x"), n, bins, {.block = block}, a.stream);
    };
  };
  return {
      {.function = "histogram",
       .arrays = {out<Count>("counts", 256), in<Byte>("x", 4096)},
       .run =
           [](CallOf a) {
             kernels::histogram(a.at<Count>("counts"), a.at<Byte>("x"), 4096, {}, a.stream);
           }},
      {.function = "histogram",
       .arrays = {out<Count>("counts", 8), in<std::int32_t>("x", n)},
       .run = integers({0, 8, 8}),
       .refused = {{"lower", integers({2, 1, 8})}, {"bins", integers({0, 8, 0})}}},
      {.function = "histogram",
       .arrays = {out<Count>("counts", 8), in("x", n)},
       .run = floats({0, 1, 8}),
       .refused = {{"finite", floats({kNan, 1, 8})},
                   {"finite", floats({0, kInf, 8})},
                   {"block", floats({0, 1, 8}, 33)}}},
  };
}

inline Calls image_calls() {
  using Byte = std::uint8_t;
  return {
      {.function = "rgb_to_grey",
       .arrays = {out<Byte>("grey", 64), in<Byte>("rgb", 192)},
       .run =
           [](CallOf a) {
             kernels::rgb_to_grey(a.at<Byte>("grey"), a.at<Byte>("rgb"), 64, kernels::kAutomatic,
                                  a.stream);
           },
       .refused = {{"operation",
                    [](CallOf a) {
                      kernels::image_takes("automatic", kernels::ImageOperation(7),
                                           a.stream.device());
                    }}}},
      {.function = "box_blur",
       .arrays = {out<Byte>("y", 64), in<Byte>("x", 64)},
       .run =
           [](CallOf a) {
             kernels::box_blur(a.at<Byte>("y"), a.at<Byte>("x"), {8, 8, 1}, 1, kernels::kAutomatic,
                               a.stream);
           }},
  };
}

inline Calls memory_calls() {
  using kernels::kAutomatic;
  constexpr std::int64_t n = kCallN;
  static constexpr kernels::Access access{1, 2};
  const std::int64_t spanned = access.extent(n);
  const auto host = [](Device device) {
    return std::make_shared<kernels::HostBuffer>(64, kernels::HostMemory::pageable, device);
  };
  return {
      {.function = "vector_add",
       .arrays = {out("c", n), in("a", n), in("b", n)},
       .run =
           [](CallOf a) {
             kernels::vector_add(a.at("c"), a.at("a"), a.at("b"), n, kAutomatic, a.stream);
           },
       .refused = {{"operation",
                    [](CallOf a) {
                      kernels::memory_takes("automatic", kernels::MemoryOperation(7),
                                            a.stream.device());
                    }},
                   {"kind",
                    [](CallOf a) {
                      kernels::HostBuffer(8, kernels::HostMemory(7), a.stream.device());
                    }}}},
      {.function = "copy_strided",
       .arrays = {out("y", n), in("x", spanned)},
       .run =
           [=](CallOf a) {
             kernels::copy_strided(a.at("y"), a.at("x"), n, access, kAutomatic, a.stream);
           }},
      {.function = "read_strided",
       .arrays = {out<std::int64_t>("sum", 1), in<std::int32_t>("x", access.extent(n))},
       .run =
           [=](CallOf a) {
             kernels::read_strided(a.at<std::int64_t>("sum"), a.at<std::int32_t>("x"), n, {0, 1},
                                   kAutomatic, a.stream);
           }},
      {.function = "shared_strided",
       .arrays = {out<std::uint32_t>("sums", 2 * kernels::kSharedThreads)},
       .run =
           [](CallOf a) {
             kernels::shared_strided(a.at<std::uint32_t>("sums"), 2, 1, 1, a.stream);
           }},
      {.function = "copy_rows",
       .arrays = {out("y", n), in("x", n)},
       .run =
           [](CallOf a) {
             kernels::copy_rows(a.at("y"), a.at("x"), 8, 8, 8, 8, kAutomatic, a.stream);
           }},
      {.function = "transfer_to_device",
       .arrays = {out<std::uint8_t>("device", 64)},
       .run =
           [=](CallOf a) {
             kernels::transfer_to_device(a.at("device"), *host(a.stream.device()), 64, a.stream);
             a.stream.synchronize();
           }},
      {.function = "transfer_to_host",
       .arrays = {in<std::uint8_t>("device", 64)},
       .run =
           [=](CallOf a) {
             const auto to = host(a.stream.device());
             kernels::transfer_to_host(*to, a.at("device"), 64, a.stream);
             a.stream.synchronize();
           }},
  };
}

inline Calls reduce_calls() {
  using kernels::ElementType;
  using kernels::Reduction;
  constexpr std::int64_t n = 40000;
  static constexpr kernels::ReduceOptions options{.variant = "vectorized"};
  const auto bytes = [=](Device device) {
    return kernels::reduce_workspace_bytes<float>(n, options, device);
  };
  const auto reduce = [=](ElementType type, Reduction kind) {
    return [=](CallOf a) {
      kernels::reduce(type, a.at<void>("result"), a.at<void>("x"), n, kind, options, a.workspace,
                      a.stream);
    };
  };
  const auto argmax = [=](ElementType type) {
    return [=](CallOf a) {
      kernels::argmax(type, a.at<std::int64_t>("index"), a.at<void>("x"), n, options, a.workspace,
                      a.stream);
    };
  };
  return {
      {.function = "reduce",
       .arrays = {out("result", 1), in("x", n)},
       .run = reduce(ElementType::f32, Reduction::sum),
       .refused = {{"kind", reduce(ElementType::f32, Reduction(4))},
                   {"kind", reduce(ElementType::f32, Reduction(-1))},
                   {"type", reduce(ElementType(4), Reduction::sum)}},
       .workspace_bytes = bytes},
      {.function = "argmax",
       .arrays = {out<std::int64_t>("index", 1), in("x", n)},
       .run = argmax(ElementType::f32),
       .refused = {{"type", argmax(ElementType(7))}},
       .workspace_bytes = bytes},
  };
}

inline Calls scan_calls() {
  using kernels::ElementType;
  using kernels::ScanOptions;
  constexpr std::int64_t n = 40000;
  const auto on = [](Device device) {
    return std::string_view(device.is_cpu() ? "threaded" : "three_kernel");
  };
  const auto scan = [=](ElementType type, ScanOptions options) {
    return [=](CallOf a) {
      ScanOptions here = options;
      here.variant = on(a.stream.device());
      kernels::scan(type, a.at<void>("y"), a.at<void>("x"), n, here, a.workspace, a.stream);
    };
  };
  return {
      {.function = "scan",
       .arrays = {out("y", n).may_be("x"), in("x", n)},
       .run = scan(ElementType::f32, {}),
       .refused = {{"op", scan(ElementType::f32, {.op = kernels::ScanOp(9)})},
                   {"kind", scan(ElementType::f32, {.kind = kernels::ScanKind(2)})},
                   {"type", scan(ElementType(9), {})}},
       .workspace_bytes =
           [=](Device device) {
             return kernels::scan_workspace_bytes(on(device), n, sizeof(float), device);
           }},
  };
}

inline Calls other_array_calls() {
  constexpr std::int64_t n = kCallN;
  using Int = std::int32_t;
  return {
      {.function = "sq_or_cube",
       .arrays = {out<Int>("y", n).may_be("x"), in<Int>("x", n)},
       .run =
           [](CallOf a) {
             kernels::sq_or_cube(a.at<Int>("y"), a.at<Int>("x"), n, 2, kernels::kAutomatic,
                                 a.stream);
           }},
      {.function = "signal_convolve",
       .arrays = {out("y", n), in("x", n), in("filter", 9)},
       .run =
           [](CallOf a) {
             kernels::signal_convolve(a.at("y"), a.at("x"), a.at("filter"), {1, 8, 8, 1, 3, 3}, {},
                                      a.stream);
           }},
      {.function = "transpose",
       .arrays = {out("y", n), in("x", n)},
       .run =
           [](CallOf a) {
             kernels::transpose(a.at("y"), a.at("x"), {8, 8}, kernels::kAutomatic, a.stream);
           }},
  };
}

}  // namespace weft::test
