// SPDX-License-Identifier: MIT
// libjpeg-turbo decodes large JPEGs, where Weft is built with it: of each block of 8 x 8 pixels it
// computes 4 x 4, 2 x 2 or one, from as many coefficients, and keeps some rows of the picture only.
#include "data/picture/jpeg/large_jpeg.h"

#include "data/picture/image.h"

#ifdef WEFT_WITH_JPEG

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // for jpeglib.h

// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/picture/exif.h"
#include "engine/extent.h"
#include "engine/text.h"

namespace weft::data {
namespace {

// libjpeg ends what it does by error_exit(), which must not return.
struct Problem {
  jpeg_error_mgr manager{};  // first: libjpeg knows only this part
  std::jmp_buf back{};
  char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void jump_back(j_common_ptr info) {
  auto* problem = reinterpret_cast<Problem*>(info->err);
  info->err->format_message(info, problem->text);
  std::longjmp(problem->back, 1);
}

// Warnings tell of damage, which smaller pictures are refused for, too. Two tell of a version.
void judge_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR) jump_back(info);
}

class Decoder {
 public:
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  explicit Decoder(const std::string& name) : name_(name) {
    info_.err = jpeg_std_error(&problem_.manager);
    problem_.manager.error_exit = jump_back;
    problem_.manager.emit_message = judge_message;
    attempt([this] { jpeg_create_decompress(&info_); });
    info_.mem->max_memory_to_use = kMostCoefficientBytes + kRows;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }

  void begin(const CheckedJpeg& jpeg, bool is_grey) {
    attempt([&] {
      jpeg_mem_src(&info_, jpeg.file.data(), static_cast<unsigned long>(jpeg.file.size()));
      jpeg_read_header(&info_, TRUE);
    });
    info_.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(jpeg.frame.reduction);
    attempt([this] { jpeg_start_decompress(&info_); });
  }

  void read(Picture& picture) {
    if (picture.width != info_.output_width || picture.height != info_.output_height ||
        picture.channels != info_.output_components) {
      throw damaged_picture(name_, str("decoded as ", info_.output_width, " x ",
                                       info_.output_height, " x ", info_.output_components));
    }
    const auto row = static_cast<std::size_t>(picture.width * picture.channels);
    attempt([&] {
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW to = picture.pixels.get() + info_.output_scanline * row;
        jpeg_read_scanlines(&info_, &to, 1);
      }
      jpeg_finish_decompress(&info_);
    });
  }

 private:
  static constexpr long kRows = 64 << 20;  // bytes for rows and tables of the widest picture

  // The step may call C functions only: libjpeg jumps over its frames.
  template <class Step>
  void attempt(const Step& step) {
    if (setjmp(problem_.back) == 0) {
      step();
      return;
    }
    throw damaged_picture(name_, str("libjpeg-turbo says: ", shown(problem_.text)));
  }

  const std::string& name_;
  Problem problem_;
  jpeg_decompress_struct info_{};
};

}  // namespace

Picture decode_large_jpeg(const CheckedJpeg& jpeg, bool is_grey, const std::string& name) {
  const JpegFrame& frame = jpeg.frame;
  if (frame.components.size() == 4) {
    throw unsupported_picture(name, str("a JPEG of ", frame.width, " x ", frame.height,
                                        " pixels in CMYK: save it in RGB, or smaller"));
  }
  if (std::max(frame.width, frame.height) > JPEG_MAX_DIMENSION) {
    throw unsupported_picture(name,
                              str("a JPEG of ", frame.width, " x ", frame.height, " pixels, and ",
                                  JPEG_MAX_DIMENSION, " a side are the most"));
  }
  Decoder decoder(name);
  const bool has_one_channel = is_grey || frame.components.size() == 1;
  decoder.begin(jpeg, has_one_channel);
  Picture picture =
      make_picture(divide_up(frame.width, frame.reduction),
                   divide_up(frame.height, frame.reduction), has_one_channel ? 1 : 3, name);
  picture.reduction = frame.reduction;
  decoder.read(picture);
  return upright(std::move(picture), jpeg.orientation, name);
}

bool reads_large_jpeg() {
  return true;
}

}  // namespace weft::data

#else

namespace weft::data {

// check_jpeg() has refused it.
Picture decode_large_jpeg(const CheckedJpeg&, bool, const std::string& name) {
  throw unsupported_picture(name, "a large JPEG");
}

bool reads_large_jpeg() {
  return false;
}

}  // namespace weft::data

#endif
