// SPDX-License-Identifier: MIT
#include "examples/weft/serve/connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "engine/error.h"

namespace weft::cli {
namespace {

using distributed::Clock;
using distributed::Deadline;
using distributed::Socket;
using std::chrono::seconds;

constexpr std::size_t kMostConnections = 256;
constexpr std::size_t kRoomBesides = std::size_t{8} << 20;  // bytes, beside one largest body
constexpr std::size_t kMostDiscarded = std::size_t{64} << 20;
constexpr seconds kRequestTime{10}, kAnswerTime{10};
constexpr seconds kFarewellTime{1};  // for a client that still sends when its answer is there
constexpr std::chrono::milliseconds kTick{100};  // how late a stop may be seen

using Id = std::uint64_t;  // grows with each connection

HttpResponse answered(const Site& site, const HttpRequest& request) {
  try {
    return site.answer(request);
  } catch (const std::exception&) {
    return site.refuse({500, "out of memory, or another failure of the server"});
  }
}

// Computes answers in a thread of its own, one after another: the smallest request first.
class Worker {
 public:
  explicit Worker(const Site& site) : site_(site) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(ErrorKind::device, str("no pipe: ", distributed::error_text(errno)));
    }
    done_read_ = Socket(ends[0]);
    done_write_ = Socket(ends[1]);
    thread_ = std::thread([this] { work(); });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    std::unique_lock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, seconds(1), [&] { return has_ended_; })) {
      std::fflush(nullptr);
      std::_Exit(0);  // nothing of the answer would be kept
    }
    lock.unlock();
    thread_.join();
  }

  // Is readable when there may be a new answer.
  int descriptor() const { return done_read_.descriptor(); }

  void submit(Id id, HttpRequest request) {
    const std::lock_guard lock(mutex_);
    requests_.emplace_back(id, std::move(request));
    changed_.notify_all();
  }
  void forget(Id id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(requests_, [&](const auto& entry) { return entry.first == id; });
  }
  std::vector<std::pair<Id, HttpResponse>> take_answers() {
    char bytes[64];
    while (read(done_read_.descriptor(), bytes, sizeof bytes) > 0) {
    }
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto is_asked = [&] { return is_over_ || !requests_.empty(); };
      while (!changed_.wait_for(lock, std::chrono::hours(1), is_asked)) {
      }  // wait() would need the libstdc++ of GCC 12
      if (is_over_) break;
      // Strokes are small, and a large picture may take seconds.
      const auto smallest = std::ranges::min_element(
          requests_, {}, [](const auto& entry) { return entry.second.body.size(); });
      auto [id, request] = std::move(*smallest);
      requests_.erase(smallest);
      lock.unlock();
      HttpResponse response = answered(site_, request);
      lock.lock();
      answers_.emplace_back(id, std::move(response));
      static_cast<void>(!write(done_write_.descriptor(), "", 1));  // a full pipe is readable too
    }
    has_ended_ = true;
    changed_.notify_all();
  }

  const Site& site_;
  Socket done_read_, done_write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<Id, HttpRequest>> requests_;
  std::vector<std::pair<Id, HttpResponse>> answers_;
  bool is_over_ = false, has_ended_ = false;
  std::thread thread_;
};

struct Connection {
  // waits: for its answer. parts: the answer is sent, and the client may still send.
  enum class Stage { reads, waits, writes, parts, is_over };

  Connection(Socket accepted, const Site& site)
      : socket(std::move(accepted)), reader(site.most_body, site.check) {}

  std::size_t held_bytes() const { return reader.held_bytes() + submitted + out.capacity(); }
  short events() const {
    return stage == Stage::writes ? POLLOUT : stage == Stage::waits ? 0 : POLLIN;
  }

  Socket socket;
  HttpReader reader;
  Stage stage = Stage::reads;
  Deadline until = Clock::now() + kRequestTime;
  bool is_head_only = false, has_go_ahead = false;
  std::size_t submitted = 0;  // bytes of a body that waits for its answer
  std::string out;
  std::size_t sent = 0, discarded = 0;  // bytes of out, and of what came behind the request
};

using Stage = Connection::Stage;

bool may_come_again(int code) {
  return code == EAGAIN || code == EINTR;
}

class Connections {
 public:
  Connections(const Socket& listener, const Site& site)
      : listener_(listener), site_(site), worker_(site) {}

  // Waits for a tick at most; false when no more connections can come.
  bool turn() {
    const bool has_room = all_.size() < kMostConnections || first_to_leave() != all_.end();
    entries_.assign(
        {{has_room ? listener_.descriptor() : -1, POLLIN, 0}, {worker_.descriptor(), POLLIN, 0}});
    attended_.clear();
    for (auto& [id, connection] : all_) {
      entries_.push_back({connection.socket.descriptor(), connection.events(), 0});
      attended_.emplace_back(id, &connection);
    }
    if (poll(entries_.data(), entries_.size(), kTick.count()) < 0 && errno != EINTR) return false;
    for (auto& [id, response] : worker_.take_answers()) {
      if (const auto at = all_.find(id); at != all_.end()) answer(at->second, response);
    }
    for (std::size_t i = 0; i < attended_.size(); ++i) {
      const short events = entries_[i + 2].revents;
      if (events != 0) attend(attended_[i].first, *attended_[i].second, events);
    }
    refuse_the_largest();
    end_late();
    return entries_[0].revents == 0 || let_in();
  }

 private:
  using At = std::map<Id, Connection>::iterator;

  // The one whose place a new connection takes: the oldest that is only parting, or is incomplete,
  // or does not take its answer.
  At first_to_leave() {
    for (const Stage stage : {Stage::parts, Stage::reads, Stage::writes}) {
      const auto at = std::ranges::find_if(
          all_, [&](const auto& entry) { return entry.second.stage == stage; });
      if (at != all_.end()) return at;
    }
    return all_.end();
  }

  bool let_in() {
    constexpr int kAtOnce = 64;
    for (int i = 0; i < kAtOnce; ++i) {
      if (all_.size() >= kMostConnections && !make_room()) return true;
      Socket socket(
          accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.is_open()) {
        const int yes = 1;
        setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        all_.emplace(++last_, Connection(std::move(socket), site_));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        if (!make_room()) std::this_thread::sleep_for(kTick);
        return true;
      } else {
        return errno != EBADF && errno != EINVAL && errno != ENOTSOCK;
      }
    }
    return true;
  }

  bool make_room() {
    const At leaves = first_to_leave();
    if (leaves == all_.end()) return false;
    all_.erase(leaves);
    return true;
  }

  void attend(Id id, Connection& connection, short events) {
    switch (connection.stage) {
      case Stage::reads:
        return read(id, connection);
      case Stage::writes:
        return write(connection);
      case Stage::parts:
        return part(connection);
      default:
        if ((events & (POLLERR | POLLHUP)) != 0) connection.stage = Stage::is_over;
    }
  }

  void read(Id id, Connection& connection) {
    HttpReader& reader = connection.reader;
    const bool had_begun = reader.has_begun();
    const ssize_t count = recv(connection.socket.descriptor(), buffer_, sizeof buffer_, 0);
    if (count < 0 && may_come_again(errno)) return;
    if (count < 0 || (count == 0 && !had_begun)) {
      connection.stage = Stage::is_over;
      return;
    }
    if (!had_begun) connection.until = Clock::now() + kRequestTime;
    if (count == 0) reader.end("");
    reader.take({buffer_, static_cast<std::size_t>(count)});
    if (reader.is_whole()) {
      take_request(id, connection);
    } else if (reader.waits_for_go_ahead() && !std::exchange(connection.has_go_ahead, true)) {
      constexpr std::string_view kGoAhead = "HTTP/1.1 100 Continue\r\n\r\n";  // the first bytes fit
      static_cast<void>(
          send(connection.socket.descriptor(), kGoAhead.data(), kGoAhead.size(), MSG_NOSIGNAL));
    }
  }

  void take_request(Id id, Connection& connection) {
    if (connection.reader.refusal()) {
      return answer(connection, site_.refuse(*connection.reader.refusal()));
    }
    HttpRequest request = connection.reader.release();
    connection.is_head_only = request.method == "HEAD";
    if (request.method != "POST") return answer(connection, answered(site_, request));
    connection.stage = Stage::waits;
    connection.submitted = request.body.capacity();
    worker_.submit(id, std::move(request));
  }

  void answer(Connection& connection, const HttpResponse& response) {
    connection.reader = HttpReader(0, {});
    connection.submitted = 0;
    connection.out = to_text(response, !connection.is_head_only);
    connection.stage = Stage::writes;
    connection.until = Clock::now() + kAnswerTime;
    write(connection);
  }

  void write(Connection& connection) {
    const std::string& out = connection.out;
    while (connection.sent < out.size()) {
      const ssize_t count = send(connection.socket.descriptor(), out.data() + connection.sent,
                                 out.size() - connection.sent, MSG_NOSIGNAL);
      if (count < 0) {
        if (!may_come_again(errno)) connection.stage = Stage::is_over;
        return;
      }
      connection.sent += static_cast<std::size_t>(count);
    }
    // Closing at once would reset the connection of a client that still sends, and with it the
    // answer.
    shutdown(connection.socket.descriptor(), SHUT_WR);
    connection.out = std::string();
    connection.stage = Stage::parts;
    connection.until = Clock::now() + kFarewellTime;
    part(connection);
  }

  void part(Connection& connection) {
    const ssize_t count = recv(connection.socket.descriptor(), buffer_, sizeof buffer_, 0);
    if (count < 0 && may_come_again(errno)) return;
    if (count > 0) connection.discarded += static_cast<std::size_t>(count);
    if (count <= 0 || connection.discarded >= kMostDiscarded) connection.stage = Stage::is_over;
  }

  void refuse_the_largest() {
    std::size_t held = 0;
    Connection* largest = nullptr;
    for (auto& [id, connection] : all_) {
      held += connection.held_bytes();
      if (connection.stage == Stage::reads &&
          (largest == nullptr || connection.held_bytes() > largest->held_bytes())) {
        largest = &connection;
      }
    }
    if (held <= site_.most_body + kRoomBesides || largest == nullptr) return;
    answer(*largest, site_.refuse({503, "too much is sent at once; try it again"}));
  }

  void end_late() {
    const Deadline now = Clock::now();
    for (auto at = all_.begin(); at != all_.end();) {
      auto& [id, connection] = *at;
      const bool is_late = now >= connection.until && connection.stage != Stage::waits;
      if (is_late && connection.stage == Stage::reads && connection.reader.has_begun()) {
        connection.reader.end(str(" within ", kRequestTime.count(), " s"));
        answer(connection, site_.refuse(*connection.reader.refusal()));
      } else if (is_late) {
        connection.stage = Stage::is_over;
      }
      const bool is_over = connection.stage == Stage::is_over;
      if (is_over) worker_.forget(id);
      at = is_over ? all_.erase(at) : std::next(at);
    }
  }

  const Socket& listener_;
  const Site& site_;
  std::map<Id, Connection> all_;  // the oldest first
  Id last_ = 0;
  std::vector<pollfd> entries_;  // of the listener, the worker, and each of attended_
  std::vector<std::pair<Id, Connection*>> attended_;
  char buffer_[std::size_t{64} << 10];
  Worker worker_;  // ends before what it answers
};

}  // namespace

void answer_connections(const Socket& listener, const Site& site, const std::atomic<bool>& stop) {
  Connections connections(listener, site);
  while (!stop && connections.turn()) {
  }
}

}  // namespace weft::cli
