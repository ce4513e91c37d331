// SPDX-License-Identifier: MIT
// The connections of `weft serve`: one thread reads and writes all of them, and none holds up
// another.
//
// A connection has one request, which must be there 10 s after its first byte, and then 10 s to
// take the answer. There are at most 256: one more takes the place of the one that has been
// incomplete for longest. They hold at most 40 MiB together: above that the largest incomplete
// request is refused with 503.
#pragma once

#include <atomic>
#include <functional>

#include "distributed/socket.h"
#include "examples/weft/serve/http.h"

namespace weft::cli {

// What a server answers. Only `answer` to a POST may take long: it is called in a thread of its
// own, for one request after another, the smallest first.
struct Site {
  std::size_t most_body = 0;  // bytes
  HttpReader::Check check;    // before a body is read
  std::function<HttpResponse(const HttpRequest&)> answer;
  std::function<HttpResponse(const HttpRefusal&)> refuse;
};

// Answers whoever connects to `listener` until `stop` is set, or until it accepts no more. An
// answer that is not there a second after that is given up, and the program ends with exit code 0.
void answer_connections(const distributed::Socket& listener, const Site& site,
                        const std::atomic<bool>& stop);

}  // namespace weft::cli
