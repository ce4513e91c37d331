// SPDX-License-Identifier: MIT
#include "models/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "data/arrays/half.h"
#include "engine/extent.h"
#include "engine/text.h"
#include "models/files/json_check.h"

namespace weft::models {

namespace {

using Json = nlohmann::json;

constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kPrefixBytes = 8;
constexpr JsonLimits kHeaderLimits{.depth = 4, .values = 1'000'000};

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// A tensor of the header, with its byte range in the data that follows the header.
struct Entry {
  std::string name;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
  std::string dtype = {};
  bool skipped = false, is_f64 = false;  // is_f64: it becomes doubles
};

class HeaderReader {
 public:
  HeaderReader(std::string where, std::uint64_t data_bytes, SafetensorsDtypes dtypes)
      : where_(std::move(where)), data_bytes_(data_bytes), dtypes_(dtypes) {}

  // Fills metadata and returns the entries in file order, their ranges without overlap or gap.
  std::vector<Entry> read(std::string_view text, std::map<std::string, std::string>& metadata) {
    check_json(text, kHeaderLimits, where_ + ": header");
    const Json header = Json::parse(text);
    if (!header.is_object()) fail("the header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        read_metadata(value, metadata);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    check_ranges(entries);
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ": ", problem));
  }

  void read_metadata(const Json& value, std::map<std::string, std::string>& metadata) const {
    if (!value.is_object()) fail("__metadata__ is not a JSON object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(str("the metadata ", in_quotes(key), " is not a string"));
      metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    const std::string tensor = "tensor " + in_quotes(name);
    if (!value.is_object()) fail(tensor + " is not a JSON object");
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(str(tensor, " has an unknown field ", in_quotes(key)));
      }
    }
    if (value.size() != 3) fail(tensor + " lacks one of dtype, shape and data_offsets");
    if (!value["dtype"].is_string()) fail(tensor + ": the dtype is not a string");
    const std::string dtype = value["dtype"].get<std::string>();
    // PyTorch counts the steps of its batch norms, and has no other use for it.
    const bool counter = name.ends_with(".num_batches_tracked") && dtype == "I64";
    const bool is_f64 = dtype == "F64" && dtypes_ == SafetensorsDtypes::f32_and_f64;
    const bool takes_any = dtypes_ == SafetensorsDtypes::any_real;
    const bool is_real = takes_any && (dtype == "F16" || dtype == "BF16" || dtype == "F64");
    if (dtype != "F32" && !counter && !is_f64 && !is_real) {
      fail(str(tensor, " holds ", in_quotes(dtype), ", expected ",
               takes_any ? "F32, F16, BF16 or F64" : "F32"));
    }

    Entry entry{name, read_shape(value["shape"], tensor), 0, 0, dtype, counter, is_f64};
    const std::vector<std::uint64_t> range = read_extents(value["data_offsets"], tensor, 2);
    if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes_) {
      fail(str(tensor, ": data_offsets ", value["data_offsets"].dump(),
               " do not lie within the file's ", data_bytes_, " bytes of data"));
    }
    entry.begin = range[0];
    entry.end = range[1];
    // The range lies within the file, so a shape of this many bytes can be allocated.
    const auto elements = static_cast<std::uint64_t>(entry.shape.elements());
    const std::uint64_t bytes = entry.end - entry.begin;
    const std::uint64_t size = dtype == "F32" ? 4 : dtype == "F16" || dtype == "BF16" ? 2 : 8;
    if (bytes % size != 0 || elements != bytes / size) {
      fail(str(tensor, ": shape ", entry.shape, " needs ", elements,
               counter     ? " integers, found "
               : size == 8 ? " doubles, found "
                           : " floats, found ",
               bytes, " bytes"));
    }
    return entry;
  }

  Shape read_shape(const Json& value, const std::string& tensor) const {
    const std::vector<std::uint64_t> extents = read_extents(value, tensor, Shape::kMaxRank);
    std::vector<std::int64_t> signed_extents;
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : extents) {
      // An extent above the cap cannot be in the file; an extent of 0 must not hide one.
      if (extent > kMaxSafetensorsFileBytes) fail(tensor + ": the shape is larger than the file");
      elements *= extent;
      if (elements > kMaxSafetensorsFileBytes) fail(tensor + ": the shape is larger than the file");
      signed_extents.push_back(static_cast<std::int64_t>(extent));
    }
    return Shape(std::span<const std::int64_t>(signed_extents));
  }

  std::vector<std::uint64_t> read_extents(const Json& value, const std::string& tensor,
                                          std::size_t longest) const {
    if (!value.is_array() || value.size() > longest) {
      fail(str(tensor, ": expected a list of at most ", longest, " sizes"));
    }
    std::vector<std::uint64_t> extents;
    for (const Json& extent : value) {
      if (!extent.is_number_unsigned()) {
        fail(str(tensor, ": expected sizes >= 0, found ", in_quotes(extent.dump())));
      }
      extents.push_back(extent.get<std::uint64_t>());
    }
    return extents;
  }

  void check_ranges(std::vector<Entry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t reached = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != reached) {
        fail(str("tensor ", in_quotes(entry.name), " starts at byte ", entry.begin, ", expected ",
                 reached, entry.begin < reached ? " (it overlaps another)" : " (there is a gap)"));
      }
      reached = entry.end;
    }
    if (reached != data_bytes_) {
      fail(str("the tensors cover ", reached, " of ", data_bytes_, " bytes of data"));
    }
  }

  std::string where_;
  std::uint64_t data_bytes_;
  SafetensorsDtypes dtypes_;
};

// What a tensor holds.
std::span<const std::byte> bytes_of(const NamedTensor& tensor) {
  if (tensor.doubles.empty()) return std::as_bytes(std::span(tensor.values));
  return std::as_bytes(std::span(tensor.doubles));
}

}  // namespace

const NamedTensor* SafeTensors::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

SafeTensors read_safetensors(const std::filesystem::path& path, SafetensorsDtypes dtypes) {
  return read_safetensors(data::InputFile(path), dtypes);
}

SafeTensors read_safetensors(const data::InputFile& file, SafetensorsDtypes dtypes) {
  const std::string where = file.path().string();
  if (file.size() < kPrefixBytes) {
    throw Error(ErrorKind::data,
                str(where, ": expected a safetensors file, found ", file.size(), " bytes"));
  }
  if (file.size() > kMaxSafetensorsFileBytes) {
    throw Error(ErrorKind::data,
                str(where, ": ", file.size(), " bytes, the limit is ", kMaxSafetensorsFileBytes));
  }
  std::uint64_t header_bytes = 0;
  file.read(std::as_writable_bytes(std::span(&header_bytes, 1)), 0);
  if (header_bytes > file.size() - kPrefixBytes || header_bytes > kMaxSafetensorsHeaderBytes) {
    throw Error(ErrorKind::data, str(where, ": not a safetensors file, or truncated: a header of ",
                                     header_bytes, " bytes in a file of ", file.size()));
  }
  std::string header(header_bytes, '\0');
  file.read(std::as_writable_bytes(std::span(header)), kPrefixBytes);

  const std::uint64_t data_begin = kPrefixBytes + header_bytes;
  SafeTensors content;
  HeaderReader reader(where, file.size() - data_begin, dtypes);
  for (Entry& entry : reader.read(header, content.metadata)) {
    if (entry.skipped) continue;
    NamedTensor tensor{std::move(entry.name), entry.shape, {}};
    const auto read_into = [&](auto& values) {
      values.resize(static_cast<std::size_t>(entry.shape.elements()));
      file.read(std::as_writable_bytes(std::span(values)), data_begin + entry.begin);
    };
    const auto read_as = [&](auto read, auto widen) {
      std::vector<decltype(read)> raw;
      read_into(raw);
      for (const auto value : raw) tensor.values.push_back(static_cast<float>(widen(value)));
    };
    if (entry.is_f64) {
      read_into(tensor.doubles);
    } else if (entry.dtype == "F64") {
      read_as(double{}, [](double value) { return value; });
    } else if (entry.dtype == "F16") {
      read_as(std::uint16_t{}, data::from_half);
    } else if (entry.dtype == "BF16") {
      read_as(std::uint16_t{}, data::from_bfloat16);
    } else {
      read_into(tensor.values);
    }
    content.tensors.push_back(std::move(tensor));
  }
  return content;
}

std::vector<std::byte> safetensors_bytes(const SafeTensors& content) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  std::set<std::string_view> names{kMetadata};
  std::uint64_t data_bytes = 0;
  for (const NamedTensor& tensor : content.tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ErrorKind::usage, str("two tensors named ", in_quotes(tensor.name)));
    }
    const bool is_f64 = !tensor.doubles.empty();
    const std::size_t count = tensor.values.size() + tensor.doubles.size();
    if (static_cast<std::int64_t>(count) != tensor.shape.elements()) {
      throw Error(ErrorKind::usage, str("tensor ", in_quotes(tensor.name), ": ", count,
                                        " values for shape ", tensor.shape));
    }
    const std::uint64_t end = data_bytes + bytes_of(tensor).size();
    header[tensor.name] = {{"dtype", is_f64 ? "F64" : "F32"},
                           {"shape", tensor.shape.extents()},
                           {"data_offsets", {data_bytes, end}}};
    data_bytes = end;
  }
  std::string text = json_text(header);
  text.resize(round_up(text.size(), 8), ' ');  // the data then starts aligned, as readers like it

  std::vector<std::byte> bytes(kPrefixBytes + text.size() + data_bytes);
  const std::uint64_t header_bytes = text.size();
  std::byte* out = bytes.data();
  std::memcpy(out, &header_bytes, kPrefixBytes);
  std::memcpy(out += kPrefixBytes, text.data(), text.size());
  out += text.size();
  for (const NamedTensor& tensor : content.tensors) {
    const std::span<const std::byte> content_bytes = bytes_of(tensor);
    if (!content_bytes.empty()) std::memcpy(out, content_bytes.data(), content_bytes.size());
    out += content_bytes.size();
  }
  return bytes;
}

void write_safetensors(const data::OutputPath& to, const SafeTensors& content) {
  data::write_file_atomically(to, safetensors_bytes(content));
}

}  // namespace weft::models
