// SPDX-License-Identifier: MIT
#include "data/picture/jpeg/jpeg_scan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace weft::data {
namespace {

constexpr int kBlockSize = 64;   // coefficients
constexpr int kZeroRun = 15;     // with size 0, it stands for sixteen zeros
constexpr int kLargest = 32767;  // absolute value of a coefficient

class ScanChecker {
 public:
  ScanChecker(const JpegFrame& frame, const JpegScan& scan, std::span<const std::uint8_t> file,
              std::size_t begin, const std::string& name)
      : frame_(frame), scan_(scan), bits_(file, begin, name), name_(name) {}

  std::size_t check() {
    const bool is_interleaved = scan_.parts.size() > 1;
    const JpegComponent& only = *scan_.parts.front().component;
    const std::int64_t wide = is_interleaved ? frame_.mcus_wide : only.width;
    const std::int64_t high = is_interleaved ? frame_.mcus_high : only.height;
    for (std::int64_t mcu = 0; mcu < wide * high; ++mcu) {
      if (scan_.restart_interval > 0 && mcu > 0 && mcu % scan_.restart_interval == 0) restart();
      if (!is_interleaved) {
        block(0, mcu);
        continue;
      }
      for (std::size_t i = 0; i < scan_.parts.size(); ++i) {
        const JpegComponent& component = *scan_.parts[i].component;
        for (int repeat = component.h * component.v; repeat > 0; --repeat) block(i, 0);
      }
    }
    return bits_.end();
  }

 private:
  void restart() {
    bits_.pass_restart(restarts_++ % 8);
    predictions_ = {};
    end_of_band_run_ = 0;
  }

  // `index` is the block's place in its component. Only AC scans use it, which have one component.
  void block(std::size_t part, std::int64_t index) {
    if (!frame_.is_progressive) return baseline_block(part);
    if (scan_.first == 0) return scan_.high == 0 ? first_dc(part) : bits_.skip(1);
    std::uint64_t& nonzero = scan_.parts[part].component->nonzero[static_cast<std::size_t>(index)];
    return scan_.high == 0 ? first_ac(nonzero) : refined_ac(nonzero);
  }

  [[noreturn]] void fail(const char* what) const { throw damaged_picture(name_, what); }

  void first_dc(std::size_t part) {
    const int size = bits_.symbol(*scan_.parts[part].dc);
    if (size > 15) fail("a DC coefficient has more than 15 bits");
    int difference = bits_.number(size);
    if (size > 0 && difference < 1 << (size - 1)) difference -= (1 << size) - 1;
    int& prediction = predictions_[part];
    prediction += difference;
    // Baseline decoders dequantise at once. Progressive ones shift by the bits that are still to
    // come.
    const int step = std::max(scan_.parts[part].dc_step, 1);
    const int scale = frame_.is_progressive ? 1 << scan_.low : step;
    if (std::abs(prediction) > kLargest / scale) fail("a DC coefficient leaves 16 bits");
  }

  void baseline_block(std::size_t part) {
    first_dc(part);
    const HuffmanTable& table = *scan_.parts[part].ac;
    for (int k = 1; k < kBlockSize; ++k) {
      const int symbol = bits_.symbol_of_coefficient(table);
      const int run = symbol >> 4, size = symbol & 15;
      if (size == 0 && run != kZeroRun) return;
      k += run;
      if (size > 0 && k >= kBlockSize) fail("a coefficient lies outside its block");
    }
  }

  // The rest of the band is zero in this block and in the blocks of the run; `run` is below 15.
  void begin_run(int run) { end_of_band_run_ = (1 << run) + bits_.number(run); }

  void first_ac(std::uint64_t& nonzero) {
    if (end_of_band_run_ > 0) {
      --end_of_band_run_;
      return;
    }
    for (int k = scan_.first; k <= scan_.last; ++k) {
      const int symbol = bits_.symbol(*scan_.parts[0].ac), run = symbol >> 4, size = symbol & 15;
      if (size == 0 && run != kZeroRun) {
        begin_run(run);
        --end_of_band_run_;
        return;
      }
      k += run;
      if (size == 0) continue;
      if (k > scan_.last) fail("a coefficient lies outside the band of its scan");
      if (size + scan_.low > 15) fail("an AC coefficient leaves 16 bits");
      bits_.skip(size);
      nonzero |= std::uint64_t{1} << k;
    }
  }

  // From `k` to the end of the band, each nonzero coefficient gets one correction bit.
  void skip_corrections(std::uint64_t nonzero, int k) {
    const std::uint64_t from = ~std::uint64_t{0} << k;
    const std::uint64_t to = ~std::uint64_t{0} >> (kBlockSize - 1 - scan_.last);
    bits_.skip(std::popcount(nonzero & from & to));
  }

  void refined_ac(std::uint64_t& nonzero) {
    int k = scan_.first;
    while (end_of_band_run_ == 0 && k <= scan_.last) {
      const int symbol = bits_.symbol(*scan_.parts[0].ac), size = symbol & 15;
      int zeros = symbol >> 4;
      if (size > 1) fail("a refined coefficient has more than one bit");
      if (size == 0 && zeros != kZeroRun) {
        begin_run(zeros);
        break;
      }
      bits_.skip(size);  // the sign
      // Passes `zeros` zero coefficients. Each nonzero one on the way gets a correction bit.
      for (; k <= scan_.last; ++k) {
        const bool is_zero = (nonzero >> k & 1) == 0;
        if (is_zero && zeros-- == 0) break;
        if (!is_zero) bits_.skip(1);
      }
      if (size == 1) {
        if (k > scan_.last) fail("a coefficient lies outside the band of its scan");
        nonzero |= std::uint64_t{1} << k;
      }
      ++k;
    }
    if (end_of_band_run_ == 0) return;
    if (k <= scan_.last) skip_corrections(nonzero, k);
    --end_of_band_run_;
  }

  const JpegFrame& frame_;
  const JpegScan& scan_;
  JpegBits bits_;
  const std::string& name_;
  std::array<int, 4> predictions_ = {};  // of DC coefficients
  int end_of_band_run_ = 0;              // blocks left in it
  int restarts_ = 0;
};

}  // namespace

std::int64_t JpegScan::blocks(const JpegFrame& frame) const {
  if (parts.size() == 1) return parts[0].component->width * parts[0].component->height;
  std::int64_t of_an_mcu = 0;
  for (const Part& part : parts) of_an_mcu += part.component->h * part.component->v;
  return frame.mcus_wide * frame.mcus_high * of_an_mcu;
}

std::size_t check_scan_data(const JpegFrame& frame, const JpegScan& scan,
                            std::span<const std::uint8_t> file, std::size_t begin,
                            const std::string& name) {
  return ScanChecker(frame, scan, file, begin, name).check();
}

}  // namespace weft::data
