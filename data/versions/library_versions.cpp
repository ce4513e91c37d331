// SPDX-License-Identifier: MIT
#include "data/versions/library_versions.h"

#include <zlib.h>

#ifdef WEFT_WITH_LIBARCHIVE
#include <archive.h>
#endif
#ifdef WEFT_WITH_HEIF
#include <libheif/heif.h>
#endif
#ifdef WEFT_WITH_JPEG
#include <cstdio>  // for jpeglib.h

#include <jpeglib.h>
#endif
#ifdef WEFT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef WEFT_WITH_TIFF
#include <tiffio.h>
#endif

#ifdef WEFT_WITH_WEBP
#include <webp/decode.h>
#endif

#include "engine/error.h"

namespace weft::data {

std::vector<LibraryVersion> library_versions() {
  std::vector<LibraryVersion> all = {{"zlib", ZLIB_VERSION, zlibVersion(), "1.2.13"},
                                     {"stb_image", WEFT_STB_VERSION, "", "2.27"}};
#ifdef WEFT_WITH_WEBP
  const int version = WebPGetDecoderVersion();  // a byte each: 0x010204 is 1.2.4
  all.push_back(
      {"libwebp", "", str(version >> 16, ".", version >> 8 & 255, ".", version & 255), "1.2.4"});
#endif
#ifdef WEFT_WITH_TIFF
  // "LIBTIFF, Version 4.5.0", a line of the copyright behind it
  const std::string_view tiff = TIFFGetVersion();
  all.push_back({"libtiff", "", std::string(tiff.substr(17, tiff.find('\n') - 17)), "4.5.0"});
#endif
#ifdef WEFT_WITH_JPEG
  constexpr int kTurbo = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005 is 2.1.5
  all.push_back({"libjpeg-turbo",
                 str(kTurbo / 1'000'000, ".", kTurbo / 1'000 % 1'000, ".", kTurbo % 1'000), "",
                 "2.1.5"});
#endif
#ifdef WEFT_WITH_HEIF
  all.push_back({"libheif", LIBHEIF_VERSION, heif_get_version(), "1.15.1"});
#endif
#ifdef WEFT_WITH_LIBDEFLATE
  all.push_back({"libdeflate", LIBDEFLATE_VERSION_STRING, "", "1.14"});
#endif
#ifdef WEFT_WITH_LIBARCHIVE
  all.push_back({"libarchive", ARCHIVE_VERSION_ONLY_STRING,
                 archive_version_string() + sizeof("libarchive"), "3.6.2"});
#endif
  return all;
}

}  // namespace weft::data
