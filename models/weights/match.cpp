// SPDX-License-Identifier: MIT
#include "models/weights/match.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>

#include "engine/error.h"
#include "engine/text.h"
#include "models/files/state_dict.h"
#include "models/weights/flattened.h"

namespace weft::models {

namespace {

using layers::NamedSlice;

// "features.0" and "weight" of "features.0.weight"; a name without a layer is one of its own.
std::string layer_of(const std::string& name) {
  const std::size_t dot = name.find_last_of("./");
  return dot == std::string::npos ? name : name.substr(0, dot);
}
std::string leaf_of(const std::string& name) {
  const std::size_t dot = name.find_last_of("./");
  return dot == std::string::npos ? "" : name.substr(dot + 1);
}

// The words of other libraries for PyTorch's.
std::string_view usual_leaf(std::string_view leaf) {
  if (leaf == "gamma" || leaf == "scale") return "weight";
  if (leaf == "beta") return "bias";
  if (leaf == "moving_mean" || leaf == "mean") return "running_mean";
  return leaf == "moving_variance" || leaf == "var" ? "running_var" : leaf;
}

template <class Named>
struct Group {
  std::string layer;
  std::vector<const Named*> tensors;
};

// By layers, in the order in which they first appear.
template <class Named>
std::vector<Group<Named>> groups_of(const std::vector<const Named*>& tensors) {
  std::vector<Group<Named>> groups;
  std::map<std::string, std::size_t> at;
  for (const Named* tensor : tensors) {
    const auto [place, is_new] = at.emplace(layer_of(tensor->name), groups.size());
    if (is_new) groups.push_back({place->first, {}});
    groups[place->second].tensors.push_back(tensor);
  }
  return groups;
}

// "layer2" comes before "layer10".
bool comes_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto number = [&](std::string_view& text) {
        std::size_t size = 0;
        while (size < text.size() && is_digit(text[size])) ++size;
        std::string_view digits = text.substr(0, size);
        text.remove_prefix(size);
        while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
        return digits;
      };
      const std::string_view of_a = number(a), of_b = number(b);
      if (of_a.size() != of_b.size()) return of_a.size() < of_b.size();
      if (of_a != of_b) return of_a < of_b;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

class Matcher {
 public:
  Matcher(const layers::Sequential& net, const Weights& weights, const std::string& where)
      : net_(net), weights_(weights), where_(where) {
    for (const NamedTensor& tensor : weights.tensors) by_name_.emplace(tensor.name, &tensor);
  }

  // Tensors of the file under the network's names.
  std::map<std::string, const NamedTensor*> match(const std::vector<NamePair>& map) {
    for (const NamePair& pair : map) take_pair(pair);
    for (const NamedSlice& slice : net_.slices()) {
      const auto found = by_name_.find(slice.name);
      if (!taken_.contains(slice.name) && found != by_name_.end()) take(slice, *found->second);
    }
    if (taken_.size() != net_.slices().size()) {
      if (map.empty()) {  // names that happen to be the same say nothing
        taken_.clear();
        used_.clear();
      }
      match_by_order();
    }
    for (const NamedTensor& tensor : weights_.tensors) {
      if (used_.contains(&tensor)) continue;
      fail(str("its tensor ", in_quotes(tensor.name), " of shape ", tensor.shape,
               " is none of the network's"));
    }
    return taken_;
  }

  bool is_by_order() const { return by_order_; }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::data, str(where_, ": ", problem));
  }
  [[noreturn]] void fail_order(const std::string& problem) const {
    fail(problem + "; --map OURS=THEIRS says which layers are the same");
  }
  [[noreturn]] static void fail_map(const std::string& problem) {
    throw Error(ErrorKind::usage, "--map: " + problem);
  }

  void take(const NamedSlice& slice, const NamedTensor& tensor) {
    if (!used_.insert(&tensor).second) {
      fail_map(str("two tensors of the network are ", in_quotes(tensor.name)));
    }
    taken_[slice.name] = &tensor;
  }

  void take_pair(const NamePair& pair) {
    bool is_known = false;
    for (const NamedSlice& slice : net_.slices()) {
      std::string name;
      if (slice.name == pair.first) name = pair.second;
      if (layer_of(slice.name) == pair.first) name = pair.second + "." + leaf_of(slice.name);
      if (name.empty()) continue;
      is_known = true;
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        fail_map(str("the file has no tensor ", in_quotes(name), " for ", slice.name));
      }
      take(slice, *found->second);
    }
    if (!is_known) fail_map(str("the network has no layer or tensor ", in_quotes(pair.first)));
  }

  void match_by_order() {
    std::vector<const NamedSlice*> slices;
    std::vector<const NamedTensor*> tensors;
    for (const NamedSlice& slice : net_.slices()) {
      if (!taken_.contains(slice.name)) slices.push_back(&slice);
    }
    for (const NamedTensor& tensor : weights_.tensors) {
      if (!used_.contains(&tensor)) tensors.push_back(&tensor);
    }
    if (weights_.order == TensorOrder::names) {
      std::stable_sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
        return comes_before(layer_of(a->name), layer_of(b->name));
      });
    }
    by_order_ = true;
    const auto wanted = groups_of(slices);
    auto found = groups_of(tensors);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (weights_.order == TensorOrder::kinds) {  // the next of its kind
        const auto next = std::ranges::find_if(
            found.begin() + static_cast<std::ptrdiff_t>(i), found.end(),
            [&](const auto& group) { return ranks_of(group) == ranks_of(wanted[i]); });
        if (next != found.end()) {
          std::rotate(found.begin() + static_cast<std::ptrdiff_t>(i), next, next + 1);
        }
      }
      if (i == found.size()) fail_order(str("holds no tensors for the layer ", wanted[i].layer));
      match_layer(wanted[i], found[i]);
    }
  }

  template <class Named>
  static std::vector<int> ranks_of(const Group<Named>& group) {
    std::vector<int> ranks;
    for (const Named* tensor : group.tensors) ranks.push_back(tensor->shape.rank());
    std::ranges::sort(ranks);
    return ranks;
  }

  void match_layer(const Group<NamedSlice>& wanted, const Group<NamedTensor>& found) {
    if (wanted.tensors.size() != found.tensors.size()) {
      fail_order(str("its layer ", in_quotes(found.layer), " has ", found.tensors.size(),
                     " tensors, where the network's ", wanted.layer, " has ",
                     wanted.tensors.size()));
    }
    for (std::size_t i = 0; i < wanted.tensors.size(); ++i) {
      const NamedSlice& slice = *wanted.tensors[i];
      const NamedTensor* tensor = found.tensors[i];
      for (const NamedTensor* other : found.tensors) {
        if (leaf_of(other->name) == "kernel") {
          fail(str("its tensor ", in_quotes(other->name), " is named as in Keras and Flax, whose ",
                   "axes are in another order; export the model as ONNX"));
        }
        if (usual_leaf(leaf_of(other->name)) == leaf_of(slice.name)) tensor = other;
      }
      if (tensor->shape != slice.shape) {
        fail_order(str("its tensor ", in_quotes(tensor->name), " has the shape ", tensor->shape,
                       ", where the network's ", slice.name, " has ", slice.shape));
      }
      if (used_.contains(tensor)) {
        fail_order(
            str("its layer ", in_quotes(found.layer), " has other tensors than ", wanted.layer));
      }
      take(slice, *tensor);
    }
  }

  const layers::Sequential& net_;
  const Weights& weights_;
  const std::string& where_;
  std::map<std::string_view, const NamedTensor*> by_name_;
  std::map<std::string, const NamedTensor*> taken_;
  std::set<const NamedTensor*> used_;
  bool by_order_ = false;
};

NetworkOptions options_of(const WeightsImport& wish) {
  NetworkOptions options;
  if (is_network_file(wish.network)) {
    options = read_network(wish.network);
  } else {
    options.name = network_named(wish.network).name;
  }
  if (wish.input) {
    options.channels = (*wish.input)[0];
    options.height = (*wish.input)[1];
    options.width = (*wish.input)[2];
  }
  return options;
}

// The numbers of classes that the file may be for, the likeliest first: those of the last layers.
std::vector<std::int64_t> classes_in(const Weights& weights, const WeightsImport& wish) {
  if (!wish.class_names.empty()) return {std::ssize(wish.class_names)};
  constexpr std::size_t kMostTried = 64;
  std::vector<std::int64_t> classes;
  for (std::size_t i = weights.tensors.size(); i-- > 0 && classes.size() < kMostTried;) {
    const Shape& shape = weights.tensors[i].shape;
    const bool is_linear = shape.rank() == 2 && shape[0] >= 1 && shape[0] <= kMaxClasses;
    if (is_linear && std::ranges::count(classes, shape[0]) == 0) classes.push_back(shape[0]);
  }
  if (classes.empty()) classes.push_back(NetworkOptions().classes);
  return classes;
}

MatchedModel model_of(const Weights& weights, const WeightsImport& wish, NetworkOptions options,
                      std::int64_t classes, const std::string& where) {
  options.classes = classes;
  MatchedModel made;
  Model& model = made.model;
  model.net = make_network(options);
  Matcher matcher(*model.net, weights, where);
  const auto tensors = matcher.match(wish.map);
  SafeTensors content;
  for (const NamedSlice& slice : model.net->slices()) {
    const NamedTensor& tensor = *tensors.at(slice.name);
    if (tensor.name != slice.name) made.map.emplace_back(slice.name, tensor.name);
    content.tensors.push_back({slice.name, tensor.shape, tensor.values});
  }
  if (weights.channels_last) {
    const std::vector<Shape> images = flattened_images(*model.net, where);
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].rank() == 0) continue;
      std::vector<float>& values = content.tensors[i].values;
      values = channels_first(values, images[i][0], images[i][1] * images[i][2]);
    }
  }
  model.parameters = flat_values(content, "", *model.net, SliceKind::parameters, where);
  model.buffers = flat_values(content, "", *model.net, SliceKind::buffers, where);
  model.info.network = options;
  model.info.class_names = wish.class_names;
  for (std::int64_t i = 0; wish.class_names.empty() && i < classes; ++i) {
    model.info.class_names.push_back(std::to_string(i));
  }
  const auto channels = static_cast<std::size_t>(options.channels);
  model.info.mean.assign(channels, 0);
  model.info.stddev.assign(channels, 1);
  model.info.normalisation = NormalisationSource::assumed;
  if (matcher.is_by_order()) {
    made.notices.push_back(
        str("its tensors have other names than the network's, and were matched by their ",
            weights.order == TensorOrder::file    ? "order and shapes"
            : weights.order == TensorOrder::kinds ? "kinds, numbers and shapes"
                                                  : "shapes and the order of their names"));
  }
  return made;
}

}  // namespace

std::vector<NamePair> parse_map(const std::string& text) {
  std::vector<NamePair> map;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, end - at);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      throw Error(ErrorKind::usage,
                  str("--map: expected conv1=features.0,fc1=head, found ", in_quotes(pair)));
    }
    map.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    at = end + 1;
  }
  return map;
}

MatchedModel matched_model(const Weights& weights, const WeightsImport& wish,
                           const std::string& where) {
  NetworkOptions options = options_of(wish);
  std::vector<std::string> notices = weights.notices;
  if (!wish.input && weights.input) {
    options.channels = (*weights.input)[0];
    options.height = (*weights.input)[1];
    options.width = (*weights.input)[2];
  } else if (!wish.input) {
    for (const NamedTensor& tensor : weights.tensors) {
      const Shape& shape = tensor.shape;
      const bool is_first = shape.rank() == 4 && (shape[1] == 1 || shape[1] == 3);
      if (is_first) options.channels = shape[1];
      if (shape.rank() == 4) break;
    }
    notices.push_back(str("images of ", options.channels, " x ", options.height, " x ",
                          options.width, " are assumed; --input CxHxW says another size"));
  }
  // What is wrong is told of the likeliest number of classes.
  std::optional<Error> first;
  for (const std::int64_t classes : classes_in(weights, wish)) {
    try {
      MatchedModel made = model_of(weights, wish, options, classes, where);
      made.notices.insert(made.notices.begin(), notices.begin(), notices.end());
      return made;
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  throw Error(*first);
}

}  // namespace weft::models
