// SPDX-License-Identifier: MIT
// libtiff decodes TIFF, where Weft is built with it: files of one page, turned upright. What a file
// may cost is bounded here.
#include "data/picture/image.h"
#include "data/picture/picture.h"

#ifdef WEFT_WITH_TIFF

#include <tiffio.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "data/picture/exif.h"
#include "data/picture/other_formats.h"
#include "engine/text.h"

namespace weft::data {
namespace {

// A file in memory, read as libtiff wants to.
struct Source {
  std::span<const std::uint8_t> file;
  std::size_t at = 0;
  std::string problem = {};  // that libtiff told last
};

tmsize_t read(thandle_t handle, void* to, tmsize_t count) {
  Source& source = *static_cast<Source*>(handle);
  const std::size_t left = source.file.size() - source.at;
  const std::size_t taken = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
  std::memcpy(to, source.file.data() + source.at, taken);
  source.at += taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t refuse_to_write(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
  Source& source = *static_cast<Source*>(handle);
  const std::size_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? source.at : source.file.size();
  source.at = std::min(base + static_cast<std::size_t>(offset), source.file.size());
  return source.at;
}

int close(thandle_t) {
  return 0;
}

toff_t size(thandle_t handle) {
  return static_cast<Source*>(handle)->file.size();
}

int note(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  static_cast<Source*>(data)->problem = text;
  return 1;
}

int pass_over(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

using Tiff = std::unique_ptr<TIFF, void (*)(TIFF*)>;

Tiff open(Source& source) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxImagePixels * 8);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), note, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), pass_over, nullptr);
  return {TIFFClientOpenExt("picture", "rm", &source, read, refuse_to_write, seek, close, size,
                            nullptr, nullptr, options.get()),
          TIFFClose};
}

template <class T>
T field(TIFF* tiff, std::uint32_t tag) {
  T value{};
  TIFFGetFieldDefaulted(tiff, tag, &value);
  return value;
}

// Is the first sample beside the colours the alpha of the pixel?
bool shows_ground(TIFF* tiff) {
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  if (TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 0) return false;
  return count > 0 && kinds[0] != EXTRASAMPLE_UNSPECIFIED;
}

// Goes to the picture. Beside it a file may have smaller ones of it, and cameras' raw files show
// those alone. Scans of several sheets are no picture.
void find_page(TIFF* tiff, const std::string& name) {
  std::vector<tdir_t> pages;
  do {
    if ((field<std::uint32_t>(tiff, TIFFTAG_SUBFILETYPE) & FILETYPE_REDUCEDIMAGE) == 0) {
      pages.push_back(TIFFCurrentDirectory(tiff));
    }
  } while (pages.size() < 2 && TIFFReadDirectory(tiff) != 0);
  if (pages.empty()) {
    throw unsupported_picture(name,
                              "a TIFF of small copies alone, as a camera's raw file has them");
  }
  if (pages.size() > 1) {
    throw unsupported_picture(name,
                              "a TIFF of several pages: save each page as a picture of its own");
  }
  if (TIFFSetDirectory(tiff, pages.front()) == 0) {
    throw damaged_picture(name, "the TIFF has no picture");
  }
}

// Samples of 16 bits, grey or RGB, as PNG's of that depth are read. libtiff's own conversion takes
// the upper byte, by which pictures of 10 or 12 bits would be nearly black.
Picture decode_deep(TIFF* tiff, Picture picture, const std::string& name, int sample_bits,
                    Source& source) {
  const bool inverted = field<std::uint16_t>(tiff, TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_MINISWHITE;
  const auto row = static_cast<std::size_t>(picture.width * picture.channels);
  std::vector<std::uint16_t> samples(row * static_cast<std::size_t>(picture.height));
  if (static_cast<std::size_t>(TIFFScanlineSize(tiff)) != row * sizeof(std::uint16_t)) {
    throw damaged_picture(name, "the rows of the TIFF have another length than its width says");
  }
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    if (TIFFReadScanline(tiff, samples.data() + y * row, static_cast<std::uint32_t>(y), 0) != 1) {
      throw damaged_picture(name, str("libtiff says: ", shown(source.problem)));
    }
  }
  if (inverted) {
    for (std::uint16_t& sample : samples) sample = static_cast<std::uint16_t>(65535 - sample);
  }
  picture.depth = depth_of(*std::ranges::max_element(samples), inverted ? 16 : 0, sample_bits);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    picture.pixels[i] = byte_of_sample(samples[i], picture.depth.bits);
  }
  return picture;
}

}  // namespace

Picture decode_tiff(std::span<const std::uint8_t> file, const std::string& name, int sample_bits) {
  if (const std::string raw = refusal_of_format(file); !raw.empty()) {
    throw Error(ErrorKind::data, str(name, ": ", raw));
  }
  Source source{file};
  const Tiff tiff = open(source);
  if (tiff == nullptr) throw damaged_picture(name, str("libtiff says: ", shown(source.problem)));
  find_page(tiff.get(), name);
  const auto width = field<std::uint32_t>(tiff.get(), TIFFTAG_IMAGEWIDTH);
  const auto height = field<std::uint32_t>(tiff.get(), TIFFTAG_IMAGELENGTH);
  check_dimensions(width, height, name);
  const int samples = field<std::uint16_t>(tiff.get(), TIFFTAG_SAMPLESPERPIXEL);
  const int bits = field<std::uint16_t>(tiff.get(), TIFFTAG_BITSPERSAMPLE);
  const int orientation = field<std::uint16_t>(tiff.get(), TIFFTAG_ORIENTATION);
  const bool in_rows =
      TIFFIsTiled(tiff.get()) == 0 &&
      field<std::uint16_t>(tiff.get(), TIFFTAG_PLANARCONFIG) == PLANARCONFIG_CONTIG;
  const int format = field<std::uint16_t>(tiff.get(), TIFFTAG_SAMPLEFORMAT);
  if (bits > 16 || (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)) {
    throw unsupported_picture(name, str("a TIFF of ", bits,
                                        " bits a sample, or of samples that are "
                                        "no whole numbers"));
  }
  if (bits == 16) {
    if ((samples != 1 && samples != 3) || !in_rows) {
      throw unsupported_picture(name,
                                "a TIFF of 16 bits a sample that is neither grey nor RGB in rows");
    }
    return upright(decode_deep(tiff.get(), make_picture(width, height, samples, name), name,
                               sample_bits, source),
                   orientation, name);
  }
  char problem[1024] = "";
  if (TIFFRGBAImageOK(tiff.get(), problem) == 0)
    throw unsupported_picture(name, str("libtiff says: ", shown(problem)));
  std::vector<std::uint32_t> pixels(std::size_t{width} * height);
  // Rows as the file has them: libtiff turns no picture that lies on its side.
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, pixels.data(), orientation, 1) == 0) {
    throw damaged_picture(name, str("libtiff says: ", shown(source.problem)));
  }
  const bool has_alpha = shows_ground(tiff.get());
  const bool is_grey = samples <= 2 && field<std::uint16_t>(tiff.get(), TIFFTAG_PHOTOMETRIC) <=
                                           PHOTOMETRIC_MINISBLACK;
  Picture picture = make_picture(width, height, (is_grey ? 1 : 3) + (has_alpha ? 1 : 0), name);
  std::uint8_t* out = picture.pixels.get();
  for (const std::uint32_t pixel : pixels) {
    // libtiff multiplies colours by their alpha, and a picture has them without it.
    const std::uint32_t alpha = has_alpha ? TIFFGetA(pixel) : 255;
    const auto put = [&](std::uint32_t value) {
      *out++ = static_cast<std::uint8_t>(alpha == 0 ? 0 : std::min(255u, value * 255 / alpha));
    };
    put(TIFFGetR(pixel));
    if (!is_grey) put(TIFFGetG(pixel));
    if (!is_grey) put(TIFFGetB(pixel));
    if (has_alpha) *out++ = static_cast<std::uint8_t>(alpha);
  }
  return upright(std::move(picture), orientation, name);
}

bool reads_tiff() {
  return true;
}

}  // namespace weft::data

#else

namespace weft::data {

Picture decode_tiff(std::span<const std::uint8_t>, const std::string& name, int) {
  throw unsupported_picture(name,
                            "TIFF, which this program was built without: install libtiff-dev and "
                            "build it again, or save it as JPEG or PNG");
}

bool reads_tiff() {
  return false;
}

}  // namespace weft::data

#endif
