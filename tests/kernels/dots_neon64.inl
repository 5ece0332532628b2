// SPDX-License-Identifier: Apache-2.0
//
// The dot words of AArch64, once for sdot and once for smmla, inside their namespaces and behind their header.

constexpr size_t kGroup = dot::kGroup, kReads = dot::kReads;

// The sums of kRows rows, or elements of values, with the columns of kVectors vectors, of a tile of `columns`.
template <int kRows, int kVectors>
void TestSums(ContractLog& log, const dot::Sums<kRows, kVectors>& sums, const int32_t (&wanted)[kRows][16]) {
  for (int k = 0; k < kRows; ++k) {
    for (int v = 0; v < kVectors; ++v) {
      const Lanes lanes = LanesOf(dot::SumsOf(sums, k, v));
      for (int i = 0; i < 4; ++i) CompareBits(log, k, lanes.bits[i], BitsOf(float(wanted[k][4 * v + i])));
    }
  }
}

template <int kRows, int kVectors>
void TestKeys(ContractLog& log, const ContractMemory& memory, size_t columns) {
  constexpr size_t kMost = 3;
  uint32_t state = 7;
  log.begin("AddKeys");
  for (size_t reads = 0; reads <= kMost; ++reads) {
    static dot::Code x[kMost * kReads * 16];
    static int8_t of_rows[kRows][kMost * kReads];
    int32_t wanted[kRows][16] = {};
    for (int k = 0; k < kRows; ++k) {
      for (size_t d = 0; d < reads * kReads; ++d) of_rows[k][d] = RandomCode(state);
    }
    int8_t* const last = reinterpret_cast<int8_t*>(memory.last) - reads * kReads;
    __builtin_memcpy(last, of_rows[kRows - 1], reads * kReads);
    for (size_t d = 0; d < reads * kReads; ++d) {
      for (size_t c = 0; c < columns; ++c) {
        const int8_t code = RandomCode(state);
        x[(d / kGroup * columns + c) * kGroup + d % kGroup] = uint8_t(code);
        for (int k = 0; k < kRows && c < 4 * kVectors; ++k) wanted[k][c] += code * of_rows[k][d];
      }
    }
    dot::Sums<kRows, kVectors> sums;
    for (int k = 0; k < kRows; ++k) dot::Begin(k, 0, sums);
    const dot::Code* at = x;
    for (size_t i = 0; i < reads; ++i) {
      dot::E e[kRows];
      for (int k = 0; k < kRows; ++k) e[k] = dot::LoadE((k + 1 < kRows ? of_rows[k] : last) + i * kReads);
      dot::AddKeys(at, columns * kGroup, e, sums);
    }
    CompareBits(log, reads, at - x, reads * kReads * columns);
    TestSums<kRows, kVectors>(log, sums, wanted);
  }
}

template <int kRows, int kVectors>
void TestValues(ContractLog& log, size_t columns) {
  constexpr size_t kMost = 3, kPadded = 24;
  uint32_t state = 8;
  log.begin("PackGroup, AddValues");
  for (size_t groups = 0; groups <= kMost; ++groups) {
    static dot::Code x[kMost * kGroup * 16];
    static int8_t values[kMost * kGroup][kPadded + 1], packed[kMost * kGroup * kPadded];
    int32_t wanted[kRows][16] = {}, starts[kPadded] = {}, sums_of_values[kPadded] = {};
    for (size_t g = 0; g < groups; ++g) {
      const int8_t* at[kGroup];
      for (size_t i = 0; i < kGroup; ++i) {
        int8_t* const row = values[g * kGroup + i] + 1;  // any alignment
        at[i] = row;
        for (size_t e = 0; e < kPadded; ++e) {
          row[e] = RandomCode(state);
          sums_of_values[e] += row[e];
        }
        for (size_t c = 0; c < columns; ++c) {
          const uint8_t code = Random(state) % 3 == 0 ? 255 : Random(state) % 2 == 0 ? 0 : uint8_t(Random(state));
          x[(g * columns + c) * kGroup + i] = dot::kSignedWeights ? code ^ 0x80 : code;
          for (int k = 0; k < kRows && c < 4 * kVectors; ++k) wanted[k][c] += code * row[k];
        }
      }
      CompareBits(log, g, dot::PackGroup(at, kPadded, packed + g * kGroup * kPadded, starts), 16);
    }
    dot::Sums<kRows, kVectors> sums;
    for (int k = 0; k < kRows; ++k) {
      if (dot::kSignedWeights) CompareBits(log, k, starts[k], 128 * sums_of_values[k]);
      dot::Begin(k, starts[k], sums);
    }
    const dot::Code* at = x;
    const int8_t* value = packed;
    for (size_t g = 0; g < groups; ++g) dot::AddValues(at, columns * kGroup, value, kPadded * kGroup, sums);
    CompareBits(log, groups, value - packed, groups * kPadded * kGroup);
    TestSums<kRows, kVectors>(log, sums, wanted);
  }
}

template <int kRows, int kVectors>
void TestBlock(ContractLog& log, const ContractMemory& memory) {
  for (const size_t columns : {size_t{4 * kVectors}, size_t{16}}) {
    TestKeys<kRows, kVectors>(log, memory, columns);
    TestValues<kRows, kVectors>(log, columns);
  }
}

void TestWeights(ContractLog& log) {
  log.begin("StoreWeights");
  dot::Code stored[4 * kGroup], of_block[4 * kGroup];
  const VF ones[1] = {hn::Set(kF, 1.0f)};
  for (int32_t first = 0; first < 256; first += 4 * int32_t(kGroup)) {
    VF biased[kGroup];
    float weights[4 * kGroup];
    for (size_t i = 0; i < kGroup; ++i) {
      for (size_t c = 0; c < 4; ++c) weights[4 * i + c] = float(first + int32_t(4 * i + c));
      biased[i] = hn::Add(hn::LoadU(kF, weights + 4 * i), hn::Set(kF, kRoundingBias));
    }
    dot::StoreWeights(biased, stored);
    const float* at = weights;
    dot::StoreWeights(at, 4, ones, of_block);
    for (size_t c = 0; c < 4; ++c) {
      for (size_t i = 0; i < kGroup; ++i) {
        const uint32_t code = uint32_t(first) + 4 * uint32_t(i) + uint32_t(c);
        CompareBits(log, c, stored[c * kGroup + i], dot::kSignedWeights ? code ^ 0x80 : code);
        CompareBits(log, c, of_block[c * kGroup + i], stored[c * kGroup + i]);
      }
    }
  }
}

void TestQueries(ContractLog& log) {
  log.begin("Codes, StoreColumns, LargestLanes");
  constexpr size_t kColumns = 8;
  dot::Code x[kReads * kColumns];
  float rows[4][16];
  VF v[4][4], largest[4];
  for (int r = 0; r < 4; ++r) {
    for (int d = 0; d < 16; ++d) rows[r][d] = d == 5 && r == 1 ? FloatOf(0x7fc00000u) : 8.5f * float(d - 8) + float(r);
    for (int i = 0; i < 4; ++i) v[r][i] = hn::LoadU(kF, rows[r] + 4 * i);
    largest[r] = v[r][r];
  }
  const float inverses[4] = {1.0f, 0.5f, 1.0f, 1.5f};
  const VF inverse = hn::LoadU(kF, inverses);
  const dot::E codes[4] = {dot::Codes<0>(v[0], inverse), dot::Codes<1>(v[1], inverse), dot::Codes<2>(v[2], inverse),
                           dot::Codes<3>(v[3], inverse)};
  dot::StoreColumns(codes, x, kColumns * kGroup);
  for (size_t c = 0; c < 4; ++c) {
    for (size_t d = 0; d < 16; ++d) {
      const float product = rows[c][d] * inverses[c];
      const float rounded = (product + kRoundingBias) - kRoundingBias;
      const int32_t code = product == product ? int32_t(rounded) : 0;
      CompareBits(log, d, x[(d / kGroup * kColumns + c) * kGroup + d % kGroup], uint8_t(code));
    }
  }
  const Lanes lanes = LanesOf(dot::LargestLanes(largest));
  for (int r = 0; r < 4; ++r) {
    Compare(log, Same::kNumber, size_t(r), lanes.bits[r], BitsOf(r == 1 ? rows[1][5] : rows[r][4 * r + 3]));
  }
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  TestBlock<8, 1>(log, memory);
  TestBlock<8, 2>(log, memory);
  TestBlock<4, 3>(log, memory);
  TestBlock<4, 4>(log, memory);
  TestWeights(log);
  TestQueries(log);
}
