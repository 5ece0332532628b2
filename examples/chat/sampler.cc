// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/sampler.h"

#include <cstring>

namespace chat {
namespace {

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The bits of the threshold: the probabilities that are at least as large sum up to `share`. Bits of nonnegative floats
// have the order of the numbers. Each pass decides kDigit more bits of it.
uint32_t nucleus(const float* probabilities, uint32_t count, double share) {
  constexpr uint32_t kDigit = 11, kDigits = 1u << kDigit;
  uint32_t prefix = 0;  // the bits above `shift`, which are decided
  double larger = 0.0;  // the sum of all probabilities whose bits above `shift` are larger
  for (uint32_t shift = 33; shift != 0;) {
    shift -= kDigit;
    double sums[kDigits] = {};
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t bits = bits_of(probabilities[i]);
      if (bits >> (shift + kDigit) == prefix) sums[bits >> shift & (kDigits - 1)] += double{probabilities[i]};
    }
    uint32_t digit = kDigits;
    do {
      larger += sums[--digit];
    } while (digit != 0 && (larger < share || larger == 0.0));
    larger -= sums[digit];
    prefix = prefix << kDigit | digit;
  }
  return prefix;
}

}  // namespace

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
double Sampler::uniform() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t x = state_;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53;
}

fovea_status Sampler::choose(float* scores, uint32_t count, uint32_t* token) {
  *token = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(scores[i] - scores[i] == 0.0f)) return FOVEA_ERR_NUMBER;
    if (scores[i] > scores[*token]) *token = i;
  }
  if (sampling_.temperature == 0.0f) return FOVEA_OK;

  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args;
  args.target = target_;
  args.out = scores;
  args.in = scores;
  args.out_axis_stride = args.in_axis_stride = 1;
  args.outer = args.inner = 1;
  args.axis = count;
  args.scale = 1.0f / sampling_.temperature;
  const fovea_status status = fovea_softmax_f32(&args);
  if (status != FOVEA_OK) return status;
  const uint32_t least = nucleus(scores, count, double{sampling_.top_p});
  double sum = 0.0;
  for (uint32_t i = 0; i < count; ++i) {
    if (bits_of(scores[i]) >= least) sum += double{scores[i]};
  }
  double left = uniform() * sum;
  for (uint32_t i = 0; i < count; ++i) {
    if (bits_of(scores[i]) < least) continue;
    *token = i;  // the last one, if rounding leaves a remainder
    left -= double{scores[i]};
    if (left < 0.0) break;
  }
  return FOVEA_OK;
}

}  // namespace chat
