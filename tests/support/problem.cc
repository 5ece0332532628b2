// SPDX-License-Identifier: Apache-2.0
#include "support/problem.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "fovea/fovea_config.h"
#include "platform/platform.h"
#include "support/array.h"
#include "support/bits.h"
#include "support/formats.h"
#include "support/text.h"
#include "support/tolerance.h"

namespace fovea_test {
namespace {

template <class Array>
void describe(Array* array, const Guarded& buffer, const Strides& s) {
  array->data = buffer.as<float>() + s.first;
  array->batch_stride = s.batch, array->head_stride = s.head, array->token_stride = s.token;
}

Guarded floats(size_t count, Placement placement) { return Guarded(count * sizeof(float), alignof(float), placement); }

template <class T>
Guarded copy_of(const std::vector<T>& values, Placement placement) {
  Guarded buffer(values.size() * sizeof(T), alignof(T), placement);
  std::copy(values.begin(), values.end(), buffer.as<T>());
  return buffer;
}

// The error of rounding to a type.
double rounding_error(fovea_dtype type, double want) {
  if (type == FOVEA_F32 || !std::isfinite(want)) return 0;
  const Half format = half_of(type);
  const double least = std::ldexp(1.0, -format.bias - format.fraction_bits);  // half of the smallest subnormal number
  return std::ldexp(std::fabs(want), -format.fraction_bits - 1) * 1.01 + least;
}

// Checks what fovea.h promises to modifiers; null or what is wrong.
const char* check_block(const AttentionCase::Extras& test, const fovea_score_block& block) {
  const Problem& p = test.problem;
  if (block.rows == 0 || block.keys == 0 || block.keys > 64) return "counts";
  if (block.row_stride != 1 && block.key_stride != 1) return "strides";
  if (block.batch >= p.batch || block.kv_head >= p.kv_heads) return "entry or key head";
  if (block.first_key < 0 || block.first_key + block.keys > p.kv_tokens) return "keys";
  if (block.first_position != position(test.desc, test.args, block.batch, 0)) return "position";
  if (block.worker >= 4096) return "worker";
  for (uint32_t r = 0; r < block.rows; ++r) {
    if (block.tokens[r] >= p.q_tokens || block.heads[r] / (p.q_heads / p.kv_heads) != block.kv_head) return "rows";
  }
  return nullptr;
}

// Calls change(element, number of its place) for each element of a block.
template <class Change>
void change_block(void* self, const fovea_score_block& block, Change change) {
  auto& test = *static_cast<AttentionCase::Extras*>(self);
  if (const char* const wrong = check_block(test, block)) test.wrong_block = wrong;
  for (const auto& [r, k] : indices(block.rows, block.keys)) {
    float& x = block.data[ptrdiff_t(r) * block.row_stride + ptrdiff_t(k) * block.key_stride];
    const int64_t key = block.first_key + k;
    const auto place = uint64_t(block.batch * 13 + block.heads[r] * 7 + block.tokens[r] * 3) +
                       uint64_t(key * 5 + (block.first_position & 7));
    x = change(x, place);
  }
}
// Neither function makes an error larger, except by its own rounding.
void modify_scores(void* self, const fovea_score_block* block) {
  change_block(self, *block, [](float x, uint64_t place) { return 0.75f * x + (0.25f * float(place % 11) - 1.0f); });
}
void modify_weights(void* self, const fovea_score_block* block) {
  change_block(self, *block, [](float x, uint64_t place) { return x * (0.125f * float(place % 9)); });
}

// All 0 if the target is not available.
fovea_attention_plan smallest_plan(fovea_target target) {
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = desc.max_batch = 1, desc.target = target;
  desc.processor_features = fovea::platform::processor_features();
  fovea_attention_plan plan{};
  (void)fovea_attention_plan_init(&plan, &desc);
  return plan;
}

}  // namespace

std::vector<fovea_target> targets() {
  std::vector<fovea_target> all;
  for (uint32_t i = 0; fovea::platform::target_with_kernels(i) != FOVEA_TARGET_BEST; ++i) {
    all.push_back(fovea::platform::target_with_kernels(i));
  }
  return all;
}

std::vector<fovea_target> targets_and_those_that_extend_them() {
  std::vector<fovea_target> all;
  for (uint32_t number = 1; number < 128; ++number) {
    const auto target = enum_of<fovea_target>(number);
    const fovea_attention_plan plan = smallest_plan(target);  // the plan may name another target
    if (made(plan).desc.target == target) all.push_back(target);
  }
  return all;
}

uint32_t lanes(fovea_target target) { return made(smallest_plan(target)).lanes; }

bool flushes_subnormals(fovea_target target) {
#if defined(__arm__)
  return target != FOVEA_TARGET_SCALAR;
#else
  (void)target;
  return false;
#endif
}

uint64_t random_bits(uint64_t seed, uint64_t index) {
  // The last steps of splitmix64, on a number that differs for each (seed, index) of a test.
  uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float random_uniform(uint64_t seed, uint64_t index, float low, float high) {
  const double unit = double(random_bits(seed, index) >> 40) / 16777216.0;
  return float(low + (double{high} - low) * unit);
}

float random_normal(uint64_t seed, uint64_t index) {
  // Four uniform numbers of 16 bits: their sum has mean 2 and variance 1/3.
  const uint64_t bits = random_bits(seed, index);
  const double sum = double((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  return float((sum / 65536.0 - 2.0) * 1.7320508075688772);
}
std::vector<float> normal_numbers(size_t count, uint64_t seed) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = random_normal(seed, i);
  return x;
}

const char* name(Budget budget) {
  switch (budget) {
    case Budget::kNone: return "no budget";
    case Budget::kHalf: return "half budget";
    case Budget::kLeast: return "least budget";
  }
  return "?";
}

std::string name(const Run& run) {
  std::string text = run.target == FOVEA_TARGET_BEST ? "best" : fovea_target_name(run.target);
  text += std::string(", ") + name(run.budget);
  if (run.portable_bits) text += ", portable bits";
  if (run.key_split_tokens != 0) text += ", keys split at " + std::to_string(run.key_split_tokens);
  if (run.executor != nullptr) text += ", workers " + std::to_string(run.executor->workers);
  return text;
}

std::string name(const Problem& p) {
  Text text;
  text << p.batch << "x" << p.q_heads << "/" << p.kv_heads << "x" << p.q_tokens << "x" << p.kv_tokens << " d"
       << p.head_dim << "/" << p.value_dim << " " << name(p.layout) << " " << name(p.placement) << " seed " << p.seed;
  const Problem plain;
  const auto say = [&](const char* what, auto Problem::* field) {
    if (p.*field != plain.*field) text << " " << what << " " << p.*field;
  };
  const auto list = [&](const char* what, const auto& numbers) {
    if (!numbers.empty()) text << " " << what;
    for (const auto number : numbers) text << " " << number;
  };
  say("score", &Problem::score), say("scale", &Problem::scale), say("softcap", &Problem::softcap);
  say("dropout", &Problem::dropout), say("causal", &Problem::causal), say("diagonal", &Problem::diagonal);
  say("left", &Problem::window_left), say("right", &Problem::window_right), say("mask", &Problem::mask);
  list("lengths", p.kv_lengths), list("positions", p.positions), list("first tokens", p.first_tokens);
  if (p.mask != FOVEA_MASK_NONE) {
    text << "[" << (p.mask_batch ? "b" : "1") << (p.mask_heads ? "h" : "1") << (p.mask_queries ? "q" : "1")
         << (p.mask_keys ? "k" : "1") << "]";
  }
  say("factors", &Problem::mask_factors), say("missing", &Problem::mask_missing), say("at end", &Problem::mask_at_end);
  say("map", &Problem::map_q_block);
  if (p.map_q_block != 0)
    text << "x" << p.map_kv_block << "[" << (p.map_batch ? "b" : "1") << (p.map_heads ? "h]" : "1]");
  say("scores modified", &Problem::modify_scores), say("weights modified", &Problem::modify_weights);
  say("alibi", &Problem::alibi), say("sinks", &Problem::sinks), say("lse", &Problem::lse);
  say("stage", &Problem::stage), say("compute", &Problem::compute), say("source", &Problem::kv_kind);
  say("ring", &Problem::ring_tokens), say("pinned", &Problem::pinned_tokens), say("hide gone", &Problem::allow_evicted);
  say("pages of", &Problem::page_tokens), say("prefix", &Problem::prefix_tokens);
  text << " " << type_name(p.q_dtype) << "/" << type_name(p.key_dtype) << "/" << type_name(p.value_dtype) << "/"
       << type_name(p.out_dtype);
  return text;
}

Problem mixed_problem(uint32_t i) {
  constexpr Option kHeads[] = {
      {"pairs", [](auto& p) { p.q_heads = 4, p.kv_heads = 2, p.layout = Layout::kPadded; }},
      {"one of keys", [](auto& p) { p.q_heads = 3, p.kv_heads = 1, p.layout = Layout::kTokensFirst; }}};
  constexpr Option kQueries[] = {
      {"a tile and more", [](auto& p) { p.q_tokens = 67, p.head_dim = 33, p.value_dim = 40; }},
      {"one", [](auto& p) { p.q_tokens = 1, p.head_dim = 64, p.value_dim = 17, p.softcap = 2.0f, p.sinks = true; }},
      {"some", [](auto& p) { p.q_tokens = 21, p.head_dim = 5, p.value_dim = 3; }},
  };
  constexpr Option kKeys[] = {
      {"all", [](auto& p) { p.kv_tokens = 200; }},
      {"positions",
       [](auto& p) {
         p.kv_tokens = 128, p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {90, 128}, p.window_left = 71;
       }},
      {"causal", [](auto& p) { p.kv_tokens = 83, p.causal = FOVEA_CAUSAL_TOP_LEFT, p.alibi = true; }},
      {"window",
       [](auto& p) { p.batch = 1, p.kv_tokens = 131, p.positions = {60}, p.window_left = 77, p.window_right = 9; }},
  };
  constexpr Option kMasks[] = {
      {"none", [](auto&) {}},
      {"of halves", [](auto& p) { p.mask = FOVEA_MASK_F16, p.mask_factors = true; }},
      {"of bytes", [](auto& p) { p.mask = FOVEA_MASK_BYTE, p.mask_missing = 5; }},
      {"none", [](auto&) {}},
      {"a scale", [](auto& p) { p.scale = -0.4f; }},
  };
  Problem p;
  p.batch = 2, p.placement = kPlacements[i % 3];
  for (const Option& o : {kHeads[i % 2], kQueries[i % 3], kKeys[i % 4], kMasks[i % 5]}) o.set(p);
  if (i == 1) p.mask = FOVEA_MASK_BF16;
  if (p.mask == FOVEA_MASK_F16 || p.mask == FOVEA_MASK_BF16) p.mask_keys = i % 2 == 0;
  if (i == 7 || i == 11) p.alibi = true;
  if (p.window_left != 0 && i < 8) p.pinned_tokens = i < 4 ? 5 : 70;
  return p;
}

std::vector<fovea_target> Problem::targets() const {
  return compute == FOVEA_COMPUTE_I8 ? targets_and_those_that_extend_them() : fovea_test::targets();
}

Problem Problem::with_integers(fovea_dtype keys, fovea_dtype values) const {
  Problem p = *this;
  p.compute = FOVEA_COMPUTE_I8, p.key_dtype = keys, p.value_dtype = values;
  if (p.score == FOVEA_SCORE_ADDITIVE) p.score = FOVEA_SCORE_SCALED_DOT;
  if (p.layout == Layout::kBroadcast) p.layout = Layout::kHeadsFirst;
  return p;
}

Problem Problem::with_halves() const {
  Problem p = with_integers(FOVEA_F16, FOVEA_F16);
  p.compute = FOVEA_COMPUTE_F16;
  return p;
}

size_t budget_bytes(const fovea_attention_desc& desc, Budget budget) {
  if (budget == Budget::kNone) return 0;
  fovea_attention_desc trial = desc;
  fovea_attention_plan plan{};
  trial.workspace_budget_bytes = 0;
  if (fovea_attention_plan_init(&plan, &trial) != FOVEA_OK) return 0;
  size_t fits = bytes_of(fovea_attention_workspace_bytes, &plan);
  if (budget == Budget::kHalf) {
    trial.workspace_budget_bytes = fits / 2;
    if (fovea_attention_plan_init(&plan, &trial) == FOVEA_OK) return fits / 2;
  }
  size_t too_small = 0;
  while (fits - too_small > 1) {
    trial.workspace_budget_bytes = too_small + (fits - too_small) / 2;
    (fovea_attention_plan_init(&plan, &trial) == FOVEA_OK ? fits : too_small) = trial.workspace_budget_bytes;
  }
  return fits;
}

bool close(double got, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::fabs(got - want) <= tolerance;
}

// ------------------------------------------------------------------------------------------------------ AttentionCase

AttentionCase::AttentionCase(const Problem& p) : problem(p), desc{}, args{}, plan{}, extras(new Extras{}) {
  desc.struct_bytes = sizeof desc, desc.q_heads = p.q_heads, desc.kv_heads = p.kv_heads;
  desc.head_dim = p.head_dim, desc.value_dim = p.value_dim;
  desc.max_batch = std::max<uint32_t>(p.batch, 1), desc.max_q_tokens = p.q_tokens, desc.max_kv_tokens = p.kv_tokens;
  desc.score = p.score, desc.scale = p.scale, desc.softcap = p.softcap, desc.dropout = p.dropout;
  desc.causal = p.causal, desc.diagonal = p.diagonal;
  desc.window_left = p.window_left, desc.window_right = p.window_right;

  desc.q_dtype = p.q_dtype, desc.key_dtype = p.key_dtype;
  desc.value_dtype = p.value_dtype, desc.out_dtype = p.out_dtype, desc.compute = p.compute;
  if (p.compute != FOVEA_COMPUTE_F32) desc.processor_features = fovea::platform::processor_features();
  desc.kv_kind = p.kv_kind;
  desc.ring_tokens = p.ring_tokens, desc.pinned_tokens = p.pinned_tokens, desc.page_tokens = p.page_tokens;
  desc.allow_evicted = p.allow_evicted;
  desc.max_prefix_tokens = std::min(p.prefix_tokens, p.kv_tokens),
  desc.max_kv_tokens -= uint32_t(desc.max_prefix_tokens);

  args.struct_bytes = sizeof args;
  args.batch = p.batch, args.q_tokens = p.q_tokens, args.kv_tokens = p.kv_tokens;

  const Layout layout = output_layout(p.layout);
  const auto output = [&](Array* array, fovea_dtype type, uint32_t dim) {
    *array = Array(type, {p.batch, p.q_heads, p.q_tokens, dim}, layout, p.placement);
    return array->out();
  };
  args.out = output(&out_, p.out_dtype, p.value_dim);
  if (p.lse) args.lse = output(&lse_, FOVEA_F32, 1);
  if (p.stage != FOVEA_SCORES_NONE) args.scores = output(&scores_, FOVEA_F32, p.kv_tokens);
  args.scores_stage = p.stage;

  if (p.layout == Layout::kPacked) {
    // [batch][tokens]{q_heads * head_dim, kv_heads * head_dim, kv_heads * value_dim}
    const size_t width = size_t{p.q_heads} * p.head_dim + size_t{p.kv_heads} * (p.head_dim + p.value_dim);
    const size_t tokens = std::max(p.q_tokens, p.kv_tokens);
    q_ = floats(p.batch * tokens * width, p.placement);
    const auto token = ptrdiff_t(width), batch = ptrdiff_t(tokens * width);
    const auto head_dim = ptrdiff_t(p.head_dim), value_dim = ptrdiff_t(p.value_dim);
    const size_t keys = size_t{p.q_heads} * p.head_dim, values = keys + size_t{p.kv_heads} * p.head_dim;
    const bool empty = q_.bytes() == 0;
    describe(&args.q, q_, {batch, head_dim, token, 0, 0});
    describe(&args.kv.keys, q_, {batch, head_dim, token, 0, empty ? 0 : keys});
    describe(&args.kv.values, q_, {batch, value_dim, token, 0, empty ? 0 : values});
  } else {
    const auto input = [&](fovea_in* a, Guarded* buffer, uint32_t heads, uint32_t tokens, uint32_t dim,
                           uint64_t zeros) {
      Strides s = strides_of({p.batch, heads, tokens, dim}, layout);
      *buffer = floats(s.elements, p.placement);
      if (p.layout == Layout::kBroadcast) {
        if (zeros & 1) s.batch = 0;
        if (zeros & 2) s.head = 0;
      }
      describe(a, *buffer, s);
    };
    input(&args.q, &q_, p.q_heads, p.q_tokens, p.head_dim, random_bits(p.seed, 1));
    input(&args.kv.keys, &keys_, p.kv_heads, p.kv_tokens, p.head_dim, random_bits(p.seed, 2));
    input(&args.kv.values, &values_, p.kv_heads, p.kv_tokens, p.value_dim, random_bits(p.seed, 3));
  }

  if (!p.kv_lengths.empty()) {
    kv_lengths_ = copy_of(p.kv_lengths, p.placement);
    args.kv_lengths = kv_lengths_.as<uint32_t>();
  }
  if (!p.positions.empty()) {
    positions_ = copy_of(p.positions, p.placement);
    args.first_positions = positions_.as<int64_t>();
  }
  if (p.alibi) {
    slopes_ = floats(p.q_heads, p.placement);
    for (uint32_t h = 0; h < p.q_heads; ++h) slopes()[h] = random_uniform(p.seed + 11, h, 0.02f, 0.6f);
    args.alibi_slopes = slopes();
  }
  if (p.sinks) {
    sinks_ = floats(p.q_heads, p.placement);
    for (uint32_t h = 0; h < p.q_heads; ++h) sinks()[h] = random_uniform(p.seed + 12, h, -1.0f, 4.0f);
    args.sinks = sinks();
  }
  if (p.score == FOVEA_SCORE_ADDITIVE) {
    const uint32_t vectors = p.layout == Layout::kBroadcast ? 1 : p.kv_heads;
    const Strides s = strides_of({1, vectors, 1, p.head_dim}, layout);
    score_vector_ = floats(s.elements, p.placement);
    args.score_vector = score_vector_.as<float>() + s.first;
    args.score_vector_stride = vectors == 1 ? 0 : s.head;
    for (uint32_t h = 0; h < vectors; ++h) {
      float* const v = score_vector() + ptrdiff_t(h) * args.score_vector_stride;
      for (uint32_t d = 0; d < p.head_dim; ++d) v[d] = random_uniform(p.seed + 16, h * p.head_dim + d, -1.0f, 1.0f);
    }
  }
  args.dropout_seed = p.dropout_seed;
  if (p.mask != FOVEA_MASK_NONE) fill_mask();
  if (p.map_q_block != 0) fill_map();
  if (p.modify_scores || p.modify_weights) {
    extras->modifier = {p.modify_scores ? modify_scores : nullptr, p.modify_weights ? modify_weights : nullptr,
                        extras.get()};
    args.modifier = &extras->modifier;
  }
  extras->problem = p, extras->desc = desc, extras->args = args;
  if (!p.first_tokens.empty()) {
    first_tokens_ = copy_of(p.first_tokens, p.placement);
    args.kv.first_tokens = first_tokens_.as<uint32_t>();
  }
  fill_inputs();
  if (p.stored() || p.q_dtype != FOVEA_F32 || p.out_dtype != FOVEA_F32) encode();
}

// The factor of queries: scale * log2(e), in f32.
float AttentionCase::query_factor() const {
  fovea_attention_plan own{};
  (void)fovea_attention_plan_init(&own, &desc);
  return made(own).desc.scale * 1.44269504f;
}

// Queries keep their strides, counted in elements of the new type.
void AttentionCase::encode() {
  const Problem& p = problem;
  encoded_ = true;
  truth_ = args;
  const bool integers = p.compute == FOVEA_COMPUTE_I8;
  if (p.q_dtype != FOVEA_F32 || integers) {
    const size_t unit = unit_size(p.q_dtype);
    const auto first = size_t(static_cast<const float*>(args.q.data) - q_.as<float>());
    const float factor = integers ? query_factor() : 1.0f;
    typed_q_ = Guarded(q_.bytes() / sizeof(float) * unit, unit, p.placement);
    args.q.data = typed_q_.as<uint8_t>() + first * unit;
    for (const auto& [b, h, i] : indices(p.batch, p.q_heads, p.q_tokens)) {
      float* x = q(b, h, i);
      uint8_t* typed = typed_q_.as<uint8_t>() + size_t(x - q_.as<float>()) * unit;
      encode_row(p.q_dtype, x, p.head_dim, typed, nullptr);
      for (uint32_t e = 0; e < p.head_dim; ++e) x[e] = element_of(p.q_dtype, typed, nullptr, e);
      if (integers) round_to_i8(x, p.head_dim, factor);
    }
  }
  if (p.stored()) stored.store(desc, &args, p.placement, p.seed, p.layout == Layout::kPadded);
}

void AttentionCase::fill_mask() {
  const Problem& p = problem;
  uint32_t covered = p.kv_tokens - std::min(p.mask_missing, p.kv_tokens);
  const uint32_t shortest =
      p.kv_lengths.empty() ? p.kv_tokens : *std::min_element(p.kv_lengths.begin(), p.kv_lengths.end());
  const bool at_end = p.mask_at_end && shortest >= 2;
  if (at_end) covered = shortest / 2;
  const uint32_t columns = p.mask_keys ? covered : std::min<uint32_t>(covered, 1);
  const uint32_t batch = p.mask_batch ? p.batch : std::min<uint32_t>(p.batch, 1), heads = p.mask_heads ? p.q_heads : 1;
  const uint32_t queries = p.mask_queries ? p.q_tokens : std::min<uint32_t>(p.q_tokens, 1);
  const Layout layout = p.layout == Layout::kPadded || p.layout == Layout::kReversed ? p.layout : Layout::kHeadsFirst;
  const Strides s = strides_of({batch, heads, queries, columns}, layout);
  const size_t size = mask_element_size(p.mask);
  mask_ = Guarded(s.elements * size, size, p.placement);
  fovea_mask& m = args.mask;
  m.kind = p.mask;
  m.kv_tokens = covered == 0 ? FOVEA_MASK_NO_KEYS : covered == p.kv_tokens && p.seed % 2 != 0 ? 0 : covered;
  m.at_end = at_end ? 1 : 0;
  m.data = mask_.as<uint8_t>() + s.first * size;
  m.batch_stride = p.mask_batch ? s.batch : 0;
  m.head_stride = p.mask_heads ? s.head : 0;
  m.q_stride = p.mask_queries ? s.token : 0;
  m.broadcast_keys = p.mask_keys ? 0 : 1;
  if (p.mask_factors && p.mask_adds()) {
    mask_factors_ = floats(p.q_heads, p.placement);
    for (uint32_t h = 0; h < p.q_heads; ++h) {
      mask_factors()[h] = h % 3 == 2 ? 0.0f : random_uniform(p.seed + 17, h, -1.5f, 3.0f);
    }
    m.head_factors = mask_factors();
  }

  for (const auto& [b, h, i] : indices(batch, heads, queries)) {
    const auto first =
        size_t(ptrdiff_t(s.first) + ptrdiff_t(b) * s.batch + ptrdiff_t(h) * s.head + ptrdiff_t(i) * s.token);
    const bool nothing = p.mask_queries && random_bits(p.seed + 14, first) % 5 == 0;  // the whole row is hidden
    for (uint32_t j = 0; j < columns; ++j) fill_mask_element(first + j, nothing);
  }
}

void AttentionCase::fill_mask_element(size_t at, bool hidden) {
  const Problem& p = problem;
  const uint64_t bits = random_bits(p.seed + 13, at);
  hidden = hidden || bits % 3 == 0;
  if (p.mask == FOVEA_MASK_BYTE) {
    static const uint8_t kSeen[4] = {1, 2, 128, 255};
    mask_byte()[at] = hidden ? uint8_t{0} : kSeen[bits / 3 % 4];
    return;
  }
  static const float kHidden[4] = {-std::numeric_limits<float>::infinity(), -FLT_MAX, -FLT_MAX / 2, -2e38f};
  const float x = hidden ? kHidden[bits / 3 % 4] : random_uniform(p.seed + 15, at, -2.0f, 2.0f);
  if (p.mask == FOVEA_MASK_F32) {
    mask_f32()[at] = x;
  } else if (p.mask == FOVEA_MASK_F16) {
    mask_half()[at] = uint16_t(hidden && bits / 3 % 2 != 0 ? 0xfbffu : nearest_of(kF16, x));  // -65504
  } else {
    mask_half()[at] = uint16_t(hidden && bits / 3 % 2 != 0 ? 0xff7fu : nearest_of(kBf16, x));  // lowest
  }
}

void AttentionCase::fill_map() {
  const Problem& p = problem;
  const auto blocks_of = [](uint32_t tokens, uint32_t size) { return uint32_t((uint64_t{tokens} + size - 1) / size); };
  const uint32_t lists = blocks_of(p.q_tokens, p.map_q_block), blocks = blocks_of(p.kv_tokens, p.map_kv_block);
  const uint32_t batch = p.map_batch ? p.batch : std::min<uint32_t>(p.batch, 1), heads = p.map_heads ? p.kv_heads : 1;
  std::vector<uint32_t> offsets, listed;
  for (uint32_t i = 0; i < batch * heads; ++i) {
    for (uint32_t r = 0; r < lists; ++r) {
      offsets.push_back(uint32_t(listed.size()));
      for (uint32_t c = 0; c < blocks; ++c) {
        const uint64_t kind = random_bits(p.seed + 18, (uint64_t{i} * lists + r) * blocks + c) % 3;
        if (kind != 0) listed.push_back(c | (kind == 1 ? FOVEA_BLOCK_ALL : 0));
      }
    }
    offsets.push_back(uint32_t(listed.size()));
  }
  map_offsets_ = copy_of(offsets, p.placement);
  map_blocks_ = copy_of(listed, p.placement);
  const ptrdiff_t of_head = p.map_heads ? ptrdiff_t(lists + 1) : 0;
  const ptrdiff_t of_entry = p.map_batch ? ptrdiff_t(lists + 1) * ptrdiff_t(heads) : 0;
  const uint32_t *const starts = map_offsets_.as<uint32_t>(), *const numbers = map_blocks_.as<uint32_t>();
  extras->map = {p.map_q_block, p.map_kv_block, starts, of_entry, of_head, numbers, uint32_t(listed.size())};
  args.block_map = &extras->map;
}

size_t AttentionCase::mask_elements() const { return mask_.bytes() / mask_element_size(problem.mask); }

void AttentionCase::fill_inputs() {
  const Problem& p = problem;
  // An element's value depends only on its place in the buffer, so that broadcast rows may be written many times.
  const auto write = [&](float* at, const Guarded& buffer, uint32_t count, uint64_t seed, float factor) {
    const size_t offset = size_t(at - buffer.as<float>());
    for (uint32_t d = 0; d < count; ++d) at[d] = factor * random_normal(seed, offset + d);
  };
  const bool packed = p.layout == Layout::kPacked;
  const Guarded& keys = packed ? q_ : keys_;
  const Guarded& values = packed ? q_ : values_;
  const uint32_t group = p.q_heads / p.kv_heads;
  const bool every_key = p.stage == FOVEA_SCORES_SCALED || p.stage == FOVEA_SCORES_CAPPED;
  for (uint32_t b = 0; b < p.batch; ++b) {
    for (const auto& [h, i] : indices(p.q_heads, p.q_tokens)) write(q(b, h, i), q_, p.head_dim, p.seed + 21, 2.0f);
    for (const auto& [h, j] : indices(p.kv_heads, p.kv_tokens)) {
      bool seen = false;
      for (uint32_t i = 0; i < p.q_tokens && !seen; ++i) {
        for (uint32_t g = 0; g < group && !seen; ++g) seen = visible(desc, args, b, h * group + g, i, j);
      }
      if (seen || every_key) write(key(b, h, j), keys, p.head_dim, p.seed + 22, 1.0f);
      if (seen) write(value(b, h, j), values, p.value_dim, p.seed + 23, 1.0f);
    }
  }
}

float* AttentionCase::q(uint32_t b, uint32_t head, uint32_t i) const { return row(truth().q, b, head, i); }
float* AttentionCase::key(uint32_t b, uint32_t kv_head, uint32_t j) const {
  return row(truth().kv.keys, b, kv_head, j);
}
float* AttentionCase::value(uint32_t b, uint32_t kv_head, uint32_t j) const {
  return row(truth().kv.values, b, kv_head, j);
}

const Attention& AttentionCase::expected() {
  if (has_expected_) return expected_;
  expected_ = attention(desc, truth());
  has_expected_ = true;
  for (const Guarded* input : {&q_, &keys_, &values_, &kv_lengths_, &positions_, &mask_, &mask_factors_, &slopes_,
                               &sinks_, &score_vector_, &typed_q_, &first_tokens_, &map_offsets_, &map_blocks_}) {
    input->read_only(true);
  }
  stored.read_only(true);
  return expected_;
}

std::string AttentionCase::run_unchecked(const Run& run) {
  const std::string full_name = name(problem) + " | " + name(run);
  set_current_case(full_name);
  fovea_attention_desc d = desc;
  d.target = run.target;
  d.portable_bits = run.portable_bits ? 1 : 0;
  d.key_split_tokens = run.key_split_tokens;
  d.max_workers = run.executor != nullptr ? run.executor->workers : 0;
  args.executor = run.executor;
  d.workspace_budget_bytes = budget_bytes(d, run.budget);
  const fovea_status planned = fovea_attention_plan_init(&plan, &d);
  if (planned != FOVEA_OK) return full_name + ": plan: " + fovea_status_string(planned);

  const size_t bytes = bytes_of(fovea_attention_workspace_bytes, &plan);
  if (run.budget != Budget::kNone && bytes > d.workspace_budget_bytes) return full_name + ": more than the budget";
  const bool flush = problem.placement == Placement::kEnd && bytes % FOVEA_WORKSPACE_ALIGNMENT == 0;
  Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, flush ? Placement::kEnd : Placement::kStart);
  workspace.fill();
  fill_outputs();
  if (!fovea::config::kChecks && !desc.allow_evicted && sees_gone_token(desc, truth()))
    return fovea_status_string(FOVEA_ERR_RING);
  const fovea_status status = fovea_attention(&plan, &args, workspace.as<void>(), bytes);
  if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);
  if (!workspace.margin_intact()) return full_name + ": written outside the workspace";
  if (extras->wrong_block != nullptr) return full_name + ": modifier: " + extras->wrong_block.load();
  const TestLoader& loader = stored.loader;
  if (!loader.wrong.empty()) return full_name + ": loader: " + loader.wrong;
  if (loader.started != loader.finished) return full_name + ": loader: not all that was started is finished";
  return "";
}

void AttentionCase::fill_outputs() {
  for (Array* output : {&out_, &lse_, &scores_}) output->memory.fill();
}

bool AttentionCase::outputs_untouched() const {
  for (const Array* output : {&out_, &lse_, &scores_}) {
    if (!output->memory.untouched() || !output->memory.margin_intact()) return false;
  }
  return true;
}

std::string AttentionCase::run(const Run& run) {
  expected();
  const std::string failed = run_unchecked(run);
  if (!desc.allow_evicted && sees_gone_token(desc, truth())) {
    const bool refused = failed.find(fovea_status_string(FOVEA_ERR_RING)) != std::string::npos && outputs_untouched();
    return refused ? "" : name(problem) + " | " + name(run) + ": a token that is gone would be seen: " + failed;
  }
  if (!failed.empty()) return failed;
  const std::string wrong = compare();
  return wrong.empty() ? "" : name(problem) + " | " + name(run) + ": " + wrong;
}

std::string AttentionCase::compare() const {
  const auto check = [](const char* what, const Array& array, const std::vector<double>& want,
                        const std::vector<double>& tolerance, bool for_rows) {
    const std::string wrong = compare_rows(array, [&](size_t row, size_t d, double* allowed) {
      const size_t at = row * array.shape.dim + d;
      *allowed = tolerance[for_rows ? row : at] + rounding_error(array.type, want[at]);
      return want[at];
    });
    return wrong.empty() ? "" : what + wrong;
  };
  std::string wrong = check("out: ", out_, expected_.out, expected_.out_tolerance, true);
  if (wrong.empty() && problem.lse) wrong = check("lse: ", lse_, expected_.lse, expected_.lse_tolerance, true);
  if (wrong.empty() && problem.stage != FOVEA_SCORES_NONE) {
    wrong = check("scores: ", scores_, expected_.scores, expected_.scores_tolerance, false);
  }
  return wrong;
}

std::vector<float> AttentionCase::entries_of(const Array& output) const {
  std::vector<float> all;
  for (const auto& [b, h, t] :
       indices<size_t>(std::min(args.batch, output.shape.batch), output.shape.heads, output.shape.tokens)) {
    const std::vector<float> row = output.numbers(b, h, t);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

Outputs AttentionCase::outputs() const {
  if (outputs_untouched()) return {};  // the call was refused
  Outputs all;
  all.out = out();
  if (problem.lse) all.lse = lse();
  if (problem.stage != FOVEA_SCORES_NONE) all.scores = scores();
  return all;
}

bool same_bits(const Outputs& a, const Outputs& b) {
  return same_bits(a.out, b.out) && same_bits(a.lse, b.lse) && same_bits(a.scores, b.scores);
}

std::string run_on_all_targets(AttentionCase& test, Budget budget, bool portable_bits) {
  for (const fovea_target target : test.problem.targets()) {
    std::string wrong = test.run({target, budget, portable_bits});
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string run_on_all_targets(const Problem& problem, Budget budget, bool portable_bits) {
  AttentionCase test(problem);
  return run_on_all_targets(test, budget, portable_bits);
}

std::string effect_is_visible(const Problem& with, const Problem& without) {
  AttentionCase on(with), off(without);
  const Attention& a = on.expected();
  const Attention& b = off.expected();
  const size_t dim = with.value_dim;
  for (size_t i = 0; i < a.out.size() && i < b.out.size(); ++i) {
    const double allowed = a.out_tolerance[i / dim] + b.out_tolerance[i / dim];
    if (std::fabs(a.out[i] - b.out[i]) > kVisibleEffect * allowed) return "";
  }
  return "no visible effect: " + name(with);
}

}  // namespace fovea_test
