// SPDX-License-Identifier: MIT
#include "data/arrays/hdf5_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <exception>

#include "data/files/system_call.h"
#include "engine/error.h"

namespace weft::data {

namespace {

// Numbers and texts one after another, as the other process sends them.
class Packed {
 public:
  void add(std::uint64_t number) { add(&number, sizeof number); }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const void* from, std::size_t size) {
    bytes_.append(static_cast<const char*>(from), size);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// The same, read by a process that does not trust the other one.
class Unpacked {
 public:
  explicit Unpacked(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    take(&value, 1);
    return value;
  }
  std::string text() {
    std::string value(size(1), '\0');
    take(value.data(), value.size());
    return value;
  }
  // How many values of so many bytes come next, all of which are there.
  std::size_t size(std::size_t each) {
    const std::uint64_t count = number();
    is_whole_ = is_whole_ && count <= left_.size() / each;
    return is_whole_ ? static_cast<std::size_t>(count) : 0;
  }
  template <class Value>
  void take(Value* to, std::size_t count) {
    const std::size_t bytes = count * sizeof(Value);
    is_whole_ = is_whole_ && bytes <= left_.size();
    if (!is_whole_ || bytes == 0) return;
    std::memcpy(to, left_.data(), bytes);
    left_.remove_prefix(bytes);
  }
  bool is_whole() const { return is_whole_; }
  bool is_at_end() const { return is_whole_ && left_.empty(); }

 private:
  std::string_view left_;
  bool is_whole_ = true;
};

constexpr std::uint64_t kContent = 1, kError = 2;

std::string packed(const Hdf5Content& content) {
  Packed all;
  all.add(kContent);
  all.add(content.arrays.size());
  for (const Hdf5Array& array : content.arrays) {
    all.add(array.path);
    all.add(array.shape.size());
    all.add(array.shape.data(), array.shape.size() * sizeof(std::int64_t));
    all.add(array.values.size());
    all.add(array.values.data(), array.values.size() * sizeof(float));
  }
  all.add(content.texts.size());
  for (const auto& [name, texts] : content.texts) {
    all.add(name);
    all.add(texts.size());
    for (const std::string& text : texts) all.add(text);
  }
  return all.bytes();
}

Hdf5Content content_in(Unpacked& all) {
  Hdf5Content content;
  constexpr std::size_t kLeast = sizeof(std::uint64_t);  // of an array, and of a text
  for (std::size_t left = all.size(kLeast); left > 0 && all.is_whole(); --left) {
    Hdf5Array array{all.text(), {}, {}};
    array.shape.resize(all.size(sizeof(std::int64_t)));
    all.take(array.shape.data(), array.shape.size());
    array.values.resize(all.size(sizeof(float)));
    all.take(array.values.data(), array.values.size());
    content.arrays.push_back(std::move(array));
  }
  for (std::size_t left = all.size(kLeast); left > 0 && all.is_whole(); --left) {
    std::vector<std::string>& texts = content.texts[all.text()];
    for (std::size_t i = all.size(kLeast); i > 0 && all.is_whole(); --i) {
      texts.push_back(all.text());
    }
  }
  return content;
}

// The extents and the values of an array that another process has sent.
bool is_sound(const Hdf5Array& array) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : array.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) {
      return false;
    }
  }
  return count == array.values.size();
}

std::string answer_of(const std::function<Hdf5Content()>& read) {
  Packed error;
  try {
    return packed(read());
  } catch (const Error& problem) {
    error.add(kError);
    error.add(static_cast<std::uint64_t>(problem.exit_code()));
    error.add(std::string(problem.what()));
  } catch (const std::exception&) {  // no memory
  }
  return error.bytes();
}

// The copy of this process: it reads, sends, and ends without anything that a program does at its
// end.
[[noreturn]] void answer(const std::function<Hdf5Content()>& read, int to) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const std::string bytes = answer_of(read);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t more =
        uninterrupted([&] { return write(to, bytes.data() + sent, bytes.size() - sent); });
    if (more < 0) break;
    sent += static_cast<std::size_t>(more);
  }
  _exit(0);
}

std::string received(int from, const std::string& where) {
  std::string bytes, piece(1 << 20, '\0');
  for (;;) {
    const ssize_t more = uninterrupted([&] { return ::read(from, piece.data(), piece.size()); });
    if (more < 0) fail_to("read", where, errno);
    if (more == 0) return bytes;
    bytes.append(piece, 0, static_cast<std::size_t>(more));
  }
}

}  // namespace

Hdf5Content in_own_process(const std::function<Hdf5Content()>& read, const std::string& where) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail_to("read", where, errno);
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    answer(read, ends[1]);
  }
  const int problem = errno;
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    fail_to("read", where, problem);
  }
  const std::string bytes = received(ends[0], where);
  close(ends[0]);
  uninterrupted([&] { return waitpid(process, nullptr, 0); });
  Unpacked all(bytes);
  const std::uint64_t kind = all.number();
  if (kind == kError) {
    const auto code = static_cast<ErrorKind>(all.number());
    const std::string text = all.text();
    const bool is_known = code == ErrorKind::data || code == ErrorKind::usage;
    if (all.is_at_end() && is_known) throw Error(code, text);
  }
  if (kind == kContent) {
    Hdf5Content content = content_in(all);
    bool is_whole = all.is_at_end();
    for (const Hdf5Array& array : content.arrays) is_whole = is_whole && is_sound(array);
    if (is_whole) return content;
  }
  throw Error(ErrorKind::data, str(where, ": is a damaged HDF5 file, on which libhdf5 ends"));
}

}  // namespace weft::data
