// SPDX-License-Identifier: MIT
// Any bytes are a safetensors file or one line of Error{data}: a model, the checkpoint of a run or
// of an n-body simulation, or none of these. Contents that are written and read again are the same.
#include <cmath>
#include <cstring>

#include "models/model.h"
#include "models/nbody/run.h"
#include "models/networks/networks.h"
#include "models/training/runs/checkpoint.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;

template <class Work>
void attempt(const std::string& file, Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    fuzz::require_data_error(error, file);
  }
}

// The bits, since a value may be none.
bool same(const models::SafeTensors& a, const models::SafeTensors& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const auto &one = a.tensors[i], *other = b.find(one.name);
    if (other == nullptr || one.shape != other->shape ||
        one.values.size() != other->values.size()) {
      return false;
    }
    const std::size_t bytes = one.values.size() * sizeof(float);
    if (bytes > 0 && std::memcmp(one.values.data(), other->values.data(), bytes) != 0) return false;
  }
  return true;
}

void check(fuzz::Input bytes) {
  const std::string file = fuzz::file_with(bytes);
  models::SafeTensors content;
  attempt(file, [&] { content = models::read_safetensors(file); });
  if (content.tensors.empty() && content.metadata.empty()) return;
  attempt(file, [&] {
    const models::Model model = models::load_model(file);
    fuzz::require(std::ssize(model.parameters) == model.net->parameter_count() &&
                      std::ssize(model.buffers) == model.net->buffer_count(),
                  "not as many values as the network has");
    for (const float value : model.parameters) fuzz::require(std::isfinite(value), "a NaN");
  });
  attempt(file, [&] {
    const models::RunState state = models::run_state_of(content, file);
    const auto net = models::make_network(state.config.network);
    static_cast<void>(models::checkpoint_of(content, *net, file));
  });
  attempt(file, [&] { static_cast<void>(models::read_nbody_checkpoint(data::InputFile(file))); });
  const std::vector<std::byte> written = models::safetensors_bytes(content);
  const std::string again =
      fuzz::file_with({reinterpret_cast<const std::uint8_t*>(written.data()), written.size()});
  fuzz::require(same(models::read_safetensors(again), content),
                "other contents when they are written and read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(4);
  check({bytes, size});
  // The same header with its length before it, and as many bytes of data as it has characters.
  std::vector<std::uint8_t> file(8 + 2 * size);
  const std::uint64_t header = size;
  std::memcpy(file.data(), &header, 8);
  if (size > 0) std::memcpy(file.data() + 8, bytes, size);
  for (const std::size_t data : {std::size_t{0}, size})
    check(std::span(file).first(8 + size + data));
  return 0;
}
