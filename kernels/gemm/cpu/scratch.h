// SPDX-License-Identifier: MIT
// Scratch memory of the CPU kernels: one block per calling thread, grown on demand and kept, so
// that a training step allocates nothing once its largest call has been made.
#pragma once

#include <cstddef>

namespace weft::kernels {

// At least `floats` floats, aligned to 64 bytes, with undefined contents; valid until this
// thread's next call. Null for 0.
float* thread_scratch(std::size_t floats);

}  // namespace weft::kernels
