// SPDX-License-Identifier: MIT
#include "data/folder/links.h"

#include <algorithm>

#include "data/folder/layout.h"
#include "engine/error.h"

namespace weft::data {
namespace fs = std::filesystem;
namespace {

bool lies_in(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// `root` is the canonical path of the folder.
void find_links(const fs::path& root, const std::string& below, std::vector<std::string>& found) {
  Listing listing;
  try {
    listing = list_folder(TreePath(root / below));
  } catch (const Error&) {
    return;  // what cannot be listed is not read either
  }
  for (const std::string& name : listing.links) {
    if (leads_out(root, root / (below + name))) found.push_back(below + name);
  }
  for (const std::string& name : listing.folders) {
    if (!std::binary_search(listing.links.begin(), listing.links.end(), name)) {
      find_links(root, below + name + "/", found);
    }
  }
}

}  // namespace

bool leads_out(const fs::path& canonical_folder, const fs::path& link) {
  std::error_code missing;
  const fs::path target = fs::canonical(link, missing);
  return !missing && !lies_in(canonical_folder, target);
}

std::vector<std::string> links_out_of(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code missing;
  const fs::path root = fs::canonical(folder, missing);
  if (!missing) find_links(root, "", found);
  std::sort(found.begin(), found.end());
  return found;
}

void judge_links(const fs::path& folder, const std::vector<std::string>& links, Links what,
                 const std::function<void(const std::string&)>& log) {
  if (links.empty()) return;
  const bool is_one = links.size() == 1;
  const std::string line =
      str(folder.string(), ": ", links.size(), is_one ? " link leads" : " links lead",
          " out of this folder, ", is_one ? "" : "such as ", links.front());
  if (what == Links::refused) {
    throw Error(ErrorKind::data, str(line, ", and --no-links refuses ", is_one ? "it" : "them"));
  }
  if (log) log(str(line, "; --no-links refuses ", is_one ? "it" : "them"));
}

}  // namespace weft::data
