// SPDX-License-Identifier: MIT
// The families reduce, scan and histogram.
#include <cmath>
#include <limits>

#include "kernels/histogram/histogram.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

constexpr Named<kernels::Reduction> kReductions[] = {
    {"sum", kernels::Reduction::sum},
    {"sum_of_squares", kernels::Reduction::sum_of_squares},
    {"min", kernels::Reduction::min},
    {"max", kernels::Reduction::max}};
constexpr Named<kernels::ScanOp> kScanOps[] = {{"sum", kernels::ScanOp::sum},
                                               {"min", kernels::ScanOp::min},
                                               {"max", kernels::ScanOp::max},
                                               {"product", kernels::ScanOp::product}};

// Calls run(T()) with the element type of an array: int32, int64, float32 or float64.
template <class Run>
auto with_type(const char* name, const Array& x, Run run) {
  const nb::dlpack::dtype dtype = x.dtype();
  if (dtype == nb::dtype<float>()) return run(float());
  if (dtype == nb::dtype<double>()) return run(double());
  if (dtype == nb::dtype<std::int32_t>()) return run(std::int32_t());
  if (dtype == nb::dtype<std::int64_t>()) return run(std::int64_t());
  throw nb::type_error(str(name, ": x has to be int32, int64, float32 or float64").c_str());
}

Result reduce(const Array& x, const std::string& op, const std::string& variant, int threads) {
  const kernels::Reduction kind = row_named(kReductions, "op", op).value;
  return with_type("reduce", x, [&](auto zero) {
    using T = decltype(zero);
    Call call("reduce");
    const auto in = call.input<T>("x", x);
    T* out = call.output<T>({});
    const kernels::ReduceOptions options{variant, threads};
    const auto workspace =
        call.workspace(kernels::reduce_workspace_bytes<T>(in.n(), options, call.stream().device()));
    call.run([&](const Stream& stream) {
      kernels::reduce(out, in.data, in.n(), kind, options, workspace, stream);
    });
    return call.result();
  });
}

Result argmax(const Array& x, const std::string& variant, int threads) {
  return with_type("argmax", x, [&](auto zero) {
    using T = decltype(zero);
    Call call("argmax");
    const auto in = call.input<T>("x", x);
    auto* out = call.output<std::int64_t>({});
    const kernels::ReduceOptions options{variant, threads};
    const auto workspace =
        call.workspace(kernels::reduce_workspace_bytes<T>(in.n(), options, call.stream().device()));
    call.run([&](const Stream& stream) {
      kernels::argmax(out, in.data, in.n(), options, workspace, stream);
    });
    return call.result();
  });
}

Result scan(const Array& x, const std::string& op, bool exclusive, const std::string& variant,
            const nb::object& out) {
  const kernels::ScanOptions options{
      row_named(kScanOps, "op", op).value,
      exclusive ? kernels::ScanKind::exclusive : kernels::ScanKind::inclusive, variant};
  return with_type("scan", x, [&](auto zero) {
    using T = decltype(zero);
    Call call("scan");
    const auto in = call.input<T>("x", x, 1);
    T* y = call.output<T>(in.shape, out, true);
    const auto workspace =
        call.workspace(kernels::scan_workspace_bytes<T>(in.n(), options, call.stream().device()));
    call.run([&](const Stream& stream) {
      kernels::scan(y, in.data, in.n(), options, workspace, stream);
    });
    return call.result();
  });
}

bool is_whole(double value) {
  return std::abs(value) < 4e9 && value == std::floor(value);
}

// The edges of the bins, as numpy.histogram gives them.
nb::object edges_of(double lower, double upper, std::int64_t bins) {
  return nb::module_::import_("numpy").attr("linspace")(lower, upper, bins + 1);
}

// Bins of integers are half-open: the values that are equal to the end of the last bin are counted
// by themselves, and added to it.
void count_end(std::int64_t* last, const View<const std::int32_t>& in, std::int64_t end,
               const kernels::Workspace& space, const Stream& stream) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (end > kMost) return;
  auto* pair = static_cast<std::int64_t*>(space.data);
  const kernels::Workspace rest{pair + 2, space.bytes - 2 * sizeof *pair};
  copy_bytes(pair, stream.device(), last, stream.device(), sizeof *pair, stream);
  kernels::histogram(pair + 1, in.data, in.n(), kernels::IntegerBins{end, end + 1, 1}, {}, stream);
  kernels::reduce(last, pair, 2, kernels::Reduction::sum, {}, rest, stream);
}

Results histogram(const Array& x, std::int64_t bins, std::pair<double, double> range,
                  const std::string& variant, int block) {
  Call call("histogram");
  call.require(bins >= 1 && bins <= kernels::kHistogramMaxBins, "bins is ", bins,
               ", expected 1 to ", kernels::kHistogramMaxBins);
  const kernels::HistogramOptions options{variant, block};
  const auto [lower, upper] = range;
  if (x.dtype() == nb::dtype<std::uint8_t>()) {
    const auto in = call.input<std::uint8_t>("x", x);
    call.require(bins == kernels::kHistogramByteBins && lower == 0 && upper == 256,
                 "bytes have a bin for each value: bins=256 and range=(0, 256)");
    auto* counts = call.output<std::int64_t>({bins});
    call.run([&](const Stream& stream) {
      kernels::histogram(counts, in.data, in.n(), options, stream);
    });
  } else if (x.dtype() == nb::dtype<std::int32_t>()) {
    const auto in = call.input<std::int32_t>("x", x);
    call.require(is_whole(lower) && is_whole(upper), "the range of integers is (", lower, ", ",
                 upper, "), expected two whole numbers");
    const kernels::IntegerBins edges{static_cast<std::int64_t>(lower),
                                     static_cast<std::int64_t>(upper), bins};
    auto* counts = call.output<std::int64_t>({bins});
    const auto space =
        call.workspace(2 * sizeof *counts + kernels::reduce_workspace_bytes<std::int64_t>(
                                                2, {}, call.stream().device()));
    call.run([&](const Stream& stream) {
      kernels::histogram(counts, in.data, in.n(), edges, options, stream);
      count_end(counts + bins - 1, in, edges.upper, space, stream);
    });
  } else {
    if (x.dtype() != nb::dtype<float>()) {
      throw nb::type_error("histogram: x has to be uint8, int32 or float32");
    }
    const auto in = call.input<float>("x", x);
    const kernels::EvenBins edges{static_cast<float>(lower), static_cast<float>(upper), bins, true};
    auto* counts = call.output<std::int64_t>({bins});
    call.run([&](const Stream& stream) {
      kernels::histogram(counts, in.data, in.n(), edges, options, stream);
    });
  }
  return nb::steal<Results>(nb::make_tuple(call.result(), edges_of(lower, upper, bins)).release());
}

}  // namespace

void bind_sums(nb::module_& m) {
  m.def("reduce", &reduce, "x"_a, "op"_a = "sum", "variant"_a = "automatic", "threads"_a = 256,
        with_rungs(
            "Reduces all values of x to one, in a fixed order.\n\n"
            "x: any shape, int32, int64, float32 or float64. op: sum, sum_of_squares, min or max.\n"
            "threads: of a block on a GPU, a multiple of 32. Returns an array of shape ().\n"
            "Of no values the sum is 0, and min and max are the identities of their type.",
            "reduce")
            .c_str());
  m.def("argmax", &argmax, "x"_a, "variant"_a = "automatic", "threads"_a = 256,
        with_rungs(
            "The index of the first of the largest values of x, flattened: an int64 of shape ().\n"
            "-1 when x is empty; the first NaN when there is one.",
            "reduce")
            .c_str());
  m.def("scan", &scan, "x"_a, "op"_a = "sum", "exclusive"_a = false, "variant"_a = "automatic",
        "out"_a = nb::none(),
        with_rungs("The prefix sums of x, or its prefix minima, maxima or products.\n\n"
                   "x: (n,), int32, int64, float32 or float64. op: sum, min, max or product.\n"
                   "exclusive: element i leaves out x[i]. out: (n,), may be x. Returns (n,).",
                   "scan")
            .c_str());
  m.def("histogram", &histogram, "x"_a, "bins"_a = 100, "range"_a = std::pair<double, double>{0, 1},
        "variant"_a = "automatic", "block"_a = 0,
        with_rungs(
            "How many values of x fall in each of `bins` equal bins: (counts, edges).\n\n"
            "x: any shape, float32, int32, or uint8 with bins=256 and range=(0, 256).\n"
            "counts: (bins,), int64. edges: (bins + 1,), float64, as numpy.histogram gives them.\n"
            "A bin has its left edge and not its right one; the last has both, as with NumPy. For\n"
            "that, integers are read a second time. Bins of floats are found in float32: a value\n"
            "within rounding of an edge may be counted beside it. block: threads of a block on a\n"
            "GPU; 0 leaves it to the variant.",
            "histogram")
            .c_str());
}

}  // namespace weft::python
