// SPDX-License-Identifier: MIT
// The segments of a JPEG, checked. Internal to the JPEG reader.
#pragma once

#include "data/picture/jpeg/jpeg_scan.h"

namespace weft::data {

struct CheckedJpeg {
  JpegFrame frame;
  // A copy of the file's tables, frame and scans, without everything else.
  Bytes file;
  int orientation = 1;  // Exif's (exif.h)
};

// Walks from the first marker to the last. Throws data unless the file is complete and sound:
// tables are valid and there before they are used, the sampling factors divide each other, every
// component has its scans in order, the data of each scan holds every block (jpeg_scan.h), and the
// work of all scans together is bounded.
CheckedJpeg check_jpeg(std::span<const std::uint8_t> file, const std::string& name);

}  // namespace weft::data
