// SPDX-License-Identifier: MIT
// CUB at reduction, scan and histogram.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "bench/peers/peers.h"
#include "engine/cuda_check.h"
#include "measure/problems/histogram.h"
#include "measure/problems/reduce.h"
#include "measure/problems/scan.h"

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
  auto* reduce = dynamic_cast<ReduceWork*>(&work);
  if (reduce == nullptr || reduce->threads() > 0) return {};
  const Stream stream = work.context.stream;
  return bind_cub(stream, [=](void* scratch, std::size_t& bytes, int set) {
    return cub::DeviceReduce::Sum(scratch, bytes, reduce->x(set), reduce->result(set), reduce->n(),
                                  stream.native());
  });
}

PeerCall bind_scan(Work& work) {
  auto* scan = dynamic_cast<ScanWork*>(&work);
  if (scan == nullptr) return {};
  const Stream stream = work.context.stream;
  return bind_cub(stream, [=](void* scratch, std::size_t& bytes, int set) {
    return cub::DeviceScan::InclusiveSum(scratch, bytes, scan->x(set), scan->y(set), scan->n(),
                                         stream.native());
  });
}

// CUB counts in 32 bits, which is what it is tuned for; widened for the check afterwards.
template <class Histogram>
PeerCall with_narrow_counts(Histogram* work, std::int64_t bins,
                            const std::function<PeerCall(std::shared_ptr<Rotated<int>>)>& bind) {
  const auto counts = std::make_shared<Rotated<int>>(bins, work->sets, work->context.stream);
  PeerCall bound = bind(counts);
  bound.finish = [=](int set) {
    const std::vector<int> narrow = counts->host(set);
    const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    copy_from_host(
        TensorView<std::int64_t>{work->counts(set), Shape{bins}, work->context.stream.device()},
        std::span<const std::int64_t>(wide), work->context.stream);
  };
  return bound;
}

PeerCall bind_histogram(Work& work) {
  const Stream stream = work.context.stream;
  if (auto* bytes_work = dynamic_cast<ByteHistogramWork*>(&work)) {
    return with_narrow_counts(bytes_work, 256, [=](std::shared_ptr<Rotated<int>> counts) {
      return bind_cub(stream, [=](void* scratch, std::size_t& bytes, int set) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, bytes_work->x(set),
                                                   (*counts)[set], 257, 0, 256, bytes_work->n(),
                                                   stream.native());
      });
    });
  }
  if (auto* floats = dynamic_cast<FloatHistogramWork*>(&work)) {
    const int levels = static_cast<int>(floats->bins()) + 1;
    return with_narrow_counts(floats, floats->bins(), [=](std::shared_ptr<Rotated<int>> counts) {
      return bind_cub(stream, [=](void* scratch, std::size_t& bytes, int set) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, floats->x(set), (*counts)[set],
                                                   levels, 0.0f, 1.0f, floats->n(),
                                                   stream.native());
      });
    });
  }
  return {};
}

}  // namespace

std::vector<Peer> cub_peers() {
  return {{"CUB DeviceReduce", Arithmetic::fp32, bind_reduce},
          {"CUB DeviceScan", Arithmetic::fp32, bind_scan},
          {"CUB DeviceHistogram", Arithmetic::fp32, bind_histogram}};
}

}  // namespace weft::measure
