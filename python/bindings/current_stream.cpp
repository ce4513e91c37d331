// SPDX-License-Identifier: MIT
#include "python/bindings/current_stream.h"

#include <array>
#include <string>

#include "engine/error.h"

#ifdef WEFT_PYTHON_ON_CUDA
#include "engine/cuda/cuda_check.h"
#endif

namespace weft::python {

namespace nb = nanobind;

#ifdef WEFT_PYTHON_ON_CUDA
namespace {

cudaStream_t torch_stream(int device) {
  const nb::object stream =
      nb::module_::import_("torch").attr("cuda").attr("current_stream")(device);
  return reinterpret_cast<cudaStream_t>(nb::cast<std::uintptr_t>(stream.attr("cuda_stream")));
}

cudaStream_t cupy_stream(int device) {
  const nb::object stream =
      nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")(device);
  return reinterpret_cast<cudaStream_t>(nb::cast<std::uintptr_t>(stream.attr("ptr")));
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

template <class Visit>
void for_each_stream(int device, Libraries libraries, Visit visit) {
  if (libraries.has(Library::torch)) visit(torch_stream(device));
  if (libraries.has(Library::cupy)) visit(cupy_stream(device));
  if (libraries.has(Library::none)) visit(cudaStream_t{nullptr});
}

void choose_gpu(const Stream& stream) {
  cuda_check(cudaSetDevice(stream.device().index), "select the GPU");
}

struct GpuMemory {
  Buffer buffer;
  Stream stream;
  Libraries libraries;
};

}  // namespace

GpuGuard::GpuGuard() {
  if (cudaGetDevice(&chosen_) != cudaSuccess) chosen_ = -1;
}

GpuGuard::~GpuGuard() {
  if (chosen_ >= 0) static_cast<void>(cudaSetDevice(chosen_));
}

void wait_for_current_streams(const Stream& stream, Libraries libraries) {
  choose_gpu(stream);
  const Stream::Hold held = stream.hold();
  for_each_stream(stream.device().index, libraries,
                  [&](cudaStream_t current) { order(stream.native(), current); });
}

void let_current_streams_wait(const Stream& stream, Libraries libraries) {
  choose_gpu(stream);
  {
    const Stream::Hold held = stream.hold();
    for_each_stream(stream.device().index, libraries,
                    [&](cudaStream_t current) { order(current, stream.native()); });
  }
  if (!libraries.has(Library::jax)) return;
  const nb::gil_scoped_release release;
  stream.synchronize();
}

nb::object new_on_gpu(const Shape& shape, nb::dlpack::dtype dtype, std::size_t bytes,
                      const Stream& stream, Libraries libraries, void** data) {
  auto* memory = new GpuMemory{Buffer(bytes, stream), stream, libraries};
  *data = memory->buffer.data();
  const nb::capsule owner(memory, [](void* pointer) noexcept {
    auto* owned = static_cast<GpuMemory*>(pointer);
    const GpuGuard guard;
    try {
      const nb::gil_scoped_acquire gil;
      wait_for_current_streams(owned->stream, owned->libraries);
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
GpuGuard::GpuGuard() = default;
GpuGuard::~GpuGuard() = default;
void wait_for_current_streams(const Stream&, Libraries) {}
void let_current_streams_wait(const Stream&, Libraries) {}
nb::object new_on_gpu(const Shape&, nb::dlpack::dtype, std::size_t, const Stream&, Libraries,
                      void**) {
  throw Error(ErrorKind::device, "this package was built without CUDA");
}
#endif

}  // namespace weft::python
