// SPDX-License-Identifier: Apache-2.0
//
// The dot words of instructions that multiply integers. Their codes are the ends of 8 bits as often as not, and sums
// are compared as integers.

#if FOVEA_FOR_HELIUM || FOVEA_FOR_RVV || (FOVEA_FOR_SCALAR && (FOVEA_SMLAD_OF_FLOATS || FOVEA_HAS_OWN_DOT)) || \
    (FOVEA_FOR_NEON && FOVEA_WITH_NEON_DOTPROD) || defined(FOVEA_X86_LANES)
namespace fused = hn;  // MulAdd of the words: ground/simd/apart.inl is not included here
#include "ground/simd/dots.inl"
namespace dots {
using ::fovea::round_up;
using hn::kBlockVectors;

int8_t RandomCode(uint32_t& state) {
  const uint32_t bits = Random(state);
  return bits % 3 == 0 ? -128 : bits % 3 == 1 ? 127 : int8_t(bits >> 8);
}

// The elements of kRows rows, which begin anywhere, side by side, as many as are a multiple of `step`. `starts`: 128
// times each element is added to the start of its sum.
template <class Words, size_t kRows, class Code>
void TestPackGroup(ContractLog& log, size_t step, bool starts) {
  log.begin("PackGroup");
  uint32_t state = 13;
  static int8_t rows[kRows][80];
  static Code packed[kRows * 80];
  const int8_t* at[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    for (int8_t& code : rows[r]) code = RandomCode(state);
    at[r] = rows[r] + r % 8;
  }
  for (size_t elements = 0; elements <= 70; ++elements) {
    int32_t got[80];
    for (int32_t& start : got) start = 3;
    const size_t done = Words::PackGroup(at, elements, packed, starts ? got : nullptr);
    CompareBits(log, 0, done, elements / step * step);
    for (size_t e = 0; e < done; ++e) {
      int32_t start = 3;
      for (size_t r = 0; r < kRows; ++r) {
        start += 128 * at[r][e];
        CompareBits(log, r, packed[e * kRows + r], at[r][e]);
      }
      if (starts) CompareBits(log, e, got[e], start);
    }
  }
}

// Codes of weights, for kCodes keys side by side of which the first kKeys are looked at, and of queries, are stored
// less these numbers.
template <class Words, size_t kCodes, size_t kKeys, class Code>
void TestStores(ContractLog& log, int32_t of_weights, int32_t of_queries) {
  log.begin("StoreWeights, StoreQueries");
  for (int32_t code = 0; code < 256; ++code) {
    VF biased[kKeys];
    for (size_t i = 0; i < kKeys; ++i) biased[i] = hn::Set(kF, kRoundingBias + float((code + 85 * int32_t(i)) % 256));
    Code stored[kCodes * kLanes] = {};
    Words::StoreWeights(biased, stored);
    for (size_t i = 0; i < kCodes * kLanes; ++i) {
      const size_t key = i % kCodes;
      const int32_t wanted = (code + 85 * int32_t(key)) % 256 - of_weights;
      if (key < kKeys) CompareBits(log, i, stored[i], wanted);
    }
    Words::StoreQueries(hn::Set(kF, kRoundingBias + float(code - 128)), stored);
    for (size_t i = 0; i < kLanes; ++i) CompareBits(log, i, stored[i], code - of_queries);
  }
}

#if FOVEA_FOR_SCALAR && FOVEA_HAS_OWN_DOT
#include "kernels/dots_own.inl"

#elif FOVEA_FOR_HELIUM
using dot = Helium;
#include "kernels/dots_few.inl"
#include "kernels/dots_queries.inl"

void TestDots(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 5;
  int8_t* const last = reinterpret_cast<int8_t*>(memory.last);
  log.begin("Dot, DotAdd, LoadBytes, LoadSomeBytes, NextBytes");
  for (size_t n = 0; n <= 16; ++n) {
    int8_t* const row = last - n;
    int8_t x[16];
    int32_t sum = 0, some = 0;
    for (size_t i = 0; i < 16; ++i) {
      x[i] = RandomCode(state);
      last[ptrdiff_t(i) - 16] = RandomCode(state);
    }
    for (size_t i = 0; i < 16; ++i) sum += x[i] * last[ptrdiff_t(i) - 16];
    for (size_t i = 0; i < n; ++i) some += x[i] * row[i];
    const int8_t* next = last - 16;
    const dot::Bytes codes = dot::LoadBytes(x);
    CompareBits(log, n, dot::Dot(codes, dot::NextBytes(next)), sum);
    CompareBits(log, n, next == last, 1);
    CompareBits(log, n, dot::DotAdd(codes, dot::LoadSomeBytes(row, n), -7), some - 7);
  }

  TestFewRows(log, memory);

  log.begin("StoreWeights");
  int8_t stored[64] = {};
  for (int32_t code = 0; code < 256; code += 4) {
    const VF biased[1] = {hn::Add(hn::Iota(kF, float(code)), hn::Set(kF, kRoundingBias))};
    dot::StoreWeights(biased, stored + code / 4 % 16);
    for (int32_t i = 0; i < 4; ++i) CompareBits(log, i, stored[16 * i + code / 4 % 16], code + i - 128);
  }

  log.begin("StoreWeights of four keys");
  for (int32_t code = 0; code < 256; ++code) {
    float weights[4][6];
    for (int i = 0; i < 24; ++i) weights[i / 6][i % 6] = (float((code + 31 * i) % 255) + (i % 2 ? 0.5f : 0.0f)) / 4;
    const float* w = weights[0];
    dot::StoreWeights(w, 6, hn::Set(kF, 4.0f), stored);
    for (int32_t i = 0; i < 16; ++i) {
      const uint32_t biased = BitsOf(weights[i % 4][i / 4] * 4.0f + kRoundingBias);
      CompareBits(log, i / 4, stored[16 * (i / 4) + i % 4], biased - BitsOf(kRoundingBias) - 128);
    }
    CompareBits(log, 0, w == weights[0] + 24, 1);
  }

  log.begin("ToFloat");
  float floats[4];
  hn::StoreU(dot::ToFloat(1, -2, 3, -(1 << 20)), kF, floats);
  for (size_t i = 0; i < 4; ++i) {
    CompareBits(log, i, BitsOf(floats[i]), BitsOf(i == 3 ? -0x1p20f : i == 1 ? -2.0f : float(i + 1)));
  }
  TestQueries(log, memory);

  TestPackGroup<dot, 16, int8_t>(log, 16, true);
}

#elif FOVEA_FOR_RVV
namespace of_vwmacc {
using dot = Vwmacc;
#include "ground/math/dot_block.inl"
#include "kernels/dots_few.inl"
#include "kernels/dots_queries.inl"
using Block = DotBlock<Vwmacc>;

// Register blocks of each width: signed columns times keys, and weights from 0 to 255 times elements of values. Keys and
// values end where memory does.
template <int kVectors>
void TestBlock(ContractLog& log, const ContractMemory& memory) {
  constexpr int kRows = Block::kRows<kVectors>;
  constexpr size_t kColumns = kVectors * kLanes, kMost = 9;
  uint32_t state = 11;
  for (size_t steps = 1; steps <= kMost; ++steps) {
    static dot::Code x[kMost * kColumns];
    for (dot::Code& code : x) code = RandomCode(state);
    int8_t* const codes = reinterpret_cast<int8_t*>(memory.last) - kRows * steps;
    for (size_t i = 0; i < kRows * steps; ++i) codes[i] = RandomCode(state);
    for (const bool keys : {true, false}) {
      dot::Sum sums[kRows][kVectors];
      const int8_t* row[kRows];
      for (int k = 0; k < kRows; ++k) {
        row[k] = codes + (keys ? size_t(k) * steps : size_t(k));
        for (dot::Sum& sum : sums[k]) sum = dot::Start(k - 3);
      }
      if (keys) {
        Block::MultiplyRows(x, kColumns, row, steps, sums);
      } else {
        Block::MultiplyValues(x, kColumns, codes, kRows, uint32_t(steps), sums);
      }
      for (int k = 0; k < kRows; ++k) {
        for (size_t column = 0; column < kColumns; ++column) {
          int32_t wanted = k - 3;
          for (size_t i = 0; i < steps; ++i) {
            const int32_t code = uint8_t(x[i * kColumns + column]);
            wanted += (keys ? int32_t(int8_t(code)) : code) * row[k][keys ? i : i * kRows];
          }
          CompareBits(log, column, LanesOf(sums[k][column / kLanes]).bits[column % kLanes], wanted);
        }
      }
    }
  }
  if constexpr (kVectors > 1) TestBlock<kVectors - 1>(log, memory);
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 12;
  TestFewRows(log, memory);
  TestQueries(log, memory);
  log.begin("MultiplyRows, MultiplyValues");
  TestBlock<4>(log, memory);

  log.begin("PackGroup");
  static int8_t packed[600];
  for (size_t elements = 0; elements <= 600; elements += elements < 70 ? 1 : 53) {
    int8_t* const row = reinterpret_cast<int8_t*>(memory.last) - elements;
    for (size_t i = 0; i < elements; ++i) row[i] = RandomCode(state);
    for (int8_t& code : packed) code = 77;
    const int8_t* const at[1] = {row};
    CompareBits(log, 0, dot::PackGroup(at, elements, packed, nullptr), elements);
    for (size_t i = 0; i < 600; ++i) CompareBits(log, i, packed[i], i < elements ? row[i] : 77);
  }

  log.begin("MulAddVectors, LoadFour, Folded, SumsOfRows");
  float* const p = reinterpret_cast<float*>(memory.last) - 4 * kLanes;
  for (size_t i = 0; i < 4 * kLanes; ++i) p[i] = 0.3f * float(i);
  VF x[4], sums[2] = {hn::Set(kF, 5.0f), hn::Set(kF, -7.0f)};
  for (size_t v = 0; v < 4; ++v) x[v] = hn::LoadU(kF, p + v * kLanes);
  hn::MulAddVectors(1.7f, p, sums);
  CompareLanes(log, Same::kBits, LanesOf(sums[0]),
               LanesOf(hn::MulAdd(hn::Set(kF, 1.7f), x[0], hn::Set(kF, 5.0f))).bits);
  CompareLanes(log, Same::kBits, LanesOf(sums[1]),
               LanesOf(hn::MulAdd(hn::Set(kF, 1.7f), x[1], hn::Set(kF, -7.0f))).bits);
  hn::Floats<2> halves[2];
  hn::LoadFour(p, halves);
  for (size_t v = 0; v < 2; ++v) {
    CompareLanes(log, Same::kBits, LanesOf(hn::Folded(halves[v])), LanesOf(hn::Add(x[2 * v], x[2 * v + 1])).bits);
  }
  alignas(4 * kLanes) float rows[kLanes][kLanes];
  float ordered[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    ordered[i] = 0;
    for (size_t j = 0; j < kLanes; ++j) ordered[i] += rows[i][j] = float(i * i + 3 * j);
  }
  CompareLanes(log, Same::kBits, LanesOf(hn::SumsOfRows(rows)), LanesOf(hn::LoadU(kF, ordered)).bits);
}
}  // namespace of_vwmacc
using of_vwmacc::TestDots;

#elif FOVEA_FOR_NEON && FOVEA_WITH_NEON_DOTPROD
namespace of_sdot {
using dot = Sdot;
#include "kernels/dots_few.inl"
#include "kernels/dots_neon64.inl"
}  // namespace of_sdot
#if FOVEA_FOR_NEON && FOVEA_WITH_NEON_I8MM
namespace of_smmla {
using dot = Smmla;
#include "kernels/dots_neon64.inl"
}  // namespace of_smmla
#endif

void TestDots(ContractLog& log, const ContractMemory& memory) {
  const uint64_t features = ::fovea::platform::processor_features();
  if (features & FOVEA_FEATURE_NEON_DOTPROD) {
    of_sdot::TestDots(log, memory);
    of_sdot::TestFewRows(log, memory);
  } else {
    log.skip("sdot");
  }
#if FOVEA_FOR_NEON && FOVEA_WITH_NEON_I8MM
  if (features & FOVEA_FEATURE_NEON_I8MM) {
    of_smmla::TestDots(log, memory);
  } else {
    log.skip("smmla");
  }
#endif
}

#elif defined(FOVEA_X86_LANES)
namespace of_pmaddwd {
using dot = Pmaddwd;
#include "kernels/dots_few.inl"

void TestDots(ContractLog& log, const ContractMemory& memory) {
  TestFewRows(log, memory);
  uint32_t state = 6;
  log.begin("LoadX, LoadE, LoadPartOfE, Start, DotAdd");
  for (int round = 0; round < 16; ++round) {
    int16_t x[2 * kLanes], row[2];
    for (int16_t& code : x) code = int16_t(Random(state) % 2 == 0 ? 255 : RandomCode(state));
    for (int16_t& code : row) code = RandomCode(state);
    int16_t* const last = reinterpret_cast<int16_t*>(memory.last) - 2;
    for (size_t n = 1; n <= 2; ++n) {
      __builtin_memcpy(last + 2 - n, row, n * sizeof *row);
      const dot::E e = n == 2 ? dot::LoadE(last) : dot::LoadPartOfE(last + 1, 1);
      int32_t sums[kLanes];
      dot::StoreWords(dot::DotAdd<0>(dot::LoadX(x), e, dot::Start(-7)), sums);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const int32_t wanted = x[2 * lane] * row[0] + (n == 2 ? x[2 * lane + 1] * row[1] : 0) - 7;
        CompareBits(log, lane, sums[lane], wanted);
      }
    }
  }

  TestStores<dot, 2, 2, int16_t>(log, 0, 128);
  TestPackGroup<dot, 2, int16_t>(log, kLanes, false);

  log.begin("WidenRow");
  static int16_t wide[80];
  for (size_t n = 0; n <= 70; ++n) {
    int8_t* const row = reinterpret_cast<int8_t*>(memory.last) - n;
    for (size_t i = 0; i < n; ++i) row[i] = RandomCode(state);
    dot::WidenRow(row, n, wide);
    for (size_t i = 0; i < (n + 1) / 2 * 2; ++i) CompareBits(log, i, wide[i], i < n ? row[i] : 0);
  }
}
}  // namespace of_pmaddwd

#if FOVEA_X86_LANES >= 8
// The sums of a group, of 32 codes from 0 to 15, or for FewSameDot to 31, or of 16 to 63: extremes in the first rounds, then any.
void TestMaddubs(ContractLog& log) {
  uint32_t state = 7;
  log.begin("LoadX, LoadE, DotAdd, FewSameDot, ToInts of pmaddubsw");
  for (int round = 0; round < 32; ++round) {
    int32_t wanted[kLanes] = {}, wanted_same = 0, wanted_large = 0;
    Maddubs::Sum sum = Maddubs::FewZero(), same[2] = {sum, sum}, large[2] = {sum, sum};
    for (int step = 0; step < 8; ++step) {
      int8_t x[4 * kLanes], row[4], more[4];
      for (int8_t& code : x) code = round < 4 ? int8_t(round % 2 == 0 ? -128 : 127) : RandomCode(state);
      for (int8_t& code : row) code = round < 4 ? int8_t(round < 2 ? 15 : 0) : int8_t(Random(state) % 16);
      const Maddubs::X columns = Maddubs::LoadFewX(x);
      sum = Maddubs::DotAdd<0>(columns, Maddubs::LoadE(row), sum);
      for (size_t i = 0; i < 4; ++i) more[i] = int8_t(row[i] + (row[i] == 15 || Random(state) % 2 != 0 ? 16 : 0));
      same[step % 2] = Maddubs::FewSameDot(x, Maddubs::LoadE(more), same[step % 2]);
      for (size_t i = 0; i < 4 * kLanes; ++i) wanted[i / 4] += x[i] * row[i % 4];
      for (size_t i = 0; i < 4; ++i) wanted_same += x[i] * more[i];
      if (step >= 4) continue;
      for (size_t i = 0; i < 4; ++i)
        more[i] = int8_t(row[i] == 15 ? 63 : row[i] * 4 + int8_t(Random(state) % 4) * (row[i] != 0));
      large[step % 2] = Maddubs::FewSameDot(x, Maddubs::LoadE(more), large[step % 2]);
      for (size_t i = 0; i < 4; ++i) wanted_large += x[i] * more[i];
    }
    int32_t sums[3][kLanes];
    Maddubs::StoreWords(hn::Raw(Maddubs::ToInts(sum)), sums[0]);
    Maddubs::StoreWords(hn::Raw(hn::Add(Maddubs::ToInts(same[0]), Maddubs::ToInts(same[1]))), sums[1]);
    Maddubs::StoreWords(hn::Raw(hn::Add(Maddubs::ToInts(large[0]), Maddubs::ToInts(large[1]))), sums[2]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      CompareBits(log, lane, sums[0][lane], wanted[lane]);
      CompareBits(log, lane, sums[1][lane], wanted_same);
      CompareBits(log, lane, sums[2][lane], wanted_large);
    }
  }
}

using dot = Vnni;
#include "kernels/dots_few.inl"

bool IsAvailable(fovea_target target) {
  uint32_t i = 0;
  while (fovea_target_at(i) != FOVEA_TARGET_BEST && fovea_target_at(i) != target) ++i;
  return fovea_target_at(i) == target;
}

// Compares the lanes of x times the n <= 4 codes of a row, in e, added to -7.
void TestProducts(ContractLog& log, const uint8_t (&x)[4 * kLanes], const int8_t* row, size_t n, dot::E e) {
  int32_t sums[kLanes];
  dot::StoreWords(dot::DotAdd<0>(dot::LoadX(x), e, dot::Start(-7)), sums);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    int32_t wanted = -7;
    for (size_t i = 0; i < n; ++i) wanted += x[4 * lane + i] * row[i];
    CompareBits(log, lane, sums[lane], wanted);
  }
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  of_pmaddwd::TestDots(log, memory);
  TestMaddubs(log);
  if (!IsAvailable(kLanes == 16 ? FOVEA_TARGET_AVX512_VNNI : FOVEA_TARGET_AVX2_VNNI)) return log.skip("vpdpbusd");
  TestFewRows(log, memory);
  uint32_t state = 5;
  int8_t* const last = reinterpret_cast<int8_t*>(memory.last);
  log.begin("LoadX, LoadE, LoadPartOfE, Start, DotAdd");
  for (int round = 0; round < 16; ++round) {
    uint8_t x[4 * kLanes];
    for (uint8_t& code : x) code = uint8_t(RandomCode(state) ^ 0x80);
    for (int i = -4; i < 0; ++i) last[i] = RandomCode(state);
    for (size_t n = 1; n <= 4; ++n) TestProducts(log, x, last - n, n, dot::LoadPartOfE(last - n, n));
    TestProducts(log, x, last - 4, 4, dot::LoadE(last - 4));
  }

  log.begin("StartOfKey");
  static int8_t row[200];
  int32_t start = 0;
  for (size_t n = 0; n < sizeof row; ++n) {
    CompareBits(log, n, dot::StartOfKey(row, n), start);
    row[n] = RandomCode(state);
    start -= 128 * row[n];
  }

  TestStores<dot, 4, 4, uint8_t>(log, 0, 0);
  TestPackGroup<dot, 4, int8_t>(log, 16, false);
}
#else
void TestDots(ContractLog& log, const ContractMemory& memory) { of_pmaddwd::TestDots(log, memory); }
#endif

#else
using dot = Smlad;
#include "kernels/dots_queries.inl"

int32_t Half(uint32_t pair, int half) { return int16_t(pair >> (16 * half)); }

void TestPairs(ContractLog& log) {
  uint32_t state = 5;
  log.begin("EvenBytes, OddBytes, LowHalves, NextOfRows, WidenKeys, WidenValues");
  for (int round = 0; round < 64; ++round) {
    int8_t bytes[4];
    for (int8_t& byte : bytes) byte = RandomCode(state);
    uint32_t four;
    __builtin_memcpy(&four, bytes, 4);
    for (int half = 0; half < 2; ++half) {
      CompareBits(log, 0, Half(dot::EvenBytes(four), half), bytes[2 * half]);
      CompareBits(log, 1, Half(dot::OddBytes(four), half), bytes[2 * half + 1]);
    }
    const uint32_t a = Random(state), b = Random(state);
    CompareBits(log, 2, dot::LowHalves(a, b), (a & 0xffff) | b << 16);
    const dot::Pair two[2] = {a, b}, *from = two;
    dot::Pair got[2];
    dot::NextOfRows<8>(from, got);
    CompareBits(log, 3, got[0], a);
    CompareBits(log, 4, got[1], b);
    CompareBits(log, 5, from == two + 2, 1);

    int8_t rows[2][5];
    for (int i = 0; i < 10; ++i) rows[i / 5][i % 5] = RandomCode(state);
    const int8_t *row_a = rows[0] + 1, *row_b = rows[1] + 1;  // at any address
    dot::Pair pairs[4], *to = pairs;
    dot::WidenKeys(row_a, row_b, to);
    const bool moved = row_a == rows[0] + 5 && row_b == rows[1] + 5 && to == pairs + 4;
    CompareBits(log, 6, moved, 1);
    for (int i = 0; i < 8; ++i) {  // i = first of the codes' pair, the key, and the half
      const int8_t wanted = rows[i / 2 % 2][1 + i / 4 + 2 * (i % 2)];
      CompareBits(log, i, Half(pairs[i / 2], i % 2), wanted);
    }
    row_a -= 4, row_b -= 4, to -= 4;
    dot::WidenValues(row_a, row_b, to);
    for (int i = 0; i < 8; ++i) CompareBits(log, i, Half(pairs[i / 2], i % 2), rows[i % 2][1 + i / 2]);
  }
}

// Products of columns with two rows, of n pairs.
template <int kColumns>
struct Block {
  dot::Pair x[19 * kColumns], rows[19 * 2];
  int32_t sums[2][kColumns] = {};

  Block(uint32_t& state, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      for (int k = 0; k < 2; ++k) rows[2 * i + k] = dot::EvenBytes(uint32_t(RandomCode(state)) & 0xff00ff);
      for (int v = 0; v < kColumns; ++v) {
        x[i * kColumns + size_t(v)] = (Random(state) & 0xff00ff) | (v == 0 ? 0xff00ff : 0);
        for (int half = 0; half < 2; ++half) {
          for (int k = 0; k < 2; ++k) sums[k][v] += Half(x[i * kColumns + v], half) * Half(rows[2 * i + k], half);
        }
      }
    }
  }
};

template <int kUnroll>
void TestFourColumns(ContractLog& log) {
  uint32_t state = 6;
  for (size_t n = 1; n <= 19; ++n) {
    const Block<4> block(state, n);
    int32_t sums[3][8];
    // Twice the same rows, and then rows that begin a pair later, whose sums are not looked at.
    dot::MultiplyFourColumns<8, kUnroll>(block.x, block.rows, n, -8 * ptrdiff_t(n), sums[0], sums[2]);
    for (size_t i = 0; i < 16; ++i) CompareBits(log, n, sums[i / 8][i % 8], block.sums[i % 8 / 4][i % 4]);
  }
}

void TestProducts(ContractLog& log) {
  uint32_t state = 6;
  log.begin("AddTwoColumns, AddOneColumn");
  for (size_t n = 0; n <= 19; ++n) {
    const Block<3> block(state, n);
    dot::Sum sums[2][3] = {};
    const dot::Pair *x = block.x, *rows = block.rows;
    for (size_t i = 0; i < n; ++i) {
      dot::Pair row[2];
      dot::NextOfRows<8>(rows, row);
      dot::AddTwoColumns(x, row, sums[0][0], sums[0][1], sums[1][0], sums[1][1]);
      dot::AddOneColumn(x, row, sums[0][2], sums[1][2]);
    }
    for (int i = 0; i < 6; ++i) CompareBits(log, n, sums[i / 3][i % 3], block.sums[i / 3][i % 3]);
  }
  log.begin("MultiplyFourColumns");
  TestFourColumns<1>(log);
  TestFourColumns<8>(log);
}

// Steps of several columns or elements at once, against the words for one.
void TestFours(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 7;
  float numbers[24];
  VF v[6][4];
  for (int i = 0; i < 24; ++i) {
    numbers[i] = float(int32_t(Random(state))) * 0x1p-24f;
    v[i / 4][i % 4] = hn::LoadU(kF, numbers + i);
  }
  log.begin("LoadVectors, StoreVectors");
  float* const last = reinterpret_cast<float*>(memory.last);
  dot::StoreVectors(v[0], last - 4);
  VF back[4];
  dot::LoadVectors(last - 4, back);
  for (size_t i = 0; i < 4; ++i) {
    CompareBits(log, i, BitsOf(last[i - 4]), BitsOf(numbers[i]));
    CompareBits(log, i, BitsOf(back[i].raw), BitsOf(numbers[i]));
  }

  log.begin("ScaleFour, JoinFour");
  int32_t sums[4];
  float scaled[4], joined[4];
  for (int32_t& sum : sums) sum = int32_t(Random(state)) >> 8;
  __builtin_memcpy(scaled, sums, sizeof sums);
  __builtin_memcpy(joined, numbers + 4, sizeof joined);
  const float* from = scaled;
  float *to = joined, *s = scaled;
  dot::JoinFour(from, to, v[2], v[3]);
  dot::ScaleFour(s, numbers[0], v[2]);
  for (size_t i = 0; i < 4; ++i) {
    const VF sum = dot::ToFloat(sums[i]);
    const VF old = hn::Mul(v[1][i], v[2][i]);
    CompareBits(log, i, BitsOf(scaled[i]), BitsOf(hn::Mul(hn::Mul(sum, v[0][0]), v[2][i]).raw));
    CompareBits(log, i, BitsOf(joined[i]), BitsOf(hn::Add(old, hn::Mul(sum, v[3][i])).raw));
  }
  CompareBits(log, 0, from == scaled + 4 && to == joined + 4 && s == scaled + 4, 1);

  log.begin("StoreWeights");
  for (int32_t code = 0; code <= 255; ++code) {
    float weights[8];
    for (int i = 0; i < 8; ++i) weights[i] = (float((code + 31 * i) % 256) + (i % 2 ? 0.5f : 0.0f)) / 4;
    const VF inverse[4] = {hn::Set(kF, 4.0f), hn::Set(kF, 4.0f), hn::Set(kF, 3.9f), hn::Set(kF, 0.0f)};
    alignas(4) dot::Code codes[8];
    const float* w = weights;
    dot::StoreWeights(w, 4, inverse, codes);
    for (size_t i = 0; i < 8; ++i) {
      const VF biased = hn::Add(hn::Mul(hn::Set(kF, weights[i]), inverse[i % 4]), hn::Set(kF, kRoundingBias));
      const uint32_t wanted = BitsOf(biased.raw) - BitsOf(kRoundingBias);
      CompareBits(log, i, codes[i % 4 * 2 + i / 4], wanted);
    }
    CompareBits(log, 0, w == weights + 8, 1);
  }
}

// Rows of bytes as they lie, at any address, which end where nothing may be read.
// Not inlined: its operands are then in registers that nothing else holds.
__attribute__((noinline)) int8_t CodeOf(float x, int32_t zero) { return dot::NearestCode(hn::Set(kF, x), zero); }
void TestNearestCode(ContractLog& log) {
  log.begin("NearestCode");
  const struct {
    float x;
    int32_t zero;
    int8_t code;
  } cases[] = {{1.5f, 5, 7},      {2.5f, 5, 7},       {-0.5f, 0, 0},
               {-1.5f, 0, -2},    {126.6f, 0, 127},   {200.0f, -100, 100},
               {3e9f, -128, 127}, {-3e9f, 127, -128}, {__builtin_nanf(""), -7, -7},
               {0.0f, 127, 127}};
  for (const auto& test : cases) CompareBits(log, 0, CodeOf(test.x, test.zero), test.code);
}

void TestRowsInPlace(ContractLog& log, const ContractMemory& memory) {
  uint32_t state = 9;
  log.begin("AddFourRows, AddFourElements, AddPair");
  for (size_t fours = 1; fours <= 5; ++fours) {
    const ptrdiff_t stride = ptrdiff_t(4 * fours) + 3;
    int8_t* const row = reinterpret_cast<int8_t*>(memory.last) - 3 * stride - 4 * ptrdiff_t(fours);
    dot::Pair x[2 * 5];
    int32_t wanted[4] = {1, -2, 3, 1 << 20};
    dot::Sum sums[4] = {1, -2, 3, 1 << 20};
    for (ptrdiff_t i = 0; i < 3 * stride + ptrdiff_t(4 * fours); ++i) row[i] = RandomCode(state);
    for (size_t i = 0; i < 2 * fours; ++i) x[i] = dot::EvenBytes(Random(state));
    for (size_t d = 0; d < 4 * fours; ++d) {
      const size_t place = dot::PlaceOf(d);
      for (int k = 0; k < 4; ++k) wanted[k] += Half(x[place / 2], place % 2) * row[k * stride + ptrdiff_t(d)];
    }
    dot::AddFourRows(x, row, stride, fours, sums);
    for (size_t k = 0; k < 4; ++k) CompareBits(log, k, sums[k], wanted[k]);
  }
  for (size_t fours = 1; fours <= 3; ++fours) {
    const ptrdiff_t keys = ptrdiff_t(4 * fours);
    const int8_t* value = reinterpret_cast<int8_t*>(memory.last) - 7 * keys + 3;
    dot::Pair x[6];
    int32_t wanted[4] = {1, -2, 3, 4};
    dot::Sum sums[4] = {1, -2, 3, 4};
    for (ptrdiff_t i = 0; i < 7 * keys - 3; ++i) const_cast<int8_t*>(value)[i] = RandomCode(state);
    for (ptrdiff_t j = 0; j < keys; ++j) {
      if (j % 2 == 0) x[j / 2] = Random(state) & 0xff00ff;
      for (int e = 0; e < 4; ++e) wanted[e] += Half(x[j / 2], j % 2) * value[7 * j + e];
    }
    const dot::Pair* weights = x;
    dot::AddFourElements(weights, value, 7, fours, sums);
    for (size_t e = 0; e < 4; ++e) CompareBits(log, e, sums[e], wanted[e]);
    CompareBits(log, 4, weights == x + 2 * fours, 1);
  }
  CompareBits(log, 0, dot::AddPair(0xffff0002u, 0x00050003u, 7), 7 + 2 * 3 - 5);
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  TestPairs(log);
  TestProducts(log);
  TestFours(log, memory);
  TestRowsInPlace(log, memory);
  TestNearestCode(log);
  TestQueries(log, memory);
}
#endif
}  // namespace dots
#else
namespace dots {
void TestDots(ContractLog&, const ContractMemory&) {}
}  // namespace dots
#endif
