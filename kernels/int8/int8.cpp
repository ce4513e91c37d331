// SPDX-License-Identifier: MIT
#include "kernels/int8/int8.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/extent.h"
#include "kernels/int8/cpu/table.h"

namespace weft::kernels {

Int8Filters::Int8Filters(std::span<const std::int8_t> filters, std::span<const std::int32_t> bias,
                         std::span<const float> factor, const ConvDims& dims)
    : dims_(dims) {
  const std::int64_t taps = dims.c * dims.kh * dims.kw;
  if (std::ssize(filters) != dims.oc * taps || std::ssize(bias) != dims.oc ||
      std::ssize(factor) != dims.oc) {
    throw Error(ErrorKind::usage,
                str("int8: ", dims.oc, " filters of ", taps, " values, found ", filters.size(),
                    " values, ", bias.size(), " biases and ", factor.size(), " factors"));
  }
  if (taps > kInt8MostTaps) {
    throw Error(ErrorKind::usage, str("int8: filters have at most ", kInt8MostTaps,
                                      " values, because sums have 32 bits, found ", taps));
  }
  const auto within = [](std::int64_t most) {
    return [most](std::int64_t value) { return std::abs(value) <= most; };
  };
  if (!std::ranges::all_of(filters, within(kInt8FilterMost)) ||
      !std::ranges::all_of(bias, within(kInt8MostBias))) {
    throw Error(ErrorKind::usage, str("int8: expected filters within ", kInt8FilterMost,
                                      " of 0, and biases within ", kInt8MostBias));
  }
  const std::int64_t wide = channels(), together = bytes(), row = together * groups();
  packed_.assign(static_cast<std::size_t>(blocks() * wide * dims.kh * row), 0);
  for (std::int64_t o = 0; o < dims.oc; ++o) {
    for (std::int64_t c = 0; c < dims.c; ++c) {
      for (std::int64_t r = 0; r < dims.kh; ++r) {
        for (std::int64_t s = 0; s < dims.kw; ++s) {
          const std::int64_t byte = r * row + s * dims.c + c;  // of the filter
          const std::int64_t at = (o / wide * dims.kh * row + byte / together * together) * wide +
                                  o % wide * together + byte % together;
          packed_[static_cast<std::size_t>(at)] =
              filters[static_cast<std::size_t>(((o * dims.c + c) * dims.kh + r) * dims.kw + s)];
        }
      }
    }
  }
  bias_.assign(bias.begin(), bias.end());
  factor_.assign(factor.begin(), factor.end());
  bias_.resize(static_cast<std::size_t>(16 * blocks()));
  factor_.resize(bias_.size());
}

std::int64_t Int8Filters::blocks() const {
  return divide_up(dims_.oc, channels());
}
std::int64_t Int8Filters::groups() const {
  return divide_up(dims_.kw * dims_.c, bytes());
}
const std::int8_t* Int8Filters::block(std::int64_t index) const {
  return packed_.data() + index * 64 * dims_.kh * groups();
}

std::size_t int8_conv_workspace_bytes(const Int8Call& call) {
  const ConvDims& d = call.filters->dims();
  const std::int64_t columns = std::max(d.ow(), Int8Filters::kRowsAtOnce);
  const std::int64_t steps = d.kh * call.filters->groups();
  const std::int64_t sums = (call.ph * columns + 1) * 16;
  const std::int64_t image = (d.h + 2 * d.pad_h) * (d.w + 2 * d.pad_w) * d.c + kInt8Slack;
  return static_cast<std::size_t>(round_up(8 * steps + 4 * sums + image, 64));
}

namespace {

const Int8Cpu& table() {
#ifdef WEFT_X86_DISPATCH
  if (cpu_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni")) return avx512vnni::int8_cpu;
#endif
  return select_int8_cpu();
}

}  // namespace

void int8_conv(std::uint8_t* y, const Int8Call& call, void* workspace) {
  table().to_bytes(y, call, workspace);
}
void int8_conv(float* y, const Int8Call& call, void* workspace) {
  table().to_reals(y, call, workspace);
}

}  // namespace weft::kernels
