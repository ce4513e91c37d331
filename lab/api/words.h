// SPDX-License-Identifier: MIT
// CUDA's operations on the two halves or the four bytes of a word. A name ends with the number of
// parts; s and u say whether they have a sign, ss and us that a result which does not fit becomes
// the nearest one that does.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft::host_cuda::lab {

// Each part of the result is `operation` of the parts of a and b, of type Part.
template <class Part, class F>
unsigned by_parts(unsigned a, unsigned b, F operation) {
  constexpr unsigned kBits = 8 * sizeof(Part), kCount = 32 / kBits;
  constexpr unsigned kMask = std::numeric_limits<std::make_unsigned_t<Part>>::max();
  unsigned result = 0;
  for (unsigned i = 0; i < kCount; ++i) {
    const int x = static_cast<Part>(a >> i * kBits), y = static_cast<Part>(b >> i * kBits);
    result |= (static_cast<unsigned>(operation(x, y)) & kMask) << i * kBits;
  }
  return result;
}
template <class Part>
int nearest(int value) {
  constexpr int kLeast = std::numeric_limits<Part>::min(), kMost = std::numeric_limits<Part>::max();
  return value < kLeast ? kLeast : value > kMost ? kMost : value;
}
template <class Part>
unsigned sum_of_parts(unsigned word) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 4 / sizeof(Part); ++i) {
    sum += static_cast<Part>(word >> i * 8 * sizeof(Part));
  }
  return sum;
}

}  // namespace weft::host_cuda::lab

#define WEFT_BY_PARTS(name, Part, ...)                                                         \
  inline unsigned name(unsigned a, unsigned b) {                                               \
    using Type = Part;                                                                         \
    const auto nearest = [](int value) { return weft::host_cuda::lab::nearest<Type>(value); }; \
    (void)nearest;                                                                             \
    return weft::host_cuda::lab::by_parts<Type>(                                               \
        a, b, [&]([[maybe_unused]] int x, [[maybe_unused]] int y) { return __VA_ARGS__; });    \
  }
#define WEFT_OF_ONE(name, of_two)    \
  inline unsigned name(unsigned a) { \
    return of_two(a, 0);             \
  }
#define WEFT_COMPARED(n, name, Part, relation)                \
  WEFT_BY_PARTS(__vcmp##name##n, Part, x relation y ? -1 : 0) \
  WEFT_BY_PARTS(__vset##name##n, Part, x relation y ? 1 : 0)
#define WEFT_WORDS(n, S, U)                                             \
  WEFT_BY_PARTS(__vadd##n, U, x + y)                                    \
  WEFT_BY_PARTS(__vsub##n, U, x - y)                                    \
  WEFT_BY_PARTS(__vaddss##n, S, nearest(x + y))                         \
  WEFT_BY_PARTS(__vsubss##n, S, nearest(x - y))                         \
  WEFT_BY_PARTS(__vaddus##n, U, nearest(x + y))                         \
  WEFT_BY_PARTS(__vsubus##n, U, nearest(x - y))                         \
  WEFT_BY_PARTS(__vavgu##n, U, (x + y + 1) / 2)                         \
  WEFT_BY_PARTS(__vavgs##n, S, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)     \
  WEFT_BY_PARTS(__vhaddu##n, U, (x + y) / 2)                            \
  WEFT_BY_PARTS(__vmaxs##n, S, x > y ? x : y)                           \
  WEFT_BY_PARTS(__vmaxu##n, U, x > y ? x : y)                           \
  WEFT_BY_PARTS(__vmins##n, S, x < y ? x : y)                           \
  WEFT_BY_PARTS(__vminu##n, U, x < y ? x : y)                           \
  WEFT_BY_PARTS(__vabsdiffs##n, S, x > y ? x - y : y - x)               \
  WEFT_BY_PARTS(__vabsdiffu##n, U, x > y ? x - y : y - x)               \
  WEFT_BY_PARTS(weft_abs##n, S, x < 0 ? -x : x)                         \
  WEFT_BY_PARTS(weft_absss##n, S, nearest(x < 0 ? -x : x))              \
  WEFT_BY_PARTS(weft_neg##n, S, -x)                                     \
  WEFT_BY_PARTS(weft_negss##n, S, nearest(-x))                          \
  WEFT_OF_ONE(__vabs##n, weft_abs##n)                                   \
  WEFT_OF_ONE(__vabsss##n, weft_absss##n)                               \
  WEFT_OF_ONE(__vneg##n, weft_neg##n)                                   \
  WEFT_OF_ONE(__vnegss##n, weft_negss##n)                               \
  WEFT_COMPARED(n, eq, U, ==)                                           \
  WEFT_COMPARED(n, ne, U, !=)                                           \
  WEFT_COMPARED(n, ges, S, >=)                                          \
  WEFT_COMPARED(n, geu, U, >=)                                          \
  WEFT_COMPARED(n, gts, S, >)                                           \
  WEFT_COMPARED(n, gtu, U, >)                                           \
  WEFT_COMPARED(n, les, S, <=)                                          \
  WEFT_COMPARED(n, leu, U, <=)                                          \
  WEFT_COMPARED(n, lts, S, <)                                           \
  WEFT_COMPARED(n, ltu, U, <)                                           \
  inline unsigned __vsads##n(unsigned a, unsigned b) {                  \
    return weft::host_cuda::lab::sum_of_parts<U>(__vabsdiffs##n(a, b)); \
  }                                                                     \
  inline unsigned __vsadu##n(unsigned a, unsigned b) {                  \
    return weft::host_cuda::lab::sum_of_parts<U>(__vabsdiffu##n(a, b)); \
  }
WEFT_WORDS(2, std::int16_t, std::uint16_t)
WEFT_WORDS(4, std::int8_t, std::uint8_t)
#undef WEFT_WORDS
#undef WEFT_COMPARED
#undef WEFT_OF_ONE
#undef WEFT_BY_PARTS
