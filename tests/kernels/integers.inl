// SPDX-License-Identifier: Apache-2.0
//
// The words for integers, against arithmetic of 64 bits.
namespace integer_words {
#include "ground/simd/integers.inl"

using integers::V;

int32_t Clamped(int64_t x) { return int32_t(x < -128 ? -128 : x > 127 ? 127 : x); }

// word(a, b, x) against wanted(a, b, x) of each lane, for numbers below 2^(31 - shift) in magnitude.
template <class Word, class Wanted>
void TestWord(ContractLog& log, const char* name, int shift, Word word, Wanted wanted) {
  log.begin(name);
  uint32_t state = 9;
  const auto draw = [&] { return int32_t(Random(state)) >> (shift + int(Random(state) % 12)); };
  for (int round = 0; round < 256; ++round) {
    int32_t a[integers::kLanes], b[integers::kLanes], y[integers::kLanes];
    for (size_t i = 0; i < integers::kLanes; ++i) a[i] = draw(), b[i] = draw();
    const int32_t x = draw();
    integers::Store(word(integers::Load(a), integers::Load(b), x), y);
    for (size_t i = 0; i < integers::kLanes; ++i) {
      CompareBits(log, i, y[i], wanted(int64_t(a[i]), int64_t(b[i]), int64_t(x)));
    }
  }
}
#define FOVEA_TEST_WORD(shift, word, wanted)                                                                 \
  TestWord(                                                                                                  \
      log, #word, shift,                                                                                     \
      []([[maybe_unused]] V a, [[maybe_unused]] V b, [[maybe_unused]] int32_t x) { return integers::word; }, \
      []([[maybe_unused]] int64_t a, [[maybe_unused]] int64_t b, [[maybe_unused]] int64_t x) { return wanted; })

void TestRows(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 10;
  uint8_t table[256];
  for (uint8_t& byte : table) byte = uint8_t(Random(state));
  for (size_t count = 0; count <= 70; ++count) {
    int8_t* const codes = reinterpret_cast<int8_t*>(memory.last) - count;
    int32_t sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) {
      codes[i] = int8_t(Random(state));
      sum += codes[i], squares += codes[i] * codes[i];
    }
    log.begin("SumCodes");
    const integers::CodeSums sums = integers::SumCodes(codes, count);
    CompareBits(log, count, sums.sum, sum);
    CompareBits(log, count, sums.squares, squares);
    log.begin("Translate");
    int8_t to[71];
    to[count] = 77;
    integers::Translate(reinterpret_cast<const int8_t*>(table), codes, count, to);
    for (size_t i = 0; i < count; ++i) CompareBits(log, i, uint8_t(to[i]), table[uint8_t(codes[i])]);
    CompareBits(log, count, uint8_t(to[count]), 77);
  }
}

void TestIntegers(ContractLog& log, const ContractMemory& memory) {
  FOVEA_TEST_WORD(2, Add(a, b), a + b);
  FOVEA_TEST_WORD(2, Sub(a, b), a - b);
  FOVEA_TEST_WORD(0, Min(a, b), a < b ? a : b);
  FOVEA_TEST_WORD(0, Max(a, b), a > b ? a : b);
  FOVEA_TEST_WORD(0, Saturate(a), Clamped(a));
  FOVEA_TEST_WORD(0, ShiftDown(a, 7), a >> 7);
  FOVEA_TEST_WORD(2, ShiftRound(a, 5), (a + 16) >> 5);
  FOVEA_TEST_WORD(0, ShiftLeft(a, 3), a * 8);
  FOVEA_TEST_WORD(0, MulHigh(a, x), (a * x) >> 32);
  FOVEA_TEST_WORD(2, MulRound(a, x), (a * x + (1 << 30)) >> 31);
  FOVEA_TEST_WORD(0, Mul(a, b), uint64_t(a) * uint64_t(b));
  FOVEA_TEST_WORD(0, Scaled(a, x, 19), uint64_t(a) * uint64_t(x) + 19);
  FOVEA_TEST_WORD(0, MulAdd(a, x, b), uint64_t(a) * uint64_t(x) + uint64_t(b));
  FOVEA_TEST_WORD(16, AddMulHalf(a, integers::ShiftLeft(a, 12), b), a + ((a * 4096 * b) >> 16));
  FOVEA_TEST_WORD(2, AddMulHigh(a, b, x), a + ((b * x) >> 32));
  FOVEA_TEST_WORD(12, Saturate(integers::Sub(a, b)), Clamped(a - b));
  log.begin("CodeOf, LargestLane, Lookup, StoreSomeBytes");
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = uint8_t(255 - i);
  for (int32_t x = -20000; x < 20000; x += 13) {
    int8_t codes[integers::kLanes];
    integers::StoreSomeBytes(integers::CodeOf<6>(integers::Set(x + integers::kHalf<6>)), codes, integers::kLanes);
    for (const int8_t code : codes) CompareBits(log, 0, code, Clamped((x + 32) >> 6));
    CompareBits(log, 0, integers::LargestLane(integers::Set(x)), x);
    const uint32_t looked_up = uint32_t(integers::LargestLane(integers::Lookup(table, integers::Set(x & 255))));
    CompareBits(log, 0, looked_up, 255 - (x & 255));
  }
  TestRows(log, memory);
}
#undef FOVEA_TEST_WORD

}  // namespace integer_words
