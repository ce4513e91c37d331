// SPDX-License-Identifier: MIT
#include "data/labels/picture_labels.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "data/arrays/unicode.h"
#include "data/files/counted.h"
#include "data/folder/layout.h"
#include "data/labels/label_table.h"
#include "data/labels/labelled_pictures.h"
#include "data/labels/picture_index.h"
#include "data/labels/split_lists.h"
#include "data/picture/image.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::size_t kMostLabelTableBytes = std::size_t{256} << 20;
constexpr std::size_t kMostLabelTables = 100;

Error refusal(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", printable(what)));
}

std::optional<Split> set_of_field(std::string_view field, bool is_flag) {
  if (is_flag) {
    const bool yes = field == "1" || field == "True" || field == "true" || field == "TRUE";
    return yes ? Split::validation : Split::train;
  }
  for (const std::string& word : words_of(field)) {
    if (const std::optional<Split> set = split_of(word)) return set;
  }
  return std::nullopt;
}

class TableLabels {
 public:
  // `classes`: those that labels have to be, or none where any will do.
  TableLabels(const TreePath& folder, const FolderOptions& options, PictureIndex index,
              std::set<std::string, std::less<>> classes = {})
      : folder_(folder),
        options_(options),
        index_(std::move(index)),
        classes_(std::move(classes)) {}

  // False when the table names no pictures.
  bool add(const std::string& name) {
    const TreePath path = folder_ / name;
    LabelTable table{.where = path.string(), .name = name};
    const std::size_t slash = name.rfind('/') + 1;  // 0 where there is none
    for (const std::string& word : words_of(std::string_view(name).substr(slash))) {
      if (word == "submission") return false;  // Kaggle's example has labels that mean nothing
      if (!table.split) table.split = split_of(word);
    }
    if (!table.split) table.split = set_of_folders(name);
    if (path.status().bytes > kMostLabelTableBytes) return false;
    const Bytes bytes = from_utf16(path.read(kMostLabelTableBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (is_label_json(name)) {
      if (has_table_) return false;  // beside a table it says something else
      if (!read_label_json(text, table) || !find_pictures(table)) return false;
    } else {
      constexpr std::size_t kSample = 200;
      table.rows = label_rows(text, kSample);
      if (!find_pictures(table) || !is_plain_list(table)) return false;
      table.rows = label_rows(text, text.size());
      if (!table.header.empty()) table.rows.erase(table.rows.begin());
    }
    if (!find_label(table, options_.label_column, classes_)) {
      say(str("passed over ", table.where, ", which has no labels"));
      return true;
    }
    for (const LabelRow& row : table.rows) take(row, table);
    has_table_ = has_table_ || !is_label_json(name);
    say(str("labels are in ", table.where, ", ", label_columns(table)));
    return true;
  }

  void add(PictureFile file, std::string label, Split set) {
    labelled_.try_emplace(file.path, Labelled{file, std::move(label), set});
  }

  bool empty() const { return labelled_.empty(); }

  std::optional<PictureTree> finish(PictureTree tree) {
    if (labelled_.empty()) return std::nullopt;
    std::vector<Labelled> pictures;
    for (auto& [path, labelled] : labelled_) pictures.push_back(std::move(labelled));
    const std::size_t unnamed = index_.files().size() - std::min(named_, index_.files().size());
    if (unnamed > 0)
      say(str("passed over ", counted(unnamed, "picture"), " that no table gives a label"));
    return tree_of(std::move(tree), std::move(pictures), options_.holding, folder_.string());
  }

 private:
  void say(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  static std::string label_columns(const LabelTable& table) {
    if (!table.one_hot.empty()) return str(table.one_hot.size(), " columns of 0 and 1");
    return str("column ", table.header.empty() ? std::to_string(table.label + 1)
                                               : shown(table.header[table.label]));
  }

  // A text file may list anything. Its lines are labels where they are a path and one word more, or
  // where the classes are known.
  bool is_plain_list(const LabelTable& table) const {
    if (!table.name.ends_with(".txt") || !classes_.empty()) return true;
    return table.pictures == 0 && table.rows.front().fields.size() == 2;
  }

  // The column of which most fields name pictures: half of a sample at least, and nearly all of
  // them different ones, which the values of pixels are not. The first line may be a header.
  bool find_pictures(LabelTable& table) const {
    if (table.rows.empty()) return false;
    constexpr std::size_t kMostColumns = 100;
    const std::vector<std::string_view> first = table.rows.front().fields;
    std::size_t best = 0;
    bool is_header = false;
    for (std::size_t column = 0; column < std::min(first.size(), kMostColumns); ++column) {
      std::set<std::size_t> pictures;
      bool first_names = false;
      for (const LabelRow& row : table.rows) {
        if (column >= row.fields.size() || row.fields[column].empty()) continue;
        const std::vector<std::size_t> found = index_.find(row.fields[column], table.split);
        if (found.size() != 1) continue;
        pictures.insert(found.front());
        first_names = first_names || &row == &table.rows.front();
      }
      if (pictures.size() <= best) continue;
      best = pictures.size();
      table.pictures = column;
      is_header = !first_names;
    }
    if (best == 0 || 2 * best + 1 < table.rows.size()) return false;
    if (is_header) {
      table.header = first;
      table.rows.erase(table.rows.begin());
    }
    return !table.rows.empty();
  }

  void take(const LabelRow& row, const LabelTable& table) {
    const auto bad_row = [&](const std::string& what) {
      return refusal(table.where, str("line ", row.line, ": ", what));
    };
    const std::size_t last = std::max({table.pictures, table.label, table.set.value_or(0)});
    if (row.fields.size() <= last) throw bad_row(str(row.fields.size(), " fields, too few"));
    const std::string_view name = row.fields[table.pictures], label = table.label_of(row);
    if (label.empty()) throw bad_row("an empty label");
    std::optional<Split> set = table.split;
    if (table.set) {
      const std::string_view field = row.fields[*table.set];
      set = set_of_field(field, is_validation_flag(table.header[*table.set]));
      if (!set) throw bad_row(str("expected the name of a set, found ", shown(field)));
    }
    const std::vector<std::size_t> found = index_.find(name, set);
    if (found.size() > 1) {
      throw bad_row(str(shown(name), " may be ", index_.files()[found[0]].path, " or ",
                        index_.files()[found[1]].path));
    }
    PictureFile file;
    file.path = name;
    if (found.empty()) {
      file.problem = str(table.where, ": line ", row.line, ": there is no picture ", shown(name));
    } else {
      file = index_.files()[found.front()];
    }
    if (!set) set = set_of_folders(file.path);
    const auto [at, is_new] = labelled_.try_emplace(
        file.path, Labelled{file, std::string(label), set.value_or(Split::train)});
    if (is_new) named_ += !found.empty();
    if (!is_new && at->second.label != label) {
      throw bad_row(str(shown(name), " has the label ", shown(label), " here, and ",
                        shown(at->second.label), " in another row"));
    }
  }

  const TreePath& folder_;
  const FolderOptions& options_;
  PictureIndex index_;
  std::set<std::string, std::less<>> classes_;
  std::map<std::string, Labelled> labelled_;  // by path
  std::size_t named_ = 0;                     // pictures
  bool has_table_ = false;                    // and not only JSON
};

// The folders of a split, or nothing where the folders are classes or no split that can be read.
std::optional<SplitFolders> split_in(const TreePath& folder) {
  try {
    std::vector<std::string> ignored;
    return find_split(folder, ignored);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_table(const std::string& name) {
  return name.ends_with(".csv") || name.ends_with(".tsv");
}

// Beside folders of classes other files may say other things of the pictures.
bool is_surely_of_labels(const std::string& name) {
  if (!is_label_json(name)) return is_table(name);
  const std::vector<std::string> words = words_of(name);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "labels" || word == "dataset" || word == "metadata";
  });
}

// The tables in a folder; `prefix` is put before their names. What is not surely a table comes
// later.
std::vector<std::string> tables_in(const TreePath& folder, const std::string& prefix) {
  std::vector<std::string> tables, others;
  for (const std::string& name : list_folder(folder).files) {
    if (is_table(name)) tables.push_back(prefix + name);
    if (is_label_json(name) || name.ends_with(".txt")) others.push_back(prefix + name);
  }
  tables.insert(tables.end(), others.begin(), others.end());
  return tables;
}

// The tables in the folders of a folder.
std::vector<std::string> tables_below(const TreePath& folder) {
  std::vector<std::string> tables;
  for (const std::string& name : list_folder(folder).folders) {
    std::vector<std::string> inner = tables_in(folder / name, name + "/");
    if (inner.size() > kMostLabelTables) continue;  // a file for each picture
    tables.insert(tables.end(), inner.begin(), inner.end());
  }
  return tables;
}

// Do the folders of the pictures tell no class, since they all are one, or sets?
bool are_in_no_classes(const std::vector<PictureFile>& files) {
  std::set<std::string> folders;
  for (const PictureFile& file : files) {
    const std::size_t end = file.path.rfind('/');
    const std::string folder = end == file.path.npos ? "" : file.path.substr(0, end);
    if (!set_of_folders(file.path)) folders.insert(folder);
  }
  return folders.size() <= 1;
}

// Labels in files of their own beside KEY.jpg: KEY.cls, or an object with a label in KEY.json.
std::optional<PictureTree> pictures_by_label_files(const TreePath& folder,
                                                   const FolderOptions& options) {
  constexpr std::size_t kMostBytes = 1 << 16;
  const std::vector<std::string> files = list_folder(folder).files;
  std::set<std::string, std::less<>> keys;
  std::string ending = ".cls";
  for (const std::string_view found : {".cls", ".json"}) {
    for (const std::string& name : files) {
      if (name.ends_with(found)) keys.insert(name.substr(0, name.size() - found.size()));
    }
    ending = found;
    if (!keys.empty()) break;
  }
  PictureTree tree;
  TableLabels labels(folder, options, PictureIndex({}));
  std::vector<PictureFile> pictures;
  std::vector<std::string> paths;
  if (keys.empty()) return std::nullopt;
  for (PictureFile& file : pictures_below(folder, tree)) {
    const std::string key = file.path.substr(0, file.path.find('.', file.path.rfind('/') + 1));
    if (!keys.contains(key)) continue;
    pictures.push_back(std::move(file));
    paths.push_back(key + ending);
  }
  tree.left_out.clear();
  // One pass over an archive reads all of them.
  const std::unique_ptr<FileStream> stream = folder.open(paths, kMostBytes);
  while (std::optional<FileStream::File> file = stream->next()) {
    if (!file->problem.empty()) throw Error(ErrorKind::data, file->problem);
    std::string label(file->bytes.begin(), file->bytes.end());
    if (ending == ".json") label = label_in_json(label);
    label.erase(label.find_last_not_of(" \t\r\n") + 1);
    const std::string& path = paths[file->index];
    if (label.empty() && ending == ".json") return std::nullopt;  // it says something else
    if (label.empty()) throw refusal((folder / path).string(), "an empty label");
    labels.add(std::move(pictures[file->index]), std::move(label), Split::train);
  }
  return labels.finish(std::move(tree));
}

// train/ has folders of classes. Tables tell what the pictures of the other sets show, where these
// have none.
std::optional<PictureTree> pictures_by_both(const TreePath& folder, const std::string& train,
                                            const FolderOptions& options) {
  const std::vector<std::string> names = list_folder(folder / train).folders;
  std::set<std::string, std::less<>> classes(names.begin(), names.end());
  const auto has_a_class = [&](const TreePath& set) {
    const std::vector<std::string> folders = list_folder(set).folders;
    return std::any_of(folders.begin(), folders.end(),
                       [&](const std::string& name) { return classes.contains(name); });
  };
  std::vector<std::string> tables;
  std::set<std::string> without_classes;
  for (const std::string& name : list_folder(folder).folders) {
    if (name == train || !split_name(name) || has_a_class(folder / name)) continue;
    without_classes.insert(name);
    for (std::string& table : tables_in(folder / name, name + "/")) {
      tables.push_back(std::move(table));
    }
  }
  if (without_classes.empty()) return std::nullopt;
  for (std::string& table : tables_in(folder, "")) tables.push_back(std::move(table));
  if (tables.empty() || tables.size() > kMostLabelTables) return std::nullopt;
  PictureTree tree;
  std::vector<PictureFile> unlabelled, in_classes;
  for (PictureFile& file : pictures_below(folder, tree)) {
    const std::string set = file.path.substr(0, file.path.find('/'));
    (without_classes.contains(set) ? unlabelled : in_classes).push_back(std::move(file));
  }
  TableLabels labels(folder, options, PictureIndex(std::move(unlabelled)), classes);
  for (const std::string& name : tables) labels.add(name);
  if (labels.empty()) return std::nullopt;
  for (PictureFile& file : in_classes) {
    const std::size_t first = file.path.find('/');
    const std::size_t second = first == file.path.npos ? first : file.path.find('/', first + 1);
    if (second == file.path.npos) continue;
    const std::optional<SplitName> set = split_name(file.path.substr(0, first));
    const std::string name = file.path.substr(first + 1, second - first - 1);
    if (set && classes.contains(name)) labels.add(std::move(file), name, set->split);
  }
  tree.left_out.clear();
  return labels.finish(std::move(tree));
}

}  // namespace

std::optional<PictureTree> pictures_by_table(const TreePath& folder, const FolderOptions& options) {
  if (const std::optional<SplitFolders> split = split_in(folder)) {
    return pictures_by_both(folder, (*split)[static_cast<std::size_t>(Split::train)], options);
  }
  if (std::optional<PictureTree> tree = pictures_by_label_files(folder, options)) return tree;
  PictureTree tree;
  std::vector<PictureFile> files = pictures_below(folder, tree);
  if (files.empty()) return std::nullopt;
  tree.left_out.clear();  // what else lies there is no matter
  const bool tell_no_classes = are_in_no_classes(files);
  std::vector<std::string> tables = tables_in(folder, ""), below = tables_below(folder);
  if (!tell_no_classes) {
    std::vector<std::string> lists;
    for (const auto* names : {&tables, &below}) {
      std::copy_if(names->begin(), names->end(), std::back_inserter(lists),
                   [](const std::string& name) { return name.ends_with(".txt"); });
    }
    if (auto split = pictures_by_split_lists(folder, files, lists, tree, options)) return split;
    std::erase_if(tables, std::not_fn(is_surely_of_labels));
  }
  if (tables.size() > kMostLabelTables) return std::nullopt;
  TableLabels labels(folder, options, PictureIndex(std::move(files)));
  for (const std::string& name : tables) labels.add(name);
  // Where the pictures lie in no folders of classes, a folder may have its table with them.
  if (labels.empty() && tell_no_classes && below.size() <= kMostLabelTables) {
    for (const std::string& name : below) labels.add(name);
  }
  return labels.finish(std::move(tree));
}

}  // namespace weft::data
