// SPDX-License-Identifier: MIT
// Stream: an in-order queue of work on one device, and the memory pool that goes with it.
//
// On a GPU it is a CUDA stream; on the CPU work runs at once, in the calling thread. Every
// operation that touches device memory takes a Stream, last and never defaulted, so the legacy
// default stream is never used by accident. A Stream is a cheap handle: copies name the same
// queue, and the queue lives until the last handle and the last Buffer on it are gone.
//
// Threads may share a Stream. Each call that queues work is whole, and so is each kernel function
// of kernels/; which of two threads comes first is open. A sequence of calls that must stay
// together takes hold() first. On the CPU, calls of two threads run side by side, and only memory
// that both of them write needs care. A Buffer and an Event belong to one thread at a time.
//
// Only synchronize() and the copies to and from host memory in tensor.h block the host.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/device.h"

struct CUstream_st;     // cudaStream_t is a pointer to this
struct CUevent_st;      // cudaEvent_t
struct CUgraphExec_st;  // cudaGraphExec_t

namespace weft {

namespace detail {
struct StreamState;
class HostWait;
}  // namespace detail

class Stream {
 public:
  Stream() = delete;  // a stream without a device has no meaning
  explicit Stream(Device device);

  Device device() const;
  CUstream_st* native() const;  // the cudaStream_t; nullptr on the CPU
  void synchronize() const;     // blocks until all work queued so far is done

  // Keeps what other threads queue here back for as long as the lock lives: their launches, copies
  // and allocations wait. A thread that holds the stream may hold it again.
  using Hold = std::unique_lock<std::recursive_mutex>;
  [[nodiscard]] Hold hold() const;

  // Device memory that is all zero whenever no kernel of this queue runs: blocks of one kernel that
  // tell each other something do it here, without a launch that clears, and the kernel leaves it as
  // it was. nullptr on the CPU. Lives as long as the queue, which must outlive graphs captured from
  // it.
  static constexpr int kZeroedWords = 8192;
  unsigned long long* zeroed_words() const;

  // Bytes held by Buffers of this stream, now and at the highest point so far.
  std::size_t live_bytes() const;
  std::size_t peak_bytes() const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.state_ == b.state_; }

 private:
  friend class Buffer;
  friend class Graph;
  friend class detail::HostWait;
  std::shared_ptr<detail::StreamState> state_;
};

// Device memory, owned and move-only, uninitialised, aligned to 256 bytes. Allocation and release
// are ordered on the stream (cudaMallocAsync on a GPU). Zero bytes is valid and holds nullptr.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, const Stream& stream);  // throws device when memory is short
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void release() noexcept;

  std::shared_ptr<detail::StreamState> state_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Host memory, owned and uninitialised. It is page-locked for a GPU, so that copy_bytes() from here
// only queues the copy: the caller leaves the bytes alone until the stream has been synchronised.
class PinnedBuffer {
 public:
  PinnedBuffer(std::size_t bytes, Device device);  // throws device when memory is short
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  void* data() const { return data_; }

 private:
  Device device_;
  void* data_ = nullptr;
};

// Raw copies and fills, in stream order. Source and destination must not overlap.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, std::size_t bytes,
                const Stream& stream);
void zero_bytes(void* dst, std::size_t bytes, const Stream& stream);

// A point in a stream, for timing and for Branch. On the CPU it is a clock reading.
class Event {
 public:
  explicit Event(Device device);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void record(const Stream& stream);
  // Seconds between two recorded events; waits for `end` to be reached.
  static double seconds_between(const Event& begin, const Event& end);

 private:
  friend class Branch;
  Device device_;
  CUevent_st* native_ = nullptr;
  double host_seconds_ = 0;
};

// A second queue beside a stream, for work that nothing there needs before join(); within a Graph,
// a branch of it. Where a device runs its work at once it is the stream itself.
class Branch {
 public:
  explicit Branch(const Stream& main);

  // The queue, which now waits for all that the main stream has been given so far.
  const Stream& fork();
  // Lets the main stream wait for all that the queue has been given since fork(); does nothing
  // without one. A capture that has forked must join before it ends.
  void join();

 private:
  Stream main_, side_;
  Event forked_, joined_;
  bool is_forked_ = false;
};

// Work recorded once and replayed many times: a CUDA graph on a GPU, a stored function on the CPU.
// What is captured must not synchronise or copy to the host, and gives back what it allocates.
// Memory and streams that it names must outlive the graph.
class Graph {
 public:
  // Captures `work` and does not run it. The stream is held meanwhile, so that no other thread's
  // work is captured.
  Graph(const Stream& stream, std::function<void()> work);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  void launch() const;  // on the stream it was captured from

 private:
  Stream stream_;
  std::function<void()> work_;  // kept on the CPU only
  CUgraphExec_st* native_ = nullptr;
};

}  // namespace weft
