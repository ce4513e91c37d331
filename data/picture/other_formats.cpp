// SPDX-License-Identifier: MIT
#include "data/picture/other_formats.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/error.h"

namespace weft::data {
namespace {

struct OtherFormat {
  std::size_t at;  // where the mark stands
  std::string_view mark;
  const char* name;
};

using namespace std::string_view_literals;

constexpr OtherFormat kOtherFormats[] = {{4, "ftyphevc"sv, "a film or a series of pictures (HEIC)"},
                                         {4, "ftyphevx"sv, "a film or a series of pictures (HEIC)"},
                                         {4, "ftypmsf1"sv, "a series of pictures (HEIF)"},
                                         {4, "ftypavis"sv, "a series of pictures (AVIF)"},
                                         {4, "ftypcrx "sv, "a camera's raw file (CR3)"},
                                         {4, "ftyp"sv, "a film"},
                                         {0, "II*\0\x10\0\0\0CR"sv, "a camera's raw file (CR2)"},
                                         {0, "II+\0"sv, "TIFF of 64 bits"},
                                         {0, "MM\0+"sv, "TIFF of 64 bits"},
                                         {0, "\xff\x0a"sv, "JPEG XL"},
                                         {0, "\0\0\0\x0cJXL "sv, "JPEG XL"},
                                         {0, "\0\0\0\x0cjP  "sv, "JPEG 2000"},
                                         {0, "\xff\x4f\xff\x51"sv, "JPEG 2000"},
                                         {0, "%PDF-"sv, "PDF"},
                                         {0, "8BPS"sv, "a Photoshop file"},
                                         {0, "<svg"sv, "SVG"},
                                         {0, "\0\0\1\0"sv, "an icon (ICO)"},
                                         {0, "v/1\1"sv, "OpenEXR"},
                                         {0, "#?RADIANCE"sv, "a Radiance picture (HDR)"},
                                         {0, "qoif"sv, "QOI"}};

}  // namespace

std::string refusal_of_format(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto* const format = std::find_if(
      std::begin(kOtherFormats), std::end(kOtherFormats), [&](const OtherFormat& candidate) {
        return text.size() > candidate.at && text.substr(candidate.at).starts_with(candidate.mark);
      });
  if (format == std::end(kOtherFormats)) return "";
  return str("this is ", format->name, ", which is not read: save it as JPEG or PNG");
}

}  // namespace weft::data
