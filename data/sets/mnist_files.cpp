// SPDX-License-Identifier: MIT
// The table of the MNIST family, and the search for its files.
#include "data/sets/mnist_files.h"

#include <algorithm>
#include <cstdlib>

#include "data/files/gzip.h"
#include "data/files/sha256.h"
#include "data/sets/idx.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, kRoles> kStems = {"train-images", "train-labels",
                                                         "t10k-images", "t10k-labels"};
constexpr std::array<std::string_view, 10> kDigits = {"0", "1", "2", "3", "4",
                                                      "5", "6", "7", "8", "9"};

constexpr std::array<FamilyMember, 4> kFamily = {{
    {"mnist",
     "MNIST: handwritten digits, 60000 + 10000",
     "https://ossci-datasets.s3.amazonaws.com/mnist/",
     "MNIST/raw",
     kStems,
     {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
      "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
      "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
      "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
     kDigits,
     false,
     true,
     kMnistStatistics},
    {"fashion-mnist",
     "Fashion-MNIST: articles of clothing, 60000 + 10000",
     "https://github.com/zalandoresearch/fashion-mnist",
     "FashionMNIST/raw",
     kStems,
     {},
     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
      "Ankle boot"}},
    {"kmnist",
     "Kuzushiji-MNIST: cursive Japanese characters, 60000 + 10000",
     "https://github.com/rois-codh/kmnist",
     "KMNIST/raw",
     kStems,
     {},
     {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"}},
    {"emnist-digits",
     "EMNIST digits: handwritten digits, 240000 + 40000",
     "https://www.nist.gov/itl/products-and-services/emnist-dataset",
     "EMNIST/raw",
     {"emnist-digits-train-images", "emnist-digits-train-labels", "emnist-digits-test-images",
      "emnist-digits-test-labels"},
     {},
     kDigits,
     true},
}};

std::string_view rank_suffix(FileRole role) {
  const bool images = role == FileRole::train_images || role == FileRole::test_images;
  return images ? "idx3-ubyte" : "idx1-ubyte";
}

constexpr std::string_view kWithChannels = "idx4-ubyte";  // images with an axis of channels

const char* environment_folder() {
  const char* folder = std::getenv("WEFT_DATA_DIR");
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

// True when the labels in `found` are MNIST's own. The labels tell as well as the images, and are a
// thousandth of the work. What cannot be read is left for the loader to complain about.
bool is_mnist_itself(const Located& found) {
  constexpr std::size_t kLabels = static_cast<std::size_t>(FileRole::test_labels);
  if (found.files[kLabels].empty()) return false;
  try {
    const Bytes bytes = read_idx_bytes(found.files[kLabels], 1);
    return sha256_hex(bytes) == mnist_family()[0].sha256[kLabels];
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::span<const FamilyMember> mnist_family() {
  return kFamily;
}

const FamilyMember* find_member(std::string_view name) {
  if (name == kHandsName) name = "mnist";  // it is made of MNIST's files
  const auto found = std::find_if(kFamily.begin(), kFamily.end(),
                                  [&](const FamilyMember& member) { return member.name == name; });
  return found == kFamily.end() ? nullptr : &*found;
}

std::string file_name(const FamilyMember& member, FileRole role) {
  return str(member.stems[static_cast<std::size_t>(role)], "-", rank_suffix(role));
}

bool Located::complete() const {
  return std::none_of(files.begin(), files.end(),
                      [](const fs::path& file) { return file.empty(); });
}

bool Located::empty() const {
  return std::all_of(files.begin(), files.end(), [](const fs::path& file) { return file.empty(); });
}

std::string Located::first_missing(const FamilyMember& member) const {
  for (std::size_t i = 0; i < kRoles; ++i) {
    if (files[i].empty()) return file_name(member, static_cast<FileRole>(i));
  }
  return "";
}

Located look_in(const FamilyMember& member, const fs::path& folder) {
  Located found;
  found.folder = folder;
  for (std::size_t i = 0; i < kRoles; ++i) {
    for (const std::string_view suffix : {rank_suffix(static_cast<FileRole>(i)), kWithChannels}) {
      for (const std::string_view ending : {"", ".gz"}) {
        for (const std::string_view joint : {"-", "."}) {
          const fs::path file = folder / str(member.stems[i], joint, suffix, ending);
          std::error_code ignored;
          if (found.files[i].empty() && fs::exists(file, ignored)) found.files[i] = file;
        }
      }
    }
  }
  return found;
}

std::vector<fs::path> search_folders(const FamilyMember& member, const FindOptions& options) {
  const auto with_subfolder = [&](const fs::path& folder) {
    return std::vector<fs::path>{folder / member.name, folder, folder / member.torchvision};
  };
  if (!options.data_dir.empty()) return with_subfolder(options.data_dir);
  std::vector<fs::path> folders;
  if (const char* folder = environment_folder()) folders = with_subfolder(folder);
  folders.push_back(fs::path("data") / member.name);
  folders.push_back(fs::path("data") / member.torchvision);
  return folders;
}

std::optional<Located> locate(const FamilyMember& member, const FindOptions& options) {
  for (const fs::path& folder : search_folders(member, options)) {
    Located found = look_in(member, folder);
    if (found.empty()) continue;
    const bool shares_names = member.name != "mnist" && member.stems == kStems;
    if (shares_names && folder.filename() != member.name && is_mnist_itself(found)) continue;
    return found;
  }
  return std::nullopt;
}

fs::path download_folder(const FamilyMember& member, const FindOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  if (const char* folder = environment_folder()) return folder;
  return fs::path("data") / member.name;
}

}  // namespace weft::data
