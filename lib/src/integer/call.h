// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_CALL_H_
#define FOVEA_SRC_INTEGER_CALL_H_

#include "base/checked_size.h"
#include "fovea/fovea.h"

namespace fovea {

// Bytes of workspace that a call needs.
CheckedSize integer_workspace_bytes(const fovea_integer_attention_args& args);

// The position of an entry's first query, and the keys of an entry.
int64_t integer_position(const fovea_integer_attention_args& args, uint32_t entry);
inline uint32_t integer_keys(const fovea_integer_attention_args& args, uint32_t entry) {
  return args.kv_lengths ? args.kv_lengths[entry] : args.kv_tokens;
}

// The whole call, after every check.
void run_integer_attention(const fovea_integer_attention_args& args, void* workspace);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_CALL_H_
