// SPDX-License-Identifier: MIT
#include "data/tables/tables.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "data/arrays/npy_text.h"
#include "data/arrays/number_fields.h"
#include "data/arrays/unicode.h"
#include "data/files/archive.h"
#include "data/files/file_io.h"
#include "data/files/host_memory.h"
#include "data/folder/layout.h"
#include "data/sets/idx.h"
#include "data/tables/csv.h"
#include "data/tables/csv_columns.h"
#include "data/tables/emnist.h"
#include "data/tables/label_column.h"
#include "data/tables/named_arrays.h"
#include "data/tables/pickled_arrays.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{8} << 30;  // of a file, and of what is in it
constexpr std::size_t kMostTables = 1000;                      // in a folder
// A table is in memory as it was read, as values and as images; a pickle as the values that it
// makes, too, which are as large as it, and as arrays of these.
constexpr int kTableCopies = 3, kPickleCopies = 6;

Error bad(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", what));
}

enum class TableKind { none, csv, npy, npz, pickle };

std::string small(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

TableKind kind_of(std::string_view name) {
  const std::string file = small(name);
  const auto ends = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return file.ends_with(ending); });
  };
  if (ends({".csv", ".tsv", ".csv.gz", ".tsv.gz"})) return TableKind::csv;
  if (ends({".npy"})) return TableKind::npy;
  if (ends({".npz"})) return TableKind::npz;
  const bool is_pickle = ends({".pkl", ".pickle", ".p", ".pkl.gz", ".pickle.gz"});
  return is_pickle ? TableKind::pickle : TableKind::none;
}

// "mnist.train" of "archive/mnist.train.csv.gz"
std::string stem_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  for (const std::string_view ending : {".gz", ".csv", ".tsv", ".npy", ".npz", ".pkl", ".pickle"}) {
    if (small(path).ends_with(ending)) path.remove_suffix(ending.size());
  }
  return std::string(path);
}

std::optional<Split> set_of(const std::string& stem) {
  for (const std::string& word : words_of(stem)) {
    if (const std::optional<Split> set = split_of(word)) return set;
    if (word == "tra" || word == "trn") return Split::train;  // of the UCI repository
    if (word == "tes" || word == "tst") return Split::test;
  }
  return std::nullopt;
}

struct Source {
  std::string name, where;  // of the file; where it is, for messages
  TableKind kind;
  TreePath path;

  int copies() const { return kind == TableKind::pickle ? kPickleCopies : kTableCopies; }

  // What the file holds, inflated, after a look at the room that there is.
  Bytes read(const HostRoom& room) const {
    const auto require = [&](std::uint64_t bytes) {
      require_room(where, bytes, copies(), room, "free some, or take a part of the rows");
    };
    require(path.status().bytes);
    Bytes whole = path.read(kMostTableBytes);
    if (!is_gzip(whole)) return whole;
    const std::size_t most = most_in(room);
    if (most == kMostTableBytes) return inflate_gzip(whole, most, where);
    Bytes inflated = inflate_gzip_front(whole, most + 1, where);
    require(inflated.size());
    return inflated;
  }

  // A plain text on disk, of which a piece at a time is in memory. Its values take half of its
  // bytes at most. Nothing for other files.
  std::optional<TableText> open_text(const HostRoom& room) const {
    const FileStatus status = path.status();
    const bool is_on_disk = status.identity != std::pair<dev_t, ino_t>();
    if (!is_on_disk || status.kind != FileStatus::Kind::file) return std::nullopt;
    auto file = std::make_unique<InputFile>(where);
    Bytes first(std::min<std::uint64_t>(file->size(), 2));
    file->read(std::as_writable_bytes(std::span(first)), 0);
    const bool is_utf16 = first == Bytes{0xff, 0xfe} || first == Bytes{0xfe, 0xff};
    if (is_gzip(first) || first.size() < 2 || is_utf16) return std::nullopt;
    if (file->size() > kMostTableBytes) return std::nullopt;  // which read() refuses
    require_room(str("the values in ", where), file->size() / 2, kTableCopies, room,
                 "free some, or take a part of the rows");
    return TableText(std::move(file));
  }

  // The most bytes that a table may have.
  std::size_t most_in(const HostRoom& room) const {
    const std::uint64_t most = room.bytes() / static_cast<std::uint64_t>(copies());
    return room.bytes() == 0 ? kMostTableBytes : std::min<std::uint64_t>(kMostTableBytes, most);
  }
};

std::span<const std::byte> as_bytes_of(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes));
}

class TableLoader {
 public:
  explicit TableLoader(const FolderOptions& options)
      : options_(options), room_(host_room(options.memory)) {}

  void add(const Source& source) {
    if (source.kind == TableKind::csv) {
      add_csv(source);
    } else if (source.kind == TableKind::npy) {
      add_array(source.name, source.where, source.read(room_));
    } else if (source.kind == TableKind::npz) {
      add_npz(source);
    } else {
      add_pickle(source.name, source.where, source.read(room_));
    }
  }

  // Nothing when no file holds images.
  std::optional<Dataset> finish(const std::string& where) {
    for (Table& table : unlabelled_) {
      if (take_labels(table.values, table.set, label_columns_)) {
        tables_.push_back(std::move(table));
      } else {
        say(str("passed over ", table.values.where, ", which has no labels"));
      }
    }
    if (!tables_.empty() && !arrays_.empty()) {
      throw bad(where, str(tables_.front().values.where, " and ", arrays_.front().where,
                           " both hold images: --data with one of them says which"));
    }
    LabelledSets sets;
    if (!arrays_.empty()) {
      sets = labelled_sets(std::move(arrays_), options_.shape);
    } else if (!tables_.empty()) {
      sets = sets_of_tables(where);
    } else {
      return std::nullopt;
    }
    Dataset dataset = dataset_of(std::move(sets), options_);
    if (is_emnist_) {
      for (ImageSet* set : {&dataset.train, &dataset.validation, &dataset.test}) {
        transpose_images(*set);
      }
    }
    return dataset;
  }

 private:
  struct Table {
    LabelledValues values;
    std::optional<Split> set;
  };

  void say(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  void add_csv(const Source& source) {
    Bytes bytes;
    std::optional<TableText> text = source.open_text(room_);
    const auto in_memory = [&] {
      return TableText({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    if (!text) bytes = from_utf16(source.read(room_));
    TableText again = text ? std::move(*text) : in_memory();
    if (std::optional<std::vector<std::string>> labels = read_label_column(again)) {
      label_columns_.push_back({source.where, set_of(stem_of(source.name)), std::move(*labels)});
      return;
    }
    text = source.open_text(room_);
    if (!text) text.emplace(in_memory());
    CsvImages images =
        read_csv(*text, options_.label_column, usual_label_, options_.shape, source.where);
    if (images.values.count == 0) {
      return say(str("passed over ", source.where, ", which holds no images"));
    }
    if (images.values.labels.empty()) {
      unlabelled_.push_back({std::move(images.values), set_of(stem_of(source.name))});
      return;
    }
    usual_label_ = images.label;
    const std::string stem = stem_of(source.name);
    if (is_emnist(stem)) {
      say(str(source.where, " is EMNIST by its name: rows and columns are exchanged"));
      is_emnist_ = true;
      for (std::string& label : images.values.labels) label = emnist_class(stem, label);
    }
    if (images.sets.empty()) {
      tables_.push_back({std::move(images.values), set_of(stem)});
      return;
    }
    for (const Split set : {Split::train, Split::validation, Split::test}) {
      Table part{rows_of(images, set), set};
      if (part.values.count > 0) tables_.push_back(std::move(part));
    }
  }

  void add_array(const std::string& name, const std::string& where, const Bytes& bytes) {
    std::optional<NpyOther> other = parse_npy_other(as_bytes_of(bytes), where);
    if (!other) {
      arrays_.push_back({stem_of(name), where, parse_npy(as_bytes_of(bytes), where)});
    } else if (!other->are_objects) {
      arrays_.push_back({stem_of(name), where, {"u1", other->shape, {}}, std::move(other->words)});
    } else {
      const auto* begin = reinterpret_cast<const std::uint8_t*>(other->pickle.data());
      add_pickle(name, where, {begin, other->pickle.size()});
    }
  }

  void add_pickle(const std::string& name, const std::string& where,
                  std::span<const std::uint8_t> bytes) {
    const Pickle pickle = read_pickle(bytes, where);
    for (NamedArray& array : pickled_arrays(pickle, stem_of(name), where)) {
      arrays_.push_back(std::move(array));
    }
  }

  void add_npz(const Source& source) {
    const Bytes bytes = source.read(room_);
    ArchiveReader reader(bytes, source.where);
    std::size_t room = source.most_in(room_);
    bool has_arrays = false;
    while (const std::optional<ArchiveEntry> member = reader.next()) {  // one at a time in memory
      if (member->kind != ArchiveEntry::Kind::file || !member->name.ends_with(".npy")) continue;
      const Bytes array = reader.read(room);
      room -= array.size();
      has_arrays = true;
      const std::string name = stem_of(member->name);
      const bool is_unnamed = name.starts_with("arr_");  // numpy.savez() without names
      const bool tells_set = set_of(name).has_value();
      // What the array does not say, the name of the file may: train.npz has x and y.
      const std::string full = is_unnamed  ? stem_of(source.name)
                               : tells_set ? name
                                           : str(stem_of(source.name), "_", name);
      add_array(full, str(source.where, ": ", printable(member->name)), array);
    }
    if (!has_arrays) throw bad(source.where, "no arrays in it");
  }

  LabelledSets sets_of_tables(const std::string& where) {
    LabelledSets sets;
    for (Table& table : tables_) {
      const Split set = table.set.value_or(Split::train);
      std::optional<LabelledValues>& place = sets[static_cast<std::size_t>(set)];
      if (place) {
        throw bad(where, str(place->where, " and ", table.values.where, " would both be the ",
                             set == Split::train  ? "training"
                             : set == Split::test ? "test"
                                                  : "validation",
                             " set: --data with one of them says which"));
      }
      place = std::move(table.values);
    }
    return sets;
  }

  const FolderOptions& options_;
  const HostRoom room_;
  std::string usual_label_;
  bool is_emnist_ = false;
  std::vector<Table> tables_, unlabelled_;
  std::vector<LabelColumn> label_columns_;
  std::vector<NamedArray> arrays_;
};

bool is_table(const std::string& name) {
  return kind_of(name) != TableKind::none;
}

// A file without a known ending, which lies on disk, is what its first bytes say, or a table as
// text. A picture or a program is none.
TableKind kind_by_content(const TreePath& path) {
  const InputFile file(path.string());
  Bytes first(std::min<std::uint64_t>(file.size(), 4096));
  file.read(std::as_writable_bytes(std::span(first)), 0);
  if (is_zip(first)) return TableKind::npz;
  if (is_npy(as_bytes_of(first))) return TableKind::npy;
  if (is_gzip(first) || std::find(first.begin(), first.end(), 0) == first.end()) {
    return TableKind::csv;
  }
  throw bad(path.string(), str("not text: expected ", kTableFormats, ", or a folder of pictures"));
}

std::vector<Source> sources_in(const TreePath& path) {
  if (!path.is_folder()) {
    const TableKind named = kind_of(path.name());
    const TableKind kind = named == TableKind::none ? kind_by_content(path) : named;
    return {{path.name(), path.string(), kind, path}};
  }
  std::vector<Source> sources;
  for (const std::string& name : list_folder(path).files) {
    if (!is_table(name)) continue;
    if (sources.size() == kMostTables) {
      throw bad(path.string(), str("more than ", kMostTables, " ", kTableFormats));
    }
    sources.push_back({name, (path / name).string(), kind_of(name), path / name});
  }
  if (!sources.empty()) return sources;
  for (const std::string& set : list_folder(path).folders) {  // train/x.npy, test/x.npy
    if (!split_name(set)) continue;
    for (const std::string& name : list_folder(path / set).files) {
      if (!is_table(name) || sources.size() == kMostTables) continue;
      const TreePath file = path / set / name;
      sources.push_back({set + "_" + name, file.string(), kind_of(name), file});
    }
  }
  return sources;
}

// Does the first line hold at least eight numbers?
bool begins_with_numbers(const Source& source) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  constexpr std::ptrdiff_t kLeast = 8;
  if (source.path.status().bytes > kMostBytes) return false;
  Bytes bytes = source.path.read(kMostBytes);
  if (is_gzip(bytes)) bytes = inflate_gzip_front(bytes, std::size_t{1} << 16, source.where);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::vector<std::string_view> fields = fields_of(line, delimiter_of(line));
  return std::count_if(fields.begin(), fields.end(), is_number) >= kLeast;
}

std::optional<Dataset> load_sources(std::vector<Source> sources, const TreePath& path,
                                    const FolderOptions& options) {
  TableLoader loader(options);
  // The training set tells more about its columns than a test set, which may be small.
  std::stable_partition(sources.begin(), sources.end(), [](const Source& source) {
    return set_of(stem_of(source.name)).value_or(Split::train) == Split::train;
  });
  for (const Source& source : sources) loader.add(source);
  return loader.finish(path.string());
}

}  // namespace

bool holds_tables(const TreePath& folder) {
  return !sources_in(folder).empty();
}

std::optional<Dataset> load_tables(const TreePath& path, const FolderOptions& options) {
  std::optional<Dataset> dataset = load_sources(sources_in(path), path, options);
  if (!dataset && !path.is_folder()) {
    throw bad(path.string(), "it holds no labelled images");
  }
  return dataset;
}

std::optional<Dataset> load_texts(const TreePath& folder, const FolderOptions& options) {
  constexpr std::string_view kEndings[] = {".txt", ".data", ".dat", ".train", ".test",
                                           ".tra", ".tes",  ".trn", ".tst"};
  const Listing listing = list_folder(folder);
  if (!listing.folders.empty()) return std::nullopt;
  std::vector<Source> sources;
  for (const std::string& name : listing.files) {
    const std::string file = small(name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name);
    const bool may_be = std::any_of(std::begin(kEndings), std::end(kEndings),
                                    [&](std::string_view end) { return file.ends_with(end); });
    Source source{name, (folder / name).string(), TableKind::csv, folder / name};
    if (may_be && sources.size() < kMostTables && begins_with_numbers(source)) {
      sources.push_back(std::move(source));
    }
  }
  if (sources.empty()) return std::nullopt;
  return load_sources(std::move(sources), folder, options);
}

}  // namespace weft::data
