// SPDX-License-Identifier: Apache-2.0
//
// Streams. Keys in any pieces and of any kind, pushed on any target, merged in any order, and moved as images, give the
// reference's answer, and the bits of one call where these are promised. Bytes that are no image, and states whose
// header was changed, are refused, or used within their memory.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "fuzz/fuzz.h"
#include "support/bits.h"
#include "support/centered.h"
#include "support/formats.h"
#include "support/guarded.h"
#include "support/pieces.h"
#include "support/problem.h"
#include "support/shuffler.h"
#include "support/tensors.h"

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;

Guarded memory_for(size_t bytes) {
  return Guarded((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment, Placement::kEnd);
}

// ---- Any pieces

void draw_limits(Bytes& bytes, Problem& p) {
  p.causal = bytes.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_POSITIONS});
  if (bytes.flag()) p.window_left = 1 + bytes.below(100), p.pinned_tokens = bytes.below(80);
  if (bytes.below(4) == 1) p.window_right = 1 + bytes.below(40);
  p.alibi = bytes.flag();
  const fovea_diagonal diagonal =
      bytes.choose({FOVEA_DIAGONAL_AS_CAUSAL, FOVEA_DIAGONAL_TOP_LEFT, FOVEA_DIAGONAL_POSITIONS});
  if (p.causal == FOVEA_CAUSAL_NONE) p.diagonal = diagonal;
  const bool lengths = bytes.flag();
  for (uint32_t b = 0; b < p.batch; ++b) {
    if (p.positions_needed()) p.positions.push_back(int64_t{bytes.below(256)} - 20);
    if (lengths) p.kv_lengths.push_back(bytes.below(p.kv_tokens + 1));
  }
}

// Whatever streams serve.
Problem problem_of(Bytes& bytes) {
  Problem p;
  p.seed = bytes.take<uint16_t>();
  p.batch = 1 + bytes.below(2), p.kv_heads = 1 + bytes.below(2), p.q_heads = p.kv_heads * (1 + bytes.below(3));
  p.q_tokens = 1 + bytes.below(bytes.flag() ? 30 : 3), p.kv_tokens = bytes.count_below(bytes.flag() ? 260 : 140);
  p.head_dim = 1 + bytes.below(bytes.flag() ? 70 : 10), p.value_dim = 1 + bytes.below(bytes.flag() ? 70 : 10);
  p.score = bytes.choose({FOVEA_SCORE_SCALED_DOT, FOVEA_SCORE_DOT, FOVEA_SCORE_ADDITIVE});
  p.scale = bytes.choose({0.0f, 0.3f, -0.2f});
  p.softcap = bytes.choose({0.0f, 2.0f});
  p.dropout = bytes.choose({0.0f, 0.0f, 0.3f});
  draw_limits(bytes, p);
  p.sinks = bytes.flag(), p.lse = bytes.flag(), p.modify_scores = bytes.flag();
  p.mask = bytes.choose({FOVEA_MASK_NONE, FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16});
  p.mask_missing = bytes.below(4) == 0 ? bytes.below(p.kv_tokens + 1) : 0;
  p.mask_keys = !bytes.flag(), p.mask_factors = bytes.flag();
  p.mask_batch = bytes.flag(), p.mask_heads = bytes.flag(), p.mask_queries = bytes.flag();
  p.mask_at_end = bytes.flag() && p.kv_lengths.empty();
  if (bytes.flag()) p.map_q_block = 1 + bytes.below(40), p.map_kv_block = 64 * (1 + bytes.below(3));
  p.map_batch = bytes.flag(), p.map_heads = bytes.flag();
  p.q_dtype = bytes.choose(kFloatTypes);
  p.out_dtype = bytes.choose(kFloatTypes);
  p.key_dtype = bytes.choose(kKeyTypes), p.value_dtype = bytes.choose(kKeyTypes);
  p.kv_kind = bytes.choose({FOVEA_KV_STRIDED, FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_LOAD});
  if (p.kv_kind == FOVEA_KV_PAGED) p.page_tokens = bytes.choose({1u, 16u, 37u, 64u, 128u});
  p.layout = bytes.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded});
  return p;
}

// A call of floats, of integers, of integers whose keys have a centre, or of tensors of int8.
enum class Kind { kFloats, kIntegers, kCentered, kTensors };

std::shared_ptr<AttentionCase> case_of(Bytes& bytes, Kind kind, std::vector<float>* channels) {
  Problem p = problem_of(bytes);
  if (kind == Kind::kFloats) return std::make_shared<AttentionCase>(p);
  const auto integers = [](fovea_dtype dtype) { return is_grouped(dtype) ? dtype : FOVEA_I8; };
  p = p.with_integers(integers(p.key_dtype), integers(p.value_dtype));
  if (kind == Kind::kIntegers) return std::make_shared<AttentionCase>(p);
  p.q_dtype = FOVEA_F32;
  if (kind == Kind::kCentered) return std::make_shared<Centered>(p);
  p = p.with_integers();
  p.kv_kind = FOVEA_KV_STRIDED, p.page_tokens = 0, p.out_dtype = FOVEA_F32, p.dropout = 0;
  const auto zero = [&] { return bytes.flag() ? 0 : int32_t{bytes.take<int8_t>()}; };
  const int32_t q_zero_point = zero(), key_zero_point = zero(), value_zero_point = zero();
  auto tensors = std::make_shared<Tensors>(p, Zeros{q_zero_point, key_zero_point, value_zero_point});
  if (bytes.flag()) {
    for (uint32_t e = 0; e < p.kv_heads * p.value_dim; ++e) channels->push_back(random_uniform(5, e, -2.0f, 2.0f));
    tensors->args.value_channel_scales = channels->data();
    tensors->args.value_channel_stride = ptrdiff_t(p.value_dim);
    tensors->enter();
  }
  return tensors;
}

// A stream and the call that it stands for: each push may take another target, and states travel and merge.
class PiecesFuzz {
 public:
  explicit PiecesFuzz(Bytes& bytes)
      : bytes_(bytes),
        kind_(bytes.choose({Kind::kFloats, Kind::kIntegers, Kind::kCentered, Kind::kTensors})),
        test_(case_of(bytes, kind_, &channels_)),
        p_(test_->problem),
        shuffler_(1 + bytes.below(4)) {}

  void run() {
    test_->expected();
    on_grid_ = bytes_.flag();
    make_plans();
    whole_call();
    push_all();
    while (states_.size() > 1) {
      const uint32_t i = bytes_.below(uint32_t(states_.size() - 1));
      served(fovea_stream_merge(&plans_[0], state(states_.size() - 1), state(i)), "merge");
      states_.erase(states_.begin() + i);
    }
    test_->fill_outputs();
    const uint32_t which = any_plan();
    served(fovea_stream_end(&plans_[which], state(0), &test_->args, workspaces_[which].as<void>(),
                            workspaces_[which].bytes()),
           "end");
    check();
  }

 private:
  fovea_stream_state* state(size_t i) const { return states_[i].as<fovea_stream_state>(); }
  void expect_right(const std::string& wrong) const {
    if (!wrong.empty()) fail(name(p_) + ": " + wrong);
  }
  void served(fovea_status status, const char* what) const {
    if (status != FOVEA_OK) expect_right(std::string(what) + ": " + fovea_status_string(status));
  }
  uint32_t any_plan() { return bytes_.below(uint32_t(plans_.size())); }
  bool integers() const { return kind_ != Kind::kFloats; }

  // A plan for each target; where bits are to be those of one call of floats, for one target alone.
  void make_plans() {
    std::vector<fovea_target> all = p_.targets();
    if (on_grid_ && !integers()) all = {all[bytes_.below(uint32_t(all.size()))]};
    portable_ = bytes_.flag();
    has_executor_ = bytes_.flag();
    for (const fovea_target target : all) {
      fovea_attention_desc d = test_->desc;
      d.target = target;
      d.portable_bits = on_grid_ && !integers() ? portable_ : bytes_.flag();
      d.max_workers = shuffler_.executor()->workers;
      plans_.emplace_back();
      served(fovea_attention_plan_init(&plans_.back(), &d), "plan");
      workspaces_.emplace_back(bytes_of(fovea_attention_workspace_bytes, &plans_.back()), kAlignment, Placement::kStart);
    }
  }
  void whole_call() {
    Run run;
    run.target = fovea_attention_plan_desc(&plans_[any_plan()])->target;
    run.portable_bits = portable_;
    run.executor = has_executor_ ? shuffler_.executor() : nullptr;
    expect(test_->run_unchecked(run));
    expect_right(test_->compare());
    whole_ = test_->outputs();
  }

  void push_all() {
    const uint32_t keys = on_grid_ || p_.map_q_block != 0 ? FOVEA_KEY_TILE : 1;
    const uint32_t step = std::lcm(keys, p_.kv_kind == FOVEA_KV_PAGED ? p_.page_tokens : 1);
    begin_state(0);
    for (uint32_t begin = 0; begin < p_.kv_tokens;) {
      if (!on_grid_ && begin != 0 && bytes_.below(4) == 0) begin_state(begin);
      const uint32_t steps = (p_.kv_tokens - begin - 1) / step;
      const uint32_t end = std::min<uint32_t>(p_.kv_tokens, begin + step * (1 + bytes_.below(steps + 1)));
      push({begin, bytes_.below(16) == 1 ? begin : end});
      begin = uint32_t(state(states_.size() - 1)->next_key);
      if (bytes_.empty() && begin < p_.kv_tokens) push({begin, p_.kv_tokens}), begin = p_.kv_tokens;
      if (bytes_.flag()) travel();
    }
  }
  void begin_state(uint32_t first_key) {
    const uint32_t which = any_plan();
    state_bytes_ = bytes_of(fovea_stream_state_bytes, &plans_[which], p_.batch, p_.q_tokens);
    states_.push_back(memory_for(state_bytes_));
    served(
        fovea_stream_begin(&plans_[which], state(states_.size() - 1), state_bytes_, p_.batch, p_.q_tokens, first_key),
        "begin");
  }
  void push(Piece keys) {
    const uint32_t which = any_plan();
    PieceArgs piece(*test_, keys);
    test_->stored.loader.first = keys.begin;
    piece.args.executor = bytes_.flag() ? shuffler_.executor() : nullptr;
    served(fovea_stream_push(&plans_[which], state(states_.size() - 1), &piece.args, workspaces_[which].as<void>(),
                             workspaces_[which].bytes()),
           "push");
    expect_right(test_->stored.loader.wrong);
    if (state(states_.size() - 1)->next_key != keys.end) expect_right("the next key is another");
  }
  void travel() const {
    const Guarded image(state_bytes_, 1, Placement::kEnd);
    fovea_stream_state* const last = state(states_.size() - 1);
    served(fovea_stream_export(last, image.as<void>(), state_bytes_), "export");
    std::memset(static_cast<void*>(last), 0xa5, state_bytes_);
    served(fovea_stream_import(last, state_bytes_, image.as<void>(), state_bytes_), "import");
  }

  void check() const {
    expect_right(test_->compare());
    // A centre of keys is in the scores of streams, and in those of one call only where something sees it.
    const bool same = !on_grid_ || kind_ == Kind::kCentered || same_bits(test_->outputs(), whole_);
    expect_right(same ? "" : "pieces of whole key tiles change bits");
  }

  Bytes& bytes_;
  std::vector<float> channels_;
  const Kind kind_;
  const std::shared_ptr<AttentionCase> test_;  // shared: its destructor is not virtual
  const Problem& p_;
  Shuffler shuffler_;
  bool on_grid_ = false, portable_ = false, has_executor_ = false;
  std::vector<fovea_attention_plan> plans_;
  std::vector<Guarded> workspaces_, states_;
  size_t state_bytes_ = 0;
  Outputs whole_;
};

// ---- Any image

fovea_attention_plan plan_of(uint32_t batch, uint32_t q_heads, uint32_t q_tokens, uint32_t value_dim) {
  auto d = sized<fovea_attention_desc>();
  d.q_heads = d.kv_heads = q_heads, d.head_dim = 8, d.value_dim = value_dim;
  d.max_batch = batch, d.max_q_tokens = q_tokens, d.max_kv_tokens = 64;
  fovea_attention_plan plan{};
  expect(fovea_attention_plan_init(&plan, &d) == FOVEA_OK, "plan");
  return plan;
}

void run_image(Bytes& bytes) {
  // Mostly a true image, of which some words are changed, and its checksum mended or not.
  const fovea_attention_plan plan =
      plan_of(1 + bytes.below(3), 1 + bytes.below(3), 1 + bytes.below(5), 1 + bytes.below(9));
  const fovea_attention_desc& d = *fovea_attention_plan_desc(&plan);
  const size_t most = bytes_of(fovea_stream_state_bytes, &plan, d.max_batch, d.max_q_tokens);
  const Guarded state = memory_for(most);
  const uint32_t batch = bytes.below(d.max_batch + 1), q_tokens = bytes.below(d.max_q_tokens + 1);
  expect(fovea_stream_begin(&plan, state.as<fovea_stream_state>(), most, batch, q_tokens, bytes.take<uint8_t>()) ==
             FOVEA_OK,
         "begin");
  const size_t whole = bytes_of(fovea_stream_state_bytes, &plan, batch, q_tokens);
  std::vector<uint8_t> content(whole);
  expect(fovea_stream_export(state.as<fovea_stream_state>(), content.data(), whole) == FOVEA_OK, "export");
  const std::vector<uint8_t> original = content;
  for (uint32_t words = bytes.below(4); words > 0; --words) {
    const size_t at = bytes.below(uint32_t(whole / 4)) * 4;
    const auto word = bytes.flag() ? bytes.take<uint32_t>() : uint32_t{bytes.take<uint8_t>()};
    if (at == 4) continue;  // the checksum itself
    std::memcpy(&content[at], &word, 4);
  }
  const bool changed = content != original;
  const bool mended = bytes.flag();
  if (mended) {
    const uint32_t crc = crc_of(content);
    std::memcpy(&content[4], &crc, 4);
  }
  const size_t image_bytes = bytes.below(4) == 0 ? bytes.below(uint32_t(whole)) : whole;
  const Guarded image(image_bytes, 1, Placement::kEnd);
  std::memcpy(image.as<void>(), content.data(), image_bytes);

  const size_t target_bytes = bytes.below(4) == 0 ? bytes.below(uint32_t(most + 1)) : most;
  const Guarded to = memory_for(target_bytes);
  const fovea_status status =
      fovea_stream_import(to.as<fovea_stream_state>(), target_bytes, image.as<void>(), image_bytes);
  if (status != FOVEA_OK) {
    expect(to.untouched(), "a refused image is written");
    expect(changed || image_bytes != whole || target_bytes < whole, "a true image is refused");
    return;
  }
  expect(image_bytes == whole && target_bytes >= whole && (mended || !changed), "a damaged image is taken");
  // What the header shows not to fit the plan is refused; its numbers may be any.
  const Guarded other = memory_for(most),
                workspace(bytes_of(fovea_attention_workspace_bytes, &plan), kAlignment, Placement::kStart);
  expect(fovea_stream_begin(&plan, other.as<fovea_stream_state>(), most, batch, q_tokens, 0) == FOVEA_OK, "begin");
  const fovea_status merged = fovea_stream_merge(&plan, other.as<fovea_stream_state>(), to.as<fovea_stream_state>());
  if (!changed) expect(merged == FOVEA_OK, "a true state is refused");
}

// ---- Any state

void run_state(Bytes& bytes) {
  // Memory for all that the plan allows, so that only what the plan does not allow lies outside of it.
  const fovea_attention_plan plan =
      plan_of(1 + bytes.below(3), 1 + bytes.below(3), 1 + bytes.below(5), 1 + bytes.below(9));
  const fovea_attention_desc& d = *fovea_attention_plan_desc(&plan);
  const size_t most = bytes_of(fovea_stream_state_bytes, &plan, d.max_batch, d.max_q_tokens);
  const Guarded into = memory_for(most), from = memory_for(most);
  const uint32_t batch = bytes.below(d.max_batch + 1), q_tokens = bytes.below(d.max_q_tokens + 1);
  for (const Guarded* state : {&into, &from}) {
    std::memset(state->as<void>(), bytes.take<uint8_t>(), most);
    expect(fovea_stream_begin(&plan, state->as<fovea_stream_state>(), most, batch, q_tokens, 0) == FOVEA_OK, "begin");
    for (uint32_t words = bytes.below(3); words > 0; --words) {
      const uint32_t at = bytes.below(sizeof(fovea_stream_state) / 4);
      const auto word = bytes.flag() ? bytes.take<uint32_t>() : uint32_t{bytes.take<uint8_t>()};
      std::memcpy(state->as<uint8_t>() + 4 * at, &word, 4);
    }
  }
  fovea_stream_merge(&plan, into.as<fovea_stream_state>(), from.as<fovea_stream_state>());
  const Guarded image(most, 1, Placement::kEnd);
  const fovea_stream_state& header = *from.as<fovea_stream_state>();
  const bool within = header.batch <= d.max_batch && header.q_heads <= d.q_heads && header.q_tokens <= d.max_q_tokens &&
                      header.value_dim <= d.value_dim;
  if (within) fovea_stream_export(from.as<fovea_stream_state>(), image.as<void>(), most);

  std::vector<float> out(size_t{d.max_batch} * d.q_heads * d.max_q_tokens * d.value_dim);
  auto args = sized<fovea_attention_args>();
  args.batch = batch, args.q_tokens = q_tokens;
  const auto dim = ptrdiff_t(d.value_dim), tokens = ptrdiff_t(d.max_q_tokens);
  args.out = {out.data(), tokens * dim * ptrdiff_t(d.q_heads), tokens * dim, dim};
  const Guarded workspace(bytes_of(fovea_attention_workspace_bytes, &plan), kAlignment, Placement::kStart);
  fovea_stream_end(&plan, into.as<fovea_stream_state>(), &args, workspace.as<void>(), workspace.bytes());
}

}  // namespace

void run(Bytes bytes) {
  switch (bytes.below(4)) {
    case 0: return run_image(bytes);
    case 1: return run_state(bytes);
    default: return PiecesFuzz(bytes).run();
  }
}

}  // namespace fovea_test
