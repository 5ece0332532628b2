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
        CompareBits(log, lane, ints.bits[lane], wanted);
        CompareBits(log, lane, floats.bits[lane], BitsOf(float(wanted)));
      }
    }
  }
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  TestOwnProducts(log, memory);
  constexpr size_t kKeys = dot::kCodes > 8 ? 1 : dot::kCodes;
  TestStores<dot, dot::kCodes, kKeys, int8_t>(log, 128, 128);
  TestPackGroup<dot, dot::kCodes, int8_t>(log, 1, true);
}
