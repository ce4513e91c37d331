// SPDX-License-Identifier: MIT
#include "data/arrays/hdf5.h"

#include "engine/error.h"

#ifdef WEFT_WITH_HDF5
#include <dlfcn.h>
#include <hdf5.h>

#include <algorithm>
#include <mutex>

#include "data/arrays/hdf5_process.h"
#include "engine/text.h"
#endif

namespace weft::data {

#ifdef WEFT_WITH_HDF5

namespace {

constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, a macro that calls the library
constexpr int kMostDepth = 32;
constexpr std::size_t kMostObjects = 1'000'000;
constexpr std::uint64_t kMostTextBytes = std::uint64_t{64} << 20;
// Deflate makes at most 1032 bytes of one.
constexpr std::uint64_t kMostInflation = 1032, kFewBytes = 4096;

// NAME is a macro where a library has several versions of a function.
#define WEFT_NAME_TEXT(name) #name
#define WEFT_HDF5_CALL(member, name) \
  decltype(&name) member = find<decltype(&name)>(WEFT_NAME_TEXT(name))

// The functions of the library, loaded by the name that it had when Weft was built.
class Library {
 public:
  static const Library& loaded() {
    static const Library library;
    return library;
  }
  const std::string& reason() const { return reason_; }

 private:
  template <class Function>
  Function find(const char* name) {
    if (handle_ == nullptr) return nullptr;
    void* found = dlsym(handle_, name);
    if (found == nullptr) reason_ = str("libhdf5 has no ", name);
    return reinterpret_cast<Function>(found);
  }
  static void* load(std::string& reason) {
    void* handle = dlopen(WEFT_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) reason = str("libhdf5 does not load: ", dlerror());
    return handle;
  }
  // A number of the library's, such as that of a type.
  hid_t id(const char* name) {
    const auto* found = find<const hid_t*>(name);
    return found == nullptr ? H5I_INVALID_HID : *found;
  }

  Library() {
    if (reason_.empty()) silence(H5E_DEFAULT, nullptr, nullptr);
  }

  std::string reason_ = {};
  void* handle_ = load(reason_);

 public:
  WEFT_HDF5_CALL(open, H5open);
  int is_open = open != nullptr ? open() : -1;  // the numbers below are there from now on
  WEFT_HDF5_CALL(silence, H5Eset_auto2);
  WEFT_HDF5_CALL(new_list, H5Pcreate);
  WEFT_HDF5_CALL(close_list, H5Pclose);
  WEFT_HDF5_CALL(in_memory, H5Pset_fapl_core);
  WEFT_HDF5_CALL(set_image, H5Pset_file_image);
  WEFT_HDF5_CALL(open_file, H5Fopen);
  WEFT_HDF5_CALL(close_file, H5Fclose);
  WEFT_HDF5_CALL(open_object, H5Oopen);
  WEFT_HDF5_CALL(close_object, H5Oclose);
  WEFT_HDF5_CALL(kind_of, H5Iget_type);
  WEFT_HDF5_CALL(info_of_group, H5Gget_info);
  WEFT_HDF5_CALL(link_name, H5Lget_name_by_idx);
  WEFT_HDF5_CALL(link_info, H5Lget_info);
  WEFT_HDF5_CALL(attribute_count, H5Aget_num_attrs);
  WEFT_HDF5_CALL(open_attribute, H5Aopen_by_idx);
  WEFT_HDF5_CALL(close_attribute, H5Aclose);
  WEFT_HDF5_CALL(attribute_name, H5Aget_name);
  WEFT_HDF5_CALL(attribute_type, H5Aget_type);
  WEFT_HDF5_CALL(attribute_space, H5Aget_space);
  WEFT_HDF5_CALL(attribute_bytes, H5Aget_storage_size);
  WEFT_HDF5_CALL(read_attribute, H5Aread);
  WEFT_HDF5_CALL(free_texts, H5Dvlen_reclaim);
  WEFT_HDF5_CALL(copy_type, H5Tcopy);
  WEFT_HDF5_CALL(close_type, H5Tclose);
  WEFT_HDF5_CALL(class_of, H5Tget_class);
  WEFT_HDF5_CALL(bytes_of, H5Tget_size);
  WEFT_HDF5_CALL(has_any_length, H5Tis_variable_str);
  WEFT_HDF5_CALL(close_space, H5Sclose);
  WEFT_HDF5_CALL(rank_of, H5Sget_simple_extent_ndims);
  WEFT_HDF5_CALL(extents_of, H5Sget_simple_extent_dims);
  WEFT_HDF5_CALL(count_of, H5Sget_simple_extent_npoints);
  WEFT_HDF5_CALL(dataset_type, H5Dget_type);
  WEFT_HDF5_CALL(dataset_space, H5Dget_space);
  WEFT_HDF5_CALL(dataset_bytes, H5Dget_storage_size);
  WEFT_HDF5_CALL(dataset_list, H5Dget_create_plist);
  WEFT_HDF5_CALL(layout_of, H5Pget_layout);
  WEFT_HDF5_CALL(other_files, H5Pget_external_count);
  WEFT_HDF5_CALL(read_dataset, H5Dread);
  WEFT_HDF5_CALL(set_plugins, H5PLset_loading_state);
  hid_t file_access = id("H5P_CLS_FILE_ACCESS_ID_g");
  hid_t floats = id("H5T_NATIVE_FLOAT_g");
};

// Closes what the library has opened.
class Held {
 public:
  Held(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Held() {
    if (id_ >= 0) close_(id_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor)

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Reader {
 public:
  Reader(std::uint64_t file_bytes, std::uint64_t most_bytes, const std::string& where)
      : left_(most_bytes), file_bytes_(file_bytes), where_(where) {}

  Hdf5Content read(std::span<const std::uint8_t> file) {
    const Held list(h5_.new_list(h5_.file_access), h5_.close_list);
    constexpr std::size_t kStep = 1 << 16;  // by which a file in memory would grow
    check(h5_.in_memory(list, kStep, false));
    // The library copies the bytes, and does not write to them.
    check(h5_.set_image(list, const_cast<std::uint8_t*>(file.data()), file.size()));
    const Held opened(h5_.open_file("weights.h5", kReadOnly, list), h5_.close_file);
    check(opened);
    read_object(opened, "/", "", 0);
    return std::move(content_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ": ", problem));
  }
  // The library has negative numbers for what went wrong.
  std::int64_t check(std::int64_t result) const {
    if (result < 0) fail("is a damaged HDF5 file");
    return result;
  }

  // `path` begins with "/"; that of the root is empty.
  void read_object(hid_t parent, const char* name, const std::string& path, int depth) {
    if (depth > kMostDepth || ++objects_ > kMostObjects) fail("its HDF5 groups lie too deep");
    const Held object(h5_.open_object(parent, name, H5P_DEFAULT), h5_.close_object);
    check(object);
    const H5I_type_t kind = h5_.kind_of(object);
    if (kind == H5I_GROUP) {
      read_texts(object, path);
      read_group(object, path, depth);
    } else if (kind == H5I_DATASET) {
      read_array(object, path);
    }
  }

  void read_group(hid_t group, const std::string& path, int depth) {
    H5G_info_t info{};
    check(h5_.info_of_group(group, &info));
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const auto named = [&](char* to, std::size_t room) {
        return h5_.link_name(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, to, room, H5P_DEFAULT);
      };
      std::string name(static_cast<std::size_t>(check(named(nullptr, 0))), '\0');
      if (name.size() > kMostTextBytes) fail("is a damaged HDF5 file");
      check(named(name.data(), name.size() + 1));
      H5L_info_t link{};
      check(h5_.link_info(group, name.c_str(), &link, H5P_DEFAULT));
      if (link.type != H5L_TYPE_HARD) {
        fail(str("its ", in_quotes(path + "/" + name), " is a link, which Weft does not follow"));
      }
      read_object(group, name.c_str(), path + "/" + name, depth + 1);
    }
  }

  void read_texts(hid_t object, const std::string& path) {
    const auto count = static_cast<int>(check(h5_.attribute_count(object)));
    for (int i = 0; i < count; ++i) {
      const Held attribute(h5_.open_attribute(object, ".", H5_INDEX_NAME, H5_ITER_INC,
                                              static_cast<hsize_t>(i), H5P_DEFAULT, H5P_DEFAULT),
                           h5_.close_attribute);
      check(attribute);
      const Held type(h5_.attribute_type(attribute), h5_.close_type);
      if (h5_.class_of(check(type)) != H5T_STRING) continue;
      std::string name(static_cast<std::size_t>(check(h5_.attribute_name(attribute, 0, nullptr))),
                       '\0');
      check(h5_.attribute_name(attribute, name.size() + 1, name.data()));
      content_.texts[path + "@" + name] = texts_in(attribute, type);
    }
  }

  std::vector<std::string> texts_in(hid_t attribute, hid_t type) {
    const Held space(h5_.attribute_space(attribute), h5_.close_space);
    check(space);
    const auto count = static_cast<std::size_t>(check(h5_.count_of(space)));
    const std::size_t each = h5_.bytes_of(type);
    text_bytes_ += h5_.attribute_bytes(attribute) + count * 64;
    if (each == 0 || count > kMostTextBytes / each || text_bytes_ > kMostTextBytes) {
      fail("its attributes are larger than 64 MiB");
    }
    std::vector<std::string> texts;
    if (check(h5_.has_any_length(type)) > 0) {
      std::vector<char*> found(count, nullptr);
      check(h5_.read_attribute(attribute, type, found.data()));
      for (const char* text : found) texts.emplace_back(text == nullptr ? "" : text);
      check(h5_.free_texts(type, space, H5P_DEFAULT, found.data()));
      return texts;
    }
    std::string all(count * each, '\0');
    check(h5_.read_attribute(attribute, type, all.data()));
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = all.substr(i * each, each);
      texts.push_back(text.substr(0, text.find('\0')));
    }
    return texts;
  }

  void read_array(hid_t dataset, const std::string& path) {
    const Held type(h5_.dataset_type(dataset), h5_.close_type);
    if (h5_.class_of(check(type)) != H5T_FLOAT) return;  // counters and seeds
    const Held space(h5_.dataset_space(dataset), h5_.close_space);
    const Held list(h5_.dataset_list(dataset), h5_.close_list);
    if (h5_.layout_of(check(list)) == H5D_VIRTUAL || h5_.other_files(list) != 0) {
      fail(str("its ", in_quotes(path), " lies in another file"));
    }
    Hdf5Array array{path, {}, {}};
    const auto rank = static_cast<std::size_t>(check(h5_.rank_of(check(space))));
    std::vector<hsize_t> extents(rank);
    check(h5_.extents_of(space, extents.data(), nullptr));
    std::uint64_t count = 1;
    for (const hsize_t extent : extents) {
      array.shape.push_back(static_cast<std::int64_t>(extent));
      if (__builtin_mul_overflow(count, extent, &count) || count > left_) {
        fail(str("its numbers are larger than ", left_, " bytes"));
      }
    }
    const std::uint64_t bytes = count * sizeof(float);
    const std::uint64_t stored = std::min<std::uint64_t>(h5_.dataset_bytes(dataset), file_bytes_);
    if (bytes > left_ || bytes > kFewBytes + 4 * kMostInflation * stored) {
      fail(str("its ", in_quotes(path), " claims ", count,
               " numbers, which the file does not hold"));
    }
    left_ -= bytes;
    array.values.resize(count);
    check(
        h5_.read_dataset(dataset, h5_.floats, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()));
    content_.arrays.push_back(std::move(array));
  }

  const Library& h5_ = Library::loaded();
  Hdf5Content content_;
  std::uint64_t left_, file_bytes_, text_bytes_ = 0;
  std::size_t objects_ = 0;
  const std::string& where_;
};

}  // namespace

std::string no_hdf5_reason() {
  return Library::loaded().reason();
}

Hdf5Content read_hdf5(std::span<const std::uint8_t> file, std::uint64_t most_bytes,
                      const std::string& where) {
  static std::mutex one_at_a_time;  // the library has no threads
  const std::lock_guard lock(one_at_a_time);
  if (const std::string reason = no_hdf5_reason(); !reason.empty()) {
    throw Error(ErrorKind::usage, str(where, ": is an HDF5 file: ", reason));
  }
  Library::loaded().set_plugins(0);  // no filter of another library
  return in_own_process([&] { return Reader(file.size(), most_bytes, where).read(file); }, where);
}

#else

std::string no_hdf5_reason() {
  return "this program was built without libhdf5: install libhdf5-dev and build it again";
}

Hdf5Content read_hdf5(std::span<const std::uint8_t>, std::uint64_t, const std::string& where) {
  throw Error(ErrorKind::usage, str(where, ": is an HDF5 file: ", no_hdf5_reason()));
}

#endif

}  // namespace weft::data
