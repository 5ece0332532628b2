// SPDX-License-Identifier: Apache-2.0
//
// Streams. Keys in any pieces, pushed on any target, merged in any order, and moved as images, give the reference's
// answer. Bytes that are no image, and states whose header was changed, are refused, or used within their memory.
#include <vector>

#include "fuzz/fuzz.h"
#include "support/guarded.h"
#include "support/pieces.h"
#include "support/problem.h"

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;

Guarded memory_for(size_t bytes) {
  return Guarded((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment, Placement::kEnd);
}

// CRC-32 of IEEE 802.3.
uint32_t checksum(const uint8_t* data, size_t bytes) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

// ---- Any pieces

void run_pieces(Bytes& bytes) {
  Problem p;
  p.seed = bytes.take<uint16_t>();
  p.batch = 1 + bytes.below(2), p.kv_heads = 1 + bytes.below(2), p.q_heads = p.kv_heads * (1 + bytes.below(4));
  p.q_tokens = 1 + bytes.below(40), p.kv_tokens = bytes.below(200);
  p.head_dim = 1 + bytes.below(70), p.value_dim = 1 + bytes.below(70);
  p.causal = bytes.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_POSITIONS});
  if (bytes.flag()) p.window_left = 1 + bytes.below(100), p.pinned_tokens = bytes.below(80);
  p.alibi = bytes.flag(), p.sinks = bytes.flag();
  p.mask = bytes.choose({FOVEA_MASK_NONE, FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16});
  p.mask_missing = bytes.below(p.kv_tokens + 1);
  p.softcap = bytes.choose({0.0f, 2.0f});
  const bool lengths = bytes.flag();
  p.mask_keys = !bytes.flag(), p.mask_factors = bytes.flag();
  if (p.causal == FOVEA_CAUSAL_NONE) p.diagonal = bytes.choose({FOVEA_DIAGONAL_AS_CAUSAL, FOVEA_DIAGONAL_TOP_LEFT});
  for (uint32_t b = 0; b < p.batch; ++b) {
    if (p.positions_needed()) p.positions.push_back(int64_t{bytes.below(256)} - 20);
    if (lengths) p.kv_lengths.push_back(bytes.below(p.kv_tokens + 1));
  }
  if (p.seed % 4 == 3) p = p.with_integers(p.seed % 8 == 3 ? FOVEA_I8 : FOVEA_I4, FOVEA_I8);
  AttentionCase test(p);
  test.expected();

  // A plan a target, and states that are merged into the last at the end.
  const std::vector<fovea_target> all = p.targets();
  std::vector<fovea_plan> plans(all.size());
  std::vector<Guarded> workspaces;
  for (size_t i = 0; i < all.size(); ++i) {
    fovea_attention_desc d = test.desc;
    d.target = all[i];
    d.portable_bits = bytes.flag();
    expect(fovea_plan_init(&plans[i], &d) == FOVEA_OK, "plan");
    workspaces.emplace_back(plans[i].workspace_bytes, kAlignment, Placement::kStart);
  }
  const size_t state_bytes = fovea_state_bytes(&plans[0], p.batch, p.q_tokens);
  std::vector<Guarded> states;
  const auto state = [&](size_t i) { return states[i].as<fovea_state>(); };
  for (uint32_t begin = 0; begin < p.kv_tokens || states.empty();) {
    const uint32_t which = bytes.below(static_cast<uint32_t>(all.size()));
    if (states.empty() || bytes.below(4) == 0) {
      states.push_back(memory_for(state_bytes));
      expect(fovea_stream_begin(&plans[which], state(states.size() - 1), state_bytes, p.batch, p.q_tokens, begin) ==
                 FOVEA_OK,
             "begin");
    }
    if (begin == p.kv_tokens) break;
    const uint32_t end = begin + 1 + bytes.below(p.kv_tokens - begin);
    const PieceArgs piece(test, {begin, end});
    expect(fovea_stream_push(&plans[which], state(states.size() - 1), &piece.args, workspaces[which].as<void>(),
                             workspaces[which].bytes()) == FOVEA_OK,
           "push");
    begin = end;
    if (!bytes.flag()) continue;
    const Guarded image(state_bytes, 1, Placement::kEnd);
    expect(fovea_stream_export(state(states.size() - 1), image.as<void>(), state_bytes) == FOVEA_OK, "export");
    states.back().fill();
    expect(fovea_stream_import(state(states.size() - 1), state_bytes, image.as<void>(), state_bytes) == FOVEA_OK,
           "import");
  }
  while (states.size() > 1) {
    const uint32_t i = bytes.below(static_cast<uint32_t>(states.size() - 1));
    expect(fovea_stream_merge(&plans[0], state(states.size() - 1), state(i)) == FOVEA_OK, "merge");
    states.erase(states.begin() + i);
  }
  fovea_attention_args args = test.args;
  test.fill_outputs();
  expect(fovea_stream_end(&plans[0], state(0), &args, workspaces[0].as<void>(), workspaces[0].bytes()) == FOVEA_OK,
         "end");
  expect(test.compare());
}

// ---- Any image

fovea_plan plan_of(uint32_t batch, uint32_t q_heads, uint32_t q_tokens, uint32_t value_dim) {
  fovea_attention_desc d{};
  d.struct_bytes = sizeof d;
  d.q_heads = d.kv_heads = q_heads, d.head_dim = 8, d.value_dim = value_dim;
  d.max_batch = batch, d.max_q_tokens = q_tokens, d.max_kv_tokens = 64;
  fovea_plan plan{};
  expect(fovea_plan_init(&plan, &d) == FOVEA_OK, "plan");
  return plan;
}

void run_image(Bytes& bytes) {
  // Mostly a true image, of which some words are changed, and its checksum mended or not.
  const fovea_plan plan = plan_of(1 + bytes.below(3), 1 + bytes.below(3), 1 + bytes.below(5), 1 + bytes.below(9));
  const fovea_attention_desc& d = plan.desc;
  const size_t most = fovea_state_bytes(&plan, d.max_batch, d.max_q_tokens);
  const Guarded state = memory_for(most);
  const uint32_t batch = bytes.below(d.max_batch + 1), q_tokens = bytes.below(d.max_q_tokens + 1);
  expect(fovea_stream_begin(&plan, state.as<fovea_state>(), most, batch, q_tokens, bytes.take<uint8_t>()) == FOVEA_OK,
         "begin");
  const size_t whole = fovea_state_bytes(&plan, batch, q_tokens);
  std::vector<uint8_t> content(whole);
  expect(fovea_stream_export(state.as<fovea_state>(), content.data(), whole) == FOVEA_OK, "export");
  const std::vector<uint8_t> original = content;
  for (uint32_t words = bytes.below(4); words > 0; --words) {
    const size_t at = bytes.below(static_cast<uint32_t>(whole / 4)) * 4;
    const auto word = bytes.flag() ? bytes.take<uint32_t>() : uint32_t{bytes.take<uint8_t>()};
    if (at == 4) continue;  // the checksum itself
    std::memcpy(&content[at], &word, 4);
  }
  const bool changed = content != original;
  const bool mended = bytes.flag();
  if (mended) {
    std::memset(&content[4], 0, 4);
    const uint32_t crc = checksum(content.data(), whole);
    std::memcpy(&content[4], &crc, 4);
  }
  const size_t image_bytes = bytes.below(4) == 0 ? bytes.below(static_cast<uint32_t>(whole)) : whole;
  const Guarded image(image_bytes, 1, Placement::kEnd);
  std::memcpy(image.as<void>(), content.data(), image_bytes);

  const size_t target_bytes = bytes.below(4) == 0 ? bytes.below(static_cast<uint32_t>(most + 1)) : most;
  const Guarded to = memory_for(target_bytes);
  const fovea_status status = fovea_stream_import(to.as<fovea_state>(), target_bytes, image.as<void>(), image_bytes);
  if (status != FOVEA_OK) {
    expect(to.untouched(), "a refused image is written");
    expect(changed || image_bytes != whole || target_bytes < whole, "a true image is refused");
    return;
  }
  expect(image_bytes == whole && target_bytes >= whole && (mended || !changed), "a damaged image is taken");
  // What the header shows not to fit the plan is refused; its numbers may be any.
  const Guarded other = memory_for(most), workspace(plan.workspace_bytes, kAlignment, Placement::kStart);
  expect(fovea_stream_begin(&plan, other.as<fovea_state>(), most, batch, q_tokens, 0) == FOVEA_OK, "begin");
  const fovea_status merged = fovea_stream_merge(&plan, other.as<fovea_state>(), to.as<fovea_state>());
  if (!changed) expect(merged == FOVEA_OK, "a true state is refused");
}

// ---- Any state

void run_state(Bytes& bytes) {
  // Memory for all that the plan allows, so that only what the plan does not allow lies outside of it.
  const fovea_plan plan = plan_of(1 + bytes.below(3), 1 + bytes.below(3), 1 + bytes.below(5), 1 + bytes.below(9));
  const fovea_attention_desc& d = plan.desc;
  const size_t most = fovea_state_bytes(&plan, d.max_batch, d.max_q_tokens);
  const Guarded into = memory_for(most), from = memory_for(most);
  const uint32_t batch = bytes.below(d.max_batch + 1), q_tokens = bytes.below(d.max_q_tokens + 1);
  for (const Guarded* state : {&into, &from}) {
    std::memset(state->as<void>(), bytes.take<uint8_t>(), most);
    expect(fovea_stream_begin(&plan, state->as<fovea_state>(), most, batch, q_tokens, 0) == FOVEA_OK, "begin");
    for (uint32_t words = bytes.below(3); words > 0; --words) {
      const uint32_t at = bytes.below(sizeof(fovea_state) / 4);
      const auto word = bytes.flag() ? bytes.take<uint32_t>() : uint32_t{bytes.take<uint8_t>()};
      std::memcpy(state->as<uint8_t>() + 4 * at, &word, 4);
    }
  }
  fovea_stream_merge(&plan, into.as<fovea_state>(), from.as<fovea_state>());
  const Guarded image(most, 1, Placement::kEnd);
  const fovea_state& header = *from.as<fovea_state>();
  const bool within = header.batch <= d.max_batch && header.q_heads <= d.q_heads && header.q_tokens <= d.max_q_tokens &&
                      header.value_dim <= d.value_dim;
  if (within) fovea_stream_export(from.as<fovea_state>(), image.as<void>(), most);

  std::vector<float> out(size_t{d.max_batch} * d.q_heads * d.max_q_tokens * d.value_dim);
  fovea_attention_args args{};
  args.struct_bytes = sizeof args;
  args.batch = batch, args.q_tokens = q_tokens;
  const auto dim = static_cast<ptrdiff_t>(d.value_dim), tokens = static_cast<ptrdiff_t>(d.max_q_tokens);
  args.out = {out.data(), tokens * dim * static_cast<ptrdiff_t>(d.q_heads), tokens * dim, dim};
  const Guarded workspace(plan.workspace_bytes, kAlignment, Placement::kStart);
  fovea_stream_end(&plan, into.as<fovea_state>(), &args, workspace.as<void>(), workspace.bytes());
}

}  // namespace
}  // namespace fovea_test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace fovea_test;
  Bytes input(data, bytes);
  switch (input.below(3)) {
    case 0: run_pieces(input); break;
    case 1: run_image(input); break;
    default: run_state(input);
  }
  return 0;
}
