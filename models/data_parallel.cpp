// SPDX-License-Identifier: MIT
#include "models/data_parallel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "distributed/program.h"
#include "engine/stop.h"
#include "engine/timer.h"
#include "kernels/isa.h"
#include "models/evaluate.h"

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

// FNV-1a over the words of the values.
std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const float value : values) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3ull;
  }
  return hash;
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

void require_same_run(distributed::Communicator& ranks, const RunState& state, Device device) {
  if (ranks.size() == 1) return;
  std::vector<std::pair<std::string, std::string>> facts{
      {"the program", distributed::program_fingerprint()},
      {"the device", device.is_cpu() ? str("cpu ", kernels::name_of(kernels::cpu_isa()))
                                     : device_properties(device).name}};
  for (auto& [name, value] : settings_of(state.config)) facts.emplace_back(name, value);
  const DataFingerprint& data = state.data;
  facts.emplace_back("the images", str(data.train_images, " + ", data.test_images));
  facts.emplace_back("the checksum of the images", str(data.checksum));
  ranks.require_same(facts);
}

SafeTensors read_checkpoint(distributed::Communicator& ranks, const RunDirectory& directory) {
  if (ranks.size() == 1) return directory.read();
  distributed::Bytes bytes;
  if (ranks.is_first()) bytes = safetensors_bytes(directory.read());
  ranks.broadcast(bytes);
  // A file in memory, so that there is one reader of such files, which trusts none.
  const int file = memfd_create("checkpoint", MFD_CLOEXEC);
  const std::string path = str("/proc/self/fd/", file);
  if (file < 0) throw Error(ErrorKind::device, "no memory for the checkpoint of rank 0");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  SafeTensors content;
  try {
    content = read_safetensors(path);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
  return content;
}

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

void average_buffers(distributed::Communicator& ranks, TrainMemory& memory, const Stream& stream) {
  if (ranks.size() == 1) return;
  const auto average = [&](Tensor& buffers) {
    if (buffers.elements() == 0) return;
    std::vector<float> values = to_host(buffers.view<float>(), stream);
    std::vector<double> sums(values.begin(), values.end());
    ranks.all_reduce(std::span(sums));
    std::ranges::transform(sums, values.begin(),
                           [&](double sum) { return static_cast<float>(sum / ranks.size()); });
    copy_from_host(buffers.view<float>(), std::span(std::as_const(values)), stream);
  };
  average(memory.weights.buffers);
  if (memory.average) average(memory.average->buffers);
}

void require_same_weights(distributed::Communicator& ranks, const layers::Sequential& net,
                          const Checkpoint& checkpoint) {
  if (ranks.size() == 1) return;
  std::vector<std::string> names;
  std::vector<std::uint64_t> hashes;
  const auto add = [&](std::string_view kind, std::span<const float> flat, bool trainable) {
    if (flat.empty()) return;
    for (const layers::NamedSlice& slice : net.slices()) {
      if (slice.trainable != trainable) continue;
      names.push_back(str(kind, slice.name));
      hashes.push_back(hash_of(flat.subspan(static_cast<std::size_t>(slice.offset),
                                            static_cast<std::size_t>(slice.shape.elements()))));
    }
  };
  add("", checkpoint.weights.parameters, true);
  add("", checkpoint.weights.buffers, false);
  const auto& states = checkpoint.state.config.optimizer->states;
  for (std::size_t i = 0; i < checkpoint.states.size(); ++i) {
    add(str(states[i].name, "."), checkpoint.states[i], true);
  }
  add("average.", checkpoint.average.parameters, true);
  add("average.", checkpoint.average.buffers, false);

  const auto bytes = std::as_bytes(std::span(hashes));
  const auto all = ranks.all_gather(distributed::Bytes(bytes.begin(), bytes.end()), bytes.size());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all.front()) continue;
    const auto differs = std::ranges::mismatch(all.front(), all[rank]).in1 - all.front().begin();
    throw Error(
        ErrorKind::check_failed,
        str("rank ", rank, " has another ",
            names[static_cast<std::size_t>(differs) / sizeof(std::uint64_t)],
            " than rank 0 after step ", checkpoint.state.step, ": the ranks have come apart"));
  }
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
