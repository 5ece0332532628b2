// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_PIECES_H_
#define FOVEA_TESTS_SUPPORT_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fovea/fovea.h"
#include "support/formats.h"
#include "support/problem.h"

namespace fovea_test {

// Some of the keys of a call: [begin, end).
struct Piece {
  uint32_t begin, end;
};

// The arguments for some of the keys. Keeps what they point to.
class PieceArgs {
 public:
  PieceArgs(const AttentionCase& test, Piece piece) : args(test.args) {
    const Problem& p = test.problem;
    args.kv_tokens = piece.end - piece.begin;
    const auto skip = [&](fovea_in& array, size_t element_bytes) {
      const ptrdiff_t elements = static_cast<ptrdiff_t>(piece.begin) * array.token_stride;
      array.data = static_cast<const char*>(array.data) + elements * static_cast<ptrdiff_t>(element_bytes);
    };
    skip(args.kv.keys, unit_size(p.key_dtype));
    skip(args.kv.values, unit_size(p.value_dtype));
    skip(args.kv.key_scales, scale_size(p.key_dtype));
    skip(args.kv.value_scales, scale_size(p.value_dtype));
    const auto part = [&](uint32_t count) {
      return count <= piece.begin ? 0 : (count < piece.end ? count : piece.end) - piece.begin;
    };
    for (const uint32_t length : p.kv_lengths) lengths_.push_back(part(length));
    if (!lengths_.empty()) args.kv_lengths = lengths_.data();
    if (p.mask != FOVEA_MASK_NONE) {
      const size_t begin = p.mask_keys ? piece.begin : 0;
      args.mask.data = static_cast<const char*>(args.mask.data) + begin * mask_element_size(p.mask);
      uint32_t& covered = args.mask.kv_tokens;
      if (covered != 0 && covered != FOVEA_MASK_COVERS_NONE) covered = part(covered);
      if (covered == 0 && test.args.mask.kv_tokens != 0) covered = FOVEA_MASK_COVERS_NONE;
    }
    args.out = args.lse = {};  // not looked at
    args.sinks = nullptr;
  }
  PieceArgs(const PieceArgs&) = delete;

  fovea_attention_args args;

 private:
  std::vector<uint32_t> lengths_;
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_PIECES_H_
