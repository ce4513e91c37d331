// SPDX-License-Identifier: MIT
#include "lab/record/findings_record.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/error.h"

// MessagePack, as of record.cpp.
namespace weft::lab {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FoundRecord, kind, kernel, text, line, is_note, more)

// A program may end at any time, and what it has written before is then there.
void write_found(const std::vector<FoundRecord>& found, const std::string& path) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(nlohmann::json(found));
  const std::string next = path + ".next";
  std::ofstream file(next, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  file.close();
  if (!file || std::rename(next.c_str(), path.c_str()) != 0) {
    throw Error(ErrorKind::data, str(path, ": cannot be written"));
  }
}

std::vector<FoundRecord> read_found(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return nlohmann::json::from_msgpack(bytes).get<std::vector<FoundRecord>>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::data, "the program has left no whole record of its findings");
  }
}

}  // namespace weft::lab
