// SPDX-License-Identifier: MIT
// Evaluation by several ranks, each on its share of the images. With one rank it is all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "distributed/communicator.h"
#include "models/answers/evaluate.h"

namespace weft::models {

// What the ranks tell each other whenever they look at the totals.
struct Progress {
  kernels::MetricTotals totals;    // of all ranks
  bool stop = false;               // some rank was asked to
  std::int64_t sync_interval = 1;  // rank 0's
};
Progress agree(distributed::Communicator& ranks, const Progress& mine);

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
