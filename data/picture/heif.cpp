// SPDX-License-Identifier: MIT
// libheif decodes HEIC and AVIF, where Weft is built with it: the file's primary picture, turned
// upright. What a file may cost is bounded here.
#include "data/picture/image.h"
#include "data/picture/picture.h"

#ifdef WEFT_WITH_HEIF

#include <libheif/heif.h>

#include <algorithm>
#include <memory>

#include "engine/text.h"

namespace weft::data {
namespace {

template <class T>
using Owned = std::unique_ptr<T, void (*)(const T*)>;

void check(const heif_error& error, const std::string& name) {
  if (error.code == heif_error_Ok) return;
  const std::string what = str("libheif says: ", shown(error.message));
  const bool unknown =
      error.code == heif_error_Unsupported_feature || error.code == heif_error_Unsupported_filetype;
  throw unknown ? unsupported_picture(name, what) : damaged_picture(name, what);
}

}  // namespace

Picture decode_heif(std::span<const std::uint8_t> file, const std::string& name) {
  const std::unique_ptr<heif_context, void (*)(heif_context*)> context(heif_context_alloc(),
                                                                       heif_context_free);
  heif_context_set_maximum_image_size_limit(context.get(), static_cast<int>(kMaxImageSide));
  check(
      heif_context_read_from_memory_without_copy(context.get(), file.data(), file.size(), nullptr),
      name);
  heif_image_handle* found = nullptr;
  check(heif_context_get_primary_image_handle(context.get(), &found), name);
  const Owned<heif_image_handle> handle(found, heif_image_handle_release);
  check_dimensions(heif_image_handle_get_width(handle.get()),
                   heif_image_handle_get_height(handle.get()), name);
  const bool has_alpha = heif_image_handle_has_alpha_channel(handle.get()) != 0;
  heif_image* decoded = nullptr;
  check(heif_decode_image(handle.get(), &decoded, heif_colorspace_RGB,
                          has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB,
                          nullptr),
        name);
  const Owned<heif_image> image(decoded, heif_image_release);
  int stride = 0;
  const std::uint8_t* rows =
      heif_image_get_plane_readonly(image.get(), heif_channel_interleaved, &stride);
  const int width = heif_image_get_primary_width(image.get());
  const int height = heif_image_get_primary_height(image.get());
  check_dimensions(width, height, name);
  Picture picture = make_picture(width, height, has_alpha ? 4 : 3, name);
  const auto row = static_cast<std::size_t>(picture.width * picture.channels);
  if (rows == nullptr || static_cast<std::size_t>(stride) < row) {
    throw damaged_picture(name, "its pixels are not there");
  }
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    std::copy_n(rows + y * static_cast<std::size_t>(stride), row, picture.pixels.get() + y * row);
  }
  return picture;
}

bool reads_heif() {
  return true;
}

}  // namespace weft::data

#else

namespace weft::data {

Picture decode_heif(std::span<const std::uint8_t>, const std::string& name) {
  throw unsupported_picture(name,
                            "HEIC or AVIF, which this program was built without: install "
                            "libheif-dev and build it again, or save it as JPEG or PNG");
}

bool reads_heif() {
  return false;
}

}  // namespace weft::data

#endif
