// SPDX-License-Identifier: Apache-2.0
#include "bench/cases.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/never_slower.h"

namespace fovea::bench {
namespace {

constexpr Shape grouped(uint32_t q_heads, uint32_t kv_heads, uint32_t q, uint32_t k, uint32_t dim) {
  Shape s;
  s.q_heads = q_heads;
  s.kv_heads = kv_heads;
  s.q_tokens = q;
  s.kv_tokens = k;
  s.head_dim = s.value_dim = dim;
  return s;
}
constexpr Shape heads(uint32_t q_heads, uint32_t q, uint32_t k, uint32_t dim) {
  return grouped(q_heads, q_heads, q, k, dim);
}
constexpr Shape batch(uint32_t entries, Shape s) { return s.batch = entries, s; }
constexpr Shape causal(Shape s) { return s.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, s; }
constexpr Shape window(uint32_t left, Shape s) { return s.window_left = left, s; }
constexpr Shape masked(fovea_mask_kind kind, Shape s) { return s.mask = kind, s; }
constexpr Shape capped(float softcap, Shape s) { return s.softcap = softcap, s; }
constexpr Shape additive(Shape s) { return s.additive = true, s; }
constexpr Shape dropped(float dropout, Shape s) { return s.dropout = dropout, s; }
constexpr Shape alibi(Shape s) { return s.alibi = true, s; }
constexpr Shape sinks(Shape s) { return s.sinks = true, s; }
constexpr Shape lse(Shape s) { return s.lse = true, s; }
constexpr Shape blocks(Blocks listed, bool edges = false) {
  Shape s = heads(4, 1024, 1024, 64);
  s.blocks = listed;
  s.edges = edges;
  if (edges) s.mask = FOVEA_MASK_BYTE;
  return s;
}
constexpr Shape changed(Change change, Shape s) { return s.change = change, s; }
constexpr Shape threads(uint32_t count, Shape s) { return s.threads = count, s; }
constexpr Shape split(uint32_t tokens, Shape s) { return s.split = tokens, s; }
constexpr Shape prefix(uint32_t tokens, Shape s) { return s.prefix = tokens, s; }
constexpr Shape push(uint32_t tokens, Shape s) { return s.push = tokens, s; }
constexpr Shape kv(fovea_dtype dtype, Shape s) { return s.kv_dtype = dtype, s; }
constexpr Shape integers(fovea_dtype type, Shape s) { return s.compute = FOVEA_COMPUTE_I8, kv(type, s); }
constexpr Shape from(fovea_kv_kind source, Shape s) { return s.source = source, s; }
constexpr Shape portable(Shape s) { return s.portable = true, s; }
constexpr Shape merge(Shape s) { return s.merge = true, s; }

constexpr SoftmaxShape rows(uint32_t outer, uint32_t axis, uint32_t inner = 1) {
  SoftmaxShape s;
  s.outer = outer;
  s.axis = axis;
  s.inner = inner;
  return s;
}
constexpr SoftmaxShape log(SoftmaxShape s) { return s.log = true, s; }
constexpr SoftmaxShape masked(SoftmaxShape s) { return s.mask = true, s; }
constexpr SoftmaxShape in_place(SoftmaxShape s) { return s.in_place = true, s; }

constexpr Goal none() { return {}; }
constexpr Goal fma(float value, float avx2 = 0) { return {GoalKind::kFmaPeak, value, avx2}; }
constexpr Goal read(float value) { return {GoalKind::kReadSpeed, value, 0}; }
constexpr Goal exp(float value) { return {GoalKind::kExpRate, value, 0}; }
constexpr Goal peak_time(float value) { return {GoalKind::kPeakTime, value, 0}; }
constexpr Goal plain_time(float value) { return {GoalKind::kPlainTime, value, 0}; }
constexpr Goal like_round() { return {GoalKind::kLikeRound, 0.9f, 0}; }
constexpr Goal time(float value = 0, float avx2 = 0) { return {GoalKind::kTime, value, avx2}; }
constexpr Goal speed_up(float value = 0) { return {GoalKind::kSpeedUp, value, 0}; }
constexpr Goal never_slower(float most = kSlowerNoise) { return {GoalKind::kNeverSlower, most, 0}; }
constexpr Goal f32_speed(float value, float avx2 = 1) { return {GoalKind::kF32Speed, value, avx2}; }

constexpr Case attention(const char* suite, Shape shape, Goal goal = none(), const char* reference = nullptr) {
  return {suite, Kind::kAttention, shape, {}, goal, reference};
}
constexpr Case softmax(const char* suite, SoftmaxShape shape, Goal goal = none()) {
  return {suite, Kind::kSoftmax, {}, shape, goal, nullptr};
}
constexpr Case softmax(SoftmaxShape shape, Goal goal = none()) { return softmax("softmax", shape, goal); }

constexpr Case linear(uint32_t tokens, uint32_t in_dim, uint32_t out_dim, Goal goal = none(),
                      fovea_dtype dtype = FOVEA_F32) {
  return {"linear", Kind::kLinear, {}, {}, goal, nullptr, {tokens, in_dim, out_dim, dtype}};
}

// Products of integers with int8 weights.
constexpr Case integer_linear(uint32_t tokens, uint32_t in_dim, uint32_t out_dim, Goal goal = none(),
                              const char* reference = nullptr, fovea_dtype dtype = FOVEA_I8) {
  return {"linear", Kind::kLinear, {}, {}, goal, reference, {tokens, in_dim, out_dim, dtype, FOVEA_COMPUTE_I8}};
}
constexpr Case integer_linear(uint32_t tokens, uint32_t in_dim, uint32_t out_dim, fovea_dtype dtype,
                              Goal goal = none()) {
  return integer_linear(tokens, in_dim, out_dim, goal, nullptr, dtype);
}
// F32 arithmetic on the same weights, with which such a case is compared.
constexpr Case f32_linear(uint32_t tokens, uint32_t in_dim, uint32_t out_dim) {
  return {"linear", Kind::kLinear, {}, {}, none(), nullptr, {tokens, in_dim, out_dim, FOVEA_I8}, true};
}

// Eight tokens with weights in a format: it should take no longer than with f32.
constexpr Case like_f32(fovea_dtype dtype) {
  return {"linear", Kind::kLinear, {}, {}, f32_speed(1.0f), "linear/8x576x1536", {8, 576, 1536, dtype}};
}

constexpr DeltaShape tokens_of(uint32_t tokens, uint32_t heads = 16, uint32_t dim = 128) {
  DeltaShape s;
  s.heads = heads;
  s.tokens = tokens;
  s.head_dim = s.value_dim = dim;
  return s;
}
constexpr DeltaShape batch(uint32_t entries, DeltaShape s) { return s.batch = entries, s; }
constexpr DeltaShape by(fovea_delta_rule rule, DeltaShape s) { return s.rule = rule, s; }
constexpr DeltaShape decay_per_key(DeltaShape s) { return s.decay_dim = s.head_dim, s; }

constexpr Case delta(DeltaShape shape, Goal goal = none(), const char* reference = nullptr) {
  return {"delta", Kind::kDelta, {}, {}, goal, reference, {}, false, shape};
}

constexpr Case beside(RowsLayer layer, uint32_t tokens, uint32_t dim) {
  return {"rows", Kind::kRows, {}, {}, none(), nullptr, {}, false, {}, {layer, tokens, dim}};
}

// What must be as fast as the case that it replaces.
constexpr Case instead_of(const char* replaced, Shape shape) {
  return attention("never_slower", shape, never_slower(), replaced);
}

constexpr Case turned_on(fovea_target target, Case pair) { return pair.turned = target, pair; }

// The same of linear layers with an activation, which the layer computes or another call.
constexpr LinearShape activated(LinearShape s, fovea_activation_kind kind) { return s.activation = kind, s; }
constexpr Case apart(LinearShape s) {
  s.apart = true;
  return {"never_slower", Kind::kLinear, {}, {}, none(), nullptr, s};
}
constexpr Case instead_of(const char* replaced, LinearShape s) {
  return {"never_slower", Kind::kLinear, {}, {}, never_slower(1.02f), replaced, s};
}
constexpr LinearShape kWithGelu = activated({64, 256, 1024}, FOVEA_ACTIVATION_GELU);
constexpr LinearShape kOneWithSilu = activated({1, 576, 1536}, FOVEA_ACTIVATION_SILU);

// Products of f32 on a target for in-order processors.
constexpr Case in_order(const char* replaced, Shape shape) {
  Case one = instead_of(replaced, shape);
  one.in_order = true;
  return one;
}
constexpr Case in_order(const char* replaced, LinearShape shape) {
  return {"never_slower", Kind::kLinear, {}, {}, never_slower(), replaced, shape, false, {}, {}, true};
}

// Integer arithmetic, and the case that it is compared with.
constexpr Case integer(Shape shape, Goal goal = none(), const char* reference = nullptr) {
  return {"integer", Kind::kAttention, shape, {}, goal, reference, {}, true};
}

constexpr Shape kPlain = heads(8, 512, 512, 64);
constexpr const char* kPlainName = "options/8x512x512x64";
constexpr const char* kRound32 = "prefill/8x512x512x32";
constexpr const char* kRound64 = "prefill/8x512x512x64";
constexpr const char* kRound128 = "prefill/8x512x512x128";
constexpr const char* kBlocksName = "blocks/4x1024x1024x64";
constexpr Shape kStream1 = heads(8, 1, 4096, 64), kStream64 = heads(8, 64, 4096, 64);
constexpr Shape kStreamGrouped = grouped(32, 8, 1, 4096, 128);
constexpr const char* kStream1Name = "stream/8x1x4096x64";
constexpr const char* kStream64Name = "stream/8x64x4096x64";
constexpr const char* kStreamGroupedName = "stream/32over8x1x4096x128";
constexpr Shape kDecodeOne = heads(8, 1, 1024, 64);  // one row of queries for each key head
constexpr Shape kDecode1k = grouped(32, 8, 1, 1024, 128), kDecode16k = grouped(32, 8, 1, 16384, 128);
constexpr Shape kDecodeNine = grouped(9, 3, 1, 3000, 64);
constexpr Shape kEntries = batch(16, grouped(32, 8, 1, 4160, 128));
constexpr Shape kOneKeyHead = grouped(4, 1, 1, 16384, 128);
constexpr const char* kOneKeyHeadName = "threads/4over1x1x16384x128";

constexpr Shape kPrefill64 = heads(8, 2048, 2048, 64), kPrefill128 = heads(8, 2048, 2048, 128);
constexpr Shape kVision = heads(8, 197, 197, 64), kUneven = heads(5, 300, 700, 80);

constexpr Case kCases[] = {
    // Input and output fit in a first cache of 32 KiB,
    softmax(rows(64, 64), exp(0.75f)),
    softmax(rows(16, 256), exp(0.75f)),
    softmax(rows(4, 1024), exp(0.75f)),
    softmax(rows(1, 4096), exp(0.75f)),
    // and in a second of 512 KiB.
    softmax(rows(512, 64), exp(0.75f)),
    softmax(rows(256, 128), exp(0.75f)),
    softmax(rows(166, 197), exp(0.75f)),
    softmax(rows(128, 256), exp(0.75f)),
    softmax(rows(32, 1024), exp(0.75f)),
    softmax(rows(8, 4096), exp(0.75f)),
    softmax(rows(1, 32000)),
    softmax(in_place(rows(32, 1024))),
    softmax(masked(rows(32, 1024))),
    softmax(log(rows(32, 1024))),
    softmax(rows(4, 197, 48)),

    attention("prefill", heads(8, 128, 128, 64), fma(0.85f)),
    attention("prefill", heads(8, 512, 512, 64), fma(0.88f, 0.84f)),
    attention("prefill", heads(8, 2048, 2048, 64), fma(0.88f, 0.84f)),
    attention("prefill", heads(8, 128, 128, 128), fma(0.87f)),
    attention("prefill", heads(8, 512, 512, 128), fma(0.90f, 0.87f)),
    attention("prefill", heads(8, 2048, 2048, 128), fma(0.90f, 0.87f)),
    // Shapes that are not round, each compared with a round one.
    attention("prefill", heads(8, 512, 512, 32)),
    attention("prefill", heads(8, 64, 64, 64)),
    attention("prefill", heads(8, 192, 192, 64)),
    attention("prefill", heads(8, 1536, 1536, 64)),
    attention("prefill", heads(12, 512, 512, 64)),
    attention("prefill", heads(8, 512, 512, 40), like_round(), kRound32),
    attention("prefill", heads(8, 512, 512, 72), like_round(), kRound64),
    attention("prefill", heads(8, 512, 512, 80), like_round(), kRound64),
    attention("prefill", heads(8, 512, 512, 96), like_round(), kRound128),
    attention("prefill", heads(8, 50, 50, 64), like_round(), "prefill/8x64x64x64"),
    attention("prefill", heads(3, 197, 197, 64), like_round(), "prefill/8x192x192x64"),
    attention("prefill", heads(8, 1500, 1500, 64), like_round(), "prefill/8x1536x1536x64"),
    attention("prefill", grouped(12, 4, 512, 512, 64), like_round(), "prefill/12x512x512x64"),

    attention("causal", causal(heads(8, 128, 128, 64))),
    attention("causal", causal(heads(8, 512, 512, 64)), fma(0.74f)),
    attention("causal", causal(heads(8, 2048, 2048, 64)), fma(0.83f)),
    attention("causal", causal(heads(8, 128, 128, 128))),
    attention("causal", causal(heads(8, 512, 512, 128)), fma(0.76f)),
    attention("causal", causal(heads(8, 2048, 2048, 128)), fma(0.85f)),
    attention("causal", causal(grouped(32, 8, 512, 512, 64))),
    attention("causal", causal(heads(8, 64, 1024, 64))),

    attention("decode", grouped(32, 8, 1, 1024, 128), fma(0.66f)),
    attention("decode", grouped(32, 8, 1, 4096, 128)),
    attention("decode", grouped(32, 8, 1, 16384, 128), read(0.75f)),
    attention("decode", heads(8, 1, 1024, 64)),
    attention("decode", heads(8, 1, 16384, 64)),
    attention("decode", grouped(12, 4, 1, 1024, 64)),
    attention("decode", grouped(8, 1, 1, 4096, 128)),
    attention("decode", grouped(32, 8, 4, 4096, 128)),
    attention("decode", batch(4, grouped(32, 8, 1, 1024, 128))),

    attention("formats", kv(FOVEA_F16, kDecode1k), fma(0.76f)),
    attention("formats", kv(FOVEA_BF16, kDecode1k)),
    attention("formats", kv(FOVEA_I8, kDecode1k), fma(0.70f)),
    attention("formats", kv(FOVEA_I4, kDecode1k)),
    attention("formats", kv(FOVEA_F16, kDecode16k), read(0.68f)),
    attention("formats", kv(FOVEA_BF16, kDecode16k), read(0.68f)),
    attention("formats", kv(FOVEA_I8, kDecode16k), fma(0.70f)),
    attention("formats", kv(FOVEA_I4, kDecode16k), fma(0.58f)),
    attention("formats", kv(FOVEA_F16, heads(8, 2048, 2048, 64)), time(1.087f), "prefill/8x2048x2048x64"),
    attention("formats", kv(FOVEA_BF16, heads(8, 2048, 2048, 64)), time(), "prefill/8x2048x2048x64"),
    attention("formats", kv(FOVEA_I8, heads(8, 2048, 2048, 64)), time(1.087f), "prefill/8x2048x2048x64"),
    attention("formats", kv(FOVEA_I4, heads(8, 2048, 2048, 64)), time(), "prefill/8x2048x2048x64"),

    // f32 rows, then f32 and integer arithmetic on the same int8 or int4 rows.
    integer(kPrefill64),
    integer(kv(FOVEA_I8, kPrefill64)),
    integer(integers(FOVEA_I8, kPrefill64), f32_speed(2.4f), "integer/8x2048x2048x64"),
    integer(kPrefill128),
    integer(kv(FOVEA_I8, kPrefill128)),
    integer(integers(FOVEA_I8, kPrefill128), f32_speed(2.8f, 1.8f), "integer/8x2048x2048x128"),
    integer(causal(kPrefill128)),
    integer(kv(FOVEA_I8, causal(kPrefill128))),
    integer(integers(FOVEA_I8, causal(kPrefill128)), f32_speed(2.4f), "integer/8x2048x2048x128-causal"),
    integer(kVision),
    integer(kv(FOVEA_I8, kVision)),
    integer(integers(FOVEA_I8, kVision), f32_speed(1.8f), "integer/8x197x197x64"),
    integer(kUneven),
    integer(kv(FOVEA_I8, kUneven)),
    integer(integers(FOVEA_I8, kUneven), f32_speed(2.0f), "integer/5x300x700x80"),
    integer(kDecode1k),
    integer(kv(FOVEA_I8, kDecode1k)),
    integer(integers(FOVEA_I8, kDecode1k), f32_speed(2.2f), "integer/32over8x1x1024x128-kv_i8"),
    integer(kv(FOVEA_I4, kDecode1k)),
    integer(integers(FOVEA_I4, kDecode1k), f32_speed(1.0f), "integer/32over8x1x1024x128-kv_i4"),
    integer(kDecode16k),
    integer(kv(FOVEA_I8, kDecode16k)),
    integer(integers(FOVEA_I8, kDecode16k), read(0.85f)),
    integer(kv(FOVEA_I4, kDecode16k)),
    integer(integers(FOVEA_I4, kDecode16k), f32_speed(1.8f), "integer/32over8x1x16384x128-kv_i4"),
    integer(integers(FOVEA_Q8_0, kDecode16k), read(0.6f)),
    integer(integers(FOVEA_Q4_0, kDecode16k), read(0.6f)),

    attention("sources", from(FOVEA_KV_RING, kDecode1k), time(1.05f), "decode/32over8x1x1024x128"),
    attention("sources", from(FOVEA_KV_PAGED, kDecode1k), time(1.05f), "decode/32over8x1x1024x128"),
    attention("sources", from(FOVEA_KV_RING, kDecode16k), time(1.05f), "decode/32over8x1x16384x128"),
    attention("sources", from(FOVEA_KV_PAGED, kDecode16k), time(1.05f), "decode/32over8x1x16384x128"),
    attention("sources", from(FOVEA_KV_RING, heads(8, 512, 512, 64)), time(1.05f), "prefill/8x512x512x64"),
    attention("sources", from(FOVEA_KV_PAGED, heads(8, 512, 512, 64)), time(1.05f), "prefill/8x512x512x64"),
    attention("sources", kv(FOVEA_F16, kEntries)),
    attention("sources", prefix(4096, kv(FOVEA_F16, kEntries)), time(1.05f), "sources/16.32over8x1x4160x128-kv_f16"),
    attention("sources", integers(FOVEA_I8, kEntries)),
    attention("sources", prefix(4096, integers(FOVEA_I8, kEntries)), time(0.6f, 1.05f),
              "sources/16.32over8x1x4160x128-kv_i8-compute_i8"),

    attention("small", heads(4, 64, 64, 32), fma(0.72f)),
    attention("small", heads(4, 128, 128, 32), fma(0.76f)),
    attention("small", heads(4, 16, 16, 32), fma(0.45f)),
    attention("small", heads(4, 8, 256, 32), fma(0.55f)),
    attention("small", heads(8, 32, 512, 64), fma(0.82f)),
    attention("small", heads(4, 1, 64, 32), peak_time(4.0f)),
    attention("small", heads(2, 20, 20, 16)),
    attention("small", heads(1, 4, 4, 8)),
    attention("small", heads(1, 1, 1, 1)),  // the overhead of a call
    attention("small", heads(1, 1, 1, 64)),
    attention("small", heads(8, 1, 1, 64)),  // and of a head
    attention("small", heads(8, 1, 32, 64)),
    attention("small", heads(8, 50, 50, 40)),
    attention("small", causal(heads(12, 77, 77, 64))),

    attention("options", kPlain),
    attention("options", window(128, causal(kPlain)), plain_time(1.15f), kPlainName),
    attention("options", masked(FOVEA_MASK_BYTE, kPlain), plain_time(1.3f), kPlainName),
    attention("options", masked(FOVEA_MASK_F32, kPlain), plain_time(1.3f), kPlainName),
    attention("options", capped(30.0f, kPlain), plain_time(1.35f), kPlainName),
    attention("options", alibi(kPlain), plain_time(1.15f), kPlainName),
    attention("options", causal(kPlain), none(), kPlainName),
    attention("options", alibi(causal(kPlain)), none(), kPlainName),
    attention("options", sinks(kPlain), none(), kPlainName),
    attention("options", lse(kPlain), none(), kPlainName),
    attention("options", dropped(0.1f, kPlain), none(), kPlainName),
    attention("options", masked(FOVEA_MASK_BYTE, grouped(32, 8, 1, 1024, 128))),
    attention("options", alibi(grouped(32, 8, 1, 1024, 128))),
    attention("options", capped(30.0f, grouped(32, 8, 1, 1024, 128))),

    attention("blocks", blocks(Blocks::kNone)),
    attention("blocks", blocks(Blocks::kAll), time(1.02f), kBlocksName),
    attention("blocks", blocks(Blocks::kSparse), time(0.28f), kBlocksName),
    attention("blocks", blocks(Blocks::kDocuments), time(0.16f), kBlocksName),
    attention("blocks", blocks(Blocks::kWindow), time(0.22f), kBlocksName),
    attention("blocks", blocks(Blocks::kSparse, true), time(0.34f), kBlocksName),
    attention("blocks", blocks(Blocks::kDocuments, true), time(0.19f), kBlocksName),
    attention("blocks", blocks(Blocks::kWindow, true), time(0.26f), kBlocksName),
    attention("blocks", changed(Change::kNothing, blocks(Blocks::kNone)), time(1.15f), kBlocksName),
    attention("blocks", changed(Change::kNothingToWeights, blocks(Blocks::kNone)), time(), kBlocksName),
    attention("blocks", alibi(blocks(Blocks::kNone)), time(), kBlocksName),
    attention("blocks", changed(Change::kAlibi, blocks(Blocks::kNone)), time(1.25f), "blocks/4x1024x1024x64-alibi"),

    attention("additive", additive(heads(8, 64, 64, 64))),
    attention("additive", additive(heads(1, 1, 64, 512))),  // a step of a translator, as Bahdanau et al. have it
    attention("additive", additive(heads(1, 32, 64, 512))),

    attention("stream", kStream1),
    attention("stream", push(16, kStream1), time(), kStream1Name),
    attention("stream", push(64, kStream1), time(), kStream1Name),
    attention("stream", push(256, kStream1), time(), kStream1Name),
    attention("stream", push(4096, kStream1), time(), kStream1Name),
    attention("stream", merge(kStream1), time(), kStream1Name),
    attention("stream", kStreamGrouped),
    attention("stream", push(16, kStreamGrouped), time(), kStreamGroupedName),
    attention("stream", push(64, kStreamGrouped), time(1.1f), kStreamGroupedName),
    attention("stream", push(256, kStreamGrouped), time(), kStreamGroupedName),
    attention("stream", push(4096, kStreamGrouped), time(), kStreamGroupedName),
    attention("stream", merge(kStreamGrouped), time(), kStreamGroupedName),
    attention("stream", kStream64),
    attention("stream", push(16, kStream64), time(), kStream64Name),
    attention("stream", push(64, kStream64), time(1.1f), kStream64Name),
    attention("stream", push(256, kStream64), time(), kStream64Name),
    attention("stream", push(4096, kStream64), time(), kStream64Name),
    attention("stream", merge(kStream64), time(), kStream64Name),

    attention("threads", threads(2, heads(8, 2048, 2048, 64)), speed_up(1.9f), "prefill/8x2048x2048x64"),
    attention("threads", threads(2, causal(heads(8, 2048, 2048, 64))), speed_up(), "causal/8x2048x2048x64-causal"),
    attention("threads", threads(2, grouped(32, 8, 1, 16384, 128)), speed_up(1.6f), "decode/32over8x1x16384x128"),
    attention("threads", kOneKeyHead),
    attention("threads", split(4096, kOneKeyHead), time(), kOneKeyHeadName),
    attention("threads", threads(2, split(4096, kOneKeyHead)), speed_up(), kOneKeyHeadName),
    attention("threads", threads(2, heads(4, 64, 64, 32)), speed_up(), "small/4x64x64x32"),  // cost of waking

    linear(128, 384, 384, fma(0.8f)),
    linear(128, 384, 1536, fma(0.8f)),
    linear(128, 1536, 384, fma(0.8f)),
    linear(128, 384, 1536, fma(0.8f), FOVEA_F16),
    linear(128, 384, 1536, fma(0.8f), FOVEA_I8),
    linear(50, 384, 384),
    linear(8, 384, 384),
    linear(1, 384, 1536),
    linear(1, 384, 1536, none(), FOVEA_F16),
    linear(1, 384, 1536, none(), FOVEA_I8),
    linear(1, 4096, 4096, read(0.75f)),
    linear(1, 576, 49152, read(0.9f), FOVEA_I8),  // the last layer of a small language model
    integer_linear(1, 576, 49152, read(0.9f)),
    f32_linear(128, 1536, 576),
    integer_linear(128, 1536, 576, f32_speed(2.8f), "linear/128x1536x576-i8"),
    linear(1, 576, 49152, read(0.9f), FOVEA_Q8_0),
    linear(1, 576, 49152, read(0.8f), FOVEA_I4),
    linear(1, 576, 49152, read(0.8f), FOVEA_Q4_0),
    linear(1, 576, 49152, read(0.8f), FOVEA_Q4_1),
    integer_linear(1, 576, 49152, FOVEA_Q8_0, read(0.9f)),
    integer_linear(1, 576, 49152, FOVEA_I4, read(0.8f)),
    integer_linear(1, 576, 49152, FOVEA_Q4_0, read(0.8f)),
    integer_linear(1, 576, 49152, FOVEA_Q4_1, read(0.8f)),
    integer_linear(1, 4096, 49152, FOVEA_Q8_0, read(0.75f)),  // larger than the third-level cache, as a model's weights
    integer_linear(1, 4096, 49152, FOVEA_Q4_1, read(0.75f)),
    integer_linear(128, 1536, 576, FOVEA_Q8_0),
    integer_linear(128, 1536, 576, FOVEA_I4),
    integer_linear(128, 1536, 576, FOVEA_Q4_1),
    linear(8, 576, 1536),
    like_f32(FOVEA_I8),
    like_f32(FOVEA_I4),
    like_f32(FOVEA_Q8_0),
    like_f32(FOVEA_Q4_0),
    like_f32(FOVEA_Q4_1),
    integer_linear(8, 576, 1536, FOVEA_I4),
    integer_linear(8, 576, 1536, FOVEA_Q8_0),

    delta(tokens_of(1), read(0.7f)),
    delta(batch(64, tokens_of(1)), read(0.7f)),  // matrices of 64 MiB, or of a model's layers
    delta(tokens_of(64)),
    delta(tokens_of(512), fma(0.6f, 0.55f)),
    delta(tokens_of(4096), time(8 * 1.1f), "delta/16x512x128x128"),
    delta(tokens_of(512, 8, 64), fma(0.5f)),
    delta(decay_per_key(tokens_of(512))),
    delta(by(FOVEA_DELTA_RULE_DELTA, tokens_of(512))),
    delta(by(FOVEA_DELTA_RULE_GATED, tokens_of(512))),
    delta(by(FOVEA_DELTA_RULE_LINEAR, tokens_of(512))),

    beside(RowsLayer::kRmsNorm, 64, 2048),
    beside(RowsLayer::kGatedNorm, 1024, 128),
    beside(RowsLayer::kL2Norm, 1024, 128),
    beside(RowsLayer::kLayerNorm, 512, 768),
    beside(RowsLayer::kLayerNorm, 3, 768),  // in the first-level cache
    beside(RowsLayer::kResidualNorm, 512, 768),
    beside(RowsLayer::kSwiGlu, 64, 3072),
    beside(RowsLayer::kGelu, 64, 3072),
    beside(RowsLayer::kConv1d, 64, 6144),
    beside(RowsLayer::kConv1d, 1, 6144),

    // Integer arithmetic and f32 arithmetic on the same rows: attention.h says which is faster.
    attention("never_slower", kv(FOVEA_I8, kPlain)),
    attention("never_slower", kv(FOVEA_I4, kPlain)),
    attention("never_slower", kv(FOVEA_Q8_0, kPlain)),
    attention("never_slower", kv(FOVEA_Q4_0, kPlain)),
    attention("never_slower", kv(FOVEA_I8, kDecode1k)),
    attention("never_slower", kv(FOVEA_I4, kDecode1k)),
    attention("never_slower", kv(FOVEA_I4, kDecodeNine)),
    attention("never_slower", kv(FOVEA_Q4_0, kDecode1k)),
    attention("never_slower", integers(FOVEA_Q8_0, kDecode1k)),
    attention("never_slower", kv(FOVEA_I8, kDecodeOne)),
    attention("never_slower", integers(FOVEA_Q8_0, kDecodeOne)),
    instead_of("never_slower/8x512x512x64-kv_i8", integers(FOVEA_I8, kPlain)),
    instead_of("never_slower/8x512x512x64-kv_i4", integers(FOVEA_I4, kPlain)),
    instead_of("never_slower/8x512x512x64-kv_q8_0", integers(FOVEA_Q8_0, kPlain)),
    instead_of("never_slower/8x512x512x64-kv_q4_0", integers(FOVEA_Q4_0, kPlain)),
    instead_of("never_slower/32over8x1x1024x128-kv_i8", integers(FOVEA_I8, kDecode1k)),
    instead_of("never_slower/32over8x1x1024x128-kv_i4", integers(FOVEA_I4, kDecode1k)),
    instead_of("never_slower/9over3x1x3000x64-kv_i4", integers(FOVEA_I4, kDecodeNine)),
    turned_on(FOVEA_TARGET_AVX512,
              instead_of("never_slower/32over8x1x1024x128-kv_q4_0", integers(FOVEA_Q4_0, kDecode1k))),
    instead_of("never_slower/32over8x1x1024x128-kv_q8_0-compute_i8", kv(FOVEA_Q8_0, kDecode1k)),
    instead_of("never_slower/8x1x1024x64-kv_i8", integers(FOVEA_I8, kDecodeOne)),
    instead_of("never_slower/8x1x1024x64-kv_q8_0-compute_i8", kv(FOVEA_Q8_0, kDecodeOne)),
    // The few-rows kernel and the tile kernel; maps and masks; threads and none.
    attention("never_slower", portable(kDecode1k)),
    attention("never_slower", portable(kDecodeOne)),
    attention("never_slower", masked(FOVEA_MASK_BYTE, heads(4, 1024, 1024, 64))),
    instead_of("never_slower/32over8x1x1024x128-portable", kDecode1k),
    instead_of("never_slower/8x1x1024x64-portable", kDecodeOne),
    instead_of("never_slower/4x1024x1024x64-byte_mask", blocks(Blocks::kSparse)),
    instead_of("never_slower/4x1024x1024x64-byte_mask", blocks(Blocks::kDocuments)),
    instead_of("never_slower/4x1024x1024x64-byte_mask", blocks(Blocks::kWindow, true)),
    instead_of("prefill/8x512x512x64", threads(2, kPlain)),
    instead_of("decode/32over8x1x16384x128", threads(2, kDecode16k)),
    // An activation in the linear layer, and after it.
    apart(kWithGelu),
    apart(kOneWithSilu),
    instead_of("never_slower/64x256x1024-gelu-apart", kWithGelu),
    instead_of("never_slower/1x576x1536-silu-apart", kOneWithSilu),
    // Kernels for in-order processors and those for others.
    in_order("prefill/8x512x512x64", kPlain),
    in_order("decode/32over8x1x1024x128", kDecode1k),
    in_order("linear/128x384x384", LinearShape{128, 384, 384}),
};
constexpr size_t kFirstBoardCase = sizeof kCases / sizeof kCases[0];

// A program for a board has only these. The first need less than 64 KiB.
constexpr Case kBoardCases[] = {
    attention("board", heads(1, 64, 64, 32)),
    attention("board", causal(heads(1, 64, 64, 32))),
    attention("board", integers(FOVEA_I8, heads(1, 64, 64, 32))),
    attention("board", heads(4, 16, 16, 32)),
    attention("board", heads(1, 1, 128, 32)),
    attention("board", kv(FOVEA_I8, heads(1, 1, 128, 32))),
    attention("board", integers(FOVEA_I8, heads(1, 1, 128, 32))),
    softmax("board", rows(16, 64)),
    softmax("board", rows(1, 1024)),
    attention("board", heads(4, 1, 64, 32)),
    attention("board", heads(4, 64, 64, 64)),
    attention("board", masked(FOVEA_MASK_BYTE, heads(4, 64, 64, 64))),
    attention("board", integers(FOVEA_I8, heads(4, 64, 64, 64))),
    attention("board", grouped(8, 2, 1, 256, 64)),
    attention("board", kv(FOVEA_I8, grouped(8, 2, 1, 256, 64))),
    attention("board", integers(FOVEA_I8, grouped(8, 2, 1, 256, 64))),
};

// Appends to a text of fixed size.
class Text {
 public:
  Text(char* text, size_t bytes) : text_(text), bytes_(bytes) { text_[0] = 0; }

  template <class... Args>
  Text& add(const char* format, Args... args) {
    const int count = std::snprintf(text_ + used_, bytes_ - used_, format, args...);
    if (count > 0)
      used_ = used_ + static_cast<size_t>(count) < bytes_ ? used_ + static_cast<size_t>(count) : bytes_ - 1;
    return *this;
  }
  Text& add(const char* text) { return add("%s", text); }

 private:
  char* text_;
  size_t bytes_, used_ = 0;
};

constexpr const char* kActivations[] = {"",           "silu", "sigmoid",   "relu", "relu6",
                                        "hard_swish", "gelu", "gelu_tanh", "tanh"};
const char* const kDtypes[] = {"f32", "f16", "bf16", "i8", "i4", "q8_0", "q4_0", "q4_1"};
constexpr const char* kComputes[] = {"f32", "i8"};
constexpr const char* kSources[] = {"strided", "ring", "pages"};

void add_attention(const Shape& s, Text& text) {
  if (s.batch != 1) text.add("%u.", s.batch);
  text.add("%u", s.q_heads);
  if (s.kv_heads != s.q_heads) text.add("over%u", s.kv_heads);
  text.add("x%ux%ux%u", s.q_tokens, s.kv_tokens, s.head_dim);
  if (s.value_dim != s.head_dim) text.add("v%u", s.value_dim);
  if (s.dtype != FOVEA_F32) text.add("-%s", kDtypes[s.dtype]);
  if (s.kv_dtype != FOVEA_F32) text.add("-kv_%s", kDtypes[s.kv_dtype]);
  if (s.compute != FOVEA_COMPUTE_F32) text.add("-compute_%s", kComputes[s.compute]);
  if (s.source != FOVEA_KV_STRIDED) text.add("-%s", kSources[s.source]);
  if (s.causal == FOVEA_CAUSAL_BOTTOM_RIGHT) text.add("-causal");
  if (s.causal == FOVEA_CAUSAL_TOP_LEFT) text.add("-causal_top_left");
  if (s.window_left) text.add("-window%u", s.window_left);
  if (s.window_right) text.add("-right%u", s.window_right);
  if (s.mask == FOVEA_MASK_BYTE && !s.edges) text.add("-byte_mask");
  if (s.mask == FOVEA_MASK_F32) text.add("-float_mask");
  if (s.additive) text.add("-additive");
  if (s.softcap != 0) text.add("-softcap");
  if (s.dropout != 0) text.add("-dropout");
  if (s.alibi) text.add("-alibi");
  if (s.sinks) text.add("-sinks");
  if (s.lse) text.add("-lse");
  if (s.blocks != Blocks::kNone) text.add("-map_%s", name(s.blocks));
  if (s.edges) text.add("-edges");
  if (s.change != Change::kNone) text.add("-modifier_%s", name(s.change));
  if (s.split) text.add("-split%u", s.split);
  if (s.prefix) text.add("-prefix%u", s.prefix);
  if (s.push) text.add("-push%u", s.push);
  if (s.merge) text.add("-merge");
  if (s.portable) text.add("-portable");
  if (s.threads != 1) text.add("-threads%u", s.threads);
}

void add_softmax(const SoftmaxShape& s, Text& text) {
  text.add("%ux%u", s.outer, s.axis);
  if (s.inner != 1) text.add("x%u", s.inner);
  if (s.log) text.add("-log");
  if (s.mask) text.add("-mask");
  if (s.in_place) text.add("-in_place");
}

void add_linear(const LinearShape& s, Text& text) {
  text.add("%ux%ux%u", s.tokens, s.in_dim, s.out_dim);
  if (s.dtype != FOVEA_F32) text.add("-%s", kDtypes[s.dtype]);
  if (s.compute != FOVEA_COMPUTE_F32) text.add("-compute_%s", kComputes[s.compute]);
  if (s.activation != FOVEA_ACTIVATION_IDENTITY) text.add("-%s", kActivations[s.activation]);
  if (s.apart) text.add("-apart");
}

void add_delta(const DeltaShape& s, Text& text) {
  constexpr const char* kRules[] = {"-linear", "-gated", "-delta", ""};
  if (s.batch != 1) text.add("%u.", s.batch);
  text.add("%ux%ux%ux%u", s.heads, s.tokens, s.head_dim, s.value_dim).add(kRules[s.rule]);
  if (s.decay_dim != 1) text.add("-decay_per_key");
}

// The index of word[length] in names, or -1.
template <size_t N>
int find(const char* const (&names)[N], const char* word, size_t length) {
  for (size_t i = 0; i < N; ++i) {
    if (std::strlen(names[i]) == length && std::strncmp(names[i], word, length) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

const char* name(RowsLayer layer) {
  constexpr const char* kNames[] = {"rms_norm", "gated_norm", "l2_norm",       "swiglu",
                                    "conv1d",   "layer_norm", "residual_norm", "gelu"};
  return kNames[static_cast<int>(layer)];
}

const char* name(Blocks blocks) {
  constexpr const char* kNames[] = {"none", "all", "sparse", "documents", "window"};
  return kNames[static_cast<int>(blocks)];
}

const char* name(Change change) {
  constexpr const char* kNames[] = {"none", "nothing", "alibi", "weights"};
  return kNames[static_cast<int>(change)];
}

bool map_shows(const Shape& s, uint32_t query, uint32_t key) {
  const auto scattered = [](uint32_t a, uint32_t b) { return (a * 2654435761u ^ b * 2246822519u) * 3266489917u >> 16; };
  switch (s.blocks) {
    case Blocks::kNone:
    case Blocks::kAll: return true;
    case Blocks::kSparse: {  // with edges, the mask hides keys in one of two listed blocks
      const uint32_t block = (query / kBlockTokens * 16 + key / kBlockTokens) * 157 % 256;
      return block < 62 && (!s.edges || block % 2 == 0 || scattered(query, key) % 4 != 0);
    }
    case Blocks::kDocuments: {  // with edges, the last eighth of each is padding
      const uint32_t length = s.kv_tokens / 8;
      return query / length == key / length && (!s.edges || key % length < length - length / 8);
    }
    case Blocks::kWindow: return key <= query && query - key < 128;
  }
  return true;
}

const char* name(GoalKind kind) {
  switch (kind) {
    case GoalKind::kNone: break;
    case GoalKind::kFmaPeak: return "fma";
    case GoalKind::kReadSpeed: return "read";
    case GoalKind::kExpRate: return "exp";
    case GoalKind::kPeakTime: return "time at fma peak";
    case GoalKind::kPlainTime: return "plain, by tiles";
    case GoalKind::kLikeRound: return "fma, as the round shape";
    case GoalKind::kTime: return "time of the whole call";
    case GoalKind::kSpeedUp: return "speed of one thread";
    case GoalKind::kNeverSlower: return "time of what it replaces";
    case GoalKind::kF32Speed: return "speed of f32";
  }
  return "";
}

void name_of(const Case& one, char (&text)[kNameBytes]) {
  Text out(text, sizeof text);
  out.add("%s/", one.suite);
  if (one.kind == Kind::kSoftmax) {
    add_softmax(one.softmax, out);
  } else if (one.kind == Kind::kLinear) {
    add_linear(one.linear, out);
  } else if (one.kind == Kind::kDelta) {
    add_delta(one.delta, out);
  } else if (one.kind == Kind::kRows) {
    out.add("%ux%u-%s", one.rows.tokens, one.rows.dim, name(one.rows.layer));
  } else {
    add_attention(one.shape, out);
  }
  if (one.in_order) out.add("-in_order");
}

size_t board_case_count() { return sizeof kBoardCases / sizeof kBoardCases[0]; }
const Case& board_case_at(size_t index) { return kBoardCases[index]; }

size_t case_count() { return kFirstBoardCase + board_case_count(); }
const Case& case_at(size_t index) {
  return index < kFirstBoardCase ? kCases[index] : board_case_at(index - kFirstBoardCase);
}

const Case* find_case(const char* name) {
  for (size_t i = 0; i < case_count(); ++i) {
    char text[kNameBytes];
    name_of(case_at(i), text);
    if (std::strcmp(text, name) == 0) return &case_at(i);
  }
  return nullptr;
}

const char* suite_at(size_t index) {
  constexpr const char* kSuites[] = {"softmax", "prefill", "causal",  "decode",       "formats", "integer",
                                     "sources", "small",   "options", "blocks",       "stream",  "threads",
                                     "linear",  "delta",   "rows",    "never_slower", "board"};
  return index < sizeof kSuites / sizeof kSuites[0] ? kSuites[index] : nullptr;
}

const char* const kShapeKeys =
    R"(    q=1 k=q heads=1 kv_heads=heads dim=64 vdim=dim batch=1 causal=0 (1 or bottom_right, top_left)
    window=0 right=0 mask=none (byte, float) softcap=0 alibi=0 sinks=0 lse=0 additive=0 dropout=0
    dtype=f32 kv=f32 (f16, bf16, i8, i4) compute=f32 (i8) threads=1
    source=strided (ring, pages) prefix=0 (the first keys, shared by all entries)
    split=0 (key_split_tokens) push=0 (keys a time, into a stream) merge=0 (two states)
)";

const char* parse_shape(const char* text, Shape* shape) {
  static char mistake[160];
  Shape s;
  bool kv_heads = false, k = false, value_dim = false;
  const struct {
    const char* key;
    uint32_t* number;
    bool* given;
    uint32_t least;
  } numbers[] = {
      {"q", &s.q_tokens, nullptr, 0},         {"k", &s.kv_tokens, &k, 0},
      {"heads", &s.q_heads, nullptr, 1},      {"kv_heads", &s.kv_heads, &kv_heads, 1},
      {"dim", &s.head_dim, nullptr, 1},       {"vdim", &s.value_dim, &value_dim, 1},
      {"batch", &s.batch, nullptr, 0},        {"window", &s.window_left, nullptr, 0},
      {"right", &s.window_right, nullptr, 0}, {"threads", &s.threads, nullptr, 1},
      {"split", &s.split, nullptr, 0},        {"push", &s.push, nullptr, 0},
      {"prefix", &s.prefix, nullptr, 0},
  };
  const struct {
    const char* key;
    bool* flag;
  } flags[] = {
      {"alibi", &s.alibi}, {"sinks", &s.sinks}, {"lse", &s.lse}, {"merge", &s.merge}, {"additive", &s.additive}};
  constexpr const char* kMasks[] = {"none", "float", "byte"};

  const char* const separators = " ,\t\n";
  for (text += std::strspn(text, separators); *text; text += std::strspn(text, separators)) {
    const size_t length = std::strcspn(text, separators);
    const char* equals = static_cast<const char*>(std::memchr(text, '=', length));
    std::snprintf(mistake, sizeof mistake, "do not understand \"%.*s\"", static_cast<int>(length < 100 ? length : 100),
                  text);
    if (!equals) return mistake;
    const size_t key_length = static_cast<size_t>(equals - text);
    const char* value = equals + 1;
    const char* value_end = text + length;
    const size_t value_length = static_cast<size_t>(value_end - value);
    const auto is = [&](const char* key) {
      return std::strlen(key) == key_length && std::strncmp(key, text, key_length) == 0;
    };
    char* end = nullptr;
    const unsigned long long number = std::strtoull(value, &end, 10);
    const bool is_number = value_length && value[0] >= '0' && value[0] <= '9' && end == value_end && number <= 1u << 30;

    bool known = false;
    for (const auto& n : numbers) {
      if (!is(n.key)) continue;
      if (!is_number || number < n.least) return mistake;
      *n.number = static_cast<uint32_t>(number);
      if (n.given) *n.given = true;
      known = true;
    }
    for (const auto& f : flags) {
      if (!is(f.key)) continue;
      if (!is_number || number > 1) return mistake;
      *f.flag = number == 1;
      known = true;
    }
    if (is("causal")) {
      constexpr const char* kCausal[] = {"0", "top_left", "1", "bottom_right"};
      const int which = find(kCausal, value, value_length);
      if (which < 0) return mistake;
      s.causal = which == 0 ? FOVEA_CAUSAL_NONE : which == 1 ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_BOTTOM_RIGHT;
      known = true;
    } else if (is("mask")) {
      const int which = find(kMasks, value, value_length);
      if (which < 0) return mistake;
      s.mask = static_cast<fovea_mask_kind>(which);
      known = true;
    } else if (is("dtype") || is("kv")) {
      const int which = find(kDtypes, value, value_length);
      if (which < 0) return mistake;
      (is("kv") ? s.kv_dtype : s.dtype) = static_cast<fovea_dtype>(which);
      known = true;
    } else if (is("compute")) {
      const int which = find(kComputes, value, value_length);
      if (which < 0) return mistake;
      s.compute = static_cast<fovea_compute>(which);
      known = true;
    } else if (is("source")) {
      const int which = find(kSources, value, value_length);
      if (which < 0) return mistake;
      s.source = static_cast<fovea_kv_kind>(which);
      known = true;
    } else if (is("softcap") || is("dropout")) {
      (is("softcap") ? s.softcap : s.dropout) = std::strtof(value, &end);
      if (end != value_end) return mistake;
      known = true;
    }
    if (!known) return mistake;
    text += length;
  }
  if (!kv_heads) s.kv_heads = s.q_heads;
  if (!k) s.kv_tokens = s.q_tokens;
  if (!value_dim) s.value_dim = s.head_dim;
  *shape = s;
  return nullptr;
}

}  // namespace fovea::bench
