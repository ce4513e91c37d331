// SPDX-License-Identifier: MIT
// Bytes and other plain elements in host memory, or in a file where they do not fit into it.
//
// An array that needs more than host_data_limit() bytes (host_memory.h) is a file in the cache
// folder, mapped into the address space. The system keeps in memory what there is room for, and
// brings the rest when it is read. The file has no name, so it is gone when the array is, or the
// process. Its room on disk is taken before anything is written: where it is missing, the call that
// makes the array throws data, with the numbers.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::data {

// The memory or the file of an array.
class HostBlock {
 public:
  HostBlock() = default;
  HostBlock(HostBlock&& other) noexcept { swap(other); }
  HostBlock& operator=(HostBlock&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HostBlock();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool in_file() const { return file_ >= 0; }
  // Room for `bytes`, which are more than before; the first `kept` stay. New bytes of a file are
  // zeros, those of memory anything.
  void grow(std::size_t bytes, std::size_t kept);
  // What a file is read for; nothing happens to memory. At random: the system reads no further than
  // it is asked to. Soon: it begins to read these bytes, and nobody waits for it.
  void is_read_at_random() const;
  void is_read_soon(std::size_t offset, std::size_t bytes) const;
  void swap(HostBlock& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(file_, other.file_);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  int file_ = -1;  // its descriptor; -1: in memory
};

// The interface of a std::vector, as far as data sets need it.
template <class T>
class HostArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  HostArray() = default;
  explicit HostArray(std::size_t count, T value = T()) { resize(count, value); }
  HostArray(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <std::input_iterator Iterator>
  HostArray(Iterator first, Iterator last) {
    assign(first, last);
  }
  HostArray(const std::vector<T>& values) { assign(values.begin(), values.end()); }
  HostArray(const HostArray& other) { assign(other.begin(), other.end()); }
  HostArray(HostArray&& other) noexcept { swap(other); }
  HostArray& operator=(const HostArray& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  HostArray& operator=(HostArray&& other) noexcept {
    HostArray taken(std::move(other));
    swap(taken);
    return *this;
  }
  HostArray& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }
  ~HostArray() = default;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return block_.bytes() / sizeof(T); }
  bool in_file() const { return block_.in_file(); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count > capacity()) grow(count);
  }
  void resize(std::size_t count, T value = T()) {
    if (count > size_) {
      reserve(count);
      // A new file is zeros: it is not written twice.
      const bool is_zero = block_.in_file() && value == T();
      const std::size_t dirty = is_zero ? std::clamp(most_, size_, count) : count;
      std::fill(data_ + size_, data_ + dirty, value);
    }
    set_size(count);
  }
  void clear() { set_size(0); }
  void push_back(T value) {
    if (size_ == capacity()) grow_for(1);
    data_[size_++] = value;
  }
  T& emplace_back(T value) {
    push_back(value);
    return back();
  }
  void pop_back() { set_size(size_ - 1); }
  template <std::input_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    insert(end(), first, last);
  }
  void assign(std::size_t count, T value) {
    clear();
    resize(count, value);
  }
  // The elements are none of this array.
  template <std::input_iterator Iterator>
  void insert(const T* place, Iterator first, Iterator last) {
    const std::size_t at = place_of(place), before = size_;
    if constexpr (std::forward_iterator<Iterator>) {
      const auto count = static_cast<std::size_t>(std::distance(first, last));
      if (count > capacity() - size_) grow_for(count);
      if (count > 0) std::copy(first, last, data_ + size_);
      size_ += count;
    } else {
      for (; first != last; ++first) push_back(*first);
    }
    if (at != before) std::rotate(data_ + at, data_ + before, end());
  }
  void insert(const T* place, std::initializer_list<T> values) {
    insert(place, values.begin(), values.end());
  }
  void insert(const T* place, T value) { insert(place, &value, &value + 1); }
  void insert(const T* place, std::size_t count, T value) {
    const std::size_t at = place_of(place), before = size_;
    resize(size_ + count, value);
    if (at != before) std::rotate(data_ + at, data_ + before, end());
  }
  void erase(const T* first, const T* last) {
    const auto at = first - begin();
    std::copy(last, static_cast<const T*>(end()), data_ + at);
    set_size(size_ - static_cast<std::size_t>(last - first));
  }
  // As HostBlock has them.
  void is_read_at_random() const { block_.is_read_at_random(); }
  void is_read_soon(std::size_t first, std::size_t count) const {
    block_.is_read_soon(first * sizeof(T), count * sizeof(T));
  }
  void swap(HostArray& other) noexcept {
    block_.swap(other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(most_, other.most_);
  }

  friend bool operator==(const HostArray& a, const HostArray& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const HostArray& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const HostArray& a, const HostArray& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::size_t place_of(const T* place) const { return static_cast<std::size_t>(place - begin()); }
  void set_size(std::size_t count) {
    most_ = std::max(most_, size_);
    size_ = count;
  }
  void grow_for(std::size_t more) { grow(std::max(size_ + more, size_ + size_ / 2 + 16)); }
  void grow(std::size_t count) {
    block_.grow(count * sizeof(T), size_ * sizeof(T));
    data_ = static_cast<T*>(block_.data());
  }

  HostBlock block_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t most_ = 0;  // the largest size before the last call that made it smaller
};

}  // namespace weft::data
