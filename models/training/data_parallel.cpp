// SPDX-License-Identifier: MIT
#include "models/training/data_parallel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "distributed/program.h"
#include "kernels/isa.h"

namespace weft::models {
namespace {

// FNV-1a over the words of the values.
std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const float value : values) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3ull;
  }
  return hash;
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

}  // namespace weft::models
