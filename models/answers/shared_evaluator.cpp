// SPDX-License-Identifier: MIT
#include "models/answers/shared_evaluator.h"

#include <cstring>

#include "engine/stop.h"
#include "engine/timer.h"

namespace weft::models {
namespace {

data::ImageSet share_of(const data::ImageSet& set, const distributed::Share& share) {
  data::ImageSet part{share.count, set.channels, set.height, set.width};
  const std::int64_t pixels = set.pixels();
  const auto image = set.images.begin() + share.first * pixels;
  part.images.assign(image, image + share.count * pixels);
  const auto label = set.labels.begin() + share.first;
  part.labels.assign(label, label + share.count);
  return part;
}

kernels::MetricTotals sum_of(const std::vector<kernels::MetricTotals>& ranks) {
  kernels::MetricTotals sum;
  for (const kernels::MetricTotals& totals : ranks) {
    sum.loss_sum += totals.loss_sum;
    sum.hits += totals.hits;
    sum.rows += totals.rows;
  }
  return sum;
}

}  // namespace

Progress agree(distributed::Communicator& ranks, const Progress& mine) {
  if (ranks.size() == 1) return mine;
  const std::vector<Progress> all = ranks.gather(mine);
  Progress agreed = all.front();
  std::vector<kernels::MetricTotals> totals;
  for (const Progress& progress : all) {
    totals.push_back(progress.totals);
    agreed.stop |= progress.stop;
  }
  agreed.totals = sum_of(totals);
  return agreed;
}

SharedEvaluator::SharedEvaluator(distributed::Communicator& ranks, const layers::Sequential& net,
                                 layers::Weights& weights, const data::ImageSet& set,
                                 std::span<const kernels::Normalization> normalization,
                                 const layers::KernelChoice& kernels, std::int64_t classes,
                                 const Stream& stream, bool streams, bool keeps_logits,
                                 std::int64_t batch_size)
    : ranks_(ranks), count_(set.count), rows_(ranks.share_of(set.count).count) {
  if (keeps_logits) logits_ = Tensor(Shape{rows_, classes}, DType::f32, stream);
  if (rows_ == 0) return;
  const auto prepare = [&](const data::ImageSet& images) {
    evaluator_.emplace(net, weights, images,
                       batch_size > 0 ? batch_size : evaluation_batch(stream.device()),
                       normalization, kernels, stream, streams);
  };
  if (ranks.size() == 1) {
    prepare(set);
  } else {
    images_ = share_of(set, ranks.share_of(set.count));
    prepare(images_);
  }
}

Metrics SharedEvaluator::run(const Stream& stream, const EvaluationWatch& watch,
                             Evaluator::Outputs outputs) {
  if (logits_.elements() > 0) outputs.logits = logits_.data<float>();
  if (evaluator_) evaluator_->begin(stream);
  if (watch.progress) watch.progress(0, count_);
  for (;;) {
    Progress mine;
    const Timer since_look;
    if (evaluator_) {
      evaluator_->advance(interval_, outputs, stream);
      mine.totals = evaluator_->totals(stream);
    }
    mine.stop = watch.stop != nullptr && *watch.stop;
    mine.sync_interval = batches_until_look(interval_, interval_, since_look.seconds());
    const Progress all = agree(ranks_, mine);
    interval_ = all.sync_interval;
    if (watch.progress) watch.progress(all.totals.rows, count_);
    if (all.totals.rows >= count_) return metrics_of(all.totals);
    if (all.stop) throw Stopped("the evaluation was stopped");
  }
}

std::vector<float> SharedEvaluator::logits(const Stream& stream) const {
  const std::vector<float> mine = to_host(logits_.view<float>(), stream);
  const auto bytes = std::as_bytes(std::span(mine));
  std::vector<float> all;
  for (const distributed::Bytes& part :
       ranks_.all_gather(distributed::Bytes(bytes.begin(), bytes.end()))) {
    if (part.empty()) continue;  // memcpy takes no null pointer
    const std::size_t first = all.size();
    all.resize(first + part.size() / sizeof(float));
    std::memcpy(all.data() + first, part.data(), part.size());
  }
  return all;
}

}  // namespace weft::models
