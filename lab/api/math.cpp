// SPDX-License-Identifier: MIT
#include "lab/api/math.h"

#include <cmath>
#include <limits>

namespace {

// Where erfc(x) = y, 0 < y <= 1: Newton's steps (Halley's) from the asymptotic form.
double inverse_of_erfc(double y) {
  const double t = std::sqrt(-2 * std::log(y / 2));
  // Abramowitz and Stegun, 26.2.23, divided by the square root of two
  double x = (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481))) / std::sqrt(2.0);
  for (int i = 0; i < 4; ++i) {
    const double error = (std::erfc(x) - y) / (-2 / std::sqrt(M_PI) * std::exp(-x * x));
    x -= error / (1 + x * error);
  }
  return x;
}

}  // namespace

double erfcinv(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(x >= 0 && x <= 2)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || x == 2) return x == 0 ? kInfinity : -kInfinity;
  return x <= 1 ? inverse_of_erfc(x) : -inverse_of_erfc(2 - x);
}
double erfinv(double x) {
  if (std::fabs(x) > 0.5 || x != x) return erfcinv(1 - x);
  // Near zero 1 - x has lost digits: Newton's steps on erf itself.
  double y = x * std::sqrt(M_PI) / 2;
  for (int i = 0; i < 6; ++i) {
    const double error = (std::erf(y) - x) / (2 / std::sqrt(M_PI) * std::exp(-y * y));
    y -= error / (1 + y * error);
  }
  return y;
}
