// SPDX-License-Identifier: MIT
// The web server of `weft serve`, on the loopback address only.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "examples/weft/serve/reader.h"

namespace weft::cli {

inline constexpr std::size_t kMaxBodyBytes = std::size_t{32} << 20;

// Answers requests to http://127.0.0.1:`port`/ until `stop` is set. Port 0 is any free one. Calls
// `listening` with the port once browsers can connect. With a `token`, every path begins with it:
// http://127.0.0.1:`port`/`token`/.
//
//   GET /        the page
//   GET /model   Reader::describe()
//   POST /read   Reader::read() of the body, a picture file, which may be gzip (Content-Encoding)
//
// connections.h says how long a request may take and how much may wait. Errors are a line of JSON
// with "error":
//
//   400  the request is not well-formed, or not there in time
//   403  it came by another host's name, from another site's page, or without the token
//   404  another path
//   411  a body without its length
//   413  a body of more than kMaxBodyBytes
//   415  an HTML form
//   422  a picture that cannot be read
//   431  headers of more than kMaxHeadBytes
//   503  too much comes at once
//
// Throws usage when the port cannot be had.
void serve(Reader& reader, int port, const std::string& token, const std::atomic<bool>& stop,
           const std::function<void(int port)>& listening);

}  // namespace weft::cli
