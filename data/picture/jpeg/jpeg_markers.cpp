// SPDX-License-Identifier: MIT
#include "data/picture/jpeg/jpeg_markers.h"

#include <algorithm>

#include "data/picture/exif.h"
#include "data/picture/image.h"
#include "data/picture/jpeg/large_jpeg.h"
#include "engine/extent.h"

namespace weft::data {
namespace {

// Progressive files usually have about 10 scans, which visit a block up to 6 times.
constexpr int kMostScans = 100;
constexpr std::int64_t kMostVisitsOfABlock = 24;
constexpr std::int64_t kVisitsForAll = std::int64_t{1} << 20;  // allowed to small pictures too
constexpr int kMostHuffmanTables = 1000;                       // in the whole file
constexpr int kLargestReduction = 8;                           // that libjpeg-turbo does well

enum Marker : int {
  kSof0 = 0xc0,  // start of frame: baseline
  kSof1 = 0xc1,  // extended
  kSof2 = 0xc2,  // progressive
  kDht = 0xc4,   // Huffman tables
  kSof15 = 0xcf,
  kRst0 = 0xd0,  // restart
  kRst7 = 0xd7,
  kSoi = 0xd8,    // start of image
  kEoi = 0xd9,    // end of image
  kSos = 0xda,    // start of scan
  kDqt = 0xdb,    // quantisation tables
  kDnl = 0xdc,    // number of lines, which repeats the frame's
  kDri = 0xdd,    // restart interval
  kApp0 = 0xe0,   // JFIF's
  kApp1 = 0xe1,   // Exif's
  kApp14 = 0xee,  // Adobe's
  kApp15 = 0xef,
  kCom = 0xfe,  // comment
};

class MarkerReader {
 public:
  MarkerReader(std::span<const std::uint8_t> file, const std::string& name)
      : file_(file), name_(name) {}

  CheckedJpeg read() {
    at_ = 2;  // The start of the image was the magic number.
    checked_.file = {0xff, kSoi};
    while (true) {
      const int marker = next_marker();
      if (marker == kEoi) break;
      read_segment(marker);
    }
    if (components().empty()) throw damaged("it has no frame");
    for (const JpegComponent& component : components()) {
      if (!component.has_been_scanned()) {
        throw damaged(str("component ", component.id, " has no scan"));
      }
    }
    checked_.file.push_back(0xff);
    checked_.file.push_back(kEoi);
    return std::move(checked_);
  }

 private:
  Error damaged(const std::string& what) const { return damaged_picture(name_, what); }
  std::vector<JpegComponent>& components() { return checked_.frame.components; }

  // Some cameras write padding between segments and after scans. It is skipped.
  int next_marker() {
    for (; at_ + 1 < file_.size(); ++at_) {
      const int marker = file_[at_ + 1];
      const bool is_restart = marker >= kRst0 && marker <= kRst7;
      if (file_[at_] != 0xff || marker == 0 || marker == 0xff || is_restart) continue;
      at_ += 2;
      return marker;
    }
    throw damaged("the file ends without an end of image");
  }

  void keep(std::size_t begin, std::size_t end) {
    checked_.file.insert(checked_.file.end(), file_.begin() + static_cast<std::ptrdiff_t>(begin),
                         file_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  void read_segment(int marker) {
    const std::size_t begin = at_ - 2;
    constexpr std::size_t kLengthBytes = 2;
    ByteCursor rest(file_.subspan(at_), name_, "a JPEG segment");
    const std::size_t length = rest.big_endian(kLengthBytes);
    if (length < kLengthBytes) throw damaged(str("a segment of ", length, " bytes"));
    ByteCursor segment(rest.take(length - kLengthBytes), name_, "a JPEG segment");
    at_ += length;
    const bool is_application = marker >= kApp0 && marker <= kApp15;
    if (is_application || marker == kDnl || marker == kCom) {
      if (marker == kApp0 || marker == kApp14) keep(begin, at_);  // they tell the colour space
      const auto exif = exif_of_app1(segment.take(marker == kApp1 ? segment.left() : 0));
      if (!exif.empty()) checked_.orientation = exif_orientation(exif);
      return;
    }
    JpegScan scan;
    switch (marker) {
      case kSof0:
      case kSof1:
      case kSof2:
        read_frame(segment, marker == kSof2);
        break;
      case kDht:
        read_huffman_tables(segment);
        break;
      case kDqt:
        read_quantisation_tables(segment);
        break;
      case kDri:
        restart_interval_ = segment.big_endian(2);
        break;
      case kSos:
        scan = read_scan(segment);
        break;
      default:
        reject(marker);
    }
    if (segment.left() > 0) {
      throw damaged(str("a segment has ", segment.left(), " bytes too many, before byte ", at_));
    }
    if (marker == kSos) {
      at_ = check_scan_data(checked_.frame, scan, file_, at_, name_);
      mark(scan);
    }
    keep(begin, at_);
  }

  [[noreturn]] void reject(int marker) const {
    if (marker > kSof2 && marker <= kSof15) {
      throw unsupported_picture(name_,
                                "a JPEG that is neither baseline nor progressive, or with "
                                "arithmetic coding");
    }
    throw damaged(str("an unknown marker, ", marker, ", before byte ", at_));
  }

  void read_quantisation_tables(ByteCursor& segment) {
    while (segment.left() > 0) {
      const int selector = segment.byte(), bytes = (selector >> 4) + 1, index = selector & 15;
      if (bytes > 2 || index > 3) throw damaged(str("a quantisation table ", selector));
      const std::size_t width = static_cast<std::size_t>(bytes);
      dc_steps_[static_cast<std::size_t>(index)] = static_cast<int>(segment.big_endian(width));
      segment.take(63 * width);
    }
  }

  void read_huffman_tables(ByteCursor& segment) {
    while (segment.left() > 0) {
      const int selector = segment.byte(), is_ac = selector >> 4, index = selector & 15;
      if (is_ac > 1 || index > 3) throw damaged(str("a Huffman table ", selector));
      if (++huffman_tables_ > kMostHuffmanTables) {
        throw damaged(str("more than ", kMostHuffmanTables, " Huffman tables"));
      }
      const std::span<const std::uint8_t> counts = segment.take(HuffmanTable::kMostBits);
      auto& tables = is_ac == 1 ? ac_ : dc_;
      tables[static_cast<std::size_t>(index)].define(counts, segment, name_);
    }
  }

  void read_frame(ByteCursor& segment, bool is_progressive) {
    JpegFrame& frame = checked_.frame;
    if (!frame.components.empty()) throw damaged("it has two frames");
    frame.is_progressive = is_progressive;
    const int precision = segment.byte();
    if (precision != 8) {
      throw unsupported_picture(name_, str("a JPEG of ", precision, " bits per sample"));
    }
    frame.height = segment.big_endian(2);
    frame.width = segment.big_endian(2);
    check_size(frame);
    const int count = segment.byte();
    if (count != 1 && count != 3 && count != 4) {
      throw unsupported_picture(name_, str("a JPEG of ", count, " components"));
    }
    for (int i = 0; i < count; ++i) {
      JpegComponent component;
      component.id = segment.byte();
      const int factors = segment.byte();
      component.h = factors >> 4;
      component.v = factors & 15;
      component.quantisation_table = segment.big_endian(1);
      const bool is_known = std::any_of(frame.components.begin(), frame.components.end(),
                                        [&](const auto& c) { return c.id == component.id; });
      if (is_known) throw damaged(str("two components ", component.id));
      if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4 ||
          component.quantisation_table > 3) {
        throw damaged(str("component ", component.id, " has sampling factors ", component.h, " x ",
                          component.v, " and quantisation table ", component.quantisation_table));
      }
      frame.components.push_back(component);
    }
    lay_out(frame);
  }

  // What is too large for stb_image is decoded by libjpeg-turbo, at the least reduction that will
  // do.
  void check_size(JpegFrame& frame) const {
    while (frame.reduction < kLargestReduction &&
           !are_dimensions_accepted(frame.width, frame.height, frame.reduction)) {
      frame.reduction *= 2;
    }
    check_dimensions(frame.width, frame.height, name_, frame.reduction);
    if (frame.reduction > 1 && !reads_large_jpeg()) {
      throw unsupported_picture(
          name_, str("a JPEG of ", frame.width, " x ", frame.height,
                     " pixels, for which this program was built without libjpeg-turbo: install "
                     "libjpeg-dev and build it again, or save a smaller picture"));
    }
  }

  // A decoder keeps all coefficients of a file of several scans until the last.
  void check_memory() const {
    const JpegFrame& frame = checked_.frame;
    if (frame.reduction == 1 || frame.coefficient_bytes() <= kMostCoefficientBytes) return;
    throw unsupported_picture(
        name_, str("a JPEG of ", frame.width, " x ", frame.height,
                   " pixels in several scans, which need ", frame.coefficient_bytes(),
                   " bytes, at most ", kMostCoefficientBytes, ": save it without \"progressive\""));
  }

  void lay_out(JpegFrame& frame) {
    int h_max = 1, v_max = 1;
    for (const JpegComponent& c : frame.components) {
      h_max = std::max(h_max, c.h);
      v_max = std::max(v_max, c.v);
    }
    frame.mcus_wide = divide_up(frame.width, 8 * h_max);
    frame.mcus_high = divide_up(frame.height, 8 * v_max);
    for (JpegComponent& c : frame.components) {
      if (h_max % c.h != 0 || v_max % c.v != 0) {
        throw unsupported_picture(name_, str("a JPEG with sampling factors ", c.h, " x ", c.v,
                                             " beside ", h_max, " x ", v_max));
      }
      c.width = divide_up(divide_up(frame.width * c.h, h_max), 8);
      c.height = divide_up(divide_up(frame.height * c.v, v_max), 8);
      c.full_width = frame.mcus_wide * c.h;
      c.full_height = frame.mcus_high * c.v;
    }
    std::int64_t needed = 0;  // bits: each block has the code of its DC coefficient
    for (const JpegComponent& c : frame.components) needed += c.width * c.height;
    if (static_cast<std::uint64_t>(needed) > 8 * file_.size()) {
      throw damaged(
          str(frame.width, " x ", frame.height, " pixels do not fit in ", file_.size(), " bytes"));
    }
    if (frame.is_progressive) check_memory();
  }

  JpegScan read_scan(ByteCursor& segment) {
    JpegScan scan;
    scan.restart_interval = restart_interval_;
    const int count = segment.byte();
    if (count < 1 || count > static_cast<int>(components().size())) {
      throw damaged(str("a scan of ", count, " components of ", components().size()));
    }
    int blocks_of_an_mcu = 0;
    for (int i = 0; i < count; ++i) {
      const int id = segment.byte(), tables = segment.byte(), dc = tables >> 4, ac = tables & 15;
      const auto found = std::find_if(components().begin(), components().end(),
                                      [&](const JpegComponent& c) { return c.id == id; });
      const bool is_known =
          found != components().end() &&
          std::none_of(scan.parts.begin(), scan.parts.end(),
                       [&](const auto& part) { return part.component == &*found; });
      if (!is_known || dc > 3 || ac > 3) {
        throw damaged(str("a scan of component ", id, " with Huffman tables ", dc, " and ", ac));
      }
      const int dc_step = dc_steps_[found->quantisation_table];
      if (dc_step == kNoTable) {
        throw damaged(str("quantisation table ", found->quantisation_table, " is missing"));
      }
      scan.parts.push_back({&*found, &dc_[static_cast<std::size_t>(dc)],
                            &ac_[static_cast<std::size_t>(ac)], dc_step});
      blocks_of_an_mcu += found->h * found->v;
    }
    constexpr int kMostBlocksOfAnMcu = 10;
    if (count > 1 && blocks_of_an_mcu > kMostBlocksOfAnMcu) {
      throw damaged(str("a scan with ", blocks_of_an_mcu, " blocks in an MCU, expected at most ",
                        kMostBlocksOfAnMcu));
    }
    scan.first = segment.byte();
    scan.last = segment.byte();
    const int bits = segment.byte();
    scan.high = bits >> 4;
    scan.low = bits & 15;
    check_progression(scan);
    check_tables(scan);
    check_work(scan);
    return scan;
  }

  // A baseline scan holds all coefficients of its components. Progressive scans send DC before AC,
  // and the bits of a coefficient from the highest to the lowest.
  void check_progression(JpegScan& scan) const {
    bool is_in_order = scan.first == 0 && scan.high == 0 && scan.low == 0;
    if (!checked_.frame.is_progressive) {
      scan.last = 63;  // which some files state as 0
    } else if (scan.first == 0) {
      is_in_order = scan.last == 0;
    } else {
      is_in_order = scan.last >= scan.first && scan.last <= 63 && scan.parts.size() == 1;
    }
    constexpr int kMostLow = 13;
    is_in_order =
        is_in_order && scan.low <= kMostLow && (scan.high == 0 || scan.low == scan.high - 1);
    for (const JpegScan::Part& part : scan.parts) {
      const JpegComponent& component = *part.component;
      is_in_order = is_in_order && (scan.first == 0 || component.has_been_scanned());
      for (int k = scan.first; is_in_order && k <= scan.last; ++k) {
        const int known = component.lowest_bit[static_cast<std::size_t>(k)];
        is_in_order = known == (scan.high == 0 ? JpegComponent::kNothing : scan.high);
      }
    }
    if (is_in_order) return;
    throw damaged(str("a scan of coefficients ", scan.first, " to ", scan.last, ", bits ",
                      scan.high, " to ", scan.low, ", is not in its place"));
  }

  void check_tables(const JpegScan& scan) const {
    const bool is_progressive = checked_.frame.is_progressive;
    const bool needs_dc = scan.first == 0 && scan.high == 0;
    const bool needs_ac = !is_progressive || scan.first > 0;
    for (const JpegScan::Part& part : scan.parts) {
      if ((needs_dc && !part.dc->is_defined()) || (needs_ac && !part.ac->is_defined())) {
        throw damaged(str("a Huffman table of component ", part.component->id, " is missing"));
      }
    }
  }

  void check_work(JpegScan& scan) {
    if (++scans_ > kMostScans) throw damaged(str("more than ", kMostScans, " scans"));
    if (scans_ > 1) check_memory();
    visits_ += scan.blocks(checked_.frame);
    const std::int64_t most =
        std::max(kVisitsForAll, kMostVisitsOfABlock * checked_.frame.blocks());
    if (visits_ > most) {
      throw damaged(str("its scans visit ", visits_, " blocks, expected at most ", most));
    }
    if (scan.first == 0) return;
    JpegComponent& component = *scan.parts[0].component;
    component.nonzero.resize(static_cast<std::size_t>(component.width * component.height));
  }

  static void mark(const JpegScan& scan) {
    for (const JpegScan::Part& part : scan.parts) {
      for (int k = scan.first; k <= scan.last; ++k) {
        part.component->lowest_bit[static_cast<std::size_t>(k)] =
            static_cast<std::int8_t>(scan.low);
      }
    }
  }

  std::span<const std::uint8_t> file_;
  const std::string& name_;
  std::size_t at_ = 0;
  CheckedJpeg checked_;
  std::array<HuffmanTable, 4> dc_, ac_;
  static constexpr int kNoTable = -1;
  std::array<int, 4> dc_steps_ = {kNoTable, kNoTable, kNoTable,
                                  kNoTable};  // quantisation steps of DC coefficients
  std::int64_t restart_interval_ = 0;
  int scans_ = 0, huffman_tables_ = 0;
  std::int64_t visits_ = 0;
};

}  // namespace

CheckedJpeg check_jpeg(std::span<const std::uint8_t> file, const std::string& name) {
  return MarkerReader(file, name).read();
}

}  // namespace weft::data
