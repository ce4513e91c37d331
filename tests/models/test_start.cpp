// SPDX-License-Identifier: MIT
// Runs that begin from a model, and layers that are not trained.
#include "models/training/start.h"

#include "tests/models/trainer_test.h"

namespace weft::models {
namespace {

using namespace trainer_tests;
using test::TemporaryFolder;

NetworkOptions net_of(const std::string& text, std::int64_t classes = 10) {
  NetworkOptions options;
  options.name = "t.net";
  options.definition = text;
  options.classes = classes;
  return options;
}

constexpr const char* kSmallNet =
    "conv 3 5x5\nbatch_norm\nrelu\nmax_pool 4\nconv 4 3x3\nrelu\nlinear 12\nrelu\nlinear classes\n";

TEST(Freeze, NamesLayersByPatterns) {
  const auto net = make_network(net_of(kSmallNet));
  const auto named = [&](std::string_view patterns) {
    const std::vector<bool> frozen = frozen_layers(*net, patterns);
    std::string names;
    for (std::size_t i = 0; i < frozen.size(); ++i) {
      if (frozen[i]) names += net->layers()[i]->name() + " ";
    }
    return names;
  };
  EXPECT_EQ(named(""), "");
  EXPECT_EQ(named("conv*"), "conv1 conv2 ");
  EXPECT_EQ(named("conv?,bn1,fc2"), "conv1 bn1 conv2 fc2 ");
  EXPECT_EQ(named("*1"), "conv1 bn1 fc1 ");
  const auto refuses = [&](std::string_view patterns, const char* message) {
    return throws(ErrorKind::usage, message, [&] { frozen_layers(*net, patterns); });
  };
  EXPECT_TRUE(refuses("conv3",
                      "no layer with parameters is named \"conv3\"; there are conv1, bn1, "
                      "conv2, fc1, fc2"));
  EXPECT_TRUE(refuses("conv1,", "no layer with parameters is named \"\""));
  EXPECT_TRUE(refuses("relu1", "no layer with parameters is named \"relu1\""));
  EXPECT_TRUE(refuses("*", "no layer is left to train"));
  EXPECT_TRUE(refuses("bn1", "bn1 normalises a batch, so it can be frozen only"));
}

TEST(Freeze, LeavesRunsOfParametersToTrain) {
  const auto net = make_network(net_of(kSmallNet));
  const auto runs = [&](std::string_view patterns) {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const FlatRun& run : trained_runs(*net, frozen_layers(*net, patterns))) {
      all.emplace_back(run.first, run.count);
    }
    return all;
  };
  // conv1 78, bn1 6, conv2 112, fc1 4 * 4 * 4 * 12 + 12, fc2 130
  using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const std::int64_t all = net->parameter_count();
  EXPECT_EQ(runs(""), (Runs{{0, all}}));
  EXPECT_EQ(runs("conv*"), (Runs{{78, 6}, {196, all - 196}}));
  EXPECT_EQ(runs("conv1,bn1"), (Runs{{84, all - 84}}));
  EXPECT_EQ(runs("fc2"), (Runs{{0, all - 130}}));
}

class StartTest : public TrainerTest {};

// Frozen layers keep their bits whatever the optimizer does to all parameters, and the others are
// trained to those of a run in which backward computes all gradients.
TEST_P(StartTest, FrozenLayersKeepTheirBits) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    for (const char* freeze : {"conv1,bn1", "conv*,bn1", "conv2", "fc1", "fc2", "conv1,fc1"}) {
      SCOPED_TRACE(str(optimizer, ", ", freeze));
      TrainConfig config = config_;
      config.network = net_of(kSmallNet);
      config.optimizer = optimizer_named(optimizer);
      config.epochs = 1;
      config.clip_norm = 1;
      config.freeze = freeze;
      const auto net = make_network(config.network);
      const std::vector<float> before = net->initial_parameters(config.seed);
      Trainer trainer(config, dataset_, "", stream());
      trainer.run({}, kNeverStop);
      const Model after = trainer.model();
      const std::vector<bool> frozen = frozen_layers(*net, freeze);
      std::int64_t at = 0;
      for (std::size_t i = 0; i < frozen.size(); ++i) {
        std::int64_t count = 0;
        for (const auto& spec : net->layers()[i]->parameters()) count += spec.shape.elements();
        const auto range = [&](const std::vector<float>& values) {
          return std::vector<float>(values.begin() + at, values.begin() + at + count);
        };
        if (count > 0) {
          EXPECT_EQ(range(after.parameters) == range(before), frozen[i]) << i;
        }
        at += count;
      }
      const bool statistics_stay = std::string_view(freeze).find("bn1") != std::string_view::npos;
      EXPECT_EQ(after.buffers == net->initial_buffers(), statistics_stay);
    }
  }
}

TEST_P(StartTest, TakesOverWhatFitsAndRowsOfClassesByName) {
  const TemporaryFolder folder;
  TrainConfig config = config_;
  config.network = net_of(kSmallNet);
  config.epochs = 1;
  Trainer(config, dataset_, folder / "first", stream()).run({}, kNeverStop);
  const Model first = load_model(folder / "first");
  config.start_from = (folder / "first").string();

  data::Dataset other = test::block_dataset(100, 40);
  other.class_names[0] = "another";
  other.mean = {0.5f};
  const Trainer second(config, other, folder / "second", stream());
  EXPECT_EQ(second.taken(),
            (std::vector<std::string>{
                "begins from " + config.start_from + ": 10 of 12 tensors are taken over",
                "of fc2 the rows of these classes are taken over: 1, 2, 3, 4, 5, 6, 7, 8, 9"}));
  const Model now = second.model();
  EXPECT_EQ(now.info.mean, first.info.mean);
  EXPECT_EQ(now.info.stddev, first.info.stddev);
  EXPECT_EQ(now.buffers, first.buffers);
  const std::vector<float> drawn = now.net->initial_parameters(config.seed);
  const std::size_t head = drawn.size() - 130, biases = drawn.size() - 10;  // weights (10, 12)
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const bool is_new = (i >= head && i < head + 12) || i == biases;
    EXPECT_EQ(now.parameters[i], (is_new ? drawn : first.parameters)[i]) << i;
  }

  // Fewer classes, of other names; and a run goes on without the model that it began from.
  data::Dataset few = test::block_dataset(100, 40);
  few.class_names = {"a", "b", "c"};
  for (data::ImageSet* set : {&few.train, &few.test}) {
    for (std::int32_t& label : set->labels) label %= 3;
  }
  config.network.classes = 3;
  config.freeze = "conv*,bn1";
  {
    Trainer third(config, few, folder / "third", stream());
    EXPECT_EQ(third.taken()[1], "new: fc2.weight (3, 12), fc2.bias (3,)");
    third.run({}, kNeverStop, 0);
  }
  std::filesystem::remove_all(folder / "first");
  Trainer unbroken = Trainer::resume(folder / "third", few, {}, stream());
  EXPECT_EQ(unbroken.config().freeze, config.freeze);
  unbroken.run({}, kNeverStop);
  EXPECT_EQ(unbroken.model().info.mean, first.info.mean);
  EXPECT_EQ(unbroken.model().buffers, first.buffers);
}

TEST_P(StartTest, ModelsOfWhichNothingFitsAreRefused) {
  const TemporaryFolder folder;
  TrainConfig config = config_;
  config.network = net_of(kSmallNet);
  config.epochs = 1;
  Trainer(config, dataset_, folder / "first", stream()).run({}, kNeverStop);
  config.start_from = (folder / "first").string();
  config.network = net_of("linear classes\n");
  EXPECT_TRUE(throws(ErrorKind::usage, "no tensor of the model has the name and the shape",
                     [&] { Trainer(config, dataset_, "", stream()); }));
  config.start_from = (folder / "nothing").string();
  EXPECT_TRUE(throws(ErrorKind::data, "nothing", [&] { Trainer(config, dataset_, "", stream()); }));
  config.start_from.clear();
  config.normalisation = "0.5/0";
  EXPECT_TRUE(throws(ErrorKind::data, "expected a normalisation of MEAN/STDDEV with 1 numbers each",
                     [&] { Trainer(config, dataset_, "", stream()); }));
}

WEFT_ON_EACH_DEVICE(StartTest);

}  // namespace
}  // namespace weft::models
