// SPDX-License-Identifier: MIT
// weft scan: running sums, products, minima and maxima of numbers from a file or a pipe.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "data/arrays/number_text.h"
#include "data/files/file_io.h"
#include "engine/error.h"
#include "engine/timer.h"
#include "examples/weft/input/array_input.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "kernels/catalogue.h"
#include "kernels/scan/scan.h"

namespace weft::cli {
namespace {

using data::NpyArray;
using kernels::ScanKind;
using kernels::ScanOp;

struct ScanFlags {
  std::string input, out, op = "sum", type = "auto", variant = "automatic";
  bool exclusive = false, json = false;
  TextFlags text;
  DeviceFlags device;
};

constexpr std::int64_t kMostJsonValues = 1'000'000;
constexpr std::size_t kValuesPart = 1 << 16;  // values made into text at a time

bool accumulates(const ScanFlags& flags) {
  return flags.op == "sum" || flags.op == "product";
}

// The type of the result. Sums and products of integers have the widest integer, as in
// numpy.cumsum() and numpy.cumprod(). Minima and maxima keep the type of the input.
std::string result_type(const ScanFlags& flags, const std::string& dtype) {
  if (flags.type == "auto") {
    if (dtype[0] == 'f' || !accumulates(flags)) return dtype;
    return dtype[0] == 'u' ? "u8" : "i8";
  }
  if (dtype[0] == 'f' && flags.type[0] != 'f') {
    throw Error(ErrorKind::usage,
                fmt::format("--type {}: {} is not scanned as integers, which would cut its digits",
                            flags.type, numpy_name(dtype)));
  }
  return flags.type;
}

// The kernels scan int32, int64, float and double. Integers are scanned in the narrowest of them
// that has as many bits. Sums and products of unsigned numbers have the same bits as signed ones;
// for minima and maxima the first bit is flipped before and after, which keeps the order.
template <class T>
using Scanned = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<(sizeof(T) > sizeof(std::int32_t)), std::int64_t, std::int32_t>>;

template <class T>
Scanned<T> to_scanned(T value, bool ordered) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(Scanned<T>)) {
    if (ordered) value ^= T{1} << (8 * sizeof(T) - 1);
  }
  return static_cast<Scanned<T>>(value);
}

template <class T>
T from_scanned(Scanned<T> value, bool ordered) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else if constexpr (sizeof(T) < sizeof(Scanned<T>)) {
    // Only the identity of an exclusive scan is out of range: the identity of T is nearest to it.
    return static_cast<T>(std::clamp<Scanned<T>>(value, std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max()));
  } else {
    return static_cast<T>(to_scanned(static_cast<T>(value), ordered));
  }
}

template <class To, class From>
To converted(From value, const std::string& name, const std::string& type) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!std::in_range<To>(value)) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: {} does not fit {}; --type {} does", name, value,
                              numpy_name(type), std::in_range<std::int64_t>(value) ? "i8" : "u8"));
    }
  }
  return static_cast<To>(value);
}

// The elements as they are scanned: those of `array`, in the type T of the result.
template <class T>
std::vector<Scanned<T>> scanned_values(const NpyArray& array, bool ordered, const std::string& name,
                                       const std::string& type) {
  std::vector<Scanned<T>> out(static_cast<std::size_t>(array.elements()));
  with_type(array.dtype, [&](auto from) {
    using From = decltype(from);
    if constexpr (std::is_floating_point_v<T> || std::is_integral_v<From>) {
      const std::span<const From> values = values_of<From>(array);
      std::ranges::transform(values, out.begin(), [&](From value) {
        return to_scanned(converted<T>(value, name, type), ordered);
      });
    }
  });
  return out;
}

kernels::ScanOptions options_of(const ScanFlags& flags) {
  kernels::ScanOptions options;
  options.op = flags.op == "sum"   ? ScanOp::sum
               : flags.op == "min" ? ScanOp::min
               : flags.op == "max" ? ScanOp::max
                                   : ScanOp::product;
  options.kind = flags.exclusive ? ScanKind::exclusive : ScanKind::inclusive;
  options.variant = kernels::rung_name("scan", flags.variant);
  return options;
}

// In place. Returns the seconds that the kernel took, without copies to and from the device.
template <class T>
double scan_values(std::span<T> values, const kernels::ScanOptions& options, Device device) {
  const Stream stream(device);
  const std::int64_t n = std::ssize(values);
  const std::size_t needed = kernels::scan_workspace_bytes<T>(n, options, device);
  const Buffer workspace(needed, stream);
  const Buffer copy(device.is_cpu() ? 0 : values.size_bytes(), stream);
  T* x = device.is_cpu() ? values.data() : static_cast<T*>(copy.data());
  if (!device.is_cpu()) {
    copy_bytes(x, device, values.data(), Device::cpu(), values.size_bytes(), stream);
  }
  stream.synchronize();
  const Timer timer;
  kernels::scan(x, x, n, options, {workspace.data(), needed}, stream);
  stream.synchronize();
  const double seconds = timer.seconds();
  if (!device.is_cpu()) {
    copy_bytes(values.data(), Device::cpu(), x, device, values.size_bytes(), stream);
    stream.synchronize();
  }
  return seconds;
}

// Scans the array into one of `type`, and returns the seconds that the kernel took.
double scan_array(NpyArray& array, const ScanFlags& flags, const std::string& type,
                  const kernels::ScanOptions& options, Device device, const std::string& name) {
  const bool ordered = !accumulates(flags);
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<Scanned<T>> values = scanned_values<T>(array, ordered, name, type);
    array = {type, {array.elements()}, {}};
    const double seconds = scan_values(std::span(values), options, device);
    array.bytes.resize(values.size() * sizeof(T));
    std::ranges::transform(values, values_of<T>(array).begin(),
                           [&](Scanned<T> value) { return from_scanned<T>(value, ordered); });
    return seconds;
  });
}

// Calls sink(text) with the values as lines, a part at a time.
template <class Sink>
void as_lines(NpyArray& array, Sink&& sink) {
  with_type(array.dtype, [&](auto type) {
    const auto values = values_of<decltype(type)>(std::as_const(array));
    std::string text;
    for (std::size_t at = 0; at < values.size(); at += kValuesPart) {
      text.clear();
      data::append_lines(text, values.subspan(at, std::min(kValuesPart, values.size() - at)));
      sink(text);
    }
  });
}

std::string last_value(NpyArray& array) {
  if (array.bytes.empty()) return "none";
  return with_type(array.dtype, [&](auto type) {
    return data::number_text(values_of<decltype(type)>(array).back());
  });
}

void write_result(NpyArray& array, const std::string& path, const std::string& ending) {
  if (ending == ".npy") return data::write_npy(path, array);
  data::AtomicFile file(path);
  as_lines(array, [&](const std::string& text) { file.write(text); });
  file.commit();
}

void print_json(const ScanFlags& flags, NpyArray& array, Device device, double seconds) {
  nlohmann::ordered_json event =
      json_event("scan", {{"input", input_name(flags.input)},
                          {"elements", array.elements()},
                          {"type", numpy_name(array.dtype)},
                          {"op", flags.op},
                          {"kind", flags.exclusive ? "exclusive" : "inclusive"},
                          {"device", to_string(device)},
                          {"variant", flags.variant},
                          {"seconds", seconds}});
  with_type(array.dtype, [&](auto type) {
    const auto values = values_of<decltype(type)>(array);
    event["last"] = nullptr;
    if (!values.empty()) event["last"] = values.back();
    if (flags.out.empty()) event["values"] = std::vector(values.begin(), values.end());
  });
  if (!flags.out.empty()) event["out"] = flags.out;
  write_out(json_line(event));
}

int run_scan(const ScanFlags& flags) {
  const bool to_file = !flags.out.empty();
  const std::string ending = to_file ? output_ending("--out", flags.out, {".npy", ".txt"}) : "";
  const kernels::ScanOptions options = options_of(flags);
  const Device device = select_device(flags.device);
  const std::string name = input_name(flags.input);
  NpyArray array = read_array(flags.input, "scan", flags.text);
  if (to_file && !flags.json) announce_device(flags.device, device);  // a bad file is one line
  const std::string what = shape_text(array);
  const std::string type = result_type(flags, array.dtype);
  if (flags.json && !to_file && array.elements() > kMostJsonValues) {
    throw Error(ErrorKind::usage, fmt::format("--json prints at most {} values; add --out",
                                              format_count(kMostJsonValues)));
  }
  const double seconds = scan_array(array, flags, type, options, device, name);
  if (to_file) write_result(array, flags.out, ending);
  if (flags.json) {
    print_json(flags, array, device, seconds);
  } else if (!to_file) {
    as_lines(array, [](const std::string& text) { write_out(text); });
  } else {
    const double rate = seconds > 0 ? static_cast<double>(array.elements()) / seconds : 0;
    write_out(format_pairs(
        {{"input", fmt::format("{}: {}", name, what)},
         {"scan", fmt::format("{} {} in {}", flags.exclusive ? "exclusive" : "inclusive", flags.op,
                              numpy_name(type))},
         {"device", fmt::format("{}{}: {}, {:.3g} elements/s", to_string(device),
                                flags.variant == kernels::kAutomatic ? "" : ", " + flags.variant,
                                format_duration(seconds), rate)},
         {"last", last_value(array)},
         {"written", flags.out}},
        detect_terminal(kStdout)));
  }
  return 0;
}

}  // namespace

void add_scan(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ScanFlags>();
  CLI::App* scan = app.add_subcommand("scan", "Running sums of an array, a text file or a pipe");
  scan->add_option("INPUT", flags->input,
                   ".npy, or text: numbers between white space or commas;\n- or nothing: a pipe")
      ->type_name("");
  add_text_flags(*scan, flags->text);
  scan->add_option("--out", flags->out, "S.npy or S.txt; default: lines on standard output")
      ->type_name("FILE");
  add_choice(*scan, "--op", flags->op, {"sum", "min", "max", "product"}, "what is accumulated")
      ->capture_default_str();
  scan->add_flag("--exclusive", flags->exclusive,
                 "each result leaves out the element at its place");
  add_choice(
      *scan, "--type", flags->type, {"auto", "i4", "i8", "u4", "u8", "f4", "f8"},
      "type of the result; auto is NumPy's: i8 or u8 for sums and products of integers, else "
      "the input's (f4 for float16)")
      ->capture_default_str();
  scan->add_option("--impl", flags->variant, "kernel: `weft kernel show scan` lists them")
      ->capture_default_str()
      ->type_name("NAME");
  scan->add_flag("--json", flags->json, "a JSON line instead of text");
  add_device_flags(*scan, flags->device, false);
  scan->footer(
      "An array of several axes is scanned as numpy.cumsum() does it: flattened, row by row.\n"
      "Integers that overflow wrap around. Text of whole numbers is scanned in i8, other text in\n"
      "f8; '#' begins a comment, and an empty cell of a table is refused. Without --out nothing\n"
      "but the result goes to standard output. A table of several columns needs --column.\n\n"
      "  seq 1 10 | weft scan\n"
      "  weft scan data.npy --out s.npy\n"
      "  weft scan prices.csv --column close --op max\n"
      "  weft scan lengths.npy --exclusive --out offsets.npy");
  scan->callback([flags, &action] { action.run = [flags] { return run_scan(*flags); }; });
}

}  // namespace weft::cli
