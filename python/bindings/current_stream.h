// SPDX-License-Identifier: MIT
// Order between Weft's stream of a GPU and the streams that the caller works on: the current ones
// of PyTorch and of CuPy, for arrays of these, and else the default stream. JAX tells nobody its
// streams: a call waits for its arrays, and for the results too.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "engine/tensor.h"

namespace weft::python {

enum class Library : std::uint8_t { none, torch, cupy, jax };  // none: NumPy, or another one

// The libraries of some arrays.
struct Libraries {
  void add(Library library) { bits |= 1u << static_cast<unsigned>(library); }
  bool has(Library library) const { return (bits >> static_cast<unsigned>(library) & 1) != 0; }

  unsigned bits = 0;
};

// Whose array an object is. Waits until an array of JAX has been computed.
Library library_of(nanobind::handle array) noexcept;

// The GPU that the calling thread had chosen is chosen again at the end.
class GpuGuard {
 public:
  GpuGuard();
  GpuGuard(const GpuGuard&) = delete;
  GpuGuard& operator=(const GpuGuard&) = delete;
  ~GpuGuard();

 private:
  int chosen_ = -1;
};

// What is queued on `stream` from now on runs after what the caller has queued.
void wait_for_current_streams(const Stream& stream, Libraries libraries);
// What the caller queues from now on runs after what `stream` has been given.
void let_current_streams_wait(const Stream& stream, Libraries libraries);

// Uninitialised memory of a GPU as an object with __dlpack__; `data` gets its address. It is freed
// after what the current streams of these libraries hold by then.
nanobind::object new_on_gpu(const Shape& shape, nanobind::dlpack::dtype dtype, std::size_t bytes,
                            const Stream& stream, Libraries libraries, void** data);

}  // namespace weft::python
