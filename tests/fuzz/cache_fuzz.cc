// SPDX-License-Identifier: Apache-2.0
//
// Caches of any shape: whatever is put in, taken back and put in again is there, and what has no room changes nothing.
#include <algorithm>
#include <vector>

#include "fuzz/fuzz.h"
#include "support/cache_model.h"
#include "support/formats.h"
#include "support/problem.h"

namespace fovea_test {
namespace {

fovea_kv_cache cache_of(Bytes& bytes) {
  auto c = sized<fovea_kv_cache>();
  c.kind = bytes.choose({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED});
  c.key_dtype = bytes.choose(kKeyTypes);
  c.value_dtype = bytes.choose(kKeyTypes);
  c.batch = 1 + bytes.below(3);
  c.kv_heads = 1 + bytes.below(2);
  c.head_dim = 1 + bytes.below(40), c.value_dim = 1 + bytes.below(40);
  c.max_tokens = 1 + bytes.below(150);
  c.pinned_tokens = bytes.below(c.max_tokens);
  if (c.kind == FOVEA_KV_PAGED) c.page_tokens = 1 + bytes.below(40), c.pages = 1 + bytes.below(40);
  c.values_in_keys = bytes.below(4) == 1;
  if (c.values_in_keys != 0) c.value_dtype = c.key_dtype, c.value_dim = std::min(c.value_dim, c.head_dim);
  static const std::vector<float> center = [] {
    std::vector<float> numbers(size_t{2} * 40);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = random_uniform(9, i, -2.0f, 2.0f);
    return numbers;
  }();
  if (bytes.below(4) == 1 && c.values_in_keys == 0) c.key_center = center.data();
  if (bytes.below(4) == 1 && c.values_in_keys == 0) {
    c.rotation = bytes.choose({FOVEA_ROTATION_KEYS, FOVEA_ROTATION_VALUES, FOVEA_ROTATION_BOTH});
    c.rotation_seed = bytes.take<uint8_t>();
  }
  return c;
}

// A cache whose entries may be copied from the first, of any kind.
fovea_kv_cache beside(fovea_kv_cache c, Bytes& bytes) {
  const fovea_kv_cache drawn = cache_of(bytes);
  if (bytes.flag()) return c;
  c.kind = drawn.kind, c.batch = drawn.batch, c.max_tokens = drawn.max_tokens;
  c.pinned_tokens = drawn.pinned_tokens, c.page_tokens = drawn.page_tokens, c.pages = drawn.pages;
  return c;
}

void copy(Bytes& bytes, CacheModel& to, const CacheModel& from) {
  const uint32_t entry = bytes.below(to.cache.batch), from_entry = bytes.below(from.cache.batch);
  const uint32_t tokens = bytes.below(from.length(from_entry) + 2), length = to.length(entry);
  if (tokens > length && bytes.below(8) != 0) to.give_pages(entry, tokens - length);
  const fovea_status wanted = to.may_copy(entry, from, from_entry, tokens);
  expect(to.copy(entry, from, from_entry, tokens) == wanted, "copy has another status");
}

// Keeps some tokens that are there. Pages that the table lacks are the check's business.
fovea_status compact(Bytes& bytes, CacheModel& model, uint32_t entry) {
  std::vector<uint32_t> kept;
  const uint32_t dense = 1 + bytes.below(4), offset = bytes.below(7);
  for (uint32_t token = 0; token < model.length(entry); ++token) {
    const bool gone = token >= model.cache.pinned_tokens && token < model.oldest(entry);
    if (!gone && (token + offset) * 2654435761u / 65536 % 4 < dense) kept.push_back(token);
  }
  return model.compact(entry, kept);
}

}  // namespace

void run(Bytes bytes) {
  const fovea_kv_cache empty = cache_of(bytes);
  CacheModel model(empty, bytes.take<uint16_t>());
  CacheModel other(beside(empty, bytes), 1);
  const std::vector<fovea_target> all = targets();
  // The check after each operation looks at all tokens.
  for (int operations = 0; operations < 24 && !bytes.empty(); ++operations) {
    const fovea_target target = all[bytes.below(uint32_t(all.size()))];
    const uint32_t entry = bytes.below(empty.batch);
    fovea_status status = FOVEA_OK;
    switch (bytes.below(11)) {
      case 0: {
        const uint32_t to = bytes.below(model.length(entry) + 2);
        const bool wrong = to > model.length(entry) || model.loses(entry, to);
        status = model.truncate(entry, to);
        expect(status == (wrong ? FOVEA_ERR_LENGTH : FOVEA_OK), "truncate has another status");
        break;
      }
      case 1:
        status = model.reset(bytes.below(4) == 0 ? FOVEA_ALL_ENTRIES : entry);
        expect(status == FOVEA_OK, "reset has another status");
        break;
      case 2: copy(bytes, model, model); break;
      case 3:
        if (bytes.flag()) {
          copy(bytes, model, other);
        } else {
          copy(bytes, other, model);
          expect(other.check(target));
        }
        break;
      case 4: {
        const uint32_t to = bytes.below(model.length(entry) + 1);
        status = model.take_back_and_restore(entry, to);
        expect(status == (model.loses(entry, to) ? FOVEA_ERR_LENGTH : FOVEA_OK), "set_length has another status");
        break;
      }
      case 5: expect(model.restore() == FOVEA_OK, "a copy of the memory is refused"); break;
      case 10: expect(compact(bytes, model, entry) == FOVEA_OK, "compact is refused"); break;
      default: {
        std::vector<uint32_t> counts(1 + bytes.below(empty.batch - entry));
        bool fits = true;
        const bool pages = bytes.below(8) != 0;
        for (uint32_t b = 0; b < counts.size(); ++b) {
          counts[b] = bytes.below(bytes.below(4) == 0 ? 100 : 12);
          if (pages) model.give_pages(entry + b, counts[b]);
          fits = fits && model.fits(entry + b, counts[b]);
        }
        const std::vector<uint8_t> full(model.memory.as<uint8_t>(), model.memory.as<uint8_t>() + model.memory.bytes());
        const fovea_dtype dtype = bytes.choose(kFloatTypes);
        status = model.append(target, entry, counts, dtype, bytes.flag());
        expect(status == (fits ? FOVEA_OK : FOVEA_ERR_FULL), "append has another status");
        if (!fits)
          expect(std::memcmp(full.data(), model.memory.as<void>(), full.size()) == 0, "a full cache is changed");
      }
    }
    expect(model.check(target));
  }
}

}  // namespace fovea_test
