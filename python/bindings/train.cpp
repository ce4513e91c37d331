// SPDX-License-Identifier: MIT
// weft.train(): the trainer of `weft train`, with callbacks.
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>

#include "data/digits.h"
#include "data/mnist.h"
#include "data/shapes.h"
#include "data/statistics.h"
#include "models/recipes.h"
#include "models/records.h"
#include "models/trainer.h"
#include "python/bindings/model.h"
#include "python/bindings/pictures.h"

namespace weft::python {
namespace {

constexpr double kCalibrationSplit = 0.05;  // as `weft train` has it

// `settings` is a part of a config.json; the others are those of the network and its optimizer.
models::TrainConfig config_from(const std::string& model, const std::string& settings) {
  models::NetworkOptions asked;
  asked.name = model;
  if (models::is_network_file(model)) asked = models::read_network(model);
  const auto with = [&](models::Optimizer optimizer) {
    models::TrainConfig start = models::default_config(asked.name);
    start.network.definition = asked.definition;
    start.calibration_split = kCalibrationSplit;
    models::choose_optimizer(start, optimizer);
    return models::train_config_from_json(settings, start, "train");
  };
  try {
    return with(with(models::Optimizer::sgd).optimizer);
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

std::unique_ptr<data::Dataset> dataset_named(const std::string& name, const std::string& data_dir,
                                             std::int64_t limit) {
  const nb::gil_scoped_release release;
  data::check_dataset_name(name);
  const auto drawn = [&](auto generate, auto settings) {
    if (limit > 0) settings.train = std::min(settings.train, limit);
    return std::make_unique<data::Dataset>(generate(settings));
  };
  if (name == "digits") return drawn(data::generate_digits, data::DigitsOptions());
  if (name == "shapes") return drawn(data::generate_shapes, data::ShapesOptions());
  data::FindOptions options;
  options.data_dir = data_dir;
  options.allow_download = true;
  return std::make_unique<data::Dataset>(data::load_dataset(name, options));
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

std::unique_ptr<Network> train(const std::string& model, data::Dataset& dataset,
                               const std::string& settings, const std::string& device,
                               const std::string& out, Progress progress, EpochDone epoch_done) {
  Reports reports(std::move(progress), std::move(epoch_done));
  std::unique_ptr<Network> network;
  {
    const nb::gil_scoped_release release;
    models::TrainConfig config = config_from(model, settings);
    config.dataset = dataset.name;
    config.network.channels = dataset.train.channels;
    config.network.height = dataset.train.height;
    config.network.width = dataset.train.width;
    config.network.classes = static_cast<std::int64_t>(dataset.class_names.size());
    const Stream stream(parse_device(device));
    models::Trainer trainer(config, dataset, out, stream);
    trainer.run(reports.observer(), reports.stop);
    if (!reports.stop) network = std::make_unique<Network>(trainer.model(), stream);
  }
  reports.rethrow();
  return network;
}

}  // namespace

void bind_train(nb::module_& m) {
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
  m.def("load_dataset", &dataset_named, "name"_a, "data_dir"_a, "limit"_a);
  m.def("dataset_from_arrays", &dataset_from_arrays, "x"_a, "y"_a, "test_x"_a, "test_y"_a,
        "classes"_a, "layout"_a);
  m.def("train_network", &train, "model"_a, "dataset"_a, "settings"_a, "device"_a, "out"_a,
        "progress"_a, "epoch_done"_a);
}

}  // namespace weft::python
