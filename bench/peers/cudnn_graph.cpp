// SPDX-License-Identifier: MIT
// cuDNN at convolution through its graph API: all tensors with channels last, in bfloat16 or in
// floats that it may round to tf32, and the fastest of the engines that its heuristics name.
//
// The inputs are brought into that form before anything is timed, and the output is brought back
// before it is checked. So this is what a network costs whose tensors stay in that form.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "bench/peers/cudnn_state.h"
#include "kernels/bfloat16.h"
#include "kernels/conv/problem.h"
#include "measure/machine/sampler.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::Bfloat16;

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &raw_), "make a descriptor");
  }
  ~Descriptor() {
    if (raw_ != nullptr) static_cast<void>(cudnnBackendDestroyDescriptor(raw_));
  }
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  cudnnBackendDescriptor_t raw() const { return raw_; }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const std::vector<T>& values) {
    check(cudnnBackendSetAttribute(raw_, name, type, std::ssize(values), values.data()),
          "set an attribute");
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               std::vector<cudnnBackendDescriptor_t>{other.raw()});
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  std::int64_t number(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0, count = 0;
    check(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value),
          "tell an attribute");
    return value;
  }
  void finalize() { check(cudnnBackendFinalize(raw_), "accept a descriptor"); }
  bool is_accepted() { return cudnnBackendFinalize(raw_) == CUDNN_STATUS_SUCCESS; }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

// A tensor of (n, c, h, w) with c last in memory.
struct ChannelsLast {
  std::int64_t n, c, h, w;
  bool bf16;

  std::int64_t elements() const { return n * c * h * w; }
  std::size_t element_bytes() const { return bf16 ? sizeof(Bfloat16) : sizeof(float); }

  // Calls visit(place here, place in n, c, h, w order) for each element.
  template <class Visit>
  void for_each(const Visit& visit) const {
#pragma omp parallel for schedule(static)
    for (std::int64_t image = 0; image < n; ++image) {
      for (std::int64_t at = 0; at < c * h * w; ++at) {
        const std::int64_t channel = at % c, pixel = at / c;
        visit(static_cast<std::size_t>(image * c * h * w + at),
              static_cast<std::size_t>((image * c + channel) * h * w + pixel));
      }
    }
  }
  std::vector<std::uint8_t> stored(const std::vector<float>& values) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(elements()) * element_bytes());
    if (values.empty()) return bytes;  // of an output
    for_each([&](std::size_t here, std::size_t there) {
      const Bfloat16 narrow = kernels::to_bfloat16(values[there]);
      const void* from = bf16 ? static_cast<const void*>(&narrow) : &values[there];
      std::memcpy(bytes.data() + here * element_bytes(), from, element_bytes());
    });
    return bytes;
  }
  std::vector<float> read(const std::vector<std::uint8_t>& bytes) const {
    std::vector<float> values(static_cast<std::size_t>(elements()));
    for_each([&](std::size_t here, std::size_t there) {
      const std::uint8_t* from = bytes.data() + here * element_bytes();
      Bfloat16 narrow;
      std::memcpy(&narrow, from, sizeof(narrow));
      if (bf16) {
        values[there] = kernels::to_float(narrow);
      } else {
        std::memcpy(&values[there], from, sizeof(float));
      }
    });
    return values;
  }
  Descriptor descriptor(std::int64_t id) const {
    Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
             std::vector{bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT})
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w})
        .set(CUDNN_ATTR_TENSOR_STRIDES, {c * h * w, 1, c * w, c})
        .finalize();
    return tensor;
  }
};

// The three tensors, what cuDNN computes of them, and with which engine.
class GraphConv {
 public:
  GraphConv(const problems::Conv& p, bool bf16, ArrayWork& work)
      : p_(p),
        work_(work),
        stream_(work.context.stream),
        forms_{ChannelsLast{p.dims.n, p.dims.c, p.dims.h, p.dims.w, bf16},
               ChannelsLast{p.dims.n, p.dims.oc, p.dims.oh(), p.dims.ow(), bf16},
               ChannelsLast{p.dims.oc, p.dims.c, p.dims.kh, p.dims.kw, bf16}},
        handle_(stream_) {
    for (std::size_t i = 0; i < 3; ++i) {
      tensors_.push_back(forms_[i].descriptor(static_cast<std::int64_t>(i)));
      memory_.emplace_back(forms_[i].stored(work.array(kNames[i]).host), work.sets, stream_);
    }
    describe_graph();
    name_engines(CUDNN_HEUR_MODE_A);
    name_engines(CUDNN_HEUR_MODE_B);
  }

  // Takes the fastest engine, and tries them all for the first problem of this text; false: cuDNN
  // has none for it.
  bool choose() {
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      turns.push_back([this, i] {
        if (!use(i)) throw Error(ErrorKind::device, "cuDNN's engine does not support this");
        Sampler sampler([this](int set) { call(set); }, work_.sets, {0, 1}, stream_);
        return sampler.take(3);
      });
    }
    try {
      return use(fastest_of(str(p_.text(), forms_[0].bf16 ? ", bf16" : ", tf32"), turns).index);
    } catch (const Error&) {
      return false;  // no engine runs
    }
  }
  void call(int set) {
    std::vector<void*> pointers;
    for (Rotated<std::uint8_t>& memory : memory_) pointers.push_back(memory[set]);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {0, 1, 2})
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             std::vector<void*>{scratch_.raw()})
        .finalize();
    check(cudnnBackendExecute(handle_.handle, plan_->raw(), pack.raw()), "convolve");
  }
  // Writes the output to where the work is checked.
  void finish(int set) {
    const auto out = static_cast<std::size_t>(written());
    const std::vector<float> values = forms_[out].read(memory_[out].host(set));
    const Bytes to = work_.array(kNames[out]).bytes(set);
    copy_bytes(to.data, stream_.device(), values.data(), Device::cpu(), to.count, stream_);
    stream_.synchronize();
  }
  std::string engine() const { return str("engine ", engine_); }

 private:
  static constexpr const char* kNames[] = {"x", "y", "w"};
  static constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;  // bytes
  static constexpr std::int64_t kMostEngines = 8;                        // of each heuristic

  int written() const {
    return p_.pass == kernels::ConvPass::backward_data ? 0
           : p_.pass == kernels::ConvPass::forward     ? 1
                                                       : 2;
  }
  void describe_graph() {
    const kernels::ConvDims& d = p_.dims;
    conv_.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
        .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT})
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
             std::vector{CUDNN_CROSS_CORRELATION})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {d.pad_h, d.pad_w})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {d.pad_h, d.pad_w})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {d.stride_h, d.stride_w})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
        .finalize();
    struct Names {
      cudnnBackendDescriptorType_t operation;
      cudnnBackendAttributeName_t x, y, w, conv, alpha, beta;
    };
    constexpr Names kOperations[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    const Names& names = kOperations[written()];
    operation_.emplace(names.operation);
    operation_->set(names.x, tensors_[0])
        .set(names.y, tensors_[1])
        .set(names.w, tensors_[2])
        .set(names.conv, conv_)
        .set(names.alpha, CUDNN_TYPE_FLOAT, std::vector{1.0f})
        .set(names.beta, CUDNN_TYPE_FLOAT, std::vector{0.0f})
        .finalize();
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle_.handle})
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, *operation_)
        .finalize();
  }
  void name_engines(cudnnBackendHeurMode_t mode) {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{mode});
    if (!heuristic.is_accepted()) return;
    std::vector<cudnnBackendDescriptor_t> found;
    const std::size_t before = engines_.size();
    for (std::int64_t i = 0; i < kMostEngines; ++i) {
      engines_.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      found.push_back(engines_.back().raw());
    }
    std::int64_t count = 0;
    check(
        cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostEngines, &count, found.data()),
        "name engines");
    const auto named = static_cast<std::size_t>(std::min(count, kMostEngines));
    while (engines_.size() > before + named) engines_.pop_back();
  }
  // Makes engine i the one that call() runs; false: it does not support this.
  bool use(std::size_t i) {
    plan_.emplace(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan_->set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle_.handle})
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines_[i]);
    if (!plan_->is_accepted()) return false;
    const std::int64_t bytes = plan_->number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (bytes > kMostWorkspace) return false;
    if (scratch_.bytes() < static_cast<std::size_t>(bytes)) {
      scratch_ = Tensor(Shape{bytes}, DType::u8, stream_);
    }
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.raw();
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(engines_[i].raw(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
          "tell the engine");
    engine_ = engine.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    return true;
  }

  const problems::Conv& p_;
  ArrayWork& work_;
  Stream stream_;
  ChannelsLast forms_[3];  // of x, y and w
  CudnnState handle_;
  std::vector<Rotated<std::uint8_t>> memory_;
  std::vector<Descriptor> tensors_, engines_;
  Descriptor conv_{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  std::optional<Descriptor> operation_;
  Descriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::optional<Descriptor> plan_;
  std::int64_t engine_ = -1;
  Tensor scratch_;
};

PeerCall bind_graph_conv(Work& work, bool bf16) {
  auto* conv = work_on<problems::Conv>(work);
  if (conv == nullptr) return {};
  const auto graph = std::make_shared<GraphConv>(conv->p, bf16, *conv);
  if (!graph->choose()) return {};
  return {[graph](int set) { graph->call(set); }, [graph](int set) { graph->finish(set); },
          graph->engine()};
}

}  // namespace

std::vector<Peer> cudnn_graph_peers() {
  return {{"cuDNN tf32, channels last", Arithmetic::tf32,
           [](Work& work) { return bind_graph_conv(work, false); }},
          {"cuDNN bf16, channels last", Arithmetic::bf16,
           [](Work& work) { return bind_graph_conv(work, true); }}};
}

}  // namespace weft::measure
