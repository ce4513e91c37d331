// SPDX-License-Identifier: MIT
// weft doctor: what will run on this machine.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>

#include "data/arrays/hdf5.h"
#include "data/picture/image.h"
#include "data/versions/build_info.h"
#include "distributed/mpi.h"
#include "distributed/reducer.h"
#include "engine/device.h"
#include "engine/error.h"
#include "examples/weft/doctor/versions.h"
#include "examples/weft/input/flags.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/tables.h"
#include "kernels/isa.h"
#include "models/onnx/onnx.h"

namespace weft::cli {
namespace {

std::string cuda_version(int version) {
  return version == 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

struct DataState {
  std::string folder, state;  // folder is empty when there are no files
};

DataState mnist_state(const std::optional<std::string>& data_dir) {
  data::FindOptions options;
  options.data_dir = data_dir.value_or("");
  const data::DatasetInfo info = data::describe_dataset(kDefaultDataset, options);
  if (!info.folder) return {"", "not here"};
  const std::string folder = info.folder->string();
  try {
    for (const data::FileCheck& check : data::verify_dataset(kDefaultDataset, options)) {
      if (!check.ok()) return {folder, "wrong SHA-256: " + check.path.string()};
    }
  } catch (const Error& error) {
    return {folder, error.what()};
  }
  return {folder, "verified"};
}

std::string gpu_text(const DeviceProperties& gpu) {
  return fmt::format("{}, sm_{}, {} SMs, {}", gpu.name, gpu.compute_capability, gpu.multiprocessors,
                     format_bytes(static_cast<double>(gpu.memory_bytes)));
}

// What differs between machines and calls.
struct Found {
  std::string chosen;  // the device
  std::vector<DeviceProperties> gpus;
  DataState mnist;
  Terminal terminal;
};

std::string found_json(const Found& found) {
  nlohmann::ordered_json event = json_event("doctor", {{"version", build_info().version},
                                                       {"device", found.chosen},
                                                       {"gpus", nlohmann::ordered_json::array()}});
  for (const DeviceProperties& gpu : found.gpus) {
    event["gpus"].push_back({{"name", gpu.name},
                             {"compute_capability", gpu.compute_capability},
                             {"multiprocessors", gpu.multiprocessors},
                             {"memory_bytes", gpu.memory_bytes},
                             {"clock_mhz", gpu.clock_mhz},
                             {"driver", cuda_version(gpu.driver_version)},
                             {"runtime", cuda_version(gpu.runtime_version)}});
  }
  event["no_gpu_because"] = cuda_status().reason;
  event["built_with_cuda"] = built_with_cuda();
  event["cuda_architectures"] = built_cuda_architectures();
  event["cpu"] = device_properties(Device::cpu()).name;
  event["isa"] = kernels::name_of(kernels::cpu_isa());
  event["threads"] = omp_get_max_threads();
  event["webp"] = data::reads_webp();
  event["tiff"] = data::reads_tiff();
  event["heif"] = data::reads_heif();
  event["large_jpeg"] = data::reads_large_jpeg();
  event["onnx"] = models::knows_onnx();
  event["no_hdf5_because"] = data::no_hdf5_reason();
  event["mpi"] = distributed::mpi_library();
  event["no_mpi_because"] = distributed::mpi_reason();
  event["nccl"] = distributed::nccl_version();
  event["no_nccl_because"] = distributed::nccl_reason();
  event["mnist_folder"] = found.mnist.folder;
  event["mnist_state"] = found.mnist.state;
  event["stdout_is_terminal"] = found.terminal.interactive;
  return json_line(event);
}

Pairs found_pairs(const Found& found) {
  Pairs pairs = {{"weft", build_info().text()}, {"runs on", found.chosen}};
  for (const DeviceProperties& gpu : found.gpus) pairs.emplace_back("GPU", gpu_text(gpu));
  if (found.gpus.empty()) pairs.emplace_back("GPU", "none: " + cuda_status().reason);
  if (!found.gpus.empty()) {
    pairs.emplace_back(
        "CUDA", fmt::format("driver {}, runtime {}", cuda_version(found.gpus[0].driver_version),
                            cuda_version(found.gpus[0].runtime_version)));
  }
  pairs.emplace_back("built for", built_with_cuda()
                                      ? "CPU and CUDA " + std::string(built_cuda_architectures())
                                      : "CPU only");
  pairs.emplace_back("CPU", fmt::format("{}, kernels for {}", device_properties(Device::cpu()).name,
                                        kernels::name_of(kernels::cpu_isa())));
  pairs.emplace_back("threads", fmt::format("{}", omp_get_max_threads()));
  pairs.emplace_back("mnist", found.mnist.folder.empty()
                                  ? found.mnist.state +
                                        "; train tries to download it, or "
                                        "uses built-in digits"
                                  : found.mnist.folder + ", " + found.mnist.state);
  const auto pictures = [](bool read, const char* library) {
    return read ? std::string("pictures are read")
                : fmt::format("pictures are refused: built without {}", library);
  };
  pairs.emplace_back("WebP", pictures(data::reads_webp(), "libwebp"));
  pairs.emplace_back("TIFF", pictures(data::reads_tiff(), "libtiff 4.5"));
  pairs.emplace_back("HEIC", pictures(data::reads_heif(), "libheif"));
  pairs.emplace_back("JPEG", data::reads_large_jpeg()
                                 ? "pictures above 50 megapixels are read"
                                 : "pictures above 50 megapixels are refused: built without "
                                   "libjpeg-turbo");
  pairs.emplace_back("ONNX", models::knows_onnx() ? "files are read and written"
                                                  : "not known: built without libonnx-dev");
  const std::string no_hdf5 = data::no_hdf5_reason();
  pairs.emplace_back("HDF5", no_hdf5.empty() ? "weights of Keras are read" : "none: " + no_hdf5);
  const std::string no_mpi = distributed::mpi_reason(), no_nccl = distributed::nccl_reason();
  pairs.emplace_back(
      "MPI", no_mpi.empty() ? distributed::mpi_library() + ", for mpirun" : "none: " + no_mpi);
  pairs.emplace_back("NCCL", no_nccl.empty() ? distributed::nccl_version() : "none: " + no_nccl);
  pairs.emplace_back("terminal", !found.terminal.interactive
                                     ? "no: plain output"
                                     : fmt::format("{} columns, {}", found.terminal.width,
                                                   found.terminal.truecolour ? "24-bit colour"
                                                   : found.terminal.colour   ? "256 colours"
                                                                             : "no colour"));
  return pairs;
}

int run_doctor(bool json, const std::optional<std::string>& data_dir, const DeviceFlags& flags) {
  Found found{to_string(select_device(flags)),  // says why a GPU cannot be had
              {},
              mnist_state(data_dir),
              detect_terminal(kStdout)};
  for (int i = 0; i < cuda_status().device_count; ++i) {
    found.gpus.push_back(device_properties(Device::cuda(i)));
  }
  write_out(json ? found_json(found) : format_pairs(found_pairs(found), found.terminal));
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("doctor", "Show what will run on this machine");
  auto json = std::make_shared<bool>(false);
  auto versions = std::make_shared<bool>(false);
  sub->add_flag("--versions", *versions, "the libraries in use and their versions instead");
  auto data_dir = std::make_shared<std::optional<std::string>>();
  sub->add_flag("--json", *json, "one JSON object instead of text");
  sub->add_option("--data-dir", *data_dir, "folder to look for MNIST in")->type_name("DIR");
  auto device = std::make_shared<DeviceFlags>();
  add_device_flags(*sub, *device, false);
  sub->callback([=, &action] {
    action.run = [=] {
      return *versions ? show_versions(*json) : run_doctor(*json, *data_dir, *device);
    };
  });
}

}  // namespace weft::cli
