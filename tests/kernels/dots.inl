// SPDX-License-Identifier: Apache-2.0
//
// The dot words of instructions that multiply integers. Their codes are the ends of 8 bits as often as not, and sums are
// compared as integers.

#if FOVEA_FOR_HELIUM || (FOVEA_FOR_SCALAR && FOVEA_SMLAD) || defined(FOVEA_HAS_NEON_DOT) || defined(FOVEA_VNNI_LANES)
namespace dots {
#include "simd/dot_bytes.inl"
using ::fovea::round_up;
using hn::kBlockVectors;

int8_t RandomCode(uint32_t& state) {
  const uint32_t bits = Random(state);
  return bits % 3 == 0 ? -128 : bits % 3 == 1 ? 127 : int8_t(bits >> 8);
}

#if FOVEA_FOR_HELIUM
#include "simd/dot_helium.inl"
#include "kernels/dots_few.inl"

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
    Compare(log, Same::kBits, n, uint32_t(dot::Dot(codes, dot::NextBytes(next))), uint32_t(sum));
    Compare(log, Same::kBits, n, uint32_t(next == last), 1);
    Compare(log, Same::kBits, n, uint32_t(dot::DotAdd(codes, dot::LoadSomeBytes(row, n), -7)), uint32_t(some - 7));
  }

  TestFewRows(log, memory);

  log.begin("StoreWeights");
  int8_t stored[64] = {};
  for (int32_t code = 0; code < 256; code += 4) {
    const VF biased[1] = {hn::Add(hn::Iota(kF, float(code)), hn::Set(kF, kRoundingBias))};
    dot::StoreWeights(biased, stored + code / 4 % 16);
    for (int32_t i = 0; i < 4; ++i) {
      Compare(log, Same::kBits, size_t(i), uint32_t(stored[16 * i + code / 4 % 16]), uint32_t(code + i - 128));
    }
  }

  log.begin("PackGroup");
  static int8_t rows[16][40];
  static int8_t packed[40 * 16];
  const int8_t* at[16];
  for (int r = 0; r < 16; ++r) {
    for (int e = 0; e < 40; ++e) rows[r][e] = RandomCode(state);
    at[r] = rows[r] + r % 8;  // any alignment
  }
  for (size_t elements = 15; elements <= 33; ++elements) {
    int32_t starts[40];
    for (int32_t& start : starts) start = 3;
    const size_t done = dot::PackGroup(at, elements, packed, starts);
    Compare(log, Same::kBits, 0, uint32_t(done), uint32_t(elements / 16 * 16));
    for (size_t e = 0; e < done; ++e) {
      int32_t start = 3;
      for (size_t r = 0; r < 16; ++r) {
        start += 128 * at[r][e];
        Compare(log, Same::kBits, r, uint32_t(packed[16 * e + r]), uint32_t(at[r][e]));
      }
      Compare(log, Same::kBits, e, uint32_t(starts[e]), uint32_t(start));
    }
  }
}

#elif defined(FOVEA_HAS_NEON_DOT)
namespace of_sdot {
#include "simd/dot_sdot.inl"
#include "kernels/dots_few.inl"
#include "kernels/dots_neon64.inl"
}  // namespace of_sdot
namespace of_smmla {
#include "simd/dot_smmla.inl"
#include "kernels/dots_neon64.inl"
}  // namespace of_smmla

void TestDots(ContractLog& log, const ContractMemory& memory) {
  const uint64_t features = ::fovea::platform::processor_features();
  if (features & FOVEA_FEATURE_NEON_DOTPROD) {
    of_sdot::TestDots(log, memory);
    of_sdot::TestFewRows(log, memory);
  }
  if (features & FOVEA_FEATURE_NEON_I8MM) of_smmla::TestDots(log, memory);
}

#elif defined(FOVEA_VNNI_LANES)
#include "simd/dot_vnni.inl"
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
    Compare(log, Same::kBits, lane, uint32_t(sums[lane]), uint32_t(wanted));
  }
}

void TestDots(ContractLog& log, const ContractMemory& memory) {
  if (!IsAvailable(kLanes == 16 ? FOVEA_TARGET_AVX512_VNNI : FOVEA_TARGET_AVX2_VNNI)) return;
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
    Compare(log, Same::kBits, n, uint32_t(dot::StartOfKey(row, n)), uint32_t(start));
    row[n] = RandomCode(state);
    start -= 128 * row[n];
  }

  log.begin("StoreWeights, StoreQueries");
  for (int32_t code = 0; code < 256; ++code) {
    VF biased[4];
    for (int i = 0; i < 4; ++i) biased[i] = hn::Set(kF, kRoundingBias + float((code + 85 * i) % 256));
    uint8_t stored[4 * kLanes];
    dot::StoreWeights(biased, stored);
    for (size_t i = 0; i < 4 * kLanes; ++i) {
      Compare(log, Same::kBits, i, stored[i], uint32_t(code + 85 * int32_t(i % 4)) % 256);
    }
    dot::StoreQueries(hn::Set(kF, kRoundingBias + float(code - 128)), stored);
    for (size_t i = 0; i < kLanes; ++i) Compare(log, Same::kBits, i, stored[i], uint32_t(code));
  }

  log.begin("PackGroup");
  static int8_t rows[4][40], packed[40 * 4];
  const int8_t* at[4];
  for (int r = 0; r < 4; ++r) {
    for (int8_t& code : rows[r]) code = RandomCode(state);
    at[r] = rows[r] + r;  // any alignment
  }
  for (size_t elements = 15; elements <= 33; ++elements) {
    const size_t done = dot::PackGroup(at, elements, packed, nullptr);
    Compare(log, Same::kBits, 0, uint32_t(done), uint32_t(elements / 16 * 16));
    for (size_t i = 0; i < 4 * done; ++i) {
      Compare(log, Same::kBits, i, uint32_t(packed[i]), uint32_t(at[i % 4][i / 4]));
    }
  }
}

#else
constexpr size_t kGroup = ::fovea::kDotTraits[::fovea::kDotSmlad].group;
constexpr size_t kReads = ::fovea::kDotTraits[::fovea::kDotSmlad].reads;
#include "simd/dot_smlad.inl"
#include "math/dot_block_smlad.inl"

int32_t Half(uint32_t pair, int half) { return int16_t(pair >> (16 * half)); }

void TestPairs(ContractLog& log) {
  uint32_t state = 5;
  log.begin("EvenBytes, OddBytes, LowHalves, HighHalves, StoreTwo, NextOfRows");
  for (int round = 0; round < 64; ++round) {
    int8_t bytes[4];
    for (int8_t& byte : bytes) byte = RandomCode(state);
    uint32_t four;
    __builtin_memcpy(&four, bytes, 4);
    for (int half = 0; half < 2; ++half) {
      Compare(log, Same::kBits, 0, uint32_t(Half(dot::EvenBytes(four), half)), uint32_t(bytes[2 * half]));
      Compare(log, Same::kBits, 1, uint32_t(Half(dot::OddBytes(four), half)), uint32_t(bytes[2 * half + 1]));
    }
    const uint32_t a = Random(state), b = Random(state);
    Compare(log, Same::kBits, 2, dot::LowHalves(a, b), (a & 0xffff) | b << 16);
    Compare(log, Same::kBits, 3, dot::HighHalves(a, b), a >> 16 | (b & 0xffff0000u));
    dot::Pair two[2], *to = two, got[2];
    dot::StoreTwo(a, b, to);
    const dot::Pair* from = two;
    dot::NextOfRows<8>(from, got);
    Compare(log, Same::kBits, 4, got[0], a);
    Compare(log, Same::kBits, 5, got[1], b);
    Compare(log, Same::kBits, 6, uint32_t(to == two + 2 && from == two + 2), 1);
  }
}

// Columns of kVectors, of a tile of as many or of four, times two rows of n pairs.
template <int kVectors>
void TestBlock(ContractLog& log, size_t columns) {
  uint32_t state = 6;
  for (size_t n = 0; n <= 11; ++n) {
    static dot::Pair x[11 * 4], rows[11 * 2];
    int32_t wanted[2][kVectors] = {};
    for (size_t i = 0; i < n; ++i) {
      for (int k = 0; k < 2; ++k) rows[2 * i + k] = dot::EvenBytes(uint32_t(RandomCode(state)) & 0xff00ff);
      for (size_t v = 0; v < columns; ++v) x[i * columns + v] = (Random(state) & 0xff00ff) | (v == 0 ? 0xff00ff : 0);
      for (int k = 0; k < 2; ++k) {
        for (int v = 0; v < kVectors; ++v) {
          for (int half = 0; half < 2; ++half) {
            wanted[k][v] += Half(x[i * columns + size_t(v)], half) * Half(rows[2 * i + k], half);
          }
        }
      }
    }
    dot::Sum sums[2][kVectors];
    MultiplyPairs<8>(reinterpret_cast<const dot::Code*>(x), columns, reinterpret_cast<const dot::RowCode*>(rows), n,
                     sums);
    for (int k = 0; k < 2; ++k) {
      for (int v = 0; v < kVectors; ++v) Compare(log, Same::kBits, n, uint32_t(sums[k][v]), uint32_t(wanted[k][v]));
    }
  }
}

void TestDots(ContractLog& log, const ContractMemory&) {
  TestPairs(log);
  log.begin("AddTwoColumns, AddOneColumn");
  TestBlock<1>(log, 1);
  TestBlock<1>(log, 4);
  TestBlock<2>(log, 2);
  TestBlock<2>(log, 3);
  TestBlock<3>(log, 3);
  TestBlock<4>(log, 4);
}
#endif
}  // namespace dots
#else
namespace dots {
void TestDots(ContractLog&, const ContractMemory&) {}
}  // namespace dots
#endif
