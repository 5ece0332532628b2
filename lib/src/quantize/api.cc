// SPDX-License-Identifier: Apache-2.0
//
// Scales and zero points from the numbers of a tensor. All bins of a range have one width, a power of 2. If a number is
// outside of them, they become twice as wide, and each gets the counts of two.
#include "base/arithmetic.h"
#include "base/buffers.h"
#include "base/status.h"
#include "fovea/fovea.h"

namespace {

constexpr int kBins = FOVEA_QUANTIZE_BINS;
constexpr float kLeastNormal = 1.17549435e-38f, kLargest = 3.40282347e38f;

float size_of(float x) { return x < 0.0f ? -x : x; }

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
  const float bin = x / range.width;  // exact, or nearer to 0 than any end of a bin, perhaps 0
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
  while (size_of(x) / range->width >= float(kBins / 2)) widen(range);
  ++range->bins[bin_of(*range, x)];
}

// floor(count * share), for a share of 0 to 1. The share is increased by 2^-25, because a float may be that much below
// the decimal number that was meant.
uint64_t share_of(uint64_t count, float share) {
  constexpr int kBits = 25;
  constexpr uint32_t kWhole = uint32_t{1} << kBits;
  uint32_t parts = uint32_t(share * float(kWhole)) + 1;
  if (parts > kWhole) parts = kWhole;
  return (count >> kBits) * parts + ((count & (kWhole - 1)) * parts >> kBits);
}

// Narrows the range by whole bins, from its ends towards 0, as long as at most `most` numbers are left out: with one
// scale for both sides, from both at once, else from the end that is farther from 0.
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

bool is_scale(float scale) { return scale >= kLeastNormal && scale <= kLargest; }
bool is_code(int32_t zero) { return zero >= -128 && zero <= 127; }

// To nearest, ties to even.
int32_t rounded(float x) {
  constexpr float kBias = 12582912.0f;  // 1.5 * 2^23
  const float biased = x + kBias;
  return int32_t(biased - kBias);
}

int8_t code_of(float x, float inverse, int32_t zero) {
  const float code = x * inverse;
  if (code != code) return int8_t(zero);
  if (code >= 512.0f) return 127;
  if (code <= -512.0f) return -128;
  const int32_t shifted = rounded(code) + zero;
  return int8_t(shifted < -128 ? -128 : shifted > 127 ? 127 : shifted);
}

fovea_status check_conversion(const void* in, size_t in_unit, const void* out, size_t out_unit, size_t count,
                              float scale, int32_t zero) {
  if (!is_scale(scale) || !is_code(zero)) return FOVEA_ERR_NUMBER;
  fovea::Buffers buffers;
  FOVEA_RETURN_IF_ERROR(
      buffers.add_output(fovea_out{const_cast<void*>(out), 0, 0, 0}, out_unit, 1, 1, 1, count));
  return buffers.add_input({in, 0, 0, 0}, in_unit, 1, 1, 1, count);
}

}  // namespace

extern "C" fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count) {
  if (!range || (!x && count != 0)) return FOVEA_ERR_NULL;
  if (range->struct_bytes != sizeof *range) return FOVEA_ERR_STRUCT;
  for (size_t i = 0; i < count; ++i) {
    if (x[i] - x[i] != 0.0f) return FOVEA_ERR_NUMBER;
  }
  for (size_t i = 0; i < count; ++i) {
    if (x[i] < range->least) range->least = x[i];
    if (x[i] > range->most) range->most = x[i];
    add(range, x[i]);
  }
  range->count += count;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric,
                                              float* scale, int32_t* zero) {
  if (!range || !scale || !zero) return FOVEA_ERR_NULL;
  if (range->struct_bytes != sizeof *range) return FOVEA_ERR_STRUCT;
  if (!(fraction > 0.0f && fraction <= 1.0f)) return FOVEA_ERR_NUMBER;
  float least = range->least, most = range->most;
  if (fraction < 1.0f && range->width != 0.0f) {
    leave_out(*range, share_of(range->count, 1.0f - fraction), asymmetric != 0, &least, &most);
  }
  *zero = 0;
  const float magnitude = -least > most ? -least : most;
  if (magnitude == 0.0f) {
    *scale = 1.0f;
    return FOVEA_OK;
  }
  const float chosen = asymmetric ? most / 255.0f - least / 255.0f : magnitude / 127.0f;
  *scale = chosen < kLeastNormal ? kLeastNormal : chosen;
  if (asymmetric) *zero = code_of(least, -1.0f / *scale, -128);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero, int8_t* codes) {
  FOVEA_RETURN_IF_ERROR(check_conversion(x, sizeof *x, codes, sizeof *codes, count, scale, zero));
  for (size_t i = 0; i < count; ++i) codes[i] = code_of(x[i], 1.0f / scale, zero);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero, float* x) {
  FOVEA_RETURN_IF_ERROR(check_conversion(codes, sizeof *codes, x, sizeof *x, count, scale, zero));
  for (size_t i = 0; i < count; ++i) x[i] = scale * float(int32_t{codes[i]} - zero);
  return FOVEA_OK;
}
