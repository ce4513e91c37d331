// SPDX-License-Identifier: MIT
#include "kernels/scan/cpu.h"

#include "kernels/operators.h"
#include "kernels/scan/cpu_table.h"

namespace weft::kernels::WEFT_ISA {

static_assert(kScanChunk == cpu::kScanPieces * kScanPiece, "workspace counts other pieces");

namespace {

template <class T>
void sequential(T* y, const T* x, std::int64_t n, ScanOp op, bool exclusive) {
  const auto run = [&](auto combine) {
    static_cast<void>(cpu::scan_sequential(y, x, n, exclusive, combine, combine.identity()));
  };
  switch (op) {
    case ScanOp::sum:
      return run(Sum<T>());
    case ScanOp::min:
      return run(Min<T>());
    case ScanOp::max:
      return run(Max<T>());
    case ScanOp::product:
      return run(Product<T>());
  }
}

template <class T>
void threaded(T* y, const T* x, std::int64_t n, ScanOp op, bool exclusive, T* totals) {
  const auto run = [&](auto combine) {
    cpu::scan_threaded(y, x, n, exclusive, combine, totals, kScanPiece);
  };
  switch (op) {
    case ScanOp::sum:
      return run(Sum<T>());
    case ScanOp::min:
      return run(Min<T>());
    case ScanOp::max:
      return run(Max<T>());
    case ScanOp::product:
      return run(Product<T>());
  }
}

}  // namespace

extern const ScanCpu scan_cpu = {
    {sequential<std::int32_t>, threaded<std::int32_t>},
    {sequential<std::int64_t>, threaded<std::int64_t>},
    {sequential<float>, threaded<float>},
    {sequential<double>, threaded<double>},
};

}  // namespace weft::kernels::WEFT_ISA
