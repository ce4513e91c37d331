// SPDX-License-Identifier: MIT
// CUB at reduction, scan and histogram. From CCCL 3.5 on it also promises the same bits for each
// run or each GPU, where that is asked for; Weft's kernels always do. -DCUB_INCLUDE_DIR=FOLDER
// takes another CCCL than the toolkit's.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/version.cuh>

#include "bench/peers/peers.h"
#include "engine/cuda/cuda_check.h"
#include "kernels/histogram/problem.h"
#include "kernels/reduce/problem.h"
#include "kernels/scan/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {

#if CCCL_VERSION >= 3005000
// Memory for CUB, a cuda::mr::resource. It is kept from the first call on, so that calls can be
// captured in a graph.
struct KeptMemory {
  void* allocate(cuda::stream_ref, std::size_t bytes, std::size_t = 0) {
    return allocate_sync(bytes);
  }
  void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t = 0) noexcept {}
  void* allocate_sync(std::size_t bytes, std::size_t = 0) {
    if (memory->bytes() < bytes) {
      *memory = Tensor(Shape{static_cast<std::int64_t>(bytes)}, DType::u8, stream);
    }
    return memory->raw();
  }
  void deallocate_sync(void*, std::size_t, std::size_t = 0) noexcept {}
  bool operator==(const KeptMemory& other) const { return memory == other.memory; }
  friend void get_property(const KeptMemory&, cuda::mr::device_accessible) {}

  Stream stream;
  std::shared_ptr<Tensor> memory = std::make_shared<Tensor>();
};
#endif

namespace {

const std::string kCccl = str("CCCL ", CCCL_MAJOR_VERSION, ".", CCCL_MINOR_VERSION);

// CUB's functions are called twice: without memory they say how much they need.
template <class Function>
PeerCall bind_cub(const Stream& stream, Function function) {
  std::size_t bytes = 0;
  cuda_check(function(nullptr, bytes, 0), "ask CUB for its workspace");
  const auto scratch = std::make_shared<Tensor>(
      Shape{static_cast<std::int64_t>(bytes > 0 ? bytes : 1)}, DType::u8, stream);
  const Call call = [=](int set) {
    std::size_t size = bytes;
    cuda_check(function(scratch->raw(), size, set), "run CUB");
  };
  return {call, {}, kCccl};
}

#if CCCL_VERSION >= 3005000
// What a call of CUB is told: the stream, the memory and the promise about its bits.
template <class Promise>
struct Environment {
  cuda::stream_ref query(const cuda::get_stream_t&) const noexcept {
    return cuda::stream_ref{memory.stream.native()};
  }
  KeptMemory query(const cuda::mr::__get_memory_resource_t&) const noexcept { return memory; }
  auto query(const cuda::execution::__get_requirements_t& what) const noexcept {
    return cuda::execution::require(Promise{}).query(what);
  }

  KeptMemory memory;
};

// One call makes the memory before a graph is captured.
template <class Promise, class Function>
PeerCall bind_promised(const Stream& stream, Function function) {
  const Environment<Promise> environment{{stream}};
  const Call call = [=](int set) { cuda_check(function(set, environment), "run CUB"); };
  call(0);
  return {call, {}, kCccl};
}

PeerCall bind_same_reduce(Work& work) {
  auto* reduce = work_on<problems::Reduce>(work);
  if (reduce == nullptr || reduce->p.threads > 0) return {};
  Array<float>&x = reduce->array("x"), &result = reduce->array("result");
  return bind_promised<cuda::execution::determinism::gpu_to_gpu_t>(
      work.context.stream, [=, &x, &result](int set, const auto& environment) {
        return cub::DeviceReduce::Sum(x[set], result[set], reduce->p.n, environment);
      });
}

PeerCall bind_same_scan(Work& work) {
  auto* scan = work_on<problems::Scan>(work);
  if (scan == nullptr) return {};
  Array<float>&x = scan->array("x"), &y = scan->array("y");
  return bind_promised<cuda::execution::determinism::run_to_run_t>(
      work.context.stream, [=, &x, &y](int set, const auto& environment) {
        return cub::DeviceScan::InclusiveSum(x[set], y[set], scan->p.n, environment);
      });
}
#endif

PeerCall bind_reduce(Work& work) {
  auto* reduce = work_on<problems::Reduce>(work);
  if (reduce == nullptr || reduce->p.threads > 0) return {};
  const Stream stream = work.context.stream;
  Array<float>&x = reduce->array("x"), &result = reduce->array("result");
  return bind_cub(stream, [=, &x, &result](void* scratch, std::size_t& bytes, int set) {
    return cub::DeviceReduce::Sum(scratch, bytes, x[set], result[set], reduce->p.n,
                                  stream.native());
  });
}

PeerCall bind_scan(Work& work) {
  auto* scan = work_on<problems::Scan>(work);
  if (scan == nullptr) return {};
  const Stream stream = work.context.stream;
  Array<float>&x = scan->array("x"), &y = scan->array("y");
  return bind_cub(stream, [=, &x, &y](void* scratch, std::size_t& bytes, int set) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, x[set], y[set], scan->p.n,
                                         stream.native());
  });
}

// CUB counts in 32 bits, which is what it is tuned for; widened for the check afterwards.
PeerCall bind_histogram(Work& work) {
  auto* histogram = work_on<problems::Histogram>(work);
  if (histogram == nullptr) return {};
  const Stream stream = work.context.stream;
  const std::int64_t n = histogram->p.n, bins = histogram->p.bins;
  const auto counts = std::make_shared<Rotated<int>>(bins, work.sets, stream);
  const int levels = static_cast<int>(bins) + 1;
  const auto even = [=](auto& x, auto lower, auto upper) {
    return bind_cub(stream, [=, &x](void* scratch, std::size_t& bytes, int set) {
      return cub::DeviceHistogram::HistogramEven(scratch, bytes, x[set], (*counts)[set], levels,
                                                 lower, upper, n, stream.native());
    });
  };
  PeerCall bound = histogram->p.of_bytes() ? even(histogram->array<std::uint8_t>("x"), 0, 256)
                                           : even(histogram->array("x"), 0.0f, 1.0f);
  Array<std::int64_t>& wide_counts = histogram->array<std::int64_t>("counts");
  bound.finish = [=, &wide_counts](int set) {
    const std::vector<int> narrow = counts->host(set);
    const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    copy_from_host(TensorView<std::int64_t>{wide_counts[set], Shape{bins}, stream.device()},
                   std::span<const std::int64_t>(wide), stream);
  };
  return bound;
}

}  // namespace

std::vector<Peer> cub_peers() {
  std::vector<Peer> peers = {{"CUB DeviceReduce", Arithmetic::fp32, bind_reduce},
                             {"CUB DeviceScan", Arithmetic::fp32, bind_scan},
                             {"CUB DeviceHistogram", Arithmetic::fp32, bind_histogram}};
#if CCCL_VERSION >= 3005000
  peers.push_back({"CUB DeviceReduce, gpu to gpu", Arithmetic::fp32, bind_same_reduce});
  peers.push_back({"CUB DeviceScan, run to run", Arithmetic::fp32, bind_same_scan});
#endif
  return peers;
}

}  // namespace weft::measure
