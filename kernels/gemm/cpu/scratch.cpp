// SPDX-License-Identifier: MIT
#include "kernels/gemm/cpu/scratch.h"

#include <cstdlib>
#include <memory>

#include "engine/error.h"
#include "engine/extent.h"

namespace weft::kernels {
namespace {

struct Free {
  void operator()(float* block) const { std::free(block); }
};

}  // namespace

float* thread_scratch(std::size_t floats) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::unique_ptr<float, Free> block;
  thread_local std::size_t capacity = 0;
  if (floats <= capacity) return block.get();
  block.reset();
  capacity = 0;
  const std::size_t bytes = round_up(floats * sizeof(float), kAlignment);
  block.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
  if (block == nullptr) {
    throw Error(ErrorKind::device, str("no memory for ", bytes, " bytes of CPU scratch"));
  }
  capacity = floats;
  return block.get();
}

}  // namespace weft::kernels
