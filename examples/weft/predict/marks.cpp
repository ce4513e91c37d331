// SPDX-License-Identifier: MIT
#include "examples/weft/predict/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "data/picture/plane.h"
#include "examples/weft/output/draw.h"

namespace weft::cli {
namespace {

std::string name_of(const ReadMark& mark, const Classes& classes) {
  return classes.name(static_cast<std::int64_t>(mark.answer.ranking.front()));
}

nlohmann::ordered_json box_as_json(const data::InkBox& box) {
  return {{"left", box.left}, {"top", box.top}, {"width", box.width}, {"height", box.height}};
}

// The picture, light ink on dark, at most `columns` wide, with white frames. Those of what was left
// out are dotted.
data::GreyImage framed(const data::GreyImage& image, const std::vector<ReadMark>& marks,
                       int columns) {
  const auto most = std::min<std::int64_t>(columns, image.width);
  const std::int64_t height = std::max<std::int64_t>(1, image.height * most / image.width);
  const auto scaled = [&](std::int64_t at) { return at * most / (image.width * image.reduction); };
  const data::Plane small = data::resample(image, most, height);
  data::GreyImage result{most, height, {}};
  const bool is_inverted = marks.front().prepared.inverted;
  for (const float value : small.values) {
    result.pixels.push_back(static_cast<std::uint8_t>(is_inverted ? 255 - value : value));
  }
  const auto dot = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= most || y >= height) return;
    result.pixels[static_cast<std::size_t>(y * most + x)] = 255;
  };
  const auto frame = [&](const data::InkBox& box, std::int64_t step) {
    const std::int64_t left = scaled(box.left) - 1, right = scaled(box.right()) + 1;
    const std::int64_t top = scaled(box.top) - 1, bottom = scaled(box.bottom()) + 1;
    for (std::int64_t x = left; x <= right; x += step) {
      dot(x, top);
      dot(x, bottom);
    }
    for (std::int64_t y = top; y <= bottom; y += step) {
      dot(left, y);
      dot(right, y);
    }
  };
  for (const data::InkBox& box : marks.front().prepared.left_out.boxes) frame(box, 2);
  for (const ReadMark& mark : marks) frame(mark.prepared.box, 1);
  return result;
}

}  // namespace

double certainty(const ReadMark& mark) {
  return mark.answer.probabilities[mark.answer.ranking.front()];
}

nlohmann::ordered_json mark_as_json(const ReadMark& mark, const Classes& classes) {
  return {{"label", mark.answer.ranking.front()},
          {"class", name_of(mark, classes)},
          {"probability", certainty(mark)},
          {"unsure", mark.answer.unsure},
          {"row", mark.prepared.row},
          {"box", box_as_json(mark.prepared.box)},
          {"logits", mark.answer.logits}};
}

std::vector<ReadMark> read_marks(const data::GreyImage& image, data::Invert invert,
                                 const std::string& path, models::Classifier& classifier,
                                 data::PictureSize size) {
  std::vector<ReadMark> marks;
  for (data::PreparedImage& prepared :
       data::prepare_marks(image, invert, path, size, models::judge_by(classifier))) {
    models::Answer answer = classifier.classify(prepared.pixels);
    marks.push_back({std::move(prepared), std::move(answer)});
  }
  return marks;
}

std::string text_of(const std::vector<ReadMark>& marks, const Classes& classes) {
  const bool are_letters = std::all_of(classes.names.begin(), classes.names.end(),
                                       [](const auto& name) { return display_width(name) == 1; });
  std::string text;
  std::int64_t row = 0;
  for (const ReadMark& mark : marks) {
    if (mark.prepared.row != row) {
      text += "\n";
    } else if (!text.empty() && !are_letters) {
      text += " ";
    }
    row = mark.prepared.row;
    text += name_of(mark, classes);
  }
  return text;
}

std::string box_text(const data::InkBox& box) {
  return fmt::format("at {},{}  {} x {}", box.left, box.top, box.width, box.height);
}

std::string marks_as_json(const std::string& path, const std::vector<ReadMark>& marks,
                          const Classes& classes, const models::ModelInfo& info) {
  nlohmann::ordered_json event = json_event("predict_all", {{"image", path}});
  event["text"] = text_of(marks, classes);
  event["inverted"] = marks.front().prepared.inverted;
  event["left_out"] = marks.front().prepared.left_out.count();
  event["left_out_boxes"] = nlohmann::ordered_json::array();
  for (const data::InkBox& box : marks.front().prepared.left_out.boxes) {
    event["left_out_boxes"].push_back(box_as_json(box));
  }
  event["output"] = models::name_of(info.output);
  event["normalisation"] = models::name_of(info.normalisation);
  for (const ReadMark& mark : marks) event["marks"].push_back(mark_as_json(mark, classes));
  return json_line(event);
}

std::string draw_marks(const data::GreyImage& image, const std::vector<ReadMark>& marks,
                       const Classes& classes, data::PictureSize size, const Terminal& terminal) {
  const data::GreyImage page = framed(image, marks, terminal.width - 2);
  std::string text = draw_picture(
      {page.pixels, static_cast<int>(page.height), static_cast<int>(page.width), ""}, terminal);
  std::vector<Picture> pictures;
  for (const ReadMark& mark : marks) {
    pictures.push_back(
        {mark.prepared.pixels, static_cast<int>(size.height), static_cast<int>(size.width),
         fmt::format("{} {}", name_of(mark, classes), format_probability(certainty(mark)))});
  }
  return text + draw_side_by_side(pictures, static_cast<int>(pictures.size()), terminal);
}

}  // namespace weft::cli
