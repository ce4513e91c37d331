// SPDX-License-Identifier: MIT
#include "data/tables/picture_labels.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "data/arrays/number_fields.h"
#include "data/folder/layout.h"
#include "data/picture/image.h"
#include "data/tables/csv_columns.h"
#include "data/tables/labelled_pictures.h"
#include "data/tables/picture_index.h"
#include "engine/error.h"
#include "engine/text.h"

namespace weft::data {
namespace {

constexpr std::size_t kMostLabelTableBytes = std::size_t{256} << 20;
constexpr std::size_t kMostLabelTables = 100;

Error refusal(const std::string& where, const std::string& what) {
  return Error(ErrorKind::data, str(where, ": ", printable(what)));
}

struct Row {
  std::size_t line;
  std::vector<std::string_view> fields;
};

struct LabelTable {
  std::string where, name;
  std::vector<std::string_view> header = {};  // empty where there is none
  std::vector<Row> rows = {};
  std::size_t pictures = 0, label = 0;  // columns
  std::optional<std::size_t> set = {};  // a column
  std::optional<Split> split = {};      // of the table, by its name
};

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
    for (const std::string& word : words_of(name)) {
      if (word == "submission") return false;  // Kaggle's example has labels that mean nothing
      if (!table.split) table.split = split_of(word);
    }
    if (path.status().bytes > kMostLabelTableBytes) return false;
    const Bytes bytes = path.read(kMostLabelTableBytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    constexpr std::size_t kSample = 200;
    table.rows = rows_of(text, kSample);
    if (!find_pictures(table) || !is_plain_list(table)) return false;
    table.rows = rows_of(text, text.size());
    if (!table.header.empty()) table.rows.erase(table.rows.begin());
    if (!find_label(table)) {
      say(str("passed over ", table.where, ", which has no labels"));
      return true;
    }
    for (const Row& row : table.rows) take(row, table);
    say(str(
        "labels are in ", table.where, ", column ",
        table.header.empty() ? std::to_string(table.label + 1) : shown(table.header[table.label])));
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
    if (unnamed > 0) say(str("passed over ", unnamed, " pictures that no table gives a label"));
    return tree_of(std::move(tree), std::move(pictures), options_.holding, folder_.string());
  }

 private:
  void say(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  static std::vector<Row> rows_of(std::string_view text, std::size_t most) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    std::vector<Row> rows;
    char delimiter = 0;
    for (std::size_t line = 1; !text.empty() && rows.size() < most; ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view row = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (std::all_of(row.begin(), row.end(), is_blank)) continue;
      if (delimiter == 0) delimiter = delimiter_of(row);
      rows.push_back({line, fields_of(row, delimiter)});
    }
    return rows;
  }

  // A text file may list anything. Its lines are labels where they are a path and one word more, or
  // where the classes are known.
  bool is_plain_list(const LabelTable& table) const {
    if (!table.name.ends_with(".txt") || !classes_.empty()) return true;
    return table.pictures == 0 && table.rows.front().fields.size() == 2;
  }

  // Are all labels of a sample in this column known classes?
  bool holds_classes(const LabelTable& table, std::size_t column) const {
    return !classes_.empty() &&
           std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
             return column < row.fields.size() && classes_.contains(row.fields[column]);
           });
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
      for (const Row& row : table.rows) {
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

  // False when no column is left for it.
  bool find_label(LabelTable& table) const {
    const std::size_t columns = table.rows.front().fields.size();
    std::vector<std::size_t> others;
    std::optional<std::size_t> named;
    for (std::size_t c = 0; c < std::max(columns, table.header.size()); ++c) {
      const std::string_view name = c < table.header.size() ? table.header[c] : "";
      if (c == table.pictures) continue;
      if (is_set_column(name) || is_flag(name)) {
        table.set = c;
      } else if ((is_label_column(name) || holds_classes(table, c)) && !named) {
        named = c;
      } else if (table.header.empty() || !is_unused_column(name)) {
        others.push_back(c);
      }
    }
    if (!options_.label_column.empty()) {
      table.label = asked_column(table, columns);
    } else if (named) {
      table.label = *named;
    } else if (others.size() == 1) {
      table.label = others.front();
    } else if (others.empty()) {
      return false;
    } else {
      throw refusal(table.where, str("which of its columns is the label? --label NAME says so: ",
                                     names_of(table, others)));
    }
    return true;
  }

  static bool is_flag(std::string_view name) { return name == "is_valid" || name == "is_val"; }

  static std::string names_of(const LabelTable& table, const std::vector<std::size_t>& columns) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(columns.size(), 8); ++i) {
      if (i > 0) names += ", ";
      names += table.header.empty() ? std::to_string(columns[i] + 1)
                                    : std::string(table.header[columns[i]]);
    }
    return names + (columns.size() > 8 ? ", ..." : "");
  }

  std::size_t asked_column(const LabelTable& table, std::size_t columns) const {
    if (options_.label_column == "first") return 0;
    if (options_.label_column == "last") return columns - 1;
    const auto found = std::find(table.header.begin(), table.header.end(), options_.label_column);
    if (found == table.header.end()) {
      throw Error(ErrorKind::usage, str(table.where, ": --label: there is no column ",
                                        shown(options_.label_column), " in the header"));
    }
    return static_cast<std::size_t>(found - table.header.begin());
  }

  void take(const Row& row, const LabelTable& table) {
    const auto bad_row = [&](const std::string& what) {
      return refusal(table.where, str("line ", row.line, ": ", what));
    };
    const std::size_t last = std::max({table.pictures, table.label, table.set.value_or(0)});
    if (row.fields.size() <= last) throw bad_row(str(row.fields.size(), " fields, too few"));
    const std::string_view name = row.fields[table.pictures], label = row.fields[table.label];
    if (label.empty()) throw bad_row("an empty label");
    std::optional<Split> set = table.split;
    if (table.set) {
      const std::string_view field = row.fields[*table.set];
      set = set_of_field(field, is_flag(table.header[*table.set]));
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

// The tables in a folder; `prefix` is put before their names. Lists come after what is surely a
// table.
std::vector<std::string> tables_in(const TreePath& folder, const std::string& prefix, bool lists) {
  std::vector<std::string> tables, texts;
  for (const std::string& name : list_folder(folder).files) {
    if (is_table(name)) tables.push_back(prefix + name);
    if (lists && name.ends_with(".txt")) texts.push_back(prefix + name);
  }
  tables.insert(tables.end(), texts.begin(), texts.end());
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

// Labels in files of their own, KEY.cls beside KEY.jpg.
std::optional<PictureTree> pictures_by_label_files(const TreePath& folder,
                                                   const FolderOptions& options) {
  constexpr std::size_t kMostBytes = 1024;
  std::set<std::string, std::less<>> keys;
  for (const std::string& name : list_folder(folder).files) {
    if (name.ends_with(".cls")) keys.insert(name.substr(0, name.size() - 4));
  }
  if (keys.empty()) return std::nullopt;
  PictureTree tree;
  TableLabels labels(folder, options, PictureIndex({}));
  for (PictureFile& file : pictures_below(folder, tree)) {
    const std::string key = file.path.substr(0, file.path.find('.', file.path.rfind('/') + 1));
    if (!keys.contains(key)) continue;
    const Bytes bytes = (folder / (key + ".cls")).read(kMostBytes);
    std::string label(bytes.begin(), bytes.end());
    label.erase(label.find_last_not_of(" \t\r\n") + 1);
    if (label.empty()) throw refusal((folder / (key + ".cls")).string(), "an empty label");
    labels.add(std::move(file), std::move(label), Split::train);
  }
  tree.left_out.clear();
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
    for (std::string& table : tables_in(folder / name, name + "/", true)) {
      tables.push_back(std::move(table));
    }
  }
  if (without_classes.empty()) return std::nullopt;
  for (std::string& table : tables_in(folder, "", true)) tables.push_back(std::move(table));
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
  std::vector<std::string> tables = tables_in(folder, "", true);
  if (tables.empty() || tables.size() > kMostLabelTables) return std::nullopt;
  PictureTree tree;
  std::vector<PictureFile> files = pictures_below(folder, tree);
  if (files.empty()) return std::nullopt;
  tree.left_out.clear();  // what else lies there is no matter
  if (!are_in_no_classes(files)) std::erase_if(tables, std::not_fn(is_table));
  TableLabels labels(folder, options, PictureIndex(std::move(files)));
  for (const std::string& name : tables) labels.add(name);
  return labels.finish(std::move(tree));
}

}  // namespace weft::data
