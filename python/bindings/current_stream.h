// SPDX-License-Identifier: MIT
// Order between Weft's stream of a GPU and the stream that the caller works on: PyTorch's or CuPy's
// current one where that library is loaded, else the default stream. Not run on a GPU yet.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "engine/tensor.h"

namespace weft::python {

// What is queued on `stream` from now on runs after what the caller has queued.
void wait_for_current_stream(const Stream& stream);
// What the caller queues from now on runs after what `stream` has been given.
void let_current_stream_wait(const Stream& stream);

// Uninitialised memory of a GPU as an object with __dlpack__; `data` gets its address.
nanobind::object new_on_gpu(const Shape& shape, nanobind::dlpack::dtype dtype, std::size_t bytes,
                            const Stream& stream, void** data);

}  // namespace weft::python
