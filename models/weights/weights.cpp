// SPDX-License-Identifier: MIT
#include "models/weights/weights.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "data/arrays/npy.h"
#include "data/files/archive.h"
#include "engine/error.h"
#include "engine/text.h"
#include "models/files/foreign.h"
#include "models/files/json_check.h"
#include "models/weights/arrays.h"

namespace weft::models {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefixes[] = {"module.", "model.", "_orig_mod."};

Weights read_npz(const fs::path& file) {
  const std::string where = file.string();
  Weights weights;
  const data::Bytes bytes = data::read_file(file, kMostWeightBytes);
  const auto is_array = [](const std::string& name) { return name.ends_with(".npy"); };
  for (const data::ArchivedFile& member :
       data::read_archive(bytes, kMostWeightBytes, is_array, where)) {
    const std::string name = member.name.substr(0, member.name.size() - 4);
    const std::string place = str(where, "/", printable(member.name));
    weights.tensors.push_back(
        tensor_of(name, data::parse_npy(std::as_bytes(std::span(member.bytes)), place), place));
  }
  return weights;
}

Weights read_one_safetensors(const fs::path& file) {
  Weights weights{.tensors = read_safetensors(file, SafetensorsDtypes::any_real).tensors,
                  .order = TensorOrder::names};
  return weights;
}

// {"weight_map": {"conv1.weight": "model-00001-of-00002.safetensors", ...}}
Weights read_shards(const fs::path& index) {
  constexpr JsonLimits kLimits{.depth = 4, .values = 1'000'000};
  constexpr std::size_t kMostIndexBytes = std::size_t{64} << 20, kMostShards = 1000;
  const std::string where = index.string();
  const data::Bytes bytes = data::read_file(index, kMostIndexBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check_json(text, kLimits, where);
  const nlohmann::json content = nlohmann::json::parse(text);
  const auto map = content.is_object() ? content.find("weight_map") : content.end();
  if (!content.is_object() || map == content.end() || !map->is_object()) {
    throw Error(ErrorKind::data, str(where, ": expected a \"weight_map\" of tensors and files"));
  }
  std::set<std::string> names;
  for (const auto& [tensor, name] : map->items()) {
    const std::string file = name.is_string() ? name.get<std::string>() : "";
    if (file.empty() || fs::path(file).filename() != file || file == "..") {
      throw Error(ErrorKind::data, str(where, ": expected a file beside it for the tensor ",
                                       in_quotes(tensor), ", found ", in_quotes(file)));
    }
    names.insert(file);
  }
  if (names.size() > kMostShards) {
    throw Error(ErrorKind::data,
                str(where, ": names ", names.size(), " files, expected at most ", kMostShards));
  }
  Weights weights;
  weights.order = TensorOrder::names;
  std::uint64_t left = kMostWeightBytes;
  for (const std::string& name : names) {
    const data::InputFile shard(index.parent_path() / name);
    if (shard.size() > left) {
      throw Error(ErrorKind::data,
                  str(where, ": its files are larger than ", kMostWeightBytes, " bytes"));
    }
    left -= shard.size();
    SafeTensors part = read_safetensors(shard, SafetensorsDtypes::any_real);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(weights.tensors));
  }
  return weights;
}

void drop_counters(Weights& weights) {
  std::erase_if(weights.tensors, [](const NamedTensor& tensor) {
    return tensor.name == "num_batches_tracked" || tensor.name.ends_with(".num_batches_tracked");
  });
}

void drop_prefixes(Weights& weights) {
  std::string dropped;
  for (bool found = true; found && !weights.tensors.empty();) {
    found = false;
    for (const std::string_view prefix : kPrefixes) {
      const bool have_all = std::ranges::all_of(weights.tensors, [&](const NamedTensor& tensor) {
        return tensor.name.starts_with(prefix) && tensor.name.size() > prefix.size();
      });
      if (!have_all) continue;
      for (NamedTensor& tensor : weights.tensors) tensor.name.erase(0, prefix.size());
      dropped += prefix;
      found = true;
    }
  }
  if (!dropped.empty()) {
    weights.notices.push_back(
        str("the names of its tensors begin with ", in_quotes(dropped), ", which is left out"));
  }
}

void check_names(const Weights& weights, const std::string& where) {
  if (weights.tensors.empty()) throw Error(ErrorKind::data, str(where, ": holds no tensors"));
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : weights.tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ErrorKind::data, str(where, ": two tensors named ", in_quotes(tensor.name)));
    }
  }
}

Weights read_as(const fs::path& file, std::optional<ForeignFormat> format) {
  if (!format) return read_one_safetensors(file);
  switch (*format) {
    case ForeignFormat::npz:
      return read_npz(file);
    case ForeignFormat::shards:
      return read_shards(file);
    case ForeignFormat::torch:
    case ForeignFormat::pickle:
      return read_torch(data::read_file(file, kMostWeightBytes), file.string());
    case ForeignFormat::hdf5:
    case ForeignFormat::keras:
      return read_keras(data::read_file(file, kMostWeightBytes), *format == ForeignFormat::keras,
                        file.string());
    default:
      throw not_a_model(file, *format);
  }
}

}  // namespace

Weights read_weights(const fs::path& file) {
  Weights weights = read_as(file, foreign_format(file));
  drop_counters(weights);
  check_names(weights, file.string());
  drop_prefixes(weights);
  check_names(weights, file.string());
  return weights;
}

}  // namespace weft::models
