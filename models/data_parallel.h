// SPDX-License-Identifier: MIT
// Data-parallel training: what the ranks of a run do together besides the sum of the gradients.
// With one rank all of this does nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/communicator.h"
#include "models/evaluate.h"
#include "models/records.h"
#include "models/run_directory.h"
#include "models/train_step.h"

namespace weft::models {

// Throws usage, on every rank, unless all have the same program, kind of processor, settings and
// data; names the first rank that differs, and in what.
void require_same_run(distributed::Communicator& ranks, const RunState& state, Device device);

// The checkpoint of a run directory, which rank 0 reads for all; the others need not have it.
SafeTensors read_checkpoint(distributed::Communicator& ranks, const RunDirectory& directory);

// What the ranks tell each other whenever they look at the totals.
struct Progress {
  kernels::MetricTotals totals;    // of all ranks
  bool stop = false;               // some rank was asked to
  std::int64_t sync_interval = 1;  // rank 0's
};
Progress agree(distributed::Communicator& ranks, const Progress& mine);

// Running statistics of batch norm differ between ranks, which see other images: the mean over the
// ranks takes their place on all of them. Since a running statistic is linear in what it has seen,
// it does not matter how often this is done. Blocks.
void average_buffers(distributed::Communicator& ranks, TrainMemory& memory, const Stream& stream);

// Throws check_failed, on every rank, unless all that was read from the devices has the same bits
// on every rank; names the first rank and the first tensor that differ.
void require_same_weights(distributed::Communicator& ranks, const layers::Sequential& net,
                          const Checkpoint& checkpoint);

// Evaluates on the share of a set that is this rank's, and gives all ranks the result of the whole.
class SharedEvaluator {
 public:
  // A batch_size of 0 is evaluation_batch().
  SharedEvaluator(distributed::Communicator& ranks, const layers::Sequential& net,
                  layers::Weights& weights, const data::ImageSet& set,
                  std::span<const kernels::Normalization> normalization,
                  const layers::KernelChoice& kernels, std::int64_t classes, const Stream& stream,
                  bool streams = false, bool keeps_logits = false, std::int64_t batch_size = 0);
  SharedEvaluator(const SharedEvaluator&) = delete;  // a streamed set is read where it lies
  SharedEvaluator& operator=(const SharedEvaluator&) = delete;

  // Throws Stopped, on every rank, between two batches once the watch of one rank asks to stop.
  // `outputs` are of this rank's share, and get the logits where those are not kept.
  Metrics run(const Stream& stream, const EvaluationWatch& watch = {},
              Evaluator::Outputs outputs = {});
  // After run(), with keeps_logits: those of the whole set, (images, classes).
  std::vector<float> logits(const Stream& stream) const;

 private:
  distributed::Communicator& ranks_;
  std::int64_t count_;                  // images of the whole set
  std::int64_t rows_;                   // of this rank's share
  data::ImageSet images_;               // the share, where there are several ranks
  Tensor logits_;                       // (share, classes), where they are kept
  std::optional<Evaluator> evaluator_;  // nothing for a share without images
  std::int64_t interval_ = 1;           // batches queued between two looks at the totals
};

}  // namespace weft::models
