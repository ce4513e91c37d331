// SPDX-License-Identifier: MIT
// What a stranger may lay in a folder in the place of a file, and a folder's state, which must be
// the same afterwards.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace weft::test {

struct Planted {
  std::string kind;
  std::string found;  // as errors call it
  // Makes `place`, from which `victim`, a file of the user's, can be reached; removes what is
  // there.
  std::function<void(const std::filesystem::path& place, const std::filesystem::path& victim)>
      plant;
};

// A device and a file of another user need root, and are left out otherwise.
inline std::vector<Planted> what_strangers_plant() {
  namespace fs = std::filesystem;
  using Path = const fs::path&;
  const auto after_removing = [](const std::function<void(Path, Path)>& make) {
    return [make](Path place, Path victim) {
      fs::remove_all(place);
      if (!fs::exists(victim)) std::ofstream(victim) << "precious\n";
      make(place, victim);
    };
  };
  std::vector<Planted> all = {
      {"a link", "a symbolic link",
       after_removing([](Path place, Path victim) { fs::create_symlink(victim, place); })},
      {"a link to nothing", "a symbolic link", after_removing([](Path place, Path victim) {
         fs::create_symlink(victim.string() + "-made", place);
       })},
      {"a hard link", "a file with 2 names",
       after_removing([](Path place, Path victim) { fs::create_hard_link(victim, place); })},
      {"a pipe", "a pipe", after_removing([](Path place, Path) { ::mkfifo(place.c_str(), 0666); })},
      {"a folder", "a folder",
       after_removing([](Path place, Path) { fs::create_directory(place); })},
  };
  const auto add = [&](const char* kind, const std::function<void(Path, Path)>& make) {
    all.push_back({kind, kind, after_removing(make)});
  };
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0) {
    add("a file of the user 65534", [](Path place, Path) {
      std::ofstream(place) << "of another\n";
      (void)!::chown(place.c_str(), kNobody, kNobody);
    });
  }
  // A container's root may not make one.
  const fs::path trial = fs::temp_directory_path() / ("weft-device-" + std::to_string(::getpid()));
  constexpr dev_t kNull = (1 << 8) | 3;  // /dev/null
  if (::mknod(trial.c_str(), S_IFCHR | 0666, kNull) == 0) {
    fs::remove(trial);
    add("a device", [](Path place, Path) { ::mknod(place.c_str(), S_IFCHR | 0666, kNull); });
  }
  return all;
}

// Every name below the folder, with its kind, its owner, its links, and its target or a hash of its
// content.
inline std::string state_of(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> lines;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat found {};
    ::lstat(entry.path().c_str(), &found);
    std::ostringstream line;
    line << fs::relative(entry.path().parent_path(), folder) / entry.path().filename() << ' '
         << std::oct << found.st_mode << std::dec << ' ' << found.st_uid << ' ' << found.st_nlink
         << ' ';
    if (entry.is_symlink()) line << fs::read_symlink(entry.path());
    if (S_ISREG(found.st_mode)) {
      std::string content(static_cast<std::size_t>(found.st_size), ' ');
      std::ifstream(entry.path(), std::ios::binary).read(content.data(), found.st_size);
      line << std::hash<std::string>()(content);
    }
    lines.push_back(line.str());
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace weft::test
