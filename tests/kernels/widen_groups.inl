// SPDX-License-Identifier: Apache-2.0
//
// Rows of groups that are widened by vectors have the codes and the scales that ScaleI8 gives for their elements.

namespace widen_groups {
using ::fovea::KeyRows;
using ::fovea::kKeyTile;
using ::fovea::round_up;
#include "core/attention/i8/widen_groups.inl"

// A scale of either sign; now and then 0, the largest or one that is not finite.
uint16_t RandomScale(uint32_t& state) {
  const uint32_t bits = Random(state), kind = bits >> 16 & 63;
  if ((bits >> 22 & 255) == 0) return bits & 1 ? 0x7c00 : 0x7e01;
  if (kind < 3) return kind == 0 ? 0x7bff : kind == 1 ? 0x0001 : 0;
  return uint16_t((bits & 0x8fff) + 0x2000);
}

// Any codes, or 0.
template <fovea_dtype kType>
void FillRow(uint32_t& state, size_t groups, uint8_t* row, uint16_t* scales) {
  constexpr size_t kBytes = ::fovea::format_of(kType).group_bytes, kHead = kType == FOVEA_I4 ? 0 : 2;
  for (size_t g = 0; g < groups; ++g, row += kBytes) {
    const bool zero = Random(state) % 64 == 0, small = Random(state) % 4 == 0;
    const uint16_t scale = RandomScale(state);
    for (size_t i = kHead; i < kBytes; ++i) {
      row[i] = zero ? kType == FOVEA_Q8_0 ? 0 : 0x88 : uint8_t(Random(state) >> 8);
      if (small && kType == FOVEA_Q8_0) row[i] = uint8_t(int8_t(row[i]) / 4);
    }
    scales[g] = scale;
    if (kHead > 0) __builtin_memcpy(row, &scale, sizeof scale);
  }
}

template <fovea_dtype kType>
void TestRow(ContractLog& log, const uint8_t* codes, const uint16_t* scales, size_t dim, const uint8_t* got,
             float got_scale) {
  const FormatRow<kType> row = FormatRow<kType>::Of(codes, scales);
  static float x[4096];
  static int8_t wanted[4096];
  float scale;
  for (size_t d = 0; d < dim; d += kLanes) hn::StoreU(LoadAs(row, d), kF, x + d);
  NarrowRowI8(x, dim, wanted, &scale);
  Compare(log, Same::kNumber, 0, BitsOf(got_scale), BitsOf(scale));
  for (size_t d = 0; d < dim; ++d) CompareBits(log, d, got[d], uint8_t(wanted[d]));
}

// The last byte of the last row is where memory ends, where it has room for all rows.
template <fovea_dtype kType>
void TestRows(ContractLog& log, const ContractMemory& memory, size_t groups, uint32_t count, uint32_t& state) {
  const size_t dim = groups * kScaleGroup;
  if (!WidensGroups<kType>(dim)) return;
  constexpr size_t kToStride = 9 + 4096, kScaleStride = 3 + 128;
  static uint8_t rows_memory[kKeyTile * (128 * 34 + 5)], to[kKeyTile * kToStride + 64];
  static uint16_t scales[kKeyTile * kScaleStride];
  const size_t bytes = groups * ::fovea::format_of(kType).group_bytes, stride = bytes + 5;
  const size_t all = (count - 1) * stride + bytes;
  constexpr size_t kBeforeLast = 512;  // bytes that the test has there
  uint8_t* const rows = all <= kBeforeLast ? memory.last - all : rows_memory;
  for (uint32_t i = 0; i < count; ++i) FillRow<kType>(state, groups, rows + i * stride, scales + i * kScaleStride);
  __builtin_memset(to, 99, sizeof to);
  [[maybe_unused]] const KeyRows from = {rows, scales, ptrdiff_t(stride), kScaleStride, kType};
  float got[kKeyTile + kWidenedAtOnce];
  WidenGroups<kType>(from, count, dim, to, kToStride, got);
  for (uint32_t i = 0; i < count; ++i) {
    TestRow<kType>(log, rows + i * stride, scales + i * kScaleStride, dim, to + i * kToStride, got[i]);
    CompareBits(log, dim, to[i * kToStride + dim], 99);  // not written
  }
  CompareBits(log, 0, to[count * kToStride], 99);
}

template <fovea_dtype kType>
void TestFormat(ContractLog& log, const ContractMemory& memory, const char* name) {
  log.begin(name);
  uint32_t state = 7;
  constexpr size_t kGroups[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 128};
  constexpr uint32_t kCounts[] = {1, 2, 3, 4, 7, 8, 9, 15, kKeyTile};
  for (const size_t groups : kGroups) {
    for (const uint32_t count : kCounts) TestRows<kType>(log, memory, groups, count, state);
  }
}

void TestWidenGroups(ContractLog& log, const ContractMemory& memory) {
  TestFormat<FOVEA_I4>(log, memory, "WidenGroups<i4>");
  TestFormat<FOVEA_Q8_0>(log, memory, "WidenGroups<q8_0>");
  TestFormat<FOVEA_Q4_0>(log, memory, "WidenGroups<q4_0>");
}
}  // namespace widen_groups
