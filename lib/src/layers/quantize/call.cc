// SPDX-License-Identifier: Apache-2.0
//
// Scales and zero points from the numbers of a tensor. The bins of a range have one width, a power of 2. Where a number is
// outside of them they become twice as wide, and each takes in what two had.
#include "ground/base/arithmetic.h"
#include "layers/quantize/call.h"
#include "ground/base/numbers.h"

namespace fovea {
namespace {

constexpr int kBins = FOVEA_QUANTIZE_BINS;

float magnitude_of(float x) { return x < 0.0f ? -x : x; }

// Makes bins twice as wide. Bin i of the new ones begins where bin 2i - kBins / 2 of the old ones did.
void widen(fovea_quantize_range* range) {
  uint64_t* const bins = range->bins;
  range->width *= 2.0f;
  for (int i = 0; i < kBins / 4; ++i) {  // from the middle outwards, so that none is overwritten before it was read
    const int above = kBins / 2 + i, below = kBins / 2 - 1 - i;
    bins[above] = bins[kBins / 2 + 2 * i] + bins[kBins / 2 + 2 * i + 1];
    bins[below] = bins[kBins / 2 - 1 - 2 * i] + bins[kBins / 2 - 2 - 2 * i];
  }
  for (int i = 0; i < kBins / 4; ++i) bins[i] = bins[kBins - 1 - i] = 0;
}

int bin_of(const fovea_quantize_range& range, float x) {
  const float bin = x / range.width;  // exact, or nearer to 0 than any bin ends, perhaps 0
  const int whole = int(bin);
  const bool below = bin < float(whole) || (bin == 0.0f && x < 0.0f);
  return kBins / 2 + (below ? whole - 1 : whole);
}

void add(fovea_quantize_range* range, float x) {
  if (range->width == 0.0f) {
    if (x == 0.0f) {  // no width yet
      ++range->bins[kBins / 2];
      return;
    }
    range->width = kLeastNormal;
  }
  while (magnitude_of(x) / range->width >= float(kBins / 2)) widen(range);
  ++range->bins[bin_of(*range, x)];
}

// floor(count * share), for a share from 0 to 1. The share is taken to be 2^-25 larger than it is, because a float may be that
// much below the decimal that was meant.
uint64_t share_of(uint64_t count, float share) {
  constexpr int kBits = 25;
  constexpr uint32_t kWhole = uint32_t{1} << kBits;
  uint32_t parts = uint32_t(share * float(kWhole)) + 1;
  if (parts > kWhole) parts = kWhole;
  return (count >> kBits) * parts + ((count & (kWhole - 1)) * parts >> kBits);
}

// Narrows the range by whole bins, from its ends towards 0, as long as it leaves out at most `most` numbers: where one scale
// serves both sides, from both at once, else from the end that is farther from 0.
void leave_out(const fovea_quantize_range& range, uint64_t most, bool asymmetric, float* least, float* largest) {
  constexpr int kZero = kBins / 2;
  int low = 0, high = kBins;
  const auto drops = [&most](uint64_t count) {
    if (count > most) return false;
    most -= count;
    return true;
  };
  if (!asymmetric) {
    while (high > kZero && drops(range.bins[high - 1] + range.bins[low])) --high, ++low;
  }
  for (bool low_ends = !asymmetric, high_ends = !asymmetric; !low_ends || !high_ends;) {
    if (!high_ends && (low_ends || high - kZero >= kZero - low)) {
      high_ends = high == kZero || !drops(range.bins[high - 1]);
      if (!high_ends) --high;
    } else {
      low_ends = low == kZero || !drops(range.bins[low]);
      if (!low_ends) ++low;
    }
  }
  const float low_end = float(low - kZero) * range.width, high_end = float(high - kZero) * range.width;
  if (low_end > *least) *least = low_end;
  if (high_end < *largest) *largest = high_end;
}

int8_t code_of(float x, float inverse, int32_t zero_point) {
  const float code = x * inverse;
  if (code != code) return int8_t(zero_point);
  if (code >= 512.0f) return 127;
  if (code <= -512.0f) return -128;
  const int32_t shifted = int32_t(nearest(code)) + zero_point;
  return int8_t(shifted < -128 ? -128 : shifted > 127 ? 127 : shifted);
}

}  // namespace

void observe(fovea_quantize_range* range, const float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (x[i] < range->least) range->least = x[i];
    if (x[i] > range->most) range->most = x[i];
    add(range, x[i]);
  }
  range->count += count;
}

void choose(const fovea_quantize_range& range, float fraction, bool asymmetric, float* scale, int32_t* zero_point) {
  float least = range.least, most = range.most;
  if (fraction < 1.0f && range.width != 0.0f) {
    leave_out(range, share_of(range.count, 1.0f - fraction), asymmetric, &least, &most);
  }
  *zero_point = 0;
  const float magnitude = -least > most ? -least : most;
  if (magnitude == 0.0f) {
    *scale = 1.0f;
    return;
  }
  const float chosen = asymmetric ? most / 255.0f - least / 255.0f : magnitude / 127.0f;
  *scale = chosen < kLeastNormal ? kLeastNormal : chosen;
  if (asymmetric) *zero_point = code_of(least, -1.0f / *scale, -128);
}

void to_codes(const float* x, size_t count, float scale, int32_t zero_point, int8_t* codes) {
  for (size_t i = 0; i < count; ++i) codes[i] = code_of(x[i], 1.0f / scale, zero_point);
}

void from_codes(const int8_t* codes, size_t count, float scale, int32_t zero_point, float* x) {
  for (size_t i = 0; i < count; ++i) x[i] = scale * float(int32_t{codes[i]} - zero_point);
}

}  // namespace fovea
