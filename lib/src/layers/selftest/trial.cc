// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

#include "ground/base/buffers.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

// The kind of a target among those that a call tells apart, and its name.
struct Kind {
  uint32_t index;  // into PublishedDigest::of
  const char* name;
};

Kind kind_of(fovea_target target, DigestsBy by) {
  const bool fused = fuses(target);
  if (by == kEverywhere) return {kFusedDigest, "all"};
  if (by == kByPartialSums) {
    if (kernels_of(target) == FOVEA_TARGET_HELIUM) return {kHeliumDigest, "helium"};
    if (kernels_of(target) == FOVEA_TARGET_SCALAR && FOVEA_SIMD_LANES == 1) {
      return fused ? Kind{kOneLaneFusedDigest, "one lane, fused"} : Kind{kOneLaneDigest, "one lane, not fused"};
    }
  }
  return fused ? Kind{kFusedDigest, "fused"} : Kind{kTwiceRoundedDigest, "not fused"};
}

}  // namespace

Trial::Trial(const fovea_selftest_args& args, fovea_target best)
    : next_(static_cast<uint8_t*>(args.memory)),
      left_(args.memory_bytes),
      target_(best),
      kernels_(kernels_of(best)),
      features_(args.processor_features) {}

void* Trial::room(size_t bytes) {
  const size_t taken = (bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
  if (taken > left_) {
    has_room_ = false;
    return nullptr;
  }
  uint8_t* const array = next_;
  next_ += taken, left_ -= taken;
  for (size_t i = 0; i < bytes; ++i) array[i] = 0;
  return array;
}

// A counter, mixed as MurmurHash3 ends (Appleby).
uint32_t Trial::random() {
  uint32_t x = ++drawn_ * 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

void Trial::fill(uint8_t* bytes, size_t count) {
  for (size_t i = 0; bytes && i < count; ++i) bytes[i] = static_cast<uint8_t>(random() >> 24);
}

float* Trial::numbers(size_t count) {
  float* const x = zeros<float>(count);
  for (size_t i = 0; x && i < count; ++i)
    x[i] = static_cast<float>(static_cast<int32_t>(random() >> 8) - 0x800000) / 0x400000;
  return x;
}

float* Trial::positive(size_t count) {
  float* const x = zeros<float>(count);
  for (size_t i = 0; x && i < count; ++i) x[i] = static_cast<float>((random() >> 8) + 1) / 0x800000;
  return x;
}

int8_t* Trial::codes(size_t count) {
  int8_t* const codes = zeros<int8_t>(count);
  for (size_t i = 0; codes && i < count; ++i)
    codes[i] = static_cast<int8_t>(static_cast<int32_t>(random() % 255) - 127);
  return codes;
}

// Magnitudes from an eighth to 2.
uint16_t* Trial::halves(fovea_dtype dtype, size_t count, bool positive) {
  uint16_t* const x = zeros<uint16_t>(count);
  const uint32_t mantissa = dtype == FOVEA_F16 ? 10 : 7, bias = dtype == FOVEA_F16 ? 15 : 127;
  for (size_t i = 0; x && i < count; ++i) {
    const uint32_t bits = random();
    const uint32_t exponent = bias - 3 + (bits >> 30), sign = positive ? 0 : bits << 15 & 0x8000u;
    x[i] = static_cast<uint16_t>(sign | exponent << mantissa | (bits >> 8 & ((1u << mantissa) - 1)));
  }
  return x;
}

void* Trial::rows(fovea_dtype dtype, size_t count, size_t dim, void** scales) {
  const size_t groups = (dim + 31) / 32;
  if (scales) *scales = nullptr;
  if (dtype == FOVEA_F32) return numbers(count * dim);
  if (dtype == FOVEA_F16 || dtype == FOVEA_BF16) return halves(dtype, count * dim);
  if (dtype == FOVEA_I8) {
    float* const scale = positive(count);
    for (size_t i = 0; scale && i < count; ++i) scale[i] /= 64;
    *scales = scale;
    return codes(count * dim);
  }
  if (dtype == FOVEA_I4) {
    *scales = halves(FOVEA_F16, count * groups, true);
    uint8_t* const nibbles = zeros<uint8_t>(count * groups * 16);
    fill(nibbles, count * groups * 16);
    return nibbles;
  }
  const size_t block = dtype == FOVEA_Q8_0 ? 34 : dtype == FOVEA_Q4_0 ? 18 : 20;
  uint8_t* const blocks = zeros<uint8_t>(count * groups * block);
  fill(blocks, count * groups * block);
  // Upper bytes of d, and of m: f16 from 2^-7 to 2^-4.
  for (size_t i = 0; blocks && i < count * groups; ++i) {
    blocks[i * block + 1] = static_cast<uint8_t>(0x20 + (random() >> 29));
    if (dtype == FOVEA_Q4_1) blocks[i * block + 3] = static_cast<uint8_t>(0xa0 + (random() >> 29));
  }
  return blocks;
}

uint32_t Trial::unsigned_bits(float x) {
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

fovea_status run_trial(const TrialRow* rows, uint32_t count, const fovea_selftest_args* args,
                       fovea_selftest_result* result) {
  if (!args || !result) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(check_struct(*args));
  if (args->call >= count) return FOVEA_ERR_CAPACITY;
  if (args->processor_features & ~kNamedFeatures) return FOVEA_ERR_ENUM;
  const TargetTraits* const traits = resolve_target(args->target, args->processor_features);
  if (!traits) return is_target(args->target) ? FOVEA_ERR_TARGET : FOVEA_ERR_ENUM;
  if (!args->memory) return FOVEA_ERR_NULL;
  if (reinterpret_cast<uintptr_t>(args->memory) % FOVEA_WORKSPACE_ALIGNMENT) return FOVEA_ERR_ALIGNMENT;
  // Without checks no call refuses an array that had no room.
  if (!kHasChecks && args->memory_bytes < FOVEA_SELFTEST_BYTES) return FOVEA_ERR_WORKSPACE;
  Trial trial(*args, traits->target);
  const TrialRow& row = rows[args->call];
  const Kind kind = kind_of(traits->target, row.published.by);
  *result = {row.name, kind.name, 0, row.published.of[kind.index]};
  const fovea_status status = row.trial(trial);
  if (!trial.has_room()) return FOVEA_ERR_WORKSPACE;
  if (status == FOVEA_OK) result->digest = trial.digest();
  return status;
}

}  // namespace fovea
