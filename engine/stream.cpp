// SPDX-License-Identifier: MIT
#include "engine/stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/timings.h"

#ifdef WEFT_WITH_CUDA
#include "engine/cuda/cuda_check.h"
#endif

namespace weft {

namespace detail {

struct StreamState {
  explicit StreamState(Device on) : device(on) {
    if (device.is_cpu()) return;
#ifdef WEFT_WITH_CUDA
    cuda_check(cudaSetDevice(device.index), "select the GPU");
    cuda_check(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "create a stream");
    // Keep freed memory in the pool instead of returning it to the driver at each synchronise.
    cudaMemPool_t pool;
    cuda_check(cudaDeviceGetDefaultMemPool(&pool, device.index), "find the memory pool");
    std::uint64_t keep = UINT64_MAX;
    cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
               "set up the memory pool");
    const std::size_t bytes = Stream::kZeroedWords * sizeof *zeroed;
    cuda_check(cudaMallocAsync(reinterpret_cast<void**>(&zeroed), bytes, native),
               "allocate the zeroed words of a stream");
    cuda_check(cudaMemsetAsync(zeroed, 0, bytes, native), "clear the zeroed words of a stream");
#else
    throw Error(ErrorKind::device, str("no stream on ", device, ": built without CUDA"));
#endif
  }
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState() {
#ifdef WEFT_WITH_CUDA
    if (zeroed != nullptr) static_cast<void>(cudaFreeAsync(zeroed, native));
    if (native != nullptr) static_cast<void>(cudaStreamDestroy(native));
#endif
  }

  void* allocate(std::size_t bytes) {
    const Stream::Hold held = hold();
    void* data = nullptr;
    if (device.is_cpu()) {
      const std::size_t alignment = 256;
      if (bytes <= SIZE_MAX - alignment) {
        data = std::aligned_alloc(alignment, round_up(bytes, alignment));
      }
      if (data == nullptr) throw OutOfMemory(bytes, "");
    }
#ifdef WEFT_WITH_CUDA
    else {
      const cudaError_t code = cudaMallocAsync(&data, bytes, native);
      if (code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        if (code == cudaErrorMemoryAllocation) throw OutOfMemory(bytes, str(" on ", device));
        throw Error(ErrorKind::device, str("could not allocate ", bytes, " bytes on ", device, ": ",
                                           cudaGetErrorString(code)));
      }
    }
#endif
    const std::size_t now = live_bytes += bytes;
    std::size_t peak = peak_bytes;
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
    return data;
  }

  void release(void* data, std::size_t bytes) noexcept {
    const Stream::Hold held = hold();
    live_bytes -= bytes;
    if (device.is_cpu()) std::free(data);
#ifdef WEFT_WITH_CUDA
    else
      static_cast<void>(cudaFreeAsync(data, native));  // may fail while the process unloads
#endif
  }

  // Work of a CPU runs at once, in the thread that asks for it, and takes no lock by itself.
  Stream::Hold hold() {
    if (device.is_cpu()) return {};
    select_gpu();
    return Stream::Hold(mutex());
  }

  // Every thread starts with GPU 0, whatever GPU its streams are on.
  void select_gpu() const {
#ifdef WEFT_WITH_CUDA
    int selected = device.index;
    if (device.is_cuda() && cudaGetDevice(&selected) == cudaSuccess && selected != device.index) {
      static_cast<void>(cudaSetDevice(device.index));
    }
#endif
  }

  std::recursive_mutex& mutex() {
#ifdef WEFT_HOST_CUDA  // which runs one grid at a time, whatever its stream
    static std::recursive_mutex one;
    if (device.is_cuda()) return one;
#endif
    return own_mutex;
  }

  Device device;
  CUstream_st* native = nullptr;
  unsigned long long* zeroed = nullptr;
  std::recursive_mutex own_mutex;
  std::atomic<int> waiting = 0;  // threads in a HostWait
  std::atomic<std::size_t> live_bytes = 0;
  std::atomic<std::size_t> peak_bytes = 0;
};

// A call that may block this thread until the GPU has done its work. Other threads go on queueing,
// but none captures: that would fail, and so would this call.
class HostWait {
 public:
  explicit HostWait(const Stream& stream) : state_(*stream.state_), held_(state_.hold()) {
    ++state_.waiting;
    if (held_ && !built_for_host_cuda()) held_.unlock();
  }
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
  ~HostWait() { --state_.waiting; }

 private:
  StreamState& state_;
  Stream::Hold held_;
};

}  // namespace detail

Stream::Stream(Device device) {
  const TimedScope timed("open the device");
  state_ = std::make_shared<detail::StreamState>(device);
}

Device Stream::device() const {
  return state_->device;
}
CUstream_st* Stream::native() const {
  return state_->native;
}
unsigned long long* Stream::zeroed_words() const {
  return state_->zeroed;
}
Stream::Hold Stream::hold() const {
  state_->select_gpu();
  return Hold(state_->mutex());
}
std::size_t Stream::live_bytes() const {
  return state_->live_bytes;
}
std::size_t Stream::peak_bytes() const {
  return state_->peak_bytes;
}

void Stream::synchronize() const {
#ifdef WEFT_WITH_CUDA
  if (device().is_cpu()) return;
  const detail::HostWait wait(*this);
  cuda_check(cudaStreamSynchronize(native()), "finish work on the GPU");
#endif
}

Buffer::Buffer(std::size_t bytes, const Stream& stream) : state_(stream.state_), bytes_(bytes) {
  if (bytes > 0) data_ = state_->allocate(bytes);
}

Buffer::Buffer(Buffer&& other) noexcept
    : state_(std::move(other.state_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Buffer::~Buffer() {
  release();
}

void Buffer::release() noexcept {
  if (data_ != nullptr) state_->release(data_, bytes_);
  data_ = nullptr;
}

PinnedBuffer::PinnedBuffer(std::size_t bytes, Device device) : device_(device) {
  if (device.is_cpu()) data_ = std::malloc(std::max<std::size_t>(bytes, 1));
#ifdef WEFT_WITH_CUDA
  else
    cuda_check(cudaMallocHost(&data_, std::max<std::size_t>(bytes, 1)), "lock memory of the host");
#endif
  if (data_ == nullptr) throw OutOfMemory(bytes, "");
}

PinnedBuffer::~PinnedBuffer() {
  if (device_.is_cpu()) std::free(data_);
#ifdef WEFT_WITH_CUDA
  else
    static_cast<void>(cudaFreeHost(data_));
#endif
}

void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, std::size_t bytes,
                const Stream& stream) {
  if (bytes == 0) return;
  if (dst_device.is_cpu() && src_device.is_cpu()) {
    stream.synchronize();  // work queued on a GPU stream may still read or write host memory
    std::memcpy(dst, src, bytes);
    return;
  }
#ifdef WEFT_WITH_CUDA
  const detail::HostWait wait(stream);
  const cudaMemcpyKind kind = dst_device.is_cpu()   ? cudaMemcpyDeviceToHost
                              : src_device.is_cpu() ? cudaMemcpyHostToDevice
                                                    : cudaMemcpyDeviceToDevice;
  cuda_check(cudaMemcpyAsync(dst, src, bytes, kind, stream.native()), "copy memory");
#else
  throw Error(ErrorKind::device, "copy to or from a GPU: built without CUDA");
#endif
}

void zero_bytes(void* dst, std::size_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  if (stream.device().is_cpu()) {
    std::memset(dst, 0, bytes);
    return;
  }
#ifdef WEFT_WITH_CUDA
  const Stream::Hold held = stream.hold();
  cuda_check(cudaMemsetAsync(dst, 0, bytes, stream.native()), "clear memory");
#endif
}

Event::Event(Device device) : device_(device) {
#ifdef WEFT_WITH_CUDA
  if (device.is_cuda()) cuda_check(cudaEventCreate(&native_), "create an event");
#endif
}

Event::~Event() {
#ifdef WEFT_WITH_CUDA
  if (native_ != nullptr) static_cast<void>(cudaEventDestroy(native_));
#endif
}

void Event::record(const Stream& stream) {
  if (stream.device() != device_) {
    throw Error(ErrorKind::usage, str("event of ", device_, " recorded on ", stream.device()));
  }
  if (device_.is_cpu()) {
    host_seconds_ =
        std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
#ifdef WEFT_WITH_CUDA
  else {
    const Stream::Hold held = stream.hold();
    cuda_check(cudaEventRecord(native_, stream.native()), "record an event");
  }
#endif
}

double Event::seconds_between(const Event& begin, const Event& end) {
#ifdef WEFT_WITH_CUDA
  if (end.device_.is_cuda()) {
    float milliseconds = 0;
    cuda_check(cudaEventSynchronize(end.native_), "wait for an event");
    cuda_check(cudaEventElapsedTime(&milliseconds, begin.native_, end.native_), "time events");
    return milliseconds * 1e-3;
  }
#endif
  return end.host_seconds_ - begin.host_seconds_;
}

Branch::Branch(const Stream& main)
    : main_(main),
      side_(main.device().is_cpu() || built_for_host_cuda() ? main : Stream(main.device())),
      forked_(main.device()),
      joined_(main.device()) {}

const Stream& Branch::fork() {
#ifdef WEFT_WITH_CUDA
  if (side_ != main_) {
    const Stream::Hold held = main_.hold();
    forked_.record(main_);
    cuda_check(cudaStreamWaitEvent(side_.native(), forked_.native_, 0), "fork a stream");
    is_forked_ = true;
  }
#endif
  return side_;
}

void Branch::join() {
#ifdef WEFT_WITH_CUDA
  if (is_forked_) {
    is_forked_ = false;
    const Stream::Hold held = main_.hold();
    joined_.record(side_);
    cuda_check(cudaStreamWaitEvent(main_.native(), joined_.native_, 0), "join a stream");
  }
#endif
}

Graph::Graph(const Stream& stream, std::function<void()> work) : stream_(stream) {
  if (stream.device().is_cpu()) {
    work_ = std::move(work);
    return;
  }
#ifdef WEFT_WITH_CUDA
  const Stream::Hold held = stream.hold();
  while (stream.state_->waiting > 0) std::this_thread::yield();
  cuda_check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal),
             "begin to capture a graph");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream.native(), &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  cuda_check(cudaStreamEndCapture(stream.native(), &graph), "capture a graph");
  const cudaError_t code = cudaGraphInstantiate(&native_, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  cuda_check(code, "instantiate a graph");
#endif
}

Graph::~Graph() {
#ifdef WEFT_WITH_CUDA
  if (native_ != nullptr) static_cast<void>(cudaGraphExecDestroy(native_));
#endif
}

void Graph::launch() const {
  if (work_) work_();
#ifdef WEFT_WITH_CUDA
  if (native_ != nullptr) {
    const Stream::Hold held = stream_.hold();
    cuda_check(cudaGraphLaunch(native_, stream_.native()), "launch a graph");
  }
#endif
}

}  // namespace weft
