// SPDX-License-Identifier: Apache-2.0
//
// Valid calls with any options: every target, split, budget and executor answers as the reference does, to the bit
// where that is promised, and touches nothing else.
#include <vector>

#include "fuzz/fuzz.h"
#include "support/formats.h"
#include "support/key_mass.h"
#include "support/problem.h"
#include "support/rotated.h"
#include "support/shuffler.h"

namespace fovea_test {
namespace {

// So small that the reference takes no time.
Problem problem_of(Bytes& bytes) {
  Problem p;
  p.seed = bytes.take<uint16_t>();
  p.batch = 1 + bytes.below(3);
  p.kv_heads = 1 + bytes.below(3);
  p.q_heads = p.kv_heads * (1 + bytes.below(5));
  p.q_tokens = bytes.count_below(bytes.flag() ? 70 : 5);
  p.kv_tokens = bytes.count_below(bytes.flag() ? 200 : 70);
  p.head_dim = 1 + bytes.below(bytes.flag() ? 140 : 20);
  p.value_dim = 1 + bytes.below(bytes.flag() ? 140 : 20);

  p.score = bytes.choose({FOVEA_SCORE_SCALED_DOT, FOVEA_SCORE_DOT, FOVEA_SCORE_ADDITIVE});
  p.scale = bytes.choose({0.0f, 0.3f, -0.2f, 1.0f});
  p.softcap = bytes.choose({0.0f, 1.5f, 30.0f});
  p.dropout = bytes.choose({0.0f, 0.0f, 0.3f});
  p.dropout_seed = bytes.take<uint8_t>();
  p.causal = bytes.choose(kCausals);
  if (bytes.flag()) p.window_left = bytes.count_below(140);
  if (bytes.flag()) p.window_right = 1 + bytes.below(20);
  p.alibi = bytes.flag();
  p.sinks = bytes.flag();
  p.lse = bytes.flag();

  p.mask = bytes.choose({FOVEA_MASK_NONE, FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16});
  p.mask_batch = bytes.flag(), p.mask_heads = bytes.flag(), p.mask_queries = bytes.flag();
  p.mask_missing = bytes.below(p.kv_tokens + 1);
  p.layout = bytes.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPacked, Layout::kPadded,
                           Layout::kBroadcast, Layout::kReversed});
  p.placement = bytes.choose({Placement::kEnd, Placement::kStart, Placement::kOffset});

  p.q_dtype = bytes.choose(kFloatTypes);
  p.out_dtype = bytes.choose(kFloatTypes);
  p.key_dtype = bytes.choose(kKeyTypes);
  p.value_dtype = bytes.choose(kKeyTypes);
  p.kv_kind = bytes.choose({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED, FOVEA_KV_LOAD});
  const bool typed = p.stored() || p.q_dtype != FOVEA_F32 || p.out_dtype != FOVEA_F32;
  if (typed && p.layout != Layout::kTokensFirst && p.layout != Layout::kPadded) p.layout = Layout::kHeadsFirst;
  if (p.kv_kind == FOVEA_KV_PAGED) p.page_tokens = 1 + bytes.count_below(130);
  p.pinned_tokens = bytes.count_below(80);
  if (p.kv_kind == FOVEA_KV_RING) p.ring_tokens = p.pinned_tokens + 1 + bytes.count_below(130);

  if (p.kv_kind != FOVEA_KV_RING) {
    p.stage = bytes.choose(
        {FOVEA_SCORES_NONE, FOVEA_SCORES_SCALED, FOVEA_SCORES_CAPPED, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX});
    const bool whole = p.kv_kind == FOVEA_KV_STRIDED;
    if (!whole && (p.stage == FOVEA_SCORES_SCALED || p.stage == FOVEA_SCORES_CAPPED)) p.stage = FOVEA_SCORES_MASKED;
  }

  const int64_t position = int64_t{bytes.below(400)} - 100;
  const bool lengths = bytes.flag(), rolled_back = bytes.flag();
  const fovea_diagonal diagonal = bytes.choose(
      {FOVEA_DIAGONAL_AS_CAUSAL, FOVEA_DIAGONAL_TOP_LEFT, FOVEA_DIAGONAL_BOTTOM_RIGHT, FOVEA_DIAGONAL_POSITIONS});
  if (p.causal == FOVEA_CAUSAL_NONE) p.diagonal = diagonal;
  p.mask_keys = !bytes.flag(), p.mask_factors = bytes.flag();
  for (uint32_t b = 0; b < p.batch; ++b) {
    if (p.positions_needed()) p.positions.push_back(position + bytes.below(64));
    const uint32_t length = lengths ? bytes.count_below(p.kv_tokens + 1) : p.kv_tokens;
    if (lengths) p.kv_lengths.push_back(length);
    if (p.kv_kind != FOVEA_KV_RING || !rolled_back) continue;
    const uint32_t size = p.ring_tokens - p.pinned_tokens;
    const uint32_t oldest = length > p.ring_tokens ? length - size : p.pinned_tokens;
    p.first_tokens.push_back(length > oldest ? oldest + bytes.below(length - oldest + 1) : oldest);
  }
  if (p.kv_kind == FOVEA_KV_RING) p.allow_evicted = bytes.flag() || !p.ring_suffices();
  return p;
}

}  // namespace

void run(Bytes bytes) {
  Problem p = problem_of(bytes);
  Run alone;
  alone.portable_bits = bytes.flag();
  alone.key_split_tokens = bytes.choose({0u, 0u, 64u, 128u});
  alone.budget = bytes.choose({Budget::kNone, Budget::kHalf, Budget::kLeast});
  Shuffler shuffler(1 + bytes.below(8));
  const bool integers = bytes.flag();
  if (!integers && bytes.below(4) == 1) p = p.with_halves();
  const auto or_i8 = [](fovea_dtype dtype) { return is_grouped(dtype) ? dtype : FOVEA_I8; };
  if (integers) p = p.with_integers(or_i8(p.key_dtype), or_i8(p.value_dtype));
  p.mask_at_end = bytes.flag();
  if (bytes.flag()) p.map_q_block = 1 + bytes.below(80), p.map_kv_block = 64 * (1 + bytes.below(3));
  p.map_batch = bytes.flag(), p.map_heads = bytes.flag();
  const bool laid_out = p.layout == Layout::kHeadsFirst || p.layout == Layout::kTokensFirst || p.layout == Layout::kPadded;
  const bool early = p.stage == FOVEA_SCORES_SCALED || p.stage == FOVEA_SCORES_CAPPED;
  if (laid_out && !early && p.kv_kind != FOVEA_KV_LOAD && (p.kv_kind != FOVEA_KV_RING || p.pinned_tokens == 0)) {
    p.prefix_tokens = bytes.flag() ? bytes.count_below(200) : 0;
  }
  p.modify_scores = bytes.flag();
  p.modify_weights = bytes.flag() && alone.key_split_tokens == 0;
  const auto rotation = enum_of<fovea_hadamard_rows>(bytes.below(4));
  const uint64_t seed = bytes.take<uint8_t>();
  const uint32_t key_mass_queries = bytes.flag() ? bytes.count_below(70) : 0;
  AttentionCase test(p);
  Outputs same;
  bool first = true;
  for (const fovea_target target : p.targets()) {
    Run how = alone;
    how.target = target;
    expect(test.run(how));
    const Outputs want = test.outputs();
    if (key_mass_queries != 0) expect(compare_key_mass(test, how, key_mass_queries));
    if (rotation != FOVEA_HADAMARD_NONE) expect(compare_rotated(test, how, rotation, seed));
    how.executor = shuffler.executor();
    expect(test.run(how));
    // Without portable_bits a budget that is for more workers may choose another kernel.
    if (alone.portable_bits || alone.budget == Budget::kNone || integers)
      expect(same_bits(test.outputs(), want), "workers change bits");
    const bool fuses = target == FOVEA_TARGET_AVX2 || target == FOVEA_TARGET_AVX512 || target == FOVEA_TARGET_NEON;
    if (!integers && (!alone.portable_bits || !fuses)) continue;
    if (!first) expect(same_bits(want, same), "targets differ in bits");
    same = want;
    first = false;
  }
}

}  // namespace fovea_test
