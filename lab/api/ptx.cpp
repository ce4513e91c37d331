// SPDX-License-Identifier: MIT
#include "lab/api/ptx.h"

#include <algorithm>

#include "engine/error.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda::lab::ptx {
namespace {

struct Fragments {
  float d[4];
  unsigned a[4], b[2];
  int k;
};

double half_of(unsigned pair, int i) {
  return float_of_half(static_cast<std::uint16_t>(pair >> (16 * i)));
}

// mma.m16n8k8 and k16: pairs along k, the lower in the lower half (PTX ISA, "Matrix Fragments").
void multiply(void* const* lanes) {
  double a[16][16] = {}, b[16][8] = {};
  const int k = static_cast<const Fragments*>(lanes[0])->k;
  for (int lane = 0; lane < 32; ++lane) {
    const auto& from = *static_cast<const Fragments*>(lanes[lane]);
    const int group = lane / 4, member = lane % 4;
    for (int i = 0; i < k / 4; ++i) {
      for (int half = 0; half < 2; ++half) {
        a[group + i % 2 * 8][2 * member + i / 2 * 8 + half] = half_of(from.a[i], half);
      }
    }
    for (int i = 0; i < k / 8; ++i) {
      for (int half = 0; half < 2; ++half) {
        b[2 * member + half + 8 * i][group] = half_of(from.b[i], half);
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    float(&d)[4] = static_cast<Fragments*>(lanes[lane])->d;
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = static_cast<double>(d[i]);
      for (int at = 0; at < k; ++at) sum += a[row][at] * b[at][column];
      d[i] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void multiply_halves(float (&d)[4], const unsigned* a, const unsigned* b, int k, const void* site) {
  Fragments mine{{d[0], d[1], d[2], d[3]}, {}, {}, k};
  std::copy(a, a + k / 4, mine.a);
  std::copy(b, b + k / 8, mine.b);
  warp_function(multiply, &mine, "mma.sync", site);
  std::copy(mine.d, mine.d + 4, d);
}

unsigned special_smid() {
  return running->block->number % 4;
}
unsigned special_warpid() {
  return static_cast<unsigned>(running->id / 32);
}
unsigned special_dynamic_smem_size() {
  return static_cast<unsigned>(running_grid->shared_bytes);
}

void stop(const void* site) {
  const Unchecked here;
  fail("trap", site,
       [&] { return str("trap: ", where(*running), " stopped at ", source_line(site)); });
}

}  // namespace weft::host_cuda::lab::ptx
