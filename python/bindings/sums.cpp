// SPDX-License-Identifier: MIT
// The families reduce, scan and histogram.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

bool is_half(const Array& x) {
  constexpr auto kFloat = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  return x.is_valid() && x.dtype() == nb::dlpack::dtype{kFloat, 16, 1};
}

// Calls run(T(), x) with the element type of an array: int32, int64, float32 or float64. No kernel
// reads float16 and bool: run() gets a copy of these in float32 and in integers. Its result has the
// dtype that NumPy gives: with `chooses`, where it is one of the values or a sum of float16, that
// of x.
template <class Run>
Result with_type(const char* name, const Array& x, bool chooses, Run run) {
  constexpr const char* kTypes = "int32, int64, float32, float64, float16 or bool";
  check_argument({name, "x", x.source, x.is_valid(), false, kTypes});
  const nb::dlpack::dtype dtype = x.dtype();
  if (dtype == nb::dtype<float>()) return run(float(), x);
  if (dtype == nb::dtype<double>()) return run(double(), x);
  if (dtype == nb::dtype<std::int32_t>()) return run(std::int32_t(), x);
  if (dtype == nb::dtype<std::int64_t>()) return run(std::int64_t(), x);
  const bool half = is_half(x);
  if (!half && dtype != nb::dtype<bool>()) {
    throw nb::type_error(str(name, ": x is ", dtype_name(dtype), ", expected ", kTypes).c_str());
  }
  const auto copy = nb::cast<Array>(in_dtype(x.source, x.library, half ? "float32" : "int"));
  const Result result = with_type(name, copy, false, run);
  if (!chooses) return result;
  return nb::borrow<Result>(in_dtype(result, x.library, half ? "float16" : "bool"));
}

bool is_sum(kernels::Reduction kind) {
  return kind == kernels::Reduction::sum || kind == kernels::Reduction::sum_of_squares;
}
bool is_sum(kernels::ScanOp op) {
  return op == kernels::ScanOp::sum || op == kernels::ScanOp::product;
}

Result reduce(const Array& x, const std::string& op, const std::string& variant, int threads) {
  const kernels::Reduction kind = row_named(kReductions, "op", op).value;
  return with_type("reduce", x, !is_sum(kind) || is_half(x), [&](auto zero, const Array& values) {
    using T = decltype(zero);
    Call call("reduce");
    const auto in = call.input<T>("x", values);
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
  return with_type("argmax", x, false, [&](auto zero, const Array& values) {
    using T = decltype(zero);
    Call call("argmax");
    const auto in = call.input<T>("x", values);
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
  return with_type("scan", x, !is_sum(options.op) || is_half(x),
                   [&](auto zero, const Array& values) {
                     using T = decltype(zero);
                     Call call("scan");
                     call.require(out.is_none() || &values == &x,
                                  "out goes with int32, int64, float32 and float64");
                     const auto in = call.input<T>("x", values, 1);
                     T* y = call.output<T>(in.shape, out, true);
                     const auto workspace = call.workspace(
                         kernels::scan_workspace_bytes<T>(in.n(), options, call.stream().device()));
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

using Range = std::pair<double, double>;

// The range of the bins by numpy.histogram's rule: the one that is given, or from the least to the
// greatest value, or (0, 1) of no values; one of no width is widened by 1.
Range range_of(const Call& call, const std::optional<Range>& given, std::int64_t n, Range values) {
  Range range = given.value_or(n == 0 ? Range{0, 1} : values);
  call.require(std::isfinite(range.first) && std::isfinite(range.second), "the range of ",
               given ? "the bins" : "x", " is (", range.first, ", ", range.second,
               "), expected finite numbers",
               given ? "" : "; range=(lower, upper) leaves out what is not");
  call.require(range.first <= range.second, "range is (", range.first, ", ", range.second,
               "), expected the lower number first");
  if (range.first == range.second) range = {range.first - 0.5, range.second + 0.5};
  return range;
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

// Copies counts that the host has made to an output.
void upload(std::int64_t* counts, const std::vector<std::int64_t>& made, const Stream& stream) {
  copy_bytes(counts, stream.device(), made.data(), Device::cpu(), made.size() * sizeof made[0],
             stream);
  stream.synchronize();
}

struct Histogram {
  std::int64_t bins;
  std::optional<Range> range;  // that was asked for
  kernels::HistogramOptions options;
};

// Bytes are counted one by one. Other bins than one for each byte are put together on the host.
Range histogram_of_bytes(Call& call, const Array& x, const Histogram& asked) {
  constexpr std::int64_t kBytes = kernels::kHistogramByteBins;
  const auto in = call.input<std::uint8_t>("x", x);
  if (asked.bins == kBytes && asked.range == Range{0, kBytes}) {
    auto* counts = call.output<std::int64_t>({kBytes});
    call.run(
        [&](const Stream& on) { kernels::histogram(counts, in.data, in.n(), asked.options, on); });
    return *asked.range;
  }
  std::vector<std::int64_t> of_byte(kBytes);
  const kernels::Workspace space = call.workspace(of_byte.size() * sizeof of_byte[0]);
  call.run([&](const Stream& on) {
    kernels::histogram(static_cast<std::int64_t*>(space.data), in.data, in.n(), asked.options, on);
    copy_bytes(of_byte.data(), Device::cpu(), space.data, on.device(), space.bytes, on);
    on.synchronize();
  });
  const auto counted = [](std::int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(of_byte, counted) - of_byte.begin();
  const auto last =
      std::ranges::find_if(of_byte.rbegin(), of_byte.rend(), counted).base() - of_byte.begin() - 1;
  const Range range =
      range_of(call, asked.range, in.n(), {static_cast<double>(first), static_cast<double>(last)});
  const auto [lower, upper] = range;
  std::vector<std::int64_t> made(static_cast<std::size_t>(asked.bins));
  for (std::int64_t byte = 0; byte < kBytes; ++byte) {
    const auto value = static_cast<double>(byte);
    if (value < lower || value > upper) continue;
    const auto bin = static_cast<std::int64_t>((value - lower) * static_cast<double>(asked.bins) /
                                               (upper - lower));
    made[static_cast<std::size_t>(std::min(bin, asked.bins - 1))] +=
        of_byte[static_cast<std::size_t>(byte)];
  }
  auto* counts = call.output<std::int64_t>({asked.bins});
  call.run([&](const Stream& on) { upload(counts, made, on); });
  return range;
}

Range histogram_of_integers(Call& call, const Array& x, const Histogram& asked) {
  const auto in = call.input<std::int32_t>("x", x);
  Range values;
  if (!asked.range && in.n() > 0) values = extremes(call, x, in);
  const bool constant = !asked.range && in.n() > 0 && values.first == values.second;
  const Range range = range_of(call, asked.range, in.n(), values);
  if (constant) {  // all of them are in the middle
    std::vector<std::int64_t> made(static_cast<std::size_t>(asked.bins));
    made[static_cast<std::size_t>(asked.bins / 2)] = in.n();
    auto* counts = call.output<std::int64_t>({asked.bins});
    call.run([&](const Stream& on) { upload(counts, made, on); });
    return range;
  }
  call.require(is_whole(range.first) && is_whole(range.second), "the range of integers is (",
               range.first, ", ", range.second, "), expected two whole numbers from -2^31 to 2^31");
  const kernels::IntegerBins edges{static_cast<std::int64_t>(range.first),
                                   static_cast<std::int64_t>(range.second), asked.bins};
  auto* counts = call.output<std::int64_t>({asked.bins});
  const auto space =
      call.workspace(2 * sizeof *counts +
                     kernels::reduce_workspace_bytes<std::int64_t>(2, {}, call.stream().device()));
  call.run([&](const Stream& on) {
    kernels::histogram(counts, in.data, in.n(), edges, asked.options, on);
    count_end(counts + asked.bins - 1, in, edges.upper, space, on);
  });
  return range;
}

Range histogram_of_floats(Call& call, const Array& x, const Histogram& asked) {
  const auto in = call.input<float>("x", x);
  Range values;
  if (!asked.range && in.n() > 0) values = extremes(call, x, in);
  const Range range = range_of(call, asked.range, in.n(), values);
  const kernels::EvenBins edges{static_cast<float>(range.first), static_cast<float>(range.second),
                                asked.bins, true};
  call.require(edges.lower < edges.upper && std::isfinite(edges.upper - edges.lower), "the range (",
               range.first, ", ", range.second, ") is too ",
               edges.lower < edges.upper ? "wide" : "narrow", " for float32");
  auto* counts = call.output<std::int64_t>({asked.bins});
  call.run([&](const Stream& on) {
    kernels::histogram(counts, in.data, in.n(), edges, asked.options, on);
  });
  return range;
}

CountsAndEdges histogram(const Array& x, std::int64_t bins, const std::optional<Range>& range,
                         const std::string& variant, int block) {
  if (is_half(x) ||
      (x.is_valid() && x.dtype() == nb::dtype<bool>())) {  // as NumPy: floats and bytes
    check_argument({"histogram", "x", x.source, true});
    const auto copy = in_dtype(x.source, x.library, is_half(x) ? "float32" : "uint8");
    return histogram(nb::cast<Array>(copy), bins, range, variant, block);
  }
  Call call("histogram");
  call.require(bins >= 1 && bins <= kernels::kHistogramMaxBins, "bins is ", bins,
               ", expected 1 to ", kernels::kHistogramMaxBins);
  constexpr const char* kTypes = "float32, int32, uint8, float16 or bool";
  call.require_array("x", x, kTypes);
  const Histogram asked{bins, range, {variant, block}};
  const bool bytes = x.dtype() == nb::dtype<std::uint8_t>();
  const bool integers = x.dtype() == nb::dtype<std::int32_t>();
  if (!bytes && !integers && x.dtype() != nb::dtype<float>()) {
    throw nb::type_error(
        str("histogram: x is ", dtype_name(x.dtype()), ", expected ", kTypes).c_str());
  }
  const auto [lower, upper] = bytes      ? histogram_of_bytes(call, x, asked)
                              : integers ? histogram_of_integers(call, x, asked)
                                         : histogram_of_floats(call, x, asked);
  return nb::steal<CountsAndEdges>(
      nb::make_tuple(call.result(), edges_of(lower, upper, bins)).release());
}

template <class T>
std::pair<T, T> extremes_of(Call& call, const Array& array, const View<const T>& view) {
  if (built_for_host_cuda()) {  // no kernel of the call, which may count its kernels
    const auto* data = static_cast<const T*>(array.data());
    std::pair<T, T> found = {data[0], data[0]};
    for (std::int64_t i = 0; i < view.n(); ++i) {
      if (data[i] != data[i]) return {data[i], data[i]};  // NaN
      found = {std::min(found.first, data[i]), std::max(found.second, data[i])};
    }
    return found;
  }
  const kernels::ReduceOptions options;
  const std::size_t bytes =
      kernels::reduce_workspace_bytes<T>(view.n(), options, call.stream().device());
  const kernels::Workspace results = call.workspace(2 * sizeof(T)), space = call.workspace(bytes);
  auto* both = static_cast<T*>(results.data);
  std::pair<T, T> found;
  call.run([&](const Stream& on) {
    kernels::reduce(both, view.data, view.n(), kernels::Reduction::min, options, space, on);
    kernels::reduce(both + 1, view.data, view.n(), kernels::Reduction::max, options, space, on);
    copy_bytes(&found.first, Device::cpu(), both, on.device(), sizeof(T), on);
    copy_bytes(&found.second, Device::cpu(), both + 1, on.device(), sizeof(T), on);
    on.synchronize();
  });
  return found;
}

}  // namespace

std::pair<float, float> extremes(Call& call, const Array& array, const View<const float>& view) {
  return extremes_of(call, array, view);
}

std::pair<std::int32_t, std::int32_t> extremes(Call& call, const Array& array,
                                               const View<const std::int32_t>& view) {
  return extremes_of(call, array, view);
}

void bind_sums(nb::module_& m) {
  m.def("reduce", &reduce, "x"_a, "op"_a = "sum", "variant"_a = "automatic", "threads"_a = 256,
        with_rungs("Reduces all values of x to one, in a fixed order.\n\n"
                   "x: any shape, int32, int64, float32, float64, float16 or bool. op: sum,\n"
                   "sum_of_squares, min or max. The result has the dtype of x, but a sum of bool "
                   "is an int64.\n"
                   "float16 is summed in float32.\n"
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
  m.def(
      "scan", &scan, "x"_a, "op"_a = "sum", "exclusive"_a = false, "variant"_a = "automatic",
      "out"_a = nb::none(),
      with_rungs("The prefix sums of x, or its prefix minima, maxima or products.\n\n"
                 "x: (n,), int32, int64, float32, float64, float16 or bool. op: sum, min, max or\n"
                 "product. exclusive: element i leaves out x[i]. out: (n,), may be x; not for\n"
                 "float16 and bool. Returns (n,) of the dtype of x, but sums and products of bool\n"
                 "are int64. float16 is summed in float32.",
                 "scan")
          .c_str());
  m.def("histogram", &histogram, "x"_a, "bins"_a = 100, "range"_a = nb::none(),
        "variant"_a = "automatic", "block"_a = 0,
        with_rungs(
            "How many values of x fall in each of `bins` equal bins: (counts, edges).\n\n"
            "x: any shape, float32, int32, uint8, float16 or bool. range: (lower, upper); None is "
            "from the least\n"
            "value to the greatest, as with NumPy, and the call waits for these. It raises "
            "ValueError\n"
            "where one is no finite number. uint8 is counted in one pass, without a wait, with\n"
            "bins=256 and range=(0, 256).\n"
            "counts: (bins,), int64. edges: (bins + 1,), float64, as numpy.histogram gives them.\n"
            "A bin has its left edge and not its right one; the last has both, as with NumPy. For\n"
            "that, integers are read a second time. Bins of floats are found in float32: a value\n"
            "within rounding of an edge may be counted beside it. block: threads of a block on a\n"
            "GPU; 0 leaves it to the variant.",
            "histogram")
            .c_str());
}

}  // namespace weft::python
