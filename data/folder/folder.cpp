// SPDX-License-Identifier: MIT
#include "data/folder/folder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "data/files/counted.h"
#include "data/files/host_memory.h"
#include "data/folder/cache.h"
#include "data/folder/layout.h"
#include "data/sets/statistics.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kGreySide = 28, kColourSide = 32;
// The pixels are there three times: as they were read, in the cache or on the CPU device, and in
// their training and validation part.
constexpr int kCopies = 3;

// What decoding a picture showed.
struct Look {
  std::int64_t width = 0, height = 0;  // 0: it was not decoded
  bool has_colour = false;             // somewhere red, green and blue differ
  SampleDepth depth = {};              // when it is a PNG of 16 bits a sample
  std::string problem = {};            // why it cannot be read, or ""
  bool has_bytes = true;               // else the file was not read, which may pass
};

// The pictures of the three sets as one list; the training set comes first.
std::vector<const PictureFile*> all_of(const PictureTree& tree) {
  std::vector<const PictureFile*> files;
  for (const auto* set : {&tree.train, &tree.validation, &tree.test}) {
    for (const PictureFile& file : *set) files.push_back(&file);
  }
  return files;
}

// Runs work(file) for all files of a stream on every core. The caller's thread reports how many are
// done.
template <class Work>
void on_all_cores(FileStream& stream, std::size_t count, const FolderOptions& options, Work work) {
  std::atomic<std::size_t> done{0};
  std::atomic<bool> ends{false};
  std::exception_ptr failure;
  std::mutex guard;
  const auto run = [&](bool reports) {
    try {
      for (; !ends; ++done) {
        const std::optional<FileStream::File> file = stream.next();
        if (!file) return;
        work(*file);
        if (reports && options.progress) {
          options.progress(static_cast<std::int64_t>(done) + 1, static_cast<std::int64_t>(count));
        }
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      failure = std::current_exception();
      ends = true;
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
    helpers.emplace_back(run, false);
  run(true);
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
  // Also where the helpers were quicker than this thread, which may have done none.
  if (options.progress && count > 0) {
    options.progress(static_cast<std::int64_t>(count), static_cast<std::int64_t>(count));
  }
}

// One number for all pictures, or a dark one would be scaled as no other. 0 when nothing asks for
// one.
int sample_bits_for(const std::vector<Look>& looks, std::size_t training) {
  int peak = -1, stated = 0;
  for (std::size_t i = 0; i < (training == 0 ? looks.size() : training); ++i) {
    const SampleDepth& depth = looks[i].depth;
    if (depth.bits == 0) continue;
    if (depth.source == SampleDepth::Source::file) {
      stated = std::max(stated, depth.bits);
    } else {
      peak = std::max(peak, depth.peak);
    }
  }
  return peak >= 0 ? bits_for_peak(peak) : stated;
}

// The shape that the looks, of all pictures or of some, ask for where the options leave it open.
// The first `training` of them are training pictures, or all when there are none.
PictureShape shape_for(const PictureShape& wanted, const std::vector<Look>& looks,
                       std::size_t training) {
  PictureShape shape = wanted;
  bool has_colour = false, same_size = true;
  const Look* first = nullptr;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const Look& look = looks[i];
    if (look.width == 0) continue;
    if (training == 0 || i < training) has_colour = has_colour || look.has_colour;
    if (first == nullptr) first = &look;
    same_size = same_size && look.width == first->width && look.height == first->height;
  }
  if (shape.channels == 0) shape.channels = has_colour ? 3 : 1;
  if (shape.sample_bits == 0) shape.sample_bits = sample_bits_for(looks, training);
  if (shape.height == 0) {
    const bool keeps = first != nullptr && same_size && first->width <= kMaxKeptSide &&
                       first->height <= kMaxKeptSide;
    const std::int64_t side = shape.channels == 3 ? kColourSide : kGreySide;
    shape.height = keeps ? first->height : side;
    shape.width = keeps ? first->width : side;
  }
  return shape;
}

class Decoder {
 public:
  Decoder(const TreePath& folder, const PictureTree& tree, const FolderOptions& options)
      : folder_(folder),
        options_(options),
        files_(all_of(tree)),
        training_(tree.train.size()),
        looks_(files_.size()),
        parts_{tree.train.size(), tree.validation.size(), tree.test.size()} {}

  // A guess from a few pictures decides the shape that all are decoded to. When the others show
  // that it was wrong, they are decoded once more.
  DecodedPictures decode() {
    PictureShape shape = guess();
    while (true) {
      decode_to(shape);
      const PictureShape right = shape_for(options_.shape, looks_, training_);
      if (right == shape) return sets(shape);
      shape = right;
    }
  }

 private:
  PictureShape guess() {
    constexpr std::size_t kLooks = 32;
    if (options_.shape.channels > 0 && options_.shape.height > 0) return options_.shape;
    const std::size_t count = std::min(kLooks, files_.size());
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(i * files_.size() / count);
    std::vector<Look> looks(count);
    read(chosen, {3, 1, 1}, {}, [&](std::size_t i, Look look, const Bytes&) { looks[i] = look; });
    return shape_for(options_.shape, looks, 0);
  }

  // Calls take(i, look, planes) for each of the chosen files, chosen[i], on every core. `shape` has
  // all its extents.
  template <class Take>
  void read(const std::vector<std::size_t>& chosen, const PictureShape& shape,
            const FolderOptions& options, Take take) const {
    std::vector<std::size_t> places;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const PictureFile& file = *files_[chosen[i]];
      if (!file.problem.empty()) {
        Look broken;
        broken.problem = file.problem;
        take(i, broken, {});
        continue;
      }
      places.push_back(i);
      paths.push_back(file.path);
    }
    const std::unique_ptr<FileStream> stream = folder_.open(std::move(paths), kMaxImageFileBytes);
    on_all_cores(*stream, places.size(), options, [&](const FileStream::File& file) {
      const std::size_t place = places[file.index];
      Bytes planes;
      const Look look = decode(file, *files_[chosen[place]], shape, planes);
      take(place, look, planes);
    });
  }

  Look decode(const FileStream::File& file, const PictureFile& picture, const PictureShape& shape,
              Bytes& planes) const {
    Look broken;
    broken.problem = file.problem;
    broken.has_bytes = file.problem.empty();
    if (!broken.has_bytes) return broken;
    try {
      FittedFile fitted =
          decode_fitted(file.bytes, (folder_ / picture.path).string(), shape.channels, shape.height,
                        shape.width, shape.fit, shape.sample_bits);
      planes = fitted.planes;
      return {fitted.width, fitted.height, fitted.has_colour, fitted.depth};
    } catch (const Error& error) {
      broken.problem = error.what();
      return broken;
    }
  }

  void decode_to(const PictureShape& shape) {
    const auto bytes = static_cast<std::size_t>(shape.channels * shape.height * shape.width);
    require_room(str(counted(files_.size(), "picture"), " of ", shape.channels, " x ", shape.height,
                     " x ", shape.width, " pixels"),
                 static_cast<std::uint64_t>(files_.size()) * bytes, kCopies,
                 host_room(options_.memory), "choose a smaller --image-size, or fewer pictures");
    for (std::size_t part = 0; part < std::size(parts_); ++part) {
      ImageSet& set = sets_[part];
      set.channels = shape.channels;
      set.height = shape.height;
      set.width = shape.width;
      set.images.clear();
      set.images.resize(parts_[part] * bytes);
    }
    std::vector<std::size_t> all(files_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    read(all, shape, options_, [&](std::size_t i, Look look, const Bytes& planes) {
      if (look.width != 0) std::copy(planes.begin(), planes.end(), place_of(i));
      looks_[i] = std::move(look);
    });
  }

  // Where the pixels of a file go.
  std::uint8_t* place_of(std::size_t file) {
    std::size_t part = 0;
    while (file >= parts_[part]) file -= parts_[part++];
    return sets_[part].images.data() + file * static_cast<std::size_t>(sets_[part].pixels());
  }

  DecodedPictures sets(const PictureShape& shape) {
    DecodedPictures result;
    result.sample_bits = shape.sample_bits;
    for (const Look& look : looks_) {
      const bool is_stated = look.depth.source == SampleDepth::Source::file;
      if (look.depth.bits == 0 || look.depth.bits == 16) continue;
      ++(is_stated ? result.stated_depths : result.found_depths);
    }
    std::size_t begin = 0;
    for (std::size_t part = 0; part < std::size(parts_); begin += parts_[part++]) {
      take_read(sets_[part], begin, parts_[part], result);
    }
    result.train = std::move(sets_[0]);
    result.validation = std::move(sets_[1]);
    result.test = std::move(sets_[2]);
    std::sort(result.skipped.begin(), result.skipped.end());
    return result;
  }

  // Labels the images of a part, whose files begin at `begin`. They move together where pictures
  // could not be read.
  void take_read(ImageSet& set, std::size_t begin, std::size_t files, DecodedPictures& result) {
    const auto bytes = static_cast<std::size_t>(set.pixels());
    std::uint8_t* const images = set.images.data();
    for (std::size_t i = 0; i < files; ++i) {
      const Look& look = looks_[begin + i];
      if (look.width == 0) {
        result.skipped.push_back(look.problem);
        result.all_read &= look.has_bytes;
        continue;
      }
      const auto place = static_cast<std::size_t>(set.count++);
      if (place != i) std::memmove(images + place * bytes, images + i * bytes, bytes);
      set.labels.push_back(files_[begin + i]->label);
    }
    set.images.resize(static_cast<std::size_t>(set.count) * bytes);
  }

  const TreePath& folder_;
  const FolderOptions& options_;
  std::vector<const PictureFile*> files_;
  std::size_t training_;
  std::vector<Look> looks_;  // at each file
  std::size_t parts_[3];     // files of the training, validation and test set
  ImageSet sets_[3];
};

void say(const FolderOptions& options, const std::string& line) {
  if (options.log) options.log(line);
}

DecodedPictures decode_or_recall(const TreePath& folder, const PictureTree& tree,
                                 const FolderOptions& options) {
  if (options.cache_folder.empty()) return Decoder(folder, tree, options).decode();
  const CacheEntry entry = cache_entry(folder, tree, options);
  if (std::optional<DecodedPictures> cached = read_cache(entry)) return std::move(*cached);
  DecodedPictures decoded = Decoder(folder, tree, options).decode();
  if (!decoded.all_read) return decoded;  // the next time may find them readable
  try {
    write_cache(entry, decoded);
  } catch (const Error& error) {
    say(options, str("the decoded pictures are not kept: ", error.what()));
  }
  return decoded;
}

// Broken pictures are an error, or are left out when that was asked for.
void report_broken(const TreePath& folder, const DecodedPictures& pictures,
                   const FolderOptions& options) {
  const std::size_t broken = pictures.skipped.size();
  if (broken == 0) return;
  if (broken > 1 || options.skip_broken) {
    for (const std::string& why : pictures.skipped) say(options, why);
  }
  if (options.skip_broken) {
    say(options, str("left out ", counted(broken, "picture"), " that cannot be read"));
    return;
  }
  if (broken == 1) throw Error(ErrorKind::data, pictures.skipped.front());
  throw Error(ErrorKind::data, str(folder.string(), ": ", broken, " pictures cannot be read; ",
                                   "repair them, or leave them out with --skip-broken"));
}

void report_depths(const DecodedPictures& pictures, const FolderOptions& options) {
  const auto pngs = [](std::int64_t count) {
    return str(count, count == 1 ? " PNG has" : " PNGs have", " samples of 16 bits");
  };
  if (pictures.stated_depths > 0) {
    say(options, str(pngs(pictures.stated_depths), " that hold fewer, as sBIT says: white is ",
                     "what it allows"));
  }
  if (pictures.found_depths > 0 && options.shape.sample_bits == 0) {
    say(options, str(pngs(pictures.found_depths), ", and none in training is above ",
                     (1 << pictures.sample_bits) - 1, ", which is taken for white; --sample-bits ",
                     "says otherwise"));
  }
}

void report_layout(const PictureTree& tree, const FolderOptions& options) {
  for (const std::string& note : tree.notes) say(options, note);
  if (!tree.passed_over.empty()) say(options, passed_over_line(tree.passed_over));
  const std::size_t count = tree.left_out.size();
  if (count == 0) return;
  say(options,
      str("passed over ", tree.left_out.front(), count == 1 ? "" : str(" and ", count - 1, " more"),
          ", which ", count == 1 ? "is" : "are", " no picture of a class"));
}

}  // namespace

Dataset load_folder(const TreePath& folder, const FolderOptions& options) {
  return load_pictures(folder, list_pictures(folder, options.holding), options);
}

Dataset load_pictures(const TreePath& folder, const PictureTree& tree,
                      const FolderOptions& options) {
  report_layout(tree, options);
  DecodedPictures pictures = decode_or_recall(folder, tree, options);
  report_depths(pictures, options);
  report_broken(folder, pictures, options);
  if (!tree.train.empty() && pictures.train.count == 0) {
    throw Error(ErrorKind::data, str(folder.string(), ": no training picture can be read"));
  }
  if (pictures.test.count == 0) {
    throw Error(ErrorKind::data, str(folder.string(), ": no test picture can be read"));
  }
  Dataset dataset;
  dataset.class_names = tree.class_names;
  dataset.sample_bits = pictures.sample_bits;
  dataset.train = std::move(pictures.train);
  dataset.validation = std::move(pictures.validation);
  dataset.test = std::move(pictures.test);
  set_statistics(dataset);
  return dataset;
}

}  // namespace weft::data
