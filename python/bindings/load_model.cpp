// SPDX-License-Identifier: MIT
// Where networks come from: weft.load() and weft.network().
#include <nanobind/stl/array.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "models/files/state_dict.h"
#include "models/onnx/onnx.h"
#include "python/bindings/model.h"

namespace weft::python {
namespace {

// A network that has not been trained, with PyTorch's initial weights. mean, stddev: of each
// channel.
std::unique_ptr<Network> new_network(const std::string& name, std::int64_t classes,
                                     std::int64_t height, std::int64_t width,
                                     const std::vector<float>& mean,
                                     const std::vector<float>& stddev, std::uint64_t seed,
                                     const std::string& device) {
  const nb::gil_scoped_release release;
  models::Model model;
  models::NetworkOptions& options = model.info.network;
  options.name = name;
  if (models::is_network_file(name)) options = models::read_network(name);
  options.classes = classes;
  options.channels = std::ssize(mean);
  options.height = height;
  options.width = width;
  if (mean.size() != stddev.size() || !models::all_finite(mean) || !models::all_finite(stddev) ||
      !std::ranges::all_of(stddev, [](float one) { return one > 0; })) {
    throw Error(ErrorKind::usage,
                "network: expected a finite mean and a stddev above 0 for each channel");
  }
  model.net = models::make_network(options);
  model.parameters = model.net->initial_parameters(seed);
  model.buffers = model.net->initial_buffers();
  model.info.dataset = "none";
  for (std::int64_t i = 0; i < classes; ++i) model.info.class_names.push_back(std::to_string(i));
  model.info.mean = mean;
  model.info.stddev = stddev;
  return std::make_unique<Network>(std::move(model), Stream(parse_device(device)));
}

// A model in a file of Weft's, or in an ONNX file. mean, stddev, extents, class_names: what an ONNX
// file leaves open, and nothing else.
std::unique_ptr<Network> load_network(const std::string& path, const std::string& device,
                                      const std::vector<double>& mean,
                                      const std::vector<double>& stddev,
                                      const std::optional<std::array<std::int64_t, 3>>& extents,
                                      const std::vector<std::string>& class_names) {
  const nb::gil_scoped_release release;
  const Stream stream(parse_device(device));
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(c));
  if (ending != ".onnx") {
    if (!mean.empty() || !stddev.empty() || extents || !class_names.empty()) {
      throw Error(ErrorKind::usage, str("load: ", path, " is no .onnx file: mean, stddev, ",
                                        "input_shape and class_names go with one only"));
    }
    return std::make_unique<Network>(models::load_model(path), stream);
  }
  if (!models::knows_onnx()) {
    throw Error(ErrorKind::usage,
                str("load: ", path, " is an ONNX file, and this package was built without ONNX: ",
                    "install libonnx-dev and libprotobuf-dev and build it with pip install -C ",
                    "cmake.define.WEFT_ONNX=ON . , or make a model of it with `weft import`"));
  }
  models::OnnxImport options;
  options.input = extents;
  options.mean = mean;
  options.stddev = stddev;
  options.class_names = class_names;
  models::OnnxModel found = models::read_onnx(path, options);
  return std::make_unique<Network>(std::move(found.model), stream, std::move(found.notices));
}

}  // namespace

void bind_load_model(nb::module_& m) {
  m.def("new_network", &new_network, "name"_a, "classes"_a, "height"_a, "width"_a, "mean"_a,
        "stddev"_a, "seed"_a, "device"_a);
  m.def("load_network", &load_network, "path"_a, "device"_a, "mean"_a, "stddev"_a, "extents"_a,
        "class_names"_a);
}

}  // namespace weft::python
