// SPDX-License-Identifier: MIT
// A Work for the problems of kernels/FAMILY/problem.h. Its memory is a list of arrays. A family
// says which arrays there are, how it is called, and what is right.
#pragma once

#include <type_traits>
#include <utility>

#include "measure/families.h"

namespace weft::measure {

class AnyArray {
 public:
  virtual ~AnyArray() = default;
  virtual Bytes bytes(int set) = 0;
  virtual void reset() = 0;  // forgets what was written, and gives back what was updated
  virtual bool written() const = 0;
};

// An array of a problem: in the sets of buffers on the device, and on the host as it began.
template <class T>
class Array final : public AnyArray {
 public:
  enum class Role { read, written, updated };

  Array(std::vector<T> values, Role role, int sets, const Stream& stream)
      : host(std::move(values)),
        role_(role),
        count_(sets),
        stream_(stream),
        sets_(host, sets, stream) {}
  Array(std::int64_t n, int sets, const Stream& stream)
      : role_(Role::written), count_(sets), stream_(stream), sets_(n, sets, stream) {}

  T* operator[](int set) { return sets_[set % count_]; }
  std::int64_t size() const { return sets_.size(); }
  std::vector<T> found(int set) const { return sets_.host(set % count_); }
  double operator()(std::int64_t i) const {
    return static_cast<double>(host[static_cast<std::size_t>(i)]);
  }
  // The values [first, first + count) that it began with.
  std::vector<double> doubles(std::int64_t first, std::int64_t count) const {
    return {host.begin() + first, host.begin() + first + count};
  }
  std::vector<double> doubles() const { return {host.begin(), host.end()}; }

  void clear() { sets_.clear(); }
  Bytes bytes(int set) override { return sets_.bytes(set % count_); }
  bool written() const override { return role_ != Role::read; }
  void reset() override {
    if (role_ == Role::written) return sets_.clear();
    for (int set = 0; role_ == Role::updated && set < count_; ++set) {
      copy_bytes(sets_[set], stream_.device(), host.data(), Device::cpu(), bytes(set).count,
                 stream_);
    }
    stream_.synchronize();
  }

  const std::vector<T> host;  // empty where the call writes all of it

 private:
  Role role_;
  int count_;
  Stream stream_;
  Rotated<T> sets_;
};

// The right value of an element, and how far a result may be from it.
struct Exact {
  double value, bound = 0;
};

class ArrayWork : public Work {
 public:
  using Work::Work;

  void reset() override {
    of_yardstick = false;
    for (const auto& [name, array] : arrays_) array->reset();
  }
  std::vector<Bytes> written(int set) override {
    std::vector<Bytes> all;
    for (const auto& [name, array] : arrays_) {
      // A part that only some problems have may be empty.
      if (const Bytes of = array->bytes(set); array->written() && of.count > 0) {
        all.push_back(of);
      }
    }
    return all;
  }
  Verdict check(int set, Arithmetic arithmetic) override {
    Comparison comparison;
    compare(comparison, set, arithmetic);
    return comparison.verdict();
  }
  bool can_run(std::string_view) const override { return true; }

  // The array of this name. A yardstick finds it so.
  template <class T = float>
  Array<T>& array(std::string_view name) const {
    for (const auto& [known, array] : arrays_) {
      if (known == name) return dynamic_cast<Array<T>&>(*array);
    }
    throw std::logic_error("no array " + std::string(name));
  }

  // Was the result written by a yardstick, whose random numbers are others? Until the next reset.
  bool of_yardstick = false;

 protected:
  virtual void compare(Comparison& comparison, int set, Arithmetic arithmetic) = 0;

  // Arrays are in as many sets as the work has, or in `count` where that is given.
  template <class T>
  Array<T>& input(std::string_view name, std::vector<T> values, int count = 0) {
    return add<T>(name, std::move(values), Array<T>::Role::read, count > 0 ? count : sets,
                  context.stream);
  }
  template <class T>
  Array<T>& updated(std::string_view name, std::vector<T> values, int count = 0) {
    return add<T>(name, std::move(values), Array<T>::Role::updated, count > 0 ? count : sets,
                  context.stream);
  }
  template <class T = float>
  Array<T>& output(std::string_view name, std::int64_t n) {
    return add<T>(name, n, sets, context.stream);
  }
  // Memory of at least so many bytes. The next call may move it.
  kernels::Workspace scratch(std::size_t needed) {
    if (scratch_.bytes() < needed) {
      scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, context.stream);
    }
    return {scratch_.raw(), scratch_.bytes()};
  }
  Device device() const { return context.stream.device(); }
  std::uint64_t seed() const { return context.seed; }

  // Compares a sample of the elements of `out`, or all of them: expect(i) says what is right.
  template <class T, class Expect>
  void compare_each(Comparison& comparison, const Array<T>& out, int set, const Expect& expect,
                    std::int64_t samples = 0) const {
    const std::vector<T> found = out.found(set);
    const auto add = [&](std::int64_t i) {
      const Exact exact = expect(i);
      comparison.add(static_cast<double>(found[static_cast<std::size_t>(i)]), exact.value,
                     exact.bound);
    };
    if (samples == 0) {
      for (std::int64_t i = 0; i < out.size(); ++i) add(i);
      return;
    }
    for (const std::int64_t i : sample_indices(out.size(), samples, context.seed)) add(i);
  }
  // Compares a sample of the slices of `length` elements that `out` consists of:
  // expect(slice, values) fills in what is right, and bound(element of the slice, value) says how
  // close to it.
  template <class T, class Value = double, class Expect, class BoundOf>
  void compare_slices(Comparison& comparison, const Array<T>& out, int set, std::int64_t length,
                      std::int64_t samples, const Expect& expect, const BoundOf& bound) const {
    const std::vector<T> found = out.found(set);
    std::vector<double> values(static_cast<std::size_t>(length));
    for (const std::int64_t slice : sample_indices(out.size() / length, samples, context.seed)) {
      expect(slice, values.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        comparison.add(static_cast<double>(found[static_cast<std::size_t>(slice * length) + i]),
                       values[i], bound(i, values[i]));
      }
    }
  }

 private:
  template <class T, class... Arguments>
  Array<T>& add(std::string_view name, Arguments&&... arguments) {
    auto made = std::make_unique<Array<T>>(std::forward<Arguments>(arguments)...);
    Array<T>& array = *made;
    arrays_.emplace_back(name, std::move(made));
    return array;
  }

  std::vector<std::pair<std::string_view, std::unique_ptr<AnyArray>>> arrays_;
  Tensor scratch_;
};

// P has text() and bytes(). Where they say anything it also has flops(); footprint(), the bytes
// that sets_for() is asked with, where they are not bytes(); table() and column(); and kByFlops.
template <class P>
class ProblemWork : public ArrayWork {
 public:
  using Problem = P;

  ProblemWork(const P& of, const Context& made_with) : ArrayWork(made_with), p(of) {
    problem = p.text();
    bytes = p.bytes();
    if constexpr (requires { p.flops(); }) flops = p.flops();
    if constexpr (requires { P::kByFlops; }) by_flops = P::kByFlops;
    if constexpr (requires { p.table(); }) table = p.table(), column = p.column();
    double footprint = bytes;
    if constexpr (requires { p.footprint(); }) footprint = p.footprint();
    sets = sets_for(footprint, made_with.stream.device());
  }

  const P p;
};

// A problem as a yardstick asks for it; null where the work is about another one.
template <class P>
ProblemWork<P>* work_on(Work& work) {
  return dynamic_cast<ProblemWork<P>*>(&work);
}

template <class W>
MakeWork made(const typename W::Problem& p) {
  return [p](const Context& context) { return std::make_unique<W>(p, context); };
}
template <class W>
std::vector<MakeWork> made_of(const std::vector<typename W::Problem>& problems) {
  std::vector<MakeWork> all;
  for (const auto& p : problems) all.push_back(made<W>(p));
  return all;
}
// The problem whose first number is a --size.
template <class W>
std::unique_ptr<Work> of_size(std::int64_t size, const Context& context) {
  return std::make_unique<W>(typename W::Problem{size}, context);
}

}  // namespace weft::measure
