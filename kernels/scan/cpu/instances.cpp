// SPDX-License-Identifier: MIT
#include "kernels/scan/cpu/templates.h"

#include "kernels/scan/cpu/table.h"

namespace weft::kernels::WEFT_ISA {

static_assert(kScanChunk == cpu::kScanPieces * kScanPiece, "workspace counts other pieces");

namespace {

void sequential(const ScanCall& call) {
  with_operator(call, [&](auto op, auto* y, const auto* x) {
    static_cast<void>(cpu::scan_sequential(y, x, call.n, call.exclusive, op, op.identity()));
  });
}

void threaded(const ScanCall& call) {
  with_operator(call, [&](auto op, auto* y, const auto* x) {
    cpu::scan_threaded(y, x, call.n, call.exclusive, op, static_cast<decltype(y)>(call.workspace),
                       kScanPiece);
  });
}

}  // namespace

extern const ScanCpu scan_cpu = {sequential, threaded};

}  // namespace weft::kernels::WEFT_ISA
