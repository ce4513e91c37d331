// SPDX-License-Identifier: MIT
// weft scan: running sums, products, minima and maxima of numbers from a file or a pipe.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>

#include "data/file_io.h"
#include "data/number_text.h"
#include "engine/error.h"
#include "engine/timer.h"
#include "examples/array_input.h"
#include "examples/flags.h"
#include "examples/json_lines.h"
#include "examples/tables.h"
#include "kernels/scan/scan.h"

namespace weft::cli {
namespace {

using data::NpyArray;
using kernels::ScanKind;
using kernels::ScanOp;

struct ScanFlags {
  std::string input, out, op = "sum", type = "auto", variant = "automatic";
  bool exclusive = false, json = false;
  DeviceFlags device;
};

constexpr std::int64_t kMostJsonValues = 1'000'000;
constexpr std::size_t kValuesPart = 1 << 16;  // values made into text at a time

// Calls work(T()) for the type that scans elements of `dtype`.
template <class Work>
auto with_type(std::string_view dtype, Work&& work) {
  if (dtype == "i4") return work(std::int32_t{});
  if (dtype == "i8") return work(std::int64_t{});
  if (dtype == "f4") return work(float{});
  return work(double{});
}

template <class T>
std::span<T> values_of(NpyArray& array) {
  return {reinterpret_cast<T*>(array.bytes.data()), array.bytes.size() / sizeof(T)};
}

// As numpy.cumsum() and numpy.cumprod() do, sums and products of integers need the widest integer.
std::string scan_type(const ScanFlags& flags, std::string_view dtype) {
  const bool is_float = dtype[0] == 'f';
  if (flags.type == "auto") {
    if (is_float) return std::string(dtype);
    const bool grows = flags.op == "sum" || flags.op == "product";
    const bool fits = dtype != "u4" && dtype != "i8" && dtype != "u8";
    return !grows && fits ? "i4" : "i8";
  }
  if (is_float && flags.type[0] == 'i') {
    throw Error(ErrorKind::usage,
                fmt::format("--type {}: {} is not scanned as integers, which would cut its digits",
                            flags.type, numpy_name(dtype)));
  }
  return flags.type;
}

template <class To, class From>
void convert(NpyArray& array, const std::string& name) {
  std::vector<std::byte> bytes(array.bytes.size() / sizeof(From) * sizeof(To));
  const std::byte* from = array.bytes.data();
  for (std::byte* to = bytes.data(); to < bytes.data() + bytes.size();
       to += sizeof(To), from += sizeof(From)) {
    From value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
      if (!std::in_range<To>(value)) {
        throw Error(ErrorKind::data,
                    fmt::format("{}: {} does not fit {}{}", name, value,
                                numpy_name(sizeof(To) == 4 ? "i4" : "i8"),
                                sizeof(To) == 4 ? "; --type i8 does" : "; --type f8 rounds it"));
      }
    }
    const To converted = static_cast<To>(value);
    std::memcpy(to, &converted, sizeof converted);
  }
  array.bytes = std::move(bytes);
}

template <class To>
void convert_to(NpyArray& array, const std::string& name) {
  const std::string& from = array.dtype;
  if (from == "i1") return convert<To, std::int8_t>(array, name);
  if (from == "u1") return convert<To, std::uint8_t>(array, name);
  if (from == "i2") return convert<To, std::int16_t>(array, name);
  if (from == "u2") return convert<To, std::uint16_t>(array, name);
  if (from == "i4") return convert<To, std::int32_t>(array, name);
  if (from == "u4") return convert<To, std::uint32_t>(array, name);
  if (from == "i8") return convert<To, std::int64_t>(array, name);
  if (from == "u8") return convert<To, std::uint64_t>(array, name);
  if constexpr (std::is_floating_point_v<To>) {
    return from == "f4" ? convert<To, float>(array, name) : convert<To, double>(array, name);
  }
}

kernels::ScanOptions options_of(const ScanFlags& flags) {
  kernels::ScanOptions options;
  options.op = flags.op == "sum"   ? ScanOp::sum
               : flags.op == "min" ? ScanOp::min
               : flags.op == "max" ? ScanOp::max
                                   : ScanOp::product;
  options.kind = flags.exclusive ? ScanKind::exclusive : ScanKind::inclusive;
  options.variant = kernels::parse_scan_variant(flags.variant);
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

// Calls sink(text) with the values as lines, a part at a time.
template <class Sink>
void as_lines(NpyArray& array, Sink&& sink) {
  with_type(array.dtype, [&](auto type) {
    const auto values = values_of<const decltype(type)>(array);
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
  nlohmann::ordered_json event = json_event("scan");
  event["input"] = input_name(flags.input);
  event["elements"] = array.elements();
  event["type"] = numpy_name(array.dtype);
  event["op"] = flags.op;
  event["kind"] = flags.exclusive ? "exclusive" : "inclusive";
  event["device"] = to_string(device);
  event["variant"] = flags.variant;
  event["seconds"] = seconds;
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
  const std::string ending = to_file ? output_ending(flags.out, {".npy", ".txt"}) : "";
  const kernels::ScanOptions options = options_of(flags);
  const Device device = select_device(flags.device);
  if (to_file && !flags.json) announce_device(flags.device, device);

  const std::string name = printable(input_name(flags.input));
  NpyArray array = read_array(flags.input, "scan");
  const std::string what = shape_text(array);
  const std::string type = scan_type(flags, array.dtype);
  if (type != array.dtype) {
    with_type(type, [&](auto to) { convert_to<decltype(to)>(array, name); });
    array.dtype = type;
  }
  array.shape = {array.elements()};
  if (flags.json && !to_file && array.shape[0] > kMostJsonValues) {
    throw Error(ErrorKind::usage, fmt::format("--json prints at most {} values; add --out",
                                              format_count(kMostJsonValues)));
  }
  const double seconds = with_type(
      type, [&](auto to) { return scan_values(values_of<decltype(to)>(array), options, device); });
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
                                flags.variant == "automatic" ? "" : ", " + flags.variant,
                                format_duration(seconds), rate)},
         {"last", last_value(array)},
         {"written", printable(flags.out)}},
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
  scan->add_option("--out", flags->out, "S.npy or S.txt; default: lines on standard output")
      ->type_name("FILE");
  add_choice(*scan, "--op", flags->op, {"sum", "min", "max", "product"}, "what is accumulated")
      ->capture_default_str();
  scan->add_flag("--exclusive", flags->exclusive,
                 "each result leaves out the element at its place");
  add_choice(*scan, "--type", flags->type, {"auto", "i4", "i8", "f4", "f8"},
             "arithmetic; auto is NumPy's: i8 for sums and products of\nintegers, else the input's")
      ->capture_default_str();
  scan->add_option("--impl", flags->variant, "kernel: `weft kernel show scan` lists them")
      ->capture_default_str()
      ->type_name("NAME");
  scan->add_flag("--json", flags->json, "a JSON line instead of text");
  add_device_flags(*scan, flags->device, false);
  scan->footer(
      "An array of several axes is scanned as numpy.cumsum() does it: flattened, row by row.\n"
      "Integers that overflow wrap around. Text of whole numbers is scanned in i8, other text in\n"
      "f8; '#' begins a comment. Without --out nothing but the result goes to standard output.\n\n"
      "  seq 1 10 | weft scan\n"
      "  weft scan data.npy --out s.npy\n"
      "  weft scan prices.txt --op max\n"
      "  weft scan lengths.npy --exclusive --out offsets.npy");
  scan->callback([flags, &action] { action = [flags] { return run_scan(*flags); }; });
}

}  // namespace weft::cli
