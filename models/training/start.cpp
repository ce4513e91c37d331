// SPDX-License-Identifier: MIT
#include "models/training/start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::models {

namespace {

using layers::NamedSlice;
using layers::Sequential;

std::string numbers_text(const std::vector<float>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

// What stands between commas.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// So many finite numbers between commas; empty for another text.
std::vector<float> numbers_of(std::string_view text, std::size_t count) {
  std::vector<float> numbers;
  for (const std::string& part : parts_of(text)) {
    float number = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc{} || stop != end || !std::isfinite(number)) return {};
    numbers.push_back(number);
  }
  return numbers.size() == count ? numbers : std::vector<float>();
}

// The flat values of a slice.
std::span<const float> values_in(const std::vector<float>& parameters,
                                 const std::vector<float>& buffers, const NamedSlice& slice) {
  return std::span(slice.trainable ? parameters : buffers)
      .subspan(static_cast<std::size_t>(slice.offset),
               static_cast<std::size_t>(slice.shape.elements()));
}

// What is taken over of a model, tensor by tensor.
class Taking {
 public:
  Taking(HostWeights& into, const Sequential& net, const Model& from,
         const std::vector<std::string>& class_names)
      : into_(into), net_(net), from_(from), names_(class_names) {
    for (const NamedSlice& slice : from.net->slices()) theirs_.emplace(slice.name, &slice);
  }

  void take() {
    const std::string head = head_of(net_);
    const bool shares_head = !head.empty() && head == head_of(*from_.net);
    for (const NamedSlice& slice : net_.slices()) {
      const auto found = theirs_.find(slice.name);
      const bool is_head = shares_head && slice.name.starts_with(head + ".");
      if (found != theirs_.end() && is_head && take_rows(slice, *found->second)) continue;
      if (found == theirs_.end() || found->second->shape != slice.shape || is_head) {
        fresh_.push_back(str(slice.name, " ", slice.shape));
        continue;
      }
      std::ranges::copy(theirs(*found->second), ours(slice));
      ++kept_;
    }
  }

  std::vector<std::string> report(const std::string& where) const {
    if (kept_ == 0 && classes_.empty()) {
      throw Error(ErrorKind::usage,
                  str(where, ": no tensor of the model has the name and the shape of one of the ",
                      "network's"));
    }
    std::vector<std::string> told = {str("begins from ", where, ": ", kept_, " of ",
                                         net_.slices().size(), " tensors are taken over")};
    if (!fresh_.empty()) told.push_back(fmt::format("new: {}", fmt::join(fresh_, ", ")));
    if (!classes_.empty()) {
      told.push_back(fmt::format("of {} the rows of these classes are taken over: {}",
                                 head_of(net_), fmt::join(classes_, ", ")));
    }
    return told;
  }

 private:
  // The last layer, where it is linear: it has a row for each class.
  static std::string head_of(const Sequential& net) {
    const layers::Layer& last = *net.layers().back();
    return last.type() == "Linear" ? last.name() : "";
  }

  std::span<const float> theirs(const NamedSlice& slice) const {
    return values_in(from_.parameters, from_.buffers, slice);
  }
  float* ours(const NamedSlice& slice) const {
    return (slice.trainable ? into_.parameters : into_.buffers).data() + slice.offset;
  }

  // Rows of the last layer by the names of their classes; false where there are none to take.
  bool take_rows(const NamedSlice& slice, const NamedSlice& from) {
    const std::vector<std::string>& old = from_.info.class_names;
    const std::int64_t row = slice.shape.elements() / slice.shape[0];
    const auto is_whole = [&](const NamedSlice& one, const std::vector<std::string>& names) {
      return one.shape[0] == std::ssize(names) && one.shape.elements() / one.shape[0] == row;
    };
    if (!is_whole(slice, names_) || !is_whole(from, old)) return false;
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto at = std::ranges::find(old, names_[i]);
      if (at == old.end()) continue;
      const auto values = theirs(from).subspan(static_cast<std::size_t>((at - old.begin()) * row));
      std::ranges::copy(values.first(static_cast<std::size_t>(row)),
                        ours(slice) + static_cast<std::int64_t>(i) * row);
      taken.push_back(printable(names_[i]));
    }
    if (taken.size() == names_.size()) {
      ++kept_;
      return true;
    }
    if (taken.empty()) return false;
    classes_ = taken;
    return true;
  }

  HostWeights& into_;
  const Sequential& net_;
  const Model& from_;
  const std::vector<std::string>& names_;
  std::map<std::string, const NamedSlice*, std::less<>> theirs_;
  std::size_t kept_ = 0;
  std::vector<std::string> fresh_, classes_;
};

std::string names_with_parameters(const Sequential& net) {
  std::vector<std::string> names;
  for (const auto& layer : net.layers()) {
    if (!layer->parameters().empty()) names.push_back(layer->name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_frozen(const Sequential& net, const std::vector<bool>& frozen) {
  bool trains = false;
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    const layers::Layer& layer = *net.layers()[i];
    if (layer.parameters().empty()) continue;
    if (frozen[i] && trains && layer.traits().takes_batch_statistics) {
      throw Error(ErrorKind::usage,
                  str("freeze: ", layer.name(), " normalises a batch, so it can be frozen only ",
                      "where all layers before it are"));
    }
    trains = trains || !frozen[i];
  }
  if (!trains) throw Error(ErrorKind::usage, "freeze: no layer is left to train");
}

}  // namespace

NetworkOptions network_of_start(const std::string& start_from) {
  return load_model(start_from).info.network;
}

std::vector<std::string> start_from_model(Checkpoint& checkpoint, const Sequential& net,
                                          const std::vector<std::string>& class_names) {
  TrainConfig& config = checkpoint.state.config;
  if (config.start_from.empty()) return {};
  const Model from = load_model(config.start_from);
  Taking taking(checkpoint.weights, net, from, class_names);
  taking.take();
  if (config.ema_decay > 0) checkpoint.average = checkpoint.weights;
  if (std::ssize(from.info.mean) == config.network.channels) {
    config.normalisation = numbers_text(from.info.mean) + "/" + numbers_text(from.info.stddev);
  }
  return taking.report(config.start_from);
}

void adopt_normalisation(ModelInfo& info, const TrainConfig& config) {
  const std::string_view text = config.normalisation;
  if (text.empty()) return;
  const auto channels = static_cast<std::size_t>(config.network.channels);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::vector<float> mean = numbers_of(text.substr(0, slash), channels);
  const std::vector<float> stddev =
      slash == text.size() ? mean : numbers_of(text.substr(slash + 1), channels);
  const auto is_positive = [](float value) { return value > 0; };
  if (slash == text.size() || mean.empty() || !std::ranges::all_of(stddev, is_positive) ||
      stddev.empty()) {
    throw Error(ErrorKind::data, str("expected a normalisation of MEAN/STDDEV with ", channels,
                                     " numbers each, found ", in_quotes(text)));
  }
  info.mean = mean;
  info.stddev = stddev;
}

std::vector<bool> frozen_layers(const Sequential& net, std::string_view patterns) {
  if (patterns.empty()) return {};
  std::vector<bool> frozen(net.layers().size(), false);
  for (const std::string& pattern : parts_of(patterns)) {
    bool names_one = false;
    for (std::size_t i = 0; i < frozen.size(); ++i) {
      const layers::Layer& layer = *net.layers()[i];
      if (layer.parameters().empty() || fnmatch(pattern.c_str(), layer.name().c_str(), 0) != 0) {
        continue;
      }
      frozen[i] = names_one = true;
    }
    if (names_one) continue;
    throw Error(ErrorKind::usage,
                str("freeze: no layer with parameters is named ", in_quotes(pattern),
                    "; there are ", names_with_parameters(net)));
  }
  check_frozen(net, frozen);
  return frozen;
}

std::vector<FlatRun> trained_runs(const Sequential& net, const std::vector<bool>& frozen) {
  std::vector<FlatRun> runs;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    std::int64_t count = 0;
    for (const layers::ParameterSpec& spec : net.layers()[i]->parameters()) {
      count += spec.shape.elements();
    }
    const bool trains = frozen.empty() || !frozen[i];
    if (trains && !runs.empty() && runs.back().first + runs.back().count == first) {
      runs.back().count += count;
    } else if (trains && count > 0) {
      runs.push_back({first, count});
    }
    first += count;
  }
  return runs;
}

}  // namespace weft::models
