// SPDX-License-Identifier: Apache-2.0
//
// Caches of any shape: whatever is put in, taken back and put in again is there, and what has no room changes nothing.
#include <algorithm>
#include <vector>

#include "fuzz/fuzz.h"
#include "support/cache_steps.h"

namespace fovea_test {
namespace {

fovea_kv_cache_desc cache_of(Bytes& bytes) {
  auto c = sized<fovea_kv_cache_desc>();
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
    c.hadamard = bytes.choose({FOVEA_HADAMARD_KEYS, FOVEA_HADAMARD_VALUES, FOVEA_HADAMARD_BOTH});
    c.hadamard_seed = bytes.take<uint8_t>();
  }
  return c;
}

// A cache whose entries may be copied from the first, of any kind.
fovea_kv_cache_desc beside(fovea_kv_cache_desc c, Bytes& bytes) {
  const fovea_kv_cache_desc drawn = cache_of(bytes);
  if (bytes.flag()) return c;
  c.kind = drawn.kind, c.batch = drawn.batch, c.max_tokens = drawn.max_tokens;
  c.pinned_tokens = drawn.pinned_tokens, c.page_tokens = drawn.page_tokens, c.pages = drawn.pages;
  return c;
}

}  // namespace

void run(Bytes bytes) {
  const fovea_kv_cache_desc empty = cache_of(bytes);
  CacheModel model(empty, bytes.take<uint16_t>());
  CacheModel other(beside(empty, bytes), 1);
  // The check after each step looks at all tokens.
  for (int steps = 0; steps < 24 && !bytes.empty(); ++steps) expect(step(bytes, model, other));
}

}  // namespace fovea_test
