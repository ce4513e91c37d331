// SPDX-License-Identifier: MIT
// predict --all: every mark of a picture, as text, as JSON and drawn.
#pragma once

#include <string>
#include <vector>

#include "data/ink/preprocess.h"
#include "examples/weft/output/json_lines.h"
#include "examples/weft/output/results.h"
#include "models/answers/classifier.h"

namespace weft::cli {

struct ReadMark {
  data::PreparedImage prepared;
  models::Answer answer;
};

double certainty(const ReadMark& mark);  // the probability of its answer

// In reading order. Throws data when there is no ink; `path` is for the message.
std::vector<ReadMark> read_marks(const data::GreyImage& image, data::Invert invert,
                                 const std::string& path, models::Classifier& classifier,
                                 data::PictureSize size);

// What the marks say, a line for each row of the writing: "0171\n4711".
std::string text_of(const std::vector<ReadMark>& marks, const Classes& classes);

// "at 120,80  64 x 90": the left upper corner and the size in pixels.
std::string box_text(const data::InkBox& box);

// Its class, probability, row, box and logits.
nlohmann::ordered_json mark_as_json(const ReadMark& mark, const Classes& classes);

// One line of JSON with the text and, for each mark, its class, probability, logits and box.
std::string marks_as_json(const std::string& path, const std::vector<ReadMark>& marks,
                          const Classes& classes, const models::ModelInfo& info);

// The whole picture with a frame around each mark, then what the network saw of each.
std::string draw_marks(const data::GreyImage& image, const std::vector<ReadMark>& marks,
                       const Classes& classes, data::PictureSize size, const Terminal& terminal);

}  // namespace weft::cli
