// SPDX-License-Identifier: MIT
#include "data/hard/stroke_font.h"

#include <string>

namespace weft::data {
namespace {

// A glyph is its width, a colon, and strokes between spaces. A stroke is a list of points of two
// digits, x and y (a to c are 10 to 12): capitals are 9 high from y = 0 down to the baseline at 9,
// small letters begin at 3, descenders end at 12.
struct Glyph {
  char letter;
  std::string_view strokes;
};

constexpr std::string_view kBowlLeft = "54432314050718294958", kBowlRight = "04133344555748391908";

constexpr Glyph kGlyphs[] = {
    {' ', "3:"},
    {'!', "2:1016 1919"},
    {'"', "2:0002 2022"},
    {'#', "6:2019 5049 0363 0666"},
    {'%', "6:6009 1021120110 5768594857"},
    {'\'', "1:0002"},
    {'(', "2:20110307192a"},
    {')', "2:00112327190a"},
    {'*', "4:2125 0244 4204"},
    {'+', "4:0646 2428"},
    {',', "2:190b"},
    {'-', "4:0646"},
    {'.', "2:1919"},
    {'/', "5:500a"},
    {'0', "5:20304153564839291806031120"},
    {'1', "5:123039"},
    {'2', "5:02112030415253450959"},
    {'3', "5:0120304152433424 3445565748392908"},
    {'4', "5:49400656"},
    {'5', "5:501004233344555748391908"},
    {'6', "5:40301205071829394857564534241506"},
    {'7', "5:005029"},
    {'8', "5:203041433424131120 24344556574839291807061524"},
    {'9', "5:19294754524130201102031425354453"},
    {':', "2:1414 1919"},
    {';', "2:1414 190b"},
    {'<', "4:430649"},
    {'=', "4:0545 0747"},
    {'>', "4:034609"},
    {'?', "4:02103041432526 2929"},
    {'A', "6:093069 1656"},
    {'B', "6:09004051534404 44556667584909"},
    {'C', "6:625140201103061829495867"},
    {'D', "6:090030516366583909"},
    {'E', "5:50000959 0444"},
    {'F', "5:500009 0444"},
    {'G', "6:6251402011030618294958676545"},
    {'H', "6:0009 6069 0464"},
    {'I', "2:1019"},
    {'J', "5:50574839291807"},
    {'K', "6:0009 6006 2469"},
    {'L', "5:000959"},
    {'M', "8:0900468089"},
    {'N', "6:09006960"},
    {'O', "6:20405163665849291806031120"},
    {'P', "6:090040516263544505"},
    {'Q', "6:20405163665849291806031120 476a"},
    {'R', "6:090040516263544505 3569"},
    {'S', "6:62514020110213244556675849291807"},
    {'T', "6:0060 3039"},
    {'U', "6:0006182949586660"},
    {'V', "6:003960"},
    {'W', "8:0029436980"},
    {'X', "6:0069 6009"},
    {'Y', "6:003460 3439"},
    {'Z', "6:00600969"},
    {'[', "2:20000a2a"},
    {'\\', "5:005a"},
    {']', "2:00202a0a"},
    {'_', "5:0b5b"},
    {'a', "5:5359 <"},
    {'b', "5:0009 >"},
    {'c', "5:<"},
    {'d', "5:5059 <"},
    {'e', "5:06565544332314050718294958"},
    {'f', "3:30201119 0333"},
    {'g', "5:535a4b3c1c0b <"},
    {'h', "5:0009 0523435559"},
    {'i', "2:1319 1010"},
    {'j', "2:131a0c 1010"},
    {'k', "5:0009 4307 2559"},
    {'l', "2:1019"},
    {'m', "8:0309 0513334549 4553738589"},
    {'n', "5:0309 0523435559"},
    {'o', "5:23334455574839291807051423"},
    {'p', "5:030c >"},
    {'q', "5:535c <"},
    {'r', "3:0309 052333"},
    {'s', "5:544313040516465758491908"},
    {'t', "3:10182939 0333"},
    {'u', "5:0307193957 5359"},
    {'v', "4:032943"},
    {'w', "8:0329446983"},
    {'x', "5:0359 5309"},
    {'y', "5:0339 53392b1c0c"},
    {'z', "5:03530959"},
    {'|', "2:101b"},
    {'~', "5:0716374656"},
};

const Glyph& glyph_of(char letter) {
  const Glyph* unknown = nullptr;
  for (const Glyph& glyph : kGlyphs) {
    if (glyph.letter == letter) return glyph;
    if (glyph.letter == '?') unknown = &glyph;
  }
  return *unknown;
}

int coordinate(char c) {
  return c >= 'a' ? c - 'a' + 10 : c - '0';
}

// One letter for each code point.
std::string to_ascii(std::string_view utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const unsigned char byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      out += utf8[i];
      continue;
    }
    if ((byte & 0xc0) == 0x80) continue;
    const std::string_view rest = utf8.substr(i);
    out += rest.starts_with("–") || rest.starts_with("−") ? '-' : rest.starts_with("×") ? 'x' : '?';
  }
  return out;
}

}  // namespace

StrokeText stroke_text(std::string_view utf8, double size) {
  constexpr double kCapitalHeight = 0.71, kBaseline = 9, kGap = 2.2;  // the first in ems
  const double unit = size * kCapitalHeight / kBaseline;
  StrokeText out;
  for (const char letter : to_ascii(utf8)) {
    const std::string_view strokes = glyph_of(letter).strokes;
    out.strokes.emplace_back();
    for (std::size_t i = 2; i < strokes.size(); ++i) {
      if (strokes[i] == ' ') {
        out.strokes.emplace_back();
        continue;
      }
      const bool is_left = strokes[i] == '<', is_bowl = is_left || strokes[i] == '>';
      const std::string_view points =
          is_bowl ? (is_left ? kBowlLeft : kBowlRight) : strokes.substr(i++, 2);
      for (std::size_t at = 0; at < points.size(); at += 2) {
        out.strokes.back().push_back({out.width + unit * coordinate(points[at]),
                                      unit * (coordinate(points[at + 1]) - kBaseline)});
      }
    }
    if (out.strokes.back().empty()) out.strokes.pop_back();
    out.width += unit * (coordinate(strokes[0]) + kGap);
  }
  if (out.width > 0) out.width -= unit * kGap;
  return out;
}

}  // namespace weft::data
