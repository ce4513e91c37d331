// SPDX-License-Identifier: MIT
#include "examples/weft/watch/page.h"

#include <nlohmann/json.hpp>

#include "data/files/sha256.h"
#include "engine/text.h"
#include "examples/weft/watch/values.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

// The offsets of the lanes: [first, distance] where each is as far from the one before, else
// [first, distance, distance, ...] of each to the first.
Json offsets_json(const TracedEvent& event) {
  const std::vector<std::int64_t>& offsets = event.offsets;
  if (offsets.empty()) return Json::array();
  const std::int64_t first = offsets[0];
  const std::int64_t distance = offsets.size() > 1 ? offsets[1] - first : 0;
  bool regular = true;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    regular = regular && offsets[i] - offsets[i - 1] == distance;
  }
  if (regular) return {first, distance};
  Json list = {first};
  for (std::size_t i = 1; i < offsets.size(); ++i) list.push_back(offsets[i] - first);
  return list;
}

// Fields by position, because there are thousands; page.js names them.
Json event_json(const TracedEvent& event, Element element) {
  Json row = {static_cast<int>(event.what),
              event.block,
              event.phase,
              event.warp,
              event.lanes,
              event.line,
              event.sentence,
              event.trips};
  if (event.what == TracedEvent::What::branch) row.push_back(event.parting);
  if (event.what == TracedEvent::What::request) {
    for (const std::uint32_t field :
         {static_cast<std::uint32_t>(event.kind), event.array, event.bytes, event.transactions,
          event.least, event.together}) {
      row.push_back(field);
    }
    row.push_back(offsets_json(event));
    row.push_back(values_json(event, element));
  }
  return row;
}

// What each array of the trace holds: by the parameters that point to it, else by its values.
std::vector<Element> elements_of(const AccessTrace& trace, Kernels& kernels) {
  std::vector<Element> elements(trace.arrays.size(), Element::unknown);
  std::vector<std::vector<const TracedEvent*>> requests(trace.arrays.size());
  for (const TracedLaunch& launch : trace.launches) {
    for (const auto& [array, name] : kernels.names_in(launch)) {
      if (elements[array] == Element::unknown) elements[array] = name.element;
    }
    for (const TracedEvent& event : launch.events) {
      if (event.what == TracedEvent::What::request) requests[event.array].push_back(&event);
    }
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == Element::unknown) elements[i] = guessed(requests[i]);
  }
  return elements;
}

Json launch_json(const TracedLaunch& launch, const std::vector<Element>& elements,
                 Kernels& kernels) {
  Json object = {{"kernel", launch.kernel},
                 {"grid", launch.grid},
                 {"block", launch.block},
                 {"sharedBytes", launch.shared_bytes},
                 {"firstBlock", launch.first_block},
                 {"blocks", launch.blocks},
                 {"warps", launch.warps},
                 {"leftOut", launch.left_out},
                 {"names", Json::object()},
                 {"events", Json::array()}};
  for (const auto& [array, name] : kernels.names_in(launch)) {
    object["names"][std::to_string(array)] = name.name;
  }
  for (const TracedEvent& event : launch.events) {
    const bool has_array = event.what == TracedEvent::What::request;
    object["events"].push_back(
        event_json(event, has_array ? elements[event.array] : Element::unknown));
  }
  return object;
}

Json figures_json(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& one : figures) list.push_back({one.name, one.text, one.origin});
  return list;
}

Json run_json(const Watched& watched) {
  Json object = {{"title", watched.title},
                 {"summary", watched.summary},
                 {"problem", watched.problem},
                 {"finding", finding(watched)},
                 {"lines", watched.trace.lines},
                 {"sentences", watched.trace.sentences},
                 {"launchesLeftOut", watched.trace.launches_left_out},
                 {"arrays", Json::array()},
                 {"totals", Json::array()},
                 {"broken", Json::array()},
                 {"launches", Json::array()}};
  std::vector<Figure> figures = counted_figures(watched.counts);
  figures.insert(figures.end(), watched.figures.begin(), watched.figures.end());
  object["figures"] = figures_json(figures);
  for (const Broken& one : watched.broken)
    object["broken"].push_back({one.line, one.text, one.what});
  for (const TracedArray& array : watched.trace.arrays) {
    object["arrays"].push_back({{"name", array.name}, {"bytes", array.bytes}});
  }
  for (const KernelCounts& kernel : watched.counts) {
    for (const LineCounts& line : kernel.lines) {
      object["totals"].push_back({line.line, name_of(line.kind), line.requests, line.lanes,
                                  line.transactions, line.least});
    }
  }
  Kernels kernels(watched.trace);
  const std::vector<Element> elements = elements_of(watched.trace, kernels);
  for (const TracedLaunch& launch : watched.trace.launches) {
    object["launches"].push_back(launch_json(launch, elements, kernels));
  }
  return object;
}

// A value with its texts as a page shows them. Those of sources keep their lines.
Json shown(const Json& value, const Kept& kept = {}) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>(), kept);
  if (!value.is_structured()) return value;
  Json copy = value.is_array() ? Json::array() : Json::object();
  if (value.is_array()) {
    for (const Json& one : value) copy.push_back(shown(one, kept));
  } else {
    for (const auto& [key, one] : value.items()) copy[printable(key)] = shown(one, kept);
  }
  return copy;
}

}  // namespace

std::string watch_page(const std::vector<Watched>& watched) {
  Json runs = Json::array(), sources = Json::object();
  std::string title;
  for (const Watched& one : watched) {
    runs.push_back(run_json(one));
    for (const auto& [path, text] : one.trace.sources) sources[path] = text;
    title += (title.empty() ? "" : " and ") + one.title;
  }
  Json data = {{"runs", shown(runs)}, {"sources", shown(sources, {.lines = true, .tabs = true})}};
  if (watched.size() == 2) data["difference"] = shown(difference(watched[0], watched[1]));
  const std::string script = kWatchJs;
  const data::Digest digest =
      data::sha256({reinterpret_cast<const std::uint8_t*>(script.data()), script.size()});
  const std::string json = json_in_html(json_text(data)), name = html_text(title),
                    policy = policy_element("'sha256-" + base64(digest) + "'");
  const Part parts[] = {{"title", name},
                        {"policy", policy},
                        {"style", kWatchCss},
                        {"script", script},
                        {"data", json}};
  return filled(kWatchHtml, parts);
}

}  // namespace weft::cli
