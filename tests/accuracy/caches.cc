// SPDX-License-Identifier: Apache-2.0
//
// What rotation and a centre of keys leave of the errors of caches, how far key mass is from its sums in double, and what shifts
// of keys add up to.
#include "accuracy/accuracy.h"
#include "support/key_mass.h"
#include "support/reference.h"
#include "support/rotated.h"

namespace fovea_test {
namespace {

constexpr uint32_t kDraws = 4, kQueries = 32, kKeys = 1024, kDim = 64;
constexpr uint64_t kSeed = 1;

enum class Data { kNormal, kOutliers, kBiased };
struct Drawn {
  Numbers q, keys, values;
};
Drawn draw(Data data, uint64_t seed) {
  Drawn d = {normal(kQueries * kDim, seed), normal(kKeys * kDim, seed + 1), normal(kKeys * kDim, seed + 2)};
  for (size_t i = 0; i < d.keys.size(); ++i) {
    if (data == Data::kOutliers && random_bits(seed + 3, i) % 100 == 0) d.keys[i] *= 10;
    if (data == Data::kOutliers && random_bits(seed + 4, i) % 100 == 0) d.values[i] *= 10;
  }
  constexpr float kBias[] = {12, -9, 15, -7};
  for (const auto& [i, e] : indices<size_t>(data == Data::kBiased ? kKeys : 0, 4))
    d.keys[i * kDim + 5 + 16 * e] += kBias[e];
  return d;
}

// What the library makes of it over a cache. A centre is the mean of all keys.
Numbers attend(const Drawn& d, fovea_dtype type, fovea_hadamard_rows rotation, bool centred) {
  constexpr auto kRow = ptrdiff_t{kDim};
  Numbers center(kDim), turned = d.keys, room(size_t{kDim} * 64), out(d.q.size());
  if (centred) {
    if (rotation != FOVEA_HADAMARD_NONE) must(rotate_rows(turned.data(), kKeys, kDim, kSeed));
    uint64_t count = 0;
    const fovea_in rows = {turned.data(), 0, 0, kRow};
    must(fovea_kv_center(center.data(), &count, &rows, 1, 1, kKeys, kDim));
  }
  auto kept = sized<fovea_kv_cache_desc>();
  kept.key_dtype = kept.value_dtype = type;
  kept.batch = kept.kv_heads = 1, kept.head_dim = kept.value_dim = kDim, kept.max_tokens = kKeys;
  kept.hadamard = rotation, kept.hadamard_seed = kSeed;
  if (centred) kept.key_center = center.data();
  const Guarded memory(bytes_of(fovea_kv_cache_bytes, &kept), 64, Placement::kStart);
  fovea_kv_cache cache;
  must(fovea_kv_cache_init(&cache, &kept, memory.as<void>(), memory.bytes()));
  auto append = sized<fovea_kv_append_args>();
  append.batch = 1, append.tokens = kKeys;
  append.keys = {d.keys.data(), 0, 0, kRow}, append.values = {d.values.data(), 0, 0, kRow};
  append.workspace = room.data(), append.workspace_bytes = room.size() * sizeof(float);
  must(fovea_kv_append(&cache, &append));
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = 1, desc.max_q_tokens = kQueries, desc.compute = FOVEA_COMPUTE_I8;
  must(fovea_kv_describe(&cache, &desc));
  fovea_attention_plan plan{};
  must(fovea_attention_plan_init(&plan, &desc));
  const Guarded workspace(fovea::made(plan).workspace_bytes, 64, Placement::kStart);
  auto args = sized<fovea_attention_args>();
  args.q_tokens = kQueries;
  args.q = {d.q.data(), 0, 0, kRow}, args.out = {out.data(), 0, 0, kRow};
  must(fovea_kv_attach(&cache, &args));
  must(fovea_attention(&plan, &args, workspace.as<void>(), workspace.bytes()));
  return out;
}

struct Row {
  const char* name;
  fovea_dtype type;
  Data data;
  double most;
};
constexpr Row kRows[] = {
    {"int8", FOVEA_I8, Data::kNormal, 0.00019},    {"int8", FOVEA_I8, Data::kOutliers, 0.00028},
    {"int8", FOVEA_I8, Data::kBiased, 0.00019},    {"q8_0", FOVEA_Q8_0, Data::kNormal, 0.00022},
    {"q8_0", FOVEA_Q8_0, Data::kOutliers, 0.0003}, {"q8_0", FOVEA_Q8_0, Data::kBiased, 0.00022},
    {"int4", FOVEA_I4, Data::kNormal, 0.018},      {"int4", FOVEA_I4, Data::kOutliers, 0.028},
    {"int4", FOVEA_I4, Data::kBiased, 0.018},      {"q4_0", FOVEA_Q4_0, Data::kNormal, 0.018},
    {"q4_0", FOVEA_Q4_0, Data::kOutliers, 0.028},  {"q4_0", FOVEA_Q4_0, Data::kBiased, 0.018},
};
constexpr const char* kDataNames[] = {"normal", "elements ten times as large", "keys with biased channels"};

bool show(const Row& row) {
  double errors[4] = {}, squares = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const Drawn drawn = draw(row.data, 8 * i);
    const std::vector<double> right = attend_in_double(drawn.q, drawn.keys, drawn.values, kDim);
    for (const double x : right) squares += x * x;
    for (size_t k = 0; k < 4; ++k) {
      const fovea_hadamard_rows rotation = k % 2 != 0 ? FOVEA_HADAMARD_BOTH : FOVEA_HADAMARD_NONE;
      const Numbers got = attend(drawn, row.type, rotation, k >= 2);
      for (size_t e = 0; e < got.size(); ++e) errors[k] += (double{got[e]} - right[e]) * (double{got[e]} - right[e]);
    }
  }
  for (double& error : errors) error /= squares;
  std::printf("| %s | %s | %.2g | %.2g | %.2g | %.2g | %.2g |\n", row.name, kDataNames[size_t(row.data)], errors[0],
              errors[1], errors[2], errors[3], row.most);
  const double of_large = row.data == Data::kOutliers ? errors[1] / (0.6 * errors[0]) : 0;
  const double of_biased = row.data == Data::kBiased ? 8 * errors[2] / errors[0] : 0;
  return is_within(std::string("a cache of ") + row.name, std::max({errors[3] / row.most, of_large, of_biased}));
}

struct MassRow {
  const char *keys, *arithmetic;
  fovea_dtype type;
  bool integers;
  uint32_t queries;
};
constexpr MassRow kMassRows[] = {
    {"f32", "f32", FOVEA_F32, false, 1},     {"f32", "f32", FOVEA_F32, false, 64},
    {"int8", "f32", FOVEA_I8, false, 1},     {"int8", "f32", FOVEA_I8, false, 64},
    {"int8", "integers", FOVEA_I8, true, 1}, {"int8", "integers", FOVEA_I8, true, 64},
};

bool show(const MassRow& row) {
  Problem p;
  p.q_heads = 8, p.kv_heads = 2, p.q_tokens = row.queries, p.kv_tokens = 512, p.head_dim = p.value_dim = 64;
  p.key_dtype = p.value_dtype = row.type;
  if (row.integers) p = p.with_integers();
  AttentionCase test(p);
  const KeyMass want = key_mass(test.desc, test.truth(), row.queries);
  double largest = 0, squares = 0, of_bound = 0, most = 0;
  size_t count = 0;
  for (const fovea_target target : p.targets()) {
    Numbers mass(want.mass.size());
    const auto head = ptrdiff_t(p.kv_tokens);
    test.desc.key_mass_queries = row.queries;
    test.args.key_mass = {mass.data(), head * ptrdiff_t(p.kv_heads), head, 0};
    if (!test.run_unchecked({target}).empty()) std::abort();
    for (size_t i = 0; i < mass.size(); ++i) {
      const double error = std::fabs(double{mass[i]} - want.mass[i]);
      const double roundings = (4 + 0.5 * row.queries * (p.q_heads / p.kv_heads)) * double{kEpsilon};
      most = std::max(most, want.mass[i]);
      largest = std::max(largest, error), squares += error * error, ++count;
      of_bound = std::max(of_bound, error / (want.tolerance[i] + roundings * want.mass[i]));
    }
  }
  std::printf("| %s | %s | %u | %.2g | %.2g | %.2g | %.2f |\n", row.keys, row.arithmetic, row.queries, most, largest,
              std::sqrt(squares / double(count)), of_bound);
  return is_within(std::string("key mass over ") + row.keys, of_bound);
}

struct ShiftRow {
  const char* name;
  fovea_dtype type;
  double most;
};
constexpr ShiftRow kShiftRows[] = {{"f32", FOVEA_F32, 1e-11}, {"f16", FOVEA_F16, 4e-5},    {"bf16", FOVEA_BF16, 4e-3},
                                   {"int8", FOVEA_I8, 0.025}, {"q8_0", FOVEA_Q8_0, 0.015}, {"int4", FOVEA_I4, 1.2},
                                   {"q4_0", FOVEA_Q4_0, 1.2}};

// The error of keys that are appended 700 positions too early, and moved by `shifts` shifts to where they belong; 0: there at once.
double shift_error(fovea_dtype type, fovea_hadamard_rows rotation, int shifts) {
  uint64_t turns[kDim / 2];
  must(fovea_rope_frequencies(turns, 0, 0, kDim));
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = kDim, rope.turns = turns;
  if (shifts == 0) rope.position_offset = 700;
  const Numbers keys = normal(kKeys * kDim, 31);
  Numbers room(size_t{kDim} * 64);
  auto kept = sized<fovea_kv_cache_desc>();
  kept.key_dtype = type, kept.value_dtype = FOVEA_F32, kept.hadamard = rotation, kept.hadamard_seed = kSeed;
  kept.batch = kept.kv_heads = kept.value_dim = 1, kept.head_dim = kDim, kept.max_tokens = kKeys;
  const Guarded memory(bytes_of(fovea_kv_cache_bytes, &kept), 64, Placement::kStart);
  fovea_kv_cache cache;
  must(fovea_kv_cache_init(&cache, &kept, memory.as<void>(), memory.bytes()));
  auto append = sized<fovea_kv_append_args>();
  append.batch = 1, append.tokens = kKeys, append.rope = &rope;
  append.keys = {keys.data(), 0, 0, ptrdiff_t{kDim}}, append.values = {keys.data(), 0, 0, 1};
  append.workspace = room.data(), append.workspace_bytes = room.size() * sizeof(float);
  must(fovea_kv_append(&cache, &append));
  auto shift = sized<fovea_kv_shift_args>();
  shift.tokens = kKeys, shift.rope = &rope, shift.workspace = room.data(),
  shift.workspace_bytes = append.workspace_bytes;
  shift.difference = shifts == 0 ? 0 : 700 / shifts;
  for (int i = 0; i < shifts; ++i) must(fovea_kv_shift(&cache, &shift));

  const fovea_kv_source& source = fovea_kv_cache_arrays(&cache)->source;
  Error error;
  for (size_t t = 0; t < kKeys; ++t) {
    Numbers got(kDim);
    const auto* const units =
        static_cast<const uint8_t*>(source.keys.data) + t * row_units(type, kDim) * unit_size(type);
    const auto* const scales = static_cast<const uint8_t*>(source.key_scales.data);
    const size_t scale_bytes = row_scales(type, kDim) * scale_size(type);
    for (size_t d = 0; d < kDim; ++d)
      got[d] = element_of(type, units, scale_bytes != 0 ? scales + t * scale_bytes : nullptr, d);
    if (rotation != FOVEA_HADAMARD_NONE) must(rotate_rows(got.data(), 1, kDim, kSeed, true));
    for (size_t d = 0; d < kDim / 2; ++d) {
      const double angle = std::ldexp(double(turns[d] * (t + 700)), -64) * 2 * std::acos(-1.0);
      const double x = double{keys[t * kDim + d]}, y = double{keys[t * kDim + kDim / 2 + d]};
      error.add(double{got[d]}, x * std::cos(angle) - y * std::sin(angle));
      error.add(double{got[kDim / 2 + d]}, y * std::cos(angle) + x * std::sin(angle));
    }
  }
  return error.normalised();
}

bool show(const ShiftRow& row) {
  const double many = shift_error(row.type, FOVEA_HADAMARD_NONE, 100);
  const double rotated = shift_error(row.type, FOVEA_HADAMARD_KEYS, 100);
  std::printf("| %s | %.2g | %.2g | %.2g | %.2g | %.2g |\n", row.name, shift_error(row.type, FOVEA_HADAMARD_NONE, 0),
              shift_error(row.type, FOVEA_HADAMARD_NONE, 1), many, rotated, row.most);
  return is_within(std::string("100 shifts of keys of ") + row.name, std::max(many, rotated) / row.most);
}

}  // namespace

bool show_caches() {
  bool right = true;
  begin_table("Rotated and centred caches");
  for (const Row& row : kRows) right = show(row) && right;
  begin_table("Key mass");
  for (const MassRow& row : kMassRows) right = show(row) && right;
  begin_table("Shifted keys");
  for (const ShiftRow& row : kShiftRows) right = show(row) && right;
  return right;
}

}  // namespace fovea_test
