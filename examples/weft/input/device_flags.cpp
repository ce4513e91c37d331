// SPDX-License-Identifier: MIT
// The flags of the device: --device, --threads, --precision, --impl and what they choose.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "engine/error.h"
#include "engine/text.h"
#include "engine/timings.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/other_work.h"
#include "examples/weft/output/terminal.h"
#include "kernels/catalogue.h"
#include "models/training/settings.h"

namespace weft::cli {
namespace {

constexpr const char* kDeviceType = "DEVICE";  // of add_device_flags(), no other --device

}  // namespace

void add_batch_invariant(CLI::App& app, DeviceFlags& flags) {
  app.add_flag("--batch-invariant", flags.batch_invariant,
               "on a GPU: slower kernels, by which an image has the same logits to the bit in a "
               "batch of any size. A CPU has them anyway")
      ->group("Device");
}

void add_device_data_limit(CLI::App& app, DeviceFlags& flags) {
  app.add_option("--device-data-limit", flags.data_limit,
                 "stream images from host memory when all of them take more than SIZE, such as "
                 "256M or 8G; default: half the memory of a GPU")
      ->group("Device")
      ->type_name("SIZE");
}

std::uint64_t device_data_limit(const DeviceFlags& flags) {
  if (!flags.data_limit) return 0;
  if (const std::optional<std::uint64_t> size = size_of_text(*flags.data_limit)) return *size;
  throw Error(ErrorKind::usage, fmt::format("--device-data-limit: expected {}, found {}", kSizeText,
                                            printable(*flags.data_limit)));
}

void add_device_flags(CLI::App& app, DeviceFlags& flags, bool kernel_choice, bool host_cuda) {
  const std::string before = app.option_defaults()->get_group();
  app.option_defaults()->group("Device");
  app.add_option("--device", flags.device,
                 host_cuda
                     ? "auto (a GPU when there is one), cpu, cuda, cuda:N, or host-cuda (CUDA "
                       "kernels on the CPU)"
                     : "auto (a GPU when there is one), cpu, cuda or cuda:N")
      ->capture_default_str()
      ->type_name(kDeviceType);
  add_whole(app, "--threads", flags.threads, 1, 1024, "CPU threads; default: all of them");
  app.add_flag_callback("--timings", keep_timings, "print on stderr where the time went");
  Names precisions = kernel_choice ? names_of(models::kPrecisions) : Names{"fp32"};
  if (flags.offers_int8) precisions.push_back(kInt8);
  if (precisions.size() > 1) {
    add_choice(app, "--precision", flags.precision, precisions,
               str("arithmetic of GEMM and convolution, default fp32",
                   kernel_choice ? "; others: GPU only" : "",
                   flags.offers_int8 ? "; int8: CPU only, docs/int8.md" : ""));
  }
  if (kernel_choice) {
    app.add_option(
           "--impl", flags.kernels,
           "kernels to use, as conv=NAME,gemm=NAME,conv_relu_pool=NAME; fuse=off: one kernel "
           "per layer")
        ->type_name("LIST");
    app.add_flag("--deterministic", flags.deterministic,
                 "accepted for clarity: every kernel is deterministic already");
  }
  app.option_defaults()->group(before);
}

void hand_over_to_host_cuda(const CLI::App& app, const Action& action) {
  const CLI::Option* device = deepest(&app)->get_option_no_throw("--device");
  const bool asked = device != nullptr && device->get_type_name() == kDeviceType &&
                     device->count() > 0 && device->as<std::string>() == "host-cuda";
  if (built_for_host_cuda() || !(asked || action.on_host_cuda)) return;
  const char* other =
      std::getenv("WEFT_HOST_CUDA_PROGRAM");  // a wheel has it as a module of Python
  become(other != nullptr ? other : (this_program().parent_path() / "weft-host-cuda").string(),
         command_line());
}

Device select_device(const DeviceFlags& flags) {
  const Names known = {"auto", "cpu", "cuda", "host-cuda"};
  const bool looks_known =
      std::ranges::count(known, flags.device) > 0 || flags.device.starts_with("cuda:");
  if (flags.device.starts_with("gpu")) {
    throw Error(ErrorKind::usage,
                fmt::format("unknown device '{}'; did you mean 'cuda'?", flags.device));
  }
  if (!looks_known) throw_unknown("device", flags.device, known);
  if (flags.threads) omp_set_num_threads(static_cast<int>(*flags.threads));
  const Device device = parse_device(flags.device);
  if (device.is_cpu()) watch_other_work();
  return device;
}

bool is_int8(const DeviceFlags& flags) {
  if (flags.precision != kInt8) return false;
  if (flags.kernels) {
    throw Error(ErrorKind::usage, "--impl chooses kernels of fp32: it does not go with int8");
  }
  DeviceFlags on_cpu = flags;
  if (flags.device == "auto") on_cpu.device = "cpu";
  if (!select_device(on_cpu).is_cpu()) {
    throw Error(ErrorKind::usage,
                fmt::format("--precision int8 computes on the CPU: it does not go with --device {}",
                            flags.device));
  }
  return true;
}

void announce_device(const DeviceFlags& flags, Device device) {
  if (flags.device == "auto" && device.is_cpu() && detect_terminal(kStderr).interactive) {
    print_notice(fmt::format("running on the CPU: {}", cuda_status().reason));
  }
}

layers::KernelChoice select_kernels(const DeviceFlags& flags, Device device,
                                    layers::KernelChoice choice) {
  if (flags.precision) {
    choice.mode = row_named(models::kPrecisions, "precision", *flags.precision).value;
  }
  if (choice.mode != kernels::ComputeMode::fp32 && device.is_cpu()) {
    throw Error(ErrorKind::usage,
                fmt::format("--precision {} needs a GPU; the CPU computes in fp32",
                            models::name_of(choice.mode)));
  }
  if (flags.batch_invariant) {
    const bool rounds = choice.mode != kernels::ComputeMode::fp32;
    if (rounds || flags.kernels) {
      throw Error(ErrorKind::usage,
                  fmt::format("--batch-invariant chooses the kernels, in fp32: it does not go with "
                              "{} {}",
                              rounds ? "--precision" : "--impl",
                              rounds ? models::name_of(choice.mode) : *flags.kernels));
    }
    choice.batch_invariant = true;
  }
  std::string_view rest = flags.kernels ? std::string_view(*flags.kernels) : "";
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view family = item.substr(0, equals);
    const std::string_view name = equals == item.npos ? "" : item.substr(equals + 1);
    std::string* rung = family == "conv"             ? &choice.conv
                        : family == "conv_relu_pool" ? &choice.conv_relu_pool
                        : family == "gemm"           ? &choice.gemm
                                                     : nullptr;
    const bool known = rung != nullptr || (family == "fuse" && (name == "on" || name == "off"));
    if (equals == item.npos || !known) {
      throw Error(
          ErrorKind::usage,
          fmt::format("--impl: expected conv=NAME,conv_relu_pool=NAME,gemm=NAME,fuse=on|off; found "
                      "'{}'",
                      item));
    }
    if (family == "fuse") choice.fuse = name == "on";
    if (rung != nullptr) *rung = kernels::rung_name(family, name);
  }
  return choice;
}

}  // namespace weft::cli
