// SPDX-License-Identifier: MIT
// CUB at reduction, scan and histogram.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "bench/peers/peers.h"
#include "engine/cuda/cuda_check.h"
#include "kernels/histogram/problem.h"
#include "kernels/reduce/problem.h"
#include "kernels/scan/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

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
  return {call, {}};
}

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
  return {{"CUB DeviceReduce", Arithmetic::fp32, bind_reduce},
          {"CUB DeviceScan", Arithmetic::fp32, bind_scan},
          {"CUB DeviceHistogram", Arithmetic::fp32, bind_histogram}};
}

}  // namespace weft::measure
