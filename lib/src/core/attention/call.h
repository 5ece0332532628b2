// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_CALL_H_
#define FOVEA_SRC_ATTENTION_CALL_H_

#include "core/attention/kernels.h"
#include "core/attention/layout.h"
#include "core/attention/options.h"
#include "core/attention/steps/kernels.h"
#include "fovea/fovea.h"
#include "ground/base/strides.h"

namespace fovea {

class Buffers;

// What a call on a stream has in addition. Such a call adds keys to the state, or writes the outputs at the end. The
// arguments that it does not use are 0.
struct StreamCall {
  const void* state;  // with its header
  size_t state_bytes;
  StateRows rows;     // [batch][kv_heads][q_tokens][heads of the group]
  int64_t first_key;  // position of the first key of the call, not negative
  bool ends;          // the call adds no keys: it writes the outputs, and the state stays as it was
};

// The queries, or the keys, of a batch entry.
struct EntryTokens {
  uint32_t count;
  uint32_t entry, first;  // where the first one is in the arrays: its entry, and its token there
};

// Scales of rows, or one scale for all rows.
inline fovea_in scale_or(const float& scale, const fovea_in& scales) {
  return kHasI8Tensors && scale != 0.0f ? fovea_in{&scale, 0, 0, 0} : scales;
}

// A call as the algorithm needs it: the one place that reads the caller's arguments. An option that is compiled out
// always reads as absent, so no code below asks fovea_config.h for it.
class AttentionCall {
 public:
  AttentionCall(const MadePlan& plan_of_call, const fovea_attention_args& args, const Workspace& parts,
                const StreamCall* stream)
      : plan(plan_of_call), desc(plan_of_call.desc), workspace(parts), args_(args), stream_(stream) {}

  const MadePlan& plan;
  const fovea_attention_desc& desc;
  const Workspace& workspace;

  // The caller's structure, for the checks alone.
  const fovea_attention_args& args() const { return args_; }

  // Null unless streaming.
  const StreamCall* stream() const { return kHasStreams ? stream_ : nullptr; }
  bool ends_stream() const { return stream() && stream()->ends; }

  uint32_t batch() const { return args_.batch; }
  uint32_t q_tokens() const { return args_.q_tokens; }  // of an entry; of all entries if queries are ragged
  // The keys of the longest entry; of all entries if keys are ragged. Own keys are in the arrays of the source: a prefix may
  // come before them.
  uint32_t kv_tokens() const { return own_tokens() + (prefixes() ? uint32_t(desc.max_prefix_tokens) : 0); }
  uint32_t own_tokens() const { return args_.kv_tokens; }
  const uint32_t* q_offsets() const { return kHasRagged ? args_.q_offsets : nullptr; }
  const uint32_t* kv_offsets() const { return kHasRagged ? args_.kv_offsets : nullptr; }
  const uint32_t* kv_lengths() const { return args_.kv_lengths; }
  const int64_t* positions() const { return args_.first_positions; }
  EntryTokens queries(uint32_t entry) const { return tokens_of(q_offsets(), args_.q_tokens, entry); }
  // keys: all own keys of an entry. own_count: how many of them exist, which kv_lengths may limit. key_count: with the prefix.
  EntryTokens keys(uint32_t entry) const { return tokens_of(kv_offsets(), args_.kv_tokens, entry); }
  uint32_t own_count(uint32_t entry) const { return args_.kv_lengths ? args_.kv_lengths[entry] : keys(entry).count; }
  uint32_t key_count(uint32_t entry) const { return own_count(entry) + prefix_tokens(entry); }

  const fovea_in& q() const { return args_.q; }
  const fovea_in& q_scales() const { return args_.q_scales; }
  const fovea_out& out() const { return args_.out; }
  const fovea_kv_source& kv() const { return args_.kv; }
  // A prefix is null where an entry has none.
  const fovea_kv_prefix* const* prefixes() const { return kHasPrefixes ? args_.kv.prefixes : nullptr; }
  const fovea_kv_prefix* prefix(uint32_t entry) const { return prefixes() ? prefixes()[entry] : nullptr; }
  uint32_t prefix_tokens(uint32_t entry) const { return prefix(entry) ? prefix(entry)->tokens : 0; }
  fovea_in key_scales() const { return key_scales(args_.kv.key_scales); }
  fovea_in value_scales() const { return value_scales(args_.kv.value_scales); }
  fovea_in key_scales(const fovea_in& of_rows) const { return scale_or(desc.key_scale, of_rows); }
  fovea_in value_scales(const fovea_in& of_rows) const { return scale_or(desc.value_scale, of_rows); }
  const float* value_channel_scales(uint32_t kv_head) const {
    if (!kHasI8Tensors || !args_.value_channel_scales) return nullptr;
    return args_.value_channel_scales + ptrdiff_t(kv_head) * args_.value_channel_stride;
  }
  // What was subtracted from the keys of a head. Null if no result depends on it.
  const float* key_center(uint32_t kv_head) const {
    const float* const center = args_.kv.key_center;
    return center && sees_center() ? center + size_t(kv_head) * desc.head_dim : nullptr;
  }
  bool sees_center() const {
    return stream() || softcap(desc) > 0.0f || (modifier() && modifier()->score_mod) || sinks() || wants_lse() ||
           (wants_scores() && scores_stage() < FOVEA_SCORES_SOFTMAX);
  }
  bool shifts_scores() const {
    return has_shifts(desc) && (desc.q_zero_point != 0 || desc.key_zero_point != 0 || key_center(0));
  }
  bool wants_lse() const { return config::kLse && args_.lse.data; }
  const fovea_out& lse() const { return args_.lse; }
  bool wants_scores() const { return config::kScores && args_.scores_stage != FOVEA_SCORES_NONE; }
  fovea_scores_stage scores_stage() const { return args_.scores_stage; }
  const fovea_out& scores() const { return args_.scores; }

  bool wants_mass() const { return kHasKeyMass && args_.key_mass.data; }
  const fovea_out& key_mass() const { return args_.key_mass; }

  bool is_masked() const { return config::kMask && args_.mask.kind != FOVEA_MASK_NONE; }
  const fovea_mask& mask() const { return args_.mask; }
  bool mask_at_end() const { return kHasBlockMaps && is_masked() && args_.mask.at_end != 0; }
  const fovea_block_map* block_map() const { return kHasBlockMaps ? args_.block_map : nullptr; }
  // How many queries of an entry with `count` queries are cut into tiles together.
  uint32_t queries_together(uint32_t count) const {
    return block_map() && block_map()->q_block < count ? block_map()->q_block : count;
  }
  const fovea_modifier* modifier() const { return kHasModifiers ? args_.modifier : nullptr; }
  bool modifies_weights() const { return modifier() && modifier()->weight_mod; }
  const float* alibi_slopes() const { return kHasAlibi ? args_.alibi_slopes : nullptr; }
  const float* sinks() const { return kHasSinks ? args_.sinks : nullptr; }
  const float* score_vector(uint32_t kv_head) const {
    if (!config::kAdditive || !args_.score_vector) return nullptr;
    return args_.score_vector + ptrdiff_t(kv_head) * args_.score_vector_stride;
  }
  uint64_t dropout_seed() const { return args_.dropout_seed; }
  const fovea_executor* executor() const { return args_.executor; }

 private:
  static EntryTokens tokens_of(const uint32_t* offsets, uint32_t tokens, uint32_t entry) {
    if (!offsets) return {tokens, entry, 0};
    return {offsets[entry + 1] - offsets[entry], 0, offsets[entry]};
  }

  const fovea_attention_args& args_;
  const StreamCall* const stream_;
};

// The rows of a head of a batch entry, in an array with elements of this type, or of floats.
TypedRows rows_of_head(const fovea_in& array, fovea_dtype dtype, const EntryTokens& tokens, uint32_t head);
RowArray<float> floats_of_head(const fovea_in& array, const EntryTokens& tokens, uint32_t head);

// Whether a call may run: every rejection, before anything is written.
fovea_status check_attention(const AttentionCall& call);
// Adds the arrays of a call's mask. A row of it covers at most `keys` keys.
fovea_status add_mask(Buffers& buffers, const fovea_mask& mask, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys);
// Checks the prefixes of a source, and adds their arrays.
fovea_status add_prefixes(Buffers& buffers, const fovea_attention_desc& desc, const fovea_kv_source& kv,
                          uint32_t batch);
// Adds the arrays of a call's block map. `queries`: of the longest entry.
fovea_status add_block_map(Buffers& buffers, const fovea_block_map& map, size_t batch, size_t kv_heads,
                           uint32_t queries);
// Checks the elements of these arrays. `queries` and `keys`: the numbers that the lists, and the map blocks of a list, must
// cover.
fovea_status check_block_map(const AttentionCall& call, uint32_t queries, uint32_t keys);

// Runs a whole call, or one on a stream, after every check. Fails only if a loader or an executor fails, or, before
// anything is written, if the number of tasks overflows.
fovea_status run_attention(const AttentionCall& call);

// Runs the call if it is a small one, and if this is worth while for its kernel; else returns false. Small: one query
// for each key head, keys that fit one key tile, and arrays of f32, of which nothing but the products and the softmax
// is asked. Its heads take less time than what a HeadTask prepares, so each is one function of the kernel.
bool run_small_call(const AttentionCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_CALL_H_
