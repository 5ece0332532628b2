// SPDX-License-Identifier: Apache-2.0
//
// Keys and values from sources other than f32 arrays: in formats of few bits, in a ring, in pages, or by a loader.
#pragma once

#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "support/guarded.h"

namespace fovea_test {

// A loader that copies from dense arrays, and checks that the library keeps the contract: `wrong` says what is broken.
class TestLoader {
 public:
  TestLoader();
  // keys [batch][kv_heads][kv_tokens] rows of a description.
  void serve(const fovea_attention_desc& desc, const fovea_kv_source& dense);
  const fovea_loader* loader() const { return &loader_; }

  uint32_t fail_start_at = UINT32_MAX, fail_finish_at = UINT32_MAX;  // the tile, counted from 0
  uint32_t first = 0;  // the first key of the call, among the keys that were given to serve()
  uint32_t started = 0, finished = 0;
  std::string wrong;  // the first breach of the contract

 private:
  static int start(void* self, const fovea_kv_tile* tile);
  static int finish(void* self, const fovea_kv_tile* tile);
  int start(const fovea_kv_tile& tile);
  int finish(const fovea_kv_tile& tile);
  void copy(const fovea_kv_tile& tile, const fovea_in& from, fovea_dtype type, bool scales, size_t dim, void* to) const;

  fovea_loader loader_{};
  fovea_attention_desc desc_{};
  fovea_kv_source dense_{};
  std::vector<fovea_kv_tile> pending_;
};

// Buffers that hold the keys and values of f32 arrays in the formats and the kind of a description.
class StoredKeys {
 public:
  // Stores all rows of args->kv whose first element is not NaN, and replaces each row by the numbers that products
  // compute with. Then points args->kv to the new arrays.
  void store(const fovea_attention_desc& desc, fovea_attention_args* args, Placement placement, uint64_t seed,
             bool padded);
  void read_only(bool on) const;
  TestLoader loader;

 private:
  struct Array {
    Guarded data, scales;
    fovea_in rows{}, row_scales{};
  };
  void make(Array* array, fovea_dtype type, size_t dim, size_t blocks, size_t heads, size_t tokens, Placement placement,
            size_t padding);

  // A prefix, which the entries after it may share.
  struct Prefix {
    Array keys, values;
    fovea_kv_prefix described{};
  };

  Array keys_, values_;
  std::vector<Prefix> prefixes_;  // [batch]
  Guarded page_table_, first_tokens_, kv_lengths_, named_prefixes_;
};

}  // namespace fovea_test
