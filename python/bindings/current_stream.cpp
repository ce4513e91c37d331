// SPDX-License-Identifier: MIT
#include "python/bindings/current_stream.h"

#include <array>

#include "engine/error.h"

#ifdef WEFT_PYTHON_ON_CUDA
#include "engine/cuda_check.h"
#endif

namespace weft::python {

namespace nb = nanobind;

#ifdef WEFT_PYTHON_ON_CUDA
namespace {

cudaStream_t current_stream(int device) {
  const nb::dict loaded = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
  std::uintptr_t address = 0;  // the default stream
  if (loaded.contains("torch")) {
    address = nb::cast<std::uintptr_t>(
        loaded["torch"].attr("cuda").attr("current_stream")(device).attr("cuda_stream"));
  } else if (loaded.contains("cupy")) {
    address = nb::cast<std::uintptr_t>(
        loaded["cupy"].attr("cuda").attr("get_current_stream")().attr("ptr"));
  }
  return reinterpret_cast<cudaStream_t>(address);
}

// `later` waits for what `earlier` has been given so far.
void order(cudaStream_t later, cudaStream_t earlier) {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "create an event");
  const cudaError_t recorded = cudaEventRecord(event, earlier);
  const cudaError_t waits = cudaStreamWaitEvent(later, event, 0);
  static_cast<void>(cudaEventDestroy(event));  // it lives on until it is reached
  cuda_check(recorded, "record an event on the caller's stream");
  cuda_check(waits, "wait for the caller's stream");
}

// Memory that is given back to the pool after what the caller's stream still does with it.
struct GpuMemory {
  Buffer buffer;
  Stream stream;
};

}  // namespace

void wait_for_current_stream(const Stream& stream) {
  cuda_check(cudaSetDevice(stream.device().index), "select the GPU");
  order(stream.native(), current_stream(stream.device().index));
}

void let_current_stream_wait(const Stream& stream) {
  order(current_stream(stream.device().index), stream.native());
}

nb::object new_on_gpu(const Shape& shape, nb::dlpack::dtype dtype, std::size_t bytes,
                      const Stream& stream, void** data) {
  auto* memory = new GpuMemory{Buffer(bytes, stream), stream};
  *data = memory->buffer.data();
  const nb::capsule owner(memory, [](void* pointer) noexcept {
    auto* owned = static_cast<GpuMemory*>(pointer);
    try {
      const nb::gil_scoped_acquire gil;
      wait_for_current_stream(owned->stream);
    } catch (...) {  // the process is ending, and so is the use of this memory
    }
    delete owned;
  });
  std::array<std::size_t, Shape::kMaxRank> extents{};
  for (int i = 0; i < shape.rank(); ++i) {
    extents[static_cast<std::size_t>(i)] = static_cast<std::size_t>(shape[i]);
  }
  return nb::cast(nb::ndarray<nb::array_api>(*data, static_cast<std::size_t>(shape.rank()),
                                             extents.data(), owner, nullptr, dtype,
                                             nb::device::cuda::value, stream.device().index));
}
#else
void wait_for_current_stream(const Stream&) {}
void let_current_stream_wait(const Stream&) {}
nb::object new_on_gpu(const Shape&, nb::dlpack::dtype, std::size_t, const Stream&, void**) {
  throw Error(ErrorKind::device, "this package was built without CUDA");
}
#endif

}  // namespace weft::python
