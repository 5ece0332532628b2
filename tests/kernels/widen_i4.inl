// SPDX-License-Identifier: Apache-2.0
//
// Rows of i4 that tables widen have the codes and the scales that ScaleI8 gives for their elements.

namespace widen_i4 {
using ::fovea::KeyRows;
using ::fovea::kKeyTile;
using ::fovea::round_up;
#include "attention/i8/widen_i4.inl"

// Any codes, and scales of either sign; now and then 0, the largest or one that is not finite.
void FillRow(uint32_t& state, size_t groups, uint8_t* codes, uint16_t* scales) {
  for (size_t i = 0; i < 16 * groups; ++i) codes[i] = uint8_t(Random(state) >> 8);
  for (size_t g = 0; g < groups; ++g) {
    const uint32_t bits = Random(state), kind = bits >> 16 & 63;
    const uint16_t special = kind == 0 ? 0x7bff : kind == 1 ? 0x0001 : 0;
    scales[g] = kind < 3 ? special : uint16_t((bits & 0x8fff) + 0x2000);
    if ((bits >> 22 & 255) == 0) scales[g] = bits & 1 ? 0x7c00 : 0x7e01;
    if (kind == 3) __builtin_memset(codes + 16 * g, 0x88, 16);
  }
}

void TestRow(ContractLog& log, const uint8_t* codes, const uint16_t* scales, size_t dim, const uint8_t* got,
             float got_scale) {
  const FormatRow<FOVEA_I4> row = FormatRow<FOVEA_I4>::Of(codes, scales);
  float x[512], scale;
  int8_t wanted[512];
  for (size_t d = 0; d < dim; d += kLanes) hn::StoreU(LoadAs(row, d), kF, x + d);
  NarrowRowI8(x, dim, wanted, &scale);
  Compare(log, Same::kNumber, 0, BitsOf(got_scale), BitsOf(scale));
  for (size_t d = 0; d < dim; ++d) Compare(log, Same::kBits, d, got[d], uint8_t(wanted[d]));
}

void TestWidenI4(ContractLog& log) {
  log.begin("WidenI4");
  uint32_t state = 7;
  constexpr size_t kStride = 5 + 256, kScaleStride = 3 + 16, kToStride = 9 + 512;
  static uint8_t codes[kKeyTile * kStride], to[kKeyTile * kToStride + 64];
  static uint16_t scales[kKeyTile * kScaleStride];
  for (size_t groups = 1; groups <= 16; ++groups) {
    const size_t dim = groups * kScaleGroup;
    constexpr uint32_t kCounts[] = {1, 2, 3, 4, 7, kKeyTile};
    for (const uint32_t count : kCounts) {
      if (!WidensI4(dim)) continue;
      for (uint32_t i = 0; i < count; ++i) FillRow(state, groups, codes + i * kStride, scales + i * kScaleStride);
      __builtin_memset(to, 99, sizeof to);
      [[maybe_unused]] const KeyRows rows = {codes, scales, kStride, kScaleStride, FOVEA_I4};
      float got[kKeyTile + 4];
      WidenI4(rows, count, dim, to, kToStride, got);
      for (uint32_t i = 0; i < count; ++i) {
        TestRow(log, codes + i * kStride, scales + i * kScaleStride, dim, to + i * kToStride, got[i]);
        Compare(log, Same::kBits, dim, to[i * kToStride + dim], 99);  // not written
      }
      Compare(log, Same::kBits, 0, to[count * kToStride], 99);
    }
  }
}
}  // namespace widen_i4
