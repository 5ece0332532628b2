// SPDX-License-Identifier: Apache-2.0
//
// The instruction of FOVEA_DOT_HEADER, and the dot words that are made of it.
using dot = Own;

void TestOwnProducts(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 5;
  int8_t* const last = reinterpret_cast<int8_t*>(memory.last);
  log.begin("FOVEA_DOT_ADD of FOVEA_DOT_HEADER, in LoadX, LoadE, LoadPartOfE, DotAdd, ToInts, ToFloat");
  for (int round = 0; round < 64; ++round) {
    int8_t x[kLanes * dot::kCodes];
    for (int8_t& code : x) code = RandomCode(state);
    for (size_t n = 1; n <= dot::kCodes; ++n) {
      int8_t* const row = last - n;
      for (size_t i = 0; i < n; ++i) row[i] = RandomCode(state);
      const int32_t start = int32_t(Random(state)) >> (round % 16 + 3);
      const dot::E e = n == dot::kCodes ? dot::LoadE(row) : dot::LoadPartOfE(row, n);
      const dot::Sum sum = dot::DotAdd<0>(dot::LoadX(x), e, dot::Start(start));
      const Lanes ints = LanesOf(dot::ToInts(sum)), floats = LanesOf(dot::ToFloat(sum));
      for (size_t lane = 0; lane < kLanes; ++lane) {
        int32_t wanted = start;
        for (size_t i = 0; i < n; ++i) wanted += x[lane * dot::kCodes + i] * row[i];
        Compare(log, Same::kBits, lane, ints.bits[lane], uint32_t(wanted));
        Compare(log, Same::kBits, lane, floats.bits[lane], Bits(float(wanted)));
      }
    }
  }
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  TestOwnProducts(log, memory);
  uint32_t state = 6;

  log.begin("StoreWeights, StoreQueries");
  constexpr size_t kSome = dot::kCodes > 8 ? 1 : dot::kCodes;
  for (int32_t code = 0; code < 256; ++code) {
    VF biased[kSome];
    for (size_t i = 0; i < kSome; ++i) biased[i] = hn::Set(kF, kRoundingBias + float((code + 85 * int32_t(i)) % 256));
    int8_t stored[kLanes * dot::kCodes] = {};
    dot::StoreWeights(biased, stored);
    for (size_t i = 0; i < kLanes * dot::kCodes; ++i) {
      const size_t key = i % dot::kCodes;
      if (key < kSome) Compare(log, Same::kBits, i, uint32_t(stored[i]), uint32_t((code + 85 * int32_t(key)) % 256 - 128));
    }
    dot::StoreQueries(hn::Set(kF, kRoundingBias + float(code - 128)), stored);
    for (size_t i = 0; i < kLanes; ++i) Compare(log, Same::kBits, i, uint32_t(stored[i]), uint32_t(code - 128));
  }

  log.begin("PackGroup");
  static int8_t rows[dot::kCodes][40], packed[40 * dot::kCodes];
  const int8_t* at[dot::kCodes];
  for (size_t r = 0; r < dot::kCodes; ++r) {
    for (int8_t& code : rows[r]) code = RandomCode(state);
    at[r] = rows[r] + r % 4;  // any alignment
  }
  for (size_t elements = 0; elements <= 33; ++elements) {
    int32_t starts[40];
    for (int32_t& start : starts) start = 3;
    const size_t done = dot::PackGroup(at, elements, packed, starts);
    Compare(log, Same::kBits, 0, uint32_t(done), uint32_t(elements));
    for (size_t e = 0; e < done; ++e) {
      int32_t start = 3;
      for (size_t r = 0; r < dot::kCodes; ++r) {
        start += 128 * at[r][e];
        Compare(log, Same::kBits, r, uint32_t(packed[e * dot::kCodes + r]), uint32_t(at[r][e]));
      }
      Compare(log, Same::kBits, e, uint32_t(starts[e]), uint32_t(start));
    }
  }
}
