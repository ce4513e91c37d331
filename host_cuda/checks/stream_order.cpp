// SPDX-License-Identifier: MIT
#include "host_cuda/checks/stream_order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace weft::host_cuda {
namespace {

using Number = std::uint64_t;
using Known = std::map<unsigned, Number>;  // by stream: how much of its work is known to be done

struct Stream {
  unsigned number = 0;
  bool blocking = true;  // takes turns with the default stream
  Number submitted = 0;
  Known known;  // to what comes next in it
};
struct Launch {
  Segment first = 0;
  unsigned stream = 0;
  Number number = 0;  // 0: it is ordered with everything
  std::string text;
};

constexpr std::size_t kMostLaunches = 4096;  // of which accesses are compared

// The variables of priority 200 live longer than a program's own, whose destructors may call the
// runtime.
std::mutex mutex;  // guards all of these
[[gnu::init_priority(200)]] std::map<const void*, Stream> streams = {{nullptr, {}}};
[[gnu::init_priority(200)]] std::map<const void*, Known> events;
[[gnu::init_priority(200)]] Known host;
unsigned next_stream = 1;
bool used = false;  // by a program of the lab
[[gnu::init_priority(200)]] Launch current;
[[gnu::init_priority(200)]] Known before_current;
[[gnu::init_priority(200)]] std::deque<Launch> launches;  // by segment

void join(Known& to, const Known& from) {
  for (const auto& [stream, number] : from) to[stream] = std::max(to[stream], number);
}

Stream& stream_at(const void* handle) {
  const auto found = streams.find(handle);
  return found != streams.end() ? found->second : streams[nullptr];
}

Stream& submit_to(const void* handle) {
  Stream& stream = stream_at(handle);
  join(stream.known, host);
  const bool is_default = stream.number == 0;
  for (auto& [other_handle, other] : streams) {
    if (is_default ? other.blocking : stream.blocking && other.number == 0) {
      join(stream.known, other.known);
    }
  }
  stream.known[stream.number] = ++stream.submitted;
  return stream;
}

bool covers(const Known& known, const Launch& launch) {
  if (launch.number == 0) return true;
  const auto found = known.find(launch.stream);
  return found != known.end() && found->second >= launch.number;
}

const Launch* launch_with(Segment segment) {
  const auto behind =
      std::upper_bound(launches.begin(), launches.end(), segment,
                       [](Segment value, const Launch& one) { return value < one.first; });
  return behind == launches.begin() ? nullptr : &*std::prev(behind);
}

}  // namespace

void stream_made(const void* stream, bool blocking) {
  const std::lock_guard lock(mutex);
  streams[stream] = {next_stream++, blocking, 0, host};
}
void stream_works(const void* stream) {
  const std::lock_guard lock(mutex);
  submit_to(stream);
}
void event_follows(const void* event, const void* stream) {
  const std::lock_guard lock(mutex);
  events[event] = submit_to(stream).known;
}
void stream_follows(const void* stream, const void* event) {
  const std::lock_guard lock(mutex);
  join(stream_at(stream).known, events[event]);
}
void host_follows_stream(const void* stream) {
  const std::lock_guard lock(mutex);
  join(host, submit_to(stream).known);
}
void host_follows_event(const void* event) {
  const std::lock_guard lock(mutex);
  join(host, events[event]);
}
void host_follows_all() {
  const std::lock_guard lock(mutex);
  for (const auto& [handle, stream] : streams) join(host, stream.known);
}

void launch_begins(const void* stream, const std::string& text) {
  const std::lock_guard lock(mutex);
  used = true;
  const Stream& its = submit_to(stream);
  current = {0, its.number, its.submitted, text};
  before_current = its.known;
}

void everything_is_ordered() {
  const std::lock_guard lock(mutex);
  current = {};
}

Segment grid_begins(Segment first) {
  const std::lock_guard lock(mutex);
  if (!used) return first;
  const auto done = std::find_if_not(launches.begin(), launches.end(),
                                     [](const Launch& one) { return covers(host, one); });
  launches.erase(launches.begin(), done);
  if (launches.size() == kMostLaunches) launches.pop_front();
  Segment oldest = first;
  if (current.number > 0) {
    const auto other = std::find_if_not(launches.begin(), launches.end(), [](const Launch& one) {
      return covers(before_current, one);
    });
    if (other != launches.end()) oldest = other->first;
  }
  launches.push_back(current);
  launches.back().first = first;
  return oldest;
}

bool at_the_same_time(Segment segment) {
  const std::lock_guard lock(mutex);
  const Launch* launch = launch_with(segment);
  return launch != nullptr && !covers(before_current, *launch);
}
std::string launch_of(Segment segment) {
  const std::lock_guard lock(mutex);
  const Launch* launch = launch_with(segment);
  return launch == nullptr ? "an earlier launch" : launch->text;
}
void forget_launches() {
  const std::lock_guard lock(mutex);
  launches.clear();
}

}  // namespace weft::host_cuda
