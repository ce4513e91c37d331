// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/windows.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/extent.h"
#include "models/onnx/graph.h"

namespace weft::models::simplify {

namespace {

constexpr std::int64_t kMostExtent = 1 << 20;  // of a window and an image

std::int64_t windows_in(std::int64_t extent, const AxisWindow& axis, std::int64_t behind) {
  const std::int64_t room = extent + axis.before + behind - axis.span();
  return room < 0 ? 0 : room / axis.stride + 1;
}

// The padding that makes as many windows as strides begin in the image.
bool pad_to_same(AxisWindow& axis, const Extent& extent, bool more_behind) {
  std::int64_t all = axis.span() - 1;  // of a stride of 1, whatever the extent
  if (axis.stride != 1) {
    if (!extent.is_number()) return false;
    const std::int64_t last = (extent.value - 1) / axis.stride;
    all = std::max<std::int64_t>(last * axis.stride + axis.span() - extent.value, 0);
  }
  axis.before = more_behind ? all / 2 : all - all / 2;
  axis.behind = all - axis.before;
  return true;
}

// With ceil_mode: no window begins behind the image.
Extent windows_rounded_up(const Extent& extent, const AxisWindow& axis) {
  if (!extent.is_number()) return {};
  const std::int64_t room = extent.value + axis.before + axis.behind - axis.span();
  if (room < 0) return {};
  std::int64_t count = divide_up(room, axis.stride) + 1;
  if ((count - 1) * axis.stride >= extent.value + axis.before) --count;
  return Extent::number(count);
}

}  // namespace

std::optional<Windows> windows_of(const onnx::NodeProto& node, const std::string& where,
                                  const std::vector<std::int64_t>& kernel, const Extent& rows,
                                  const Extent& columns) {
  const Attributes attributes(node, where);
  using Numbers = std::vector<std::int64_t>;
  const Numbers strides = attributes.integers("strides").value_or(Numbers{1, 1});
  const Numbers dilations = attributes.integers("dilations").value_or(Numbers{1, 1});
  const Numbers pads = attributes.integers("pads").value_or(Numbers{0, 0, 0, 0});
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2 || pads.size() != 4) {
    return std::nullopt;
  }
  Windows found;
  const std::int64_t ceil = attributes.integer("ceil_mode", 0);
  if (ceil != 0 && ceil != 1) {
    refuse_node(node, where, str("expected ceil_mode 0 or 1, found ", ceil));
  }
  found.rounds_up = ceil == 1;
  bool rounds = false;
  for (std::size_t i = 0; i < 2; ++i) {
    AxisWindow& axis = found.axes[i];
    axis = {kernel[i], strides[i], dilations[i], pads[i], pads[i + 2]};
    const Extent& extent = i == 0 ? rows : columns;
    const auto within = [](std::int64_t value, std::int64_t least) {
      return value >= least && value <= kMostExtent;
    };
    const bool is_sound = within(axis.kernel, 1) && within(axis.stride, 1) &&
                          within(axis.dilation, 1) && within(axis.before, 0) &&
                          within(axis.behind, 0) &&
                          (!extent.is_number() || within(extent.value, 1));
    if (!is_sound) return std::nullopt;
    if (automatic == "VALID") axis.before = axis.behind = 0;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      if (!pad_to_same(axis, extent, automatic == "SAME_UPPER")) return std::nullopt;
    } else if (automatic != "NOTSET" && automatic != "VALID") {
      return std::nullopt;
    }
    if (!extent.is_number()) {
      rounds = true;
      const bool keeps = axis.stride == 1 && axis.before + axis.behind == axis.span() - 1;
      axis.out = keeps ? extent : Extent{};
      continue;
    }
    const std::int64_t room = extent.value + axis.before + axis.behind - axis.span();
    const std::int64_t count = windows_in(extent.value, axis, axis.behind);
    if (count == 0) return std::nullopt;
    rounds = rounds || room % axis.stride != 0;
    axis.out = Extent::number(count);
    // The windows stay where they are, and none reaches what is added or taken behind.
    if (windows_in(extent.value, axis, axis.before) == count) axis.behind = axis.before;
  }
  found.rounds_up = found.rounds_up && rounds;
  if (found.rounds_up) {
    for (std::size_t i = 0; i < 2; ++i) {
      AxisWindow& axis = found.axes[i];
      // What is added behind may add a window.
      if (automatic == "NOTSET") axis.behind = pads[i + 2];
      axis.out = windows_rounded_up(i == 0 ? rows : columns, axis);
    }
  }
  return found;
}

void write_windows(const Windows& windows, onnx::NodeProto& node, const std::string& where) {
  const Attributes attributes(node, where);
  const auto pads = attributes.integers("pads");
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  const std::vector<std::int64_t> said = pads.value_or(std::vector<std::int64_t>(4, 0));
  const bool says_pads = automatic == "NOTSET" && said == windows.pads();
  const bool rounds = attributes.integer("ceil_mode", 0) != 0;
  if (!says_pads) set_integers(node, "pads", windows.pads());
  if (automatic != "NOTSET") remove_attribute(node, "auto_pad");
  if (rounds && !windows.rounds_up) remove_attribute(node, "ceil_mode");
}

}  // namespace weft::models::simplify
