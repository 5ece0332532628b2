// SPDX-License-Identifier: Apache-2.0
//
// Images of tokens of caches: their bytes, which are the same on all machines; what is continued from them; and what is refused.
#include "ground/base/checksum.h"
#include "platform/platform.h"
#include "simd_tests.h"
#include "support/cache_model.h"
#include "support/formats.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr uint32_t kHeads = 2, kHeadDim = 36, kValueDim = 20, kTokens = 41;

const float* center() {
  static const std::vector<float> numbers = normal_numbers(size_t{kHeads} * kHeadDim, 77);
  return numbers.data();
}

fovea_kv_cache_desc cache_of(fovea_kv_kind kind, fovea_dtype keys, fovea_dtype values) {
  auto c = sized<fovea_kv_cache_desc>();
  c.kind = kind, c.key_dtype = keys, c.value_dtype = values;
  c.batch = 2, c.kv_heads = kHeads, c.head_dim = kHeadDim, c.value_dim = kValueDim, c.max_tokens = 64;
  if (kind == FOVEA_KV_RING) c.pinned_tokens = 5;
  if (kind == FOVEA_KV_PAGED) c.page_tokens = 16, c.pages = 8;
  return c;
}

constexpr fovea_kv_kind kKinds[] = {FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED};

// A cache with its pages, and tokens of normal numbers.
struct Made : CacheModel {
  explicit Made(const fovea_kv_cache_desc& desc, uint32_t tokens = 0) : CacheModel(desc, 5) {
    give_pages(1, 64);
    if (tokens != 0 && append(FOVEA_TARGET_BEST, 1, {tokens}) != FOVEA_OK) std::abort();
  }
};

fovea_kv_image_args args_of(uint32_t first, uint32_t tokens) {
  auto a = sized<fovea_kv_image_args>();
  a.entry = 1, a.first = first, a.tokens = tokens, a.position = first, a.fingerprint = 0x1122334455667788u;
  return a;
}

uint32_t word(const std::vector<uint8_t>& image, size_t i) {
  return image[4 * i] | uint32_t{image[4 * i + 1]} << 8 | uint32_t{image[4 * i + 2]} << 16 |
         uint32_t{image[4 * i + 3]} << 24;
}

// Compares rows of an array of the image at `*at` with those of the cache, and goes on past it.
void check_array(const Made& made, const std::vector<uint8_t>& image, const fovea_kv_image_args& a,
                 const fovea_in& array, size_t unit, size_t units, size_t* at) {
  if (unit == 0) return;
  while (*at % 64 != 0) REQUIRE(int{image[(*at)++]} == 0);
  for (const auto& [head, i] : indices(kHeads, a.tokens)) {
    size_t block = 1, row = a.first + i;
    if (made.cache.kind == FOVEA_KV_RING) row = ring_slot(uint32_t(row), 64, 5);
    if (made.cache.kind == FOVEA_KV_PAGED) {
      block = made.cache.page_table[made.cache.source.page_table_stride + ptrdiff_t(row / 16)], row %= 16;
    }
    CHECK(std::memcmp(image.data() + *at, row_bytes(array, unit, block, head, row), unit * units) == 0);
    *at += unit * units;
  }
}

}  // namespace

TEST_CASE("image: it has the rows of any kind and format where the header says, and any kind takes them", "[short]") {
  for (const auto& [kind, type, option] : every(kKinds, kKeyTypes, {0, 1, 2, 3})) {
    fovea_kv_cache_desc desc = cache_of(kind, type, kKeyTypes[(type + 3) % std::size(kKeyTypes)]);
    if (option == 1) desc.values_in_keys = 9, desc.value_dtype = type;
    if (option == 2)
      desc.key_center = center(), desc.hadamard = FOVEA_HADAMARD_KEYS, desc.hadamard_seed = 0x123456789abcu;
    desc.hadamard_seed |= 4;  // is not read without a rotation
    INFO("kind " << kind << ", " << type_name(type) << ", option " << option);
    Made made(desc, kTokens);
    const fovea_kv_image_args a = option == 3 ? args_of(kTokens, 0) : args_of(7, 30);
    const std::vector<uint8_t> image = made.image(a);
    REQUIRE(image.size() >= 64);
    CHECK(std::memcmp(image.data(), "fok1", 4) == 0);
    const uint32_t parts = option == 1 ? 1 : option == 2 ? 2 : 0;
    const uint32_t sums = crc_of(image), low = option == 2 ? 0x56789abcu : 0, high = option == 2 ? 0x1234u : 0;
    const uint32_t key_type = desc.key_dtype, value_type = desc.value_dtype, rotation = desc.hadamard;
    const uint32_t want[] = {sums,     a.tokens, parts, key_type, value_type, kHeads,     kHeadDim,  kValueDim,
                             rotation, low,      high,  a.first,  0,          0x55667788, 0x11223344};
    for (size_t i = 0; i < std::size(want); ++i) CHECK(word(image, 1 + i) == want[i]);
    size_t at = 64;
    const fovea_kv_source& in = made.cache.source;
    check_array(made, image, a, in.keys, unit_size(type), row_units(type, kHeadDim), &at);
    check_array(made, image, a, in.key_scales, scale_size(type), row_scales(type, kHeadDim), &at);
    if (option != 1) {
      check_array(made, image, a, in.values, unit_size(desc.value_dtype), row_units(desc.value_dtype, kValueDim), &at);
      check_array(made, image, a, in.value_scales, scale_size(desc.value_dtype),
                  row_scales(desc.value_dtype, kValueDim), &at);
    }
    if (option == 2) {
      while (at % 64 != 0) CHECK(int{image[at++]} == 0);
      CHECK(std::memcmp(image.data() + at, center(), sizeof(float) * kHeads * kHeadDim) == 0);
      at += sizeof(float) * kHeads * kHeadDim;
    }
    while (at < image.size() && at % 64 != 0) CHECK(int{image[at++]} == 0);
    CHECK(at == image.size());

    for (const fovea_kv_kind other : kKinds) {
      fovea_kv_cache_desc into = cache_of(other, desc.key_dtype, desc.value_dtype);
      into.values_in_keys = desc.values_in_keys != 0, into.hadamard = desc.hadamard,
      into.hadamard_seed = desc.hadamard_seed;
      const std::vector<float> equal(center(), center() + size_t{kHeads} * kHeadDim);
      if (option == 2) into.key_center = equal.data();
      Made to(into, a.first);
      REQUIRE(to.take_in(a, image, made, a) == FOVEA_OK);
      CHECK(to.check(FOVEA_TARGET_BEST) == "");
      CHECK(to.image(a) == image);
    }
  }
}

TEST_CASE("image: its checksum is that of a division bit by bit, whatever its length") {
  for (const size_t bytes : {64u, 4799u, 9599u, 9600u, 9601u, 9615u, 14400u, 14415u, 30001u}) {
    INFO(bytes << " bytes");
    std::vector<uint8_t> image(bytes);
    for (size_t i = 0; i < bytes; ++i) image[i] = uint8_t(random_bits(bytes, i));
    CHECK(fovea::fast_checksum(image.data(), bytes) == crc_of(image));
    CHECK(fovea::small_checksum(image.data(), bytes) == crc_of(image));
  }
}

TEST_CASE("image: a prompt goes on with the same bits on all machines", "[short]") {
  // Of the image, and of attention over it and what came after. Images that a PC made have this digest, too.
  constexpr uint64_t kImage = 0xe2cf797117b008e0u, kContinued = 0x6e3cfb1b4c09a5a0u;
  const auto desc_of = [](fovea_kv_kind kind) {
    fovea_kv_cache_desc desc = cache_of(kind, FOVEA_I8, FOVEA_Q8_0);
    desc.batch = 1, desc.key_center = center(), desc.hadamard = FOVEA_HADAMARD_VALUES;
    return desc;
  };
  const size_t row = size_t{kHeads} * kHeadDim;
  const std::vector<float> keys = normal_numbers(row * 60, 1),
                           values = normal_numbers(size_t{kHeads} * kValueDim * 60, 2);
  const auto append = [&](Cache& cache, uint32_t first, uint32_t tokens) {
    std::vector<float> room(row);
    auto a = sized<fovea_kv_append_args>();
    a.batch = 1, a.tokens = tokens, a.workspace = room.data(), a.workspace_bytes = row * sizeof(float);
    a.keys = {keys.data() + first * kHeadDim, 0, 60 * kHeadDim, kHeadDim};
    a.values = {values.data() + first * kValueDim, 0, 60 * kValueDim, kValueDim};
    REQUIRE(fovea_kv_append(cache, &a) == FOVEA_OK);
  };
  OwnedCache prompt(desc_of(FOVEA_KV_STRIDED));
  append(prompt, 0, kTokens);
  fovea_kv_image_args image_args = args_of(0, kTokens);
  image_args.entry = 0;
  std::vector<uint8_t> image(bytes_of(fovea_kv_image_bytes, prompt, kTokens));
  REQUIRE(fovea_kv_export(prompt, &image_args, image.data(), image.size()) == FOVEA_OK);
  CHECK(hash_bytes(image.data(), image.size()) == kImage);

  for (const auto& [target, kind, in_place] : every(targets_and_those_that_extend_them(), kKinds, {false, true})) {
    INFO(fovea_target_name(target) << ", kind " << kind << ", in place " << in_place);
    fovea_kv_cache_desc kept = desc_of(kind);
    if (in_place) kept.pinned_tokens = 0;
    OwnedCache cache(kept);
    for (ptrdiff_t i = 0; cache.page_table != nullptr && i < cache.source.page_table_stride; ++i)
      cache.page_table[i] = uint32_t(7 - i);
    auto prefix = sized<fovea_kv_prefix>();
    const fovea_kv_prefix* const prefixes[] = {&prefix};
    if (in_place) {
      REQUIRE(fovea_kv_image_prefix(cache, &image_args, image.data(), image.size(), &prefix) == FOVEA_OK);
    } else {
      REQUIRE(fovea_kv_import(cache, &image_args, image.data(), image.size()) == FOVEA_OK);
    }
    append(cache, kTokens, 19);
    auto desc = sized<fovea_attention_desc>();
    desc.q_heads = 2 * kHeads, desc.max_q_tokens = 3, desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, desc.target = target;
    desc.compute = FOVEA_COMPUTE_I8, desc.portable_bits = 1, desc.allow_evicted = kind == FOVEA_KV_RING;
    desc.processor_features = fovea::platform::processor_features();
    REQUIRE(fovea_kv_describe(cache, &desc) == FOVEA_OK);
    if (in_place) desc.max_prefix_tokens = kTokens, desc.max_kv_tokens = 64;
    const fovea_attention_plan plan = plan_of(desc);
    const std::vector<float> q = normal_numbers(size_t{2} * kHeads * 3 * kHeadDim, 3);
    std::vector<float> out(size_t{2} * kHeads * 3 * kValueDim);
    auto args = sized<fovea_attention_args>();
    args.q_tokens = 3, args.q = {q.data(), 0, 3 * kHeadDim, kHeadDim},
    args.out = {out.data(), 0, 3 * kValueDim, kValueDim};
    REQUIRE(fovea_kv_attach(cache, &args) == FOVEA_OK);
    if (in_place) args.kv.prefixes = prefixes;
    const Guarded workspace(made(plan).workspace_bytes, 64, Placement::kEnd);
    REQUIRE(fovea_attention(&plan, &args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
    CHECK(hash_bits(kHashOfNothing, out) == kContinued);
  }
}

TEST_CASE("image: what is refused as an image is refused as a prefix, which is then not written", "[short]") {
  const Made from(cache_of(FOVEA_KV_STRIDED, FOVEA_I8, FOVEA_F16), 20);
  const fovea_kv_image_args right = args_of(3, 17);
  const std::vector<uint8_t> whole = from.image(right);
  const auto prefix_of = [&](const fovea_kv_image_args& a, const std::vector<uint8_t>& image, size_t bytes) {
    const Guarded prefix(sizeof(fovea_kv_prefix), alignof(fovea_kv_prefix), Placement::kEnd);
    auto* const to = prefix.as<fovea_kv_prefix>();
    const fovea_status status = fovea_kv_image_prefix(from.cache, &a, image.data(), bytes, to);
    CHECK(prefix.untouched() == (status != FOVEA_OK));
    if (status != FOVEA_OK) return status;
    CHECK((to->struct_bytes == sizeof *to && to->tokens == a.tokens));
    const auto* const first = static_cast<const uint8_t*>(to->keys.data);
    CHECK((first == image.data() + 64 && to->keys.token_stride == kHeadDim && to->keys.head_stride == 17 * kHeadDim));
    CHECK(to->value_scales.data == nullptr);
    return status;
  };
  CHECK(prefix_of(right, whole, whole.size()) == FOVEA_OK);
  const auto with = [&](void (*change)(fovea_kv_image_args&)) {
    fovea_kv_image_args a = right;
    change(a);
    return prefix_of(a, whole, whole.size());
  };
  CHECK(with([](auto& a) { a.tokens = 5; }) == FOVEA_OK);
  CHECK(with([](auto& a) { a.entry = a.first = 0xffffffffu; }) == FOVEA_OK);  // are not read
  CHECK(with([](auto& a) { a.tokens = 18; }) == FOVEA_ERR_LENGTH);
  CHECK(with([](auto& a) { a.position += 1; }) == FOVEA_ERR_STATE);
  CHECK(with([](auto& a) { a.fingerprint += 1; }) == FOVEA_ERR_STATE);
  CHECK(with([](auto& a) { a.struct_bytes -= 1; }) == FOVEA_ERR_STRUCT);
  CHECK(prefix_of(right, whole, whole.size() - 1) == FOVEA_ERR_IMAGE);
  std::vector<uint8_t> changed = whole;
  changed.at(70) = uint8_t(changed[70] ^ 4);
  CHECK(prefix_of(right, changed, whole.size()) == FOVEA_ERR_IMAGE);
  auto prefix = sized<fovea_kv_prefix>();
  CHECK(fovea_kv_image_prefix(from.cache, &right, whole.data(), whole.size(), nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_image_prefix(from.cache, nullptr, whole.data(), whole.size(), &prefix) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_image_prefix(from.cache, &right, nullptr, whole.size(), &prefix) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_image_prefix(nullptr, &right, whole.data(), whole.size(), &prefix) == FOVEA_ERR_NULL);
}

TEST_CASE("image: a ring goes into one of its pinned tokens and one of the newest, and comes back", "[short]") {
  Made ring(cache_of(FOVEA_KV_RING, FOVEA_I4, FOVEA_F16));
  for (int i = 0; i < 4; ++i) REQUIRE(ring.append(FOVEA_TARGET_BEST, 1, {45}) == FOVEA_OK);
  const uint32_t oldest = ring.cache.first_tokens[1];
  REQUIRE(oldest == 180 - 59);
  const fovea_kv_image_args first = args_of(0, 5), last = args_of(oldest, 59);
  const std::vector<uint8_t> pinned = ring.image(first), newest = ring.image(last);
  CHECK(ring.image(args_of(0, 6)).empty());
  CHECK(ring.image(args_of(oldest - 1, 1)).empty());
  OwnedCache back(cache_of(FOVEA_KV_RING, FOVEA_I4, FOVEA_F16));
  REQUIRE(fovea_kv_import(back, &first, pinned.data(), pinned.size()) == FOVEA_OK);
  REQUIRE(fovea_kv_set_length(back, 1, oldest, oldest) == FOVEA_OK);
  REQUIRE(fovea_kv_import(back, &last, newest.data(), newest.size()) == FOVEA_OK);
  CHECK((back.lengths[1] == 180 && back.first_tokens[1] == oldest));
  const auto at = [](const OwnedCache& cache, const fovea_in& array) {
    return static_cast<const uint8_t*>(array.data) + cache.source.keys.batch_stride;
  };
  CHECK(std::memcmp(at(back, back.source.keys), at(ring.cache, ring.cache.source.keys),
                    size_t(back.source.keys.batch_stride)) == 0);

  // What a ring has no slots for is as if it had been appended: the pinned tokens stay, and the newest.
  fovea_kv_cache_desc large = cache_of(FOVEA_KV_STRIDED, FOVEA_I4, FOVEA_F16);
  large.max_tokens = 300;
  Made all(large, 200), to(cache_of(FOVEA_KV_RING, FOVEA_I4, FOVEA_F16), 3);
  const fovea_kv_image_args rest = args_of(3, 197);
  REQUIRE(to.take_in(rest, all.image(rest), all, rest) == FOVEA_OK);
  CHECK(to.check(FOVEA_TARGET_BEST) == "");
  const fovea_kv_image_args some = args_of(150, 50);
  CHECK(to.image(some) == all.image(some));
}

TEST_CASE("image: one that is damaged, cut or of another cache is refused, and nothing is written", "[short]") {
  fovea_kv_cache_desc desc = cache_of(FOVEA_KV_PAGED, FOVEA_I8, FOVEA_F32);
  desc.key_center = center(), desc.hadamard = FOVEA_HADAMARD_BOTH, desc.hadamard_seed = 3;
  Made from(desc, 20);
  const fovea_kv_image_args right = args_of(0, 3);
  const std::vector<uint8_t> whole = from.image(right);
  const auto import_to = [&](OwnedCache& to, const fovea_kv_image_args& a, const std::vector<uint8_t>& bytes) {
    const Guarded image(bytes.size(), 1, Placement::kEnd);
    std::copy(bytes.begin(), bytes.end(), image.as<uint8_t>());
    const std::vector<uint8_t> before = to.bytes();
    const fovea_status status = fovea_kv_import(to, &a, image.as<void>(), image.bytes());
    if (status != FOVEA_OK) CHECK(to.bytes() == before);
    return status;
  };
  Made to(desc);
  std::vector<uint8_t> bytes = whole;
  for (size_t i = 0; i < whole.size(); ++i) {
    INFO(i);
    bytes[i] = uint8_t(bytes[i] ^ 1u << i % 8);
    CHECK(import_to(to.cache, right, bytes) == (i >= 12 && i < 48 ? FOVEA_ERR_SIZE : FOVEA_ERR_IMAGE));
    bytes[i] = whole[i];
  }
  for (size_t count = 0; count < whole.size(); count += count < 70 ? 1 : 23) {
    CHECK(import_to(to.cache, right, {whole.begin(), whole.begin() + ptrdiff_t(count)}) == FOVEA_ERR_IMAGE);
  }
  bytes.resize(whole.size() + 9);  // more than the image
  OwnedCache longer(desc);
  for (uint32_t i = 0; i < 8; ++i) longer.page_table[i] = i;
  CHECK(import_to(longer, right, bytes) == FOVEA_OK);

  const auto import_into = [&](void (*change)(fovea_kv_cache_desc&)) {
    fovea_kv_cache_desc other = cache_of(FOVEA_KV_STRIDED, FOVEA_I8, FOVEA_F32);
    other.key_center = center(), other.hadamard = FOVEA_HADAMARD_BOTH, other.hadamard_seed = 3;
    change(other);
    OwnedCache cache(other);
    return import_to(cache, right, whole);
  };
  static const std::vector<float> others = normal_numbers(size_t{kHeads} * kHeadDim, 78);
  CHECK(import_into([](auto&) {}) == FOVEA_OK);
  CHECK(import_into([](auto& c) { c.key_dtype = FOVEA_F16; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.value_dtype = FOVEA_I8; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.kv_heads = 1; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.head_dim = 35; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.value_dim = 21; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.hadamard = FOVEA_HADAMARD_KEYS; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.hadamard_seed = 4; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.key_center = nullptr; }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) { c.key_center = others.data(); }) == FOVEA_ERR_SIZE);
  CHECK(import_into([](auto& c) {
          c.key_center = nullptr, c.hadamard = FOVEA_HADAMARD_NONE, c.values_in_keys = 1, c.value_dtype = FOVEA_I8;
        }) == FOVEA_ERR_SIZE);

  const auto import_with = [&](void (*change)(fovea_kv_image_args&)) {
    fovea_kv_image_args a = right;
    change(a);
    return import_to(to.cache, a, whole);
  };
  CHECK(import_with([](auto& a) { a.struct_bytes -= 1; }) == FOVEA_ERR_STRUCT);
  CHECK(import_with([](auto& a) { a.entry = 2; }) == FOVEA_ERR_CAPACITY);
  CHECK(import_with([](auto& a) { a.entry = 0; }) == FOVEA_ERR_FULL);  // has no pages
  CHECK(import_with([](auto& a) { a.first = 1; }) == FOVEA_ERR_LENGTH);
  CHECK(import_with([](auto& a) { a.tokens = 4; }) == FOVEA_ERR_LENGTH);
  CHECK(import_with([](auto& a) { a.position = 1; }) == FOVEA_ERR_STATE);
  CHECK(import_with([](auto& a) { a.fingerprint ^= uint64_t{1} << 63; }) == FOVEA_ERR_STATE);
  uint32_t& page = to.cache.page_table[to.cache.source.page_table_stride];
  const uint32_t old = page;
  page = 8;
  CHECK(import_to(to.cache, right, whole) == FOVEA_ERR_PAGE);
  page = old;
  CHECK(import_with([](auto& a) { a.tokens = 2; }) == FOVEA_OK);
  CHECK(to.cache.lengths[1] == 2);
}

TEST_CASE("image: every misuse has its status", "[short]") {
  fovea_kv_cache_desc desc = cache_of(FOVEA_KV_PAGED, FOVEA_F32, FOVEA_I8);
  const size_t numbers = size_t{kHeads} * kHeadDim;
  const Guarded memory(4096, 64, Placement::kStart);  // an image, and a centre after it
  auto* const mean = reinterpret_cast<float*>(memory.as<char>() + 2048);
  std::memcpy(mean, center(), numbers * sizeof(float));
  desc.key_center = mean;
  Made made(desc, 20);
  const fovea_kv_image_args right = args_of(2, 3);
  const size_t needed = bytes_of(fovea_kv_image_bytes, made.cache, 3);
  const auto export_with = [&](void (*change)(fovea_kv_image_args&)) {
    fovea_kv_image_args a = right;
    change(a);
    const Guarded image(needed, 1, Placement::kEnd);
    const fovea_status status = fovea_kv_export(made.cache, &a, image.as<void>(), needed);
    CHECK((status == FOVEA_OK || image.untouched()));
    return status;
  };
  CHECK(export_with([](auto&) {}) == FOVEA_OK);
  CHECK(export_with([](auto& a) { a.struct_bytes -= 1; }) == FOVEA_ERR_STRUCT);
  CHECK(export_with([](auto& a) { a.entry = 2; }) == FOVEA_ERR_CAPACITY);
  CHECK(export_with([](auto& a) { a.first = 18; }) == FOVEA_ERR_LENGTH);
  CHECK(export_with([](auto& a) { a.first = 21, a.tokens = 0; }) == FOVEA_ERR_LENGTH);
  CHECK(export_with([](auto& a) { a.tokens = 19; }) == FOVEA_ERR_LENGTH);
  CHECK(export_with([](auto& a) { a.tokens = 0xffffffffu; }) == FOVEA_ERR_LENGTH);
  CHECK(export_with([](auto& a) { a.tokens = 4; }) == FOVEA_ERR_STATE);
  uint32_t* const pages = made.cache.page_table + made.cache.source.page_table_stride;
  const uint32_t old = pages[1];
  pages[1] = FOVEA_NO_PAGE;
  CHECK(export_with([](auto& a) { a.first = 14; }) == FOVEA_ERR_FULL);
  CHECK(export_with([](auto& a) { a.first = 13; }) == FOVEA_OK);
  pages[1] = 8;
  CHECK(export_with([](auto& a) { a.first = 17; }) == FOVEA_ERR_PAGE);
  pages[1] = old;

  std::vector<uint8_t> image(needed);
  CHECK(fovea_kv_export(made.cache, &right, image.data(), needed - 1) == FOVEA_ERR_STATE);
  CHECK(fovea_kv_export(made.cache, &right, nullptr, needed) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_export(made.cache, nullptr, image.data(), needed) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_export(nullptr, &right, image.data(), needed) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_export(made.cache, &right, made.cache.rows.as<char>() + 64, needed) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_kv_export(made.cache, &right, memory.as<char>() + 2048 - needed + 1, needed) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_kv_import(made.cache, nullptr, image.data(), needed) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_import(made.cache, &right, nullptr, needed) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_import(nullptr, &right, image.data(), needed) == FOVEA_ERR_NULL);
  CHECK(refusal_of(fovea_kv_image_bytes, nullptr, 3) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_image_bytes(made.cache, 3, nullptr) == FOVEA_ERR_NULL);
  CHECK(refusal_of(fovea_kv_image_bytes, made.cache, (1u << 30) + 1) == FOVEA_ERR_SIZE);
  Cache raw = desc;
  CHECK(fovea_kv_export(raw, &right, image.data(), needed) == FOVEA_ERR_PLAN);
  CHECK(fovea_kv_import(raw, &right, image.data(), needed) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_kv_image_bytes, raw, 3) == FOVEA_ERR_PLAN);

  // A whole image in the cache's memory.
  REQUIRE(fovea_kv_export(made.cache, &right, image.data(), needed) == FOVEA_OK);
  fovea_kv_image_args again = right;
  again.first = made.length(1);
  std::memcpy(made.cache.rows.as<char>() + 1024, image.data(), needed);
  CHECK(fovea_kv_import(made.cache, &again, made.cache.rows.as<char>() + 1024, needed) == FOVEA_ERR_OVERLAP);
}

}  // namespace fovea_test
