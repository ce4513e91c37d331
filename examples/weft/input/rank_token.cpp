// SPDX-License-Identifier: MIT
#include "examples/weft/input/rank_token.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <span>
#include <string>

#include "data/files/file_io.h"
#include "distributed/socket.h"
#include "engine/error.h"
#include "examples/weft/output/terminal.h"

namespace weft::cli {
namespace {

// The token of the file or of the environment, without the line's end.
std::string token_text(const RankFlags& flags) {
  if (!flags.token_file) {
    const char* text = std::getenv(kRunTokenVariable);
    return text == nullptr ? "" : text;
  }
  std::array<std::byte, 4096> bytes;
  const data::InputFile file(*flags.token_file);
  if (file.size() > bytes.size()) {
    throw Error(ErrorKind::usage, fmt::format("{}: a run token has at most {} characters",
                                              printable(*flags.token_file), bytes.size()));
  }
  const std::span<std::byte> read(bytes.data(), file.size());
  file.read(read, 0);
  std::string text(reinterpret_cast<const char*>(read.data()), read.size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: no run token in it", printable(*flags.token_file)));
  }
  return text;
}

}  // namespace

distributed::RunToken token_of(const RankFlags& flags) {
  if (flags.no_token && flags.token_file) {
    throw Error(ErrorKind::usage, "--no-token and --run-token-file contradict each other");
  }
  const std::string text = flags.no_token ? "" : token_text(flags);
  if (!text.empty()) return distributed::RunToken::from_text(text);
  if (!flags.no_token &&
      !distributed::is_loopback(distributed::parse_endpoint(*flags.rendezvous))) {
    throw Error(
        ErrorKind::usage,
        fmt::format("others reach {} too: set {} to the same text of at least 16 characters "
                    "for every rank, or give --run-token-file FILE, or --no-token",
                    printable(*flags.rendezvous), kRunTokenVariable));
  }
  return {};
}

}  // namespace weft::cli
