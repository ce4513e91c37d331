// SPDX-License-Identifier: MIT
#include "lab/api/rounding.h"

#include <cfenv>
#include <cmath>

namespace weft::host_cuda::lab {
namespace {

// While one lives, this thread of the host rounds so.
class Rounding {
 public:
  explicit Rounding(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(before_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  int before_;
};

// volatile: the compiler computes none of it beforehand, and moves none of it out of the mode.
template <class T>
T compute(Operation operation, int mode, T first, T second, T third) {
  const volatile T a = first, b = second, c = third;
  const Rounding rounding(mode);
  volatile T result = 0;
  switch (operation) {
    case Operation::add:
      result = a + b;
      break;
    case Operation::subtract:
      result = a - b;
      break;
    case Operation::multiply:
      result = a * b;
      break;
    case Operation::divide:
      result = a / b;
      break;
    case Operation::square_root:
      result = std::sqrt(a);
      break;
    case Operation::fused:
      result = std::fma(a, b, c);
      break;
  }
  return result;
}

template <class To, class From>
To convert(int mode, From from) {
  const volatile From value = from;
  const Rounding rounding(mode);
  const volatile To result = static_cast<To>(value);
  return result;
}

}  // namespace

const int kTowardsZero = FE_TOWARDZERO, kUp = FE_UPWARD, kDown = FE_DOWNWARD;

float rounded(Operation operation, int mode, float a, float b, float c) {
  return compute(operation, mode, a, b, c);
}
double rounded(Operation operation, int mode, double a, double b, double c) {
  return compute(operation, mode, a, b, c);
}
float to_float(int mode, double value) {
  return convert<float>(mode, value);
}
float to_float(int mode, long long value) {
  return convert<float>(mode, value);
}
float to_float(int mode, unsigned long long value) {
  return convert<float>(mode, value);
}
double to_double(int mode, long long value) {
  return convert<double>(mode, value);
}
double to_double(int mode, unsigned long long value) {
  return convert<double>(mode, value);
}

}  // namespace weft::host_cuda::lab
