// SPDX-License-Identifier: MIT
#include "python/bindings/arrays.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace weft::python {
namespace {

// host-cuda has one device memory and runs one grid at a time. Taken without the GIL, so that no
// two threads wait for each other.
class HostCuda {
 public:
  static HostCuda& instance() {
    static HostCuda one;
    return one;
  }
  void lock() {
    if (lost_) {
      throw Error(ErrorKind::device,
                  "host-cuda was at work when this process forked; start processes with \"spawn\"");
    }
    mutex_.lock();
    ++users_;
  }
  void unlock() {
    --users_;
    if (!lost_) mutex_.unlock();
  }

 private:
  HostCuda() {
    pthread_atfork(nullptr, nullptr, [] { instance().lost_ = instance().users_ > 0; });
  }

  std::recursive_mutex mutex_;
  std::atomic<int> users_ = 0;
  std::atomic<bool> lost_ = false;  // in a child whose memory holds a grid that nobody ends
};

// Streams are made once and never destroyed: a program may end in any order.
const Stream& stream_of(Device device) {
  if (device.is_cpu()) {
    thread_local const Stream cpu(Device::cpu());
    return cpu;
  }
  static std::mutex mutex;
  static auto* streams = new std::map<int, const Stream*>();
  const std::lock_guard lock(mutex);
  const Stream*& stream = (*streams)[device.index];
  if (stream == nullptr) stream = new Stream(device);
  return *stream;
}

// What is said of the dtype that was expected: pixels in floats are the usual mistake.
std::string expected_name(nb::dlpack::dtype expected, nb::dlpack::dtype found) {
  const bool pixels = expected == nb::dtype<std::uint8_t>() &&
                      found.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  return dtype_name(expected) + (pixels ? ", bytes from 0 to 255" : "");
}

bool is_dense(const Array& array) {
  std::int64_t stride = 1;
  if (array.size() == 0 || array.stride_ptr() == nullptr) return true;  // null: dense
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const auto extent = static_cast<std::int64_t>(array.shape(axis));
    if (extent > 1 && array.stride(axis) != stride) return false;
    stride *= extent;
  }
  return true;
}

std::string strides_text(const Array& array) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    text += str(axis > 0 ? ", " : "", array.stride(axis));
  }
  return text + ")";
}

nb::object capsule_of(void* data) {
  return nb::capsule(data, [](void* memory) noexcept { std::free(memory); });
}

// Uninitialised memory as a NumPy array.
nb::object new_numpy(const Shape& shape, nb::dlpack::dtype dtype, std::size_t bytes, void** data) {
  constexpr std::size_t kAlignment = 64;
  *data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (*data == nullptr) throw std::bad_alloc();
  std::array<std::size_t, Shape::kMaxRank> extents{};
  for (int i = 0; i < shape.rank(); ++i) {
    extents[static_cast<std::size_t>(i)] = static_cast<std::size_t>(shape[i]);
  }
  const nb::object owner = capsule_of(*data);
  return nb::cast(nb::ndarray<nb::numpy>(*data, static_cast<std::size_t>(shape.rank()),
                                         extents.data(), owner, nullptr, dtype,
                                         nb::device::cpu::value));
}

std::optional<nb::python_error>& pending() {
  thread_local std::optional<nb::python_error> error;
  return error;
}

}  // namespace

std::string dtype_name(nb::dlpack::dtype dtype) {
  static constexpr std::array<const char*, 7> kNames = {"int",    "uint",    "float", "opaque",
                                                        "bfloat", "complex", "bool"};
  std::string name = dtype.code < kNames.size() ? kNames[dtype.code] : "unknown";
  if (name != "bool") name += std::to_string(static_cast<int>(dtype.bits));
  return dtype.lanes > 1 ? str(name, "x", dtype.lanes) : name;
}

std::pair<std::int64_t, std::int64_t> both(const Extents& extents) {
  if (const auto* one = std::get_if<std::int64_t>(&extents)) return {*one, *one};
  return std::get<1>(extents);
}

kernels::ComputeMode parse_mode(const std::string& name) {
  using kernels::ComputeMode;
  static constexpr Named<ComputeMode> kModes[] = {
      {"fp32", ComputeMode::fp32}, {"tf32", ComputeMode::tf32}, {"bf16", ComputeMode::bf16}};
  return row_named(kModes, "mode", name).value;
}

bool interrupted() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  pending().emplace();
  return true;
}

void rethrow_interrupt() {
  if (!pending()) return;
  nb::python_error error = std::move(*pending());
  pending().reset();
  throw error;
}

Call::Call(const char* name) : name_(name) {
  if (!built_for_host_cuda()) return;
  {
    const nb::gil_scoped_release release;
    HostCuda::instance().lock();
  }
  locked_ = true;
  stream_ = &stream_of(Device::cuda());
}

Call::~Call() {
  buffers_.clear();
  if (locked_) HostCuda::instance().unlock();
}

Array Call::readable(const Writable& array) {
  Array view(array);
  view.library = array.library;
  view.source = array.source;
  return view;
}

void Call::require_mutable(const char* what, const Writable& array) const {
  if (array.library != Library::jax) return;
  throw nb::type_error(
      str(name_, ": ", what, " is an array of JAX, which nobody may change").c_str());
}

void Call::require_array(const char* what, const Array& array, const char* expected) const {
  check_argument({name_, what, array.source, array.is_valid(), false, expected});
}

void Call::require_host(const char* what, const Array& array) const {
  const bool here = array.device_type() == nb::device::cpu::value ||
                    array.device_type() == nb::device::none::value;
  require(here, what, " is not in host memory",
          array.library == Library::torch ? str("; ", what, ".cpu() is") : std::string());
}

void Call::choose_device(const char* what, const Array& array) {
  Device device = Device::cpu();
  if (array.device_type() == nb::device::cuda::value) {
    device = Device::cuda(array.device_id());
  } else if (array.device_type() != nb::device::cpu::value &&
             array.device_type() != nb::device::none::value) {
    require(false, what, " is on a device of DLPack's type ", array.device_type(),
            "; expected the CPU or a CUDA GPU");
  }
  if (built_for_host_cuda()) {
    require(device.is_cpu(), what, " is on ", "a GPU; host-cuda takes arrays in host memory");
    return;
  }
  require(device.is_cpu() || built_with_cuda(), what,
          " is on a GPU, and this package was built without CUDA");
  if (device.is_cuda() && !guard_) guard_.emplace();
  if (stream_ == nullptr) stream_ = &stream_of(device);
  require(stream_->device() == device, what, " is on ", device,
          ", and the arrays before it are on ", stream_->device());
}

Shape Call::check(const char* what, const Array& array, nb::dlpack::dtype expected, int rank,
                  bool written) {
  current_ = what;
  check_argument({name_, what, array.source, array.is_valid(), written, dtype_name(expected)});
  require(array.ndim() <= Shape::kMaxRank, what, " has ", array.ndim(), " axes, expected at most ",
          Shape::kMaxRank);
  const Shape shape(std::span<const std::int64_t>(array.shape_ptr(), array.ndim()));
  if (array.dtype() != expected) {
    const bool bytes = expected == nb::dtype<std::uint8_t>();  // which are scaled before
    const std::string hint = written || bytes ? "" : dtype_hint(what, array.library, expected);
    throw nb::type_error(str(name_, ": ", what, " is ", dtype_name(array.dtype()), " ", shape,
                             ", expected ", expected_name(expected, array.dtype()), hint)
                             .c_str());
  }
  require(rank < 0 || shape.rank() == rank, what, " has shape ", shape, ", expected ", rank,
          rank == 1 ? " axis" : " axes");
  if (!is_dense(array)) {  // the texts take longer than a small call
    require(false, what, " of shape ", shape, " is not contiguous: its strides are ",
            strides_text(array), " elements",
            written ? std::string() : "; " + contiguous_hint(what, array.library));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(array.data());
  require(address % (expected.bits / 8) == 0, what, " of shape ", shape,
          " is not aligned to its elements");
  require(array.data() != nullptr || shape.elements() == 0, what, " of shape ", shape,
          " has no memory");
  choose_device(what, array);
  if (!library_) library_ = array.library;
  libraries_.add(array.library);
  return shape;
}

void Call::check_shape(const char* what, const Shape& found, const Shape& expected) const {
  require(found == expected, what, " has shape ", found, ", expected ", expected);
}

bool Call::Range::allows(const Range& other) const {
  if (end <= other.begin || other.end <= begin) return true;
  if (!written && !other.written) return true;
  return may_alias && !other.written && begin == other.begin && end == other.end;
}

void Call::add_range(const Range& range) {
  for (const Range& other : ranges_) {
    require(range.allows(other), range.what, " overlaps ", other.what);
  }
  ranges_.push_back(range);
}

const void* Call::stage(const void* data, const Shape& shape, std::size_t size, const Array& array,
                        bool written) {
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size;
  const char* begin = static_cast<const char*>(data);
  add_range({current_, begin, begin + bytes, written});
  kept_.push_back(array);
  if (!locked_) return data;
  buffers_.emplace_back(bytes, *stream_);
  if (bytes > 0) {
    copy_bytes(buffers_.back().data(), stream_->device(), data, Device::cpu(), bytes, *stream_);
  }
  return buffers_.back().data();
}

void* Call::stage_in_place(const char* what, const Writable& array, const Shape& shape,
                           std::size_t size) {
  require_mutable(what, array);
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size;
  void* staged = const_cast<void*>(stage(array.data(), shape, size, readable(array), true));
  in_place_.push_back({array.source, false, array.data(), staged, bytes});
  return staged;
}

void* Call::new_output(const Shape& shape, nb::dlpack::dtype dtype, std::size_t size,
                       const nb::object& out, bool may_alias) {
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size;
  Output output;
  output.bytes = bytes;
  if (stream_ == nullptr) stream_ = &stream_of(Device::cpu());  // a call without inputs
  if (!out.is_none()) {
    const auto given = nb::cast<Writable>(out);
    require_mutable("out", given);
    check_shape("out", check("out", readable(given), dtype, -1, true), shape);
    const char* begin = static_cast<const char*>(given.data());
    add_range({"out", begin, begin + bytes, true, may_alias});
    output.object = out;
    output.ours = false;
    output.host = given.data();
    kept_.emplace_back(given);
  } else if (stream_->device().is_cpu() || locked_) {
    output.object = new_numpy(shape, dtype, bytes, &output.host);
  } else {
    output.object = new_on_gpu(shape, dtype, bytes, *stream_, libraries_, &output.host);
  }
  output.staged = output.host;
  if (locked_) {
    buffers_.emplace_back(bytes, *stream_);
    output.staged = buffers_.back().data();
  }
  outputs_.push_back(output);
  return output.staged;
}

kernels::Workspace Call::workspace(std::size_t bytes) {
  buffers_.emplace_back(bytes, *stream_);
  return {buffers_.back().data(), bytes};
}

const void* Call::new_constant(const void* value, std::size_t bytes, std::size_t before) {
  buffers_.emplace_back(before + bytes, *stream_);
  char* data = static_cast<char*>(buffers_.back().data());
  copy_bytes(data + before, stream_->device(), value, Device::cpu(), bytes, *stream_);
  return data;
}

void Call::begin() {
  if (!locked_ && stream_->device().is_cuda()) wait_for_current_streams(*stream_, libraries_);
}

// Without the GIL: brings back what was staged.
void Call::finish() {
  if (!locked_) return;
  for (const auto* list : {&outputs_, &in_place_}) {
    for (const Output& output : *list) {
      if (output.bytes == 0) continue;
      copy_bytes(output.host, Device::cpu(), output.staged, stream_->device(), output.bytes,
                 *stream_);
    }
  }
  stream_->synchronize();
}

void Call::end() {
  if (!locked_ && stream_->device().is_cuda()) let_current_streams_wait(*stream_, libraries_);
  if (!libraries_.has(Library::torch)) return;
  for (const auto* list : {&outputs_, &in_place_}) {
    for (const Output& output : *list) {
      if (!output.ours) tell_autograd(output.object);
    }
  }
}

// What the caller gets: a new array becomes one of the library of the first argument, in place.
nb::object Call::of_library(const Output& output) const {
  if (!output.ours || !library_) return output.object;
  switch (*library_) {
    case Library::none:
      break;
    case Library::torch:
      return nb::module_::import_("torch").attr("from_dlpack")(output.object);
    case Library::cupy:
      return nb::module_::import_("cupy").attr("from_dlpack")(output.object);
    case Library::jax:
      return nb::module_::import_("jax").attr("dlpack").attr("from_dlpack")(output.object);
  }
  return output.object;
}

Result Call::result() {
  return nb::steal<Result>(of_library(outputs_.front()).release());
}

Results Call::results() {
  nb::list all;
  for (const Output& output : outputs_) all.append(of_library(output));
  return nb::steal<Results>(nb::tuple(all).release());
}

}  // namespace weft::python
