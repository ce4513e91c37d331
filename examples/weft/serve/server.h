// SPDX-License-Identifier: MIT
// The web server of `weft serve`, on the loopback address only.
#pragma once

#include <atomic>
#include <functional>

#include "examples/weft/serve/reader.h"

namespace weft::cli {

inline constexpr std::size_t kMaxBodyBytes = std::size_t{32} << 20;

extern const char* const kPage;  // serve/page.html

// Answers requests to http://127.0.0.1:`port` until `stop` is set. Port 0 is any free one. Calls
// `listening` with the port once browsers can connect.
//
//   GET /        the page
//   GET /model   Reader::describe()
//   POST /read   Reader::read() of the body, a picture file
//
// Errors are a line of JSON with "error": 403 for a request that came by another host's name or
// from another site's page, 404 for another path, 413 for a body of more than kMaxBodyBytes, 415
// for an HTML form, and 422 for a picture that cannot be read.
// Throws usage when the port cannot be had, or when this build has no web server.
void serve(Reader& reader, int port, const std::atomic<bool>& stop,
           const std::function<void(int port)>& listening);

}  // namespace weft::cli
