// SPDX-License-Identifier: MIT
// weft.train(): the trainer of `weft train`, with callbacks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "data/files/scratch_file.h"
#include "data/own_data.h"
#include "data/sets/digits.h"
#include "data/sets/doubts.h"
#include "data/sets/mnist.h"
#include "data/sets/shapes.h"
#include "data/sets/statistics.h"
#include "data/tables/tables.h"
#include "models/training/recipes.h"
#include "models/training/runs/run_state.h"
#include "models/training/settings.h"
#include "models/training/start.h"
#include "models/training/trainer.h"
#include "python/bindings/model.h"
#include "python/bindings/pictures.h"

namespace weft::python {
namespace {

// `settings` is a part of a config.json; the others are those of the network and its optimizer.
// No `model`: that of the model which the settings begin from, else the usual one.
models::TrainConfig config_from(const std::optional<std::string>& model,
                                const std::string& settings) {
  models::NetworkOptions asked;
  if (model) asked.name = *model;
  if (model && models::is_network_file(*model)) asked = models::read_network(*model);
  const auto with = [&](const models::Optimizer* optimizer) {
    models::TrainConfig start = models::default_config(asked.name);
    start.network.definition = asked.definition;
    start.network.dropout = asked.dropout;
    start.calibration_split = models::kCalibrationSplit;
    models::choose_optimizer(start, optimizer);
    return models::train_config_from_json(settings, start, "train");
  };
  try {
    models::TrainConfig config = with(models::TrainConfig().optimizer);
    if (!model && !config.start_from.empty()) {
      asked = models::network_of_start(config.start_from);
      config = with(config.optimizer);
    }
    return with(config.optimizer);
  } catch (const Error& error) {  // these settings are no file, but arguments
    throw Error(ErrorKind::usage, error.what());
  }
}

// Arrays as a part of a data set. This is the one place that knows how data::ImageSet keeps them.
// The largest label is below `classes`.
data::ImageSet images_of(Call& call, const char* what, const Array& x, const Array& y,
                         Layout layout, std::int64_t classes) {
  call.require_array(what, x, "uint8, bytes from 0 to 255");
  call.require_array("labels", y, "int32");
  call.require_host(what, x);
  call.require_host("labels", y);
  const auto images = call.input<std::uint8_t>(what, x);
  const Pictures pictures = pictures_of(call, what, images.shape, layout);
  const auto labels = call.input<std::int32_t>("labels", y, Shape{pictures.n});
  data::ImageSet set;
  set.count = pictures.n;
  set.channels = pictures.channels;
  set.height = pictures.height;
  set.width = pictures.width;
  set.images.resize(static_cast<std::size_t>(images.n()));
  copy_planes(set.images.data(), images.data, pictures);
  for (std::int64_t i = 0; i < set.count; ++i) {
    const std::int32_t label = labels.data[i];
    call.require(label >= 0 && label < classes, what, ": label ", label, " of image ", i,
                 ", expected classes from 0 to ", classes - 1);
    set.labels.push_back(label);
  }
  return set;
}

// `layout`: that of x and of test_x. The labels are those of `classes` classes.
std::unique_ptr<data::Dataset> dataset_from_arrays(const Array& x, const Array& y,
                                                   const Array& test_x, const Array& test_y,
                                                   std::int64_t classes,
                                                   const std::optional<std::string>& layout) {
  Call call("train");
  const Layout order = parse_layout(call.name(), layout);
  auto set = std::make_unique<data::Dataset>();
  set->train = images_of(call, "x", x, y, order, classes);
  set->test = images_of(call, "test x", test_x, test_y, order, classes);
  set->name = "arrays";
  set->source = "arrays";
  for (std::int64_t i = 0; i < classes; ++i) set->class_names.push_back(std::to_string(i));
  data::set_statistics(*set);
  return set;
}

// Pictures, tables, arrays, IDX or CIFAR files of the user's own. The lines that `log` gets say
// what was passed over.
data::Dataset dataset_in(const std::string& folder, std::vector<std::string>& log) {
  data::FolderOptions options;
  options.cache_folder = data::default_cache_folder();
  options.log = [&](const std::string& line) { log.push_back(line); };
  data::Dataset dataset = data::load_own_data(folder, options);
  for (const std::string& line : data::doubts_about(dataset)) log.push_back(line);
  return dataset;
}

data::Dataset dataset_named(const std::string& name, const std::string& data_dir,
                            std::optional<std::int64_t> limit) {
  const auto drawn = [&](auto generate, auto settings) {
    settings.train = std::min(settings.train, limit.value_or(settings.train));
    return generate(settings);
  };
  if (name == "digits") return drawn(data::generate_digits, data::DigitsOptions());
  if (name == "shapes") return drawn(data::generate_shapes, data::ShapesOptions());
  data::FindOptions options;
  options.data_dir = data_dir;
  options.allow_download = true;
  return data::load_dataset(name, options);
}

// Is this a folder or a file, and no name of a data set? Throws data for a path where neither is,
// and usage for a name that is nothing.
bool is_own_data(const std::string& name, bool is_path) {
  const auto names = data::dataset_names();
  if (!is_path && std::ranges::find(names, name) != names.end()) return false;
  std::error_code unknown;
  const auto status = std::filesystem::status(name, unknown);
  if (std::filesystem::exists(status)) return true;
  if (is_path || name.find('/') != std::string::npos) {
    throw Error(ErrorKind::data,
                str("data: ", name, " is not there, expected a folder of pictures, ",
                    data::kTableFormats, ", or files of IDX or CIFAR"));
  }
  try {
    data::check_dataset_name(name);
  } catch (const Error& error) {
    throw Error(error.kind(),
                str(error.what(), "; there is no folder and no file of this name either"));
  }
  return false;
}

// `name`: of a data set, or, where `is_path` is set or there is none, a folder or file.
std::unique_ptr<data::Dataset> load_dataset(const std::string& name, bool is_path,
                                            const std::string& data_dir,
                                            std::optional<std::int64_t> limit) {
  std::vector<std::string> log;
  std::unique_ptr<data::Dataset> dataset;
  {
    const nb::gil_scoped_release release;
    const bool own = is_own_data(name, is_path);
    if (own && !data_dir.empty()) {
      throw Error(
          ErrorKind::usage,
          str("data: ", name, " is data of your own; data_dir goes with the name of a data set"));
    }
    dataset = std::make_unique<data::Dataset>(own ? dataset_in(name, log)
                                                  : dataset_named(name, data_dir, limit));
  }
  constexpr int kCallerOfTheCaller = 3;
  for (const std::string& line : log) warn(line, kCallerOfTheCaller);
  return dataset;
}

// The images and labels of a set, copied: (n, height, width), or with channels behind n.
using Pair = nb::typed<nb::tuple, NumpyResult, NumpyResult>;
Pair arrays_of(const data::ImageSet& set) {
  Call call("dataset");
  const Shape shape = set.channels == 1 ? Shape{set.count, set.height, set.width}
                                        : Shape{set.count, set.channels, set.height, set.width};
  std::ranges::copy(set.images, call.output<std::uint8_t>(shape));
  std::ranges::copy(set.labels, call.output<std::int32_t>({set.count}));
  return nb::steal<Pair>(call.results().release());
}

using Progress = nb::typed<nb::callable, nb::object(int, std::int64_t, std::int64_t)>;
using EpochDone = nb::typed<nb::callable, nb::object(std::string)>;
using Taken = nb::typed<nb::callable, nb::object(std::vector<std::string>)>;

// What Python is told while training runs. What it throws ends the training, with a checkpoint.
class Reports {
 public:
  Reports(Progress progress, EpochDone epoch_done)
      : progress_(std::move(progress)), epoch_done_(std::move(epoch_done)) {}

  models::TrainObserver observer() {
    models::TrainObserver observer;
    observer.progress = [this](int epoch, std::int64_t done, std::int64_t total) {
      tell([&] { progress_(epoch, done, total); });
      if (!stop && interrupted()) stop = true;
    };
    observer.evaluating = [this](std::int64_t, std::int64_t) {
      if (!stop && interrupted()) stop = true;
    };
    observer.epoch_done = [this](const models::EpochRecord& record) {
      const std::string text = models::to_json(record);
      tell([&] { epoch_done_(text); });
    };
    return observer;
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(thrown_);
    rethrow_interrupt();
  }

  std::atomic<bool> stop = false;

 private:
  template <class Telling>
  void tell(Telling telling) {
    if (stop) return;
    const nb::gil_scoped_acquire gil;
    try {
      telling();
    } catch (...) {
      thrown_ = std::current_exception();
      stop = true;
    }
  }

  Progress progress_;
  EpochDone epoch_done_;
  std::exception_ptr thrown_;
};

// `asked`: whether the settings have a number of epochs, and a split.
std::unique_ptr<Network> train(const std::optional<std::string>& model, data::Dataset& dataset,
                               const std::string& settings, std::pair<bool, bool> asked,
                               const std::string& device, const std::string& out, Progress progress,
                               EpochDone epoch_done, Taken taken) {
  Reports reports(std::move(progress), std::move(epoch_done));
  std::unique_ptr<Network> network;
  const auto words = nb::cast<std::vector<std::string>>(nb::module_::import_("sys").attr("argv"));
  {
    const nb::gil_scoped_release release;
    models::TrainConfig config = config_from(model, settings);
    config.dataset = dataset.name;
    config.network.channels = dataset.train.channels;
    config.network.height = dataset.train.height;
    config.network.width = dataset.train.width;
    config.network.classes = static_cast<std::int64_t>(dataset.class_names.size());
    if (dataset.own_data) {
      config.own_data.path = dataset.source;
      models::suit_own_data(config, dataset,
                            {asked.first, asked.second, "train: validation_split"});
    }
    const Stream stream(parse_device(device));
    models::Trainer trainer(config, dataset, out, stream);
    {
      const nb::gil_scoped_acquire gil;
      taken(trainer.taken());
    }
    trainer.begin(models::begin_session("python", words, stream.device(), omp_get_max_threads()));
    trainer.run(reports.observer(), reports.stop);
    if (!reports.stop) network = std::make_unique<Network>(trainer.model(), stream);
  }
  reports.rethrow();
  return network;
}

// The settings that weft.train() takes by a keyword: name, flag, sentence, keyword and values.
using SettingRow = std::tuple<std::string, std::string, std::string, std::string, std::string>;
std::vector<SettingRow> settings() {
  std::vector<SettingRow> rows;
  for (const models::Setting& setting : models::settings()) {
    if (setting.help.empty()) continue;
    rows.emplace_back(setting.name, setting.flag, setting.help_text(), setting.key(),
                      setting.type());
  }
  return rows;
}

}  // namespace

void bind_train(nb::module_& m) {
  m.def("settings", &settings);
  nb::class_<data::Dataset>(m, "Dataset", "Images and labels, to train on and to test with.")
      .def_prop_ro("name", [](const data::Dataset& self) { return self.name; })
      .def_prop_ro("train_images", [](const data::Dataset& self) { return self.train.count; })
      .def_prop_ro("test_images", [](const data::Dataset& self) { return self.test.count; })
      .def_prop_ro("class_names", [](const data::Dataset& self) { return self.class_names; })
      .def("train_arrays", [](const data::Dataset& self) { return arrays_of(self.train); })
      .def("test_arrays", [](const data::Dataset& self) { return arrays_of(self.test); });
  m.def(
      "is_channels_last",
      [](const std::string& call, const std::optional<std::string>& layout) {
        return parse_layout(call.c_str(), layout) == Layout::channels_last;
      },
      "call"_a, "layout"_a);
  m.def("dataset_names", [] {
    const auto names = data::dataset_names();
    return std::vector<std::string>(names.begin(), names.end());
  });
  m.def("load_dataset", &load_dataset, "name"_a, "is_path"_a, "data_dir"_a, "limit"_a);
  m.def("dataset_from_arrays", &dataset_from_arrays, "x"_a, "y"_a, "test_x"_a, "test_y"_a,
        "classes"_a, "layout"_a);
  m.def("train_network", &train, "model"_a, "dataset"_a, "settings"_a, "asked"_a, "device"_a,
        "out"_a, "progress"_a, "epoch_done"_a, "taken"_a);
}

}  // namespace weft::python
