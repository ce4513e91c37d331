// SPDX-License-Identifier: MIT
// Each activation and its derivative as a formula, for the kernels of the CPU and of the GPU and
// for the oracle in double.
//
// `Math` names a type, Value, and has exp, expm1 (of x <= 0), tanh and erfc of it. An activation is
// a class with y = f(x), and with gradient(dy, v), which is dy f'(x). There v is y, or x where
// backward_reads_input() says so. A NaN passes through each f.
//
// Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415: GELU and its tanh form.
// Howard et al., "Searching for MobileNetV3", arXiv 1905.02244: HardSwish and HardSigmoid.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/operators.h"

namespace weft::kernels::functions {

template <class Math>
struct Relu {
  using T = typename Math::Value;
  WEFT_OPERATOR T operator()(T x) const { return x <= T(0) ? T(0) : x; }
  WEFT_OPERATOR T gradient(T dy, T y) const { return y > T(0) ? dy : T(0); }
};

template <class Math>
struct Sigmoid {
  using T = typename Math::Value;
  WEFT_OPERATOR T operator()(T x) const { return T(1) / (T(1) + Math::exp(-x)); }
  WEFT_OPERATOR T gradient(T dy, T y) const { return dy * y * (T(1) - y); }
};

template <class Math>
struct Tanh {
  using T = typename Math::Value;
  WEFT_OPERATOR T operator()(T x) const { return Math::tanh(x); }
  WEFT_OPERATOR T gradient(T dy, T y) const { return dy * (T(1) - y * y); }
};

template <class Math>
struct LeakyRelu {
  using T = typename Math::Value;
  T alpha;
  WEFT_OPERATOR T operator()(T x) const { return x > T(0) ? x : alpha * x; }
  WEFT_OPERATOR T gradient(T dy, T y) const { return y > T(0) ? dy : alpha * dy; }
};

template <class Math>
struct Elu {
  using T = typename Math::Value;
  T alpha;
  WEFT_OPERATOR T operator()(T x) const { return x > T(0) ? x : alpha * Math::expm1(x); }
  WEFT_OPERATOR T gradient(T dy, T y) const { return y > T(0) ? dy : dy * (y + alpha); }
};

template <class Math>
struct Silu {
  using T = typename Math::Value;
  WEFT_OPERATOR T operator()(T x) const { return x / (T(1) + Math::exp(-x)); }
  WEFT_OPERATOR T gradient(T dy, T x) const {
    const T s = Sigmoid<Math>()(x);
    return dy * s * (T(1) + x * (T(1) - s));
  }
};

// x times the share of a normal distribution that is below x.
template <class Math>
struct Gelu {
  using T = typename Math::Value;
  WEFT_OPERATOR T share(T x) const { return T(0.5) * Math::erfc(T(-0.70710678118654752) * x); }
  WEFT_OPERATOR T operator()(T x) const { return x * share(x); }
  WEFT_OPERATOR T gradient(T dy, T x) const {
    const T density = T(0.39894228040143268) * Math::exp(T(-0.5) * x * x);
    return dy * (share(x) + x * density);
  }
};

// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2 u).
template <class Math>
struct GeluTanh {
  using T = typename Math::Value;
  static constexpr T kTwice = T(1.5957691216057308);  // 2 sqrt(2 / pi)
  WEFT_OPERATOR T share(T x) const {
    return Sigmoid<Math>()(kTwice * x * (T(1) + T(0.044715) * x * x));
  }
  WEFT_OPERATOR T operator()(T x) const { return x * share(x); }
  WEFT_OPERATOR T gradient(T dy, T x) const {
    const T s = share(x), slope = kTwice * (T(1) + T(3 * 0.044715) * x * x);
    return dy * s * (T(1) + x * (T(1) - s) * slope);
  }
};

template <class Math>
struct HardSwish {
  using T = typename Math::Value;
  WEFT_OPERATOR T operator()(T x) const {
    return x <= T(-3) ? T(0) : x >= T(3) ? x : x * (x + T(3)) / T(6);
  }
  WEFT_OPERATOR T gradient(T dy, T x) const {
    return x <= T(-3) ? T(0) : x >= T(3) ? dy : dy * (x + x + T(3)) / T(6);
  }
};

template <class Math>
struct HardSigmoid {
  using T = typename Math::Value;
  T alpha, beta;
  WEFT_OPERATOR T operator()(T x) const {
    const T line = alpha * x + beta;
    return line <= T(0) ? T(0) : line >= T(1) ? T(1) : line;
  }
  WEFT_OPERATOR T gradient(T dy, T y) const { return y > T(0) && y < T(1) ? alpha * dy : T(0); }
};

template <class Math>
struct Clip {
  using T = typename Math::Value;
  T low, high;
  WEFT_OPERATOR T operator()(T x) const { return x <= low ? low : x >= high ? high : x; }
  WEFT_OPERATOR T gradient(T dy, T y) const { return y > low && y < high ? dy : T(0); }
};

// Calls visit(f) with the class of a function.
template <class Math, class Visit>
void with_function(const ActivationFunction& function, Visit visit) {
  using T = typename Math::Value;
  const T alpha = static_cast<T>(function.alpha), beta = static_cast<T>(function.beta);
  switch (function.kind) {
    case Activation::relu:
      return visit(Relu<Math>());
    case Activation::sigmoid:
      return visit(Sigmoid<Math>());
    case Activation::tanh:
      return visit(Tanh<Math>());
    case Activation::leaky_relu:
      return visit(LeakyRelu<Math>{alpha});
    case Activation::elu:
      return visit(Elu<Math>{alpha});
    case Activation::silu:
      return visit(Silu<Math>());
    case Activation::gelu:
      return visit(Gelu<Math>());
    case Activation::gelu_tanh:
      return visit(GeluTanh<Math>());
    case Activation::hard_swish:
      return visit(HardSwish<Math>());
    case Activation::hard_sigmoid:
      return visit(HardSigmoid<Math>{alpha, beta});
    case Activation::clip:
      return visit(Clip<Math>{alpha, beta});
  }
}

}  // namespace weft::kernels::functions
