// SPDX-License-Identifier: MIT
#include "models/answers/classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/error.h"
#include "models/answers/evaluate.h"

namespace weft::models {

std::vector<double> probabilities_of(std::span<const float> logits, const ModelInfo& info) {
  const double temperature = info.calibration.temperature;
  if (info.output == Output::softmax) return softmax(logits, temperature);
  std::vector<double> probabilities;
  for (const float logit : logits)
    probabilities.push_back(1 / (1 + std::exp(-logit / temperature)));
  return probabilities;
}

std::vector<float> normalized(std::span<const std::uint8_t> pixels, const ModelInfo& info) {
  const std::size_t plane = pixels.size() / info.mean.size();
  std::vector<float> x;
  x.reserve(pixels.size());
  for (const kernels::Normalization& channel : normalization_of(info)) {
    const std::array<float, 256> value = kernels::normalized_bytes(channel);
    for (const std::uint8_t byte : pixels.subspan(x.size(), plane)) x.push_back(value[byte]);
  }
  return x;
}

Classifier::Classifier(const Model& model, const Stream& stream,
                       const layers::KernelChoice& kernels)
    : info_(model.info), stream_(stream) {
  weights_.emplace(*model.net, stream, layers::Phase::inference);
  copy_from_host(weights_->parameters.view<float>(), model.parameters, stream_);
  copy_from_host(weights_->buffers.view<float>(), model.buffers, stream_);
  plan_.emplace(*model.net, *weights_, 1, layers::Phase::inference, kernels, 0, nullptr, stream_);
}

Classifier::Classifier(const ModelInfo& info, LogitsOf logits)
    : info_(info), stream_(Device::cpu()), own_logits_(std::move(logits)) {}

std::vector<float> Classifier::logits_of(std::span<const std::uint8_t> pixels) {
  if (own_logits_) return own_logits_(pixels);
  const std::vector<float> input = normalized(pixels, info_);
  const std::lock_guard lock(*one_at_a_time_);
  copy_from_host(plan_->input(), input, stream_);
  plan_->forward(stream_);
  return to_host(plan_->output(), stream_);
}

std::vector<float> Classifier::activation(std::size_t layer) const {
  const std::lock_guard lock(*one_at_a_time_);
  return to_host(plan_->activation(layer), stream_);
}

Answer Classifier::classify(std::span<const std::uint8_t> pixels) {
  Answer answer;
  answer.logits = logits_of(pixels);
  answer.probabilities = probabilities_of(answer.logits, info_);
  const auto is_number = [](double probability) { return std::isfinite(probability); };
  if (!std::ranges::all_of(answer.probabilities, is_number)) {
    throw Error(ErrorKind::data, "the model's answer is not a number: its weights are damaged");
  }
  const double variation = total_variation(pixels, info_.network.height, info_.network.width);
  answer.familiarity = familiarity(answer.logits, variation);
  answer.unsure = is_unsure(info_.calibration, answer.probabilities, answer.logits, variation);
  answer.ranking.resize(answer.logits.size());
  std::iota(answer.ranking.begin(), answer.ranking.end(), std::size_t{0});
  std::stable_sort(answer.ranking.begin(), answer.ranking.end(), [&](std::size_t a, std::size_t b) {
    return answer.logits[a] > answer.logits[b];
  });
  return answer;
}

data::Judge judge_by(Classifier& classifier) {
  return [&classifier](std::span<const std::uint8_t> pixels) {
    const Answer answer = classifier.classify(pixels);
    return data::Judgement{answer.probabilities[answer.ranking.front()], answer.unsure};
  };
}

}  // namespace weft::models
