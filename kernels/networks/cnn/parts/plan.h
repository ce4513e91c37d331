// SPDX-License-Identifier: MIT
// Chooses the compiled kernel for a network and a batch, and divides the workspace.
#pragma once

#include <algorithm>
#include <type_traits>

#include "engine/error.h"
#include "engine/extent.h"
#include "kernels/networks/cnn/parts/arguments.h"

namespace weft::kernels::fused_cnn {

// Calls run(Net()) with the shape that has these dims; false when none has.
template <class Run>
bool with_network(const FusedCnnDims& dims, const Run& run) {
  if (dims.classes < 1 || dims.classes > kMaxClasses) return false;
  if (dims == dims_of<Lenet5>(dims.classes)) {
    run(Lenet5());
    return true;
  }
  if (dims == dims_of<SmallCnn>(dims.classes)) {
    run(SmallCnn());
    return true;
  }
  return false;
}

// Images that a block works on at a time: one while every image can have an SM, else two.
inline int images_at_a_time(std::int64_t rows, Device device) {
  return rows <= device_properties(device).multiprocessors ? 1 : 2;
}
template <class Run>
void with_images(std::int64_t rows, Device device, const Run& run) {
  if (images_at_a_time(rows, device) == 1) return run(std::integral_constant<int, 1>());
  run(std::integral_constant<int, 2>());
}

// Blocks that have images.
inline int image_blocks(std::int64_t rows, Device device) {
  const std::int64_t images = images_at_a_time(rows, device);
  const std::int64_t multiprocessors = device_properties(device).multiprocessors;
  return static_cast<int>(std::min(divide_up(rows, images), multiprocessors));
}

// Cuts the workspace of a GPU into the arrays of an Exchange; with base == null it only counts.
inline std::size_t exchange_in(Exchange& exchange, void* base, const FusedCnnDims& dims,
                               std::int64_t rows, Device device) {
  std::size_t bytes = 0;
  const auto take = [&]<class T>(T*& pointer, std::int64_t count) {
    if (base != nullptr) pointer = reinterpret_cast<T*>(static_cast<char*>(base) + bytes);
    bytes += round_up(static_cast<std::size_t>(count) * sizeof(T), 256);
  };
  const bool known = with_network(dims, [&](auto net) {
    using S = Shape<decltype(net)>;
    const std::int64_t blocks = device_properties(device).multiprocessors;
    take(exchange.inputs, rows * S::kInputs);
    take(exchange.gradients, rows * S::kGradients);
    take(exchange.filters, blocks * S::kFilterStride);
    take(exchange.losses, blocks);
    take(exchange.hits, blocks);
    take(exchange.step, 1);
  });
  if (!known) throw Error(ErrorKind::usage, "fused_cnn: no kernel for a network of this shape");
  return bytes;
}

}  // namespace weft::kernels::fused_cnn
