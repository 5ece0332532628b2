// SPDX-License-Identifier: Apache-2.0
//
// The half words, against double: a product of two halves is exact there, and a sum is rounded to odd before it is
// rounded to a half.

namespace halves {
#include "ground/simd/apart.inl"

// v rounded to a half, to the nearest, ties to even.
double ToHalf(double v) {
  const double magnitude = v < 0 ? -v : v;
  if (magnitude >= 65520.0) return v < 0 ? -__builtin_inf() : __builtin_inf();
  double place = 0x1p-24;  // the last place
  while (magnitude >= place * 2048) place *= 2;
  const double magic = 0x1.8p52 * place;
  return __builtin_copysign((magnitude + magic) - magic, v);
}
double MulAddOf(double a, double b, double c) {
  const double product = a * b, sum = product + c, part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, sizeof bits);
  if (error != 0 && bits % 2 == 0) bits += (error < 0) == (sum < 0) ? 1 : ~uint64_t{0};
  double odd;
  __builtin_memcpy(&odd, &bits, sizeof odd);
  return ToHalf(odd);
}

// A half of any size, or one that makes ties and sums near 0 likely.
double RandomHalf(uint32_t& state) {
  const uint32_t bits = Random(state);
  double v = double(bits >> 8 & 2047) * (bits >> 7 & 1 ? -1 : 1);
  uint32_t down = bits % 4 == 0 ? bits >> 20 & 31 : 9 + (bits >> 20) % 5;
  for (; down > 0; --down) v /= 2;
  return ToHalf(v * 0x1p4);
}

[[maybe_unused]] void Put(float* p, double v) { *p = float(v); }
[[maybe_unused]] void Put(uint16_t* p, double v) {
  uint16_t several[kLanes];  // words that are tested elsewhere
  hn::StoreF16N(hn::Set(kF, float(v)), several, 1);
  *p = several[0];
}

#include "ground/simd/halves.inl"
#if !FOVEA_FOR_HELIUM
namespace of_floats {
using half = FloatHalves;
#include "kernels/halves_words.inl"
#include "kernels/halves_next.inl"
}  // namespace of_floats
#endif
#if FOVEA_FOR_HELIUM || ((FOVEA_X86_LANES == 16 || FOVEA_FOR_RVV) && FOVEA_WITH_FP16_BY_FLAGS) || (FOVEA_FOR_NEON && FOVEA_WITH_NEON_FP16)
namespace of_halves {
using half = OwnHalves;
#include "kernels/halves_words.inl"
#if FOVEA_FOR_HELIUM
#include "kernels/halves_part.inl"
#include "kernels/halves_helium.inl"
#elif (FOVEA_X86_LANES == 16 || FOVEA_FOR_RVV) && FOVEA_WITH_FP16_BY_FLAGS
#include "kernels/halves_next.inl"
#else
#include "kernels/halves_next.inl"
#include "kernels/halves_part.inl"
#include "kernels/halves_rows.inl"
#endif
}  // namespace of_halves
#endif

void TestHalves(ContractLog& log, const ContractMemory& memory) {
#if !FOVEA_FOR_HELIUM
  of_floats::TestWords(log, memory);
  of_floats::TestNextE(log, memory);
#endif
#if FOVEA_FOR_HELIUM
  of_halves::TestWords(log, memory);
  of_halves::TestLoadPart(log, memory);
  of_halves::TestHeliumWords(log, memory);
#elif (FOVEA_X86_LANES == 16 || FOVEA_FOR_RVV) && FOVEA_WITH_FP16_BY_FLAGS
  of_halves::TestWords(log, memory);
  of_halves::TestNextE(log, memory);
#elif FOVEA_FOR_NEON && FOVEA_WITH_NEON_FP16
  if (::fovea::platform::processor_features() & FOVEA_FEATURE_NEON_FP16) {
    of_halves::TestWords(log, memory);
    of_halves::TestNextE(log, memory);
    of_halves::TestLoadPart(log, memory);
    of_halves::TestRowWords(log);
  } else {
    log.skip("fmla of halves");
  }
#endif
}

}  // namespace halves
