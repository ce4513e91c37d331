// SPDX-License-Identifier: MIT
// PyTorch's files (torch/serialization.py). A ZIP archive has NAME/data.pkl, a pickle in which
// tensors are views of storages, and a file NAME/data/KEY for each storage. Before version 1.6 five
// pickles follow each other: a number, a version, what the machine is like, the object, and the
// keys of the storages, whose bytes follow, each behind the number of its elements.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "data/arrays/half.h"
#include "data/files/archive.h"
#include "data/pickle/pickle.h"
#include "engine/error.h"
#include "engine/names.h"
#include "engine/text.h"
#include "models/weights/arrays.h"
#include "models/weights/weights.h"

namespace weft::models {

namespace {

using data::PickleValue;
using Kind = PickleValue::Kind;
using Bytes = std::span<const std::uint8_t>;

struct StorageType {
  std::string_view name;
  std::size_t bytes;
  float (*read)(const std::uint8_t* at);
};

template <class T>
float number_at(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

std::uint16_t bits_at(const std::uint8_t* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

constexpr StorageType kTypes[] = {
    {"FloatStorage", 4, number_at<float>},
    {"DoubleStorage", 8, number_at<double>},
    {"HalfStorage", 2, [](const std::uint8_t* at) { return data::from_half(bits_at(at)); }},
    {"BFloat16Storage", 2, [](const std::uint8_t* at) { return data::from_bfloat16(bits_at(at)); }},
    {"LongStorage", 8, number_at<std::int64_t>},
    {"IntStorage", 4, number_at<std::int32_t>},
    {"ShortStorage", 2, number_at<std::int16_t>},
    {"CharStorage", 1, number_at<std::int8_t>},
    {"ByteStorage", 1, number_at<std::uint8_t>},
    {"BoolStorage", 1, number_at<std::uint8_t>},
};

const StorageType& type_of(const data::TorchStorage& storage) {
  return *std::ranges::find(kTypes, storage.type, &StorageType::name);  // the pickle checks it
}

class TorchFile {
 public:
  TorchFile(std::size_t file_bytes, const std::string& where)
      : where_(where), left_(4 * file_bytes) {}

  Weights read_zip(Bytes file) {
    const auto is_read = [](const std::string& name) {
      return name.ends_with("/data.pkl") || name.ends_with("/byteorder") ||
             name.find("/data/") != std::string::npos;
    };
    const std::vector<data::ArchivedFile> members =
        data::read_archive(file, kMostWeightBytes, is_read, where_);
    const data::ArchivedFile* object = nullptr;
    for (const data::ArchivedFile& member : members) {
      const std::string name = member.name.substr(member.name.find('/'));
      const std::string_view text(reinterpret_cast<const char*>(member.bytes.data()),
                                  member.bytes.size());
      if (name == "/data.pkl") object = &member;
      if (name.starts_with("/data/")) storages_.emplace(name.substr(6), Bytes(member.bytes));
      if (name == "/byteorder" && text != "little") {
        fail("its numbers are big-endian; Weft reads little-endian ones");
      }
    }
    if (object == nullptr) fail("an archive without data.pkl, which PyTorch's files have");
    const data::Pickle pickle = pickle_in(object->bytes, str(where_, "/", printable(object->name)));
    return weights_in(*pickle.root);
  }

  Weights read_pickles(Bytes file) {
    Bytes rest = file;
    const auto next = [&] {
      data::Pickle pickle = pickle_in(rest, where_);
      rest = rest.subspan(pickle.bytes);
      return pickle;
    };
    const data::Pickle first = next();
    if (first.root->kind == Kind::dict) return weights_in(*first.root);  // of arrays
    using namespace std::string_view_literals;
    constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
    if (first.root->kind != Kind::large_integer || first.root->text != kMagic) {
      fail(str("the pickle of ", data::name_of(first.root->kind),
               ", expected a dict of arrays or a file of PyTorch"));
    }
    const data::Pickle version = next(), machine = next(), object = next(), keys = next();
    const PickleValue* little = machine.root->find("little_endian");
    if (version.root->integer != 1001 || little == nullptr || little->integer != 1) {
      fail("expected version 1001 of PyTorch's old format, with little-endian numbers");
    }
    take_storages(object, *keys.root, rest);
    return weights_in(*object.root);
  }

 private:
  static data::Pickle pickle_in(Bytes bytes, const std::string& where) {
    try {
      return data::read_pickle(bytes, where);
    } catch (const Error& error) {
      const std::string_view why = error.what();
      if (why.find("harmless classes") == std::string_view::npos) throw;
      throw Error(ErrorKind::data, str(why, "; instead of a whole model save model.state_dict()"));
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ": ", problem));
  }

  void take_storages(const data::Pickle& object, const PickleValue& keys, Bytes rest) {
    std::map<std::string_view, const StorageType*> types;
    for (const PickleValue& value : *object.values) {
      if (value.storage != nullptr) types[value.storage->key] = &type_of(*value.storage);
    }
    for (const PickleValue* key : keys.items) {
      const auto type = types.find(key->text);
      if (type == types.end()) fail(str("no tensor is of the storage ", in_quotes(key->text)));
      std::uint64_t elements = 0;
      if (rest.size() < sizeof elements) fail("the file is cut off");
      std::memcpy(&elements, rest.data(), sizeof elements);
      rest = rest.subspan(sizeof elements);
      if (elements > rest.size() / type->second->bytes) fail("the file is cut off");
      const std::size_t bytes = elements * type->second->bytes;
      storages_.emplace(key->text, rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }

  static bool holds_numbers(const PickleValue& value) {
    return value.kind == Kind::tensor || value.kind == Kind::array;
  }
  // A single number may be anything, such as the best accuracy.
  static bool holds_several(const PickleValue& value) {
    return holds_numbers(value) &&
           !(value.array != nullptr ? value.array->shape : value.tensor->shape).empty();
  }
  static bool is_state_dict(const PickleValue& value) {
    if (value.kind != Kind::dict) return false;
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      if (value.items[i]->is_text() && holds_several(*value.items[i + 1])) return true;
    }
    return false;
  }

  // A checkpoint has the state dict under a name of its program's.
  const PickleValue& state_dict_in(const PickleValue& root, Weights& weights) const {
    if (is_state_dict(root)) return root;
    if (root.kind != Kind::dict) {
      fail(str("holds ", data::name_of(root.kind), ", expected a state dict: save ",
               "model.state_dict()"));
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
      if (root.items[i]->is_text() && is_state_dict(*root.items[i + 1])) {
        names.push_back(root.items[i]->text);
      }
    }
    if (names.empty()) fail("holds no tensors by name, expected a state dict");
    constexpr std::string_view kUsual[] = {"state_dict", "model_state_dict", "model"};
    std::string chosen = names.front();
    for (const std::string_view usual : kUsual) {
      if (std::ranges::count(names, usual) == 0) continue;
      chosen = usual;
      break;
    }
    if (names.size() > 1 && std::ranges::count(kUsual, chosen) == 0) {
      std::string all;
      for (const std::string& name : names) all += str(all.empty() ? "" : ", ", in_quotes(name));
      fail(str("holds several state dicts: ", all, "; save one of them alone"));
    }
    weights.notices.push_back(str("its entry ", in_quotes(chosen), " is read"));
    return *root.find(chosen);
  }

  Weights weights_in(const PickleValue& root) {
    Weights weights;
    const PickleValue& state = state_dict_in(root, weights);
    for (std::size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const PickleValue &key = *state.items[i], &value = *state.items[i + 1];
      if (!key.is_text() || !holds_numbers(value)) continue;
      const std::string place = str(where_, ": tensor ", in_quotes(key.text));
      if (value.kind == Kind::array) {
        spend(static_cast<std::uint64_t>(value.array->elements()) * sizeof(float));
        weights.tensors.push_back(models::tensor_of(key.text, *value.array, place));
      } else {
        weights.tensors.push_back(read_tensor(key.text, *value.tensor, place));
      }
    }
    return weights;
  }

  // Several tensors may be views of one storage.
  void spend(std::uint64_t bytes) {
    if (bytes > left_) fail("its tensors are larger than the file");
    left_ -= bytes;
  }

  NamedTensor read_tensor(const std::string& name, const data::TorchTensor& tensor,
                          const std::string& place) {
    const auto found = storages_.find(tensor.storage.key);
    if (found == storages_.end()) {
      throw Error(ErrorKind::data,
                  str(place, ": the file has no storage ", in_quotes(tensor.storage.key)));
    }
    const StorageType& type = type_of(tensor.storage);
    const Bytes bytes = found->second;
    const auto there = static_cast<std::int64_t>(bytes.size() / type.bytes);
    std::int64_t count = 1, last = tensor.offset;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const std::int64_t extent = tensor.shape[axis];
      std::int64_t step = 0;
      if (extent > static_cast<std::int64_t>(kMostWeightBytes) ||
          __builtin_mul_overflow(count, extent, &count) ||
          __builtin_mul_overflow(std::max<std::int64_t>(extent - 1, 0), tensor.strides[axis],
                                 &step) ||
          __builtin_add_overflow(last, step, &last)) {
        count = last = INT64_MAX;
        break;
      }
    }
    if (count > 0 && (last >= there || count > there)) {
      throw Error(ErrorKind::data, str(place, ": its view does not lie within the ", there,
                                       " numbers of the storage ", in_quotes(tensor.storage.key)));
    }
    NamedTensor made{name, shape_of(tensor.shape, place), {}};
    spend(static_cast<std::uint64_t>(count) * sizeof(float));
    made.values.reserve(static_cast<std::size_t>(count));
    std::vector<std::int64_t> index(tensor.shape.size(), 0);
    std::int64_t at = tensor.offset;
    for (std::int64_t i = 0; i < count; ++i) {
      made.values.push_back(type.read(bytes.data() + static_cast<std::size_t>(at) * type.bytes));
      for (std::size_t axis = index.size(); axis-- > 0;) {
        at += tensor.strides[axis];
        if (++index[axis] < tensor.shape[axis]) break;
        at -= tensor.strides[axis] * index[axis];
        index[axis] = 0;
      }
    }
    return made;
  }

  const std::string& where_;
  std::uint64_t left_;
  std::map<std::string, Bytes, std::less<>> storages_;
};

}  // namespace

Weights read_torch(std::span<const std::uint8_t> file, const std::string& where) {
  TorchFile reader(file.size(), where);
  return data::is_zip(file) ? reader.read_zip(file) : reader.read_pickles(file);
}

}  // namespace weft::models
