// SPDX-License-Identifier: MIT
// Each layer a second time: a few lines of plain double arithmetic that share nothing with the
// kernels, so that finite differences of it judge the layers' backward passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "engine/random.h"
#include "layers/activations/activation.h"
#include "layers/activations/prelu.h"
#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/flatten.h"
#include "layers/group_norm.h"
#include "layers/grouped_conv2d.h"
#include "layers/linear.h"
#include "layers/network/concat.h"
#include "layers/network/residual.h"
#include "layers/planes/pad2d.h"
#include "layers/pool2d.h"
#include "layers/softmax.h"

namespace weft::test {

struct Values {
  Shape shape;
  std::vector<double> data;

  explicit Values(const Shape& s) : shape(s), data(static_cast<std::size_t>(s.elements())) {}
  Values(const Shape& s, std::vector<double> d) : shape(s), data(std::move(d)) {}

  double& at(std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
  double at(std::int64_t i) const { return data[static_cast<std::size_t>(i)]; }
  double& at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
    return at(((n * shape[1] + c) * shape[2] + i) * shape[3] + j);
  }
  double at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return at(((n * shape[1] + c) * shape[2] + i) * shape[3] + j);
  }
};

// y = f(x, parameters of the layer in order), with y's shape given.
using ReferenceFunction = std::function<void(Values& y, const Values& x, const double* parameters)>;

struct ReferenceLayer {
  std::unique_ptr<layers::Layer> layer;
  ReferenceFunction forward;
};

inline ReferenceLayer linear(const char* name, std::int64_t in, std::int64_t out,
                             bool bias = true) {
  return {std::make_unique<layers::Linear>(name, in, out, bias),
          [=](Values& y, const Values& x, const double* p) {
            for (std::int64_t n = 0; n < x.shape[0]; ++n) {
              for (std::int64_t o = 0; o < out; ++o) {
                double sum = bias ? p[out * in + o] : 0;
                for (std::int64_t i = 0; i < in; ++i) sum += p[o * in + i] * x.at(n * in + i);
                y.at(n * out + o) = sum;
              }
            }
          }};
}

// Calls visit(n, c, p, q, i, j, inside) for every tap of every window of the output's planes.
template <class Visit>
void for_each_tap(const Shape& out, const Shape& in, const layers::Window& window, Visit visit) {
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t c = 0; c < out[1]; ++c)
      for (std::int64_t p = 0; p < out[2]; ++p)
        for (std::int64_t q = 0; q < out[3]; ++q)
          for (std::int64_t r = 0; r < window.kernel_h; ++r)
            for (std::int64_t s = 0; s < window.kernel_w; ++s) {
              const std::int64_t i = p * window.stride_h + r - window.pad_h;
              const std::int64_t j = q * window.stride_w + s - window.pad_w;
              if (i < 0 || i >= in[2] || j < 0 || j >= in[3]) continue;
              visit(n, c, p, q, i, j, r * window.kernel_w + s);
            }
}

inline ReferenceLayer conv2d(const char* name, std::int64_t in, std::int64_t out,
                             const layers::Window& window, bool bias = true) {
  return {std::make_unique<layers::Conv2d>(name, in, out, window, bias),
          [=](Values& y, const Values& x, const double* w) {
            const std::int64_t taps = window.kernel_h * window.kernel_w;
            const std::int64_t plane = y.shape[2] * y.shape[3];
            for (std::int64_t k = 0; k < y.shape.elements(); ++k) {
              y.at(k) = bias ? w[out * in * taps + k / plane % out] : 0;
            }
            for_each_tap(y.shape, x.shape, window,
                         [&](auto n, auto o, auto p, auto q, auto i, auto j, auto tap) {
                           double sum = 0;
                           for (std::int64_t c = 0; c < in; ++c) {
                             sum += w[(o * in + c) * taps + tap] * x.at(n, c, i, j);
                           }
                           y.at(n, o, p, q) += sum;
                         });
          }};
}

inline ReferenceLayer grouped_conv2d(const char* name, std::int64_t in, std::int64_t out,
                                     const layers::GroupedConv2d::Options& options) {
  return {std::make_unique<layers::GroupedConv2d>(name, in, out, options),
          [=](Values& y, const Values& x, const double* w) {
            const auto& [window, groups, dilation_h, dilation_w, bias] = options;
            const std::int64_t channels = in / groups, taps = window.kernel_h * window.kernel_w;
            for (std::int64_t k = 0; k < y.shape.elements(); ++k) {
              const std::int64_t q = k % y.shape[3], p = k / y.shape[3] % y.shape[2];
              const std::int64_t o = k / y.shape[3] / y.shape[2] % out;
              y.at(k) = bias ? w[out * channels * taps + o] : 0;
              for (std::int64_t t = 0; t < channels * taps; ++t) {
                const std::int64_t r = t % taps / window.kernel_w, s = t % window.kernel_w;
                const std::int64_t i = p * window.stride_h + r * dilation_h - window.pad_h;
                const std::int64_t j = q * window.stride_w + s * dilation_w - window.pad_w;
                if (i < 0 || i >= x.shape[2] || j < 0 || j >= x.shape[3]) continue;
                y.at(k) += w[o * channels * taps + t] *
                           x.at(k / (y.shape[3] * y.shape[2] * out),
                                o / (out / groups) * channels + t / taps, i, j);
              }
            }
          }};
}

inline ReferenceLayer max_pool2d(const char* name, const layers::Window& window) {
  return {std::make_unique<layers::MaxPool2d>(name, window),
          [=](Values& y, const Values& x, const double*) {
            std::ranges::fill(y.data, -std::numeric_limits<double>::infinity());
            for_each_tap(y.shape, x.shape, window,
                         [&](auto n, auto c, auto p, auto q, auto i, auto j, auto) {
                           y.at(n, c, p, q) = std::max(y.at(n, c, p, q), x.at(n, c, i, j));
                         });
          }};
}

// What lies beyond the padding of a window with `ceil` never counts.
inline ReferenceLayer avg_pool2d(const char* name, const layers::Window& window,
                                 bool counts_padding = true) {
  return {std::make_unique<layers::AvgPool2d>(name, window, counts_padding),
          [=](Values& y, const Values& x, const double*) {
            const auto counted = [&](std::int64_t begin, std::int64_t taps, std::int64_t extent,
                                     std::int64_t pad) {
              std::int64_t count = 0;
              for (std::int64_t i = begin; i < begin + taps; ++i) {
                if (counts_padding && !window.ceil) ++count;
                if (counts_padding && window.ceil) count += i >= -pad && i < extent + pad;
                if (!counts_padding) count += i >= 0 && i < extent;
              }
              return static_cast<double>(count);
            };
            std::ranges::fill(y.data, 0);
            for_each_tap(y.shape, x.shape, window,
                         [&](auto n, auto c, auto p, auto q, auto i, auto j, auto) {
                           const double rows = counted(p * window.stride_h - window.pad_h,
                                                       window.kernel_h, x.shape[2], window.pad_h);
                           const double columns =
                               counted(q * window.stride_w - window.pad_w, window.kernel_w,
                                       x.shape[3], window.pad_w);
                           y.at(n, c, p, q) += x.at(n, c, i, j) / (rows * columns);
                         });
          }};
}

inline ReferenceFunction element_wise(double (*f)(double)) {
  return [=](Values& y, const Values& x, const double*) {
    std::ranges::transform(x.data, y.data.begin(), f);
  };
}

inline ReferenceLayer relu(const char* name) {
  return {std::make_unique<layers::ReLU>(name),
          element_wise([](double x) { return x > 0 ? x : 0; })};
}

inline ReferenceLayer sigmoid(const char* name) {
  return {std::make_unique<layers::Sigmoid>(name),
          element_wise([](double x) { return 1 / (1 + std::exp(-x)); })};
}

inline ReferenceLayer tanh(const char* name) {
  return {std::make_unique<layers::Tanh>(name),
          element_wise([](double x) { return std::tanh(x); })};
}

inline ReferenceLayer leaky_relu(const char* name) {
  return {std::make_unique<layers::LeakyReLU>(name, 0.25f),
          element_wise([](double x) { return std::max(x, 0.0) + 0.25 * std::min(x, 0.0); })};
}

inline ReferenceLayer elu(const char* name) {
  return {std::make_unique<layers::ELU>(name, 0.75f),
          element_wise([](double x) { return x > 0 ? x : 0.75 * (std::exp(x) - 1); })};
}

inline ReferenceLayer silu(const char* name) {
  return {std::make_unique<layers::SiLU>(name),
          element_wise([](double x) { return x / (1 + std::exp(-x)); })};
}

inline ReferenceLayer gelu(const char* name, bool by_tanh) {
  return {std::make_unique<layers::GELU>(name, by_tanh),
          by_tanh ? element_wise([](double x) {
            const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3));
            return 0.5 * x * (1 + std::tanh(u));
          })
                  : element_wise(
                        [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); })};
}

inline ReferenceLayer hard_swish(const char* name) {
  return {std::make_unique<layers::HardSwish>(name),
          element_wise([](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); })};
}

inline ReferenceLayer hard_sigmoid(const char* name) {
  return {std::make_unique<layers::HardSigmoid>(name, 0.75f, 0.5f),
          element_wise([](double x) { return std::clamp(0.75 * x + 0.5, 0.0, 1.0); })};
}

inline ReferenceLayer relu6(const char* name) {
  return {std::make_unique<layers::ReLU6>(name),
          element_wise([](double x) { return std::clamp(x, 0.0, 6.0); })};
}

inline ReferenceLayer clip(const char* name) {
  return {std::make_unique<layers::Clip>(name, -0.625f, 0.5f),
          element_wise([](double x) { return std::clamp(x, -0.625, 0.5); })};
}

inline ReferenceLayer prelu(const char* name, const Shape& slopes) {
  return {std::make_unique<layers::PReLU>(name, slopes),
          [=](Values& y, const Values& x, const double* p) {
            const std::int64_t n = slopes.elements();
            const std::int64_t inner = n == 1 ? 1 : x.shape.elements() / x.shape[0] / n;
            for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
              y.at(i) = std::max(x.at(i), 0.0) + p[i / inner % n] * std::min(x.at(i), 0.0);
            }
          }};
}

// The mask that training step `step` draws for the layer at `index`.
inline ReferenceLayer dropout(const char* name, float p, std::uint64_t seed, std::uint32_t index,
                              std::uint64_t step) {
  return {std::make_unique<layers::Dropout>(name, p),
          [=](Values& y, const Values& x, const double*) {
            for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
              const Random4 random = philox(seed, RandomStream::dropout, index,
                                            (step << 32) + static_cast<std::uint64_t>(i / 4));
              y.at(i) = uniform01(random.value[i % 4]) >= p ? x.at(i) / (1.0 - p) : 0;
            }
          }};
}

inline ReferenceLayer flatten(const char* name) {
  return {std::make_unique<layers::Flatten>(name),
          [](Values& y, const Values& x, const double*) { y.data = x.data; }};
}

// Rows and columns around each plane. The place of a pixel is found by walking there from the edge.
inline ReferenceLayer pad2d(const char* name, const layers::Pad2d::Options& o) {
  return {std::make_unique<layers::Pad2d>(name, o), [=](Values& y, const Values& x, const double*) {
            const auto walk = [&](std::int64_t place, std::int64_t before, std::int64_t extent) {
              std::int64_t at = place - before;
              if (o.mode == kernels::PadMode::edge)
                return std::clamp<std::int64_t>(at, 0, extent - 1);
              if (o.mode == kernels::PadMode::reflect) {
                if (at < 0) at = -at;
                if (at >= extent) at = extent - 1 - (at - (extent - 1));
              }
              return at;
            };
            for (std::int64_t i = 0; i < y.shape.elements(); ++i) {
              const std::int64_t oh = y.shape[2], ow = y.shape[3];
              const std::int64_t row = walk(i / ow % oh, o.top, x.shape[2]);
              const std::int64_t column = walk(i % ow, o.left, x.shape[3]);
              const bool is_inside =
                  row >= 0 && row < x.shape[2] && column >= 0 && column < x.shape[3];
              const std::int64_t plane = i / (oh * ow);
              y.at(i) = is_inside ? x.at((plane * x.shape[2] + row) * x.shape[3] + column) : 0;
            }
          }};
}

// The ends of a block; Instance::reference() knows what they do.
inline ReferenceLayer fork(const char* name) {
  return {std::make_unique<layers::Fork>(name), nullptr};
}
inline ReferenceLayer shortcut(const char* name) {
  return {std::make_unique<layers::Shortcut>(name), nullptr};
}
inline ReferenceLayer add(const char* name) {
  return {std::make_unique<layers::Add>(name), nullptr};
}
inline ReferenceLayer concat(const char* name, std::int64_t channels, std::int64_t others) {
  return {std::make_unique<layers::Concat>(name, channels, others), nullptr};
}

// In training: normalised by the statistics of the batch itself.
inline ReferenceLayer batch_norm2d(const char* name, std::int64_t channels) {
  return {std::make_unique<layers::BatchNorm2d>(name, channels),
          [=](Values& y, const Values& x, const double* p) {
            const std::int64_t plane = x.shape.rank() == 2 ? 1 : x.shape[2] * x.shape[3];
            const double m = static_cast<double>(x.shape[0] * plane);
            const auto channel = [&](std::int64_t i) { return i / plane % channels; };
            for (std::int64_t c = 0; c < channels; ++c) {
              double mean = 0, variance = 0;
              for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
                if (channel(i) == c) mean += x.at(i) / m;
              }
              for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
                if (channel(i) == c) variance += (x.at(i) - mean) * (x.at(i) - mean) / m;
              }
              const double scale = p[c] / std::sqrt(variance + static_cast<double>(1e-5f));
              for (std::int64_t i = 0; i < x.shape.elements(); ++i) {
                if (channel(i) == c) y.at(i) = scale * (x.at(i) - mean) + p[channels + c];
              }
            }
          }};
}

// `groups` of each input are normalised alone; a weight has `inner` values.
inline ReferenceFunction normalised(std::int64_t groups, std::int64_t inner, double eps) {
  return [=](Values& y, const Values& x, const double* p) {
    const std::int64_t rows = x.shape[0] * groups, values = x.shape.elements() / rows;
    const std::int64_t weights = x.shape.elements() / x.shape[0] / inner;
    for (std::int64_t row = 0; row < rows; ++row) {
      double mean = 0, variance = 0;
      for (std::int64_t i = 0; i < values; ++i) mean += x.at(row * values + i);
      mean /= static_cast<double>(values);
      for (std::int64_t i = 0; i < values; ++i) {
        variance += std::pow(x.at(row * values + i) - mean, 2) / static_cast<double>(values);
      }
      for (std::int64_t i = row * values; i < (row + 1) * values; ++i) {
        const std::int64_t c = i / inner % weights;
        y.at(i) = p[c] * (x.at(i) - mean) / std::sqrt(variance + eps) + p[weights + c];
      }
    }
  };
}

inline ReferenceLayer group_norm(const char* name, std::int64_t channels, std::int64_t groups,
                                 std::int64_t plane) {
  return {std::make_unique<layers::GroupNorm>(name, channels, groups),
          normalised(groups, plane, static_cast<double>(1e-5f))};
}

inline ReferenceLayer layer_norm(const char* name, const Shape& values, float eps) {
  return {std::make_unique<layers::LayerNorm>(name, values, eps),
          normalised(1, 1, static_cast<double>(eps))};
}

inline ReferenceLayer softmax(const char* name) {
  return {std::make_unique<layers::Softmax>(name), [](Values& y, const Values& x, const double*) {
            const std::int64_t cols = x.shape[x.shape.rank() - 1];
            for (std::int64_t row = 0; row < x.shape.elements() / cols; ++row) {
              double sum = 0;
              for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(x.at(row * cols + c));
              for (std::int64_t c = 0; c < cols; ++c) {
                y.at(row * cols + c) = std::exp(x.at(row * cols + c)) / sum;
              }
            }
          }};
}

// Mean over the rows of the cross-entropy of softmax(logits), (N, classes), with the labels.
inline double cross_entropy(const Values& logits, const std::vector<std::int32_t>& labels) {
  const std::int64_t rows = logits.shape[0], cols = logits.shape[1];
  double loss = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(logits.at(r * cols + c));
    loss += std::log(sum) - logits.at(r * cols + labels[static_cast<std::size_t>(r)]);
  }
  return loss / static_cast<double>(rows);
}

}  // namespace weft::test
